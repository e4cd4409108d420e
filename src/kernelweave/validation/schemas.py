"""What the attributes of a class must be: the small language in which schemas declare each registered class.

A *kind* is a function ``kind(value, sizes, path)`` that raises a `ValueError` where a value is not of its kind. Sizes
have names, such as ``"support"`` for the number of support vectors: the first array that has such a dimension fixes how
long it is, and all others must agree. An object shares the sizes that its kind names with the object that holds it
(``part(Views, "columns", samples="support")``: what is ``samples`` there is ``support`` here), beside its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from ..bounds import check_whole
from ..extensions import is_extension, is_known, is_registered
from ..registry import TRANSIENT

Sizes = dict[str, int]
Kind = Callable[[Any, Sizes, str], None]


@dataclass(frozen=True)
class Schema:
    """What objects of a class consist of.

    Attributes
    ----------
    attributes : dict from name to kind
        Those that prediction reads; all of them are there, but for those of `optional` kind.
    rule : callable, optional
        ``rule(value, sizes, path)``, called last, for what concerns several attributes.
    """

    attributes: dict[str, Kind] = field(default_factory=dict)
    rule: Kind | None = None

    def __or__(self, other: Schema) -> Schema:
        """Both: the attributes of a base class and those of one that extends it."""
        rules = [rule for rule in (self.rule, other.rule) if rule is not None]

        def both(value: Any, sizes: Sizes, path: str) -> None:
            for rule in rules:
                rule(value, sizes, path)

        return Schema({**self.attributes, **other.attributes}, both)


SCHEMAS: dict[type, Schema] = {}  # what `models` declares


def refuse(path: str, what: str) -> None:
    """Raise a `ValueError` that states what is wrong with a value."""
    raise ValueError(f"its {path} {what}")


def agree(sizes: Sizes, name: str | int, length: int, path: str) -> None:
    """Compare a length with what others of the same name have, or note it for them."""
    expected = name if isinstance(name, int) else sizes.setdefault(name, length)
    if length != expected:
        what = "" if isinstance(name, int) else f" ({name.replace('_', ' ')})"
        refuse(path, f"has the length {length} where {expected}{what} is expected")


def anything(value: Any, sizes: Sizes, path: str) -> None:
    """Any value: prediction does not read it."""


def array(
    kinds: str,
    *shape: str | int,
    inf: bool = False,
    nan: bool = False,
    low: float | None = None,
    filled: bool = False,
) -> Kind:
    """An array of some of NumPy's kinds of type and of this shape, its numbers finite, or as allowed, and in range."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        if type(value) is not np.ndarray or not _is_plain(value.dtype, kinds):
            found = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            refuse(path, f"is {found}, which it never is")
        if value.ndim != len(shape):
            refuse(path, f"has {value.ndim} dimension(s) where {len(shape)} are expected")
        for name, length in zip(shape, value.shape, strict=True):
            agree(sizes, name, length, path)
        if filled and not value.size:
            refuse(path, "is empty")
        if value.dtype.kind == "f" and ((not nan and np.isnan(value).any()) or (not inf and np.isinf(value).any())):
            refuse(path, "holds NaN or infinity")
        if value.size and low is not None and value.min() < low:
            refuse(path, f"holds {value.min()}, which is less than {low}")

    return check


def _is_plain(dtype: np.dtype, kinds: str) -> bool:
    """Whether a type is of these kinds and, for floating-point numbers, one that models have."""
    return dtype.kind in kinds and dtype.isnative and (dtype.kind != "f" or dtype.itemsize in (4, 8))


def numbers(*shape: str | int, **limits: Any) -> Kind:
    """An array of floating-point numbers."""
    return array("f", *shape, **limits)


def flags(*shape: str | int) -> Kind:
    """An array of truth values."""
    return array("b", *shape)


