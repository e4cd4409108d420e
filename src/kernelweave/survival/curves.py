"""Curves of survival, censoring and hazard, and the log-rank test of groups.

At each distinct time t_j, in increasing order, R_j of the samples are at risk (their time is at least t_j), d_j have
the event and q_j are censored; f is a risk score, w a weight, D_j are the samples with an event at t_j. Curves are
steps, and have their new value at the time of a step:

===================  ===============================================================================================
name                 value at t: over the times t_j <= t
===================  ===============================================================================================
`kaplan_meier`       S(t) = prod (1 - d_j / R_j), with Greenwood's Var log S = sum d_j / (R_j (R_j - d_j)); its interval
                     is that of log(-log S)
`censoring_curve`    G(t) = prod (1 - q_j / (R_j - d_j)): the same of censoring, which comes after events of its time
`breslow`            H0(t) = sum of d_j / A_j with d_j = sum_D w_i, A_j = sum of w_i exp(f_i) over those at risk; with
                     Efron's ties sum of d_j mean_k 1 / (A_j - k / |D_j| B_j), k = 0 ... |D_j| - 1, with B_j the part of
                     A_j from D_j: as if they had the event one after the other, in all orders alike
`logrank_statistic`  U' V^-1 U with U_g = sum_j O_gj - d_j R_gj / R_j for each group g, O_gj the events in it, and their
                     covariance V = sum_j d_j (R_j - d_j) / (R_j - 1) (diag(p_j) - p_j p_j'), p_gj = R_gj / R_j
===================  ===============================================================================================
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.utils import check_random_state

from ..validation import Choice, Number, Seed, Whole, check, shown
from ..validation.inputs import as_pandas, check_sample_weight, check_unmasked
from .outcome import check_for_fit, times_and_events

_EQUAL = (
    1e-10  # statistics that differ by less, relatively, are equal: sums of some thousand terms are rounded to 1e-13
)


@dataclass(frozen=True, eq=False)
class Curve:
    """A function of time that is constant between steps: ``values[j]`` from ``times[j]`` on, until ``times[j + 1]``.

    Attributes
    ----------
    times : ndarray of shape (n_steps,)
        Increasing.
    values : ndarray of shape (n_steps,)
    start : float
        The value before the first step.
    end : float
        The last time at which the value is known, the end of the follow-up; infinity where it cannot change any more.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.survival import Curve
    >>> curve = Curve(np.array([2.0, 5.0]), np.array([0.5, 0.25]), start=1.0, end=8.0)
    >>> curve([0, 2, 3, 8])
    array([1.  , 0.5 , 0.5 , 0.25])
    """

    times: np.ndarray
    values: np.ndarray
    _: KW_ONLY
    start: float
    end: float

    def __call__(self, times: Any) -> np.ndarray:
        """The values at some times: an array of their shape."""
        t = np.asarray(times, dtype=np.float64)
        if np.isnan(t).any():
            raise ValueError("a curve has no value at the time NaN")
        if (t > self.end).any():
            raise ValueError(
                f"the time {t.max():g} is beyond the last time of the samples that the curve was made of, after which "
                f"nothing is known; ask for times up to {self.end:g}"
            )
        return np.append(self.start, self.values)[np.searchsorted(self.times, t, side="right")]


@dataclass(frozen=True, eq=False)
class SurvivalCurve(Curve):
    """A Kaplan-Meier estimate S(t) with steps at all times at which samples had the event or were censored.

    Attributes
    ----------
    times, values, start, end
        As those of `Curve`.
    at_risk, n_events, n_censored : ndarray of shape (n_steps,)
        R_j, d_j and q_j.
    error : ndarray of shape (n_steps,)
        Greenwood's standard error of S; NaN where S is 0.
    lower, upper : ndarray of shape (n_steps,)
        The interval at each time by itself; NaN where S is 0.

    Examples
    --------
    >>> from kernelweave.survival import kaplan_meier, outcome
    >>> curve = kaplan_meier(outcome([2, 3, 3, 5], [True, True, False, False]))
    >>> curve.at_risk_at([0, 3, 4])
    array([4, 3, 1])
    """

    _: KW_ONLY
    at_risk: np.ndarray
    n_events: np.ndarray
    n_censored: np.ndarray
    error: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def at_risk_at(self, times: Any) -> np.ndarray:
        """How many samples are still followed and without the event just before some times."""
        return np.append(self.at_risk, 0)[np.searchsorted(self.times, np.asarray(times, dtype=float))]

    @property
    def table(self) -> pd.DataFrame:
        """One row for each time, with the numbers of samples, the survival, its error and its interval."""
        columns = ["at_risk", "n_events", "n_censored", "values", "error", "lower", "upper"]
        table = pd.DataFrame({name: getattr(self, name) for name in columns}, index=pd.Index(self.times, name="time"))
        return table.rename(columns={"values": "survival"})


def kaplan_meier(y: Any, *, level: float = 0.95) -> SurvivalCurve:
    """The share S(t) of samples that are without the event after time t, by Kaplan and Meier's estimate.

    Parameters
    ----------
    y : structured array or DataFrame
        Times and events, see `outcome`.
    level : float
        Of the intervals.

    Returns
    -------
    SurvivalCurve
        Callable at times up to the last one, and at all times where S ends at 0.

    Examples
    --------
    >>> from kernelweave.survival import kaplan_meier, outcome
    >>> curve = kaplan_meier(outcome([2, 3, 3, 5], [True, True, False, False]))
    >>> curve.table.round(3)
          at_risk  n_events  n_censored  survival  error  lower  upper
    time
    2.0         4         1           0      0.75  0.217  0.128  0.961
    3.0         3         1           1      0.50  0.250  0.058  0.845
    5.0         1         0           1      0.50  0.250  0.058  0.845
    """
    time, event = times_and_events(y)
    level = check("kaplan_meier", "level", level, Number(above=0, below=1))
    times, at_risk, n_events, n_censored = _counts(time, event)
    survival = np.cumprod(1.0 - n_events / at_risk)
    left = at_risk - n_events
    known = left > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(known, np.sqrt(np.cumsum(np.where(known, n_events / (at_risk * left), 0.0))), np.nan)
        log = np.log(survival)
        reach = norm.isf(0.5 - 0.5 * level) * np.where(log < 0.0, spread / log, 0.0)
        lower, upper = (np.where(known, np.exp(np.exp(side * reach) * log), np.nan) for side in (-1, 1))
    return SurvivalCurve(
        times,
        survival,
        start=1.0,
        end=_end(times, survival),
        at_risk=at_risk,
        n_events=n_events,
        n_censored=n_censored,
        error=survival * spread,
        lower=lower,
        upper=upper,
    )


def censoring_curve(y: Any) -> Curve:
    """The share G(t) of samples that are not censored until after time t, by Kaplan and Meier's estimate.

    Its inverse weights samples with an event for those like them whose event was not seen, in metrics of risks. Where a
    sample is censored at the time of another's event, the event is taken to come first.

    Parameters
    ----------
    y : structured array or DataFrame
        Times and events, see `outcome`.

    Examples
    --------
    >>> from kernelweave.survival import censoring_curve, outcome
    >>> censoring_curve(outcome([2, 3, 3, 5], [True, True, False, True]))([2, 3, 5])
    array([1. , 0.5, 0.5])
    """
    return censoring_of(*times_and_events(y))


def censoring_of(time: np.ndarray, event: np.ndarray) -> Curve:
    """`censoring_curve` of outcomes that have been read."""
    times, at_risk, n_events, n_censored = _counts(time, event)
    followed = at_risk - n_events
    free = np.cumprod(1.0 - n_censored / np.maximum(followed, 1))  # where nobody is followed, nobody is censored
    return Curve(times, free, start=1.0, end=_end(times, free))


def breslow(
    y: Any, risk: Any, *, ties: str = "efron", sample_weight: Any = None, strata: Any = None
) -> Curve | dict[Any, Curve]:
    """The cumulative hazard H0(t) of a sample of risk score 0 in a Cox model with these risk scores.

    A sample of risk score f has the cumulative hazard ``exp(f) H0(t)`` and survives t with the probability
    ``exp(-exp(f) H0(t))``.

    Parameters
    ----------
    y : structured array or DataFrame
        Times and events, see `outcome`; at least one event.
    risk : array of shape (n_samples,)
        Scores f of these samples, logarithms of their relative hazards.
    ties : {"efron", "breslow"}
        How events at the same time count; the same as in the Cox model, so that the hazard is the one at which its
        likelihood is largest. R's survival does likewise; scikit-survival's hazard is always "breslow", which is
        smaller where there are ties.
    sample_weight : array of shape (n_samples,), optional
        With Breslow's ties a sample of weight 2 counts as two; with Efron's, events at one time share their mean
        weight, as in R.
    strata : array of shape (n_samples,), optional
        Samples are at risk beside those of their own stratum alone.

    Returns
    -------
    Curve, or dict of Curve
        With steps at the times of events; with `strata` one for each stratum, by its label.

    Examples
    --------
    >>> from kernelweave.survival import breslow, outcome
    >>> y = outcome([2, 3, 3, 5], [True, True, True, False])
    >>> breslow(y, [0.0, 0.0, 0.0, 0.0])([1, 2, 3]).round(3)
    array([0.   , 0.25 , 1.083])
    >>> breslow(y, [0.0, 0.0, 0.0, 0.0], ties="breslow")([1, 2, 3]).round(3)
    array([0.   , 0.25 , 0.917])
    """
    time, event = times_and_events(y)
    check("breslow", "ties", ties, Choice("efron", "breslow"))
    f = check_risk(risk, len(time))
    weight = check_sample_weight(sample_weight, len(time))
    check_for_fit(event & (weight > 0.0))
    if strata is None:
        return _hazard(time, event, f, weight, ties)
    label, stratum = labels_of(strata, "strata", len(time))
    parts = [stratum == k for k in range(len(label))]
    curves = [_hazard(time[part], event[part], f[part], weight[part], ties) for part in parts]
    return dict(zip(label.tolist(), curves, strict=True))


def logrank_statistic(y: Any, groups: Any, *, strata: Any = None) -> float:
    """Log-rank statistic of groups whose survival may differ; about chi-squared with n_groups - 1 degrees of freedom.

    That holds for groups that were chosen without a look at y. Groups that were cut from held-out risks of a
    cross-validation are not: see `permutation_p`.

    Parameters
    ----------
    y : structured array or DataFrame
        Times and events, see `outcome`; at least one event.
    groups : array of shape (n_samples,)
        Labels of at least two groups.
    strata : array of shape (n_samples,), optional
        Samples are compared with those of their own stratum alone; U and V are sums over strata.

    Examples
    --------
    >>> from kernelweave.survival import logrank_statistic, outcome
    >>> y = outcome([1, 2, 3, 4, 5, 6], [True, True, True, True, False, True])
    >>> round(logrank_statistic(y, ["high", "high", "high", "low", "low", "low"]), 3)
    5.052
    """
    tables, group = _risk_tables(y, groups, strata)
    return tables.statistic(group)


def permutation_p(
    y: Any,
    groups: Any,
    *,
    strata: Any = None,
    n_train: int | None = None,
    n_permutations: int = 1000,
    random_state: Any = None,
) -> float:
    """The share of random exchanges of the groups' labels with a log-rank statistic as large as that of the groups.

    ``p = (1 + #{permuted statistics >= that of the groups}) / (1 + n_permutations)``. If what the groups were made of
    says nothing about y, then ``P(p <= a) <= a`` for every a, in samples of any size.

    Groups that were cut from held-out risks of a cross-validation are made of y: a sample is tested by a model that was
    trained on the others, and helps to train the models by which these are tested. What two folds have in common by
    chance counts twice, and groups differ too often, however labels are exchanged. With `n_train` the permuted
    statistics are multiplied by 1 + n_samples / n_train, the correction of `model_selection.paired_loss_test`, and p is
    rather too large than too small.

    Parameters
    ----------
    y : structured array or DataFrame
        Times and events, see `outcome`; at least one event.
    groups : array of shape (n_samples,)
        Labels of at least two groups.
    strata : array of shape (n_samples,), optional
        Labels are exchanged, and samples compared, within strata, such as the folds in which risks were cut.
    n_train : int, optional
        Of held-out risks of a cross-validation: the samples of a training part. None where the model, or whatever made
        the groups, saw none of these samples.
    n_permutations : int
    random_state : int, RandomState or None

    Examples
    --------
    >>> from kernelweave.survival import outcome, permutation_p
    >>> y = outcome([1, 2, 3, 4, 5, 6, 7, 8], [True, True, True, True, False, True, True, True])
    >>> permutation_p(y, [0, 0, 0, 0, 1, 1, 1, 1], n_permutations=199, random_state=0)
    0.025
    """
    n_permutations = check("permutation_p", "n_permutations", n_permutations, Whole(1))
    check("permutation_p", "random_state", random_state, Seed())
    check("permutation_p", "n_train", n_train, Whole(1) | None)
    tables, group = _risk_tables(y, groups, strata)
    rng = check_random_state(random_state)
    factor = 1.0 if n_train is None else 1.0 + len(group) / n_train
    found = tables.statistic(group)
    least = (found - _EQUAL * (1.0 + found)) / factor
    as_large = sum(tables.statistic(tables.permuted(group, rng)) >= least for _ in range(n_permutations))
    return (1 + as_large) / (1 + n_permutations)


def check_risk(risk: Any, n_samples: int, name: str = "risk") -> np.ndarray:
    """Risk scores as finite floats, one for each sample."""
    try:
        f = np.asarray(risk, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, not {shown(risk)}") from None
    if f.shape != (n_samples,):
        raise ValueError(f"{name} must have one number for each of {n_samples} samples, but its shape is {f.shape}")
    if not np.isfinite(f).all():
        raise ValueError(f"{name} of sample {int(np.argmin(np.isfinite(f)))} is not finite")
    return f


def _counts(time: np.ndarray, event: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The distinct times t_j, with R_j, d_j and q_j."""
    times, place, total = np.unique(time, return_inverse=True, return_counts=True)
    n_events = np.bincount(place[event], minlength=len(times))
    return times, np.cumsum(total[::-1])[::-1], n_events, total - n_events


def _end(times: np.ndarray, share: np.ndarray) -> float:
    """A share of 0 stays 0; another one may change after the last time."""
    return float(times[-1]) if share[-1] > 0.0 else np.inf


def _hazard(time: np.ndarray, event: np.ndarray, f: np.ndarray, weight: np.ndarray, ties: str) -> Curve:
    largest = f.max()
    relative = weight * np.exp(f - largest)  # exp(f) alone may overflow
    times, place = np.unique(time, return_inverse=True)
    at_risk = np.cumsum(np.bincount(place, relative)[::-1])[::-1]
    event = event & (weight > 0.0)
    place, steps = place[event], len(times)
    own, tied = np.bincount(place, relative[event], steps), np.bincount(place, minlength=steps)
    n_events = np.bincount(place, weight[event], steps)
    has = tied > 0
    at_risk, own, tied, n_events = at_risk[has], own[has], tied[has], n_events[has]
    if ties == "breslow":
        inverse = 1.0 / at_risk
    else:
        step = np.repeat(np.arange(len(tied)), tied)
        k = np.arange(len(step)) - np.repeat(np.cumsum(tied) - tied, tied)
        inverse = np.bincount(step, 1.0 / (at_risk[step] - k / tied[step] * own[step]), len(tied)) / tied
    cumulated = np.cumsum(n_events * inverse) * np.exp(-largest)
    return Curve(times[has], cumulated, start=0.0, end=float(time.max()))


@dataclass(frozen=True, eq=False)
class _RiskTables:
    """What the log-rank statistic reads of y: samples in the order of strata and times.

    `first` and `behind` are positions in that order: where the samples at risk at an event's time begin and end.
    """

    order: np.ndarray
    stratum: np.ndarray
    event: np.ndarray
    first: np.ndarray
    behind: np.ndarray
    n_events: np.ndarray
    n_groups: int

    def statistic(self, group: np.ndarray) -> float:
        member = (group[self.order, None] == np.arange(self.n_groups)).astype(float)
        before = np.vstack([np.zeros(self.n_groups), np.cumsum(member, axis=0)])
        at_risk = before[self.behind] - before[self.first]
        total, d = at_risk.sum(axis=1), self.n_events
        share = at_risk / total[:, None]
        U = member[self.event].sum(axis=0) - d @ share
        scale = d * (total - d) / np.maximum(total - 1.0, 1.0)
        V = np.diag(scale @ share) - (share.T * scale) @ share
        # Of the groups one follows from the others; one that nobody at risk belongs to has no variance.
        return float(U[1:] @ np.linalg.pinv(V[1:, 1:], rcond=_EQUAL, hermitian=True) @ U[1:])

    def permuted(self, group: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Labels exchanged at random within strata."""
        moved = group.copy()
        places = np.lexsort((rng.uniform(size=len(group)), self.stratum))
        moved[np.argsort(self.stratum, kind="stable")] = group[places]
        return moved


def _risk_tables(y: Any, groups: Any, strata: Any) -> tuple[_RiskTables, np.ndarray]:
    time, event = times_and_events(y)
    check_for_fit(event)
    label, group = labels_of(groups, "groups", len(time))
    if len(label) < 2:
        raise ValueError(f"groups has only one label, {shown(label.tolist()[0])}; at least two groups are compared")
    stratum = np.zeros(len(time), dtype=int) if strata is None else labels_of(strata, "strata", len(time))[1]
    order = np.lexsort((time, stratum))
    sorted_time, sorted_stratum = time[order], stratum[order]
    begins = np.append(True, (np.diff(sorted_time) > 0) | (np.diff(sorted_stratum) > 0))
    place = np.cumsum(begins) - 1
    n_events = np.bincount(place, event[order])
    has, first = n_events > 0, np.flatnonzero(begins)
    behind = np.searchsorted(sorted_stratum, sorted_stratum[first], side="right")
    tables = _RiskTables(order, stratum, event[order], first[has], behind[has], n_events[has], len(label))
    return tables, group


def labels_of(values: Any, name: str, n_samples: int, *, sort: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels, and the number of each sample's."""
    values = as_pandas(values, name)
    check_unmasked(values, name)
    array = np.asarray(values)
    if array.shape != (n_samples,):
        raise ValueError(f"{name} must have one label for each of {n_samples} samples, but its shape is {array.shape}")
    if pd.isna(array).any():
        raise ValueError(
            f"{name} of sample {int(np.argmax(pd.isna(array)))} is missing (NaN); give each sample a label"
        )
    try:
        codes, label = pd.factorize(array, sort=sort)
    except TypeError:
        raise ValueError(f"{name} must be labels, such as numbers or text, not {shown(array.tolist()[0])}") from None
    return label, codes
