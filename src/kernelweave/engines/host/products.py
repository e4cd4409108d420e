"""Products of a pass with features: scores of samples, and what they pull, a tile in a cache of a core at a time.

Each class here goes through one chunk of samples after the other by `add` and has F'c of all of them in `pulled`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...kernels.threads import Scratch
from ...solvers.stacks.passes import add_pulled, inner_products, one_output, respond
from ..slices import ranges, spans_of

if TYPE_CHECKING:
    from .recomputed import RecomputedFeatures

FEW_OUTPUTS = 8  # up to so many, values that are computed in the pass are multiplied by a loop instead of BLAS
FEW_FEATURES = 2**20  # of a block: samples times features of each
TILE_BYTES = 2**20  # of features that are worked on together; they stay in the second cache of a core


def tile_height(row_bytes: int) -> int:
    """How many samples make a tile, a multiple of 4."""
    return max(16, TILE_BYTES // max(1, row_bytes) // 4 * 4)


class Chunk(NamedTuple):
    """Samples of a block in a pass: what their losses are made of, and what is filled.

    Attributes
    ----------
    rows : slice
    b : ndarray of shape (n_outputs,)
    a : ndarray of shape (n_rows, n_kernels)
        Amplitudes.
    terms : tuple of ndarray of shape (n_rows, n_outputs)
        p, the bounds and h of the losses.
    e : float
        Insensitivity.
    slopes : ndarray of shape (n_rows, n_kernels)
        Gets dP/da.
    sums : ndarray of shape (2, n_outputs)
        Sums of losses and of c are added to it.
    """

    rows: slice
    b: np.ndarray
    a: np.ndarray
    terms: tuple[np.ndarray, ...]
    e: float
    slopes: np.ndarray
    sums: np.ndarray


class Products(ABC):
    """Products of a pass with weight vectors."""

    @abstractmethod
    def add(self, chunk: Chunk) -> None:
        """Go through some samples."""

    @abstractmethod
    def pulled(self) -> np.ndarray:
        """F'c of the samples so far, of shape (n_features, n_outputs)."""


class HeldRows(Products):
    """Features that are held, one output.

    Parameters
    ----------
    matrix : ndarray of shape (n_samples, n_features)
    offsets : ndarray of int
    weights : ndarray of shape (n_features, 1)
    """

    def __init__(self, matrix: np.ndarray, offsets: np.ndarray, weights: np.ndarray):
        self.matrix, self.offsets = matrix, offsets
        self.weights, self.sums = np.ascontiguousarray(weights[:, 0]), np.zeros(len(weights))

    def add(self, chunk: Chunk) -> None:
        """One loop over the rows."""
        both, b = np.zeros(2), float(chunk.b[0])
        losses = *(each[:, 0] for each in chunk.terms), chunk.e
        F = self.matrix[chunk.rows]
        one_output(F, self.offsets, self.weights, b, chunk.a, *losses, self.sums, chunk.slopes, both)
        chunk.sums[:, 0] += both

    def pulled(self) -> np.ndarray:
        """F'c of the samples so far."""
        return self.sums[:, None]


class _Tiles(Products):
    """Tiles of samples: scores of each kernel, slopes, and what is pulled."""

    def __init__(self, n_kernels: int, n_outputs: int, row_bytes: int, dtype: Any):
        self.shape, self.dtype = (n_kernels, n_outputs), dtype
        self.height, self.scratch = tile_height(row_bytes), Scratch()

    def add(self, chunk: Chunk) -> None:
        """Tile by tile."""
        (n_kernels, n_outputs), tile_of = self.shape, self.tiles(chunk.rows)
        for part in ranges(len(chunk.a), self.height):
            shape = n_kernels, part.stop - part.start, n_outputs
            size = int(np.prod(shape))
            scores, G = (self.scratch.array(self.dtype, size, number).reshape(shape) for number in range(2))
            tile = tile_of(part)
            for m in range(n_kernels):
                self.score(tile[m], m, scores[m])
            losses = *(each[part] for each in chunk.terms), chunk.e
            respond(scores, chunk.b, chunk.a[part], *losses, G, chunk.slopes[part], chunk.sums)
            for m in range(n_kernels):
                self.pull(tile[m], m, G[m])

    @abstractmethod
    def tiles(self, rows: slice) -> Any:
        """A function from a part of some samples (a slice) to the values of each kernel."""

    @abstractmethod
    def score(self, values: np.ndarray, m: int, out: np.ndarray) -> None:
        """Products of values of kernel m with its weights."""

    @abstractmethod
    def pull(self, values: np.ndarray, m: int, G: np.ndarray) -> None:
        """Add what samples pull."""


