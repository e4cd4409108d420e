"""Checks that several combiners share."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._parameters import is_number, shown


def non_negative(name: str, value: Any, above_zero: bool = False) -> float:
    """A finite number of at least 0 (or above it), or one error that names the parameter."""
    wanted = "a positive number" if above_zero else "a number of at least 0"
    if not is_number(value) or not 0 <= value < np.inf or (above_zero and value == 0):
        raise ValueError(f"{name} must be {wanted}, not {shown(value)}")
    return float(value)
