"""Kernel discriminant analysis with learned weights is convex MKL with least squares: docs/methods/discriminant.md.

The reference has explicit features, means and covariances of classes, and a generic optimiser over the simplex; nothing
of it is least squares. With features phi of the sum of kernels, scaled by the roots of the weights,

    two classes    J = 2 h / (1 + h F),              F = d'(S + I)^-1 d,      d: difference of the class means
    several        J = n C / 2 (k - 1 - F),          F = tr (T + I / (n C))^-1 B

S is the scatter within classes, each sample counting by its C_i, and h = W_+ W_- / (W_+ + W_-) for sums W of C_i; T and
B are the total covariance and that between classes. J falls as F rises.
"""

import numpy as np
import pytest
from scipy.optimize import minimize

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import ConvexMKL
from kernelweave.kernels import Gaussian, KernelStack, Linear, Polynomial

N = 54
rng = np.random.default_rng(4)
X = rng.normal(size=(N, 6))
KERNELS = [Linear([0, 1]), Gaussian([1, 2], scale=1.5), Polynomial([3, 4], degree=2), Gaussian([5])]
SIDE = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=N) > 0.4  # not of equal size
THREE = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.8, 0.3])
C = 0.3
EXACT = {"normalize": "unit-trace", "tol": 1e-9, "machine": "least-squares"}


def roots():
    """F_m with F_m F_m' = K_m for each kernel."""
    found = []
    for K in KernelStack(KERNELS, "unit-trace").fit(X).matrices():
        values, vectors = np.linalg.eigh(K)
        kept = values > 1e-12 * values[-1]
        found.append(vectors[:, kept] * np.sqrt(values[kept]))
    return found


ROOTS = roots()


def features(eta):
    return np.hstack([np.sqrt(weight) * F for weight, F in zip(eta, ROOTS, strict=True)])


def fisher(eta, cost):
    """d'(S + I)^-1 d."""
    phi = features(eta)
    means = [np.average(phi[side], axis=0, weights=cost[side]) for side in (~SIDE, SIDE)]
    away = phi - np.array(means)[SIDE.astype(int)]
    scatter = (cost[:, None] * away).T @ away
    d = means[1] - means[0]
    return float(d @ np.linalg.solve(scatter + np.eye(len(d)), d))


def trace(eta, ridge):
    """tr (T + ridge I)^-1 B."""
    phi = features(eta) - features(eta).mean(axis=0)
    between = np.zeros((phi.shape[1],) * 2)
    for k in range(3):
        mean = phi[k == THREE].mean(axis=0)
        between += (k == THREE).mean() * np.outer(mean, mean)
    total = phi.T @ phi / N
    return float(np.trace(np.linalg.solve(total + ridge * np.eye(len(total)), between)))


def best_on_simplex(criterion):
    """The largest value and where, of several starts."""
    ones, found = {"type": "eq", "fun": lambda eta: eta.sum() - 1.0}, []
    for start in (np.full(4, 0.25), np.array([0.7, 0.1, 0.1, 0.1]), np.array([0.1, 0.1, 0.1, 0.7])):
        options = {"maxiter": 500, "ftol": 1e-14}
        given = {"method": "SLSQP", "bounds": [(1e-12, 1.0)] * 4, "constraints": ones, "options": options}
        found.append(minimize(lambda eta: 1.0 / criterion(np.maximum(eta, 0.0)), start, **given))
    best = min(found, key=lambda end: end.fun)
    return 1.0 / best.fun, best.x


@pytest.mark.parametrize("class_weight", [None, "balanced"], ids=["pooled", "classes alike"])
def test_two_classes(class_weight):
    """With "balanced" the scatter is the sum of the covariances of both classes, as Kim et al. (2006) have it."""
    model = MKLClassifier(KERNELS, ConvexMKL(), C=C, class_weight=class_weight, **EXACT).fit(X, SIDE)
    counts = np.bincount(SIDE.astype(int))
    cost = C * (np.ones(N) if class_weight is None else N / (2.0 * counts[SIDE.astype(int)]))
    best, eta = best_on_simplex(lambda eta: fisher(eta, cost))
    totals = [cost[side].sum() for side in (~SIDE, SIDE)]
    h = totals[0] * totals[1] / sum(totals)
    assert model.objective_ == pytest.approx(2.0 * h / (1.0 + h * best), rel=1e-6)
    np.testing.assert_allclose(model.kernel_weights_, eta, atol=2e-3)
    mine = model.kernel_weights_.to_numpy()
    assert fisher(mine, cost) == pytest.approx(best, rel=1e-6)
    assert 0.05 < mine.max() < 0.95 and best > 1.01 * fisher(np.full(4, 0.25), cost)  # there is something to learn
    if class_weight is not None:  # up to the scale of the ridge
        phi, weight = features(mine), C * N / 2.0
        parts = [np.cov(phi[side].T, bias=True) for side in (~SIDE, SIDE)]
        d = phi[SIDE].mean(axis=0) - phi[~SIDE].mean(axis=0)
        kim = d @ np.linalg.solve(sum(parts) + np.eye(len(d)) / weight, d)
        assert kim == pytest.approx(weight * best, rel=1e-5)


def scaled_indicators(labels):
    """Targets of Ye et al.: sqrt(n / n_k) - sqrt(n_k / n) for the members of class k, -sqrt(n_k / n) for others."""
    members = labels[:, None] == np.unique(labels)
    share = members.mean(axis=0)
    return members / np.sqrt(share) - np.sqrt(share)


def test_several_classes_by_scaled_indicators():
    model = MKLRegressor(KERNELS, ConvexMKL(), C=C, **EXACT).fit(X, scaled_indicators(THREE))
    best, eta = best_on_simplex(lambda eta: trace(eta, 1.0 / (N * C)))
    assert model.objective_ == pytest.approx(0.5 * N * C * (2.0 - best), rel=1e-6)
    np.testing.assert_allclose(model.kernel_weights_, eta, atol=2e-3)
    assert trace(model.kernel_weights_.to_numpy(), 1.0 / (N * C)) == pytest.approx(best, rel=1e-6)
    assert model.kernel_weights_.max() < 0.95 and best > 1.01 * trace(np.full(4, 0.25), 1.0 / (N * C))


def test_classes_of_equal_size_need_no_scaled_indicators():
    """The targets +1 and -1 of one-vs-all are then the same but for a factor and a constant, which the bias takes."""
    labels = np.argsort(np.argsort(X[:, 0] + X[:, 1] * X[:, 2])) * 3 // N
    settings = {"C": C, **EXACT}
    classes = MKLClassifier(KERNELS, ConvexMKL(), multiclass="one-vs-all", **settings).fit(X, labels)
    indicators = MKLRegressor(KERNELS, ConvexMKL(), **settings).fit(X, scaled_indicators(labels))
    np.testing.assert_allclose(classes.kernel_weights_, indicators.kernel_weights_, atol=1e-4)
    assert classes.objective_ == pytest.approx(4.0 / 3.0 * indicators.objective_, rel=1e-6)
