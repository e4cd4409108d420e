"""What the attributes of a class must be in a saved model: a small language in which classes declare it.

A class states beside itself what prediction reads of it, and a loaded object is compared with that before it is used:

    class Polynomial(ViewKernel):
        _saved = Schema({"degree": count(1), "coef0": number(0.0)})

Attributes of the base classes' schemas are its own too. Parameters (arguments of the constructor) are always there, and
are declared only where prediction reads them. Public attributes whose names end in an underscore and that are not
declared describe the fit only, so they may be anything; other attributes that are not declared are refused. What
concerns several attributes is checked by the method ``_check_saved(self, sizes, path)`` of a class with a schema, after
those of its base classes.

A *kind* is a function ``kind(value, sizes, path)`` that raises a `ValueError` where a value is not of its kind. Sizes
have names, such as ``"support"`` for the number of support vectors: the first array that has such a dimension fixes how
long it is, and all others must agree. An object shares the sizes that its kind names with the object that holds it
(``object_of(Views, "columns", samples="support")``: what is ``samples`` there is ``support`` here), beside its own.

================  ====================================================
size              number of
================  ====================================================
columns           columns of X
kernels           kernels, P
reference         training samples that kernels compare with
support           support vectors: those that have coefficients
outputs           columns of the coefficients, q
inputs            gating inputs, before second-order terms
raw               values of a sample before whitening
features          explicit features of one kernel
landmarks         landmarks of one kernel
in, out           columns that an operation takes and gives
================  ====================================================
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator

_PACKAGE = __name__.partition(".")[0]

Sizes = dict[str, int]
Kind = Callable[[Any, Sizes, str], None]
Classes = type | str | tuple[type | str, ...]


@dataclass(frozen=True)
class Schema:
    """What objects of a class consist of.

    ``rule(value, sizes, path)`` is for what concerns several attributes. `transient` attributes are not saved; their
    callables make them anew.
    """

    attributes: dict[str, Kind] = field(default_factory=dict)
    rule: Kind | None = None
    transient: dict[str, Callable[[], Any]] = field(default_factory=dict)

    def __or__(self, other: Schema) -> Schema:
        """The attributes of both: of a base class and of one that extends it."""
        rules = [rule for rule in (self.rule, other.rule) if rule is not None]

        def both(value: Any, sizes: Sizes, path: str) -> None:
            for rule in rules:
                rule(value, sizes, path)

        return Schema({**self.attributes, **other.attributes}, both, {**self.transient, **other.transient})

    @property
    def needed(self) -> set[str]:
        return {name for name, kind in self.attributes.items() if not hasattr(kind, "optional")}


@cache
def schema_of(cls: type) -> Schema:
    found = Schema()
    for base in reversed(cls.__mro__):
        declared = vars(base).get("_saved")
        if isinstance(declared, Schema):  # an attribute of that name in a user's class may be anything
            found = found | declared | Schema(rule=vars(base).get("_check_saved"))
    return found


def is_entry(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float | np.generic)


def is_own(cls: type) -> bool:
    """Whether a class is defined in a module of kernelweave (the classes of an example in a docstring are not)."""
    module = sys.modules.get(cls.__module__)
    return cls.__module__.partition(".")[0] == _PACKAGE and getattr(module, cls.__name__, None) is cls


def refuse(path: str, what: str) -> None:
    raise ValueError(f"its {path} {what}")


def expect(expected: int, length: int, path: str, what: str = "") -> None:
    if length != expected:
        named = f" ({what.replace('_', ' ')})" if what else ""
        refuse(path, f"has the length {length} where {expected}{named} is expected")


def agree(sizes: Sizes, name: str | int, length: int, path: str) -> None:
    """Compare a length with what others of the same name have, or note it for them."""
    if isinstance(name, int):
        expect(name, length, path)
    else:
        expect(sizes.setdefault(name, length), length, path, name)


def check_whole(
    values: np.ndarray, path: str, low: int = 0, below: int | None = None, of: str = "", ascending: bool = False
) -> None:
    """Raise a `ValueError` where some of these whole numbers are out of range or, if they must be, out of order.

    They are compared as Python's integers, and with each other: a sum or a difference in the array's own type wraps, so
    that a position far outside seems to be inside.

    >>> check_whole(np.array([3, 2**31 - 1], dtype=np.int32), "rows", below=4, of="samples")
    Traceback (most recent call last):
    ...
    ValueError: its rows holds 2147483647 where numbers below 4 (samples) are expected
    """
    if not values.size:
        return
    least, most = int(values.min()), int(values.max())
    if least < low:
        raise ValueError(f"its {path} holds {least}, which is less than {low}")
    if below is not None and most >= below:
        raise ValueError(f"its {path} holds {most} where numbers below {below}{of and f' ({of})'} are expected")
    if ascending and (values[1:] <= values[:-1]).any():
        raise ValueError(f"its {path} holds numbers that are not in ascending order")


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
    return array("f", *shape, **limits)


def flags(*shape: str | int) -> Kind:
    return array("b", *shape)


def indices(
    *shape: str | int, low: int = 0, below: str | None = None, ascending: bool = False, filled: bool = False
) -> Kind:
    """An array of positions from 0, or from `low`, among as many things as the size `below` says."""
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
    def check(value: Any, sizes: Sizes, path: str) -> None:
        count()(value, sizes, path)
        agree(sizes, name, int(value), path)

    return check


def text(value: Any, sizes: Sizes, path: str) -> None:
    if not isinstance(value, str):  # NumPy's, too
        refuse(path, f"is {value!r} where text is expected")


def flag(value: Any, sizes: Sizes, path: str) -> None:
    if not isinstance(value, bool | np.bool_):
        refuse(path, f"is {value!r} where True or False is expected")


def function(value: Any, sizes: Sizes, path: str) -> None:
    if not callable(value):
        refuse(path, "cannot be called")


def one_of(*choices: Any) -> Kind:
    def check(value: Any, sizes: Sizes, path: str) -> None:
        kind = str if isinstance(value, str) else type(value)  # NumPy's words, too
        if not any(kind is type(choice) and value == choice for choice in choices):
            refuse(path, f"is {value!r}, which is none of {choices}")

    return check


def nothing(value: Any, sizes: Sizes, path: str) -> None:
    one_of(None)(value, sizes, path)


def maybe(kind: Kind) -> Kind:
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
        _check_entries(enumerate(value), kind, own, sizes, path)

    return check


def by_name(kind: Kind, own: tuple[str, ...] = ()) -> Kind:
    """A dict from text to values of a kind; sizes named in `own` differ from entry to entry."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        if type(value) is not dict:
            refuse(path, f"is a {type(value).__name__} where a dict is expected")
        for name in value:
            text(name, sizes, path)
        _check_entries(value.items(), kind, own, sizes, path)

    return check


