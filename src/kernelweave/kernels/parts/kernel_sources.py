"""Sources of kernels that are no function of dense feature vectors: lookups, sums and products, and all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Place
from ...views import Views
from ..normalization import finite
from .functions import JoinFunction, MatrixFunction
from .sources import Side, Source


class MatrixSource(Source):
    """Values looked up in a matrix by the ids of samples; what is compared are ids.

    On the host the matrix stays as the user gave it; another place gets a copy of it, once.

    Parameters
    ----------
    function : MatrixFunction
    views : Views
        The training samples.
    place : Place
    dtype : {"float32", "float64"}
        Of values in another place than the host.
    """

    def __init__(self, function: MatrixFunction, views: Views, place: Place, dtype: str):
        self.function, self.place, self.dtype = function, place, dtype
        self._moved: list[Any] = []  # shared by copies of this source
        ids, diagonal, present = self.read(views)
        side = Side(ids, place.asarray(np.where(present, 1.0, 0.0)), diagonal)
        super().__init__(side, side, place)

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The ids of samples, 0 for absent ones."""
        lookup = self.function.lookup
        values, present = lookup.read(views)
        ids, diagonal = np.zeros(len(present), dtype=np.int64), np.zeros(len(present))
        ids[present] = lookup.ids(values[present])
        diagonal[present] = 1.0 if self.function.scale is not None else lookup.self_similarity[ids[present]]
        return ids, diagonal, present

    def pick(self, features: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Ids are a NumPy array in every place."""
        return features[index]

    def values(self, A: np.ndarray, B: np.ndarray) -> Any:
        """Entries of the matrix, or the function of its distances."""
        found, xp = self._entries(A, B), self.place.xp
        if self.function.scale is None:
            return found
        return xp.exp(-((found / self.function.scale) ** 2))

    def _entries(self, A: np.ndarray, B: np.ndarray) -> Any:
        lookup = self.function.lookup
        if self.place.is_host or lookup.columns_kept is not None or A.max(initial=0) >= len(lookup.K):
            return self.place.asarray(lookup.entries(A, B))
        if not self._moved:
            self._moved.append(self.place.asarray(lookup.K, self.dtype))
        return self.place.take(self.place.take(self._moved[0], A), B, axis=1)


class JoinedSource(Source):
    """The sum or product of two raw sources over the same samples; what is compared are pairs.

    Parameters
    ----------
    function : JoinFunction
    first, second : Source
    """

    def __init__(self, function: JoinFunction, first: Source, second: Source):
        self.function, self.parts = function, (first, second)
        place, (one, other) = first.place, (first.rows, second.rows)
        present = (place.numpy(one.factor) > 0.0) & (place.numpy(other.factor) > 0.0)
        diagonal = self._joined(one.diagonal, other.diagonal)
        side = Side(
            (one.features, other.features), place.asarray(np.where(present, 1.0, 0.0)), np.where(present, diagonal, 0.0)
        )
        super().__init__(side, side, place)

    @property
    def on_host(self) -> bool:
        """Whether values of one of the two are."""
        return any(part.on_host for part in self.parts)

    def _joined(self, first: Any, second: Any) -> Any:
        return first * second if self.function.is_product else first + second

    def values(self, A: Any, B: Any) -> Any:
        """The parts' values, joined."""
        first, second = (part.values(a, b) for part, a, b in zip(self.parts, A, B, strict=True))
        if first.dtype != second.dtype:
            xp = self.place.xp
            first, second = (xp.astype(each, xp.float64, copy=False) for each in (first, second))
        return self._joined(first, second)

    def products(self, A: Any, B: Any, coef: Any) -> Any:
        """Of a sum, those of the parts."""
        if self.function.is_product:
            return super().products(A, B, coef)
        first, second = (part.products(a, b, coef) for part, a, b in zip(self.parts, A, B, strict=True))
        return first + second

    def read(self, views: Views) -> tuple[Any, np.ndarray, np.ndarray]:
        """What both parts compare of samples."""
        (one, first, has_one), (other, second, has_other) = (part.read(views) for part in self.parts)
        present = has_one & has_other
        return (one, other), np.where(present, self._joined(first, second), 0.0), present

    def pick(self, features: Any, index: np.ndarray) -> Any:
        """The pairs of some samples."""
        return tuple(part.pick(each, index) for part, each in zip(self.parts, features, strict=True))

    def length(self, features: Any) -> int:
        """That of either part."""
        return self.parts[0].length(features[0])


class OwnCodeSource(Source):
    """A kernel by its own code on the host, whose values are moved to the place.

    Parameters
    ----------
    kernel : Kernel
    views : Views
        The training samples.
    place : Place
    dtype : {"float32", "float64"}
        Of the values in the place.
    """

    on_host = True

    def __init__(self, kernel: Any, views: Views, place: Place, dtype: str):
        self.kernel, self.place, self.dtype = kernel, place, dtype
        features, diagonal, present = self.read(views)
        side = Side(features, place.asarray(np.where(present, 1.0, 0.0)), diagonal)
        super().__init__(side, side, place)

    def finite(self, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Values of the kernel's code, or an error that names the kernel."""
        return finite(compute, getattr(self.kernel, "label_", self.kernel.name))


class ValuesSource(OwnCodeSource):
    """A kernel of one view (`ViewKernel`), on values that are read once; what is compared are values and presence."""

    def read(self, views: Views) -> tuple[Any, np.ndarray, np.ndarray]:
        """The values of the view; a row of an absent sample is never compared."""
        values, present = self.kernel.read(views)
        diagonal = np.zeros(len(present))
        if present.any():
            diagonal[present] = self.kernel.diagonal_of(values if present.all() else values[present])
        return (values, present), diagonal, present

    def pick(self, features: Any, index: np.ndarray) -> Any:
        """The values of some samples."""
        values, present = features
        return values[index], present[index]

    def length(self, features: Any) -> int:
        """The number of samples."""
        return len(features[1])

    def values(self, A: Any, B: Any) -> Any:
        """The kernel's own `cross_of` between samples that have the view, 0 elsewhere."""
        (first, has_one), (second, has_other) = A, B
        if has_one.all() and has_other.all() and len(has_one) and len(has_other):
            found = self.finite(lambda: self.kernel.cross_of(first, second))
            return self.place.asarray(found, self.dtype)
        found = np.zeros((len(has_one), len(has_other)))
        if has_one.any() and has_other.any():
            found[np.ix_(has_one, has_other)] = self.finite(
                lambda: self.kernel.cross_of(first[has_one], second[has_other])
            )
        return self.place.asarray(found, self.dtype)

    def products(self, A: Any, B: Any, coef: Any) -> Any:
        """A linear kernel needs no values: A (B' coef); sparse features stay sparse."""
        if not (self.kernel.is_linear and sp.issparse(A[0])):
            return super().products(A, B, coef)
        (first, has_one), (second, has_other) = A, B
        inner = second.T @ np.where(has_other[:, None], self.place.numpy(coef), 0.0)
        return self.place.asarray(np.where(has_one[:, None], first @ inner, 0.0))


class SamplesSource(OwnCodeSource):
    """Any kernel by its own `cross`, on samples; what is compared are `Views`."""

    def read(self, views: Views) -> tuple[Views, np.ndarray, np.ndarray]:
        """The samples themselves."""
        return views, np.asarray(self.kernel.diagonal(views)), self.kernel.present(views)

    def pick(self, features: Views, index: np.ndarray) -> Views:
        """Some samples."""
        return features.rows(index)

    def length(self, features: Views) -> int:
        """The number of samples."""
        return features.n_samples

    def values(self, A: Views, B: Views) -> Any:
        """The kernel's own values."""
        return self.place.asarray(self.finite(lambda: self.kernel.cross(A, B)), self.dtype)


class NoSource(Source):
    """A kernel that prediction does not evaluate: 0 everywhere."""

    def __init__(self, n_samples: int, place: Place):
        side = Side(np.zeros(n_samples), place.zeros(n_samples), np.zeros(n_samples))
        super().__init__(side, side, place)

    def values(self, A: np.ndarray, B: np.ndarray) -> Any:
        """Zeros."""
        return self.place.zeros((len(A), len(B)))

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nothing."""
        return np.zeros(views.n_samples), np.zeros(views.n_samples), np.zeros(views.n_samples, dtype=bool)

    def pick(self, features: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Nothing."""
        return features[index]
