"""Scores of a labelled cohort by scikit-learn, and their intervals: how often they hold the true score."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics

from kernelweave.compare import labelled
from kernelweave.compare.labelled import LabelledCohort


def of_numbers(y, predicted):
    cohort = LabelledCohort(None, "t")
    cohort.add(pd.Series(y), pd.DataFrame({"prediction": predicted}))
    return cohort


def of_two_classes(right, shares):
    """Samples of the classes a and b in turn, of which some are right."""
    y = np.where(np.arange(len(right)) % 2, "b", "a")
    predicted = np.where(right, y, np.where(y == "a", "b", "a"))
    cohort = LabelledCohort(["a", "b"], "t")
    table = pd.DataFrame({"label": predicted, "probability_a": 1 - shares, "probability_b": shares})
    for rows in (slice(0, 7), slice(7, None)):
        cohort.add(pd.Series(y)[rows], table[rows])
    return cohort, y


def test_the_interval_of_a_mean_is_t_times_its_standard_error():
    """The variance is that of the losses and of one pair more, +u and -u, u^2 being their mean square."""
    rng = np.random.default_rng(0)
    y, predicted = rng.normal(size=(2, 50))
    cohort, losses = of_numbers(y, predicted), np.abs(y - predicted)
    unit = np.sqrt(np.mean(losses**2))
    error = np.sqrt(np.var([*losses, unit, -unit]) * 52 / 51 / 50)
    reach = stats.t.ppf(0.975, 49) * error
    assert cohort.intervals["MAE"] == pytest.approx((losses.mean() - reach, losses.mean() + reach))
    squares = (y - predicted) ** 2
    unit = np.sqrt(np.mean(squares**2))
    reach = stats.t.ppf(0.975, 49) * np.sqrt(np.var([*squares, unit, -unit]) * 52 / 51 / 50)
    ends = np.sqrt([max(squares.mean() - reach, 0.0), squares.mean() + reach])
    assert cohort.intervals["RMSE"] == pytest.approx(tuple(ends))


def test_intervals_hold_the_true_scores():
    """In 95 of 100 cohorts, and more: of 200 draws fewer than 180 do so once in a thousand times."""
    rng = np.random.default_rng(0)
    held = {"accuracy": 0, "balanced accuracy": 0, "ROC AUC": 0}
    for _ in range(200):
        shares = stats.norm.cdf(rng.normal(size=60) + np.where(np.arange(60) % 2, 0.6, -0.6))
        cohort, _ = of_two_classes((shares > 0.5) == (np.arange(60) % 2 == 1), shares)
        for name in held:
            true = stats.norm.cdf(1.2 / np.sqrt(2.0)) if name == "ROC AUC" else stats.norm.cdf(0.6)
            held[name] += cohort.intervals[name][0] <= true <= cohort.intervals[name][1]
    assert min(held.values()) >= 180


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    shares = rng.uniform(size=40)
    cohort, y = of_two_classes(rng.uniform(size=40) < 0.7, shares)
    assert cohort.scores["ROC AUC"] == pytest.approx(metrics.roc_auc_score(y == "b", shares))
    assert cohort.scores["Brier score"] == pytest.approx(metrics.brier_score_loss(y == "b", shares))
    assert cohort.scores["log loss"] == pytest.approx(metrics.log_loss(y == "b", shares))
    constant = np.full(40, 0.5)
    assert cohort.chance["log loss"] == pytest.approx(metrics.log_loss(y == "b", constant))
    assert cohort.chance["accuracy"] == 0.5 and cohort.chance["ROC AUC"] == 0.5


def test_one_sample_has_no_interval():
    cohort = of_numbers([1.0], [2.0])
    assert np.isnan(list(cohort.intervals.values())).all() and cohort.scores["MAE"] == 1.0
    assert "interval" not in cohort.sentences()[0] and len(cohort.tables()) == 1


def test_a_large_cohort_has_no_interval_of_the_area(monkeypatch):
    monkeypatch.setattr(labelled, "MOST_RESAMPLED", 39)
    cohort, _ = of_two_classes(np.arange(40) < 30, np.linspace(0, 1, 40))
    assert np.isnan(cohort.intervals["ROC AUC"]).all() and np.isfinite(cohort.intervals["log loss"]).all()


def test_samples_without_a_label_or_a_prediction_are_counted():
    cohort = LabelledCohort([1, 2], "t")
    table = pd.DataFrame({"label": np.array([1, 2, None, None, 2], dtype=object)})
    target = cohort.add(pd.Series([1.0, np.nan, 2.0, np.nan, 1.0]), table)
    assert target.tolist() == [1, None, 2, None, 1] and type(target[0]) is int
    assert cohort.left_out() == [
        "2 samples without a label are not scored.",
        "1 sample without a prediction is not scored.",
    ]
    assert cohort.n_samples == 2 and cohort.scores["accuracy"] == 0.5


@pytest.mark.parametrize(
    ("classes", "labels"),
    [([1, 2], ["1", "2", "1"]), (["1", "2"], [1.0, 2.0, 1.0]), ([False, True], ["False", "True", "False"])],
)
def test_labels_are_compared_as_text(classes, labels):
    cohort = LabelledCohort(classes, "t")
    predicted = np.array([classes[0], classes[1], classes[0]], dtype=object)
    assert cohort.add(pd.Series(labels), pd.DataFrame({"label": predicted})).tolist() == predicted.tolist()
    assert cohort.scores["accuracy"] == 1.0 and not cohort.warning()


def test_a_terminal_has_no_room_for_many_classes():
    cohort = LabelledCohort(list("abcd"), "t")
    cohort.add(pd.Series(list("abcdd")), pd.DataFrame({"label": list("abcda")}))
    short, whole = cohort.tables(3)[1], cohort.tables()[1]
    assert [column.name for column in short.columns] == ["class", "samples", "recall", "precision"]
    assert [row[:2] + row[-2:] for row in whole.rows] == short.rows and "explain" in short.note and not whole.note
