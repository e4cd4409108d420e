"""Products of all kernels on the host in one pass over tiles of values, and rows of their sums, in threads.

    images[i, m, r] = sum_j k_m(x_i, x_j) V[j, m, r]

A tile of kernel values (`functions.fill`) stays in the cache of a core. Products are summed in float64, tile after tile
in the same order whatever the number of threads. Sources of kernels with code of their own multiply by themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy

import numpy as np

from ...solvers.tiles import add_products, add_weighted, write_weighted
from ..resources import Scratch, in_threads
from .functions import HEIGHT, WIDTH, PointFunction, column_tiles, fill, row_form
from .sources import TILE_VALUES, JoinedSource, MatrixSource, PointSource, Side, Source

FEW_OUTPUTS = 8  # up to so many, products are taken by a loop instead of BLAS
BLOCK = 128  # rows and columns of a tile of a square block
ROWS = 128  # of a tile of rows that are kept; tile and rows that are written stay in the cache of a core
FEW_SAMPLES = 4096  # rows of so few are short enough for the processor's cache
CHEAP = ("linear", "polynomial", "gaussian")  # kinds whose values are one matrix product and little more


class Tiles(ABC):
    """Raw values between some rows and some columns, so many columns at a time."""

    dtype: np.dtype

    @abstractmethod
    def fill(self, top: slice, tile: int, scratch: Scratch, depth: int = 0) -> np.ndarray:
        """The values of a tile, in an array of the scratch (of at least this number) that may be written to."""

    @abstractmethod
    def at(self, rows: np.ndarray) -> Tiles:
        """Tiles of some of the rows."""


class PointTiles(Tiles):
    """Tiles of a function of feature vectors; rows and columns are samples in the form of rows."""

    def __init__(self, function: PointFunction, rows: np.ndarray, columns: np.ndarray, width: int):
        self.function, self.A, self.B = function, rows, column_tiles(function, columns, width)
        self.dtype = rows.dtype

    def fill(self, top: slice, tile: int, scratch: Scratch, depth: int = 0) -> np.ndarray:
        A, B = self.A[top], self.B[tile]
        return fill(self.function, A, B, scratch.array(self.dtype, len(A) * B.shape[1], depth))

    def at(self, rows: np.ndarray) -> Tiles:
        other = copy(self)
        other.A = self.A[rows]
        return other


class MatrixTiles(Tiles):
    dtype = np.dtype(np.float64)

    def __init__(self, source: MatrixSource, rows: np.ndarray, columns: np.ndarray, width: int):
        self.source, self.rows, self.columns, self.width = source, rows, columns, width

    def fill(self, top: slice, tile: int, scratch: Scratch, depth: int = 0) -> np.ndarray:
        return self.source.values(self.rows[top], self.columns[tile * self.width : (tile + 1) * self.width])

    def at(self, rows: np.ndarray) -> Tiles:
        return MatrixTiles(self.source, self.rows[rows], self.columns, self.width)


class ProductTiles(Tiles):
    """Products of the tiles of two kernels, in the wider of both types."""

    def __init__(self, first: Tiles, second: Tiles):
        self.first, self.second = (first, second) if first.dtype.itemsize >= second.dtype.itemsize else (second, first)
        self.dtype = self.first.dtype

    def fill(self, top: slice, tile: int, scratch: Scratch, depth: int = 0) -> np.ndarray:
        found = self.first.fill(top, tile, scratch, depth)
        found *= self.second.fill(top, tile, scratch, depth + 1)
        return found

    def at(self, rows: np.ndarray) -> Tiles:
        return ProductTiles(self.first.at(rows), self.second.at(rows))


def tiles_of(
    source: Source, left: Side, right: Side, rows: np.ndarray | None, columns: np.ndarray | None, width: int
) -> list[Tiles] | None:
    """Tiles, of so many columns, that add up to the raw values of a source; None where its own product is better.

    The sides are those of all samples, of which rows and columns (None: all) are compared.
    """
    if isinstance(source, PointSource):
        forms = (_at(_form(source.function, left), rows), _at(_form(source.function, right), columns))
        return [PointTiles(source.function, *forms, width)]
    if isinstance(source, MatrixSource):
        return [MatrixTiles(source, _at(left.features, rows), _at(right.features, columns), width)]
    if not isinstance(source, JoinedSource):
        return None
    first, second = (
        tiles_of(part, _part(left, number), _part(right, number), rows, columns, width)
        for number, part in enumerate(source.parts)
    )
    if first is None or second is None:
        return None
    if not source.function.is_product:
        return first + second
    return [ProductTiles(one, other) for one in first for other in second]


def _form(function: PointFunction, side: Side) -> np.ndarray:
    if "host" not in side.cache:
        side.cache["host"] = row_form(function, side.features)
    return side.cache["host"]


def _part(side: Side, number: int) -> Side:
    """What one of two joined kernels compares of a side; with a cache of its own."""
    if number not in side.cache:
        side.cache[number] = Side(side.features[number], None, side.diagonal)
    return side.cache[number]


def _at(values: np.ndarray, index: np.ndarray | None) -> np.ndarray:
    return values if index is None else values[index]


def images(
    sources: Sequence[Source],
    rows: np.ndarray | None,
    columns: np.ndarray | None,
    V: np.ndarray,
    kernels: Sequence[int],
) -> np.ndarray:
    n_rows = sources[0].n_rows if rows is None else len(rows)
    found = np.zeros((len(sources), n_rows, V.shape[2]))
    fused = []
    for m in kernels:
        source = sources[m]
        tiles = None
        if not (isinstance(source, PointSource) and source.function.kind == "linear"):  # which needs no values
            tiles = tiles_of(source, source.rows, source.columns, rows, columns, WIDTH)
        if tiles is None:
            found[m] = source.times(rows, columns, V[:, m])
        else:
            coef = V[:, m] * _at(source.columns.factor, columns)[:, None]
            split = [np.ascontiguousarray(coef[first : first + WIDTH].T) for first in range(0, len(coef), WIDTH)]
            fused.append((m, tiles, coef, split))
    if not (fused and n_rows and len(V)):
        return found.transpose(1, 0, 2)

    def work(task: int, scratch: Scratch) -> None:
        top = slice(task * HEIGHT, min((task + 1) * HEIGHT, n_rows))
        for m, tiles, _, split in fused:
            for each in tiles:
                for tile, coef in enumerate(split):
                    part = each.fill(top, tile, scratch)
                    if len(coef) <= FEW_OUTPUTS:
                        add_products(part, coef, found[m, top])
                    else:
                        found[m, top] += part.astype(np.float64, copy=False) @ coef.T

    in_threads(work, -(-n_rows // HEIGHT))
    for m, _, coef, _ in fused:
        source = sources[m]
        left, right = _constants(source.rows, rows), _constants(source.columns, columns)
        found[m] = source.normalized_products(found[m], left, right, coef)
    return found.transpose(1, 0, 2)


def _constants(side: Side, index: np.ndarray | None) -> Side:
    means = None if side.means is None else _at(side.means, index)
    return Side(None, _at(side.factor, index), _at(side.diagonal, index), means)


def block(
    sources: Sequence[Source], rows: np.ndarray, left: np.ndarray, weights: np.ndarray, kernels: Sequence[int]
) -> np.ndarray:
    n = len(rows)
    total = np.zeros((n, n))
    fused = []
    for m in kernels:
        source, scaled = sources[m], weights[m] * left[:, m]
        tiles = None if source.rows.means is not None else tiles_of(source, source.rows, source.rows, rows, rows, BLOCK)
        if tiles is None:
            values = source.block(rows, rows)
            total += 0.5 * scaled[:, None] * (values + values.T) * left[:, m]
        else:
            factor = source.rows.factor[rows]
            fused.append((tiles, scaled * factor, left[:, m] * factor))
    count = -(-n // BLOCK)
    pairs = [(first, second) for first in range(count) for second in range(first, count)]

    def work(task: int, scratch: Scratch) -> None:
        top, across = (slice(tile * BLOCK, min((tile + 1) * BLOCK, n)) for tile in pairs[task])
        sums = np.zeros((top.stop - top.start, across.stop - across.start))
        for tiles, one, other in fused:
            for each in tiles:
                add_weighted(each.fill(top, pairs[task][1], scratch), one[top], other[across], sums)
        if top == across:
            sums = 0.5 * (sums + sums.T)
        total[top, across] += sums
        if top != across:
            total[across, top] += sums.T

    if fused:
        in_threads(work, len(pairs))
    return total


class SumRows:
    """Rows of K[i, j] = sum_m w_m l[i, m] k_m(x_i, x_j) l[j, m]; memory: the features once more, as columns."""

    def __init__(self, sources: Sequence[Source], left: np.ndarray, weights: np.ndarray, dtype: np.dtype):
        self.n_samples = len(left)
        self.tiled: list[tuple[Source, list[Tiles], np.ndarray, np.ndarray]] = []
        self.others: list[tuple[Source, np.ndarray, np.ndarray]] = []
        for m, source in enumerate(sources):
            factor, scaled = left[:, m], weights[m] * left[:, m]
            tiles = tiles_of(source, source.rows, source.columns, None, None, WIDTH)
            if tiles is None:
                self.others.append((source, scaled, factor))
            else:
                both = scaled * source.rows.factor, factor * source.columns.factor
                one, other = (np.ascontiguousarray(values, dtype=dtype) for values in both)
                self.tiled.append((source, tiles, one, other))

    def fill(self, rows: np.ndarray, slots: np.ndarray, positions: np.ndarray) -> None:
        step = max(1, TILE_VALUES // self.n_samples)
        for first in range(0, len(rows) if self.others else 0, step):  # the kernels with code of their own
            some = rows[first : first + step]
            found = np.zeros((len(some), self.n_samples))
            for source, scaled, factor in self.others:
                found += scaled[some, None] * source.block(some, None) * factor
            slots[positions[first : first + step]] = found
        if self.tiled:
            self._add_tiles(rows, slots, positions)
        for source, _, one, other in self.tiled:
            means = source.rows.means
            if means is not None:
                for i, at in zip(rows, positions, strict=True):
                    slots[at] -= one[i] * (means[i] - source.mean + means) * other

    def _add_tiles(self, rows: np.ndarray, slots: np.ndarray, positions: np.ndarray) -> None:
        n_tiles = -(-self.n_samples // WIDTH)
        chosen = [([each.at(rows) for each in tiles], one[rows], other) for _, tiles, one, other in self.tiled]

        def work(task: int, scratch: Scratch) -> None:
            height, tile = divmod(task, n_tiles)
            top, across = (slice(k * size, (k + 1) * size) for k, size in ((height, ROWS), (tile, WIDTH)))
            begins = not self.others
            for tiles, one, other in chosen:
                for each in tiles:
                    values = each.fill(top, tile, scratch)
                    write_weighted(values, one[top], other[across], slots, positions[top], across.start, begins)
                    begins = False

        in_threads(work, -(-len(rows) // ROWS) * n_tiles)


def pays(sources: Sequence[Source]) -> bool:
    """Whether rows of a sum of kernels are kept: not those of many samples where one matrix product gives the values.

    CPU seconds of a solve without and with rows kept in 256 MB (views of 20 features, KKT tolerance 1e-3):

    ==================  =======  =======  ============================
    kernels             n        C        seconds
    ==================  =======  =======  ============================
    one Gaussian        10 000   1, 10    0.65 to 0.66, 2.06 to 1.77
    one Laplacian       10 000   1, 10    0.75 to 0.72, 3.26 to 2.92
    two Gaussian        10 000   1, 10    1.08 to 1.06, 4.31 to 4.04
    six Gaussian        5000     10       3.59 to 1.85
    six Gaussian        20 000   1, 10    10.1 to 7.2, 60.0 to 56.6
    ==================  =======  =======  ============================
    """
    if len(sources) != 1:
        return len(sources) > 1
    only = sources[0]
    if not (isinstance(only, PointSource) and only.function.kind in CHEAP):
        return True
    # In double precision, where whole matrices are an alternative; others cost what they did.
    few = only.n_rows <= FEW_SAMPLES and only.rows.features.dtype == np.float64
    return few and only.function.kind == "gaussian"


def precision_of(sources: Sequence[Source]) -> np.dtype:
    first = np.arange(1)
    return np.result_type(np.float32, *(source.block(first, first).dtype for source in sources))