def positions(
    *shape: str | int, low: int = 0, below: str | None = None, ascending: bool = False, filled: bool = False
) -> Kind:
    """An array of positions from 0, or from `low`, among as many things as the size `below` says.

    Inside an object of a user's class that size may be unknown.
    """
    whole = array("i", *shape, filled=filled)

    def check(value: Any, sizes: Sizes, path: str) -> None:
        whole(value, sizes, path)
        bound = None if below is None else sizes.get(below)
        check_whole(value, path, low, bound, (below or "").replace("_", " "), ascending)

    return check


def number(low: float = -math.inf, positive: bool = False) -> Kind:
    """A finite number, of those that NumPy has."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or (isinstance(value, int) and abs(value) >= 2**63) or not math.isfinite(value) or value < low:
            refuse(path, f"is {value!r}, which is no number that it can be")
        if positive and not value > 0:
            refuse(path, f"is {value!r} where a positive number is expected")

    return check


def count(least: int = 0, most: int = 2**31 - 1) -> Kind:
    """A whole number, not so large that computing with it takes long."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) <= most:
            refuse(path, f"is {value!r}, which is no number that it can be")

    return check


def size(name: str) -> Kind:
    """A whole number that is the size of this name."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        count()(value, sizes, path)
        agree(sizes, name, int(value), path)

    return check


def text(value: Any, sizes: Sizes, path: str) -> None:
    """A string."""
    if not isinstance(value, str):  # NumPy's, too
        refuse(path, f"is {value!r} where text is expected")


def flag(value: Any, sizes: Sizes, path: str) -> None:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        refuse(path, f"is {value!r} where True or False is expected")


def function(value: Any, sizes: Sizes, path: str) -> None:
    """Something that can be called."""
    if not callable(value):
        refuse(path, "cannot be called")


def one_of(*choices: Any) -> Kind:
    """One of these words (or None)."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        kind = str if isinstance(value, str) else type(value)  # NumPy's words, too
        if not any(kind is type(choice) and value == choice for choice in choices):
            refuse(path, f"is {value!r}, which is none of {choices}")

    return check


def nothing(value: Any, sizes: Sizes, path: str) -> None:
    """None."""
    one_of(None)(value, sizes, path)


def maybe(kind: Kind) -> Kind:
    """None, or something of a kind."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        if value is not None:
            kind(value, sizes, path)

    return check


def optional(kind: Kind) -> Kind:
    """An attribute that not all objects of a class have."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        kind(value, sizes, path)

    check.optional = True  # type: ignore[attr-defined]  # a mark that `_check_names` looks for
    return check


def several(kind: Kind, length: str | int | None = None, own: tuple[str, ...] = ()) -> Kind:
    """A list whose entries are of a kind; sizes named in `own` differ from entry to entry."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        if type(value) is not list:
            refuse(path, f"is a {type(value).__name__} where a list is expected")
        if length is not None:
            agree(sizes, length, len(value), path)
        for place, entry in enumerate(value):
            kind(entry, sizes, f"{path}[{place}]")
            for name in own:
                sizes.pop(name, None)

    return check


def by_name(kind: Kind, own: tuple[str, ...] = ()) -> Kind:
    """A dict from text to values of a kind; sizes named in `own` differ from entry to entry."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        if type(value) is not dict:
            refuse(path, f"is a {type(value).__name__} where a dict is expected")
        for name, entry in value.items():
            text(name, sizes, path)
            kind(entry, sizes, f"{path}[{name!r}]")
            for size_name in own:
                sizes.pop(size_name, None)

    return check


def together(*kinds: Kind) -> Kind:
    """A tuple with an entry of each kind."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        if type(value) is not tuple or len(value) != len(kinds):
            refuse(path, f"is no tuple of {len(kinds)}")
        for place, (kind, entry) in enumerate(zip(kinds, value, strict=True)):
            kind(entry, sizes, f"{path}[{place}]")

    return check


def series(length: str) -> Kind:
    """A pandas series of numbers of at least 0."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        if type(value) is not pd.Series:
            refuse(path, f"is a {type(value).__name__} where a pandas series is expected")
        numbers(length, low=0.0)(value.to_numpy(), sizes, path)

    return check


