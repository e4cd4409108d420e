"""Holding samples out of training in blocks, to choose a penalty or to stop early.

Which samples are held out depends on a hash of their positions, so that nothing as long as the data is needed and the
choice does not depend on how samples are divided into blocks. Held-out samples stay where they are, without a loss.
Where there are many samples, a part of them is enough to choose a penalty with; that part is copied.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....engines.block import TILE, Block, StoredFeatures
from ....engines.losses import Losses
from ....engines.reservoir import uniform_keys
from ....engines.slices import ranges
from .amplitudes import GateAmplitudes


@dataclass(frozen=True)
class Split:
    """Which samples take part, and which of those are held out.

    Attributes
    ----------
    seed : int
    share : float
        Of all samples that take part.
    low, high : float
        Those of the samples that take part are held out whose key lies in this part of the range of keys.
    exempt : ndarray of bool, shape (n_classes,), or None
        Classes of which nothing is held out, because no sample would be left.
    """

    seed: int
    share: float
    low: float
    high: float
    exempt: np.ndarray | None = None

    def keys(self, block: Block) -> np.ndarray:
        """Numbers from 0 to 1 for the samples that take part; above 1 for others."""
        return uniform_keys(block.first, block.n_samples, self.seed) / self.share

    def held_out(self, keys: np.ndarray, labels: Any) -> np.ndarray:
        """Which samples with such keys are held out."""
        held = (keys >= self.low) & (keys < self.high)
        return held if self.exempt is None else held & ~self.exempt[np.asarray(labels)]


@dataclass(frozen=True)
class SplitBlock(Block):
    """A block of which some samples are held out: they have no loss in `losses`, and that of `all_losses`."""

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
    fields["losses"] = without(block.losses, held)
    return SplitBlock(**fields, held_out=held, all_losses=block.losses)


def some(block: Block, index: np.ndarray) -> Block:
    """Some of the samples of a block, with features and codes of their own."""
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


def without(losses: Losses, held_out: np.ndarray) -> Losses:
    """Losses that are 0 for some of the samples."""
    shape = losses.linear.shape
    lower, upper = (
        np.where(held_out[:, None], 0.0, np.broadcast_to(bound, shape)) for bound in (losses.lower, losses.upper)
    )
    return dataclasses.replace(losses, lower=lower, upper=upper)


def count_classes(block: Block, split: Split, edges: np.ndarray, n_classes: int) -> np.ndarray:
    """Number of samples of each class in each part of the range of keys: (n_classes, n_parts)."""
    keys = split.keys(block)
    parts = np.searchsorted(edges, keys, side="right") - 1
    found = np.zeros((n_classes, len(edges) - 1))
    there = (keys < edges[-1]) & (keys >= edges[0])
    np.add.at(found, (np.asarray(block.y)[there], parts[there]), 1.0)
    return found


@dataclass(frozen=True)
class LossSums:
    """Sums over held-out samples of the losses of several solutions, and of their weighted products.

    Attributes
    ----------
    count, weight, square : float
        Number of samples, and sums of their weights and of the squares of these.
    losses, weighted, squared : ndarray of shape (n_solutions,)
        Sums of losses, weighted by 1, the weights and their squares.
    products : ndarray of shape (n_solutions, n_solutions)
        Sums of products of losses, weighted by the squares.
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
        """The mean loss of each solution."""
        return self.losses / max(self.count, 1.0)

    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean losses, and how exactly each pair of them differs: (n_solutions,), (n_solutions, n_solutions).

        The second is the standard error of the difference of two solutions over the same samples.
        """
        risk = self.weighted / self.weight
        difference = risk[:, None] - risk
        # sum_i share_i^2 (l_ik - l_ij - d_kj)^2, expanded
        diagonal = self.products.diagonal()
        squares = diagonal[:, None] + diagonal - 2.0 * self.products
        linear = self.squared[:, None] - self.squared
        spread = squares - 2.0 * difference * linear + difference**2 * self.square
        correction = self.count / max(1.0, self.count - 1.0)
        return risk, np.sqrt(np.maximum(spread, 0.0) * correction) / self.weight


@dataclass(frozen=True)
class Judge:
    """The losses of held-out samples under several solutions.

    Attributes
    ----------
    amplitudes : GateAmplitudes
    weights : ndarray of shape (n_features, n_solutions * n_outputs)
    intercepts : ndarray of shape (n_solutions, n_outputs)
    thetas : ndarray of shape (n_solutions, n_parameters)
    classifies : bool
        Whether losses are wrong classes or squared errors.
    """

    amplitudes: GateAmplitudes
    weights: np.ndarray
    intercepts: np.ndarray
    thetas: np.ndarray
    classifies: bool

    def __call__(self, block: SplitBlock) -> LossSums:
        """Sums over the held-out samples of a block; one pass."""
        count, q = self.intercepts.shape
        found = _sums(np.empty((0, count)), np.empty(0))
        parts = [found]

        def respond(rows: slice, scores: np.ndarray) -> np.ndarray:
            held, losses = block.held_out[rows], block.all_losses.of(rows)
            columns = []
            for k in range(count):
                a = self.amplitudes.values(self.thetas[k], block, rows)
                values = np.einsum("im,imr->ir", a, scores[:, :, k * q : (k + 1) * q]) + self.intercepts[k]
                columns.append(self._losses(values, losses, None if block.y is None else block.y[rows]))
            parts.append(_sums(np.stack(columns, axis=1)[held], (1.0 / losses.quadratic.mean(axis=1))[held]))
            return np.zeros_like(scores)

        block.features.sweep(self.weights, respond)
        for part in parts[1:]:
            found = found + part
        return found

    def _losses(self, values: np.ndarray, losses: Losses, labels: Any) -> np.ndarray:
        """1 for each wrong class, or squared errors, summed over outputs."""
        if not self.classifies:
            return ((values - losses.linear) ** 2).sum(axis=1)
        predicted = values[:, 0] > 0.0 if values.shape[1] == 1 else values.argmax(axis=1)
        return (predicted != np.asarray(labels)).astype(float)


def _sums(losses: np.ndarray, weight: np.ndarray) -> LossSums:
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
