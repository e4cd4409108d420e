"""Nasty input on explicit features: one error that names what is wrong, or a sensible model; nothing half-fitted."""

import numpy as np
import pandas as pd
import pytest

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import Localized, Mean
from kernelweave.estimators import samples
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
TWO = np.arange(60) % 2
KERNELS = [("a", Gaussian([0, 1])), ("b", Linear([2, 3]))]
SETTINGS = {"approximation": NystroemFeatures(10), "random_state": 0}


@pytest.fixture(params=["one block", "blocks"])
def _blocks(request, monkeypatch):
    if request.param == "blocks":
        monkeypatch.setattr(samples, "LEAST_ROWS", 1)
        monkeypatch.setattr(samples, "MOST_ROWS", 7)


def spoilt(value, row=33, column=2):
    table = X.copy()
    table[row, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "y", "weight", "message"),
    [
        (spoilt(np.inf), TWO, None, "infinite|infinity"),
        (spoilt(np.nan), TWO, None, "missing|NaN"),
        (spoilt(np.nan, slice(None), slice(2, 4)), TWO, None, "no training sample has the view of the kernel 'b'"),
        (X[:1], TWO[:1], None, "1 sample"),
        (X, TWO[:30], None, "inconsistent numbers of samples"),
        (X, np.zeros(60), None, "only one class"),
        (X, np.where(TWO, np.nan, 1.0), None, "Input y contains NaN"),
        (X, X[:, 0], None, "continuous"),
        (X, TWO, np.zeros(60), "zero for every sample"),
        (X, TWO, np.eye(60)[0], "only one sample has a positive sample_weight"),
        (X, TWO, -np.ones(60), "at least 0"),
        (X, TWO, (TWO == 0).astype(float), "only one class"),
        (X[:, :3], TWO, None, "3|columns"),
        (X.astype(str), TWO, None, "text|number"),
    ],
)
@pytest.mark.usefixtures("_blocks")
def test_one_error_and_nothing_half_fitted(table, y, weight, message):
    model = MKLClassifier(KERNELS, **SETTINGS)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(table, y, sample_weight=weight)
    assert vars(model) == before
    fitted = MKLClassifier(KERNELS, **SETTINGS).fit(X, TWO)
    kept = dict(vars(fitted))
    with pytest.raises(ValueError, match=message):
        fitted.fit(table, y, sample_weight=weight)
    assert vars(fitted) == kept


@pytest.mark.usefixtures("_blocks")
def test_a_class_that_is_in_one_block_only():
    y = np.where(np.arange(60) == 59, "rare", np.where(TWO, "a", "b"))
    model = MKLClassifier(KERNELS, C=100.0, class_weight="balanced", **SETTINGS).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "rare"] and model.decision_function(X).shape == (60, 3)
    assert model.predict(X[59:])[0] == "rare"


def test_a_class_that_the_reservoir_lacks(monkeypatch):
    from kernelweave import features

    monkeypatch.setattr(features, "LEAST_RESERVOIR", 5)
    monkeypatch.setattr(features, "RESERVOIR_SHARE", 1)
    y = np.where(np.arange(60) == 59, 2, TWO)
    model = MKLClassifier(KERNELS, **SETTINGS).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2] and model.feature_coef_["a"].shape[1] == 3


@pytest.mark.parametrize("combiner", [Mean(), Localized(l2=0.1)], ids=repr)
@pytest.mark.parametrize(
    "table",
    [
        np.hstack([np.ones((60, 2)), X[:, 2:]]),
        np.repeat(X[:6], 10, axis=0),
        1e8 * X,
        1e-8 * X,
        X + 1e6,
        np.zeros((60, 4)),
    ],
    ids=["constant columns", "duplicates", "huge", "tiny", "far away", "all 0"],
)
@pytest.mark.filterwarnings("ignore")
def test_odd_tables_have_finite_models(table, combiner):
    for model, y in (
        (MKLClassifier(KERNELS, combiner, **SETTINGS), TWO),
        (MKLRegressor(KERNELS, combiner, **SETTINGS), np.arange(60.0)),
        (MKLOneClass(KERNELS, combiner, **SETTINGS), None),
    ):
        model.fit(table, y)
        values = model.predict(table) if isinstance(model, MKLRegressor) else model.decision_function(table)
        assert np.isfinite(values).all() and np.isfinite(model.objective_)
        assert np.isfinite(model.trace_shares_).all()


@pytest.mark.usefixtures("_blocks")
def test_missing_views_agree_with_the_exact_model():
    table = pd.DataFrame(X.copy(), columns=["u__0", "u__1", "v__0", "v__1"])
    table.loc[::7, ["v__0", "v__1"]] = np.nan
    table.loc[3::7, ["u__0", "u__1"]] = np.nan
    kernels = [Gaussian("u"), Linear("v")]
    exact = MKLClassifier(kernels, machine="squared-hinge", tol=1e-9).fit(table, TWO)
    settings = {"approximation": NystroemFeatures(60), "dtype": "float64", "tol": 1e-9, "random_state": 0}
    model = MKLClassifier(kernels, **settings).fit(table, TWO)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-5)
    np.testing.assert_allclose(model.decision_function(table), exact.decision_function(table), atol=1e-5)
    np.testing.assert_allclose(model.kernel_weights(table), exact.kernel_weights(table), atol=1e-9)
    parts = model.contributions(table)
    assert (parts["v"].iloc[::7] == 0.0).all()
    with pytest.raises(ValueError, match="no view at all"):
        model.predict(pd.DataFrame(np.full((1, 4), np.nan), columns=table.columns))


def test_large_predictions_take_bounded_memory():
    """No matrix of all new samples and all features."""
    import tracemalloc

    model = MKLClassifier([("a", Gaussian([0, 1], scale=0.3))], approximation=NystroemFeatures(60), random_state=0)
    model.fit(X, TWO)
    many = RNG.normal(size=(400_000, 4))
    tracemalloc.start()
    model.predict(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400_000 * 60 * 8
