"""Blocks in memory: samples ready for training (`Block`), with targets, features and gating inputs.

    scores    s[i, m, r] = <w_mr, phi_m(x_i)>
    sweep     sum_i G[i, m, r] phi_m(x_i)      where G is a function of the scores

`FeatureBlock.sweep` is all that a pass does with features: it goes through them once, tile by tile, and hands the
scores of a tile to a function that returns what each sample pulls with. Features are held (`StoredFeatures`) or
computed again in every pass (`RecomputedFeatures`), when only the views of the samples are held: raw values of a tile
of samples, phi(x) = raw(x) @ whitening, are multiplied by weights into which the whitening is folded, and dropped.
Where raw values are kernel values to landmarks, and the kernel is a function of feature vectors, they are computed in
tiles by BLAS and compiled loops, in single precision where features are float32 and that is exact enough for the kernel
and for the whitening; the factors of landmarks are in the whitening. All other maps compute their raw values in
float64.

`Block.fused_pass` does a pass for the plain losses in one read of the features. Amplitudes are computed by NumPy for
`CHUNK` samples at a time, for which that takes no time beside reading their features. Loss, slope and sums are compiled
(`solvers`); products with features are compiled or by BLAS:

=====================  ==============================================================================
features               products
=====================  ==============================================================================
held, one output       one compiled loop, rows in the first cache of a core; float64
held, several outputs  BLAS on tiles in the second cache, in the features' type; summed in float64
computed, one output   values on tiles in the second cache, then the loop of held features; float64
computed, several      compiled loops, in float64; for many outputs BLAS, in float64
=====================  ==============================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from ..arrays import HOST
from ..features import FeatureMap
from ..features.base import raw_dtype
from ..kernels.resources import Scratch, in_blas_threads
from ..kernels.tiles.functions import STATIONARY, PointFunction, column_tiles, fill, row_form
from ..kernels.tiles.sources import PointSource
from ..machines import DualTerms
from ..machines.base import TERMS
from ..solvers.tiles import add_pulled, inner_products, one_output, powers32, powers64, respond, row_forms
from ..views import Views
from .base import Engine, added, ranges, spans_of


class InMemory(Engine):
    """Blocks in memory, a sequence of them."""

    def __init__(self, blocks: Sequence[Any]):
        self.blocks = list(blocks)

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Threads take block after block; results are added in the order of the blocks, as soon as that is possible."""
        total: Any = None
        waiting: dict[int, Any] = {}  # results of blocks after one that is not finished
        n_added, adding = 0, Lock()

        def work(place: int) -> None:
            nonlocal total, n_added
            found = function(self.blocks[place], *arguments)
            with adding:
                waiting[place] = found
                while n_added in waiting:
                    total = added([total, waiting.pop(n_added)])
                    n_added += 1

        in_blas_threads(work, range(len(self.blocks)))
        return total

    def replace(self, function: Callable[..., Any], *arguments: Any, keep: bool = True) -> InMemory:
        return InMemory(in_blas_threads(lambda block: function(block, *arguments), self.blocks))


FEW_OUTPUTS = 8  # outputs up to which values that are computed in the pass are multiplied by a loop instead of BLAS
FEW_FEATURES = 2**20  # of a block: samples times features of each
TILE_BYTES = 2**19  # bytes of values that are worked on together; they stay in the second cache of a core


