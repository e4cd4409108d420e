"""The records of a text file: rows with their lines, checked on their way to pandas."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import compress
from typing import Any, NamedTuple

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


class Lines:
    """Lines with the number of the last one."""

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
    """The records of lines; what is between quotation marks is one cell."""
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
    """The cells of a record, without quotation marks."""
    with long_cells():
        return next(_reader([record.text], sep)) if record.fields is None else record.fields


@contextmanager
def long_cells() -> Iterator[None]:
    """The module `csv` takes long cells; files may be read in turns, so that nothing is read in between."""
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
        """Raise the error that ended the stream, if any."""
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
