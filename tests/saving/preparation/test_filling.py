"""Missing cells, as scikit-learn's `SimpleImputer` fills them."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.impute import KNNImputer, SimpleImputer

from kernelweave.saving import operations
from kernelweave.saving.transformers import as_operation
from prepared import check_operation

rng = np.random.default_rng(0)
X = np.where(rng.random((30, 4)) < 0.3, np.nan, rng.integers(0, 5, size=(30, 4)).astype(float))
X[:, 3] = np.abs(rng.normal(size=30))  # nothing is missing here
NEW = np.where(rng.random((9, 4)) < 0.5, np.nan, rng.normal(size=(9, 4)))
EMPTY = np.where(np.arange(4) == 1, np.nan, X)
WORDS = np.array([["a", "x", "1"], ["b", np.nan, "2"], [np.nan, "x", "1"], ["b", "y", np.nan]], dtype=object)
pytestmark = pytest.mark.filterwarnings("ignore:Skipping features without any observed values")

STRATEGIES = [
    {"strategy": "mean"},
    {"strategy": "median"},
    {"strategy": "most_frequent"},
    {"strategy": "constant"},
    {"strategy": "constant", "fill_value": -3.5},
]


@pytest.mark.parametrize("options", STRATEGIES, ids=lambda options: options["strategy"])
@pytest.mark.parametrize("add_indicator", [False, True])
@pytest.mark.parametrize("keep_empty_features", [False, True])
def test_numbers(options, add_indicator, keep_empty_features):
    options = {**options, "add_indicator": add_indicator, "keep_empty_features": keep_empty_features}
    for table in (X, EMPTY, X[:, :1], X[:1]):
        new = NEW[:, : table.shape[1]]
        check_operation(SimpleImputer(**options), table, new)
        names = [f"column {place}" for place in range(table.shape[1])]
        check_operation(SimpleImputer(**options), pd.DataFrame(table, columns=names), pd.DataFrame(new, columns=names))


@pytest.mark.parametrize("options", STRATEGIES, ids=lambda options: options["strategy"])
@pytest.mark.parametrize("add_indicator", [False, True])
def test_sparse_tables(options, add_indicator):
    table = sp.csr_matrix(np.where(X == 0.0, 0.0, X))
    check_operation(SimpleImputer(**options, add_indicator=add_indicator), table, sp.csc_matrix(NEW))


@pytest.mark.parametrize("strategy", ["most_frequent", "constant"])
@pytest.mark.parametrize("marker", [np.nan, None, "?"])
def test_text(strategy, marker):
    table = WORDS.copy()
    table[table != table] = marker
    new = np.array([[marker, "z", "3"], ["b", marker, marker]], dtype=object)
    for add_indicator in (False, True):
        imputer = SimpleImputer(strategy=strategy, missing_values=marker, add_indicator=add_indicator)
        check_operation(imputer, table, new)
    frame = pd.DataFrame(table, columns=list("abc"), dtype=object)
    check_operation(SimpleImputer(strategy=strategy, missing_values=marker), frame)


@pytest.mark.parametrize("strategy", ["most_frequent", "constant"])
@pytest.mark.parametrize("dtype", ["str", "category"])
def test_one_column_that_pandas_hands_over_read_only(strategy, dtype):
    frame = pd.DataFrame({"word": pd.Series(["a", np.nan, "b", "b"], dtype=dtype)})
    check_operation(SimpleImputer(strategy=strategy), frame)


@pytest.mark.parametrize("options", STRATEGIES, ids=lambda options: options["strategy"])
def test_other_markers(options):
    table, new = np.nan_to_num(X, nan=-1.0), np.nan_to_num(NEW, nan=-1.0)
    check_operation(SimpleImputer(missing_values=-1, **options), table, new)
    if options.get("fill_value") is None:
        check_operation(SimpleImputer(missing_values=-1, **options), table.astype(int), new.astype(int))


def test_mixed_frames():
    frame = pd.DataFrame({"n": [1.0, np.nan, 1.0, 4.0], "w": ["a", "b", None, "b"]})
    check_operation(SimpleImputer(strategy="most_frequent"), frame)


def test_empty_cells_of_the_wrong_kind():
    operation = check_operation(SimpleImputer(missing_values=-1), np.nan_to_num(X, nan=-1.0))
    with pytest.raises(ValueError, match="NaN"):
        operation.transform(NEW)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("n_neighbors", [1, 3, 100])
@pytest.mark.parametrize("add_indicator", [False, True])
def test_nearest_samples(weights, n_neighbors, add_indicator, monkeypatch):
    imputer = KNNImputer(n_neighbors=n_neighbors, weights=weights, add_indicator=add_indicator)
    nothing = np.full((2, 4), np.nan)
    nothing[1, 2] = 1.0
    noise = np.random.default_rng(3).normal(size=X.shape)  # no two distances are equal
    for table in (X + noise, EMPTY + noise, X[:, :1], (X + noise)[:1]):
        check_operation(imputer, table, NEW[:, : table.shape[1]], nothing[:, : table.shape[1]])
    monkeypatch.setattr(operations, "_BLOCK_VALUES", 70)
    check_operation(imputer, X + noise, NEW)


def test_nearest_samples_that_are_equal():
    table = np.array([[1.0, 2.0], [1.0, 4.0], [5.0, 7.0], [np.nan, 3.0]])
    check_operation(KNNImputer(n_neighbors=2, weights="distance"), table, np.array([[1.0, np.nan], [np.nan, 7.0]]))


def test_nearest_samples_of_empty_columns():
    check_operation(KNNImputer(keep_empty_features=True), EMPTY, NEW, names=False)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"missing_values": -1}, "KNNImputer with -1 as missing_values"),
        ({"weights": np.exp}, "KNNImputer with a function as weights"),
        ({"metric": lambda a, b, missing_values: 0.0}, "KNNImputer with a function as metric"),
    ],
)
def test_nearest_samples_of_other_kinds_are_refused(options, what):
    with pytest.raises(ValueError, match=f"the transformer is {what}, which a saved model cannot hold"):
        as_operation(KNNImputer(**options).fit(np.nan_to_num(X)), "the transformer", 4)
