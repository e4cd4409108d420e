import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave.views import Views, as_views


def read(X, columns=(0, 1), **options):
    return Views(X).read(np.array(columns), "v", **options)


def test_adjacent_columns_of_an_array_are_not_copied():
    X = np.arange(12.0).reshape(4, 3)
    values, present = read(X, (1, 2))
    assert np.shares_memory(values, X)
    assert present.all()
    np.testing.assert_array_equal(read(X, (2, 0))[0], X[:, [2, 0]])


def test_views_are_read_once():
    views = Views(pd.DataFrame({"a": [1, 2], "b": [3, 4]}))
    assert views.read(np.array([0, 1]), "v")[0] is views.read(np.array([0, 1]), "v")[0]
    assert as_views(views) is views


def test_wholly_missing_view_is_absent_and_zero():
    X = np.array([[1.0, 2.0, 9.0], [np.nan, np.nan, 9.0]])
    values, present = read(X)
    np.testing.assert_array_equal(present, [True, False])
    np.testing.assert_array_equal(values, [[1.0, 2.0], [0.0, 0.0]])
    assert np.isnan(X[1, 0])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, np.nan], [1.0, 2.0]], "view 'v' of sample 0 is NaN in some"),
        ([[1.0, 2.0], [np.inf, 2.0]], "view 'v' contains infinity .sample 1"),
        ([[np.nan, np.inf], [1.0, 2.0]], "infinity"),
        (np.array([["a", "b"], ["c", "d"]], dtype=object), "view 'v' holds values that are not numbers"),
        (np.array([["1", "2"], ["3", "4"]], dtype=object), "not numbers"),
        ([[1 + 2j, 1], [0, 1]], "not numbers"),
    ],
)
def test_bad_values_name_the_view(X, message):
    with pytest.raises(ValueError, match=message):
        read(np.asarray(X))


def test_object_columns_of_numbers_are_numbers():
    values, present = read(np.array([[1, 2.5], [None, None]], dtype=object))
    assert values.dtype == np.float64
    np.testing.assert_array_equal(present, [True, False])


def test_text_is_welcome_where_asked_for():
    X = pd.DataFrame({"s": ["ab", None, "c"], "t": ["x", None, "y"]})
    values, present = read(X, text=True)
    np.testing.assert_array_equal(present, [True, False, True])
    assert values[2, 1] == "y"
    with pytest.raises(ValueError, match="sample 1 is missing"):
        read(pd.DataFrame({"s": ["ab", None], "t": ["x", "y"]}), text=True)


def test_mixed_frame_keeps_its_numbers():
    X = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["u", "v"]})
    values, present = read(X, (0,))
    np.testing.assert_array_equal(present, [True, False])


def test_huge_finite_values_are_not_mistaken_for_infinity():
    values, present = read(np.full((3, 2), 1.7e308))
    assert present.all()


def test_sparse_views():
    X = sp.random(5, 4, density=0.5, random_state=0, format="coo")
    values, present = read(X, (1, 3))
    np.testing.assert_array_equal(values.toarray(), X.toarray()[:, [1, 3]])
    assert present.all()
    bad = sp.csr_matrix(np.array([[np.nan, 0.0], [1.0, 0.0]]))
    with pytest.raises(ValueError, match="view 'v' is sparse and contains NaN"):
        read(bad)


@pytest.mark.parametrize("wrap", [np.asarray, pd.DataFrame, sp.csr_matrix])
def test_rows(wrap):
    X = np.arange(12.0).reshape(4, 3)
    part = Views(wrap(X)).rows(np.array([2, 0])).read(np.array([0, 2]), "v")[0]
    part = part.toarray() if sp.issparse(part) else part
    np.testing.assert_array_equal(part, X[[2, 0]][:, [0, 2]])


def test_one_dimensional_x_is_an_error():
    with pytest.raises(ValueError, match="two dimensions"):
        Views(np.arange(3.0))


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_matrix, pd.DataFrame])
def test_objects_of_a_sample_and_objects_one_after_the_other(wrap):
    A = np.arange(12.0).reshape(3, 4)
    views = Views(wrap(A), names=["a__x", "a__y", "b__x", "b__y"]).rows(np.array([2, 0]))
    first, second = views.objects(np.array([0, 1]), ["x", "y"]), views.objects(np.array([2, 3]), ["x", "y"])
    objects = first.followed_by(second)
    values, present = objects.read(objects.columns("y"), "y")
    values = values.toarray() if sp.issparse(values) else values
    np.testing.assert_array_equal(values, A[[2, 0, 2, 0], [1, 1, 3, 3]][:, None])
    assert objects.first(np.array([False, False, True, False])) == "sample 2"
    with pytest.raises(ValueError, match="X has no column names"):
        views.objects(np.array([0])).columns("a")


