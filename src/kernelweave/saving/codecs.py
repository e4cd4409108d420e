"""A model as rows of plain data, and back.

Each list, array, object and so on is one row, written once however often it is used, after everything that it is made
of: a row refers only to rows before it. So reading is one pass without recursion, cycles cannot occur, and what was
shared in the model (a Gram matrix, the list of fitted kernels) is shared again afterwards.

=========================================================  =======================================
row                                                        value
=========================================================  =======================================
``{"kind": "list", "parts": [...]}`` and other codecs      see `codecs`; parts are atoms or references
``{"kind": "array", "member": name, "writeable": ...}``    an array, in a member of its own
``{"kind": "object", "class": ..., "fields": {...}}``      an object of a registered class, or of a user's
``{"kind": "transformer", "class": ..., "fields": ...}``   a transformer of scikit-learn, not fitted; see `unfitted`
``{"ref": 3}`` (among parts and fields)                    the value of row 3
``{"callable": "name"}`` (among parts and fields)          a function that the caller of `load` gives
=========================================================  =======================================
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from .codecs import CODECS, KIND_OF, NotSavableError, as_atom, check_savable, from_atom
from .extensions import clash, is_known, is_registered
from .preparation import Description, built
from .records import unpack
from .registry import fields_of, instance_of, is_data, name_now


class Encoder:
    """Turn values into rows.

    Parameters
    ----------
    substitute : callable
        Gives the object to save in the place of an object; the same one, mostly.

    Attributes
    ----------
    rows : list of dict
    arrays : dict from member name to ndarray
    callables : dict from name to callable
    classes : dict from name to class
        Those of the user.
    """

    def __init__(self, substitute: Callable[[Any], Any]):
        self.rows: list[dict] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.callables: dict[str, Callable] = {}
        self.classes: dict[str, type] = {}
        self._substitute = substitute
        self._row_of: dict[Any, int | None] = {}
        self._alive: list[Any] = []  # ids are only unique among living objects

    def value(self, value: Any, path: str) -> Any:
        """The JSON that stands for a value: an atom, a callable's name or a reference to a row.

        Parameters
        ----------
        value : object
        path : str
            Where it is, for messages.
        """
        try:
            atom = as_atom(value)
            if atom is not NotImplemented:
                return atom
            if not is_known(type(value)) and callable(value) and not isinstance(value, type):
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
        if is_known(cls):
            fields = fields_of(self._substitute(value))
            if not is_registered(cls):
                self._add_class(cls, fields)
            saved = {name: self.value(part, f"{path}.{name}") for name, part in fields.items()}
            return {"kind": "object", "class": cls.__name__, "fields": saved}
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
    """Turn rows into values again.

    Parameters
    ----------
    arrays : mapping from member name to ndarray
    callables : mapping from name to callable
    classes : mapping from name to class
        Those of the user.

    Attributes
    ----------
    values : list
        All values of the rows, each after those inside it.
    """

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
        """The value of the last row, which is the model itself."""
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


def _identity(value: Any) -> Any:
    """What two values share if they are saved as one value: the object or, for an array, its memory."""
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
