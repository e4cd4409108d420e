"""Transformers around other models: `LeadingComponents`, `FromEstimator` and `reduced_svm`.

`reduced_svm` (thesis 5.4.3) is what learned projections are compared with, in Figures 5.19 to 5.22 of the thesis: there
the projection is found without the machine's loss.

==================================  =======================================
thesis 5.4.3                        here
==================================  =======================================
number of dimensions, R_m           `n_components`
PCA before LFDA (OLIVETTI, to 100)  `pca_first`
stored support vectors              ``pipeline["svm"].support_``
==================================  =======================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ..combiners import Projected
from ..combiners.named import combiner_named
from ..estimators import MKLClassifier
from ..estimators.base import KernelMachineEstimator
from ..estimators.fitted import lookups_of
from ..kernels import Linear
from ..validation import Constraints, Instance, Offers, Whole, check, check_parameters
from ..validation.inputs import check_matrix, check_row_labels, unchanged_on_failure
from ..validation.schemas import Schema, Sizes, object_of, refuse
from .base import NamedComponents
from .local_fisher import LocalFisher


class LeadingComponents(NamedComponents, TransformerMixin, BaseEstimator):
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
        """
        with unchanged_on_failure(self):
            limit = check_parameters(self).n_components
            check_row_labels(X, y=y)
            X = check_matrix(self, X)
            self.transformer_ = clone(self.transformer).fit(X, y)
            self.n_components_ = self.transformer_.transform(X[:1])[:, :limit].shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The first columns of what the transformer returns, of shape (n_samples, n_components)."""
        check_is_fitted(self)
        X = check_matrix(self, X, reset=False)
        return self.transformer_.transform(X)[:, : self.n_components_]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if hasattr(self.transformer, "__sklearn_tags__") and not isinstance(self.transformer, type):
            tags.target_tags.required = self.transformer.__sklearn_tags__().target_tags.required
        return tags


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

    _saved = Schema({"estimator_": object_of(KernelMachineEstimator)})

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
        """
        self._check()
        self.estimator_ = clone(self.estimator).fit(X, y, **fit_params)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Projections of samples, of shape (n_samples, n_components)."""
        return self._fitted().project(X).to_numpy()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names ``kernel__0``, ``kernel__1``, ... of the features."""
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
        if "project" not in getattr(combiner_named(self.estimator.combiner), "methods", ()):
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
        return lookups_of(self._fitted())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_") or getattr(self.estimator, "__sklearn_is_fitted__", lambda: False)()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.input_tags = inner.input_tags
        tags.target_tags.required = inner.target_tags.required
        return tags

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if not isinstance(self.estimator_.combiner_, Projected):
            refuse(f"{path}.estimator_", "has no projections")


_REDUCERS = ("pca", "kpca", "lda", "lfda")


def reduced_svm(
    reducer: Any,
    n_components: int | None = 2,
    *,
    C: float = 1.0,
    random_state: Any = None,
    pca_first: int | None = 100,
) -> Pipeline:
    """The comparison "reduce, then linear SVM" as a pipeline: ``scale``, ``reduce``, ``svm``.

    Features are standardised, reduced by the criterion of the reducer, and the machine minimises ``1/2 ||w||^2 + C
    sum_i max(0, 1 - y_i (<w, z_i> + b))`` over the reduced samples z. These are not normalised: the reduction found
    their lengths, and unit rows in one dimension would be +1 or -1. See the thesis (Gönen 2010), 5.4.3.

    Parameters
    ----------
    reducer : {"pca", "kpca", "lda", "lfda"}, transformer or None
        Principal components; those of a Gaussian kernel (``reduce__gamma``, 1 / n_features by default); linear
        discriminants; `LocalFisher` with orthonormal directions, as those of PCA are, so that one C means the same to
        both; a transformer of your own, with its own parameters; None for no reduction.
    n_components : int or None
        For reducers given by name; None for the reducer's own default (all components; 2 for "lfda"). More than
        there are features is the reducer's error. "lda" alone takes as many as there are, n_classes - 1 at most: that
        limit comes from the labels, and all two-class problems would fail otherwise.
    C : float
        Cost of a margin violation.
    random_state : int, RandomState or None
        For "pca" and "kpca", which draw random numbers on large data, and for the machine.
    pca_first : int or None
        "lfda" is given only this many leading principal components, as in the thesis, or all where there are fewer (a
        step ``pca`` before ``reduce``). None: no such step.

    Returns
    -------
    Pipeline
        Unfitted. Its last step is an `MKLClassifier` with one linear kernel: ``pipeline["svm"].support_`` holds the
        support vectors.

    Notes
    -----
    Memory: the n x n kernel of the machine, and what the reducer takes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.reduction import reduced_svm
    >>> X, y = load_iris(return_X_y=True)
    >>> model = reduced_svm("lfda", n_components=2).fit(X, y == 1)
    >>> model[:-1].transform(X).shape
    (150, 2)
    >>> bool(model.score(X, y == 1) > 0.7), len(model["svm"].support_) < 150
    (True, True)
    """
    check(None, "n_components", n_components, Whole(1) | None)
    check(None, "pca_first", pca_first, Whole(1) | None)
    steps = [("scale", StandardScaler())]
    if isinstance(reducer, str) and reducer == "lfda" and pca_first is not None:
        steps.append(("pca", LeadingComponents(PCA(), pca_first)))
    steps.append(("reduce", _reducer(reducer, n_components, random_state)))
    steps.append(("svm", MKLClassifier([Linear()], C=C, normalize=None, random_state=random_state)))
    return Pipeline(steps)


def _reducer(reducer: Any, n_components: int | None, random_state: Any) -> Any:
    if reducer is None:
        return "passthrough"
    if isinstance(reducer, str) and reducer in _REDUCERS:
        return {
            "pca": lambda: PCA(n_components, random_state=random_state),
            "kpca": lambda: KernelPCA(n_components, kernel="rbf", random_state=random_state),
            "lda": lambda: LeadingComponents(LinearDiscriminantAnalysis(), n_components),
            "lfda": lambda: LocalFisher(n_components, metric="orthonormalized"),
        }[reducer]()
    if isinstance(reducer, str | type) or not (hasattr(reducer, "fit") and hasattr(reducer, "transform")):
        raise ValueError(
            f"reducer must be one of {', '.join(map(repr, _REDUCERS))}, a transformer or None, not {reducer!r}"
        )
    return reducer
