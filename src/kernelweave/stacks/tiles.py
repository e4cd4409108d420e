"""`Tiles`: the training stack of kernels in tiles, on the host or on a device; no whole matrix is ever made.

Images K_m C are what the solver of a machine keeps anyway, so that forms and derivatives cost nothing, and they stay
true when the weights change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Place
from ..kernels.points import points_in_parts, points_pullback
from ..kernels.tiles.stack import RepeatedTiles, TileStack
from ..kernels.tiles.sums import TiledSum
from ..machines import Solution
from ..solvers.sums import Images
from .dense import ExactStack, ExactSums, Points, row_means

_TILE_VALUES = 2**22  # of all kernels together
_LEAST_ROWS = 64  # of a tile, so that products of features stay fast


class Tiles(ExactStack):
    """Kernels in tiles; parameters and attributes are those of `KernelStack`."""

    offers = frozenset({"elementwise", "nested", "samples", "kernels"})

    def sum(self, eta: np.ndarray, scaling: np.ndarray | None = None, out: np.ndarray | None = None) -> TiledSum:
        factor = self.unscaled() if scaling is None else scaling
        return TiledSum(self.in_parts(), np.repeat(factor[:, None], self.n_kernels, axis=1), eta)

    def sums(self, scaling: np.ndarray | None = None) -> TileSums:
        return TileSums(self, self.unscaled() if scaling is None else scaling)

    def elementwise(self, kernel: Any, out: np.ndarray | None = None) -> Any:
        return kernel.in_parts()

    def form_pullback(self, form: Any, kernel: Any, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return form.tile_pullback(kernel, rows, coef)

    def kept_sum(self) -> TiledSum:
        """A weighted sum whose images stay true for all weights."""
        return TiledSum(self.in_parts(), np.ones((self.n_samples, self.n_kernels)), keeps_images=True)

    def rows_of(self, K: Any, rows: np.ndarray) -> np.ndarray:
        return K.rows(rows)

    def block_of(self, K: Any, rows: np.ndarray) -> np.ndarray:
        return K.block(rows)

    # Gates, over base kernels or points

    def _tiles_at(self, at: Points | None) -> TileStack:
        return self.in_parts() if at is None else at.tiled(self.place, self.dtype)

    def gated(self, function: Any, gates: Any, at: Points | None, out: np.ndarray | None = None) -> TiledSum:
        """The sum in tiles; images are kept for each kernel, which is what the derivative by the gates needs."""
        return TiledSum(self._tiles_at(at), gates, keeps_images=True)

    def gated_block(self, gates: np.ndarray, at: Points | None, rows: np.ndarray) -> np.ndarray:
        return self.gated(None, gates, at).block(rows)

    def gated_product(self, gates: np.ndarray, at: Points | None, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return self.gated(None, gates, at).product(np.arange(len(gates)), rows, coef)

    def gated_rows(self, gates: np.ndarray, at: Points | None, rows: np.ndarray) -> np.ndarray:
        return self.gated(None, gates, at).rows(rows)

    def gated_values(
        self, gates: np.ndarray, at: Points | None, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray
    ) -> np.ndarray:
        return self.gated(None, gates, at).product(rows, columns, coef)

    def slopes(
        self, gates: np.ndarray, at: Points | None, rows: np.ndarray, coef: np.ndarray, solution: Any = None
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """dJ by the gates, and by the points if there are any, from images that a solution may hold."""
        weighted = gates[rows][:, :, None] * coef[:, None, :]
        images = None if solution is None else kept_images(solution, rows, self.place)
        if images is None:
            tiles = self._tiles_at(at)
            images = tiles.place.numpy(tiles.images(rows, rows, tiles.place.asarray(weighted, "float64")))
        by_gates = -np.einsum("ir,imr->im", coef, images)
        if at is None:
            return by_gates, []
        points = [Z[rows] for Z in at.points]
        return by_gates, points_pullback(at.kernels, points, weighted, images, self.place, self.dtype)

    def mean_of(self, kernels: list[Any], features: list[Any], gates: np.ndarray) -> TiledSum:
        return TiledSum(points_in_parts(kernels, features, self.place, self.dtype), gates)

    def prepare(self) -> None:
        self.in_parts()

    def images(self, columns: np.ndarray) -> np.ndarray:
        tiles = self.in_parts()
        V = tiles.place.asarray(np.ascontiguousarray(columns.transpose(1, 0, 2)), "float64")
        return tiles.place.numpy(tiles.images(None, None, V)).transpose(1, 0, 2)

    def read(
        self, columns: np.ndarray, roots: np.ndarray, centered: bool, pairs: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """One pass for the images, and one for the inner products."""
        images = self.images(columns)
        means, grand = row_means(images, columns[:, :, -1], centered)
        tiles, n_kernels, n_samples = self.in_parts(), self.n_kernels, self.n_samples
        place, xp = tiles.place, tiles.place.xp
        shift, mean, scale = (place.asarray(values, "float64") for values in (grand[:, None] - means, means, roots))
        scaled = not (roots == 1.0).all()
        products = np.zeros((n_kernels, n_kernels) if pairs else n_kernels)
        for rows, others in _tiles(n_samples, n_kernels):
            here, there = slice(rows[0], rows[-1] + 1), slice(others[0], others[-1] + 1)
            tile = xp.empty((n_kernels, len(rows), len(others)), dtype=xp.float64, device=place.device)
            for m in range(n_kernels):
                tile[m, ...] = xp.astype(tiles.block(m, rows, others), xp.float64)
            if centered:
                tile += shift[:, here][:, :, None]
                tile -= mean[:, there][:, None, :]
            if scaled:
                tile *= scale[:, here][:, :, None]
                tile *= scale[:, there][:, None, :]
            flat = xp.reshape(tile, (n_kernels, -1))
            found = flat @ flat.T if pairs else xp.sum(flat * flat, axis=1)
            # a tile beside the diagonal stands for its transpose too
            products += (1.0 if others[0] == rows[0] else 2.0) * place.numpy(found)
        return images, products

    def alone(self, m: int) -> TiledSum:
        return TiledSum(self.in_parts().only(m), np.ones((self.n_samples, 1)))

    def part(self, K: Any, rows: np.ndarray) -> Any:
        return K.subset(rows)

    def values(self, K: Any, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(coef.any(axis=1))
        return K.product(rows, columns[used], np.ascontiguousarray(coef[used]))

    def diagonals(self) -> np.ndarray:
        return self.in_parts().diagonals()


class TileSums(ExactSums):
    def __init__(self, stack: Tiles, scaling: np.ndarray):
        n_regions = 1 if scaling.ndim == 1 else scaling.shape[1]
        self.n_kernels, self.n_samples = stack.n_kernels * n_regions, stack.n_samples
        self._tiles = stack.in_parts() if n_regions == 1 else RepeatedTiles(stack.in_parts(), n_regions)
        self._start(scaling)

    def _start(self, scaling: np.ndarray) -> None:
        by_region = scaling.reshape(self.n_samples, -1)
        left = np.tile(by_region, (1, self.n_kernels // by_region.shape[1]))
        self._scaling, self._latest = scaling, TiledSum(self._tiles, left, keeps_images=True)

    def scale(self, scaling: np.ndarray) -> None:
        if not np.array_equal(scaling, self._scaling):
            self._start(scaling)

    def at(self, eta: np.ndarray) -> TiledSum:
        self._latest = self._latest.with_weights(eta)
        return self._latest

    def images(self, outputs: list[tuple[np.ndarray, Solution]]) -> Images:
        """The images that the solutions carry, computed where one carries none."""
        coef = self._coef(outputs)
        columns, rows = np.nonzero(coef.T)
        values = [np.empty((0, self.n_kernels))]
        for index, solution in outputs:
            for c, image in zip(solution.coef.T, solution.images, strict=True):
                if c.any():
                    kernel = self._latest if len(index) == self.n_samples else self._latest.subset(index)
                    image = image if kernel.reuses(image) else kernel.image(c)
                    values.append(kernel.images_at(image, np.flatnonzero(c)))
        return Images(rows, columns, coef[rows, columns], np.concatenate(values).T)


def _tiles(n_samples: int, n_kernels: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows and columns of square tiles on the diagonal, and of tiles to the right of them."""
    room = max(1, _TILE_VALUES // n_kernels)
    height = min(n_samples, max(_LEAST_ROWS, min(room // n_samples, int(room**0.5))))
    width = max(1, room // height)
    tiles = []
    for first in range(0, n_samples, height):
        last = min(first + height, n_samples)
        rows = np.arange(first, last)
        tiles.append((rows, rows))
        tiles += [(rows, np.arange(j, min(j + width, n_samples))) for j in range(last, n_samples, width)]
    return tiles


def kept_images(solution: Solution, rows: np.ndarray, place: Place) -> np.ndarray | None:
    """The images (n_rows, n_kernels, n_outputs) at some samples that a solution in tiles holds; None if not all."""
    found = []
    for output in solution.outputs or (solution,):
        for image in output.images:
            if image is None or image.values.ndim != 2 or len(output.coef) != len(solution.coef):
                return None
            found.append(place.numpy(place.take(image.values, rows)))
    return np.stack(found, axis=2)
