"""Methods that take new samples in whatever holds them.

A method that takes X is written for samples in memory. Where X is something else it is called for each block instead,
and what the blocks give is put together as that X would have it: lazily, or in files.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from ..engines.dask_collections import is_dask, lazily
from ..engines.files import FromFiles
from ..views import TableInBlocks
from .progress import bars_of
from .samples import targets_given, whole_targets


def wherever_X_is(method: Callable[..., Any]) -> Callable[..., Any]:  # noqa: N802
    """Let a method of an estimator take X in files and in Dask collections, too.

    Parameters
    ----------
    method : callable
        ``method(estimator, X, ...)`` for X in memory.
    """
    return _by_blocks(method, on_dask=True)


def in_files_too(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of an estimator take X in files, too.

    Parameters
    ----------
    method : callable
        ``method(estimator, X, ...)`` for X in memory.
    """
    return _by_blocks(method, on_dask=False)


def _by_blocks(method: Callable[..., Any], *, on_dask: bool) -> Callable[..., Any]:
    @wraps(method)
    def found(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(X, TableInBlocks):
            return _in_files(self, method.__name__, X, *arguments, **options)
        if on_dask and is_dask(X):
            return _on_dask(self, method.__name__, X, *arguments, **options)
        return method(self, X, *arguments, **options)

    return found


# Dask collections


def _on_dask(estimator: Any, method: str, X: Any, fetch: Any = None) -> Any:
    """A method of a fitted estimator for the chunks of X, lazily: a Dask array, or a data frame of weights."""
    check_is_fitted(estimator)
    if fetch is not None:
        raise ValueError("fetch is for samples in memory: its positions are those of all of X, not of a chunk")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (samples, columns), not {X.ndim}")
    if hasattr(X, "chunks") and X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input"
        )
    return lazily(estimator, method, X, _of_no_sample(estimator, method))


def _of_no_sample(estimator: Any, method: str) -> Any:
    """What a method returns, for no sample."""
    if method in ("kernel_weights", "gates"):
        return estimator._labelled_weights(np.empty((0, *estimator.kernel_weights_.shape)))
    if method == "predict" and is_classifier(estimator):
        return np.empty(0, dtype=estimator.classes_.dtype)
    if method == "predict" and is_outlier_detector(estimator):
        return np.empty(0, dtype=int)
    values = estimator._rule.decision(np.zeros((1, len(estimator.intercept_))))
    return (values.reshape(1, -1) if hasattr(estimator, "target_names_") else values)[:0]


# Files


class StoredFrames:
    """Blocks of X of an open table.

    Parameters
    ----------
    table : TableInBlocks
    """

    def __init__(self, table: TableInBlocks):
        self.table, self.n_blocks = table, table.n_blocks

    def block(self, number: int) -> pd.DataFrame:
        """A block, with the sample ids as index."""
        return self.table.rows(*self.table.limits(number))


def _in_files(estimator: Any, name: str, X: TableInBlocks, *arguments: Any, **options: Any) -> Any:
    """What a method of an estimator returns for all samples of an open table, found block by block."""
    given = [options.get("fetch"), *(arguments[:1] if name != "project" else ())]
    if any(one is not None for one in given):
        raise ValueError("fetch is for X in memory; a view that is missing from a file stays missing")
    engine = FromFiles(StoredFrames(X), watch=bars_of(estimator, f"{type(estimator).__name__}.{name}"))
    return _joined(list(engine.results(_called, estimator, name, arguments, options)))


def _called(X: pd.DataFrame, estimator: Any, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return getattr(estimator, name)(X, *arguments, **options)


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], dict):
        return {key: _joined([part[key] for part in parts]) for key in parts[0]}
    return pd.concat(parts) if isinstance(parts[0], pd.DataFrame | pd.Series) else np.concatenate(parts)


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
            if y is None:
                targets_given(self, X, y)
                y = whole_targets(X)
            if isinstance(sample_weight, str):
                column = X.column(sample_weight, "sample_weight")
                parts = (column.read(*X.limits(number)) for number in range(X.n_blocks))
                sample_weight = np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])
        elif y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return super().score(X, y, sample_weight)  # type: ignore[misc]  # of the mixin of scikit-learn behind this one
