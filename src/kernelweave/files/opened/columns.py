"""Columns beside X in files: targets, sample weights and ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..matching import as_text
from .rows import StoredRows


@dataclass(frozen=True)
class StoredColumn:
    """One column beside X, such as the target; or all columns of an NPY file with several targets.

    Attributes
    ----------
    rows : StoredRows
    place : int or None
        Its position; None for all columns.
    role : str
        What messages call it.
    """

    rows: StoredRows
    place: int | None
    role: str

    @property
    def shown(self) -> str:
        """What messages call the file."""
        return self.rows.shown

    @property
    def name(self) -> str:
        """The name of the column, or of what holds it."""
        return self.rows.shown if self.place is None else self.rows.columns[self.place].name

    @property
    def names(self) -> list[Any] | None:
        """The positions of the columns where there are several, None where there is one."""
        return list(range(len(self.rows.columns))) if self.place is None else None

    @property
    def tables(self) -> list[StoredRows]:
        """What is read."""
        return [self.rows]

    @property
    def taken(self) -> list[tuple[str, int]]:
        """The columns by file and position, which are no part of X."""
        places = range(len(self.rows.columns)) if self.place is None else [self.place]
        return [(self.rows.shown, place) for place in places]

    def read(self, first: int, last: int) -> np.ndarray:
        """The values of some rows, or a `ValueError` that names the first one that is missing."""
        if self.place is None:
            places = list(range(len(self.rows.columns)))
            values = self.rows.frame(first, last, places, [np.dtype(np.float64)] * len(places)).to_numpy()
        else:
            values = _as_labels(self.rows.values(first, last, self.place))
        missing = np.asarray(pd.isna(values)).reshape(len(values), -1).any(axis=1)
        if missing.any():
            row = first + int(missing.argmax())
            raise ValueError(
                f"{self.rows.shown}, row {row + 1}: the {self.role} {self.name!r} is missing; leave such samples out "
                "of the files"
            )
        return values


@dataclass(frozen=True)
class StoredColumns:
    """Several columns of numbers beside X, side by side: the targets of a regression.

    Attributes
    ----------
    columns : tuple of StoredColumn
    """

    columns: tuple[StoredColumn, ...]

    @property
    def shown(self) -> str:
        """What messages call the files."""
        return ", ".join(dict.fromkeys(column.shown for column in self.columns))

    @property
    def name(self) -> str:
        """The names of the columns."""
        return ", ".join(self.names)

    @property
    def names(self) -> list[Any]:
        """The names of the columns, one by one."""
        return [column.name for column in self.columns]

    @property
    def tables(self) -> list[StoredRows]:
        """What is read."""
        return [column.rows for column in self.columns]

    @property
    def taken(self) -> list[tuple[str, int]]:
        """The columns by file and position, which are no part of X."""
        return [place for column in self.columns for place in column.taken]

    def read(self, first: int, last: int) -> np.ndarray:
        """The values of some rows, of shape (n_rows, n_columns), or a `ValueError` that names a wrong column."""
        values = np.empty((last - first, len(self.columns)))
        for place, column in enumerate(self.columns):
            own = column.read(first, last)
            if own.dtype.kind not in "fiub":
                raise ValueError(
                    f"{column.shown}: the target {column.name!r} holds no numbers; several targets are for MKLRegressor"
                )
            values[:, place] = own
        return values


@dataclass(frozen=True)
class StoredIds:
    """Sample ids, as each of some tables has them."""

    columns: tuple[tuple[StoredRows, int], ...]

    @property
    def name(self) -> str | None:
        """What they are called; None where pandas stored an index without a name."""
        rows, place = self.columns[0]
        name = rows.columns[place].name
        return None if name.startswith("__index_level_") else name

    def read(self, first: int, last: int) -> pd.Index:
        """The ids of some rows, the same in all tables, or one `ValueError` that names a row where they differ."""
        (rows, place), *others = self.columns
        ids = as_text(rows.values(first, last, place))
        if None in ids:
            raise ValueError(f"{rows.shown}, row {first + ids.index(None) + 1}: the sample's id is missing")
        for other, where in others:
            found = as_text(other.values(first, last, where))
            if found != ids:
                row = next(k for k, (a, b) in enumerate(zip(ids, found, strict=True)) if a != b)
                raise ValueError(
                    f"{other.shown}, row {first + row + 1}: the id is {found[row]!r}, not {ids[row]!r} as in "
                    f"{rows.shown}; all files need their rows in the same order: sort them by id (a sample that "
                    "lacks a view has a row without values there), or use read_views, which matches ids of data that "
                    "fit into memory"
                )
        return pd.Index(ids, dtype=object, name=self.name)


def _as_labels(values: np.ndarray) -> np.ndarray:
    """Text without blanks around it, and None where nothing is left."""
    if values.dtype != object:
        return values
    cleaned = np.empty(len(values), dtype=object)
    cleaned[:] = [(value.strip() or None) if isinstance(value, str) else value for value in values]
    return cleaned
