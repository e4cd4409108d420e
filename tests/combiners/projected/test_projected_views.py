"""Projections of views and kernels of every kind: missing, sparse, precomputed, text, odd scales and sizes."""

import functools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import GaussianGate, InstanceGate, KernelMap, Projected, Sigmoid, Softmax
from kernelweave.combiners import inputs as gating_inputs
from kernelweave.kernels import Gaussian, Linear, Polynomial, Precomputed, Spectrum
from localized_problem import LABELS, SIGNS, TARGET, N
from projected_problem import KERNELS, MISSING, SIDE, WIDE, A, B, X, local_model

NEW = np.random.default_rng(7).normal(size=(9, 7))
VIEWS = stack_views({"a": WIDE[:, :2], "b": WIDE[:, 2:4], "c": 0.01 * WIDE[:, 4:]})
TRUTH = np.where(WIDE[:, 0] > 0, WIDE[:, 1] > 0, WIDE[:, 2] > 0)


@functools.cache
def views_model(features="auto"):
    """A model that opens the views a and b, in regions that a decides, and closes c, which holds nothing."""
    return closing_model([Linear("a"), Linear("b"), Linear("c")], VIEWS, features=features)


def closing_model(kernels, frame, **options):
    """The smallest of twelve minima: some others leave the last kernel open."""
    options = {"gate_tol": 0.16, "l2": 1e-5, "inputs": "a", "n_init": 12, **options}
    model = MKLClassifier(kernels, Projected(1, Softmax("paper"), **options), C=10.0, normalize=None, random_state=0)
    return model.fit(frame[:120], TRUTH[:120])


def test_local_projections_find_the_regions():
    model = local_model()
    assert model.score(WIDE[120:], SIDE[120:]) > 0.85
    assert len(model.support_) < 40
    flat = MKLClassifier([Linear()], Projected(1), C=10.0, normalize=None, random_state=0).fit(WIDE[:120], SIDE[:120])
    assert flat.score(WIDE[120:], SIDE[120:]) < 0.7


@pytest.mark.parametrize(("kernels", "gating"), [("mixed", Softmax()), ("linear", None)])
@pytest.mark.filterwarnings("ignore:.*this model is not localized")
def test_every_estimator_and_machine(kernels, gating):
    labels = np.digitize(X[:, 0], [-0.4, 0.4])
    for options in (
        {},
        {"multiclass": "one-vs-all"},
        {"multiclass": "joint"},
        {"multiclass": "one-vs-all", "machine": "least-squares"},
        {"weights": "per-class"},
        {"weights": "per-class", "multiclass": "one-vs-all"},
    ):
        model = MKLClassifier(KERNELS[kernels], Projected(2, gating, l2=1e-3), C=100.0, random_state=0, **options).fit(
            X, labels
        )
        assert model.decision_function(NEW).shape == (9, 3)
        assert model.score(X, labels) > 0.8
        if "weights" not in options:  # one projection for all classes
            assert model.projections_["linear"].shape == (3, 2)
    model = MKLRegressor(KERNELS[kernels], Projected(2, gating), C=10.0, random_state=0).fit(X, TARGET)
    assert model.score(X, TARGET) > 0.8
    model = MKLOneClass(KERNELS[kernels], Projected(2, gating), random_state=0).fit(X)
    assert set(model.predict(NEW)) <= {-1, 1}


def test_one_class_collapse_is_told():
    kernels = [Polynomial([0], degree=3), Gaussian(scale=1.0)]
    with pytest.warns(UserWarning, match="every sample has nearly the same kernel weights"):
        combiner = Projected(1, Softmax(), l2=0.0, max_iter=2000)
        MKLOneClass(kernels, combiner, random_state=0, tol=1e-8).fit(X)


def test_more_components_than_features():
    model = MKLClassifier(KERNELS["linear"], Projected(4), random_state=0).fit(X, SIGNS)
    assert [W.shape for W in model.projections_.values()] == [(3, 3), (4, 4)]
    with pytest.raises(ValueError, match=r"n_components of the kernel 'linear' is 4, but it has only 3 feature\(s\)"):
        MKLClassifier(KERNELS["linear"], Projected([4, 4])).fit(X, SIGNS)
    model = MKLClassifier(KERNELS["linear"], Projected(1, Softmax(), gating_components=50), random_state=0)
    assert model.fit(X, SIGNS).gating_projection_.shape == (7, 7)


