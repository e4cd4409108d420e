"""Gating inputs from sparse views: dense where they are narrow, as they are, or not at all."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelweave import MKLClassifier, load, save
from kernelweave.combiners import Localized, Projected, Sigmoid, Softmax
from kernelweave.combiners import inputs as gating_inputs
from kernelweave.combiners.inputs import GatingInputs
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.views import Views

rng = np.random.default_rng(0)
DENSE = rng.poisson(0.5, size=(60, 8)).astype(float)
DENSE[:, 0] += 1.0  # no sample is empty
Y = (DENSE[:, 1] > DENSE[:, 2]).astype(int)
SPARSE = sp.csr_matrix(DENSE)
KERNELS = [Linear(), Gaussian([0, 1, 2], scale=2.0)]


@pytest.mark.parametrize(
    "combiner",
    [
        Localized(scaling=None, max_iter=20),
        Localized(Sigmoid(), inputs=[1, 2], scaling=None, max_iter=20),
        Localized(inputs=slice(0, 3), scaling=None, quadratic=True, max_iter=20),
        Projected(1, Softmax(), scaling=None, max_iter=5),
    ],
    ids=["all", "columns", "quadratic", "projected"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sparse_inputs_as_they_are(combiner, tmp_path):
    dense, sparse = (MKLClassifier(KERNELS, combiner, random_state=0).fit(X, Y) for X in (DENSE, SPARSE))
    np.testing.assert_allclose(sparse.objective_, dense.objective_, rtol=1e-3)  # descents part by rounding
    np.testing.assert_allclose(sparse.decision_function(DENSE), sparse.decision_function(SPARSE), rtol=1e-9)
    save(sparse, tmp_path / "model.kw")
    np.testing.assert_array_equal(
        load(tmp_path / "model.kw").decision_function(SPARSE), sparse.decision_function(SPARSE)
    )


@pytest.mark.parametrize(("source", "quadratic"), [(None, False), ([1, 2], True), (slice(0, 3), False)])
def test_they_are_the_values_of_the_dense_view(source, quadratic):
    found = []
    for X in (DENSE, SPARSE):
        inputs = GatingInputs(source, quadratic, None)
        found.append(inputs.fit(KernelStack(KERNELS).fit(X), np.random.RandomState(0)))
        np.testing.assert_array_equal(inputs.transform(Views(X[:9])), found[-1][:9])
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("scaling", ["unit-mean", "unit-row", "standard"])
def test_narrow_sparse_inputs_are_standardised_like_dense_ones(scaling):
    found = [GatingInputs(None, False, scaling).fit(KernelStack(KERNELS).fit(X), None) for X in (DENSE, SPARSE)]
    np.testing.assert_allclose(*found, atol=1e-12)


@pytest.mark.parametrize("scaling", ["unit-mean", "unit-row", "standard"])
def test_wide_sparse_inputs_are_not_standardised(scaling, monkeypatch):
    monkeypatch.setattr(gating_inputs, "WIDEST", SPARSE.shape[1] - 1)
    with pytest.raises(ValueError, match="gating input 'linear' is sparse.*or its scaling to None"):
        MKLClassifier(KERNELS, Localized(scaling=scaling)).fit(SPARSE, Y)


@pytest.mark.parametrize("lacking", [False, True])
@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("scaling", ["unit-mean", "unit-row", "standard", None])
def test_inputs_in_single_precision(scaling, quadratic, lacking):
    X = DENSE + rng.normal(size=DENSE.shape)
    X[:, 3] = 7.0  # constant
    if lacking:
        X[::5, 3:] = np.nan
    stack = KernelStack([Gaussian([0, 1, 2]), Linear([3, 4, 5, 6, 7])]).fit(Views(X))
    inputs = GatingInputs(None, quadratic, scaling)
    inputs.fit(stack, np.random.RandomState(0))
    new = X + 0.1
    new[0, 1] = 1e40
    wanted, found = inputs.transform(Views(new)), inputs.narrow(Views(new), 1e15)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.clip(wanted, -1e15, 1e15), rtol=1e-6, atol=1e-12)


def test_inputs_of_finite_samples_are_those_of_groups(monkeypatch):
    stack = KernelStack([Gaussian([2, 0, 1]), Linear([5, 4])]).fit(Views(DENSE))
    inputs = GatingInputs(None, False, "standard")
    at_once = inputs.fit(stack, np.random.RandomState(0))
    assert Views(DENSE).is_finite() and not Views(SPARSE).is_finite()
    monkeypatch.setattr(Views, "is_finite", lambda self: False)
    np.testing.assert_array_equal(inputs.transform(Views(DENSE)), at_once)
