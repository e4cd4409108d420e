"""`ComputedFeatures`: features that are computed again in every pass, from what is held of each sample.

The whitening is folded into the weights, in float64:

    scores    raw_m(x) (whitening_m w_m)            pull    whitening_m' sum_i G_im raw_m(x_i)

so that a pass needs raw values only: kernel values to landmarks, or products of features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ...arrays import Place
from ..base import ranges
from .block import DeviceFeatures

TILE_VALUES = 2**25  # raw values that are there at once


class Part(ABC):
    """What is held of the samples of a block for one kernel, and raw values from it.

    Attributes
    ----------
    dtype : {"float32", "float64"}
        Of raw values: where the whitening would enlarge rounding they are float64, see `features.base`.
    """

    dtype: str

    @abstractmethod
    def raw(self, rows: slice) -> Any:
        """Raw values of some samples, an array of the place of shape (n_rows, n_raw)."""


class HeldPart(Part):
    """Raw values that are held, such as the columns of a linear kernel.

    Parameters
    ----------
    values : array of the place of shape (n_samples, n_raw)
    dtype : {"float32", "float64"}
    """

    def __init__(self, values: Any, dtype: str):
        self.values, self.dtype = values, dtype

    def raw(self, rows: slice) -> Any:
        """A part of the values."""
        return self.values[rows, ...]


class ComputedFeatures(DeviceFeatures):
    """Features that are computed in every pass.

    Parameters
    ----------
    parts : list of Part
        One for each kernel.
    whitenings : list of array of shape (n_raw, n_features)
        In the place, float64.
    n_samples : int
    place : Place
    dtype : {"float32", "float64"}
    """

    def __init__(self, parts: list[Part], whitenings: list[Any], n_samples: int, place: Place, dtype: str):
        self.parts, self.whitenings, self.n_samples = parts, whitenings, n_samples
        self.place, self.dtype = place, dtype
        self.offsets = np.cumsum([0, *(each.shape[1] for each in whitenings)])

    def folded(self, weights: np.ndarray) -> list[Any]:
        """Weights of raw values for each kernel, arrays of float64 of the place."""
        w = self.place.asarray(weights, "float64")
        return [white @ w[span, :] for white, span in zip(self.whitenings, self.spans, strict=True)]

    def unfolded(self, pulled: list[Any]) -> Any:
        """What features are pulled to, from what raw values are; arrays of float64 of the place."""
        found = [white.T @ raw for white, raw in zip(self.whitenings, pulled, strict=True)]
        return self.place.xp.concat(found)

    def tiles(self, n_raw: int) -> list[slice]:
        """Samples that are worked on at once."""
        size = max(1, TILE_VALUES // max(1, n_raw))
        return list(ranges(self.n_samples, size))

    def scores(self, weights: np.ndarray) -> Any:
        """Tile by tile for each kernel."""
        found = [self.scores_of(m, folded) for m, folded in enumerate(self.folded(weights))]
        return self.place.xp.stack(found, axis=1)

    def scores_of(self, m: int, folded: Any) -> Any:
        """Scores of one kernel, by weights of its raw values, tile by tile; in the type of the features."""
        part, w = self.parts[m], self._in(self.parts[m].dtype, folded)
        tiles = [self._in(self.dtype, part.raw(rows) @ w) for rows in self.tiles(folded.shape[0])]
        return self.place.xp.concat(tiles)

    def pull(self, G: Any) -> Any:
        """Tile by tile for each kernel; sums over tiles are in float64."""
        return self.unfolded([self.pulled_of(m, G[:, m, :]) for m in range(self.n_kernels)])

    def pulled_of(self, m: int, pulls: Any) -> Any:
        """What raw values of one kernel are pulled to, tile by tile."""
        part, n_raw = self.parts[m], self.whitenings[m].shape[0]
        pulls, total = self._in(part.dtype, pulls), self.place.zeros((n_raw, pulls.shape[1]))
        for rows in self.tiles(n_raw):
            total = total + self._in("float64", part.raw(rows).T @ pulls[rows, :])
        return total

    def features(self, rows: slice) -> Any:
        """Raw values, whitened in their type."""
        pairs = zip(self.parts, self.whitenings, strict=True)
        found = [self._in(self.dtype, part.raw(rows) @ self._in(part.dtype, white)) for part, white in pairs]
        return self.place.xp.concat(found, axis=1)

    def _in(self, dtype: str, values: Any) -> Any:
        """An array of the place in a type."""
        return self.place.xp.astype(values, getattr(self.place.xp, dtype), copy=False)
