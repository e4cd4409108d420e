"""`KeptColumns`: the few columns of X that a fitted model still reads, at the positions they had in the whole X.

One block per type of column, so that text stays beside numbers and no column is stored twice. Sparse views stay sparse,
in blocks of their own; a data frame that has some is taken apart in this way as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..validation.columns import SEPARATOR
from ..validation.inputs import is_date
from .sparse_rows import SparseRowsDtype, from_pandas, is_sparse_zero

SMALL = 10**6  # cells of a data frame that may be held as one array, too


@dataclass(frozen=True)
class KeptColumns:
    """Some columns of a table of `n_features` columns, in blocks of one type.

    Attributes
    ----------
    n_samples, n_features : int
        Shape of the table that these columns are of.
    blocks : list of (ndarray of int, ndarray of shape (n_samples, n_columns))
        Positions of columns, ascending, and their values, contiguous by rows.
    sparse : list of (ndarray of int, CSR matrix, ndarray of bool of shape (n_samples,)), or None
        Positions of the columns of a sparse view, ascending, their values, and which samples have the view.

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
    sparse: list[tuple[np.ndarray, Any, np.ndarray]] | None = None

    def __post_init__(self) -> None:
        # The class has None: files of models without sparse views have no such field.
        if self.sparse is None:
            object.__delattr__(self, "sparse")

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the table."""
        return self.n_samples, self.n_features

    def rows(self, index: np.ndarray | slice) -> KeptColumns:
        """These samples only."""
        blocks = [(columns, np.ascontiguousarray(values[index])) for columns, values in self.blocks]
        sparse = [(columns, values[index], present[index]) for columns, values, present in self.sparse or ()]
        return KeptColumns(len(np.arange(self.n_samples)[index]), self.n_features, blocks, sparse or None)

    def select(self, columns: np.ndarray) -> KeptColumns:
        """The table of these columns, in this order; what was not kept cannot be read there either."""
        blocks, sparse = [], []
        for positions, values in self.blocks:
            places, chosen = _chosen(columns, positions)
            blocks.append((places, np.ascontiguousarray(values[:, chosen])))
        for positions, values, present in self.sparse or ():
            places, chosen = _chosen(columns, positions)
            if len(places):
                sparse.append((places, values[:, chosen], present))
        return KeptColumns(self.n_samples, len(columns), blocks, sparse or None)

    def keep(self, columns: np.ndarray) -> KeptColumns:
        """A copy in which only these columns, ascending, can be read, at the positions that they have here."""
        chosen = self.select(columns)
        blocks = [(columns[places], values) for places, values in chosen.blocks if len(places)]
        sparse = [(columns[places], values, present) for places, values, present in chosen.sparse or ()]
        return KeptColumns(self.n_samples, self.n_features, blocks, sparse or None)

    def followed_by(self, other: KeptColumns) -> KeptColumns:
        """These samples and then those of another table, whose columns are of the same types."""
        if not np.array_equal(self.sparse_positions(), other.sparse_positions()):
            raise ValueError("samples of which some are sparse and others are not cannot follow one another")
        dense = [int(position) for positions, _ in self.blocks for position in positions]
        arrays = {position: np.concatenate([self._column(position), other._column(position)]) for position in dense}
        sparse = []
        for positions, values, present in self.sparse or ():
            rest, there = other.take_sparse(positions)
            present = np.concatenate([present, there.all(axis=1)])
            sparse.append((positions, sp.vstack([values, rest], format="csr"), present))
        return KeptColumns(self.n_samples + other.n_samples, self.n_features, _blocks_by_type(arrays), sparse or None)

    def sparse_positions(self) -> np.ndarray:
        """Positions of the columns of sparse views, ascending."""
        return np.sort(np.concatenate([np.empty(0, dtype=int), *(positions for positions, _, _ in self.sparse or ())]))

    def take_sparse(self, columns: np.ndarray) -> tuple[Any, np.ndarray]:
        """Columns of sparse views as one CSR matrix, and which samples have which: of shape (n_samples, n_views)."""
        parts, places, present = [], [], []
        for positions, values, there in self.sparse or ():
            own, chosen = _chosen(columns, positions)
            if len(own):
                parts.append(values if len(chosen) == len(positions) and _is_range(chosen) else values[:, chosen])
                places.append(own)
                present.append(there)
        if len(parts) == 1:
            return parts[0], present[0][:, None]
        order = np.argsort(np.concatenate(places))
        return sp.hstack(parts, format="csr")[:, order], np.stack(present, axis=1)

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
        return X.keep(columns)
    if len(columns) == 0:
        return KeptColumns(X.shape[0], X.shape[1], [])
    if isinstance(X, pd.DataFrame) and (X.dtypes.iloc[columns] != np.float64).any():
        arrays = {int(position): _plain(X.iloc[:, position]) for position in columns}
        return KeptColumns(X.shape[0], X.shape[1], _blocks_by_type(arrays))
    values = X.iloc[:, columns].to_numpy() if isinstance(X, pd.DataFrame) else take_columns(X, columns)
    return KeptColumns(X.shape[0], X.shape[1], [(columns, np.array(values, order="C"))])


def has_sparse_views(X: pd.DataFrame) -> bool:
    """Whether a data frame has columns that are to be read as sparse ones."""
    return any(isinstance(dtype, SparseRowsDtype) or is_sparse_zero(dtype) for dtype in set(X.dtypes))


def taken_apart(X: pd.DataFrame) -> tuple[KeptColumns, list[str], dict[int, Any]]:
    """A data frame with sparse views as a table of all features, their names, and the types of dense ones by position.

    A column of sparse rows is as many features as they have, named ``view__feature``; pandas' own sparse columns are
    gathered by view.
    """
    names: list[Any] = []
    arrays: dict[int, np.ndarray] = {}
    gathered: dict[str, list[tuple[int, int]]] = {}
    sparse, dtypes = [], {}
    for place, (name, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
        start = len(names)
        if isinstance(dtype, SparseRowsDtype):
            rows: Any = X.iloc[:, place].array
            names += [f"{name}{SEPARATOR}{feature}" for feature in dtype.features]
            sparse.append((np.arange(start, len(names)), rows.matrix, rows.present))
            continue
        names.append(name)
        if is_sparse_zero(dtype):
            gathered.setdefault(str(name).partition(SEPARATOR)[0], []).append((start, place))
        else:
            arrays[start], dtypes[start] = _plain(X.iloc[:, place]), dtype
    for pairs in gathered.values():
        positions, places = np.array(pairs).T
        rows = from_pandas(X.iloc[:, places])
        sparse.append((positions, rows.matrix, rows.present))
    return KeptColumns(len(X), len(names), _blocks_by_type(arrays), sparse or None), names, dtypes


def _blocks_by_type(arrays: dict[int, np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Columns by position, as one block for each type."""
    by_type: dict[np.dtype, list[int]] = {}
    for position, array in arrays.items():
        by_type.setdefault(array.dtype, []).append(position)
    return [
        (np.array(positions), np.ascontiguousarray(np.stack([arrays[position] for position in positions], axis=1)))
        for positions in by_type.values()
    ]


