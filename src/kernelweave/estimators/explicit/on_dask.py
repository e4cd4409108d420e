"""Methods of fitted estimators for new samples in Dask collections."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from ...engines.cluster import is_dask, lazily


def check_in_memory(estimator: Any, X: Any) -> None:
    """Refuse the Dask collections that an exact kernel would have to gather."""
    if is_dask(X):
        raise ValueError(
            f"{type(estimator).__name__} with exact kernels compares all pairs of samples, for which the chunks of a "
            'Dask collection would have to be gathered; set approximation="nystroem" (explicit features), or pass '
            "X.compute() where it fits into memory"
        )


def on_dask(estimator: Any, method: str, X: Any, fetch: Any = None) -> Any:
    """A method of a fitted estimator for the chunks of X, lazily: a Dask array, or a data frame of weights.

    Parameters
    ----------
    estimator : fitted estimator
    method : str
    X : Dask array or data frame
    fetch : None
        Missing views are fetched for samples in memory only.
    """
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
