"""Completion of kernels, `missing="complete"`: rows of samples that lack a view, by ridge regression on other views."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, load, save, stack_views
from kernelweave.combiners import (
    AlignmentWeights,
    BestSingle,
    ConvexMKL,
    FixedWeights,
    GeneralizedMKL,
    Localized,
    LpMKL,
    Mean,
    PolynomialMKL,
    Product,
    Projected,
)
from kernelweave.estimators.reuse import SharedFoldKernels
from kernelweave.kernels import Constant, Gaussian, KernelStack, Linear, Precomputed
from kernelweave.kernels.completion import CompletedStack
from kernelweave.stacks import training

N, VIEWS = 60, ("a", "b", "c", "d")
KERNELS = [Linear("a"), Gaussian("a"), Gaussian("b"), Gaussian("c"), Linear("d")]
VIEW_OF = np.array([0, 0, 1, 2, 3])


def made(n_samples, seed=0, share=0.3):
    """Four views of three latent factors, some of them missing, and labels of the factors."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_samples, 3))
    mixing = np.random.default_rng(1).normal(size=(len(VIEWS), 3, 5))
    held = rng.random((n_samples, len(VIEWS))) >= share
    held[~held.any(axis=1), 0] = True
    X = stack_views(
        {v: factors @ M + 0.3 * rng.normal(size=(n_samples, 5)) for v, M in zip(VIEWS, mixing, strict=True)}
    )
    for v, there in zip(VIEWS, held.T, strict=True):
        X.loc[~there, X.columns.str.startswith(f"{v}__")] = np.nan
    return X, factors[:, 0] + 0.5 * factors[:, 1] ** 2 > 0.4, held


X, Y, HELD = made(N)
NEW, Y_NEW, HELD_NEW = made(40, seed=2)
WHOLE, _, _ = made(N, share=0.0)
SMALL = MKLClassifier(KERNELS, C=3.0, missing="complete")


# The formulas, one sample after the other


def regressed(S, s, strength=0.1):
    """Coefficients of ridge regression with an intercept, from products S of the fitted samples and s of another."""
    q = len(S)
    H = np.eye(q) - 1.0 / q
    T = H @ S @ H
    centred = H @ (s - S.mean(axis=0))
    return centred @ np.linalg.inv(T + strength * np.trace(T) / q * np.eye(q)) + 1.0 / q


def completed(raw, held, new=None, held_new=None):
    """Base kernels of training samples, and those of new samples, completed by the formulas.

    raw: (n_kernels, n, n) with zeros where views are missing; new: (n_kernels, n_new, n).
    """
    rows = raw if new is None else np.concatenate([raw, new], axis=1)
    there = held if held_new is None else np.concatenate([held, held_new])
    n, V = len(held), held.shape[1]
    view = np.array([rows[v == VIEW_OF].mean(axis=0) for v in range(V)])
    filled = None
    for _ in range(3):
        A = np.zeros((V, len(there), n))
        for v in range(V):
            others = [u for u in range(V) if u != v]
            if filled is None:
                total = view[others].sum(axis=0)
                count = there[:, others].sum(axis=1)
                root = np.sqrt(len(others) / np.where(count > 0, count, 1))
                S = total * root[:, None] * root[:n] / len(others)
            else:
                S = filled[others].mean(axis=0)
            Q = np.flatnonzero(held[:, v] & (held.sum(axis=1) > 1))
            for i in range(len(there)):
                if there[i, v]:
                    A[v, i, i if i < n else 0] = i < n
                else:
                    A[v, i, Q] = regressed(S[np.ix_(Q, Q)], S[i, Q])
        filled = np.array([through(view[v], A[v], there[:, v], n) for v in range(V)])
    return np.array([through(rows[m], A[v], there[:, v], n) for m, v in enumerate(VIEW_OF)])


def through(K, A, there, n):
    """A K A', where rows of new samples that have the view stay what they are."""
    left = A @ K[:n]
    left[n:][there[n:]] = K[n:][there[n:]]
    return left @ A[:n].T


def stack_of(X_, kernels=KERNELS, **options):
    stack = CompletedStack(kernels, **options).fit(X_)
    stack.complete()
    return stack


def crossed(stack, X_):
    views = stack.reference.__class__(X_)
    present = stack.presence(views)
    return np.array([stack.cross(m, views, present[:, m]) for m in range(stack.n_kernels)])


