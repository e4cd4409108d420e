"""Learning weights of kernels with explicit features: forms, starts and second derivatives from passes over blocks.

    q_m = ||F_m'c||^2,      F_m: features of kernel m without weights, rows multiplied by the factors of missing views

F'c of the machine's last pass contains the amplitudes (eta_m)^(1/2), which are 0 for a kernel with weight 0, so that
such kernels take one more pass, without weights. With these vectors, w_m = (eta_m)^(1/2) F_m'c is where a solve at
other weights begins.

Second derivatives of J are those of a least-squares machine: with the losses' own curvature d_i at the solution, 0 for
samples without a coefficient, and the targets g_m = F_m F_m'c,

    a'H a = min over v, b    ||v||^2 + sum_i d_i (sum_m a_m g_im - <v, phi(x_i)> - b)^2

for every vector a, phi being the weighted features. Any v and b, linear in a, give a matrix above H. It is solved by
the same descent as every machine, roughly, since the matrix only bends steps: gaps are certified without it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ...engines.block import Block
from ...engines.losses import Losses
from ...engines.training.machine import NOTHING, ExplicitKernel, certified_descent
from ...engines.training.primal import Primal, sweep
from ...machines import Machine, Solution
from ..explicit.amplitudes import WeightAmplitudes
from .operands import Operands

SMALL = 1e-12  # of the largest weight: the pass without weights is taken where one is smaller
BEND_GAP, BEND_STEPS = 0.01, 50  # how exactly second derivatives are computed
BEND_SIZE = 1e4  # of their least-squares problem at v = 0, so that BEND_GAP is relative where H is not tiny


class ExplicitForms:
    """F_m'c without weights.

    Attributes
    ----------
    vectors : ndarray of shape (n_features, n_outputs)
    squares : ndarray of shape (n_kernels,)
        q_m.
    """

    def __init__(self, vectors: np.ndarray, squares: np.ndarray):
        self.vectors, self.squares = vectors, squares

    def forms(self) -> np.ndarray:
        """q_m."""
        return self.squares


class ExplicitOperands(Operands):
    """Sums of kernels with explicit features.

    Memory: while second derivatives are computed, 4 n_samples x P numbers for each output of a machine.
    """

    def __init__(self, stack: Any):
        self.stack, self.n_kernels, self.n_samples = stack, stack.n_kernels, stack.n_samples
        self._reference, self._eta = np.zeros(self.n_kernels), np.zeros(self.n_kernels)
        self._vectors: np.ndarray | None = None
        self._bent: np.ndarray | None = None

    def scale(self, factor: np.ndarray) -> None:
        """Factors are computed in each block from the weights that are given here."""
        self._reference = factor

    def sum(self, eta: np.ndarray, ridge: float = 0.0) -> ExplicitKernel:
        """Features with the amplitudes of these weights."""
        self._eta = eta.copy()
        amplitudes = WeightAmplitudes(self._eta, self._reference)
        return ExplicitKernel(self.stack.engine, amplitudes, self.stack.n_features)

    def among(self, K: Any, rows: np.ndarray) -> Any:
        """All samples take part."""
        return K

    def images(self, outputs: list[tuple[np.ndarray, Solution]]) -> Any:
        """There are none of single samples; see `found`."""
        raise ValueError("kernels with explicit features have no images of single samples")

    def start(self, last: Solution) -> Solution:
        """The same coefficients c of samples under the latest weights."""
        if self._vectors is None:
            return last
        return dataclasses.replace(last, coef=self.stack.repeated(np.sqrt(self._eta)) * self._vectors)

    def found(self, machine: Machine, solution: Solution) -> ExplicitForms:
        """The squared norms of F_m'c."""
        root = self.stack.repeated(np.sqrt(self._eta))
        if (self._eta > SMALL * self._eta.max()).all():
            vectors = solution.image / root
        else:
            free = WeightAmplitudes(np.ones(self.n_kernels), self._reference)
            given = free, root * solution.coef, solution.intercept, NOTHING
            vectors = self.stack.engine.sum(sweep, *given).pulled
        self._vectors = vectors
        return ExplicitForms(vectors, self.stack.norms(vectors))

    def curvature(self, machine: Machine, K: ExplicitKernel, solution: Solution, found: ExplicitForms) -> np.ndarray:
        """From a least-squares problem with a column for each kernel and output."""
        engine, q, P = self.stack.engine, machine.n_outputs, self.n_kernels
        free = WeightAmplitudes(np.ones(P), self._reference)
        root = self.stack.repeated(np.sqrt(self._eta))
        given = free, np.hstack([root * solution.coef, found.vectors]), solution.intercept
        size = float(engine.sum(_size, *given))
        if size <= 0.0:
            return np.zeros((P, P))
        unit = np.sqrt(2.0 * BEND_SIZE / size)
        blocks = engine.replace(_bent, *given, unit)
        primal = Primal(blocks, K.amplitudes, self.stack.n_features, P * q)
        begin = np.zeros((self.stack.n_features + 1) * P * q)
        if self._bent is not None:
            begin[: self._bent.size] = unit * self._bent.ravel()
        solved, _ = certified_descent(primal, begin, BEND_GAP, BEND_STEPS)
        self._bent = solved.coef / unit
        v = solved.coef.reshape(-1, P, q)
        left = blocks.sum(_left, K.amplitudes, solved.coef, solved.intercept, q)
        return (np.einsum("jmr,jlr->ml", v, v) + left) / unit**2


