"""Ties within rounding: the class of larger training weight is predicted, whatever the batch."""

import numpy as np
import pandas as pd
import pytest

from kernelweave import KernelSAMME, KernelVoting, MKLClassifier, load, save
from kernelweave.combiners import Localized, LpMKL, Product
from kernelweave.estimators import SparseLargeMarginClassifier
from kernelweave.estimators.classifier import without_ties
from kernelweave.kernels import Gaussian, Linear
from kernelweave.machines.multiclass import heavier_first
from kernelweave.recipes import CohortModel

RNG = np.random.RandomState(0)
LABELS = RNG.permutation(np.repeat(["rare", "middle", "usual"], [20, 35, 45]))  # sorted: middle, rare, usual
CONSTANT = np.full((100, 3), 1.0 / 3.0) * [1.0, 0.3, 7.0]  # a view without information; no number is exact
NOISE = RNG.normal(size=(100, 2))


def check(model, X, expected):
    """Labels are the same alone, in any batch and in blocks, and the argmax of decision values."""
    found = model.predict(X)
    np.testing.assert_array_equal(found, expected)
    alone = [model.predict(X[i : i + 1])[0] for i in range(0, len(X), 7)]
    np.testing.assert_array_equal(alone, found[::7])
    for size in (2, 3, 17):
        np.testing.assert_array_equal(model.predict(X[:size]), found[:size])
    values = model.decision_function(X)
    places = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[places], found)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian()])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"multiclass": "one-vs-one"},
        {"multiclass": "joint"},
        {"storage": "lazy"},
        {"dtype": "float32"},
        {"normalize": None, "C": 100.0},
        {"normalize": "center"},
        {"class_weight": "balanced"},  # the weight of a class is of its samples alone
        {"machine": "least-squares", "class_weight": "balanced"},
        {"n_jobs": 2},
    ],
    ids=str,
)
def test_a_view_without_information_gives_the_most_frequent_class(kernel, options):
    model = MKLClassifier([kernel], **options).fit(CONSTANT, LABELS)
    check(model, CONSTANT, np.repeat("usual", 100))


@pytest.mark.filterwarnings("ignore:every sample has nearly the same kernel weights:UserWarning")
@pytest.mark.parametrize("combiner", [LpMKL(), Localized(l2=1.0), Product()], ids=str)
def test_every_combined_kernel(combiner):
    kernels = [("a", Linear()), ("b", Gaussian())]
    check(MKLClassifier(kernels, combiner).fit(CONSTANT, LABELS), CONSTANT[:20], np.repeat("usual", 20))


def test_weights_per_class():
    model = MKLClassifier([("a", Linear()), ("b", Gaussian())], LpMKL(), weights="per-class").fit(CONSTANT, LABELS)
    check(model, CONSTANT[:20], np.repeat("usual", 20))


def test_blocks(monkeypatch):
    model = MKLClassifier([Linear()]).fit(CONSTANT, LABELS)
    monkeypatch.setattr("kernelweave.views.table.BLOCK_VALUES", 300)
    check(model, CONSTANT, np.repeat("usual", 100))


@pytest.mark.parametrize("machine", ["svm", "least-squares", "squared-hinge"])
@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_two_classes(machine, approximation):
    if approximation and machine == "svm":
        machine = "auto"
    y = np.repeat(["a", "b"], 50)
    weight = np.where(np.arange(100) % 50 < 25, 0.5, 1.5)  # of equal sums
    model = MKLClassifier([Linear()], machine=machine, approximation=approximation).fit(CONSTANT, y, weight)
    check(model, CONSTANT, np.repeat("a", 100))
    model.class_count_ = np.array([1.0, 2.0])
    check(model, CONSTANT, np.repeat("b", 100))


def test_a_pair_of_classes_in_a_tie():
    """Votes of one against one are whole numbers: rounding must not move one."""
    for counts, expected in (((40, 40, 20), "a"), ((39, 41, 20), "b")):
        model = MKLClassifier([Linear()], multiclass="one-vs-one", class_weight={"a": 41, "b": 39, "c": 1})
        check(model.fit(CONSTANT, np.repeat(["a", "b", "c"], counts)), CONSTANT, np.repeat(expected, 100))


