"""`ColumnBoostingClassifier` and `ColumnBoostingRegressor`: the model that is stored, and what users may give."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conventions import checks
from kernelweave import (
    ColumnBoostingClassifier,
    ColumnBoostingRegressor,
    MKLClassifier,
    calibrated,
    load,
    save,
    stack_views,
)
from kernelweave.arrays import HOST
from kernelweave.kernels import Constant, Function, Gaussian, KernelStack, Linear, Precomputed
from kernelweave.model_selection import view_importance, view_report
from kernelweave.saving import models
from kernelweave.solvers import columns as solver
from reference_columns import by_highs, by_lasso, program

rng = np.random.default_rng(0)
N, NEW = 60, 25
ALL = rng.normal(size=(N + NEW, 5))
VALUE = np.sin(2.0 * ALL[:N, 0]) + ALL[:N, 1] + 0.1 * rng.normal(size=N)
X, X_NEW = ALL[:N], ALL[N:]
TWO = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=N) > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * X[:, 2], [-0.5, 0.5])]
TARGETS = pd.DataFrame({"first": VALUE, "second": X[:, 2] ** 2})
KERNELS = [("near", Gaussian([0, 1], scale=1.0)), ("far", Gaussian(scale=4.0)), ("line", Linear([2, 3]))]
FRAME = stack_views({"u": ALL[:, :2], "v": ALL[:, 2:4], "w": ALL[:, 4:]})
VIEWS = [Gaussian("u"), Gaussian("v"), Linear("w")]
PRECISE = {"tol": 1e-6}


@checks(
    [ColumnBoostingClassifier(), ColumnBoostingRegressor(loss="squared")],
    [
        ColumnBoostingClassifier([Linear(), Gaussian(scale=1.0)], loss="squared"),
        ColumnBoostingClassifier([Linear(), Gaussian(scale=1.0)], C=10.0, storage="lazy"),
        ColumnBoostingRegressor([Linear(), Gaussian(scale=1.0)]),
    ],
)
def test_scikit_learn_convention(estimator, check):
    check(estimator)


def grams(kernels=KERNELS, samples=X, weight=None):
    return KernelStack(kernels).fit(samples, weight).matrices()


def both():
    return ColumnBoostingClassifier(KERNELS, **PRECISE), ColumnBoostingRegressor(KERNELS, **PRECISE)


# The problem


def test_the_objectives_are_those_of_programs_with_all_columns():
    weight = rng.uniform(0.5, 2.0, N)
    K, signs = grams(weight=weight), np.where(TWO == "yes", 1.0, -1.0)
    by_class = {"yes": 3.0, "no": 0.5}
    cost = 2.0 * weight * np.array([by_class[label] for label in TWO])
    model = ColumnBoostingClassifier(KERNELS, C=2.0, class_weight=by_class, **PRECISE).fit(X, TWO, weight)
    assert model.objective_ == pytest.approx(by_highs(*program(K, signs, cost, hinge=True)), rel=1e-5)
    model = clone(model).set_params(loss="squared").fit(X, TWO, weight)
    assert model.objective_ == pytest.approx(by_lasso(K, signs, cost), rel=1e-5)
    model = ColumnBoostingRegressor(KERNELS, C=2.0, epsilon=0.2, **PRECISE).fit(X, VALUE, weight)
    whole = program(K, VALUE, 2.0 * weight, 0.2, hinge=False)
    assert model.objective_ == pytest.approx(by_highs(*whole), rel=1e-5)
    model = clone(model).set_params(loss="squared").fit(X, VALUE, weight)
    assert model.objective_ == pytest.approx(by_lasso(K, VALUE, 2.0 * weight), rel=1e-5)


@pytest.mark.parametrize("loss", ["epsilon-insensitive", "squared"])
def test_what_is_stored_is_the_model(loss):
    model = ColumnBoostingRegressor(KERNELS, loss=loss, C=3.0).fit(X, VALUE)
    samples, kernels = model.columns_.T
    K = grams()
    assert model.objective_ >= np.abs(model.dual_coef_).sum() > 0.0
    assert_allclose(model.predict(X), K[kernels, samples].T @ model.dual_coef_[0] + model.intercept_, rtol=1e-9)
    assert_array_equal(np.unique(samples), model.support_)
    assert model._state.n_samples == model._state.reference.n_samples == len(model.support_) < N
    mass = np.bincount(kernels, np.abs(model.dual_coef_[0]), minlength=3)
    assert_allclose(model.kernel_weights_, mass / mass.sum())
    assert list(model.kernel_weights_.index) == model.kernel_names_ == ["near", "far", "line"]
    assert model.prediction_cost() == pytest.approx(len(samples) / 3)
    assert model.prediction_cost({"line": 0.0, "far": 0.0}) == np.bincount(kernels, minlength=3)[0]
    history = model.history_
    assert model.n_iter_ == len(history) and (history["objective"].diff().dropna() <= 1e-9).all()
    assert history["stored"].iloc[-1] == len(samples) and history["violation"].iloc[-1] <= 1e-3
    assert history["duality_gap"].iloc[-1] == model.duality_gap_ <= 2e-3 * model.objective_


def test_samples_of_weight_zero_are_left_out():
    weight = (np.arange(N) % 3 > 0).astype(float)
    kept = np.flatnonzero(weight)
    for model, y in zip(both(), (TWO, VALUE), strict=True):
        some, others = clone(model).fit(X, y, weight), clone(model).fit(X[kept], y[kept])
        assert_array_equal(some.columns_[:, 0], kept[others.columns_[:, 0]])
        assert_array_equal(some.support_, kept[others.support_])
        assert_array_equal(some.predict(X_NEW), others.predict(X_NEW))


def test_classes_are_fitted_one_against_all_others():
    model = ColumnBoostingClassifier(KERNELS, **PRECISE).fit(X, THREE)
    assert model.dual_coef_.shape == (3, len(model.columns_)) and (model.dual_coef_ != 0.0).any(axis=0).all()
    for k, label in enumerate(model.classes_):
        alone = ColumnBoostingClassifier(KERNELS, **PRECISE).fit(X, label == THREE)
        assert_allclose(model.decision_function(X_NEW)[:, k], alone.decision_function(X_NEW), atol=1e-9)
    assert_array_equal(model.predict(X_NEW), model.classes_[model.decision_function(X_NEW).argmax(axis=1)])
    assert set(model.history_["output"]) == {"a", "b", "c"} and model.score(X, THREE) > 0.9


def test_targets_are_fitted_by_themselves():
    model = ColumnBoostingRegressor(KERNELS, **PRECISE).fit(X, TARGETS)
    assert model.target_names_ == ["first", "second"] and model.predict(X_NEW).shape == (NEW, 2)
    alone = [ColumnBoostingRegressor(KERNELS, **PRECISE).fit(X, TARGETS[name]) for name in TARGETS]
    assert_allclose(model.predict(X_NEW), np.column_stack([each.predict(X_NEW) for each in alone]), atol=1e-9)
    assert model.objective_ == pytest.approx(sum(each.objective_ for each in alone))


def test_parts_add_up():
    for model, y in ((both()[0], THREE), (both()[1], TARGETS), (both()[1], VALUE)):
        model.fit(X, y)
        values = model.decision_function(X_NEW) if isinstance(model, ColumnBoostingClassifier) else model.predict(X_NEW)
        parts = model.contributions(X_NEW).to_numpy().reshape(NEW, -1, 4)
        assert_allclose(parts.sum(axis=2).reshape(values.shape), values, atol=1e-12)


def test_linear_kernels_have_weights_of_columns():
    model = ColumnBoostingRegressor([Linear([0, 1]), Linear([2])], normalize=None, C=5.0).fit(X, X[:, 0] - X[:, 2])
    assert_allclose(X_NEW @ model.coef_[0] + model.intercept_, model.predict(X_NEW), atol=1e-12)
    assert model.feature_weights("linear").shape == (2,) and "near" not in model.kernel_names_


# The forms of kernels


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_tiles_are_whole_matrices(normalize):
    for model, y in zip(both(), (THREE, VALUE), strict=True):
        dense, lazy = (
            clone(model).set_params(storage=storage, normalize=normalize).fit(X, y) for storage in ("dense", "lazy")
        )
        assert (dense.storage_, lazy.storage_) == ("dense", "lazy")
        assert_array_equal(dense.columns_, lazy.columns_)
        assert_allclose(dense.dual_coef_, lazy.dual_coef_, rtol=1e-6, atol=1e-9)
        assert_allclose(dense.objective_, lazy.objective_, rtol=1e-9)


def test_values_in_parts_are_the_values():
    for model, y in ((both()[0], THREE), (both()[1], VALUE)):
        model.set_params(kernels=VIEWS).fit(FRAME.iloc[:N], y)
        views = model._new_views(with_gaps(FRAME.iloc[N:]))
        coef = model._coefficients()
        found = model._kernel.values_in(HOST, views, coef)
        assert_allclose(found, model._kernel.values(views, coef), atol=1e-12)
        signed = [model._kernel.values(views, coef * one) for one in np.eye(len(coef))[:, :, None]]
        assert_allclose(model._kernel.sizes(views, coef), np.abs(signed).sum(axis=0), atol=1e-12)


def with_gaps(frame):
    frame = frame.copy()
    frame.iloc[::4, :2] = np.nan
    frame.iloc[1::4, 2:4] = np.nan
    return frame


@pytest.mark.parametrize("storage", ["dense", "lazy"])
def test_a_view_that_is_missing_is_a_row_of_zeros(storage):
    train, new = with_gaps(FRAME.iloc[:N]), with_gaps(FRAME.iloc[N:])
    model = ColumnBoostingRegressor(VIEWS, storage=storage, C=3.0, **PRECISE).fit(train, VALUE)
    stack = KernelStack(VIEWS).fit(train)
    assert model.objective_ == pytest.approx(
        by_highs(*program(stack.matrices(), VALUE, np.full(N, 3.0), 0.1, hinge=False)), rel=1e-5
    )
    lacking = train.isna().to_numpy()[:, [0, 2, 4]]
    assert not lacking[model.columns_[:, 0], model.columns_[:, 1]].any()
    parts = model.contributions(new)
    assert (parts["u"].iloc[::4] == 0.0).all() and (parts["v"].iloc[1::4] == 0.0).all()
    assert_allclose(parts.sum(axis=1), model.predict(new), atol=1e-12)


def test_views_that_are_completed():
    train, new = with_gaps(FRAME.iloc[:N]), with_gaps(FRAME.iloc[N:])
    native = ColumnBoostingClassifier(VIEWS).fit(train, TWO)
    model = ColumnBoostingClassifier(VIEWS, missing="complete").fit(train, TWO)
    assert not np.allclose(model.decision_function(new), native.decision_function(new))
    assert_allclose(model.contributions(new).sum(axis=1), model.decision_function(new), atol=1e-12)
    assert_allclose(model.predict(train) == TWO, model.decision_function(train) * (np.where(TWO == "yes", 1, -1)) > 0)


def test_sparse_samples_and_a_function_that_is_no_kernel():
    dense = ColumnBoostingClassifier([Linear(), Gaussian(scale=3.0)]).fit(X, TWO)
    sparse = ColumnBoostingClassifier([Linear(), Gaussian(scale=3.0)]).fit(sp.csr_array(X), TWO)
    assert_allclose(sparse.decision_function(sp.csr_array(X_NEW)), dense.decision_function(X_NEW), atol=1e-9)
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = ColumnBoostingRegressor([Function(lambda A, B: np.tanh(A @ B.T - 1.0))], normalize=None, C=3.0).fit(
            X, VALUE
        )
    assert model.duality_gap_ <= 1e-3 * model.objective_ and model.score(X, VALUE) > 0.5


def test_precomputed_kernels_and_new_ids(tmp_path):
    names = [f"s{i}" for i in range(N + NEW)]
    K = pd.DataFrame(np.exp(-((ALL[:, None] - ALL[None]) ** 2).sum(axis=2) / 8.0), index=names, columns=names)
    known = K.iloc[:N, :N]
    ids = pd.DataFrame({"id": names[:N]}, index=names[:N])
    model = ColumnBoostingRegressor([("k", Precomputed(known, "id"))], normalize=None).fit(ids, VALUE)
    plain = ColumnBoostingRegressor([Precomputed(K.to_numpy())], normalize=None).fit(np.arange(N)[:, None], VALUE)
    expected = plain.predict(np.arange(N, N + NEW)[:, None])
    save(model, tmp_path / "model")
    for each in (model, load(tmp_path / "model")):
        block = K.iloc[N:, :N].iloc[:, each.support_]  # the columns of stored samples are enough
        assert_allclose(each.predict(each.extend_kernels({"k": block}, diagonal=1.0)), expected, atol=1e-12)


# scikit-learn


def test_search_in_a_pipeline():
    model = make_pipeline(StandardScaler(), ColumnBoostingClassifier([("g", Gaussian())]))
    grid = {"columnboostingclassifier__C": [2.0, 20.0], "columnboostingclassifier__kernels__g__scale": [0.7, 2.0]}
    search = GridSearchCV(model, grid, cv=3).fit(X, TWO)
    assert search.best_score_ >= 0.6 and search.cv_results_["mean_test_score"].std() > 0.0


def test_models_of_columns_are_calibrated_and_compared_by_view():
    model = ColumnBoostingClassifier(VIEWS, C=3.0)
    probabilities = calibrated(model).fit(FRAME.iloc[:N], TWO).predict_proba(FRAME.iloc[N:])
    assert_allclose(probabilities.sum(axis=1), 1.0)
    report = view_report(model, FRAME.iloc[:N], TWO, cv=2)
    assert {"u", "v", "w"} <= set(report.index.get_level_values("view")) and report["prediction_cost"].notna().all()
    importance = view_importance(model.fit(FRAME.iloc[:N], TWO), FRAME.iloc[:N], TWO)
    assert len(importance) >= 3


def test_what_only_combiners_have_is_not_there():
    model = ColumnBoostingClassifier(KERNELS).fit(X, TWO)
    for name in ("gates", "project", "region", "predict_proba", "kernel_weights"):
        assert not hasattr(model, name)
    with pytest.raises(ValueError, match="ColumnBoostingClassifier needs every view of every sample"):
        model.predict(X_NEW, fetch=print)


def test_few_columns_do_the_work_of_many_support_vectors():
    wide = np.random.default_rng(1).normal(size=(400, 2))
    labels = np.hypot(*wide.T) > 1.2
    few = ColumnBoostingClassifier([Gaussian(scale=1.0)], C=1.0).fit(wide[:200], labels[:200])
    machine = MKLClassifier([Gaussian(scale=1.0)], C=1.0).fit(wide[:200], labels[:200])
    assert len(few.columns_) * 3 < len(machine.support_)
    assert few.score(wide[200:], labels[200:]) > 0.9


# Ends that are not the optimum, and errors


def test_a_limit_to_the_columns_is_told_with_the_gap():
    whole = ColumnBoostingRegressor(KERNELS, C=3.0).fit(X, VALUE)
    with pytest.warns(ConvergenceWarning, match=r"with 4 columns: another violates .* gap of .*; raise max_columns"):
        model = ColumnBoostingRegressor(KERNELS, C=3.0, max_columns=4, columns_per_step=1).fit(X, VALUE)
    assert len(model.columns_) <= 4 and model.history_["columns"].max() == 4
    assert model.objective_ - model.duality_gap_ <= whole.objective_ < model.objective_
    with pytest.warns(ConvergenceWarning, match="with 4 columns"):
        ColumnBoostingRegressor(KERNELS, C=3.0, max_columns=4, columns_per_step=50).fit(X, VALUE)


def test_a_cost_that_no_column_is_worth_is_told(tmp_path):
    with pytest.warns(UserWarning, match=r"every prediction is the intercept; raise C, which is 1e-05, above about"):
        model = ColumnBoostingClassifier(KERNELS, C=1e-5).fit(X, TWO)
    assert model.columns_.shape == (0, 2) and model.dual_coef_.shape == (1, 0) and not model.kernel_weights_.any()
    assert len(np.unique(model.predict(X_NEW))) == 1 and model.prediction_cost() == 0.0
    assert model.active_kernels_ == model.kernel_names_  # new samples are checked
    save(model, tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").decision_function(X_NEW), model.decision_function(X_NEW))
    assert_allclose(model.contributions(X_NEW).sum(axis=1), model.intercept_[0])


def test_a_tube_that_holds_all_targets_is_told():
    with pytest.warns(UserWarning, match="the tube of epsilon=100 to both sides holds"):
        model = ColumnBoostingRegressor(KERNELS, epsilon=100.0).fit(X, VALUE)
    assert model.objective_ == 0.0 and len(model.columns_) == 0


@pytest.mark.parametrize("loss", ["epsilon-insensitive", "squared"])
def test_targets_that_are_constant_need_no_column(loss, recwarn):
    model = ColumnBoostingRegressor(KERNELS, loss=loss).fit(X, np.full(N, 0.1))
    assert len(model.columns_) == 0 and not recwarn.list
    assert_allclose(model.predict(X_NEW), 0.1, atol=0.1 if loss == "epsilon-insensitive" else 1e-12)


def test_samples_that_are_all_equal():
    same = np.ones((20, 2))
    with pytest.warns(UserWarning, match="ColumnBoostingClassifier is .* samples are equal under every kernel"):
        model = ColumnBoostingClassifier([Gaussian(scale=1.0), Linear()]).fit(same, np.arange(20) % 5 > 0)
    assert model.predict(same).all()
    for loss in ("epsilon-insensitive", "squared"):
        with pytest.warns(UserWarning, match="ColumnBoostingRegressor is .* samples are equal under every kernel"):
            model = ColumnBoostingRegressor([Linear()], loss=loss).fit(same, np.arange(20.0))
        assert 8.0 <= model.predict(same)[0] <= 11.0


def test_one_class_and_zero_samples():
    with pytest.raises(ValueError, match="class"):
        ColumnBoostingClassifier().fit(X, np.zeros(N))
    zero = X.copy()
    zero[3, 2:4] = 0.0  # k(x, x) = 0 under "line": a row of zeros, with one warning
    with pytest.warns(UserWarning, match="line"):
        model = ColumnBoostingRegressor(KERNELS, C=3.0).fit(zero, VALUE)
    assert model.duality_gap_ <= 1e-3 * model.objective_
    assert not (model.columns_ == [3, 2]).all(axis=1).any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "C of ColumnBoostingRegressor must be a positive finite number"),
        ({"columns_per_step": 0}, "columns_per_step of ColumnBoostingRegressor must be a positive whole number"),
        ({"max_columns": 0}, "max_columns of ColumnBoostingRegressor must be"),
        ({"loss": "hinge"}, "loss of ColumnBoostingRegressor must be"),
        ({"tol": 0.0}, "tol of ColumnBoostingRegressor must be"),
        ({"epsilon": -1.0}, "epsilon of ColumnBoostingRegressor must be"),
        ({"normalize": "twice"}, "normalize"),
        ({"storage": "lazy", "missing": "complete"}, 'use storage="dense", or missing="native"'),
    ],
)
def test_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        ColumnBoostingRegressor(KERNELS, **parameters).fit(X, VALUE)


def test_a_program_without_an_answer_leaves_the_model_as_it_was(monkeypatch):
    model = ColumnBoostingClassifier(KERNELS).fit(X, TWO)
    before = model.decision_function(X_NEW)

    class Failed:
        status, message = 4, "Numerical difficulties encountered."

    monkeypatch.setattr(solver, "linprog", lambda *arguments, **options: Failed)
    with pytest.raises(ValueError, match="HiGHS found no optimum .* Lower C, or scale"):
        model.fit(X[::2], TWO[::2])
    assert_array_equal(model.decision_function(X_NEW), before)


def test_no_message_names_a_parameter_that_is_not_there(monkeypatch):
    monkeypatch.setattr("kernelweave.estimators.training.LARGEST_ON_HOST", 10)
    model = ColumnBoostingRegressor(KERNELS, storage="lazy").fit(X, VALUE)  # no warning that advises `approximation`
    assert model.storage_ == "lazy"
    dask = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="would have to be gathered; pass X.compute"):
        model.fit(dask.from_array(X), VALUE)


# Saving


@pytest.mark.parametrize("name", ["two classes", "classes", "targets", "squares"])
def test_saved_models_predict_alike(tmp_path, name):
    model = {
        "two classes": lambda: ColumnBoostingClassifier(KERNELS).fit(X, TWO),
        "classes": lambda: ColumnBoostingClassifier(KERNELS).fit(X, THREE),
        "targets": lambda: ColumnBoostingRegressor(KERNELS, normalize="center").fit(X, TARGETS),
        "squares": lambda: ColumnBoostingRegressor(KERNELS, loss="squared").fit(X, VALUE),
    }[name]()
    save(model, tmp_path / "model")
    found = load(tmp_path / "model")
    assert_array_equal(found.predict(X_NEW), model.predict(X_NEW))
    pd.testing.assert_frame_equal(found.contributions(X_NEW), model.contributions(X_NEW))
    pd.testing.assert_frame_equal(found.history_, model.history_)
    assert found.get_params().keys() == model.get_params().keys() and found.device == "cpu"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("columns_", lambda old: old[:-1], "columns_ has the length|length .* is expected"),
        ("columns_", lambda old: old[:, :1], "columns_ has the length 1 where 2 is expected"),
        ("columns_", lambda old: old.astype(float), "columns_ is an array of float64"),
        ("columns_", lambda old: np.subtract(old, [0, 5]), "columns_ holds -"),
        (
            "columns_",
            lambda old: np.add(old, [0, 2**40]),
            "columns_ holds .* where numbers below 3 .kernels.",
        ),
        ("columns_", lambda old: np.add(old, [1, 0]), "columns_ has other samples than support_"),
        ("support_", lambda old: old[::-1].copy(), "support_ holds numbers that are not in ascending order"),
        ("support_", lambda old: old[:-1], "length"),
        ("dual_coef_", lambda old: old * np.inf, "dual_coef_ holds NaN or infinity"),
        ("dual_coef_", lambda old: old[:, 1:], "length"),
        ("intercept_", lambda old: np.zeros(2), "length"),
        ("kernel_weights_", lambda old: old[:-1], "kernel_weights_ has the length 2 where 3 .kernels. is expected"),
        ("_rule", None, "_rule is a NoneType, which it never is"),
        ("classes_", lambda old: old[:1], "classes_ are no classes"),
        ("classes_", lambda old: np.array(["a", "b", "c"]), "_rule has the length 2 where 3 .classes. is expected"),
        ("class_count_", lambda old: old[:1], "class_count_ has the length 1"),
        ("_state", None, "_state is a NoneType, which it never is"),
        ("_kernel_of_mine", 1, "has the attribute _kernel_of_mine, which a ColumnBoostingClassifier never has"),
    ],
)
def test_attributes_that_do_not_fit(tmp_path, monkeypatch, path, value, message):
    monkeypatch.setattr(models, "_SupportColumns", lambda model: lambda value: value)  # it looks into the model
    model = ColumnBoostingClassifier(KERNELS).fit(X, TWO)
    old = vars(model).get(path)
    vars(model)[path] = value(old) if callable(value) else value
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match=f"cannot load .*: its .*({message})"):
        load(tmp_path / "model")


def test_a_kernel_that_was_not_kept_is_refused(tmp_path):
    used = ColumnBoostingRegressor([Gaussian([0, 1]), Constant()], C=3.0).fit(X, VALUE)
    assert used.active_kernels_ == ["gaussian"]
    used.columns_ = np.add(used.columns_, [0, 1])
    save(used, tmp_path / "model")
    with pytest.raises(ValueError, match="_state.active lacks kernels of columns_"):
        load(tmp_path / "model")
