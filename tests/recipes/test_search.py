"""Folds, the inner search and the calibration of its decision values."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.base import clone
from sklearn.calibration import _SigmoidCalibration
from sklearn.model_selection import GridSearchCV

from kernelweave import MKLClassifier
from kernelweave.combiners import LpMKL
from kernelweave.kernels import Gaussian, Linear
from kernelweave.recipes.baselines import ColumnModel
from kernelweave.recipes.search import (
    Calibration,
    Candidate,
    balanced_folds,
    inner_splits,
    search,
    setting_text,
    watched,
)
from kernelweave.views import Views


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 5), st.integers(2, 5), st.integers(0, 100))
def test_classes_are_shared_out(n, n_classes, n_folds, seed):
    labels = np.random.RandomState(seed).randint(n_classes, size=n)
    folds = balanced_folds(np.arange(n), labels, n_folds, np.random.RandomState(seed))
    for label in range(n_classes):
        sizes = np.bincount(folds[labels == label], minlength=n_folds)
        assert np.ptp(sizes) <= 1


@settings(deadline=None)
@given(st.integers(2, 60), st.integers(2, 12), st.integers(0, 100))
def test_folds_keep_groups_together(n, n_groups, seed):
    random = np.random.RandomState(seed)
    groups = random.randint(n_groups, size=n)
    folds = balanced_folds(groups, random.randint(3, size=n), 3, random)
    assert all(len(set(folds[groups == group])) == 1 for group in set(groups))
    assert len(set(folds)) == min(3, len(set(groups)))


def test_classes_of_one_sample_are_spread():
    folds = balanced_folds(np.arange(6), np.arange(6), 3, np.random.RandomState(0))
    assert np.bincount(folds).tolist() == [2, 2, 2]


@pytest.mark.parametrize("counts", [[10, 10], [9, 2, 1], [20, 1, 1, 1], [5, 4, 3, 2]])
@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_every_class_is_trained_on_and_others_tested_once(counts, n_folds):
    labels = np.repeat(np.arange(len(counts)), counts)
    splits = inner_splits(labels, None, n_folds, np.random.RandomState(0))
    tested = np.concatenate([test for _, test in splits])
    single = np.flatnonzero(np.bincount(labels)[labels] == 1)
    assert sorted(tested) == sorted(set(range(len(labels))) - set(single))
    for train, test in splits:
        assert not set(train) & set(test)
        assert set(labels[train]) == set(labels)


def test_groups_stay_together():
    labels, groups = np.arange(30) % 2, np.repeat(np.arange(10), 3)
    for train, test in inner_splits(labels, groups, 3, np.random.RandomState(1)):
        assert not set(groups[train]) & set(groups[test])


def test_one_hold_out_has_its_share():
    ((train, test),) = inner_splits(np.arange(80) % 4, None, 4, np.random.RandomState(0), only_first=True)
    assert len(test) == 20 and len(train) == 60
    assert np.bincount(np.arange(80)[test] % 4).tolist() == [5, 5, 5, 5]


def test_one_group_cannot_be_split():
    assert inner_splits(np.arange(6) % 2, np.zeros(6, dtype=int), 3, np.random.RandomState(0)) == []


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 4)), columns=["a__0", "a__1", "b__0", "b__1"])
    y = np.where(table["a__0"] * table["a__1"] + 0.3 * rng.normal(size=60) > 0, "u", "v")
    folds = np.arange(60) % 3
    return table, y, [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]


def searched(model, grid, table, y, splits):
    return searched_together({"only": Candidate(lambda rows, part: clone(model), grid)}, table, y, splits)["only"]


def searched_together(candidates, table, y, splits):
    return search(
        candidates,
        Views(table),
        y,
        splits,
        decide=lambda fitted, rest, train, test: fitted.decision_function(rest),
        score=lambda values, labels: float((np.where(values > 0, "v", "u") == labels).mean()),
        shape=(len(table),),
    )


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (MKLClassifier([Linear("a"), Gaussian("a"), Gaussian("b")], tol=1e-6), {"C": (0.1, 1.0, 10.0)}),
        (
            MKLClassifier([Gaussian("a"), Gaussian("b")], LpMKL(), tol=1e-6),
            {"combiner__p": (1.5, 3.0), "C": (1.0, 10.0)},
        ),
        (ColumnModel("linear"), {"C": (1.0, 10.0)}),
    ],
)
def test_scores_and_choice_are_those_of_a_grid_search(problem, model, grid):
    table, y, splits = problem
    found = searched(model, grid, table, y, splits)
    rival = GridSearchCV(model, {name: list(values) for name, values in grid.items()}, cv=splits).fit(table, y)
    by_text = {setting_text(setting): k for k, setting in enumerate(rival.cv_results_["params"])}
    names = [", ".join(sorted(text.split(", "))) for text in found.table["setting"]]
    places = [{", ".join(sorted(text.split(", "))): k for text, k in by_text.items()}[name] for name in names]
    np.testing.assert_allclose(found.table["score"], rival.cv_results_["mean_test_score"][places])
    np.testing.assert_allclose(found.table["std"], rival.cv_results_["std_test_score"][places])
    assert found.score == pytest.approx(rival.best_score_)
    train, test = splits[1]
    alone = clone(model).set_params(**found.setting).fit(table.iloc[train], y[train])
    np.testing.assert_allclose(found.values[test], alone.decision_function(table.iloc[test]), atol=1e-3)


def test_candidates_share_kernels_and_are_chosen_as_alone(problem):
    table, y, splits = problem
    fits = []

    class Counted(Gaussian):
        def fit(self, *args, **options):
            fits.append(self.view)
            return super().fit(*args, **options)

    def machine(kernels, combiner=None):
        return lambda rows, part: MKLClassifier(kernels, combiner, tol=1e-6)

    first, second = ("a", Counted("a")), ("b", Counted("b"))
    candidates = {
        "mean": Candidate(machine([first, second]), {"C": (0.1, 1.0)}),
        "lp": Candidate(machine([first, second], LpMKL()), {"C": (1.0,)}),
        "other": Candidate(lambda rows, part: ColumnModel("linear"), {"C": (1.0, 10.0)}),
    }
    found = searched_together(candidates, table, y, splits)
    assert sorted(fits) == ["a"] * 3 + ["b"] * 3  # once for each fold
    for name, candidate in candidates.items():
        alone = searched_together({name: candidate}, table, y, splits)[name]
        assert found[name].setting == alone.setting
        np.testing.assert_allclose(found[name].values, alone.values, atol=1e-6)


def test_the_first_of_equal_settings_wins(problem):
    table, y, splits = problem
    found = searched(ColumnModel("linear"), {"n_jobs": (None, 1)}, table, y, splits)
    assert found.setting == {"n_jobs": None}


def test_without_folds_a_setting_in_the_middle_is_taken(problem):
    table, y, _ = problem
    found = searched(ColumnModel("linear"), {"C": (0.1, 1.0, 10.0)}, table, y, [])
    assert found.setting == {"C": 1.0} and np.isnan(found.score) and np.isnan(found.values).all()


def test_settings_in_words():
    assert setting_text({"C": 10.0, "n": 3, "name": "x"}) == "C=10, n=3, name=x"


@pytest.mark.parametrize("model", [ColumnModel("linear"), MKLClassifier([Gaussian("a")])])
def test_progress_is_shown_after_each_fit(problem, model):
    seen = []
    with watched(lambda done, total: seen.append((done, total))):
        searched(model, {"C": (1.0, 10.0)}, *problem)
    assert seen == [(k, 6) for k in range(1, 7)]
    searched(ColumnModel("linear"), {"C": (1.0,)}, *problem)
    assert len(seen) == 6  # of what is watched only


def test_two_classes_as_scikit_learn_fits_platts_sigmoid():
    rng = np.random.default_rng(0)
    values = rng.normal(size=300) * 3.0
    labels = (rng.random(300) < expit(0.8 * values + 0.5)).astype(int)
    rival = _SigmoidCalibration().fit(values, labels)
    found = Calibration.fit(values, labels)
    np.testing.assert_allclose([found.slope[0], found.intercept[0]], [-rival.a_, -rival.b_], rtol=1e-3)
    probabilities = found.probabilities(values)[:, 1]
    free = values * (values + found.intercept[0] / found.slope[0]) > 0
    np.testing.assert_allclose(probabilities[free], rival.predict(values[free]), rtol=1e-3)
    assert 0 < (~free).sum() < 100


def test_several_classes_have_the_temperature_of_least_loss():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(200, 4))
    labels = np.array([rng.choice(4, p=np.exp(row)) for row in log_softmax(2.5 * values, axis=1)])
    slope = Calibration.fit(values, labels).slope[0]
    target = np.full((200, 4), 1 / 202 / 4)
    target[np.arange(200), labels] += 1 - 1 / 202

    def loss(theta):
        return -(target * log_softmax(theta[0] * values, axis=1)).sum()

    best = minimize(loss, [1.0], method="Nelder-Mead", options={"xatol": 1e-8}).x[0]
    assert slope == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_unit_of_decision_values_does_not_matter(scale):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 100)
    values = labels + rng.normal(size=100)
    first, second = Calibration.fit(values, labels), Calibration.fit(scale * values, labels)
    np.testing.assert_allclose(first.probabilities(values), second.probabilities(scale * values), atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_most_probable_class_is_the_predicted_one(n_classes):
    rng = np.random.default_rng(3)
    for offset in (-2.0, 0.0, 2.0):
        values = rng.normal(size=(80, n_classes)) + offset
        labels = values.argmax(axis=1) if offset else rng.integers(0, n_classes, 80)
        values = values[:, 1] if n_classes == 2 else values
        probabilities = Calibration.fit(values, labels).probabilities(values)
        expected = (values > 0).astype(int) if n_classes == 2 else values.argmax(axis=1)
        np.testing.assert_array_equal(probabilities.argmax(axis=1), expected)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_more_certain_decisions_are_more_probable():
    values, labels = np.array([-3.0, -1.0, 0.2, 1.0, 2.0, 2.5]), np.array([0, 0, 0, 0, 1, 1])
    grid = np.linspace(-5, 5, 1001)
    found = Calibration.fit(values, labels).probabilities(grid)[:, 1]
    assert (np.diff(found) > 0).all()


def test_perfect_and_useless_decisions():
    labels = np.repeat([0, 1, 2], 10)
    perfect = Calibration.fit(np.eye(3)[labels], labels).probabilities(np.eye(3))
    assert (np.diag(perfect) > 0.9).all() and (np.diag(perfect) < 1.0).all()
    useless = Calibration.fit(np.zeros(30), labels % 2).probabilities(np.zeros(2))
    np.testing.assert_allclose(useless, [[2 / 3, 1 / 3]] * 2, atol=0.01)
    backwards = Calibration.fit(-(2.0 * (labels > 0) - 1.0), (labels > 0).astype(int))
    assert backwards.slope[0] > 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("size", [1e-310, 1.1, 1e4, 1e200])
def test_equal_decision_values_give_the_shares_of_the_classes_whatever_their_rounding(size, several):
    rng = np.random.default_rng(0)
    labels = np.arange(30) % 5 == 0
    values = -size * (1.0 + 1e-16 * rng.integers(-3, 4, 30))
    values = np.column_stack([values, values, values]) if several else values
    found = Calibration.fit(values, labels.astype(int)).probabilities(values)
    assert np.allclose(found, 1 / 3 if several else [25 / 32 + 1e-3, 7 / 32], atol=0.02)
    assert np.ptp(found, axis=0).max() < 1e-6
