"""Symmetric matrices in square tiles: each value is computed once, while its tile is in the cache, and mirrored.

A Gram matrix takes several steps for each value (a product, an exponential, a normalisation, a weighted sum over
kernels). Step by step over the whole matrix each of them would read and write all of it; tile by tile only the result
is written. Tiles are computed in threads, see `threads`; the result does not depend on their number.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from ..views import as_views
from .base import ViewKernel
from .threads import in_blas_threads

TILE = 256  # rows of a tile; its values take half a megabyte
_CORNER = 32  # rows of a tile on the diagonal that are mirrored together
_ABOVE = np.triu(np.ones((_CORNER, _CORNER), dtype=bool), 1)

Tile = Callable[[slice, slice], np.ndarray]
"""Values between two ranges of samples, a new array of float64."""


class TiledKernel(ViewKernel):
    """A function of feature vectors whose Gram matrix is computed in tiles, where the features are dense.

    Subclasses implement `tile_of` beside `cross_of` and `diagonal_of`. A subclass of these that has a `cross_of` or
    `gram_of` of its own and no `tile_of` does not use the tiles of its base.
    """

    @abstractmethod
    def tile_of(self, A: np.ndarray) -> Tile:
        """A function that gives k(a, a') between two ranges (slices) of rows of A."""

    def gram_of(self, A: Any) -> np.ndarray:
        """k(a, a') for all pairs of rows of A, a new array; exact on the diagonal."""
        if not self._has_tiles(A):
            return self.cross_of(A, A)
        K = symmetric(len(A), self.tile_of(A))
        np.fill_diagonal(K, self.diagonal_of(A))
        return K

    def tile(self, X: Any) -> Tile | None:
        """A function that gives `gram` between two ranges of samples; None where some sample lacks the view."""
        values, present = self.read(as_views(X))
        return self.tile_of(values) if present.all() and self._has_tiles(values) else None

    def _has_tiles(self, A: Any) -> bool:
        """Whether the features are dense, and no subclass of the one that defines tiles defines other values."""
        functions = {"tile_of", "cross_of", "gram_of", "gram"}
        owner = next(cls for cls in type(self).__mro__ if not functions.isdisjoint(vars(cls)))
        return not sp.issparse(A) and "tile_of" in vars(owner)


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
