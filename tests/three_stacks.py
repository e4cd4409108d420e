"""One small problem on each of the three training stacks: whole matrices, tiles, and features that are exact."""

from functools import cache

import numpy as np

from kernelweave.engines import InMemory
from kernelweave.engines.memory import Block, StoredFeatures
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import KernelStack
from kernelweave.machines import BinaryLoss, DualTerms, EpsilonInsensitive, Hinge, RegressionLoss
from kernelweave.machines.losses import LossMachine
from kernelweave.stacks import training
from kernelweave.stacks.explicit import Features

FORMS = ("matrices", "tiles", "features")


class RoundedHinge(BinaryLoss):
    """The hinge without its kink: smooth, as features need it, and with bounded coefficients, as tiles do."""

    def terms(self, y, bound):
        ends = bound * y
        return DualTerms(y, np.minimum(ends, 0.0), np.maximum(ends, 0.0), quadratic=0.5 / bound)


class WholeMachine(LossMachine):
    """A machine that is solved on whole Gram matrices only."""

    takes_parts = False


class WholeHinge(Hinge):
    def for_targets(self, y, bound):
        return WholeMachine(self, y, bound)


class WholeTube(EpsilonInsensitive):
    def for_targets(self, y, bound):
        return WholeMachine(self, y, bound)


class RoundedError(RegressionLoss):
    """The absolute error without its kinks."""

    def terms(self, y, bound):
        return DualTerms(y, -bound, bound, quadratic=0.5 / bound, insensitivity=0.1)


def stack_on(form, kernels, X, machine, y=None, *, normalize="unit-diagonal", weight=None, **options):
    """The kernels over samples, with the targets of a machine, as one of `FORMS`.

    Every sample is a landmark of the features, so that these have the values of the kernels; they are in three blocks
    of unequal size. A machine of `RoundedHinge` or `RoundedError` is solved on each form.
    """
    storage = {"storage": "lazy" if form == "tiles" else "dense"}
    stack = KernelStack(kernels, normalize, **storage, **options).fit(X, weight, y)
    exact = training(stack).for_machine(machine, y)
    return features_of(exact, machine) if form == "features" else exact


def features_of(exact, machine):
    """The same kernels and targets as explicit features."""
    n, rng = exact.n_samples, np.random.RandomState(0)
    every = NystroemFeatures(n, method="uniform")
    maps = [every.fit_map(exact, m, rng, dtype=np.dtype("float64")) for m in range(exact.n_kernels)]
    offsets = np.cumsum([0, *(found.n_features for found in maps)])
    blocks = []
    for rows in (slice(0, n // 4), slice(n // 4, n // 4 + 1), slice(n // 4 + 1, n)):
        part, present = exact.support.rows(rows), exact.present[rows]
        matrix = np.hstack([found.transform(part, present[:, m]) for m, found in enumerate(maps)])
        y, there = None if exact.targets is None else exact.targets[rows], None if present.all() else present
        features = StoredFeatures(matrix, offsets)
        blocks.append(Block(rows.start, features, machine.terms.of(rows), y, exact.weight[rows], there, views=part))
    return Features(exact, maps, InMemory(blocks), n)


def serve(combiner, kernels=()):
    """The forms that offer what a combiner needs."""
    return [form for form in FORMS if offers()[form] >= combiner.needs(kernels).keys()]


@cache
def offers():
    """What each form offers."""
    from kernelweave.stacks import Matrices
    from kernelweave.stacks.tiles import Tiles

    return dict(zip(FORMS, (Matrices.offers, Tiles.offers, Features.offers), strict=True))
