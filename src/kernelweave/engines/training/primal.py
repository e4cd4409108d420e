"""The function that training minimises on explicit features, as a sum over samples, and the certificate of a solution.

    P(w, b, theta) = 1/2 ||w||^2 + total sum_r b_r + sum_i loss_i(f_i) + penalty(theta)
    f_ir = sum_m a_m(x_i; theta) <w_mr, phi_m(x_i)> + b_r

The *amplitudes* a_m(x) are what a combiner is on explicit features: the kernel is sum_m a_m(x) k_m(x, z) a_m(z). They
are (eta_m)^(1/2) for weights and the gates for a gating model. One pass over the data gives value and gradient, since
the slope of sample i needs only its own score: with c = -slope,

    dP/dw_mr = w_mr - sum_i a_im c_ir phi_m(x_i),    dP/db_r = total - sum_i c_ir,    dP/da_im = -sum_r c_ir s_imr

=========  ==========================================
symbol     name
=========  ==========================================
s          scores
a          amplitudes
c          coefficients, minus the slopes of the losses
F'c        `Pass.pulled`
=========  ==========================================

For the certificate biases are minimised exactly. With biases that minimise P, sum_i c_ir = total for each output, so
that c is feasible for the dual, and

    P - D = 1/2 ||w - F'c||^2

which bounds how far P is from the optimum at these amplitudes. With other biases the difference is no bound. Rounding
leaves sum_i c_ir = total + e_r, and the bound is then larger by |b_r e_r|. Features around any point mu have the same
P, with the biases b + mu'w, and

    P - D <= 1/2 ||w - F'c + mu e'||^2 + sum_r |b_r + mu'w_r| |e_r|

Where features have a large mean, biases cancel it: they are large, and no floating-point number near them makes e
small. Around the mean the biases are those of the decision values, and what rounding leaves does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...machines import DualTerms
from ..base import Engine
from ..block import Block, Samples, fused_pass, is_fused


class Amplitudes(Protocol):
    """What a combiner is on explicit features: the amplitude of each kernel for each sample."""

    n_parameters: int

    def values(self, theta: np.ndarray, block: Samples, rows: slice) -> np.ndarray:
        """a of some samples of a block, of shape (n_rows, n_kernels), 0 where a view is missing."""

    def pullback(
        self, theta: np.ndarray, block: Samples, rows: slice, amplitudes: np.ndarray, slopes: np.ndarray
    ) -> np.ndarray:
        """dP/dtheta from dP/da of some samples, of shape (n_parameters,)."""


Penalty = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Pass:
    """What one pass over a block, or over all of them, gives.

    Attributes
    ----------
    loss : ndarray of shape (n_outputs,)
    pulled : ndarray of shape (n_features, n_outputs)
        F'c.
    totals : ndarray of shape (n_outputs,)
        Sums of c.
    slopes : ndarray of shape (n_parameters,)
        dP/dtheta without the penalty.
    """

    loss: np.ndarray
    pulled: np.ndarray
    totals: np.ndarray
    slopes: np.ndarray

    def __add__(self, other: Pass) -> Pass:
        return Pass(
            self.loss + other.loss,
            self.pulled + other.pulled,
            self.totals + other.totals,
            self.slopes + other.slopes,
        )


def sweep(block: Block, amplitudes: Amplitudes, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray) -> Pass:
    """One pass over a block: fused on the host, see `block.fused_pass`, and otherwise step by step."""
    if is_fused(block):
        return Pass(*fused_pass(block, amplitudes, weights, intercept, theta))
    return plain_sweep(block, amplitudes, weights, intercept, theta)


def plain_sweep(
    block: Block, amplitudes: Amplitudes, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray
) -> Pass:
    """One pass over a block, for any features and losses."""
    loss, totals = np.zeros(len(intercept)), np.zeros(len(intercept))
    slopes = np.zeros(amplitudes.n_parameters)

    def respond(rows: slice, scores: np.ndarray) -> np.ndarray:
        a = amplitudes.values(theta, block, rows)
        cost, c = block.losses.of(rows).respond(np.einsum("im,imr->ir", a, scores) + intercept)
        loss[:] += cost
        totals[:] += c.sum(axis=0)
        if len(slopes):
            slopes[:] += amplitudes.pullback(theta, block, rows, a, -np.einsum("ir,imr->im", c, scores))
        return a[:, :, None] * c[:, None, :]

    pulled = block.features.sweep(weights, respond)
    return Pass(loss, pulled, totals, slopes)


class Vectors:
    """Vectors [w, b, theta] that a function of weight vectors, biases and other parameters is minimised over."""

    shape: tuple[int, int]  # n_features, n_outputs
    evaluations = 0  # passes over the data

    def parts(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """w, b and theta of a vector."""
        D, q = self.shape
        return position[: D * q].reshape(D, q), position[D * q : D * q + q], position[D * q + q :]

    def join(self, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """A vector of w, b and theta."""
        return np.concatenate([weights.ravel(), intercept, theta])


class Primal(Vectors):
    """P and its gradient, over vectors [w, b, theta].

    Parameters
    ----------
    engine : Engine
        Over `Block`s.
    amplitudes : Amplitudes
    n_features, n_outputs : int
    total : float
        What a bias costs.
    penalty : callable, optional
        Of theta: value and gradient.
    """

    def __init__(
        self,
        engine: Engine,
        amplitudes: Amplitudes,
        n_features: int,
        n_outputs: int,
        *,
        total: float = 0.0,
        penalty: Penalty | None = None,
    ):
        self.engine, self.amplitudes, self.total, self.penalty = engine, amplitudes, total, penalty
        self.shape = n_features, n_outputs

    def __call__(self, position: np.ndarray) -> tuple[float, np.ndarray, Pass]:
        """P, its gradient, and the pass."""
        w, b, theta = self.parts(position)
        found: Pass = self.engine.sum(sweep, self.amplitudes, w, b, theta)
        self.evaluations += 1
        extra: Any = (0.0, np.zeros(len(theta))) if self.penalty is None else self.penalty(theta)
        value = 0.5 * float(np.vdot(w, w)) + self.total * float(b.sum()) + float(found.loss.sum()) + extra[0]
        return value, self.join(w - found.pulled, self.total - found.totals, found.slopes + extra[1]), found


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
