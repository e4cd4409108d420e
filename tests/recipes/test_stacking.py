"""Stacked views: exact contributions, missing views, rare classes, groups, precomputed kernels."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression

from kernelweave import MKLClassifier, MKLRegressor, stack_views
from kernelweave.kernels import Gaussian, Linear, Precomputed
from kernelweave.recipes import baselines
from kernelweave.recipes.baselines import StackedViews
from kernelweave.recipes.search import balanced_folds

rng = np.random.default_rng(0)
N, OLD = 90, 70
IDS = [f"s{i}" for i in range(N)]
FEATURES = rng.normal(size=(N, 8))
K = pd.DataFrame(FEATURES[:, 5:] @ FEATURES[:, 5:].T, index=IDS, columns=IDS)
X = pd.DataFrame(FEATURES[:, :5], index=IDS, columns=["a__0", "a__1", "b__0", "b__1", "b__2"]).assign(net=IDS)
X.loc["s0":"s19", ["a__0", "a__1"]] = np.nan
X.loc["s10":"s29", ["b__0", "b__1", "b__2"]] = np.nan
X.loc["s15":"s24", "net"] = np.nan
SCORE = FEATURES[:, 0] + FEATURES[:, 3] + FEATURES[:, 6]
TARGETS = {
    "binary": np.where(SCORE > 0, "ill", "well"),
    "classes": np.array(["u", "v", "w"])[np.digitize(SCORE, [-0.7, 0.7])],
    "regression": SCORE,
}


def model_of(target, **options):
    machine = MKLRegressor if target == "regression" else MKLClassifier
    kernels = [Linear("a"), ("wide", Gaussian("a"))], None, [("net", Precomputed(K.iloc[:OLD, :OLD], "net"))]
    machines = [(view, machine(own, C=10.0)) for view, own in zip(["a", "b", "net"], kernels, strict=True)]
    return StackedViews(machines, random_state=0, **options)


@pytest.fixture(scope="module")
def fitted():
    return {target: model_of(target).fit(X[:OLD], y[:OLD]) for target, y in TARGETS.items()}


def by_view(model, X):
    """Contributions of shape (n_samples, n_outputs, n_views + 1)."""
    return model.contributions(X).to_numpy().reshape(len(X), -1, len(model.views) + 1)


@pytest.mark.parametrize("target", TARGETS)
def test_contributions_add_up_and_are_coefficients_times_values(fitted, target):
    model, old = fitted[target], X[:OLD]
    parts = by_view(model, old)
    values = model.decision_function(old).reshape(OLD, -1)
    np.testing.assert_allclose(parts.sum(axis=2), values, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(parts[:, :, -1], np.broadcast_to(model.intercept_, values.shape))
    has_b = old["b__0"].notna().to_numpy()
    machine = model.machines_[1]
    decide = machine.predict if target == "regression" else machine.decision_function
    centred = decide(old.loc[has_b, ["b__0", "b__1", "b__2"]]).reshape(has_b.sum(), -1) - model.means_[1]
    np.testing.assert_allclose(parts[has_b, :, 1], centred @ model.coef_[:, 1].T, atol=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_a_view_that_a_sample_lacks_adds_nothing(fitted, target):
    model, old = fitted[target], X[:OLD]
    parts = by_view(model, old)
    for place, column in enumerate(["a__0", "b__0", "net"]):
        assert not parts[old[column].isna().to_numpy(), :, place].any()
    without = by_view(model, old.drop(columns=["b__0", "b__1", "b__2"]))
    assert not without[:, :, 1].any()
    np.testing.assert_array_equal(without[:, :, 0], parts[:, :, 0])


@pytest.mark.parametrize("target", TARGETS)
def test_it_learns_from_all_views(fitted, target):
    model, y = fitted[target], TARGETS[target]
    rows = slice(30, OLD)
    assert model.score(X[rows], y[rows]) > {"binary": 0.8, "classes": 0.55, "regression": 0.6}[target]
    assert model.views == ["a", "b", "net"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X[:OLD]), model.decision_function(X[:OLD]))
    np.testing.assert_array_equal(
        clone(model).fit(X[:OLD], y[:OLD]).decision_function(X[:OLD]), model.decision_function(X[:OLD])
    )
    assert (is_regressor if target == "regression" else is_classifier)(model)
    rows = [np.flatnonzero(X[:OLD][column].notna()) for column in ("a__0", "b__0", "net")]
    stored = {row for own, machine in zip(rows, model.machines_, strict=True) for row in own[machine.support_]}
    assert model.n_stored_ == len(stored)


def test_the_regression_is_fitted_to_values_of_samples_that_machines_did_not_see():
    old, y = X.loc[IDS[30:OLD], ["b__0", "b__1", "b__2"]], TARGETS["binary"][30:OLD]
    model = StackedViews([("b", MKLClassifier(C=10.0))], random_state=0, cv=4, C=0.5).fit(old, y)
    labels = np.unique(y, return_inverse=True)[1]
    folds = balanced_folds(np.arange(len(old)), labels, 4, np.random.RandomState(0))
    values = np.empty(len(old))
    for fold in range(4):
        machine = MKLClassifier(C=10.0).fit(old[folds != fold], y[folds != fold])
        values[folds == fold] = machine.decision_function(old[folds == fold])
    plain = LogisticRegression(C=0.5, max_iter=5000).fit(((values - values.mean()) / values.std())[:, None], y)
    np.testing.assert_allclose(model.coef_.ravel(), plain.coef_.ravel() / values.std(), rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, rtol=1e-6)
    np.testing.assert_allclose(model.means_.ravel(), values.mean())


def test_samples_of_one_group_are_in_one_fold(monkeypatch):
    seen = []

    def watched(groups, *rest):
        seen.append((np.asarray(groups), balanced_folds(groups, *rest)))
        return seen[-1][1]

    monkeypatch.setattr(baselines, "balanced_folds", watched)
    groups = np.array([f"family {i // 5}" for i in range(OLD)])
    model_of("binary").fit(X[:OLD], TARGETS["binary"][:OLD], groups=groups)
    codes, folds = seen[0]
    assert len(set(codes)) == OLD // 5
    assert all(len(set(folds[groups == group])) == 1 for group in groups)
    with pytest.raises(ValueError, match="one entry for each of the 70 samples"):
        model_of("binary").fit(X[:OLD], TARGETS["binary"][:OLD], groups=groups[:3])
    with pytest.raises(ValueError, match="missing entries"):
        model_of("binary").fit(X[:OLD], TARGETS["binary"][:OLD], groups=[None, *groups[1:]])


def test_similarities_of_new_samples():
    new, old = K.index[OLD:], K.index[:OLD]
    for target, y in TARGETS.items():
        model = model_of(target).fit(X[:OLD], y[:OLD])
        known = model.decision_function(X[:OLD])
        diagonal = pd.Series(np.diag(K)[OLD:], index=new)
        assert list(model.matrices) == ["net"] and len(model.matrices["net"].self_similarity) == OLD
        by_kernel = model.extend_kernels({"net": K.loc[new, old]}, diagonal={"net": diagonal})
        assert list(by_kernel.columns) == list(X.columns) and by_kernel["a__0"].isna().all()
        assert list(by_kernel["net"]) == list(new) == list(by_kernel.index)
        full = by_kernel.assign(**{name: X.loc[new, name] for name in X.columns if name != "net"})
        parts, without = by_view(model, full), by_view(model, X[OLD:].assign(net=np.nan))
        np.testing.assert_array_equal(parts[:, :, :2], without[:, :, :2])
        assert parts[:, :, 2].all() and not without[:, :, 2].any()
        np.testing.assert_array_equal(model.decision_function(X[:OLD]), known)


def test_blocks_that_cannot_be_used_change_nothing():
    model = model_of("binary").fit(X[:OLD], TARGETS["binary"][:OLD])
    with pytest.raises(ValueError, match="'other', but no kernel that is looked up by id is called so"):
        model.extend_kernels({"net": K.iloc[OLD:, :OLD], "other": K})
    with pytest.raises(ValueError, match="net"):
        model.extend_kernels({"net": K.iloc[OLD:, :3]}, diagonal=1.0)
    with pytest.raises(ValueError, match="needs a dict"):
        model.extend_kernels(K)
    assert len(model.machines_[2].kernels_[0].self_similarity) == OLD


@pytest.mark.parametrize(
    "case", ["absent for all", "absent for a class", "absent for all but one class", "one sample", "rare classes"]
)
def test_views_and_classes_that_hardly_occur(case):
    y = TARGETS["classes"][:OLD].astype(object)
    old = X[:OLD].copy()
    if case == "absent for all":
        old["b__0"] = old["b__1"] = old["b__2"] = np.nan
    elif case == "absent for a class":
        old.loc[y == "u", ["b__0", "b__1", "b__2"]] = np.nan
    elif case == "absent for all but one class":
        old.loc[y != "u", ["b__0", "b__1", "b__2"]] = np.nan
    elif case == "one sample":
        old.loc["s1":, ["b__0", "b__1", "b__2"]] = np.nan
    else:
        y[0], y[1], y[2] = "single", "twice", "twice"
    model = model_of("classes").fit(old, y)
    values = model.decision_function(X[:OLD])
    assert values.shape == (OLD, len(set(y))) and np.isfinite(values).all()
    np.testing.assert_allclose(by_view(model, X[:OLD]).sum(axis=2), values, atol=1e-10)
    assert (model.machines_[1] is None) == (case in ("absent for all", "absent for all but one class", "one sample"))
    assert (model.predict(X[:OLD]) == y).mean() > 0.5


def test_samples_without_any_view_get_the_intercept(fitted):
    nothing = pd.DataFrame(np.nan, index=["new"], columns=X.columns, dtype=object)
    np.testing.assert_array_equal(fitted["classes"].decision_function(nothing)[0], fitted["classes"].intercept_)


def test_sparse_views():
    dense = np.where(FEATURES > 0.5, FEATURES, 0.0)
    table = stack_views({"a": FEATURES[:, :2], "s": sp.csr_array(dense)})
    machines = [("a", MKLClassifier()), ("s", MKLClassifier([Linear("s")], normalize="unit-trace"))]
    model = StackedViews(machines, random_state=0).fit(table, TARGETS["binary"])
    assert model.score(table, TARGETS["binary"]) > 0.7
    np.testing.assert_allclose(model.contributions(table).sum(axis=1), model.decision_function(table), atol=1e-10)


@pytest.mark.parametrize(
    ("machines", "message"),
    [
        ([], "must be a list of pairs"),
        ([MKLClassifier()], "must be a list of pairs"),
        ([("a", MKLClassifier()), ("b", MKLRegressor())], "must be a list of pairs"),
        ([("a", MKLClassifier()), ("a", MKLClassifier())], "has the view 'a' twice"),
        ([("c", MKLClassifier())], "the view 'c' of StackedViews matches no column"),
    ],
)
def test_bad_machines(machines, message):
    model = StackedViews(machines)
    with pytest.raises(ValueError, match=message):
        model.fit(X[:OLD], TARGETS["binary"][:OLD])
    assert not hasattr(model, "machines_")


def test_arrays_are_refused():
    with pytest.raises(ValueError, match="data frame with columns named by view"):
        StackedViews([("a", MKLClassifier())]).fit(FEATURES, TARGETS["binary"])
