"""How values that are neither arrays nor objects of registered classes are taken apart and put together.

*Atoms* stand in the JSON document as they are, or as an object with one key that names their kind. The codec of its
type takes every other value apart into a list of *parts* (other values).

==============================  ==========================================
atom                            JSON
==============================  ==========================================
None, bool, int, str, float     as it is
nan, inf, -inf                  ``{"float": "nan"}``
NumPy number or string          ``{"scalar": ["<f8", "hexadecimal bytes"]}``
bytes, dtype                    ``{"bytes": "00ff"}``, ``{"dtype": "<f8"}``
type of numbers, or object      ``{"type": "numpy.float32"}``
==============================  ==========================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .bounds import check_whole

# Booleans, numbers, text, bytes and times: what a file may hold. Objects and records are refused.
# A type of no bytes is refused too: NumPy takes one of some bytes instead, which the file need not have.
_DTYPE = re.compile(r"[<>|][biufcSUMm][1-9]\d{0,8}(\[\w{1,9}\])?")
# What users give as a type of numbers, or of columns: Python's types and NumPy's.
_TYPES: dict[str, type] = {
    **{each.__name__: each for each in (bool, int, float, str, object)},
    **{f"numpy.{name}": getattr(np, name) for name in ("number", "integer", "floating", "bool_", "str_", "object_")},
    **{f"numpy.{kind}{bits}": getattr(np, f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"numpy.float{bits}": getattr(np, f"float{bits}") for bits in (16, 32, 64)},
}
_NAME_OF_TYPE = {cls: name for name, cls in _TYPES.items()}
_INDEX_DTYPES = ("object", "str", "int64", "float64", "bool")


class NotSavableError(ValueError):
    """A value that cannot be saved; the message gives the reason."""


def plain_dtype(text: Any) -> np.dtype:
    """The NumPy type that a file names, where it is one of plain data."""
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise ValueError(f"it names the array type {text!r}, which is not one of plain numbers or text")
    return np.dtype(text)


def check_savable(dtype: np.dtype) -> None:
    """Raise a `NotSavableError` where arrays of this type cannot be saved."""
    if not _DTYPE.fullmatch(dtype.str):
        raise NotSavableError(f"holds values of type {dtype}, which cannot be saved")


def as_atom(value: Any) -> Any:
    """The JSON of an atom; `NotImplemented` for any other value."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.generic):
        array = np.asarray(value)
        check_savable(array.dtype)
        return {"scalar": [array.dtype.str, array.tobytes().hex()]}
    if isinstance(value, type) and value in _NAME_OF_TYPE:
        return {"type": _NAME_OF_TYPE[value]}
    if type(value) is bytes:
        return {"bytes": value.hex()}
    if isinstance(value, np.dtype):
        check_savable(value)
        return {"dtype": value.str}
    return NotImplemented


def from_atom(kind: str, content: Any) -> Any:
    """The atom that an object with one key stands for."""
    if kind == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind == "scalar":
        dtype, data = plain_dtype(content[0]), bytes.fromhex(content[1])
        if len(data) != dtype.itemsize or not data:
            raise ValueError(f"it holds a number of {len(data)} bytes where its type has {dtype.itemsize}")
        return np.frombuffer(data, dtype)[0]
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "dtype":
        return plain_dtype(content)
    if kind == "type" and content in _TYPES:
        return _TYPES[content]
    raise ValueError(f"it holds a value of the unknown kind {kind!r}")


@dataclass(frozen=True)
class Codec:
    """How values of some types are taken apart (`parts`) and put together (`build`)."""

    types: tuple[type, ...]
    parts: Callable[[Any], list]
    build: Callable[[list], Any]


def _dict_of(parts: list) -> dict:
    half = len(parts) // 2
    return dict(zip(parts[:half], parts[half:], strict=True))


def _objects_of(parts: list) -> np.ndarray:
    shape, *entries = parts
    if math.prod(shape) != len(entries):
        raise ValueError(f"it holds {len(entries)} entries for an array of shape {shape}")
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array.reshape(shape)


