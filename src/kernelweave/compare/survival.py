"""What the recommended method predicts of times to an event, of samples that it was not fitted to.

Risk groups are cut within each fold, at the terciles of its out-of-fold risks: risks of different models have no common
level. The log-rank test of such groups is not valid: the model of one fold has seen the outcomes of all others, so that
sum over folds of what the groups tell has about ``1 + n / n_train`` times the variance that it has where the labels of
the groups are exchanged, twice and more (with linear models each pair of samples counts twice: once the one trains and
the other is tested, once the other way round). So the test here is

    U = sum_k sum_(i in fold k) g_i r_i / s,    p = (1 + #{max_m U*_m >= U / sqrt(1 + n / n_train)}) / (1 + 999)

where g_i is -1, 0 or 1 (lowest, middle and highest risk), r_i = delta_i - H_k(t_i) the events of sample i beyond those
expected by the Nelson-Aalen hazard of its fold (the log-rank test for a trend), U*_m is U of method m with the r_i
exchanged within folds, and s the spread of U*. The largest U*_m of all methods counts, because the method is the best
of them. ``python -m benchmarks.survival_verdicts`` simulates how often p is below 0.05 without signal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..reporting.content import Block, Cell, Column, Line, Lines, Table, Text
from ..reporting.words import counted, p_text, sample_labels, written
from ..survival import SurvivalCurve, breslow, brier_scores, kaplan_meier
from .out_of_fold import OutOfFold
from .outcome import CompareOutcome

GROUPS = ("lowest third", "middle third", "highest third")
N_PERMUTATIONS = 999
_N_AT_RISK = 4  # steps between the times at which the numbers at risk are told, at least
_MOST_STEPS = 90  # of a drawn curve
_PER_GROUP, _MOST_GROUPS = 25, 5  # samples in a group of the calibration curve, at least, and groups, at most
_MOST_SHOWN = 20  # samples that a table lists


@dataclass(frozen=True, eq=False)
class RiskGroups:
    """The tested samples of the first repeat, by thirds of the risks of their fold."""

    found: OutOfFold  # of the first repeat, in which each sample is tested once
    group: np.ndarray  # (n_tested,): 0, 1 or 2, from the lowest risk on

    @classmethod
    def of(cls, predictions: OutOfFold) -> RiskGroups:
        found = predictions.part(predictions.repeat == predictions.repeat.min())
        group = np.zeros(len(found.rows), dtype=int)
        for fold in np.unique(found.fold):
            own = found.fold == fold
            risks = found.predicted[own]
            group[own] = np.searchsorted(np.quantile(risks, [1 / 3, 2 / 3], method="inverted_cdf"), risks)
        return cls(found, group)

    def pvalue(self, y: np.ndarray, n_train: float, others: Sequence[OutOfFold] = ()) -> float:
        """How likely groups that differ as much in the order of their risks are without any signal; see above.

        `others` are predictions of all methods of which this one is the best, which may be so by luck.
        """
        every = [self.group, *(RiskGroups.of(found).group for found in others)]
        scores, random = np.array(every, dtype=np.float64).T - 1.0, np.random.default_rng(0)
        observed, drawn = np.zeros(len(every)), np.zeros((N_PERMUTATIONS, len(every)))
        own = y[self.found.rows]
        for fold in np.unique(self.found.fold):
            part = self.found.fold == fold
            excess, centred = excess_events(own[part]), scores[part] - scores[part].mean(axis=0)
            observed += excess @ centred
            drawn += random.permuted(np.tile(excess, (N_PERMUTATIONS, 1)), axis=1) @ centred
        spread = np.maximum(drawn.std(axis=0), np.finfo(float).tiny)
        reduced = observed[0] / spread[0] / np.sqrt(1.0 + len(own) / n_train)
        as_large = (drawn / spread).max(axis=1) >= reduced - 1e-9
        return float((1 + as_large.sum()) / (1 + N_PERMUTATIONS))


def excess_events(y: np.ndarray) -> np.ndarray:
    """The events of each sample beyond those expected by the hazard of all: delta_i - H(t_i), which add up to 0."""
    if not y["event"].any():
        return np.zeros(len(y))
    hazard: Any = breslow(y, np.zeros(len(y)), ties="breslow")
    return y["event"] - hazard(y["time"])


def survival_blocks(outcome: CompareOutcome) -> list[Block]:
    """The blocks of the section: risk groups, calibration at a horizon, Brier scores over time, and highest risks."""
    y, groups = outcome.problem.y, RiskGroups.of(outcome.winner.predictions)
    own = y[groups.found.rows]
    curves = [
        (name, kaplan_meier(own[groups.group == g])) for g, name in enumerate(GROUPS) if (groups.group == g).any()
    ]
    horizon = horizon_of(outcome.problem.times)
    blocks: list[Block] = [Text(text=_about_groups(outcome, groups)), _curves(curves), _at_risk(curves)]
    blocks.append(_groups_table(own, groups.group, horizon))
    found = groups.found
    if found.probabilities is not None and horizon is not None:
        blocks += [_calibration(outcome, groups, horizon), *_brier(outcome, found)]
    return [*blocks, _highest(outcome, groups, horizon)]


def horizon_of(times: np.ndarray) -> float | None:
    """The time at which survival is told and checked: that of half of the events."""
    return float(times[len(times) // 2]) if len(times) else None


def _about_groups(outcome: CompareOutcome, groups: RiskGroups) -> str:
    events = int(outcome.problem.y["event"][groups.found.rows].sum())
    others = [one.predictions for one in outcome.results if one is not outcome.winner]
    pvalue = groups.pvalue(outcome.problem.y, outcome.judge.n_train, others)
    corrected = f", corrected for the choice among {counted(len(others) + 1, 'method')}" if others else ""
    repeated = " of the first repeat" if outcome.winner.predictions.repeat.max() > 0 else ""
    verdict = (
        "so that higher predicted risks go with earlier events"
        if pvalue < 0.05
        else "so that these data do not show that the groups differ"
    )
    return (
        f"{counted(len(groups.group), 'sample')}{repeated}, {events} with the event, in three groups: the thirds of "
        f"the risks that {outcome.winner.label} predicts in each fold. The test of their order, by permutation within "
        f"folds{corrected}, has {p_text(pvalue)}, {verdict}. (A log-rank test would find differences where there are "
        "none: models of different folds share samples.)"
    )


def _curves(curves: Sequence[tuple[str, SurvivalCurve]]) -> Lines:
    lines = [Line(f"{name} of the risk", *steps(curve)) for name, curve in curves]
    return Lines(
        title="Survival of the risk groups",
        description="The share of each group that is without the event after a time, by Kaplan and Meier's estimate, "
        "which takes into account that censored samples were last seen before. Groups that differ have curves that lie "
        "apart.",
        x_axis="time",
        y_axis="share without the event",
        lines=lines,
    )


def steps(curve: SurvivalCurve) -> tuple[list[float], list[float]]:
    """The corners of a curve of steps; of many steps only some, evenly spread over them."""
    events = np.flatnonzero(curve.n_events)
    kept = (
        events[np.unique(np.linspace(0, len(events) - 1, _MOST_STEPS).round().astype(int))] if len(events) else events
    )
    times, values = curve.times[kept], curve.values[kept]
    x = np.concatenate([[0.0], np.repeat(times, 2), [float(curve.times[-1])]])
    y = np.concatenate([np.repeat(np.concatenate([[1.0], values]), 2)])
    return x.tolist(), y.tolist()


def _at_risk(curves: Sequence[tuple[str, SurvivalCurve]]) -> Table:
    last = max(float(curve.times[-1]) for _, curve in curves)
    times = round_times(last)
    rows: list[list[Cell]] = [[name, *curve.at_risk_at(times).tolist()] for name, curve in curves]
    return Table(
        title="Numbers at risk",
        columns=[Column("risk"), *(Column(f"time {time:g}", "count") for time in times)],
        rows=rows,
        note="Samples that are still followed and without the event at a time; of few the curve says little.",
    )


def round_times(last: float) -> np.ndarray:
    """Times from 0 on, as far apart as a round number, that end before the last one.

    >>> round_times(2789.0)
    array([   0.,  500., 1000., 1500., 2000., 2500.])
    """
    longest = max(last, np.finfo(float).tiny) / _N_AT_RISK
    power = 10.0 ** np.floor(np.log10(longest))
    step = max(power * factor for factor in (1.0, 2.0, 5.0) if power * factor <= longest * (1.0 + 1e-9))
    return np.arange(0.0, last, step)


def _groups_table(y: np.ndarray, group: np.ndarray, horizon: float | None) -> Table:
    columns = [Column("risk"), Column("samples", "count"), Column("events", "count")]
    columns += [Column("median", "number", "the time until which half of the group have the event; – where fewer have")]
    if horizon is not None:
        at = f"after time {written(horizon)}"
        columns.append(Column(f"without the event {at}", "percent"))
        columns += [Column(name, "percent", "end of the 95 % interval") for name in ("from", "to")]
    rows: list[list[Cell]] = []
    for g, name in enumerate(GROUPS):
        own = y[group == g]
        if not len(own):
            continue
        curve = kaplan_meier(own)
        below = np.flatnonzero(curve.values <= 0.5)
        row: list[Cell] = [
            name,
            len(own),
            int(own["event"].sum()),
            float(curve.times[below[0]]) if len(below) else None,
        ]
        rows.append([*row, *([] if horizon is None else _survival_at(curve, horizon))])
    return Table(title="Risk groups", columns=columns, rows=rows)


def _survival_at(curve: SurvivalCurve, time: float) -> list[float | None]:
    """The survival of a curve at a time, and its interval; nothing where the samples were not followed so long."""
    if time > curve.end:
        return [None, None, None]
    place = int(np.searchsorted(curve.times, time, side="right")) - 1
    if place < 0:
        return [1.0, None, None]
    ends = [float(end[place]) for end in (curve.lower, curve.upper)]
    return [float(curve.values[place]), *(end if np.isfinite(end) else None for end in ends)]


def _calibration(outcome: CompareOutcome, groups: RiskGroups, horizon: float) -> Block:
    """Predicted survival at the horizon, in groups of like predictions, against Kaplan-Meier estimates."""
    place = int(np.searchsorted(outcome.problem.times, horizon))
    assert groups.found.probabilities is not None
    predicted = groups.found.probabilities[:, place]
    own = outcome.problem.y[groups.found.rows]
    n_groups = int(np.clip(len(own) // _PER_GROUP, 1, _MOST_GROUPS))
    limits = np.unique(np.quantile(predicted, np.arange(1, n_groups) / n_groups, method="inverted_cdf"))
    part = np.searchsorted(limits, predicted)
    points = []
    for number in np.unique(part):
        survival = _survival_at(kaplan_meier(own[part == number]), horizon)[0]
        if survival is not None:
            points.append((float(predicted[part == number].mean()), survival))
    if len(points) < 2:
        return Text(text="For a calibration curve there are too few samples, or all have one predicted survival.")
    x, observed = ([point[k] for point in points] for k in (0, 1))
    return Lines(
        title=f"Calibration at time {written(horizon)}",
        description=f"Samples in {len(points)} groups by their predicted chance to be without the event after time "
        f"{written(horizon)} (half of the events come before), and the share that is, by Kaplan and Meier's estimate. "
        "Chances that are right lie on the diagonal.",
        x_axis=f"predicted chance to be without the event after time {written(horizon)}",
        y_axis="share without the event",
        lines=[Line(outcome.winner.label, x, observed), Line("as predicted", [0.0, 1.0], [0.0, 1.0])],
    )


def _brier(outcome: CompareOutcome, found: OutOfFold) -> list[Block]:
    y, times = outcome.problem.y, outcome.problem.times
    chance = outcome.chance.part(outcome.chance.repeat == outcome.chance.repeat.min())
    own = y[found.rows]
    inside = (times >= own["time"].min()) & (times < own["time"].max())
    if inside.sum() < 2:
        return []
    lines = []
    for label, part in ((outcome.winner.label, found), (outcome.task.chance, chance)):
        assert part.probabilities is not None
        scores = brier_scores(y, y[part.rows], part.probabilities[:, inside], times[inside])
        lines.append(Line(label, times[inside].tolist(), scores.tolist()))
    return [
        Lines(
            title="Errors of predicted survival over time",
            description="The mean squared difference (Brier score) between the predicted chance to be without the "
            "event and what came, censored samples weighted for; smaller is better. Where the curve of the method is "
            "not below that of Kaplan and Meier, who give all samples the same chance, it says nothing of that time.",
            x_axis="time",
            y_axis="Brier score",
            lines=lines,
        )
    ]


def _highest(outcome: CompareOutcome, groups: RiskGroups, horizon: float | None) -> Table:
    """The samples with the least predicted chance or, of methods without, the highest risks of their folds."""
    found, y = groups.found, outcome.problem.y
    shares, chances = _shares_below(found), None
    if found.probabilities is not None and horizon is not None:
        chances = found.probabilities[:, int(np.searchsorted(outcome.problem.times, horizon))]
    order = np.argsort(-shares if chances is None else chances, kind="stable")[:_MOST_SHOWN]
    labels = sample_labels(getattr(outcome.problem.X, "index", None), len(y))
    columns = [Column("sample")]
    if chances is not None and horizon is not None:
        columns.append(Column(f"chance at time {written(horizon)}", "percent", "predicted, to be without the event"))
    columns += [Column("higher risk than", "percent", "the share of the other samples of the fold")]
    columns += [Column("time", "number"), Column("event"), Column("fold", "count")]
    rows: list[list[Cell]] = []
    for i in order.tolist():
        true = y[found.rows[i]]
        told: list[Cell] = [float(true["time"]), "yes" if true["event"] else "censored", int(found.fold[i]) + 1]
        rows.append([labels[found.rows[i]], *([] if chances is None else [float(chances[i])]), float(shares[i]), *told])
    note = f"{len(rows)} of {counted(len(found.rows), 'sample')}; out_of_fold.csv has all."
    return Table(title="The highest risks, out of fold", columns=columns, rows=rows, note=note)


def _shares_below(found: OutOfFold) -> np.ndarray:
    """Of each sample, the share of the others of its fold with a smaller risk."""
    shares = np.zeros(len(found.rows))
    for fold in np.unique(found.fold):
        own = np.flatnonzero(found.fold == fold)
        risks = found.predicted[own]
        shares[own] = np.searchsorted(np.sort(risks), risks) / max(len(own) - 1, 1)
    return shares
