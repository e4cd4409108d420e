"""`GatedSum` on explicit features: what prediction, explanations and local methods take from it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import ClusterGate, GaussianGate, KernelMap, Localized
from kernelweave.combiners.localized import GatedSum
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, Linear
from kernelweave.views import as_views

rng = np.random.default_rng(6)
N = 150
X = pd.DataFrame(rng.normal(size=(N + 20, 5)), columns=["key", "a__0", "a__1", "b__0", "b__1"])
VALUES = np.where(X["key"] > 0.0, X["a__0"], X["b__0"]).astype(float)
TRAINING, NEW = X[:N], X[N:]
KERNELS = [("a", Gaussian("a")), ("b", Linear("b"))]
OPTIONS = {"approximation": NystroemFeatures(40), "random_state": 0}


def model_of(combiner, y=VALUES > 0.0, kernels=KERNELS, samples=TRAINING, estimator=MKLClassifier):
    return estimator(kernels, combiner, **OPTIONS).fit(samples, y[:N])


@pytest.fixture(scope="module")
def model():
    return model_of(Localized(inputs=["key"], l2=0.001, gate_tol=0.05))


@pytest.fixture(scope="module")
def several():
    return model_of(Localized(inputs=["key"], l2=0.001), np.digitize(VALUES, [-0.4, 0.4]))


def weights_of(model):
    return np.vstack(list(model.feature_coef_.values()))


@pytest.mark.parametrize("which", ["model", "several"])
def test_values_are_sums_of_shares_and_of_local_values(which, request):
    model = request.getfixturevalue(which)
    kernel, views, w = model._kernel, as_views(NEW), weights_of(model)
    assert type(kernel) is GatedSum
    values = kernel.values(views, w)
    assert_allclose(kernel.cross(views) @ w, values, atol=1e-12)
    assert_allclose(kernel.shares(views, w).sum(axis=2), values, atol=1e-12)
    gates = kernel.gates_of(views)
    assert_allclose((kernel.local_values(views, w) * gates[:, None, :]).sum(axis=2), values, atol=1e-12)
    some = np.array([4, 1])
    assert_allclose(kernel.values(views.rows(some), w), values[some], err_msg="samples depend on each other")
    assert_allclose(kernel.sample_weights(views), gates**2)


def test_methods_of_estimators(model):
    weights, gates = model.kernel_weights(NEW), model.gates(NEW)
    assert_allclose(gates**2, weights)
    assert_allclose(weights.sum(axis=1), 1.0)
    assert (model.region(NEW) == weights.columns.to_numpy()[weights.to_numpy().argmax(axis=1)]).all()
    local = model.local_values(NEW)
    decided = ((local - model.intercept_[0]) * gates).sum(axis=1) + model.intercept_[0]
    assert_allclose(decided, model.decision_function(NEW), atol=1e-10)
    assert list(model.gating_coef_.index) == ["key"] and list(model.gating_coef_.columns) == ["a", "b"]
    assert list(model.gating_intercept_.index) == ["a", "b"]
    assert_allclose(model.contributions(NEW).sum(axis=1), model.decision_function(NEW), atol=1e-10)


def test_gates_follow_the_samples(model):
    # one side of the key is the region of a, the other that of b
    first = np.asarray(model.region(NEW)) == "a"
    assert np.mean(first == (NEW["key"] > 0.0)) > 0.7


def test_only_open_views_are_read(model):
    asked = []

    def fetch(view, rows):
        asked.append((view, list(rows)))
        columns = [name for name in NEW if name.startswith(f"{view}__")]
        return NEW.iloc[rows][columns]

    bare = NEW.copy()
    bare[["a__0", "a__1", "b__0", "b__1"]] = np.nan
    found = model.decision_function(bare, fetch=fetch)
    assert_allclose(found, model.decision_function(NEW), atol=1e-10)
    gates = model.gates(NEW).to_numpy()
    assert (gates == 0.0).any(), "no gate is closed, so nothing is saved"
    for m, view in enumerate("ab"):
        rows = [row for name, some in asked if name == view for row in some]
        assert sorted(rows) == list(np.flatnonzero(gates[:, m]))


@pytest.mark.filterwarnings("ignore:every sample has nearly the same")
def test_closed_kernels_need_no_view():
    y = X["a__0"].to_numpy() > 0.0
    closed = model_of(Localized(inputs=["key"], l2=0.001, gate_tol=0.45), y)
    assert closed.active_kernels_ == ["a"] and closed.kernel_weights_["b"] == 0.0
    assert closed.removable_kernels_ == ["b"]
    assert_allclose(closed.decision_function(NEW.drop(columns=["b__0", "b__1"])), closed.decision_function(NEW))
    assert (closed.local_values(NEW)["b"] == closed.intercept_[0]).all()


def test_missing_views():
    gaps = TRAINING.copy()
    gaps.loc[::6, ["a__0", "a__1"]] = np.nan
    model = model_of(Localized(inputs=["key"], l2=0.001), samples=gaps)
    new = NEW.copy()
    new.iloc[3, 1:3] = np.nan
    weights = model.kernel_weights(new).to_numpy()
    assert_allclose(weights[3], [0.0, 1.0])
    assert np.isnan(model.local_values(new).to_numpy()[3, 0])
    assert np.isfinite(model.decision_function(new)).all()
    others = np.arange(len(new)) != 3
    assert_allclose(model.decision_function(new)[others], model.decision_function(NEW)[others], atol=1e-12)


@pytest.mark.parametrize(
    "combiner",
    [
        Localized(GaussianGate(), inputs=["key"], l2=0.01),
        Localized(ClusterGate(3), inputs=["key"], l2=0.01),
        Localized(inputs=["key"], l2=0.01, quadratic=True),
        Localized(inputs=KernelMap(Gaussian("a"), n_landmarks=10), l2=0.01),
        Localized(l2=0.01, scaling="unit-row"),
    ],
    ids=["gaussian", "clusters", "quadratic", "kernel map", "unit rows"],
)
def test_gating_models_and_inputs(combiner):
    model = model_of(combiner, VALUES, estimator=MKLRegressor)
    w, views = weights_of(model), as_views(NEW)
    assert_allclose(model._kernel.shares(views, w).sum(axis=2)[:, 0] + model.intercept_[0], model.predict(NEW))
    assert_allclose(model.kernel_weights(TRAINING).mean(), model.kernel_weights_, atol=1e-5)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))


def test_no_training_sample_is_kept(model):
    assert model._kernel.gates is None and model._kernel.totals is None
    assert model._kernel.stack.engine is None and model._kernel.stack.reservoir.n_samples == 0
    assert len(pickle.dumps(model)) < 100_000


def test_cost_counts_landmarks_and_open_gates(model):
    share = model.gating_summary_.query("samples == 'training' and `class` == 'all'").set_index("kernel")["share"]
    raw = pd.Series({name: model._kernel.stack.maps[m].n_raw for m, name in enumerate("ab")})
    assert model.prediction_cost() == pytest.approx((raw * share).sum() / 2)
