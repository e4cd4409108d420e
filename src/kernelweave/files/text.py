"""Tables in text files: CSV, TSV and relatives.

`read_text` reads a file whole, in one pass. Lines are checked on their way to pandas: `Checked` is a stream of the
records whose fields are as many as the header's, and keeps for each record its line and the cell of the ids, as it is
written. One warning names the first odd cell of columns of text that are almost columns of numbers (`OddCells`).

`scan` leaves the rows in the file and keeps the ids, the line of each row, which rows hold nothing, and which columns
hold numbers where that is not given; `TextView.chunks` then parses the rows that are wanted, some at a time.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, compress, islice
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from .._warnings import warn
from ..validation.inputs import spelled_number
from .base import (
    NUMBER,
    TEXT,
    Key,
    Kinds,
    Loaded,
    Options,
    Source,
    Stamp,
    Table,
    as_kind,
    check_once,
    divided,
    empty_column,
    key_of,
    key_place,
    unique_names,
)

SEPARATORS = {".csv": ",;\t|", ".tsv": "\t,;|", ".tab": "\t,;|", ".txt": "\t,;| "}
COMPRESSIONS = (".gz", ".bz2", ".xz")


def sniffed(lines: list[str], source: Source, options: Options) -> str:
    """The separator of a file: the one that makes most fields of the header, and as many of the next row."""
    candidates = SEPARATORS[format_suffix(source.path.name)]
    if options.decimal in candidates:
        candidates = candidates.replace(options.decimal, "") + options.decimal
    filled = [line for line in lines if line.strip()]
    wanted = options.id_of(source)

    def rank(sep: str) -> tuple[bool, bool, bool, bool, int]:
        with long_cells():
            rows = list(islice(csv.reader(filled, delimiter=sep, skipinitialspace=sep != " "), 2))
        header, row = [len(rows[0]), len(rows[-1])] if rows else [0, 0]
        several = header > 1
        has_id = several and wanted in [name.strip() for name in rows[0]]
        has_row_names = header == 1 and row == 2 and (sep != " " or filled[1].startswith('"'))
        weight = header if several and sep not in (" ", "|", options.decimal) else 0
        return has_id, several and abs(header - row) <= 1, has_row_names, several, weight

    return max(candidates, key=rank)  # the first of equals


def declared(lines: list[str]) -> str | None:
    """The separator that a first line "sep=;" names, as spreadsheets write it; the line is emptied."""
    match = re.fullmatch(r'"?sep=(.)"?\s*', lines[0]) if lines else None
    if match is None:
        return None
    lines[0] = "\n"
    return match[1]


def without_comments(lines: list[str], sep: str | None = None) -> list[str]:
    """Lines with those of "#" above the header emptied; the last is the header if it has the next one's separators."""
    places = [place for place, line in enumerate(lines) if line.strip()]
    n_comments = next((k for k, place in enumerate(places) if not lines[place].lstrip().startswith("#")), 0)
    comments = places[:n_comments]
    if comments and sep is not None:
        n_separators = lines[comments[-1]].count(sep)
        if n_separators and n_separators == lines[places[n_comments]].count(sep):
            comments.pop()
    return ["\n" if place in comments else line for place, line in enumerate(lines)]


def format_suffix(name: str) -> str:
    """The suffix of a file's format, in small letters, without that of a compression."""
    parts = name.lower().split(".")
    while len(parts) > 2 and f".{parts[-1]}" in COMPRESSIONS:
        parts.pop()
    return f".{parts[-1]}" if len(parts) > 1 else ""


_LONGEST_CELL = 2**31 - 1


class Record(NamedTuple):
    """A row of a text file, which several lines make where a quoted cell holds line ends."""

    line: int
    text: str
    n_fields: int
    fields: list[str] | None  # only where cells are quoted

    def cell(self, place: int, sep: str) -> str:
        fields = self.text.split(sep, place + 1) if self.fields is None else self.fields
        return fields[place].strip()


class Lines:
    def __init__(self, lines: Iterator[str]):
        self._lines = lines
        self.number = 0

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        return line if line.endswith("\n") else line + "\n"


def records_of(lines: Lines, sep: str, shown: str) -> Iterator[Record]:
    for text in lines:
        line = lines.number
        if '"' not in text:
            yield Record(line, text, text.count(sep) + 1, None)
            continue
        used = [text]

        def feed(used: list[str] = used) -> Iterator[str]:
            yield used[0]
            for more in lines:
                used.append(more)
                yield more

        with long_cells():
            fields = next(_reader(feed(), sep))
        if (len(used) > 1 or text.count('"') % 2) and _is_open(used, sep):
            raise ValueError(
                f"{shown}, line {line}: a cell begins with a quotation mark that is never closed; close or remove it"
            )
        yield Record(line, "".join(used), len(fields), fields)


