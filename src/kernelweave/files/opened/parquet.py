"""Rows of Parquet files: a cursor goes through a file once for blocks in order, and starts again for others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd

from ..frames import SUFFIXES, named_parquet
from .rows import Column, StoredRows, number_type
from .stamps import Stamp

__all__ = ["SUFFIXES", "ParquetRows"]

_BUFFER = 2**20  # bytes of a column that are read at a time


class ParquetRows(StoredRows):
    """Rows of a Parquet file.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path):
        self.path, self.shown = path.absolute(), str(path)  # the working directory may change
        with named_parquet(self.shown):
            file = import_module("pyarrow.parquet").ParquetFile(path)
            with file:
                self.n_rows = file.metadata.num_rows
                sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
                schema = file.schema_arrow
        self.starts = np.cumsum([0, *sizes]).tolist()
        self.columns = [_column(field, self.shown) for field in schema]
        index = [name for name in (schema.pandas_metadata or {}).get("index_columns", []) if isinstance(name, str)]
        self.id_place = self.names.index(index[0]) if len(index) == 1 and index[0] in self.names else None
        self.stamp = Stamp(self.path, self.shown)
        self._start_afresh()

    @property
    def files(self) -> list[Path]:
        """The file."""
        return [self.path]

    def _frame(self, first: int, last: int, places: Sequence[int], dtypes: Sequence[np.dtype]) -> pd.DataFrame:
        table = self._rows(first, last, [self.names[place] for place in places])
        n, p = last - first, len(places)
        if p and all(dtype.kind != "O" for dtype in dtypes):  # one array, as pandas holds it
            values = np.empty((p, n), dtype=np.result_type(*dtypes))
            for j in range(p):
                values[j] = _numbers(table.column(j))
            return pd.DataFrame(values.T, columns=range(p))
        read = {}
        for j, dtype in enumerate(dtypes):
            values = _others(table.column(j)) if dtype.kind == "O" else _numbers(table.column(j))
            read[j] = pd.Series(values, dtype=dtype)
        return pd.DataFrame(read, index=range(n))

    def _values(self, first: int, last: int, place: int) -> np.ndarray:
        column = _decoded(self._rows(first, last, [self.names[place]]).column(0))
        types = import_module("pyarrow.types")
        plain = types.is_integer(column.type) or types.is_boolean(column.type) or types.is_floating(column.type)
        if plain and not column.null_count:
            return column.to_numpy()
        return _others(column) if self.columns[place].dtype == object else _numbers(column)

    def _rows(self, first: int, last: int, names: list[str]) -> Any:
        """Some columns of some rows, as a table of pyarrow."""
        self.stamp.check()
        key = tuple(names)
        with self._lock:
            cursor = self._cursors.pop(key, None)
            if cursor is None or cursor.position != first:
                cursor = _Cursor(self, names, first, last - first)
            table = cursor.take(last - first)
            if cursor.position < self.n_rows:
                self._cursors[key] = cursor
            return table

    def _start_afresh(self) -> None:
        self._cursors: dict[tuple[str, ...], _Cursor] = {}
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_cursors", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start_afresh()


class _Cursor:
    """Some columns of a file from a row on.

    Parameters
    ----------
    rows : ParquetRows
    names : list of str
    first : int
        The first row that is wanted.
    size : int
        How many rows are decoded at a time: as many as are taken, so that an error names those.
    """

    def __init__(self, rows: ParquetRows, names: list[str], first: int, size: int):
        self._arrow = import_module("pyarrow")
        group = max(bisect_right(rows.starts, first) - 1, 0)
        self._batches = self._read(rows, names, range(group, len(rows.starts) - 1), size)
        self._rest: list[Any] = []
        self.position = rows.starts[group]
        if first > self.position:
            self.take(first - self.position)

    def _read(self, rows: ParquetRows, names: list[str], groups: range, size: int) -> Iterator[Any]:
        file = import_module("pyarrow.parquet").ParquetFile(rows.path, buffer_size=_BUFFER, pre_buffer=False)
        with file:
            yield from file.iter_batches(size, row_groups=list(groups), columns=names)

    def take(self, count: int) -> Any:
        """The next rows; at least one."""
        taken, wanted = [], count
        while wanted:
            batch = self._rest.pop() if self._rest else next(self._batches, None)
            if batch is None:
                raise EOFError(f"{count - wanted} rows of {count} are there")
            if batch.num_rows > wanted:
                self._rest.append(batch.slice(wanted))
                batch = batch.slice(0, wanted)
            taken.append(batch)
            wanted -= batch.num_rows
        self.position += count
        return self._arrow.Table.from_batches(taken)


def _column(field: Any, shown: str) -> Column:
    """What a column of a file holds."""
    types, kind = import_module("pyarrow.types"), field.type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_null(kind):
        return Column(field.name, None, "no values")
    if types.is_boolean(kind):
        return Column(field.name, np.dtype(np.float32), "truth values")
    if types.is_integer(kind) or types.is_floating(kind):
        return Column(field.name, number_type(np.dtype(kind.to_pandas_dtype())), "numbers")
    if types.is_decimal(kind):
        return Column(field.name, np.dtype(np.float64), "numbers")
    if types.is_nested(kind):
        raise ValueError(
            f"{shown}: the column {field.name!r} holds lists or records ({kind}); write a column for each of their "
            "entries"
        )
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind)
    return Column(field.name, np.dtype(object), "text" if is_text else f"values of type {kind}")


def _decoded(column: Any) -> Any:
    """A column of a dictionary as its values: dictionaries differ between parts of a file."""
    types = import_module("pyarrow.types")
    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


def _numbers(column: Any) -> np.ndarray:
    """Numbers, NaN where there is none."""
    arrow, column = import_module("pyarrow"), _decoded(column)
    kind = arrow.float32() if column.type == arrow.float32() else arrow.float64()
    return column.cast(kind, safe=False).to_numpy()


def _others(column: Any) -> np.ndarray:
    """Text, or values of other types, as objects, None where there is none."""
    column = _decoded(column)
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values
