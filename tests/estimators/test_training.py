"""Estimators on explicit features: agreement with the exact models, attributes, parameters, and what is stored."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import ConvexMKL, EigenvalueCosts, FixedWeights, Localized, LpMKL, Mean
from kernelweave.engines import InMemory
from kernelweave.estimators import samples
from kernelweave.estimators.reuse import fit_path
from kernelweave.features import ExactFeatures, FourierFeatures, NystroemFeatures
from kernelweave.kernels import Gaussian, KernelStack, Linear, Precomputed
from kernelweave.machines import SquaredOneClassMachine

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 5))
NEW = RNG.normal(size=(20, 5))
RULE = X[:, 0] * X[:, 1] + 0.3 * X[:, 2]
TWO = np.where(RULE > 0, "up", "down")
THREE = np.digitize(RULE, [-0.5, 0.5])
KERNELS = [("a", Gaussian([0, 1], scale=2.0)), ("b", Gaussian([2, 3, 4], scale=3.0)), ("c", Linear([4]))]
ALL = {"approximation": NystroemFeatures(150, method="uniform"), "dtype": "float64", "random_state": 0}
SMALL = {"approximation": NystroemFeatures(20), "random_state": 0}


@pytest.mark.parametrize("combiner", [Mean(), FixedWeights([1.0, 0.0, 2.0]), ConvexMKL(), LpMKL(2)])
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MKLClassifier(machine="squared-hinge"), TWO),
        (MKLClassifier(machine="squared-hinge", class_weight="balanced"), THREE),
        (MKLClassifier(machine="least-squares"), TWO),
        (MKLRegressor(machine="squared-epsilon-insensitive"), RULE),
        (MKLRegressor(machine="least-squares"), np.c_[RULE, X[:, 3]]),
    ],
    ids=["two", "three", "least-squares", "numbers", "several"],
)
def test_all_samples_as_landmarks_give_the_exact_model(model, y, combiner):
    """Weights, J and predictions of both, with sample weights of which some are 0."""
    weight = np.arange(150) % 4 / 2.0
    exact = clone(model).set_params(kernels=KERNELS, combiner=combiner, tol=1e-11).fit(X, y, weight)
    found = clone(exact).set_params(**ALL).fit(X, y, weight)
    assert found.objective_ == pytest.approx(exact.objective_, rel=1e-9)
    np.testing.assert_allclose(found.kernel_weights_, exact.kernel_weights_, atol=1e-5)
    np.testing.assert_allclose(_values(found), _values(exact), atol=1e-5)
    assert found.duality_gap_ <= 1e-11 * max(1.0, abs(found.objective_))


def test_all_samples_as_landmarks_give_the_exact_one_class_model():
    found = MKLOneClass(KERNELS, C=0.1, nu=0.2, tol=1e-10, **ALL).fit(X)
    stack = KernelStack(KERNELS).fit(X)
    K = np.mean([stack.gram(m) for m in range(3)], axis=0)
    solution = SquaredOneClassMachine(np.full(150, 0.1), nu=0.2).solve(K, gap_tol=1e-10)
    np.testing.assert_allclose(found.score_samples(X), K @ solution.coef[:, 0], atol=1e-5)
    assert found.objective_ == pytest.approx(solution.objective, rel=1e-5)


@pytest.mark.parametrize("missing", [False, True])
def test_eigenvalues_are_counted_as_in_the_exact_model(missing):
    table = X.copy()
    if missing:
        table[::5, :2] = table[1::6, 2:4] = np.nan
    kernels = [("a", Gaussian([0, 1])), ("b", Gaussian([2, 3], scale=3.0)), ("c", Linear([4]))]
    model = MKLClassifier(kernels, ConvexMKL(EigenvalueCosts(0.5)), machine="squared-hinge", tol=1e-11)
    exact = model.fit_kernel(table, TWO)
    found = clone(model).set_params(**ALL).fit_kernel(table, TWO)
    costs = EigenvalueCosts(1.0)
    np.testing.assert_array_equal(costs.costs(found.stack), costs.costs(exact.stack))
    np.testing.assert_allclose(found.weights(), exact.weights(), atol=1e-5)


@pytest.mark.parametrize("nu", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("C", [None, 0.001, 10.0])
def test_nu_is_the_share_of_training_samples_outside(nu, C):
    """Whatever C is, and by weight."""
    weight = np.arange(150) % 3 + 1.0
    model = MKLOneClass(KERNELS, nu=nu, C=C, **SMALL).fit(X, sample_weight=weight)
    outside = weight[model.predict(X) < 0].sum() / weight.sum()
    assert nu - 3.0 / weight.sum() - 1e-9 <= outside <= nu + 1e-9 or nu == 1.0
    assert model.machine_ == "squared-hinge"
    np.testing.assert_allclose(model.decision_function(NEW), model.score_samples(NEW) - model.offset_)


def test_attributes():
    model = MKLClassifier(KERNELS, ConvexMKL(), C=10.0, **SMALL).fit(X, THREE)
    assert model.machine_ == "squared-hinge" and model.storage_ == "dense"
    assert not hasattr(model, "support_") and not hasattr(model, "dual_coef_")
    assert list(model.feature_coef_) == list(model.trace_shares_.index) == ["a", "b", "c"]
    used = model.active_kernels_
    assert list(model.approximation_) == used
    for name in used:
        assert model.feature_coef_[name].shape == (model.approximation_[name].n_features, 3)
    assert ((model.trace_shares_ > 0.3) & (model.trace_shares_ <= 1.0 + 1e-9)).all()
    assert model.trace_shares_["c"] == pytest.approx(1.0)
    assert model.n_iter_ == len(model.history_) >= 1 and (model.history_["seconds"] >= 0).all()
    assert model.duality_gap_ <= 1e-3 * max(1.0, model.objective_)
    assert model.prediction_cost() <= 20.0
    with pytest.raises(AttributeError, match="no approximation_: it is exact, or not fitted"):
        _ = MKLClassifier().fit(X, TWO).approximation_


def test_an_exact_model_has_its_machine_too():
    assert MKLClassifier().fit(X, TWO).machine_ == "svm"
    assert MKLClassifier(machine="least-squares").fit(X, TWO).machine_ == "least-squares"
    assert MKLRegressor().fit(X, RULE).machine_ == "svm"
    assert MKLRegressor(approximation="nystroem").fit(X, RULE).machine_ == "squared-epsilon-insensitive"
    assert MKLOneClass().fit(X).machine_ == "svm"


def test_a_second_fit_leaves_nothing_of_the_first():
    model = MKLClassifier(KERNELS, Localized(), **SMALL).fit(X, TWO)
    exact = clone(model).set_params(approximation=None, combiner=Mean()).fit(X, TWO)
    assert {*vars(model.set_params(approximation=None, combiner=Mean()).fit(X, TWO))} == {*vars(exact)}
    assert not hasattr(model, "feature_coef_") and not hasattr(model, "trace_shares_")
    model.set_params(**SMALL).fit(X, TWO)
    assert not hasattr(model, "support_") and not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("combiner", [Mean(), ConvexMKL(), Localized()], ids=repr)
def test_parts_add_up_and_weights_are_those_of_the_samples(combiner):
    model = MKLClassifier(KERNELS, combiner, **SMALL).fit(X, TWO)
    parts = model.contributions(NEW)
    np.testing.assert_allclose(parts.sum(axis=1), model.decision_function(NEW), atol=1e-9)
    assert list(parts.columns) == ["a", "b", "c", "intercept"]
    weights = model.kernel_weights(NEW)
    if not isinstance(combiner, Localized):
        np.testing.assert_allclose(weights, np.tile(model.kernel_weights_, (20, 1)))
    else:
        np.testing.assert_allclose(weights.sum(axis=1), 1.0)
        assert {"training", "support"} == set(model.gating_summary()["samples"])
        assert model.region(NEW).shape == (20,) and model.local_values(NEW).shape == (20, 3)


@pytest.mark.parametrize("approximation", ["nystroem", ExactFeatures()], ids=repr)
def test_linear_kernels_have_weights_of_columns(approximation):
    kernels = [("a", Linear([0, 1])), ("b", Linear([2, 3]))]
    model = MKLRegressor(kernels, approximation=approximation, normalize=None, C=10.0, dtype="float64", tol=1e-8)
    model.fit(X, X @ [1.0, -2.0, 0.5, 0.0, 0.0])
    np.testing.assert_allclose(NEW @ model.coef_.T[:, 0] + model.intercept_, model.predict(NEW), atol=1e-6)
    np.testing.assert_allclose(model.feature_weights("a"), model.coef_[0, :2])
    model.set_params(normalize="unit-diagonal").fit(X, X @ [1.0, -2.0, 0.5, 0.0, 0.0])
    assert not hasattr(model, "coef_")
    unit = NEW[:, :2] / np.linalg.norm(NEW[:, :2], axis=1)[:, None]
    np.testing.assert_allclose(unit @ model.feature_weights("a"), model.contributions(NEW)["a"], atol=1e-6)


@pytest.mark.parametrize("combiner", [Mean(), Localized(l2=0.01)], ids=repr)
def test_results_depend_on_neither_threads_nor_blocks_nor_storage(combiner, monkeypatch):
    settings = {**SMALL, "dtype": "float64", "tol": 1e-6}
    model = MKLClassifier(KERNELS, combiner, **settings).fit(X, TWO)
    with threadpool_limits(limits=1):
        alone = clone(model).fit(X, TWO)
    np.testing.assert_array_equal(alone.decision_function(NEW), model.decision_function(NEW))
    lazy = clone(model).set_params(storage="lazy").fit(X, TWO)
    assert lazy.storage_ == "lazy"
    np.testing.assert_allclose(lazy.decision_function(NEW), model.decision_function(NEW), atol=1e-3)
    monkeypatch.setattr(samples, "LEAST_ROWS", 1)
    monkeypatch.setattr(samples, "MOST_ROWS", 40)
    parts = clone(model).fit(X, TWO)
    np.testing.assert_allclose(parts.decision_function(NEW), model.decision_function(NEW), atol=1e-3)


def test_features_are_held_while_they_take_0_6_of_the_free_memory(monkeypatch):
    n_bytes = MKLClassifier(KERNELS, **SMALL).fit(X, TWO)
    size = sum(len(coef) for coef in n_bytes.feature_coef_.values()) * 150 * 4
    for free, expected in ((size / 0.5, "dense"), (size / 0.8, "lazy"), (None, "dense")):
        monkeypatch.setattr(InMemory, "free_memory", lambda self, free=free: free)
        assert MKLClassifier(KERNELS, **SMALL).fit(X, TWO).storage_ == expected


def test_parameters_are_nested():
    model = MKLClassifier(KERNELS, approximation=NystroemFeatures(30))
    assert model.get_params()["approximation__n_components"] == 30
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model.set_params(random_state=0)),
        {"mklclassifier__approximation__n_components": [5, 40], "mklclassifier__approximation__method": ["uniform"]},
        cv=3,
    ).fit(X, TWO)
    assert search.best_params_["mklclassifier__approximation__n_components"] == 40
    assert model.approximation.n_components == 30  # searches set parameters of copies
    grid = {"approximation": [None, FourierFeatures(50), "nystroem"], "kernels": [KERNELS[:2]]}
    assert hasattr(GridSearchCV(model, grid, error_score="raise").fit(X, TWO), "best_estimator_")


def test_kinds_of_tables_agree():
    names = ["u__0", "u__1", "v__0", "v__1", "v__2"]
    settings = {"approximation": NystroemFeatures(20), "random_state": 0}
    frame = MKLClassifier([Gaussian("u", scale=2.0), Linear("v")], **settings).fit(pd.DataFrame(X, columns=names), TWO)
    kernels = [("u", Gaussian([0, 1], scale=2.0)), ("v", Linear([2, 3, 4]))]
    array = MKLClassifier(kernels, **settings).fit(X, TWO)
    sparse = MKLClassifier(kernels, **settings).fit(sp.csr_matrix(X), TWO)
    new = pd.DataFrame(NEW, columns=names)
    np.testing.assert_allclose(frame.decision_function(new), array.decision_function(NEW), atol=1e-4)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(NEW)), array.decision_function(NEW), atol=1e-4)
    assert list(frame.feature_names_in_) == names
    default = MKLClassifier(approximation="nystroem").fit(pd.DataFrame(X, columns=names), TWO)
    assert default.kernel_names_ == ["u", "v"]


def test_views_without_weight_may_be_absent():
    names = ["u__0", "u__1", "v__0", "v__1", "v__2"]
    table = pd.DataFrame(X, columns=names)
    model = MKLClassifier([Gaussian("u"), Gaussian("v")], FixedWeights([1.0, 0.0]), **SMALL).fit(table, TWO)
    assert model.removable_kernels_ == ["v"] and model.active_kernels_ == ["u"]
    new = pd.DataFrame(NEW, columns=names)
    np.testing.assert_array_equal(model.decision_function(new[["u__0", "u__1"]]), model.decision_function(new))


def test_precomputed_kernels_take_landmarks_by_id():
    ids = [f"s{i}" for i in range(150)]
    K = pd.DataFrame(np.exp(-((X[:, None, 0] - X[None, :, 0]) ** 2)), ids, ids)
    table = pd.DataFrame({"id": ids}, index=ids)
    model = MKLClassifier([("p", Precomputed(K, "id"))], approximation=NystroemFeatures(30), random_state=0)
    model.fit(table, TWO)
    landmarks = model.approximation_["p"].landmarks.support.X
    assert model.score(table, TWO) > 0.5 and model.prediction_cost() == landmarks.shape[0] <= 30
    block = pd.DataFrame(np.exp(-((NEW[:, None, 0] - X[None, :, 0]) ** 2)), [f"n{i}" for i in range(20)], ids)
    new = model.extend_kernels({"p": block}, diagonal=1.0)
    gaussian = MKLClassifier([("p", Gaussian([0], scale=1.0))], approximation=NystroemFeatures(30), random_state=0)
    np.testing.assert_allclose(model.decision_function(new), gaussian.fit(X, TWO).decision_function(NEW), atol=1e-3)


def test_a_path_of_costs():
    models = list(fit_path(MKLClassifier(KERNELS, **SMALL), X, TWO, "C", [0.1, 1.0]))
    single = MKLClassifier(KERNELS, C=1.0, **SMALL).fit(X, TWO)
    np.testing.assert_allclose(models[1].decision_function(NEW), single.decision_function(NEW), atol=1e-2)


def test_fit_kernel_returns_the_kernel_of_all_samples():
    kernel = MKLClassifier(KERNELS, **SMALL).fit_kernel(X, TWO)
    assert kernel.solution.coef.shape[0] == kernel.stack.n_features and kernel.stack.n_samples == 150


def test_convergence_warnings_have_advice_that_helps():
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 steps .*; raise max_iter$"):
        MKLClassifier(KERNELS, C=1e3, max_iter=2, **SMALL).fit(X, TWO)
    with pytest.warns(ConvergenceWarning, match=r'; use dtype="float64", lower C, or raise tol$'):
        MKLClassifier(KERNELS, C=1e3, tol=1e-18, **SMALL).fit(X, TWO)  # below all rounding


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_progress_is_shown(capsys):
    MKLClassifier(KERNELS, Localized(max_iter=3, l2=0.1), verbose=1, **SMALL).fit(X, TWO)
    assert "Fitting MKLClassifier" in capsys.readouterr().out


def _values(model):
    return model.decision_function(NEW) if hasattr(model, "decision_function") else model.predict(NEW)
