"""Constraints on parameters: numbers, whole numbers, words, flags, seeds, objects, and alternatives of these.

A class declares what its parameters may be and checks all of them at the start of `fit`:

    _constraints = Constraints(C=Number(above=0), max_iter=Whole(1), l2=Number(low=0) | "auto", groups=Whole(1) | None)

    given = check_parameters(self)

`given` holds the values as plain floats, ints and bools. A value that does not fit gives one `ValueError` of the form
"tol of MKLClassifier must be a positive finite number, not -1". A class inherits the constraints of its bases. A value
that has no owner is checked alone: ``check(None, "n_components", value, Whole(1) | None)``.

Every constraint accepts or refuses any object without an error of its own: arrays, lists and other unhashable values,
numbers beyond what a float or a machine's integer holds, numbers too long to print. True and False are no numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

_LARGEST_COUNT = 2**62
_LONGEST = 80


class Constraint(ABC):
    """What a parameter may be. ``a | b`` allows either; ``a | None`` and ``a | "auto"`` also allow that one value."""

    @abstractmethod
    def accepts(self, value: Any) -> bool:
        """Whether a value fits."""

    @abstractmethod
    def alternatives(self) -> list[str]:
        """What fits, in words."""

    def convert(self, value: Any) -> Any:
        """A value that fits, as the plain Python object that the code reads."""
        return value

    def describe(self) -> str:
        """What fits, in words, as one phrase.

        Examples
        --------
        >>> from kernelweave.validation import Number, Whole
        >>> (Number(low=0) | "auto" | None).describe(), Whole(1).describe()
        ('a finite number of at least 0, "auto" or None', 'a positive whole number')
        """
        *firsts, last = self.alternatives()
        return f"{', '.join(firsts)} or {last}" if firsts else last

    def __or__(self, other: Constraint | str | None) -> Constraint:
        return Either(self, other if isinstance(other, Constraint) else Choice(other))


class Number(Constraint):
    """A finite real number.

    Parameters
    ----------
    low, high : float or None
        Bounds that belong to the range.
    above, below : float or None
        Bounds that do not.
    """

    def __init__(
        self,
        *,
        low: float | None = None,
        high: float | None = None,
        above: float | None = None,
        below: float | None = None,
    ):
        self.low, self.high, self.above, self.below = low, high, above, below

    def accepts(self, value: Any) -> bool:
        return (
            is_number(value)
            and bool(np.isfinite(float(value)))
            and (self.low is None or value >= self.low)
            and (self.above is None or value > self.above)
            and (self.high is None or value <= self.high)
            and (self.below is None or value < self.below)
        )

    def convert(self, value: Any) -> float:
        return float(value)

    def alternatives(self) -> list[str]:
        bounded = self.high is not None or self.below is not None
        if self.low is not None and self.high is not None:
            return [f"a number from {self.low:g} to {self.high:g}"]
        if self.above == 0 and not bounded:
            return ["a positive finite number"]
        bounds = []
        if self.low is not None:
            bounds.append(f"of at least {self.low:g}")
        if self.above is not None:
            bounds.append(f"above {self.above:g}")
        if self.high is not None:
            bounds.append(f"at most {self.high:g}" if bounds else f"of at most {self.high:g}")
        if self.below is not None:
            bounds.append(f"below {self.below:g}")
        return [" ".join(["a number" if bounded else "a finite number", " and ".join(bounds)]).strip()]


class Whole(Constraint):
    """A whole number that a machine's integer can hold.

    Parameters
    ----------
    low, high : int or None
        Bounds that belong to the range.
    but_not : int or None
        A number that does not.
    """

    def __init__(self, low: int | None = None, high: int | None = None, *, but_not: int | None = None):
        self.low, self.high, self.but_not = low, high, but_not

    def accepts(self, value: Any) -> bool:
        return (
            is_count(value)
            and (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
            and value != self.but_not
        )

    def convert(self, value: Any) -> int:
        return int(value)

    def alternatives(self) -> list[str]:
        if self.but_not is not None:
            return [f"a whole number other than {self.but_not}"]
        if self.low is not None and self.high is not None:
            return [f"a whole number from {self.low} to {self.high}"]
        if self.low is None:
            return ["a whole number"]
        return ["a positive whole number" if self.low == 1 else f"a whole number of at least {self.low}"]


class Choice(Constraint):
    """One of several words; None can be one of them.

    Parameters
    ----------
    *choices : str or None
    """

    def __init__(self, *choices: str | None):
        self.choices = choices

    def accepts(self, value: Any) -> bool:
        return (value is None or isinstance(value, str)) and any(value == choice for choice in self.choices)

    def alternatives(self) -> list[str]:
        return ["None" if choice is None else f'"{choice}"' for choice in self.choices]


class Flag(Constraint):
    """True or False."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_)

    def convert(self, value: Any) -> bool:
        return bool(value)

    def alternatives(self) -> list[str]:
        return ["True", "False"]


