"""`FromEstimator`: the learned projections of a model, as a transformer (Gönen's thesis, 2010, chapter 4; SLDR)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..estimators.base import KernelMachineEstimator
from ..estimators.fitted import lookups_of
from ..validation import Constraints, Instance, check_parameters


class FromEstimator(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """Features eta_m(x) W_m' x^m from a model that has learned projections W_m and gates eta.

    The objective is that of the estimator, whose combiner is `Projected`: the projections minimise the optimum of its
    machine. The features of all kernels are concatenated, see the estimator's `project`.

    Parameters
    ----------
    estimator : MKLClassifier, MKLRegressor or MKLOneClass
        With the combiner `Projected`. `fit` fits a copy; an estimator that is fitted already can transform at once.

    Attributes
    ----------
    estimator_ : KernelMachineEstimator
        The fitted copy.

    Notes
    -----
    Memory: that of the estimator's fit; a fitted transformer keeps what the estimator does.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Projected
    >>> from kernelweave.reduction import FromEstimator
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MKLClassifier(combiner=Projected(n_components=2), multiclass="joint", random_state=0)
    >>> FromEstimator(model).fit_transform(X, y).shape
    (150, 2)
    """

    _constraints = Constraints(
        estimator=Instance(KernelMachineEstimator, "an MKLClassifier, MKLRegressor or MKLOneClass")
    )

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> FromEstimator:
        """Fit a copy of the estimator.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,), optional
            Targets, where the estimator has any.
        **fit_params
            Passed to the estimator's `fit`.

        Returns
        -------
        self
        """
        self._check()
        self.estimator_ = clone(self.estimator).fit(X, y, **fit_params)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Projections of samples.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self._fitted().project(X).to_numpy()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names ``kernel__0``, ``kernel__1``, ... of the features.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        projections = self._fitted().projections_
        return np.array([name for W in projections.values() for name in W.columns], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X in the fit."""
        return self._fitted().n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns of X in the fit, where they had any."""
        return self._fitted().feature_names_in_

    def _check(self) -> None:
        check_parameters(self)
        if "project" not in getattr(self.estimator.combiner, "methods", ()):
            raise ValueError(
                f"estimator must have the combiner Projected(...), which learns projections, not "
                f"{self.estimator.combiner!r}"
            )
        if getattr(self.estimator, "weights", "shared") != "shared":
            raise ValueError(
                'estimator has weights="per-class", and with it projections of its own for each class; use '
                'weights="shared"'
            )

    def _fitted(self) -> KernelMachineEstimator:
        """The fitted copy, or the estimator itself where that is fitted."""
        fitted = getattr(self, "estimator_", None)
        if fitted is not None:
            return fitted
        self._check()
        try:
            check_is_fitted(self.estimator)
        except NotFittedError:
            raise NotFittedError(
                "This FromEstimator instance is not fitted yet, and neither is its estimator; call fit first"
            ) from None
        return self.estimator

    def _lookups(self) -> list:
        """The precomputed matrices that the estimator looks new samples up in."""
        return lookups_of(self._fitted())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_") or getattr(self.estimator, "__sklearn_is_fitted__", lambda: False)()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.input_tags = inner.input_tags
        tags.target_tags.required = inner.target_tags.required
        return tags