def _seen(block: Block, free: WeightAmplitudes, weights: np.ndarray, intercept: np.ndarray) -> tuple[Any, Any]:
    """d_i of a block, of shape (n_samples, n_outputs), and g, of shape (n_samples, n_kernels, n_outputs)."""
    q = len(intercept)
    d, g = np.empty((block.n_samples, q)), np.empty((block.n_samples, len(free.eta), q))

    def respond(rows: slice, scores: np.ndarray) -> None:
        seen = free.values(NOTHING, block, rows)[:, :, None] * scores
        d[rows] = block.losses.of(rows).curvature(seen[:, :, :q].sum(axis=1) + intercept)
        g[rows] = seen[:, :, q:]

    block.features.sweep(weights, respond)
    return d, g


def _size(block: Block, free: WeightAmplitudes, weights: np.ndarray, intercept: np.ndarray) -> float:
    """sum_i d_i g_im^2 over all kernels and outputs."""
    d, g = _seen(block, free, weights, intercept)
    return float((d[:, None, :] * g**2).sum())


def _bent(block: Block, free: WeightAmplitudes, weights: np.ndarray, intercept: np.ndarray, unit: float) -> Block:
    """The same samples with the losses of the least-squares problem, columns being those of g times a unit."""
    d, g = _seen(block, free, weights, intercept)
    wide = np.repeat(d[:, None, :], g.shape[1], axis=1).reshape(len(d), -1)
    end = np.where(wide > 0.0, np.inf, 0.0)
    quadratic = 1.0 / np.where(wide > 0.0, wide, 1.0)
    return dataclasses.replace(block, losses=Losses(unit * g.reshape(len(d), -1), -end, end, quadratic))


def _left(block: Block, amplitudes: Any, weights: np.ndarray, intercept: np.ndarray, q: int) -> np.ndarray:
    """sum_i d_i e_im e_il of what the least-squares problem leaves, summed over outputs."""
    P = weights.shape[1] // q
    total = np.zeros((P, P))

    def respond(rows: slice, scores: np.ndarray) -> None:
        a, own = amplitudes.values(NOTHING, block, rows), block.losses.of(rows)
        c = own.coefficients((a[:, :, None] * scores).sum(axis=1) + intercept)  # d_i e_i
        rooted = (c * np.sqrt(own.quadratic)).reshape(len(c), P, q)
        total[:] += np.einsum("imr,ilr->ml", rooted, rooted)

    block.features.sweep(weights, respond)
    return total
