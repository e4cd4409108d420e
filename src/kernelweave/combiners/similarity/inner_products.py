"""How similar kernels are to the targets and to each other, thesis 2.3: what every similarity-based combiner needs.

The ideal kernel is never formed: it is T = Z Z' with few columns, so that <K, T> = tr(Z'KZ). Centring (Cortes, Mohri
and Rostamizadeh, 2012) subtracts row means on the way, without a centred copy. Samples count by their weight,
<A, B> = sum_ij w_i w_j A_ij B_ij, so that a weight of 2 is a sample that stands there twice.

==============  =============================================  =======================
thesis          here                                           name
==============  =============================================  =======================
yy'             ideal kernel T = Z Z', binary                  `ideal_factor` gives Z
<K_m, yy'>      inner product with the ideal kernel            `Similarity.to_target`
<K_m, K_h>      inner product of two kernels                   `Similarity.between`
==============  =============================================  =======================

A sample that lacks a view has a zero row in that kernel and takes no part in its row means, so a kernel that few
samples have can only be a little similar to the targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels import KernelStack
from ...machines import Machine
from ...solvers.stacks.products import centred_square

# Rows are centred in blocks of about this many kernel values, which stay in the processor's cache.
_BLOCK_VALUES = 2**17
# A centred kernel with less than this share of the norm that it had is constant up to rounding.
_CONSTANT = 1e-10


@dataclass(frozen=True)
class Similarity:
    """Frobenius inner products of P kernels and of the ideal kernel T.

    Attributes
    ----------
    to_target : ndarray of shape (n_kernels,)
        <K_m, T>.
    norms : ndarray of shape (n_kernels,)
        ||K_m||, 0 for a kernel that is constant once centred.
    target_norm : float
        ||T||.
    between : ndarray of shape (n_kernels, n_kernels) or None
        <K_m, K_h>, if `pairs` was set.
    """

    to_target: np.ndarray
    norms: np.ndarray
    target_norm: float
    between: Any

    @property
    def alignments(self) -> np.ndarray:
        """A(K_m, T), the cosine of the angle between kernel and target; 0 where one of them is zero."""
        product = self.norms * self.target_norm
        return np.divide(self.to_target, product, out=np.zeros_like(product), where=product > 0)


def labels_of(machine: Machine, combiner: object) -> np.ndarray:
    """The class of each sample, 0 .. k - 1, or an error where the machine is no classifier."""
    if machine.strata is None:
        raise ValueError(f"{type(combiner).__name__} is for classification only; Mean works for every machine")
    return np.unique(machine.strata, return_inverse=True)[1]


def ideal_factor(machine: Machine, y: np.ndarray | None, weight: np.ndarray, combiner: object) -> np.ndarray:
    """Z of the ideal kernel T = Z Z', of shape (n_samples, n_columns).

    Two classes: T = yy'. k classes: 1 for two samples of one class and -1/(k - 1) otherwise, the inner products of the
    corners of a regular simplex, which is yy' where k = 2. Regression: T = yy' with the mean subtracted from y,
    averaged over targets. Novelty detection has no targets, which is an error.
    """
    if machine.strata is not None:
        labels = labels_of(machine, combiner)
        n_classes = labels.max() + 1
        if n_classes == 2:
            return 2.0 * labels[:, None] - 1.0
        return np.sqrt(n_classes / (n_classes - 1)) * (np.eye(n_classes)[labels] - 1.0 / n_classes)
    if y is None:
        raise ValueError(f"{type(combiner).__name__} compares kernels with targets, and there are none; use Mean")
    centred = (y - np.average(y, axis=0, weights=weight)).reshape(len(y), -1)
    return centred / np.sqrt(centred.shape[1])


def similarities(stack: KernelStack, factor: np.ndarray, centered: bool, pairs: bool) -> Similarity:
    """Inner products of the kernels with the ideal kernel and, with `pairs`, with each other.

    Memory: one n x n matrix at a time, or all P of them (`KernelStack.matrices`) for `pairs`.

    Parameters
    ----------
    stack : KernelStack
    factor : ndarray of shape (n_samples, n_columns)
        Z of the ideal kernel.
    centered : bool
        Whether kernels and target are centred in feature space.
    pairs : bool
        Whether <K_m, K_h> is wanted for all pairs.
    """
    n_kernels = stack.n_kernels
    matrices = stack.matrices() if pairs else None
    means = np.zeros((n_kernels, stack.n_samples))
    grand, to_target, squares = np.zeros(n_kernels), np.zeros(n_kernels), np.zeros(n_kernels)
    roots = stack.present.T * np.sqrt(stack.weight)
    for m in range(n_kernels):
        K = stack.gram(m) if matrices is None else matrices[m]
        share = roots[m] ** 2 / max((roots[m] ** 2).sum(), np.finfo(float).tiny)  # no sample of these classes has it
        columns = roots[m][:, None] ** 2 * (factor - share @ factor if centered else factor)
        image = _times(K, np.column_stack([columns, share]))
        to_target[m] = np.vdot(columns, image[:, :-1])  # <K_m, T> = tr(Z'K_m Z)
        if centered:
            means[m], grand[m] = image[:, -1], share @ image[:, -1]
        if matrices is None:
            squares[m] = centred_square(K, means[m], grand[m], roots[m])
    between = None if matrices is None else _between(matrices, means, grand, roots)
    squares = squares if between is None else np.diagonal(between).copy()
    # Squares of kernel, row means and mean differ as they do in an analysis of variance.
    totals = (roots**2).sum(axis=1)
    before = squares + 2.0 * totals * (roots**2 * means**2).sum(axis=1) - (totals * grand) ** 2
    constant = squares <= _CONSTANT**2 * before
    to_target[constant] = squares[constant] = 0.0
    if between is not None:
        between[constant] = between[:, constant] = 0.0
    factor = np.sqrt(stack.weight)[:, None] * (
        factor - np.average(factor, axis=0, weights=stack.weight) if centered else factor
    )
    return Similarity(to_target, np.sqrt(squares), float(np.linalg.norm(factor.T @ factor)), between)


def _times(K: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """K times a few columns in double precision, without a copy of K."""
    if K.dtype == np.float64:
        return K @ columns
    n_rows = max(1, _BLOCK_VALUES // len(K))
    starts = range(0, len(K), n_rows)
    return np.vstack([K[first : first + n_rows].astype(np.float64) @ columns for first in starts])


def _between(matrices: np.ndarray, means: np.ndarray, grand: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """<K_m, K_h> for all pairs, a few centred rows at a time."""
    n_kernels, n_samples = means.shape
    n_rows = max(1, _BLOCK_VALUES // (n_kernels * n_samples))
    between = np.zeros((n_kernels, n_kernels))
    for first in range(0, n_samples, n_rows):
        rows = slice(first, first + n_rows)
        block = matrices[:, rows].astype(np.float64)
        if means.any():
            block += (grand[:, None] - means[:, rows])[:, :, None]
            block -= means[:, None, :]
        if not (roots == 1.0).all():
            block *= roots[:, rows, None]
            block *= roots[:, None, :]
        flat = block.reshape(n_kernels, -1)
        between += flat @ flat.T
    return between
