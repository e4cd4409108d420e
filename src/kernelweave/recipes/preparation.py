"""Transformers and kernels of a view, from the kinds of its columns: the one preparation of all methods.

===========================  ==============================================================================
columns                      prepared by
===========================  ==============================================================================
numbers, without gaps        scaled to mean 0 and variance 1; a gap in a new sample is taken as the mean
numbers, with gaps           gaps become the median; then scaled
categories                   one column of 0 and 1 for each; rare ones are pooled with unknown ones
text                         TF-IDF of its words, rows of unit length
counts, sparse or not        TF-IDF, rows of unit length; a gap is 0
sparse, not negative         rows of unit length
sparse, other numbers        divided by the largest value of each column (not centred)
===========================  ==============================================================================

A sparse view has counts where all its values are whole numbers and none is negative. A table that is not sparse has
them where most values are 0, most others 1, and some are larger, so that grey values of images are none. Text,
counts and rows of unit length get a linear kernel, other views a linear and a Gaussian one. Models of all columns read
the same, view by view, side by side. Only transformers that a saved model can hold are used.
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
from sklearn.preprocessing import MaxAbsScaler, Normalizer, OneHotEncoder, StandardScaler

from ..kernels import Gaussian, Kernel, Linear
from .kinds import CATEGORY, NUMBER, TEXT
from .layout import COUNTS, NUMBERS, PARTS, TableLayout, ViewColumns, values_of

RARE_CATEGORY = 2  # training samples; categories of fewer are pooled
MOST_WORDS = 20_000  # of a column of documents


def view_transformer(view: ViewColumns, table: pd.DataFrame) -> Any:
    holds = values_of(view, table)
    if view.is_sparse:
        return _sparse_transformer(holds)
    if holds != NUMBERS:
        return _zeros_and(_sparse_transformer(holds))
    if view.kinds == [TEXT]:
        return _words()
    if view.means is not None:
        return StandardScaler()  # gaps of new samples are filled in the table
    return _columns_transformer(view.kinds, table[view.names])


def joined_transformer(layout: TableLayout, table: pd.DataFrame) -> Any:
    """The transformer of the columns of all views: those of rows of unit length view by view, others together."""
    steps: list[tuple[str, Any, Any]] = []
    others: list[tuple[int, str]] = []
    start = 0
    for number, view in enumerate(layout.views):
        places = list(range(start, start + len(view.names)))
        start += len(places)
        holds = values_of(view, table)
        if view.is_sparse:
            steps.append((f"view{number}", _sparse_transformer(holds), places))
        elif holds != NUMBERS:
            steps.append((f"view{number}", _zeros_and(_sparse_transformer(holds)), places))
        else:
            others += zip(places, view.kinds, strict=True)
    if not steps:
        return _columns_transformer([kind for _, kind in others], table)
    if len(steps) == len(layout.views) == 1:
        return steps[0][1]
    if others:
        steps = _column_steps([place for place, _ in others], [kind for _, kind in others], table) + steps
    return ColumnTransformer(steps)


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
        return len(view.names), values_of(view, table) != NUMBERS
    present = _present(view, table)
    part = table.loc[present, view.names]
    given = part.iloc[:, 0].tolist() if view.kinds == [TEXT] else part
    values = transformer.fit_transform(given)
    return values.shape[1], hasattr(values, "tocsr")


def view_kernels(view: ViewColumns, table: pd.DataFrame, transformer: Any) -> list[tuple[str, Kernel]]:
    linear = (f"{view.name}-linear", Linear(view.name, transformer=transformer))
    if has_unit_rows(view, table):
        return [linear]
    return [linear, (f"{view.name}-gaussian", Gaussian(view.name, transformer=transformer))]


def unscaled_kernels(view: ViewColumns, table: pd.DataFrame) -> list[tuple[str, Kernel]]:
    """Kernels of numbers that are centred but not scaled, so that large ones count more."""
    scale = StandardScaler(with_std=False)
    transformer = scale if view.means is not None else _numbers(table[view.names].to_numpy(np.float64), scale)
    return [
        (f"{view.name}-unscaled-linear", Linear(view.name, transformer=transformer)),
        (f"{view.name}-unscaled-gaussian", Gaussian(view.name, transformer=transformer)),
    ]


def has_scales(view: ViewColumns, table: pd.DataFrame) -> bool:
    """Whether a view has several columns of numbers, which `unscaled_kernels` weight by their scales."""
    return may_have_scales(view) and not has_unit_rows(view, table)


def may_have_scales(view: ViewColumns) -> bool:
    return set(view.kinds) == {NUMBER} and len(view.names) > 1 and not view.is_sparse


def has_unit_rows(view: ViewColumns, table: pd.DataFrame) -> bool:
    """Whether the prepared rows have unit length, so that a linear kernel compares all that a Gaussian one would."""
    return view.kinds == [TEXT] or values_of(view, table) != NUMBERS


def _present(view: ViewColumns, table: pd.DataFrame) -> np.ndarray:
    columns = [view.name] if view.is_sparse else view.names
    return table[columns].notna().to_numpy().any(axis=1)


def _columns_transformer(kinds: Sequence[str], part: pd.DataFrame) -> Any:
    """The transformer of dense columns of these kinds; columns go by position, so that names may be anything."""
    if set(kinds) == {NUMBER}:
        return _numbers(part.to_numpy(dtype=np.float64))
    return ColumnTransformer(_column_steps(range(len(kinds)), kinds, part))


def _column_steps(places: Sequence[int], kinds: Sequence[str], table: pd.DataFrame) -> list[tuple[str, Any, Any]]:
    by_kind = {kind: [place for place, own in zip(places, kinds, strict=True) if own == kind] for kind in set(kinds)}
    steps: list[tuple[str, Any, Any]] = []
    if numbers := by_kind.get(NUMBER):
        there = table.notna().to_numpy().any(axis=1)  # samples that lack all views have no gaps
        values = table.iloc[:, numbers].to_numpy(dtype=np.float64)[there]
        steps.append(("numbers", _numbers(values, is_whole=False), numbers))
    if categories := by_kind.get(CATEGORY):
        encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=RARE_CATEGORY)
        steps.append(("categories", encoder, categories))
    return steps + [(f"text{number}", _words(), place) for number, place in enumerate(by_kind.get(TEXT, []))]


def _numbers(values: np.ndarray, scale: Any = None, *, is_whole: bool = True) -> Any:
    """Of columns of numbers; rows of gaps only are samples that lack the view, if the columns are a whole view."""
    scale = StandardScaler() if scale is None else scale
    missing = np.isnan(values)
    if missing[~missing.all(axis=1) if is_whole else slice(None)].any():
        median = SimpleImputer(strategy="median", keep_empty_features=True)
        return Pipeline([("impute", median), ("scale", scale)])
    fill = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
    return Pipeline([("scale", scale), ("impute", fill)])


def _words() -> Any:
    return TfidfVectorizer(sublinear_tf=True, max_features=MOST_WORDS)


def _sparse_transformer(holds: str) -> Any:
    return {COUNTS: TfidfTransformer(), PARTS: Normalizer(), NUMBERS: MaxAbsScaler()}[holds]


def _zeros_and(transformer: Any) -> Any:
    fill = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
    return Pipeline([("impute", fill), ("weigh", transformer)])


class FewComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """At most so many principal components; of sparse values, singular directions without centring.

    scikit-learn's `PCA` refuses more components than there are samples, so that a number that suits all samples fails
    in the folds of a cross-validation. This one takes as many as there are.

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
