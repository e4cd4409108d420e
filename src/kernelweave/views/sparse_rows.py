"""`SparseRows`: a sparse view as one column of a data frame, each cell the row of a CSR matrix, or missing.

pandas' own sparse columns are one array per feature: taking 1600 of 2000 rows of 20000 features takes ten seconds,
where one CSR matrix takes milliseconds. As one column the view is split, matched by label and concatenated like any
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.extensions import ExtensionArray, ExtensionDtype


@dataclass(frozen=True, eq=False)
class SparseRow:
    """One cell: the entries of a sample that are not 0."""

    positions: np.ndarray
    values: np.ndarray

    def __repr__(self) -> str:
        return f"<{len(self.values)} entries>"


class SparseRowsDtype(ExtensionDtype):
    """The type of a column of sparse rows; columns of the same features have the same type.

    Parameters
    ----------
    features : Index
        Names of the features, text, no two alike.
    """

    type = SparseRow
    na_value = np.nan
    _metadata = ("features",)

    def __init__(self, features: pd.Index):
        self.features = features

    @property
    def name(self) -> str:
        """What pandas shows."""
        return f"sparse rows [{len(self.features)}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparseRowsDtype) and (
            self.features is other.features or self.features.equals(other.features)
        )

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    @classmethod
    def construct_array_type(cls) -> Any:
        """The class of columns."""
        return SparseRows

    @classmethod
    def construct_from_string(cls, string: str) -> SparseRowsDtype:
        """There is no text that stands for this type."""
        raise TypeError(f"Cannot construct a '{cls.__name__}' from '{string}'")


class SparseRows(ExtensionArray):
    """A column whose cells are the rows of a sparse matrix; `stack_views` makes them.

    Parameters
    ----------
    matrix : CSR matrix of shape (n_samples, n_features)
    features : Index or sequence of str, optional
        Names of the features; numbers from 0 by default.
    present : ndarray of bool, optional
        Which samples have the view, by default all. The rows of others are emptied.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from kernelweave.views.sparse_rows import SparseRows
    >>> rows = SparseRows(sp.csr_array([[0.0, 2.0], [0.0, 0.0]]))
    >>> rows.take([1, -1, 0], allow_fill=True).isna()
    array([False,  True, False])
    """

    def __init__(
        self, matrix: Any, features: Sequence[str] | pd.Index | None = None, present: np.ndarray | None = None
    ):
        self.matrix = matrix.tocsr()
        if features is None:
            features = [str(j) for j in range(self.matrix.shape[1])]
        self._dtype = SparseRowsDtype(features if isinstance(features, pd.Index) else pd.Index(features, dtype=object))
        self.present = np.ones(self.matrix.shape[0], dtype=bool) if present is None else present
        if (np.diff(self.matrix.indptr)[~self.present] > 0).any():
            self.matrix = _without_rows(self.matrix, ~self.present)

    @property
    def dtype(self) -> SparseRowsDtype:
        """The type, which has the names of the features."""
        return self._dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the entries that are not 0."""
        return self.matrix.data.nbytes + self.matrix.indices.nbytes + self.matrix.indptr.nbytes + self.present.nbytes

    def __len__(self) -> int:
        return self.matrix.shape[0]

    def __getitem__(self, item: Any) -> Any:
        item = pd.api.indexers.check_array_indexer(self, item)
        if isinstance(item, int | np.integer):
            if not self.present[item]:
                return self.dtype.na_value
            row = self.matrix[[item]]
            return SparseRow(row.indices, row.data)
        return self._like(self.matrix[item], self.present[item])

    def __setitem__(self, item: Any, value: Any) -> None:
        places = np.atleast_1d(np.arange(len(self))[pd.api.indexers.check_array_indexer(self, item)])
        if not isinstance(value, SparseRows):
            cells = [value] if isinstance(value, SparseRow) or np.ndim(value) == 0 else list(value)
            value = self._from_sequence(cells, dtype=self.dtype)
        source = np.arange(len(self))
        source[places] = len(self) + (np.arange(len(value)) if len(value) > 1 else 0)
        changed = self._concat_same_type([self, value]).take(source)
        self.matrix, self.present = changed.matrix, changed.present

    def __eq__(self, other: object) -> Any:
        if isinstance(other, pd.Series | pd.Index | pd.DataFrame):
            return NotImplemented
        if not isinstance(other, SparseRows) or self.dtype != other.dtype or len(self) != len(other):
            return np.zeros(len(self), dtype=bool)
        different = np.diff(abs(self.matrix - other.matrix).tocsr().indptr) > 0
        return self.present & other.present & ~different

    def isna(self) -> np.ndarray:
        """Which samples lack the view."""
        return ~self.present

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> SparseRows:
        """Cells at some positions; with `allow_fill`, -1 is a missing one."""
        indices = np.asarray(indices, dtype=np.intp)
        if not allow_fill:
            return self._like(self.matrix[indices], self.present[indices])
        if (indices < -1).any():
            raise ValueError("positions of cells must be -1 or more where missing ones are filled")
        if len(self) == 0 and (indices >= 0).any():
            raise IndexError("cannot do a non-empty take from an empty column")
        filled = indices < 0
        if len(self) == 0:
            return self._like(sp.csr_matrix((len(indices), self.matrix.shape[1])), ~filled)
        return self._like(self.matrix[np.where(filled, 0, indices)], self.present[indices] & ~filled)

    def copy(self) -> SparseRows:
        """A copy of the entries."""
        return self._like(self.matrix.copy(), self.present.copy())

    def select(self, indexer: np.ndarray) -> SparseRows:
        """These features, in this order; -1 is one without entries."""
        names = np.where(indexer < 0, "", np.asarray(self.dtype.features, dtype=object)[indexer])
        if (indexer >= 0).all():
            return SparseRows(self.matrix[:, indexer], names, self.present)
        # A column without entries behind the last one stands for what is not there.
        wide = sp.hstack([self.matrix, sp.csr_matrix((len(self), 1))], format="csr")
        return SparseRows(wide[:, np.where(indexer < 0, self.matrix.shape[1], indexer)], names, self.present)

    def _like(self, matrix: Any, present: np.ndarray) -> SparseRows:
        return type(self)(matrix, self.dtype.features, present)

    def _formatter(self, boxed: bool = False) -> Any:
        return str

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> SparseRows:
        if isinstance(scalars, cls):
            return scalars.copy() if copy else scalars
        if not isinstance(dtype, SparseRowsDtype):
            raise TypeError("a column of sparse rows is made of a sparse matrix")
        if not all(isinstance(cell, SparseRow) or pd.isna(cell) for cell in scalars):
            raise TypeError(
                "the cells of a sparse view are sparse rows or missing; change the matrix and stack it again"
            )
        present = np.array([isinstance(cell, SparseRow) for cell in scalars], dtype=bool)
        cells = [cell for cell in scalars if isinstance(cell, SparseRow)]
        counts = np.zeros(len(present), dtype=int)
        counts[present] = [len(cell.values) for cell in cells]
        values = np.concatenate([np.empty(0), *(cell.values for cell in cells)])
        positions = np.concatenate([np.empty(0, dtype=int), *(cell.positions for cell in cells)])
        ends = np.concatenate([[0], np.cumsum(counts)])
        matrix = sp.csr_matrix((values, positions, ends), shape=(len(present), len(dtype.features)))
        return cls(matrix, dtype.features, present)

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[SparseRows]) -> SparseRows:
        matrix = sp.vstack([part.matrix for part in to_concat], format="csr")
        return cls(matrix, to_concat[0].dtype.features, np.concatenate([part.present for part in to_concat]))


def from_pandas(frame: pd.DataFrame) -> SparseRows:
    """Sparse columns of a data frame, whose other entries are 0, as one column; rows of NaN are missing."""
    matrix = frame.sparse.to_coo().tocsr().astype(np.float64)
    rows = np.repeat(np.arange(len(frame)), np.diff(matrix.indptr))
    absent = np.bincount(rows[np.isnan(matrix.data)], minlength=len(frame)) == frame.shape[1]
    return SparseRows(matrix, [str(name) for name in frame.columns], ~absent)


def _without_rows(matrix: Any, emptied: np.ndarray) -> Any:
    """A CSR matrix without the entries of some rows."""
    counts = np.diff(matrix.indptr)
    kept = np.repeat(~emptied, counts)
    ends = np.concatenate([[0], np.cumsum(np.where(emptied, 0, counts))])
    return type(matrix)((matrix.data[kept], matrix.indices[kept], ends), shape=matrix.shape)


def is_sparse_zero(dtype: Any) -> bool:
    """Whether columns of this type are pandas' sparse ones of numbers, whose other entries are 0."""
    if not isinstance(dtype, pd.SparseDtype) or dtype.subtype.kind not in "fiub":
        return False
    return bool(dtype.fill_value == 0)
