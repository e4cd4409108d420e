"""Problems on explicit features for tests: stacks in blocks whose features are exact, and their exact twins."""

import numpy as np

from kernelweave.combiners import FitControl
from kernelweave.engines import InMemory
from kernelweave.engines.memory import Block, StoredFeatures
from kernelweave.engines.targets import ClassTargets, NoveltyTargets, NumberTargets
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import SquaredEpsilonInsensitive, SquaredError, SquaredHinge, SquaredMargin
from kernelweave.stacks import training
from kernelweave.stacks.explicit import Features

N = 90
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 6))
KERNELS = [
    ("product", Gaussian([0, 1])),
    ("smooth", Gaussian([2, 3], scale=3.0)),
    ("line", Linear([2])),
    ("noise", Gaussian([4, 5])),
]
LABELS = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
THREE = np.digitize(X[:, 0] + X[:, 2], [-0.5, 0.5])
NUMBERS = np.column_stack([X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=N), X[:, 2]])
WEIGHT = RNG.uniform(0.5, 2.0, size=N)


def some_missing(X: np.ndarray) -> np.ndarray:
    """The same samples, a third of which lack views."""
    X = X.copy()
    X[::5, :2] = np.nan
    X[1::6, 4:] = np.nan
    return X


CASES = {
    "squared-hinge": (ClassTargets(SquaredHinge(), np.array([0, 1]), 2.0, np.array([1.0, 1.5])), LABELS),
    "least-squares classes": (ClassTargets(SquaredMargin(), np.array([0, 1]), 2.0, np.ones(2)), LABELS),
    "one-vs-all": (ClassTargets(SquaredHinge(), np.arange(3), 1.0, np.ones(3)), THREE),
    "one-vs-all least squares": (ClassTargets(SquaredMargin(), np.arange(3), 1.0, np.ones(3)), THREE),
    "squared-epsilon-insensitive": (NumberTargets(SquaredEpsilonInsensitive(epsilon=0.2), 3.0), NUMBERS[:, 0]),
    "several targets": (NumberTargets(SquaredEpsilonInsensitive(epsilon=0.2), 3.0), NUMBERS),
    "several least squares": (NumberTargets(SquaredError(), 3.0), NUMBERS),
}
NOVELTY = {"one class": (NoveltyTargets(0.2, 0.1), None)}


class Twin:
    """One problem, exact and on explicit features of all samples, in blocks of unequal size.

    Attributes
    ----------
    dense : Matrices
    explicit : Features
    machine : Machine
        Of all samples.
    """

    def __init__(self, case: str, *, X: np.ndarray = X, kernels=KERNELS, normalize="unit-diagonal", weight=WEIGHT):
        make, y = (CASES | NOVELTY)[case]
        self.machine, targets = make(y, weight)
        stack = KernelStack(kernels, normalize).fit(X, weight, y)
        self.dense = training(stack).for_machine(self.machine, targets)
        rng = np.random.RandomState(0)
        every = NystroemFeatures(len(X), method="uniform")
        maps = [every.fit_map(self.dense, m, rng, dtype=np.dtype("float64")) for m in range(self.dense.n_kernels)]
        offsets = np.cumsum([0, *(found.n_features for found in maps)])
        views, present = self.dense.support, self.dense.present
        blocks = []
        for rows in (slice(0, 20), slice(20, 21), slice(21, len(X))):
            part = views.rows(rows)
            matrix = np.hstack([found.transform(part, present[rows, m]) for m, found in enumerate(maps)])
            own, targets = make(None if y is None else y[rows], weight[rows])
            there = None if present[rows].all() else present[rows]
            features = StoredFeatures(matrix, offsets)
            blocks.append(Block(rows.start, features, own.terms, targets, weight[rows], there))
        self.explicit = Features(self.dense, maps, InMemory(blocks), len(X))

    def fits(self, combiner_of, tol: float = 1e-9):
        """The exact combined kernel, and the one on explicit features."""
        return [combiner_of().fit(stack, self.machine, FitControl(tol=tol)) for stack in (self.dense, self.explicit)]

    def check(self, combiner_of, tol: float = 1e-11, allowed: float = 1e-5):
        """Both paths agree in J, weights and values; returns the two combined kernels."""
        exact, found = self.fits(combiner_of, tol)
        views = self.dense.support
        assert found.solution.gap >= 0.0
        np.testing.assert_allclose(found.solution.objective, exact.solution.objective, rtol=allowed)
        np.testing.assert_allclose(found.weights(), exact.weights(), atol=allowed)
        values = exact.values(views, exact.solution.coef) + exact.solution.intercept
        mine = found.values(views, found.solution.coef) + found.solution.intercept
        np.testing.assert_allclose(mine, values, atol=allowed)
        return exact, found
