"""X as estimators get it, as `Views`: checked where a user gives it, and as it is where our own code gives `Views`.

A search fits hundreds of models to parts of one table. With `Views`, whose `rows` share their names and their source,
the names of thousands of columns are checked once, and samples are known by their positions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..validation.inputs import check_new_data, check_training_data
from .table import Views


def training_views(estimator: Any, X: Any) -> Views:
    """X of a fit; the estimator gets `n_features_in_` and, where columns have names, `feature_names_in_`."""
    if not isinstance(X, Views):
        return Views(*check_training_data(estimator, X))
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = X.shape[1]
    if X.names is not None:
        estimator.feature_names_in_ = X.names
    return X


def new_views(estimator: Any, X: Any, used: np.ndarray) -> Views:
    """X of a prediction; `used` has the positions of the columns that are read. `Views` have the columns of the fit."""
    return X if isinstance(X, Views) else Views(*check_new_data(estimator, X, used))
