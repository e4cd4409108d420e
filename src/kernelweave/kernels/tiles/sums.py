"""Sums and other functions of kernels in tiles, on which machines are solved; see `solvers.in_parts.KernelInParts`.

    K[i, j] = sum_m w_m l[i, m] k_m(x_i, x_j) l[j, m]          `TiledSum`
    K[i, j] = l_i f(k_1(x_i, x_j), ..., k_P(x_i, x_j)) l_j     `TiledFunction`

Global weights of a sum are w with l = 1 (or what samples that lack views are scaled by); gates are l with w = 1.
Products and polynomials of kernels are functions.

The image of coefficients c is K c or, where a sum keeps its images, every  k_m (l_m c)  by itself: such an image stays
true when the weights w change, and gives the forms  c' K_m c  for nothing.

On the host a `RowCache` keeps rows to use them again: half of a working set stays from one round to the next, and
machines that are solved one after the other on the same kernel choose many of the same samples. A row that is kept is
read (4 bytes for each value in float32), where one that is not is computed from all base kernels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from ...arrays import Place
from ...solvers.tiles import add_rows
from ..resources import Scratch, in_threads
from .host import SumRows, pays, precision_of
from .sources import TILE_VALUES
from .stack import TileStack

FEWEST = 1024  # rows that must fit: as many as a working set has
SUMMED = 2048  # columns whose sums stay in the first cache of a core
SHARE = 0.5  # of all columns: a row is computed whole where at least so many are wanted

#: ``fill(rows, slots, positions)`` writes the rows of K of some samples to these positions of the slots.
Fill = Callable[[np.ndarray, np.ndarray, np.ndarray], None]


class RowCache:
    """Rows of a symmetric matrix of n samples, as many as fit into the memory given.

    A row takes the place of the one that was used longest ago, so that what is kept depends on the calls alone.
    ``fill(rows, slots, positions)`` computes rows of the matrix and writes them to ``slots[positions]``. `position` is
    the slot of the row of each sample, -1 where it is not kept.

    >>> K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> def fill(rows, slots, positions):
    ...     slots[positions] = K[rows]
    >>> cache = RowCache(3, 2, np.float64, fill)
    >>> cache.times(np.array([0, 2]), np.array([1.0, -1.0]))
    array([ 2.,  0., -2.])
    >>> cache.position
    array([ 0, -1,  1])
    """

    def __init__(self, n_samples: int, n_rows: int, dtype: np.dtype | type, fill: Fill):
        self.slots = np.empty((n_rows, n_samples), dtype=dtype)  # takes memory only as rows are written
        self.position = np.full(n_samples, -1)
        self.sample = np.full(n_rows, -1)
        self.used = np.zeros(n_rows, dtype=np.int64)  # when a slot was used last; 0 for free ones
        self.fill, self.time, self.hits, self.misses = fill, 0, 0, 0
        self.lock = Lock()

    def serves(self, n_rows: int, n_columns: int) -> bool:
        """Whether a product of so many rows at so many columns is computed from whole rows that are kept."""
        return n_rows <= len(self.slots) and n_columns >= SHARE * len(self.position)

    def keep(self, rows: np.ndarray) -> None:
        """Compute rows that are not in the cache, in place of those used longest ago; at most one for each slot."""
        known = self.position[rows] >= 0
        missing = rows[~known]
        self.hits, self.misses = self.hits + len(rows) - len(missing), self.misses + len(missing)
        self.time += 1
        self.used[self.position[rows[known]]] = self.time
        if not len(missing):
            return
        free = np.argsort(self.used, kind="stable")[: len(missing)]
        before = self.sample[free]
        self.position[before[before >= 0]] = -1
        self.sample[free], self.used[free] = -1, 0  # until they are written, should that be interrupted
        self.fill(missing, self.slots, free)
        self.sample[free], self.used[free] = missing, self.time
        self.position[missing] = free

    def times(self, rows: np.ndarray, change: np.ndarray) -> np.ndarray:
        """K[:, rows] change, summed in float64; rows that are not kept are computed. A vector, or several columns."""
        columns = np.ascontiguousarray(np.atleast_2d(change.T), dtype=np.float64)
        found = np.zeros((len(columns), len(self.position)))
        with self.lock:
            self.keep(rows)
            positions = self.position[rows]

            def work(task: int, scratch: Scratch) -> None:
                first = task * SUMMED
                for coef, total in zip(columns, found, strict=True):
                    add_rows(self.slots, positions, coef, total[first : first + SUMMED], first)

            in_threads(work, -(-found.shape[1] // SUMMED))
        return found[0] if change.ndim == 1 else found.T


def rows_that_fit(cache_bytes: float, n_samples: int, dtype: np.dtype | type) -> int:
    """How many rows are kept in so many bytes; 0 where a working set does not fit, and none is kept.

    >>> [rows_that_fit(2.56e8, n, "float32") for n in (5000, 20_000, 50_000, 200_000)]
    [5000, 3200, 1280, 0]
    """
    if n_samples == 0:
        return 0
    size = np.dtype(dtype).itemsize * n_samples
    fitting = n_samples if cache_bytes >= size * n_samples else int(cache_bytes // size)
    return fitting if fitting >= min(FEWEST, n_samples) else 0


@dataclass
class Image:
    """K c, (n_samples,), or each kernel's part of it, (n_samples, n_kernels): an array of the place, float64."""

    values: Any
    of: object


