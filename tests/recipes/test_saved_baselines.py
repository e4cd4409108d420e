"""Saved rivals: forged trees and models are refused, and so are transformers that files cannot hold."""

from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import QuantileTransformer

from kernelweave import MKLClassifier, load, save
from kernelweave.kernels import Precomputed
from kernelweave.recipes.baselines import ColumnModel, StackedViews
from kernelweave.recipes.trees import LinearScores
from saved_builders import NEW, THREE, TWO, VALUE, A
from saved_rivals import RIVALS


@cache
def _fitted(name):
    return RIVALS[name]()


def fitted(name):
    """A model of this name, which may be changed, and new samples."""
    return deepcopy(_fitted(name))


def with_entry(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed


def inner_of(trees):
    """A node with children, behind the first."""
    return np.flatnonzero(trees.left >= 0)[1]


FORGERIES = {
    "a node that is its own child": lambda t: {"left": with_entry(t.left, inner_of(t), inner_of(t))},
    "a way back to the root": lambda t: {"right": with_entry(t.right, inner_of(t), 0)},
    "a child beyond the nodes": lambda t: {"left": with_entry(t.left, inner_of(t), len(t.left))},
    "a child below -1": lambda t: {"left": with_entry(t.left, inner_of(t), -2)},
    "a leaf with one child": lambda t: {"left": with_entry(t.left, inner_of(t), -1)},
    "a feature beyond the table": lambda t: {"reads": with_entry(t.reads, inner_of(t), t.width)},
    "a negative feature": lambda t: {"reads": with_entry(t.reads, inner_of(t), -1)},
    "a value beyond the leaves": lambda t: {"reads": with_entry(t.reads, -1, len(t.values))},
    "a root beyond the nodes": lambda t: {"roots": with_entry(t.roots, 0, len(t.left))},
    "an output beyond the outputs": lambda t: {"first": with_entry(t.first, 0, len(t.offset))},
    "a threshold that is NaN": lambda t: {"threshold": with_entry(t.threshold, inner_of(t), np.nan)},
    "a value that is infinite": lambda t: {"values": with_entry(t.values, 0, np.inf)},
    "nodes of another type": lambda t: {"left": t.left.astype(np.int64)},
    "another width": lambda t: {"width": t.width + 1},
    "another number of outputs": lambda t: {"offset": np.append(t.offset, 0.0)},
    "fewer nodes": lambda t: {"missing_left": t.missing_left[:-1]},
    "no mean": lambda t: {"factor": 0.0},
}


@pytest.mark.parametrize("kind", ["columns, forest, three classes", "columns, boosting, three classes"])
@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_trees_are_refused(kind, forgery, tmp_path):
    model, _ = fitted(kind)
    save(model, tmp_path / "model")
    load(tmp_path / "model")
    model.scores_ = replace(model.scores_, **FORGERIES[forgery](model.scores_))
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match="^cannot load .*: its ColumnModel.scores_"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "attribute", "value"),
    [
        ("columns, forest", "kind_", "linear"),
        ("columns, forest", "task_", "regression"),
        ("columns, forest", "classes_", np.array(["a", "b", "c"])),
        ("columns, forest", "scores_", LinearScores(np.zeros((1, 3)), np.zeros(1))),
        ("columns, boosting, regression", "task_", "classification"),
        ("stacked views", "views_", ["u", "v", "<elsewhere>"]),
        ("stacked views", "machines_", [None, None]),
        ("stacked views", "coef_", np.zeros((1, 3, 2))),
        ("stacked views", "classes_", np.array(["a", "b", "c"])),
        ("stacked views", "task_", "regression"),
        ("stacked views, regression", "task_", "classification"),
    ],
)
def test_forged_models_are_refused(name, attribute, value, tmp_path):
    model, _ = fitted(name)
    setattr(model, attribute, value)
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match="^cannot load .*: its (ColumnModel|StackedViews)"):
        load(tmp_path / "model")


def test_machines_of_classes_that_are_not_there_are_refused(tmp_path):
    model, _ = fitted("stacked views, three classes")
    model.machines_[0].classes_ = np.array([0, 1, 7])
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match=r"machines_\[0\].classes_ holds 7 where numbers below 3"):
        load(tmp_path / "model")


@pytest.mark.parametrize("name", RIVALS)
def test_contributions_of_a_loaded_model(name, tmp_path):
    model, new = fitted(name)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    pd.testing.assert_frame_equal(again.contributions(new), model.contributions(new))
    assert again.views == model.views and again.n_stored_ == model.n_stored_


@pytest.mark.parametrize(
    "name", ["columns, forest", "columns, boosting, three classes", "columns, logistic regression"]
)
def test_a_loaded_model_fits_again(name, tmp_path):
    model, new = fitted(name)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    y = np.array(["p", "q", "r"])[np.arange(len(new)) % 3]
    np.testing.assert_array_equal(again.fit(new, y).decision_function(new), model.fit(new, y).decision_function(new))


def test_other_transformers_are_refused_by_name(tmp_path):
    model = ColumnModel("forest", QuantileTransformer(n_quantiles=5), n_trees=2).fit(A, TWO)
    with pytest.raises(
        ValueError, match="preparation of all columns is QuantileTransformer, which a saved model cannot"
    ):
        save(model, tmp_path / "model")


def test_of_matrices_only_similarities_to_support_vectors_are_saved(tmp_path):
    n = 400
    points = np.random.default_rng(0).normal(size=(n, 2))
    K = pd.DataFrame(points @ points.T, index=range(n), columns=range(n))
    X = pd.DataFrame({"net": np.arange(n)})
    model = StackedViews([("net", MKLClassifier([Precomputed(K, "net")], C=10.0))], random_state=0)
    model.fit(X, points[:, 0] > 0)
    save(model, tmp_path / "model")
    assert model.n_stored_ < n / 4
    assert (tmp_path / "model").stat().st_size < 0.5 * K.to_numpy().nbytes
    np.testing.assert_array_equal(load(tmp_path / "model").decision_function(X), model.decision_function(X))


def test_predictions_are_those_of_arrays_of_any_container(tmp_path):
    for y, task in ((THREE, "classification"), (VALUE, "regression")):
        model = ColumnModel("boosting", task=task, random_state=0).fit(A, y)
        save(model, tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").predict(NEW.tolist()), model.predict(NEW))
