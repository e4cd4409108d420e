"""`PointwiseInParts`: a function of the values of base kernels, in parts.

    K[i, j] = l_i f(k_1(x_i, x_j), ..., k_P(x_i, x_j)) l_j

with a factor l_i of each sample (1 by default). Products and polynomials of kernels are such functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Place
from ..resources import in_threads
from .host.row_cache import RowCache, rows_that_fit
from .sources import TILE_VALUES
from .stack import StackInParts
from .sums import Image

HEIGHT, WIDTH = 64, 512  # of a tile on the host, whose values stay in the cache of a core

Combine = Callable[[Iterator[Any], np.ndarray, np.ndarray], Any]


def tile_shape(place: Place, n_columns: int) -> tuple[int, int]:
    """Rows and columns of a tile: small on the host, whole rows on a device."""
    return (HEIGHT, WIDTH) if place.is_host else (max(1, TILE_VALUES // max(1, n_columns)), max(1, n_columns))


def in_tiles(place: Place, work: Callable[[int], None], n_tasks: int) -> None:
    """Call a function for each task: on the threads of the host, or one after the other on a device."""
    if place.is_host:
        in_threads(lambda task, _: work(task), n_tasks)
    else:
        for task in range(n_tasks):
            work(task)


class PointwiseInParts:
    """A function of the values of base kernels that machines are solved on in parts; see `solvers.in_parts`.

    Parameters
    ----------
    parts : StackInParts
    combine : callable
        ``combine(values, rows, columns)`` makes the values of K of those of the base kernels between these samples, one
        array of the place after the other; the arrays are new and may be written to.
    diagonal : ndarray of shape (n_samples,)
        f at (k_1(x, x), ..., k_P(x, x)) of each sample.
    kernels : sequence of int, optional
        The kernels that `combine` is given; all by default.
    factor : ndarray of shape (n_samples,), optional
        l; 1 by default.
    index : ndarray of int, optional
        The samples among which K is, as positions in `parts`; all by default.
    """

    def __init__(
        self,
        parts: StackInParts,
        combine: Combine,
        diagonal: np.ndarray,
        *,
        kernels: Sequence[int] | None = None,
        factor: np.ndarray | None = None,
        index: np.ndarray | None = None,
    ):
        self.parts, self.place, self.combine = parts, parts.place, combine
        self.kernels = list(range(parts.n_kernels)) if kernels is None else list(kernels)
        self.unscaled = diagonal
        self.factor = np.ones(len(diagonal)) if factor is None else factor
        self.index = np.arange(parts.n_samples) if index is None else index
        self.token: object = object()

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.index)

    @property
    def diagonal(self) -> np.ndarray:
        """K[i, i], a NumPy array."""
        return (self.factor**2 * self.unscaled)[self.index]

    def subset(self, index: np.ndarray) -> PointwiseInParts:
        """The same among some samples."""
        return PointwiseInParts(
            self.parts,
            self.combine,
            self.unscaled,
            kernels=self.kernels,
            factor=self.factor,
            index=self.index[index],
        )

    def values(self, rows: np.ndarray, columns: np.ndarray) -> Any:
        """K between some samples and others, without the factors, an array of the place."""
        left, right = self.index[rows], self.index[columns]
        return self.combine((self.parts.block(m, left, right) for m in self.kernels), left, right)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """K between some samples and all of them, a NumPy array."""
        values = self.place.numpy(self.values(index, np.arange(self.n_samples)))
        return values * self.factor[self.index[index], None] * self.factor[self.index]

    def block(self, rows: np.ndarray) -> np.ndarray:
        """K among some samples, a NumPy array of float64."""
        factor = self.factor[self.index[rows]]
        values = self.place.numpy(self.values(rows, rows)).astype(np.float64) * factor[:, None] * factor
        values = 0.5 * (values + values.T)
        values[np.diag_indices_from(values)] = self.diagonal[rows]
        return values

    def product(self, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """K between some samples and others times coefficients, computed afresh.

        Parameters
        ----------
        rows, columns : ndarray of int
        coef : ndarray of shape (n_columns,) or (n_columns, n_outputs)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
        """
        found = self.place.numpy(self._times(rows, columns, coef[:, None] if coef.ndim == 1 else coef))
        return found[:, 0] if coef.ndim == 1 else found

    def _times(self, rows: np.ndarray | None, columns: np.ndarray, coef: np.ndarray) -> Any:
        """K between some samples (None: all) and others, times coefficients of shape (n_columns, n_outputs)."""
        xp, place = self.place.xp, self.place
        rows = np.arange(self.n_samples) if rows is None else rows
        right = place.asarray(self.factor[self.index[columns]][:, None] * coef, "float64")
        found = place.zeros((len(rows), right.shape[1]))
        height, width = tile_shape(place, len(columns))

        def work(task: int) -> None:
            top = slice(task * height, min((task + 1) * height, len(rows)))
            for first in range(0, len(columns), width):
                across = slice(first, min(first + width, len(columns)))
                values = xp.astype(self.values(rows[top], columns[across]), xp.float64, copy=False)
                found[top, :] += values @ right[across, :]

        in_tiles(place, work, -(-len(rows) // height))
        return found * place.asarray(self.factor[self.index[rows]], "float64")[:, None]

    def zero(self) -> Image:
        """The image of coefficients 0."""
        return Image(self.place.zeros(self.n_samples), self.token)

    def copy(self, image: Image) -> Image:
        """The same image, to be changed by itself."""
        return Image(self.place.xp.asarray(image.values, copy=True), image.of)

    def add(self, image: Image, rows: np.ndarray, change: np.ndarray, targets: np.ndarray | None = None) -> None:
        """Bring an image up to date, in place (at some samples, or all), after coefficients changed by so much."""
        wanted = self.n_samples if targets is None else len(targets)
        if self.cache is not None and self.cache.serves(len(rows), wanted):
            found = self.place.take(self.cache.times(rows, change), targets)
        else:
            found = self._times(targets, rows, change[:, None])[:, 0]
        self.place.add(image.values, targets, found)

    @cached_property
    def cache(self) -> RowCache | None:
        """Rows that are kept within the memory given, on the host; None where they are not kept."""
        if not self.place.is_host or not self.n_samples:
            return None
        first = np.arange(1)
        dtype = np.result_type(np.float32, self.values(first, first).dtype)
        n_rows = rows_that_fit(self.parts.cache_bytes, self.n_samples, dtype)
        # the copy has no cache, so that rows are freed with the kernel and not some time later
        return RowCache(self.n_samples, n_rows, dtype, copy(self)._fill) if n_rows else None

    def _fill(self, rows: np.ndarray, slots: np.ndarray, positions: np.ndarray) -> None:
        """Compute rows and write them to ``slots[positions]``."""
        factor, columns = self.factor[self.index], np.arange(self.n_samples)
        n_across = -(-self.n_samples // WIDTH)

        def work(task: int) -> None:
            height, tile = divmod(task, n_across)
            top, across = slice(height * HEIGHT, (height + 1) * HEIGHT), slice(tile * WIDTH, (tile + 1) * WIDTH)
            values = self.values(rows[top], columns[across])
            slots[positions[top], across] = values * factor[rows[top], None] * factor[across]

        in_tiles(self.place, work, -(-len(rows) // HEIGHT) * n_across)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "cache"}

    def value(self, image: Image, coef: Any) -> Any:
        """K c from its image, an array of the place, of shape (n_samples,)."""
        return image.values

    def reuses(self, image: Any) -> bool:
        """Whether an image is one of this kernel."""
        return isinstance(image, Image) and image.of is self.token
