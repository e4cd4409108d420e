"""`Table`: what one file (or one array of a file) holds, before its rows are matched with those of other tables.

A file is read by one of the modules `text`, `arrays`, `frames` and `modalities`, each with a function
``read(source, options, target) -> Loaded``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._warnings import warn

_LISTED = 8  # columns that a message names


@dataclass(frozen=True)
class Source:
    """A file to read: its path, the name of its view, and whether the user gave that name."""

    path: Path
    name: str
    is_named: bool = False

    @property
    def shown(self) -> str:
        """What messages call the file."""
        return str(self.path)


@dataclass(frozen=True)
class Options:
    """How files are read: the arguments of `read_views`; `id` is a column, None (to be found) or False (row order)."""

    id: Any = None
    sep: str | None = None
    decimal: str = "."
    encoding: str | None = None
    na_values: Any = None

    def id_of(self, source: Source) -> Any:
        """The id column of a file, where `id` may be a mapping from views or files."""
        if not isinstance(self.id, dict):
            return self.id
        return self.id.get(source.name, self.id.get(source.path.name))


@dataclass(frozen=True)
class Key:
    """Values that may identify the rows of a table.

    Attributes
    ----------
    name : str
        The column's name; empty where it has none.
    values : sequence
        One for each row, as text where they come from a text file.
    how : str
        Where they stand, in words.
    is_certain : bool
        Whether they are the ids for sure; otherwise they are a first column, which may hold anything.
    is_raw : bool
        Whether the values are the cells of a text file, in which numbers are text too.
    """

    name: str
    values: Any
    how: str
    is_certain: bool
    is_raw: bool = False


@dataclass
class Table:
    """Rows of one view, or of the target.

    Attributes
    ----------
    name : str
        The view's name.
    shown : str
        What messages call the table.
    values : DataFrame or sparse matrix
        Without the ids where these are certain.
    columns : list of str
        The names of a sparse matrix' columns.
    n_trailing : int
        How many rows at the end of a text file have no cell with anything in it.
    key : Key or None
    lines : ndarray of int or None
        For text files the line of each row, from 1.
    has_lost_columns : bool
        Whether columns were left out because they have the name of the target.
    """

    name: str
    shown: str
    values: Any
    key: Key | None = None
    lines: np.ndarray | None = None
    columns: list[str] = field(default_factory=list)
    n_trailing: int = 0
    has_lost_columns: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.values.shape[0]

    @property
    def n_filled(self) -> int:
        """Number of rows, without empty ones at the end of a text file."""
        return self.n_rows - self.n_trailing

    def cut(self, n_rows: int) -> None:
        """Keep the first rows only."""
        if n_rows < self.n_rows:
            self.n_trailing -= self.n_rows - n_rows
            self.values = self.values[:n_rows]

    def place(self, row: int) -> str:
        """Where a row stands in the file, in words."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"


@dataclass
class Loaded:
    """What a file holds.

    Attributes
    ----------
    tables : list of Table
        Those with columns that a view can have.
    target : Table or None
        The column of the target, if it was asked for and is here.
    columns : list of str
        Names that a target could have.
    """

    tables: list[Table]
    target: Table | None
    columns: list[str]


def divided(table: Table, target: str | None, id_name: Any) -> Loaded:
    """A data frame's table without the ids and the target, and the target's."""
    frame = table.values
    names = list(frame.columns)
    found = None
    if target is not None and target in names:
        if target == id_name:
            raise ValueError(f"{table.shown}: the column {target!r} is both id and target; name two different columns")
        found = Table(table.name, table.shown, frame[[target]], lines=table.lines, n_trailing=table.n_trailing)
        frame = frame.drop(columns=target)
    key = table.key if table.key is None or table.key.name != target or target is None else None
    if key is not None and key.is_certain and key.name in frame.columns:
        frame = frame.drop(columns=key.name)
    table.values, table.key = plain_columns(frame), key
    if found is not None:
        found.key = key
    return Loaded([table] if frame.shape[1] else [], found, names)


def view_name(text: str) -> str:
    """A text as a view's name: without "__", which separates a view from its columns, and without "_" at its end."""
    return re.sub("_{2,}", "_", text).rstrip("_")


def no_column(names: Sequence[str], wanted: str, start: str, role: str) -> str:
    """A message: a table has no column of this name, but these; it starts "rna.csv has no"."""
    close = get_close_matches(wanted.casefold(), [name.casefold() for name in names], n=1)
    meant = next((name for name in names if close and name.casefold() == close[0]), None)
    names = list(dict.fromkeys(names))
    listed = ", ".join(repr(name) for name in names[:_LISTED])
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    remedy = {
        "id": "rename the column of the sample ids, or pass id as a mapping from views or files to their own columns",
        "target": "pass target='FILE:COLUMN' with a column that is there",
        "groups": "pass groups as FILE:COLUMN with a column that is there",
    }[role]
    if meant is not None:
        remedy = f"did you mean {meant!r}?"
        if role == "id":
            remedy += f" Where tables differ in that, pass id as a mapping, such as {{FILE: {meant!r}}}"
    return f"{start} column {wanted!r} (there are {listed}{more}); {remedy}"


def check_once(names: Sequence[str], needed: Sequence[Any], shown: str) -> None:
    """Refuse a table in which the column of the ids or of the target stands twice."""
    for name in needed:
        if isinstance(name, str) and name and list(names).count(name) > 1:
            raise ValueError(
                f"{shown} has {list(names).count(name)} columns named {name!r}; rename all but one of them"
            )


def unique_names(names: Sequence[str], shown: str) -> list[str]:
    """Names of columns, each once: empty ones by position and repeated ones with a number, as pandas names them."""
    names = [name or f"Unnamed: {place}" for place, name in enumerate(names)]
    if len(set(names)) == len(names):
        return names
    known, result = set(names), []
    times: dict[str, int] = {}
    repeated = None
    for place, name in enumerate(names):
        new = name
        while name in times and new in known:
            new = f"{name}.{times[name]}"
            times[name] += 1
        if new != name:
            repeated = repeated or (name, names.index(name) + 1, place + 1, new)
            known.add(new)
        times.setdefault(name, 1)
        result.append(new)
    if repeated is not None:
        name, first, second, new = repeated
        warn(
            f"{shown}: the name {name!r} stands over column {first} and column {second}, which is read as {new!r}; "
            "where such columns change places in another file they are confused: give each a name of its own"
        )
    return result


def plain_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Truth values and numbers of pandas' own types as NumPy's numbers, NaN where they are missing."""
    truths = [name for name, dtype in frame.dtypes.items() if dtype == np.bool_]
    converted = [frame[truths].astype(np.float64)] if truths else []
    for name, dtype in frame.dtypes.items():
        is_known = isinstance(dtype, np.dtype) and dtype.kind in "fiub"
        if not is_known and not isinstance(dtype, pd.StringDtype | pd.CategoricalDtype):
            column = _plain(frame[name])
            converted += [] if column is None else [column.to_frame()]
    if not converted:
        return frame
    changed = pd.concat(converted, axis=1)
    others = frame.columns.difference(changed.columns, sort=False)
    return pd.concat([frame[others], changed], axis=1)[list(frame.columns)]


def _plain(column: pd.Series) -> pd.Series | None:
    """A column of numbers as NumPy's, or None where it holds something else."""
    if pd.api.types.is_complex_dtype(column.dtype):
        return None
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.Series(values, index=column.index, name=column.name)
    kinds = ("boolean", "decimal", "mixed-integer-float")
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in kinds:
        return column.astype(float)
    return None