@pytest.mark.parametrize("counts", [[1, 3], (1, 3), np.array([1, 3]), {"linear-2": 3, "linear": 1}])
def test_components_of_each_kernel(counts):
    model = MKLClassifier(KERNELS["linear"], Projected(counts), random_state=0).fit(X, SIGNS)
    assert [W.shape for W in model.projections_.values()] == [(3, 1), (4, 3)]


def test_a_constant_view():
    frame = stack_views({"a": X[:, :3], "one": np.full((N, 2), 3.0)})
    for kernel in (Linear("one"), Polynomial("one"), Gaussian("one", scale=1.0)):
        for normalize in ("unit-diagonal", "center", "unit-trace"):
            for features in ("auto", "kpca"):
                kernels = [Linear("a"), kernel]
                combiner = Projected(1, Softmax(), inputs="a", features=features)
                model = MKLClassifier(kernels, combiner, C=10.0, normalize=normalize, random_state=0)
                model.fit(frame, TARGET > 0)
                assert np.isfinite(model.decision_function(frame)).all()


def test_zero_rows_stay_zero_with_one_warning():
    zero = X.copy()
    zero[4, A] = 0.0
    for features in ("auto", "kpca"):
        model = MKLClassifier(KERNELS["linear"], Projected(2, features=features), random_state=0)
        with pytest.warns(UserWarning, match=r"'linear' is zero for 1 sample\(s\)") as told:
            model.fit(zero, SIGNS)
        assert len(told) == 1
        assert_allclose(model.project(zero).iloc[4, :2], 0.0, atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a polynomial with a constant is not zero there
        MKLClassifier(KERNELS["quadratic"], Projected(2), random_state=0).fit(zero, SIGNS)
    with pytest.warns(UserWarning, match=r"'polynomial' is zero for 1 sample"):
        MKLClassifier([Polynomial(A, coef0=0.0)], Projected(2), random_state=0).fit(zero, SIGNS)


@pytest.mark.parametrize("features", ["kpca", "map"])
def test_rank_deficient_kernels(features):
    F = X[:, :2]
    kernel = Precomputed(F @ F.T)
    combiner = Projected(5, features=features)
    ids = np.arange(N)[:, None]
    model = MKLClassifier([kernel], combiner, C=10.0, normalize=None, random_state=0, tol=1e-5).fit(ids, SIGNS)
    if features == "kpca":
        assert model.projections_["precomputed"].shape == (2, 2)
        assert model.projections_["precomputed"].index.tolist() == ["component 0", "component 1"]
        plain = MKLClassifier([Linear()], C=10.0, normalize=None, tol=1e-5).fit(F, SIGNS)
        assert_allclose(model.decision_function(ids), plain.decision_function(F), atol=1e-3)
    else:
        assert model.projections_["precomputed"].shape == (N, 5)
        assert model.projections_["precomputed"].index[3] == "sample 3"


def test_a_kernel_of_zeros():
    kernels = [Precomputed(np.zeros((N, N))), Precomputed(X @ X.T)]
    combiner = Projected(2, Softmax(), inputs=KernelMap(Precomputed(X @ X.T)))
    ids = np.arange(N)[:, None]
    model = MKLClassifier(kernels, combiner, normalize=None, random_state=0).fit(ids, SIGNS)
    assert model.projections_["precomputed"].shape == (1, 1)
    assert np.isfinite(model.decision_function(ids)).all()


@pytest.mark.parametrize("repair", ["clip", "shift"])
def test_indefinite_kernels_are_repaired_before_kernel_pca(repair):
    K = X @ X.T - 3.0 * np.outer(X[:, 6], X[:, 6])
    ids = np.arange(N)[:, None]
    fits = [
        MKLClassifier([Precomputed(K, repair=repair)], combiner, normalize=None, tol=1e-6, random_state=0).fit(
            ids, SIGNS
        )
        for combiner in (None, Projected(99, max_iter=5))
    ]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-4)
    if repair == "clip":  # after a shift, new samples may have a part in the direction that became zero
        assert_allclose(fits[0].decision_function(ids), fits[1].decision_function(ids), atol=5e-3)


def test_duplicated_samples():
    doubled, y = np.vstack([X, X]), np.concatenate([SIGNS, SIGNS])
    for features in ("auto", "kpca"):
        combiner = Projected(2, Softmax(), features=features)
        model = MKLClassifier(KERNELS["gaussian"], combiner, C=10.0, random_state=0).fit(doubled, y)
        assert_allclose(model.decision_function(doubled[:N]), model.decision_function(doubled[N:]), atol=1e-6)


