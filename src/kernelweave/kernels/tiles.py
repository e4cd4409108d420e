"""Symmetric matrices in square tiles: each value is computed once, while its tile is in the cache, and mirrored.

A Gram matrix takes several steps for each value (a product, an exponential, a normalisation, a weighted sum over
kernels). Step by step over the whole matrix each of them would read and write all of it; tile by tile only the result
is written. Tiles are computed in threads, see `threads`; the result does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from .threads import in_blas_threads

TILE = 256  # rows of a tile; its values take half a megabyte
_CORNER = 32  # rows of a tile on the diagonal that are mirrored together
_ABOVE = np.triu(np.ones((_CORNER, _CORNER), dtype=bool), 1)

Tile = Callable[[slice, slice], np.ndarray]
"""Values between two ranges of samples, a new array of float64."""


def symmetric(n: int, tile: Tile, *, out: np.ndarray | None = None, dtype: DTypeLike = np.float64) -> np.ndarray:
    """The n x n matrix whose tiles on and below the diagonal a function gives; exactly symmetric.

    Parameters
    ----------
    n : int
    tile : callable
        Takes two slices, the rows and the columns, and returns a new array. It is called from several threads.
    out : ndarray of shape (n, n), optional
        Where to put the matrix; a new one by default.
    dtype : dtype
        Of a new matrix.

    Examples
    --------
    >>> x = np.array([1.0, 2.0])
    >>> symmetric(2, lambda rows, columns: np.outer(x[rows], x[columns]))
    array([[1., 2.],
           [2., 4.]])
    """
    K = np.empty((n, n), dtype) if out is None else out
    ranges = [slice(first, min(first + TILE, n)) for first in range(0, n, TILE)]

    def band(place: int) -> None:
        rows = ranges[place]
        for columns in ranges[:place]:
            values = tile(rows, columns)
            K[rows, columns] = values
            K[columns, rows] = values.T
        values = tile(rows, rows)
        _mirror(values)
        K[rows, rows] = values

    in_blas_threads(band, reversed(range(len(ranges))))  # the longest first
    return K


def _mirror(K: np.ndarray) -> None:
    """Copy what is below the diagonal of a square matrix above it."""
    for first in range(0, len(K), _CORNER):
        last = first + _CORNER
        K[first:last, last:] = K[last:, first:last].T
        corner = K[first:last, first:last]
        np.copyto(corner, corner.T.copy(), where=_ABOVE[: len(corner), : len(corner)])
