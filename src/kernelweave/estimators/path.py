"""`fit_path`: one estimator along a path of values of one parameter, each machine restarted from the last solution.

Neighbouring values of C have neighbouring solutions, once scaled by the ratio of the values, so a path usually takes
fewer solver steps than its fits one by one; little is saved where C grows tenfold. A machine ignores a start that is
worse than none. Combiners are not involved: `Machine.starting_at` makes solves begin at the last coefficients where the
caller gives no start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone


def fit_path(estimator: Any, X: Any, y: Any, parameter: str, values: Sequence[Any]) -> Iterator[Any]:
    """Fit an estimator once for each value of a parameter, in order, restarting from the last solution.

    Parameters
    ----------
    estimator : MKLClassifier, MKLRegressor or MKLOneClass
        Cloned for each value. Another scikit-learn estimator works too, without restarts.
    X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    parameter : str
        Name of the parameter, such as ``"C"`` or ``"combiner__l2"``.
    values : sequence
        Its values; a path from small to large C is usually fastest.

    Yields
    ------
    estimator
        A fitted clone for each value. Solutions meet the same tolerance as without restarts.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.estimators.path import fit_path
    >>> X, y = datasets.make_gauss(4, 200, random_state=0)
    >>> small, large = fit_path(MKLClassifier(), X, y, "C", [0.01, 1.0])
    >>> len(large.support_) < len(small.support_)
    True
    """
    start, last = None, None
    for value in values:
        model = clone(estimator).set_params(**{parameter: value})
        if start is not None:
            model._start = start * (_growth(value, last) if parameter == "C" else 1.0)
        model.fit(X, y)
        model.__dict__.pop("_start", None)
        start, last = _coefficients(model, np.shape(X)[0]), value
        yield model


def _growth(value: Any, last: Any) -> float:
    """Ratio of two costs: coefficients at their bound stay there. Without it a restart costs more than it saves."""
    return float(value) / float(last) if isinstance(value, Real) and isinstance(last, Real) else 1.0


def _coefficients(model: Any, n_samples: int) -> np.ndarray | None:
    """Dual coefficients of all training samples of a fitted model, of shape (n_samples, n_outputs)."""
    if not hasattr(model, "dual_coef_") or not hasattr(type(model), "_start"):
        return None
    coef = np.zeros((n_samples, len(model.dual_coef_)))
    coef[model.support_] = model.dual_coef_.T
    return coef
