"""X as the table that kernels and transformers take."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave import stack_views
from kernelweave.recipes.kinds import as_frame, column_kinds
from kernelweave.recipes.layout import TableLayout
from kernelweave.views.frames import SparseRows


def layout_of(X, **options):
    return TableLayout.of(as_frame(X), column_kinds(as_frame(X), **options))


def test_columns_have_one_type_each():
    X = pd.DataFrame(
        {
            "a__flag": pd.Series([True, None, False, True], dtype=object),
            "a__whole": pd.array([1, 2, None, 4], dtype="Int64"),
            "a__spelled": ["1.5", "2", "3", "5"],
            "b__code": [1, "x", 1, None],
            "b__text": [None, "five words are enough here", "four words and more", "this is a third one"],
        }
    )
    table, present = layout_of(X).table(X)
    np.testing.assert_array_equal(table["a__flag"], [1.0, np.nan, 0.0, 1.0])
    np.testing.assert_array_equal(table["a__whole"], [1.0, 2.0, np.nan, 4.0])
    np.testing.assert_array_equal(table["a__spelled"], [1.5, 2.0, 3.0, 5.0])
    assert table["b__code"].tolist()[:3] == ["1", "x", "1"] and pd.isna(table["b__code"].iloc[3])
    assert table["b__text"].tolist()[0] == ""
    assert present.all()


def test_a_sample_that_lacks_a_view():
    X = stack_views(
        {"a": pd.DataFrame({"x": [1.0, np.nan, 3.0]}), "note": pd.DataFrame({"x": ["u v w", None, "x y z q"]})}
    )
    X["a__y"] = [1.0, np.nan, np.nan]
    layout = TableLayout.of(X, column_kinds(X).assign(kind=["number", "text", "number"]))
    table, present = layout.table(X)
    assert present.tolist() == [[True, True], [False, False], [True, True]]
    assert pd.isna(table["note__x"].iloc[1])
    joined = layout.only(["a", "note"], joined=True)
    table, same = joined.table(X)
    assert table["note__x"].iloc[1] == ""
    np.testing.assert_array_equal(same, present)


def test_gaps_of_new_samples_are_the_mean_where_there_were_none():
    X = pd.DataFrame({"a__x": [1.0, 3.0, np.nan], "a__y": [2.0, 4.0, np.nan]})
    layout = layout_of(X)
    layout = layout.with_means(layout.table(X)[0])
    new = pd.DataFrame({"a__x": [np.nan, np.nan], "a__y": [7.0, np.nan]})
    table, present = layout.table(new)
    np.testing.assert_array_equal(table, [[2.0, 7.0], [np.nan, np.nan]])
    assert present[:, 0].tolist() == [True, False]
    gaps = pd.DataFrame({"a__x": [1.0, 3.0, np.nan, 5.0], "a__y": [2.0, np.nan, np.nan, 4.0]})
    layout = layout_of(gaps)
    assert layout.with_means(layout.table(gaps)[0]).views[0].means is None


def test_sparse_views_stay_sparse_and_dense_ones_take_their_place():
    matrix = sp.random(6, 5, density=0.5, format="csr", random_state=0)
    X = stack_views({"w": matrix, "a": np.arange(12.0).reshape(6, 2)})
    X.loc[2, "w"] = np.nan
    layout = layout_of(X)
    table, present = layout.table(X)
    assert isinstance(table["w"].array, SparseRows)
    assert present[:, 0].tolist() == [True, True, False, True, True, True]
    joined, _ = layout.only(["w", "a"], joined=True).table(X)
    assert joined.shape == (6, 7)
    np.testing.assert_array_equal(joined.iloc[0, :5], matrix.toarray()[0])
    assert joined.iloc[2, :5].isna().all()
    only, _ = layout.only(["w"], joined=True).table(X)
    assert not only["w"].isna().any()  # empty rows
    dense = pd.DataFrame(np.where(np.arange(6)[:, None] == 2, np.nan, matrix.toarray())).add_prefix("w__")
    dense[["a__0", "a__1"]] = X[["a__0", "a__1"]]
    table, same = layout.table(dense)
    np.testing.assert_array_equal(same, present)
    np.testing.assert_array_equal(table["w"].array.matrix.toarray(), layout.table(X)[0]["w"].array.matrix.toarray())


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e200])
def test_infinite_and_huge_numbers_are_named(value):
    X = pd.DataFrame({"a__x": [1.0, 2.0, 3.0], "a__y": [0.0, value, 1.0]}, index=["u", "v", "w"])
    with pytest.raises(ValueError, match=r"the column 'a__y' has .* \(sample 'v'\)"):
        layout_of(X).table(X)
    mixed = X.assign(a__s=["p", "q", "p"])
    with pytest.raises(ValueError, match=r"the column 'a__y' has .* \(sample 'v'\)"):
        layout_of(mixed).table(mixed)
    matrix = stack_views({"w": sp.csr_matrix(np.array([[0.0, value], [1.0, 0.0]]))})
    with pytest.raises(ValueError, match="the sparse view 'w' contains"):
        layout_of(matrix).table(matrix)


def test_text_in_a_column_of_numbers_is_named():
    X = pd.DataFrame({"a__x": [1.0, 2.0, 3.0]})
    new = pd.DataFrame({"a__x": [1.0, "n.d."]}, index=["u", "v"])
    with pytest.raises(ValueError, match="'a__x' holds numbers, but sample 'v' has 'n.d.' there"):
        layout_of(X).table(new)


def test_categories_that_come_as_numbers():
    X = pd.DataFrame({"a__x": ["1", "2", "X", "1", "2", "X"]})
    layout = layout_of(X)
    assert layout.table(pd.DataFrame({"a__x": [1.0, 2.0]}))[0]["a__x"].tolist() == ["1", "2"]


def test_odd_names():
    X = pd.DataFrame([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], columns=["<script>alert(1)</script>", "", "x"])
    table, _ = layout_of(X).table(X)
    assert table.columns.tolist() == ["X__<script>alert(1)</script>", "X__", "X__x"]
    X.columns = ["x", "x", "x"]
    assert layout_of(X).table(X)[0].columns.tolist() == ["X__x", "X__x-2", "X__x-3"]


def test_a_matrix_must_not_have_the_name_of_a_view():
    X = pd.DataFrame({"rna__x": [1.0, 2.0], "rna": ["u", "v"]})
    with pytest.raises(ValueError, match="similarity matrix 'rna' has the name of a view"):
        layout_of(X, matrices=["rna"])


def test_logarithms():
    words = sp.csr_matrix([[0.0, 3.0], [7.0, 0.0], [1.0, 1.0]])
    X = stack_views({"a": pd.DataFrame({"x": [0.0, np.nan, 3.0], "kind": ["u", "v", "u"]}), "words": words})
    X["b__x"], X["b__y"] = [1.0, 2.0, 5.0], [1.0, 2.5, 5.0]
    kinds = column_kinds(X).assign(kind=["number", "category", "number", "number", "number"])
    layout = TableLayout.of(X, kinds, ["a", "words", "b"])
    table, _ = layout.table(X)
    np.testing.assert_array_equal(table["a__x"], np.log1p(X["a__x"]))
    np.testing.assert_array_equal(table[["b__x", "b__y"]], np.log1p(X[["b__x", "b__y"]]))
    np.testing.assert_array_equal(table["words"].array.matrix.toarray(), np.log1p(words.toarray()))
    assert table["a__kind"].tolist() == X["a__kind"].tolist()
    means = layout.only(["b"]).with_means(table)
    gap = means.table(X.assign(b__x=[1.0, np.nan, 5.0]))[0]["b__x"]
    assert gap.iloc[1] == pytest.approx(table["b__x"].mean())
    joined, _ = layout.only(["a", "b", "words"], joined=True).table(X)
    np.testing.assert_array_equal(joined[["words__0", "words__1"]], np.log1p(words.toarray()))
    plain, _ = TableLayout.of(X, kinds, ["b"]).table(X)
    np.testing.assert_array_equal(plain["a__x"], X["a__x"])


@pytest.mark.parametrize("column", ["a__x", "b__y", "words"])
def test_negative_numbers_have_no_logarithm(column):
    cells = np.array([[0.0, 3.0], [7.0, 0.0], [1.0, 1.0]])
    X = stack_views({"a": pd.DataFrame({"x": [0.0, 1.0, 3.0], "kind": ["u", "v", "u"]})})
    X["b__x"], X["b__y"] = [1.0, 2.0, 5.0], [1.0, 2.5, 5.0]
    if column in X:
        X.loc[1, column] = -0.5
    else:
        cells[1, 0] = -0.5
    X = X.assign(words=SparseRows(sp.csr_matrix(cells)))
    view, _, name = column.partition("__")
    layout = TableLayout.of(
        X, column_kinds(X).assign(kind=["number", "category", *["number"] * 3]), ["a", "b", "words"]
    )
    message = f"the view '{view}' is taken as log.1 . x., but its column '.*{name or 0}' has the negative number -0.5"
    with pytest.raises(ValueError, match=message):
        layout.table(X)
