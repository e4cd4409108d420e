"""Weighted sums of kernels with explicit features: amplitudes, and forms and second derivatives from passes.

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
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import HOST, Place, place_of
from ..engines.block import Block, Samples
from ..engines.training.machine import NOTHING, ExplicitKernel, certified_descent
from ..engines.training.primal import Primal, sweep
from ..machines import DualTerms, Machine, Solution
from .base import WeightedSums

if TYPE_CHECKING:
    from .features import Features

SMALL = 1e-12  # of the largest weight: the pass without weights is taken where one is smaller
BEND_GAP, BEND_STEPS = 0.01, 50  # how exactly second derivatives are computed
BEND_SIZE = 1e4  # of their least-squares problem at v = 0, so that BEND_GAP is relative where H is not tiny


class WeightAmplitudes:
    """a_m(x) = (eta_m)^(1/2), times the factor of samples that lack views, see `weighted.WeightedSum`.

    The factor of a sample is (sum_m rho_m / sum_{m present} rho_m)^(1/2), and 1 where the sum of those present is 0;
    rho, the reference, are the weights themselves, except while weights are learned.

    Parameters
    ----------
    eta : ndarray of shape (n_kernels,)
        At least 0.
    reference : ndarray of shape (n_kernels,), optional
        rho; `eta` by default. Zeros mean that all factors are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.stacks.feature_sums import WeightAmplitudes
    >>> WeightAmplitudes(np.array([4.0, 5.0])).of(np.array([[True, True], [True, False]]))
    array([[2.        , 2.23606798],
           [3.        , 0.        ]])
    """

    n_parameters = 0

    def __init__(self, eta: np.ndarray, reference: np.ndarray | None = None):
        self.eta, self.reference = eta, eta if reference is None else reference

    def values(self, theta: np.ndarray, block: Samples, rows: slice) -> Any:
        """Equal rows where all views are there; arrays of the place where the block's arrays are."""
        place = place_of(block.weight)
        if block.present is None:
            root = place.asarray(np.sqrt(self.eta)[None, :], "float64")
            return place.xp.broadcast_to(root, (rows.stop - rows.start, len(self.eta)))
        return self.of(block.present[rows], place)

    def of(self, present: Any, place: Place = HOST) -> Any:
        """Amplitudes of samples that have these views, an array of bool of a place."""
        xp = place.xp
        there = xp.astype(present, xp.float64)
        root, reference = (place.asarray(values, "float64") for values in (np.sqrt(self.eta), self.reference))
        weight = there @ reference
        some = weight > 0.0
        factor = xp.where(some, xp.sum(reference) / xp.where(some, weight, 1.0), 1.0) ** 0.5
        return there * root[None, :] * factor[:, None]

    def pullback(
        self, theta: np.ndarray, block: Samples, rows: slice, amplitudes: np.ndarray, slopes: np.ndarray
    ) -> np.ndarray:
        """There are no parameters."""
        return np.empty(0)


class FeatureForms:
    """F_m'c without weights, of shape (n_features, n_outputs), and q_m of each output."""

    def __init__(self, vectors: np.ndarray, squares: np.ndarray):
        self.vectors, self.squares = vectors, squares

    def forms(self) -> np.ndarray:
        """q_m."""
        return self.squares.sum(axis=1)


class FeatureSums(WeightedSums):
    """Sums of kernels with explicit features.

    Parameters
    ----------
    stack : Features
    scaling : ndarray of shape (n_kernels,)
        The reference of `WeightAmplitudes`.
    """

    def __init__(self, stack: Features, scaling: np.ndarray):
        self.stack, self.n_kernels = stack, stack.n_kernels
        self._reference, self._eta = scaling, np.zeros(self.n_kernels)
        self._vectors: np.ndarray | None = None
        self._bent: np.ndarray | None = None

    def scale(self, scaling: np.ndarray) -> None:
        """Factors are computed in each block from these weights."""
        self._reference = scaling

    def at(self, eta: np.ndarray) -> ExplicitKernel:
        """Features with the amplitudes of these weights."""
        self._eta = eta.copy()
        return self.stack.sum(self._eta, self._reference)

    def start(self, last: Solution) -> Solution:
        """The same coefficients c of samples under the latest weights."""
        if self._vectors is None:
            return last
        return dataclasses.replace(last, coef=self.stack.repeated(np.sqrt(self._eta)) * self._vectors)

    def found(self, machine: Machine, solution: Solution) -> FeatureForms:
        """The squared norms of F_m'c."""
        root = self.stack.repeated(np.sqrt(self._eta))
        if (self._eta > SMALL * self._eta.max()).all():
            vectors = solution.image / root
        else:
            free = WeightAmplitudes(np.ones(self.n_kernels), self._reference)
            given = free, root * solution.coef, solution.intercept, NOTHING
            vectors = self.stack.engine.sum(sweep, *given).pulled
        self._vectors = vectors
        return FeatureForms(vectors, self.stack.norms(vectors))

    def by_output(self, machine: Machine, solution: Solution) -> np.ndarray:
        """q_m of each output."""
        return self.found(machine, solution).squares

    def curvature(self, machine: Machine, K: Any, solution: Solution, found: Any) -> np.ndarray:
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
    return dataclasses.replace(block, losses=DualTerms(unit * g.reshape(len(d), -1), -end, end, quadratic))


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
