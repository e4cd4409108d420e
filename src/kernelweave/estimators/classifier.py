"""`MKLClassifier`: support vector classification with several kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from ..machines import BinaryMachine, Machine, OneVsAllMachine, OneVsOneMachine
from .base import KernelMachineEstimator
from .checks import check_number, check_target

_MULTICLASS = {"one-vs-one": OneVsOneMachine, "one-vs-all": OneVsAllMachine}


class MKLClassifier(ClassifierMixin, KernelMachineEstimator):
    """Support vector classification with a combination of kernels over several views.

    Minimises ``1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i f(x_i))`` over ``f(x) = <w, phi(x)> + b`` in the space of the
    combined kernel (thesis (1.1), (1.3)), with ``C_i = C * class_weight * sample_weight``. More than two classes are
    solved by one such machine for each pair of classes or for each class.

    Parameters
    ----------
    kernels : list of kernels or (name, kernel), or None
        Callables ``f(A, B)`` count as kernels. None means one `Linear` kernel per view prefix of a data frame's
        columns (``fac__0``, ``fac__1``, ...; columns without a prefix then form the view ``rest``), or one over all
        columns where there are no prefixes. Unnamed kernels are named after their view; parameters are reached as
        ``kernels__<name>__<parameter>``.
    combiner : combiner or None
        How the kernels become one; None means `Mean()`.
    C : float
        Cost of a margin violation.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
        Normalisation of each kernel, with constants from the training samples.
    multiclass : {"one-vs-one", "one-vs-all"}
    class_weight : dict, "balanced" or None
        Factors of C by class.
    dtype : {"float64", "float32"}
        Of the Gram matrices.
    tol : float
        Largest violation of the optimality conditions, as in libsvm.
    max_iter : int
        Limit on solver steps per machine; -1 for none.
    n_jobs : int or None
        Threads that solve the machines of a multiclass problem; the result does not depend on it.
    random_state : int, RandomState or None
        For combiners that draw random numbers.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernels_ : list of Kernel
        Fitted kernels, named by `kernel_names_`.
    kernel_weights_ : Series
        Weight by kernel name.
    combiner_ : Combiner
    support_ : ndarray of shape (n_support,)
        Positions of the support vectors in the training data.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        Signed dual coefficients, ``alpha_i y_i``; one row for two classes, one per pair or class otherwise.
    intercept_ : ndarray of shape (n_outputs,)
    objective_ : float
        Value of the dual at its optimum (the sum over machines).
    duality_gap_ : float
        Certified distance of `objective_` to the optimum.
    history_ : DataFrame
        Objective, machine solves and seconds per outer iteration.
    n_iter_ : int
        Outer iterations; 1 where nothing is learned about the kernels.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Memory: the combined kernel and one base kernel (n x n each) while fitting; support vectors afterwards (all
    training samples with ``normalize="center"``). A sample whose view is wholly NaN has no row in that kernel; see
    `combiners.WeightedSum`.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = MKLClassifier([Linear("fac"), Gaussian("kar")], C=10.0).fit(X[::10], y[::10])
    >>> model.kernel_weights_
    fac    0.5
    kar    0.5
    dtype: float64
    """

    def __init__(
        self,
        kernels: Any = None,
        combiner: Any = None,
        C: float = 1.0,
        normalize: str | None = "unit-diagonal",
        multiclass: str = "one-vs-one",
        class_weight: Any = None,
        dtype: str = "float64",
        tol: float = 1e-3,
        max_iter: int = -1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.combiner = combiner
        self.C = C
        self.normalize = normalize
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.dtype = dtype
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MKLClassifier:
        """Fit the classifier.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels of any type.
        sample_weight : array of shape (n_samples,), optional
            Factors of C by sample; a sample of weight 0 is left out.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values: (n_samples,) for two classes (positive for ``classes_[1]``), else (n_samples, n_classes).

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        """
        return self._decide(X)

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, those with the largest decision value.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        """
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    def _check_target(self, y: Any, n_samples: int) -> np.ndarray:
        y = check_target(self, y, n_samples)
        check_classification_targets(y)
        return y

    def _machine(self, y: np.ndarray, weight: np.ndarray) -> tuple[Machine, np.ndarray]:
        C = check_number("C", self.C, 0.0)
        if self.multiclass not in _MULTICLASS:
            raise ValueError(f"multiclass must be one of {list(_MULTICLASS)}, not {self.multiclass!r}")
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"MKLClassifier needs samples of at least two classes, but y has only one class: {self.classes_[0]!r}"
            )
        by_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        bound = C * weight * by_class[labels]
        if not (np.isfinite(bound).all() and (bound > 0).all()):
            raise ValueError("C, class_weight and sample_weight must together give every sample a positive finite cost")
        if len(self.classes_) == 2:
            return BinaryMachine(2.0 * labels - 1.0, bound), labels
        return _MULTICLASS[self.multiclass](labels, bound, n_jobs=self.n_jobs), labels
