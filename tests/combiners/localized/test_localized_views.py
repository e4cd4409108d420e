"""Localized kernels with closed gates, missing and fetched views, and odd gating inputs."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import (
    ClusterGate,
    GaussianGate,
    InstanceGate,
    KernelMap,
    Localized,
    Mean,
    Sigmoid,
    Softmax,
)
from kernelweave.kernels import Gaussian, KernelStack, Linear, Polynomial, Precomputed
from localized_problem import GATES, KERNELS, LABELS, MISSING, SIDE, SIGNS, TARGET, TOY, X, rng

VIEWS = stack_views({"a": TOY[:, :1], "b": TOY[:, 1:], "c": rng.normal(size=(260, 2))})


def views_model(**options):
    combiner = Localized(**{"gate_tol": 0.2, "l2": 1e-4, "inputs": "a", **options})
    kernels = [Gaussian("a", scale=0.5), Gaussian("b", scale=0.5), Linear("c")]
    truth = np.where(TOY[:, 0] > 0, TOY[:, 1] > 0, np.sin(4 * TOY[:, 0]) > 0)
    return MKLClassifier(kernels, combiner, C=10.0, random_state=0).fit(VIEWS[:160], truth[:160]), truth


def test_closed_kernels_are_not_evaluated(monkeypatch):
    model, _ = views_model()
    weights, asked = model.kernel_weights(VIEWS[160:]).to_numpy(), []
    assert 0 < (weights == 0).mean() < 1
    cross = Gaussian.cross_of

    def counted(self, A, B):
        asked.append((self.label_, len(A), len(B)))
        return cross(self, A, B)

    expected = model.decision_function(VIEWS[160:])
    monkeypatch.setattr(Gaussian, "cross_of", counted)
    np.testing.assert_array_equal(model.decision_function(VIEWS[160:]), expected)
    open_support = (model.kernel_weights(VIEWS.iloc[model.support_]) > 0).sum()
    for label, n_new, n_support in asked:
        assert n_new == (weights[:, model.kernel_names_.index(label)] > 0).sum()
        assert n_support == open_support[label] < len(model.support_)


def test_prediction_cost_counts_open_pairs():
    model, _ = views_model()
    training, support = (model.kernel_weights(VIEWS.iloc[rows]) > 0 for rows in (np.arange(160), model.support_))
    expected = (support.sum() * training.mean()).sum() / 3
    assert model.prediction_cost() == pytest.approx(expected)
    assert expected < len(model.support_)


def test_a_view_that_is_closed_everywhere_may_be_absent():
    model, truth = views_model()
    assert (model.kernel_weights(VIEWS)["c"] == 0).all()
    some = VIEWS[["a__0", "b__0"]].iloc[160:]
    np.testing.assert_array_equal(model.predict(some), model.predict(VIEWS.iloc[160:]))
    assert model.score(some, truth[160:]) > 0.85
    with pytest.raises(ValueError, match=r"sample 0 lacks all gating inputs \(a\)"):
        model.predict(VIEWS[["b__0", "c__0", "c__1"]])


def test_a_view_that_gates_read_is_not_removable():
    options = {"gate_tol": 0.4, "l2": 0.01}
    everything, _ = views_model(inputs=["a", "c"], **options)
    assert everything.active_kernels_ == ["a", "b"] and everything.removable_kernels_ == []
    with pytest.raises(ValueError, match="1 of 2 columns of the view 'c': 'c__0'"):
        everything.predict(VIEWS[["a__0", "b__0", "c__1"]])
    missing = everything.decision_function(VIEWS.assign(c__0=np.nan, c__1=np.nan))
    np.testing.assert_array_equal(everything.decision_function(VIEWS[["a__0", "b__0"]]), missing)
    again, truth = views_model(inputs=everything.active_kernels_, **options)  # gates that let the closed view go
    assert again.removable_kernels_ == ["c"]
    assert again.score(VIEWS[["a__0", "b__0"]].iloc[160:], truth[160:]) > 0.85


def costly(asked):
    def fetch(view, rows):
        asked.append((view, rows))
        return VIEWS.iloc[160:].iloc[rows][["b__0"]]

    return fetch


@pytest.mark.parametrize("how", ["absent", "missing", "array"])
def test_fetch_is_asked_for_the_samples_whose_gate_opens(how, monkeypatch):
    monkeypatch.setattr("kernelweave.views.table.BLOCK_VALUES", 1000)
    model, _ = views_model()
    new = VIEWS.iloc[160:]
    expected, needed = model.decision_function(new), np.flatnonzero(model.kernel_weights(new)["b"])
    assert 0 < len(needed) < len(new)
    asked, cheap = [], new.drop(columns="b__0") if how == "absent" else new.assign(b__0=np.nan)
    fetch = costly(asked)
    if how == "array":
        with pytest.warns(UserWarning, match="feature names"):
            values = model.decision_function(cheap.to_numpy(), fetch=lambda v, r: fetch(v, r).to_numpy())
    else:
        values = model.decision_function(cheap, fetch=fetch)
        np.testing.assert_array_equal(model.predict(cheap, fetch=fetch), model.predict(new))
        asked_before = len(asked)
        np.testing.assert_allclose(model.kernel_weights(cheap, fetch=fetch), model.kernel_weights(new))
        assert len(asked) == asked_before
    np.testing.assert_allclose(values, expected, atol=1e-10)
    rows = np.concatenate([rows for _, rows in asked])
    np.testing.assert_array_equal(np.unique(rows), needed)
    assert len(rows) == len(needed) * (1 if how == "array" else 2) and {view for view, _ in asked} == {"b"}


def test_fetch_is_asked_only_for_what_is_missing():
    model, _ = views_model()
    new = VIEWS.iloc[160:].copy()
    needed = np.flatnonzero(model.kernel_weights(new)["b"])
    expected = model.decision_function(new)
    new.iloc[needed[:3], 1] = np.nan
    asked = []
    np.testing.assert_allclose(model.decision_function(new, fetch=costly(asked)), expected, atol=1e-10)
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in asked]), needed[:3])


def test_fetch_is_asked_once_for_a_view_that_several_kernels_read():
    kernels = [Gaussian("a"), Gaussian("b"), Linear("b")]
    model = MKLClassifier(kernels, Localized(inputs="a", l2=0.01), random_state=0).fit(VIEWS[:160], SIDE[:160])
    new, asked = VIEWS.iloc[160:], []
    assert (model.kernel_weights(new)[["b", "b-2"]] > 0).all(axis=1).any()
    values = model.decision_function(new.drop(columns="b__0"), fetch=costly(asked))
    np.testing.assert_allclose(values, model.decision_function(new), atol=1e-10)
    rows = np.concatenate([rows for _, rows in asked])
    assert len(rows) == len(np.unique(rows)) and {view for view, _ in asked} == {"b"}


@pytest.mark.parametrize(
    ("fetch", "message"),
    [
        (lambda view, rows: np.ones((len(rows), 2)), "returned an array of shape"),
        (lambda view, rows: np.full((len(rows), 1), np.nan), "returned missing values"),
        (lambda view, rows: pd.DataFrame({"x": rows}), "without the view's columns"),
        ("later", "fetch must be a function"),
    ],
)
def test_bad_fetches(fetch, message):
    model, _ = views_model()
    with pytest.raises(ValueError, match=message):
        model.predict(VIEWS.iloc[160:].drop(columns="b__0"), fetch=fetch)


def test_fetch_needs_gates_that_do_not_need_it():
    model, _ = views_model(inputs=None)
    with pytest.raises(ValueError, match="lacks gating inputs, which cannot be fetched"):
        model.predict(VIEWS.iloc[160:].assign(b__0=np.nan), fetch=costly([]))
    plain = MKLClassifier([Linear("a"), Linear("b")]).fit(VIEWS[:160], SIDE[:160])
    with pytest.raises(ValueError, match="Mean needs every view of every sample"):
        plain.predict(VIEWS, fetch=costly([]))


@pytest.mark.parametrize("gate", GATES)
def test_samples_that_lack_views(gate):
    frame = stack_views({"a": MISSING[:, :2], "b": MISSING[:, 2:]})
    kernels = [Gaussian("a"), Gaussian("b")]
    model = MKLClassifier(kernels, Localized(GATES[gate], l2=1e-3), random_state=0).fit(frame, LABELS)
    gates = model.gates(frame).to_numpy()
    absent = np.column_stack([np.isnan(MISSING[:, 0]), np.isnan(MISSING[:, 2])])
    assert (gates[absent] == 0).all()
    np.testing.assert_allclose((gates**2).sum(axis=1), 1.0)
    stack = KernelStack(kernels).fit(frame)
    K = np.einsum("im,mij,jm->ij", gates, stack.matrices(), gates)
    np.testing.assert_allclose(
        model._values(frame), K[:, model.support_] @ model.dual_coef_.T + model.intercept_, atol=1e-10
    )


def test_a_gating_view_that_samples_lack():
    frame = stack_views({"a": X[:, :2], "b": MISSING[:, 2:]})
    with pytest.raises(ValueError, match=r"sample 1 lacks all gating inputs \(b\)"):
        MKLClassifier([Gaussian("a")] * 2, Localized(inputs="b")).fit(frame, SIGNS)
    kernels = [Gaussian("a", scale="nearest")] * 2
    model = MKLClassifier(kernels, Localized(inputs=["a", "b"]), random_state=0).fit(frame, SIGNS)
    assert model.score(frame, SIGNS) > 0.7


@pytest.mark.parametrize(
    ("gating", "weights"), [(Softmax(), [1, 0]), (Softmax("paper"), [1, 0]), (Sigmoid("paper"), [1, 1])]
)
def test_one_class_collapse_is_told(gating, weights):
    kernels = [Polynomial([0], degree=3), Gaussian(scale=1.0)]
    model = MKLOneClass(kernels, Localized(gating, l2=0.0, max_iter=2000), random_state=0, tol=1e-8)
    with pytest.warns(UserWarning, match="nearly the same kernel weights .* not localized; for novelty .* Mean"):
        model.fit(X)
    np.testing.assert_allclose(model.kernel_weights_, weights, atol=0.05)


def test_gates_that_depend_on_the_sample_need_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model, _ = views_model()
    assert model.kernel_weights(VIEWS[:160])[["a", "b"]].std().min() > 0.1


def test_summary_of_the_gates():
    model, truth = views_model()
    summary = model.gating_summary_
    assert list(summary) == ["samples", "class", "kernel", "weight", "gate", "share"]
    weights, parts = model.kernel_weights(VIEWS[:160]), summary.groupby(["samples", "class"], sort=False)
    assert [key for key, _ in parts] == [
        (samples, of) for samples in ("training", "support") for of in ("all", False, True)
    ]
    np.testing.assert_allclose(parts.get_group(("training", "all"))["weight"], weights.mean())
    np.testing.assert_allclose(parts.get_group(("training", True))["weight"], weights[truth[:160]].mean())
    np.testing.assert_allclose(parts.get_group(("training", "all"))["gate"], model.gates(VIEWS[:160]).mean())
    support = weights.iloc[model.support_]
    np.testing.assert_allclose(parts.get_group(("support", "all"))["share"], (support > 0).mean())
    chosen = support[truth[model.support_]]
    np.testing.assert_allclose(parts.get_group(("support", True))["weight"], chosen.mean())
    given = model.gating_summary(VIEWS[160:], truth[160:])
    active = (model.kernel_weights(VIEWS[160:]) > 0).sum(axis=1).mean()
    assert given[given["class"] == "all"]["share"].sum() == pytest.approx(active)
    pd.testing.assert_frame_equal(model.gating_summary(), summary)
    assert set(MKLRegressor(KERNELS, Localized(l2=0.1)).fit(X, TARGET).gating_summary_["class"]) == {"all"}


def test_summary_of_global_weights():
    model = MKLClassifier(KERNELS, Mean()).fit(X, LABELS)
    assert not hasattr(model, "gating_summary_")
    with pytest.raises(ValueError, match="Mean keeps no weights of the training samples"):
        model.gating_summary()
    np.testing.assert_allclose(model.gating_summary(X, LABELS)["weight"], 1 / 3)
    with pytest.raises(ValueError, match=r"y has shape \(3,\), but there are 32 samples"):
        model.gating_summary(X, LABELS[:3])


def test_precomputed_kernels_with_a_kernel_map_can_be_extended():
    A = rng.normal(size=(50, 3))
    K, y = A @ A.T, A[:40, 0] * A[:40, 1] > 0
    kernel = Precomputed(K[:40, :40])
    model = MKLClassifier([kernel] * 2, Localized(inputs=KernelMap(kernel)), random_state=0)
    model.fit(np.arange(40)[:, None], y)
    whole = MKLClassifier([Precomputed(K)] * 2, Localized(inputs=KernelMap(Precomputed(K))), random_state=0)
    whole.fit(np.arange(40)[:, None], y)
    more = kernel.extend(K[40:, :40], np.diagonal(K)[40:])
    for name in model.kernel_names_:
        model.replace_kernel(name, more)
    new = np.arange(40, 50)[:, None]
    np.testing.assert_allclose(model.decision_function(new), whole.decision_function(new), atol=1e-10)


def test_parameters_are_not_changed_by_a_fit():
    combiner = Localized(ClusterGate(n_clusters=2), inputs=KernelMap(Gaussian()))
    before = clone(combiner)
    MKLClassifier(KERNELS, combiner, random_state=0).fit(X, LABELS)
    assert repr(combiner) == repr(before)
    assert not hasattr(combiner.gating, "centers_") and not hasattr(combiner.inputs, "landmarks_")


def test_a_sample_without_any_view_has_closed_gates():
    theta, codes = np.random.default_rng(0).normal(size=9), np.ones((3, 2))
    present = np.array([[True, True, True], [False, False, False], [False, True, False]])
    for tol in (0.0, 0.5):
        gates = Softmax().values(theta, codes, present, tol)
        assert gates[1].tolist() == [0.0, 0.0, 0.0]
        assert gates[2].tolist() == [0.0, 1.0, 0.0]
        assert (gates[0] ** 2).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("factor", [1e-11, 1.0, 1e160])
def test_units_of_gating_inputs_do_not_matter(factor):
    values = np.random.default_rng(0).normal(size=(200, 2))
    y = values[:, 1] * np.sign(values[:, 0]) > 0
    X = np.column_stack([values, factor * values[:, 0]])
    combiner = Localized(inputs=[2], l2=0.001)
    model = MKLClassifier([Linear([0, 1])] * 2, combiner, C=10.0, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95


def test_far_samples_have_finite_gates():
    X = np.random.default_rng(0).normal(size=(60, 2))
    for gate in (Softmax(), Sigmoid(), GaussianGate(), ClusterGate(), InstanceGate()):
        model = MKLClassifier([Linear()] * 2, Localized(gate), random_state=0).fit(X, X[:, 0] > 0)
        assert np.isfinite(model.kernel_weights(np.array([[1e160, 1.0]])).to_numpy()).all()


def test_collapse_is_told_where_views_are_missing():
    X = np.random.default_rng(1).normal(size=(80, 4))
    X[:5, 2:] = np.nan
    X[5:9, :2] = np.nan
    with pytest.warns(UserWarning, match="not localized"):
        MKLOneClass([Linear([0, 1]), Polynomial([2, 3])], Localized(l2=0.0), nu=0.2, random_state=0).fit(X)


def test_all_gates_closed_is_an_error():
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match="lower gate_tol"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        MKLClassifier([Linear()] * 2, Localized(Sigmoid("paper"), max_iter=1, gate_tol=0.99, l2=1e3)).fit(
            X, X[:, 0] > 0
        )


def test_empty_inputs_are_named():
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match="the combiner.s inputs"):
        MKLClassifier([Linear()] * 2, Localized(inputs=[])).fit(X, X[:, 0] > 0)
