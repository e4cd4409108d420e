"""The papers' other classifiers: `KernelVoting`, `KernelSAMME` and `SparseLargeMarginClassifier`.

The first two combine one discriminant for each kernel (MKL-DR, 4.4: KFD-Voting and KFD-SAMME). A discriminant embeds
samples by the ratio-trace step (21) under one kernel, that is by kernel discriminant analysis (KFD) or, with a graph,
by its relatives (KLDE), and gives a sample the class of the nearest training sample, or of the nearest class mean, in
that space. The third is a support vector machine whose solution is spanned by a few points that are learned.

====================  ==============================
Zhu et al. (SAMME)    here
====================  ==============================
T^(m), weak learners  the discriminants, one per kernel
w_i                   `weight`
err^(m)               `error`
alpha^(m)             `coefficient`
====================  ==============================

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
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn
from ..combiners import Mean, WeightedSum
from ..combiners.base import COMBINED
from ..kernels import Gaussian, KernelStack
from ..kernels.points import LandmarkKernel, landmark_views, starting_landmarks, view_values
from ..kernels.resources import explained_memory_errors, warn_if_too_large
from ..kernels.stack import default_kernels
from ..machines import BinaryMachine, Machine, OneVsAllMachine, Solution
from ..machines.multiclass import heavier_first
from ..solvers.descent import Ascent, climb
from ..solvers.embedding import class_laplacians, mean_spread, ratio_trace
from ..validation import Choice, Constraints, Flag, Number, Offers, Seed, Whole, check_parameters
from ..validation.inputs import check_labels, check_row_labels, check_training_data, encode_labels, unchanged_on_failure
from ..validation.schemas import CLASS_COUNTS, CLASS_LABELS, Schema, indices, numbers, object_of, series, several
from ..views import Views
from .base import check_rule
from .classifier import EPS, classifier_decision
from .fitted import FittedKernels, FittedStack
from .kernel_lists import KernelParameters
from .progress import progress_bar

# The machine inside a line search is solved so closely that its optimum is smooth along the line.
_GAP = 1e-8


def _training_samples(model: Any, X: Any, y: Any) -> tuple[Views, np.ndarray]:
    check_row_labels(X, y=y)
    views = Views(*check_training_data(model, X))
    model.classes_, labels = encode_labels(model, check_labels(model, y, views.n_samples))
    model.class_count_ = np.bincount(labels).astype(np.float64)
    return views, labels


@dataclass(frozen=True)
class Discriminant:
    coefficients: np.ndarray  # (n_samples, n_components), zero for samples that lack the view
    places: np.ndarray  # (n_places, n_components), training samples or class means in the embedding
    labels: np.ndarray  # of the places

    _saved = Schema(
        {
            "coefficients": numbers("support", "components"),
            "places": numbers("places", "components"),
            "labels": indices("places", below="classes"),
        }
    )

    def ranked(self, values: np.ndarray) -> np.ndarray:
        """Labels of the places, nearest first, for each row of kernel values to the training samples."""
        embedded = values @ self.coefficients
        # Squared distances up to the sample's own square, which does not change the order.
        distance = (self.places**2).sum(axis=1) - 2.0 * embedded @ self.places.T
        return self.labels[np.argsort(distance, axis=1, kind="stable")]


def _fit_discriminant(given: Any, K: np.ndarray, labels: np.ndarray, present: np.ndarray) -> Discriminant:
    rows = np.flatnonzero(present)
    K, labels = K[np.ix_(rows, rows)].astype(float, copy=False), labels[rows]
    classes, places = np.unique(labels, return_inverse=True)
    if given.graph is None:
        numerator, denominator = class_laplacians(labels)
    else:
        numerator, denominator = given.graph.laplacians(K[None], np.ones((len(rows), 1), dtype=bool), places)
    wanted = max(1, len(classes) - 1) if given.n_components is None else given.n_components
    spread, found = mean_spread(K, denominator), np.zeros((len(rows), 1))
    if spread:  # otherwise all samples are equal under this kernel
        n_components, ridge = min(wanted, len(rows)), given.ridge * spread
        found = ratio_trace(K, numerator, denominator, ridge, n_components, given.random_state).solution
    points = K @ found
    if given.rule == "centroid":
        points, labels = np.array([points[labels == c].mean(axis=0) for c in classes]), classes
    coefficients = np.zeros((len(present), found.shape[1]))
    coefficients[rows] = found
    return Discriminant(coefficients, points, labels)


class DiscriminantEnsemble(ClassifierMixin, FittedStack, KernelParameters):
    """Base of `KernelVoting` and `KernelSAMME`: fits one discriminant for each kernel."""

    _constraints = Constraints(
        graph=Offers("laplacians", words="a graph of kernelweave.reduction") | None,
        n_components=Whole(1) | None,
        rule=Choice("nearest-neighbor", "centroid"),
        ridge=Number(above=0),
        random_state=Seed(),
    )

    _saved = (
        CLASS_LABELS
        | CLASS_COUNTS
        | Schema({"_discriminants": several(object_of(Discriminant, "support", "classes"), "kernels")})
    )

    def fit(self, X: Any, y: Any) -> Self:
        """Fit one discriminant for each kernel, and what each kernel counts.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels of any type.
        """
        with unchanged_on_failure(self):
            given = check_parameters(self)
            given.graph = None if given.graph is None else clone(given.graph)
            seed = int(given.random_state.randint(2**31 - 1))
            views, labels = _training_samples(self, X, y)
            kernels = default_kernels(views) if self.kernels is None else self.kernels
            stack = KernelStack(kernels, self.normalize, dtype=self.dtype).fit(views, y=y)
            self.kernels_, self.kernel_names_ = stack.kernels, stack.names
            # Measured: a kernel, its copy without absent samples, and the memory of the discriminant's eigenproblem.
            needed = 5 if given.graph is None else 6, stack.n_samples, np.dtype(float), "the discriminant of a kernel"
            warn_if_too_large(*needed, has_dtype=False)
            self._discriminants, held_out = [], []
            with explained_memory_errors(*needed, has_dtype=False):
                for m in range(stack.n_kernels):
                    K = stack.gram(m)
                    self._discriminants.append(_fit_discriminant(given, K, labels, stack.present[:, m]))
                    held_out.append(self._held_out_errors(given, K, labels, stack.present[:, m], seed))
            self._weigh(held_out)
            self._state = stack.restrict(np.arange(stack.n_samples), self._active())
        return self

    def _held_out_errors(
        self, given: Any, K: np.ndarray, labels: np.ndarray, present: np.ndarray, seed: int
    ) -> np.ndarray | None:
        """Which samples a kernel gets wrong when they are held out, found while its Gram matrix is there."""
        return None

    def _weigh(self, held_out: list[Any]) -> None:
        """Learn from `_held_out_errors` how much each kernel counts; by default all count the same."""

    def _ranked(self, views: Views, m: int, present: np.ndarray) -> np.ndarray:
        there = views if present.all() else views.rows(np.flatnonzero(present))
        values = self._state.cross(m, there, np.ones(there.n_samples, dtype=bool))
        return self._discriminants[m].ranked(values)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")


class KernelVoting(DiscriminantEnsemble):
    """One kernel discriminant for each kernel; the class with the most votes wins.

    Each discriminant minimises ``tr[(A'S'A)^-1 A'SA]``, S the within-class scatter with the ridge and S' the total
    scatter under its kernel, and votes for the class of the nearest training sample there. While classes have equally
    many votes the next nearest sample under each kernel votes too (Lin, Liu and Fuh, 2008, section 4.4).

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
    normalize : {"unit-diagonal", "unit-trace", "center", None}
    dtype : {"float64", "float32"}
        Of the Gram matrices.
    random_state : int, RandomState or None
        For the start of Lanczos' method.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
        Training samples of each class.
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
    >>> from kernelweave import KernelVoting, datasets
    >>> from kernelweave.kernels import Gaussian
    >>> X, y = datasets.load_multifeat(return_X_y=True)
    >>> model = KernelVoting([Gaussian("fac"), Gaussian("kar"), Gaussian("pix")]).fit(X[::10], y[::10])
    >>> bool(model.score(X[5::20], y[5::20]) > 0.9)
    True
    """

    def __init__(
        self,
        kernels: Any = None,
        graph: Any = None,
        *,
        n_components: int | None = None,
        rule: str = "nearest-neighbor",
        ridge: float = 0.01,
        normalize: str | None = "unit-diagonal",
        dtype: str = "float64",
        random_state: Any = None,
    ):
        self.kernels = kernels
        self.graph = graph
        self.n_components = n_components
        self.rule = rule
        self.ridge = ridge
        self.normalize = normalize
        self.dtype = dtype
        self.random_state = random_state

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, those with the most votes; the more frequent class where votes stay equal."""
        views = self._new_views(X)
        return self.classes_[views.in_blocks(len(self.kernels_) * self._state.n_samples, self._elected)]

    def _elected(self, views: Views) -> np.ndarray:
        present = self._state.presence(views)
        ballots = [
            (np.flatnonzero(there), self._ranked(views, m, there)) for m, there in enumerate(present.T) if there.any()
        ]
        votes = np.zeros((len(present), len(self.classes_)), dtype=int)
        undecided = np.ones(len(present), dtype=bool)
        for place in range(max(ranked.shape[1] for _, ranked in ballots)):
            for rows, ranked in ballots:
                voting = undecided[rows] & (place < ranked.shape[1])
                if voting.any():
                    np.add.at(votes, (rows[voting], ranked[voting, place]), 1)
            undecided &= (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
            if not undecided.any():
                break
        return heavier_first(votes, 0.0, vars(self).get("class_count_")).argmax(axis=1)

    def _active(self) -> np.ndarray:
        return np.ones(len(self.kernels_), dtype=bool)


class KernelSAMME(DiscriminantEnsemble):
    """One kernel discriminant for each kernel, boosted as multiclass weak learners.

    SAMME lowers the multiclass exponential loss ``sum_i exp(-f_{y_i}(x_i) + mean of the other f_l(x_i))`` stage by
    stage (Zhu, Zou, Rosset and Hastie, 2009): each round takes the discriminant with the smallest weighted error, adds
    ``log((1 - error) / error) + log(n_classes - 1)`` to its weight and raises the weights of samples that it gets
    wrong. Errors are those of cross-validation: on its own training samples a kernel discriminant hardly ever errs, so
    boosting could not compare the kernels.

    Parameters
    ----------
    kernels, graph, n_components, rule, ridge, normalize, dtype
        As in `KernelVoting`.
    n_rounds : int
        Limit on boosting rounds; it ends earlier once no discriminant is better than chance.
    cv : int
        Folds that the errors are estimated by.
    random_state : int, RandomState or None
        For the folds and the start of Lanczos' method.

    Attributes
    ----------
    kernel_weights_ : Series
        Share of each kernel's discriminant in the decision; they sum to 1.
    history_ : DataFrame
        Kernel, weighted error and coefficient by round.
    classes_, class_count_, kernels_, kernel_names_, n_features_in_, feature_names_in_
        As in `KernelVoting`.

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

    _saved = Schema({"kernel_weights_": series("kernels")})

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
        """Votes for each class, weighted by kernel: (n_samples, n_classes), or their difference for two classes."""
        votes = self._counted(X)
        return votes[:, 1] - votes[:, 0] if len(self.classes_) == 2 else votes

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, those with the largest decision value; in a tie within rounding, the more frequent class."""
        votes = self._counted(X)
        return self.classes_[votes.argmax(axis=1)]

    def _counted(self, X: Any) -> np.ndarray:
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

    def _held_out_errors(
        self, given: Any, K: np.ndarray, labels: np.ndarray, present: np.ndarray, seed: int
    ) -> np.ndarray:
        wrong = np.ones(len(labels), dtype=bool)  # a sample without the view is not helped by this kernel
        fold_of = _stratified_folds(labels, self.cv, seed)
        for fold in range(self.cv):
            train, asked = np.flatnonzero(fold_of != fold), np.flatnonzero((fold_of == fold) & present)
            there = present[train]
            if len(asked) and len(np.unique(labels[train[there]])) > 1:
                held_out = _fit_discriminant(given, K[np.ix_(train, train)], labels[train], there)
                wrong[asked] = held_out.ranked(K[np.ix_(asked, train)])[:, 0] != labels[asked]
        return wrong

    def _weigh(self, held_out: list[Any]) -> None:
        rounds = boosted(np.array(held_out), len(self.classes_), self.n_rounds)
        chosen, errors, coefficients = zip(*rounds, strict=True) if rounds else ((), (), ())
        names = pd.Series([self.kernel_names_[m] for m in chosen], dtype=object)
        self.history_ = pd.DataFrame({"kernel": names, "error": [*errors], "coefficient": [*coefficients]})
        # Without a round no discriminant is better than chance, and all count the same.
        weights = np.bincount(chosen, coefficients, len(self.kernel_names_)) if rounds else np.ones(len(self.kernels_))
        self.kernel_weights_ = pd.Series(weights / weights.sum(), self.kernel_names_)

    def _active(self) -> np.ndarray:
        return self.kernel_weights_.to_numpy() > 0


def boosted(wrong: np.ndarray, n_classes: int, n_rounds: int) -> list[tuple[int, float, float]]:
    """SAMME over fixed classifiers, the rows of `wrong`: each round's classifier, weighted error and coefficient."""
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
    order = np.random.RandomState(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold_of = np.empty(len(labels), dtype=int)
    fold_of[order] = np.arange(len(labels)) % n_folds
    return fold_of


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
    classes_, class_count_, n_features_in_, feature_names_in_
        As in `KernelVoting`.

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

    _saved = (
        CLASS_LABELS
        | Schema(
            {
                "dual_coef_": numbers("outputs", "support"),
                "intercept_": numbers("outputs"),
                "_rule": object_of(Machine),
            },
            check_rule,
        )
        | CLASS_COUNTS
        | COMBINED
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
        """
        with unchanged_on_failure(self):
            given = check_parameters(self)
            views, labels = _training_samples(self, X, y)
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
        """Decision values: (n_samples,) for two classes (positive for ``classes_[1]``), else (n_samples, n_classes)."""
        views, coef = self._new_views(X), self.dual_coef_.T
        values = views.in_blocks(len(coef), lambda part: self._kernel.values(part, coef)) + self.intercept_
        return classifier_decision(self, views, values, coef)

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, those with the largest decision value; in a tie within rounding, the more frequent class."""
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


class _Optimum:
    """Minus the logarithm of a machine's optimum J on features, to be maximised; each solve starts at the last."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.start: Solution | None = None
        self.converged = True

    def __call__(self, features: np.ndarray) -> tuple[float, np.ndarray]:
        solution = self.solve(features)
        # Danskin: dJ = -1/2 <C C', dK>
        derivative = 0.5 * solution.coef @ (solution.coef.T @ features)
        return -float(np.log(solution.objective)), derivative / solution.objective

    def solve(self, features: np.ndarray) -> Solution:
        self.start = self.machine.solve(features @ features.T, start=self.start, gap_tol=_GAP)
        self.converged = self.converged and self.start.converged
        return self.start
