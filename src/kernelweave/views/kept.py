"""`KeptColumns`: the few columns of X that a fitted model still reads, at the positions they had in the whole X.

One block per type of column, so that text stays beside numbers and no column is stored twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp


@dataclass(frozen=True)
class KeptColumns:
    """Some columns of a table of `n_features` columns, in blocks of one type.

    Attributes
    ----------
    n_samples, n_features : int
        Shape of the table that these columns are of.
    blocks : list of (ndarray of int, ndarray of shape (n_samples, n_columns))
        Positions of columns, ascending, and their values, contiguous by rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.views.kept import kept_columns
    >>> kept = kept_columns(np.arange(8.0).reshape(2, 4), np.array([1, 3]))
    >>> kept.shape, kept.take(np.array([3]))
    ((2, 4), array([[3.],
           [7.]]))
    """

    n_samples: int
    n_features: int
    blocks: list[tuple[np.ndarray, np.ndarray]]

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the table."""
        return self.n_samples, self.n_features

    def rows(self, index: np.ndarray | slice) -> KeptColumns:
        """These samples only."""
        blocks = [(columns, np.ascontiguousarray(values[index])) for columns, values in self.blocks]
        return KeptColumns(len(np.arange(self.n_samples)[index]), self.n_features, blocks)

    def select(self, columns: np.ndarray) -> KeptColumns:
        """The table of these columns, in this order; what was not kept cannot be read there either."""
        blocks = []
        for positions, values in self.blocks:
            places = np.flatnonzero(np.isin(columns, positions))
            chosen = np.searchsorted(positions, columns[places])
            blocks.append((places, np.ascontiguousarray(values[:, chosen])))
        return KeptColumns(self.n_samples, len(columns), blocks)

    def take(self, columns: np.ndarray) -> np.ndarray:
        """These columns as one array: a block, or objects where a view mixes types that share no block."""
        for positions, values in self.blocks:
            if np.isin(columns, positions).all():
                return take_columns(values, np.searchsorted(positions, columns))
        singles = [self._column(position) for position in columns]
        if any(column.dtype.kind == "O" for column in singles):
            singles = [column.astype(object) for column in singles]
        return np.ascontiguousarray(np.stack(singles, axis=1))

    def _column(self, position: int) -> np.ndarray:
        for positions, values in self.blocks:
            if position in positions:
                return values[:, np.searchsorted(positions, position)]
        raise ValueError(f"column {position} was not kept: no kernel of the fitted model uses it")


def kept_columns(X: Any, columns: np.ndarray) -> KeptColumns | sp.csr_matrix:
    """The table X with these columns only, at their old positions; a sparse X with the others empty."""
    columns = np.unique(columns).astype(int)
    if sp.issparse(X):
        return _kept_sparse(X, columns)
    if isinstance(X, KeptColumns):
        arrays = {int(position): X._column(position) for position in columns}
    elif isinstance(X, pd.DataFrame) and (X.dtypes.iloc[columns] != np.float64).any():
        arrays = {int(position): _plain(X.iloc[:, position]) for position in columns}
    elif len(columns) == 0:
        arrays = {}
    else:
        values = X.iloc[:, columns].to_numpy() if isinstance(X, pd.DataFrame) else take_columns(X, columns)
        return KeptColumns(X.shape[0], X.shape[1], [(columns, np.array(values, order="C"))])
    by_type: dict[np.dtype, list[int]] = {}
    for position, array in arrays.items():
        by_type.setdefault(array.dtype, []).append(position)
    blocks = [
        (np.array(positions), np.ascontiguousarray(np.stack([arrays[position] for position in positions], axis=1)))
        for positions in by_type.values()
    ]
    return KeptColumns(X.shape[0], X.shape[1], blocks)


def take_columns(X: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """These columns of an array, without a copy where they are adjacent."""
    if np.array_equal(columns, np.arange(columns[0], columns[0] + len(columns))):
        return X[:, columns[0] : columns[0] + len(columns)]
    return X[:, columns]


def _plain(column: pd.Series) -> np.ndarray:
    """A column of a data frame as numbers or, with None where it is missing, as objects."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        return column.to_numpy()
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    values = column.to_numpy().astype(object)
    values[pd.isna(values)] = None
    return values


def _kept_sparse(X: sp.csr_matrix, columns: np.ndarray) -> sp.csr_matrix:
    if len(columns) == X.shape[1]:
        return X
    used = np.zeros(X.shape[1], dtype=bool)
    used[columns] = True
    kept = used[X.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr].astype(X.indptr.dtype)
    return type(X)((X.data[kept], X.indices[kept], ends), shape=X.shape)
