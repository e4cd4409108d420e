"""A small problem on explicit features, on the host and on devices, for tests."""

import numpy as np

from kernelweave.arrays import HOST
from kernelweave.engines.primal import sweep
from kernelweave.engines.targets import ClassTargets
from kernelweave.estimators.samples import rows_in_memory
from kernelweave.estimators.training import Preparation
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, KernelStack, Laplacian, Linear, Polynomial
from kernelweave.machines import SquaredHinge
from kernelweave.views import as_views

N = 300
KERNELS = {
    "gaussian": [Gaussian(slice(0, 3)), Gaussian(slice(3, 6), scale=1.0)],
    "mixed": [Gaussian(slice(0, 3)), Laplacian(slice(3, 5)), Polynomial(slice(3, 6), 2), Linear(slice(3, 6))],
    "one": [Gaussian()],
}


class Steady:
    """Amplitudes of one weight for each kernel, 0 where a view is missing."""

    n_parameters = 0

    def __init__(self, weights):
        self.weights = weights

    def values(self, theta, block, rows):
        place = getattr(block, "place", HOST)
        found = place.xp.broadcast_to(place.asarray(self.weights)[None, :], (block.n_samples, len(self.weights)))[
            rows, :
        ]
        return found if block.present is None else place.xp.where(block.present[rows, :], found, 0.0 * found)

    def pullback(self, theta, block, rows, amplitudes, slopes):
        raise AssertionError("there is nothing to learn")


class Sloped(Steady):
    """Amplitudes that depend on the sample and on parameters: weights + theta_m y_i."""

    def __init__(self, weights):
        super().__init__(weights)
        self.n_parameters = len(weights)

    def values(self, theta, block, rows):
        place = getattr(block, "place", HOST)
        linear = place.asarray(block.losses.linear[rows, :1])
        found = place.asarray(self.weights)[None, :] + linear * place.asarray(theta)[None, :]
        return found if block.present is None else place.xp.where(block.present[rows, :], found, 0.0 * found)

    def pullback(self, theta, block, rows, amplitudes, slopes):
        place = getattr(block, "place", HOST)
        if block.present is not None:
            slopes = place.xp.where(block.present[rows, :], slopes, 0.0 * slopes)
        return place.xp.sum(block.losses.linear[rows, :1] * slopes, axis=0)


def problem(kernels, *, dtype="float64", missing=True, n_classes=2, n_components=20, normalize="unit-diagonal"):
    """Blocks on the host, what made them, and the rows; each kernel has landmarks."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 6))
    y = (X[:, 0] * X[:, 3] > 0).astype(int) + (n_classes > 2) * (X[:, 1] > 0)
    if missing and len(kernels) > 1:
        X[:30, 0:3] = np.nan
    views = as_views(X)
    stack = KernelStack(kernels, normalize).fit(views)
    draw = np.random.RandomState(0)
    approximation = NystroemFeatures(n_components, method="uniform")
    maps = [approximation.landmark_map(stack, m, draw) for m in range(stack.n_kernels)]
    targets = ClassTargets(SquaredHinge(), np.arange(n_classes), 2.0, np.ones(n_classes))
    preparation = Preparation(maps, stack, targets, np.dtype(dtype))
    rows = rows_in_memory(views, y, rng.uniform(0.5, 1.5, size=N), n_rows=64)
    return rows, preparation


def sums(engine, preparation, n_outputs=1, *, learns=False):
    rng = np.random.default_rng(1)
    D, P = sum(found.n_features for found in preparation.maps), len(preparation.maps)
    amplitudes = Steady(rng.uniform(0.1, 1.0, size=P))
    w, b = rng.normal(size=(D, n_outputs)), rng.normal(size=n_outputs)
    if not learns:
        return engine.sum(sweep, amplitudes, w, b, np.empty(0))
    return engine.sum(sweep, Sloped(amplitudes.weights), w, b, rng.normal(size=P))


def same(found, wanted, tol):
    for name in ("loss", "pulled", "totals", "slopes"):
        a, b = getattr(found, name), getattr(wanted, name)
        assert isinstance(a, np.ndarray) and a.dtype == np.float64 and a.shape == b.shape, name
        assert np.abs(a - b).max(initial=0.0) <= tol * max(1.0, np.abs(b).max(initial=0.0)), name
