"""`Block`: samples ready for training, with targets, features and gating inputs.

    scores    s[i, m, r] = <w_mr, phi_m(x_i)>
    sweep     sum_i G[i, m, r] phi_m(x_i)      where G is a function of the scores

`FeatureBlock.sweep` is all that a pass does with features: it goes through them once, tile by tile, and hands the
scores of a tile to a function that returns what each sample pulls with. Features are held (`StoredFeatures`) or
computed again in every pass (`host.recomputed.RecomputedFeatures`).

On the host `fused_pass` does the same for the plain losses, in one read of the features. Amplitudes are computed by
NumPy for `CHUNK` samples at a time, for which that takes no time beside reading their features. Loss, slope and sums
are compiled (`solvers.passes`); products with features are compiled or by BLAS:

=====================  ==============================================================================
features               products
=====================  ==============================================================================
held, one output       one compiled loop, rows in the first cache of a core; float64
held, several outputs  BLAS on tiles in the second cache, in the features' type; summed in float64
computed, one output   values on tiles in the second cache, then the loop of held features; float64
computed, several      compiled loops, in float64; for many outputs BLAS, in float64
=====================  ==============================================================================

Each class of `Products` goes through one chunk of samples after the other by `add`, a tile in a cache of a core at a
time, and has F'c of all of them in `pulled`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..kernels.resources import Scratch
from ..machines import DualTerms
from ..machines.base import TERMS
from ..solvers.passes import add_pulled, inner_products, one_output, respond
from ..solvers.tiles import powers32, powers64
from .base import ranges, spans_of

if TYPE_CHECKING:
    from .host.recomputed import Opened, RecomputedFeatures

FEW_OUTPUTS = 8  # up to so many, values that are computed in the pass are multiplied by a loop instead of BLAS
FEW_FEATURES = 2**20  # of a block: samples times features of each
TILE_BYTES = 2**19  # of values that are worked on together; they stay in the second cache of a core


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
        self.add_tiles(chunk, self.tiles(chunk.rows))

    def add_tiles(self, chunk: Chunk, tile_of: Any) -> None:
        """Tile by tile, with what `tiles` gives."""
        n_kernels, n_outputs = self.shape
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
        self.offsets = np.cumsum([0, *(each.n_raw for each in features.values)])
        n_raw = int(self.offsets[-1])
        super().__init__(len(features.values), n_outputs, n_raw * features.dtype.itemsize, np.float64)
        self.folded = [
            np.ascontiguousarray(each.fold(weights[span]).T)
            for each, span in zip(features.values, spans_of(features.offsets), strict=True)
        ]
        self.sums = [np.zeros(each.shape) for each in self.folded]
        self.few = n_outputs <= FEW_OUTPUTS

    def tiles(self, rows: slice) -> Any:
        """Values of some samples at a time."""
        return filled(self.features.opened(rows))

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


class RecomputedRows(RecomputedTiles):
    """The same with one output: values of all kernels side by side, whose products are those of `HeldRows`.

    Of Gaussian kernels, BLAS writes the exponents of a tile, and all its exponentials are computed together. The
    factors of samples are then in their amplitudes.
    """

    def __init__(self, features: RecomputedFeatures, weights: np.ndarray):
        super().__init__(features, weights)
        self.spans, self.joined = spans_of(self.offsets), np.concatenate([each[0] for each in self.folded])
        self.joined_sums = np.zeros(len(self.joined))
        self.sums = [self.joined_sums[None, span] for span in self.spans]

    def add(self, chunk: Chunk) -> None:
        """Tile by tile; kernels whose values are in different types are worked on one by one."""
        opened = self.features.opened(chunk.rows)
        dtypes = {each.dtype for each in opened}
        if len(dtypes) != 1:
            self.add_tiles(chunk, filled(opened))
            return
        dtype, both, b = dtypes.pop(), np.zeros(2), float(chunk.b[0])
        in_exponents = all(each.is_exponent for each in opened)
        factor = joined_factors(opened) if in_exponents else None
        a = chunk.a if factor is None else chunk.a * factor
        for part in ranges(len(a), self.height):
            shape = part.stop - part.start, len(self.joined)
            tile = self.scratch.array(dtype, shape[0] * shape[1]).reshape(shape)
            for each, span in zip(opened, self.spans, strict=True):
                if in_exponents:
                    each.exponents(part, tile[:, span])
                else:
                    tile[:, span] = each.fill(part)
            if in_exponents:
                (powers32 if dtype == np.float32 else powers64)(tile)
            losses = *(each[part, 0] for each in chunk.terms), chunk.e
            slopes = chunk.slopes[part]
            one_output(tile, self.offsets, self.joined, b, a[part], *losses, self.joined_sums, slopes, both)
        if factor is not None:
            chunk.slopes[:] *= factor
        chunk.sums[:, 0] += both


def filled(opened: list[Opened]) -> Any:
    """A function from a part of some samples (a slice) to the values of each kernel."""
    return lambda part: [each.fill(part) for each in opened]


def joined_factors(opened: list[Opened]) -> np.ndarray | None:
    """What values of samples are multiplied by, of shape (n_samples, n_kernels); None where that is 1."""
    if all(each.factor is None for each in opened):
        return None
    n = next(len(each.factor) for each in opened if each.factor is not None)
    return np.column_stack([np.ones(n) if each.factor is None else each.factor for each in opened])


Respond = Callable[[slice, np.ndarray], np.ndarray | None]
TILE = 512  # samples whose scores are worked on together


class FeatureBlock(ABC):
    """Features of all kernels of a block of samples.

    Attributes
    ----------
    n_samples : int
    offsets : ndarray of int, shape (n_kernels + 1,)
        Features of kernel m are the columns from offsets[m] on, up to offsets[m + 1].
    """

    n_samples: int
    offsets: np.ndarray

    @abstractmethod
    def features(self, rows: slice) -> np.ndarray:
        """phi of some samples, all kernels side by side."""

    def sweep(self, weights: np.ndarray, respond: Respond) -> np.ndarray:
        """One pass: scores of a tile go to `respond`, whose result pulls the features; sums over tiles in float64.

        Parameters
        ----------
        weights : ndarray of shape (n_features, n_outputs)
            float64.
        respond : callable
            ``respond(rows, scores)`` with a slice of samples and their scores, of shape (n_rows, n_kernels, n_outputs),
            returns G of the same shape, or None where nothing is pulled.

        Returns
        -------
        ndarray of shape (n_features, n_outputs)
            float64.
        """
        pulled = np.zeros(weights.shape)
        spans = spans_of(self.offsets)
        for rows in ranges(self.n_samples, TILE):
            tile = self.features(rows).astype(np.float64, copy=False)  # biases are found from these scores, to rounding
            G = respond(rows, np.stack([tile[:, span] @ weights[span] for span in spans], axis=1))
            if G is not None:
                for m, span in enumerate(spans):
                    pulled[span] += tile[:, span].T @ G[:, m]
        return pulled


class HostFeatures(FeatureBlock):
    """Features on the host, with compiled products."""

    @abstractmethod
    def products(self, weights: np.ndarray) -> Products:
        """What a fused pass does with these features and weight vectors, of shape (n_features, n_outputs)."""


class StoredFeatures(HostFeatures):
    """Features that are held, of shape (n_samples, n_features), float32 or float64."""

    def __init__(self, matrix: np.ndarray, offsets: np.ndarray):
        self.matrix, self.offsets = matrix, offsets
        self.n_samples = len(matrix)

    @property
    def dtype(self) -> np.dtype:
        """Precision of the features."""
        return self.matrix.dtype

    def features(self, rows: slice) -> np.ndarray:
        """A part of the matrix."""
        return self.matrix[rows]

    def products(self, weights: np.ndarray) -> Products:
        """One compiled loop for one output, BLAS for several."""
        return (HeldRows if weights.shape[1] == 1 else HeldTiles)(self.matrix, self.offsets, weights)


class Samples(Protocol):
    """The attributes of a block that amplitudes read: of a `Block`, or of a `device.block.DeviceBlock`."""

    @property
    def weight(self) -> Any:
        """See `Block`."""

    @property
    def present(self) -> Any:
        """See `Block`."""

    @property
    def codes(self) -> Any:
        """See `Block`."""


@dataclass(frozen=True)
class Block:
    """Samples ready for training.

    Attributes
    ----------
    first : int
        Position of the first sample in the whole data.
    features : FeatureBlock
    losses : DualTerms
        What values of these samples cost.
    y : ndarray or None
        Targets as combiners take them (encoded labels).
    weight : ndarray of shape (n_samples,)
    present : ndarray of bool, shape (n_samples, n_kernels), or None
        Which sample has which view; None where each has all.
    codes : ndarray or None
        What a gating model reads of each sample; read by slices of samples only, as it may be computed then.
    views : Views or None
        The samples as given, for combiners that read more of them than features.
    """

    first: int
    features: FeatureBlock
    losses: DualTerms
    y: Any
    weight: np.ndarray
    present: np.ndarray | None = None
    codes: Any = None
    views: Any = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.features.n_samples


CHUNK = 4096  # samples whose amplitudes are computed together

Sums = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Losses, F'c, sums of c, dP/dtheta."""


