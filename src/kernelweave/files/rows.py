"""Sources of rows: arrays (NPY, NPZ), Parquet files and modalities of MuData files, read whole or a range at a time.

Read whole, a file is a `Table` for each of its views, to be matched with others by id. An NPY file is one view. Each
array of an NPZ file is a view, named as the array is; where there is only one, it has the file's name. An array `ids`
(or the id's name), or `rna_ids` for the view `rna`, holds the ids of the rows. The files of `scipy.sparse.save_npz` are
one sparse view. Each modality of a MuData file (.h5mu) is a view, and so is an AnnData file (.h5ad).

`StoredRows` stay where they are, in an NPY or Parquet file, or an array, and any range of them can be read: of an NPY
file by plain reads of the bytes that are wanted, so that nothing else is held; of a Parquet file by a cursor, which
goes through it once for blocks in order, and starts again for others. A column holds numbers (float32 or float64, NaN
where a value is missing) or something else, which is text in most cases (dtype object, None where a value is missing).
The type of a column is the same in all blocks.
"""

from __future__ import annotations

import warnings
import zipfile
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .._extras import optional
from .base import (
    Key,
    Loaded,
    Options,
    Source,
    Stamp,
    Table,
    check_once,
    counted,
    divided,
    key_of,
    key_place,
    plain_columns,
    unique_names,
    view_name,
)


@dataclass(frozen=True)
class Column:
    """What a column is called in the file and holds, `what` in words for messages.

    The type is float32 or float64 for numbers, object for anything else, None where every value is missing.
    """

    name: str
    dtype: np.dtype | None
    what: str


def number_type(dtype: np.dtype) -> np.dtype:
    """The type in which numbers of another type are read: float32 where that holds all of them, else float64."""
    return np.dtype(np.result_type(dtype, np.float32)) if dtype.itemsize <= 4 else np.dtype(np.float64)


class StoredRows(ABC):
    """Rows of a table in a file or an array; pandas stored the column `id_place` as the index of a data frame."""

    shown: str
    n_rows: int
    columns: list[Column]
    id_place: int | None = None
    stamp: Stamp

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def files(self) -> list[Path]:
        return []

    def frame(self, first: int, last: int, places: Sequence[int], dtypes: Sequence[np.dtype]) -> pd.DataFrame:
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

    def check_unchanged(self) -> None:
        try:
            changed = self.stamp.has_changed()
        except OSError as error:
            raise ReadingError(f"{self.shown} cannot be read any more: {error.strerror}; open it again") from error
        if changed:
            raise ReadingError(f"{self.shown} has changed since it was opened; open it again")

    @contextmanager
    def _reading(self, first: int, last: int) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, EOFError, MemoryError) as error:  # pyarrow's errors are ValueErrors or OSErrors
            if isinstance(error, ReadingError):
                raise
            raise ReadingError(f"{self.shown}, rows {first + 1} to {last}: cannot be read: {error}") from error


class ReadingError(ValueError):
    """Rows of a file that cannot be read: the file is damaged, or was changed or removed after it was opened."""


class SeveralParts(StoredRows):
    """Parts with the same columns, in any order, one below the other; what is numbers in one is so in all."""

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
        return [file for part in self.parts for file in part.files]

    def _common(self, place: int) -> Column:
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


ARRAY_SUFFIXES = (".npy", ".npz")
_IDS = ("ids", "id", "index", "sample", "samples", "sample_ids")
_SPARSE = {"data", "indices", "indptr", "shape"}