@pytest.mark.parametrize("factor", [2.0**-500, 2.0**-30, 2.0**30, 2.0**500])
def test_units_do_not_matter_where_rows_are_normalised(factor):
    combiner = Projected(2, Softmax(), gating_components=2)
    kernels = [Linear(A), Polynomial(B)]
    values = []
    for scale in (1.0, factor):
        model = MKLClassifier(kernels, combiner, C=10.0, random_state=0).fit(scale * X, TARGET > 0)
        assert model.score(scale * X, TARGET > 0) > 0.8
        values.append(model.decision_function(scale * NEW))
    assert_allclose(*values, atol=1e-6)


@pytest.mark.parametrize(("gating", "inputs"), [(None, None), (Softmax(), KernelMap(Linear([0, 1])))])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", None])
def test_sparse_views(gating, inputs, normalize):
    thin = np.where(np.abs(X) < 0.4, 0.0, X)
    thin[:, 0] += 3.0  # no row is zero
    model = MKLClassifier(KERNELS["mixed"], Projected(2, gating, inputs=inputs), normalize=normalize, random_state=0)
    dense = clone(model).fit(thin, SIGNS)
    for container in (sp.csr_matrix, sp.csr_array) if normalize is None else (sp.csr_array,):
        model.fit(container(thin), SIGNS)
        assert model.history_["objective"].iloc[0] == pytest.approx(dense.history_["objective"].iloc[0], rel=1e-4)
        for fitted in (model, dense):
            new = sp.csr_matrix(NEW)
            assert_allclose(fitted.decision_function(new), fitted.decision_function(NEW), atol=1e-10)
            assert_allclose(fitted.project(new), fitted.project(NEW), atol=1e-10)


def test_sparse_views_that_would_become_dense(monkeypatch):
    monkeypatch.setattr(gating_inputs, "WIDEST", X.shape[1] - 1)
    thin = sp.csr_matrix(X)
    with pytest.raises(ValueError, match='normalize="center" would make the sparse view of the kernel .linear. dense'):
        MKLClassifier([Linear()], Projected(1), normalize="center").fit(thin, SIGNS)
    with pytest.raises(ValueError, match="the gating input 'linear' is sparse.*set the combiner's inputs"):
        MKLClassifier([Linear()] * 2, Projected(1, Softmax())).fit(thin, SIGNS)
    with pytest.raises(ValueError, match="the kernel 'linear' is sparse.*set the combiner's inputs.*scaling to None"):
        MKLClassifier([Linear()] * 2, Projected(1, Softmax(), features={"linear-2": "kpca"})).fit(thin, SIGNS)
    kernels, features = [Linear(), Gaussian(scale=3.0)], {"linear": "kpca"}
    model = MKLClassifier(kernels, Projected(2, features=features), normalize="center", random_state=0)
    model.fit(thin, SIGNS)
    assert_allclose(model.decision_function(thin), model.decision_function(X), atol=1e-8)


def test_float32():
    for features in ("auto", "kpca"):
        for gating in (None, Softmax()):
            combiner = Projected(1, gating, features=features)
            fits = [
                MKLClassifier(KERNELS["linear"], combiner, C=0.1, dtype=dtype, random_state=0).fit(X, LABELS)
                for dtype in ("float64", "float32")
            ]
            assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=0.02)


@pytest.mark.parametrize("gating", [None, Softmax(), Sigmoid(), GaussianGate(), InstanceGate()])
@pytest.mark.parametrize("features", ["auto", "kpca"])
def test_samples_that_lack_views(gating, features):
    frame = stack_views({"a": MISSING[:, :3], "b": MISSING[:, 3:]})
    combiner = Projected(2, gating, features=features)
    model = MKLClassifier([Gaussian("a", scale=2.0), Linear("b")], combiner, random_state=0).fit(frame, LABELS)
    weights = model.kernel_weights(frame)
    absent = np.column_stack([np.isnan(MISSING[:, 0]), np.isnan(MISSING[:, 3])])
    assert (weights.to_numpy()[absent] == 0).all()
    if gating is None:
        assert_allclose(weights.sum(axis=1), 1.0)
    projected = model.project(frame).to_numpy()
    assert (projected[absent[:, 0], :2] == 0).all() and (projected[absent[:, 1], 2:] == 0).all()
    apart = model.project(frame, by_kernel=True)
    assert_array_equal(np.isnan(apart["a"]).all(axis=1), absent[:, 0])
    assert_array_equal(apart["b"].notna().all(axis=1), ~absent[:, 1])
    assert np.isfinite(model.decision_function(frame)).all()


