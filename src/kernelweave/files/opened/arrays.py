"""Rows of NPY files and of arrays: plain reads of the bytes that are wanted, so that nothing else is held."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .rows import Column, ReadingError, StoredRows, number_type
from .stamps import Stamp

SUFFIX = ".npy"


class ArrayRows(StoredRows):
    """Rows of an array in memory, or of a memory map.

    Parameters
    ----------
    array : ndarray of shape (n_rows, n_columns) or (n_rows,)
    view : str
        What the only column of an array of one dimension is called.
    shown : str
    """

    def __init__(self, array: np.ndarray, view: str, shown: str):
        check_layout(array.shape, array.dtype, shown)
        if not len(array):
            raise ValueError(f"{shown} is empty (shape {array.shape}); it needs a row for each sample")
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
        """A memory map is opened again elsewhere; its rows do not travel."""
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

    Parameters
    ----------
    path : Path
    view : str
        What the only column of an array of one dimension is called.
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
        self.stamp = Stamp(self.path, self.shown)

    @property
    def files(self) -> list[Path]:
        """The file."""
        return [self.path]

    def _rows(self, first: int, last: int) -> np.ndarray:
        self.stamp.check()
        width, size = int(np.prod(self.shape[1:])), self.dtype.itemsize
        with self.path.open("rb") as file:
            if not self.by_column or width == 1:
                file.seek(self.offset + first * width * size)
                return _read(file, self.dtype, (last - first) * width).reshape(last - first, *self.shape[1:])
            rows = np.empty((width, last - first), dtype=self.dtype)
            for column in range(width):
                file.seek(self.offset + (column * self.n_rows + first) * size)
                rows[column] = _read(file, self.dtype, last - first)
            return rows.T

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)


def _read(file: Any, dtype: np.dtype, count: int) -> np.ndarray:
    found = np.fromfile(file, dtype=dtype, count=count)
    if len(found) < count:
        raise ReadingError(f"{file.name} has become shorter since it was opened; open it again")
    return found


def check_layout(shape: tuple[int, ...], dtype: np.dtype, shown: str) -> None:
    """Refuse arrays that are no table of numbers or text."""
    if dtype.hasobject:
        raise ValueError(
            f"{shown} holds Python objects, which are not read because they could run code; save arrays of numbers or "
            "text, such as array.astype(float) or array.astype(str)"
        )
    if dtype.names is not None:
        raise ValueError(
            f"{shown} holds records; save them as Parquet, such as pandas.DataFrame(array).to_parquet(...)"
        )
    if dtype.kind not in "fiubUS":
        raise ValueError(f"{shown} holds values of type {dtype}; turn them into numbers or text")
    if len(shape) not in (1, 2):
        raise ValueError(
            f"{shown} has {len(shape)} dimensions; a view has two, samples and columns: reshape it, such as "
            "array.reshape(len(array), -1)"
        )
    if 0 in shape[1:]:
        raise ValueError(f"{shown} has no columns (shape {shape}); a view needs one")


def columns_of(shape: tuple[int, ...], dtype: np.dtype, view: str) -> list[Column]:
    """The columns of an array: named by their positions, or as the view where there is one dimension."""
    is_number = dtype.kind in "fiub"
    kind = number_type(dtype) if is_number else np.dtype(object)
    names = [view] if len(shape) == 1 else [str(place) for place in range(shape[1])]
    return [Column(name, kind, "numbers" if is_number else "text") for name in names]


def as_frame(rows: np.ndarray, places: Sequence[int], dtypes: Sequence[np.dtype]) -> pd.DataFrame:
    """Some columns of an array as a data frame."""
    rows = rows.reshape(len(rows), -1)
    if list(places) != list(range(rows.shape[1])):
        rows = rows[:, list(places)]
    if rows.dtype.kind in "US":
        return pd.DataFrame(as_labels(rows), columns=range(rows.shape[1]), dtype=object)
    kind = np.result_type(*dtypes) if len(dtypes) else np.dtype(np.float64)
    return pd.DataFrame(rows.astype(kind, copy=False), columns=range(rows.shape[1]))


def as_labels(values: np.ndarray) -> np.ndarray:
    """Text as objects, None where it is empty; numbers in the byte order of the machine."""
    if values.dtype.kind not in "US":
        return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
    texts = values.astype(str).astype(object)
    texts[texts == ""] = None
    return texts


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
