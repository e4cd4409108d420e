"""Scores of predictions, recomputed by scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics

from kernelweave.recipes.metrics import scores


def drawn(n_classes, n_samples=60, seed=0):
    random = np.random.default_rng(seed)
    classes = np.array(["ill", "so-so", "well", "well-ish"])[:n_classes]
    y = classes[random.integers(n_classes, size=n_samples)]
    shares = random.dirichlet(np.ones(n_classes), size=n_samples).round(1)  # with ties
    shares /= shares.sum(axis=1, keepdims=True)
    return y, classes[shares.argmax(axis=1)], shares, classes


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_scores_of_classes_are_those_of_scikit_learn(n_classes):
    y, predicted, shares, classes = drawn(n_classes)
    found = scores("classification", y, predicted, shares, classes)
    own = y[:, None] == classes
    area = (
        metrics.roc_auc_score(y == classes[1], shares[:, 1])
        if n_classes == 2
        else metrics.roc_auc_score(y, shares, multi_class="ovr", average="macro")
    )
    brier = (
        metrics.brier_score_loss(y == classes[1], shares[:, 1])
        if n_classes == 2
        else ((shares - own) ** 2).sum(axis=1).mean()
    )
    expected = {
        "accuracy": metrics.accuracy_score(y, predicted),
        "balanced accuracy": metrics.balanced_accuracy_score(y, predicted),
        "ROC AUC": area,
        "log loss": metrics.log_loss(y, shares, labels=list(classes)),
        "Brier score": brier,
    }
    assert list(found) == list(expected)
    assert found == pytest.approx(expected)


def test_scores_of_numbers_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    y, predicted = random.normal(size=(2, 40))
    expected = {
        "R2": metrics.r2_score(y, predicted),
        "MAE": metrics.mean_absolute_error(y, predicted),
        "RMSE": np.sqrt(metrics.mean_squared_error(y, predicted)),
    }
    assert scores("regression", y, predicted) == pytest.approx(expected)


def test_without_probabilities_there_are_two_scores():
    assert list(scores("classification", [1, 2], [1, 1])) == ["accuracy", "balanced accuracy"]


def test_what_is_undefined_is_nan():
    one_class = scores("classification", ["a", "a"], ["a", "b"], [[0.9, 0.1], [0.4, 0.6]], ["a", "b"])
    assert np.isnan(one_class["ROC AUC"]) and one_class["accuracy"] == one_class["balanced accuracy"] == 0.5
    assert one_class["Brier score"] == pytest.approx((0.1**2 + 0.6**2) / 2)
    constant = scores("regression", [2.0, 2.0], [1.0, 4.0])
    assert np.isnan(constant["R2"]) and constant["MAE"] == 1.5
    none = scores("classification", np.array([], dtype=str), np.array([], dtype=str), np.zeros((0, 2)), ["a", "b"])
    assert len(none) == 5 and np.isnan(list(none.values())).all()
    assert np.isnan(list(scores("regression", [], []).values())).all()


def test_a_class_that_does_not_occur_does_not_count_in_the_area():
    y, predicted, shares, classes = drawn(3)
    kept = y != classes[2]
    found = scores("classification", y[kept], predicted[kept], shares[kept], classes)
    areas = [metrics.roc_auc_score(y[kept] == classes[place], shares[kept, place]) for place in (0, 1)]
    assert found["ROC AUC"] == pytest.approx(np.mean(areas))


def test_a_sample_of_a_class_without_a_column_has_probability_0():
    found = scores("classification", ["a", "c"], ["a", "a"], [[0.9, 0.1], [0.7, 0.3]], ["a", "b"])
    assert found["log loss"] == pytest.approx(-(np.log(0.9) + np.log(np.finfo(float).eps)) / 2)
    assert found["accuracy"] == found["balanced accuracy"] == 0.5


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match='task must be "classification" or "regression", not \'ranking\''):
        scores("ranking", [1], [1])
    with pytest.raises(ValueError, match=r"two arrays of one length, not of shapes \(2,\) and \(1,\)"):
        scores("classification", [1, 2], [1])
    with pytest.raises(ValueError, match=r"here \(2, 2\), not \(2, 3\)"):
        scores("classification", [1, 2], [1, 1], np.full((2, 3), 1 / 3))
