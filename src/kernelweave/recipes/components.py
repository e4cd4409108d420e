"""`FewComponents`: leading components of a view, fewer where the samples of a fold have fewer."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA, TruncatedSVD


class FewComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """At most so many principal components; of sparse values, singular directions without centring.

    scikit-learn's `PCA` refuses more components than there are samples, so that a number that suits all samples fails
    in the folds of a cross-validation. This one takes as many as there are.

    Parameters
    ----------
    n_components : int

    Attributes
    ----------
    reduction_ : PCA or TruncatedSVD
        Fitted.

    Examples
    --------
    >>> from kernelweave.recipes.components import FewComponents
    >>> FewComponents(5).fit_transform([[0.0, 1.0, 5.0, 2.0], [1.0, 0.0, 2.0, 2.0], [3.0, 1.0, 1.0, 0.0]]).shape
    (3, 2)
    """

    def __init__(self, n_components: int = 50):
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> FewComponents:
        """Find the components.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : ignored
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the components; returns their values.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : ignored
        """
        n_samples, width = X.shape if hasattr(X, "shape") else (len(X), len(X[0]))
        number = max(1, min(self.n_components, n_samples - 1, width - 1))
        self.reduction_ = (TruncatedSVD if sp.issparse(X) else PCA)(number, random_state=0)
        return self.reduction_.fit_transform(X)

    def transform(self, X: Any) -> Any:
        """Values of the components.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        return self.reduction_.transform(X)

    @property
    def _n_features_out(self) -> int:
        """Number of columns, for `get_feature_names_out`."""
        return len(self.reduction_.components_)