def _check_entries(entries: Iterable[Any], kind: Kind, own: tuple[str, ...], sizes: Sizes, path: str) -> None:
    for place, entry in entries:
        kind(entry, sizes, f"{path}[{place!r}]")
        for name in own:
            sizes.pop(name, None)


def together(*kinds: Kind) -> Kind:
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


def label_index(length: str, *types: type) -> Kind:
    """A pandas index of text, or of these types, each entry once."""

    def check(value: Any, sizes: Sizes, path: str) -> None:
        if type(value) is not pd.Index or not all(type(label) in (types or (str,)) for label in value.tolist()):
            refuse(path, "is no pandas index of text" + " or numbers" * bool(types))
        agree(sizes, length, len(value), path)
        if not value.is_unique:
            refuse(path, "holds a label twice")

    return check


def csr(rows: str, columns: str) -> Kind:
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


def object_of(classes: Classes, *shared: str, **renamed: str) -> Kind:
    """An object of these classes, which agrees with its owner in the shared sizes, some under other names there.

    A class of a package above, or further down the module, is given by its name. Objects of a user's class may have any
    attributes.
    """
    names = {**{name: name for name in shared}, **renamed}

    def check(value: Any, sizes: Sizes, path: str) -> None:
        cls: type = type(value)
        if not _is_one(cls, classes):
            refuse(path, f"is a {cls.__name__}, which it never is")
        fields, schema = vars(value), schema_of(cls)
        own = {inner: sizes[outer] for inner, outer in names.items() if outer in sizes}
        if is_own(cls):
            _check_names(value, schema, path)
        for name, kind in schema.attributes.items():
            if name in fields:
                kind(fields[name], own, f"{path}.{name}")
        if schema.rule is not None and schema.needed <= set(fields):
            schema.rule(value, own, path)
        if not is_own(cls):
            _check_inside(value, schema, path)
        sizes.update((outer, own[inner]) for inner, outer in names.items() if inner in own)

    return check