def _sparse_codec(cls: type) -> Codec:
    def build(parts: list) -> Any:
        shape, data, indices, indptr = parts
        if any(type(array) is not np.ndarray for array in (data, indices, indptr)):
            raise ValueError("it holds a sparse matrix that is not made of arrays")
        matrix = cls((data, indices, indptr), shape=shape)
        # Compiled code trusts these indices, and SciPy's own check takes differences of `indptr`, which wrap.
        check_whole(matrix.indices, "sparse matrix", below=int(matrix.shape[1]), of="columns")
        check_whole(matrix.indptr, "sparse matrix", below=len(matrix.indices) + 1, of="entries")
        if (matrix.indptr[1:] < matrix.indptr[:-1]).any():
            raise ValueError("it holds a sparse matrix whose rows overlap")
        return matrix

    def parts(matrix: Any) -> list:
        # A tuple of its own: copies of a matrix share theirs, and loaded matrices do not.
        return [(*matrix.shape,), matrix.data, matrix.indices, matrix.indptr]

    return Codec((cls,), parts, build)


def _index_parts(index: pd.Index) -> list:
    if str(index.dtype) not in _INDEX_DTYPES:
        raise NotSavableError(f"is an index of type {index.dtype}, which cannot be saved")
    labels = [str(label) if isinstance(label, np.str_) else label for label in index.tolist()]
    return [str(index.dtype), index.name, *labels]


def _index_of(parts: list) -> pd.Index:
    dtype, name, *labels = parts
    if dtype not in _INDEX_DTYPES:
        raise ValueError(f"it holds an index of the type {dtype!r}")
    return pd.Index(labels, dtype=dtype, name=name)


def _column(series: pd.Series) -> np.ndarray:
    if not isinstance(series.dtype, np.dtype):
        raise NotSavableError(f"is a pandas column of type {series.dtype}, which cannot be saved; use a NumPy type")
    return series.to_numpy()


def _series_of(parts: list) -> pd.Series:
    values, index, name = parts
    _check_column(values, index)
    return pd.Series(values, index=index, name=name, dtype=values.dtype, copy=True)


def _check_column(values: Any, index: Any) -> None:
    """A single number would be repeated for every entry of the index, of which there may be any number."""
    if type(values) is not np.ndarray or not isinstance(index, pd.Index) or values.shape != (len(index),):
        raise ValueError("it holds a pandas column that is no array with one value for each entry of its index")


def _frame_parts(frame: pd.DataFrame) -> list:
    return [frame.index, frame.columns, *(_column(frame.iloc[:, place]) for place in range(frame.shape[1]))]


def _frame_of(parts: list) -> pd.DataFrame:
    index, columns, *arrays = parts
    if len(columns) != len(arrays):
        raise ValueError(f"it holds a data frame with {len(columns)} names for {len(arrays)} columns")
    if not arrays and type(index) is pd.RangeIndex and len(index):
        raise ValueError("it holds a data frame of rows without columns")
    for array in arrays:
        _check_column(array, index)
    series = {place: pd.Series(array, index=index, dtype=array.dtype) for place, array in enumerate(arrays)}
    return pd.DataFrame(series, index=index).set_axis(columns, axis=1)


CODECS: dict[str, Codec] = {
    "list": Codec((list,), list, list),
    "tuple": Codec((tuple,), list, tuple),
    "dict": Codec((dict,), lambda value: [*value.keys(), *value.values()], _dict_of),
    "slice": Codec((slice,), lambda value: [value.start, value.stop, value.step], lambda parts: slice(*parts)),
    "range": Codec((range,), lambda value: [value.start, value.stop, value.step], lambda parts: range(*parts)),
    "objects": Codec((), lambda array: [array.shape, *array.ravel().tolist()], _objects_of),
    "csr_matrix": _sparse_codec(sp.csr_matrix),
    "csr_array": _sparse_codec(sp.csr_array),
    "range index": Codec(
        (pd.RangeIndex,),
        lambda index: [index.start, index.stop, index.step, index.name],
        lambda parts: pd.RangeIndex(*parts[:3], name=parts[3]),
    ),
    "index": Codec((pd.Index,), _index_parts, _index_of),
    "series": Codec((pd.Series,), lambda series: [_column(series), series.index, series.name], _series_of),
    "frame": Codec((pd.DataFrame,), _frame_parts, _frame_of),
}
KIND_OF: dict[type, str] = {cls: kind for kind, codec in CODECS.items() for cls in codec.types}