def labels(length: str) -> Kind:
    """A pandas index of text, each entry once."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        if type(value) is not pd.Index or not all(type(label) is str for label in value.tolist()):
            refuse(path, "is no pandas index of text")
        agree(sizes, length, len(value), path)
        if not value.is_unique:
            refuse(path, "holds a label twice")

    return check


def sparse(rows: str, columns: str) -> Kind:
    """A CSR matrix of finite numbers."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        if not sp.issparse(value) or not _is_plain(value.dtype, "fiub"):
            refuse(path, f"is a {type(value).__name__} where a sparse matrix of numbers is expected")
        agree(sizes, rows, value.shape[0], path)
        agree(sizes, columns, value.shape[1], path)
        if not np.isfinite(value.data).all():
            refuse(path, "holds NaN or infinity")

    return check


def either(*kinds: tuple[type | tuple[type, ...], Kind]) -> Kind:
    """By the type of the value."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        for types, kind in kinds:
            if isinstance(value, types):
                return kind(value, sizes, path)
        return refuse(path, f"is a {type(value).__name__}, which it never is")

    return check


def part(classes: Any, *shared: str, **renamed: str) -> Kind:
    """An object of these classes, which agrees with its owner in the shared sizes, some under other names there."""
    names = {**{name: name for name in shared}, **renamed}

    def check(value: Any, sizes: Sizes, path: str) -> None:
        cls: type = type(value)
        if not isinstance(value, classes) or not is_known(cls):
            refuse(path, f"is a {cls.__name__}, which it never is")
        schema, own = schema_of(cls), {inner: sizes[outer] for inner, outer in names.items() if outer in sizes}
        if is_registered(cls):
            _check_names(value, schema, path)
        for name, kind in schema.attributes.items():
            if name in vars(value):
                kind(vars(value)[name], own, f"{path}.{name}")
        if schema.rule is not None and (is_registered(cls) or _needed(schema) <= set(vars(value))):
            schema.rule(value, own, path)
        if is_extension(cls):
            _check_inside(value, schema, path)
        sizes.update((outer, own[inner]) for inner, outer in names.items() if inner in own)

    return check


@cache
def schema_of(cls: type) -> Schema:
    """The schemas of a class and its base classes as one."""
    found = Schema()
    for base in reversed(cls.__mro__):
        if base in SCHEMAS:
            found = found | SCHEMAS[base]
    return found


def _check_inside(owner: Any, schema: Schema, path: str) -> None:
    """Check the objects that an object of a user's class holds, in lists too, except those that were never fitted.

    Their sizes need only agree among themselves.
    """
    passed = {*schema.attributes, *_parameters(type(owner))}
    pending = [(value, f"{path}.{name}") for name, value in vars(owner).items() if name not in passed]
    while pending:
        value, place = pending.pop()
        if isinstance(value, list | tuple):
            pending += [(each, f"{place}[{k}]") for k, each in enumerate(value)]
        elif isinstance(value, dict):
            pending += [(each, f"{place}[{key!r}]") for key, each in value.items()]
        elif is_known(type(value)) and not set(vars(value)) <= _parameters(type(value)):
            part(type(value))(value, {}, place)


def _needed(schema: Schema) -> set[str]:
    return {name for name, kind in schema.attributes.items() if not hasattr(kind, "optional")}


def _parameters(cls: Any) -> set[str]:
    return set(cls._get_param_names()) if issubclass(cls, BaseEstimator) else set()


def _check_names(value: Any, schema: Schema, path: str) -> None:
    there = set(vars(value))
    needed, parameters = _needed(schema), _parameters(type(value))
    for name in sorted((needed | parameters) - there):
        refuse(path, f"lacks the attribute {name}")
    for name in sorted(there - set(schema.attributes) - parameters - set(TRANSIENT.get(type(value), ()))):
        if name.startswith("_") or not name.endswith("_"):
            refuse(path, f"has the attribute {name}, which a {type(value).__name__} never has")