def fields_of(record: Record, sep: str) -> list[str]:
    with long_cells():
        return next(_reader([record.text], sep)) if record.fields is None else record.fields


@contextmanager
def long_cells() -> Iterator[None]:
    """Let the module `csv` take long cells; not around a yield, since files may be read in turns."""
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _reader(lines: Any, sep: str, *, strict: bool = False) -> Any:
    return csv.reader(lines, delimiter=sep, skipinitialspace=sep != " ", strict=strict)


def _is_open(lines: list[str], sep: str) -> bool:
    try:
        with long_cells():
            list(_reader(lines, sep, strict=True))
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


class Checked:
    """The records of a table as a stream of text for pandas; what it finds on the way is kept.

    Blank lines are left out, except that in a table of one column they are empty cells. Rows of empty cells at the end
    are counted: a spreadsheet may have written them. An error ends the stream, and is raised by `finish`. Where `rows`
    is given the stream has only those of which it is true.
    """

    def __init__(
        self,
        records: Iterator[Record],
        sep: str,
        names: list[str],
        place: int | None,
        shown: str,
        *,
        rows: Iterable[Any] | None = None,
    ):
        self._records, self._sep, self._names, self._place, self.shown = records, sep, names, place, shown
        self._texts = self._checked() if rows is None else compress(self._checked(), rows)
        self.lines: list[int] = []
        self.cells: list[str] = []
        self.n_trailing = 0
        self._error: Exception | None = None

    def __iter__(self) -> Iterator[str]:
        return self._texts

    def read(self, size: int = -1) -> str:
        """The next records, of `size` characters or a little more; all of them where `size` is negative."""
        parts, length = [], 0
        try:
            for text in self._texts:
                parts.append(text)
                length += len(text)
                if 0 <= size <= length:
                    break
        except Exception as error:  # pandas' parser would hide it
            self._error = error
        return "".join(parts)

    def finish(self) -> None:
        if self._error is not None:
            raise self._error

    def _checked(self) -> Iterator[str]:
        waiting: list[Record] = []  # until a row with a value follows
        for record in self._records:
            if self._is_empty(record):
                if len(self._names) == 1 or record.n_fields > 1:
                    waiting.append(record)
                continue
            for one in waiting:
                yield self._taken(one)
            waiting.clear()
            yield self._taken(record)
        waiting = [record for record in waiting if record.n_fields == len(self._names)]
        self.n_trailing = len(waiting)
        for one in waiting:
            yield self._taken(one)

    def _is_empty(self, record: Record) -> bool:
        if record.fields is None:
            return not record.text.lstrip(self._sep + " \t\n")
        return not any(field.strip() for field in record.fields)

    def _taken(self, record: Record) -> str:
        if record.n_fields != len(self._names):
            raise ValueError(self._ragged(record))
        self.lines.append(record.line)
        if self._place is not None:
            self.cells.append(record.cell(self._place, self._sep))
        return record.text if len(self._names) > 1 or record.text.strip() else '""\n'

    def _ragged(self, record: Record) -> str:
        expected, found = len(self._names), record.n_fields
        seps = {"\t": "tabs", ",": "commas", ";": "semicolons", " ": "spaces"}
        sep = seps.get(self._sep, repr(self._sep))
        remedy = "put cells that contain the separator in quotation marks" if found > expected else "fill the line up"
        first = record.cell(0, self._sep)
        return (
            f"{self.shown}, line {record.line} (which begins with {first[:40]!r}): {found} fields where the header "
            f"has {expected} columns, separated by {sep}; {remedy}, or pass the separator as sep="
        )


SHARE = 0.9  # of cells that are numbers, above which the others are probably mistakes
_CELLS_TRIED = 25  # cells of a column that are looked at first; most columns of text have no number among them
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_COMMA = r"\s*[+-]?[0-9]+,[0-9]+([eE][+-]?[0-9]+)?\s*"


@dataclass
class _Counts:
    """Cells of one column: how many there are, how many are numbers, and how many numbers with a comma."""

    n_cells: int = 0
    n_numbers: int = 0
    n_commas: int = 0
    odd: tuple[int, str] | None = None  # line and text of the first cell that is no number
    comma: tuple[int, str] | None = None  # and of the first number with a comma