def read_arrays(source: Source, options: Options, target: str | None) -> Loaded:
    try:
        content = np.load(source.path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            frame = _array_frame(content, source.name, source.shown)
            if content.dtype.names is not None:  # records are a table with names, among them perhaps ids
                return of_frame(frame, source, options, target)
            return divided(Table(source.name, source.shown, frame), target, None)
        with content:
            members = {name: content[name] for name in content.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        if "allow_pickle" in str(error):
            raise ValueError(_holds_objects(source.shown)) from None
        raise ValueError(f"{source.shown} cannot be read as {source.path.suffix[1:].upper()}: {error}") from error
    if not members:
        raise ValueError(f"{source.shown} is empty; it needs an array with a row for each sample")
    return _members(members, source, options.id_of(source), target)


def _members(members: dict[str, np.ndarray], source: Source, wanted: Any, target: str | None) -> Loaded:
    if set(members) >= _SPARSE:
        is_pair = members["shape"].shape == (2,)
        matrix = sp.load_npz(source.path) if "format" in members else None
        if matrix is None and is_pair:
            parts = (members["data"], members["indices"], members["indptr"])
            matrix = sp.csr_matrix(parts, shape=tuple(members["shape"]))
        others = {name: array for name, array in members.items() if name not in _SPARSE | {"format"}}
        arrays: dict[str, Any] = {source.name: sp.csr_matrix(matrix), **others}
    else:
        arrays = dict(members)
    ids = {} if wanted is False else _ids(arrays, wanted, source)
    columns = [name for name in arrays if name not in ids]
    found = None
    if target in columns:
        column = _array_frame(arrays.pop(target), target, f"{source.shown}, array {target!r}")
        if column.shape[1] > 1:
            raise ValueError(
                f"{source.shown}: the array {target!r} is the target and has {column.shape[1]} columns, not 1"
            )
        found = Table(source.name, f"{source.shown}, array {target!r}", column.set_axis([target], axis=1))
    views = {name: array for name, array in arrays.items() if name not in ids}
    tables = []
    for name, array in views.items():
        own = f"{source.name}_{name}" if source.is_named else name
        view = view_name(own) if len(views) > 1 else source.name
        shown = f"{source.shown}, array {name!r}" if len(members) > 1 else source.shown
        values = array if sp.issparse(array) else plain_columns(_array_frame(array, view, shown))
        names = [str(j) for j in range(array.shape[1])] if sp.issparse(array) else []
        tables.append(Table(view, shown, values, columns=names))
        tables[-1].key = _array_key(ids, name, tables[-1])
    if found is not None:
        found.key = _array_key(ids, str(target), found)
    return Loaded(tables, found, columns)


def _ids(arrays: dict[str, Any], wanted: Any, source: Source) -> dict[str, np.ndarray]:
    own = {f"{name}_ids" for name in arrays}
    common = next((name for name in (wanted, *_IDS) if name in arrays), None)
    ids = {name: arrays[name] for name in arrays if name == common or name in own}
    if len(ids) == len(arrays):
        return {}
    for name, array in ids.items():
        if np.ndim(array) != 1:
            raise ValueError(
                f"{source.shown}: the array {name!r} should hold the ids of the samples and has {np.ndim(array)} "
                "dimensions; store the ids as an array of one dimension, or pass id=False to match rows by their order"
            )
    return ids


def _array_key(ids: dict[str, np.ndarray], member: str, table: Table) -> Key | None:
    own = f"{member}_ids"
    name = own if own in ids else next((name for name in ids if not name.endswith("_ids") or name in _IDS), None)
    if name is None:
        return None
    if len(ids[name]) != table.n_rows:
        raise ValueError(
            f"{table.shown} has {table.n_rows} rows, and the array {name!r} has ids of {len(ids[name])} samples; store "
            f"its own ids as {own!r}"
        )
    return Key(name, ids[name].astype(object), f"array {name!r}", is_certain=True)


def _array_frame(array: np.ndarray, view: str, shown: str) -> pd.DataFrame:
    if array.dtype.names is not None and array.ndim == 1:
        frame = pd.DataFrame({name: _texts(array[name]) for name in array.dtype.names})
    else:
        _check_dimensions(array.shape, shown)
        frame = pd.DataFrame(_texts(array))
        frame.columns = [view] if array.ndim == 1 else [str(j) for j in range(frame.shape[1])]
    if not len(frame) or not frame.shape[1]:
        raise ValueError(_is_empty(shown, array.shape))
    return frame


def _texts(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "US":
        return array
    texts = array.astype(str).astype(object)
    texts[texts == ""] = None
    return texts


def _check_dimensions(shape: tuple[int, ...], shown: str) -> None:
    if len(shape) not in (1, 2):
        raise ValueError(
            f"{shown} has {len(shape)} dimensions; a view has two, samples and columns: reshape it, such as "
            "array.reshape(len(array), -1)"
        )


def _is_empty(shown: str, shape: tuple[int, ...]) -> str:
    return f"{shown} is empty (shape {shape}); it needs a row for each sample"


def _holds_objects(shown: str) -> str:
    return (
        f"{shown} holds Python objects, which are not read because they could run code; save arrays of numbers or "
        "text, such as array.astype(float) or array.astype(str)"
    )


NPY = ".npy"


class ArrayRows(StoredRows):
    """Rows of an array in memory, or of a memory map; the only column of a one-dimensional one is called `view`."""

    def __init__(self, array: np.ndarray, view: str, shown: str):
        check_layout(array.shape, array.dtype, shown)
        if not len(array):
            raise ValueError(_is_empty(shown, array.shape))
        self.array, self.shown, self.n_rows = array, shown, array.shape[0]
        self.columns = columns_of(array.shape, array.dtype, view)

    def _frame(self, first: int, last: int, places: Sequence[int], dtypes: Sequence[np.dtype]) -> pd.DataFrame:
        return as_frame(self._rows(first, last), places, dtypes)

    def _values(self, first: int, last: int, place: int) -> np.ndarray:
        rows = self._rows(first, last)
        return as_labels(rows if rows.ndim == 1 else rows[:, place])

    def _rows(self, first: int, last: int) -> np.ndarray:
        return np.array(self.array[first:last])

    def __getstate__(self) -> dict[str, Any]:
        """The arguments that open a memory map again are pickled, not its rows."""
        state = dict(self.__dict__)
        found = _mapped(self.array)
        return state if found is None else {**state, "array": found}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(state.get("array"), tuple):
            name, dtype, offset, shape, order = state["array"]
            self.array = np.memmap(name, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)


class NpyRows(ArrayRows):
    """Rows of an NPY file, by plain reads.

    A file that is cut off is found out when it is opened, and one that shrinks later is an error and no crash, as it
    would be with a memory map.
    """

    def __init__(self, path: Path, view: str):
        self.path, self.shown = path.absolute(), str(path)  # the working directory may change
        try:
            with path.open("rb") as file:
                version = np.lib.format.read_magic(file)
                read = np.lib.format.read_array_header_1_0
                header = read(file) if version == (1, 0) else np.lib.format.read_array_header_2_0(file)
                self.offset = file.tell()
        except (ValueError, EOFError) as error:
            raise ValueError(f"{self.shown} cannot be read as NPY: {error}") from error
        self.shape, self.by_column, self.dtype = header
        check_layout(self.shape, self.dtype, self.shown)
        needed, there = self.offset + int(np.prod(self.shape)) * self.dtype.itemsize, path.stat().st_size
        if there < needed:
            raise ValueError(
                f"{self.shown} is cut off: an array of shape {self.shape} and type {self.dtype} takes {needed} bytes, "
                f"and the file has {there}; write or copy it again"
            )
        self.n_rows, self.columns = self.shape[0], columns_of(self.shape, self.dtype, view)
        self.stamp = Stamp(self.path)

    @property
    def files(self) -> list[Path]:
        return [self.path]

    def _rows(self, first: int, last: int) -> np.ndarray:
        self.check_unchanged()
        width, size = int(np.prod(self.shape[1:])), self.dtype.itemsize
        with self.path.open("rb") as file:
            if not self.by_column or width == 1:
                file.seek(self.offset + first * width * size)
                return _from_file(file, self.dtype, (last - first) * width).reshape(last - first, *self.shape[1:])
            rows = np.empty((width, last - first), dtype=self.dtype)
            for column in range(width):
                file.seek(self.offset + (column * self.n_rows + first) * size)
                rows[column] = _from_file(file, self.dtype, last - first)
            return rows.T

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)


def _from_file(file: Any, dtype: np.dtype, count: int) -> np.ndarray:
    found = np.fromfile(file, dtype=dtype, count=count)
    if len(found) < count:
        raise ReadingError(f"{file.name} has become shorter since it was opened; open it again")
    return found


def check_layout(shape: tuple[int, ...], dtype: np.dtype, shown: str) -> None:
    if dtype.hasobject:
        raise ValueError(_holds_objects(shown))
    if dtype.names is not None:
        raise ValueError(
            f"{shown} holds records; save them as Parquet, such as pandas.DataFrame(array).to_parquet(...)"
        )
    if dtype.kind not in "fiubUS":
        raise ValueError(f"{shown} holds values of type {dtype}; turn them into numbers or text")
    _check_dimensions(shape, shown)
    if 0 in shape[1:]:
        raise ValueError(f"{shown} has no columns (shape {shape}); a view needs one")


def columns_of(shape: tuple[int, ...], dtype: np.dtype, view: str) -> list[Column]:
    is_number = dtype.kind in "fiub"
    kind = number_type(dtype) if is_number else np.dtype(object)
    names = [view] if len(shape) == 1 else [str(place) for place in range(shape[1])]
    return [Column(name, kind, "numbers" if is_number else "text") for name in names]


def as_frame(rows: np.ndarray, places: Sequence[int], dtypes: Sequence[np.dtype]) -> pd.DataFrame:
    rows = rows.reshape(len(rows), -1)
    if list(places) != list(range(rows.shape[1])):
        rows = rows[:, list(places)]
    if rows.dtype.kind in "US":
        return pd.DataFrame(as_labels(rows), columns=range(rows.shape[1]), dtype=object)
    kind = np.result_type(*dtypes) if len(dtypes) else np.dtype(np.float64)
    return pd.DataFrame(rows.astype(kind, copy=False), columns=range(rows.shape[1]))


def as_labels(values: np.ndarray) -> np.ndarray:
    """Text as objects, None where it is empty; numbers in the byte order of the machine."""
    if values.dtype.kind in "US":
        return _texts(values)
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))


