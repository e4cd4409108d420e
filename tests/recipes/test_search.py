"""The inner search."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from kernelweave import MKLClassifier
from kernelweave.combiners import LpMKL
from kernelweave.kernels import Gaussian, Linear
from kernelweave.recipes.search import search, setting_text, watched


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 4)), columns=["a__0", "a__1", "b__0", "b__1"])
    y = np.where(table["a__0"] * table["a__1"] + 0.3 * rng.normal(size=60) > 0, "u", "v")
    folds = np.arange(60) % 3
    return table, y, [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]


def searched(model, grid, table, y, splits):
    return search(
        lambda rows: clone(model),
        grid,
        table,
        y,
        splits,
        decide=lambda fitted, train, test: fitted.decision_function(table.iloc[test]),
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
        (SVC(), {"C": (1.0, 10.0)}),
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


def test_the_first_of_equal_settings_wins(problem):
    table, y, splits = problem
    found = searched(SVC(), {"verbose": (False, 0)}, table, y, splits)
    assert found.setting == {"verbose": False}


def test_without_folds_a_setting_in_the_middle_is_taken(problem):
    table, y, _ = problem
    found = searched(SVC(), {"C": (0.1, 1.0, 10.0)}, table, y, [])
    assert found.setting == {"C": 1.0} and np.isnan(found.score) and np.isnan(found.values).all()


def test_settings_in_words():
    assert setting_text({"C": 10.0, "n": 3, "name": "x"}) == "C=10, n=3, name=x"


@pytest.mark.parametrize("model", [SVC(), MKLClassifier([Gaussian("a")])])
def test_progress_is_shown_after_each_fit(problem, model):
    seen = []
    with watched(lambda done, total: seen.append((done, total))):
        searched(model, {"C": (1.0, 10.0)}, *problem)
    assert seen == [(k, 6) for k in range(1, 7)]
    searched(SVC(), {"C": (1.0,)}, *problem)
    assert len(seen) == 6  # of what is watched only
