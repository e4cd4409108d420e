"""`BudgetedSelection`: the same choice as scikit-learn's search, the budget, the time limit, calibration."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from experiments.benchmark.selection import BudgetedSelection
from kernelweave import MKLClassifier, stack_views
from kernelweave.kernels import Gaussian, Linear

X, Y = load_iris(return_X_y=True)
COSTS = (0.003, 0.1, 1.0, 30.0)


class Slow(ClassifierMixin, BaseEstimator):
    """The most frequent label, after some work of the processor."""

    def __init__(self, place=0, loops=1):
        self.place, self.loops = place, loops

    def fit(self, X, y):
        import time

        until = time.process_time() + 0.05 * self.loops
        while time.process_time() < until:
            pass
        self.classes_, counts = np.unique(y, return_counts=True)
        self.label_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(len(X), self.label_)


def test_the_choice_is_that_of_a_grid_search_on_the_same_folds():
    selection = BudgetedSelection({f"{C}": SVC(C=C) for C in COSTS}).fit(X, Y)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(SVC(), {"C": list(COSTS)}, cv=folds, scoring="accuracy").fit(X, Y)
    assert selection.setting_ == f"{search.best_params_['C']}"
    assert selection.validation_score_ == pytest.approx(search.best_score_)
    assert np.allclose(list(selection.scores_.values()), search.cv_results_["mean_test_score"])
    assert np.array_equal(selection.predict(X), search.predict(X))
    assert selection.n_stored_ == len(search.best_estimator_.support_)


def test_shared_kernels_change_nothing():
    table = stack_views({"a": X[:, :2], "b": X[:, 2:]})
    kernels = [Linear("a"), Gaussian("b")]
    selection = BudgetedSelection({f"{C}": MKLClassifier(kernels, C=C) for C in COSTS}).fit(table, Y)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(MKLClassifier(kernels), {"C": list(COSTS)}, cv=folds).fit(table, Y)
    assert np.allclose(list(selection.scores_.values()), search.cv_results_["mean_test_score"])


def test_the_first_of_equal_settings_counts():
    selection = BudgetedSelection({"b": LogisticRegression(max_iter=1000), "a": LogisticRegression(max_iter=1000)}).fit(
        X, Y
    )
    assert selection.setting_ == "b"


@pytest.mark.parametrize("labels", [Y, Y > 0])
def test_decision_values_are_calibrated_by_held_out_samples(labels):
    selection = BudgetedSelection({"": SVC()}).fit(X, labels)
    found = selection.predict_proba(X)
    assert np.allclose(found.sum(axis=1), 1.0) and found.shape == (150, len(np.unique(labels)))
    assert np.array_equal(selection.classes_[found.argmax(axis=1)], selection.predict(X))


def test_own_probabilities_are_kept():
    selection = BudgetedSelection({"": LogisticRegression(max_iter=1000)}).fit(X, Y)
    assert selection.calibration_ is None and selection.validation_score_ is None
    assert np.array_equal(selection.predict_proba(X), LogisticRegression(max_iter=1000).fit(X, Y).predict_proba(X))


def test_no_probabilities_where_there_are_no_decision_values():
    assert not hasattr(BudgetedSelection({"": Slow()}).fit(X, Y), "predict_proba")


def test_more_settings_than_the_budget_are_refused():
    with pytest.raises(ValueError, match="1 to 8 settings, and this one gives 9"):
        BudgetedSelection({f"{C}": SVC(C=C) for C in range(1, 10)}).fit(X, Y)
    with pytest.raises(ValueError, match="gives 0"):
        BudgetedSelection({}).fit(X, Y)


def test_when_the_time_is_over_no_further_setting_is_begun():
    settings = {"quick": Slow(0), "second": Slow(1), "third": Slow(2)}
    selection = BudgetedSelection(settings, max_seconds=0.17).fit(X, Y)
    assert selection.setting_.startswith("quick (1 of 3 settings within 0.17 s)") or len(selection.scores_) == 2
    assert len(selection.scores_) < 3


def test_where_not_even_the_first_setting_is_finished_it_counts():
    selection = BudgetedSelection({"slow": Slow(loops=4), "other": Slow()}, max_seconds=0.1).fit(X, Y)
    assert selection.setting_ == "slow (1 of 2 settings within 0.1 s)" and list(selection.scores_) == ["slow"]


def test_a_fold_may_lack_a_rare_class():
    labels = np.where(np.arange(150) == 0, 7, Y)
    selection = BudgetedSelection({f"{C}": SVC(C=C) for C in (1.0, 10.0)}).fit(X, labels)
    assert selection.predict_proba(X[:3]).shape == (3, 4)


def test_cloned_like_any_estimator():
    selection = BudgetedSelection({"": SVC(C=3.0)}, max_seconds=1.0)
    assert clone(selection).candidates[""].C == 3.0
