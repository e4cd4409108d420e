"""Columns of X as scikit-learn's transformers take them: a data frame with names and types, an array or a CSR matrix.

A fitted model keeps columns without names (`KeptColumns`), so that a `TableKind` remembers what the table of the fit
was: the same columns, from any container, become a table of the same kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .kept import KeptColumns, take_columns
from .selectors import SEPARATOR
from .table import Views


@dataclass(frozen=True)
class TableKind:
    """What kind of table some columns are handed over as.

    Attributes
    ----------
    is_frame : bool
        Whether it is a data frame; otherwise an array, or a CSR matrix where X or the view is sparse (which is a data
        frame only where the transformer mentions the names of columns).
    names : list of str or None
        The names of a data frame's columns; None numbers them from 0.
    dtypes : dict from int to dtype
        The types of the columns of the fit, by their place in the table, where some are not numbers; text has none.
    texts : list of bool or None
        For each column of a data frame whether it held text in the fit; None where none did. Where such a column holds
        numbers later (a file in which the categories "1", "2" and "X" are all numbers, or empty) they are text again.
    """

    is_frame: bool
    names: list[str] | None = None
    dtypes: dict[int, Any] = field(default_factory=dict)
    texts: list[bool] | None = None

    @classmethod
    def of(cls, views: Views, columns: np.ndarray, view: Any, wanted: set[str]) -> TableKind:
        """The kind of some columns of the training samples.

        Parameters
        ----------
        views : Views
        columns : ndarray of int
        view : object
            The selector of these columns. Where it is a name, columns are called what follows it and the separator:
            ``age`` for ``clinical__age``; otherwise they have their full names.
        wanted : set of str
            Names that the transformer mentions: columns have full names where one of these is such a name, and
            otherwise short ones where one of these is such a name.
        """
        names = _names(views.names, columns, view, wanted)
        if views.is_sparse(columns):
            return cls(bool(wanted & set(names or ())), names)
        if isinstance(views.X, pd.DataFrame):
            found = views.X.dtypes.iloc[columns].tolist()
        elif isinstance(views.X, KeptColumns):
            found = [views.dtypes.get(column, np.dtype(float)) for column in columns.tolist()]
        else:
            found = [views.X.dtype] * len(columns)
        plain = all(isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in found)
        dtypes = {} if plain else {place: dtype for place, dtype in enumerate(found) if not _is_text(dtype)}
        texts = [] if plain else [_holds_text(views.X, c, dtype) for c, dtype in zip(columns, found, strict=True)]
        is_frame = isinstance(views.X, pd.DataFrame) or names is not None
        return cls(is_frame, names, dtypes, texts if is_frame and any(texts) else None)

    def table(self, views: Views, columns: np.ndarray, label: str) -> tuple[Any, np.ndarray]:
        """These columns as a table of this kind, and which samples have some value in them.

        A missing cell is NaN, also among objects (and NaT among dates).

        Parameters
        ----------
        views : Views
        columns : ndarray of int
        label : str
            What messages call the view.
        """
        X = views.X
        if views.is_sparse(columns):
            values, present = _sparse(views, columns, label)
            return (pd.DataFrame(values.toarray(), columns=self._labels(columns)) if self.is_frame else values), present
        if not self.is_frame:
            values = _with_nan_array(_array(X, columns))
            return values, ~pd.isna(values).all(axis=1)
        if isinstance(X, pd.DataFrame):
            frame = _with_nan(X.iloc[:, columns].set_axis(self._labels(columns), axis=1))
        else:
            frame = self._typed(_with_nan(_as_frame(X, columns, self._labels(columns))))
        frame = self._with_texts(frame)
        return frame, ~frame.isna().to_numpy().all(axis=1)

    def _with_texts(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Numbers as text in columns that held text in the fit: 2 and 2.0 as "2"."""
        places = [place for place, is_text in enumerate(self.texts or ()) if is_text]
        places = [place for place in places if pd.api.types.is_numeric_dtype(frame.dtypes.iloc[place])]
        frame = frame.copy(deep=False) if places else frame
        for place in places:
            frame.isetitem(place, frame.iloc[:, place].map(_number_as_text).astype(object))
        return frame

    def _typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Columns that arrays or `KeptColumns` hold as objects, or as plain numbers, with the types of the fit."""
        changes = {}
        for place, wanted in self.dtypes.items():
            label, is_number = frame.columns[place], isinstance(wanted, np.dtype) and wanted.kind in "fiub"
            if not is_number:
                changes[label] = wanted
            elif frame.dtypes.iloc[place].kind == "O":
                changes[label] = np.dtype(float)  # of which NaN is one
        return frame.astype(changes) if changes else frame

    def _labels(self, columns: np.ndarray) -> list[Any]:
        return list(range(len(columns))) if self.names is None else self.names


def _names(names: np.ndarray | None, columns: np.ndarray, view: Any, wanted: set[str]) -> list[str] | None:
    """What the columns are called in the table."""
    if names is None:
        return None
    full = [str(name) for name in names[columns]]
    short = [_within(name, view) for name in full]
    if len(set(short)) < len(short) or wanted & (set(full) - set(short)):
        return full
    return short if isinstance(view, str) or wanted & (set(short) - set(full)) else full


def _within(name: str, view: Any) -> str:
    """What a column is called within its view."""
    prefix = view if isinstance(view, str) else name.partition(SEPARATOR)[0]
    inside = name.removeprefix(prefix + SEPARATOR)
    return inside or name


def _sparse(views: Views, columns: np.ndarray, label: str) -> tuple[Any, np.ndarray]:
    """Sparse columns as one CSR matrix, in which cells may be NaN, and which samples have them."""
    X = views.X
    if sp.issparse(X):
        return X[:, columns], np.ones(views.n_samples, dtype=bool)
    if np.isin(columns, X.sparse_positions()).all():
        values, there = X.take_sparse(columns)
        if np.array_equal(there.any(axis=1), there.all(axis=1)):
            return values, there.all(axis=1)
    return views.read(columns, label)


def _is_text(dtype: Any) -> bool:
    """Whether columns of this type are handed over as objects (those of pyarrow's numbers as float64)."""
    if isinstance(dtype, np.dtype):
        return dtype.kind not in "fiubmM"
    return isinstance(dtype, pd.StringDtype) or _is_arrow(dtype)


def _holds_text(X: Any, column: int, dtype: Any) -> bool:
    """Whether the cells of a column that are there are text."""
    if not _is_text(dtype) or isinstance(dtype, pd.StringDtype):
        return isinstance(dtype, pd.StringDtype)
    values = X.iloc[:, column] if isinstance(X, pd.DataFrame) else _array(X, np.array([column]))[:, 0]
    return pd.api.types.infer_dtype(values, skipna=True) == "string"


def _number_as_text(value: Any) -> Any:
    if pd.isna(value):
        return np.nan
    is_whole = not isinstance(value, bool | np.bool_) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)


