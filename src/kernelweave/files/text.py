"""Tables in text files: CSV, TSV and relatives, read in one pass.

Lines are checked on their way to pandas: `_Checked` is a stream of the records whose fields are as many as the
header's, and keeps for each record its line and the cell of the ids, as it is written.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from .._warnings import warn
from .cells import warn_of_odd_cells
from .table import Key, Loaded, Options, Source, Table, divided, no_column, unique_names

SEPARATORS = {".csv": ",;\t", ".tsv": "\t,;", ".tab": "\t,;", ".txt": "\t,; "}
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_LONGEST_CELL = 2**31 - 1


class Record(NamedTuple):
    """A row of a text file, which several lines make where a quoted cell holds line ends."""

    line: int
    text: str
    n_fields: int
    fields: list[str] | None  # only where cells are quoted

    def cell(self, place: int, sep: str) -> str:
        """The text of one cell."""
        fields = self.text.split(sep, place + 1) if self.fields is None else self.fields
        return fields[place].strip()


def read(source: Source, options: Options, target: str | None) -> Loaded:
    """The table of a text file."""
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        return _read(source, options, target)
    except UnicodeDecodeError as error:
        raise ValueError(_undecodable(source, options, error)) from None
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise ValueError(f"{source.shown} cannot be decompressed: {error}; write the file again") from None
    finally:
        csv.field_size_limit(limit)


def _read(source: Source, options: Options, target: str | None) -> Loaded:
    with _opened(source, options) as handle:
        first = list(islice(handle, 100))
        sep = options.sep or _sniffed(first, source, options)
        records = _records(_Lines(chain(first, handle)), sep, source.shown)
        header = next((record for record in records if record.text.strip(sep + ' \n"')), None)
        if header is None:
            raise ValueError(f"{source.shown} is empty; it needs a line of column names and a line for each sample")
        names = [name.strip() for name in _fields(header, sep)]
        start = list(islice(records, 2))
        names = _completed(names, start, sep)
        _warn_of_no_header(names, source)
        place = _key_place(names, options.id_of(source), target, source)
        stream = _Checked(chain(start, records), sep, names, place, source.shown)
        frame = _parsed(stream, sep, options, len(names))
    if not len(frame):
        raise ValueError(f"{source.shown} has column names and no rows; it needs a line for each sample")
    return _as_table(frame, names, stream, place, source, options, target)


def _as_table(
    frame: pd.DataFrame,
    names: list[str],
    stream: _Checked,
    place: int | None,
    source: Source,
    options: Options,
    target: str | None,
) -> Loaded:
    # A separator at the end of each line makes a column without name and values.
    kept = [j for j, name in enumerate(names) if name or j == place or not frame[j].isna().all()]
    unique = unique_names([names[j] for j in kept], source.shown)
    frame = frame[kept].set_axis(unique, axis=1) if len(kept) < len(names) else frame.set_axis(unique, axis=1)
    lines = np.array(stream.lines)
    key = None
    if place is not None:
        name, wanted = names[place], options.id_of(source)
        position = unique[kept.index(place)]
        how = f"column {name!r}" if name == wanted else f"first column {name!r}" if name else "first column (no name)"
        key = Key(position, stream.cells, how, is_certain=name == wanted or not name, is_raw=True)
    odd = frame.drop(columns=position) if key is not None and key.is_certain else frame
    warn_of_odd_cells(odd, lines, source.shown, options.decimal)
    return divided(Table(source.name, source.shown, frame, key, lines), target, options.id_of(source))


def _opened(source: Source, options: Options) -> IO[str]:
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


def _sniffed(lines: list[str], source: Source, options: Options) -> str:
    """The separator of a file: the one that makes most fields of the header, and as many of the next line."""
    candidates = SEPARATORS[format_suffix(source.path.name)]
    if options.decimal in candidates:
        candidates = candidates.replace(options.decimal, "") + options.decimal
    filled = [line for line in lines if line.strip()][:2]

    def rank(sep: str) -> tuple[bool, bool, int]:
        counts = [len(fields) for fields in islice(csv.reader(filled, delimiter=sep), 2)]
        several = bool(counts) and counts[0] > 1
        agreed = len(counts) < 2 or abs(counts[0] - counts[1]) <= 1
        return several and agreed, several, counts[0] if several and sep not in (" ", options.decimal) else 0

    return max(candidates, key=rank)  # the first of equals


def format_suffix(name: str) -> str:
    """The suffix of a file's format, in small letters, without that of a compression."""
    parts = name.lower().split(".")
    while len(parts) > 2 and f".{parts[-1]}" in COMPRESSED:
        parts.pop()
    return f".{parts[-1]}" if len(parts) > 1 else ""


