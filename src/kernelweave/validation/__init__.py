"""What may be given: the vocabulary of constraints on parameters, and (in `inputs`) the checks of X, y and weights."""

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
    "is_count",
    "is_number",
    "shown",
]
