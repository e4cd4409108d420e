"""`SparseLargeMarginClassifier`: a support vector machine whose solution is spanned by a few points that are learned.

==========================  ==================================================================
Wu, Schoelkopf, Bakir       here
==========================  ==================================================================
N_z, z_1 ... z_Nz           n_expansion, expansion_vectors_
W(Z)                        objective_: the machine's optimum under the kernel SKFE (16)
dW/dz                       Danskin's theorem through `LandmarkKernel.pullback`
==========================  ==================================================================
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...combiners import Mean, WeightedSum
from ...kernels import Gaussian, KernelStack
from ...kernels.points import LandmarkKernel, landmark_views, starting_landmarks, view_values
from ...kernels.resources import warn_if_too_large
from ...machines import BinaryMachine, Machine, OneVsAllMachine, Solution
from ...solvers.descent import Ascent, climb
from ...validation import Constraints, Flag, Number, Seed, Whole, check_parameters
from ...validation.inputs import (
    check_labels,
    check_row_labels,
    check_training_data,
    encode_labels,
    unchanged_on_failure,
)
from ...views import Views
from ..fitted import FittedKernels
from ..progress import progress_bar
from ..ties import rounding_of, without_ties

# The machine inside a line search is solved so closely that its optimum is smooth along the line.
_GAP = 1e-8


class SparseLargeMarginClassifier(ClassifierMixin, FittedKernels, BaseEstimator):
    """Support vector classification with a given, small number of expansion vectors.

    Minimises ``1/2 ||w||^2 + C sum_i max(0, 1 - y_i f(x_i))`` over ``f(x) = <w, phi(x)> + b``, where w must lie in the
    span of the images of `n_expansion` points, and over these points as well. For given points this is a plain machine
    with the kernel ``psi(x)' K_z^-1 psi(x')`` of SKFE (16), so they move by its gradient. Prediction compares a sample
    with these points only. Reference: Wu, Schölkopf and Bakır, Building sparse large margin classifiers (ICML
    2005); SKFE, section 3.2.

    Parameters
    ----------
    n_expansion : int
        Number of expansion vectors.
    kernel : Kernel or None
        A kernel that is differentiable by its features: `Linear`, `Polynomial`, `Gaussian`, or one of your own that
        declares `is_differentiable`; None means a `Gaussian` as wide as the samples are spread.
    C : float
        Cost of a margin violation.
    init : {"centroids", "samples"} or array of shape (n_expansion, n_columns)
        Where the points start: at means of clusters within classes, at random samples, or as given.
    ridge : float
        Share of the samples' mean k(x, x) that is added to the diagonal of the points' kernel.
    max_iter : int
        Limit on moves of the points (L-BFGS).
    tol : float
        Stop where the objective falls by less than this share per iteration, on average over ten.
    random_state : int, RandomState or None
        For the start.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
        Training samples of each class.
    expansion_vectors_ : ndarray of shape (n_expansion, n_columns)
    dual_coef_ : ndarray of shape (n_outputs, n_expansion)
        Coefficients of the expansion vectors; one row for two classes, else one per class (one-vs-all).
    intercept_ : ndarray of shape (n_outputs,)
    kernel_ : Kernel
        Fitted.
    objective_ : float
        Value of the machine's dual at its optimum (the sum over classes).
    duality_gap_ : float
    history_ : DataFrame
        The objective at the start and after each iteration; it never rises.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Memory: one n x n matrix while fitting and at most one more inside the machine; `n_expansion` points afterwards.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.estimators import SparseLargeMarginClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseLargeMarginClassifier(3, random_state=0).fit(X, y)
    >>> model.expansion_vectors_.shape, bool(model.score(X, y) > 0.95)
    ((3, 4), True)
    """

    _constraints = Constraints(
        n_expansion=Whole(1),
        C=Number(above=0),
        ridge=Number(low=0),
        max_iter=Whole(1),
        tol=Number(low=0),
        random_state=Seed(),
        verbose=Flag() | Whole(0),
    )

    def __init__(
        self,
        n_expansion: int = 10,
        kernel: Any = None,
        *,
        C: float = 1.0,
        init: Any = "centroids",
        ridge: float = 1e-8,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_expansion = n_expansion
        self.kernel = kernel
        self.C = C
        self.init = init
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> SparseLargeMarginClassifier:
        """Fit the classifier.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels of any type.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            given = check_parameters(self)
            check_row_labels(X, y=y)
            views = Views(*check_training_data(self, X))
            self.classes_, labels = encode_labels(self, check_labels(self, y, views.n_samples))
            self.class_count_ = np.bincount(labels).astype(np.float64)
            stack = KernelStack([Gaussian() if self.kernel is None else self.kernel], None).fit(views, y=y)
            warn_if_too_large(2, stack.n_samples, stack.dtype, "the kernel of the expansion vectors", has_dtype=False)
            self.kernel_ = stack.kernels[0]
            spanned = LandmarkKernel(self.kernel_, view_values(self.kernel_, views), ridge=given.ridge)
            start = starting_landmarks(self.init, spanned.values, labels, given.n_expansion, given.random_state, "init")
            several = len(self.classes_) > 2
            machine = OneVsAllMachine(labels, given.C) if several else BinaryMachine(2.0 * labels - 1.0, given.C)
            optimum = _Optimum(machine)
            watched = progress_bar(f"Fitting {type(self).__name__}") if given.verbose else nullcontext()
            with watched as progress:
                ascent = climb(spanned.judged_by(optimum), start, "lbfgs", given.max_iter, given.tol, progress)
            self._store(ascent, spanned, optimum, stack)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values: (n_samples,) for two classes (positive for ``classes_[1]``), else (n_samples, n_classes).

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        """
        views, coef = self._new_views(X), self.dual_coef_.T

        def values(part: Views) -> np.ndarray:
            return self._kernel.values(part, coef)

        def rounding(rows: np.ndarray) -> np.ndarray:
            return rounding_of(self._kernel, views.rows(rows), coef, self.intercept_)

        found = views.in_blocks(len(coef), values) + self.intercept_
        return without_ties(self._rule.decision, found, vars(self).get("class_count_"), rounding)

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, those with the largest decision value; in a tie within rounding, the more frequent class.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        """
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    def _store(self, ascent: Ascent, spanned: LandmarkKernel, optimum: _Optimum, stack: KernelStack) -> None:
        self.expansion_vectors_ = ascent.position
        projection = spanned.project(ascent.position)
        solution = optimum.solve(projection.features)
        # f = F c with F = psi root^-T, so the expansion vectors' coefficients are root^-T F' c.
        coef = solve_triangular(projection.root, projection.features.T @ solution.coef, lower=True, trans="T")
        n_features = stack.reference.X.shape[1]
        points = landmark_views(self.kernel_, self.expansion_vectors_, n_features)
        self.combiner_, self._kernel = Mean(), WeightedSum(stack.compared_with(points), np.ones(1), owner="Mean")
        self.kernels_, self.kernel_names_ = stack.kernels, stack.names
        self._rule = optimum.machine.without_samples()
        self.dual_coef_ = np.ascontiguousarray(coef.T)
        self.intercept_ = solution.intercept
        self.objective_ = solution.objective
        self.duality_gap_ = solution.gap
        self.history_ = pd.DataFrame({"objective": np.exp(-np.array(ascent.values))})
        self.n_iter_ = len(ascent.values) - 1
        if not (ascent.converged and optimum.converged):
            what = f"max_iter={self.max_iter} moves" if not ascent.converged else "solver steps that found no optimum"
            warn(
                f"{type(self).__name__} stopped after {what}; raise max_iter or tol, scale the data, or lower C",
                ConvergenceWarning,
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Optimum:
    """Minus the logarithm of a machine's optimum J on features, to be maximised; each solve starts at the last."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.start: Solution | None = None
        self.converged = True

    def __call__(self, features: np.ndarray) -> tuple[float, np.ndarray]:
        """The value, and its derivative by kernel values times the features."""
        solution = self.solve(features)
        # Danskin: dJ = -1/2 <C C', dK>
        derivative = 0.5 * solution.coef @ (solution.coef.T @ features)
        return -float(np.log(solution.objective)), derivative / solution.objective

    def solve(self, features: np.ndarray) -> Solution:
        """The machine on the kernel ``F F'``."""
        self.start = self.machine.solve(features @ features.T, start=self.start, gap_tol=_GAP)
        self.converged = self.converged and self.start.converged
        return self.start
