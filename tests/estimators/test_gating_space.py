import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.preprocessing import StandardScaler

import kernelweave
from kernelweave import MKLClassifier
from kernelweave.combiners import ConvexMKL, GaussianGate, Localized, Projected, Sigmoid, Softmax
from kernelweave.estimators.explanations import decision_at, gates_at
from kernelweave.kernels import Gaussian, Linear

TWO = [("one", Linear()), ("two", Linear())]


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal([0.0, 5.0, -1.0], [1.0, 3.0, 0.2], size=(80, 3))
    return pd.DataFrame(X, columns=["a", "b", "c"]), np.where(X[:, 0] * (X[:, 1] - 5) > 0, "yes", "no")


@pytest.mark.parametrize(
    "combiner",
    [
        Localized(Softmax(), scaling="standard", l2=0.01, gate_tol=0.0),
        Localized(Sigmoid("paper"), scaling="standard", l2=0.01, gate_tol=0.0),
        Projected(1, Softmax(), gate_tol=0.0),
        Projected(1, Sigmoid("paper"), gating_components=2, gate_tol=0.0),
        Projected(1, Softmax(), gating_components=1, gate_tol=0.0),
    ],
)
def test_gates_are_functions_of_linear_scores(data, combiner):
    X, y = data
    model = MKLClassifier(TWO, combiner, normalize=None, random_state=0).fit(X, y)
    assert list(model.gating_coef_.index) == ["a", "b", "c"] and list(model.gating_coef_) == ["one", "two"]
    assert list(model.gating_intercept_.index) == ["one", "two"]
    scores = StandardScaler().fit_transform(X) @ model.gating_coef_.to_numpy() + model.gating_intercept_.to_numpy()
    weights = softmax(scores, axis=1) if isinstance(combiner.gating, Softmax) else expit(scores) ** 2
    np.testing.assert_allclose(model.kernel_weights(X), weights, atol=1e-10)


def test_gating_space_is_the_projection_of_the_inputs(data):
    X, y = data
    model = MKLClassifier(TWO, Projected(1, Softmax(), gating_components=2), random_state=0).fit(X, y)
    found = model.gating_space(X.iloc[5:9])
    assert list(found) == ["gating__0", "gating__1"] and list(found.index) == [5, 6, 7, 8]
    inputs = StandardScaler().fit(X).transform(X.iloc[5:9])
    np.testing.assert_allclose(found, inputs @ model.gating_projection_.to_numpy())


def test_gating_space_is_there_only_with_a_gating_projection(data):
    for combiner in (Projected(1, Softmax()), Projected(1), Localized(l2=0.01), ConvexMKL(), None):
        assert not hasattr(MKLClassifier(TWO, combiner).fit(*data), "gating_space")


def test_scores_that_are_not_linear_have_no_coefficients(data):
    model = MKLClassifier(TWO, Localized(l2=0.01), random_state=0).fit(*data)
    assert hasattr(model, "gating_coef_") and hasattr(model, "gating_intercept_")
    for combiner in (Localized(GaussianGate(), l2=0.01), Projected(1), ConvexMKL()):
        model.set_params(combiner=combiner).fit(*data)
        assert not hasattr(model, "gating_coef_") and not hasattr(model, "gating_intercept_")


def test_coefficients_of_quadratic_inputs_are_labelled(data):
    model = MKLClassifier(TWO, Localized(quadratic=True, l2=0.01), random_state=0).fit(*data)
    assert list(model.gating_coef_.index) == ["a", "b", "c", "a * a", "a * b", "a * c", "b * b", "b * c", "c * c"]


def test_decision_at_a_point_is_the_decision_of_a_sample_there(data):
    X, y = data
    model = MKLClassifier([Gaussian(scale=2.0)], Projected(2), normalize=None, random_state=0).fit(X, y)
    values = decision_at(model, {"gaussian": model.project(X).to_numpy()})
    np.testing.assert_allclose(values, model.decision_function(X))


def test_stored_models_keep_them(data, tmp_path):
    X, y = data
    model = MKLClassifier(TWO, Localized(l2=0.01), random_state=0).fit(X, y)
    kernelweave.save(model, tmp_path / "model.kw")
    again = kernelweave.load(tmp_path / "model.kw")
    pd.testing.assert_frame_equal(again.gating_coef_, model.gating_coef_)
    pd.testing.assert_series_equal(again.gating_intercept_, model.gating_intercept_)
    model = MKLClassifier(TWO, Projected(1, Softmax(), gating_components=2), random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.gating_space(X), model.gating_space(X))
    np.testing.assert_allclose(gates_at(again, model.gating_space(X).to_numpy()), model.gates(X))
