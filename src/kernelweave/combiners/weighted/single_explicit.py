"""Cross-validation of one kernel at a time on explicit features: sums over held-out samples of each kernel.

The fold of a sample depends on a hash of its position, so that no list of positions is needed and the folds do not
depend on how samples are divided into blocks; they are about equally large, and not stratified. The machines of all
folds are columns of one problem, which is solved in passes over the features of the one kernel: the losses of a
sample in the column of its own fold are 0, and so are those of samples that lack the view.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engines.block import Block, FeatureBlock, StoredFeatures
from ...engines.host.recomputed import RecomputedFeatures
from ...engines.losses import TERMS, Losses
from ...engines.reservoir import uniform_keys
from ...engines.training.machine import certified_descent
from ...engines.training.primal import Primal
from ...validation import is_count
from ..base import FitControl
from ..explicit.amplitudes import WeightAmplitudes


@dataclass(frozen=True)
class HeldOut:
    """Sums over held-out samples, from which every score is computed; they add up.

    Attributes
    ----------
    count : float
        Held-out samples.
    trained : ndarray of shape (n_folds,)
        Samples that each machine was trained with.
    loss : float
        Wrong classes, or squared errors summed over targets.
    moments : ndarray of shape (5, n_targets)
        Sums of predictions, targets, their squares and their products; zeros for classes.
    """

    count: float
    trained: np.ndarray
    loss: float
    moments: np.ndarray

    def __add__(self, other: HeldOut) -> HeldOut:
        fields = [each.name for each in dataclasses.fields(HeldOut)]
        return HeldOut(*(getattr(self, name) + getattr(other, name) for name in fields))

    @property
    def risk(self) -> float:
        """The mean loss."""
        return self.loss / self.count

    @property
    def correlation(self) -> float:
        """Pearson's correlation of predictions and targets, averaged over targets; 0 for constant ones."""
        p, t, pp, tt, pt = self.moments / self.count
        spread = np.sqrt(np.maximum(pp - p**2, 0.0) * np.maximum(tt - t**2, 0.0))
        some = spread > 1e-14 * (np.abs(pp) + np.abs(tt))
        return float(np.divide(pt - p * t, spread, out=np.zeros_like(spread), where=some).mean())


@dataclass(frozen=True)
class Folds:
    """Which fold a sample is in.

    Attributes
    ----------
    count : int
    seed : int
    """

    count: int
    seed: int

    def of(self, block: Block) -> np.ndarray:
        """The fold of each sample, from 0."""
        keys = uniform_keys(block.first, block.n_samples, self.seed)
        return np.minimum((keys * self.count).astype(int), self.count - 1)


def folds_of(combiner: Any, rng: np.random.RandomState) -> Folds:
    """The folds of a combiner's `cv`, which must be a number."""
    if not is_count(combiner.cv) or combiner.cv < 2:
        raise ValueError(
            f"cv of {type(combiner).__name__} must be a number of folds, at least 2, with an approximation: splitters "
            f"divide lists of all samples, which are in blocks there; it is {combiner.cv!r:.100}"
        )
    return Folds(int(combiner.cv), int(rng.randint(2**31)))


def held_out(stack: Any, m: int, machine: Any, folds: Folds, control: FitControl) -> tuple[HeldOut, bool]:
    """Sums over held-out samples under kernel m alone, and whether all machines converged.

    Parameters
    ----------
    stack : ExplicitStack
    m : int
    machine : ExplicitMachine
    folds : Folds
    control : FitControl
    """
    q, width = machine.n_outputs, stack.maps[m].n_features
    alone = WeightAmplitudes(np.ones(1), np.zeros(1))
    blocks = stack.engine.replace(_alone, m, folds)
    primal = Primal(blocks, alone, width, folds.count * q, total=machine.total)
    start = np.zeros((width + 1) * folds.count * q)
    solution, _ = certified_descent(primal, start, control.tol, control.max_steps)
    given = folds, machine.strata is not None, solution.coef, solution.intercept
    return blocks.sum(_score, *given), solution.converged


def present_counts(block: Block) -> np.ndarray:
    """How many samples of a block have the view of each kernel."""
    if block.present is None:
        return np.full(len(block.features.offsets) - 1, block.n_samples)
    return np.asarray(block.present).sum(axis=0)


def class_counts(block: Block, n_classes: int) -> np.ndarray:
    """How many samples of a block each class has."""
    return np.bincount(np.asarray(block.y), minlength=n_classes)


def one_kernel(features: FeatureBlock, m: int) -> FeatureBlock:
    """The features of one kernel of a block; a copy where they are held."""
    offsets = np.array([0, features.offsets[m + 1] - features.offsets[m]])
    span = slice(int(features.offsets[m]), int(features.offsets[m + 1]))
    if isinstance(features, RecomputedFeatures):
        there = np.ones(features.n_samples, dtype=bool) if features.present is None else features.present[:, m]
        return RecomputedFeatures([features.maps[m]], features.views, there[:, None], features.dtype)
    whole = features.features(slice(0, features.n_samples))
    return StoredFeatures(np.ascontiguousarray(whole[:, span]), offsets)


def _alone(block: Block, m: int, folds: Folds) -> Block:
    """The same samples with one kernel, and a column of losses for each fold and output."""
    fold, losses = folds.of(block), block.losses
    there = np.ones(block.n_samples, dtype=bool) if block.present is None else np.asarray(block.present)[:, m]
    used = (fold[:, None] != np.arange(folds.count)) & there[:, None]  # which column trains with the sample
    shape = (block.n_samples, folds.count, losses.n_outputs)
    wide = {name: np.broadcast_to(np.asarray(getattr(losses, name))[:, None, :], shape) for name in TERMS}
    for name, elsewhere in (("lower", 0.0), ("upper", 0.0), ("quadratic", 1.0)):
        wide[name] = np.where(used[:, :, None], wide[name], elsewhere)
    p, lower, upper, h = (wide[name].reshape(block.n_samples, -1) for name in TERMS)
    own = Losses(p, lower, upper, h, losses.insensitivity, losses.total)
    present = None if there.all() else there[:, None]
    return dataclasses.replace(block, features=one_kernel(block.features, m), losses=own, present=present, codes=None)


def _score(block: Block, folds: Folds, has_classes: bool, weights: np.ndarray, intercept: np.ndarray) -> HeldOut:
    """Every sample that has the view, by the machine that was not trained with it."""
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
        return HeldOut(held.sum(), held.sum() - held, float((predicted != y).sum()), np.zeros((5, 1)))
    y = y.reshape(own.shape)
    moments = np.stack([own, y, own**2, y**2, own * y]).sum(axis=1)
    return HeldOut(held.sum(), held.sum() - held, float(((own - y) ** 2).sum()), moments)
