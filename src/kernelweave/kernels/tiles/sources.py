"""One base kernel of a stack in parts, repaired and normalised: `Source`.

A source compares a set of samples (rows) with another (columns), in one place. Over the training samples both sets are
the training samples; `Source.against` compares new samples with them. Positions are NumPy arrays of int, or None for
all samples.

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
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from ...arrays import Place
from ...views import Views
from ..stacking.normalization import Normalizer
from .device import features as device_features
from .functions import STATIONARY, PointFunction, in_units
from .host import values as host_values
from .packing import rounded
from .precision import LARGEST, limit_of, size_of

TILE_VALUES = 2**22  # kernel values that are in memory at once


@dataclass(frozen=True)
class Side:
    """The samples on one side of a kernel, in one place.

    Attributes
    ----------
    features : object
        What the source compares: an array of the place of shape (n, n_columns), ids, or whatever else it reads.
    factor : array of shape (n,), float64
        What rows and columns are multiplied by: the normalisation, and 0 for samples that lack the view.
    diagonal : ndarray of shape (n,)
        The normalised k(x, x), a NumPy array.
    means : array of shape (n,), float64, or None
        The mean of k(x, x_i) over the training samples, where the kernel is centred.
    """

    features: Any
    factor: Any
    diagonal: np.ndarray
    means: Any = None
    cache: dict[Any, Any] = field(default_factory=dict, compare=False)  # what code that computes in one place derives


@dataclass(frozen=True)
class Scaling:
    """The normalisation of a source: its constants, and all training samples where new samples need them.

    Attributes
    ----------
    normalizer : Normalizer
        Learned.
    everything : Side or None
        All training samples, not normalised, where the kernel is centred.
    """

    normalizer: Normalizer
    everything: Side | None


class Source(ABC):
    """A base kernel between samples (rows) and others (columns).

    Attributes
    ----------
    rows, columns : Side
        The same object where both are the training samples.
    place : Place
    """

    scaling: Scaling | None = None

    @property
    def on_host(self) -> bool:
        """Whether values are computed on the host, whatever the place."""
        return self.place.is_host

    def __init__(self, rows: Side, columns: Side, place: Place):
        self.rows, self.columns, self.place = rows, columns, place

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows.diagonal)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns.diagonal)

    # What a kind of source is

    @abstractmethod
    def values(self, A: Any, B: Any) -> Any:
        """Raw k between what two sides compare, a new array of the place; anything finite for absent samples."""

    @abstractmethod
    def read(self, views: Views) -> tuple[Any, np.ndarray, np.ndarray]:
        """What is compared of samples, their raw k(x, x) (0 for absent ones), and which of them have the view."""

    def pick(self, features: Any, index: np.ndarray) -> Any:
        """What is compared of some samples of a side."""
        return self.place.take(features, index)

    def products(self, A: Any, B: Any, coef: Any) -> Any:
        """`values` times coefficients of shape (n_columns, n_outputs), in float64, tile by tile."""
        xp, n_rows = self.place.xp, self.length(A)
        height = max(1, TILE_VALUES // max(1, coef.shape[0]))
        if n_rows <= height:
            return xp.astype(self.values(A, B), xp.float64, copy=False) @ coef
        tiles = [np.arange(first, min(first + height, n_rows)) for first in range(0, n_rows, height)]
        parts = [xp.astype(self.values(self.pick(A, tile), B), xp.float64, copy=False) @ coef for tile in tiles]
        return xp.concat(parts)

    def length(self, features: Any) -> int:
        """The number of samples of a side, from what is compared of them."""
        return features.shape[0]

    # What every source has

    def side(self, side: Side, index: np.ndarray | None) -> Side:
        """Some samples of a side; the side itself for None."""
        if index is None:
            return side
        take = self.place.take
        means = None if side.means is None else take(side.means, index)
        return Side(self.pick(side.features, index), take(side.factor, index), side.diagonal[index], means)

    def block(self, rows: np.ndarray | None, columns: np.ndarray | None) -> Any:
        """Values between some rows and some columns, an array of the place."""
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
        found = self.products(left.features, right.features, coef)
        return left.factor[:, None] * self.centred(found, left, right, coef)

    def centred(self, found: Any, left: Side, right: Side, coef: Any) -> Any:
        """Products with coefficients (times the factors of the columns) made those of the centred kernel."""
        if right.means is None:
            return found
        total = self.place.xp.sum(coef, axis=0)
        return found - left.means[:, None] * total - (right.means[None, :] @ coef - self.mean * total)

    @property
    def mean(self) -> float:
        """The mean of k over all pairs of training samples, where the kernel is centred."""
        return 0.0 if self.scaling is None else getattr(self.scaling.normalizer, "mean_", 0.0)

    def diagonal(self) -> np.ndarray:
        """The normalised k(x, x) of each row, a NumPy array."""
        return self.rows.diagonal

    def subset(self, index: np.ndarray) -> Self:
        """The same kernel, with the same constants, among some of the training samples."""
        other = copy(self)
        other.rows = other.columns = self.side(self.rows, index)
        return other

    def normalized(self, normalizer: Normalizer) -> Self:
        """The source with the constants of a normaliser, which are learned; this one is raw, over all samples."""
        other, side, place = copy(self), self.rows, self.place
        centred = normalizer.needs_all_samples
        other.scaling = Scaling(normalizer, side if centred else None)
        means = place.asarray(normalizer.means_) if centred else None
        factor, diagonal = normalizer.training_scale(side.diagonal)
        other.rows = other.columns = Side(side.features, place.asarray(factor, "float64"), diagonal, means, side.cache)
        return other

    def against(self, views: Views, present: np.ndarray | None = None) -> Self:
        """The same kernel between new samples (rows) and the training samples (columns).

        Parameters
        ----------
        views : Views
            The new samples.
        present : ndarray of bool, shape (n_new,), optional
            Which of them count as having the view; by default those that have it.
        """
        features, raw, there = self.read(views)
        return self.compared(features, raw, there if present is None else there & present)

    def compared(self, features: Any, raw: np.ndarray, present: np.ndarray) -> Self:
        """`against` of what was read of new samples."""
        other, means = copy(self), None
        if self.scaling is None:
            factor, diagonal = np.where(present, 1.0, 0.0), raw
        else:
            everything = self.scaling.everything
            if everything is not None:
                weight = self.place.asarray(self.scaling.normalizer.weight_)[:, None]
                means = self.products(features, everything.features, weight)[:, 0]
            known = None if means is None else self.place.numpy(means)
            factor, diagonal = self.scaling.normalizer.new_scale(raw, present, known)
        other.rows = Side(features, self.place.asarray(factor, "float64"), diagonal, means)
        return other


class PointSource(Source):
    """A function of feature vectors, times a factor of each sample.

    Parameters
    ----------
    function : PointFunction
    rows, columns : Side
        The same object where both are the training samples.
    place : Place
    kernel : Kernel, optional
        Reads the features of new samples.
    shift, unit : optional
        What features are lowered and then multiplied by before they are compared.
    limit : float
        The size of features up to which float32 is enough, see `precision`.
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
        shift: Any = 0.0
        if place.is_torch and device_features.serves(function):
            own, unit = in_units(function)
            if function.kind in STATIONARY and present.any():
                shift = device_features.means(raw, present, place)
            values = device_features.features(own, raw, present, shift, unit, LARGEST, place, dtype)
            there = np.where(present, 1.0, 0.0)
            side = Side(values, place.asarray(there), own.gain * there)
            return cls(own, side, side, place, kernel=kernel, shift=shift, unit=unit, limit=LARGEST)
        known = slice(None) if present.all() else present  # no copy where it can be helped
        if function.kind in STATIONARY and present.any():
            shift = raw[known].mean(axis=0)
        own, factor = in_units(function)
        features = prepared(raw, present, shift, factor)
        limit = limit_of(own, features[known])
        wanted = dtype if size_of(own, features) <= limit else "float64"
        values, diagonal = placed(own, features, place, wanted, present)
        side = Side(values, place.asarray(np.where(present, 1.0, 0.0)), diagonal)
        return cls(own, side, side, place, kernel=kernel, shift=shift, unit=factor, limit=limit)

    def values(self, A: Any, B: Any) -> Any:
        """The function of all pairs."""
        if self.place.is_host:
            return host_values.values(self.function, A, B)
        return self.function.values(A, B, self.place)

    def products(self, A: Any, B: Any, coef: Any) -> Any:
        """A linear kernel needs no values: A (B' coef)."""
        if self.function.kind != "linear":
            return super().products(A, B, coef)
        return self.function.gain * (A @ (B.T @ coef))

    def read(self, views: Views) -> tuple[Any, np.ndarray, np.ndarray]:
        """Feature vectors, in float64 where these samples need it."""
        raw, present = self.kernel.read(views)
        if self.place.is_torch and device_features.serves(self.function):
            dtype = "float32" if self._is_narrow else "float64"
            settings = self.shift, self.unit, None, self.place, dtype
            values = device_features.features(self.function, raw, present, *settings)
            return values, np.where(present, self.function.gain, 0.0), present
        features = prepared(raw, present, self.shift, self.unit)
        narrow = self._is_narrow and size_of(self.function, features) <= self.limit
        return *placed(self.function, features, self.place, "float32" if narrow else "float64", present), present

    def compared(self, features: Any, raw: np.ndarray, present: np.ndarray) -> Self:
        """The same between new samples and these; in float64 where the new samples need it."""
        if features.dtype == self.columns.features.dtype:
            return super().compared(features, raw, present)
        wide = copy(self)
        wide.columns = self._widened(self.columns)
        if self.scaling is not None and self.scaling.everything is not None:
            wide.scaling = replace(self.scaling, everything=self._widened(self.scaling.everything))
        return super(PointSource, wide).compared(features, raw, present)

    @property
    def _is_narrow(self) -> bool:
        return self.columns.features.dtype == self.place.xp.float32

    def _widened(self, side: Side) -> Side:
        xp = self.place.xp
        return replace(side, features=xp.astype(side.features, xp.float64), cache={})


def prepared(raw: np.ndarray, present: np.ndarray, shift: Any, unit: float) -> np.ndarray:
    """Features as they are compared, in float64: lowered, and multiplied by a unit; 0 for absent samples."""
    features = raw - shift
    if not present.all():
        features[~present] = 0.0
    if unit != 1.0:
        features *= unit
    return features


def placed(
    function: PointFunction, features: np.ndarray, place: Place, dtype: str, present: np.ndarray
) -> tuple[Any, np.ndarray]:
    """Features in a place and type, and their raw k(x, x), 0 for absent samples.

    Those in float32 are rounded to what the products of a place take, and k(x, x) is that of the rounded ones.
    """
    if dtype == "float32":
        features = features.astype(np.float32)
        features = features if place.is_host else rounded(features, function.kind, place)
    return place.asarray(features, dtype), np.where(present, function.diagonal(features), 0.0)