def test_kept_columns_read_as_before_at_their_old_positions():
    frame = pd.DataFrame(
        {
            "a": [1.0, 2.0, np.nan],
            "n": [1, 2, 3],
            "word": ["x", None, "z"],
            "b": [True, False, True],
            "big": pd.array([4, None, 6], dtype="Int64"),
            "unused": [0, 0, 0],
        }
    )
    whole = Views(frame).rows(np.array([2, 0]))
    kept = Views(frame).keep(np.array([2, 0]), np.array([4, 0, 1, 2, 3]))
    assert kept.X.shape == (2, 6) and kept.positions.tolist() == [2, 0]
    for columns in ([0], [1], [3, 1], [4], [1, 3, 4], [2], [2, 1], [1, 2, 3]):
        (values, present), (expected, there) = (v.read(np.array(columns), "v", text=True) for v in (kept, whole))
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(present, there)
        assert values.dtype == expected.dtype
        assert [type(v) for v in values.ravel()] == [type(v) for v in expected.ravel()]
    again = kept.keep(np.array([1]), np.array([2, 1]))
    np.testing.assert_array_equal(again.read(np.array([1]), "v")[0], [[1.0]])
    with pytest.raises(ValueError, match="column 5 was not kept"):
        kept.read(np.array([5]), "v")


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_kept_columns_of_arrays(make):
    X = np.arange(12.0).reshape(3, 4) % 5
    kept = Views(make(X)).keep(np.array([0, 2]), np.array([3, 1]))
    for columns in ([1], [3, 1], [1, 3]):
        values, _ = kept.read(np.array(columns), "v")
        np.testing.assert_array_equal(values.toarray() if sp.issparse(values) else values, X[[0, 2]][:, columns])
    assert kept.X.shape == (2, 4)
    assert not sp.issparse(kept.X) or kept.X.nnz == np.count_nonzero(X[[0, 2]][:, [1, 3]])


def test_digests_are_equal_for_equal_entries_only():
    table = pd.DataFrame({"a": [1.0, 1.0, 2.0, 1.0, 1.0], "b": ["x", "x", "x", "y", "x"], "c": [3, 3, 3, 3, 4]})
    first, second, *others = Views(table).digests()
    assert first == second and len({first, *others}) == 4


def test_digests_do_not_depend_on_the_container():
    values = np.array([[0.0, 1.5], [2.0, 0.0], [np.nan, np.nan]])
    expected = Views(values).digests()
    assert Views(pd.DataFrame(values, columns=["a", "b"])).digests() == expected
    assert Views(np.column_stack([values, values])).keep(np.array([1, 2]), np.array([2, 3])).digests() == expected[1:]
    text = pd.DataFrame({"a": ["x", None]}, dtype=object)
    assert Views(text).digests() == Views(text.fillna(np.nan)).digests()
    sparse = Views(sp.csr_matrix(values[:2]))
    assert sparse.digests()[::-1] == sparse.rows(np.array([1, 0])).digests()


def test_parts_have_the_source_and_positions_of_the_whole():
    views = Views(np.arange(12.0).reshape(4, 3))
    part = views.rows(np.array([3, 1])).keep(np.array([1]), np.array([0]))
    assert part.source is views.source and part.positions.tolist() == [1]
    assert Views(views.X).source is not views.source
    assert views.objects(np.array([0])).source is not views.source


def test_partly_missing_views_keep_their_gaps_where_asked_for():
    views = Views(pd.DataFrame({"a": [1.0, np.nan, np.nan], "b": [2.0, 4.0, np.nan], "c": ["x", None, np.nan]}))
    values, present = views.read(np.array([0, 1]), "a", partly=True)
    assert present.tolist() == [True, True, False]
    np.testing.assert_array_equal(values, [[1.0, 2.0], [np.nan, 4.0], [0.0, 0.0]])
    mixed, present = views.read(np.array([1, 2]), "bc", text=True, partly=True)
    assert present.tolist() == [True, True, False]
    assert mixed.tolist() == [[2.0, "x"], [4.0, None], [None, None]]
    with pytest.raises(ValueError, match="some of its columns"):
        views.read(np.array([0, 1]), "a")


@pytest.mark.parametrize(
    "types",
    [
        {"a": "float64", "b": "float64", "c": "float64"},
        {"a": "float32", "b": "int64", "c": "uint8"},
        {"a": "float64", "b": "bool", "c": "Int64"},
        {"a": "float64", "b": "object", "c": "category"},
    ],
    ids=lambda types: " ".join(types.values()),
)
@pytest.mark.parametrize("columns", [[0], [0, 2], [2, 1], [1, 2]], ids=str)
def test_small_frames_are_read_as_large_ones(types, columns, monkeypatch):
    frame = pd.DataFrame({"a": [0.5, np.nan, 2.0], "b": [1, 0, 1], "c": [7, 8, 9]}).astype(types)
    small = Views(frame).read(np.array(columns), "v", partly=True)
    monkeypatch.setattr("kernelweave.views.frames.SMALL", 0)
    large = Views(frame).read(np.array(columns), "v", partly=True)
    assert small[0].dtype == large[0].dtype == np.float64
    np.testing.assert_array_equal(small[0], large[0])
    np.testing.assert_array_equal(small[1], large[1])


def test_finite_is_found_out_once(monkeypatch):
    X = np.arange(12.0).reshape(6, 2)
    views = Views(X)
    assert views.is_finite() and not Views(np.where(X == 3.0, np.nan, X)).is_finite()
    assert not Views(np.where(X == 3.0, np.inf, X)).is_finite() and not Views(X.astype(str)).is_finite()
    part = views.rows(slice(2, 4))
    monkeypatch.setattr(np, "isfinite", None)
    assert part.is_finite()
    values, present = part.read(np.array([1]), "view")
    np.testing.assert_array_equal(values, [[5.0], [7.0]])
    assert present.all()


def test_many_kept_columns_of_some_samples():
    values = np.random.default_rng(0).normal(size=(5, 2500))
    frame = pd.concat([pd.DataFrame(values[:, :900]), pd.DataFrame(values[:, 900:])], axis=1).set_axis(
        [f"a__{place}" for place in range(2500)], axis=1
    )
    columns = np.delete(np.arange(2500), [3, 1500])
    for X in (values, frame):
        kept = Views(X).keep(np.array([4, 0]), columns)
        np.testing.assert_array_equal(kept.read(columns, "a")[0], values[np.ix_([4, 0], columns)])
