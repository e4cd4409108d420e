"""Arrays of nodes give the predictions of scikit-learn's forests and gradient boosting."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from kernelweave.recipes import trees
from kernelweave.recipes.trees import TreeSum

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 6))
X[rng.random(X.shape) < 0.15] = np.nan
X[:, 5] = 1.0
NEW = np.vstack([rng.normal(size=(200, 6)), np.full((1, 6), np.nan), np.full((1, 6), 1e300), X[:20]])
KNOWN = np.nan_to_num(X)
TARGETS = {
    "binary": (KNOWN[:, 0] + KNOWN[:, 1] > 0).astype(int),
    "classes": np.digitize(KNOWN[:, 0] * KNOWN[:, 1], [-0.5, 0.0, 0.5]),
    "regression": KNOWN[:, 0] ** 2 + KNOWN[:, 1],
}
# Below 1e-10 even where 300 trees are added up in another order.
CLOSE = {"rtol": 0.0, "atol": 1e-12}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("gaps", [False, True])
def test_forests(target, gaps):
    table, new = (X, NEW[:-21]) if gaps else (KNOWN, np.nan_to_num(NEW[:200]))
    new = np.where(np.abs(new) > 1e30, 0.0, new)
    cls = RandomForestRegressor if target == "regression" else RandomForestClassifier
    forest = cls(20, max_features=0.5, random_state=0).fit(table, TARGETS[target])
    expected = forest.predict(new)[:, None] if target == "regression" else forest.predict_proba(new)
    np.testing.assert_allclose(TreeSum.of_forest(forest, table).predict(new), expected, **CLOSE)


@pytest.mark.parametrize("target", TARGETS)
def test_boosting(target):
    cls = HistGradientBoostingRegressor if target == "regression" else HistGradientBoostingClassifier
    boosting = cls(max_iter=30, random_state=0).fit(X, TARGETS[target])
    expected = boosting.predict(NEW) if target == "regression" else boosting.decision_function(NEW)
    found = TreeSum.of_boosting(boosting, X).predict(NEW)
    np.testing.assert_allclose(found, expected.reshape(len(NEW), -1), **CLOSE)


def test_a_split_between_missing_and_known_values():
    column = np.where(np.arange(100) % 2 == 0, np.nan, 1.0)[:, None]
    boosting = HistGradientBoostingRegressor(max_iter=5).fit(column, np.isnan(column[:, 0]) * 3.0)
    found = TreeSum.of_boosting(boosting, column)
    assert np.isinf(found.threshold).any() and np.ptp(found.predict(column)) > 1.0
    np.testing.assert_allclose(found.predict(column)[:, 0], boosting.predict(column), **CLOSE)


def test_sparse_tables_in_blocks(monkeypatch):
    table = sp.random(80, 40, density=0.1, format="csr", random_state=0)
    forest = RandomForestRegressor(5, random_state=0).fit(table, np.arange(80.0))
    whole = TreeSum.of_forest(forest, table).predict(table)
    monkeypatch.setattr(trees, "_BLOCK_VALUES", 7 * 40)
    np.testing.assert_array_equal(TreeSum.of_forest(forest, table).predict(table), whole)
    np.testing.assert_allclose(whole[:, 0], forest.predict(table), **CLOSE)


def test_features_are_rounded_as_forests_round_them():
    column = np.array([[0.1], [np.float64(np.float32(0.1))], [0.3]])
    forest = RandomForestRegressor(20, random_state=0).fit(column, [0.0, 0.0, 1.0])
    near = np.nextafter(forest.estimators_[0].tree_.threshold[0], np.inf) * np.ones((1, 1))
    np.testing.assert_allclose(TreeSum.of_forest(forest, column).predict(near)[:, 0], forest.predict(near), **CLOSE)


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_other_predictions_than_the_nodes_give_are_an_error(kind, monkeypatch):
    cls = RandomForestRegressor if kind == "forest" else HistGradientBoostingRegressor
    model = cls(random_state=0).fit(KNOWN, TARGETS["regression"])
    own = model.predict
    monkeypatch.setattr(model, "predict", lambda table: own(table) + 1e-6)
    with pytest.raises(RuntimeError, match=r"of scikit-learn [\d.]+ do not give its predictions.*report"):
        getattr(TreeSum, f"of_{kind}")(model, KNOWN)


def test_categorical_splits_are_refused():
    column = np.arange(60.0)[:, None] % 4
    model = HistGradientBoostingRegressor(categorical_features=[0], min_samples_leaf=2).fit(column, column[:, 0] % 2)
    with pytest.raises(ValueError, match="categorical"):
        TreeSum.of_boosting(model, column)