def is_fused(block: Block) -> bool:
    """Whether a block is served: features on the host, and losses of the plain form."""
    return isinstance(block.features, HostFeatures) and type(block.losses) is DualTerms


def fused_pass(block: Block, amplitudes: Any, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray) -> Sums:
    """One pass over a block."""
    n_outputs, e = len(intercept), float(block.losses.insensitivity)
    sums, theta_slopes = np.zeros((2, n_outputs)), np.zeros(amplitudes.n_parameters)
    assert isinstance(block.features, HostFeatures)
    products = block.features.products(weights)
    for rows in ranges(block.n_samples, CHUNK):
        a = np.ascontiguousarray(amplitudes.values(theta, block, rows), dtype=np.float64)
        slopes = np.empty(a.shape)
        terms = _terms(block.losses, rows, n_outputs)
        products.add(Chunk(rows, intercept, a, terms, e, slopes, sums))
        if len(theta_slopes):
            theta_slopes += amplitudes.pullback(theta, block, rows, a, slopes)
    return sums[0], products.pulled(), sums[1], theta_slopes


def _terms(losses: DualTerms, rows: slice, n_outputs: int) -> tuple[np.ndarray, ...]:
    """p, the bounds and h of some samples, each of shape (n_rows, n_outputs)."""
    n_rows, found = rows.stop - rows.start, []
    for name in TERMS:
        values = np.asarray(getattr(losses, name), dtype=np.float64)
        part = values[rows] if values.ndim == 2 and len(values) != 1 else values
        found.append(np.ascontiguousarray(np.broadcast_to(part, (n_rows, n_outputs))))
    return tuple(found)