def test_a_view_that_is_switched_off_may_be_absent():
    model = views_model()
    assert model.active_kernels_ == ["a", "b"] and model.removable_kernels_ == ["c"]
    some = VIEWS.iloc[120:].drop(columns=["c__0", "c__1"])
    assert_array_equal(model.predict(some), model.predict(VIEWS.iloc[120:]))
    assert_array_equal(model.project(some), model.project(VIEWS.iloc[120:]))
    assert (model.project(some)["c__0"] == 0).all() and "c" not in model.project(some, by_kernel=True)
    assert_array_equal(model.region(some), model.region(VIEWS.iloc[120:]))
    assert model.score(some, TRUTH[120:]) > 0.85
    with pytest.raises(ValueError, match=r"lacks all gating inputs \(a\)"):
        model.predict(VIEWS[["b__0", "b__1"]])


def test_closed_kernel_features_are_not_kept():
    frame = VIEWS.assign(id=np.arange(200))
    kernels = [Linear("a"), Linear("b"), Precomputed(1e-4 * WIDE[:, 4:] @ WIDE[:, 4:].T, "id")]
    model = closing_model(kernels, frame)
    assert model.removable_kernels_ == ["id"]
    assert model._kernel.stack.n_samples == 0
    some = frame.iloc[120:].drop(columns="id")
    assert_array_equal(model.predict(some), model.predict(frame.iloc[120:]))


def fetching(asked):
    def fetch(view, rows):
        asked.append((view, rows))
        return VIEWS.iloc[120:].iloc[rows][["b__0", "b__1"]]

    return fetch


@pytest.mark.parametrize("features", ["auto", "kpca"])
def test_fetch_is_asked_for_the_samples_whose_gate_opens(features):
    model = views_model(features=features)
    new = VIEWS.iloc[120:]
    needed, asked = np.flatnonzero(model.kernel_weights(new)["b"]), []
    assert 0 < len(needed) < len(new)
    values = model.decision_function(new.drop(columns=["b__0", "b__1"]), fetch=fetching(asked))
    assert_allclose(values, model.decision_function(new), atol=1e-10)
    assert_array_equal(np.unique(np.concatenate([rows for _, rows in asked])), needed)


