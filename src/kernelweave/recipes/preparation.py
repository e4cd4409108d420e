"""Transformers and kernels of a view, from the kinds of its columns.

===========================  ==============================================================================
columns                      prepared by
===========================  ==============================================================================
numbers, without gaps        scaled to mean 0 and variance 1; a gap in a new sample is taken as the mean
numbers, with gaps           gaps become the median; then scaled
categories                   one column of 0 and 1 for each; rare ones are pooled with unknown ones
text                         TF-IDF of its words
sparse, counts               TF-IDF (not centred)
sparse, other numbers        divided by the largest value of each column (not centred)
===========================  ==============================================================================

Only transformers that a saved model can hold are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from ..kernels import Gaussian, Kernel, Linear
from .kinds import CATEGORY, NUMBER, TEXT
from .layout import TableLayout, ViewColumns

RARE_CATEGORY = 2  # training samples; categories of fewer are pooled
MOST_WORDS = 20_000  # of a column of documents


def view_transformer(view: ViewColumns, table: pd.DataFrame) -> Any:
    if view.is_sparse:
        return _sparse_transformer(table[view.name].array.matrix)
    if view.kinds == [TEXT]:
        return _words()
    if view.means is not None:
        return StandardScaler()  # gaps of new samples are filled in the table
    return _columns_transformer(view.kinds, table[view.names])


def joined_transformer(layout: TableLayout, table: pd.DataFrame) -> Any:
    if all(view.is_sparse for view in layout.views):
        return MaxAbsScaler()
    return _columns_transformer([kind for view in layout.views for kind in view.kinds], table)


def reduced(transformer: Any, view: ViewColumns, table: pd.DataFrame, *, widest: int, components: int) -> Any:
    """A transformer of one view, followed by principal components where it returns more features than `widest`."""
    width, is_sparse = prepared_width(transformer, view, table)
    n_samples = int(_present(view, table).sum())
    n_components = min(components, n_samples - 1, width - 1)
    if n_components < 1 or (width <= widest and not (is_sparse and width > components)):
        return transformer
    return Pipeline([("prepared", transformer), ("reduced", FewComponents(n_components))])


def prepared_width(transformer: Any, view: ViewColumns, table: pd.DataFrame) -> tuple[int, bool]:
    """How many features a transformer makes of a view, and whether they are sparse."""
    if view.is_sparse:
        return len(view.names), True
    if set(view.kinds) == {NUMBER}:
        return len(view.names), False
    present = _present(view, table)
    part = table.loc[present, view.names]
    given = part.iloc[:, 0].tolist() if view.kinds == [TEXT] else part
    values = transformer.fit_transform(given)
    return values.shape[1], hasattr(values, "tocsr")


def view_kernels(view: ViewColumns, transformer: Any) -> list[tuple[str, Kernel]]:
    name = view.name
    return [
        (f"{name}-linear", Linear(name, transformer=transformer)),
        (f"{name}-gaussian", Gaussian(name, transformer=transformer)),
    ]


def _present(view: ViewColumns, table: pd.DataFrame) -> np.ndarray:
    columns = [view.name] if view.is_sparse else view.names
    return table[columns].notna().to_numpy().any(axis=1)


def _columns_transformer(kinds: Sequence[str], part: pd.DataFrame) -> Any:
    """The transformer of dense columns of these kinds; columns go by position, so that names may be anything."""
    numbers = [place for place, kind in enumerate(kinds) if kind == NUMBER]
    if len(numbers) == len(kinds):
        return _numbers(part.to_numpy(dtype=np.float64), part)
    steps: list[tuple[str, Any, Any]] = []
    if numbers:
        steps.append(("numbers", _numbers(part.iloc[:, numbers].to_numpy(dtype=np.float64), part), numbers))
    categories = [place for place, kind in enumerate(kinds) if kind == CATEGORY]
    if categories:
        encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=RARE_CATEGORY)
        steps.append(("categories", encoder, categories))
    texts = [place for place, kind in enumerate(kinds) if kind == TEXT]
    steps += [(f"text{number}", _words(), place) for number, place in enumerate(texts)]
    return ColumnTransformer(steps)


def _numbers(values: np.ndarray, part: pd.DataFrame) -> Any:
    there = part.notna().to_numpy().any(axis=1)  # samples that lack the whole view have no gaps
    if np.isnan(values[there]).any():
        median = SimpleImputer(strategy="median", keep_empty_features=True)
        return Pipeline([("impute", median), ("scale", StandardScaler())])
    fill = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
    return Pipeline([("scale", StandardScaler()), ("impute", fill)])


def _words() -> Any:
    return TfidfVectorizer(sublinear_tf=True, max_features=MOST_WORDS)


def _sparse_transformer(matrix: Any) -> Any:
    counts = (matrix.data >= 0).all() and (matrix.data == np.round(matrix.data)).all()
    return TfidfTransformer() if counts else MaxAbsScaler()


class FewComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """At most so many principal components; of sparse values, singular directions without centring.

    scikit-learn's `PCA` refuses more components than there are samples, so that a number that suits all samples fails
    in the folds of a cross-validation. This one takes as many as there are.

    >>> from kernelweave.recipes.preparation import FewComponents
    >>> FewComponents(5).fit_transform([[0.0, 1.0, 5.0, 2.0], [1.0, 0.0, 2.0, 2.0], [3.0, 1.0, 1.0, 0.0]]).shape
    (3, 2)
    """

    def __init__(self, n_components: int = 50):
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> FewComponents:
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        n_samples, width = X.shape if hasattr(X, "shape") else (len(X), len(X[0]))
        number = max(1, min(self.n_components, n_samples - 1, width - 1))
        self.reduction_ = (TruncatedSVD if sp.issparse(X) else PCA)(number, random_state=0)
        return self.reduction_.fit_transform(X)

    def transform(self, X: Any) -> Any:
        return self.reduction_.transform(X)

    @property
    def loadings_(self) -> np.ndarray:
        """The components, as rows: what `kernels.components` carries weights back by."""
        return self.reduction_.components_

    @property
    def _n_features_out(self) -> int:
        return len(self.reduction_.components_)
