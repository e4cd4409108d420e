"""Sums over blocks that `newton` takes: products of features around their means, and what decides whether it is used.

    d_i = 1 / h_i for samples whose loss curves, and 0 for others
    mu = sum_i d_i phi_i / sum_i d_i,      S = sum_i d_i (phi_i - mu)(phi_i - mu)'

for each output, phi being the features times the amplitudes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ...machines.terms import DualTerms
from ..block import Block
from ..slices import ranges
from .primal import Amplitudes

ROWS = 1024  # samples whose products are summed up at once
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Scatter:
    """Weighted means and products of features around them, for some outputs; those of blocks add up.

    Attributes
    ----------
    totals : ndarray of shape (n_outputs,)
        Sums of d.
    means : ndarray of shape (n_outputs, n_features)
        mu, 0 where the total is 0.
    products : ndarray of shape (n_outputs, n_features, n_features)
        S.
    """

    totals: np.ndarray
    means: np.ndarray
    products: np.ndarray

    def __add__(self, other: Scatter) -> Scatter:
        joined = Scatter(self.totals.copy(), self.means.copy(), self.products.copy())
        for place in range(len(self.totals)):
            joined.add(place, other.totals[place], other.means[place], other.products[place])
        return joined

    def add(self, place: int, total: float, mean: np.ndarray, products: np.ndarray) -> None:
        """Add the sums of further samples to those of one output, in place."""
        if total <= 0.0:
            return
        whole, apart = self.totals[place] + total, mean - self.means[place]
        self.products[place] += products
        shift = self.totals[place] * total / whole
        if shift > 0.0:
            self.products[place] += np.outer(shift * apart, apart)
        self.means[place] += total / whole * apart
        self.totals[place] = whole


def scatter(
    block: Block,
    amplitudes: Amplitudes,
    weights: np.ndarray,
    intercept: np.ndarray,
    theta: np.ndarray,
    outputs: list[int],
) -> Scatter:
    """The sums of a block, for some of the outputs."""
    D, q = weights.shape[0], len(outputs)
    found = Scatter(np.zeros(q), np.zeros((q, D)), np.zeros((q, D, D)))
    for rows in ranges(block.n_samples, ROWS):
        phi = weighted_features(block, amplitudes, theta, rows)
        rates = rates_of(block, rows, phi @ weights + intercept)
        for place, output in enumerate(outputs):
            d = rates[:, output]
            curved = np.flatnonzero(d)
            total = float(d.sum())
            if len(curved):
                own, d = phi[curved], d[curved]
                mean = d @ own / total
                own = (own - mean) * np.sqrt(d)[:, None]
                found.add(place, total, mean, own.T @ own)
    return found


def weighted_features(block: Block, amplitudes: Amplitudes, theta: np.ndarray, rows: slice) -> np.ndarray:
    """a_m phi_m of some samples, float64."""
    a = np.asarray(amplitudes.values(theta, block, rows), dtype=np.float64)
    return block.features.features(rows) * np.repeat(a, np.diff(block.features.offsets), axis=1)


def rates_of(block: Block, rows: slice, values: np.ndarray) -> np.ndarray:
    """d of some samples, of shape (n_rows, n_outputs)."""
    return np.broadcast_to(block.losses.of(rows).curvature(values), values.shape)


def signatures(
    block: Block, amplitudes: Amplitudes, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray
) -> np.ndarray:
    """A number for each output, of which the sums over blocks are equal where d of all samples is."""
    rates = np.empty((block.n_samples, len(intercept)))
    for rows in ranges(block.n_samples, ROWS):
        rates[rows] = rates_of(block, rows, weighted_features(block, amplitudes, theta, rows) @ weights + intercept)
    return np.array([_digest(block, own.tobytes()) for own in rates.T], dtype=np.uint64)


def kinds(block: Block) -> tuple[int, int, int, np.ndarray]:
    """Numbers of blocks, samples, and losses that are not quadratic everywhere; signatures of outputs where all are.

    Signatures of outputs are equal where d is, and the sums of them over blocks.
    """
    losses, shape = block.losses, (block.n_samples, block.losses.n_outputs)
    without = (losses.lower == 0.0) & (losses.upper == 0.0)
    quadratic = without | ((losses.lower == -np.inf) & (losses.upper == np.inf) & (losses.insensitivity == 0.0))
    others = int((~np.broadcast_to(quadratic, shape)).sum())
    if others or shape[1] == 1:
        return 1, shape[0], others, np.zeros(shape[1], dtype=np.uint64)
    rates = np.broadcast_to(np.where(without, 0.0, 1.0 / losses.quadratic), shape)
    return 1, shape[0], others, np.array([_digest(block, own.tobytes()) for own in rates.T], dtype=np.uint64)


def _digest(block: Block, content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(str(block.first).encode() + content, digest_size=8).digest(), "big")


@dataclass(frozen=True)
class Gathered:
    """Weighted features of few samples, and their losses; those of blocks are put one below the other."""

    features: np.ndarray
    losses: DualTerms

    def __add__(self, other: Gathered) -> Gathered:
        return Gathered(np.concatenate([self.features, other.features]), self.losses.followed_by([other.losses]))


def gathered(block: Block, amplitudes: Amplitudes, theta: np.ndarray) -> Gathered:
    """Those of a block."""
    whole = slice(0, block.n_samples)
    phi = weighted_features(block, amplitudes, theta, whole)
    shape = block.n_samples, block.losses.n_outputs
    return Gathered(phi, block.losses.mapped(lambda term: np.array(np.broadcast_to(term, shape), dtype=np.float64)))


class Alone:
    """The amplitude 1 of one kernel."""

    n_parameters = 0

    def values(self, theta: np.ndarray, block: Any, rows: slice) -> np.ndarray:
        """Ones."""
        return np.ones((rows.stop - rows.start, 1))

    def pullback(self, theta: np.ndarray, block: Any, rows: slice, amplitudes: Any, slopes: Any) -> np.ndarray:
        """There are no parameters."""
        return np.empty(0)


def solved(products: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(I + S)^-1 of some columns, by Cholesky's factors of the matrix scaled to a unit diagonal.

    Features that no sample has (rows of S that are 0) are left out. Where rounding leaves the matrix indefinite, the
    diagonal is made larger.
    """
    result = right.copy()
    used = np.flatnonzero(np.diag(products) > 0.0)
    if not len(used):
        return result
    whole = len(used) == len(products)
    matrix = products.copy() if whole else products[np.ix_(used, used)]
    matrix[np.diag_indices_from(matrix)] += 1.0
    root = np.sqrt(np.diag(matrix))
    matrix /= root
    matrix /= root[:, None]
    ridge = 0.0
    while True:
        given = matrix.T.copy(order="F") if ridge == 0.0 else (matrix + ridge * np.eye(len(matrix))).T
        factor, info = lapack.dpotrf(given, lower=True, overwrite_a=True)
        if info == 0:
            break
        ridge = max(100.0 * ridge, len(matrix) * EPS)
    result[used] = lapack.dpotrs(factor, right[used] / root[:, None], lower=True)[0] / root[:, None]
    return result
