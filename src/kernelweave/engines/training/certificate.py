"""The certificate of a solution on explicit features: biases minimised exactly, then a duality gap.

With biases that minimise P, sum_i c_ir = total for each output, so that c is feasible for the dual, and

    P - D = 1/2 ||w - F'c||^2

which bounds how far P is from the optimum at these amplitudes. With other biases the difference is no bound. Rounding
leaves sum_i c_ir = total + e_r, and the bound is then larger by |b_r e_r|. Features around any point mu have the same
P, with the biases b + mu'w, and

    P - D <= 1/2 ||w - F'c + mu e'||^2 + sum_r |b_r + mu'w_r| |e_r|

Where features have a large mean, biases cancel it: they are large, and no floating-point number near them makes e
small. Around the mean the biases are those of the decision values, and what rounding leaves does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...machines.terms import DualTerms
from ..base import Engine
from ..block import Block

MOST_STEPS = 200
ROUNDING = 4.0 * np.finfo(float).eps  # of sums, relative to the sum of absolute values


@dataclass(frozen=True)
class Scored:
    """The scores of a block, without biases, with losses and weights of its samples."""

    scores: np.ndarray
    losses: DualTerms
    weight: np.ndarray


def scored(block: Block, amplitudes: Any, weights: np.ndarray, theta: np.ndarray) -> Scored:
    """Scores sum_m a_im s_imr of a block."""
    found = np.empty((block.n_samples, weights.shape[1]))

    def respond(rows: slice, scores: np.ndarray) -> None:
        found[rows] = np.einsum("im,imr->ir", amplitudes.values(theta, block, rows), scores)

    block.features.sweep(weights, respond)
    return Scored(found, block.losses, block.weight)


def slopes(block: Scored, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of c at some biases, of |c|, and how fast the first fall; each of shape (n_outputs,)."""
    values = block.scores + intercept
    c = block.losses.coefficients(values)
    return c.sum(axis=0), np.abs(c).sum(axis=0), block.losses.curvature(values).sum(axis=0)


def best_intercepts(engine: Engine, start: np.ndarray, total: float) -> np.ndarray:
    """The biases that minimise P at given scores: Newton's method on a falling, piecewise linear function, safeguarded.

    Where the sum of c is `total` for a whole interval of biases, as it is for samples that are all beyond the margin,
    P is flat there and any of them is returned.

    Parameters
    ----------
    engine : Engine
        Over `Scored` blocks.
    start : ndarray of shape (n_outputs,)
    total : float
        What sums of c must be.
    """
    b = np.where(np.isfinite(start), start, 0.0)
    low, high = np.full(len(b), -np.inf), np.full(len(b), np.inf)
    reach = np.ones(len(b))  # of a step where the sum is constant; grows until it changes
    for _ in range(MOST_STEPS):
        sums, sizes, fall = engine.sum(slopes, b)
        excess = sums - total
        done = np.abs(excess) <= ROUNDING * np.maximum(sizes, abs(total))
        low, high = np.where(excess > 0.0, b, low), np.where(excess < 0.0, b, high)
        flat = fall <= 0.0
        step = np.where(flat, np.sign(excess) * reach * np.maximum(1.0, np.abs(b)), excess / np.where(flat, 1.0, fall))
        reach = np.where(flat, 2.0 * reach, reach)
        new = b + step
        outside = (new <= low) | (new >= high) | ~np.isfinite(new)
        closed = np.isfinite(low) & np.isfinite(high)
        middle = 0.5 * np.where(closed, low, 0.0) + 0.5 * np.where(closed, high, 0.0)
        new = np.where(outside & closed, middle, new)
        still = np.abs(new - b) <= ROUNDING * np.abs(b)
        if (done | still).all():
            break
        b = np.where(done, b, new)
    return b


def summed(block: Block, amplitudes: Any, n_features: int, theta: np.ndarray) -> tuple[np.ndarray, float]:
    """The sum over a block of features times amplitudes, by the weights of samples, and that of the weights."""

    def respond(rows: slice, _: np.ndarray) -> np.ndarray:
        return (block.weight[rows, None] * amplitudes.values(theta, block, rows))[:, :, None]

    return block.features.sweep(np.zeros((n_features, 1)), respond)[:, 0], float(block.weight.sum())


def gap_around(
    center: np.ndarray | float, weights: np.ndarray, intercept: np.ndarray, pulled: np.ndarray, excess: np.ndarray
) -> float:
    """The duality gap, with features around a point.

    Parameters
    ----------
    center : ndarray of shape (n_features,), or 0.0
        mu.
    weights, pulled : ndarray of shape (n_features, n_outputs)
        w and F'c.
    intercept, excess : ndarray of shape (n_outputs,)
        b, and sums of c less `total`.
    """
    mu = np.broadcast_to(center, len(weights))
    difference = weights - pulled + np.outer(mu, excess)
    return 0.5 * float(np.vdot(difference, difference)) + float(np.abs(intercept + mu @ weights) @ np.abs(excess))
