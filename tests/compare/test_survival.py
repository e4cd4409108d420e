"""Comparisons of times to an event: folds, risks out of fold, the verdict, risk groups and their test."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from kernelweave.compare.comparison import Problem
from kernelweave.compare.declaration import declare
from kernelweave.compare.held_out import held_out_section
from kernelweave.compare.out_of_fold import Judge, OutOfFold, out_of_fold_table
from kernelweave.compare.outcome import gather
from kernelweave.compare.run import MeasuredRow, measure_row
from kernelweave.compare.survival import RiskGroups, excess_events, round_times, steps
from kernelweave.compare.words import headline
from kernelweave.model_selection import NestedFolds
from kernelweave.recipes.scoring import Scoring
from kernelweave.survival import concordance, kaplan_meier, logrank_statistic, outcome
from survival_cohort import cohort

X, Y = cohort()
TARGET = pd.DataFrame({"days": Y["time"], "event": Y["event"]}, X.index)


def declared(**options):
    return declare(X, TARGET, quick=True, methods=["alone", "mean"], **options)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    made = declared()
    measured = measure_row(made.comparison, "methods", tmp_path_factory.mktemp("cells"), n_jobs=1)
    return gather(measured, made.labels, scoring=made.scoring)


def predictions(risks, y=Y, n_folds=3, **options):
    problem = Problem(X, y, is_classification=False, **options)
    splits = problem.split(NestedFolds(n_folds))
    records = [{"predicted": risks[split.test]} for split in splits]
    return problem, OutOfFold.of(splits, records, range(n_folds))


def test_what_is_declared():
    made = declared()
    assert made.task == "survival" and made.scoring == "concordance" and made.positive is None
    assert list(made.labels) == ["alone:rna", "alone:clinical", "mean"]
    splits = made.problem.split(made.protocol)
    events = [int(Y["event"][split.test].sum()) for split in splits]
    assert max(events) - min(events) <= 1 and sum(events) == Y["event"].sum()  # folds have the share of the events
    times = made.problem.times
    assert len(times) == 17 and (np.diff(times) > 0).all() and times[-1] < Y["time"].max()


def test_risks_and_survival_out_of_fold_are_kept(found):
    result = found.winner
    table = out_of_fold_table(found.problem, X.index, {"mean": result.predictions})
    columns = ["sample", "repeat", "fold", "method", "time", "event", "risk"]
    assert list(table.columns[:7]) == columns and len(table.columns) == 7 + len(found.problem.times)
    own = table.set_index("sample").loc[X.index]
    np.testing.assert_array_equal(own["time"], Y["time"])
    np.testing.assert_array_equal(own["event"], Y["event"])
    folds = [concordance(Y[own["fold"] == fold], own["risk"][own["fold"] == fold]) for fold in (1, 2, 3)]
    assert result.score == pytest.approx(np.mean(folds), abs=1e-12)  # within folds, of equal weight
    np.testing.assert_allclose(result.scores, folds, atol=1e-12)


def test_the_outcome_and_its_words(found):
    assert found.chance_score == 0.5 and found.beats_chance and found.corrected is None
    assert found.results[0].score > 0.7 and found.results[0].interval[0] > 0.5
    assert set(found.results[0].all_scores) == {"C index", "Brier score over time"}
    chance = found.judge.all_scores(found.chance)
    assert found.highest.all_scores["Brier score over time"] < chance["Brier score over time"] < 0.25
    split = found.problem.split(declared().protocol)[0]
    curve = kaplan_meier(Y[split.train])
    np.testing.assert_array_equal(found.chance.probabilities[0], curve(found.problem.times))
    assert "C index" in headline(found)[0]


def test_without_signal_no_method_is_praised():
    rng = np.random.default_rng(3)
    made = declared()
    splits = made.problem.split(made.protocol)
    extra = {"stored": 1, "seconds": 0.0, "setting": {}, "n_warnings": 0, "warning": None, "validation": 50.0}
    cells = {
        (method, fold): [{"predicted": rng.normal(size=len(split.test)), "probabilities": None} | extra]
        for method in made.labels
        for fold, split in enumerate(splits)
    }
    found = gather(MeasuredRow(made.problem, splits, cells), made.labels)
    assert not found.beats_chance
    assert "No method is clearly better than giving all samples the same risk (Kaplan-Meier)" in headline(found)[0]
    section = held_out_section(found)  # methods without survival have groups and a table of risks only
    assert [block.title for block in section.blocks[1:]] == [
        *("Survival of the risk groups", "Numbers at risk", "Risk groups", "The highest risks, out of fold")
    ]


def test_the_section_on_held_out_samples(found):
    section = held_out_section(found)
    titles = [getattr(block, "title", "") for block in section.blocks]
    groups, at_risk = section.blocks[titles.index("Risk groups")], section.blocks[titles.index("Numbers at risk")]
    assert [row[0] for row in groups.rows] == ["lowest third", "middle third", "highest third"]
    assert sum(row[1] for row in groups.rows) == 90 and sum(row[2] for row in groups.rows) == Y["event"].sum()
    survival = [row[4] for row in groups.rows]
    assert survival[0] > survival[2] and all(row[5] <= row[4] <= row[6] for row in groups.rows)
    assert sum(row[1] for row in at_risk.rows) == 90  # all are at risk at time 0
    assert (np.diff([row[1:] for row in at_risk.rows], axis=1) <= 0).all()
    brier = section.blocks[titles.index("Errors of predicted survival over time")]
    method, chance = (np.array(line.y) for line in brier.lines)
    assert method.mean() < chance.mean()
    calibration = next(block for block in section.blocks if getattr(block, "title", "").startswith("Calibration"))
    assert all(0.0 <= value <= 1.0 for line in calibration.lines for value in (*line.x, *line.y))
    highest = section.blocks[-1]
    assert len(highest.rows) == 20 and (np.diff([row[1] for row in highest.rows]) >= 0.0).all()


def test_groups_are_the_thirds_of_each_fold():
    rng = np.random.default_rng(0)
    risks = rng.normal(size=90)
    problem, out = predictions(risks)
    levels = OutOfFold(
        out.rows, out.repeat, out.fold, out.predicted + 100.0 * out.fold
    )  # models have levels of their own
    groups = RiskGroups.of(levels)
    np.testing.assert_array_equal(groups.group, RiskGroups.of(out).group)
    for fold in range(3):
        own = groups.group[out.fold == fold]
        assert np.bincount(own).tolist() == [10, 10, 10]
        values = out.predicted[out.fold == fold]
        assert values[own == 0].max() < values[own == 1].min() and values[own == 1].max() < values[own == 2].min()
    constant = RiskGroups.of(OutOfFold(out.rows, out.repeat, out.fold, np.zeros(90)))
    assert (constant.group == 0).all() and constant.pvalue(problem.y, 60.0) == 1.0


def test_the_statistic_is_the_log_rank_test_of_two_groups():
    """Of two groups, U^2 / Var(U) over exchanges is near the log-rank statistic: the same numerator U."""
    excess = excess_events(Y)
    assert abs(excess.sum()) < 1e-9
    group = np.arange(90) % 2
    times = np.unique(Y["time"][Y["event"]])
    expected = 0.0
    for time in times:  # observed less expected events of the second group, time by time
        at_risk, dies = Y["time"] >= time, (Y["time"] == time) & Y["event"]
        expected += dies[group == 1].sum() - dies.sum() * at_risk[group == 1].sum() / at_risk.sum()
    assert excess[group == 1].sum() == pytest.approx(expected, abs=1e-9)
    variance = 90 / 89 * 0.25 * excess @ excess
    assert expected**2 / variance == pytest.approx(logrank_statistic(Y, group), rel=0.15)


def test_p_tells_true_risks_and_their_direction():
    problem, out = predictions(-np.log(Y["time"]))
    n_train = 60.0
    assert RiskGroups.of(out).pvalue(Y, n_train) == 0.001
    _, reversed_ = predictions(np.log(Y["time"]))
    assert RiskGroups.of(reversed_).pvalue(Y, n_train) > 0.99
    weak = predictions(-np.log(Y["time"]) + 4.0 * np.random.default_rng(1).normal(size=90))[1]
    others = [predictions(np.random.default_rng(seed).normal(size=90))[1] for seed in range(20)]
    alone, best_of_many = (RiskGroups.of(weak).pvalue(Y, n_train, rivals) for rivals in ((), others))
    assert 0.001 < alone < best_of_many <= min(21.0 * alone, 1.0)


def linear_risks(values, y, splits):
    """Cox regression at its strongest penalty, whose coefficients are those of the excess events."""
    risks = np.zeros(len(y))
    for split in splits:
        risks[split.test] = values[split.test] @ (values[split.train].T @ excess_events(y[split.train]))
    return risks


@pytest.mark.long
def test_p_of_risk_groups_is_valid_where_there_is_no_signal():
    """Groups of models that share samples: p is no smaller than uniform; without the correction it would be.

    Of 600 cohorts 5 % are 30 and 47 (56) are beyond three (five) standard errors of a valid p.
    """
    pvalues, naive = [], []
    for seed in range(600):
        rng = np.random.default_rng(seed)
        values, time, seen = rng.normal(size=(100, 20)), rng.exponential(size=100), 1.5 * rng.exponential(size=100)
        y = outcome(np.minimum(time, seen), time <= seen)
        problem = Problem(values, y, is_classification=False)
        splits = problem.split(NestedFolds(5, random_state=seed))
        risks = linear_risks(values, y, splits)
        out = OutOfFold.of(splits, [{"predicted": risks[split.test]} for split in splits], range(5))
        groups = RiskGroups.of(out)
        pvalues.append(groups.pvalue(y, 80.0))
        naive.append(groups.pvalue(y, np.inf))
    assert (np.array(pvalues) <= 0.05).sum() <= 47 < (np.array(naive) <= 0.05).sum()
    assert kstest(pvalues, "uniform", alternative="greater").pvalue > 1e-3


def test_intervals_of_c_are_those_of_a_bootstrap_within_folds():
    problem, out = predictions(-np.log(Y["time"]) + np.random.default_rng(0).normal(size=90))
    judge = Judge(problem, Scoring("concordance"), 60.0)
    low, high = judge.interval(out)
    score = judge.score(out)
    assert low < score < high <= 1.0
    spread = judge.resampled(out).std(ddof=1) * np.sqrt(1.0 + 90 / 60)
    assert high - score == pytest.approx(1.99 * spread, rel=0.05) or high == 1.0
    perfect_problem, perfect = predictions(-Y["time"])
    low, high = Judge(perfect_problem, Scoring("concordance"), 60.0).interval(perfect)
    assert low < 1.0 and high == 1.0  # no pair in the wrong order is no certainty


def test_resampled_c_is_that_of_the_drawn_samples(monkeypatch):
    rng = np.random.default_rng(5)
    y = outcome(np.ceil(Y["time"] / 100.0), Y["event"])  # with ties of times, and of risks
    problem, out = predictions(np.round(rng.normal(size=90), 1), y)
    judge = Judge(problem, Scoring("concordance"), 60.0)
    fast = judge.resampled(out)
    monkeypatch.setattr("kernelweave.compare.out_of_fold._MOST_IN_PAIRS", 0)
    np.testing.assert_allclose(judge.resampled(out)[:20], fast[:20], atol=1e-12)


@pytest.mark.parametrize(
    ("time", "event", "message"),
    [
        (Y["time"], np.zeros(90, bool), "all 90 samples of the target 'days' are censored"),
        (Y["time"], np.arange(90) == 7, "3 folds need at least 3 samples with the event, but 1 of 90 have it"),
        (np.full(90, 4.0), np.ones(90, bool), "all times are the same"),
        (-Y["time"], Y["event"], "'days' of the target is negative"),
    ],
)
def test_bad_outcomes_are_one_error(time, event, message):
    with pytest.raises(ValueError, match=message):
        declare(X, pd.DataFrame({"days": time, "event": event}, X.index), quick=True)


def test_samples_without_a_time_or_an_event_are_left_out():
    missing = TARGET.astype({"event": object})
    missing.iloc[0, 0], missing.iloc[1, 1] = np.nan, None
    made = declare(X, missing, quick=True, task="survival", methods=["mean"])
    assert len(made.problem.y) == 88 and "2 samples without a target are left out." in made.notes


def test_few_events_are_said_to_be_few():
    event = Y["event"] & (np.cumsum(Y["event"]) <= 12)
    made = declare(X, pd.DataFrame({"days": Y["time"], "event": event}, X.index), quick=True, methods=["mean"])
    assert any("With 12 events little can be learned" in note for note in made.notes)


def test_curves_have_corners():
    curve = kaplan_meier(outcome([1.0, 2.0, 2.0, 4.0], [True, True, False, False]))
    assert steps(curve) == ([0.0, 1.0, 1.0, 2.0, 2.0, 4.0], [1.0, 1.0, 0.75, 0.75, 0.5, 0.5])
    x, y = steps(kaplan_meier(outcome(np.arange(1.0, 501.0), np.ones(500, bool))))
    assert len(x) == len(y) == 182 and y[-1] == 0.0 and (np.diff(y) <= 0.0).all()


@pytest.mark.parametrize("last", [0.003, 1.0, 7.0, 365.0, 2789.0])
def test_times_of_the_table_are_round(last):
    times = round_times(last)
    assert times[0] == 0.0 and times[-1] < last and 4 <= len(times) <= 11
