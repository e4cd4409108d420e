import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave import stack_views

A = np.arange(6.0).reshape(3, 2)


def test_the_example_of_the_page_runs():
    page = (Path(__file__).parents[2] / "docs" / "views.md").read_text(encoding="utf-8")
    names = {}
    exec(compile(re.search(r"```python\n(.*?)```", page, flags=re.DOTALL)[1], "views.md", "exec"), names)
    assert list(names["X"].columns) == ["rna__BRCA1", "rna__TP53", "words"]
    assert list(names["model"].predict(names["X"])) == list(names["y"]) == ["ill", "well", "ill"]
    assert names["X"]["words"].isna().tolist() == [False, True, False]


def test_columns_are_named_by_view():
    frame = stack_views({"fac": A, "seq": ["a", "b", "c"], "age": pd.Series([1, 2, 3])})
    assert list(frame.columns) == ["fac__0", "fac__1", "seq", "age"]
    np.testing.assert_array_equal(frame[["fac__0", "fac__1"]], A)
    assert list(frame["seq"]) == ["a", "b", "c"]


def test_frames_keep_their_column_names():
    frame = stack_views({"rna": pd.DataFrame(A, columns=["g1", "g2"])})
    assert list(frame.columns) == ["rna__g1", "rna__g2"]


def test_labelled_views_are_matched_by_label_and_gaps_are_missing():
    rna = pd.DataFrame(A, index=["p1", "p2", "p3"])
    dna = pd.DataFrame(A + 10, index=["p3", "p1", "p4"])
    frame = stack_views({"rna": rna, "dna": dna})
    assert list(frame.index) == ["p1", "p2", "p3", "p4"]
    assert frame.loc["p1", "dna__0"] == 12.0
    assert frame.loc["p2", ["dna__0", "dna__1"]].isna().all()
    assert frame.loc["p4", ["rna__0", "rna__1"]].isna().all()


def test_arrays_follow_the_order_of_labelled_views():
    rna = pd.DataFrame(A, index=["p1", "p2", "p3"])
    frame = stack_views({"rna": rna, "x": [1, 2, 3]})
    assert frame.loc["p3", "x"] == 3


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ({}, "at least one view"),
        ([A], "mapping"),
        ({"a": A, "b": A[:2]}, "different numbers of samples: view 'a' has 3, view 'b' has 2"),
        ({"a__b": A}, "'a__b' contains '__'"),
        ({"": A}, "non-empty strings"),
        ({1: A}, "non-empty strings"),
        ({"a": np.zeros((2, 2, 2))}, "view 'a' must have one or two dimensions"),
        pytest.param(
            {"a": sp.coo_array(np.eye(3)[0])},
            "the sparse view 'a' must have two dimensions",
            marks=pytest.mark.skipif(sp.coo_array(np.eye(3)[0]).ndim == 2, reason="this SciPy has matrices only"),
        ),
        ({"a": pd.DataFrame(A, index=[0, 0, 1]), "b": pd.DataFrame(A)}, "view 'a' has repeated row labels"),
        (
            {"a": pd.Series([1], index=[5]), "b": pd.Series([1], index=[6]), "c": [1]},
            "view 'a' and view 'b' have different row",
        ),
    ],
)
def test_bad_views_are_named(views, message):
    with pytest.raises(ValueError, match=message):
        stack_views(views)


P = pd.DataFrame(A, index=["p1", "p2", "p3"])


def test_targets_are_matched_by_label():
    X, y = stack_views({"rna": P, "dna": P[::-1]}, y=pd.Series([3, 1, 2], index=["p3", "p1", "p2"], name="target"))
    assert list(X.index) == list(y.index) == ["p1", "p2", "p3"]
    assert list(y) == [1, 2, 3]
    assert y.name == "target"


def test_targets_of_samples_that_lack_a_view():
    X, y = stack_views(
        {"rna": P[:2], "dna": P[1:]}, y=pd.Series(list("abc"), index=["p3", "p2", "p1"], dtype="category")
    )
    assert dict(y) == {"p1": "c", "p2": "b", "p3": "a"}
    assert y.dtype == "category"
    assert list(X.index) == list(y.index)