NATIVE = KernelStack(KERNELS).fit(X)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_gram_matrices_are_those_of_the_formulas(normalize):
    native = KernelStack(KERNELS, normalize).fit(X)
    assert_allclose(stack_of(X, normalize=normalize).matrices(), completed(native.matrices(), HELD), atol=1e-9)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_new_samples_are_completed_by_the_formulas(normalize):
    native = KernelStack(KERNELS, normalize).fit(X)
    raw = native.matrices()
    views = native.reference.__class__(NEW)
    present = native.presence(views)
    new = np.array([native.cross(m, views, present[:, m]) for m in range(len(KERNELS))])
    expected = completed(raw, HELD, new, HELD_NEW)[:, N:]
    stack = stack_of(X, normalize=normalize)
    assert_allclose(crossed(stack, NEW), expected, atol=1e-9)
    some = np.array([2, 3, 5, 8, 30, 59])
    assert_allclose(crossed(stack.restrict(some), NEW), expected[:, :, some], atol=1e-9)


def test_completed_kernels_are_positive_semidefinite_and_symmetric():
    for K in stack_of(X).matrices():
        assert_array_equal(K, K.T)
        assert np.linalg.eigvalsh(K)[0] > -1e-10


def test_coefficients_of_a_sample_add_up_to_1():
    stack = stack_of(X)
    assert sum(len(A) for A in stack.coefficients) == (~HELD).sum()
    for A in stack.coefficients:
        assert_allclose(A.sum(axis=1), 1.0)


def test_a_training_sample_as_a_new_one_has_its_row():
    stack = stack_of(X)
    assert_allclose(crossed(stack, X), stack.matrices(), atol=1e-10)
    assert_allclose(crossed(stack.restrict(np.arange(7, 30)), X), stack.matrices()[:, :, 7:30], atol=1e-10)


def test_a_sample_compared_with_itself_has_the_diagonal_of_the_formula():
    stack = stack_of(X)
    views = stack.reference.__class__(X)
    for m in range(stack.n_kernels):
        _, diagonal = stack.compare(m, views, np.ones(N, dtype=bool))
        assert_allclose(diagonal, np.diagonal(stack.matrices()[m]), atol=1e-10)


def test_nobody_lacks_a_view_for_combiners():
    stack = training(stack_of(X))
    assert stack.present.all() and stack.presence(stack.reference).all()
    assert_array_equal(stack.present_counts(), N)
    assert_array_equal(stack.scaling(np.ones(5)), 1.0)
    part = stack.subset(np.arange(5, 25))
    assert_array_equal(part.matrices(), stack.matrices()[:, 5:25, 5:25])
    assert_allclose(crossed(part.restrict(np.arange(4)), NEW), crossed(stack, NEW)[:, :, 5:9], atol=1e-10)


def test_weights_count_as_repeated_samples():
    weight = np.ones(N)
    weight[:20] = 2.0
    again = pd.concat([X, X[:20]], ignore_index=True)
    stack = CompletedStack(KERNELS).fit(X, weight)
    stack.complete()
    assert_allclose(stack.matrices(), stack_of(again).matrices()[:, :N, :N], atol=1e-10)


# Estimators


@pytest.mark.parametrize("combiner", [None, LpMKL(), ConvexMKL(), Product()])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "center"])
def test_nothing_changes_where_no_view_is_missing(combiner, normalize):
    models = [
        MKLClassifier(KERNELS, combiner, normalize=normalize, missing=m).fit(WHOLE, Y) for m in ("native", "complete")
    ]
    assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)
    full = NEW[HELD_NEW.all(axis=1)]
    assert_array_equal(*(model.decision_function(full) for model in models))


def test_samples_with_all_views_take_no_regression(monkeypatch):
    model = clone(SMALL).fit(X, Y)
    monkeypatch.setattr(CompletedStack, "_training", None)
    model.predict(NEW[HELD_NEW.all(axis=1)])
    with pytest.raises(TypeError):
        model.predict(NEW)


COMBINERS = {
    "mean": Mean(),
    "fixed": FixedWeights([0.0, 1.0, 0.5, 0.0, 2.0]),
    "lp": LpMKL(),
    "convex": ConvexMKL(),
    "alignment": AlignmentWeights(),
    "single": BestSingle(cv=3),
    "polynomial": PolynomialMKL(),
    "generalized": GeneralizedMKL("sum"),
    "product": Product(),
}


@pytest.mark.parametrize("combiner", COMBINERS.values(), ids=COMBINERS)
def test_training_and_prediction_share_one_kernel(combiner):
    model = MKLClassifier(KERNELS, combiner, C=3.0, missing="complete", random_state=0)
    kernel = clone(model).fit_kernel(X, Y)
    model.fit(X, Y)
    values = kernel.gram()[:, model.support_] @ model.dual_coef_.T + model.intercept_
    assert_allclose(model._values(X), values, atol=1e-8)


