"""`RecomputedFeatures`: features that are computed again in every pass, and `feature_block`, which chooses.

Only the views of the samples are held. A pass computes raw values of a tile of samples, multiplies them by weights into
which the whitening is folded, and drops them:

    phi(x) = raw(x) @ whitening

Where raw values are kernel values to landmarks, and the kernel is a function of feature vectors, they are computed in
tiles by BLAS and compiled loops (`kernels.tiles.functions`), in single precision where features are float32 and that
is exact enough for the kernel (`kernels.tiles.functions`) and for the whitening (`features.base`); the factors of
landmarks are in the whitening. All other maps compute their raw values by themselves, in float64.
"""

from __future__ import annotations

from copy import copy
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...arrays import HOST
from ...features import FeatureMap
from ...features.base import raw_dtype
from ...kernels.tiles.functions import STATIONARY, PointFunction, column_tiles, fill, row_form
from ...kernels.tiles.sources import PointSource
from ...solvers.passes import row_forms
from ...views import Views
from ..base import ranges
from ..block import HostFeatures, Products, RecomputedRows, RecomputedTiles, Respond, StoredFeatures, tile_height

SAME = 1e-4  # differences of values in single precision to a map's own, relative to the largest

# What was made for a map and a type; it is no part of the map's state, so that a copy of it is without.
_KNOWN: WeakKeyDictionary[FeatureMap, dict[np.dtype, RawValues]] = WeakKeyDictionary()


class RawValues:
    """Raw values of a map, by the map itself.

    Parameters
    ----------
    feature_map : FeatureMap

    Attributes
    ----------
    whitening : ndarray of shape (n_raw, n_features), or None
        What turns these values into features; float64. None where they are the features.
    """

    def __init__(self, feature_map: FeatureMap):
        self.map, self.whitening = feature_map, feature_map.whitening

    @property
    def n_raw(self) -> int:
        """Number of raw values of a sample."""
        return self.map.n_raw

    def whitened(self, values: np.ndarray) -> np.ndarray:
        """Features from raw values."""
        return values if self.whitening is None else values @ self.whitening

    def fold(self, weights: np.ndarray) -> np.ndarray:
        """Weights of raw values from those of features."""
        return weights if self.whitening is None else self.whitening @ weights

    def unfold(self, pulled: np.ndarray) -> np.ndarray:
        """Sums of features from those of raw values."""
        return pulled if self.whitening is None else self.whitening.T @ pulled

    def open(self, views: Views, present: np.ndarray) -> Opened:
        """Those of some samples."""
        return Opened(self.map.raw(views, present))


class Opened:
    """Raw values of some samples, of which parts are taken.

    Attributes
    ----------
    dtype : dtype
        Of the values.
    is_exponent : bool
        Whether values are 2^S times the factors, and `exponents` gives S.
    factor : ndarray of shape (n_samples,), or None
        What values of each sample are multiplied by; None where that is 1.
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
    """Kernel values to landmarks, in tiles.

    Parameters
    ----------
    feature_map : FeatureMap
    source : PointSource
        Over the landmarks.
    """

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
        """Those of some samples: their features are read here, and values computed part by part."""
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
        """The same where k(x, x) is constant, and features become rows of tiles in one step.

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
        """What values of samples are multiplied by where k(x, x) is constant; 0 for those that lack the view."""
        normalizer, gain = self.source.normalizer, self.source.function.gain
        assert normalizer is not None  # the source of a stack is normalised
        return normalizer.new_scale(np.where(there, gain, 0.0), there)[0]


class OpenedTiles(Opened):
    """Kernel values of some samples in tiles.

    Parameters
    ----------
    function : PointFunction
    rows, columns : ndarray of shape (n_samples, width) and (width, n_landmarks)
        In the forms of `kernels.tiles.functions`.
    factor : ndarray of shape (n_samples,), or None
        What rows are multiplied by; None where that is 1.
    """

    def __init__(self, function: PointFunction, rows: np.ndarray, columns: np.ndarray, factor: np.ndarray | None):
        self.function, self.rows, self.columns, self.dtype = function, rows, columns, rows.dtype
        self.is_exponent = function.kind == "gaussian" and function.gain == 1.0
        self.buffer: np.ndarray = np.empty(0)
        self.factor = None if factor is None else factor.astype(rows.dtype)

    def fill(self, part: slice) -> np.ndarray:
        """A tile."""
        rows = self.rows[part]
        size = len(rows) * self.columns.shape[1]
        if len(self.buffer) < size:
            self.buffer = np.empty(size, dtype=rows.dtype)
        values = fill(self.function, rows, self.columns, self.buffer)
        if self.factor is not None:
            values *= self.factor[part, None]
        return values

    def exponents(self, part: slice, out: np.ndarray) -> None:
        """One product of matrices."""
        np.matmul(self.rows[part], self.columns, out=out)


