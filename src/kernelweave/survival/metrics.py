"""Metrics of risks f (the larger, the earlier the event) and of predicted survival S, under censoring.

t_i is the time of sample i, delta_i whether it is that of the event. A pair (i, j) is comparable where delta_i = 1
and t_i < t_j, or t_i = t_j and delta_j = 0: j is known to have lived longer. [f_i > f_j] counts a tie of risks as half.
G is the `censoring_curve` of training samples, whose inverse weights a sample with an event for those like it that were
censored before:

========================  ==========================================================================================
`concordance`             Harrell's C: the share of comparable pairs with [f_i > f_j]
`uno_concordance`         Uno's C: the same, each pair with the weight 1 / G(t_i)^2, of those with t_i < tau
`dynamic_auc`             at t, the share of pairs of a case (delta_i = 1, t_i <= t; weight 1 / G(t_i)) and a control
                          (t_j > t) with [f_i > f_j]; its mean over t has the weights of the Kaplan-Meier curve's steps
`brier_scores`            at t, the mean of S_i(t)^2 / G(t_i) of cases and (1 - S_i(t))^2 / G(t) of controls
`integrated_brier_score`  their mean from the first time to the last, by the trapezoidal rule
========================  ==========================================================================================

All are those of scikit-survival, equal to it where both are defined.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..validation import Number, check, shown
from .curves import Curve, censoring_of, check_risk, kaplan_meier
from .outcome import times_and_events

_TIED = 1e-8  # risks that differ by no more are tied, as in scikit-survival


def concordance(y: Any, risk: Any) -> float:
    """Harrell's C: the share of comparable pairs in which the sample with the earlier event has the larger risk.

    It needs no training samples, and depends on how long the samples of y were followed; `uno_concordance` does not.
    1/2 is a risk that says nothing. A tie of risks (up to 1e-8) counts as half.

    Parameters
    ----------
    y : structured array or DataFrame
        Times and events, see `outcome`.
    risk : array of shape (n_samples,)

    Examples
    --------
    >>> from kernelweave.survival import concordance, outcome
    >>> y = outcome([2, 3, 5, 7], [True, False, True, True])
    >>> concordance(y, [3.0, 1.0, 0.5, 2.0])
    0.75
    """
    time, event = times_and_events(y)
    return _share_in_order(time, event, check_risk(risk, len(time)), event.astype(float))


def uno_concordance(y_train: Any, y: Any, risk: Any, *, tau: float | None = None) -> float:
    """Uno's C: the share of comparable pairs that are in order, weighted so that censoring does not matter.

    Parameters
    ----------
    y_train : structured array or DataFrame
        Times and events of training samples, of which the censoring is learned.
    y : structured array or DataFrame
        Those of the samples with these risks.
    risk : array of shape (n_samples,)
    tau : float, optional
        Only events before this time count: one until which training samples were followed.

    Examples
    --------
    >>> from kernelweave.survival import outcome, uno_concordance
    >>> y = outcome([2, 3, 5, 7], [True, False, True, True])
    >>> round(uno_concordance(y, y, [3.0, 1.0, 0.5, 2.0]), 3)
    0.571
    """
    time, event = times_and_events(y)
    f = check_risk(risk, len(time))
    if check("uno_concordance", "tau", tau, Number(above=0) | None) is not None:
        event = event & (time < tau)
    inverse = _inverse(_censoring(y_train), time, event, "pass a tau")
    return _share_in_order(time, event, f, inverse**2)


def dynamic_auc(y_train: Any, y: Any, risk: Any, times: Any) -> tuple[np.ndarray, float]:
    """The area under the ROC curve that tells samples with an event by time t from those without, at several t.

    Parameters
    ----------
    y_train : structured array or DataFrame
        Times and events of training samples, of which the censoring is learned.
    y : structured array or DataFrame
        Those of the samples with these risks.
    risk : array of shape (n_samples,) or (n_samples, n_times)
        One risk for all times, or one for each, such as cumulative hazards.
    times : array of shape (n_times,)
        Increasing, from the first event of y to before its last time.

    Returns
    -------
    auc : ndarray of shape (n_times,)
    mean : float
        Over the times, with how many samples have their event in the step before each (Kaplan-Meier) as weights.

    Examples
    --------
    >>> from kernelweave.survival import dynamic_auc, outcome
    >>> y = outcome([2, 3, 5, 7, 8], [True, False, True, True, False])
    >>> auc, mean = dynamic_auc(y, y, [3.0, 1.0, 0.5, 2.0, 0.0], [2, 5])
    >>> auc.round(3), round(mean, 3)
    (array([1.   , 0.714]), 0.837)
    """
    time, event = times_and_events(y)
    t = _check_times(times, time)
    f = _check_columns(risk, len(time), len(t), "risk")
    is_case = event[:, None] & (time[:, None] <= t)
    if not is_case[:, 0].any():
        raise ValueError(
            f"no sample of y has its event by the time {t[0]:g}, so that there is nothing to tell apart; begin times "
            "with the first event or later"
        )
    inverse = _inverse(_censoring(y_train), time, is_case[:, -1], "end times")
    levels = np.broadcast_to(np.column_stack([_levels(column) for column in f.T]), is_case.shape)
    auc = np.empty(len(t))
    for place, now in enumerate(t):
        cases = np.bincount(levels[:, place], inverse * is_case[:, place])
        controls = np.bincount(levels[:, place], time > now)
        below = np.cumsum(controls) - 0.5 * controls
        auc[place] = (cases @ below) / (cases.sum() * controls.sum())
    if len(t) == 1:
        return auc, float(auc[0])
    survival = kaplan_meier(y)(t)
    steps = -np.diff(survival, prepend=1.0)
    return auc, float(auc @ steps / (1.0 - survival[-1]))


def brier_scores(y_train: Any, y: Any, survival: Any, times: Any) -> np.ndarray:
    """The mean squared error of predicted survival at several times; the smaller, the better.

    0.25 is what one half for each sample and time has; a better comparison is `kaplan_meier` of the training samples.

    Parameters
    ----------
    y_train : structured array or DataFrame
        Times and events of training samples, of which the censoring is learned.
    y : structured array or DataFrame
        Those of the samples of which the survival is predicted.
    survival : array of shape (n_samples, n_times)
        Probabilities that a sample is without the event after each time.
    times : array of shape (n_times,)
        Increasing, from the first time of y to before its last one.

    Returns
    -------
    ndarray of shape (n_times,)

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.survival import brier_scores, kaplan_meier, outcome
    >>> y = outcome([2, 3, 5, 7, 8], [True, False, True, True, False])
    >>> brier_scores(y, y, np.tile(kaplan_meier(y)([2, 5]), (5, 1)), [2, 5]).round(3)
    array([0.16 , 0.249])
    """
    time, event = times_and_events(y)
    t = _check_times(times, time)
    S = _check_columns(survival, len(time), len(t), "survival")
    if S.shape[1] != len(t):
        raise ValueError(f"survival must have a column for each of {len(t)} times, not one number for a sample")
    if S.min() < 0.0 or S.max() > 1.0:
        raise ValueError(
            f"survival must be probabilities from 0 to 1, but some are {S[(S < 0) | (S > 1)][0]:g}; are they risks? "
            "predict_survival_function gives probabilities"
        )
    censoring = _censoring(y_train)
    inverse = _inverse(censoring, time, event & (time <= t[-1]), "end times")
    weight = np.where(time[:, None] > t, 1.0 / _uncensored(censoring, t, "end times"), inverse[:, None])
    return np.mean(weight * ((time[:, None] > t) - S) ** 2, axis=0)


def integrated_brier_score(y_train: Any, y: Any, survival: Any, times: Any) -> float:
    """The mean of the Brier scores from the first time to the last, the area below them by the trapezoidal rule.

    Parameters
    ----------
    y_train, y, survival, times
        As those of `brier_scores`, with at least two times.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.survival import integrated_brier_score, kaplan_meier, outcome
    >>> y = outcome([2, 3, 5, 7, 8], [True, False, True, True, False])
    >>> round(integrated_brier_score(y, y, np.tile(kaplan_meier(y)([2, 5]), (5, 1)), [2, 5]), 3)
    0.204
    """
    scores = brier_scores(y_train, y, survival, times)
    t = np.atleast_1d(np.asarray(times, dtype=float))
    if len(t) < 2:
        raise ValueError("integrated_brier_score needs at least two times; of one time take brier_scores")
    return float(np.diff(t) @ (scores[1:] + scores[:-1]) / 2.0 / (t[-1] - t[0]))


def _share_in_order(time: np.ndarray, event: np.ndarray, f: np.ndarray, weight: np.ndarray) -> float:
    """The share of comparable pairs in which f is larger of the earlier sample, whose weight the pair has."""
    order = np.lexsort(
        (~event, time)
    )  # of one time those of `event` first: what is comparable to one stands at the end
    time, event, f, weight = time[order], event[order], f[order], weight[order]
    first_late = np.searchsorted(time, time, side="left") + _events_of_same_time(time, event)
    sorted_f = np.sort(f)
    rank = np.searchsorted(sorted_f, f, side="left")
    own = np.flatnonzero(event)
    lower = np.searchsorted(sorted_f, f[own] - _TIED, side="left")
    upper = np.searchsorted(sorted_f, f[own] + _TIED, side="right")
    n_below, n_not_above = (_counts_below(rank, first_late[own], limit) for limit in (lower, upper))
    n_pairs = len(time) - first_late[own]
    total = weight[own] @ n_pairs
    if not total > 0.0:
        raise ValueError(
            "y has no comparable pair: no sample has its event (before tau, if that is given) while another one is "
            "still followed; compare risks on more samples"
        )
    return float(weight[own] @ (n_below + n_not_above) / 2.0 / total)


def _events_of_same_time(time: np.ndarray, event: np.ndarray) -> np.ndarray:
    place = np.unique(time, return_inverse=True)[1]
    return np.bincount(place, event)[place].astype(int)


def _counts_below(rank: np.ndarray, first: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """For each query q, how many of ``rank[first[q]:]`` are smaller than ``limit[q]``; all are whole numbers up to n.

    Bit by bit from the highest: `rank` is sorted by this bit, in stable order, so that those of an interval that share
    all higher bits with the limit stay an interval. Where the limit has a one, those with a zero are smaller.
    """
    n = len(rank)
    count, left, right = np.zeros(len(first), dtype=int), first, np.full(len(first), n)
    for bit in reversed(range(n.bit_length())):
        is_one = (rank >> bit & 1).astype(bool)
        ones = np.concatenate([[0], np.cumsum(is_one)])
        n_zeros = n - ones[-1]
        takes_ones = (limit >> bit & 1).astype(bool)
        count += np.where(takes_ones, right - left - (ones[right] - ones[left]), 0)
        left, right = (np.where(takes_ones, n_zeros + ones[end], end - ones[end]) for end in (left, right))
        rank = np.concatenate([rank[~is_one], rank[is_one]])
    return count


def _levels(f: np.ndarray) -> np.ndarray:
    """A number for each risk, the same for those that are tied with the next one, and increasing with f."""
    order = np.argsort(f, kind="stable")
    level = np.empty(len(f), dtype=int)
    level[order] = np.cumsum(np.diff(f[order], prepend=f[order[0]]) > _TIED)
    return level


def _censoring(y_train: Any) -> Curve:
    return censoring_of(*times_and_events(y_train, "y_train"))


def _inverse(censoring: Curve, time: np.ndarray, event: np.ndarray, remedy: str) -> np.ndarray:
    """1 / G(t_i) of samples with an event, 0 of others."""
    inverse = np.zeros(len(time))
    inverse[event] = 1.0 / _uncensored(censoring, time[event], remedy)
    return inverse


def _uncensored(censoring: Curve, t: np.ndarray, remedy: str) -> np.ndarray:
    """G at some times, none of which is 0."""
    last = censoring.times[-1]  # where G is 0, if it is so anywhere
    is_known = t < last if censoring.values[-1] == 0.0 else t <= last
    if not is_known.all():
        raise ValueError(
            f"all samples of y_train had their event or were censored by the time {last:g}, so that the censoring at "
            f"{t.max():g} is unknown; {remedy} before {last:g}, or add training samples that were followed for longer"
        )
    return censoring(t)


def _check_times(times: Any, time: np.ndarray) -> np.ndarray:
    try:
        t = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"times must be numbers, not {shown(times)}") from None
    if t.ndim != 1 or not len(t) or not np.isfinite(t).all() or (np.diff(t) <= 0).any():
        raise ValueError(f"times must be finite numbers that increase, not {shown(times)}")
    if t[0] < time.min() or t[-1] >= time.max():
        raise ValueError(
            f"times must be within the follow-up of y, at least {time.min():g} and below {time.max():g}, but are from "
            f"{t[0]:g} to {t[-1]:g}; leave out the others"
        )
    return t


def _check_columns(values: Any, n_samples: int, n_times: int, name: str) -> np.ndarray:
    """Finite numbers (n_samples, n_times); a vector becomes one column."""
    try:
        columns = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, not {shown(values)}") from None
    if columns.ndim == 1:
        return check_risk(columns, n_samples, name)[:, None]
    if columns.shape != (n_samples, n_times):
        raise ValueError(
            f"{name} must have a row for each of {n_samples} samples and a column for each of {n_times} times, but its "
            f"shape is {columns.shape}"
        )
    if not np.isfinite(columns).all():
        raise ValueError(f"{name} of sample {int(np.argwhere(~np.isfinite(columns))[0, 0])} is not finite")
    return columns
