"""One base kernel of a stack between chosen samples, repaired and normalised: `Source`.

A source compares a set of samples (rows) with another (columns), in one place. Over the training samples both sets are
the training samples; `Source.against` compares new samples with them. Positions are NumPy arrays of int, or None for
all samples. `raw_source` makes the source of a kernel by what it declares:

================  ===========================================================================
source            base kernels
================  ===========================================================================
`PointSource`     functions of feature vectors (`PointFunction`), in any place
`MatrixSource`    values looked up in a matrix by id (`MatrixFunction`), in any place
`JoinedSource`    sums and products of two kernels (`JoinFunction`), in the place of those
`ValuesSource`    other kernels of one view, by their own code on the host; sparse features
`SamplesSource`   all other kernels, by their own code on the host
================  ===========================================================================

With the raw values k, a factor f of each sample (0 for samples that lack the view) and, where the kernel is centred,
the means m of rows and their mean m0 over the training samples, the normalised values are

    f_i (k(x_i, x_j) - m_i - m_j + m0) f_j
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from ...arrays import Place
from ...views import Views
from ..normalization import Normalizer, finite
from .functions import (
    LARGEST,
    STATIONARY,
    UNITS,
    JoinFunction,
    MatrixFunction,
    PointFunction,
    host_values,
    in_units,
    limit_of,
    rounded,
    size_of,
)

if TYPE_CHECKING:
    from ..base import Kernel

TILE_VALUES = 2**22  # kernel values that are in memory at once


@dataclass(frozen=True)
class Side:
    """The samples on one side of a kernel, in one place.

    `factor` is what rows and columns are multiplied by: the normalisation, and 0 for samples that lack the view.
    `diagonal` is the normalised k(x, x), on the host, and `means` the mean of k(x, x_i) over the training samples,
    where the kernel is centred.
    """

    features: Any
    factor: Any
    diagonal: np.ndarray
    means: Any = None
    cache: dict[Any, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def raw(cls, features: Any, diagonal: np.ndarray, present: np.ndarray, place: Place) -> Side:
        return cls(features, place.asarray(np.where(present, 1.0, 0.0)), diagonal)


class Source(ABC):
    """A base kernel between samples (rows) and others (columns), which are one `Side` where both are those of the fit.

    `everything` is all training samples, not normalised, which new samples need where the kernel is centred.
    """

    normalizer: Normalizer | None = None
    everything: Side | None = None

    def __init__(self, rows: Side, columns: Side, place: Place):
        self.rows, self.columns, self.place = rows, columns, place

    @property
    def on_host(self) -> bool:
        return self.place.is_host

    @property
    def n_rows(self) -> int:
        return len(self.rows.diagonal)

    @property
    def n_columns(self) -> int:
        return len(self.columns.diagonal)

    # What a kind of source is

    @abstractmethod
    def values(self, A: Any, B: Any) -> Any:
        """Raw k between what two sides compare, a new array of the place; anything finite for absent samples."""

    @abstractmethod
    def read(self, views: Views) -> tuple[Any, np.ndarray, np.ndarray]:
        """The features of samples that are compared, their raw k(x, x) (0 for absent ones), and which have the view."""

    def pick(self, features: Any, index: np.ndarray) -> Any:
        return self.place.take(features, index)

    def products(self, A: Any, B: Any, coef: Any, n_rows: int) -> Any:
        """`values` times coefficients of shape (n_columns, n_outputs), in float64, tile by tile."""
        xp = self.place.xp
        height = max(1, TILE_VALUES // max(1, coef.shape[0]))
        if n_rows <= height:
            return xp.astype(self.values(A, B), xp.float64, copy=False) @ coef
        tiles = [np.arange(first, min(first + height, n_rows)) for first in range(0, n_rows, height)]
        return xp.concat([self.products(self.pick(A, tile), B, coef, len(tile)) for tile in tiles])

    # What every source has

    def side(self, side: Side, index: np.ndarray | None) -> Side:
        if index is None:
            return side
        take = self.place.take
        means = None if side.means is None else take(side.means, index)
        return Side(self.pick(side.features, index), take(side.factor, index), side.diagonal[index], means)

    def block(self, rows: np.ndarray | None, columns: np.ndarray | None) -> Any:
        left, right = self.side(self.rows, rows), self.side(self.columns, columns)
        values, xp = self.values(left.features, right.features), self.place.xp
        if right.means is not None:
            values = xp.astype(values, xp.float64, copy=False)
            values -= left.means[:, None]
            values -= right.means - self.mean
        values *= xp.astype(left.factor, values.dtype, copy=False)[:, None]
        values *= xp.astype(right.factor, values.dtype, copy=False)
        return values

    def times(self, rows: np.ndarray | None, columns: np.ndarray | None, coef: Any) -> Any:
        """`block` times coefficients of shape (n_columns, n_outputs), in float64, without the whole block."""
        left, right = self.side(self.rows, rows), self.side(self.columns, columns)
        coef = right.factor[:, None] * coef
        found = self.products(left.features, right.features, coef, len(left.diagonal))
        return self.normalized_products(found, left, right, coef)

    def normalized_products(self, found: Any, left: Side, right: Side, coef: Any) -> Any:
        """The products of the normalised kernel, from those of raw values with coefficients times column factors."""
        if right.means is not None:
            total = self.place.xp.sum(coef, axis=0)
            found = found - left.means[:, None] * total - (right.means[None, :] @ coef - self.mean * total)
        return left.factor[:, None] * found

    @property
    def mean(self) -> float:
        return getattr(self.normalizer, "mean_", 0.0)

    def subset(self, index: np.ndarray) -> Self:
        other = copy(self)
        other.rows = other.columns = self.side(self.rows, index)
        return other

    def normalized(self, normalizer: Normalizer) -> Self:
        """The source with the constants of a normaliser, which are learned; this one is raw, over all samples."""
        other, side, place = copy(self), self.rows, self.place
        other.normalizer, means = normalizer, None
        if normalizer.needs_all_samples:
            other.everything, means = side, place.asarray(normalizer.means_)
        factor, diagonal = normalizer.training_scale(side.diagonal)
        other.rows = other.columns = Side(side.features, place.asarray(factor, "float64"), diagonal, means, side.cache)
        return other

    def against(self, views: Views, present: np.ndarray | None = None) -> Self:
        """The same kernel between new samples (rows) and the training samples (columns).

        `present` says which of them count as having the view; by default those that have it.
        """
        features, raw, there = self.read(views)
        return self.compared(features, raw, there if present is None else there & present)

    def compared(self, features: Any, raw: np.ndarray, present: np.ndarray) -> Self:
        other, means = copy(self), None
        if self.normalizer is None:
            factor, diagonal = np.where(present, 1.0, 0.0), raw
        else:
            if self.everything is not None:
                weight = self.place.asarray(self.normalizer.weight_)[:, None]
                means = self.products(features, self.everything.features, weight, len(raw))[:, 0]
            known = None if means is None else self.place.numpy(means)
            factor, diagonal = self.normalizer.new_scale(raw, present, known)
        other.rows = Side(features, self.place.asarray(factor, "float64"), diagonal, means)
        return other


FARTHEST = 2.0**13  # features in units; the squares of some thousand such features do not overflow
ROWS = 2**18  # samples that are in a place in float64 at a time


class PointSource(Source):
    """A function of feature vectors (in units), times a factor of each sample.

    Features are lowered by `shift` and then multiplied by `unit` before they are compared; float32 is enough for those
    up to the size `limit`, see `functions`. torch prepares features where k(x, x) is constant, on the device that
    compares them; the host only hands the columns over. Elsewhere NumPy does.
    """

    def __init__(
        self,
        function: PointFunction,
        rows: Side,
        columns: Side,
        place: Place,
        *,
        kernel: Any = None,
        shift: Any = 0.0,
        unit: float = 1.0,
        limit: float = np.inf,
    ):
        super().__init__(rows, columns, place)
        self.function, self.kernel, self.shift, self.unit, self.limit = function, kernel, shift, unit, limit

    @classmethod
    def of(cls, kernel: Any, function: PointFunction, views: Views, place: Place, dtype: str) -> PointSource:
        """The raw source over some samples; features are centred where the kernel is stationary, and in its units."""
        raw, present = kernel.read(views)
        function, unit = in_units(function)
        nobody = Side(None, None, np.empty(0))
        found = cls(function, nobody, nobody, place, kernel=kernel, unit=unit, limit=LARGEST)
        known = slice(None) if present.all() else present  # no copy where it can be helped
        if function.kind in STATIONARY and present.any():
            found.shift = _means(raw, known, place) if found._by_torch else raw[known].mean(axis=0)
        if found._by_torch:
            features, diagonal = found._prepared_by_torch(raw, present, dtype, LARGEST)
        else:
            prepared = found._prepared(raw, present)
            found.limit = limit_of(function, prepared[known])
            features, diagonal = found._placed(prepared, dtype, present)
        found.rows = found.columns = Side.raw(features, diagonal, present, place)
        return found

    def values(self, A: Any, B: Any) -> Any:
        return host_values(self.function, A, B) if self.place.is_host else self.function.values(A, B, self.place)

    def products(self, A: Any, B: Any, coef: Any, n_rows: int) -> Any:
        if self.function.kind != "linear":
            return super().products(A, B, coef, n_rows)
        return self.function.gain * (A @ (B.T @ coef))

    def read(self, views: Views) -> tuple[Any, np.ndarray, np.ndarray]:
        raw, present = self.kernel.read(views)
        narrow = self.columns.features.dtype == self.place.xp.float32
        dtype = "float32" if narrow else "float64"
        if self._by_torch:
            return *self._prepared_by_torch(raw, present, dtype, None), present
        return *self._placed(self._prepared(raw, present), dtype, present), present

    def compared(self, features: Any, raw: np.ndarray, present: np.ndarray) -> Self:
        """The same between new samples and these; in float64 where the new samples need it."""
        if features.dtype == self.columns.features.dtype:
            return super().compared(features, raw, present)
        wide = copy(self)
        wide.columns = self._widened(self.columns)
        if self.everything is not None:
            wide.everything = self._widened(self.everything)
        return super(PointSource, wide).compared(features, raw, present)

    def _widened(self, side: Side) -> Side:
        xp = self.place.xp
        return replace(side, features=xp.astype(side.features, xp.float64), cache={})

    def _prepared(self, raw: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Features as they are compared, in float64: lowered, and multiplied by a unit; 0 for absent samples."""
        features = raw - self.shift
        if not present.all():
            features[~present] = 0.0
        if self.unit != 1.0:
            features *= self.unit
        return features

    def _placed(self, features: np.ndarray, dtype: str, present: np.ndarray) -> tuple[Any, np.ndarray]:
        """Features in the place, in float64 where they need it, and their raw k(x, x), 0 for absent samples.

        Those in float32 are rounded to what the products of a place take, and k(x, x) is that of the rounded ones.
        """
        if dtype == "float32" and not size_of(self.function, features) <= self.limit:
            dtype = "float64"
        if dtype == "float32":
            features = features.astype(np.float32)
            features = features if self.place.is_host else rounded(features, self.function.kind, self.place)
        return self.place.asarray(features, dtype), np.where(present, self.function.diagonal(features), 0.0)

    @property
    def _by_torch(self) -> bool:
        return self.place.is_torch and self.function.kind in UNITS

    def _prepared_by_torch(
        self, raw: np.ndarray, present: np.ndarray, dtype: str, limit: float | None
    ) -> tuple[Any, np.ndarray]:
        """What `_prepared` and `_placed` give, some samples at a time.

        They are in float64 where sizes are over the limit. It is None for new samples, which are compared with samples
        of such a size: the error of k(x, z) falls off with ||x|| as the value does. Their features are clipped at
        `FARTHEST`, where the value is 0.
        """
        place, xp, function, narrow = self.place, self.place.xp, self.function, dtype == "float32"
        complete, found, largest = bool(present.all()), place.zeros(raw.shape, dtype), place.zeros(())
        shift = place.asarray(np.broadcast_to(self.shift, raw.shape[1:]), "float64")
        for first in range(0, len(raw), ROWS):
            rows = slice(first, first + ROWS)
            part = place.asarray(raw[rows], "float64") - shift
            part *= self.unit
            if not complete:
                part = xp.where(place.asarray(present[rows])[:, None], part, xp.zeros_like(part))
            if narrow and limit is None:
                part = xp.clip(part, -FARTHEST, FARTHEST)
            elif narrow and part.shape[0]:  # the same as `size_of`
                if function.kind == "gaussian":
                    sizes = xp.sum(part * part, axis=1) / function.scale**2
                else:
                    sizes = xp.sum(xp.abs(part), axis=1) / function.scale
                largest = xp.maximum(largest, xp.max(sizes))
            found[rows] = part
        if narrow and limit is not None and not float(largest) <= limit:
            return self._prepared_by_torch(raw, present, "float64", limit)
        features = rounded(found, function.kind, place) if narrow else found
        return features, np.where(present, function.gain, 0.0)


