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
from .reading import read, row_means

# A centred kernel with less than this share of the norm that it had is constant up to rounding.
CONSTANT = 1e-10


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


def compared_with_targets(
    stack: Any, machine: Machine, y: np.ndarray | None, combiner: object, centered: bool, pairs: bool
) -> Similarity:
    """`similarities` with the ideal kernel of a machine's targets, exact or of explicit features."""
    if stack.storage == "explicit":
        from .explicit import explicit_similarities

        return explicit_similarities(stack, machine, combiner, centered, pairs)
    return similarities(stack, ideal_factor(machine, y, stack.weight, combiner), centered, pairs)


def similarities(stack: KernelStack, factor: np.ndarray, centered: bool, pairs: bool) -> Similarity:
    """Inner products of the kernels with the ideal kernel and, with `pairs`, with each other.

    Memory: one n x n matrix at a time, or all P of them (`KernelStack.matrices`) for `pairs`; a tile of each where the
    stack has ``storage="lazy"``.

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
    roots = stack.present.T * np.sqrt(stack.weight)
    totals = (roots**2).sum(axis=1)
    shares = roots**2 / np.maximum(totals, np.finfo(float).tiny)[:, None]  # no sample of these classes has it: 0
    columns = roots[:, :, None] ** 2 * (factor - (shares @ factor)[:, None] if centered else factor)
    images, products = read(stack, np.concatenate([columns, shares[:, :, None]], axis=2), roots, centered, pairs)
    to_target = np.einsum("mic,mic->m", columns, images[:, :, :-1])  # <K_m, T> = tr(Z'K_m Z)
    means, grand = row_means(images, shares, centered)
    between = products if pairs else None
    squares = np.diagonal(products).copy() if pairs else products
    # Squares of kernel, row means and mean differ as they do in an analysis of variance.
    before = squares + 2.0 * totals * (roots**2 * means**2).sum(axis=1) - (totals * grand) ** 2
    constant = squares <= CONSTANT**2 * before
    to_target[constant] = squares[constant] = 0.0
    if between is not None:
        between[constant] = between[:, constant] = 0.0
    factor = np.sqrt(stack.weight)[:, None] * (
        factor - np.average(factor, axis=0, weights=stack.weight) if centered else factor
    )
    return Similarity(to_target, np.sqrt(squares), float(np.linalg.norm(factor.T @ factor)), between)
