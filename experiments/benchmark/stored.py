"""How many training samples a fitted classifier keeps because its predictions need them."""

from __future__ import annotations

from typing import Any

import numpy as np


def stored_samples(model: Any) -> int | None:
    """The number of training samples that predictions of a fitted classifier need.

    Support vectors count, those of all parts of a stacked model once; neighbours count all samples. A classifier may
    also have the number as `n_stored_`. None for models that keep no samples, such as linear models and trees.

    Parameters
    ----------
    model : classifier

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from kernelweave.experiments.benchmark.stored import stored_samples
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> stored_samples(make_pipeline(StandardScaler(), SVC(kernel="linear", C=100.0)).fit(X, y))
    2
    >>> stored_samples(LogisticRegression().fit(X, y)) is None
    True
    """
    if getattr(model, "n_stored_", None) is not None:
        return int(model.n_stored_)
    samples = _support(model)
    if samples is not None:
        return len(samples)
    if hasattr(model, "steps"):
        return stored_samples(model.steps[-1][1])
    number = getattr(model, "n_samples_fit_", None)  # of neighbours
    return None if number is None else int(number)


def _support(model: Any) -> np.ndarray | None:
    """Positions of the support vectors of a model or of its parts; None where there are none of the kind."""
    if hasattr(model, "steps"):
        return _support(model.steps[-1][1])
    if hasattr(model, "estimators_") and hasattr(model, "final_estimator_"):  # stacked
        parts = [found for part in model.estimators_ if (found := _support(part)) is not None]
        return np.unique(np.concatenate(parts)) if parts else None
    found = getattr(model, "support_", None)
    return None if found is None else np.asarray(found)
