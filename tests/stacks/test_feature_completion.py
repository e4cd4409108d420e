"""Completion of explicit features: that of kernels, where landmarks are all training samples."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, load, open_views, save
from kernelweave.combiners import ConvexMKL, FixedWeights, LpMKL, Mean
from kernelweave.features import ExactFeatures, FourierFeatures, NystroemFeatures
from kernelweave.features.completion import FeatureCompletion
from kernelweave.kernels import KernelStack, Linear, Precomputed
from kernelweave.kernels.completion import CompletedStack
from kernelweave.recipes import CohortModel
from kernelweave.views import Views
from stacks.test_completion import HELD, HELD_NEW, KERNELS, NEW, VIEWS, WHOLE, N, X, Y, made

LANDMARKS = NystroemFeatures(N)
MODEL = MKLClassifier(
    KERNELS, C=3.0, missing="complete", machine="least-squares", approximation=LANDMARKS, dtype="float64", tol=1e-8
)


def exact(model):
    return clone(model).set_params(approximation=None)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
@pytest.mark.parametrize("given", [X, WHOLE])
def test_features_of_all_samples_have_the_products_of_the_completed_kernels(given, normalize):
    rng = np.random.default_rng(0)
    weight, views, new = rng.integers(1, 4, N).astype(float), Views(given), Views(NEW)
    stack = KernelStack(KERNELS, normalize).fit(views, weight)
    maps = [LANDMARKS.fit_map(stack, m, np.random.RandomState(0), dtype=np.dtype(float)) for m in range(len(KERNELS))]
    completion = FeatureCompletion(stack, maps, views, weight)
    dense = CompletedStack(KERNELS, normalize).fit(views, weight)
    dense.complete()
    phi, phi_new = completion.features(views), completion.features(new)
    for m, K in enumerate(dense.matrices()):
        own = phi[:, completion.span(m)]
        assert_allclose(own @ own.T, K, atol=1e-8 * np.abs(K).max())
        among = dense.cross(m, new, np.ones(len(NEW), dtype=bool))
        assert_allclose(phi_new[:, completion.span(m)] @ own.T, among, atol=1e-7 * np.abs(K).max())
    assert completion.presence(new).all() and not completion.presence(new, np.arange(5) > 3)[:, :4].any()


@pytest.mark.parametrize("combiner", [Mean(), LpMKL(), ConvexMKL()])
@pytest.mark.parametrize("given", [X, WHOLE])
def test_models_of_all_landmarks_decide_as_on_exact_kernels(combiner, given):
    model = clone(MODEL).set_params(combiner=combiner).fit(given, Y)
    other = exact(model).fit(given, Y)
    for samples in (given, NEW, NEW[3:4]):
        assert_allclose(model.decision_function(samples), other.decision_function(samples), atol=2e-3)
    assert_allclose(model.contributions(NEW).sum(axis=1), model.decision_function(NEW), atol=1e-10)
    native = clone(model).set_params(missing="native").fit(given, Y)
    ours, theirs = (found.decision_function(NEW[HELD_NEW[:, 0]]) for found in (model, native))
    assert not np.allclose(ours, theirs, atol=0.05)


def test_features_that_are_recomputed_are_those_that_are_held():
    values = [clone(MODEL).set_params(storage=s).fit(X, Y).decision_function(NEW) for s in ("dense", "lazy")]
    assert_allclose(*values, atol=1e-8)


@pytest.mark.parametrize("model", [MKLRegressor(KERNELS, machine="least-squares"), MKLOneClass(KERNELS)])
def test_regression_and_novelty(model):
    model = clone(model).set_params(missing="complete", approximation=LANDMARKS, dtype="float64", tol=1e-8)
    y = np.random.default_rng(0).normal(size=N) + Y
    model.fit(X, y)
    assert_allclose(model.contributions(NEW).sum(axis=1), model._values(NEW)[:, 0], atol=1e-10)
    if isinstance(model, MKLRegressor):
        assert_allclose(model.predict(NEW), exact(model).fit(X, y).predict(NEW), atol=1e-4)


@pytest.mark.parametrize("combiner", [Mean(), FixedWeights([0.0, 0.0, 1.0, 0.0, 0.0])])
@pytest.mark.parametrize("features", [NystroemFeatures(20), FourierFeatures(40), "mixed"])
def test_a_saved_model_predicts_the_same(tmp_path, combiner, features):
    kernels = [(f"k{m}", kernel) for m, kernel in enumerate(KERNELS)]
    if features == "mixed":
        features = {name: ExactFeatures() if isinstance(k, Linear) else NystroemFeatures(9) for name, k in kernels}
    elif isinstance(features, FourierFeatures):
        kernels = [pair for pair in kernels if not isinstance(pair[1], Linear)]
        combiner = Mean()
    model = MKLClassifier(kernels, combiner, missing="complete", approximation=features, random_state=0)
    some = np.ones(N, dtype=bool) if len(kernels) == 5 else HELD[:, :3].any(axis=1)
    new = NEW if len(kernels) == 5 else NEW[HELD_NEW[:, :3].any(axis=1)]
    model.fit(X[some], Y[some])
    expected = model.decision_function(new)
    assert expected.std() > 0.0 and model.removable_kernels_ == []
    size = len(pickle.dumps(model))
    assert_allclose(pickle.loads(pickle.dumps(model)).decision_function(new), expected, rtol=1e-12)
    assert len(pickle.dumps(model)) == size
    save(model, tmp_path / "model.kw")
    assert_array_equal(load(tmp_path / "model.kw").decision_function(new), expected)


def test_columns_of_a_view_may_be_absent():
    model = clone(MODEL).fit(X, Y)
    without = NEW.copy()
    without.loc[:, without.columns.str.startswith("d__")] = np.nan
    some = HELD_NEW[:, :3].any(axis=1)
    dropped = NEW.drop(columns=NEW.filter(like="d__").columns)
    assert_array_equal(model.decision_function(without[some]), model.decision_function(dropped[some]))


def test_precomputed_kernels_are_completed_and_saved(tmp_path):
    table = pd.DataFrame({v: np.where(there, np.arange(N), np.nan) for v, there in zip(VIEWS, HELD.T, strict=True)})
    raw = KernelStack([Linear(v) for v in VIEWS], None).fit(WHOLE).matrices()
    kernels = [Precomputed(K, v) for K, v in zip(raw, VIEWS, strict=True)]
    train, test = table.iloc[:40], table.iloc[40:]
    for combiner in (Mean(), FixedWeights([0.0, 1.0, 1.0, 0.0])):  # kernels without weight complete the others
        model = clone(MODEL).set_params(kernels=kernels, combiner=combiner).fit(train, Y[:40])
        other = exact(model).fit(train, Y[:40])
        assert_allclose(model.decision_function(test), other.decision_function(test), atol=2e-3)
        save(model, tmp_path / "model")
        assert_array_equal(load(tmp_path / "model").decision_function(test), model.decision_function(test))


def test_few_landmarks_complete_more_samples_than_they_are():
    many, labels, _ = made(400, seed=3)
    new, _, _ = made(100, seed=4)
    model = clone(MODEL).set_params(approximation=NystroemFeatures(100), random_state=0).fit(many, labels)
    expected = exact(model).fit(many, labels).decision_function(new)
    assert np.corrcoef(model.decision_function(new), expected)[0, 1] > 0.99


def test_regressions_are_those_of_the_samples_in_files_too(tmp_path):
    views = {v: X.filter(like=f"{v}__").to_numpy() for v in VIEWS}
    for v, values in views.items():
        np.save(tmp_path / f"{v}.npy", values)
    table = open_views([tmp_path / f"{v}.npy" for v in VIEWS], block_size=17)
    model = clone(MODEL).fit(table, Y)
    assert model.decision_function(NEW) == pytest.approx(clone(MODEL).fit(X, Y).decision_function(NEW), abs=1e-5)
    assert model.decision_function(table) == pytest.approx(model.decision_function(X), abs=1e-10)


def test_a_recipe_completes_features():
    model = CohortModel("completed", approximation="nystroem", effort="quick", random_state=0).fit(X, Y)
    plain = CohortModel("completed", effort="quick", random_state=0).fit(X, Y)
    assert np.corrcoef(model.decision_function(NEW), plain.decision_function(NEW))[0, 1] > 0.99


def test_what_cannot_be_completed_is_one_error():
    nothing = NEW.copy()
    nothing.iloc[3] = np.nan
    with pytest.raises(ValueError, match="sample 3 has no view at all"):
        clone(MODEL).fit(X, Y).predict(nothing)
    apart = X[["a__0", "b__0"]].copy()
    apart.loc[::2], apart.loc[1::2] = [np.nan, 1.0], [2.0, np.nan]
    message = "completes the kernel 'a' .* but no training sample has both; use missing=\"native\""
    with pytest.raises(ValueError, match=message):
        clone(MODEL).set_params(kernels=["a", "b"]).fit(apart, Y)
