"""Scores, tests and intervals of out-of-fold predictions, recomputed by scikit-learn and by hand."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from kernelweave.compare import Problem
from kernelweave.compare.out_of_fold import Judge, OutOfFold, out_of_fold_table
from kernelweave.model_selection import NestedFolds
from kernelweave.model_selection.statistics import least_error
from kernelweave.recipes.scoring import Scoring


def drawn(n_samples=120, shares=(0.7, 0.2, 0.1), n_folds=3, n_repeats=1, skill=1.0, seed=0, groups=None):
    """A problem, and predictions of its folds that are right more often than by chance."""
    random = np.random.default_rng(seed)
    classes = np.array(["a", "b", "c", "d"])[: len(shares)]
    y = random.choice(classes, n_samples, p=shares)
    problem = Problem(np.zeros((n_samples, 1)), y, groups=groups)
    splits = NestedFolds(n_folds, n_repeats).split(y, True, groups=groups)
    values = random.normal(size=(n_repeats, n_samples, len(shares))) + skill * (y[:, None] == classes)
    probabilities = np.exp(values) / np.exp(values).sum(axis=2, keepdims=True)
    records = []
    for split in splits:
        own = probabilities[split.run, split.test]
        records.append({"predicted": own.argmax(axis=1), "probabilities": own})
    return problem, OutOfFold.of(splits, records, range(len(splits))), splits


def judge_of(problem, scoring, splits):
    return Judge(problem, Scoring(scoring), float(np.mean([len(split.train) for split in splits])))


BY_SKLEARN = {
    "accuracy": lambda y, label, p: metrics.accuracy_score(y, label),
    "balanced_accuracy": lambda y, label, p: metrics.balanced_accuracy_score(y, label),
    "f1_macro": lambda y, label, p: metrics.f1_score(y, label, average="macro"),
    "matthews_corrcoef": lambda y, label, p: metrics.matthews_corrcoef(y, label),
    "neg_log_loss": lambda y, label, p: -metrics.log_loss(y, p),
    "neg_brier_score": lambda y, label, p: -((p - (y[:, None] == np.unique(y))) ** 2).sum(axis=1).mean(),
}


@pytest.mark.parametrize("name", sorted(BY_SKLEARN))
def test_scores_are_those_of_scikit_learn_for_each_repeat(name):
    problem, found, splits = drawn(n_repeats=2)
    judge = judge_of(problem, name, splits)
    classes, expected = problem.classes, []
    for repeat in (0, 1):
        own = found.repeat == repeat
        y = problem.y[found.rows[own]]
        expected.append(BY_SKLEARN[name](y, classes[found.predicted[own]], found.probabilities[own]))
    assert judge.score(found) == pytest.approx(np.mean(expected), abs=1e-12)
    if judge.scoring.is_mean:
        assert judge.scoring.base - judge.losses(found).mean() == pytest.approx(judge.score(found), abs=1e-12)


def test_areas_are_means_over_folds():
    for shares in ((0.7, 0.2, 0.1), (0.6, 0.4)):
        problem, found, splits = drawn(shares=shares)
        judge = judge_of(problem, "roc_auc", splits)
        expected = []
        for fold in range(3):
            own = found.fold == fold
            y, p = problem.y[found.rows[own]], found.probabilities[own]
            two = len(shares) == 2
            expected.append(metrics.roc_auc_score(y, p[:, 1] if two else p, multi_class="ovr"))
        assert judge.score(found) == pytest.approx(np.mean(expected), abs=1e-12)
        assert judge.all_scores(found)["ROC AUC"] == pytest.approx(np.mean(expected), abs=1e-12)
        np.testing.assert_allclose(judge.fold_scores(found), expected, atol=1e-12)


def test_numbers():
    random = np.random.default_rng(0)
    y = random.normal(size=60)
    problem = Problem(np.zeros((60, 1)), y, is_classification=False)
    splits = NestedFolds(3, 2).split(y, False)
    values = y + random.normal(size=(2, 60))
    found = OutOfFold.of(splits, [{"predicted": values[s.run, s.test]} for s in splits], range(6))
    judge = judge_of(problem, "r2", splits)
    assert judge.score(found) == pytest.approx(np.mean([metrics.r2_score(y, own) for own in values]), abs=1e-12)
    scores = judge.all_scores(found)
    assert scores["MAE"] == pytest.approx(np.abs(values - y).mean())
    rmse = judge_of(problem, "neg_root_mean_squared_error", splits)
    assert rmse.score(found) == pytest.approx(-np.mean([np.sqrt(((own - y) ** 2).mean()) for own in values]))
    table = out_of_fold_table(problem, np.arange(60), {"mean": found})
    assert list(table.columns) == ["sample", "repeat", "fold", "method", "target", "prediction"]
    assert metrics.r2_score(table["target"][:60], table["prediction"][:60]) == pytest.approx(
        metrics.r2_score(y, values[0])
    )


def test_what_varies_in_balanced_accuracy_is_the_loss_within_a_class():
    problem, first, splits = drawn(seed=1)
    _, second, _ = drawn(seed=2)
    judge = judge_of(problem, "balanced_accuracy", splits)
    second = OutOfFold(first.rows, first.repeat, first.fold, second.predicted)
    test = judge.test(first, second)
    codes = judge.targets[np.arange(120)]
    counts = np.bincount(codes)
    wrong = []
    for one in (first, second):
        own = np.empty(120)
        own[one.rows] = one.predicted != judge.targets[one.rows]
        wrong.append(own * 120 / (3 * counts[codes]))
    d = wrong[1] - wrong[0]
    centred = d - (np.bincount(codes, d) / counts)[codes] + d.mean()
    unit = np.mean(d[d != 0] ** 2)
    variance = (np.sum(centred**2) + 2 * unit - centred.sum() ** 2 / 122) / 121
    error = np.sqrt((1 + 120 / 80) * variance / 120)
    assert test.difference == pytest.approx(judge.score(first) - judge.score(second), abs=1e-12)
    assert test.error == pytest.approx(error) and test.freedom == 119
    assert test.pvalue == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, 119))


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc", "f1_macro"])
def test_intervals_contain_the_score_and_stay_in_their_range(scoring):
    for skill in (0.0, 1.0, 30.0):
        problem, found, splits = drawn(skill=skill)
        judge = judge_of(problem, scoring, splits)
        low, high = judge.interval(found)
        assert low < judge.score(found) <= high
        assert high <= (0.0 if judge.scoring.is_error else 1.0) and (judge.scoring.is_error or low >= 0.0)


def test_no_wrong_label_is_no_certainty():
    problem, found, splits = drawn(skill=1000.0)
    low, high = judge_of(problem, "accuracy", splits).interval(found)
    assert 0.93 < low < 0.98 and high == 1.0


def test_coverage_of_the_interval_of_a_fixed_rule():
    """A rule that is right for 80 of 100 samples: the interval also allows for other training sets, so it is wide."""
    inside = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        y = np.array(["a", "b"])[random.integers(0, 2, 100)]
        problem = Problem(np.zeros((100, 1)), y)
        splits = NestedFolds(5).split(y, True)
        codes = np.searchsorted(["a", "b"], y)
        predicted = np.where(random.random(100) < 0.8, codes, 1 - codes)
        found = OutOfFold.of(splits, [{"predicted": predicted[s.test]} for s in splits], range(5))
        low, high = judge_of(problem, "accuracy", splits).interval(found)
        inside += low <= 0.8 <= high
    assert inside >= 195


def test_the_corrected_score_is_not_too_good():
    """Twenty methods that guess: the best is above one half by luck, and the corrected score is not."""
    raw, corrected, inside = [], [], 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        y = np.array(["a", "b"] * 40)
        problem = Problem(np.zeros((80, 1)), y)
        splits = NestedFolds(4).split(y, True)
        labels = random.integers(0, 2, (20, 80))
        methods = [OutOfFold.of(splits, [{"predicted": own[s.test]} for s in splits], range(4)) for own in labels]
        judge = judge_of(problem, "accuracy", splits)
        methods.sort(key=judge.score, reverse=True)
        raw.append(judge.score(methods[0]))
        found = judge.corrected(methods)
        corrected.append(found.score)
        inside += found.low <= 0.5 <= found.high
    assert np.mean(raw) > 0.58 and abs(np.mean(corrected) - 0.5) < 0.025 and inside >= 37


def test_the_corrected_score_is_never_above_the_highest():
    problem, found, splits = drawn(skill=1.0)
    judge = judge_of(problem, "balanced_accuracy", splits)
    same = judge.corrected([found, found])
    assert same.low <= same.score <= same.high and same.score <= judge.score(found)
    assert same.score == pytest.approx(judge.score(found), abs=0.01)


def test_groups_are_drawn_and_tested_together():
    groups = np.arange(120) // 10
    problem, found, splits = drawn(shares=(0.5, 0.5), groups=groups)
    judge = judge_of(problem, "accuracy", splits)
    alone = Judge(Problem(problem.X, problem.y), judge.scoring, judge.n_train)
    wrong = (found.predicted != judge.targets[found.rows]).astype(float)
    sums = np.bincount(groups[found.rows], wrong)
    least = least_error(120, judge.n_train)
    unit = np.mean(sums[sums != 0] ** 2)
    expected = np.sqrt((1 + 120 / judge.n_train) * (np.sum(sums**2) + 2 * unit - sums.sum() ** 2 / 14) / 13 / 12) / 10
    low, high = judge.interval(found)
    reach = stats.t.ppf(0.975, 11) * max(expected, least)
    assert low == pytest.approx(max(1 - wrong.mean() - reach, 0)) and high == pytest.approx(
        min(1 - wrong.mean() + reach, 1)
    )
    assert judge.interval(found) != alone.interval(found)
    areas = judge.resampled_areas(found)
    assert np.isfinite(areas).all() and areas.std() > 0.0


def test_a_model_without_probabilities_has_no_area():
    problem, found, splits = drawn()
    found = OutOfFold(found.rows, found.repeat, found.fold, found.predicted)
    assert np.isnan(judge_of(problem, "roc_auc", splits).score(found))
    assert set(judge_of(problem, "accuracy", splits).all_scores(found)) == {"accuracy", "balanced accuracy"}
