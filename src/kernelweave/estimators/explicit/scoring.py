"""`ScoredAnywhere`: the score of a model on samples in memory or in files."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...views import TableInBlocks
from .stored import targets_given, whole_targets


class ScoredAnywhere:
    """`score` for X in memory, with y, and for a table in files, which has its own targets."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of labels that are predicted rightly (accuracy), or of the variance of numbers explained (R2).

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features), or OpenViews
        y : array of shape (n_samples,) or (n_samples, n_targets)
            None where X is an `OpenViews` with a target, which is compared then.
        sample_weight : array of shape (n_samples,) or str, optional
            Of an `OpenViews` also the name of a column.

        Returns
        -------
        float
        """
        if isinstance(X, TableInBlocks):
            y, sample_weight = _beside(self, X, y, sample_weight)
        elif y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return super().score(X, y, sample_weight)  # type: ignore[misc]  # of the mixin of scikit-learn behind this one


def _beside(estimator: Any, table: TableInBlocks, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """The targets of a table and its sample weights, in memory."""
    if y is None:
        targets_given(estimator, table, y)
        y = whole_targets(table)
    if isinstance(sample_weight, str):
        column = table.column(sample_weight, "sample_weight")
        parts = (column.read(*table.limits(number)) for number in range(table.n_blocks))
        sample_weight = np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])
    return y, sample_weight