def _mapped(array: np.ndarray) -> tuple[Any, ...] | None:
    """What opens a memory map again: file, type, offset, shape and order; None where the array is none."""
    if not isinstance(array, np.memmap) or getattr(array, "filename", None) is None:
        return None
    order = "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else None
    if order is None:
        return None
    whole = array
    while isinstance(whole.base, np.memmap):
        whole = whole.base
    start = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return str(array.filename), array.dtype, int(whole.offset + start), array.shape, order


PARQUET_SUFFIXES = (".parquet", ".pq")


def read_parquet(source: Source, options: Options, target: str | None) -> Loaded:
    """The table of a Parquet file; an index that pandas stored counts as its first column."""
    stored = parquet_names(source)
    check_once(stored, stored, source.shown)  # pandas cannot read such a file
    with named_parquet(source.shown):
        frame = pd.read_parquet(source.path)
    return of_frame(frame, source, options, target)


def parquet_names(source: Source) -> list[str]:
    with named_parquet(source.shown):
        schema = import_module("pyarrow.parquet").read_schema(source.path)
    return [str(name) for name in schema.names]


@contextmanager
def named_parquet(shown: str) -> Iterator[None]:
    try:
        yield
    except ImportError as absent:
        raise ImportError(f"{shown}: pyarrow is needed to read Parquet; pip install kernelweave[parquet]") from absent
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise ValueError(f"{shown} cannot be read as Parquet: {error}") from error


