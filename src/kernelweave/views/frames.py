"""Data frames of views: `stack_views` puts views side by side, and `KeptColumns` takes a frame apart again.

`SparseRows` is a sparse view as one column of a data frame, each cell the row of a CSR matrix, or missing. pandas' own
sparse columns are one array per feature: taking 1600 of 2000 rows of 20000 features takes ten seconds, where one CSR
matrix takes milliseconds. As one column the view is split, matched by label and concatenated like any other.

`KeptColumns` has the few columns of X that a fitted model still reads, at the positions they had in the whole X: one
block per type of column, so that text stays beside numbers and no column is stored twice. Sparse views stay sparse, in
blocks of their own; a data frame that has some is taken apart in this way as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, overload

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.extensions import ExtensionArray, ExtensionDtype

from .._warnings import warn
from ..validation.columns import SEPARATOR, check_unique_columns
from ..validation.inputs import as_pandas, check_unmasked, is_date, without_mask
from ..validation.schemas import (
    Schema,
    Sizes,
    array,
    csr,
    indices,
    is_entry,
    maybe,
    optional,
    refuse,
    several,
    size,
    together,
)
from .alike import difference


@dataclass(frozen=True, eq=False)
class SparseRow:
    positions: np.ndarray
    values: np.ndarray

    def __repr__(self) -> str:
        return f"<{len(self.values)} entries>"


class SparseRowsDtype(ExtensionDtype):
    """The type of a column of sparse rows: the same for columns of the same features, whose names are unique."""

    type = SparseRow
    na_value = np.nan
    _metadata = ("features",)

    def __init__(self, features: pd.Index):
        self.features = features

    @property
    def name(self) -> str:
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
        return SparseRows

    @classmethod
    def construct_from_string(cls, string: str) -> SparseRowsDtype:
        raise TypeError(f"Cannot construct a '{cls.__name__}' from '{string}'")


class SparseRows(ExtensionArray):
    """A column whose cells are the rows of a sparse matrix; `stack_views` makes them.

    Features are numbered from 0 where they have no names. Rows of samples that lack the view are emptied.
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
        return self._dtype

    @property
    def nbytes(self) -> int:
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
        return ~self.present

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> SparseRows:
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
        return self._like(self.matrix.copy(), self.present.copy())

    def select(self, indexer: np.ndarray) -> SparseRows:
        """These features, in this order; an empty one where the position is -1."""
        names = np.where(indexer < 0, "", np.asarray(self.dtype.features, dtype=object)[indexer])
        if (indexer >= 0).all():
            return SparseRows(self.matrix[:, indexer], names, self.present)
        # -1 takes an empty column, which is appended.
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
    counts = np.diff(matrix.indptr)
    kept = np.repeat(~emptied, counts)
    ends = np.concatenate([[0], np.cumsum(np.where(emptied, 0, counts))])
    return type(matrix)((matrix.data[kept], matrix.indices[kept], ends), shape=matrix.shape)


def is_sparse_zero(dtype: Any) -> bool:
    """Whether columns of this type are pandas' sparse ones of numbers, whose other entries are 0."""
    if not isinstance(dtype, pd.SparseDtype) or dtype.subtype.kind not in "fiub":
        return False
    return bool(dtype.fill_value == 0)


SMALL = 10**6  # cells of a data frame that may be held as one array, too
_CHUNK = 1024  # columns that are copied at a time


