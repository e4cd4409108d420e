"""A model as rows of plain data, and back.

Each list, array, object and so on is one row, written once however often it is used, after everything that it is made
of: a row refers only to rows before it. So reading is one pass without recursion, cycles cannot occur, and what was
shared in the model (a Gram matrix, the list of fitted kernels) is shared again afterwards.

=========================================================  ==========================================================
row                                                        value
=========================================================  ==========================================================
``{"kind": "list", "parts": [...]}`` and other codecs      a value that is made of others
``{"kind": "array", "member": name, "writeable": ...}``    an array, in a member of its own
``{"kind": "object", "class": ..., "fields": {...}}``      an object of a class of `registry`, or of a user's
``{"kind": "transformer", "class": ..., "fields": ...}``   a transformer of scikit-learn, not fitted; `transformers`
=========================================================  ==========================================================

Parts and fields are references to rows, ``{"ref": 3}``, callables that the caller of `load` gives, ``{"callable":
"name"}``, or atoms:

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

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..validation.schemas import check_whole
from .registry import (
    clash,
    fields_of,
    instance_of,
    is_data,
    is_extension,
    is_registered,
    name_in_files,
    name_now,
    unpack,
)
from .transformers import Description, built

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
    """Refuse a single number, which pandas would repeat for every entry of an index of any length."""
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


class Encoder:
    """Turn values into rows; `substitute` gives the object to save in the place of an object, the same one mostly."""

    def __init__(self, substitute: Callable[[Any], Any]):
        self.rows: list[dict] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.callables: dict[str, Callable] = {}
        self.classes: dict[str, type] = {}
        self._substitute = substitute
        self._row_of: dict[Any, int | None] = {}
        self._alive: list[Any] = []  # ids are only unique among living objects

    def value(self, value: Any, path: str) -> Any:
        """The JSON that stands for a value: an atom, a callable's name or a reference to a row."""
        try:
            atom = as_atom(value)
            if atom is not NotImplemented:
                return atom
            if callable(value) and not isinstance(value, type) and not _is_known(type(value)):
                return {"callable": self._name(value)}
            return {"ref": self._reference(value, path)}
        except NotSavableError as error:
            raise ValueError(f"{path} {error}") from None

    def _reference(self, value: Any, path: str) -> int:
        key = _identity(value)
        if key in self._row_of:
            known = self._row_of[key]
            if known is None:
                raise NotSavableError("contains itself, so it cannot be saved")
            return known
        self._alive.append(value)
        self._row_of[key] = None
        row = self._row(value, path)
        self.rows.append(row)
        place = self._row_of[key] = len(self.rows) - 1
        return place

    def _row(self, value: Any, path: str) -> dict:
        cls = type(value)
        if _is_known(cls):
            fields = fields_of(self._substitute(value))
            if not is_registered(cls):
                self._add_class(cls, fields)
            saved = {name: self.value(part, f"{path}.{name}") for name, part in fields.items()}
            return {"kind": "object", "class": name_in_files(cls), "fields": saved}
        if cls is Description:
            saved = {name: self.value(part, f"{path}.{name}") for name, part in value.parameters.items()}
            output = {} if value.output is None else {"output": value.output}
            return {"kind": "transformer", "class": value.name, "fields": saved, **output}
        if cls is np.ndarray and value.dtype.kind != "O":
            check_savable(value.dtype)
            member = f"arrays/{len(self.arrays)}.npy"
            self.arrays[member] = value
            return {"kind": "array", "member": member, "writeable": bool(value.flags.writeable)}
        kind = "objects" if cls is np.ndarray else KIND_OF.get(cls)
        if kind is None:
            raise NotSavableError(_refusal(value))
        parts = CODECS[kind].parts(value)
        return {"kind": kind, "parts": [self.value(part, f"{path}[{place}]") for place, part in enumerate(parts)]}

    def _add_class(self, cls: type, fields: dict[str, Any]) -> None:
        problem = clash(cls, self.classes)
        if problem is not None:
            raise NotSavableError(f"is of a class that {problem}")
        for name in fields:
            if not is_data(cls, name):
                raise NotSavableError(f"has the attribute {name}, which its class {cls.__name__} has as a method")
        self.classes[cls.__name__] = cls

    def _name(self, function: Callable) -> str:
        name = _name_of(function)
        if not _same(self.callables.setdefault(name, function), function):
            raise NotSavableError(
                f"is a callable named {name!r}, and so is another one in this model; callables are saved by name, so "
                "write them as functions with names of their own (def ...)"
            )
        return name