def of_frame(frame: pd.DataFrame, source: Source, options: Options, target: str | None) -> Loaded:
    if not isinstance(frame.index, pd.RangeIndex):
        levels = [name if name is not None else "" for name in frame.index.names]
        index = frame.index.to_frame(index=False, name=range(len(levels)))
        names = [*levels, *frame.columns]
        frame = pd.concat([index, frame.reset_index(drop=True)], axis=1).set_axis(names, axis=1)
    if not len(frame):
        raise ValueError(f"{source.shown} has no rows; it needs one for each sample")
    given = [str(name).strip() for name in frame.columns]
    wanted = options.id_of(source)
    check_once(given, [wanted, target], source.shown)
    names = unique_names(given, source.shown)
    frame = frame.set_axis(names, axis=1).reset_index(drop=True)
    known = [name if there else "" for name, there in zip(names, given, strict=True)]
    place, key = key_place(known, wanted, target, source), None
    if place is not None:
        key = key_of(known[place], names[place], frame[names[place]].to_numpy(dtype=object), wanted)
    return divided(Table(source.name, source.shown, frame, key), target, wanted)


_BUFFER = 2**20  # bytes of a column that are read at a time


class ParquetRows(StoredRows):
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
        self.stamp = Stamp(self.path)
        self._start_afresh()

    @property
    def files(self) -> list[Path]:
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
        self.check_unchanged()
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
    """Some columns of a file from row `first` on; as many rows are decoded as are taken: an error names those."""

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
    arrow, column = import_module("pyarrow"), _decoded(column)
    kind = arrow.float32() if column.type == arrow.float32() else arrow.float64()
    return column.cast(kind, safe=False).to_numpy()


