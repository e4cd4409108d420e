"""Fitted models of scikit-learn as arrays, to be saved: coefficients (`LinearScores`) or nodes (`TreeSum`).

A sample reaches one leaf of each tree. The prediction is ``offset + factor * sum_t value(leaf_t(x))``: of a forest the
mean over trees (factor 1 / T), of gradient boosting the sum over trees beyond the baseline.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import __version__ as sklearn_version

from ..solvers.compiled import compiled
from ..validation.schemas import (
    Schema,
    Sizes,
    check_whole,
    flag,
    flags,
    indices,
    maybe,
    number,
    numbers,
    optional,
    refuse,
    size,
)


@compiled
def add_leaves(X, roots, first, left, right, reads, threshold, missing_left, values, sums):
    """Add to `sums` (n_samples, n_outputs), for each sample and tree, the values of the leaf that the sample reaches.

    A sample goes left where its feature is at most the node's threshold, and where the feature is missing (NaN) to the
    side that the node has for missing ones. Children stand behind their parents, so each way ends. A tree begins at
    a node of `roots`, and its leaves have values for the columns of `sums` from `first` on; `left` and `right` are the
    children of a node, -1 for a leaf; `reads` is the feature that a node compares, of a leaf its row in `values`
    (n_leaves, n_values).
    """
    n_values = values.shape[1]
    for tree in range(len(roots)):
        for i in range(len(X)):
            node = roots[tree]
            while left[node] >= 0:
                x = X[i, reads[node]]
                goes_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
                node = left[node] if goes_left else right[node]
            for k in range(n_values):
                sums[i, first[tree] + k] += values[reads[node], k]


@dataclass(frozen=True, eq=False)
class LinearScores:
    """``X @ coef.T + intercept``."""

    coef: np.ndarray  # (n_outputs, width)
    intercept: np.ndarray  # (n_outputs,)

    _saved = Schema({"coef": numbers("outputs", "features"), "intercept": numbers("outputs")})

    @property
    def width(self) -> int:
        return self.coef.shape[1]

    @property
    def n_terms(self) -> int:
        return 1 + self.width

    @property
    def n_outputs(self) -> int:
        return len(self.intercept)

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for the rows of a table, of shape (n_samples, n_outputs)."""
        return np.asarray(X @ self.coef.T) + self.intercept

    @classmethod
    def of(cls, model: Any) -> LinearScores:
        coef = np.array(np.atleast_2d(model.coef_), dtype=np.float64, order="C")
        return cls(coef, np.array(np.ravel(model.intercept_), dtype=np.float64))


_BLOCK_VALUES = 2**22  # how many values of a sparse table are dense at a time
_CHECKED_SAMPLES = 500
_TOLERANCE = 1e-10


_TREE_TYPES = {
    **dict.fromkeys(("roots", "first", "left", "right", "reads"), np.int32),
    **dict.fromkeys(("threshold", "values", "offset"), np.float64),
}