def test_targets_without_labels_follow_the_rows():
    X, y = stack_views({"rna": P}, y=[1, 2, 3])
    assert dict(y) == {"p1": 1, "p2": 2, "p3": 3}
    X, y = stack_views({"rna": A}, y=pd.Series([1, 2, 3], index=["p3", "p2", "p1"]))
    assert list(X.index) == list(y.index) == ["p3", "p2", "p1"]
    np.testing.assert_array_equal(X, A)
    X, y = stack_views({"rna": A}, y=np.arange(3))
    assert list(X.index) == list(y.index) == [0, 1, 2]


@pytest.mark.parametrize(
    ("views", "y", "message"),
    [
        ({"a": P}, pd.Series([1, 2], index=["p1", "p2"]), "sample 'p3' has no target in y .1 such"),
        ({"a": P[:2]}, pd.Series([1, 2, 3], index=["p1", "p2", "p3"]), "sample 'p3' has a target but no view"),
        ({"a": P}, pd.Series([1, 2, 3], index=["p1", "p1", "p2"]), "y has repeated row labels"),
        ({"a": P, "b": A}, pd.Series([1, 2, 3], index=["p2", "p1", "p3"]), "view 'a' and y have different row"),
        ({"a": A}, [1, 2], "different numbers of samples: view 'a' has 3, y has 2"),
        ({"a": A}, A, "y must have one dimension"),
        ({"a": A}, 1, "y must have one dimension"),
    ],
)
def test_bad_targets(views, y, message):
    with pytest.raises(ValueError, match=message):
        stack_views(views, y=y)


def frame(labels, **columns):
    return pd.DataFrame(columns or {"x": np.arange(len(labels))}, index=labels)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (frame(range(20)), frame([str(k) for k in range(20)]), r"their ids are written differently, 0 and '0'"),
        (frame([f"P-0{k}" for k in range(1, 4)]), frame(["p1", "p2", "p3"]), "written differently, 'P-01' and 'p1'"),
        (
            frame(["p1", "p2"]),
            frame(["g1", "g2"], p1=[1, 2], p2=[3, 4]),
            "samples are the columns of view 'b', such as",
        ),
        (frame([1.5, 2.0]), frame([15, 20]), "'b' have no sample in common: the first ids are 1.5 and 15"),
    ],
    ids=["types", "spelling", "turned", "nothing"],
)
def test_views_that_share_no_label(first, second, message):
    """As `read_views` says it: an error where labels look alike, and a warning where they do not."""
    if "first ids" in message:
        with pytest.warns(UserWarning, match=f"{message}.*that is all right") as caught:
            assert len(stack_views({"a": first, "b": second})) == 4
        assert [warning.filename for warning in caught] == [__file__]
        return
    with pytest.raises(ValueError, match=f"^view '.' and view '.' have no sample in common: .*{message}"):
        stack_views({"a": first, "b": second})
    with pytest.raises(ValueError, match="^view 'b' and view 'c' have no sample in common"):
        stack_views({"c": first, "a": first, "b": second, "d": first})


def test_a_target_that_shares_no_label():
    rna, y = frame(range(3)), pd.Series([0, 1, 0], index=["0", "1", "2"])
    message = (
        "^view 'rna' and y have no sample in common: .* 0 and '0' .3 of them differ only by their type.; write the row"
    )
    with pytest.raises(ValueError, match=message):
        stack_views({"rna": rna}, y=y)


def test_views_that_need_not_share_labels():
    """A view without a sample, one that shares samples with some other view, numbers that pandas counts columns by."""
    none, one, two = frame(["p1"])[:0], frame(["p1", "p2"]), frame(["p2", "p3"])
    assert len(stack_views({"none": none, "one": one, "two": two, "three": frame(["p3", "p4"])})) == 4
    counted = pd.DataFrame(A, index=["p1", "p2", "p3"])
    with pytest.warns(UserWarning, match="the first ids are 'p1' and 0"):
        stack_views({"a": counted, "b": pd.DataFrame(A)})