class Exactly(Constraint):
    """One number that has a meaning of its own.

    Parameters
    ----------
    number : float
    words : str
        What a message calls it, such as "-1 for no limit".
    """

    def __init__(self, number: float, words: str):
        self.number, self.words = number, words

    def accepts(self, value: Any) -> bool:
        return is_number(value) and bool(value == self.number)

    def convert(self, value: Any) -> float:
        return self.number

    def alternatives(self) -> list[str]:
        return [self.words]


class Seed(Constraint):
    """What scikit-learn makes random numbers from; converted to a `RandomState`."""

    def accepts(self, value: Any) -> bool:
        try:
            check_random_state(value)
        except (ValueError, TypeError, OverflowError):
            return False
        return True

    def convert(self, value: Any) -> np.random.RandomState:
        return check_random_state(value)

    def alternatives(self) -> list[str]:
        return ["None", "a whole number from 0 to 2**32 - 1", "a RandomState"]


class Instance(Constraint):
    """An object of a class.

    Parameters
    ----------
    kind : type or tuple of types
    words : str
        What a message calls it, such as "a combiner such as Mean()".
    """

    def __init__(self, kind: type | tuple[type, ...], words: str):
        self.kind, self.words = kind, words

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.kind)

    def alternatives(self) -> list[str]:
        return [self.words]


class Offers(Constraint):
    """An object of any class that has certain methods.

    Parameters
    ----------
    *methods : str
    words : str
        What a message calls it, such as "a graph such as LDAGraph()".
    """

    def __init__(self, *methods: str, words: str):
        self.methods, self.words = methods, words

    def accepts(self, value: Any) -> bool:
        return not isinstance(value, type) and all(callable(getattr(value, method, None)) for method in self.methods)

    def alternatives(self) -> list[str]:
        return [self.words]


class Either(Constraint):
    """Accepts what one of two constraints accepts; the first that accepts a value converts it."""

    def __init__(self, first: Constraint, second: Constraint):
        self.first, self.second = first, second

    def accepts(self, value: Any) -> bool:
        return self.first.accepts(value) or self.second.accepts(value)

    def convert(self, value: Any) -> Any:
        return (self.first if self.first.accepts(value) else self.second).convert(value)

    def alternatives(self) -> list[str]:
        return self.first.alternatives() + self.second.alternatives()


class Constraints(dict[str, Constraint]):
    """What the parameters of a class may be, by name."""


