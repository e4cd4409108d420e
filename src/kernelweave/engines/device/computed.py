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
from ..slices import ranges
from .block import DeviceFeatures

TILE_VALUES = 2**25  # raw values that are there at once


class Part(ABC):
    """What is held of the samples of a block for one kernel, and raw values from it."""

    @abstractmethod
    def raw(self, rows: slice) -> Any:
        """Raw values of some samples, an array of the place of shape (n_rows, n_raw)."""


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
        xp, found = self.place.xp, []
        for part, folded in zip(self.parts, self.folded(weights), strict=True):
            w = xp.astype(folded, getattr(xp, self.dtype), copy=False)
            found.append(xp.concat([part.raw(rows) @ w for rows in self.tiles(folded.shape[0])]))
        return xp.stack(found, axis=1)

    def pull(self, G: Any) -> Any:
        """Tile by tile for each kernel; sums over tiles are in float64."""
        xp, found = self.place.xp, []
        for m, (part, white) in enumerate(zip(self.parts, self.whitenings, strict=True)):
            total = self.place.zeros((white.shape[0], G.shape[2]))
            for rows in self.tiles(white.shape[0]):
                total = total + xp.astype(part.raw(rows).T @ G[rows, m, :], xp.float64)
            found.append(total)
        return self.unfolded(found)

    def features(self, rows: slice) -> Any:
        """Raw values, whitened."""
        wanted = getattr(self.place.xp, self.dtype)
        whitenings = (self.place.xp.astype(white, wanted, copy=False) for white in self.whitenings)
        found = [part.raw(rows) @ white for part, white in zip(self.parts, whitenings, strict=True)]
        return self.place.xp.concat(found, axis=1)
