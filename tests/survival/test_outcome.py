"""Outcomes are read from arrays and frames of all usual forms, and each wrong one has its own error."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.survival import outcome, times_and_events
from kernelweave.survival.outcome import check_for_fit

TIME, EVENT = np.array([5.0, 0.0, 12.5]), np.array([True, False, True])


def structured(names=("event", "time"), types=(bool, float), columns=(EVENT, TIME)):
    y = np.empty(len(TIME), dtype=list(zip(names, types, strict=True)))
    for name, column in zip(names, columns, strict=True):
        y[name] = column
    return y


def frame(**columns):
    return pd.DataFrame(columns, index=["a", "b", "c"])


@pytest.mark.parametrize("event", [EVENT, [1, 0, 1], [1.0, 0.0, 1.0], list(EVENT), pd.Series(EVENT, dtype="boolean")])
def test_an_outcome_has_the_fields_of_scikit_survival(event):
    y = outcome(TIME, event)
    assert y.dtype == [("event", bool), ("time", np.float64)]
    assert np.array_equal(y["time"], TIME) and np.array_equal(y["event"], EVENT)


@pytest.mark.parametrize(
    "y",
    [
        structured(),
        structured(("cens", "days")),
        structured(("days", "cens"), (np.int64, bool), ([5, 0, 12], EVENT)),
        structured(("event", "time"), (np.int8, np.float32)),
        frame(time=TIME, event=EVENT),
        frame(event=[1, 0, 1], time=TIME),
        frame(died=EVENT, days=TIME),
        frame(died=EVENT.astype(object), days=TIME),
        frame(died=pd.array(EVENT, dtype="boolean"), days=pd.array(TIME, dtype="Float64")),
    ],
)
def test_all_forms_are_read(y):
    time, event = times_and_events(y)
    assert time.dtype == np.float64 and event.dtype == np.bool_
    assert np.array_equal(np.floor(time), np.floor(TIME)) and np.array_equal(event, EVENT)


def test_frames_of_polars_are_read():
    polars = pytest.importorskip("polars")
    time, event = times_and_events(polars.DataFrame({"time": TIME, "event": EVENT}))
    assert np.array_equal(time, TIME) and np.array_equal(event, EVENT)


def test_all_censored_is_read_but_refused_for_a_fit():
    _, event = times_and_events(outcome(TIME, [False] * 3))
    with pytest.raises(ValueError, match="all 3 samples of y are censored.*nothing to learn"):
        check_for_fit(event)
    check_for_fit(EVENT)


DATES = pd.to_datetime(["2020-01-01", "2020-02-01", "2020-03-01"])


@pytest.mark.parametrize(
    "time, event, message",
    [
        ([5.0, np.nan, 1.0], EVENT, r"time is missing \(NaN\): sample 1; leave such samples out"),
        ([np.inf, np.inf, 1.0], EVENT, "time is infinite: sample 0 and 1 more; .*last seen, with event False"),
        ([5.0, 1.0, -2.5], EVENT, r"time is negative \(-2.5\): sample 2; give durations"),
        (pd.Series([1.0, -2.0, 3.0], index=["a", "b", "c"]), EVENT, "negative .*: sample 'b'"),
        (DATES, EVENT, r"time holds dates or time spans; .*\(end - start\).dt.days"),
        (DATES - DATES[0], EVENT, "time holds dates or time spans"),
        (list(DATES), EVENT, "time holds dates or time spans"),
        (["5", "six", "7"], EVENT, "time is no number but '5': sample 0 and 2 more"),
        ([1j, 2j, 3j], EVENT, "time is no number but 1j: sample 0 and 2 more; give durations from a start as numbers"),
        ([1, 10**400, 2], EVENT, "time has a number that is too large"),
        (EVENT, TIME, "time holds True and False instead of times; are time and event the wrong way round"),
        (np.ma.array(TIME, mask=[True, False, False]), EVENT, "time is masked at 0"),
        (TIME[:, None], EVENT, r"time must have one entry for each sample, but its shape is \(3, 1\)"),
        (TIME[:2], EVENT, "time has 2 entries and event 3"),
        ([], [], "time is empty"),
        (TIME, [1, 2, 1], r"event must be True or 1 .* not \[1, 2\]; .*event = y\['status'\] == 2"),
        (TIME, [0, 1, 2], r"event must be True or 1 .* not \[0, 1, 2\]"),
        (TIME, [1.0, np.nan, 0.0], r"event is missing \(NaN\): sample 1"),
        (TIME, [True, None, False], r"event is missing \(NaN\): sample 1"),
        (TIME, pd.Series([True, None, False], dtype="boolean"), r"event is missing \(NaN\): sample 1"),
        (TIME, ["dead", "alive", "dead"], r"not \['alive', 'dead'\]; .*event = y\['status'\] == 'dead'"),
        (TIME, ["True", "False", "True"], r"event = y\['status'\] == 'True'"),
        (TIME, np.ma.array(EVENT, mask=[False, True, False]), "event is masked at 1"),
        (TIME, np.c_[EVENT, EVENT], r"event must have one entry for each sample, but its shape is \(3, 2\)"),
    ],
)
def test_wrong_times_and_events_are_named(time, event, message):
    with pytest.raises(ValueError, match=message):
        outcome(time, event)


@pytest.mark.parametrize(
    "y, message",
    [
        (TIME, r"y must hold a time and an event .* an array of shape \(3,\); pass outcome\(time, event\)"),
        (np.c_[TIME, EVENT], r"an array of shape \(3, 2\)"),
        (list(zip(EVENT, TIME, strict=True)), "of the type list"),
        (None, "of the type NoneType"),
        (structured()[:, None], r"y must have one entry for each sample, but its shape is \(3, 1\)"),
        (structured()[:0], "'time' of y is empty"),
        (frame(event=EVENT, time=[1.0, -1.0, -2.0]), "'time' of y is negative .*: sample 'b' and 1 more"),
        (frame(event=EVENT, time=DATES), "'time' of y holds dates"),
        (frame(status=[1, 2, 1], time=TIME), r"y must have one column of times .* neither holds True and False; name"),
        (frame(time=TIME, event=[1, 2, 2]), r"'event' of y must be True or 1 .*event = y\['event'\] == 2"),
        (frame(died=EVENT, seen=EVENT), "both hold True and False"),
        (frame(time=TIME), r"but has the columns \['time'\]; name them"),
        (frame(id=TIME, time=TIME, event=EVENT), r"\['id', 'time', 'event'\]; name them 'time' and 'event'"),
        (frame(start=TIME, stop=TIME, event=EVENT), "left truncation .* is not supported"),
        (frame(age_at_entry=TIME, time=TIME, event=[1, 0, 1]), "left truncation"),
        (structured(("Entry", "time", "event"), (float, float, bool), (TIME, TIME, EVENT)), "left truncation"),
        (pd.concat([frame(time=TIME), frame(time=TIME)], axis=1), "several columns of the name 'time'"),
    ],
)
def test_wrong_outcomes_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        times_and_events(y)


def test_messages_name_the_argument():
    with pytest.raises(ValueError, match="'time' of y_train is negative"):
        times_and_events(frame(time=-TIME, event=EVENT), "y_train")
