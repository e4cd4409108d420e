"""`Table`: what one file (or one array of a file) holds, before its rows are matched with those of other tables.

A file is read by one function ``(source, options, target) -> Loaded`` for each format (`sources.READERS`). `ViewTables`
is what `read_views` returns.

A column of a view that has the name of the target is left out, for it would give the answer away (`KeptColumns`).

Spreadsheets run a text cell that begins as a formula does. Such a cell (it begins with ``=``, ``+``, ``-``, ``@``, a
tab or a carriage return, and spells no number) gets an apostrophe in front, as is customary: spreadsheets show it as
text. All CSV files are written by `as_csv`; `unescaped` takes the apostrophe off the ids that are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .._warnings import warn
from ..validation import counted
from ..validation import shown as written
from ..validation.inputs import spelled_number
from ..views.frames import SparseRows

_LISTED = 8  # columns that a message names


@dataclass(frozen=True)
class Source:
    path: Path
    name: str
    is_named: bool = False

    @property
    def shown(self) -> str:
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
        if not isinstance(self.id, dict):
            return self.id
        return self.id.get(source.name, self.id.get(source.path.name))


@dataclass(frozen=True)
class Key:
    """Values that may identify the rows of a table, which stand in the place that `how` names.

    They are the ids for sure where `is_certain`, and otherwise a first column, which may hold anything. `is_raw` are
    the cells of a text file, in which numbers are text too.
    """

    name: str
    values: Any
    how: str
    is_certain: bool
    is_raw: bool = False


@dataclass
class Table:
    """Rows of one view, or of the target; messages call the table `shown`.

    `values` are without the ids where these are certain. `n_trailing` is how many rows at the end of a text file have
    no cell with anything in it, `lines` the line of each row of a text file, from 1, and `has_lost_columns` says
    whether columns were left out because they have the name of the target.

    When the key is known (`without_key`), readers ask for `features`, `is_filled` and `chunks` only, which a table
    whose rows are still in the file answers too (`text.TextTable`).
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
        return self.values.shape[0]

    @property
    def n_filled(self) -> int:
        return self.n_rows - self.n_trailing

    def cut(self, n_rows: int) -> None:
        if n_rows < self.n_rows:
            self.n_trailing -= self.n_rows - n_rows
            self.values = self.values[:n_rows]

    def place(self, row: int) -> str:
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    def without_key(self, key: Key) -> None:
        """Leave out the column that turned out to hold the ids."""
        if isinstance(self.values, pd.DataFrame) and key.name in self.values.columns and not key.is_certain:
            self.values = self.values.drop(columns=key.name)

    @property
    def features(self) -> pd.Index:
        return pd.Index(self.columns) if sp.issparse(self.values) else self.values.columns

    def is_filled(self) -> np.ndarray:
        """Which rows hold something."""
        if sp.issparse(self.values):
            return np.ones(self.n_rows, dtype=bool)
        return self.values.notna().to_numpy().any(axis=1)

    def chunks(self, rows: np.ndarray, size: int) -> Iterator[Any]:
        """The rows of which `rows` is true, perhaps `size` at a time: data frames, or series of sparse rows."""
        values = self.values
        if sp.issparse(values):
            values = pd.Series(SparseRows(values.astype(np.float64), self.columns))
        yield values if rows.all() else values[rows]


@dataclass
class Loaded:
    """What a file holds: tables for views, the target if asked for and here; `columns` are names that it could have."""

    tables: list[Table]
    target: Table | None
    columns: list[str]


class Stamp:
    """Size and time of a file, which show whether it has changed since it was opened."""

    def __init__(self, path: Path):
        self.path = path
        self._seen = self._now()

    def has_changed(self) -> bool:
        return self._now() != self._seen

    def _now(self) -> tuple[int, int]:
        status = self.path.stat()
        return status.st_size, status.st_mtime_ns