def _means(raw: np.ndarray, known: Any, place: Place) -> np.ndarray:
    """The mean of each column over the known samples (all, or an array of bool), at least one."""
    total, n_samples = place.zeros(raw.shape[1]), len(raw)
    for first in range(0, n_samples, ROWS):
        part = raw[first : first + ROWS]
        part = part if isinstance(known, slice) else part[known[first : first + ROWS]]
        total += place.xp.sum(place.asarray(part, "float64"), axis=0)
    return place.numpy(total) / (n_samples if isinstance(known, slice) else np.count_nonzero(known))


class MatrixSource(Source):
    """Values looked up in a matrix, on the host the user's own, by the ids of samples; what is compared are ids."""

    def __init__(self, function: MatrixFunction, views: Views, place: Place, dtype: str):
        self.function, self.place, self.dtype = function, place, dtype
        self._moved: list[Any] = []  # shared by copies of this source
        side = Side.raw(*self.read(views), place)
        super().__init__(side, side, place)

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        lookup = self.function.lookup
        values, present = lookup.read(views)
        ids, diagonal = np.zeros(len(present), dtype=np.int64), np.zeros(len(present))
        ids[present] = lookup.ids(values[present])
        diagonal[present] = 1.0 if self.function.scale is not None else lookup.self_similarity[ids[present]]
        return ids, diagonal, present

    def pick(self, features: np.ndarray, index: np.ndarray) -> np.ndarray:
        return features[index]

    def values(self, A: np.ndarray, B: np.ndarray) -> Any:
        lookup, place, scale = self.function.lookup, self.place, self.function.scale
        if place.is_host or lookup.columns_kept is not None or A.max(initial=0) >= len(lookup.K):
            found = place.asarray(lookup.entries(A, B))
        else:
            if not self._moved:
                self._moved.append(place.asarray(lookup.K, self.dtype))
            found = place.take(place.take(self._moved[0], A), B, axis=1)
        return found if scale is None else place.xp.exp(-((found / scale) ** 2))


