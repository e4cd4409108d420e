"""Dataclasses as JSON can hold them, and back: every value is checked by the annotation of its field.

A number that is not finite becomes None, because JSON has none; where a field must be a number None becomes NaN again.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")
_WORDS = {str: "text", float: "a number", int: "a whole number", bool: "true or false", type(None): "null"}


def to_plain(value: Any) -> Any:
    """Dataclasses, mappings, sequences and numbers as dicts, lists and numbers of Python.

    >>> to_plain({"score": (0.5, float("nan"))})
    {'score': [0.5, None]}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = {"type": value.type} if hasattr(value, "type") else {}
        return kind | {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(part) for key, part in value.items()}
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def from_plain(form: type[T], value: Any, kinds: Mapping[type, Mapping[str, type]], where: str = "report") -> T:
    """An object of a dataclass from what `to_plain` gave.

    Parameters
    ----------
    form : type
    value : dict
    kinds : mapping from a base class to its subclasses by their name in JSON, ``{Block: {"text": Text}}``
    where : str
        The name of the value in errors.

    Raises
    ------
    ValueError
        Where a field is absent, unknown or of another kind.
    """
    return _read(form, value, kinds, where)


def _read(form: Any, value: Any, kinds: Mapping[type, Mapping[str, type]], where: str) -> Any:
    origin, parts = typing.get_origin(form), typing.get_args(form)
    if form is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        lists = [part for part in parts if typing.get_origin(part) is not None]
        if not lists:
            return _read_scalar(parts, value, where)
        return None if value is None and type(None) in parts else _read(lists[0], value, kinds, where)
    if origin is list:
        _demand(isinstance(value, list), where, "a list", value)
        return [_read(parts[0], part, kinds, f"{where}[{place}]") for place, part in enumerate(value)]
    if origin is dict:
        _demand(isinstance(value, dict), where, "an object", value)
        return {str(key): _read(parts[1], part, kinds, f"{where}.{key}") for key, part in value.items()}
    if dataclasses.is_dataclass(form):
        return _read_object(form, value, kinds, where)
    if form is float and value is None:
        return math.nan
    return _read_scalar((form,), value, where)


def _read_scalar(forms: tuple[type, ...], value: Any, where: str) -> Any:
    allowed = {*forms, int} if float in forms else set(forms)
    _demand(type(value) in allowed, where, " or ".join(_WORDS[form] for form in forms), value)
    return float(value) if float in forms and int not in forms and type(value) is int else value


def _read_object(form: Any, value: Any, kinds: Mapping[type, Mapping[str, type]], where: str) -> Any:
    _demand(isinstance(value, dict), where, "an object", value)
    value = dict(value)
    if form in kinds:
        name = value.pop("type", None)
        if not isinstance(name, str) or name not in kinds[form]:
            raise ValueError(f"{where}.type is {name!r}, not one of {', '.join(kinds[form])}")
        form = kinds[form][name]
    fields = {field.name: field for field in dataclasses.fields(form)}
    unknown = sorted(set(value) - set(fields))
    if unknown:
        raise ValueError(f"{where} has the unknown field {unknown[0]!r}")
    for name, field in fields.items():
        optional = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if name not in value and not optional:
            raise ValueError(f"{where} lacks the field {name!r}")
    hints = typing.get_type_hints(form)
    given = {name: _read(hints[name], part, kinds, f"{where}.{name}") for name, part in value.items()}
    try:
        return form(**given)
    except ValueError as error:  # parts that do not fit together
        raise ValueError(f"{where}: {error}") from None


def _demand(is_right: bool, where: str, wanted: str, value: Any) -> None:
    if not is_right:
        raise ValueError(f"{where} is {_shortened(value)}, not {wanted}")


def _shortened(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