def key_place(names: list[str], wanted: Any, target: str | None, source: Source) -> int | None:
    """The position of the column whose cells are kept as text: the ids, or what may be the ids."""
    if wanted is False:
        return None
    if wanted is None:
        places = [j for j, name in enumerate(names) if name != target or not name]
        return places[0] if places and (len(names) > 1) else None
    if wanted in names:
        return names.index(wanted)
    if not names[0]:
        return 0
    raise ValueError(no_column(names, wanted, f"{source.shown} has no", "id"))


def key_of(given: str, name: str, values: Any, wanted: Any, *, is_raw: bool = False) -> Key:
    """The key that a column makes, called `name`; it holds the ids for sure if it was asked for, or has no name."""
    how = f"column {given!r}" if given == wanted else f"first column {given!r}" if given else "first column (no name)"
    return Key(name, values, how, is_certain=given in ("", wanted), is_raw=is_raw)


def divided(table: Table, target: str | None, id_name: Any, names: list[str] | None = None) -> Loaded:
    """The target apart from the other columns; `names` are those of the file, where the ids are not in the table."""
    frame = table.values
    names = list(frame.columns) if names is None else names
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
    close = get_close_matches(wanted.casefold(), [name.casefold() for name in names], n=1)
    meant = next((name for name in names if close and name.casefold() == close[0]), None)
    names = list(dict.fromkeys(names))
    listed = ", ".join(repr(name) for name in names[:_LISTED])
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    remedy = {
        "id": "rename the column of the sample ids, or pass id as a mapping from views or files to their own columns",
        "target": "pass target='FILE:COLUMN' with a column that is there",
        "groups": "pass groups as FILE:COLUMN with a column that is there",
        "event": "pass event as FILE:COLUMN with a column that is there",
    }[role]
    if meant is not None:
        remedy = f"did you mean {meant!r}?"
        if role == "id":
            remedy += f" Where tables differ in that, pass id as a mapping, such as {{FILE: {meant!r}}}"
    return f"{start} column {wanted!r} (there are {listed}{more}); {remedy}"


def column_place(names: Sequence[str], wanted: str, shown: str, role: str) -> int:
    if wanted not in names:
        raise ValueError(no_column(names, wanted, f"{shown} has no", role))
    return list(names).index(wanted)


def check_once(names: Sequence[str], needed: Sequence[Any], shown: str) -> None:
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
    if pd.api.types.is_complex_dtype(column.dtype):
        return None
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.Series(values, index=column.index, name=column.name)
    kinds = ("boolean", "decimal", "mixed-integer-float")
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in kinds:
        return column.astype(float)
    return None


_SHOWN_VIEWS = 20


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ViewTables:
    """Views that were read from files: the samples of all tables in one frame, their targets, and the overlap.

    Attributes
    ----------
    X : DataFrame of shape (n_samples, total number of columns)
        Columns are named ``view__column``, rows by sample id. A view that a sample lacks is NaN in all its columns.
        With a target these are the samples that have one.
    y : Series of shape (n_samples,) or None
        The targets of the samples of X, in their order; None where no target was asked for.
    overlap : DataFrame
        How many samples there are in each view, in all views, only with a label (in no view), without a label, and in
        X; with a target the second column counts those that have a label.
    matched_by : Series of str
        For each table how its rows were matched: the column of ids, or row order.
    unlabelled : DataFrame or None
        The samples that have no target, with the columns of X; None where no target was asked for.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelweave import read_views
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "blood.csv").write_text("sample,iron,zinc\\nann,1.5,7\\nbob,2.5,8\\n")
    >>> _ = (folder / "labels.csv").write_text("sample,diagnosis\\nbob,ill\\nann,well\\n")
    >>> tables = read_views([folder / "blood.csv"], target="labels.csv:diagnosis", id="sample")
    >>> tables.X.assign(y=tables.y)
            blood__iron  blood__zinc     y
    sample
    ann             1.5            7  well
    bob             2.5            8   ill
    >>> tables.matched_by["blood"]
    "column 'sample'"
    """

    X: pd.DataFrame
    y: pd.Series | None
    overlap: pd.DataFrame
    matched_by: pd.Series
    unlabelled: pd.DataFrame | None

    def __repr__(self) -> str:
        target = "" if self.y is None else f", target {_cut(str(self.y.name))!r}"
        overlap = self.overlap.rename(index=_cut)
        matched = self.matched_by.rename(index=_cut).map(_cut)
        return (
            f"ViewTables of {counted(len(self.X), 'sample')} and {counted(self.X.shape[1], 'column')}{target}\n\n"
            f"{overlap.to_string(max_rows=_SHOWN_VIEWS)}\n\n"
            f"rows matched by\n{matched.to_string(max_rows=_SHOWN_VIEWS, dtype=False, name=False)}"
        )