def _is_arrow(dtype: Any) -> bool:
    return isinstance(dtype, pd.ArrowDtype)


def _array(X: Any, columns: np.ndarray) -> np.ndarray:
    if isinstance(X, KeptColumns):
        return X.take(columns)
    return X.iloc[:, columns].to_numpy() if isinstance(X, pd.DataFrame) else take_columns(X, columns)


def _as_frame(X: Any, columns: np.ndarray, labels: list[Any]) -> pd.DataFrame:
    """Columns of an array, or of `KeptColumns` with each its own type."""
    if not isinstance(X, KeptColumns) or any(np.isin(columns, positions).all() for positions, _ in X.blocks):
        return pd.DataFrame(_array(X, columns), columns=labels)
    return pd.concat([pd.Series(X.take(columns[[j]])[:, 0]) for j in range(len(columns))], axis=1).set_axis(
        labels, axis=1
    )


def _with_nan_array(values: np.ndarray) -> np.ndarray:
    """An array of numbers, or of objects with NaN where one is missing."""
    if values.dtype.kind in "fiub":
        return values
    values = values.astype(object)
    missing = pd.isna(values)
    return np.where(missing, np.array(np.nan, dtype=object), values) if missing.any() else values


def _with_nan(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose text is of objects, with NaN where it is missing; other columns as they are."""
    texts = [place for place, dtype in enumerate(frame.dtypes.tolist()) if _is_text(dtype)]
    if not texts:
        return frame
    columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    for place in texts:
        columns[place] = _plain_column(columns[place])
    return pd.concat(columns, axis=1)


def _plain_column(column: pd.Series) -> pd.Series:
    if _is_arrow(column.dtype) and pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = _with_nan_array(column.to_numpy(dtype=object))
    return pd.Series(values, index=column.index, name=column.name, dtype=values.dtype)
