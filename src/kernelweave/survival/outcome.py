"""Outcomes of a follow-up: the time until an event, or until the sample was last seen without it (censored).

y of n samples is a structured array of two fields as in scikit-survival, ``event`` (whether it was seen) and ``time``
(when it happened, or when the sample was last seen), or a data frame of two such columns. Times are durations from a
start of each sample's own. Every reader of outcomes takes them from `times_and_events`.
"""

from __future__ import annotations

import re
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from ..validation import shown
from ..validation.inputs import as_pandas, check_unmasked, holds_dates

DTYPE = np.dtype([("event", np.bool_), ("time", np.float64)])
_TRUNCATED = {"entry", "enter", "start", "tstart", "begin", "truncation", "stop", "tstop"}  # words in names of columns


def outcome(time: Any, event: Any) -> np.ndarray:
    """The structured array y of times t_i and events delta_i: delta_i says whether t_i is an event's time or censored.

    Parameters
    ----------
    time : array of shape (n_samples,)
        Durations of at least 0 until the event or until the sample was last seen, in any unit.
    event : array of shape (n_samples,)
        True or 1 where the event was seen, False or 0 where the sample was last seen without it.

    Returns
    -------
    ndarray of shape (n_samples,)
        With the fields "event" (bool) and "time" (float), which scikit-survival takes too.

    Examples
    --------
    >>> from kernelweave.survival import outcome
    >>> y = outcome(time=[5.0, 12.0, 9.5], event=[True, False, True])
    >>> y["time"][y["event"]]
    array([5. , 9.5])
    """
    t, delta = _durations(time, "time"), _indicators(event, "event", "status")
    if len(t) != len(delta):
        raise ValueError(f"time has {len(t)} entries and event {len(delta)}; give one of each for every sample")
    y = np.empty(len(t), dtype=DTYPE)
    y["event"], y["time"] = delta, t
    return y


