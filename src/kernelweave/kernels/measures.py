"""Plain functions of arrays that several kernels share: inner products and distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

_BLOCK_ROWS = 512


def gaussian(A: Any, B: Any, scale: float) -> np.ndarray:
    """exp(-||a - b||^2 / scale^2) for all pairs of rows."""
    unit = binary_unit(scale)  # dividing by it is exact, and squares of a tiny or huge scale would under- or overflow
    same = A is B
    B = B / unit
    return falling(squared_distances(B if same else A / unit, B), scale / unit)


def falling(squared: np.ndarray, scale: float) -> np.ndarray:
    """exp(-squared / scale^2), in place."""
    squared /= -scale
    squared /= scale
    return np.exp(squared, out=squared)


def binary_unit(size: float) -> float:
    """The power of two at or below a size, by which numbers are divided without rounding; 1 for size 0."""
    return float(np.ldexp(1.0, np.frexp(size)[1] - 1)) if size > 0.0 else 1.0


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
