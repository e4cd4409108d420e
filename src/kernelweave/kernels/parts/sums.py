"""`SumInParts`: a weighted or gated sum of base kernels in parts.

    K[i, j] = sum_m w_m l[i, m] k_m(x_i, x_j) l[j, m]

Global weights are w with l = 1 (or what samples that lack views are scaled by); gates are l with w = 1.

The image of coefficients c is K c or, where `keeps_images`, every  k_m (l_m c)  by itself: such an image stays true
when the weights w change, and gives the forms  c' K_m c  for nothing.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .host.row_cache import RowCache, rows_that_fit
from .host.rows import SumRows, pays, precision_of
from .stack import StackInParts


@dataclass
class Image:
    """K c, or its parts.

    Attributes
    ----------
    values : array of the place, float64
        Of shape (n_samples,), or (n_samples, n_kernels) where each kernel has its own.
    of : object
        What the kernel must share for the image to be its own.
    """

    values: Any
    of: object


class SumInParts:
    """A sum of base kernels that machines are solved on in parts; see `solvers.in_parts.KernelInParts`.

    Parameters
    ----------
    parts : StackInParts
    left : ndarray of shape (n_samples, n_kernels)
        What samples are multiplied by in each kernel: gates, or a factor of the sample.
    weights : ndarray of shape (n_kernels,), optional
        1 by default.
    keeps_images : bool
        Whether images are kept for each kernel, so that they stay true under `with_weights`.
    """

    def __init__(
        self,
        parts: StackInParts,
        left: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        keeps_images: bool = False,
    ):
        self.parts, self.place = parts, parts.place
        self.weights = np.ones(parts.n_kernels) if weights is None else weights
        self.left, self.keeps_images = left, keeps_images
        self.there = self.place.asarray(left, "float64")
        self.token: object = object()
        self.used = self._used()
        self._subsets: dict[bytes, SumInParts] = {}  # shared under `with_weights`, so that images of subsets stay true

    def _used(self) -> list[int]:
        return np.flatnonzero((self.left != 0.0).any(axis=0) & (self.weights != 0.0)).tolist()

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.left)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """K[i, i], a NumPy array."""
        return (self.left**2 * self.parts.diagonals()) @ self.weights

    @cached_property
    def cache(self) -> RowCache | None:
        """Rows that are kept within the memory given, on the host; None where they are not kept or none would pay."""
        sources = [self.parts.sources[m] for m in self.used]
        if self.keeps_images or not self.place.is_host or not pays(sources):
            return None
        dtype = precision_of(sources)
        n_rows = rows_that_fit(self.parts.cache_bytes, self.n_samples, dtype)
        if not n_rows:
            return None
        rows = SumRows(sources, self.left[:, self.used], self.weights[self.used], dtype)
        return RowCache(self.n_samples, n_rows, dtype, rows.fill)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "cache"}

    def with_weights(self, weights: np.ndarray) -> SumInParts:
        """The same with other weights; images are shared where they are kept."""
        other = copy(self)
        for name in ("diagonal", "weighted"):
            other.__dict__.pop(name, None)
        other.weights = weights
        other.used = other._used()
        if not self.keeps_images:
            other.token, other._subsets = object(), {}
        return other

    def subset(self, index: np.ndarray) -> SumInParts:
        """The same among some samples; images of the same samples are shared as under `with_weights`."""
        found = self._subsets.get(index.tobytes()) if self.keeps_images else None
        if found is None:
            found = SumInParts(self.parts.subset(index), self.left[index], keeps_images=self.keeps_images)
            if self.keeps_images:
                self._subsets[index.tobytes()] = found
        return found.with_weights(self.weights)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """K among some samples, a NumPy array of float64, exactly symmetric."""
        total = self.parts.sum_block(rows, self.left[rows], self.weights, self.used)
        total[np.diag_indices_from(total)] = self.diagonal[rows]
        return total

    def zero(self) -> Image:
        """The image of coefficients 0."""
        shape = (self.n_samples, self.parts.n_kernels) if self.keeps_images else (self.n_samples,)
        return Image(self.place.zeros(shape), self.token)

    def add(self, image: Image, rows: np.ndarray, change: np.ndarray, targets: np.ndarray | None = None) -> None:
        """Bring an image up to date, in place, after coefficients changed.

        Parameters
        ----------
        image : Image
        rows : ndarray of int
            The samples whose coefficients changed.
        change : ndarray of shape (n_rows,)
        targets : ndarray of int, optional
            The samples at which the image is brought up to date; all by default.
        """
        wanted = self.n_samples if targets is None else len(targets)
        if self.cache is not None and self.cache.serves(len(rows), wanted):
            self.place.add(image.values, targets, self.place.take(self.cache.times(rows, change), targets))
            return
        place = self.place
        V = (place.take(self.there, rows) * place.asarray(change, "float64")[:, None])[:, :, None]
        found = self.parts.images(targets, rows, V, None if self.keeps_images else self.used)[:, :, 0]
        place.add(image.values, targets, found if self.keeps_images else self._summed(found, targets))

    def _summed(self, images: Any, targets: np.ndarray | None) -> Any:
        """sum_m w_m l[i, m] images[i, m]."""
        return self.place.xp.sum(images * self.place.take(self.weighted, targets), axis=1)

    @cached_property
    def weighted(self) -> Any:
        """w_m l[i, m], an array of the place of shape (n_samples, n_kernels)."""
        if not self.place.is_torch:
            return self.there * self.place.asarray(self.weights, "float64")
        return self.place.asarray(self.left.T * self.weights[:, None], "float64").T  # as images are in memory there

    def value(self, image: Image, coef: Any) -> Any:
        """K c from its image, an array of the place, of shape (n_samples,); `coef` is c there."""
        return self._summed(image.values, None) if self.keeps_images else image.values

    def image(self, coef: np.ndarray) -> Image:
        """The image of coefficients of shape (n_samples,)."""
        image, rows = self.zero(), np.flatnonzero(coef)
        if len(rows):
            self.add(image, rows, coef[rows])
        return image

    def copy(self, image: Image) -> Image:
        """The same image, to be changed by itself."""
        return Image(self.place.xp.asarray(image.values, copy=True), image.of)

    def images_at(self, image: Image, rows: np.ndarray) -> np.ndarray:
        """K_m c at some samples, without the weights, a NumPy array of shape (n_rows, n_kernels); kept images only."""
        return self.place.numpy(self.place.take(image.values, rows)) * self.left[rows]

    def product(self, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """K between some samples and others times coefficients, computed afresh.

        Parameters
        ----------
        rows, columns : ndarray of int
        coef : ndarray of shape (n_columns,) or (n_columns, n_outputs)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
        """
        outputs = coef[:, None] if coef.ndim == 1 else coef
        V = np.zeros((len(columns), self.parts.n_kernels, outputs.shape[1]))
        V[:, self.used] = self.left[columns][:, self.used, None] * outputs[:, None, :]
        images = self.place.numpy(self.parts.images(rows, columns, self.place.asarray(V), self.used))
        found = np.einsum("im,imr->ir", self.left[rows] * self.weights, images)
        return found[:, 0] if coef.ndim == 1 else found

    def rows(self, index: np.ndarray) -> np.ndarray:
        """K between some samples and all of them, a NumPy array."""
        found = np.zeros((len(index), self.n_samples))
        for m in self.used:
            values = self.place.numpy(self.parts.block(m, index, None))
            found += self.weights[m] * self.left[index, m, None] * values * self.left[:, m]
        return found

    def reuses(self, image: Any) -> bool:
        """Whether an image is one of this kernel."""
        return isinstance(image, Image) and image.of is self.token
