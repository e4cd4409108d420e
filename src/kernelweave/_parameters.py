"""The primitives of `validation` under their old path, until combiners and kernels declare constraints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .validation import Choice, Flag, blamed_on, check, is_count, is_number, shown

__all__ = ["blamed_on", "check_flag", "is_choice", "is_count", "is_number", "shown"]


def is_choice(value: Any, choices: Iterable[str | None]) -> bool:
    """Whether a value is one of several words, or None where that is one of them."""
    return Choice(*choices).accepts(value)


def check_flag(name: str, value: Any) -> bool:
    """True or False, or one error that names the parameter."""
    return check(None, name, value, Flag())
