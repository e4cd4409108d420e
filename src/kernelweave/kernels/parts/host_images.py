"""Products of kernels in parts on the host: all kernels in one pass over tiles of values (`host_values`).

    images[i, m, r] = sum_j k_m(x_i, x_j) V[j, m, r]

A tile of kernel values stays in the cache of a core. Products are summed in float64, tile after tile in the same order
whatever the number of threads. Sources of other kernels than functions of feature vectors multiply by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from ...solvers.stacks.exponentials import add_products, add_weighted
from .functions import PointFunction
from .host_values import HEIGHT, WIDTH, column_tiles, fill, row_form
from .sources import PointSource, Side, Source
from .threads import in_threads

FEW_OUTPUTS = 8  # up to so many, products are taken by a loop instead of BLAS
BLOCK = 256  # rows and columns of a tile of a square block


def is_fused(source: Source) -> TypeGuard[PointSource]:
    """Whether values of a source are computed tile by tile here; a linear kernel needs none."""
    return isinstance(source, PointSource) and source.function.kind != "linear"


@dataclass(frozen=True)
class Tiles:
    """Values of one source between some rows and some columns.

    Attributes
    ----------
    function : PointFunction
    A : ndarray of shape (n_rows, width)
        Rows in their form.
    B : list of ndarray
        Columns in theirs, some at a time.
    """

    function: PointFunction
    A: np.ndarray
    B: list[np.ndarray]

    @classmethod
    def of(cls, source: PointSource, rows: np.ndarray | None, columns: np.ndarray | None, width: int) -> Tiles:
        """Of some rows and columns of a source (None: all), so many columns at a time."""
        function = source.function
        left, right = (_cached_form(function, side) for side in (source.rows, source.columns))
        return cls(function, _at(left, rows), column_tiles(function, _at(right, columns), width))

    def fill(self, top: slice, tile: int, buffer: np.ndarray) -> np.ndarray:
        """The values of a tile, in the beginning of a buffer."""
        return fill(self.function, self.A[top], self.B[tile], buffer)


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
        if is_fused(source):
            coef = V[:, m] * _at(source.columns.factor, columns)[:, None]
            split = [np.ascontiguousarray(coef[first : first + WIDTH].T) for first in range(0, len(coef), WIDTH)]
            fused.append((m, Tiles.of(source, rows, columns, WIDTH), coef, split))
        else:
            found[m] = source.times(rows, columns, V[:, m])
    if not (fused and n_rows and len(V)):
        return found.transpose(1, 0, 2)

    def work(task: int) -> None:
        top = slice(task * HEIGHT, min((task + 1) * HEIGHT, n_rows))
        buffers = {each[1].A.dtype: np.empty(HEIGHT * WIDTH, dtype=each[1].A.dtype) for each in fused}
        for m, tiles, _, split in fused:
            for tile, coef in enumerate(split):
                part = tiles.fill(top, tile, buffers[tiles.A.dtype])
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
        if not is_fused(source) or source.rows.means is not None:
            values = source.block(rows, rows)
            total += 0.5 * scaled[:, None] * (values + values.T) * left[:, m]
        else:
            factor = source.rows.factor[rows]
            fused.append((Tiles.of(source, rows, rows, BLOCK), scaled * factor, left[:, m] * factor))
    count = -(-n // BLOCK)
    pairs = [(first, second) for first in range(count) for second in range(first, count)]

    def work(task: int) -> None:
        top, across = (slice(tile * BLOCK, min((tile + 1) * BLOCK, n)) for tile in pairs[task])
        sums = np.zeros((top.stop - top.start, across.stop - across.start))
        for tiles, one, other in fused:
            part = tiles.fill(top, pairs[task][1], np.empty(BLOCK * BLOCK, dtype=tiles.A.dtype))
            add_weighted(part, one[top], other[across], sums)
        if top == across:
            sums = np.triu(sums) + np.triu(sums, 1).T
        total[top, across] += sums
        if top != across:
            total[across, top] += sums.T

    if fused:
        in_threads(work, len(pairs))
    return total


def _cached_form(function: PointFunction, side: Side) -> np.ndarray:
    """The row form of all samples of a side, made once."""
    if "host" not in side.cache:
        side.cache["host"] = row_form(function, side.features)
    return side.cache["host"]


def _at(values: np.ndarray, index: np.ndarray | None) -> np.ndarray:
    return values if index is None else values[index]


def _constants(side: Side, index: np.ndarray | None) -> Side:
    """Some samples of a side, without what is compared of them."""
    means = None if side.means is None else _at(side.means, index)
    return Side(None, _at(side.factor, index), _at(side.diagonal, index), means)
