"""What a cell holds: log loss, memory, stored samples, the first fit that does not count."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss as reference
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from experiments.benchmark import measures
from experiments.benchmark.measures import log_loss, measure_cell, peak_memory
from experiments.benchmark.selection import BudgetedSelection, stored_samples
from kernelweave import MKLClassifier, stack_views
from kernelweave.compare import Problem
from kernelweave.model_selection import Split

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=80) > 0).astype(int)


def test_log_loss_is_that_of_scikit_learn():
    model = LogisticRegression().fit(X, Y)
    assert log_loss(model, X, Y) == pytest.approx(reference(Y, model.predict_proba(X)))


def test_log_loss_of_a_class_that_training_lacks_is_limited():
    model = LogisticRegression().fit(X, Y)
    assert log_loss(model, X[:2], np.array([9, 9])) == pytest.approx(-np.log(1e-6))
    assert log_loss(SVC().fit(X, Y), X, Y) is None


def test_stored_samples():
    svm = SVC().fit(X, Y)
    assert stored_samples(svm) == len(svm.support_)
    assert stored_samples(make_pipeline(StandardScaler(), SVC()).fit(X, Y)) > 0
    model = MKLClassifier().fit(X, Y)
    assert stored_samples(model) == len(model.support_)
    assert stored_samples(KNeighborsClassifier().fit(X, Y)) == 80
    assert stored_samples(RandomForestClassifier(3).fit(X, Y)) is None
    assert stored_samples(LogisticRegression().fit(X, Y)) is None


def test_stored_samples_of_a_stack_count_once():
    stack = StackingClassifier([("a", SVC(C=0.01)), ("b", SVC(C=10.0))], LogisticRegression()).fit(X, Y)
    union = np.union1d(stack.estimators_[0].support_, stack.estimators_[1].support_)
    assert stored_samples(stack) == len(union)


def test_peak_memory_sees_what_is_freed_again():
    with peak_memory() as memory:
        np.ones(8_000_000).sum()
    if not memory:
        pytest.skip("this system does not tell the peak of a process")
    assert 50.0 < memory["megabytes"] < 200.0


def test_no_peak_where_the_system_has_none(monkeypatch, tmp_path):
    monkeypatch.setattr(measures, "_RESET", tmp_path / "nowhere" / "clear_refs")
    with peak_memory() as memory:
        pass
    assert memory == {}


def test_a_cell_has_all_numbers(monkeypatch):
    monkeypatch.setattr(measures, "_warm", set())
    problem = Problem(stack_views({"a": X}), Y, views={"a": "a"})
    split = Split(np.arange(50), np.arange(0), test=np.arange(50, 80))
    parts = [problem.X.iloc[part] for part in (split.train, split.validation, split.test)]
    selection = BudgetedSelection({"C=1": SVC(), "C=10": SVC(C=10.0)})
    record = measure_cell("svm", selection, problem, split, parts)
    model = selection.fit(parts[0], Y[:50])
    assert record["test"] == pytest.approx(100.0 * np.mean(model.predict(parts[2]) != Y[50:]))
    assert record["log_loss"] == pytest.approx(log_loss(model, parts[2], Y[50:]))
    assert record["stored"] == model.n_stored_ and record["setting"] == model.setting_
    assert record["validation"] == pytest.approx(100.0 * (1.0 - model.validation_score_))
    assert record["seconds"] > 0 and (record["n_train"], record["n_test"]) == (50, 30)
    assert measures._warm == {"svm"}
