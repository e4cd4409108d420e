"""``--event``: which times of a target are times of an event; other samples were last seen then, without it.

A column of events holds true and false, 1 and 0, or yes and no. ``--event labels.csv:status=dead`` says which of its
values means the event where it holds others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from .._warnings import warn
from ..files.matching import as_text
from ..files.read import Cohort
from ..validation import shown
from .messages import counted_samples, listed

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_EVENTS = ("event", "dead", "death", "died", "deceased", "relapse", "progression", "recurrence", "failure")


def split_event(text: str) -> tuple[str, str | None]:
    """The column, and the value that means the event: that behind the first = after the last colon.

    >>> split_event("labels.csv:status=dead"), split_event("labels.csv:event")
    (('labels.csv:status', 'dead'), ('labels.csv:event', None))
    """
    colon = text.rfind(":") + 1
    column, equals, value = text[colon:].partition("=")
    return text[:colon] + column, value if equals else None


def with_outcomes(cohort: Cohort, option: str) -> Cohort:
    """The cohort with times and events as its targets, a column each, without samples of which the event is missing."""
    assert cohort.tables.y is not None and cohort.event is not None
    place, value = split_event(option)
    known = cohort.event.notna().to_numpy()
    if not known.any():
        raise ValueError(f"--event {option}: no sample with a target has a value in the column {cohort.event.name!r}")
    if not known.all():
        n_lacking = int((~known).sum())
        are = "is" if n_lacking == 1 else "are"
        warn(f"{counted_samples(n_lacking)} with a time {are} left out for want of a value in --event {place}")
    time = cohort.tables.y[known]
    y = pd.DataFrame(
        {str(time.name): times_of(time), "event": events_of(cohort.event[known], place, value)}, time.index
    )
    tables: Any = replace(cohort.tables, X=cohort.tables.X[known], y=y)
    return replace(cohort, tables=tables, groups=None if cohort.groups is None else cohort.groups[known])


def times_of(y: pd.Series) -> pd.Series:
    """Times as numbers; dates and other text are an error that says what to do."""
    if pd.api.types.is_numeric_dtype(y.dtype) and not pd.api.types.is_bool_dtype(y.dtype):
        return y.astype(np.float64)
    first = next((cell for cell in y if not isinstance(cell, int | float) or isinstance(cell, bool)), y.iloc[0])
    if isinstance(first, bool):
        raise ValueError(f"the target {y.name!r} holds true and false where times are expected; --event has the events")
    if isinstance(first, str) and pd.isna(pd.to_datetime(first, errors="coerce")):
        remedy = "leave the cell empty where the time is not known, or write --na-values with what stands there"
        raise ValueError(f"the target {y.name!r} must hold times as numbers, but has {first!r}; {remedy}")
    raise ValueError(
        f"the target {y.name!r} must hold durations as numbers, such as days since the diagnosis, but has {first!s}; "
        "subtract the date of the start from that of the event or of the last visit"
    )


def events_of(column: pd.Series, place: str, value: str | None) -> np.ndarray:
    """Whether each sample had the event."""
    texts = [text or "" for text in as_text(column)]
    there = list(dict.fromkeys(texts))
    if value is not None:
        if value not in there:
            raise ValueError(f"--event {place}={value}: the column has no {value!r}; it has {listed(sorted(there))}")
        return np.array([text == value for text in texts])
    if set(map(str.lower, there)) <= set(_WORDS):
        return np.array([_WORDS[text.lower()] for text in texts])
    example = next((text for text in there if text.lower() in _EVENTS), max(there))
    has = f"{len(there)} different values, such as {shown(there[0])}" if len(there) > 6 else listed(sorted(there))
    raise ValueError(
        f"--event {place}: the column must say yes or no (true or false, 1 or 0), but has {has}; write which value "
        f"means the event, such as --event {place}={example}"
    )
