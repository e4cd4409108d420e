"""Samples that are held out: to choose a parameter by their losses, or to watch their risk for early stopping.

A *part* has the stack and the machine of the samples that are left, and judges solutions by the others. Samples in
memory are divided by positions. In blocks, which samples are held out depends on a hash of their positions, so that
nothing as long as the data is needed and the choice does not depend on how samples are divided into blocks; held-out
samples stay where they are, without a loss.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engines.base import ranges
from ..engines.coupled import gather
from ..engines.memory import TILE, Block, FeatureBlock, RecomputedFeatures, StoredFeatures
from ..engines.reservoir import uniform_keys
from ..machines import DualTerms, Machine, Solution
from ..machines.base import TERMS

if TYPE_CHECKING:
    from .dense import ExactStack
    from .explicit import Features

PATIENCE = 10
N_FOLDS = 4
MANY = 1000  # from so many samples on, one fold is enough
ENOUGH = 40_000  # samples in blocks on which a penalty is chosen
TIE = 1e-12
Judged = tuple[np.ndarray, Any]  # theta and what was learned with it


@dataclass(frozen=True)
class LossSums:
    """Sums over held-out samples of the losses of several solutions, and of their weighted products.

    `square` is the sum of squared weights; `losses`, `weighted` and `squared` sums of losses, times 1, the weights and
    their squares; `products` those of products of losses of two solutions, times the squares.
    """

    count: float
    weight: float
    square: float
    losses: np.ndarray
    weighted: np.ndarray
    squared: np.ndarray
    products: np.ndarray

    def __add__(self, other: LossSums) -> LossSums:
        pairs = ((getattr(self, each.name), getattr(other, each.name)) for each in dataclasses.fields(self))
        return LossSums(*(a + b for a, b in pairs))

    def risks(self) -> np.ndarray:
        return self.losses / max(self.count, 1.0)

    def strongest(self) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
        """The first solution that is within one standard error, of paired differences, of the best.

        Also weighted mean losses, their differences from the smallest, and how exact these are, each (n_solutions,).
        """
        risk, errors = self.compared()
        best = int(np.argmax(risk <= risk.min() + TIE))  # the first of equals
        difference, error = risk - risk[best], errors[:, best]
        # where one sample makes the difference, both are the same but for rounding
        return int(np.argmax(difference <= error * (1.0 + 1e-6) + TIE)), risk, difference, error

    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean losses, and the standard error of the difference of each pair of solutions."""
        weight = self.weight or 1.0  # 0 of held-out samples of which no two can be compared
        risk = self.weighted / weight
        difference = risk[:, None] - risk
        # sum_i share_i^2 (l_ik - l_ij - d_kj)^2, expanded
        diagonal = self.products.diagonal()
        squares = diagonal[:, None] + diagonal - 2.0 * self.products
        linear = self.squared[:, None] - self.squared
        spread = squares - 2.0 * difference * linear + difference**2 * self.square
        correction = self.count / max(1.0, self.count - 1.0)
        return risk, np.sqrt(np.maximum(spread, 0.0) * correction) / weight


class ExactPart:
    """Samples in memory of which some are held out, given by their positions."""

    passes = 0  # over blocks that `losses` takes

    def __init__(self, whole: ExactStack, machine: Machine, held_out: np.ndarray):
        self.held_out = held_out
        self.training = np.setdiff1d(np.arange(machine.n_samples), held_out)
        self.stack, self.machine = whole.subset(self.training), machine.subset(self.training)
        self.judge = machine.subset(held_out)
        self.weight = self.judge.importance

    def _values(self, family: Any, theta: np.ndarray, solution: Solution) -> np.ndarray:
        kernel = family.at(theta)
        return kernel.between(self.held_out, self.training, solution.coef) + solution.intercept

    def losses(self, family: Any, judged: Sequence[Judged]) -> LossSums:
        losses = [self.judge.losses(self._values(family, *each)) for each in judged]
        return sums_of(np.column_stack(losses), self.weight)

    def risk(self, family: Any, theta: np.ndarray, solution: Solution) -> float:
        return self.judge.risk(self._values(family, theta, solution))


