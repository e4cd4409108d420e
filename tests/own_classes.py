"""Kernels, gates, combiners and machines of a user's own, and models that contain them."""

import numpy as np
from sklearn.base import clone

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import ChosenWeights, CombinedKernel, Combiner, Gate, Localized, LpMKL, Projected
from kernelweave.kernels import Gaussian, Kernel, Linear, ViewKernel
from kernelweave.machines import BinaryLoss, BinaryMachine, DualTerms
from kernelweave.views import as_views
from saved_builders import THREE, TWO, VALUE, A

CALLS = []  # of constructors


class Cauchy(ViewKernel):
    """1 / (1 + d^2 / s^2), s being learned."""

    positive_semidefinite = True

    def __init__(self, view=None, factor=1.0):
        CALLS.append("Cauchy")
        self.view = view
        self.factor = factor

    def fit(self, X, sample_weight=None, label=None, y=None):
        values = super().fit(X, sample_weight, label).samples(X)
        self.spread_ = self.factor * float(values.std())
        self.seen_ = {"shape": list(values.shape), "mean": values.mean(axis=0)}
        return self

    def samples(self, X):
        return as_views(X).read(self.columns_, self.label_, text=False)[0]

    def cross(self, X, Y):
        differences = self.samples(X)[:, None] - self.samples(Y)[None]
        return 1.0 / (1.0 + (differences**2).sum(axis=2) / self.spread_**2)

    def gram(self, X):
        return self.cross(X, X)

    def diagonal(self, X):
        return np.ones(len(self.samples(X)))


class Squared(Kernel):
    """k(x, z)^2 of another kernel, which it keeps fitted."""

    positive_semidefinite = True
    name = "squared"

    def __init__(self, kernel):
        self.kernel = kernel

    def fit(self, X, sample_weight=None, label=None, y=None):
        self.inner_ = [clone(self.kernel).fit(X, sample_weight)]
        return self

    def columns(self):
        return self.inner_[0].columns()

    def present(self, X):
        return self.inner_[0].present(X)

    def gram(self, X):
        return self.inner_[0].gram(X) ** 2

    def cross(self, X, Y):
        return self.inner_[0].cross(X, Y) ** 2

    def diagonal(self, X):
        return self.inner_[0].diagonal(X) ** 2


class Bump(Gate):
    """Scores -(c - t_m)^2 of the first input c alone."""

    def start(self, codes, n_kernels, rng):
        return rng.normal(size=n_kernels)

    def scores(self, theta, codes, n_kernels):
        return -((codes[:, :1] - theta) ** 2)

    def scores_pullback(self, theta, codes, slopes):
        return (2.0 * (codes[:, :1] - theta) * slopes).sum(axis=0)


class Rising(ChosenWeights):
    """The weights 1, 2, 3, ..."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def choose(self, stack, *others):
        self.order_ = np.arange(stack.n_kernels)
        return self.factor * (1.0 + self.order_), 0


class LargestKernel(CombinedKernel):
    """1 + the product of all kernels and a factor."""

    def __init__(self, stack, factor):
        self.stack, self.theta, self.factor = stack, np.array([factor, 1.0]), factor

    def gram(self, out=None):
        return 1.0 + self.factor * np.prod([self.stack.gram(m) for m in range(self.n_kernels)], axis=0)

    def cross(self, views):
        present = self.stack.presence(views)
        return 1.0 + self.factor * np.prod(
            [self.stack.cross(m, views, present[:, m]) for m in range(self.n_kernels)], axis=0
        )

    def weights(self):
        return np.ones(self.n_kernels)

    def sample_weights(self, views):
        return np.ones((views.n_samples, self.n_kernels))

    def restrict(self, index):
        return LargestKernel(self.stack.restrict(index, self.active), self.factor)


class Largest(Combiner):
    """A combiner that returns a kernel of a class of its own."""

    def __init__(self, factor=0.5):
        self.factor = factor

    def fit(self, stack, machine, y, control=None):
        kernel = LargestKernel(stack, self.factor)
        return kernel.solved(machine.solve(kernel.gram()), [{"objective": 0.0}])


class RoundHinge(BinaryLoss):
    """The hinge, rounded off where it has its kink."""

    def __init__(self, width=0.5):
        self.width = width

    def terms(self, y, bound):
        ends = bound * y
        return DualTerms(y, np.minimum(ends, 0.0), np.maximum(ends, 0.0), quadratic=self.width / bound)


class Doubled(BinaryMachine):
    """A machine whose decision values are twice those of another."""

    decides_with = ("factor",)
    factor = 2.0

    def decision(self, values):
        return self.factor * super().decision(values)


def with_machine():
    model = MKLClassifier([Linear()]).fit(A, TWO)
    model._rule = Doubled(np.where(TWO == "yes", 1.0, -1.0), 1.0).without_samples()
    return model


CLASSES = {
    "kernel": [Cauchy],
    "kernel in a sum": [Cauchy, Squared],
    "kernel of a kernel": [Squared, Cauchy],
    "gate": [Bump],
    "gate of projections": [Bump],
    "combiner": [Rising],
    "combiner for each output": [Rising],
    "combined kernel": [Largest, LargestKernel],
    "combined kernel for each output": [Largest, LargestKernel],
    "several": [Cauchy, Rising],
    "loss": [RoundHinge],
    "loss, one-vs-all": [RoundHinge],
    "machine": [Doubled],
}
MODELS = {
    "kernel": lambda: MKLClassifier([Cauchy([0, 1]), Gaussian()], LpMKL()).fit(A, TWO),
    "kernel in a sum": lambda: MKLRegressor([Cauchy([0, 1]) + 0.5 * Linear(), Squared(Linear())]).fit(A, VALUE),
    "kernel of a kernel": lambda: MKLClassifier([Squared(Cauchy([1, 2])), Squared(Gaussian())]).fit(A, TWO),
    "gate": lambda: MKLClassifier([Linear(), Gaussian()], Localized(Bump(), l2=0.01), random_state=0).fit(A, TWO),
    "gate of projections": lambda: MKLClassifier(
        [Linear([0, 1]), Gaussian([1, 2])], Projected(1, Bump(), inputs=[0, 1]), random_state=0
    ).fit(A, TWO),
    "combiner": lambda: MKLClassifier([Linear(), Gaussian()], Rising(2.0)).fit(A, TWO),
    "combiner for each output": lambda: MKLClassifier([Linear(), Gaussian()], Rising(), weights="per-class").fit(
        A, THREE
    ),
    "combined kernel": lambda: MKLClassifier([Linear(), Gaussian([0, 1])], Largest(2.0)).fit(A, TWO),
    "combined kernel for each output": lambda: MKLClassifier(
        [Linear(), Gaussian([0, 1])], Largest(), weights="per-class", multiclass="one-vs-all"
    ).fit(A, THREE),
    "several": lambda: MKLClassifier([Linear(), Cauchy()], Rising()).fit(A, TWO),
    "loss": lambda: MKLClassifier([Linear(), Gaussian()], machine=RoundHinge(0.3)).fit(A, TWO),
    "loss, one-vs-all": lambda: MKLClassifier([Gaussian()], machine=RoundHinge(), multiclass="one-vs-all").fit(
        A, THREE
    ),
    "machine": with_machine,
}
