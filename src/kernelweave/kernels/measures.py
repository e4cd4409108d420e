"""Plain functions of arrays that several kernels share: inner products, distances, and the width of a kernel.

=======  ====================================================================  =====================
thesis   here                                                                  function
=======  ====================================================================  =====================
(2.10)   s, the mean distance of a training sample to its nearest neighbour    `neighbour_scale`
=======  ====================================================================  =====================

Copies of a sample are not its neighbours and samples count by their weight, so that repeating samples changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._parameters import is_number, shown

# Pairs closer than this, relative to their norms, count as copies of one sample: rounding of the expanded square.
_SAME_SAMPLE = 1e-12
_BLOCK_ROWS = 512


def chosen_scale(kernel: Any, learn: Callable[[], float]) -> float:
    """The `scale` of a kernel, checked, or what `learn` finds where it is None."""
    if kernel.scale is None:
        return learn()
    if is_number(kernel.scale) and 0 < kernel.scale < np.inf:
        return float(kernel.scale)
    raise ValueError(
        f"scale of the kernel {kernel.label_!r} must be a positive number or None, not {shown(kernel.scale)}"
    )


def neighbour_scale(distances_of: Callable[[slice], np.ndarray], sample_weight: np.ndarray) -> float:
    """Thesis (2.10): the mean distance to the nearest neighbour; 1 where all samples coincide.

    Parameters
    ----------
    distances_of : callable
        Gives the distances of a block of samples (rows) to all samples (columns), infinite between copies.
    sample_weight : ndarray of shape (n_samples,)
    """
    nearest = np.empty(len(sample_weight))
    for rows in row_blocks(len(nearest)):
        nearest[rows] = distances_of(rows).min(axis=1)
    found = np.isfinite(nearest)
    if not found.any():
        return 1.0
    return float(np.average(nearest[found], weights=sample_weight[found]))  # thesis (2.10)


def euclidean_scale(A: Any, sample_weight: np.ndarray) -> float:
    """Thesis (2.10) for Euclidean distances between the rows of an array or CSR matrix."""
    if not sp.issparse(A) and len(A):
        A = A - A.mean(axis=0)
    norms = squared_norms(A)

    def distances_of(rows: slice) -> np.ndarray:
        squared = products(A[rows], A)
        squared *= -2.0
        squared += norms[rows, None]
        squared += norms[None, :]
        squared[squared <= _SAME_SAMPLE * (norms[rows, None] + norms[None, :])] = np.inf
        return np.sqrt(squared, out=squared)

    return neighbour_scale(distances_of, sample_weight)


def gaussian(squared: np.ndarray, scale: float) -> np.ndarray:
    """exp(-squared / scale^2), in place."""
    # Divide twice: scale**2 of a tiny or huge scale would under- or overflow.
    squared /= -scale
    squared /= scale
    return np.exp(squared, out=squared)


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Slices that cut so many rows into blocks, so that a pass over all pairs needs no n x n matrix."""
    return (slice(start, min(start + _BLOCK_ROWS, n_rows)) for start in range(0, n_rows, _BLOCK_ROWS))


def products(A: Any, B: Any) -> np.ndarray:
    """<a, b> for all pairs of rows, as a dense array."""
    values = A @ B.T
    return values.toarray() if sp.issparse(values) else values


def squared_norms(A: Any) -> np.ndarray:
    """||a||^2 of each row."""
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)


def squared_distances(A: Any, B: Any) -> np.ndarray:
    """||a - b||^2 for all pairs, by the expanded square around a common centre (which keeps it accurate)."""
    if not sp.issparse(A):
        same = A is B
        centre = B.mean(axis=0) if len(B) else 0.0
        B = B - centre
        A = B if same else A - centre
    squared = products(A, B)
    squared *= -2.0
    squared += squared_norms(A)[:, None]
    squared += squared_norms(B)[None, :]
    return np.maximum(squared, 0.0, out=squared)
