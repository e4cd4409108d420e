"""`BayesianMKLClassifier` and `BayesianMKLRegressor`: conventions, probabilities, missing views, bad input."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from conventions import checks
from kernelweave import BayesianMKLClassifier, BayesianMKLRegressor, load, save, stack_views
from kernelweave.kernels import Gaussian, KernelStack, Linear, Precomputed
from kernelweave.solvers.variational import Labels, Posterior, ascend

rng = np.random.default_rng(0)
N = 80
A = rng.normal(size=(N + 60, 6))
SCORE = A[:, 0] + np.sin(2.0 * A[:, 2]) + 0.3 * rng.normal(size=N + 60)
TWO = np.where(SCORE > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(SCORE, [-0.6, 0.6])]
KERNELS = [("a", Linear([0, 1])), ("b", Gaussian([2, 3])), ("c", Gaussian([4, 5]))]
X, NEW = A[:N], A[N:]
MODELS = [(BayesianMKLClassifier, TWO), (BayesianMKLClassifier, THREE), (BayesianMKLRegressor, SCORE)]


@checks(
    [BayesianMKLClassifier(), BayesianMKLRegressor()],
    [
        BayesianMKLClassifier([Linear(), Gaussian(scale=1.0)], spread=0.5, weight_prior=(1e-3, 1e-3), tol=0.02),
        BayesianMKLRegressor([Linear(), Gaussian(scale=1.0)], spread=0.3, tol=0.02),
    ],
)
def test_scikit_learn_convention(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("cls", "y"), MODELS)
def test_a_fit(cls, y):
    model = cls(KERNELS).fit(X, y[:N])
    assert model.score(NEW, y[N:]) > (0.8 if cls is BayesianMKLClassifier and y is TWO else 0.6)
    assert np.diff(model.history_["bound"]).min() > -1e-9 * abs(model.lower_bound_)
    assert model.n_iter_ == len(model.history_) and model.lower_bound_ == model.history_["bound"].iloc[-1]
    assert list(model.kernel_weights_.index) == ["a", "b", "c"] == list(model.kernel_weights_std_.index)
    assert (model.kernel_weights_std_ > 0).all() and model.kernel_weights_.abs().idxmin() == "c"
    assert model.dual_coef_.shape == (len(model.intercept_), N)


@pytest.mark.parametrize(("cls", "y"), MODELS)
def test_parts_add_up(cls, y):
    model = cls(KERNELS).fit(X, y[:N])
    frame = pd.DataFrame(NEW, index=[f"s{i}" for i in range(len(NEW))])
    parts = model.contributions(frame)
    values = model.predict(NEW) if cls is BayesianMKLRegressor else model.decision_function(NEW)
    assert list(parts.index) == list(frame.index)
    if values.ndim == 1:
        assert list(parts.columns) == ["a", "b", "c", "intercept"]
        assert_allclose(parts.sum(axis=1), values, rtol=1e-10)
        stack = KernelStack(KERNELS).fit(X)
        stack.matrices()
        by_hand = stack.cross(1, stack.reference.rows(np.arange(5)), np.ones(5, dtype=bool)) @ model.dual_coef_[0]
        assert_allclose(model.contributions(X[:5])["b"], model.kernel_weights_["b"] * by_hand, rtol=1e-8)
    else:
        for place, name in enumerate(model.classes_):
            assert_allclose(parts[name].sum(axis=1), values[:, place], rtol=1e-10)


def test_probabilities():
    two, three = (BayesianMKLClassifier(KERNELS).fit(X, y[:N]) for y in (TWO, THREE))
    for model, y in ((two, TWO), (three, THREE)):
        p = model.predict_proba(NEW)
        assert_allclose(p.sum(axis=1), 1.0)
        assert_array_equal(model.predict(NEW), model.classes_[p.argmax(axis=1)])
        assert_allclose(np.exp(model.predict_log_proba(NEW)), p)
        shares = [np.mean(y == label) for label in model.classes_]
        assert log_loss(y[N:], p) < 0.75 * log_loss(y[N:], np.tile(shares, (len(p), 1)))
    # less sure than the mean alone is
    surest = two.predict_proba(NEW).max(axis=1)
    assert (surest < ndtr(np.abs(two.decision_function(NEW)))).all()


def test_two_classes_as_one_of_several_have_the_mean_of_phi():
    """The probability is E[Phi(f)] over draws of e, b and a from q."""
    model = BayesianMKLClassifier(KERNELS).fit(X, TWO[:N])
    own, draws = model._posterior, 20000
    stack = KernelStack(KERNELS).fit(X)
    stack.matrices()
    views = BayesianMKLClassifier(KERNELS).fit(NEW, TWO[N:])._new_views(NEW)
    cross = np.stack([stack.cross(m, views, np.ones(len(NEW), dtype=bool)) for m in range(3)])
    random = np.random.default_rng(1)
    weights = random.multivariate_normal(own.weights, own.weights_covariance, draws)
    covariance = np.linalg.inv(np.diag(own.coef_precision[:, 0]) + own.products / own.spread**2)
    a = random.multivariate_normal(own.coef[:, 0], covariance, draws)
    f = np.zeros((draws, len(NEW)))
    for m in range(3):
        f += weights[:, [m]] * (a @ cross[m].T + own.spread * random.normal(size=(draws, len(NEW))))
    expected = ndtr(f + weights[:, [3]]).mean(axis=0)
    assert_allclose(model.predict_proba(NEW)[:, 1], expected, atol=0.02)  # f is a product, and not quite normal


def test_standard_deviations_cover_what_they_say():
    random = np.random.default_rng(3)
    Z = random.uniform(-3.0, 3.0, size=(400, 1))
    y = 50.0 + 10.0 * (np.sin(2.0 * Z[:, 0]) + 0.3 * random.normal(size=400))
    model = BayesianMKLRegressor([Gaussian(scale=1.0), Linear()]).fit(Z[:150], y[:150])
    mean, std = model.predict(Z[150:], return_std=True)
    assert_allclose(mean, model.predict(Z[150:]))
    assert 0.88 < np.mean(np.abs(y[150:] - mean) < 1.96 * std) <= 1.0
    assert (std > model.noise_std_).all() and 1.5 < model.noise_std_ < 6.0
    # of numbers in other units: the same model
    other = BayesianMKLRegressor([Gaussian(scale=1.0), Linear()]).fit(Z[:150], 1e6 * y[:150] - 5.0)
    assert_allclose(other.predict(Z[150:]), 1e6 * mean - 5.0, rtol=1e-6)
    assert_allclose(other.predict(Z[150:], return_std=True)[1], 1e6 * std, rtol=1e-6)


def test_missing_views_are_zero_rows():
    views = {"a": A[:, :2].copy(), "b": A[:, 2:4].copy(), "c": A[:, 4:]}
    views["a"][::5], views["b"][1::5] = np.nan, np.nan
    table = stack_views(views)
    kernels = [Gaussian("a", scale=2.0), Gaussian("b", scale=2.0), Linear("c")]
    model = BayesianMKLClassifier(kernels).fit(table[:N], TWO[:N])
    assert model.score(table[N:], TWO[N:]) > 0.7
    parts = model.contributions(table[N:])
    assert (parts["a"].to_numpy()[::5] == 0.0).all() and (parts["b"].to_numpy()[1::5] == 0.0).all()
    grams = KernelStack(kernels).fit(table[:N]).matrices()
    assert not grams[0][0].any() and grams[0][1].any()
    posterior = Posterior(grams, Labels((TWO[:N] == "yes").astype(int), 2), 0.1, (1.0, 1.0), (1.0, 1.0))
    ascend(posterior, 1e-3, 500)
    assert_allclose(model.kernel_weights_, posterior.weights[:3], rtol=1e-6)
    with pytest.raises(ValueError, match="no view at all"):
        model.predict(table[N:].mask(np.ones((60, 6), dtype=bool)))


@pytest.mark.parametrize("labels", [(False, True), (3, -1), ("no", "yes"), (0.0, 1.0)])
def test_labels_of_any_type(labels):
    y = np.where(SCORE > 0, labels[1], labels[0])
    model = BayesianMKLClassifier(KERNELS).fit(X, y[:N])
    assert model.predict(NEW).dtype == y.dtype and model.score(NEW, y[N:]) > 0.8


def test_hundreds_of_kernels():
    random = np.random.default_rng(0)
    B = np.hstack([A[:, :3], random.normal(size=(N + 60, 197))])
    model = BayesianMKLClassifier([Linear([j]) for j in range(200)], normalize="unit-trace").fit(B[:N], TWO[:N])
    assert model.kernel_weights_.abs().idxmax() == "linear" and len(model.kernel_weights_) == 200


def test_search_and_clone():
    search = GridSearchCV(BayesianMKLClassifier(KERNELS), {"spread": [0.1, 1.0], "kernels__b__scale": [0.3, 2.0]}, cv=2)
    assert search.fit(X, TWO[:N]).score(NEW, TWO[N:]) > 0.75
    assert clone(BayesianMKLRegressor(KERNELS, spread=0.7)).spread == 0.7


@pytest.mark.parametrize(("cls", "y"), MODELS)
def test_saved(cls, y, tmp_path):
    model = cls(KERNELS).fit(X, y[:N])
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    if cls is BayesianMKLClassifier:
        assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))
    else:
        assert_array_equal(loaded.predict(NEW, return_std=True)[1], model.predict(NEW, return_std=True)[1])


def test_extended_by_similarities():
    gram = A @ A.T + 6.0 * np.eye(len(A))
    ids = np.arange(N + 60)[:, None]
    model = BayesianMKLClassifier([Precomputed(gram)]).fit(ids[:N], TWO[:N])
    part = BayesianMKLClassifier([Precomputed(gram[:N, :N])]).fit(ids[:N], TWO[:N])
    new = part.extend_kernels({part.kernel_names_[0]: gram[N:, :N]}, diagonal=np.diagonal(gram)[N:])
    assert_allclose(part.predict_proba(new), model.predict_proba(ids[N:]))


def test_warns_at_the_limit():
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=3 iterations, while the bound still rose"):
        BayesianMKLClassifier(KERNELS, max_iter=3).fit(X, TWO[:N])


def test_samples_that_are_equal_and_kernels_that_are_constant():
    twice = np.vstack([X[:10], X[:10], X[:10]])
    y = np.tile(TWO[:10], 3)
    model = BayesianMKLClassifier([*KERNELS, ("d", Gaussian([0], scale=1e9))]).fit(twice, y)
    assert np.isfinite(model.predict_proba(NEW)).all() and np.diff(model.history_["bound"]).min() > -1e-7
    constant = BayesianMKLRegressor(KERNELS).fit(X, np.full(N, 7.0))
    assert_allclose(constant.predict(NEW), 7.0, atol=1e-6)


BAD = [
    (BayesianMKLClassifier(), X, np.full(N, "yes"), "class"),
    (BayesianMKLClassifier(), X, TWO[: N - 1], "inconsistent numbers of samples"),
    (BayesianMKLClassifier(), X, np.where(np.arange(N) == 3, np.nan, 1.0), "Input y contains NaN: sample 3"),
    (BayesianMKLClassifier([Linear([9])]), X, TWO[:N], "9"),
    (BayesianMKLRegressor(), X, np.where(np.arange(N) == 3, np.inf, 1.0), "Input y contains infinity"),
    (BayesianMKLRegressor(), X, np.column_stack([SCORE, SCORE])[:N], "takes one target, but y has 2 columns"),
    (BayesianMKLRegressor(), X, 1e200 * SCORE[:N], "scale y"),
    (BayesianMKLRegressor(), X, TWO[:N], "must be numbers"),
    (BayesianMKLClassifier(spread=0.0), X, TWO[:N], "spread of BayesianMKLClassifier must be a positive"),
    (BayesianMKLClassifier(coef_prior=1.0), X, TWO[:N], r"coef_prior of .* must be a pair of positive numbers"),
    (BayesianMKLClassifier(weight_prior=(1, -1)), X, TWO[:N], "weight_prior of .* must be a pair of positive numbers"),
    (BayesianMKLRegressor(noise_prior=(1, 2, 3)), X, SCORE[:N], "noise_prior of .* must be a pair of positive"),
    (BayesianMKLClassifier([Linear()], normalize=None), 1e110 * X, TWO[:N], "normalise them"),
]


@pytest.mark.parametrize(("model", "samples", "y", "message"), BAD)
def test_bad_input_is_one_clear_error(model, samples, y, message):
    before = set(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(samples, y)
    assert set(vars(model)) == before  # nothing is half-fitted


def test_no_sample_weights():
    with pytest.raises(TypeError, match="sample_weight"):
        BayesianMKLClassifier().fit(X, TWO[:N], sample_weight=np.ones(N))
