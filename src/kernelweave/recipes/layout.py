"""`TableLayout`: which columns of X a model reads, view by view, and X as a table that transformers take.

That table has the columns that are not left out, each with one type: numbers are float64, categories and documents are
text, sparse views are columns of sparse rows, and ids of similarity matrices are as they were given. Numbers x of views
that are to be taken so are log(1 + x). Columns are named ``view__column``, also where those of X have no such names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..validation import shown
from ..validation.columns import SEPARATOR, alike, feature_names, has_sparse_rows, quoted
from ..validation.inputs import spelled_number
from ..validation.schemas import (
    Schema,
    Sizes,
    flag,
    indices,
    maybe,
    numbers,
    object_of,
    one_of,
    optional,
    refuse,
    several,
    text,
)
from ..views import Views
from ..views.frames import KeptColumns, SparseRows, adjacent, take_columns
from .kinds import CATEGORY, LEFT_OUT, NUMBER, SIMILARITY, TEXT, extremes, number_as_text

LARGEST = 1e100  # beyond which squares of numbers, and sums of them, overflow
_FEWEST_COUNTED = 20  # columns of a table that is not sparse, to have counts

NUMBERS, COUNTS, PARTS = "numbers", "counts", "parts"  # what a view of numbers holds; parts: not negative, mostly 0


@dataclass(frozen=True, eq=False)
class ViewColumns:
    name: str
    # where the columns are among the features of X; a sparse view has a feature for each of its columns
    positions: np.ndarray
    names: list[str]  # what the columns are called in the table
    kinds: list[str]  # "number", "category" or "text" for each column, or "similarity"
    is_sparse: bool = False  # whether the view is one column of sparse rows in the table
    # (n_columns,): of a view of numbers without gaps: the means, which fill gaps of new samples
    means: np.ndarray | None = None
    is_log: bool = False  # whether each of its numbers x is taken as log(1 + x)
    from_sparse: bool = False  # whether it is a sparse view whose columns stand in the table one by one, beside others

    _saved = Schema(
        {
            "name": text,
            "positions": indices("own", below="columns", filled=True),
            "names": several(text, "own"),
            "kinds": several(one_of(NUMBER, CATEGORY, TEXT, SIMILARITY), "own"),
            "is_sparse": flag,
            "means": maybe(numbers("own")),
            "is_log": optional(flag),
            "from_sparse": optional(flag),
        }
    )

    @property
    def is_matrix(self) -> bool:
        return self.kinds == [SIMILARITY]

    def places(self, kind: str) -> list[int]:
        return [place for place, own in enumerate(self.kinds) if own == kind]

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """A similarity matrix is one column, a sparse view has numbers only, and no column is there twice."""
        if SIMILARITY in self.kinds and not self.is_matrix:
            refuse(f"{path}.kinds", "has ids beside columns")
        if self.is_sparse and set(self.kinds) != {NUMBER}:
            refuse(f"{path}.kinds", "has a sparse view that is not of numbers")
        if len(set(self.names)) < len(self.names) or len(set(self.positions.tolist())) < len(self.positions):
            refuse(path, "has a column twice")


@dataclass(frozen=True, eq=False)
class TableLayout:
    views: list[ViewColumns]
    # whether one transformer reads the columns of all views together: documents of samples that lack a view are then
    # empty, and so are their sparse rows
    joined: bool = False

    _saved = Schema({"views": several(object_of(ViewColumns, "columns")), "joined": flag})

    @classmethod
    def of(cls, X: pd.DataFrame, kinds: pd.DataFrame, log: Collection[str] = ()) -> TableLayout:
        """The views of X; numbers of those that `log` names are taken as log(1 + x)."""
        widths = [len(getattr(dtype, "features", "1")) for dtype in X.dtypes]
        starts = np.concatenate([[0], np.cumsum(widths)])
        groups: dict[str, list[int]] = {}
        for place, (view, kind) in enumerate(zip(kinds["view"], kinds["kind"], strict=True)):
            if kind != LEFT_OUT:
                groups.setdefault(view, []).append(place)
        taken: set[str] = set()
        found, columns = list(kinds["kind"]), X.columns.tolist()
        views = [_view(X, columns, view, places, found, starts, taken) for view, places in groups.items()]
        return cls([replace(view, is_log=view.name in log) for view in views])

    def only(self, names: Collection[str], *, joined: bool = False) -> TableLayout:
        views = [view for view in self.views if view.name in names]
        if joined and any(view.is_sparse for view in views) and not all(view.is_sparse for view in views):
            views = [_dense(view) for view in views]
        return TableLayout(views, joined)

    def with_means(self, table: pd.DataFrame) -> TableLayout:
        """The same with the means of the views of numbers that have no gaps in this table, unless they are joined."""
        return self if self.joined else TableLayout([_with_means(view, table) for view in self.views])

    @property
    def names(self) -> list[str]:
        return [view.name for view in self.views]

    def used(self) -> np.ndarray:
        return np.sort(np.concatenate([np.empty(0, dtype=int), *(view.positions for view in self.views)]))

    def with_gaps(self, X: Any, names: np.ndarray | None) -> tuple[Any, str | None]:
        """X with the columns that a view lacks beside others, missing for all samples, and a sentence about them.

        Sparse views, and those of which X lacks more than half or may have a column by another name, stay as they are.
        """
        if names is None or not isinstance(X, pd.DataFrame):
            return X, None
        given = feature_names(X)
        there, known = set(given), set(names)
        unknown = [name for name in given if name not in known]
        by_prefix = any(SEPARATOR in name for name in names)
        if not by_prefix and given != [name for name in names if name in there]:
            return X, None  # names without views are those of the fit, in their order
        sparse = {name for name, dtype in zip(X.columns, X.dtypes, strict=True) if hasattr(dtype, "features")}
        lacking = {}
        for view in self.views:
            absent = [name for name in names[view.positions] if name not in there]
            is_open = not (view.is_sparse or view.is_matrix or view.name in sparse)
            if not is_open or not 0 < 2 * len(absent) <= len(view.names):
                continue
            if not any(alike(name, unknown) for name in absent):
                lacking[view] = absent
        if not lacking:
            return X, None
        gaps = pd.DataFrame(np.nan, index=X.index, columns=[name for own in lacking.values() for name in own])
        X = pd.concat([X, gaps], axis=1) if by_prefix else X.reindex(columns=list(names))
        parts = [
            f"{len(own)} of {len(view.names)} columns of the view {view.name!r} ({quoted(own)})"
            for view, own in lacking.items()
        ]
        return X, (
            f"X lacks {' and '.join(parts)}: missing for all samples, and filled in as gaps of the training samples are"
        )

    def table(self, X: Any) -> tuple[pd.DataFrame, np.ndarray]:
        """The table of some samples, and which sample has which view, of shape (n_samples, n_views)."""
        index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(X.shape[0])
        views = Views(X) if sp.issparse(X) or (isinstance(X, pd.DataFrame) and has_sparse_rows(X)) else None
        source = X if views is None else views.X
        parts = [self._part(source, view, index) for view in self.views]
        present = np.column_stack([*(own for _, own in parts), np.zeros((len(index), 0), dtype=bool)])
        if not parts:
            return pd.DataFrame(index=index), present
        return pd.concat([part for part, _ in parts], axis=1), present

    def _part(self, X: Any, view: ViewColumns, index: pd.Index) -> tuple[pd.DataFrame, np.ndarray]:
        if view.is_sparse:
            rows = _sparse_rows(X, view)
            present = rows.present
            if self.joined:
                rows = SparseRows(rows.matrix, rows.dtype.features)
            return pd.DataFrame({view.name: rows}, index=index), present
        if view.is_matrix:
            column = pd.Series(_column(X, int(view.positions[0])), index=index, name=view.name)
            return column.to_frame(), column.notna().to_numpy()
        if set(view.kinds) == {NUMBER}:
            values = _own_numbers(X, view, np.arange(len(view.names)), index)
            present = ~np.isnan(values).all(axis=1)
            if view.means is not None:
                values = np.where(np.isnan(values) & present[:, None], view.means, values)
            return pd.DataFrame(values, index=index, columns=view.names, copy=False), present
        part = self._mixed(X, view, index)
        present = part.notna().to_numpy().any(axis=1)
        for place in view.places(TEXT):
            if self.joined or len(view.kinds) > 1:
                empty = part.iloc[:, place].isna().to_numpy() & (self.joined | present)
                part.isetitem(place, part.iloc[:, place].mask(empty, ""))
        return part, present

    @staticmethod
    def _mixed(X: Any, view: ViewColumns, index: pd.Index) -> pd.DataFrame:
        columns: dict[int, Any] = {}
        places = np.array(view.places(NUMBER), dtype=int)
        if len(places):
            values = _own_numbers(X, view, places, index)
            columns.update((place, values[:, number]) for number, place in enumerate(places.tolist()))
        for place in [*view.places(CATEGORY), *view.places(TEXT)]:
            cells = [number_as_text(value) for value in _column(X, int(view.positions[place]))]
            columns[place] = pd.Series(cells, index=index, dtype=object)
        frame = pd.DataFrame({place: columns[place] for place in range(len(view.kinds))}, index=index)
        return frame.set_axis(view.names, axis=1)

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        names = [name for view in self.views for name in ([view.name] if view.is_sparse else view.names)]
        if not self.views or len(set(self.names)) < len(self.views) or len(set(names)) < len(names):
            refuse(f"{path}.views", "are not there, or one of them is there twice")


def _view(
    X: pd.DataFrame,
    columns: Sequence[Any],
    view: str,
    places: Sequence[int],
    kinds: Sequence[str],
    starts: np.ndarray,
    taken: set[str],
) -> ViewColumns:
    own = [kinds[place] for place in places]
    if own == [SIMILARITY]:
        return ViewColumns(view, starts[places], [view], own)
    if SIMILARITY in own:
        raise ValueError(f"the similarity matrix {view!r} has the name of a view with columns; give it another name")
    features = getattr(X.dtypes.iloc[places[0]], "features", None)
    if features is not None:
        if len(places) > 1:
            raise ValueError(f"the sparse view {view!r} has the name of a view with columns; give it another name")
        positions = np.arange(starts[places[0]], starts[places[0] + 1])
        return ViewColumns(view, positions, [str(name) for name in features], [NUMBER] * len(features), True)
    names = []
    for place in places:
        column = str(columns[place])
        name = column if column.startswith(view + SEPARATOR) else f"{view}{SEPARATOR}{column}"
        names.append(_unique(name, taken))
    return ViewColumns(view, starts[places], names, own)


def _unique(name: str, taken: set[str]) -> str:
    candidate, count = name, 1
    while candidate in taken:
        count += 1
        candidate = f"{name}-{count}"
    taken.add(candidate)
    return candidate


def values_of(view: ViewColumns, table: pd.DataFrame) -> str:
    """What a view of numbers holds: counts, other numbers of which none is negative and most are 0, or any."""
    if view.is_sparse:
        return _of_sparse(table[view.name].array.matrix.data)
    if set(view.kinds) != {NUMBER}:
        return NUMBERS
    if view.means is not None or (len(view.names) < _FEWEST_COUNTED and not view.from_sparse):
        return NUMBERS
    if not view.from_sparse and (table[view.names[0]] % 1.0 != 0.0).sum() > table[view.names[0]].isna().sum():
        return NUMBERS  # the first column tells of most tables that they hold no counts
    values = table[view.names].to_numpy(dtype=np.float64)
    if view.from_sparse:
        return _of_sparse(values[np.isfinite(values)])
    return COUNTS if _are_counts(values) else NUMBERS


def _of_sparse(values: np.ndarray) -> str:
    if (values < 0).any():
        return NUMBERS
    return COUNTS if (values == np.round(values)).all() else PARTS


def _are_counts(values: np.ndarray) -> bool:
    known = values[~np.isnan(values)]
    others = known[known != 0.0]
    if not len(others) or 2 * len(others) >= len(known) or others.min() < 1.0 or not others.max() > 1.0:
        return False
    return bool((others == np.round(others)).all() and 2 * (others == 1.0).sum() > len(others))


def _with_means(view: ViewColumns, table: pd.DataFrame) -> ViewColumns:
    if view.is_sparse or set(view.kinds) != {NUMBER} or values_of(view, table) != NUMBERS:
        return view
    values = table[view.names].to_numpy(dtype=np.float64)
    missing = np.isnan(values)
    if missing.any():
        absent = missing.all(axis=1)
        if missing[~absent].any():
            return view
        values = values[~absent]
    return replace(view, means=values.mean(axis=0))


def _dense(view: ViewColumns) -> ViewColumns:
    if not view.is_sparse:
        return view
    names = [f"{view.name}{SEPARATOR}{name}" for name in view.names]
    return replace(view, names=names, is_sparse=False, from_sparse=True)


def _column(X: Any, position: int) -> np.ndarray:
    """One column, of any type, as objects where it is no plain number."""
    if isinstance(X, pd.DataFrame):
        column = X.iloc[:, position]
        return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.to_numpy(dtype=object)
    if isinstance(X, KeptColumns):
        if position in X.sparse_positions():
            return _from_sparse(X, np.array([position]))[:, 0]
        return X.take(np.array([position]))[:, 0]
    return X[:, position].toarray()[:, 0] if sp.issparse(X) else X[:, position]


def _from_sparse(X: KeptColumns, positions: np.ndarray) -> np.ndarray:
    values, there = X.take_sparse(positions)
    dense = values.toarray().astype(np.float64)
    dense[~there.all(axis=1)] = np.nan
    return dense


def _sparse_rows(X: Any, view: ViewColumns) -> SparseRows:
    """A sparse view, which may come as dense columns, or not at all (NaN)."""
    if sp.issparse(X):
        matrix, present = X[:, view.positions], None
    elif isinstance(X, KeptColumns) and np.isin(view.positions, X.sparse_positions()).all():
        matrix, there = X.take_sparse(view.positions)
        present = np.asarray(there.all(axis=1))
    else:
        index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(X.shape[0])
        values = _numbers(X, view.positions, view.names, index)
        present = np.asarray(~np.isnan(values).all(axis=1))
        matrix = sp.csr_matrix(np.where(present[:, None], values, 0.0))
    matrix = sp.csr_matrix(matrix, dtype=np.float64)
    wrong = ~np.isfinite(matrix.data) | (np.abs(matrix.data) > LARGEST)
    if wrong.any():
        raise ValueError(
            f"the sparse view {view.name!r} contains {_named(matrix.data[wrong][0])}; replace such values, or make the "
            "whole view missing for a sample that does not have it"
        )
    if view.is_log:
        matrix.data = _logarithms(matrix.data, view, lambda entry: view.names[matrix.indices[entry]])
    return SparseRows(matrix, view.names, present)


def _own_numbers(X: Any, view: ViewColumns, places: np.ndarray, index: pd.Index) -> np.ndarray:
    names = [view.names[place] for place in places]
    values = _numbers(X, view.positions[places], names, index)
    return _logarithms(values, view, lambda entry: names[entry % len(names)]) if view.is_log else values


def _logarithms(values: np.ndarray, view: ViewColumns, name: Callable[[int], str]) -> np.ndarray:
    """log(1 + x); `name` gives the column of an entry, by its place in the flat array."""
    with np.errstate(invalid="ignore"):
        negative = np.flatnonzero(values < 0.0)
    if len(negative):
        entry = int(negative[0])
        raise ValueError(
            f"the view {view.name!r} is taken as log(1 + x), but its column {name(entry)!r} has the negative number "
            f"{values.flat[entry]:g}; correct it, or leave the view out of log="
        )
    return np.log1p(values)


def _numbers(X: Any, positions: np.ndarray, names: list[str], index: pd.Index) -> np.ndarray:
    block = X.iloc[:, adjacent(positions)] if isinstance(X, pd.DataFrame) else None
    if block is not None and all(isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in set(block.dtypes)):
        values = block.to_numpy(dtype=np.float64)
    elif isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        values = take_columns(X, positions).astype(np.float64, copy=False)
    elif sp.issparse(X):
        values = X[:, positions].toarray()
    elif isinstance(X, KeptColumns) and np.isin(positions, X.sparse_positions()).all():
        values = _from_sparse(X, positions)
    else:
        columns = [_as_numbers(_column(X, int(p)), n, index) for p, n in zip(positions, names, strict=True)]
        values = np.column_stack(columns)
    low, high = extremes(values)  # of all at once takes three times as long
    if max(high.max(initial=0.0), -low.min(initial=0.0)) > LARGEST:
        with np.errstate(invalid="ignore"):
            row, column = np.argwhere(np.abs(values) > LARGEST)[0]
        raise ValueError(
            f"the column {names[column]!r} has {_named(values[row, column])} (sample {shown(_plain(index[row]))}); "
            "replace such values, or leave them empty"
        )
    return values


def _as_numbers(column: np.ndarray, name: str, index: pd.Index) -> np.ndarray:
    """A column of objects as float64; text may spell numbers."""
    if column.dtype.kind in "fiub":
        return column.astype(np.float64)
    try:
        return np.array([_as_number(cell) for cell in column], dtype=np.float64)
    except (TypeError, ValueError):
        for cell, label in zip(column, index, strict=True):
            try:
                _as_number(cell)
            except (TypeError, ValueError):
                raise ValueError(
                    f"the column {name!r} holds numbers, but sample {shown(_plain(label))} has {shown(cell)} there; "
                    f"correct the cell, or pass na_values=[{shown(cell)}] if it means that the value is missing"
                ) from None
        raise


def _as_number(cell: Any) -> float:
    if pd.isna(cell):
        return np.nan
    number = spelled_number(cell) if isinstance(cell, str) else float(cell)
    if number is None:
        raise ValueError(f"{cell!r} is no number")
    return number


def _named(value: float) -> str:
    return "infinity" if np.isinf(value) else "NaN" if np.isnan(value) else f"the huge number {value:.3g}"


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