def times_and_events(y: Any, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """Times t_i as floats and events delta_i as booleans, or one error that says what is wrong with y.

    Parameters
    ----------
    y : structured array, or DataFrame
        Two fields or columns: one named "event" and one named "time", or else one of booleans and one of numbers.
    name : str
        What messages call y.

    Returns
    -------
    time : ndarray of shape (n_samples,)
    event : ndarray of shape (n_samples,)

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelweave.survival import times_and_events
    >>> time, event = times_and_events(pd.DataFrame({"days": [5, 12], "died": [True, False]}))
    >>> time, event
    (array([ 5., 12.]), array([ True, False]))
    """
    y = as_pandas(y, name)
    fields: dict[Any, Any]
    if isinstance(y, pd.DataFrame):
        _check_names(list(y.columns), name)
        fields = {column: y[column] for column in y.columns}
    elif getattr(getattr(y, "dtype", None), "names", None):
        if y.ndim != 1:
            raise ValueError(f"{name} must have one entry for each sample, but its shape is {y.shape}")
        fields = {field: y[field] for field in y.dtype.names}
    else:
        what = f"an array of shape {np.shape(y)}" if isinstance(y, np.ndarray) else f"of the type {type(y).__name__}"
        raise ValueError(
            f"{name} must hold a time and an event for each sample, but it is {what}; pass outcome(time, event) of "
            "kernelweave.survival, with event True where the event was seen and False where the sample is censored"
        )
    time, event = _which_is_which(fields, name)
    t = _durations(fields[time], f"{time!r} of {name}")
    return t, _indicators(fields[event], f"{event!r} of {name}", event)


def check_for_fit(event: np.ndarray, name: str = "y") -> None:
    """Refuse outcomes without an event: from times of censoring alone no order of risks can be learned.

    Parameters
    ----------
    event : ndarray of bool
    name : str
        What the message calls the outcomes.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.survival import check_for_fit
    >>> check_for_fit(np.array([False, True]))
    """
    if not event.any():
        raise ValueError(
            f"all {len(event)} samples of {name} are censored (no event is True), so there is nothing to learn from; "
            "follow samples until some have the event, or check how the events are coded"
        )


def _check_names(names: list[Any], name: str) -> None:
    repeated = [column for column in names if names.count(column) > 1]
    if repeated:
        raise ValueError(
            f"{name} has several columns of the name {repeated[0]!r}; give it one of times and one of events"
        )


def _which_is_which(fields: dict[Any, Any], name: str) -> tuple[Any, Any]:
    """The names of the time and of the event."""
    names = list(fields)
    booleans = [key for key in names if _is_boolean(fields[key])]
    others = [key for key in names if key not in booleans]
    if len(names) > 2 and any(_TRUNCATED & set(re.split("[^a-z]+", str(key).lower())) for key in names):
        raise ValueError(
            f"{name} has the columns {shown(names)}, as for left truncation (late entry, or intervals of start and "
            "stop), which is not supported; where all samples were followed from their start, pass the two columns "
            "outcome(stop - start, event)"
        )
    if len(names) == 2:
        if {"time", "event"} == set(names):
            return "time", "event"
        if len(booleans) == 1:
            return others[0], booleans[0]
    why = f", of which {'both hold' if booleans else 'neither holds'} True and False" if len(names) == 2 else ""
    raise ValueError(
        f"{name} must have one column of times and one of events, but has the columns {shown(names)}{why}; name them "
        "'time' and 'event' and leave out others, or pass outcome(time, event), such as "
        'outcome(y["days"], y["status"] == 2)'
    )


def _is_boolean(values: Any) -> bool:
    return getattr(values.dtype, "kind", "O") == "b" or (
        values.dtype == object and len(values) > 0 and all(isinstance(entry, bool | np.bool_) for entry in values)
    )


def _durations(values: Any, what: str) -> np.ndarray:
    """Finite numbers of at least 0."""
    array, labels = _vector(values, what)
    if holds_dates(array) or holds_dates(values):
        raise ValueError(
            f"{what} holds dates or time spans; give durations from a start as numbers, such as the days "
            "(end - start).dt.days"
        )
    if array.dtype.kind == "b":
        raise ValueError(f"{what} holds True and False instead of times; are time and event the wrong way round?")
    missing = np.asarray(pd.isna(array))
    if missing.any():
        _refuse(f"{what} is missing (NaN)", missing, labels, "leave such samples out, or give when they were last seen")
    if array.dtype.kind not in "iuf":
        wrong = np.array([not isinstance(entry, Real) for entry in array])
        if wrong.any():
            found = shown(array[wrong].tolist()[0])
            _refuse(f"{what} is no number but {found}", wrong, labels, "give durations from a start as numbers")
    try:
        t = array.astype(np.float64)
    except OverflowError:
        raise ValueError(f"{what} has a number that is too large; give durations in another unit") from None
    if np.isinf(t).any():
        remedy = "give the time when the sample was last seen, with event False"
        _refuse(f"{what} is infinite", np.isinf(t), labels, remedy)
    if (t < 0).any():
        _refuse(f"{what} is negative ({t[t < 0][0]:g})", t < 0, labels, "give durations from a start, of at least 0")
    return t


def _indicators(values: Any, what: str, column: Any) -> np.ndarray:
    """True and False, of booleans or of 0 and 1; `column` is what an example in a message calls them."""
    array, labels = _vector(values, what)
    missing = np.asarray(pd.isna(array))
    if missing.any():
        _refuse(f"{what} is missing (NaN)", missing, labels, "leave such samples out")
    if array.dtype.kind == "b":
        return array.astype(np.bool_)
    if array.dtype.kind in "iuf" or all(isinstance(entry, Real | np.bool_) for entry in array):
        codes = np.unique(array).tolist()
        if set(codes) <= {0, 1}:
            return array.astype(np.bool_)
    else:
        codes = sorted({str(entry) for entry in array})
    example = codes[-1]
    raise ValueError(
        f"{what} must be True or 1 for an event and False or 0 for a censored sample, not {shown(codes)}; say which "
        f"value means the event, such as event = y[{column!r}] == {example!r}, and give time and event in this order"
    )


def _vector(values: Any, what: str) -> tuple[np.ndarray, pd.Index | None]:
    """One-dimensional and not empty; the labels of the samples where a series has them."""
    values = as_pandas(values, what)
    check_unmasked(values, what)
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{what} must have one entry for each sample, but its shape is {array.shape}")
    if not len(array):
        raise ValueError(f"{what} is empty; at least one sample is needed")
    return array, values.index if isinstance(values, pd.Series) else None


def _refuse(what: str, wrong: np.ndarray, labels: pd.Index | None, remedy: str) -> NoReturn:
    """Raise an error that names the first wrong sample, by its label where it has one."""
    place = int(np.flatnonzero(wrong)[0])
    label = place if labels is None else labels[place]
    more = f" and {int(wrong.sum()) - 1} more" if wrong.sum() > 1 else ""
    plain = label.item() if isinstance(label, np.generic) else label
    raise ValueError(f"{what}: sample {shown(plain)}{more}; {remedy}")
