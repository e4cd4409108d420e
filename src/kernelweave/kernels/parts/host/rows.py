"""Rows of a weighted or gated sum of kernels in parts, on the host, tile by tile over all threads: `SumRows`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....solvers.tiles import write_weighted
from ...resources import Scratch, in_threads
from ..sources import TILE_VALUES, PointSource, Source
from .images import Tiles, tiles_of
from .values import WIDTH

HEIGHT = 128  # rows of a tile; tile and rows that are written stay in the cache of a core
CHEAP = ("linear", "polynomial", "gaussian")  # kinds whose values are one matrix product and little more


@dataclass(frozen=True)
class _Tiled:
    """A kernel in tiles: what rows and columns are multiplied by, and the means where it is centred."""

    tiles: list[Tiles]
    rows: np.ndarray
    columns: np.ndarray
    means: np.ndarray | None
    mean: float


class SumRows:
    """Rows  K[i, :],  K[i, j] = sum_m w_m l[i, m] k_m(x_i, x_j) l[j, m],  among training samples.

    Parameters
    ----------
    sources : sequence of Source
        Of the kernels that are added.
    left : ndarray of shape (n_samples, n_sources)
        l.
    weights : ndarray of shape (n_sources,)
    dtype : dtype
        Of the rows.

    Notes
    -----
    Memory: the features once more, as the columns of tiles.
    """

    def __init__(self, sources: Sequence[Source], left: np.ndarray, weights: np.ndarray, dtype: np.dtype):
        self.n_samples, self.dtype = len(left), dtype
        self.tiled: list[_Tiled] = []
        self.others: list[tuple[Source, np.ndarray, np.ndarray]] = []
        for m, source in enumerate(sources):
            factor, scaled = left[:, m], weights[m] * left[:, m]
            tiles = tiles_of(source, source.rows, source.columns, None, None, WIDTH)
            if tiles is None:
                self.others.append((source, scaled, factor))
            else:
                both = scaled * source.rows.factor, factor * source.columns.factor
                one, other = (np.ascontiguousarray(values, dtype=self.dtype) for values in both)
                self.tiled.append(_Tiled(tiles, one, other, source.rows.means, source.mean))

    def fill(self, rows: np.ndarray, slots: np.ndarray, positions: np.ndarray) -> None:
        """Compute rows and write them to ``slots[positions]``."""
        if self.others:
            step = max(1, TILE_VALUES // self.n_samples)
            for first in range(0, len(rows), step):
                some = slice(first, first + step)
                slots[positions[some]] = self._of_others(rows[some])
        if self.tiled:
            self._add_tiles(rows, slots, positions)
        for each in self.tiled:
            if each.means is not None:
                for i, at in zip(rows, positions, strict=True):
                    slots[at] -= each.rows[i] * (each.means[i] - each.mean + each.means) * each.columns

    def _of_others(self, rows: np.ndarray) -> np.ndarray:
        """The sum of the kernels with code of their own."""
        found = np.zeros((len(rows), self.n_samples))
        for source, scaled, factor in self.others:
            found += scaled[rows, None] * source.block(rows, None) * factor
        return found

    def _add_tiles(self, rows: np.ndarray, slots: np.ndarray, positions: np.ndarray) -> None:
        n_tiles = -(-self.n_samples // WIDTH)
        chosen = [
            ([each.at(rows) for each in kernel.tiles], kernel.rows[rows], kernel.columns) for kernel in self.tiled
        ]

        def work(task: int, scratch: Scratch) -> None:
            height, tile = divmod(task, n_tiles)
            top, across = (slice(k * size, (k + 1) * size) for k, size in ((height, HEIGHT), (tile, WIDTH)))
            begins = not self.others
            for tiles, one, other in chosen:
                for each in tiles:
                    values = each.fill(top, tile, scratch)
                    write_weighted(values, one[top], other[across], slots, positions[top], across.start, begins)
                    begins = False

        in_threads(work, -(-len(rows) // HEIGHT) * n_tiles)


def pays(sources: Sequence[Source]) -> bool:
    """Whether rows of a sum of kernels are kept: not where it is one kernel whose values are a matrix product.

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
    return not (isinstance(only, PointSource) and only.function.kind in CHEAP)


def precision_of(sources: Sequence[Source]) -> np.dtype:
    """The precision of rows: float64 where one of the kernels is computed in it."""
    first = np.arange(1)
    return np.result_type(np.float32, *(source.block(first, first).dtype for source in sources))