class TiledMatrix(ABC):
    """A function K of the base kernels, which keeps rows of K and gives images K c (see `Image`)."""

    def __init__(self, tiles: TileStack):
        self.tiles, self.place = tiles, tiles.place
        self.token: object = object()

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """Number of samples."""

    @abstractmethod
    def block(self, rows: np.ndarray) -> np.ndarray:
        """K among some samples, a NumPy array of float64, exactly symmetric."""

    @abstractmethod
    def part(self, rows: np.ndarray, columns: np.ndarray | None) -> Any:
        """K between some samples and others (None: all), an array of the place."""

    @abstractmethod
    def times(self, rows: np.ndarray | None, columns: np.ndarray | None, coef: Any) -> Any:
        """K between some samples and others (None: all) times coefficients of shape (n_columns, n_outputs).

        Coefficients and products are arrays of the place, of float64.
        """

    @abstractmethod
    def _changed(self, targets: np.ndarray | None, rows: np.ndarray, change: np.ndarray) -> Any:
        """By how much images change at some samples: (n_targets, ..., n_columns) for change of (n_rows, n_columns)."""

    @abstractmethod
    def _rows_to_keep(self) -> tuple[np.dtype, Callable[[], Fill]] | None:
        """The type of rows, and what makes the function that fills them; None where keeping none is better."""

    def rows(self, index: np.ndarray) -> np.ndarray:
        """K between some samples and all of them, a NumPy array."""
        return self.place.numpy(self.part(index, None))

    def product(self, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """K between some samples and others times coefficients (a vector or a matrix), computed afresh."""
        found = self.times(rows, columns, self.place.asarray(coef[:, None] if coef.ndim == 1 else coef, "float64"))
        found = self.place.numpy(found)
        return found[:, 0] if coef.ndim == 1 else found

    # Several columns at once: images side by side, along the last axis

    def images(self, coef: Any) -> Any:
        """The images of columns of coefficients, arrays of the place."""
        return self.times(None, None, coef)

    def no_images(self, n_outputs: int) -> Any:
        return self.place.zeros((self.n_samples, n_outputs))

    def summed(self, images: Any) -> Any:
        """K C from the images of C, of shape (n_samples, n_outputs)."""
        return images

    def column(self, images: Any, output: int, rows: np.ndarray | None = None) -> Image | None:
        """The image of one of the columns, or of one that is 0 but for some samples, as one of the kernel among them.

        None where that kernel is another one whenever it is made.
        """
        return Image(images[..., output], self.token) if rows is None else None

    def joined(self, images: Sequence[Image | None]) -> Any:
        """Images of single columns side by side; None unless all are of this kernel."""
        if not all(self.reuses(image) for image in images):
            return None
        return self.place.xp.stack([image.values for image in images if image is not None], axis=-1)

    def zero(self) -> Image:
        return Image(self.place.zeros(self.n_samples), self.token)

    def copy(self, image: Image) -> Image:
        return Image(self.place.xp.asarray(image.values, copy=True), image.of)

    def add(self, image: Image, rows: np.ndarray, change: np.ndarray, targets: np.ndarray | None = None) -> None:
        """Bring an image up to date, in place, after the coefficients of some rows changed by so much."""
        self.add_columns([image], rows, change[:, None], targets)

    def add_columns(
        self, images: Sequence[Image], rows: np.ndarray, change: np.ndarray, targets: np.ndarray | None = None
    ) -> None:
        """`add` to an image for each column of coefficients, by one product; change is (n_rows, n_columns)."""
        wanted = self.n_samples if targets is None else len(targets)
        if self.cache is not None and self.cache.serves(len(rows), wanted):
            found = self.place.take(self.cache.times(rows, change), targets)
        else:
            found = self._changed(targets, rows, change)
        for column, image in enumerate(images):
            self.place.add(image.values, targets, found[..., column])

    def value(self, image: Image, coef: Any) -> Any:
        """K c from its image, an array of the place, of shape (n_samples,); `coef` is c there."""
        return image.values

    def reuses(self, image: Any) -> bool:
        return isinstance(image, Image) and image.of is self.token

    @property
    def rounding(self) -> float:
        """The relative rounding error of values of K."""
        return float(np.finfo(np.float32 if self.tiles.is_narrow else np.float64).eps)

    @cached_property
    def cache(self) -> RowCache | None:
        """Rows that are kept within the memory given, on the host; None where they are not kept or none would pay."""
        made = self._rows_to_keep() if self.place.is_host and self.n_samples else None
        if made is None:
            return None
        dtype, filling = made
        n_rows = rows_that_fit(self.tiles.cache_bytes, self.n_samples, dtype)
        return RowCache(self.n_samples, n_rows, dtype, filling()) if n_rows else None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "cache"}


