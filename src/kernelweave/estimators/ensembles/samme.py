"""`KernelSAMME`: one kernel discriminant for each kernel, boosted by SAMME (KFD-SAMME of MKL-DR, 4.4).

====================  ==============================
Zhu et al.            here
====================  ==============================
T^(m), weak learners  the discriminants, one per kernel
w_i                   `weight`
err^(m)               `error`
alpha^(m)             `coefficient`
====================  ==============================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...machines.multiclass import heavier_first
from ...validation import Constraints, Whole
from ...views import Views
from ..ties import EPS
from .discriminant import DiscriminantEnsemble, DiscriminantRule


class KernelSAMME(DiscriminantEnsemble):
    """One kernel discriminant for each kernel, boosted as multiclass weak learners.

    SAMME lowers the multiclass exponential loss ``sum_i exp(-f_{y_i}(x_i) + mean of the other f_l(x_i))`` stage by
    stage (Zhu, Zou, Rosset and Hastie, 2009): each round takes the discriminant with the smallest weighted error, adds
    ``log((1 - error) / error) + log(n_classes - 1)`` to its weight and raises the weights of samples that it gets
    wrong. Errors are those of cross-validation: on its own training samples a kernel discriminant hardly ever errs, so
    boosting could not compare the kernels.

    Parameters
    ----------
    kernels : list of kernels or (name, kernel), or None
        As in `MKLClassifier`.
    graph : graph of `kernelweave.reduction` or None
        Which samples a discriminant brings together and keeps apart; None for those of discriminant analysis (KFD).
    n_components : int or None
        Dimension of each discriminant's space; None means one less than there are classes.
    rule : {"nearest-neighbor", "centroid"}
        Whether the nearest training sample or the nearest class mean decides.
    ridge : float
        Ridge on the within-class scatter, in units of the mean eigenvalue of the total scatter.
    n_rounds : int
        Limit on boosting rounds; it ends earlier once no discriminant is better than chance.
    cv : int
        Folds that the errors are estimated by.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
    dtype : {"float64", "float32"}
        Of the Gram matrices.
    random_state : int, RandomState or None
        For the folds and the start of Lanczos' method.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
        Training samples of each class.
    kernel_weights_ : Series
        Share of each kernel's discriminant in the decision; they sum to 1.
    history_ : DataFrame
        Kernel, weighted error and coefficient by round.
    kernels_ : list of Kernel
    kernel_names_ : list of str
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Memory: about five n x n matrices while fitting, one kernel at a time; all training samples afterwards. A sample
    that lacks a view has no vote from that kernel.

    Examples
    --------
    >>> from kernelweave import KernelSAMME, datasets
    >>> from kernelweave.kernels import Gaussian
    >>> X, y = datasets.load_multifeat(return_X_y=True)
    >>> model = KernelSAMME([Gaussian("fac"), Gaussian("mor"), Gaussian("zer")], random_state=0).fit(X[::10], y[::10])
    >>> model.kernel_weights_.idxmax()
    'fac'
    """

    _constraints = Constraints(n_rounds=Whole(1), cv=Whole(2))

    def __init__(
        self,
        kernels: Any = None,
        graph: Any = None,
        *,
        n_components: int | None = None,
        rule: str = "nearest-neighbor",
        ridge: float = 0.01,
        n_rounds: int = 50,
        cv: int = 5,
        normalize: str | None = "unit-diagonal",
        dtype: str = "float64",
        random_state: Any = None,
    ):
        self.kernels = kernels
        self.graph = graph
        self.n_components = n_components
        self.rule = rule
        self.ridge = ridge
        self.n_rounds = n_rounds
        self.cv = cv
        self.normalize = normalize
        self.dtype = dtype
        self.random_state = random_state

    def decision_function(self, X: Any) -> np.ndarray:
        """Votes for each class, weighted by kernel: (n_samples, n_classes), or their difference for two classes.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        """
        votes = self._counted(X)
        return votes[:, 1] - votes[:, 0] if len(self.classes_) == 2 else votes

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, those with the largest decision value; in a tie within rounding, the more frequent class.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        """
        winners = self._counted(X).argmax(axis=1)
        return self.classes_[winners]

    def _counted(self, X: Any) -> np.ndarray:
        """Weighted votes, of shape (n_samples, n_classes)."""
        views = self._new_views(X)
        return views.in_blocks(int(np.count_nonzero(self._active())) * self._state.n_samples, self._votes)

    def _votes(self, views: Views) -> np.ndarray:
        present = self._state.presence(views, self._active())
        votes = np.zeros((len(present), len(self.classes_)))
        for m in np.flatnonzero(self._active()).tolist():
            rows = np.flatnonzero(present[:, m])
            if len(rows):
                votes[rows, self._ranked(views, m, present[:, m])[:, 0]] += self.kernel_weights_.iloc[m]
        return heavier_first(votes, EPS * len(self.kernels_), vars(self).get("class_count_"))  # weights sum to 1

    def _judge(self, K: np.ndarray, labels: np.ndarray, present: np.ndarray, rule: DiscriminantRule) -> np.ndarray:
        """Which samples the kernel's discriminant gets wrong when they are held out."""
        wrong = np.ones(len(labels), dtype=bool)  # a sample without the view is not helped by this kernel
        fold_of = _stratified_folds(labels, self.cv, rule.seed)
        for fold in range(self.cv):
            train, asked = np.flatnonzero(fold_of != fold), np.flatnonzero((fold_of == fold) & present)
            there = present[train]
            if len(asked) and len(np.unique(labels[train[there]])) > 1:
                held_out = rule.fit(K[np.ix_(train, train)], labels[train], there)
                wrong[asked] = held_out.ranked(K[np.ix_(asked, train)])[:, 0] != labels[asked]
        return wrong

    def _finish(self, judgements: list[np.ndarray]) -> None:
        rounds = boosted(np.array(judgements), len(self.classes_), self.n_rounds)
        names = pd.Series([self.kernel_names_[m] for m, _, _ in rounds], dtype=object)
        self.history_ = pd.DataFrame(
            {"kernel": names, "error": [r[1] for r in rounds], "coefficient": [r[2] for r in rounds]}
        )
        weights = np.zeros(len(self.kernel_names_))
        for m, _, coefficient in rounds:
            weights[m] += coefficient
        if not rounds:  # no discriminant is better than chance
            weights[:] = 1.0
        self.kernel_weights_ = pd.Series(weights / weights.sum(), self.kernel_names_)

    def _active(self) -> np.ndarray:
        return self.kernel_weights_.to_numpy() > 0


