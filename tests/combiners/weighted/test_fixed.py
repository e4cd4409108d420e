import numpy as np
import pandas as pd
import pytest

from kernelweave import MKLClassifier
from kernelweave.combiners import FixedWeights, Mean, Product
from kernelweave.kernels import Gaussian, KernelStack, Linear, MemoryWarning, Polynomial
from kernelweave.kernels import resources as memory_module
from kernelweave.kernels import stack as stack_module
from kernelweave.machines import BinaryMachine
from kernelweave.views import Views

rng = np.random.default_rng(0)
X = rng.normal(size=(25, 4))
NEW = rng.normal(size=(6, 4))
Y = X[:, 0] > 0
KERNELS = [Linear(), Gaussian(), Polynomial([1, 2])]
stack = KernelStack(KERNELS).fit(X)
MATRICES = stack.matrices()


@pytest.mark.parametrize(
    ("combiner", "theta", "expected"),
    [
        (Mean(), np.full(3, 1 / 3), MATRICES.mean(axis=0)),
        (FixedWeights([2.0, 0.0, 0.5]), np.array([2.0, 0.0, 0.5]), 2 * MATRICES[0] + 0.5 * MATRICES[2]),
        (Product(), np.ones(3), MATRICES.prod(axis=0)),
    ],
)
def test_combined_kernel(combiner, theta, expected):
    kernel = combiner.fit(stack, BinaryMachine(np.where(Y, 1.0, -1.0), 1.0))
    np.testing.assert_allclose(kernel.gram(), expected)
    np.testing.assert_allclose(kernel.cross(Views(X)), expected, atol=1e-12)
    assert kernel.cross(Views(NEW)).shape == (6, 25)
    assert np.linalg.eigvalsh(expected).min() > -1e-10
    np.testing.assert_array_equal(kernel.sample_weights(Views(NEW)), np.tile(theta, (6, 1)))


def test_kernels_without_weight_are_never_computed():
    calls = []

    def expensive(A, B):
        calls.append(1)
        return A @ B.T

    model = MKLClassifier([Linear(), expensive], FixedWeights({"linear": 1.0})).fit(X, Y)
    model.predict(NEW)
    assert not calls


@pytest.mark.parametrize("combiner", [Mean(), Product(), FixedWeights([1.0, 2.0, 3.0])])
def test_order_of_kernels_does_not_matter(combiner):
    model = MKLClassifier(KERNELS, combiner, tol=1e-9).fit(X, Y)
    if isinstance(combiner, FixedWeights):
        combiner = FixedWeights([3.0, 2.0, 1.0])
    turned = MKLClassifier(KERNELS[::-1], combiner, tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(turned.decision_function(NEW), model.decision_function(NEW), atol=1e-6)


def test_weights_scale_like_costs():
    """K -> s K at cost C is K at cost s C, with coefficients divided by s."""
    scaled = MKLClassifier(KERNELS, FixedWeights([3.0, 3.0, 3.0]), C=2.0, tol=1e-9).fit(X, Y)
    plain = MKLClassifier(KERNELS, FixedWeights([1.0, 1.0, 1.0]), C=6.0, tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(scaled.decision_function(NEW), plain.decision_function(NEW), atol=1e-6)
    np.testing.assert_allclose(3 * scaled.objective_, plain.objective_, rtol=1e-9)


def test_mapping_and_sequence_agree():
    by_name = MKLClassifier(KERNELS, FixedWeights({"gaussian": 2.0, "linear": 1.0})).fit(X, Y)
    in_order = MKLClassifier(KERNELS, FixedWeights([1.0, 2.0, 0.0])).fit(X, Y)
    np.testing.assert_array_equal(by_name.dual_coef_, in_order.dual_coef_)


def test_memory_is_told_before_fitting(monkeypatch):
    monkeypatch.setattr(stack_module, "SMALL_BYTES", 0)
    monkeypatch.setattr(memory_module, "available_memory", lambda: 1000)
    with pytest.warns(MemoryWarning, match="the combined kernel needs about"):
        MKLClassifier(KERNELS).fit(X, Y)


def test_a_series_is_read_by_its_labels():
    weights = pd.Series({"polynomial": 3.0, "linear": 1.0})
    model = MKLClassifier(KERNELS, FixedWeights(weights)).fit(X, Y)
    assert model.kernel_weights_.to_dict() == {"linear": 1.0, "gaussian": 0.0, "polynomial": 3.0}
    with pytest.raises(ValueError, match="names a kernel twice"):
        MKLClassifier(KERNELS, FixedWeights(pd.concat([weights, weights]))).fit(X, Y)
