"""The certificate of a solution on explicit features: biases minimised exactly, then a duality gap.

With biases that minimise P, sum_i c_ir = total for each output, so that c is feasible for the dual, and

    P - D = 1/2 ||w - F'c||^2

which bounds how far P is from the optimum at these amplitudes. With other biases the difference is no bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Engine
from .block import Block
from .losses import Losses

MOST_STEPS = 200


@dataclass(frozen=True)
class Scored:
    """The scores of a block, without biases, and its losses."""

    scores: np.ndarray
    losses: Losses


def scored(block: Block, amplitudes: Any, weights: np.ndarray, theta: np.ndarray) -> Scored:
    """Scores sum_m a_im s_imr of a block."""
    found = np.empty((block.n_samples, weights.shape[1]))

    def respond(rows: slice, scores: np.ndarray) -> None:
        found[rows] = np.einsum("im,imr->ir", amplitudes.values(theta, block, rows), scores)

    block.features.sweep(weights, respond)
    return Scored(found, block.losses)


def _slopes(block: Scored, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of c at some biases, and how fast they fall."""
    _, c = block.losses.respond(block.scores + intercept)
    inside = (c > block.losses.lower) & (c < block.losses.upper) & (c != 0.0)
    return c.sum(axis=0), (inside / block.losses.quadratic).sum(axis=0)


def best_intercepts(engine: Engine, start: np.ndarray, total: float) -> np.ndarray:
    """The biases that minimise P at given scores: Newton's method on a falling, piecewise linear function, safeguarded.

    Parameters
    ----------
    engine : Engine
        Over `Scored` blocks.
    start : ndarray of shape (n_outputs,)
    total : float
        What sums of c must be.
    """
    b = start.copy()
    low, high = np.full(len(b), -np.inf), np.full(len(b), np.inf)
    for _ in range(MOST_STEPS):
        sums, fall = engine.sum(_slopes, b)
        excess = sums - total
        low, high = np.where(excess > 0.0, b, low), np.where(excess < 0.0, b, high)
        step = np.divide(excess, fall, out=np.sign(excess) * np.maximum(1.0, np.abs(b)), where=fall > 0.0)
        new = b + step
        outside = (new <= low) | (new >= high)
        middle = np.where(np.isfinite(low) & np.isfinite(high), 0.5 * (low + high), new)
        new = np.where(excess == 0.0, b, np.where(outside, middle, new))
        if (np.abs(new - b) <= 1e-14 * np.maximum(1.0, np.abs(b))).all():
            break
        b = new
    return b