def positions_of_parts(machine: Machine, rng: np.random.RandomState) -> list[np.ndarray]:
    """Positions to hold out, part after part: `N_FOLDS` folds, only the first of them from `MANY` samples on.

    Classes, or events, are dealt out evenly; one with a single sample is never held out.
    """
    strata, order = machine.dealt_by, rng.permutation(machine.n_samples)
    if strata is not None:
        labels, counts = np.unique(strata, return_counts=True)
        order = order[np.argsort(strata[order], kind="stable")]  # dealt out class by class
        order = order[np.isin(strata[order], labels[counts > 1])]
    parts = [np.sort(order[k::N_FOLDS]) for k in range(N_FOLDS)]
    return [part for part in parts[: 1 if machine.n_samples >= MANY else N_FOLDS] if len(part)]


def held_out_positions(machine: Machine, fraction: float, rng: np.random.RandomState) -> np.ndarray:
    from sklearn.model_selection import train_test_split

    try:
        _, held_out = train_test_split(
            np.arange(machine.n_samples), test_size=float(fraction), stratify=machine.dealt_by, random_state=rng
        )
    except ValueError as error:
        raise ValueError(f"validation_fraction={fraction!r} does not fit these samples: {error}") from None
    return np.sort(held_out)


class CoupledPart:
    """Samples in blocks of which some are held out, for machines that couple samples: the blocks stay as they are."""

    passes = 1

    def __init__(self, whole: Features, machine: Any, held_out: np.ndarray):
        chosen = np.isin(np.arange(machine.n_samples), held_out)
        self.stack, self.machine, self.judge = whole, machine.among(~chosen), machine.among(chosen)
        self.held_out = held_out

    def _scores(self, family: Any, theta: np.ndarray, solution: Solution) -> np.ndarray:
        return self.stack.engine.sum(gather, family.amplitudes, solution.coef, theta).joined()

    def losses(self, family: Any, judged: Sequence[Judged]) -> LossSums:
        losses = [self.judge.losses(self._scores(family, *each))[self.held_out] for each in judged]
        return sums_of(np.column_stack(losses), self.judge.importance[self.held_out])

    def risk(self, family: Any, theta: np.ndarray, solution: Solution) -> float:
        return self.judge.risk(self._scores(family, theta, solution))


class BlockPart:
    """Samples in blocks of which some are held out: they have no loss there."""

    passes = 1

    def __init__(self, whole: Features, machine: Machine, split: Split):
        self.stack, self.machine = whole.over(whole.engine.replace(divided, split)), machine

    def losses(self, family: Any, judged: Sequence[Judged]) -> LossSums:
        judge = Judge(
            family.amplitudes,
            np.hstack([solution.coef for _, solution in judged]),
            np.stack([solution.intercept for _, solution in judged]),
            np.stack([theta for theta, _ in judged]),
            self.machine.n_classes > 0,
        )
        return self.stack.engine.sum(judge)

    def risk(self, family: Any, theta: np.ndarray, solution: Solution) -> float:
        return float(self.losses(family, [(theta, solution)]).risks()[0])


def block_parts(stack: Features, machine: Machine, rng: np.random.RandomState) -> list[BlockPart]:
    """Parts to choose a parameter with, of at most `ENOUGH` samples."""
    n_parts = 1 if stack.n_samples >= MANY else N_FOLDS
    edges = np.linspace(0.0, 1.0, N_FOLDS + 1)[: n_parts + 1]
    return _block_parts(stack, machine, int(rng.randint(2**31)), edges, min(1.0, ENOUGH / stack.n_samples))


def block_split(stack: Features, machine: Machine, fraction: float, rng: np.random.RandomState) -> BlockPart:
    if machine.detects_novelty:
        raise ValueError(
            "validation_fraction must be 0 for novelty detection on explicit features: held-out samples have no loss "
            "to judge gates by"
        )
    parts = _block_parts(stack, machine, int(rng.randint(2**31)), np.array([0.0, fraction]), 1.0)
    if not parts:
        raise ValueError(f"validation_fraction={fraction!r} does not fit these samples: no class has a second sample")
    return parts[0]


def _block_parts(stack: Features, machine: Machine, seed: int, edges: np.ndarray, share: float) -> list[BlockPart]:
    """Parts between edges of the range of keys; every class keeps a training sample."""
    splits, n_classes = [Split(seed, share, low, high) for low, high in pairwise(edges)], machine.n_classes
    if n_classes >= 2:
        whole = np.array([0.0, *edges, 1.0])  # samples before, between and after the edges
        counts: np.ndarray = stack.engine.sum(count_classes, splits[0], whole, n_classes)
        total = counts.sum(axis=1)
        exempt = [counts[:, 1 + k] >= total for k in range(len(splits))]
        splits = [
            dataclasses.replace(split, exempt=own)
            for k, (split, own) in enumerate(zip(splits, exempt, strict=True))
            if counts[~own, 1 + k].any()
        ]
    return [BlockPart(stack, machine, split) for split in splits]


