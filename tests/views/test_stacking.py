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
