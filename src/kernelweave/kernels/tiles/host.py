"""Products of kernels in parts on the host: all kernels in one pass over tiles of values (`values`).

    images[i, m, r] = sum_j k_m(x_i, x_j) V[j, m, r]

A tile of kernel values stays in the cache of a core. Products are summed in float64, tile after tile in the same order
whatever the number of threads. Sources of kernels with code of their own multiply by themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy

import numpy as np

from ....solvers.stacks.exponentials import add_products, add_weighted
from ...threads import Scratch, in_threads
from ..functions import PointFunction
from ..kernel_sources import JoinedSource, MatrixSource
from ..sources import PointSource, Side, Source
from .values import HEIGHT, WIDTH, column_tiles, fill, row_form

FEW_OUTPUTS = 8  # up to so many, products are taken by a loop instead of BLAS
BLOCK = 256  # rows and columns of a tile of a square block


class Tiles(ABC):
    """Raw values between some rows and some columns, so many columns at a time."""

    dtype: np.dtype

    @abstractmethod
    def fill(self, top: slice, tile: int, scratch: Scratch, depth: int = 0) -> np.ndarray:
        """The values of a tile, in an array of the scratch (of at least this number) that may be written to."""

    @abstractmethod
    def at(self, rows: np.ndarray) -> Tiles:
        """The same of some of the rows."""


class PointTiles(Tiles):
    """Tiles of a function of feature vectors.

    Parameters
    ----------
    function : PointFunction
    rows, columns : ndarray of shape (n, width)
        Samples in the form of rows.
    width : int
        Columns of a tile.
    """

    def __init__(self, function: PointFunction, rows: np.ndarray, columns: np.ndarray, width: int):
        self.function, self.A, self.B = function, rows, column_tiles(function, columns, width)
        self.dtype = rows.dtype

    def fill(self, top: slice, tile: int, scratch: Scratch, depth: int = 0) -> np.ndarray:
        """The function of all pairs."""
        A, B = self.A[top], self.B[tile]
        return fill(self.function, A, B, scratch.array(self.dtype, len(A) * B.shape[1], depth))

    def at(self, rows: np.ndarray) -> Tiles:
        """The same columns."""
        other = copy(self)
        other.A = self.A[rows]
        return other


class MatrixTiles(Tiles):
    """Tiles of a lookup in a matrix; parameters are the source, the ids of rows and columns, and the width."""

    def __init__(self, source: MatrixSource, rows: np.ndarray, columns: np.ndarray, width: int):
        self.source, self.rows, self.columns, self.width = source, rows, columns, width
        self.dtype = np.dtype(np.float64)

    def fill(self, top: slice, tile: int, scratch: Scratch, depth: int = 0) -> np.ndarray:
        """Entries by id."""
        return self.source.values(self.rows[top], self.columns[tile * self.width : (tile + 1) * self.width])

    def at(self, rows: np.ndarray) -> Tiles:
        """The same columns."""
        return MatrixTiles(self.source, self.rows[rows], self.columns, self.width)


class ProductTiles(Tiles):
    """Products of the tiles of two kernels."""

    def __init__(self, first: Tiles, second: Tiles):
        self.first, self.second = (first, second) if first.dtype.itemsize >= second.dtype.itemsize else (second, first)
        self.dtype = self.first.dtype

    def fill(self, top: slice, tile: int, scratch: Scratch, depth: int = 0) -> np.ndarray:
        """The product, in the wider of both types."""
        found = self.first.fill(top, tile, scratch, depth)
        found *= self.second.fill(top, tile, scratch, depth + 1)
        return found

    def at(self, rows: np.ndarray) -> Tiles:
        """The product of both."""
        return ProductTiles(self.first.at(rows), self.second.at(rows))


def tiles_of(
    source: Source, left: Side, right: Side, rows: np.ndarray | None, columns: np.ndarray | None, width: int
) -> list[Tiles] | None:
    """Tiles that add up to the raw values of a source; None where it multiplies by itself, or better.

    Parameters
    ----------
    source : Source
    left, right : Side
        What the source compares, of all samples.
    rows, columns : ndarray of int or None
        The samples that are compared.
    width : int
        Columns of a tile.
    """
    if isinstance(source, PointSource):
        forms = (_at(_form(source.function, left), rows), _at(_form(source.function, right), columns))
        return [PointTiles(source.function, *forms, width)]
    if isinstance(source, MatrixSource):
        return [MatrixTiles(source, _at(left.features, rows), _at(right.features, columns), width)]
    if not isinstance(source, JoinedSource):
        return None
    parts = [
        tiles_of(part, _part(left, number), _part(right, number), rows, columns, width)
        for number, part in enumerate(source.parts)
    ]
    first, second = parts
    if first is None or second is None:
        return None
    if not source.function.is_product:
        return first + second
    return [ProductTiles(one, other) for one in first for other in second]


def images(
    sources: Sequence[Source],
    rows: np.ndarray | None,
    columns: np.ndarray | None,
    V: np.ndarray,
    kernels: Sequence[int],
) -> np.ndarray:
    """See `StackInParts.images`."""
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
        found[m] = left.factor[:, None] * source.centred(found[m], left, right, coef)
    return found.transpose(1, 0, 2)


def block(
    sources: Sequence[Source], rows: np.ndarray, left: np.ndarray, weights: np.ndarray, kernels: Sequence[int]
) -> np.ndarray:
    """sum_m weights[m] left[i, m] k_m(x_i, x_j) left[j, m] among some training samples, exactly symmetric.

    Parameters
    ----------
    sources : sequence of Source
    rows : ndarray of int
    left : ndarray of shape (n_rows, n_kernels)
    weights : ndarray of shape (n_kernels,)
    kernels : sequence of int
        Those that are added.
    """
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
            sums = np.triu(sums) + np.triu(sums, 1).T
        total[top, across] += sums
        if top != across:
            total[across, top] += sums.T

    if fused:
        in_threads(work, len(pairs))
    return total


def _form(function: PointFunction, side: Side) -> np.ndarray:
    """The row form of all samples of a side, made once."""
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


def _constants(side: Side, index: np.ndarray | None) -> Side:
    """Some samples of a side, without what is compared of them."""
    means = None if side.means is None else _at(side.means, index)
    return Side(None, _at(side.factor, index), _at(side.diagonal, index), means)