def tile_height(row_bytes: int) -> int:
    return max(16, TILE_BYTES // max(1, row_bytes) // 4 * 4)


class Chunk(NamedTuple):
    """Samples of a block in a pass: inputs of their losses, and the arrays that a pass fills.

    `a` are amplitudes, `terms` p, the bounds and h of the losses; `slopes` gets dP/da, and sums of losses and of c are
    added to `sums`, of shape (2, n_outputs).
    """

    rows: slice
    b: np.ndarray
    a: np.ndarray
    terms: tuple[np.ndarray, ...]
    e: float
    slopes: np.ndarray
    sums: np.ndarray


class Products(ABC):
    @abstractmethod
    def add(self, chunk: Chunk) -> None:
        """Go through some samples."""

    @abstractmethod
    def pulled(self) -> np.ndarray:
        """F'c of the samples so far, of shape (n_features, n_outputs)."""


class HeldRows(Products):
    """Features that are held, of shape (n_samples, n_features), one output."""

    def __init__(self, matrix: np.ndarray, offsets: np.ndarray, weights: np.ndarray):
        self.matrix, self.offsets = matrix, offsets
        self.weights, self.sums = np.ascontiguousarray(weights[:, 0]), np.zeros(len(weights))

    def add(self, chunk: Chunk) -> None:
        both, b = np.zeros(2), float(chunk.b[0])
        losses = *(each[:, 0] for each in chunk.terms), chunk.e
        F = self.matrix[chunk.rows]
        one_output(F, self.offsets, self.weights, b, chunk.a, *losses, self.sums, chunk.slopes, both)
        chunk.sums[:, 0] += both

    def pulled(self) -> np.ndarray:
        return self.sums[:, None]


class _Tiles(Products):
    """Tiles of samples: scores of each kernel, slopes, and what is pulled."""

    def __init__(self, n_kernels: int, n_outputs: int, row_bytes: int, dtype: Any):
        self.shape, self.dtype = (n_kernels, n_outputs), dtype
        self.height, self.scratch = tile_height(row_bytes), Scratch()

    def add(self, chunk: Chunk) -> None:
        self.add_tiles(chunk, self.tiles(chunk.rows))

    def add_tiles(self, chunk: Chunk, tile_of: Any) -> None:
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
    """Features that are held, several outputs, by BLAS in the features' type; float64 for at most `FEW_FEATURES`."""

    def __init__(self, matrix: np.ndarray, offsets: np.ndarray, weights: np.ndarray):
        self.spans = spans_of(offsets)
        dtype = np.dtype(np.float64) if matrix.size <= FEW_FEATURES else matrix.dtype
        super().__init__(len(self.spans), weights.shape[1], matrix.shape[1] * dtype.itemsize, dtype)
        self.matrix, self.weights, self.sums = matrix, weights.astype(dtype), np.zeros(weights.shape)

    def tiles(self, rows: slice) -> Any:
        matrix = self.matrix[rows]
        return lambda part: [matrix[part, span].astype(self.dtype, copy=False) for span in self.spans]

    def score(self, values: np.ndarray, m: int, out: np.ndarray) -> None:
        np.matmul(values, self.weights[self.spans[m]], out=out)

    def pull(self, values: np.ndarray, m: int, G: np.ndarray) -> None:
        self.sums[self.spans[m]] += values.T @ G

    def pulled(self) -> np.ndarray:
        return self.sums


class RecomputedTiles(_Tiles):
    """Values that are computed in the pass; whitening is folded into the weights, in float64."""

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
        return filled(self.features.opened(rows))

    def score(self, values: np.ndarray, m: int, out: np.ndarray) -> None:
        if self.few:
            inner_products(values, self.folded[m], out)
        else:
            np.matmul(values.astype(np.float64, copy=False), self.folded[m].T, out=out)

    def pull(self, values: np.ndarray, m: int, G: np.ndarray) -> None:
        if self.few:
            add_pulled(values, G, self.sums[m])
        else:
            self.sums[m] += G.T @ values.astype(np.float64, copy=False)

    def pulled(self) -> np.ndarray:
        return np.concatenate([each.unfold(sums.T) for each, sums in zip(self.features.values, self.sums, strict=True)])


class RecomputedRows(RecomputedTiles):
    """`RecomputedTiles` for one output: values of all kernels side by side, whose products are those of `HeldRows`.

    Of Gaussian kernels, BLAS writes the exponents of a tile, and all its exponentials are computed together. The
    factors of samples are then in their amplitudes.
    """

    def __init__(self, features: RecomputedFeatures, weights: np.ndarray):
        super().__init__(features, weights)
        self.spans, self.joined = spans_of(self.offsets), np.concatenate([each[0] for each in self.folded])
        self.joined_sums = np.zeros(len(self.joined))
        self.sums = [self.joined_sums[None, span] for span in self.spans]

    def add(self, chunk: Chunk) -> None:
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
    return lambda part: [each.fill(part) for each in opened]


def joined_factors(opened: list[Opened]) -> np.ndarray | None:
    if all(each.factor is None for each in opened):
        return None
    n = next(len(each.factor) for each in opened if each.factor is not None)
    return np.column_stack([np.ones(n) if each.factor is None else each.factor for each in opened])


def in_float64(values: np.ndarray, scratch: Scratch) -> np.ndarray:
    """Values in float64 and row after row, or a copy of them that is, in an array that is used again.

    New arrays would be new pages of memory each time where these go back to the system at once, as on Dask's workers.
    """
    if values.dtype == np.float64 and values.flags.c_contiguous:
        return values
    wide = scratch.array(np.dtype(np.float64), values.size).reshape(values.shape)
    wide[:] = values
    return wide


Respond = Callable[[slice, np.ndarray], np.ndarray | None]
TILE = 512  # samples whose scores are worked on together


class FeatureBlock(ABC):
    """Features of all kernels of a block: of kernel m those from offsets[m] up to offsets[m + 1]."""

    n_samples: int
    offsets: np.ndarray

    @abstractmethod
    def features(self, rows: slice) -> np.ndarray:
        """phi of some samples, all kernels side by side."""

    def sweep(self, weights: np.ndarray, respond: Respond) -> np.ndarray:
        """One pass: scores of a tile go to `respond`, whose result pulls the features; sums over tiles in float64.

        ``respond(rows, scores)`` gets a slice of samples and their scores, of shape (n_rows, n_kernels, n_outputs), and
        returns G of the same shape, or None where nothing is pulled.
        """
        pulled, scratch = np.zeros(weights.shape), Scratch()
        spans = spans_of(self.offsets)
        for rows in ranges(self.n_samples, TILE):
            tile = in_float64(self.features(rows), scratch)  # biases are found from these scores, to rounding
            G = respond(rows, np.stack([tile[:, span] @ weights[span] for span in spans], axis=1))
            if G is not None:
                for m, span in enumerate(spans):
                    pulled[span] += tile[:, span].T @ G[:, m]
        return pulled


class HostFeatures(FeatureBlock):
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
        return self.matrix.dtype

    def features(self, rows: slice) -> np.ndarray:
        return self.matrix[rows]

    def products(self, weights: np.ndarray) -> Products:
        return (HeldRows if weights.shape[1] == 1 else HeldTiles)(self.matrix, self.offsets, weights)


class Samples(Protocol):
    """The attributes of a block that amplitudes read: of a `Block`, or of a `device.engine.DeviceBlock`."""

    @property
    def weight(self) -> Any:
        """See `Block`."""

    @property
    def present(self) -> Any:
        """See `Block`."""

    @property
    def codes(self) -> Any:
        """See `Block`."""


CHUNK = 4096  # samples whose amplitudes are computed together

Sums = tuple[Any, Any, Any, Any]
"""Losses, F'c, sums of c, dP/dtheta."""


@dataclass(frozen=True)
class Block:
    """Samples ready for training, the first of which is at position `first` in the whole data.

    `present`, of shape (n_samples, n_kernels), says which sample has which view, None where each has all. `codes` is
    what a gating model reads, by slices of samples only, as it may be computed then. `views` are the samples as given,
    for combiners that read more of them than features.
    """

    first: int
    features: FeatureBlock
    losses: DualTerms
    y: Any
    weight: np.ndarray
    present: np.ndarray | None = None
    codes: Any = None
    views: Any = None

    place = HOST
    precision = "float64"  # of scores and amplitudes

    @property
    def n_samples(self) -> int:
        return self.features.n_samples

    def amplitudes_of(self, amplitudes: Any, theta: np.ndarray, rows: slice) -> tuple[Any, Any]:
        return theta, np.asarray(amplitudes.values(theta, self, rows), dtype=np.float64)

    def theta_slopes(self, amplitudes: Any, theta: Any, rows: slice, a: Any, slopes: Any) -> Any:
        return amplitudes.pullback(theta, self, rows, a, slopes)

    def fused_pass(self, amplitudes: Any, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray) -> Sums | None:
        """One pass by compiled code; None for other forms of features or losses, which take step by step."""
        if not isinstance(self.features, HostFeatures) or type(self.losses) is not DualTerms:
            return None
        n_outputs, e = len(intercept), float(self.losses.insensitivity)
        sums, theta_slopes = np.zeros((2, n_outputs)), np.zeros(amplitudes.n_parameters)
        products, scratch = self.features.products(weights), Scratch()
        for rows in ranges(self.n_samples, CHUNK):
            a = in_float64(amplitudes.values(theta, self, rows), scratch)
            slopes = scratch.array(a.dtype, a.size, 1).reshape(a.shape)
            terms = _terms(self.losses, rows, n_outputs)
            products.add(Chunk(rows, intercept, a, terms, e, slopes, sums))
            if len(theta_slopes):
                theta_slopes += amplitudes.pullback(theta, self, rows, a, slopes)
        return sums[0], products.pulled(), sums[1], theta_slopes


def _terms(losses: DualTerms, rows: slice, n_outputs: int) -> tuple[np.ndarray, ...]:
    n_rows, found = rows.stop - rows.start, []
    for name in TERMS:
        values = np.asarray(getattr(losses, name), dtype=np.float64)
        part = values[rows] if values.ndim == 2 and len(values) != 1 else values
        found.append(np.ascontiguousarray(np.broadcast_to(part, (n_rows, n_outputs))))
    return tuple(found)


SAME = 1e-4  # differences of values in single precision to a map's own, relative to the largest

# What was made for a map and a type, beside the map, so that copies of the map do not carry it.
_KNOWN: WeakKeyDictionary[FeatureMap, dict[np.dtype, RawValues]] = WeakKeyDictionary()


class RawValues:
    """Raw values of a map, by the map itself; `whitening`, (n_raw, n_features), is None where they are the features."""

    def __init__(self, feature_map: FeatureMap):
        self.map, self.whitening = feature_map, feature_map.whitening

    @property
    def n_raw(self) -> int:
        return self.map.n_raw

    def whitened(self, values: np.ndarray, scratch: Scratch) -> np.ndarray:
        """Features of raw values, valid until the next are asked for."""
        if self.whitening is None:
            return values
        n, n_features = len(values), self.whitening.shape[1]
        out = scratch.array(np.dtype(np.float64), n * n_features, 1).reshape(n, n_features)
        return np.matmul(in_float64(values, scratch), self.whitening, out=out)

    def fold(self, weights: np.ndarray) -> np.ndarray:
        return weights if self.whitening is None else self.whitening @ weights

    def unfold(self, pulled: np.ndarray) -> np.ndarray:
        return pulled if self.whitening is None else self.whitening.T @ pulled

    def open(self, views: Views, present: np.ndarray) -> Opened:
        return Opened(self.map.raw(views, present))


class Opened:
    """Raw values of some samples, of which parts are taken.

    `factor` has what values of each sample are multiplied by, None where that is 1. Where `is_exponent`, values are 2^S
    times the factors, and `exponents` gives S.
    """

    is_exponent = False
    factor: np.ndarray | None = None

    def __init__(self, values: np.ndarray):
        self.values, self.dtype = values, values.dtype

    def fill(self, part: slice) -> np.ndarray:
        """Values of a part of the samples, which is valid until the next one is taken."""
        return np.ascontiguousarray(self.values[part])

    def exponents(self, part: slice, out: np.ndarray) -> None:
        """Write S of a part of the samples, at most 0 but for rounding, where `is_exponent`."""
        raise TypeError("these values are no exponentials")


class KernelValues(RawValues):
    def __init__(self, feature_map: FeatureMap, source: PointSource):
        super().__init__(feature_map)
        self.source, self.columns = source, source.columns.features
        self.whitening = source.columns.factor[:, None] * feature_map.whitening
        self.tile = self._columns(self.columns)
        shift = np.asarray(source.shift, dtype=np.float64)
        self.shift = np.ascontiguousarray(np.broadcast_to(shift, self.columns.shape[1:]))

    def _columns(self, features: np.ndarray) -> np.ndarray:
        function = self.source.function
        return column_tiles(function, row_form(function, features), max(1, len(features)))[0]

    def open(self, views: Views, present: np.ndarray) -> Opened:
        function = self.source.function
        if function.kind in STATIONARY:
            found = self._differences(views, present)
            if found is not None:
                return found
        source = self.source.against(views, present)
        right = source.columns.features
        tile = self.tile if right is self.columns else self._columns(right)
        factor = None if (source.rows.factor == 1.0).all() else source.rows.factor
        return OpenedTiles(function, row_form(function, source.rows.features), tile, factor)

    def _differences(self, views: Views, present: np.ndarray) -> OpenedTiles | None:
        """`open` where k(x, x) is constant, and features become rows of tiles in one step.

        None where float32 is too coarse. Samples that lack the view have a factor of 0.
        """
        source, function = self.source, self.source.function
        raw, there = source.kernel.read(views)
        n, width = raw.shape
        has_norms = function.kind == "gaussian"
        rows = np.empty((n, width + 2 * has_norms), dtype=self.columns.dtype)
        squared, absolute = row_forms(np.ascontiguousarray(raw), self.shift, source.unit, has_norms, rows)
        size = squared / function.scale**2 if has_norms else absolute / function.scale
        if self.columns.dtype == np.float32 and size > source.limit:
            return None
        there = there & present
        one = float(self._factors(np.ones(1, dtype=bool))[0])
        factor = (None if one == 1.0 else np.full(n, one)) if there.all() else self._factors(there)
        return OpenedTiles(function, rows, self.tile, factor)

    def _factors(self, there: np.ndarray) -> np.ndarray:
        normalizer, gain = self.source.normalizer, self.source.function.gain
        assert normalizer is not None  # the source of a stack is normalised
        return normalizer.new_scale(np.where(there, gain, 0.0), there)[0]


class OpenedTiles(Opened):
    def __init__(self, function: PointFunction, rows: np.ndarray, columns: np.ndarray, factor: np.ndarray | None):
        self.function, self.rows, self.columns, self.dtype = function, rows, columns, rows.dtype
        self.is_exponent = function.kind == "gaussian" and function.gain == 1.0
        self.buffer: np.ndarray = np.empty(0)
        self.factor = None if factor is None else factor.astype(rows.dtype)

    def fill(self, part: slice) -> np.ndarray:
        rows = self.rows[part]
        size = len(rows) * self.columns.shape[1]
        if len(self.buffer) < size:
            self.buffer = np.empty(size, dtype=rows.dtype)
        values = fill(self.function, rows, self.columns, self.buffer)
        if self.factor is not None:
            values *= self.factor[part, None]
        return values

    def exponents(self, part: slice, out: np.ndarray) -> None:
        np.matmul(self.rows[part], self.columns, out=out)


def raw_values(feature_map: FeatureMap, dtype: Any) -> RawValues:
    known, dtype = _KNOWN.setdefault(feature_map, {}), np.dtype(dtype)
    if dtype not in known:
        known[dtype] = _in_tiles(feature_map, raw_dtype(feature_map, dtype)) or RawValues(feature_map)
    return known[dtype]


def _in_tiles(feature_map: FeatureMap, dtype: np.dtype) -> KernelValues | None:
    landmarks = feature_map.landmarks
    if landmarks is None or feature_map.n_raw != landmarks.n_samples:  # there is a constant beside the kernel values
        return None
    if not landmarks.repairs[0].trusted or landmarks.normalizers[0].needs_all_samples:
        return None
    stack = copy(landmarks)
    stack.dtype = dtype
    source = stack.at(HOST).in_parts().sources[0]
    if not isinstance(source, PointSource):
        return None
    found = KernelValues(feature_map, source)
    there = np.ones(landmarks.n_samples, dtype=bool)
    own, fast = feature_map.raw(landmarks.support, there), found.open(landmarks.support, there).fill(slice(None))
    fast = fast * source.columns.factor
    same = own.shape == fast.shape and np.abs(own - fast).max(initial=0.0) <= SAME * np.abs(own).max(initial=0.0)
    return found if same else None  # a map that makes other values of its landmarks computes them by itself


READ_TOGETHER = 2048  # samples that are read together


class RecomputedFeatures(HostFeatures):
    def __init__(self, maps: list[FeatureMap], views: Views, present: np.ndarray, dtype: np.dtype):
        self.maps, self.views, self.dtype = maps, views, np.dtype(dtype)
        self.present = None if present.all() else present
        self.n_samples, self.offsets = views.n_samples, offsets_of(maps)

    @property
    def values(self) -> list[RawValues]:
        return [raw_values(each, self.dtype) for each in self.maps]

    def opened(self, rows: slice) -> list[Opened]:
        self.views.is_finite()  # found out for all rows, once
        views = self.views.rows(rows)  # what is read of them is dropped with them
        there = np.ones((views.n_samples, len(self.maps)), dtype=bool) if self.present is None else self.present[rows]
        return [each.open(views, np.ascontiguousarray(there[:, m])) for m, each in enumerate(self.values)]

    def products(self, weights: np.ndarray) -> Products:
        return (RecomputedRows if weights.shape[1] == 1 else RecomputedTiles)(self, weights)

    def sweep(self, weights: np.ndarray, respond: Respond) -> np.ndarray:
        products = RecomputedTiles(self, weights)
        shape = len(self.maps), weights.shape[1]
        for rows in ranges(self.n_samples, READ_TOGETHER):
            tile_of = products.tiles(rows)
            for part in ranges(rows.stop - rows.start, products.height):
                tile, n = tile_of(part), part.stop - part.start
                scores = np.empty((shape[0], n, shape[1]))
                for m, values in enumerate(tile):
                    products.score(values, m, scores[m])
                G = respond(slice(rows.start + part.start, rows.start + part.stop), scores.transpose(1, 0, 2))
                if G is not None:
                    for m, values in enumerate(tile):
                        products.pull(values, m, np.ascontiguousarray(G[:, m], dtype=np.float64))
        return products.pulled()

    def features(self, rows: slice) -> np.ndarray:
        found = np.empty((rows.stop - rows.start, self.offsets[-1]), dtype=self.dtype)
        self.write(rows, found)
        return found

    def write(self, rows: slice, out: np.ndarray) -> None:
        kernels, scratch = self.values, Scratch()
        height = tile_height(16 * max((each.n_raw for each in kernels), default=1))
        for chunk in ranges(rows.stop - rows.start, READ_TOGETHER):
            opened = self.opened(slice(rows.start + chunk.start, rows.start + chunk.stop))
            for part in ranges(chunk.stop - chunk.start, height):
                to = out[chunk.start + part.start : chunk.start + part.stop]
                for m, (each, raw) in enumerate(zip(kernels, opened, strict=True)):
                    to[:, self.offsets[m] : self.offsets[m + 1]] = each.whitened(raw.fill(part), scratch)


def offsets_of(maps: list[FeatureMap]) -> np.ndarray:
    return np.cumsum([0, *(each.n_features for each in maps)])


def feature_bytes(n: int, n_features: int, dtype: np.dtype | str) -> int:
    return int(n) * int(n_features) * np.dtype(dtype).itemsize


def feature_block(
    maps: list[FeatureMap], views: Views, present: np.ndarray, dtype: np.dtype, *, held: bool = True
) -> HostFeatures:
    found = RecomputedFeatures(maps, views, present, dtype)
    return StoredFeatures(found.features(slice(0, views.n_samples)), found.offsets) if held else found