@dataclass(frozen=True)
class KeptColumns:
    """Some columns of a table of shape (n_samples, n_features), in blocks of one type.

    `blocks` are pairs of column positions and values; `sparse` are triples of the positions of the columns of a sparse
    view, their CSR matrix, and which samples have the view. Positions are ascending.
    """

    n_samples: int
    n_features: int
    blocks: list[tuple[np.ndarray, np.ndarray]]
    sparse: list[tuple[np.ndarray, Any, np.ndarray]] | None = None

    _saved = Schema(
        {
            "n_samples": size("samples"),
            "n_features": size("columns"),
            "blocks": several(
                together(
                    indices("block", below="columns", ascending=True),
                    array("fiubO", "samples", "block", nan=True),
                ),
                own=("block",),
            ),
            "sparse": optional(
                maybe(
                    several(
                        together(
                            indices("block", below="columns", ascending=True),
                            csr("samples", "block"),
                            array("b", "samples"),
                        ),
                        own=("block",),
                    )
                )
            ),
        }
    )

    def __post_init__(self) -> None:
        # The class has None: files of models without sparse views have no such field.
        if self.sparse is None:
            object.__delattr__(self, "sparse")

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_samples, self.n_features

    def rows(self, index: np.ndarray | slice) -> KeptColumns:
        blocks = [(columns, np.ascontiguousarray(values[index])) for columns, values in self.blocks]
        sparse = [(columns, values[index], present[index]) for columns, values, present in self.sparse or ()]
        return KeptColumns(len(np.arange(self.n_samples)[index]), self.n_features, blocks, sparse or None)

    def select(self, columns: np.ndarray) -> KeptColumns:
        """The table of these columns, in this order; columns that were dropped before cannot be read there either."""
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
        return np.sort(np.concatenate([np.empty(0, dtype=int), *(positions for positions, _, _ in self.sparse or ())]))

    def take_sparse(self, columns: np.ndarray) -> tuple[Any, np.ndarray]:
        """Columns of sparse views as one CSR matrix, and which samples have which: of shape (n_samples, n_views)."""
        parts, places, present = [], [], []
        for positions, values, there in self.sparse or ():
            own, chosen = _chosen(columns, positions)
            if len(own):
                parts.append(values if np.array_equal(chosen, np.arange(len(positions))) else values[:, chosen])
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
        kept = [positions for positions, _ in self.blocks]
        absent = np.setdiff1d(columns, np.concatenate([np.empty(0, dtype=int), *kept]))
        if len(absent):
            raise ValueError(f"column {absent[0]} was not kept: no kernel of the fitted model uses it")
        parts = [(*_chosen(columns, positions), values) for positions, values in self.blocks]
        parts = [part for part in parts if len(part[0])]
        is_object = any(values.dtype.kind == "O" for *_, values in parts)
        dtype = np.dtype(object) if is_object else np.result_type(*(values.dtype for *_, values in parts))
        table = np.empty((self.n_samples, len(columns)), dtype=dtype)
        for places, chosen, values in parts:
            table[:, places] = values[:, chosen]
        return table

    def _column(self, position: int) -> np.ndarray:
        for positions, values in self.blocks:
            if position in positions:
                return values[:, np.searchsorted(positions, position)]
        raise ValueError(f"column {position} was not kept: no kernel of the fitted model uses it")

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """No column is in two blocks, and samples that lack a view have no entries there."""
        blocks = [columns for columns, *_ in [*self.blocks, *(self.sparse or [])]]
        seen = np.concatenate([np.empty(0, dtype=int), *blocks])
        if len(np.unique(seen)) < len(seen):
            refuse(f"{path}.blocks", "hold columns twice")
        for place, (_, values, present) in enumerate(self.sparse or []):
            if np.diff(values.indptr)[~present].any():
                refuse(f"{path}.sparse[{place}]", "has entries of samples that lack the view")
        for place, (_, values) in enumerate(self.blocks):
            if values.dtype.kind == "O" and not all(is_entry(entry) for entry in values.ravel()):
                refuse(f"{path}.blocks[{place}]", "holds what is neither text nor a number")


def kept_columns(X: Any, columns: np.ndarray, rows: np.ndarray | slice) -> KeptColumns | sp.csr_matrix:
    """A copy of these columns of some samples."""
    columns = np.unique(columns).astype(int)
    if sp.issparse(X):
        return _kept_sparse(X[rows], columns)
    if isinstance(X, KeptColumns):
        return X.keep(columns).rows(rows)
    n_samples, n_features = len(np.arange(X.shape[0])[rows]), X.shape[1]
    if len(columns) == 0:
        return KeptColumns(n_samples, n_features, [])
    groups = [columns]
    if isinstance(X, pd.DataFrame):
        dtypes = X.dtypes.iloc[columns].tolist()
        kinds = list(dict.fromkeys(dtypes))
        if not all(isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in kinds):
            part = X.iloc[rows, columns]
            arrays = {int(position): _plain(part.iloc[:, place]) for place, position in enumerate(columns)}
            return KeptColumns(n_samples, n_features, _blocks_by_type(arrays))
        groups = [columns[[own == dtype for own in dtypes]] for dtype in kinds]
    return KeptColumns(n_samples, n_features, [(own, _copied(X, own, rows)) for own in groups])