# A value may be used in several places, and each of them may be in a value that is used in several places. Models do
# little of that; what looks at a model piece by piece would never end where a file does much of it.
_MOST_USES = 50  # of a row, on average
_DEEPEST = 250  # values inside values


class Decoder:
    """Turn rows into values again: `values` of all rows, each after those inside it."""

    def __init__(
        self, arrays: Mapping[str, np.ndarray], callables: Mapping[str, Callable], classes: Mapping[str, type]
    ):
        self._arrays = dict(arrays)
        self._unused = set(arrays)
        self._callables = callables
        self._classes = classes
        self.values: list[Any] = []
        self._pieces: list[int] = []  # of each value; one that is used twice counts twice
        self._depths: list[int] = []

    def model(self, rows: list[dict]) -> Any:
        for row in rows:
            inner = [part["ref"] for part in _parts(row) if isinstance(part, dict) and "ref" in part]
            self.values.append(self._of_row(row))
            self._pieces.append(1 + sum(self._pieces[place] for place in inner))
            self._depths.append(1 + max((self._depths[place] for place in inner), default=0))
            if self._pieces[-1] > _MOST_USES * (len(rows) + 100) or self._depths[-1] > _DEEPEST:
                raise ValueError("its values contain each other more often or more deeply than those of any model")
        if self._unused:
            raise ValueError(f"it holds arrays that belong to nothing: {sorted(self._unused)[:3]}")
        return self.values[-1]

    def unpack(self) -> None:
        """Give each model among the values its combined kernel, once the values are checked."""
        for value in self.values:
            if is_registered(type(value)):
                unpack(value)

    def _of_row(self, row: dict) -> Any:
        kind = row["kind"]
        if kind == "object":
            fields = {name_now(row["class"], name): self._value(part) for name, part in row["fields"].items()}
            return instance_of(row["class"], fields, self._classes)
        if kind == "transformer":
            fields = {name: self._value(part) for name, part in row["fields"].items()}
            return built(row["class"], fields, row.get("output"))
        if kind == "array":
            array = self._arrays[row["member"]]
            self._unused.discard(row["member"])
            array.flags.writeable = row["writeable"] is True
            return array
        if kind not in CODECS:
            raise ValueError(f"it holds a value of the unknown kind {kind!r}")
        return CODECS[kind].build([self._value(part) for part in row["parts"]])

    def _value(self, part: Any) -> Any:
        if part is None or isinstance(part, bool | int | float | str):
            return part
        ((kind, content),) = part.items()
        if kind == "ref":
            if type(content) is not int or not 0 <= content < len(self.values):
                raise ValueError(f"it refers to the value {content!r}, which is not there")
            return self.values[content]
        if kind == "callable":
            return self._callables[content]
        return from_atom(kind, content)


def _parts(row: dict) -> list[Any]:
    return [*row.get("parts", []), *row.get("fields", {}).values()]


def _is_known(cls: type) -> bool:
    return is_registered(cls) or is_extension(cls)


def _identity(value: Any) -> Any:
    """The same for values that are saved as one: the object, or an array's memory (its content if read-only)."""
    if type(value) is not np.ndarray or value.dtype.kind == "O" or value.size == 0:
        return id(value)
    about = value.shape, value.dtype.str, value.flags.writeable
    if not value.flags.writeable:
        content = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        return (*about, hashlib.sha256(content.data).digest(), value.flags.c_contiguous)
    return (*about, value.__array_interface__["data"][0], value.strides)


def _name_of(function: Callable) -> str:
    function = function.func if isinstance(function, partial) else function
    return str(getattr(function, "__name__", type(function).__name__))


def _same(first: Any, second: Any) -> bool:
    """Whether two callables are one, or one is a copy of the other (cloning copies callable objects)."""
    if first is second:
        return True
    if type(first) is not type(second) or isinstance(first, FunctionType | BuiltinFunctionType):
        return False
    if isinstance(first, MethodType):
        return first.__func__ is second.__func__ and _same(first.__self__, second.__self__)
    if isinstance(first, partial):
        return _same(first.func, second.func) and (first.args, first.keywords) == (second.args, second.keywords)
    try:
        return bool(vars(first) == vars(second))
    except (TypeError, ValueError):  # no attributes, or such that cannot be compared
        return False


def _refusal(value: Any) -> str:
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return "is a random number generator, which is not saved; set a whole number or None instead (set_params)"
    return (
        f"is of the class {type(value).__name__}, which kernelweave does not save; change it (set_params), or use "
        "pickle for models that only you will read"
    )