class JoinedSource(Source):
    """The sum or product of two raw sources over the same samples; what is compared are pairs."""

    def __init__(self, function: JoinFunction, first: Source, second: Source):
        self.function, self.parts = function, (first, second)
        place, (one, other) = first.place, (first.rows, second.rows)
        present = (place.numpy(one.factor) > 0.0) & (place.numpy(other.factor) > 0.0)
        diagonal = np.where(present, self._joined(one.diagonal, other.diagonal), 0.0)
        side = Side.raw((one.features, other.features), diagonal, present, place)
        super().__init__(side, side, place)

    @property
    def on_host(self) -> bool:
        return any(part.on_host for part in self.parts)

    def _joined(self, first: Any, second: Any) -> Any:
        return first * second if self.function.is_product else first + second

    def values(self, A: Any, B: Any) -> Any:
        first, second = (part.values(a, b) for part, a, b in zip(self.parts, A, B, strict=True))
        if first.dtype != second.dtype:
            xp = self.place.xp
            first, second = (xp.astype(each, xp.float64, copy=False) for each in (first, second))
        return self._joined(first, second)

    def products(self, A: Any, B: Any, coef: Any, n_rows: int) -> Any:
        if self.function.is_product:
            return super().products(A, B, coef, n_rows)
        first, second = (part.products(a, b, coef, n_rows) for part, a, b in zip(self.parts, A, B, strict=True))
        return first + second

    def read(self, views: Views) -> tuple[Any, np.ndarray, np.ndarray]:
        (one, first, has_one), (other, second, has_other) = (part.read(views) for part in self.parts)
        present = has_one & has_other
        return (one, other), np.where(present, self._joined(first, second), 0.0), present

    def pick(self, features: Any, index: np.ndarray) -> Any:
        return tuple(part.pick(each, index) for part, each in zip(self.parts, features, strict=True))