@dataclass(frozen=True, eq=False)
class TreeSum:
    width: int  # number of features
    # (n_trees,): the first node of each tree, and the first output that its leaves have values for
    roots: np.ndarray
    first: np.ndarray
    left: np.ndarray  # (n_nodes,), as `right`: the children of each node, which stand behind it; -1 for a leaf
    right: np.ndarray
    reads: np.ndarray  # (n_nodes,): the feature that a node compares; for a leaf, its row in `values`
    threshold: np.ndarray  # (n_nodes,): a sample goes left where its feature is at most this
    missing_left: np.ndarray  # (n_nodes,): whether a sample that lacks the feature goes left
    values: np.ndarray  # (n_leaves, n_values)
    offset: np.ndarray  # (n_outputs,)
    factor: float
    single: bool  # whether features are rounded to single precision first, as forests of scikit-learn do
    # (width,), adding up to 1 or, without splits, 0: the share of each feature in what splits decrease of the impurity
    # or the loss; None in files of earlier versions
    importance: np.ndarray | None = None

    _saved = Schema(
        {
            "width": size("features"),
            "left": indices("nodes", low=-1, below="nodes"),
            "right": indices("nodes", low=-1, below="nodes"),
            "reads": indices("nodes"),
            "threshold": numbers("nodes", inf=True),
            "missing_left": flags("nodes"),
            "values": numbers("leaves", "values"),
            "roots": indices("trees", below="nodes"),
            "first": indices("trees"),
            "offset": numbers("outputs"),
            "factor": number(),
            "single": flag,
            "importance": optional(maybe(numbers("features", low=0.0))),
        }
    )

    @property
    def n_terms(self) -> int:
        return 1 + len(self.roots)

    @property
    def n_outputs(self) -> int:
        return len(self.offset)

    def predict(self, X: Any) -> np.ndarray:
        sums = np.zeros((X.shape[0], self.n_outputs))
        n_rows = max(1, _BLOCK_VALUES // max(1, self.width)) if sp.issparse(X) else max(1, X.shape[0])
        for start in range(0, X.shape[0], n_rows):
            block = X[start : start + n_rows]
            block = np.asarray(block.toarray() if sp.issparse(block) else block)
            if self.single:
                with np.errstate(over="ignore"):  # what is too large for single precision is beyond all thresholds
                    block = block.astype(np.float32)
            add_leaves(
                np.ascontiguousarray(block, dtype=np.float64),
                self.roots,
                self.first,
                self.left,
                self.right,
                self.reads,
                self.threshold,
                self.missing_left,
                self.values,
                sums[start : start + n_rows],
            )
        return self.offset + self.factor * sums

    @classmethod
    def of_forest(cls, forest: Any, X: Any) -> TreeSum:
        """The trees of a fitted `RandomForestClassifier` (probabilities) or `RandomForestRegressor`.

        Or of a `RandomSurvivalForest` of scikit-survival with ``low_memory=True``, whose leaves hold risks; it has no
        importances of features.
        """
        trees = []
        for estimator in forest.estimators_:
            tree = estimator.tree_
            trees.append(
                _Tree(
                    tree.children_left,
                    tree.children_right,
                    tree.feature,
                    tree.threshold,
                    tree.missing_go_to_left.astype(bool),
                    tree.value[:, 0, :],
                )
            )
        n_outputs = trees[0].values.shape[1]
        own = forest.predict_proba if hasattr(forest, "predict_proba") else forest.predict
        made = cls._joined(trees, np.zeros(len(trees)), X.shape[1], np.zeros(n_outputs), 1.0 / len(trees), True)
        if hasattr(forest, "unique_times_"):
            return made._checked(own, X, forest)
        made = replace(made, importance=np.array(forest.feature_importances_, dtype=np.float64))
        return made._checked(own, X, forest)

    @classmethod
    def of_boosting(cls, boosting: Any, X: Any) -> TreeSum:
        """The trees of a fitted `HistGradientBoostingClassifier` (log-odds) or `HistGradientBoostingRegressor`."""
        trees, first, gains = [], [], np.zeros(X.shape[1])
        for round_ in boosting._predictors:
            for output, predictor in enumerate(round_):
                nodes = predictor.nodes
                if nodes["is_categorical"].any():
                    raise ValueError("gradient boosting with categorical features cannot be kept as arrays")
                is_leaf = nodes["is_leaf"].astype(bool)
                np.add.at(gains, nodes["feature_idx"][~is_leaf], np.maximum(nodes["gain"][~is_leaf], 0.0))
                trees.append(
                    _Tree(
                        np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
                        np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
                        nodes["feature_idx"],
                        nodes["num_threshold"],
                        nodes["missing_go_to_left"].astype(bool),
                        nodes["value"][:, None],
                    )
                )
                first.append(output)
        offset = np.ravel(boosting._baseline_prediction).astype(np.float64)
        own = boosting.decision_function if hasattr(boosting, "decision_function") else boosting.predict
        made = cls._joined(trees, np.array(first), X.shape[1], offset, 1.0, False)
        total = float(gains.sum())
        return replace(made, importance=gains / total if total > 0.0 else gains)._checked(own, X, boosting)

    @classmethod
    def _joined(
        cls, trees: list[_Tree], first: np.ndarray, width: int, offset: np.ndarray, factor: float, single: bool
    ) -> TreeSum:
        sizes = np.array([len(tree.left) for tree in trees], dtype=np.int64)
        roots = np.cumsum(sizes) - sizes
        moved = np.repeat(roots, sizes)
        left, right = (np.concatenate(side) for side in ([t.left for t in trees], [t.right for t in trees]))
        is_leaf = left < 0
        reads = np.concatenate([tree.feature for tree in trees]).astype(np.int32)
        reads[is_leaf] = np.arange(is_leaf.sum())
        threshold = np.concatenate([tree.threshold for tree in trees]).astype(np.float64)
        threshold[is_leaf] = 0.0
        return cls(
            width,
            roots=roots.astype(np.int32),
            first=first.astype(np.int32),
            left=np.where(is_leaf, -1, left + moved).astype(np.int32),
            right=np.where(is_leaf, -1, right + moved).astype(np.int32),
            reads=reads,
            threshold=threshold,
            missing_left=np.concatenate([tree.missing_left for tree in trees]),
            values=np.concatenate([tree.values[tree.left < 0] for tree in trees]).astype(np.float64),
            offset=offset,
            factor=float(factor),
            single=single,
        )

    def _checked(self, own: Any, X: Any, model: Any) -> TreeSum:
        """This object, or an error where the model's own predictions of some samples are not those of the arrays."""
        some = X[:_CHECKED_SAMPLES]
        expected = np.asarray(own(some)).reshape(some.shape[0], -1)
        found = self.predict(some)
        scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
        if found.shape != expected.shape or not np.allclose(found, expected, rtol=0.0, atol=_TOLERANCE * scale):
            raise RuntimeError(
                f"the nodes of {type(model).__name__} of scikit-learn {sklearn_version} do not give its predictions, "
                "so its trees cannot be kept as arrays; please report this, and use an earlier version of the package"
            )
        return self

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """Children come after their parents, so that no way is without an end; features and values exist."""
        for name, dtype in _TREE_TYPES.items():
            if getattr(self, name).dtype != dtype:
                refuse(f"{path}.{name}", f"is an array of {getattr(self, name).dtype}, which it never is")
        is_leaf = self.left < 0
        if not np.array_equal(is_leaf, self.right < 0):
            refuse(f"{path}.right", "is no leaf where the other child is one")
        inner = np.flatnonzero(~is_leaf)
        for name in ("left", "right"):
            if (getattr(self, name)[inner] <= inner).any():
                refuse(f"{path}.{name}", "holds children that do not stand behind their node")
        check_whole(self.reads[inner], f"{path}.reads", below=int(self.width), of="features")
        check_whole(self.reads[is_leaf], f"{path}.reads", below=len(self.values), of="leaves")
        n_firsts = len(self.offset) - self.values.shape[1] + 1  # outputs with as many behind them as leaves have values
        check_whole(self.first, f"{path}.first", below=n_firsts, of="outputs")


@dataclass(frozen=True)
class _Tree:
    """The nodes of one tree; children of leaves are -1."""

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    values: np.ndarray
