"""One base kernel of a stack in parts, repaired and normalised: `Source`.

A source compares a set of samples (rows) with another (columns), in one place. Over the training samples both sets are
the training samples; `Source.against` compares new samples with them. Positions are NumPy arrays of int, or None for
all samples.

==============  ===========================================================================
source          base kernels
==============  ===========================================================================
`PointSource`   functions of feature vectors (`PointFunction`), on the host or on a device
`StackSource`   all others, through `KernelStack.gram_rows` and `KernelStack.compare`
==============  ===========================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Place
from ...views import Views
from .functions import PointFunction

if TYPE_CHECKING:
    from ..stacking.stack import KernelStack

TILE_VALUES = 2**22  # kernel values that are in memory at once


class Source(ABC):
    """A base kernel between samples (rows) and others (columns).

    Attributes
    ----------
    place : Place
    n_rows, n_columns : int
    """

    place: Place
    n_rows: int
    n_columns: int

    @abstractmethod
    def block(self, rows: np.ndarray | None, columns: np.ndarray | None) -> Any:
        """Values between some rows and some columns, an array of the place."""

    @abstractmethod
    def diagonal(self) -> np.ndarray:
        """k(x, x) of each row, a NumPy array."""

    @abstractmethod
    def subset(self, index: np.ndarray) -> Source:
        """The same kernel, with the same constants, among some of the training samples."""

    @abstractmethod
    def against(self, views: Views, present: np.ndarray) -> Source:
        """The same kernel between new samples (rows) and the training samples (columns)."""

    def times(self, rows: np.ndarray | None, columns: np.ndarray | None, coef: Any) -> Any:
        """`block` times coefficients of shape (n_columns, n_outputs), in float64, tile by tile."""
        xp = self.place.xp
        chosen = np.arange(self.n_rows) if rows is None else rows
        height = max(1, TILE_VALUES // max(1, coef.shape[0]))
        tiles = [chosen[first : first + height] for first in range(0, len(chosen), height)]
        parts = [xp.astype(self.block(tile, columns), xp.float64) @ coef for tile in tiles]
        return xp.concat(parts) if parts else xp.zeros((0, coef.shape[1]), dtype=xp.float64, device=self.place.device)


@dataclass(frozen=True)
class Side:
    """Samples as feature vectors, in one place.

    Attributes
    ----------
    features : array of shape (n, n_columns)
    factor : array of shape (n,), float64
        What rows and columns are multiplied by: the normalisation, and 0 for samples that lack the view.
    diagonal : ndarray of shape (n,)
        The normalised k(x, x), a NumPy array.
    """

    features: Any
    factor: Any
    diagonal: np.ndarray

    def at(self, index: np.ndarray | None) -> Side:
        """Some of the samples."""
        if index is None:
            return self
        return Side(self.features[index], self.factor[index], self.diagonal[index])


class PointSource(Source):
    """A function of feature vectors, times a factor of each sample.

    Parameters
    ----------
    function : PointFunction
    rows, columns : Side
        The same object where both are the training samples.
    place : Place
    """

    def __init__(self, function: PointFunction, rows: Side, columns: Side, place: Place):
        self.function, self.rows, self.columns, self.place = function, rows, columns, place
        self.n_rows, self.n_columns = len(rows.diagonal), len(columns.diagonal)

    def block(self, rows: np.ndarray | None, columns: np.ndarray | None) -> Any:
        """k(x, z) times both factors."""
        left, right = self.rows.at(rows), self.columns.at(columns)
        values = self.function.values(left.features, right.features, self.place)
        dtype = values.dtype
        return values * self.place.xp.astype(left.factor, dtype)[:, None] * self.place.xp.astype(right.factor, dtype)

    def diagonal(self) -> np.ndarray:
        """The normalised k(x, x)."""
        return self.rows.diagonal

    def subset(self, index: np.ndarray) -> PointSource:
        """The same among some samples."""
        side = self.rows.at(index)
        return PointSource(self.function, side, side, self.place)

    def against(self, views: Views, present: np.ndarray) -> PointSource:
        """The same between new samples and these."""
        raise NotImplementedError


class StackSource(Source):
    """Any kernel of a stack, computed on the host; rows and columns are the training samples."""

    def __init__(self, stack: KernelStack, m: int, place: Place, index: np.ndarray | None = None):
        self.stack, self.m, self.place = stack, m, place
        self.index = np.arange(stack.n_samples) if index is None else index
        self.n_rows = self.n_columns = len(self.index)

    def block(self, rows: np.ndarray | None, columns: np.ndarray | None) -> Any:
        """Rows of the stack."""
        chosen = self.index if rows is None else self.index[rows]
        values = self.stack.gram_rows(self.m, chosen)[:, self.index]
        return self.place.asarray(values if columns is None else values[:, columns])

    def diagonal(self) -> np.ndarray:
        """The diagonal, from rows."""
        return np.concatenate(
            [self.stack.gram_rows(self.m, self.index[[i]])[0, [self.index[i]]] for i in range(self.n_rows)]
        )

    def subset(self, index: np.ndarray) -> StackSource:
        """The same among some samples."""
        return StackSource(self.stack, self.m, self.place, self.index[index])

    def against(self, views: Views, present: np.ndarray) -> Source:
        """The same between new samples and these."""
        raise NotImplementedError


def source_of(stack: KernelStack, m: int) -> Source:
    """The source of kernel m of a fitted stack, over its training samples."""
    kernel, normalizer, repair = stack.kernels[m], stack.normalizers[m], stack.repairs[m]
    function = kernel.point_function() if hasattr(kernel, "point_function") else None
    if function is None or not repair.trusted or normalizer.needs_all_samples or kernel.sparse_:
        return StackSource(stack, m, stack.place)
    values, present = kernel.read(stack.reference)
    diagonal = kernel.diagonal(stack.reference)
    normalizer.learn(diagonal, stack.present[:, m], stack.weight)
    factor = np.where(present, 1.0, 0.0)
    if normalizer.method == "unit-diagonal":
        factor *= normalizer.factor_
    elif normalizer.method == "unit-trace":
        factor *= np.sqrt(normalizer.factor_)
    values = np.where(present[:, None], values, 0.0)
    if kernel.is_stationary:
        values = values - values[present].mean(axis=0)
    place, own = stack.place, factor**2 * np.where(present, diagonal, 0.0)
    side = Side(place.asarray(values, stack.dtype.name), place.asarray(factor, "float64"), own)
    return PointSource(function, side, side, place)