def _cut(text: str) -> str:
    return text if len(text) <= 36 else f"{text[:33]}..."


class KeptColumns:
    """Columns (``"FILE:COLUMN"``, or view in place of file) that stay although they have the name of the target."""

    def __init__(self, given: Any):
        if isinstance(given, str) or not isinstance(given, Iterable) or not all(isinstance(one, str) for one in given):
            raise ValueError(f"keep_columns must be a list such as ['FILE:COLUMN'], not {written(given)}")
        self._left = list(given)

    def leaves_out(self, shown: str, names: Sequence[str], column: str, target: str) -> bool:
        if column != target or column.isdigit():  # numbers are the positions of an array's columns, and no names
            return False
        entries = [f"{file}:{column}" for file in (shown, Path(shown).name, *names)]
        kept = [entry for entry in self._left if entry in entries]
        self._left = [entry for entry in self._left if entry not in kept]
        if not kept:
            warn(
                f"{shown}: the column {column!r} has the name of the target and is left out, because it would give the "
                f"answer away; where it is something else, pass keep_columns=[{entries[1]!r}]"
            )
        return not kept

    def check_used(self, target: str | None) -> None:
        if self._left:
            name = "" if target is None else f", {target!r}"
            raise ValueError(
                f"keep_columns has {self._left[0]!r}, but there is no such column with the name of the target{name}: "
                "all other columns are kept anyway"
            )


def without_copies(tables: list[Table], target: str, kept: KeptColumns) -> list[Table]:
    """Tables of views without columns of the target's name, and without tables that have no other column."""
    found = []
    for table in tables:
        names = list(table.columns) if sp.issparse(table.values) else [str(name) for name in table.values.columns]
        places = [
            place for place, name in enumerate(names) if not kept.leaves_out(table.shown, [table.name], name, target)
        ]
        if len(places) < len(names):
            table.has_lost_columns = True
            if sp.issparse(table.values):
                table.values, table.columns = table.values[:, places], [names[place] for place in places]
            else:
                table.values = table.values.iloc[:, places]
        if places:
            found.append(table)
    return found


_STARTS = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: pd.DataFrame, *, header: bool = True, index_label: str | None = None) -> str:
    """A table as the text of a CSV file, with the row labels in a first column where `index_label` names one."""
    table = table.set_axis([_escaped(name) for name in table.columns], axis=1)
    for place, dtype in enumerate(table.dtypes):
        if not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
            cells = [_escaped(cell) for cell in table.iloc[:, place]]
            table.isetitem(place, pd.Series(cells, table.index, dtype=object))  # whole numbers beside gaps stay whole
    if index_label is None:
        return table.to_csv(index=False, header=header, lineterminator="\n")
    table.index = table.index.map(_escaped)
    return table.to_csv(header=header, index_label=_escaped(index_label), lineterminator="\n")


def unescaped(text: str) -> str:
    """An id without the apostrophe that `as_csv` puts in front of it."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_STARTS) else text


def _escaped(cell: Any) -> Any:
    is_formula = isinstance(cell, str) and cell.startswith(_STARTS) and spelled_number(cell) is None
    return f"'{cell}" if is_formula else cell