class TiledSum(TiledMatrix):
    """A weighted or gated sum of base kernels.

    `left`, of shape (n_samples, n_kernels), is what samples are multiplied by in each kernel: gates, or a factor of the
    sample. With `keeps_images`, images are kept for each kernel, so that they stay true under `with_weights`.
    """

    def __init__(
        self,
        tiles: TileStack,
        left: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        keeps_images: bool = False,
    ):
        super().__init__(tiles)
        self.weights = np.ones(tiles.n_kernels) if weights is None else weights
        self.left, self.keeps_images = left, keeps_images
        self.there = self.place.asarray(left, "float64")
        self.used = self._used()
        self._subsets: dict[bytes, TiledSum] = {}  # shared under `with_weights`, so that images of subsets stay true

    def _used(self) -> list[int]:
        return np.flatnonzero((self.left != 0.0).any(axis=0) & (self.weights != 0.0)).tolist()

    @property
    def n_samples(self) -> int:
        return len(self.left)

    @cached_property
    def diagonal(self) -> np.ndarray:
        return (self.left**2 * self.tiles.diagonals()) @ self.weights

    def _rows_to_keep(self) -> tuple[np.dtype, Callable[[], Fill]] | None:
        sources = [self.tiles.sources[m] for m in self.used]
        if self.keeps_images or not pays(sources):
            return None
        dtype = precision_of(sources)
        return dtype, lambda: SumRows(sources, self.left[:, self.used], self.weights[self.used], dtype).fill

    def with_weights(self, weights: np.ndarray) -> TiledSum:
        """The same with other weights; images are shared where they are kept."""
        other = copy(self)
        for name in ("diagonal", "weighted"):
            other.__dict__.pop(name, None)
        other.weights = weights
        other.used = other._used()
        if not self.keeps_images:
            other.token, other._subsets = object(), {}
        return other

    def subset(self, index: np.ndarray) -> TiledSum:
        """The same among some samples; images of the same samples are shared as under `with_weights`."""
        found = self._subsets.get(index.tobytes()) if self.keeps_images else None
        if found is None:
            found = TiledSum(self.tiles.subset(index), self.left[index], keeps_images=self.keeps_images)
            if self.keeps_images:
                self._subsets[index.tobytes()] = found
        return found.with_weights(self.weights)

    def block(self, rows: np.ndarray) -> np.ndarray:
        total = self.tiles.sum_block(rows, self.left[rows], self.weights, self.used)
        total[np.diag_indices_from(total)] = self.diagonal[rows]
        return total

    def zero(self) -> Image:
        if not self.keeps_images:
            return super().zero()
        return Image(self.place.zeros((self.n_samples, self.tiles.n_kernels)), self.token)

    def _changed(self, targets: np.ndarray | None, rows: np.ndarray, change: np.ndarray) -> Any:
        place = self.place
        V = place.take(self.there, rows)[:, :, None] * place.asarray(change, "float64")[:, None, :]
        found = self.tiles.images(targets, rows, V, None if self.keeps_images else self.used)
        return found if self.keeps_images else self._summed(found, targets)

    def _summed(self, images: Any, targets: np.ndarray | None) -> Any:
        """The kernels' images added up, of shape (n_targets,), or (n_targets, n_columns) of several columns."""
        weighted = self.place.take(self.weighted, targets)
        return self.place.xp.sum(images * (weighted if images.ndim == 2 else weighted[:, :, None]), axis=1)

    @cached_property
    def weighted(self) -> Any:
        """w_m l[i, m], an array of the place of shape (n_samples, n_kernels)."""
        if not self.place.is_torch:
            return self.there * self.place.asarray(self.weights, "float64")
        return self.place.asarray(self.left.T * self.weights[:, None], "float64").T  # as images are in memory there

    def value(self, image: Image, coef: Any) -> Any:
        return self._summed(image.values, None) if self.keeps_images else image.values

    def image(self, coef: np.ndarray) -> Image:
        image, rows = self.zero(), np.flatnonzero(coef)
        if len(rows):
            self.add(image, rows, coef[rows])
        return image

    def images_at(self, image: Image, rows: np.ndarray) -> np.ndarray:
        """K_m c at some samples, without the weights, a NumPy array of shape (n_rows, n_kernels); kept images only."""
        return self.place.numpy(self.place.take(image.values, rows)) * self.left[rows]

    @property
    def n_used(self) -> int:
        """How many base kernels make a value of K."""
        return len(self.used)

    def part(self, rows: np.ndarray, columns: np.ndarray | None) -> Any:
        left, right = (self.place.take(self.there, index) for index in (rows, columns))
        found = self.place.zeros((left.shape[0], right.shape[0]))
        for m in self.used:
            values = self.tiles.block(m, rows, columns)
            found += float(self.weights[m]) * left[:, m][:, None] * values * right[:, m]
        return found

    def times(self, rows: np.ndarray | None, columns: np.ndarray | None, coef: Any) -> Any:
        V = self.place.take(self.there, columns)[:, :, None] * coef[:, None, :]
        images = self.tiles.images(rows, columns, V, self.used)
        return self.place.xp.sum(images * self.place.take(self.weighted, rows)[:, :, None], axis=1)

    def images(self, coef: Any) -> Any:
        if not self.keeps_images:
            return super().images(coef)
        return self.tiles.images(None, None, self.there[:, :, None] * coef[:, None, :])

    def no_images(self, n_outputs: int) -> Any:
        if not self.keeps_images:
            return super().no_images(n_outputs)
        return self.place.zeros((self.n_samples, self.tiles.n_kernels, n_outputs))

    def summed(self, images: Any) -> Any:
        return self.place.xp.sum(images * self.weighted[:, :, None], axis=1) if self.keeps_images else images

    def column(self, images: Any, output: int, rows: np.ndarray | None = None) -> Image | None:
        if rows is None or not self.keeps_images:
            return super().column(images, output, rows)
        return Image(self.place.take(images[..., output], rows), self.subset(rows).token)