class OddCells:
    """Columns in which few cells, or decimal commas, keep the others from being numbers; rows are added in blocks."""

    def __init__(self, shown: str, decimal: str):
        self._shown, self._decimal = shown, decimal
        self._counts: defaultdict[str, _Counts] = defaultdict(_Counts)

    def add(self, frame: pd.DataFrame, lines: np.ndarray) -> None:
        numbers = [name for name, dtype in frame.dtypes.items() if isinstance(dtype, np.dtype) and dtype.kind in "fiu"]
        there = (~np.isnan(frame[numbers].to_numpy(dtype=np.float64))).sum(axis=0).tolist()
        for name, n_numbers in zip(numbers, there, strict=True):
            counts = self._counts[str(name)]
            counts.n_cells += n_numbers
            counts.n_numbers += n_numbers
        for name in frame.columns.difference(numbers, sort=False):
            _count(frame[name], lines, self._decimal, self._counts[str(name)])

    def warn(self) -> None:
        found = [(name, counts) for name, counts in self._counts.items() if _is_odd(counts)]
        if not found:
            return
        name, counts = found[0]
        others = f" (and so in {len(found) - 1} more columns)" if len(found) > 1 else ""
        if _has_commas(counts) and counts.comma is not None:
            line, value = counts.comma
            reason = f"its numbers have commas, {value!r}"
            remedy = "pass decimal=',' if these are decimal commas, and remove them if they are not"
        else:
            line, value = counts.odd or (0, "")
            reason = f"{counts.n_numbers} of {counts.n_cells} cells are numbers and this one is {value!r}"
            remedy = f"correct the cell, or pass na_values=[{value!r}] if it means that the value is missing"
        warn(
            f"{self._shown}, line {line}, column {name!r}: the column is read as text, because {reason}{others}; "
            f"{remedy}"
        )


