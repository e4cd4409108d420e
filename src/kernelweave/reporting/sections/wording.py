"""Numbers, lists and names as sentences have them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

MOST = 25  # labels that a chart shows

_IRREGULAR = {"class": "classes"}


def counted(count: int, noun: str) -> str:
    """A number and its noun.

    Examples
    --------
    >>> counted(1, "sample"), counted(2, "class")
    ('1 sample', '2 classes')
    """
    return f"{count} {noun if count == 1 else _IRREGULAR.get(noun, noun + 's')}"


def listed(names: Iterable[Any], most: int = 6, *, conjunction: str = "and") -> str:
    """Names as a list in a sentence, of which at most some are given.

    Examples
    --------
    >>> listed(["a"]), listed("abc"), listed("abcd", most=2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    given = [str(name) for name in names]
    shown = given if len(given) <= most else [*given[:most], f"{len(given) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {conjunction} {shown[-1]}" if shown else "none"


def written(value: float, kind: str = "number") -> str:
    """A number in a sentence: "percent" for shares, otherwise three digits.

    Examples
    --------
    >>> written(0.9533, "percent"), written(0.12345), written(1234.5), written(float("nan"))
    ('95.3 %', '0.123', '1234', 'unknown')
    """
    if not math.isfinite(value):
        return "unknown"
    if kind == "percent":
        return f"{100.0 * value:.1f} %"
    return f"{value:.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def reach(mean: float, spread: float, kind: str) -> tuple[float, float]:
    """How far a line about a score reaches: its spread to both sides, shares not beyond 0 and 1.

    Examples
    --------
    >>> reach(0.5, 0.25, "percent"), reach(1.0, 0.25, "percent"), reach(1.0, 0.25, "number")
    ((0.25, 0.75), (0.75, 1.0), (0.75, 1.25))
    """
    low, high = mean - spread, mean + spread
    return (max(low, 0.0), min(high, 1.0)) if kind == "percent" else (low, high)


def p_text(pvalue: float) -> str:
    """A p-value in a sentence.

    Examples
    --------
    >>> p_text(0.01234), p_text(1e-5)
    ('p = 0.012', 'p < 0.001')
    """
    return "p < 0.001" if pvalue < 0.001 else f"p = {pvalue:.3f}"


def sample_labels(index: Any, n_samples: int) -> list[str]:
    """The names of samples: the labels of a data frame, or positions from 0.

    Examples
    --------
    >>> import pandas as pd
    >>> sample_labels(pd.MultiIndex.from_tuples([("ann", 1)]), 1), sample_labels(None, 2)
    (['ann, 1'], ['0', '1'])
    """
    labels: Sequence[Any] = range(n_samples) if index is None else index
    return [", ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels]


def only_some(shown: int, there: int, what: str) -> str:
    """What is said where a chart leaves something out; nothing where it does not.

    Examples
    --------
    >>> only_some(25, 200, "views with the largest weights"), only_some(3, 3, "views")
    ('Drawn are the 25 views with the largest weights, of 200; the table has all.', '')
    """
    return "" if shown >= there else f"Drawn are the {shown} {what}, of {there}; the table has all."
