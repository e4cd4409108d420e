"""What a stack of explicit features has for gates: codes of samples, and sums of the gates of all training samples.

Codes are what a gating model reads of a sample. Where features are held, codes are computed once and held beside them,
in the same precision; where features are computed again in every pass, codes are too, or they would be a copy of X.
`GateTotals` are what weights and summaries of gates are made of.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..engines.base import Engine, on_device, ranges
from ..engines.memory import TILE, Block, StoredFeatures
from ..views import Views

FARTHEST = 1e15  # where codes in float32 are cut, so that their squares stay finite


@dataclass(frozen=True)
class CodesOnDemand:
    """Codes of a block that are computed whenever they are read, for some rows (a slice) at a time."""

    inputs: Any
    gate: Any
    views: Views
    dtype: np.dtype
    last: dict[tuple[int, int], np.ndarray] = field(default_factory=dict, compare=False)  # read twice in a pass

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Codes of some samples; those of the last ones are kept."""
        key = rows.start, rows.stop
        found = self.last.get(key)
        if found is None:
            self.views.is_finite()  # found out for all rows, once
            views = self.views.rows(rows)
            if self.dtype == np.float32 and self.gate.reads_inputs:
                found = self.inputs.narrow(views, FARTHEST)
            else:
                found = encoded(self.gate, self.inputs.transform(views), self.dtype)
            self.last.clear()
            self.last[key] = found
        return found


@dataclass(frozen=True)
class Coding:
    """What gives a block its codes; small, and sent to wherever blocks are."""

    inputs: Any
    gate: Any

    def __call__(self, block: Block) -> Block:
        """The block with codes and without views; they are held where features are."""
        dtype = np.dtype(getattr(block.features, "dtype", np.float64))
        codes: Any = CodesOnDemand(self.inputs, self.gate, block.views, dtype)
        if isinstance(block.features, StoredFeatures):
            codes = codes[slice(0, block.n_samples)]
        return dataclasses.replace(block, codes=codes, views=None)

    def on_device(self, block: Any) -> Any:
        """The same for a block on a device, where codes are always held."""
        return block.with_codes(CodesOnDemand(self.inputs, self.gate, block.views, np.dtype(block.features.dtype)))


