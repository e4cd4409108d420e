"""Row labels of several descriptions of samples: what is said where none of them are the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import pandas as pd

from .._warnings import warn


@dataclass(frozen=True)
class Labelled:
    """One description: how messages call it, the labels of its rows, and the names of its columns."""

    shown: str
    labels: pd.Index
    columns: pd.Index


@dataclass(frozen=True)
class Remedies:
    """What to do where labels are written differently, and where samples are columns."""

    alike: str
    turned: str


def check_shared(views: Sequence[Labelled], remedies: Remedies) -> None:
    """Refuse views of which one shares no sample with the others, and their labels look alike; warn where they do not.

    Parameters
    ----------
    views : sequence of Labelled
    remedies : Remedies

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelweave.views.labels import Labelled, Remedies, check_shared
    >>> tables = {"a": [1, 2], "b": ["1", "2"]}
    >>> views = [Labelled(name, pd.Index(ids), pd.Index([])) for name, ids in tables.items()]
    >>> check_shared(views, Remedies("write them alike", "transpose the table"))
    Traceback (most recent call last):
    ...
    ValueError: a and b have no sample in common: their ids are written differently, 1 and '1'; write them alike
    """
    doubtful = []
    for view in views:
        others = [other for other in views if other is not view]
        if not others or any(shares(view.labels, other.labels) for other in others):
            continue
        alike = [other for other in others if _pair(view.labels, other.labels) is not None]
        turned = [other for other in others if shares(view.columns, other.labels)]
        other = [*turned, *alike, *others][0]
        start = f"{nothing_shared(view, other)}: {reason(view, other.labels, remedies)}"
        if alike or turned:
            raise ValueError(start)
        doubtful.append(start)
    if doubtful:
        warn(f"{doubtful[0]} (if no sample has both views, that is all right)")


def nothing_shared(view: Labelled, other: Labelled) -> str:
    """The beginning of a message."""
    return f"{view.shown} and {other.shown} have no sample in common"


def shares(some: pd.Index, others: pd.Index) -> bool:
    """Whether a label is among others: Python's equality, for labels of any types."""
    return not set(some).isdisjoint(others)


def reason(view: Labelled, others: pd.Index, remedies: Remedies) -> str:
    """Why a view shares no sample with these others, and the remedy, in words with examples."""
    known = set(others)  # an index of dates would take the column "2020" for one of its labels
    turned = next((column for column in view.columns if column in known), None)
    if turned is not None:
        return f"samples are the columns of {view.shown}, such as {turned!r}, and should be its rows; {remedies.turned}"
    pair = _pair(view.labels, others)
    if pair is None:
        starts = ((one, other) for one in view.labels[:5] for other in others if _is_start(str(one), str(other)))
        pair = next(starts, None)
    if pair is not None:
        return f"their ids are written differently, {pair[0]!r} and {pair[1]!r}; {remedies.alike}"
    return f"the first ids are {next(iter(view.labels))!r} and {next(iter(others))!r}; {remedies.alike}"


def _pair(some: pd.Index, others: pd.Index) -> tuple[Any, Any] | None:
    """Two labels that differ in punctuation, case, zeros in front or type only; two numbers are simply different."""
    bare = {_bare(other): other for other in others}
    pairs = ((one, bare[name]) for one in some if (name := _bare(one)) in bare)
    return next((pair for pair in pairs if not all(isinstance(label, Real) for label in pair)), None)


def _is_start(one: str, other: str) -> bool:
    """Whether one id begins with the other, as in barcodes of samples and of their parts."""
    return min(len(one), len(other)) > 2 and (one.startswith(other) or other.startswith(one))


def _bare(sample: Any) -> str:
    letters = re.sub(r"[\W_]+", "", str(sample)).casefold()
    return re.sub(r"(?<!\d)0+(?=\d)", "", letters)
