"""`StoredRows`: rows of a table in a file or an array, of which any range can be read; and several of them as one.

A column holds numbers (float32 or float64, NaN where a value is missing) or something else, which is text in most cases
(dtype object, None where a value is missing). The type of a column is the same in all blocks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ..result import counted


@dataclass(frozen=True)
class Column:
    """What a column is called and holds.

    Attributes
    ----------
    name : str
        In the file.
    dtype : dtype or None
        float32 or float64 for numbers, object for anything else; None where every value is missing.
    what : str
        What it holds, in words, for messages.
    """

    name: str
    dtype: np.dtype | None
    what: str


def number_type(dtype: np.dtype) -> np.dtype:
    """The type in which numbers of another type are read: float32 where that holds all of them, else float64."""
    return np.dtype(np.result_type(dtype, np.float32)) if dtype.itemsize <= 4 else np.dtype(np.float64)


class StoredRows(ABC):
    """Rows of a table in a file or an array.

    Attributes
    ----------
    shown : str
        What messages call it.
    n_rows : int
    columns : list of Column
    id_place : int or None
        The column that pandas stored as the index of a data frame.
    """

    shown: str
    n_rows: int
    columns: list[Column]
    id_place: int | None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def files(self) -> list[Path]:
        """The files that are read; none for an array in memory."""
        return []

    def frame(self, first: int, last: int, places: Sequence[int], dtypes: Sequence[np.dtype]) -> pd.DataFrame:
        """Some columns of the rows from `first` to before `last`, with columns numbered from 0."""
        with self._reading(first, last):
            return self._frame(first, last, places, dtypes)

    def values(self, first: int, last: int, place: int) -> np.ndarray:
        """One column of some rows as an array of its own type: labels, ids or numbers; None where text is missing."""
        with self._reading(first, last):
            return self._values(first, last, place)

    @abstractmethod
    def _frame(self, first: int, last: int, places: Sequence[int], dtypes: Sequence[np.dtype]) -> pd.DataFrame:
        """See `frame`."""

    @abstractmethod
    def _values(self, first: int, last: int, place: int) -> np.ndarray:
        """See `values`."""

    @contextmanager
    def _reading(self, first: int, last: int) -> Iterator[None]:
        """Errors of reading name the file and the rows."""
        try:
            yield
        except (OSError, ValueError, EOFError, MemoryError) as error:  # pyarrow's errors are ValueErrors or OSErrors
            if isinstance(error, ReadingError):
                raise
            raise ReadingError(f"{self.shown}, rows {first + 1} to {last}: cannot be read: {error}") from error


class ReadingError(ValueError):
    """Rows of a file that cannot be read: the file is damaged, or was changed or removed after it was opened."""


class SeveralParts(StoredRows):
    """The rows of several parts, one below the other.

    Parameters
    ----------
    parts : list of StoredRows
        With the same columns, in any order. A column that holds numbers in one part holds numbers in all.
    shown : str
    """

    def __init__(self, parts: list[StoredRows], shown: str):
        self.parts, self.shown = parts, shown
        self.starts = np.cumsum([0, *(part.n_rows for part in parts)]).tolist()
        self.n_rows = self.starts[-1]
        first = parts[0]
        for part in parts[1:]:
            _check_same_columns(first, part)
        self._places = [{column.name: place for place, column in enumerate(part.columns)} for part in parts]
        self.columns = [self._common(place) for place in range(len(first.columns))]
        self.id_place = first.id_place

    @property
    def files(self) -> list[Path]:
        """Those of all parts."""
        return [file for part in self.parts for file in part.files]

    def _common(self, place: int) -> Column:
        """A column of all parts."""
        name = self.parts[0].columns[place].name
        found: Column | None = None
        for part, places in zip(self.parts, self._places, strict=True):
            other = part.columns[places[name]]
            if found is None or found.dtype is None:
                found, source = other, part
            elif other.dtype is not None and (found.dtype == object) != (other.dtype == object):
                raise ValueError(
                    f"the column {name!r} holds {found.what} in {source.shown} and {other.what} in {part.shown}; write "
                    "all parts with the same types"
                )
            elif other.dtype is not None and found.dtype != object:
                found = Column(name, np.result_type(found.dtype, other.dtype), found.what)
        assert found is not None
        return found

    def _frame(self, first: int, last: int, places: Sequence[int], dtypes: Sequence[np.dtype]) -> pd.DataFrame:
        frames = [
            part.frame(low, high, [self._places[k][self.columns[place].name] for place in places], dtypes)
            for k, part, low, high in self._within(first, last)
        ]
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)

    def _values(self, first: int, last: int, place: int) -> np.ndarray:
        name = self.columns[place].name
        parts = [part.values(low, high, self._places[k][name]) for k, part, low, high in self._within(first, last)]
        if len(parts) > 1 and len({part.dtype.kind == "O" for part in parts}) > 1:  # a part whose values all lack
            parts = [part.astype(object) for part in parts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _within(self, first: int, last: int) -> Iterator[tuple[int, StoredRows, int, int]]:
        """The parts that have these rows, each with its own range; at least one."""
        k = max(0, min(bisect_right(self.starts, first) - 1, len(self.parts) - 1))
        while True:
            start, end = self.starts[k], self.starts[k + 1]
            if min(last, end) > max(first, start):
                yield k, self.parts[k], max(first, start) - start, min(last, end) - start
            if last <= end:
                return
            k += 1


def _check_same_columns(first: StoredRows, part: StoredRows) -> None:
    if len(set(part.names)) == len(part.names) and set(part.names) == set(first.names):
        return
    absent = [name for name in first.names if name not in part.names]
    further = [name for name in part.names if name not in first.names]
    what = f"lacks the column {absent[0]!r}" if absent else f"has a column {further[0]!r}" if further else "differs"
    raise ValueError(
        f"{part.shown} {what}, unlike {first.shown}: parts of one table have the same columns (there are "
        f"{counted(len(first.names), 'column')} and {counted(len(part.names), 'column')})"
    )