HEIGHT, WIDTH = 64, 512  # of a tile of all kernels on the host, whose values stay in the cache of a core

Combine = Callable[[Iterator[Any], np.ndarray, np.ndarray], Any]


def tile_shape(place: Place, n_columns: int) -> tuple[int, int]:
    return (HEIGHT, WIDTH) if place.is_host else (max(1, TILE_VALUES // max(1, n_columns)), max(1, n_columns))


def in_tiles(place: Place, work: Callable[[int], None], n_tasks: int) -> None:
    if place.is_host:
        in_threads(lambda task, _: work(task), n_tasks)
    else:
        for task in range(n_tasks):
            work(task)


class TiledFunction(TiledMatrix):
    """A function of the values of base kernels.

    ``combine(values, rows, columns)`` makes the values of K of those of `kernels` (None: all) between these samples,
    one array of the place after the other; the arrays are new and may be written to. `factor` is l, and `index` says
    among which samples of `tiles` K is.
    """

    def __init__(
        self,
        tiles: TileStack,
        combine: Combine,
        diagonal: np.ndarray,
        *,
        kernels: Sequence[int] | None = None,
        factor: np.ndarray | None = None,
        index: np.ndarray | None = None,
    ):
        super().__init__(tiles)
        self.combine, self.unscaled = combine, diagonal
        self.kernels = list(range(tiles.n_kernels)) if kernels is None else list(kernels)
        self.factor = np.ones(len(diagonal)) if factor is None else factor
        self.index = np.arange(tiles.n_samples) if index is None else index

    @property
    def n_samples(self) -> int:
        return len(self.index)

    @property
    def diagonal(self) -> np.ndarray:
        return (self.factor**2 * self.unscaled)[self.index]

    def subset(self, index: np.ndarray) -> TiledFunction:
        chosen: dict[str, Any] = {"kernels": self.kernels, "factor": self.factor, "index": self.index[index]}
        return TiledFunction(self.tiles, self.combine, self.unscaled, **chosen)

    @property
    def n_used(self) -> int:
        """How many base kernels make a value of K."""
        return len(self.kernels)

    def values(self, rows: np.ndarray, columns: np.ndarray) -> Any:
        left, right = self.index[rows], self.index[columns]
        return self.combine((self.tiles.block(m, left, right) for m in self.kernels), left, right)

    def part(self, rows: np.ndarray, columns: np.ndarray | None) -> Any:
        columns = np.arange(self.n_samples) if columns is None else columns
        left, right = (self.place.asarray(self.factor[self.index[some]]) for some in (rows, columns))
        return self.values(rows, columns) * left[:, None] * right

    def block(self, rows: np.ndarray) -> np.ndarray:
        factor = self.factor[self.index[rows]]
        values = self.place.numpy(self.values(rows, rows)).astype(np.float64) * factor[:, None] * factor
        values = 0.5 * (values + values.T)
        values[np.diag_indices_from(values)] = self.diagonal[rows]
        return values

    def _changed(self, targets: np.ndarray | None, rows: np.ndarray, change: np.ndarray) -> Any:
        return self.times(targets, rows, self.place.asarray(change, "float64"))

    def times(self, rows: np.ndarray | None, columns: np.ndarray | None, coef: Any) -> Any:
        xp, place = self.place.xp, self.place
        rows, columns = (np.arange(self.n_samples) if index is None else index for index in (rows, columns))
        right = place.asarray(self.factor[self.index[columns]], "float64")[:, None] * coef
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

    def _rows_to_keep(self) -> tuple[np.dtype, Callable[[], Fill]]:
        first = np.arange(1)
        dtype = np.result_type(np.float32, self.values(first, first).dtype)
        # the copy has no cache, so that rows are freed with the kernel and not some time later
        return dtype, lambda: copy(self)._fill

    def _fill(self, rows: np.ndarray, slots: np.ndarray, positions: np.ndarray) -> None:
        factor, columns = self.factor[self.index], np.arange(self.n_samples)
        n_across = -(-self.n_samples // WIDTH)

        def work(task: int) -> None:
            height, tile = divmod(task, n_across)
            top, across = slice(height * HEIGHT, (height + 1) * HEIGHT), slice(tile * WIDTH, (tile + 1) * WIDTH)
            values = self.values(rows[top], columns[across])
            slots[positions[top], across] = values * factor[rows[top], None] * factor[across]

        in_tiles(self.place, work, -(-len(rows) // HEIGHT) * n_across)
