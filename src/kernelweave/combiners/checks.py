"""Checks that several combiners share."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._parameters import is_number, shown
from ..kernels import KernelStack
from ..views import Views


def non_negative(name: str, value: Any, above_zero: bool = False) -> float:
    """A finite number of at least 0 (or above it), or one error that names the parameter."""
    wanted = "a positive number" if above_zero else "a number of at least 0"
    if not is_number(value) or not 0 <= value < np.inf or (above_zero and value == 0):
        raise ValueError(f"{name} must be {wanted}, not {shown(value)}")
    return float(value)


def check_every_view(combiner: object, stack: KernelStack, present: np.ndarray, views: Views) -> None:
    """Raise an error that names the first sample without a row in some kernel; `present` says who has which."""
    incomplete = ~present.all(axis=1)
    if incomplete.any():
        m = np.flatnonzero(~present[incomplete][0])[0]
        raise ValueError(
            f"{type(combiner).__name__} needs every view of every sample, but {views.first(incomplete)} lacks the view "
            f"of the kernel {stack.names[m]!r}; Mean and FixedWeights work with missing views"
        )