def _count(column: pd.Series, lines: np.ndarray, decimal: str, counts: _Counts) -> None:
    there = column.notna().to_numpy()
    counts.n_cells += int(there.sum())
    step = max(1, len(column) // _CELLS_TRIED)
    tried = [
        (line, cell) for line, cell in zip(lines[::step], column.iloc[::step], strict=True) if isinstance(cell, str)
    ]
    words = [(int(line), cell) for line, cell in tried if _NUMBER.fullmatch(cell) is None]
    if 2 * len(words) > len(tried) or not there.any():
        counts.odd = counts.odd or next(iter(words), None)
        return
    texts = column[there].astype(str)
    numbers = pd.to_numeric(texts.str.replace(decimal, ".", regex=False), errors="coerce").notna().to_numpy()
    commas = np.zeros(len(texts), dtype=bool)
    if decimal == ".":
        commas = texts.str.fullmatch(_COMMA).to_numpy(dtype=bool)
    rows = np.flatnonzero(there)
    counts.n_numbers += int(numbers.sum())
    counts.n_commas += int((commas & ~numbers).sum())
    counts.odd = counts.odd or _first(~numbers, texts, lines[rows])
    counts.comma = counts.comma or _first(commas, texts, lines[rows])


def _first(chosen: np.ndarray, texts: pd.Series, lines: np.ndarray) -> tuple[int, str] | None:
    if not chosen.any():
        return None
    place = int(np.flatnonzero(chosen)[0])
    return int(lines[place]), texts.iloc[place]


def _has_commas(counts: _Counts) -> bool:
    return counts.n_commas > 0 and counts.n_numbers + counts.n_commas == counts.n_cells


def _is_odd(counts: _Counts) -> bool:
    return _has_commas(counts) or SHARE * counts.n_cells < counts.n_numbers < counts.n_cells


COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


class Header(NamedTuple):
    """What stands above the rows: the separator, the names of the columns, and the position of the ids."""

    sep: str
    names: list[str]
    place: int | None

    def has_certain_ids(self, wanted: Any) -> bool:
        return self.place is not None and self.names[self.place] in ("", wanted)

    def key(self, cells: list[str], name: str, wanted: Any) -> Key:
        return key_of(self.names[self.place or 0], name, cells, wanted, is_raw=True)


def read_text(source: Source, options: Options, target: str | None) -> Loaded:
    with opened(source, options) as handle:
        header, records = started(handle, source, options, target)
        warn_of_no_header(header.names, source)
        stream = Checked(records, header.sep, header.names, header.place, source.shown)
        frame = pd.read_csv(stream, **parsing(header, options))
        stream.finish()
        frame = stripped(frame).copy()  # in a few blocks: pandas' parser makes one of each column, slow from then on
        if len(frame) == stream.n_trailing:
            raise ValueError(no_rows(source))
        return _as_table(frame, header, stream, source, options, target)


@contextmanager
def opened(source: Source, options: Options) -> Iterator[IO[str]]:
    try:
        with _handle(source, options) as handle:
            yield handle
    except UnicodeDecodeError as error:
        raise ValueError(_undecodable(source, options, error)) from None
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the file could not be opened
            raise
        raise ValueError(f"{source.shown} cannot be decompressed: {error}; write the file again") from None


def started(handle: IO[str], source: Source, options: Options, target: str | None) -> tuple[Header, Iterator[Record]]:
    first = list(islice(handle, 100))
    sep = options.sep or declared(first) or sniffed(without_comments(first), source, options)
    first = without_comments(first, sep)
    records = records_of(Lines(chain(first, handle)), sep, source.shown)
    header = next((record for record in records if record.text.strip(sep + ' \n"')), None)
    if header is None:
        raise ValueError(f"{source.shown} is empty; it needs a line of column names and a line for each sample")
    names = [name.strip() for name in fields_of(header, sep)]
    start = list(islice(records, 2))
    names = _completed(names, start, sep)
    check_once(names, [options.id_of(source), target], source.shown)
    place = key_place(names, options.id_of(source), target, source)
    return Header(sep, names, place), chain(start, records)


def no_rows(source: Source) -> str:
    return f"{source.shown} has column names and no rows; it needs a line for each sample"


def _as_table(
    frame: pd.DataFrame, header: Header, stream: Checked, source: Source, options: Options, target: str | None
) -> Loaded:
    names, place = header.names, header.place
    # A separator at the end of each line makes a column without name and values.
    kept = [j for j, name in enumerate(names) if name or j == place or not frame[j].isna().all()]
    unique = unique_names(names, source.shown)
    frame = frame.set_axis(unique, axis=1)
    frame = frame[[unique[j] for j in kept]] if len(kept) < len(names) else frame
    lines = np.array(stream.lines)
    key = None
    if place is not None:
        key = header.key(stream.cells, unique[place], options.id_of(source))
    odd = OddCells(source.shown, options.decimal)
    odd.add(frame.drop(columns=key.name) if key is not None and key.is_certain else frame, lines)
    odd.warn()
    table = Table(source.name, source.shown, frame, key, lines, n_trailing=stream.n_trailing)
    return divided(table, target, options.id_of(source))


def _handle(source: Source, options: Options) -> IO[str]:
    opener: Any = COMPRESSED.get(source.path.suffix.lower(), open)
    encoding = options.encoding
    if encoding is None:
        with opener(source.path, "rb") as handle:
            encoding = _MARKS.get(handle.read(2), "utf-8-sig")
    elif encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    return opener(source.path, "rt", encoding=encoding)


def _undecodable(source: Source, options: Options, error: UnicodeDecodeError) -> str:
    opener: Any = COMPRESSED.get(source.path.suffix.lower(), open)
    with opener(source.path, "rb") as handle:
        content = handle.read()
    if content.startswith(b"\x1f\x8b"):
        return f"{source.shown} is compressed; its name must end with .gz, such as {source.path.name}.gz"
    if content.startswith(b"PK\x03\x04") or b"\x00" in content[:4096]:
        return f"{source.shown} is no text file; if it is a spreadsheet save it as CSV"
    line = ""
    try:
        content.decode(error.encoding)
    except UnicodeDecodeError as whole:
        line = f", line {content[: whole.start].count(10) + 1}"
    encoding = options.encoding or "UTF-8"
    return (
        f"{source.shown}{line}: the text is not {encoding}; save the file as UTF-8, or pass its encoding, such as "
        "encoding='cp1252' (Western Windows) or encoding='latin-1'"
    )


def _completed(names: list[str], start: list[Record], sep: str) -> list[str]:
    """The header's names, with an empty one where all rows have one field more.

    R writes row names without a name above them; other programs end each row, but not the header, with a separator.
    """
    if not start or any(record.n_fields != len(names) + 1 for record in start):
        return names
    return [*names, ""] if all(not fields_of(record, sep)[-1] for record in start) else ["", *names]


def warn_of_no_header(names: list[str], source: Source) -> None:
    is_number = [re.fullmatch(r"[+-]?[0-9]+([.,][0-9]*)?([eE][+-]?[0-9]+)?", name) is not None for name in names]
    if not all(is_number[1:]):
        return
    start = 0 if is_number[0] else 1  # a first cell may be a sample's id
    numbers = np.array([float(name.replace(",", ".")) for name in names[start:]])
    if len(numbers) > 1 and (np.diff(numbers) <= 0).any():
        which = "all of them" if start == 0 else f"all of them but {names[0]!r}"
        warn(
            f"{source.shown}: the first line is read as column names, and {which} are numbers, from {names[start]!r} "
            f"to {names[-1]!r}; if the file has no column names write a line of them above"
        )


def parsing(header: Header, options: Options) -> dict[str, Any]:
    """Arguments of `pandas.read_csv` for the rows below a header; columns are named by position."""
    return {
        "sep": header.sep,
        "header": None,
        "names": range(len(header.names)),
        "index_col": False,
        "decimal": options.decimal,
        "na_values": options.na_values,
        "skipinitialspace": header.sep != " ",
        "skip_blank_lines": False,
        "low_memory": False,
    }


def stripped(frame: pd.DataFrame) -> pd.DataFrame:
    """Text without blanks around it: "ill " and "ill" are one category, and a quoted blank cell is empty."""
    for name in frame.columns[[pd.api.types.is_string_dtype(dtype) for dtype in frame.dtypes]]:
        # Truth values with gaps are objects too.
        column = frame[name].map(lambda cell: (cell.strip() or None) if isinstance(cell, str) else cell)
        frame[name] = column.astype(frame[name].dtype)
    return frame


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

    The columns `places` make a row one that holds something.
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

    `table` has ids and lines of all rows, and values without columns. `names` are the columns of the view, with the
    first one where that may hold ids and may hold values; that one does not count in `empty_rows`.
    """

    source: Source
    options: Options
    header: Header
    table: Table
    names: dict[int, str]
    kinds: dict[int, str]
    empty_rows: np.ndarray
    stamp: Stamp

    def columns(self, key: Key | None) -> dict[int, str]:
        return {j: name for j, name in self.names.items() if key is None or j != self.header.place}

    def is_filled(self, key: Key | None) -> np.ndarray:
        filled = ~self.empty_rows
        if key is None and self.header.place in self.names and self.table.key is not None:
            is_missing = missing_cells(self.options)
            filled |= np.array([not is_missing(cell) for cell in self.table.key.values])
        return filled[: self.table.n_rows]

    def empty(self, key: Key | None) -> pd.DataFrame:
        return pd.DataFrame({name: empty_column(self.kinds[j]) for j, name in self.columns(key).items()})

    def chunks(self, rows: np.ndarray, key: Key | None, size: int) -> Iterator[pd.DataFrame]:
        """The rows of which `rows` is true, `size` at a time, as the frames that `empty` describes."""
        if self.stamp.has_changed():
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
    source: Source,
    options: Options,
    *,
    columns: set[str] | None,
    kinds: Mapping[str, str],
    target: str | None = None,
    size: int,
) -> TextView:
    """Read a text file for its ids, its empty rows and, where `kinds` does not have them, the kinds of its columns.

    The column of the `target` holds no ids, and is no part of the view unless `columns` names it.
    """
    stamp = Stamp(source.path)
    is_missing = missing_cells(options)
    with opened(source, options) as handle:
        header, records = started(handle, source, options, target)
        warn_of_no_header(header.names, source)
        names = unique_names(header.names, source.shown)
        is_certain = header.has_certain_ids(options.id_of(source))
        places = [j for j, name in enumerate(names) if (name != target if columns is None else name in columns)]
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
    return TextView(source, options, header, table, used, decided, np.array(stream.empty_rows), stamp)


def missing_cells(options: Options) -> Callable[[str], bool]:
    given = [] if options.na_values is None else np.atleast_1d(np.asarray(options.na_values, dtype=object)).tolist()
    texts = _MISSING | {str(value) for value in given}
    numbers = {number for value in given if (number := spelled_number(str(value), ".")) is not None}

    def is_missing(cell: str) -> bool:
        cell = cell.strip()
        return cell in texts or (bool(numbers) and spelled_number(cell, options.decimal) in numbers)

    return is_missing


def _decided(
    stream: Scanned, header: Header, options: Options, undecided: list[int], names: list[str], size: int
) -> tuple[Kinds, OddCells]:
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
