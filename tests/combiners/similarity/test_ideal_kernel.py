import numpy as np
import pytest
from scipy.optimize import minimize

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import IdealKernelDistance
from kernelweave.kernels import Gaussian, KernelStack, Linear, Polynomial

rng = np.random.default_rng(1)
X = rng.normal(size=(30, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
KERNELS = [Linear([0]), Linear([1]), Gaussian([2]), Polynomial()]


def distance(eta, matrices, T):
    return np.linalg.norm(np.tensordot(eta, matrices, 1) - T)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", None])
def test_the_nearest_convex_combination(normalize):
    model = MKLClassifier(KERNELS, IdealKernelDistance(), normalize=normalize).fit(X, Y)
    eta = model.kernel_weights_.to_numpy()
    signs = 2.0 * Y - 1
    matrices, T = KernelStack(KERNELS, normalize).fit(X).matrices(), np.outer(signs, signs)
    assert model.combiner_.distance_ == pytest.approx(distance(eta, matrices, T))
    assert eta.min() >= 0 and eta.sum() == pytest.approx(1)
    constraint = {"type": "eq", "fun": lambda e: e.sum() - 1}
    best = minimize(
        lambda e: distance(e, matrices, T) ** 2, np.ones(4) / 4, bounds=[(0, 1)] * 4, constraints=constraint, tol=1e-12
    )
    assert distance(eta, matrices, T) ** 2 <= best.fun * (1 + 1e-8)
    for other in rng.dirichlet(np.ones(4), size=50):
        assert distance(other, matrices, T) >= distance(eta, matrices, T)


def test_other_targets():
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    T = np.where(three[:, None] == three, 1.0, -0.5)
    model = MKLClassifier(KERNELS, IdealKernelDistance()).fit(X, three)
    matrices = KernelStack(KERNELS).fit(X).matrices()
    assert model.combiner_.distance_ == pytest.approx(distance(model.kernel_weights_, matrices, T))
    y = X[:, 1] + 3
    model = MKLRegressor(KERNELS, IdealKernelDistance()).fit(X, y)
    T = np.outer(y - y.mean(), y - y.mean())
    assert model.combiner_.distance_ == pytest.approx(distance(model.kernel_weights_, matrices, T))
