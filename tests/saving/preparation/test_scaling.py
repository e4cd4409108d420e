"""Scaling of columns and of rows, as scikit-learn scales them."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from kernelweave.saving.operations import ScaleOperation
from kernelweave.saving.transformers import as_operation
from prepared import check_operation

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4)) * [1.0, 100.0, 1e-3, 0.0]  # the last column has no variance
NEW = rng.normal(size=(7, 4)) * 5.0
GAPS = np.where(rng.random(X.shape) < 0.2, np.nan, X)

SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler(),
    MinMaxScaler((-2, 3), clip=True),
    RobustScaler(),
    RobustScaler(with_centering=False),
    RobustScaler(with_scaling=False),
    RobustScaler(quantile_range=(10.0, 60.0), unit_variance=True),
    MaxAbsScaler(),
]


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
@pytest.mark.parametrize("width", [1, 4])
def test_scalers(scaler, width):
    check_operation(scaler, X[:, :width], NEW[:, :width])
    check_operation(scaler, X[:1, :width], NEW[:, :width])
    check_operation(scaler, GAPS[:, :width], NEW[:, :width])
    check_operation(scaler, X[:, :width].astype(int), NEW[:, :width])
    frame = pd.DataFrame(X, columns=list("abcd")).iloc[:, :width].astype({"a": "float32"})
    check_operation(scaler, frame, pd.DataFrame(NEW, columns=list("abcd")).iloc[:, :width])


@pytest.mark.parametrize(
    "scaler",
    [StandardScaler(with_mean=False), RobustScaler(with_centering=False), MaxAbsScaler(), Normalizer()],
    ids=str,
)
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.csr_array])
def test_sparse_tables(scaler, kind):
    check_operation(scaler, kind(X * (X > 0)), kind(NEW))


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_rows_of_norm_1(norm):
    check_operation(Normalizer(norm), np.vstack([X, np.zeros((1, 4))]), NEW)


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 3)), elements=st.floats(-1e9, 1e9)),
    st.sampled_from(range(len(SCALERS))),
)
def test_any_numbers(values, which):
    check_operation(SCALERS[which], values)


def test_what_is_refused():
    operation = as_operation(StandardScaler().fit(X), "the transformer", 4)
    with pytest.raises(ValueError, match="has 3 features where 4 features are expected"):
        operation.transform(X[:, :3])
    with pytest.raises(ValueError, match="infinity"):
        operation.transform(np.full((1, 4), np.inf))
    with pytest.raises(ValueError, match="cannot be shifted"):
        operation.transform(sp.csr_matrix(X))
    with pytest.raises(ValueError, match="should have length equal"):
        operation.get_feature_names_out(["a"])
    with pytest.raises(AttributeError):
        operation.width = 3
    assert isinstance(operation, ScaleOperation) and operation.transform(X[:0]).shape == (0, 4)


def test_constants_are_copies():
    scaler = StandardScaler().fit(X)
    operation = as_operation(scaler, "the transformer", 4)
    before = operation.transform(NEW)
    scaler.fit(NEW)
    scaler.mean_[:] = 7.0
    np.testing.assert_array_equal(operation.transform(NEW), before)
