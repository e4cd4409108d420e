"""Methods by name."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave import stack_views
from kernelweave.recipes import CohortModel, method_names, unavailable
from kernelweave.recipes import methods as methods_module
from kernelweave.recipes.methods import NEEDLESS, grid_of, is_simple, model_options
from mixed_cohort import cohort


def test_names_are_in_order_and_in_words():
    names = method_names("classification", ["rna", "my view"])
    assert list(names)[:4] == ["alone:rna", "alone:my view", "concatenation", "mean"]
    assert list(names)[4:] == [
        "least-squares",
        "lp",
        "lp-least-squares",
        "lp-scales",
        "completed",
        "lp-completed",
        "convex",
        "localized",
        "projected",
        "stacking",
        "linear",
        "forest",
        "boosting",
        "auto",
    ]
    assert names["alone:my view"] == "my view alone" and names["linear"] == "logistic regression"
    assert method_names("regression", [])["linear"] == "ridge regression"
    assert "projected" not in method_names("classification", [], without={"projected": "reason"})


def test_simple_baselines():
    assert [is_simple(name) for name in ("alone:rna", "concatenation", "linear", "forest", "boosting")] == [True] * 5
    assert not any(
        is_simple(name) for name in ("mean", "least-squares", "lp", "convex", "localized", "projected", "stacking")
    )


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_method_has_settings_for_every_effort(task):
    for name in method_names(task, ["rna"]):
        full, quick = (grid_of(name, effort, task) for effort in ("full", "quick"))
        assert all(len(values) for values in (*full.values(), *quick.values()))
        assert set(quick) <= set(full)
        assert all(set(values) <= set(full[parameter]) for parameter, values in quick.items())
        assert all(isinstance(model_options(name, effort), dict) for effort in ("full", "quick"))


def test_a_quick_classification_by_kernels_has_one_setting_and_the_full_one_several():
    assert [len(grid_of("mean", effort, "classification")["C"]) for effort in ("quick", "full")] == [1, 3]
    assert grid_of("localized", "full", "classification").keys() == {"C", "combiner__l2"}


def test_matrices_alone_leave_out_what_needs_columns():
    _, y, _, K = cohort()
    X = pd.DataFrame({"sim": K.index}, index=K.index)
    reasons = unavailable("classification", X, matrices={"sim": K})
    assert set(reasons) == {"concatenation", "projected", "linear", "forest", "boosting", *NEEDLESS}
    for method in set(reasons) - set(NEEDLESS):
        reason = reasons[method]
        with pytest.raises(ValueError, match=f"{method!r} cannot be had .* {reason}"):
            CohortModel(method, matrices={"sim": K}).fit(X, y)


def test_views_without_usable_columns_are_not_available():
    X = pd.DataFrame({"a__x": [1.0, 2.0, 3.0, 4.0], "a__y": [1.0, 0.0, 3.0, 4.0], "b__id": ["p", "q", "r", "s"]})
    reasons = {name: reason for name, reason in unavailable("classification", X).items() if name not in NEEDLESS}
    assert reasons == {"alone:b": "no column of the view 'b' can be used"}
    assert "alone:b" not in unavailable("classification", X, kinds={"b__id": "category"})
    with pytest.raises(ValueError, match="there is no method 'alone:b'"):
        CohortModel("alone:b", task="classification").fit(X, [0, 1, 0, 1])
    nothing = X[["b__id"]]
    assert unavailable("classification", nothing)["mean"] == "no column can be used"
    with pytest.raises(ValueError, match="no column can be used"):
        CohortModel("mean", task="classification").fit(nothing, [0, 1, 0, 1])


def test_large_sparse_views_beside_others_are_not_made_dense(monkeypatch):
    monkeypatch.setattr(methods_module, "_MOST_DENSE", 10)
    X = stack_views({"w": sp.csr_matrix(np.eye(4)), "a": np.arange(8.0).reshape(4, 2)})
    assert set(unavailable("regression", X)) - set(NEEDLESS) == {"concatenation", "linear", "forest", "boosting"}
    assert set(unavailable("regression", X[["w"]])) == set(NEEDLESS)


def test_methods_that_would_be_the_same_as_others_are_not_available():
    X = stack_views({"a": np.arange(8.0).reshape(4, 2), "b": np.array([1.0, 2.0, np.nan, 0.5])[:, None]})
    assert not set(unavailable("regression", X)) & set(NEEDLESS)
    assert unavailable("regression", X.iloc[:2])["completed"] == "no sample lacks a view"
    reason = "no view has several columns of numbers, and so no scales"
    assert unavailable("regression", X[["b__0"]])["lp-scales"] == reason
    # Where a fold has no such samples they can be fitted all the same.
    whole, y = X.fillna(0.0), np.arange(4.0)
    for method, same in (("completed", "least-squares"), ("lp-completed", "lp-least-squares")):
        values = [
            CohortModel(name, effort="quick", random_state=0).fit(whole, y).predict(whole) for name in (method, same)
        ]
        np.testing.assert_array_equal(*values)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_least_squares_differ_from_the_mean_in_the_machine_only(task):
    values = np.random.default_rng(0).normal(size=(40, 4))
    X = stack_views({"a": values[:, :2], "b": values[:, 2:]})
    y = values.sum(axis=1) if task == "regression" else values.sum(axis=1) > 0
    mean, squares = (
        CohortModel(name, effort="quick", task=task).fit(X, y).model_ for name in ("mean", "least-squares")
    )
    assert squares.machine_ == "least-squares" != mean.machine_
    assert [name for name, _ in squares.kernels] == [name for name, _ in mean.kernels]
    assert repr(squares.combiner) == repr(mean.combiner)