def test_fetch_cannot_supply_gating_inputs():
    kernels = [Linear("a"), Linear("b"), Linear("c")]
    model = closing_model(kernels, VIEWS, inputs=None, features="kpca", gate_tol=0.0, n_init=1)
    cheap = VIEWS.iloc[120:].assign(b__0=np.nan, b__1=np.nan)
    with pytest.raises(ValueError, match="sample 120 lacks gating inputs, which cannot be fetched"):
        model.predict(cheap, fetch=fetching([]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sample_weights_are_repetitions():
    weight, y = np.random.default_rng(0).integers(0, 4, N), TARGET > 0
    repeated = np.repeat(np.arange(N), weight)
    for normalize, C in (("unit-trace", 10.0), ("center", 10.0), ("unit-diagonal", 10.0)):
        for init in ("random", "lda") if normalize != "center" else ("pca",):
            options = {"C": C, "random_state": 0, "tol": 1e-4, "normalize": normalize}
            for kernels, gate, dimensions in ((KERNELS["linear"], Softmax(), 2), ([Gaussian(scale=3.0)], None, None)):
                combiner = Projected(2, gate, gating_components=dimensions, init=init, max_iter=5)
                model = MKLClassifier(kernels, combiner, **options)
                weighted = clone(model).fit(X, y, sample_weight=weight)
                plain = clone(model).fit(X[repeated], y[repeated])
                first = [fitted.history_["objective"].iloc[0] for fitted in (weighted, plain)]
                assert first[0] == pytest.approx(first[1], rel=1e-4)  # the same start and kernel
            early = [fitted.history_["objective"].iloc[3] for fitted in (weighted, plain)]
            assert early[0] == pytest.approx(early[1], rel=0.01)  # and the same way, until rounding parts them


def test_the_order_of_samples_does_not_matter():
    order = np.random.default_rng(1).permutation(N)
    for init in ("random", "lda"):
        for kernels, gate, dimensions in ((KERNELS["linear"], Softmax(), 2), ([Gaussian(scale=3.0)], None, None)):
            combiner = Projected(2, gate, gating_components=dimensions, init=init, max_iter=500)
            model = MKLClassifier(kernels, combiner, random_state=0, tol=1e-6)
            one, other = clone(model).fit(X, SIGNS), clone(model).fit(X[order], SIGNS[order])
            assert one.history_["objective"].iloc[0] == pytest.approx(other.history_["objective"].iloc[0], rel=1e-6)
        assert one.objective_ == pytest.approx(other.objective_, rel=1e-3)


@pytest.mark.parametrize("inputs", [None, "map"])
@pytest.mark.parametrize("features", ["kpca", "map"])
def test_precomputed_kernels_can_be_extended(inputs, features):
    F = np.random.default_rng(2).normal(size=(50, 3))
    K, y = F @ F.T + 1.0, F[:40, 0] * F[:40, 1] > 0
    known = [Precomputed(K[:40, :40]), Precomputed(K[:40, :40] ** 2)]
    whole = [Precomputed(K), Precomputed(K**2)]

    def fitted(kernels):
        source = None if inputs is None else KernelMap(kernels[0])
        combiner = Projected(2, Softmax(), gating_components=2, inputs=source, features=features)
        return MKLClassifier(kernels, combiner, random_state=0).fit(np.arange(40)[:, None], y)

    model, other = fitted(known), fitted(whole)
    for name, kernel, values in zip(model.kernel_names_, known, (K, K**2), strict=True):
        model.replace_kernel(name, kernel.extend(values[40:, :40], np.diagonal(values)[40:]))
    new = np.arange(40, 50)[:, None]
    assert_allclose(model.decision_function(new), other.decision_function(new), atol=1e-8)
    assert_allclose(model.project(new), other.project(new), atol=1e-8)
    first = model.gating_projection_.index[0]
    assert first == ("sample 0" if inputs else f"precomputed: {'sample' if features == 'map' else 'component'} 0")


def test_text_and_numbers():
    words = ["".join(word) for word in np.random.default_rng(0).choice(list("abc"), size=(60, 6))]
    y = np.array(["ab" in word for word in words])
    frame = stack_views({"word": words, "x": WIDE[:60, :2]})
    kernels = [Spectrum("word", k=2), Linear("x")]
    for gating in (None, Softmax()):
        model = MKLClassifier(kernels, Projected(2, gating), C=10.0, random_state=0).fit(frame[:40], y[:40])
        assert model.score(frame[40:], y[40:]) > 0.7
        assert model.project(frame[40:]).shape == (20, 4)
    assert list(model.projections_["x"].index) == ["x__0", "x__1"]


def test_copies_of_a_kernel_are_gating_inputs_once():
    kernel = Precomputed(X @ X.T)
    model = MKLClassifier([kernel] * 3, Projected(1, Softmax(), gating_components=2), random_state=0)
    model.fit(np.arange(N)[:, None], SIGNS)
    assert model.gating_projection_.shape == (7, 2)
    assert model.gating_projection_.index[0] == "precomputed: component 0"


def test_a_projection_for_each_class():
    labels = np.digitize(X[:, 0], [-0.4, 0.4])
    for multiclass in ("one-vs-one", "one-vs-all"):
        for features in ("auto", "kpca"):
            combiner = Projected(1, Softmax(), features=features)
            model = MKLClassifier(
                KERNELS["gaussian"], combiner, C=10.0, weights="per-class", multiclass=multiclass, random_state=0
            ).fit(X, labels)
            assert model.kernel_weights(NEW).shape == (9, 6)
            assert model.score(X, labels) > 0.8
            with pytest.raises(AttributeError, match="project"):
                model.project(X)
            assert not hasattr(model, "projections_")


@pytest.mark.parametrize("features", ["auto", "kpca"])
def test_pickled_models_predict_alike(features):
    model = views_model(features=features)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(VIEWS), model.decision_function(VIEWS))
    pd.testing.assert_frame_equal(again.project(VIEWS), model.project(VIEWS))


def test_support_vectors_are_kept_as_points_only():
    model = MKLClassifier(KERNELS["mixed"], Projected(2, Softmax()), random_state=0).fit(X, SIGNS)
    kernel = model._kernel
    assert not hasattr(kernel.stack, "codes") and kernel.stack.reference.n_samples == 0
    assert [Z.shape for Z in kernel.points] == [(len(model.support_), 2)] * 3
    ids = np.arange(N)[:, None]
    model = MKLClassifier([Precomputed(X @ X.T + np.eye(N))], Projected(2), random_state=0).fit(ids, SIGNS)
    assert [D.shape for D in model._kernel.directions] == [(N, 2)]
    assert model._kernel.maps[0].training is None