def _chosen(columns: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of some columns are at these positions, ascending, and at which of them."""
    places = np.flatnonzero(np.isin(columns, positions))
    return places, np.searchsorted(positions, columns[places])


def _is_range(chosen: np.ndarray) -> bool:
    return np.array_equal(chosen, np.arange(len(chosen)))


def take_columns(X: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """These columns of an array, without a copy where they are adjacent."""
    if np.array_equal(columns, np.arange(columns[0], columns[0] + len(columns))):
        return X[:, columns[0] : columns[0] + len(columns)]
    return X[:, columns]


def small_array(X: Any) -> Any:
    """A small data frame of numbers as one array, and any other X as it is.

    It takes ten times as long to take columns of a data frame as of an array.
    """
    if not isinstance(X, pd.DataFrame) or X.size > SMALL:
        return X
    is_plain = all(isinstance(dtype, np.dtype) and dtype.kind in "fiu" for dtype in X.dtypes)
    return X.to_numpy() if is_plain else X


def as_numbers(values: np.ndarray) -> np.ndarray | None:
    """An object array as float64, or None where an entry is no number (text that spells one and dates included)."""
    if values.dtype.kind != "O" or any(isinstance(entry, str | bytes) or is_date(entry) for entry in values.flat):
        return None
    try:
        return np.where(pd.isna(values), np.nan, values).astype(np.float64)
    except (TypeError, ValueError):
        return None


def is_number(entry: Any) -> bool:
    """Whether an entry of an object array is a number, or stands for a missing one."""
    return (isinstance(entry, Real) and not is_date(entry)) or entry is None or entry is pd.NA


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
