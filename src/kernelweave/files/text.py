"""Tables in text files: CSV, TSV and relatives.

Lines are checked on their way to pandas: `Checked` is a stream of the records whose fields are as many as the header's,
and keeps for each record its line and the cell of the ids, as it is written. `parsed` is the one place where pandas
reads them, in one frame or in several; `cells.Columns` looks at each frame.

`read_text` keeps the one frame that a pass over the file makes. `scan` keeps of its frames the ids, the line of each
row, which rows hold nothing, and which columns hold numbers where that is not given; `TextTable.chunks` then parses the
rows that are wanted, some at a time.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, compress, islice
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from .._warnings import warn
from .base import Key, Loaded, Options, Source, Stamp, Table, check_once, divided, key_of, key_place, unique_names
from .cells import TEXT, Columns, as_kinds, without_blanks

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


class Header(NamedTuple):
    sep: str
    names: list[str]
    place: int | None


class Checked:
    """The records of a table as a stream of text for pandas; what it finds on the way is kept.

    Blank lines are left out, except that in a table of one column they are empty cells. Rows of empty cells at the end
    are counted: a spreadsheet may have written them. An error ends the stream, and is raised by `finish`. Where `rows`
    is given the stream has only those of which it is true.
    """

    def __init__(self, records: Iterator[Record], header: Header, shown: str, *, rows: Iterable[Any] | None = None):
        self._records, self._shown = records, shown
        self._sep, self._names, self._place = header
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
            f"{self._shown}, line {record.line} (which begins with {first[:40]!r}): {found} fields where the header "
            f"has {expected} columns, separated by {sep}; {remedy}, or pass the separator as sep="
        )


COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


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


def parsed(
    stream: Checked,
    header: Header,
    options: Options,
    places: list[int],
    *,
    texts: Sequence[int] = (),
    size: int | None = None,
) -> Iterator[pd.DataFrame]:
    """The columns at some places, named by position, in frames of `size` rows or in one; which cells are missing.

    `texts` are places of columns that are not to be taken for numbers.
    """
    if not places:
        n_rows = sum(1 for _ in stream)
        yield pd.DataFrame(index=range(n_rows))
        return
    reader = pd.read_csv(
        stream,
        sep=header.sep,
        header=None,
        names=range(len(header.names)),
        usecols=places,
        index_col=False,
        dtype=dict.fromkeys(texts, str) or None,  # pandas takes long over a dictionary
        decimal=options.decimal,
        na_values=options.na_values,
        skipinitialspace=header.sep != " ",
        skip_blank_lines=False,
        low_memory=False,
        iterator=True,
        chunksize=size,
    )
    with reader:
        for frame in reader:
            stream.finish()
            # In a few blocks: pandas' parser makes one of each column, slow from then on.
            yield _stripped(frame).copy()


def _stripped(frame: pd.DataFrame) -> pd.DataFrame:
    """Text without blanks around it: "ill " and "ill" are one category, and a quoted blank cell is empty."""
    for name in frame.columns[[pd.api.types.is_string_dtype(dtype) for dtype in frame.dtypes]]:
        # Truth values with gaps are objects too.
        frame[name] = frame[name].map(without_blanks).astype(frame[name].dtype)
    return frame


@dataclass(kw_only=True)
class TextTable(Table):
    """A table in a text file, after the first pass; `values` have its rows, without columns.

    `names` and `kinds` are those of the columns, by position, with the first one where that may hold ids and may hold
    values. `filled` says which rows hold something, in that column (second row) and in others (first row).
    """

    source: Source
    options: Options
    header: Header
    names: dict[int, str]
    kinds: dict[int, str]
    filled: np.ndarray
    stamp: Stamp

    def without_key(self, key: Key) -> None:
        self.names = {place: name for place, name in self.names.items() if place != self.header.place}

    @property
    def features(self) -> pd.Index:
        return pd.Index(list(self.names.values()))

    def is_filled(self) -> np.ndarray:
        filled = self.filled if self.header.place in self.names else self.filled[:1]
        return np.logical_or.reduce(filled)[: self.n_rows]

    def chunks(self, rows: np.ndarray, size: int) -> Iterator[pd.DataFrame]:
        names = list(self.names.values())
        kinds = {name: self.kinds[place] for place, name in self.names.items()}
        numbered = np.flatnonzero(rows)
        done = 0

        def where(row: int) -> str:
            return f"{self.shown}, {self.place(numbered[done + row])}"

        if not rows.any():
            yield as_kinds(pd.DataFrame(columns=names, dtype=np.float64), kinds, self.options.decimal, where)
            return
        if self.stamp.has_changed():
            raise ValueError(f"{self.shown} has changed since its ids were read; read it again")
        with opened(self.source, self.options) as handle:
            header, records = started(handle, self.source, self.options, None)
            stream = Checked(records, Header(header.sep, header.names, None), self.shown, rows=rows)
            texts = [place for place in self.names if self.kinds[place] == TEXT]
            for frame in parsed(stream, header, self.options, [*self.names], texts=texts, size=size):
                yield as_kinds(frame.set_axis(names, axis=1), kinds, self.options.decimal, where)
                done += len(frame)


def read_text(source: Source, options: Options, target: str | None) -> Loaded:
    table, names, (frame,) = _read(source, options, target)
    frame = frame if len(table.names) == frame.shape[1] else frame[[*table.names]]
    frame = frame.set_axis([*table.names.values()], axis=1)
    whole = Table(source.name, source.shown, frame, table.key, table.lines, n_trailing=table.n_trailing)
    return divided(whole, target, options.id_of(source), names)


def scan(
    source: Source,
    options: Options,
    *,
    columns: set[str] | None,
    kinds: Mapping[str, str],
    target: str | None = None,
    size: int,
) -> TextTable:
    """Read a text file for its ids, its empty rows and, where `kinds` does not have them, the kinds of its columns.

    The column of the `target` holds no ids, and is no part of the view unless `columns` names it.
    """
    return _read(source, options, target, columns=columns, known=kinds, size=size)[0]


def _read(
    source: Source,
    options: Options,
    target: str | None,
    *,
    columns: set[str] | None = None,
    known: Mapping[str, str] = MappingProxyType({}),
    size: int | None = None,
) -> tuple[TextTable, list[str], list[pd.DataFrame]]:
    """One pass: the table, the names of all columns that count, and without a `size` of blocks all rows."""
    stamp, wanted = Stamp(source.path), options.id_of(source)
    frames, filled, n_rows = [], [], 0
    with opened(source, options) as handle:
        header, records = started(handle, source, options, target)
        warn_of_no_header(header.names, source)
        names = unique_names(header.names, source.shown)
        place = header.place
        given = None if place is None else header.names[place]
        is_ids = [j == place and given in ("", wanted) and name != target for j, name in enumerate(names)]
        left_out = target if size is not None else None
        is_wanted = [name != left_out if columns is None else name in columns for name in names]
        places = [j for j in range(len(names)) if is_wanted[j] and not is_ids[j]]
        undecided = [j for j in places if names[j] not in known]
        found, is_used = Columns(names, options.decimal), np.zeros(len(places), dtype=bool)
        is_first = np.array([j == place for j in places], dtype=bool)
        stream = Checked(records, header, source.shown)
        for frame in parsed(stream, header, options, places, size=size):
            lines = np.array(stream.lines[n_rows : n_rows + len(frame)])
            found.add(frame if len(undecided) == len(places) else frame[undecided], lines)
            there = frame.notna().to_numpy()
            is_used |= there.any(axis=0)
            filled.append(np.stack([there[:, ~is_first].any(axis=1), there[:, is_first].any(axis=1)]))
            n_rows += len(frame)
            if size is None:
                frames.append(frame)
    if n_rows == stream.n_trailing:
        raise ValueError(f"{source.shown} has column names and no rows; it needs a line for each sample")
    found.warn(source.shown)
    # A separator at the end of each line makes a column without name and values.
    used = {j: names[j] for j, seen in zip(places, is_used, strict=True) if seen or header.names[j] or j == place}
    table = TextTable(
        name=source.name,
        shown=source.shown,
        values=pd.DataFrame(index=range(n_rows)),
        key=None if place is None else key_of(header.names[place], names[place], stream.cells, wanted, is_raw=True),
        lines=np.array(stream.lines),
        n_trailing=stream.n_trailing,
        source=source,
        options=options,
        header=header,
        names=used,
        kinds={j: known.get(name) or found.kind(j) for j, name in used.items()},
        filled=np.concatenate(filled, axis=1),
        stamp=stamp,
    )
    return table, [name for j, name in enumerate(names) if j in used or j == place], frames
