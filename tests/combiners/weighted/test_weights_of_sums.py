"""What kernel weights mean: in every combiner that is a sum they multiply k_m(x, x) in the combined kernel."""

import numpy as np
import pytest

from kernelweave import MKLClassifier
from kernelweave.combiners import (
    AlignmentWeights,
    BestSingle,
    ConvexMKL,
    EasyMKL,
    ElasticMKL,
    FixedWeights,
    GaussianGate,
    Localized,
    LpMKL,
    Mean,
    Projected,
    Sigmoid,
    Softmax,
)
from kernelweave.kernels import Gaussian, KernelStack, Polynomial
from localized_problem import MISSING, SIGNS, X

KERNELS = [Gaussian([0, 1], scale=2.0), Polynomial([2, 3])]
SUMS = [
    Mean(),
    FixedWeights([0.3, 2.0]),
    BestSingle(),
    ConvexMKL(),
    LpMKL(),
    ElasticMKL(),
    EasyMKL(),
    AlignmentWeights(),
    Localized(l2=1e-3),
    Localized(Sigmoid(), l2=1e-3),
    Localized(GaussianGate(), l2=1e-3, gate_tol=0.2),
    Localized(Softmax("paper"), l2=1e-3),
    Localized(Sigmoid("paper"), l2=1e-3),
]


@pytest.mark.parametrize("samples", [X, MISSING], ids=["complete", "missing views"])
@pytest.mark.parametrize("normalize", ["unit-diagonal", None])
@pytest.mark.parametrize("combiner", SUMS, ids=lambda combiner: repr(combiner))
@pytest.mark.filterwarnings("ignore:.*this model is not localized")
def test_they_multiply_the_diagonals(combiner, normalize, samples):
    if isinstance(combiner, BestSingle) and samples is MISSING:
        pytest.skip("needs a view that every sample has")
    model = MKLClassifier(KERNELS, combiner, normalize=normalize, random_state=0)
    found = model.fit_kernel(samples, SIGNS)
    weights = model.kernel_weights(samples).to_numpy()
    diagonals = np.stack([K.diagonal() for K in KernelStack(KERNELS, normalize).fit(samples).matrices()], axis=1)
    K = found.gram()
    np.testing.assert_allclose(K.diagonal(), (weights * diagonals).sum(axis=1), rtol=1e-9)
    if normalize is not None and getattr(getattr(combiner, "gating", None), "norm", None) == "unit":
        np.testing.assert_allclose(K.diagonal(), 1.0)


def test_projections_without_gates_weigh_kernels_evenly():
    model = MKLClassifier(KERNELS, Projected(1), random_state=0).fit(X, SIGNS)
    np.testing.assert_allclose(model.kernel_weights_, 0.5)
    np.testing.assert_allclose(model.gates(X), np.sqrt(0.5))
