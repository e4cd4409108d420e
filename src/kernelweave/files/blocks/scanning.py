"""Views in text files whose rows stay there until they are wanted.

A file is read twice. The first pass (`scan`) keeps the ids, the line of each row, which rows hold nothing, and which
columns hold numbers where that is not given; the second (`TextView.chunks`) parses the rows that are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...validation.inputs import spelled_number
from ..cells import OddCells
from ..records import Checked, Record
from ..table import Key, Options, Source, Table, unique_names
from ..text import Header, no_rows, opened, parsing, started, stripped, warn_of_no_header
from .kinds import NUMBER, TEXT, Kinds, as_kind, empty

_N_TRIED = 8  # cells of a row that are looked at before all of them are
# What `pandas.read_csv` takes as missing.
_MISSING = frozenset(
    {
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A"),
        *("NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    }
)


class Scanned(Checked):
    """The records of a table, and which rows and columns hold nothing.

    Parameters
    ----------
    records : iterator of Record
    header : Header
    source : Source
    places : list of int
        The columns whose cells make a row one that holds something.
    is_missing : callable
        Whether a cell means a missing value.
    """

    def __init__(
        self,
        records: Iterator[Record],
        header: Header,
        source: Source,
        *,
        places: list[int],
        is_missing: Callable[[str], bool],
    ):
        super().__init__(records, header.sep, header.names, header.place, source.shown)
        self._places, self._is_missing = places, is_missing
        self.unused = {place for place in places if not header.names[place]}  # columns without name and values
        self.empty_rows: list[bool] = []

    def _taken(self, record: Record) -> str:
        text = super()._taken(record)
        self.unused -= {place for place in self.unused if not self._is_missing(record.cell(place, self._sep))}
        self.empty_rows.append(self._is_empty_row(record))
        return text

    def _is_empty_row(self, record: Record) -> bool:
        for places in (self._places[:_N_TRIED], self._places[_N_TRIED:]):
            cells = record.fields
            if cells is None:
                cells = record.text.split(self._sep, places[-1] + 1) if places else []
            if not all(self._is_missing(cells[place]) for place in places):
                return False
        return True


@dataclass(frozen=True)
class TextView:
    """A view in a text file, after the first pass.

    Attributes
    ----------
    source, options, header
        What is read, and how.
    table : Table
        Ids and lines of all rows; its values have no columns.
    names : dict from position to name
        The columns of the view, with the first one where that may hold ids and may hold values.
    kinds : dict from position to "number" or "text"
    empty_rows : ndarray of bool
        Which rows have no value, the first column aside where it may hold ids.
    stamp : tuple
        Size and time of the file.
    """

    source: Source
    options: Options
    header: Header
    table: Table
    names: dict[int, str]
    kinds: dict[int, str]
    empty_rows: np.ndarray
    stamp: tuple[int, int]

    def columns(self, key: Key | None) -> dict[int, str]:
        """The columns of the view, by position, where the rows are matched by this key."""
        return {j: name for j, name in self.names.items() if key is None or j != self.header.place}

    def is_filled(self, key: Key | None) -> np.ndarray:
        """Which rows hold a value, where rows are matched by this key."""
        filled = ~self.empty_rows
        if key is None and self.header.place in self.names and self.table.key is not None:
            is_missing = missing_cells(self.options)
            filled |= np.array([not is_missing(cell) for cell in self.table.key.values])
        return filled[: self.table.n_rows]

    def empty(self, key: Key | None) -> pd.DataFrame:
        """The view without rows."""
        return pd.DataFrame({name: empty(self.kinds[j]) for j, name in self.columns(key).items()})

    def chunks(self, rows: np.ndarray, key: Key | None, size: int) -> Iterator[pd.DataFrame]:
        """The rows of which `rows` is true, `size` at a time, as the frames that `empty` describes."""
        if stamp(self.source) != self.stamp:
            raise ValueError(f"{self.source.shown} has changed since its ids were read; read it again")
        columns = self.columns(key)
        lines = self.table.lines[: len(rows)][rows] if self.table.lines is not None else np.flatnonzero(rows)
        done = 0
        with opened(self.source, self.options) as handle:
            header, records = started(handle, self.source, self.options, None)
            stream = Checked(records, header.sep, header.names, None, self.source.shown, rows=rows)
            texts = [j for j in columns if self.kinds[j] == TEXT]
            for frame in _parsed(stream, header, self.options, list(columns), texts, size):
                yield self._typed(frame, columns, lines[done : done + len(frame)])
                done += len(frame)

    def _typed(self, frame: pd.DataFrame, columns: dict[int, str], lines: np.ndarray) -> pd.DataFrame:
        def place(row: int) -> str:
            return f"{self.source.shown}, line {lines[row]}"

        # Columns of numbers all at once: pandas takes long over one after the other.
        kept = frame.dtypes[[self.kinds[j] == NUMBER for j in frame.columns]]
        numbers = [j for j, dtype in kept.items() if isinstance(dtype, np.dtype) and dtype.kind in "fiub"]
        typed = pd.DataFrame(frame[numbers].to_numpy(dtype=np.float64), columns=[columns[j] for j in numbers])
        if len(numbers) == len(columns):
            return typed
        others = {
            columns[j]: as_kind(frame[j].rename(columns[j]), self.kinds[j], self.options.decimal, place)
            for j in frame.columns.difference(numbers, sort=False)
        }
        others = pd.DataFrame(others).reset_index(drop=True)
        return pd.concat([typed, others], axis=1)[list(columns.values())]


def scan(
    source: Source, options: Options, *, columns: set[str] | None, kinds: Mapping[str, str], size: int
) -> TextView:
    """Read a text file for its ids, its empty rows and, where `kinds` does not have them, the kinds of its columns."""
    marked = stamp(source)
    is_missing = missing_cells(options)
    with opened(source, options) as handle:
        header, records = started(handle, source, options, None)
        warn_of_no_header(header.names, source)
        names = unique_names(header.names, source.shown)
        is_certain = header.has_certain_ids(options.id_of(source))
        places = [j for j, name in enumerate(names) if columns is None or name in columns]
        places = [j for j in places if not (is_certain and j == header.place)]
        values = [j for j in places if j != header.place]
        stream = Scanned(records, header, source, places=values, is_missing=is_missing)
        undecided = [j for j in places if names[j] not in kinds]
        found, odd = _decided(stream, header, options, undecided, names, size)
    if len(stream.lines) == stream.n_trailing:
        raise ValueError(no_rows(source))
    odd.warn()
    key = None if header.place is None else header.key(stream.cells, names[header.place], options.id_of(source))
    frame = pd.DataFrame(index=range(len(stream.lines)))
    table = Table(source.name, source.shown, frame, key, np.array(stream.lines), n_trailing=stream.n_trailing)
    used = {j: names[j] for j in places if j not in stream.unused}
    decided = {j: kinds.get(name) or found.of(j) for j, name in used.items()}
    return TextView(source, options, header, table, used, decided, np.array(stream.empty_rows), marked)


def missing_cells(options: Options) -> Callable[[str], bool]:
    """Whether a cell means a missing value."""
    given = [] if options.na_values is None else np.atleast_1d(np.asarray(options.na_values, dtype=object)).tolist()
    texts = _MISSING | {str(value) for value in given}
    numbers = {number for value in given if (number := spelled_number(str(value), ".")) is not None}

    def is_missing(cell: str) -> bool:
        cell = cell.strip()
        return cell in texts or (bool(numbers) and spelled_number(cell, options.decimal) in numbers)

    return is_missing


def stamp(source: Source) -> tuple[int, int]:
    """Size and time of a file."""
    status = source.path.stat()
    return status.st_size, status.st_mtime_ns


def _decided(
    stream: Scanned, header: Header, options: Options, undecided: list[int], names: list[str], size: int
) -> tuple[Kinds, OddCells]:
    """Read all records, by pandas where it is undecided what some columns hold."""
    kinds, odd = Kinds(), OddCells(stream.shown, options.decimal)
    if not undecided:
        for _ in stream:
            pass
        return kinds, odd
    done = 0
    for frame in _parsed(stream, header, options, undecided, [], size):
        kinds.add(frame)
        lines = np.array(stream.lines[done : done + len(frame)])
        odd.add(frame.set_axis([names[j] for j in frame.columns], axis=1), lines)
        done += len(frame)
    return kinds, odd


def _parsed(
    stream: Checked, header: Header, options: Options, places: list[int], texts: list[int], size: int
) -> Iterator[pd.DataFrame]:
    """Some columns, by position, of the rows of a stream; `texts` are read as text whatever they hold."""
    arguments: dict[str, Any] = parsing(header, options)
    try:
        reader = pd.read_csv(stream, **arguments, usecols=places, dtype=dict.fromkeys(texts, str), chunksize=size)
    except pd.errors.EmptyDataError:
        stream.finish()
        return
    with reader:
        for frame in reader:
            stream.finish()
            yield stripped(frame)
    stream.finish()