class HeldTiles(_Tiles):
    """Features that are held, several outputs, by BLAS; parameters are those of `HeldRows`.

    Products are in the features' type, and in float64 for at most `FEW_FEATURES`, for which that takes no time.
    """

    def __init__(self, matrix: np.ndarray, offsets: np.ndarray, weights: np.ndarray):
        self.spans = spans_of(offsets)
        dtype = np.dtype(np.float64) if matrix.size <= FEW_FEATURES else matrix.dtype
        super().__init__(len(self.spans), weights.shape[1], matrix.shape[1] * dtype.itemsize, dtype)
        self.matrix, self.weights, self.sums = matrix, weights.astype(dtype), np.zeros(weights.shape)

    def tiles(self, rows: slice) -> Any:
        """Parts of the matrix."""
        matrix = self.matrix[rows]
        return lambda part: [matrix[part, span].astype(self.dtype, copy=False) for span in self.spans]

    def score(self, values: np.ndarray, m: int, out: np.ndarray) -> None:
        """By BLAS."""
        np.matmul(values, self.weights[self.spans[m]], out=out)

    def pull(self, values: np.ndarray, m: int, G: np.ndarray) -> None:
        """By BLAS; sums over tiles are in float64."""
        self.sums[self.spans[m]] += values.T @ G

    def pulled(self) -> np.ndarray:
        """F'c of the samples so far."""
        return self.sums


class RecomputedTiles(_Tiles):
    """Values that are computed in the pass; whitening is folded into the weights, in float64.

    Parameters
    ----------
    features : RecomputedFeatures
    weights : ndarray of shape (n_features, n_outputs)
    """

    def __init__(self, features: RecomputedFeatures, weights: np.ndarray):
        self.features, n_outputs = features, weights.shape[1]
        n_raw = sum(each.n_raw for each in features.values)
        super().__init__(len(features.values), n_outputs, n_raw * features.dtype.itemsize, np.float64)
        self.folded = [
            np.ascontiguousarray(each.fold(weights[span]).T)
            for each, span in zip(features.values, spans_of(features.offsets), strict=True)
        ]
        self.sums = [np.zeros(each.shape) for each in self.folded]
        self.few = n_outputs <= FEW_OUTPUTS

    def tiles(self, rows: slice) -> Any:
        """Values of some samples at a time."""
        found = self.features.opened(rows)
        return lambda part: [each.fill(part) for each in found]

    def score(self, values: np.ndarray, m: int, out: np.ndarray) -> None:
        """In float64."""
        if self.few:
            inner_products(values, self.folded[m], out)
        else:
            np.matmul(values.astype(np.float64, copy=False), self.folded[m].T, out=out)

    def pull(self, values: np.ndarray, m: int, G: np.ndarray) -> None:
        """In float64."""
        if self.few:
            add_pulled(values, G, self.sums[m])
        else:
            self.sums[m] += G.T @ values.astype(np.float64, copy=False)

    def pulled(self) -> np.ndarray:
        """F'c of the samples so far."""
        return np.concatenate([each.unfold(sums.T) for each, sums in zip(self.features.values, self.sums, strict=True)])