def encoded(gate: Any, inputs: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """What a gating model reads of samples with these inputs: numbers in a precision, or positions as they are."""
    codes = gate.encode(inputs)
    if codes.dtype.kind != "f" or codes.dtype == dtype:
        return codes
    return np.clip(codes, -FARTHEST, FARTHEST).astype(dtype)


NOTHING = np.empty(0)


@dataclass(frozen=True)
class GateTotals:
    """Sums over samples, for each class (one row where there are no classes).

    Attributes
    ----------
    count : ndarray of shape (2, n_classes)
        Number of samples, and of those with a loss (support vectors).
    weights, gates, opened : ndarray of shape (2, n_classes, n_kernels)
        Sums of squared gates and of gates, and how many are open; over all samples and over support vectors.
    """

    count: np.ndarray
    weights: np.ndarray
    gates: np.ndarray
    opened: np.ndarray

    def __add__(self, other: GateTotals) -> GateTotals:
        return GateTotals(
            self.count + other.count,
            self.weights + other.weights,
            self.gates + other.gates,
            self.opened + other.opened,
        )

    def table(self, kernels: Sequence[str], classes: Any = None) -> pd.DataFrame:
        """Mean weight and gate of each kernel, and the share of samples for which it is open.

        Parameters
        ----------
        kernels : sequence of str
        classes : array or None
            The labels, sorted; None where there are none.

        Returns
        -------
        DataFrame
            Columns ``samples`` ("training" and "support"), ``class`` ("all" is first), ``kernel``, ``weight``,
            ``gate`` and ``share``, as `summary.summarize` gives them.
        """
        parts = []
        labels = [] if classes is None else list(classes)
        for which, name in enumerate(("training", "support")):
            sets = [("all", slice(None)), *((label, slice(k, k + 1)) for k, label in enumerate(labels))]
            for label, rows in sets:
                count = self.count[which, rows].sum()
                if count:
                    means = {
                        column: sums[which, rows].sum(axis=0) / count
                        for column, sums in (("weight", self.weights), ("gate", self.gates), ("share", self.opened))
                    }
                    parts.append(pd.DataFrame({"samples": name, "class": label, "kernel": list(kernels), **means}))
        summary = pd.concat(parts, ignore_index=True)
        return summary.astype(dict.fromkeys(["samples", "class", "kernel"], object))


def _count_open_placed(block: Any, amplitudes: Any) -> Any:
    """For how many samples of a block each kernel is open."""
    xp = block.place.xp
    gates = amplitudes.values(NOTHING, block, slice(0, block.n_samples))
    return xp.sum(xp.astype(gates > 0.0, xp.float64), axis=0)


def _sums_placed(
    block: Any, amplitudes: Any, weights: np.ndarray, intercept: np.ndarray, n_classes: int
) -> tuple[Any, Any, Any, Any]:
    """What `GateTotals` is made of."""
    place = block.place
    xp, dtype = place.xp, block.features.dtype
    a = amplitudes.values(NOTHING, block, slice(0, block.n_samples))
    values = xp.sum(a[:, :, None] * block.features.scores(weights), axis=1) + place.asarray(intercept, dtype)
    c = block.losses.coefficients(values)
    supports = xp.any(c != 0.0, axis=1)
    labels = None if n_classes == 1 else place.asarray(np.asarray(block.y))
    counts: list[Any] = []
    found: tuple[list[Any], ...] = ([], [], [])
    for chosen in (xp.ones_like(supports), supports):
        for k in range(n_classes):
            member = chosen if labels is None else chosen & (labels == k)
            there = xp.astype(member, a.dtype)[:, None]
            counts.append(xp.sum(there, dtype=xp.float64))
            for total, terms in zip(found, (a * a, a, xp.astype(a > 0.0, a.dtype)), strict=True):
                total.append(xp.sum(there * terms, axis=0, dtype=xp.float64))
    shape = 2, n_classes, a.shape[1]
    return xp.reshape(xp.stack(counts), shape[:2]), *(xp.reshape(xp.stack(total), shape) for total in found)


def _spread_placed(block: Any, amplitudes: Any, average: np.ndarray | None) -> tuple[Any, Any]:
    """What `Spread` is made of."""
    place = block.place
    xp = place.xp
    weights = amplitudes.values(NOTHING, block, slice(0, block.n_samples)) ** 2
    if average is not None:
        weights = xp.abs(weights - place.asarray(average, block.features.dtype))
    whole = xp.ones_like(weights[:, :1])
    if block.present is not None:
        whole = xp.astype(xp.all(block.present, axis=1, keepdims=True), weights.dtype)
    return xp.sum(whole, dtype=xp.float64), xp.sum(whole * weights, axis=0, dtype=xp.float64)


@on_device(_count_open_placed)
def count_open(block: Block, amplitudes: Any) -> np.ndarray:
    """For how many samples of a block each kernel is open."""
    found = np.zeros(len(amplitudes.active))
    for rows in ranges(block.n_samples, TILE):
        found += (np.asarray(amplitudes.values(NOTHING, block, rows)) > 0.0).sum(axis=0)
    return found


@on_device(lambda *arguments: GateTotals(*_sums_placed(*arguments)))
def totals_of(block: Block, amplitudes: Any, weights: np.ndarray, intercept: np.ndarray, n_classes: int) -> GateTotals:
    """Sums over the samples of a block, at a solution."""
    shape = 2, n_classes, len(amplitudes.active)
    found = GateTotals(np.zeros(shape[:2]), np.zeros(shape), np.zeros(shape), np.zeros(shape))

    def respond(rows: slice, scores: np.ndarray) -> np.ndarray:
        a = np.asarray(amplitudes.values(NOTHING, block, rows), dtype=np.float64)
        _, c = block.losses.of(rows).respond(np.einsum("im,imr->ir", a, scores) + intercept)
        members = np.zeros((2, n_classes, len(a)))
        labels = np.zeros(len(a), dtype=int) if n_classes == 1 else np.asarray(block.y[rows])
        members[0, labels, np.arange(len(a))] = 1.0
        members[1] = members[0] * c.any(axis=1)
        for total, terms in ((found.weights, a**2), (found.gates, a), (found.opened, a > 0.0)):
            total[...] += members @ terms
        found.count[...] += members.sum(axis=2)
        return np.zeros_like(scores)

    block.features.sweep(weights, respond)
    return found


@dataclass(frozen=True)
class Spread:
    """How far squared gates of samples that have all views are from an average: ``total`` over ``count`` samples."""

    count: float
    total: np.ndarray

    def __add__(self, other: Spread) -> Spread:
        return Spread(self.count + other.count, self.total + other.total)


@on_device(lambda *arguments: Spread(*_spread_placed(*arguments)))
def spread_of(block: Block, amplitudes: Any, average: np.ndarray | None) -> Spread:
    """Sums of squared gates over samples that have all views, or of their distances from an average."""
    count, total = 0.0, np.zeros(len(amplitudes.active))
    for rows in ranges(block.n_samples, TILE):
        weights = np.asarray(amplitudes.values(NOTHING, block, rows), dtype=np.float64) ** 2
        if block.present is not None:
            weights = weights[np.asarray(block.present[rows]).all(axis=1)]
        count += len(weights)
        total += (weights if average is None else np.abs(weights - average)).sum(axis=0)
    return Spread(count, total)


def average_and_spread(engine: Engine, amplitudes: Any) -> tuple[np.ndarray, float] | None:
    """Mean squared gates of the samples that have all views, and half the mean distance from them; None without any."""
    sums: Spread = engine.sum(spread_of, amplitudes, None)
    if sums.count == 0:
        return None
    average = sums.total / sums.count
    away: Spread = engine.sum(spread_of, amplitudes, average)
    return average, 0.5 * float(away.total.sum()) / away.count