@pytest.mark.parametrize("combiner", [c for c in COMBINERS.values() if not isinstance(c, Product)])
def test_contributions_add_up(combiner):
    model = MKLClassifier(KERNELS, combiner, C=3.0, missing="complete", random_state=0).fit(X, Y)
    parts = model.contributions(NEW)
    assert_allclose(parts.sum(axis=1), model.decision_function(NEW), atol=1e-10)


def test_a_completed_view_has_its_weight_and_its_part():
    model = clone(SMALL).fit(X, Y)
    assert_allclose(model.kernel_weights(NEW), 0.2)
    lacking = ~HELD_NEW[:, 3]
    assert (model.contributions(NEW).loc[lacking, "d"] != 0.0).all()
    native = MKLClassifier(KERNELS).fit(X, Y)
    assert (native.contributions(NEW).loc[lacking, "d"] == 0.0).all()


@pytest.mark.parametrize("combiner", [None, LpMKL(), PolynomialMKL(degree=1)])
def test_feature_weights_are_those_of_samples_with_all_views(combiner):
    model = clone(SMALL).set_params(combiner=combiner, normalize=None).fit(X, Y)
    full = NEW[HELD_NEW.all(axis=1)]
    part = full.loc[:, full.columns.str.startswith("d__")] @ model.feature_weights("d")
    assert_allclose(part, model.contributions(full)["d"], atol=1e-10)


def test_several_classes_and_weights_of_their_own():
    labels = np.digitize(X.fillna(0.0)["a__0"], [-0.5, 0.5])
    for multiclass in ("one-vs-all", "one-vs-one", "joint"):
        model = MKLClassifier(KERNELS, missing="complete", multiclass=multiclass).fit(X, labels)
        assert model.decision_function(NEW).shape == (40, 3)
    for multiclass in ("one-vs-all", "one-vs-one"):
        options = {"missing": "complete", "multiclass": multiclass, "weights": "per-class"}
        model = MKLClassifier(KERNELS, LpMKL(), **options).fit(X, labels)
        first = model.contributions(NEW)[model.kernel_weights_.index[0]]
        assert_allclose(first.sum(axis=1), model._values(NEW)[:, 0], atol=1e-10)


@pytest.mark.parametrize("model", [MKLRegressor(KERNELS), MKLOneClass(KERNELS)])
def test_regression_and_novelty(model):
    native = clone(model).fit(X, Y.astype(float))
    model = clone(model).set_params(missing="complete").fit(X, Y.astype(float))
    assert not np.allclose(model._values(NEW), native._values(NEW))
    assert_allclose(model.contributions(NEW).sum(axis=1), model._values(NEW)[:, 0], atol=1e-10)


def test_two_views_need_one_step():
    model = MKLClassifier(["a", "b"], missing="complete")
    some = HELD[:, :2].any(axis=1)
    model.fit(X[some], Y[some])
    assert np.isfinite(model.decision_function(NEW[HELD_NEW[:, :2].any(axis=1)])).all()


def test_a_view_that_only_new_samples_lack():
    model = MKLClassifier(KERNELS, missing="complete").fit(WHOLE, Y)
    raw = KernelStack(KERNELS).fit(WHOLE)
    raw.matrices()
    views = raw.reference.__class__(NEW)
    there = raw.presence(views)
    new = np.array([raw.cross(m, views, there[:, m]) for m in range(len(KERNELS))])
    K = completed(raw.matrices(), np.ones_like(HELD), new, HELD_NEW)[:, N:].mean(axis=0)
    expected = K[:, model.support_] @ model.dual_coef_[0] + model.intercept_
    assert_allclose(model.decision_function(NEW), expected, atol=1e-9)


def test_columns_of_a_view_may_be_absent():
    model = clone(SMALL).fit(X, Y)
    without = NEW.copy()
    without.loc[:, without.columns.str.startswith("d__")] = np.nan
    some = HELD_NEW[:, :3].any(axis=1)
    dropped = NEW.drop(columns=NEW.filter(like="d__").columns)
    assert_array_equal(model.decision_function(without[some]), model.decision_function(dropped[some]))


def test_views_without_weight_complete_others():
    model = MKLClassifier(KERNELS, FixedWeights([0.0, 0.0, 1.0, 0.0, 0.0]), missing="complete").fit(X, Y)
    assert model.removable_kernels_ == []
    assert np.ptp(model.decision_function(NEW[~HELD_NEW[:, 1]])) > 0.0


