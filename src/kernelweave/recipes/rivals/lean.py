"""`lean_preparation`: what gradient boosting takes in the place of a preparation that is made for linear models.

Gradient boosting takes missing numbers as they are, needs no scaling, and reads a table that is not sparse, in time
that grows with its columns. So numbers are neither filled in nor scaled, and documents and sparse tables are reduced to
their leading singular directions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from ...validation import is_number

_PLAIN = (SimpleImputer, StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler, FunctionTransformer)


def lean_preparation(preparation: Any, table: Any, *, components: int) -> Any:
    """The preparation for gradient boosting.

    Parameters
    ----------
    preparation : transformer
        It is not changed.
    table : DataFrame, array or sparse matrix
        What it is to be fitted to, without missing documents.
    components : int
        Documents and sparse tables of more features are reduced to so many.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kernelweave.recipes.rivals.lean import lean_preparation
    >>> lean_preparation(make_pipeline(SimpleImputer(), StandardScaler()), np.zeros((3, 2)), components=50)
    FunctionTransformer()
    """
    if sp.issparse(table):
        return _reduced(preparation, table, components)
    if not isinstance(preparation, ColumnTransformer):
        return FunctionTransformer() if _is_plain(preparation) else preparation
    lean = clone(preparation).set_params(sparse_threshold=0.0)
    parts = []
    for name, part, columns in lean.transformers:
        if _is_plain(part):
            part = "passthrough"
        elif not isinstance(part, str) and isinstance(columns, str | int | np.integer):
            documents = table[columns] if isinstance(columns, str) else _column(table, int(columns))
            part = _reduced(part, documents, components)
        parts.append((name, part, columns))
    return lean.set_params(transformers=parts)


def _is_plain(transformer: Any) -> bool:
    """Whether a transformer does nothing but fill numbers in and scale them."""
    if isinstance(transformer, Pipeline):
        return all(_is_plain(step) for _, step in transformer.steps)
    if isinstance(transformer, FunctionTransformer):
        return transformer.func is None
    if isinstance(transformer, SimpleImputer):
        return transformer.strategy in ("mean", "median") or (
            transformer.strategy == "constant" and is_number(transformer.fill_value)
        )
    return isinstance(transformer, _PLAIN)


def _column(table: Any, place: int) -> Any:
    return table.iloc[:, place] if hasattr(table, "iloc") else table[:, place]


def _reduced(transformer: Any, given: Any, components: int) -> Any:
    """A transformer, with its leading singular directions where it makes more features than there are to be."""
    n_samples, width = clone(transformer).fit_transform(given).shape
    if width <= components:
        return transformer
    reduction = TruncatedSVD(min(components, width - 1, n_samples), random_state=0)
    return Pipeline([("prepared", transformer), ("reduced", reduction)])