@dataclass(frozen=True)
class Split:
    """Which samples take part (a share of all), and which of those are held out: those with keys from `low` to `high`.

    Of the classes that are exempt nothing is held out, because no sample would be left.
    """

    seed: int
    share: float
    low: float
    high: float
    exempt: np.ndarray | None = None

    def keys(self, block: Block) -> np.ndarray:
        return uniform_keys(block.first, block.n_samples, self.seed) / self.share

    def held_out(self, keys: np.ndarray, labels: Any) -> np.ndarray:
        held = (keys >= self.low) & (keys < self.high)
        return held if self.exempt is None else held & ~self.exempt[np.asarray(labels)]


@dataclass(frozen=True)
class SplitBlock(Block):
    """A block of which some samples are held out: they have a loss in `all_losses` only, not in `losses`."""

    held_out: Any = None
    all_losses: Any = None


def divided(block: Block, split: Split) -> SplitBlock:
    """A block with samples held out, and only with those that take part."""
    keys = split.keys(block)
    if split.share < 1.0:
        index = np.flatnonzero(keys < 1.0)
        block, keys = some(block, index), keys[index]
    held = split.held_out(keys, block.y)
    fields = {each.name: getattr(block, each.name) for each in dataclasses.fields(Block)}
    fields["losses"] = block.losses.without(held)
    return SplitBlock(**fields, held_out=held, all_losses=block.losses)


def some(block: Block, index: np.ndarray) -> Block:
    nobody = slice(0, 0)
    features, codes = [np.asarray(block.features.features(nobody))], [np.asarray(block.codes[nobody])]
    for rows in ranges(block.n_samples, TILE):
        own = index[(index >= rows.start) & (index < rows.stop)] - rows.start
        features.append(np.asarray(block.features.features(rows))[own])
        codes.append(np.asarray(block.codes[rows])[own])
    return Block(
        block.first,
        StoredFeatures(np.concatenate(features), block.features.offsets),
        block.losses.of(index),
        None if block.y is None else block.y[index],
        block.weight[index],
        None if block.present is None else block.present[index],
        np.concatenate(codes),
    )


def count_classes(block: Block, split: Split, edges: np.ndarray, n_classes: int) -> np.ndarray:
    keys = split.keys(block)
    parts = np.searchsorted(edges, keys, side="right") - 1
    found = np.zeros((n_classes, len(edges) - 1))
    there = (keys < edges[-1]) & (keys >= edges[0])
    np.add.at(found, (np.asarray(block.y)[there], parts[there]), 1.0)
    return found


@dataclass(frozen=True)
class Judge:
    """The losses of held-out samples under several solutions: wrong classes, or squared errors.

    `weights` are of shape (n_features, n_solutions * n_outputs), `intercepts` (n_solutions, n_outputs) and `thetas`
    (n_solutions, n_parameters).
    """

    amplitudes: Any
    weights: np.ndarray
    intercepts: np.ndarray
    thetas: np.ndarray
    classifies: bool

    def __call__(self, block: SplitBlock) -> LossSums:
        count, q = self.intercepts.shape
        found = sums_of(np.empty((0, count)), np.empty(0))
        parts = [found]

        def respond(rows: slice, scores: np.ndarray) -> np.ndarray:
            held, losses = block.held_out[rows], block.all_losses.of(rows)
            columns = []
            for k in range(count):
                a = self.amplitudes.values(self.thetas[k], block, rows)
                values = np.einsum("im,imr->ir", a, scores[:, :, k * q : (k + 1) * q]) + self.intercepts[k]
                columns.append(self._losses(values, losses, None if block.y is None else block.y[rows]))
            parts.append(sums_of(np.stack(columns, axis=1)[held], (1.0 / losses.quadratic.mean(axis=1))[held]))
            return np.zeros_like(scores)

        block.features.sweep(self.weights, respond)
        for part in parts[1:]:
            found = found + part
        return found

    def _losses(self, values: np.ndarray, losses: DualTerms, labels: Any) -> np.ndarray:
        if not self.classifies:
            return ((values - losses.linear) ** 2).sum(axis=1)
        predicted = values[:, 0] > 0.0 if values.shape[1] == 1 else values.argmax(axis=1)
        return (predicted != np.asarray(labels)).astype(float)


