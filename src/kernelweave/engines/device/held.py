"""`HeldFeatures`: features that are held in a place, one row for each sample, in the layout of `layout`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Place
from .block import DeviceFeatures
from .layout import Layout, aligned

TILE = 4096  # samples whose pull is summed in the type of the features


class HeldFeatures(DeviceFeatures):
    """Features as a matrix in a place.

    Parameters
    ----------
    matrix : array of shape (n_samples, n_numbers)
        In the layout of `aligned`.
    offsets : ndarray of int, shape (n_kernels + 1,)
    place : Place
    dtype : {"float32", "float64"}
    """

    def __init__(self, matrix: Any, offsets: np.ndarray, place: Place, dtype: str):
        self.matrix, self.offsets, self.place, self.dtype = matrix, offsets, place, dtype
        self.n_samples = matrix.shape[0]
        self.starts, self.step = aligned(offsets)

    @cached_property
    def layout(self) -> Layout:
        """The columns as a program takes them."""
        return Layout(self.offsets, self.place)

    @property
    def columns(self) -> list[slice]:
        """The columns of each kernel."""
        widths = np.diff(self.offsets)
        return [slice(int(a), int(a + width)) for a, width in zip(self.starts, widths, strict=True)]

    def scores(self, weights: np.ndarray) -> Any:
        """One product for each kernel."""
        xp, w = self.place.xp, self.place.asarray(weights, self.dtype)
        pairs = zip(self.columns, self.spans, strict=True)
        return xp.stack([self.matrix[:, columns] @ w[span, :] for columns, span in pairs], axis=1)

    def pull(self, G: Any) -> Any:
        """One product for each kernel and tile of samples; sums over tiles are in float64."""
        xp, found = self.place.xp, []
        n_tiles = self.n_samples // TILE
        whole = n_tiles * TILE
        for m, columns in enumerate(self.columns):
            rest = self.matrix[whole:, columns]
            total = xp.astype(rest.T @ G[whole:, m, :], xp.float64)
            if n_tiles:
                tiles = xp.reshape(self.matrix[:whole, :], (n_tiles, TILE, self.step))[:, :, columns]
                pulls = xp.reshape(G[:whole, m, :], (n_tiles, TILE, G.shape[2]))
                parts = xp.matmul(xp.matrix_transpose(tiles), pulls)
                total = total + xp.sum(xp.astype(parts, xp.float64), axis=0)
            found.append(total)
        return xp.concat(found)

    def features(self, rows: slice) -> Any:
        """The columns of the kernels, without those between."""
        return self.place.xp.concat([self.matrix[rows, columns] for columns in self.columns], axis=1)
