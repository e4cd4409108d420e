import numpy as np
import pytest
from scipy.optimize import approx_fprime

from kernelweave import MKLClassifier
from kernelweave.combiners import KLDivergence
from kernelweave.combiners.similarity import _Divergence
from kernelweave.kernels import Gaussian, KernelStack, Linear

rng = np.random.default_rng(3)
X = rng.normal(size=(25, 4))
Y = (X[:, 0] > 0).astype(int)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
KERNELS = [Gaussian([0], scale=1.0), Gaussian([1], scale=0.5), Linear([2, 3])]
MATRICES = KernelStack(KERNELS).fit(X).matrices()
SIGNS = 2.0 * Y - 1


def divergence(eta, T, sigma, ridge):
    """KL(N(0, K) || N(0, S)) by its definition."""
    ridge = ridge * np.mean([np.trace(K) for K in MATRICES]) / 25
    K = np.tensordot(eta, MATRICES, 1) + ridge * np.eye(25)
    S = T + sigma * np.eye(25)
    return 0.5 * (np.trace(np.linalg.solve(S, K)) - 25 + np.linalg.slogdet(S)[1] - np.linalg.slogdet(K)[1])


@pytest.mark.parametrize("sigma", [0.1, 2.0])
@pytest.mark.parametrize("labels", [Y, THREE])
def test_the_minimum_of_the_divergence(sigma, labels):
    k = labels.max() + 1
    T = np.where(labels[:, None] == labels, 1.0, -1.0 / (k - 1))
    model = MKLClassifier(KERNELS, KLDivergence(sigma, ridge=1e-2)).fit(X, labels)
    eta, found = model.kernel_weights_.to_numpy(), model.combiner_
    assert found.divergence_ == pytest.approx(divergence(eta, T, sigma, 1e-2))
    assert eta.min() >= 0 and eta.sum() == pytest.approx(1)
    for other in rng.dirichlet(np.ones(3), size=200):
        assert divergence(other, T, sigma, 1e-2) >= found.divergence_ - found.gap_ - 1e-9
    assert found.gap_ < 1e-2


def test_gradient():
    function = _Divergence(MATRICES, SIGNS[:, None], 0.3, 1e-2)
    eta = np.array([0.3, 0.5, 0.2])
    value, gradient = function(eta)
    assert 25 * value == pytest.approx(divergence(eta, np.outer(SIGNS, SIGNS), 0.3, 1e-2))
    np.testing.assert_allclose(approx_fprime(eta, lambda e: function(e)[0], 1e-7), gradient, rtol=1e-4)


def test_a_small_sigma_follows_the_targets():
    kernels = [("signal", Gaussian([0])), ("noise", Gaussian([3]))]
    weight = [
        MKLClassifier(kernels, KLDivergence(sigma)).fit(X, Y).kernel_weights_["signal"] for sigma in (0.01, 100.0)
    ]
    assert weight[0] > weight[1]


def test_bad_parameters_and_kernels():
    with pytest.raises(ValueError, match="sigma of KLDivergence must be a positive finite number"):
        MKLClassifier(KERNELS, KLDivergence(0.0)).fit(X, Y)
    with pytest.raises(ValueError, match="ridge of KLDivergence must be a positive finite number"):
        MKLClassifier(KERNELS, KLDivergence(ridge="a")).fit(X, Y)
    indefinite = -np.eye(25)[None]
    with pytest.raises(ValueError, match="needs positive semidefinite kernels"):
        _Divergence(indefinite, SIGNS[:, None], 1.0, 1e-3)(np.ones(1))
