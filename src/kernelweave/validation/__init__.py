"""Validation of what users give: a vocabulary of constraints on parameters, and (in `inputs`) checks of X, y and
weights."""

from .parameters import (
    Choice,
    Constraint,
    Constraints,
    Exactly,
    Flag,
    Instance,
    Number,
    Offers,
    Seed,
    Whole,
    blamed_on,
    check,
    check_parameters,
    counted,
    is_count,
    is_number,
    shown,
)

__all__ = [
    "Choice",
    "Constraint",
    "Constraints",
    "Exactly",
    "Flag",
    "Instance",
    "Number",
    "Offers",
    "Seed",
    "Whole",
    "blamed_on",
    "check",
    "check_parameters",
    "counted",
    "is_count",
    "is_number",
    "shown",
]