def check(owner: Any, name: str, value: Any, constraint: Constraint) -> Any:
    """A value as its constraint converts it, or one `ValueError` that names the parameter and its owner.

    Parameters
    ----------
    owner : object, str or None
        What has the parameter: an object is named by its class, a text as it stands, and None not at all.
    name : str
    value : object
    constraint : Constraint

    Examples
    --------
    >>> from kernelweave.validation import Whole, check
    >>> check("the kernel 'words'", "k", 0, Whole(1))
    Traceback (most recent call last):
    ...
    ValueError: k of the kernel 'words' must be a positive whole number, not 0
    """
    if constraint.accepts(value):
        return constraint.convert(value)
    whose = "" if owner is None else f" of {owner if isinstance(owner, str) else type(owner).__name__}"
    words = [word.strip('"') for word in constraint.alternatives() if word.startswith('"')]
    close = get_close_matches(value, words, n=1) if isinstance(value, str) else []
    meant = f'; did you mean "{close[0]}"?' if close else ""
    raise ValueError(f"{name}{whose} must be {constraint.describe()}, not {shown(value)}{meant}")


def check_parameters(owner: Any, called: str | None = None) -> SimpleNamespace:
    """The parameters that the class of an object constrains, checked and converted, by name.

    Parameters
    ----------
    owner : object
    called : str, optional
        What messages call the object; the name of its class by default.

    Examples
    --------
    >>> from kernelweave.validation import Constraints, Number, Whole, check_parameters
    >>> class Method:
    ...     _constraints = Constraints(tol=Number(above=0), max_iter=Whole(1))
    ...     tol, max_iter = 1, 20
    >>> check_parameters(Method())
    namespace(tol=1.0, max_iter=20)
    """
    whose = type(owner).__name__ if called is None else called
    cls: type = type(owner)
    found = {name: rule for name, rule in _constraints_of(cls).items() if hasattr(owner, name)}
    return SimpleNamespace(**{name: check(whose, name, getattr(owner, name), rule) for name, rule in found.items()})


class Parametrised(BaseEstimator):
    """Reads the names of the parameters once for a class; scikit-learn reads the signature each time it clones."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        if "_parameter_names" not in vars(cls):
            cls._parameter_names = super()._get_param_names()
        return list(cls._parameter_names)


def _constraints_of(cls: type) -> dict[str, Constraint]:
    merged: dict[str, Constraint] = {}
    for base in reversed(cls.__mro__):
        merged |= vars(base).get("_constraints", {})
    return merged


def is_number(value: Any) -> bool:
    """Whether a value is a real number that a float can hold, infinity included; True and False are none.

    Examples
    --------
    >>> from kernelweave.validation import is_number
    >>> [is_number(value) for value in (1, 0.5, 10**400, True, "1", [1.0])]
    [True, True, False, False, False, False]
    """
    if not isinstance(value, Real) or isinstance(value, bool | np.timedelta64):
        return False
    try:
        return not np.isnan(float(value))
    except OverflowError:
        return False


def is_count(value: Any) -> bool:
    """Whether a value is a whole number that a machine's integer can hold; True and False are none."""
    if not isinstance(value, Integral) or isinstance(value, bool | np.timedelta64):
        return False
    return abs(int(value)) <= _LARGEST_COUNT


@contextmanager
def blamed_on(name: str) -> Iterator[None]:
    """Name a parameter in the errors of a block that was not given the name of what it reads."""
    try:
        yield
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise ValueError(f"{name} cannot be used: {error}") from error


_IRREGULAR = {"class": "classes"}


def counted(count: int, noun: str) -> str:
    """A number and its noun in a message.

    Examples
    --------
    >>> from kernelweave.validation import counted
    >>> counted(1, "sample"), counted(2, "class")
    ('1 sample', '2 classes')
    """
    return f"{count} {noun if count == 1 else _IRREGULAR.get(noun, noun + 's')}"


def shown(value: Any) -> str:
    """A value in a message: on one line, and short.

    Examples
    --------
    >>> from kernelweave.validation import shown
    >>> shown("x"), shown(10**5000)
    ("'x'", 'a number of 5001 digits or so')
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python refuses to print very long numbers
        digits = int(abs(value).bit_length() * np.log10(2.0)) + 1
        return f"a number of {digits} digits or so"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