def test_a_constant_kernel_completes_with_the_mean():
    stack = stack_of(X[["a__0"]].iloc[HELD[:, 0]], [Linear("a__0"), Constant()])
    assert stack.present.all()
    only = np.flatnonzero(HELD[:, 0])
    column = X["a__0"].to_numpy().copy()
    stack = stack_of(pd.DataFrame({"a__0": column, "z__0": 1.0}), [Linear("a__0"), Linear("z__0")], normalize=None)
    lacking = np.flatnonzero(~HELD[:, 0])
    assert_allclose(stack.matrices()[0][lacking[0], only], column[only] * column[only].mean())


def test_indefinite_kernels_are_completed_too():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(N, N))
    ids = pd.DataFrame({"id": np.arange(N, dtype=float), "a": rng.normal(size=N)})
    ids.loc[::7, "a"] = np.nan
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        stack = stack_of(ids, [Precomputed(K + K.T, "id"), Linear("a")], normalize=None)
    assert np.isfinite(stack.matrices()).all()


def test_a_sample_without_any_view_is_an_error_as_ever():
    nothing = NEW.copy()
    nothing.iloc[3] = np.nan
    with pytest.raises(ValueError, match="sample 3 has no view at all"):
        clone(SMALL).fit(X, Y).predict(nothing)


def test_a_view_of_which_nothing_tells_is_an_error():
    apart = X[["a__0", "b__0"]].copy()
    apart.loc[::2], apart.loc[1::2] = [np.nan, 1.0], [2.0, np.nan]
    message = "completes the kernel 'a' .* but no training sample has both; use missing=\"native\""
    with pytest.raises(ValueError, match=message):
        MKLClassifier(["a", "b"], missing="complete").fit(apart, Y)
    joined = MKLClassifier(["a", "b", ("both", Linear("a") * Linear("b"))], missing="complete")
    some = HELD[:, :2].any(axis=1)
    with pytest.raises(ValueError, match="completes the kernel 'both' .* but there are none"):
        joined.fit(X[some], Y[some])


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"storage": "lazy"}, 'storage="lazy" computes kernels in parts, but missing="complete" completes whole'),
        ({"combiner": Localized(), "approximation": "nystroem"}, "completes kernels, and Localized reads the views"),
        ({"combiner": Localized()}, "completes kernels, and Localized reads the views themselves"),
        ({"combiner": Projected()}, "completes kernels, and Projected reads the views themselves"),
        ({"combiner": "localized", "weights": "per-class"}, "Localized reads the views themselves"),
        ({"missing": "fill"}, 'missing of MKLClassifier must be "native" or "complete"'),
    ],
)
def test_refusals_name_a_remedy(options, message):
    with pytest.raises(ValueError, match=message):
        clone(SMALL).set_params(**options).fit(X, Y)


def test_a_device_is_refused(monkeypatch):
    monkeypatch.setattr("kernelweave.estimators.training.chosen_place", lambda device: SimpleNamespace(is_host=False))
    message = 'a device other than the CPU computes kernels in parts, but missing="complete" .* missing="native"'
    with pytest.raises(ValueError, match=message):
        clone(SMALL).fit(X, Y)


def test_auto_storage_is_dense_where_views_are_completed(monkeypatch):
    monkeypatch.setattr("kernelweave.estimators.training.is_small", lambda *given: False)
    assert MKLClassifier(KERNELS).fit(X, Y).storage_ == "lazy"
    assert clone(SMALL).fit(X, Y).storage_ == "dense"


# Around it


def test_saved_and_loaded_models_are_the_same(tmp_path):
    for combiner in (None, FixedWeights([0.0, 1.0, 0.5, 0.0, 2.0]), LpMKL(), Product(), PolynomialMKL()):
        model = clone(SMALL).set_params(combiner=combiner).fit(X, Y)
        save(model, tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))
        assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(NEW), model.decision_function(NEW))


def test_what_is_kept_does_not_grow_by_prediction():
    model = clone(SMALL).fit(X, Y)
    size = len(pickle.dumps(model))
    model.predict(NEW)
    assert len(pickle.dumps(model)) == size


def test_a_search_over_the_rule():
    search = GridSearchCV(clone(SMALL), {"missing": ["native", "complete"], "C": [1.0, 10.0]}, cv=3).fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_params_["missing"] in ("native", "complete")
    assert np.isfinite(scores).all()


def test_kernels_that_folds_share_are_completed():
    train, test = np.arange(40), np.arange(40, N)
    shared = SharedFoldKernels(SMALL, ["missing", "C"])
    assert shared.possible
    parameters = shared.parameters([shared.of_fold(X, Y, train, test)])
    for missing in ("native", "complete"):
        plain = clone(SMALL).set_params(missing=missing).fit(X.iloc[train], Y[train])
        own = clone(SMALL).set_params(missing=missing, **parameters).fit(X.iloc[train], Y[train])
        assert_allclose(own.decision_function(X.iloc[test]), plain.decision_function(X.iloc[test]), atol=1e-10)


