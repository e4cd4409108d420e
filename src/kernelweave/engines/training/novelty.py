"""The offset of a one-class machine on explicit features: a quantile of the scores of all training samples.

The squared loss rejects every sample that has a coefficient, so the bias of the machine is no boundary. The offset is
moved to the nu-quantile of the scores instead: samples that together have at most the share nu of all weight lie
outside. The quantile is found by weighted histograms over blocks, each of which divides the interval that holds it into
`BINS` parts, down to single floating-point numbers; no scores are gathered.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import place_of
from ...machines import Solution
from ..base import Engine
from .primal import Scored, scored

BINS = 1024
ROUNDING = 1e-12  # of all weight, that a sum of weights may be wrong by
WIDTH = 1e-9  # of the offset: what rounding leaves of a sample on the boundary is inside


@dataclass(frozen=True)
class Range:
    """Smallest and largest numbers, which add up to those of both."""

    low: float
    high: float
    weight: float

    def __add__(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high), self.weight + other.weight)


def at_quantile(K: Any, solution: Solution, nu: float) -> Solution:
    """A solution of a one-class machine with its offset at the nu-quantile of the training samples' scores.

    J and its gap stay those of the machine, before the offset is moved.

    Parameters
    ----------
    K : ExplicitKernel
        What the machine was solved on: `CombinedKernel.operand`.
    solution : Solution
    nu : float
        The share of the weight of all samples that is rejected at most.
    """
    blocks = K.engine.replace(scored, K.amplitudes, solution.coef, np.empty(0))
    return dataclasses.replace(solution, intercept=np.array([-quantile(blocks, nu)]))


def quantile(engine: Engine, share: float) -> float:
    """A number below which there is at most this share of all weight, as large as possible.

    It lies halfway between two scores, so that rounding moves no sample across it.

    Parameters
    ----------
    engine : Engine
        Over `Scored` blocks of one output.
    share : float
        From 0 to 1.
    """
    whole: Range = engine.sum(_range, -np.inf, np.inf)
    wanted = share * whole.weight + ROUNDING * whole.weight
    low, high, below = whole.low, np.nextafter(whole.high, np.inf), 0.0
    while np.nextafter(low, np.inf) < high:
        edges = np.unique(np.linspace(low, high, BINS + 1))
        held = below + np.cumsum(engine.sum(_histogram, edges))
        chosen = int(np.searchsorted(held, wanted, side="right"))
        if chosen >= len(held):  # at most this share is below any number
            return whole.high
        below = float(held[chosen - 1]) if chosen else below
        low, high = float(edges[chosen]), float(edges[chosen + 1])
    inside = low  # the first score with which more than the share is reached
    outside: Range = engine.sum(_range, -np.inf, inside)
    if outside.weight <= 0.0:
        return inside - WIDTH * abs(inside)
    return max(0.5 * outside.high + 0.5 * inside, float(np.nextafter(outside.high, np.inf)))


def _scores(block: Scored) -> tuple[np.ndarray, np.ndarray]:
    scores, weight = (np.asarray(place_of(each).numpy(each), dtype=float) for each in (block.scores, block.weight))
    return scores[:, 0], weight


def _range(block: Scored, low: float, high: float) -> Range:
    """Of the scores from `low` to below `high`."""
    scores, weight = _scores(block)
    own = (scores >= low) & (scores < high)
    if not own.any():
        return Range(np.inf, -np.inf, 0.0)
    return Range(float(scores[own].min()), float(scores[own].max()), float(weight[own].sum()))


def _histogram(block: Scored, edges: np.ndarray) -> np.ndarray:
    """The weight of the scores from each edge to below the next."""
    scores, weight = _scores(block)
    place = np.searchsorted(edges, scores, side="right") - 1
    own = (place >= 0) & (place < len(edges) - 1)
    return np.bincount(place[own], weight[own], minlength=len(edges) - 1)