class OwnCodeSource(Source):
    """A kernel by its own code on the host, whose values are moved to the place, in `dtype`."""

    on_host = True

    def __init__(self, kernel: Any, views: Views, place: Place, dtype: str):
        self.kernel, self.place, self.dtype = kernel, place, dtype
        side = Side.raw(*self.read(views), place)
        super().__init__(side, side, place)

    def finite(self, compute: Callable[[], np.ndarray]) -> np.ndarray:
        return finite(compute, getattr(self.kernel, "label_", self.kernel.name))


class ValuesSource(OwnCodeSource):
    """A kernel of one view (`ViewKernel`), on values that are read once; what is compared are values and presence."""

    def read(self, views: Views) -> tuple[Any, np.ndarray, np.ndarray]:
        values, present = self.kernel.read(views)
        diagonal = np.zeros(len(present))
        if present.any():
            diagonal[present] = self.kernel.diagonal_of(values if present.all() else values[present])
        return (values, present), diagonal, present

    def pick(self, features: Any, index: np.ndarray) -> Any:
        values, present = features
        return values[index], present[index]

    def values(self, A: Any, B: Any) -> Any:
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

    def products(self, A: Any, B: Any, coef: Any, n_rows: int) -> Any:
        if not (self.kernel.is_linear and sp.issparse(A[0])):
            return super().products(A, B, coef, n_rows)
        (first, has_one), (second, has_other) = A, B
        inner = second.T @ np.where(has_other[:, None], self.place.numpy(coef), 0.0)
        return self.place.asarray(np.where(has_one[:, None], first @ inner, 0.0))


