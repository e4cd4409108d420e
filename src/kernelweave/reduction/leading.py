"""`LeadingComponents`: at most `n_components` components of a transformer, for data that may have fewer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..validation import Constraints, Offers, Whole, check_parameters
from ..validation.inputs import check_matrix, check_row_labels, unchanged_on_failure


class LeadingComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The first components of a transformer that finds them in order, or all where there are fewer.

    The transformer is fitted with its own `n_components` (None: all of them); columns beyond
    `n_components` are dropped. So one number serves data of any size and any number of classes, where scikit-learn's
    `PCA` and `LinearDiscriminantAnalysis` refuse more components than there are.

    Parameters
    ----------
    transformer : transformer
        One whose columns come in order, the best first.
    n_components : int or None
        At most so many columns; None for all.

    Attributes
    ----------
    transformer_ : transformer
        Fitted.
    n_components_ : int
        Columns that are there.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from kernelweave.reduction import LeadingComponents
    >>> X = [[0.0, 1.0, 2.0], [1.0, 0.0, 5.0], [3.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    >>> [LeadingComponents(PCA(), n).fit_transform(X).shape for n in (2, 100)]
    [(4, 2), (4, 3)]
    """

    _constraints = Constraints(
        transformer=Offers("fit", "transform", words="an object with methods fit and transform"),
        n_components=Whole(1) | None,
    )

    def __init__(self, transformer: Any, n_components: int | None = None):
        self.transformer = transformer
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> LeadingComponents:
        """Fit the transformer.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
        y : array of shape (n_samples,), optional
            Targets, where the transformer needs them.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            limit = check_parameters(self).n_components
            check_row_labels(X, y=y)
            X = check_matrix(self, X)
            self.transformer_ = clone(self.transformer).fit(X, y)
            self.n_components_ = self.transformer_.transform(X[:1])[:, :limit].shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The first columns of what the transformer returns.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = check_matrix(self, X, reset=False)
        return self.transformer_.transform(X)[:, : self.n_components_]

    @property
    def _n_features_out(self) -> int:
        """Number of columns, for `get_feature_names_out`."""
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if hasattr(self.transformer, "__sklearn_tags__") and not isinstance(self.transformer, type):
            tags.target_tags.required = self.transformer.__sklearn_tags__().target_tags.required
        return tags
