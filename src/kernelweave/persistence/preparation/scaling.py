"""`ScaleOperation`: columns shifted and scaled; `UnitNormOperation`: rows of norm 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from sklearn.utils.sparsefuncs import inplace_column_scale

from .base import FLOATS, Operation


@dataclass(frozen=True, eq=False, repr=False)
class ScaleOperation(Operation):
    """z = clip((x - center) / divisor * factor + offset), column by column; cells may be NaN and stay so.

    Parameters
    ----------
    width : int
        Number of columns.
    center, divisor, factor, offset : ndarray of shape (width,) or None
        None leaves the step out.
    limits : tuple of two floats or None
        The least and the largest value of the result.
    """

    width: int
    center: np.ndarray | None = None
    divisor: np.ndarray | None = None
    factor: np.ndarray | None = None
    offset: np.ndarray | None = None
    limits: tuple[float, float] | None = None

    @property
    def n_in(self) -> int:
        """Number of columns of the table."""
        return self.width

    def transform(self, X: Any) -> Any:
        """The scaled columns; a sparse table stays sparse and is not shifted."""
        values = self._table(X, dtype=[*FLOATS, np.float16], nan=True, sparse="csr")
        if sp.issparse(values):
            return self._sparse(values)
        if self.center is not None:
            values -= self.center
        if self.divisor is not None:
            values /= self.divisor
        if self.factor is not None:
            values *= self.factor
        if self.offset is not None:
            values += self.offset
        return values if self.limits is None else np.clip(values, *self.limits, out=values)

    def _sparse(self, values: Any) -> Any:
        if self.center is not None or self.offset is not None:
            raise ValueError("a sparse table cannot be shifted; it was not sparse when the scaling was fitted")
        if self.divisor is not None:
            inplace_column_scale(values, 1.0 / self.divisor)
        if self.factor is not None:
            inplace_column_scale(values, self.factor)
        if self.limits is not None:
            np.clip(values.data, *self.limits, out=values.data)
        return values


@dataclass(frozen=True, eq=False, repr=False)
class UnitNormOperation(Operation):
    """Rows divided by their norm, which is ``"l1"``, ``"l2"`` or ``"max"``; rows of zeros stay so."""

    width: int
    norm: str

    @property
    def n_in(self) -> int:
        """Number of columns of the table."""
        return self.width

    def transform(self, X: Any) -> Any:
        """Rows of norm 1; a sparse table stays sparse."""
        return normalize(self._table(X, sparse="csr"), norm=self.norm, axis=1, copy=False)