class SamplesSource(OwnCodeSource):
    """Any kernel by its own `cross`, on samples; what is compared are `Views`."""

    def read(self, views: Views) -> tuple[Views, np.ndarray, np.ndarray]:
        return views, np.asarray(self.kernel.diagonal(views)), self.kernel.present(views)

    def pick(self, features: Views, index: np.ndarray) -> Views:
        return features.rows(index)

    def values(self, A: Views, B: Views) -> Any:
        return self.place.asarray(self.finite(lambda: self.kernel.cross(A, B)), self.dtype)


class NoSource(Source):
    """A kernel that prediction does not evaluate: 0 everywhere."""

    def __init__(self, n_samples: int, place: Place):
        side = Side(np.zeros(n_samples), place.zeros(n_samples), np.zeros(n_samples))
        super().__init__(side, side, place)

    def values(self, A: np.ndarray, B: np.ndarray) -> Any:
        return self.place.zeros((len(A), len(B)))

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.zeros(views.n_samples), np.zeros(views.n_samples), np.zeros(views.n_samples, dtype=bool)

    def pick(self, features: np.ndarray, index: np.ndarray) -> np.ndarray:
        return features[index]


def raw_source(kernel: Kernel, views: Views, place: Place, dtype: str) -> Source:
    join = declared(kernel, "join_function")
    if join is not None:
        first, second = (raw_source(each, views, place, dtype) for each in (join.first, join.second))
        return JoinedSource(join, first, second)
    matrix = declared(kernel, "matrix_function")
    if matrix is not None:
        return MatrixSource(matrix, views, place, dtype)
    function = declared(kernel, "point_function")
    if function is not None and not sp.issparse(kernel.read(views)[0]):
        return PointSource.of(kernel, function, views, place, dtype)
    return (ValuesSource if hasattr(kernel, "cross_of") else SamplesSource)(kernel, views, place, dtype)


# What a subclass must not have changed for the function that its base class declares to be its own.
_VALUES = ("cross_of", "gram_of", "diagonal_of", "cross", "gram", "gram_rows", "diagonal")


def declared(kernel: Any, name: str) -> Any:
    """What a kernel's method declares; None where a subclass has changed the values but not the method."""
    classes = type(kernel).__mro__
    owner = next(place for place, each in enumerate(classes) if name in vars(each))
    changed = any(method in vars(each) for each in classes[:owner] for method in _VALUES)
    return None if changed else getattr(kernel, name)()