def boosted(wrong: np.ndarray, n_classes: int, n_rounds: int) -> list[tuple[int, float, float]]:
    """SAMME over a fixed set of classifiers: the rounds, each as classifier, weighted error and coefficient.

    Parameters
    ----------
    wrong : ndarray of bool, shape (n_classifiers, n_samples)
    n_classes : int
    n_rounds : int

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.estimators.ensembles.samme import boosted
    >>> [m for m, _, _ in boosted(np.array([[1, 0, 0, 0, 0], [0, 1, 1, 0, 0]], dtype=bool), 2, 2)]
    [0, 1]
    """
    weight = np.full(wrong.shape[1], 1.0 / wrong.shape[1])
    rounds = []
    for _ in range(n_rounds):
        errors = wrong @ weight
        best = int(errors.argmin())
        error = max(float(errors[best]), np.finfo(float).eps)
        if error >= (1.0 - 1.0 / n_classes) * (1.0 - 1e-12):  # no better than chance
            break
        coefficient = np.log((1.0 - error) / error) + np.log(n_classes - 1.0)  # Zhu et al., Algorithm 2 (c)
        rounds.append((best, error, float(coefficient)))
        if not wrong[best].any():
            break
        weight = weight * np.exp(coefficient * wrong[best])  # Algorithm 2 (d)
        weight /= weight.sum()
    return rounds


def _stratified_folds(labels: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """The fold of each sample; the members of a class are dealt out in turn, in random order."""
    order = np.random.RandomState(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold_of = np.empty(len(labels), dtype=int)
    fold_of[order] = np.arange(len(labels)) % n_folds
    return fold_of
