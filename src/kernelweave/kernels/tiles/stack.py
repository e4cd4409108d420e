"""`StackInParts`: all base kernels of a stack over the training samples, in parts and in one place.

Everything that machines and outer loops need of the kernels comes from one product,

    images[i, m, r] = sum_j k_m(x_i, x_j) V[j, m, r]        (i among some samples, j among others)

computed for all kernels in one pass, without a matrix of the size of both sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Place
from ...views import Views
from .device.triton_images import FusedImages, fused_images
from .host import images as host_images
from .sources import Source


class StackInParts:
    """The base kernels in parts.

    Parameters
    ----------
    sources : sequence of Source
        One for each kernel, all over the same samples and in the same place.
    place : Place
    cache_bytes : float
        How much memory sums of these kernels may take for rows that they keep.

    Notes
    -----
    Memory: the features of the samples and a tile of kernel values.
    """

    def __init__(self, sources: Sequence[Source], place: Place, *, cache_bytes: float = 0.0):
        self.sources, self.place, self.cache_bytes = list(sources), place, cache_bytes

    @cached_property
    def fused(self) -> FusedImages | None:
        """The fused programs of a CUDA device, where they serve some of the kernels."""
        return fused_images(self.sources, self.place)

    @property
    def n_kernels(self) -> int:
        """Number of base kernels, P."""
        return len(self.sources)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.sources[0].n_rows

    @property
    def n_features(self) -> int:
        """Numbers that the feature vectors of a sample take in all kernels together; 1 for a kernel without them."""
        return sum(getattr(source.columns.features, "shape", (0, 1))[-1] for source in self.sources)

    def block(self, m: int, rows: np.ndarray | None, columns: np.ndarray | None) -> Any:
        """Values of kernel m between some rows and some columns (None: all), an array of the place."""
        return self.sources[m].block(rows, columns)

    def images(
        self, rows: np.ndarray | None, columns: np.ndarray | None, V: Any, kernels: Sequence[int] | None = None
    ) -> Any:
        """k_m between some rows and columns, times V[:, m], for each kernel.

        Parameters
        ----------
        rows, columns : ndarray of int or None
            Positions of samples; None means all.
        V : array of the place, of shape (n_columns, n_kernels, n_outputs), float64
        kernels : sequence of int, optional
            The kernels that are computed; the images of the others are 0. All by default.

        Returns
        -------
        array of the place, of shape (n_rows, n_kernels, n_outputs), float64
        """
        chosen = range(self.n_kernels) if kernels is None else kernels
        if self.place.is_host:
            return host_images.images(self.sources, rows, columns, V, chosen)
        if self.fused is not None:
            return self.fused.images(rows, columns, V, chosen)
        n_rows = self.n_samples if rows is None else len(rows)
        found = self.place.zeros((n_rows, self.n_kernels, V.shape[2]))
        for m in chosen:
            found[:, m, :] = self.sources[m].times(rows, columns, V[:, m, :])
        return found

    def sum_block(
        self, rows: np.ndarray, left: np.ndarray, weights: np.ndarray, kernels: Sequence[int] | None = None
    ) -> np.ndarray:
        """sum_m weights[m] left[i, m] k_m(x_i, x_j) left[j, m] among some samples, exactly symmetric.

        Parameters
        ----------
        rows : ndarray of int
        left : ndarray of shape (n_rows, n_kernels)
            What these samples are multiplied by in each kernel.
        weights : ndarray of shape (n_kernels,)
        kernels : sequence of int, optional
            The kernels that are added; all by default.

        Returns
        -------
        ndarray of shape (n_rows, n_rows), a NumPy array of float64
        """
        chosen = range(self.n_kernels) if kernels is None else kernels
        if self.place.is_host:
            return host_images.block(self.sources, rows, left, weights, chosen)
        if self.fused is not None:
            there, kept = self.place.asarray(left, "float64"), np.zeros(self.n_kernels)
            kept[list(chosen)] = weights[list(chosen)]
            return self.place.numpy(self.fused.block(rows, there, kept))
        place, total = self.place, self.place.zeros((len(rows), len(rows)))
        for m in chosen:
            values = place.xp.astype(self.block(m, rows, rows), place.xp.float64)
            total += place.asarray(weights[m] * left[:, m])[:, None] * values * place.asarray(left[:, m])
        return np.asarray(place.numpy(0.5 * (total + total.T)))

    def diagonals(self) -> np.ndarray:
        """k_m(x, x) of each sample, a NumPy array of shape (n_samples, n_kernels)."""
        return np.column_stack([source.diagonal() for source in self.sources])

    def only(self, m: int) -> StackInParts:
        """Kernel m alone."""
        return StackInParts([self.sources[m]], self.place, cache_bytes=self.cache_bytes)

    def subset(self, index: np.ndarray) -> StackInParts:
        """The same kernels, with the same constants, among some of the samples."""
        chosen = [source.subset(index) for source in self.sources]
        return StackInParts(chosen, self.place, cache_bytes=self.cache_bytes)

    def against(self, views: Views) -> StackInParts:
        """The same kernels between new samples (rows) and these (columns)."""
        new = [source.against(views) for source in self.sources]
        return StackInParts(new, self.place, cache_bytes=self.cache_bytes)