def _is_one(cls: type, classes: Classes) -> bool:
    if isinstance(classes, tuple):
        return any(_is_one(cls, each) for each in classes)
    if isinstance(classes, str):
        return any(base.__name__ == classes and is_own(base) for base in cls.__mro__)
    return issubclass(cls, classes)


def unfitted(value: Any, sizes: Sizes, path: str) -> None:
    """A transformer of scikit-learn, not fitted, which prediction does not read."""
    cls: type = type(value)
    is_users = not is_own(cls) and any(map(is_own, cls.__mro__))
    if is_users or schema_of(cls).attributes or not (hasattr(cls, "fit") and hasattr(cls, "transform")):
        refuse(path, f"is a {cls.__name__}, which it never is")


def _check_inside(owner: Any, schema: Schema, path: str) -> None:
    """Check the fitted objects that an object of a user's class holds; sizes need only agree among themselves."""
    passed = {*schema.attributes, *_parameters(type(owner))}
    pending = [(value, f"{path}.{name}") for name, value in vars(owner).items() if name not in passed]
    while pending:
        value, place = pending.pop()
        if isinstance(value, list | tuple):
            pending += [(each, f"{place}[{k}]") for k, each in enumerate(value)]
        elif isinstance(value, dict):
            pending += [(each, f"{place}[{key!r}]") for key, each in value.items()]
        elif any(map(is_own, type(value).__mro__)) and not set(vars(value)) <= _parameters(type(value)):
            object_of(type(value))(value, {}, place)


def _parameters(cls: Any) -> set[str]:
    return set(cls._get_param_names()) if issubclass(cls, BaseEstimator) else set()


def _check_names(value: Any, schema: Schema, path: str) -> None:
    there, parameters = set(vars(value)), _parameters(type(value))
    for name in sorted((schema.needed | parameters) - there):
        refuse(path, f"lacks the attribute {name}")
    for name in sorted(there - set(schema.attributes) - parameters - set(schema.transient)):
        if name.startswith("_") or not name.endswith("_"):
            refuse(path, f"has the attribute {name}, which a {type(value).__name__} never has")


def _check_feature_names(value: Any, sizes: Sizes, path: str) -> None:
    if not all(isinstance(name, str) for name in vars(value).get("feature_names_in_", ())):
        refuse(f"{path}.feature_names_in_", "are not all text")


def check_classes(value: Any, sizes: Sizes, path: str) -> None:
    if len(value.classes_) < 2 or (value.classes_.dtype.kind == "O" and not all(map(is_entry, value.classes_))):
        refuse(f"{path}.classes_", "are no classes")


def _check_counts(value: Any, sizes: Sizes, path: str) -> None:
    if "class_count_" in vars(value):
        agree(sizes, "classes", len(value.class_count_), f"{path}.class_count_")


# What estimators have in common: the columns of X, the classes of y, and their weights, which the first files lack.
COLUMNS = Schema(
    {"n_features_in_": size("columns"), "feature_names_in_": optional(array("O", "columns"))}, _check_feature_names
)
CLASS_LABELS = Schema({"classes_": array("biufUSO", "classes")}, check_classes)
CLASS_COUNTS = Schema({"class_count_": optional(numbers("counted", low=0.0))}, _check_counts)