def test_precomputed_kernels_are_completed_and_saved(tmp_path):
    ids = {}
    for v, there in zip(VIEWS[:3], HELD[:, :3].T, strict=True):
        ids[v] = np.where(there, np.arange(N), np.nan)
    table = pd.DataFrame(ids)
    some = table.notna().any(axis=1).to_numpy()
    raw = KernelStack([Linear(v) for v in VIEWS[:3]], None).fit(WHOLE).matrices()
    kernels = [Precomputed(K, v) for K, v in zip(raw, VIEWS[:3], strict=True)]
    train, test = table[some].iloc[:35], table[some].iloc[35:]
    model = MKLClassifier(kernels, missing="complete").fit(train, Y[some][:35])
    given = MKLClassifier([Linear(v) for v in VIEWS[:3]], missing="complete")
    given.fit(X.loc[train.index], Y[some][:35])
    assert_allclose(model.decision_function(test), given.decision_function(X.loc[test.index]), atol=1e-8)
    for combiner in (None, FixedWeights([0.0, 1.0, 1.0])):  # a kernel without weight completes the others
        model.set_params(combiner=combiner).fit(train, Y[some][:35])
        save(model, tmp_path / "model")
        assert_array_equal(load(tmp_path / "model").decision_function(test), model.decision_function(test))


def test_samples_that_precomputed_kernels_are_extended_by():
    A, B = (np.random.default_rng(seed).normal(size=(N, 4)) for seed in (0, 1))
    known = [Precomputed(M[:50] @ M[:50].T, v) for v, M in (("a", A), ("b", A + 0.1 * B))]
    whole = [Precomputed(M @ M.T, v) for v, M in (("a", A), ("b", A + 0.1 * B))]
    ids = pd.DataFrame({v: np.arange(float(N)) for v in "ab"})
    ids.loc[3:9, "a"], ids.loc[52:55, "a"] = np.nan, np.nan
    model = MKLClassifier(known, missing="complete").fit(ids[:50], Y[:50])
    expected = MKLClassifier(whole, missing="complete").fit(ids[:50], Y[:50]).decision_function(ids[50:])
    rows = A[50:] @ A[:50].T, (A + 0.1 * B)[50:] @ (A + 0.1 * B)[:50].T
    rows[0][2:6] = np.nan
    diagonal = {"a": (A[50:] ** 2).sum(axis=1), "b": ((A + 0.1 * B)[50:] ** 2).sum(axis=1)}
    new = model.extend_kernels(dict(zip("ab", rows, strict=True)), diagonal)
    assert_allclose(model.decision_function(new), expected)


def test_soft_labels_take_completed_neighbours():
    model = clone(SMALL).set_params(soft_labels="knn", n_neighbors=5).fit(X, Y)
    assert np.isfinite(model.decision_function(NEW)).all()


def test_single_precision():
    single = clone(SMALL).set_params(dtype="float32", C=1.0).fit(X, Y)
    double = clone(SMALL).set_params(C=1.0).fit(X, Y)
    assert_allclose(single.decision_function(NEW), double.decision_function(NEW), atol=1e-2)


def test_it_beats_the_native_rule_where_views_share_their_factors():
    """A third of the views of two factors is missing; what the others tell of them is an eighth of the error."""
    angles = np.random.default_rng(0).uniform(0.0, np.pi, size=(len(VIEWS), 3))
    mixing = np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def data(n_samples, rng):
        factors, held = rng.normal(size=(n_samples, 2)), rng.random((n_samples, len(VIEWS))) >= 0.3
        held[~held.any(axis=1), 0] = True
        noisy = [factors @ M + 0.5 * rng.normal(size=(n_samples, 3)) for M in mixing]
        return stack_views(
            {v: np.where(there[:, None], A, np.nan) for v, A, there in zip(VIEWS, noisy, held.T, strict=True)}
        ), factors[:, 0] - factors[:, 1]

    errors = {"native": 0.0, "complete": 0.0}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        training_samples, (X_new, y_new) = data(200, rng), data(500, rng)
        for missing in errors:
            model = MKLRegressor(list(VIEWS), normalize=None, machine="least-squares", missing=missing)
            errors[missing] += 1.0 - model.fit(*training_samples).score(X_new, y_new)
    assert errors["complete"] < 0.875 * errors["native"]
