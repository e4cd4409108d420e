"""The section on out-of-fold predictions: every number computed again from them, by scikit-learn's metrics."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid
from sklearn import metrics

from kernelweave.compare import Problem
from kernelweave.compare.held_out import calibration_bins, held_out_section, mean_curve, precision_points, roc_points
from kernelweave.compare.out_of_fold import out_of_fold_table
from kernelweave.compare.outcome import gather
from kernelweave.compare.run import MeasuredRow
from kernelweave.model_selection import NestedFolds


def outcome_of(y, predict, n_repeats=1):
    """The outcome of one method whose predictions of some positions `predict` gives."""
    y = np.asarray(y)
    X = pd.DataFrame(index=[f"s{i}" for i in range(len(y))])
    problem = Problem(X, y, is_classification=y.dtype.kind != "f")
    splits = NestedFolds(3, n_repeats, random_state=0).split(y, problem.is_classification)
    shown = {"validation": 10.0, "stored": 1, "seconds": 0.0, "setting": {}, "n_warnings": 0, "warning": None}
    cells = {("mean", fold): [predict(split.test) | shown] for fold, split in enumerate(splits)}
    return gather(MeasuredRow(problem, splits, cells), {"mean": "mean of kernels"})


def classified(n_classes=3, n_samples=90, n_repeats=1, seed=0):
    random = np.random.default_rng(seed)
    labels = np.arange(n_samples) % n_classes
    values = random.normal(size=(n_samples, n_classes)) + 1.5 * np.eye(n_classes)[labels]
    shares = np.round(np.exp(values) / np.exp(values).sum(axis=1, keepdims=True), 2)  # with ties
    shares /= shares.sum(axis=1, keepdims=True)
    names = np.array(list("abcd"))

    def predict(rows):
        return {"predicted": shares[rows].argmax(axis=1).tolist(), "probabilities": shares[rows].tolist()}

    outcome = outcome_of(names[labels], predict, n_repeats)
    found = {"mean": outcome.winner.predictions}
    return outcome, out_of_fold_table(outcome.problem, outcome.problem.X.index, found)


def block(section, title):
    return next(found for found in section.blocks if title in getattr(found, "title", ""))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_repeats", [1, 2])
def test_every_number_is_one_of_the_predictions(n_classes, n_repeats):
    outcome, table = classified(n_classes, n_repeats=n_repeats)
    section = held_out_section(outcome)
    classes = sorted(set(table["target"]))
    counts = metrics.confusion_matrix(table["target"], table["label"])
    assert block(section, "True and predicted").values == counts.tolist()
    assert f"{np.trace(counts)} of {90 * n_repeats} predictions are right." in section.blocks[0].text
    parts = metrics.precision_recall_fscore_support(table["target"], table["label"])
    rows = block(section, "Recall and precision").rows
    assert [row[0] for row in rows] == classes
    assert [row[1] for row in rows] == parts[3].tolist()
    np.testing.assert_allclose([row[3:] for row in rows], np.column_stack([parts[1], parts[0]]))
    folds = [part for _, part in table.groupby(["repeat", "fold"])]
    drawn = classes[1:] if n_classes == 2 else classes
    roc, recalled = block(section, "ROC").lines, block(section, "Precision and recall").lines
    for place, label in enumerate(drawn):
        area = np.mean([metrics.roc_auc_score(p["target"] == label, p[f"probability_{label}"]) for p in folds])
        assert roc[place].label == f"{label} (AUC {area:.3f})"
        precision = [metrics.average_precision_score(p["target"] == label, p[f"probability_{label}"]) for p in folds]
        assert recalled[place].label == f"{label} (average precision {np.mean(precision):.3f})"
    wrong = table[table["target"] != table["label"]]
    shown = block(section, "Wrong predictions")
    sure = [max(row[f"probability_{label}"] for label in classes) for _, row in wrong.iterrows()]
    np.testing.assert_allclose([row[3] for row in shown.rows], sorted(sure, reverse=True)[:20])
    known = {(row["sample"], row["target"], row["label"], row["fold"]) for _, row in wrong.iterrows()}
    assert {(*row[:3], row[-1]) for row in shown.rows} <= known
    assert f"of {len(wrong)} wrong prediction" in shown.note


def test_the_area_under_the_mean_curve_is_the_mean_of_the_areas():
    random = np.random.default_rng(1)
    folds = [(random.random(n) < 0.4, np.round(random.random(n), 1)) for n in (15, 20, 40)]
    x, y = mean_curve([roc_points(*fold) for fold in folds], steps=False)
    areas = [metrics.roc_auc_score(*fold) for fold in folds]
    assert trapezoid(y, x) == pytest.approx(np.mean(areas), abs=1e-12)
    x, y = mean_curve([precision_points(*fold) for fold in folds], steps=True)
    assert np.sum(np.diff(x) * y[1:]) == pytest.approx(
        np.mean([metrics.average_precision_score(*fold) for fold in folds]), abs=1e-12
    )


def test_calibration_groups_have_the_share_that_they_say():
    random = np.random.default_rng(2)
    values = np.round(random.random(500), 2)
    hits = random.random(500) < values
    mean, share, sizes = calibration_bins(values, hits)
    assert len(mean) == 10 and sizes.sum() == 500 and sizes.min() >= 40
    assert np.abs(mean - share).max() < 0.2 and (np.diff(mean) > 0).all()
    assert len(calibration_bins(np.full(50, 0.5), hits[:50])[0]) == 1
    np.testing.assert_allclose([sizes @ mean, sizes @ share], [values.sum(), hits.sum()])
    outcome, table = classified(2)
    line = block(held_out_section(outcome), "Calibration").lines[0]
    low = table["probability_b"] <= np.quantile(table["probability_b"], 1 / 9, method="inverted_cdf")
    assert line.x[0] == pytest.approx(table.loc[low, "probability_b"].mean())
    assert line.y[0] == pytest.approx((table.loc[low, "target"] == "b").mean())


def test_numbers_have_their_largest_errors():
    random = np.random.default_rng(3)
    y = random.normal(size=60)
    predicted = y + random.normal(size=60) * 0.3
    outcome = outcome_of(y, lambda rows: {"predicted": predicted[rows].tolist(), "probabilities": None})
    section = held_out_section(outcome)
    errors = np.abs(predicted - y)
    rows = block(section, "Largest errors").rows
    assert [row[0] for row in rows] == [f"s{i}" for i in np.argsort(-errors)[:20]]
    np.testing.assert_allclose([abs(row[3]) for row in rows], np.sort(errors)[::-1][:20])
    assert f"off by at most {np.median(errors):.3g}" in section.blocks[0].text
    chart = block(section, "Target and prediction")
    np.testing.assert_allclose(sorted(zip(chart.x, chart.y, strict=True)), sorted(zip(y, predicted, strict=True)))


def test_methods_without_probabilities_have_no_curves():
    y = np.array(["a", "b"] * 20)
    outcome = outcome_of(y, lambda rows: {"predicted": [0] * len(rows), "probabilities": None})
    assert [found.type for found in held_out_section(outcome).blocks] == ["text", "heatmap", "table"]
    assert block(held_out_section(outcome), "Recall").rows[1][-1] is None  # b is never predicted