def _copied(X: Any, columns: np.ndarray, rows: np.ndarray | slice) -> np.ndarray:
    """These columns of some samples, row by row in memory; a few columns at a time, of which views can be taken."""
    parts = [columns[first : first + _CHUNK] for first in range(0, len(columns), _CHUNK)]
    first = take_columns(X, parts[0])
    values = np.empty((len(np.arange(len(first))[rows]), len(columns)), dtype=first.dtype)
    for place, part in enumerate(parts):
        values[:, place * _CHUNK : place * _CHUNK + len(part)] = take_columns(X, part)[rows]
    return values


def has_sparse_views(X: pd.DataFrame) -> bool:
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
    by_type: dict[np.dtype, list[int]] = {}
    for position, values in arrays.items():
        by_type.setdefault(values.dtype, []).append(position)
    return [
        (np.array(positions), np.ascontiguousarray(np.stack([arrays[position] for position in positions], axis=1)))
        for positions in by_type.values()
    ]


def _chosen(columns: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of some columns are at these positions (ascending), and the index of each among the positions."""
    places = np.flatnonzero(np.isin(columns, positions))
    return places, np.searchsorted(positions, columns[places])


def take_columns(X: Any, columns: np.ndarray) -> np.ndarray:
    """These columns of a table as an array, without a copy where they are adjacent columns of one."""
    if isinstance(X, KeptColumns):
        return X.take(columns)
    chosen = adjacent(columns)
    return X.iloc[:, chosen].to_numpy() if isinstance(X, pd.DataFrame) else X[:, chosen]


def adjacent(columns: np.ndarray) -> np.ndarray | slice:
    """Positions of columns as a slice, with which nothing is copied, where they follow one another."""
    if len(columns) and np.array_equal(columns, np.arange(columns[0], columns[0] + len(columns))):
        return slice(int(columns[0]), int(columns[0]) + len(columns))
    return columns


def small_array(X: Any) -> Any:
    """A small data frame of numbers as one array, whose columns are taken ten times as fast; any other X as it is."""
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
    kept = np.isin(np.arange(X.shape[1]), columns)[X.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr].astype(X.indptr.dtype)
    return type(X)((X.data[kept], X.indices[kept], ends), shape=X.shape)


@dataclass(frozen=True)
class Labelled:
    """One description: how messages call it, the labels of its rows, and the names of its columns."""

    shown: str
    labels: pd.Index
    columns: pd.Index


@dataclass(frozen=True)
class Remedies:
    """What to do where labels are written differently (`alike`), and where samples are columns (`turned`)."""

    alike: str
    turned: str


def check_shared(views: Sequence[Labelled], remedies: Remedies) -> None:
    """Refuse views of which one shares no sample with the others where their labels look alike; else warn."""
    doubtful = []
    for view in views:
        others = [other for other in views if other is not view]
        if not others or any(shares(view.labels, other.labels) for other in others):
            continue
        near = [(other, difference(view.labels, other.labels)) for other in others]
        alike = [other for other, found in near if found is not None and found.is_spelling]
        turned = [other for other in others if shares(view.columns, other.labels)]
        other = [*turned, *alike, *others][0]
        start = f"{nothing_shared(view, other)}: {reason(view, other.labels, remedies)}"
        if alike or turned:
            raise ValueError(start)
        doubtful.append(start)
    if doubtful:
        warn(f"{doubtful[0]} (if no sample has both views, that is all right)")


def nothing_shared(view: Labelled, other: Labelled) -> str:
    return f"{view.shown} and {other.shown} have no sample in common"


def shares(some: pd.Index, others: pd.Index) -> bool:
    """Whether a label is among others: Python's equality, for labels of any types."""
    return not set(some).isdisjoint(others)


def reason(view: Labelled, others: pd.Index, remedies: Remedies) -> str:
    known = set(others)  # an index of dates would take the column "2020" for one of its labels
    turned = next((column for column in view.columns if column in known), None)
    if turned is not None:
        return f"samples are the columns of {view.shown}, such as {turned!r}, and should be its rows; {remedies.turned}"
    found = difference(view.labels, others)
    if found is None:
        return f"the first ids are {next(iter(view.labels))!r} and {next(iter(others))!r}; {remedies.alike}"
    one, other = found.pairs[0]
    start = f"their ids are written differently, {one!r} and {other!r}"
    return f"{start} ({len(found.pairs):,} of them differ only by {found.words}); {remedies.alike}"


def warn_of_near_labels(views: Sequence[Labelled], others: Sequence[Labelled], remedies: Remedies) -> None:
    """Warn where labels of a view would be those of another table if they were written alike."""
    for view in views:
        for other in others:
            if other is view:
                break
            found = difference(view.labels, other.labels)
            if found is not None and found.is_sure:
                sentence = found.sentence(view.shown, other.shown)
                warn(f"{sentence}: they count as different samples; if they are the same, {remedies.alike}")
                break


_REMEDIES = Remedies(
    alike="write the row labels alike, such as by view.set_axis(view.index.astype(str))",
    turned="transpose it (view.T)",
)


@overload
def stack_views(views: Mapping[str, Any], y: None = None) -> pd.DataFrame: ...


@overload
def stack_views(views: Mapping[str, Any], y: Any) -> tuple[pd.DataFrame, pd.Series]: ...


def stack_views(views: Mapping[str, Any], y: Any = None) -> pd.DataFrame | tuple[pd.DataFrame, pd.Series]:
    """Put several descriptions of the same samples side by side in one data frame.

    Columns of a two-dimensional view are named ``view__0``, ``view__1``, ... (or ``view__column`` for a data frame); a
    one-dimensional view, such as a list of strings, is the one column ``view``. Kernels then select views by name.

    A sparse matrix, or a data frame of sparse columns, stays sparse: it is the one column ``view`` whose cells are
    sparse rows; models call its features ``view__0``, ``view__1``, ... (or ``view__column``).

    A model fitted on such a frame finds the columns of new frames by name, in any order; a view of which a new frame
    has no column is missing for all its samples.

    Parameters
    ----------
    views : mapping from name to array, data frame, series, list or sparse matrix
        All of the same length; masked entries of an array become NaN. Where every view is a series or data frame of
        pandas, rows are matched by index label, and samples that lack a view get NaN there (a missing view). A view
        that shares no label with the others is an error where labels look alike, such as 7 and "7", and a warning
        where they do not. Tables of polars and pyarrow, which have no labels, count as arrays.
    y : series, array or list, optional
        A target for each sample. A series is matched by label like a view; every sample must have a target, and every
        target a sample.

    Returns
    -------
    DataFrame of shape (n_samples, total number of columns)
        Or, where `y` is given, this data frame and the targets as a series with its row labels. The index has the name
        that the indices of labelled views have.

    Examples
    --------
    >>> from kernelweave import stack_views
    >>> stack_views({"size": [[1.0, 2.0], [3.0, 4.0]], "word": ["ab", "ba"]})
       size__0  size__1 word
    0      1.0      2.0   ab
    1      3.0      4.0   ba

    Rows are matched by label where there are labels:

    >>> import pandas as pd
    >>> size = pd.DataFrame({"height": [1.8, 1.6]}, index=["ann", "bob"])
    >>> X, y = stack_views({"size": size}, y=pd.Series([0, 1], index=["bob", "ann"]))
    >>> X.assign(y=y)
         size__height  y
    ann           1.8  1
    bob           1.6  0

    Sparse views stay sparse:

    >>> import scipy.sparse as sp
    >>> stack_views({"size": [1.8, 1.6], "words": sp.csr_array([[0, 0, 1], [2, 0, 1]])})
       size         words
    0   1.8  <1 entries>
    1   1.6  <2 entries>
    """
    if not isinstance(views, Mapping) or not views:
        raise ValueError("stack_views needs a mapping from view names to arrays with at least one view")
    for name in views:
        if not isinstance(name, str) or not name:
            raise ValueError(f"view names must be non-empty strings, not {name!r}")
        if SEPARATOR in name:
            raise ValueError(f"the view name {name!r} contains {SEPARATOR!r}, which separates a view from its columns")
    frames = {f"view {name!r}": _frame(name, values) for name, values in views.items()}
    if y is not None:
        frames["y"] = _target(y)
    given = [*views.values()] + ([] if y is None else [y])
    labelled = {
        name: frame.index
        for (name, frame), values in zip(frames.items(), given, strict=True)
        if isinstance(values, pd.DataFrame | pd.Series)
    }
    if len(labelled) < len(frames):
        index = _common_index(frames, labelled)
        frames = {name: frame.set_axis(index) for name, frame in frames.items()}
    elif any(not index.equals(frame.index) for index in labelled.values() for frame in frames.values()):
        for name, index in labelled.items():
            if not index.is_unique:
                raise ValueError(f"{name} has repeated row labels, so its rows cannot be matched by label")
        _check_shared(views, labelled)
    target = frames.pop("y", None)
    X = pd.concat(frames.values(), axis=1, sort=False)
    index_names = {index.name for index in labelled.values() if index.nlevels == 1 and index.name is not None}
    if X.index.nlevels == 1:
        X.index = X.index.rename(index_names.pop() if len(index_names) == 1 else None)
    return X if target is None else (X, _matched(target, X.index).set_axis(X.index))


def _frame(name: str, values: Any) -> pd.DataFrame:
    if sp.issparse(values):
        if values.ndim != 2:
            raise ValueError(f"the sparse view {name!r} must have two dimensions, not {values.ndim}")
        return pd.DataFrame({name: SparseRows(values)})
    values = as_pandas(values, f"views[{name!r}]")
    if isinstance(values, pd.Series):
        return values.to_frame(name)
    if isinstance(values, pd.DataFrame):
        check_unique_columns(values.columns, f"the view {name!r}")
        if values.shape[1] and all(is_sparse_zero(dtype) for dtype in set(values.dtypes)):
            return pd.DataFrame({name: from_pandas(values)}, index=values.index)
        return values.set_axis([f"{name}{SEPARATOR}{column}" for column in values.columns], axis=1)
    values = without_mask(values)
    array = np.asarray(values)
    if array.dtype.kind in "US":
        array = np.asarray(values, dtype=object)
    if array.ndim == 1:
        return pd.DataFrame({name: array})
    if array.ndim == 2:
        return pd.DataFrame(array, columns=[f"{name}{SEPARATOR}{j}" for j in range(array.shape[1])])
    raise ValueError(f"view {name!r} must have one or two dimensions, not {array.ndim}")


def _target(y: Any) -> pd.Series:
    y = as_pandas(y, "y")
    if isinstance(y, pd.Series):
        return y
    if np.ndim(y) != 1:
        raise ValueError(f"y must have one dimension, a target for each sample, not {np.ndim(y)}")
    check_unmasked(y, "y")
    return pd.Series(y)


def _matched(y: pd.Series, index: pd.Index) -> pd.Series:
    if y.index.equals(index):
        return y
    for some, others, problem in ((index, y.index, "has no target in y"), (y.index, index, "has a target but no view")):
        alone = some[~some.isin(others)]
        if len(alone):
            raise ValueError(
                f"sample {alone[0]!r} {problem} ({len(alone)} such samples); leave them out, for example by "
                "view.loc[view.index.isin(y.index)] and y.loc[y.index.isin(view.index)]"
            )
    return y.loc[index]


def _common_index(frames: dict[str, pd.DataFrame], labelled: dict[str, pd.Index]) -> pd.Index:
    """The rows' labels where some views are plain arrays, which follow the order of the others."""
    lengths = {name: len(frame) for name, frame in frames.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            "the views have different numbers of samples: "
            + ", ".join(f"{name} has {length}" for name, length in lengths.items())
        )
    if not labelled:
        return next(iter(frames.values())).index
    first, index = next(iter(labelled.items()))
    for name, other in labelled.items():
        if not other.equals(index):
            raise ValueError(
                f"{first} and {name} have different row labels; give all of them with labels, as data frames or series "
                "(rows are then matched by label), or all as arrays in the same order"
            )
    return index


def _check_shared(views: Mapping[str, Any], labelled: dict[str, pd.Index]) -> None:
    given = []
    for (shown, index), values in zip(labelled.items(), [*views.values(), None], strict=False):
        # Names of columns may be ids of samples, but the numbers that pandas counts columns by are not.
        named = isinstance(values, pd.DataFrame) and not isinstance(values.columns, pd.RangeIndex)
        if len(index):
            given.append(Labelled(shown, index, values.columns if named else pd.Index([])))
    for view in given:
        if given[-1].shown == "y" and not shares(view.labels, given[-1].labels):
            target = given[-1]
            raise ValueError(f"{nothing_shared(view, target)}: {reason(view, target.labels, _REMEDIES)}")
    check_shared([view for view in given if view.shown != "y"], _REMEDIES)
