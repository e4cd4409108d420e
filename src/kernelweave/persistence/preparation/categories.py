"""`OneHotOperation` and `OrdinalOperation`: categories as flags, and as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._warnings import warn
from .base import Operation, columns_of

UNKNOWN = -1


def codes_of(values: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """The position of each value among categories, of which NaN may be one; `UNKNOWN` where it is none of them.

    Numbers are compared with sorted numbers, and anything else by equality.
    """
    if values.dtype.kind in "fiub" and categories.dtype.kind in "fiub":
        places = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
        found = categories[places]
        return np.where((found == values) | ((found != found) & (values != values)), places, UNKNOWN)
    entries = categories.tolist()
    table = {entry: place for place, entry in enumerate(entries) if entry == entry}
    nan = next((place for place, entry in enumerate(entries) if entry != entry), UNKNOWN)
    return np.array([table.get(value, UNKNOWN) if value == value else nan for value in values.tolist()], dtype=int)


class _Encoding(Operation):
    """What the two share: a list of categories per column."""

    categories: list[np.ndarray]

    @property
    def n_in(self) -> int:
        """Number of columns of the table."""
        return len(self.categories)

    def _codes(self, X: Any, refuses: bool) -> list[np.ndarray]:
        """The codes of each column; a `ValueError` names unknown categories where they are refused."""
        columns = columns_of(X)
        if len(columns) != self.n_in:
            raise ValueError(f"the table to prepare has {len(columns)} features where {self.n_in} are expected")
        codes = [codes_of(values, own) for values, own in zip(columns, self.categories, strict=True)]
        if refuses:
            for place, (values, own) in enumerate(zip(columns, codes, strict=True)):
                if (own == UNKNOWN).any():
                    unknown = sorted(set(values[own == UNKNOWN].tolist()), key=str)
                    raise ValueError(f"Found unknown categories {unknown} in column {place} during transform")
        return codes


@dataclass(frozen=True, eq=False, repr=False)
class OneHotOperation(_Encoding):
    """A column of flags per category, or per group of rare ones; each category of a column sets at most one flag.

    Parameters
    ----------
    categories : list of ndarray
        Those of each column: sorted numbers, or text.
    places : list of ndarray of int
        For each category the position of its flag in the result; -1 where it has none.
    unknown : ndarray of int
        The position of the flag of unknown categories, per column of the table; -1 for none.
    owners : ndarray of int, shape (n_out,)
        The column of the table to which a flag belongs.
    labels : list of str, of length n_out
        The categories that flags stand for, as parts of their names.
    refuses, warns : bool
        Whether unknown categories are an error, and whether they are worth a warning.
    sparse : bool
        Whether the result is sparse.
    dtype : str
        The type of its entries.
    """

    categories: list[np.ndarray]
    places: list[np.ndarray]
    unknown: np.ndarray
    owners: np.ndarray
    labels: list[str]
    refuses: bool
    warns: bool
    sparse: bool
    dtype: str

    @property
    def n_out(self) -> int:
        """Number of flags."""
        return len(self.labels)

    def transform(self, X: Any) -> Any:
        """The flags."""
        codes = self._codes(X, self.refuses)
        strange = [place for place, own in enumerate(codes) if (own == UNKNOWN).any()]
        if self.warns and strange:
            warn(f"columns {strange} hold categories that training samples do not have; see handle_unknown")
        n_samples = len(codes[0]) if codes else len(X)
        flags = np.full((n_samples, self.n_in), UNKNOWN)
        for place, own in enumerate(codes):
            flags[:, place] = np.append(self.places[place], self.unknown[place])[own]  # the code -1 is the last one
        set_ = flags != UNKNOWN
        ends = np.concatenate([[0], np.cumsum(set_.sum(axis=1))])
        shape = (n_samples, self.n_out)
        result = sp.csr_matrix((np.ones(ends[-1], dtype=self.dtype), flags[set_], ends), shape=shape)
        return result if self.sparse else result.toarray()

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """The column's name and the category."""
        names = self._names_in(input_features)
        pairs = zip(names[self.owners], self.labels, strict=True)
        return np.array([f"{name}_{label}" for name, label in pairs], dtype=object)


@dataclass(frozen=True, eq=False, repr=False)
class OrdinalOperation(_Encoding):
    """A number for each category.

    Parameters
    ----------
    categories : list of ndarray
        Those of each column: sorted numbers, or text.
    numbers : list of ndarray of float
        The number for each category, which may be NaN.
    unknown : float or None
        The number for unknown categories; None where they are an error.
    dtype : str
        The type of the result.
    """

    categories: list[np.ndarray]
    numbers: list[np.ndarray]
    unknown: float | None
    dtype: str

    def transform(self, X: Any) -> np.ndarray:
        """The numbers."""
        codes = self._codes(X, self.unknown is None)
        other = np.nan if self.unknown is None else self.unknown
        columns = [np.append(own, other)[code] for own, code in zip(self.numbers, codes, strict=True)]
        return np.stack(columns, axis=1).astype(self.dtype) if columns else np.empty((len(X), 0), dtype=self.dtype)
