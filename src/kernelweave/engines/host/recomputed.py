"""`RecomputedFeatures`: features that are computed again in every pass, and `feature_block`, which chooses.

Only the views of the samples are held. A pass computes raw values of a tile of samples, multiplies them by weights into
which the whitening is folded, and drops them.
"""

from __future__ import annotations

import numpy as np

from ...features import FeatureMap
from ...views import Views
from ..block import HostFeatures, Respond, StoredFeatures
from ..slices import ranges
from .products import Products, RecomputedRows, RecomputedTiles, tile_height
from .values import Opened, RawValues, raw_values

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