def sums_of(losses: np.ndarray, weight: np.ndarray) -> LossSums:
    square = weight**2
    return LossSums(
        float(len(losses)),
        float(weight.sum()),
        float(square.sum()),
        losses.sum(axis=0),
        weight @ losses,
        square @ losses,
        losses.T @ (square[:, None] * losses),
    )


@dataclass(frozen=True)
class Folds:
    """Which fold a sample is in: `count` folds by a hash of positions."""

    count: int
    seed: int

    def __len__(self) -> int:
        return self.count

    def of(self, block: Block) -> np.ndarray:
        keys = uniform_keys(block.first, block.n_samples, self.seed)
        return np.minimum((keys * self.count).astype(int), self.count - 1)


@dataclass(frozen=True)
class Scores:
    """Sums over held-out samples that have the view, from which scores are computed.

    `moments`, of shape (5, n_targets), are sums of predictions, of targets, of the squares of both, and of products.
    """

    count: float
    trained: np.ndarray
    loss: float
    moments: np.ndarray

    def __add__(self, other: Scores) -> Scores:
        return Scores(*(getattr(self, each.name) + getattr(other, each.name) for each in dataclasses.fields(Scores)))

    @property
    def correlation(self) -> float:
        """Pearson's correlation of predictions and targets, averaged over targets; 0 for constant ones."""
        p, t, pp, tt, pt = self.moments / self.count
        spread = np.sqrt(np.maximum(pp - p**2, 0.0) * np.maximum(tt - t**2, 0.0))
        some = spread > 1e-14 * (np.abs(pp) + np.abs(tt))
        return float(np.divide(pt - p * t, spread, out=np.zeros_like(spread), where=some).mean())


def one_kernel(features: FeatureBlock, m: int) -> FeatureBlock:
    offsets = np.array([0, features.offsets[m + 1] - features.offsets[m]])
    span = slice(int(features.offsets[m]), int(features.offsets[m + 1]))
    if isinstance(features, RecomputedFeatures):
        there = np.ones(features.n_samples, dtype=bool) if features.present is None else features.present[:, m]
        return RecomputedFeatures([features.maps[m]], features.views, there[:, None], features.dtype)
    whole = features.features(slice(0, features.n_samples))
    return StoredFeatures(np.ascontiguousarray(whole[:, span]), offsets)


def one_kernel_by_folds(block: Block, m: int, folds: Folds) -> Block:
    """The same samples with one kernel, and a column of losses for each fold and output."""
    fold, losses = folds.of(block), block.losses
    there = np.ones(block.n_samples, dtype=bool) if block.present is None else np.asarray(block.present)[:, m]
    used = (fold[:, None] != np.arange(folds.count)) & there[:, None]  # which column trains with the sample
    shape = (block.n_samples, folds.count, losses.n_outputs)
    wide = {name: np.broadcast_to(np.asarray(getattr(losses, name))[:, None, :], shape) for name in TERMS}
    for name, elsewhere in (("lower", 0.0), ("upper", 0.0), ("quadratic", 1.0)):
        wide[name] = np.where(used[:, :, None], wide[name], elsewhere)
    own = losses.with_terms({name: wide[name].reshape(block.n_samples, -1) for name in TERMS})
    present = None if there.all() else there[:, None]
    return dataclasses.replace(block, features=one_kernel(block.features, m), losses=own, present=present, codes=None)


def held_out_scores(
    block: Block, folds: Folds, has_classes: bool, weights: np.ndarray, intercept: np.ndarray
) -> Scores:
    """Scores of every sample that has the view, by the machine that was not trained with it."""
    fold, k = folds.of(block), folds.count
    there = np.ones(block.n_samples, dtype=bool) if block.present is None else np.asarray(block.present)[:, 0]
    values = np.empty((block.n_samples, weights.shape[1]))

    def respond(rows: slice, scores: np.ndarray) -> None:
        values[rows] = scores[:, 0]

    block.features.sweep(weights, respond)
    own = (values + intercept).reshape(block.n_samples, k, -1)[np.arange(block.n_samples), fold][there]
    held = np.bincount(fold[there], minlength=k).astype(float)
    y = np.asarray(block.y)[there]
    if has_classes:
        predicted = own[:, 0] > 0.0 if own.shape[1] == 1 else own.argmax(axis=1)
        return Scores(held.sum(), held.sum() - held, float((predicted != y).sum()), np.zeros((5, 1)))
    y = y.reshape(own.shape)
    moments = np.stack([own, y, own**2, y**2, own * y]).sum(axis=1)
    return Scores(held.sum(), held.sum() - held, float(((own - y) ** 2).sum()), moments)