def raw_values(feature_map: FeatureMap, dtype: Any) -> RawValues:
    """What computes the raw values of a map for features of a type; made once for each map."""
    known, dtype = _KNOWN.setdefault(feature_map, {}), np.dtype(dtype)
    if dtype not in known:
        known[dtype] = _in_tiles(feature_map, raw_dtype(feature_map, dtype)) or RawValues(feature_map)
    return known[dtype]


def _in_tiles(feature_map: FeatureMap, dtype: np.dtype) -> KernelValues | None:
    """Kernel values in tiles, where the map is one of landmarks whose kernel is a function of feature vectors."""
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


CHUNK = 2048  # samples that are read together


class RecomputedFeatures(HostFeatures):
    """Features of a block of samples that are computed whenever they are needed.

    Parameters
    ----------
    maps : list of FeatureMap
    views : Views
    present : ndarray of bool, shape (n_samples, n_kernels)
        Which sample has which view.
    dtype : dtype
        Of features, and of raw values where that is exact enough; sums are in float64.
    """

    def __init__(self, maps: list[FeatureMap], views: Views, present: np.ndarray, dtype: np.dtype):
        self.maps, self.views, self.dtype = maps, views, np.dtype(dtype)
        self.present = None if present.all() else present
        self.n_samples, self.offsets = views.n_samples, offsets_of(maps)

    @property
    def values(self) -> list[RawValues]:
        """What computes the raw values of each kernel."""
        return [raw_values(each, self.dtype) for each in self.maps]

    def opened(self, rows: slice) -> list[Opened]:
        """Raw values of some samples, by kernel."""
        self.views.is_finite()  # found out for all rows, once
        views = self.views.rows(rows)  # what is read of them is dropped with them
        there = np.ones((views.n_samples, len(self.maps)), dtype=bool) if self.present is None else self.present[rows]
        return [each.open(views, np.ascontiguousarray(there[:, m])) for m, each in enumerate(self.values)]

    def products(self, weights: np.ndarray) -> Products:
        """Those of a pass."""
        return (RecomputedRows if weights.shape[1] == 1 else RecomputedTiles)(self, weights)

    def sweep(self, weights: np.ndarray, respond: Respond) -> np.ndarray:
        """One pass without features: raw values, with the whitening folded into the weights."""
        products = RecomputedTiles(self, weights)
        shape = len(self.maps), weights.shape[1]
        for rows in ranges(self.n_samples, CHUNK):
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
        """phi of some samples, in the features' type."""
        found = np.empty((rows.stop - rows.start, self.offsets[-1]), dtype=self.dtype)
        self.write(rows, found)
        return found

    def write(self, rows: slice, out: np.ndarray) -> None:
        """Write phi of some samples, whitened in float64 tile by tile."""
        height = tile_height(16 * max((each.n_raw for each in self.values), default=1))
        for chunk in ranges(rows.stop - rows.start, CHUNK):
            opened = self.opened(slice(rows.start + chunk.start, rows.start + chunk.stop))
            for part in ranges(chunk.stop - chunk.start, height):
                to = out[chunk.start + part.start : chunk.start + part.stop]
                for m, (each, raw) in enumerate(zip(self.values, opened, strict=True)):
                    values = raw.fill(part).astype(np.float64, copy=False)
                    to[:, self.offsets[m] : self.offsets[m + 1]] = each.whitened(values)


def offsets_of(maps: list[FeatureMap]) -> np.ndarray:
    """Where the features of each kernel begin, and where the last ones end."""
    return np.cumsum([0, *(each.n_features for each in maps)])


def feature_bytes(n: int, n_features: int, dtype: np.dtype | str) -> int:
    """How many bytes the features of n samples take where they are held.

    Examples
    --------
    >>> feature_bytes(1_000_000, 6 * 256, "float32")
    6144000000
    """
    return int(n) * int(n_features) * np.dtype(dtype).itemsize


def feature_block(
    maps: list[FeatureMap], views: Views, present: np.ndarray, dtype: np.dtype, *, held: bool = True
) -> HostFeatures:
    """The features of a block of samples: held, or computed again in every pass.

    Parameters
    ----------
    maps : list of FeatureMap
    views : Views
    present : ndarray of bool, shape (n_samples, n_kernels)
    dtype : dtype
    held : bool
    """
    found = RecomputedFeatures(maps, views, present, dtype)
    return StoredFeatures(found.features(slice(0, views.n_samples)), found.offsets) if held else found