def _others(column: Any) -> np.ndarray:
    column = _decoded(column)
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


MODALITY_SUFFIXES = (".h5mu", ".h5ad")


def read_modalities(source: Source, options: Options, target: str | None) -> Loaded:
    is_one = source.path.suffix.lower() == ".h5ad"
    package = optional("anndata" if is_one else "mudata", f"to read {source.shown}", "mudata")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages to their own users
        try:
            data = package.read_h5ad(source.path) if is_one else package.read_h5mu(source.path)
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(f"{source.shown} cannot be read as {source.path.suffix[1:]}: {error}") from error
    modalities = {source.name: data} if is_one else dict(data.mod)
    if len(modalities) == 1 and source.is_named:
        modalities = {source.name: next(iter(modalities.values()))}
    wanted = options.id_of(source)
    tables = []
    for name, modality in modalities.items():
        own = f"{source.name}_{name}" if source.is_named and len(modalities) > 1 else str(name)
        view = view_name(own)
        shown = source.shown if is_one else f"{source.shown}, modality {name!r}"
        tables.append(_modality_table(modality, view, shown, wanted))
    parts = [data, *modalities.values()]
    columns = list(dict.fromkeys(str(column) for part in parts for column in part.obs.columns))
    return Loaded(tables, _modality_target(parts, target, wanted, source), columns)


def _modality_table(modality: Any, view: str, shown: str, wanted: Any) -> Table:
    values = modality.X
    if values is None or not values.shape[0] or not values.shape[1]:
        raise ValueError(f"{shown} has no values in .X; store them there, or leave the modality out")
    names = unique_names([str(name) for name in modality.var_names], shown)
    key = _modality_key(modality, wanted)
    if sp.issparse(values):
        return Table(view, shown, sp.csr_matrix(values), key, columns=names)
    return Table(view, shown, plain_columns(pd.DataFrame(np.asarray(values), columns=names)), key)


def _modality_key(part: Any, wanted: Any) -> Key | None:
    if wanted is False:
        return None
    if isinstance(wanted, str) and wanted in part.obs.columns:
        return Key(wanted, part.obs[wanted].to_numpy(dtype=object), f"column {wanted!r} of obs", is_certain=True)
    return Key(str(part.obs_names.name or ""), part.obs_names.to_numpy(dtype=object), "obs_names", is_certain=True)


def _modality_target(parts: list[Any], target: str | None, wanted: Any, source: Source) -> Table | None:
    for part in parts:
        if target is not None and target in part.obs.columns:
            frame = part.obs[[target]].reset_index(drop=True)
            return Table(source.name, source.shown, frame, _modality_key(part, wanted))
    return None
