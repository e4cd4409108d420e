"""`Factors`: the positive parameters of a response-surface search, their centre and box, on the log10 scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from ..validation import Number, blamed_on, shown


@dataclass(frozen=True)
class Factors:
    """Named factors with their centre and box.

    Attributes
    ----------
    names : list of str
    centre_values : ndarray
        The centre, on the original scale.
    centre, low, high : ndarray
        Decimal logarithms.
    """

    names: list[str]
    centre_values: np.ndarray
    centre: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def parameters(self, point: np.ndarray) -> dict[str, float]:
        """The parameter values at a point."""
        # Relative to the centre, so that the centre is exactly what the estimator has.
        values = self.centre_values * 10.0 ** (point - self.centre)
        return {name: float(f"{value:.12g}") for name, value in zip(self.names, values, strict=True)}


def check_factors(estimator: Any, factors: Any, bounds: Any) -> Factors:
    """Factors from what the user gives, or one error that names the factor at fault.

    Parameters
    ----------
    estimator : estimator
        Its values are the centre.
    factors : list of names, or mapping from name to (low, high) or (low, centre, high)
        On the original scale.
    bounds : (low, high)
        Box of the factors that are given by name only, as multiples of their centre.
    """
    if isinstance(factors, str) or not isinstance(factors, Mapping | list | tuple) or len(factors) == 0:
        raise ValueError(
            f"factors must be a list of parameter names, or a mapping from name to (low, high), not {shown(factors)}"
        )
    names = list(factors)
    if any(not isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"factors must be different names of parameters, not {shown(names)}")
    low, high = _increasing("bounds", bounds, (2,))
    if not low <= 1.0 <= high:
        raise ValueError(f"bounds are multiples of the centre, so 1 must lie between them, not {shown(bounds)}")
    given = estimator.get_params(deep=True)
    boxes = []
    for name in names:
        current = given.get(name)
        current = float(current) if _is_positive(current) else None
        if isinstance(factors, Mapping):
            boxes.append(_box(name, factors[name], current))
        else:
            centre = 1.0 if current is None else current
            boxes.append((low * centre, centre, high * centre))
    low, centre, high = np.array(boxes).T
    with blamed_on("factors"):
        clone(estimator).set_params(**dict(zip(names, centre.tolist(), strict=True)))
    return Factors(names, centre, *np.log10([centre, low, high]))


def _box(name: str, values: Any, current: float | None) -> tuple[float, float, float]:
    values = _increasing(f"the range of the factor {name!r} (in factors)", values, (2, 3))
    if len(values) == 3:
        return values
    low, high = values
    if current is None:
        current = 1.0
    return low, current if low <= current <= high else float(np.sqrt(low * high)), high


def _increasing(what: str, values: Any, lengths: tuple[int, ...]) -> tuple[float, ...]:
    entries = list(values) if isinstance(values, tuple | list | np.ndarray) else []
    fits = len(entries) in lengths and all(_is_positive(entry) for entry in entries)
    if not fits or any(first > second for first, second in pairwise(entries)):
        expected = " or ".join({2: "(low, high)", 3: "(low, centre, high)"}[length] for length in lengths)
        raise ValueError(f"{what} must be {expected}: positive finite numbers in this order, not {shown(values)}")
    if not entries[0] < entries[-1]:
        raise ValueError(f"{what} must leave room between {entries[0]!r} and {entries[-1]!r}")
    return tuple(float(entry) for entry in entries)


def _is_positive(value: Any) -> bool:
    return Number(above=0).accepts(value)