def test_what_was_fitted_decides_and_not_what_is_set_since():
    X = np.ones((8, 1))
    model = MKLClassifier([Linear()]).fit(X, np.arange(8) % 4).set_params(multiclass="one-vs-one")
    check(model, X, np.zeros(8, dtype=int))


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_sample_weights_count(approximation):
    weight = np.where(LABELS == "rare", 5.0, np.where(LABELS == "middle", 1.5, 1.0))
    model = MKLClassifier([Linear()], approximation=approximation).fit(CONSTANT, LABELS, sample_weight=weight)
    np.testing.assert_allclose(model.class_count_, [52.5, 100.0, 45.0])
    assert set(model.predict(CONSTANT)) == {"rare"}


def test_ties_on_explicit_features():
    model = MKLClassifier([Linear()], approximation="nystroem", class_weight="balanced", random_state=0)
    check(model.fit(CONSTANT, LABELS), CONSTANT, np.repeat("usual", 100))


@pytest.mark.parametrize("multiclass", ["one-vs-all", "one-vs-one", "joint"])
def test_other_decision_values_are_as_they_were(multiclass):
    model = MKLClassifier([Linear(), Gaussian()], multiclass=multiclass).fit(NOISE, LABELS)
    values = model.decision_function(NOISE)
    np.testing.assert_array_equal(values, model._rule.decision(model._values(NOISE)))
    check(model, NOISE, model.classes_[values.argmax(axis=1)])


def test_saved_models_keep_the_weights(tmp_path):
    model = MKLClassifier([Linear()]).fit(CONSTANT, LABELS)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.class_count_, model.class_count_)
    check(again, CONSTANT, np.repeat("usual", 100))


def test_a_file_without_weights_keeps_its_argmax(tmp_path):
    model = MKLClassifier([Linear()]).fit(CONSTANT, LABELS)
    raw = model._rule.decision(model._values(CONSTANT))
    del model.class_count_
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").decision_function(CONSTANT), raw)


@pytest.mark.parametrize("ensemble", [KernelVoting, KernelSAMME])
def test_ensembles_of_kernels_that_contradict_each_other(ensemble):
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]] * 4), np.array(["a", "b", "b"] * 4)
    kernels = [("first", Linear([0])), ("second", Linear([1]))]
    model = ensemble(kernels, normalize=None, rule="centroid").fit(X, y)
    assert model.predict(np.array([[1.0, 1.0]])) == ["b"]


def test_expansion_vectors_without_coefficients():
    model = SparseLargeMarginClassifier(1, Linear()).fit(CONSTANT, LABELS)
    model.dual_coef_ = np.zeros_like(model.dual_coef_)  # they are 0 up to the rounding of a sum over training samples
    check(model, CONSTANT, np.repeat("usual", 100))


@pytest.mark.parametrize("method", ["mean", "stacking", "forest"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_cohort_model_and_its_probabilities(method, classes):
    X = pd.DataFrame({"a__x": np.tile([0.0, 1.0], 50), "b__x": np.tile([1.0, 1.0, 3.0, 3.0], 25)})
    y = RNG.permutation(LABELS) if classes == 3 else np.where(np.arange(100) % 8 < 4, "p", "q")
    model = CohortModel(method, effort="quick", random_state=0).fit(X, y)
    found = model.predict(X)
    alone = np.array([model.predict(X.iloc[[i]])[0] for i in range(8)])
    np.testing.assert_array_equal(alone, found[:8])
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], found)


def test_heavier_first():
    values = np.array([[0.0, 1.0, 1.0 - 1e-13], [1.0, 1.0, 0.5], [1.0, 1.0 - 1e-9, 0.0]])
    weight = np.array([1.0, 2.0, 3.0])
    found = heavier_first(values, np.full(3, 1e-12), weight)
    np.testing.assert_array_equal(found.argmax(axis=1), [2, 1, 0])
    np.testing.assert_allclose(found, values, rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(heavier_first(values, 0.0, None), values)


def test_rounding_is_only_asked_for_where_values_are_close():
    values = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    asked = []

    def rounding(rows):
        asked.append(rows.tolist())
        return np.full((len(rows), 3), 1e-12)

    wide = np.column_stack([values, np.full(3, -1.0)])
    found = without_ties(np.asarray, wide, np.array([1.0, 2.0, 3.0]), rounding)
    assert asked == [[1]] and found.argmax(axis=1).tolist() == [0, 1, 1]