class _Lines:
    """Lines with the number of the last one."""

    def __init__(self, lines: Iterator[str]):
        self._lines = lines
        self.number = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        return line if line.endswith("\n") else line + "\n"


def _records(lines: _Lines, sep: str, shown: str) -> Iterator[Record]:
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

        fields = next(_reader(feed(), sep))
        if len(used) > 1 and _is_open(used, sep):
            raise ValueError(
                f"{shown}, line {line}: a cell begins with a quotation mark that is never closed; close or remove it"
            )
        yield Record(line, "".join(used), len(fields), fields)


def _reader(lines: Any, sep: str, *, strict: bool = False) -> Any:
    return csv.reader(lines, delimiter=sep, skipinitialspace=sep != " ", strict=strict)


def _is_open(lines: list[str], sep: str) -> bool:
    try:
        list(_reader(lines, sep, strict=True))
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _fields(record: Record, sep: str) -> list[str]:
    return next(_reader([record.text], sep)) if record.fields is None else record.fields


def _completed(names: list[str], start: list[Record], sep: str) -> list[str]:
    """The header's names, with an empty one where all rows have one field more.

    R writes row names without a name above them; other programs end each row, but not the header, with a separator.
    """
    if not start or any(record.n_fields != len(names) + 1 for record in start):
        return names
    return [*names, ""] if all(not _fields(record, sep)[-1] for record in start) else ["", *names]


def _warn_of_no_header(names: list[str], source: Source) -> None:
    if not all(re.fullmatch(r"[+-]?\d+([.,]\d*)?([eE][+-]?\d+)?", name) for name in names):
        return
    numbers = np.array([float(name.replace(",", ".")) for name in names])
    if len(numbers) > 1 and (np.diff(numbers) <= 0).any():
        warn(
            f"{source.shown}: the first line is read as column names, and all of them are numbers, from {names[0]!r} "
            f"to {names[-1]!r}; if the file has no column names write a line of them above"
        )


def _key_place(names: list[str], wanted: Any, target: str | None, source: Source) -> int | None:
    """The position of the column whose cells are kept as text: the ids, or what may be the ids."""
    if wanted is False:
        return None
    if wanted is None:
        places = [j for j, name in enumerate(names) if name != target or not name]
        return places[0] if places and (len(names) > 1) else None
    if names.count(wanted) > 1:
        raise ValueError(f"{source.shown} has {names.count(wanted)} columns named {wanted!r}; name the ids differently")
    if wanted in names:
        return names.index(wanted)
    if not names[0]:
        return 0
    raise ValueError(no_column(names, wanted, f"{source.shown} has no", "id"))


class _Checked:
    """The records of a table as a stream of text for pandas; what it finds on the way is kept.

    Blank lines are left out, except that in a table of one column they are empty cells. Lines of separators alone
    at the end, which spreadsheets write, are left out too. An error ends the stream, and is raised by `finish`.
    """

    def __init__(self, records: Iterator[Record], sep: str, names: list[str], place: int | None, shown: str):
        self._records, self._sep, self._names, self._place, self._shown = records, sep, names, place, shown
        self._texts = self._checked()
        self.lines: list[int] = []
        self.cells: list[str] = []
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
        """Raise the error that ended the stream, if any."""
        if self._error is not None:
            raise self._error

    def _checked(self) -> Iterator[str]:
        waiting: list[Record] = []
        empty = self._sep + " \t\n"
        for record in self._records:
            if not record.text.lstrip(empty):
                if len(self._names) == 1 or record.n_fields > 1:
                    waiting.append(record)
                continue
            for one in waiting:
                yield self._taken(one)
            waiting.clear()
            yield self._taken(record)

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


def _parsed(stream: _Checked, sep: str, options: Options, n_columns: int) -> pd.DataFrame:
    frame = pd.read_csv(
        stream,
        sep=sep,
        header=None,
        names=range(n_columns),
        index_col=False,
        decimal=options.decimal,
        na_values=options.na_values,
        skipinitialspace=sep != " ",
        skip_blank_lines=False,
        low_memory=False,
    )
    stream.finish()
    return frame.copy()  # in a few blocks: pandas' parser makes one of each column, which is slow from then on
