"""The function that training minimises on explicit features, as a sum over samples.

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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..base import Engine
from ..block import Block, Samples
from ..host.fused import fused_pass, is_fused


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
    """One pass over a block: fused on the host, see `host.fused`, and otherwise step by step."""
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


class Primal:
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
        self.evaluations = 0

    def parts(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """w, b and theta of a vector."""
        D, q = self.shape
        return position[: D * q].reshape(D, q), position[D * q : D * q + q], position[D * q + q :]

    def join(self, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """A vector of w, b and theta."""
        return np.concatenate([weights.ravel(), intercept, theta])

    def __call__(self, position: np.ndarray) -> tuple[float, np.ndarray, Pass]:
        """P, its gradient, and the pass."""
        w, b, theta = self.parts(position)
        found: Pass = self.engine.sum(sweep, self.amplitudes, w, b, theta)
        self.evaluations += 1
        extra: Any = (0.0, np.zeros(len(theta))) if self.penalty is None else self.penalty(theta)
        value = 0.5 * float(np.vdot(w, w)) + self.total * float(b.sum()) + float(found.loss.sum()) + extra[0]
        return value, self.join(w - found.pulled, self.total - found.totals, found.slopes + extra[1]), found
