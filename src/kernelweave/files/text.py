"""Tables in text files: CSV, TSV and relatives, read in one pass.

Lines are checked on their way to pandas: `Checked` is a stream of the records whose fields are as many as the
header's, and keeps for each record its line and the cell of the ids, as it is written.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from .._warnings import warn
from .cells import OddCells
from .records import Checked, Lines, Record, fields_of, records_of
from .separators import declared, sniffed, without_comments
from .table import Key, Loaded, Options, Source, Table, check_once, divided, no_column, unique_names

COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_NO_NAME = "first column (no name)"


class Header(NamedTuple):
    """What stands above the rows: the separator, the names of the columns, and the position of the ids."""

    sep: str
    names: list[str]
    place: int | None

    def has_certain_ids(self, wanted: Any) -> bool:
        """Whether the column of the ids is the one that was asked for, or has no name."""
        return self.place is not None and self.names[self.place] in ("", wanted)

    def key(self, cells: list[str], name: str, wanted: Any) -> Key:
        """The cells of the ids as a key, whose column goes by this name in the table."""
        given = self.names[self.place or 0]
        how = f"column {given!r}" if given == wanted else f"first column {given!r}" if given else _NO_NAME
        return Key(name, cells, how, is_certain=self.has_certain_ids(wanted), is_raw=True)


def read(source: Source, options: Options, target: str | None) -> Loaded:
    """The table of a text file."""
    with opened(source, options) as handle:
        header, records = started(handle, source, options, target)
        warn_of_no_header(header.names, source)
        stream = Checked(records, header.sep, header.names, header.place, source.shown)
        frame = _parsed(stream, header, options)
        if len(frame) == stream.n_trailing:
            raise ValueError(no_rows(source))
        return _as_table(frame, header, stream, source, options, target)


@contextmanager
def opened(source: Source, options: Options) -> Iterator[IO[str]]:
    """A text file, whose errors name it."""
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
    """The header of a text file, and the records below it."""
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
    place = _key_place(names, options.id_of(source), target, source)
    return Header(sep, names, place), chain(start, records)


def no_rows(source: Source) -> str:
    """A message: a file has nothing below its header."""
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
    """Warn where what is read as names of columns are numbers."""
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


def _key_place(names: list[str], wanted: Any, target: str | None, source: Source) -> int | None:
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


def _parsed(stream: Checked, header: Header, options: Options) -> pd.DataFrame:
    frame = pd.read_csv(stream, **parsing(header, options))
    stream.finish()
    return stripped(frame).copy()  # in a few blocks: pandas' parser makes one of each column, slow from then on


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
