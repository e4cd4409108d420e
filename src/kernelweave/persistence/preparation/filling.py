"""`FillOperation`: missing cells filled, with a constant for each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .base import FLOATS, Operation


@dataclass(frozen=True, eq=False, repr=False)
class FillOperation(Operation):
    """Missing cells of each kept column are filled with its value; then come columns that flag missing cells.

    Parameters
    ----------
    width : int
        Number of columns of the table.
    marker : float, int, str or None
        What a missing cell holds.
    kept : ndarray of int
        Positions of the columns that are kept: those with a value to fill in.
    values : ndarray of shape (len(kept),)
        Numbers, or objects for text.
    flagged : ndarray of int or None
        Positions of the columns whose missing cells are flagged (1 where the cell is missing).
    kind : "float", "object" or "any"
        How cells are read: as numbers, as objects, or as they are.
    """

    width: int
    marker: Any
    kept: np.ndarray
    values: np.ndarray
    flagged: np.ndarray | None
    kind: str

    @property
    def n_in(self) -> int:
        """Number of columns of the table."""
        return self.width

    @property
    def n_out(self) -> int:
        """Columns that are kept, and flags."""
        return len(self.kept) + (0 if self.flagged is None else len(self.flagged))

    def transform(self, X: Any) -> Any:
        """The filled table and the flags; a sparse table stays sparse, its empty cells are zeros."""
        types = {"float": [*FLOATS, np.float16], "object": object, "any": None}[self.kind]
        values = self._table(X, dtype=types, nan=_is_nan(self.marker), sparse="csc")
        if sp.issparse(values):
            return self._sparse(values)
        missing = _cells(values, self.marker)
        filled = chosen_columns(values, self.kept)
        rows, places = np.nonzero(chosen_columns(missing, self.kept))
        filled[rows, places] = self.values[places]
        return filled if self.flagged is None else np.hstack([filled, chosen_columns(missing, self.flagged)])

    def _sparse(self, values: Any) -> Any:
        missing = type(values)((_cells(values.data, self.marker), values.indices, values.indptr), shape=values.shape)
        filled = values[:, self.kept]
        places = np.repeat(np.arange(len(self.kept)), np.diff(filled.indptr))
        gaps = _cells(filled.data, self.marker)
        filled.data[gaps] = self.values[places[gaps]]
        if self.flagged is None:
            return filled.tocsr()
        flags = missing[:, self.flagged]
        flags.eliminate_zeros()
        return sp.hstack([filled, flags], format="csr")

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Names of the kept columns, and those of flagged ones behind ``missingindicator_``."""
        return names_with_flags(self._names_in(input_features), self.kept, self.flagged)


def chosen_columns(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Some columns of an array; the array itself where these are all, since a choice has another order in memory."""
    return values if np.array_equal(places, np.arange(values.shape[1])) else values[:, places]


def names_with_flags(names: np.ndarray, kept: np.ndarray, flagged: np.ndarray | None) -> np.ndarray:
    """Names of kept columns and of flags, from those of all columns."""
    flags = [] if flagged is None else [f"missingindicator_{name}" for name in names[flagged]]
    return np.concatenate([names[kept], np.array(flags, dtype=object)])


def _is_nan(marker: Any) -> bool:
    return isinstance(marker, float) and marker != marker


def _cells(values: np.ndarray, marker: Any) -> np.ndarray:
    """Which cells hold the marker of missing ones."""
    if _is_nan(marker):
        return values != values
    if isinstance(marker, str) and values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    return np.asarray(values == marker, dtype=bool)
