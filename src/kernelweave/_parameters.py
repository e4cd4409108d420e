"""What a parameter may be: a number, a whole number, one of several words; and how a message shows what it was.

Each question has an answer for every object: arrays, lists and other unhashable values, numbers beyond what a float or
a machine's integer holds, numbers too long to print.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np

_LARGEST_COUNT = 2**62
_LONGEST = 80


def is_number(value: Any) -> bool:
    """Whether a value is a real number that a float can hold, infinity included; True and False are none.

    Examples
    --------
    >>> from kernelweave._parameters import is_number
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


def is_choice(value: Any, choices: Iterable[str | None]) -> bool:
    """Whether a value is one of several words, or None where that is one of them."""
    return (value is None or isinstance(value, str)) and any(value == choice for choice in choices)


def is_flag(value: Any) -> bool:
    """Whether a value is True or False."""
    return isinstance(value, bool | np.bool_)


def check_flag(name: str, value: Any) -> bool:
    """True or False, or one error that names the parameter."""
    if not is_flag(value):
        raise ValueError(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


@contextmanager
def blamed_on(name: str) -> Iterator[None]:
    """Name a parameter in the errors of a block that does not know by which name its values were given."""
    try:
        yield
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise ValueError(f"{name} cannot be used: {error}") from error


def shown(value: Any) -> str:
    """A value in a message: on one line, and short.

    Examples
    --------
    >>> from kernelweave._parameters import shown
    >>> shown("x"), shown(10**5000)
    ("'x'", 'a number of 5001 digits or so')
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python refuses to print very long numbers
        digits = int(abs(value).bit_length() * np.log10(2.0)) + 1
        return f"a number of {digits} digits or so"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
