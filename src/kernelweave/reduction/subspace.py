"""`SubspaceKernel`: the subspace of a kernel's feature space whose kernel fits the labels best (SKFE, Wu & Farquhar).

A criterion takes the features F of the training samples in the subspace (n x n_f; the subspace kernel K^w is ``F F'``)
and returns a value to maximise, with the product ``M F`` of its derivative ``M = d value / d K^w`` and the features. No
criterion needs more of ``M``, so the alignment never forms an n x n matrix.

A criterion depends on W only through the subspace that ``Z = X W`` spans, so W is kept orthonormal there,
``W'(K + ridge) W = I``; then ``K^w = F F'`` with features ``F = K W``, and (25)-(27) are

    d value / dW = 2 (K M F - (K + ridge) W F'M F).

Conjugate gradients need two products of K with n x n_f matrices per iteration, for the gradient and the direction.

=====================  ===================================================================
SKFE                   here
=====================  ===================================================================
W, (2)                 `coef_`, orthonormal in the feature space
K^w, (4)               ``F F'`` of the features F; formed by the radius-margin bound only
T of (7)               inverse of the triangular root of ``W'(K + ridge) W``
z^_i, (16)             `landmarks_`
A(W), (17)             alignment, `Alignment.objective`
x^_i, X_w', (19)       features of the training samples
y^_j, Y', (20)         class indicators, `targets`
<K^w, K^y>, (21)       ``||F' Y'||^2``, `agreement`
<K^w, K^w>, (22)       ``||F' F||^2``, `own`
beta, t of (26-27)     ``F' V`` and ``K V - F F' V`` for any V, here for ``M F``
section 5.1            ``init="koc"``
=====================  ===================================================================
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import line_search
from scipy.sparse.linalg import eigsh
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn
from ..estimators.progress import progress_bar
from ..kernels.points import LandmarkKernel, landmark_views, starting_landmarks, view_values
from ..machines import BinaryMachine, Machine, OneVsAllMachine, Solution
from ..solvers import solve_box_qp
from ..solvers.descent import Ascent, Progress, climb
from ..solvers.partitions import indicators
from ..validation import Choice, Constraints, Flag, Number, Seed, Whole
from .base import Extraction, KernelTransformer, TrainingSamples, orthonormal
from .discriminants import centroids, components

# The machines inside a line search are solved so closely that the bound is smooth along the line.
_GAP = 1e-8


class Alignment:
    """Kernel-target alignment (17) of the subspace kernel, Cristianini et al. (2002); its logarithm is the value."""

    def __init__(self, labels: np.ndarray, center: bool):
        self.center = center
        self.targets = self._moved(indicators(labels))
        self.target_norm = np.linalg.norm(self.targets.T @ self.targets)

    def __call__(self, features: np.ndarray) -> tuple[float, np.ndarray]:
        """Log alignment, and its derivative times the features."""
        moved = self._moved(features)
        with_targets, with_itself = features.T @ self.targets, moved.T @ moved
        agreement, own = np.sum(with_targets**2), np.sum(with_itself**2)  # SKFE (21), (22)
        if agreement <= 0.0:  # orthogonal to every class: no direction is better than another
            return -np.inf, np.zeros_like(features)
        derivative = self.targets @ (with_targets.T / agreement) - moved @ (with_itself / own)  # (23), (24)
        return float(np.log(agreement / (np.sqrt(own) * self.target_norm))), derivative  # (17)

    def objective(self, value: float) -> float:
        return float(np.exp(value))

    def _moved(self, columns: np.ndarray) -> np.ndarray:
        return columns - columns.mean(axis=0) if self.center else columns


class RadiusMargin:
    """The radius-margin bound ``R^2 sum_r ||w_r||^2`` of hard-margin machines on ``K^w + I / C``.

    Chapelle et al. (2002). R is the radius of the smallest ball around the samples; several classes have one machine
    each (one-vs-all). The value is minus the bound's logarithm. Memory: forms ``K^w + I / C``, one n x n matrix.
    """

    def __init__(self, labels: np.ndarray, C: float):
        self.C = C
        # With squared violations sum(alpha) = 2 J, and J <= C n / 2 (the objective at w = 0): this never binds.
        bound = C * len(labels)
        self.machine: Machine = (
            BinaryMachine(2.0 * labels - 1.0, bound) if labels.max() == 1 else OneVsAllMachine(labels, bound)
        )
        self.start: Solution | None = None

    def __call__(self, features: np.ndarray) -> tuple[float, np.ndarray]:
        K = features @ features.T
        K[np.diag_indices_from(K)] += 1.0 / self.C
        solution = self.machine.solve(K, start=self.start, gap_tol=_GAP)
        n_samples = len(K)
        # R^2 = max_b sum_i b_i K_ii - b'Kb with sum(b) = 1, b >= 0: twice a box problem.
        ball = solve_box_qp(
            K, np.diagonal(K) / 2.0, np.zeros(n_samples), np.ones(n_samples), total=1.0, gap_tol=_GAP * K[0, 0]
        )
        if not (solution.converged and ball.converged):
            warn(
                "a machine of the radius-margin bound stopped early; scale the data or lower C",
                ConvergenceWarning,
            )
        self.start = solution
        weight, coef = ball.solution[:, None], solution.coef
        radius, norm = 2.0 * ball.objective, 2.0 * solution.objective
        of_radius = weight * features - weight @ (weight.T @ features)
        of_norm = coef @ (coef.T @ features)
        return -float(np.log(radius * norm)), of_norm / norm - of_radius / radius

    def objective(self, value: float) -> float:
        return float(np.exp(-value))


Criterion = Callable[[np.ndarray], tuple[float, np.ndarray]]

# Strong Wolfe conditions; conjugate gradients need a tight second one.
_CURVATURE = 0.1
_FIRST_MOVE = 0.01
_LARGEST_CHANGE = 1e3


def conjugate_gradients(
    K: np.ndarray,
    W: np.ndarray,
    *,
    criterion: Criterion,
    ridge: float,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
) -> Ascent:
    """Polak-Ribiere conjugate gradients over subspaces, with strong Wolfe line searches."""
    features = K @ W
    value, derivative = criterion(features)
    ascent = Ascent(W, [value])
    direction: Any = None
    gradient: Any = None
    last: Any = None
    while len(ascent.values) <= max_iter and not ascent.converged:
        previous, gradient = gradient, _gradient(K, W, features, derivative, ridge)
        fresh = direction is None
        direction = gradient if fresh else _conjugate(gradient, previous, direction)
        line = _Line(K, W, features, direction, criterion, ridge)
        slope = float(np.sum(gradient * direction))
        step = line.search(value, slope, _guess(W, direction, slope, last))
        if step is None:
            # No rise along the gradient itself: the maximum, to the accuracy of floating point.
            ascent.converged = fresh
            direction = last = None
            continue
        last = step, slope
        root, features, value, derivative = line.at(step)
        W = _right_divide(root, W + step * direction)
        direction = _right_divide(root, direction)
        ascent.position = W
        ascent.values.append(value)
        ascent.converged = ascent.settled(tol)
        if progress is not None:
            progress(len(ascent.values) - 1, max_iter)
    return ascent


def over_coefficients(
    K: np.ndarray, criterion: Criterion, ridge: float
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    def function(W: np.ndarray) -> tuple[float, np.ndarray]:
        KW = K @ W
        root = _root(W.T @ KW + ridge * (W.T @ W))
        if root is None:
            return -np.inf, np.zeros_like(W)
        features = _right_divide(root, KW)
        value, derivative = criterion(features)
        gradient = _gradient(K, _right_divide(root, W), features, derivative, ridge)
        return value, _right_divide(root, gradient, transposed=True)

    return function


class _Line:
    """The criterion along ``W + t D``, with all products of K computed beforehand."""

    def __init__(self, K, W, features, direction, criterion, ridge):
        self.features, self.criterion = features, criterion
        self.K_direction = K @ direction
        mixed = W.T @ self.K_direction + ridge * (W.T @ direction)
        self.linear = mixed + mixed.T
        self.quadratic = direction.T @ self.K_direction + ridge * (direction.T @ direction)
        self.points: dict[float, tuple] = {}

    def at(self, t: float) -> tuple[Any, np.ndarray, float, np.ndarray]:
        """Triangular root of ``W(t)'(K + ridge) W(t)``, orthonormal features, value, and derivative times features."""
        if t not in self.points:
            root = _root(np.eye(len(self.linear)) + t * self.linear + t * t * self.quadratic)
            if root is None:
                self.points[t] = None, self.features, -np.inf, np.zeros_like(self.features)
            else:
                features = _right_divide(root, self.features + t * self.K_direction)
                self.points[t] = root, features, *self.criterion(features)
        return self.points[t]

    def slope(self, t: float) -> float:
        """d value / dt: ``2 <M F, K D> - <F'M F, d(root root')/dt>`` in the basis of t."""
        root, features, _, derivative = self.at(t)
        if root is None:
            return 0.0
        moved = _right_divide(root, derivative, transposed=True)
        inner = solve_triangular(root, features.T @ derivative, lower=True, trans="T")
        inner = _right_divide(root, inner, transposed=True)
        return float(2.0 * np.sum(moved * self.K_direction) - np.sum(inner * (self.linear + 2.0 * t * self.quadratic)))

    def search(self, value: float, slope: float, unit: float) -> float | None:
        """A step that satisfies the strong Wolfe conditions, searched around `unit`; None where none is found."""
        if not (slope > 0.0 and np.isfinite(value)):
            return None
        with warnings.catch_warnings():  # finding no step is a valid outcome
            warnings.simplefilter("ignore", RuntimeWarning)
            step = line_search(
                lambda t: -self.at(unit * float(t[0]))[2],
                lambda t: np.array([-unit * self.slope(unit * float(t[0]))]),
                np.zeros(1),
                np.ones(1),
                np.array([-unit * slope]),
                -value,
                c2=_CURVATURE,
            )[0]
        if step is None or not self.at(unit * float(step))[2] > value:
            return None
        return unit * float(step)


def _gradient(K: np.ndarray, W: np.ndarray, features: np.ndarray, derivative: np.ndarray, ridge: float) -> np.ndarray:
    """d value / dW at an orthonormal W, SKFE (25)-(27) summed over all vectors."""
    gradient = K @ derivative
    gradient -= (features + ridge * W) @ (features.T @ derivative)
    gradient *= 2.0
    return gradient


def _conjugate(gradient: np.ndarray, previous: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Polak-Ribiere, with restarts where it would not rise."""
    share = max(0.0, float(np.sum(gradient * (gradient - previous)) / np.sum(previous**2)))
    conjugate = gradient + share * direction
    return conjugate if np.sum(gradient * conjugate) > 0.0 else gradient


def _guess(W: np.ndarray, direction: np.ndarray, slope: float, last: tuple[float, float] | None) -> float:
    """Where to look first: a small move of W, later the last step with the same expected rise."""
    if last is None or not slope > 0.0:
        length = np.linalg.norm(direction)
        return _FIRST_MOVE * float(np.linalg.norm(W) / length) if length > 0.0 else 1.0
    step, slope_before = last
    return step * float(np.clip(slope_before / slope, 1.0 / _LARGEST_CHANGE, _LARGEST_CHANGE))


def _root(products: np.ndarray) -> np.ndarray | None:
    try:
        return cholesky((products + products.T) / 2.0, lower=True)
    except np.linalg.LinAlgError:
        return None


def _right_divide(root: np.ndarray, values: np.ndarray, transposed: bool = False) -> np.ndarray:
    return np.ascontiguousarray(solve_triangular(root, values.T, lower=True, trans="T" if transposed else "N").T)


class SubspaceKernel(KernelTransformer):
    """Projection onto the subspace of a kernel's feature space whose kernel is best aligned with the labels.

    Maximises the alignment ``<K^w, K^y> / (||K^w|| ||K^y||)`` of the subspace kernel ``K^w = K W (W' K W)^-1 W' K``
    with the label kernel over the coefficients W of the directions, by gradients from the centroids' subspace (KOC); or
    minimises the radius-margin bound of machines on ``K^w``. Features are coordinates in an orthonormal basis,
    their principal axes. Reference: Wu and Farquhar, A subspace kernel for nonlinear feature extraction (2007), SKFE.

    The alignment is not convex, and with as many dimensions as samples it can be driven towards 1 on any labels; where
    the ascent stops matters. `tol` stops it where it becomes slow.

    Parameters
    ----------
    kernel : Kernel, callable, MKLClassifier or None
        The kernel; None means `Linear()`. An `MKLClassifier` stands for its combined kernel, which is learned first.
    n_components : int or None
        Dimension of the subspace; None for one per class.
    center : bool
        Whether the alignment is that of centred kernels (Cortes, Mohri and Rostamizadeh, 2012); the paper's is not.
    criterion : {"alignment", "radius-margin"}
        What is optimised. The radius-margin bound solves a machine and a ball of n samples in every step.
    init : {"koc", "kpca", "kpls", "random"}
        Where W starts; missing columns are drawn at random.
    optimizer : {"cg", "lbfgs"}
        Conjugate gradients over subspaces, or L-BFGS over the entries of W.
    landmarks : {None, "centroids", "samples"} or array of shape (n_components, n_columns)
        Not None: each direction is the image of a point of the input space, (16), so that a new sample is compared with
        n_components points only. They start at class means, at random samples or as given, and move under kernels that
        are differentiable by their features (`Linear`, `Polynomial`, `Gaussian`); `init` is not used.
    C : float
        Cost of squared margin violations, for the radius-margin bound.
    ridge : float
        Added to ``W' K W`` (times ``W'W`` and the mean diagonal of K), or to the landmarks' kernel.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
        Normalisation of the kernel; landmarks need None.
    max_iter : int
        Limit on iterations.
    tol : float
        Stop where the objective improves by less than this share per iteration, on average over ten.
    random_state : int, RandomState or None
        For random starts.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    coef_ : ndarray of shape (n_samples or n_components, n_components)
        Directions as combinations of training samples or of landmarks.
    landmarks_ : ndarray of shape (n_components, n_columns)
        Only with `landmarks`.
    objective_ : float
        The alignment, or the radius-margin bound, at the end.
    history_ : DataFrame
        The objective at the start and after each iteration; it never becomes worse.
    n_iter_ : int
    n_components_ : int
        Fewer than requested where the kernel has a smaller rank, with a warning.
    offset_, kernel_, classes_, n_features_in_, feature_names_in_
        As in `KernelOrthogonalCentroid`.

    Notes
    -----
    Memory: one n x n matrix, the kernel, beside what its computation takes (a second one for sparse data); the
    radius-margin bound forms one more. Time: two products of K with n_components columns per iteration.

    Examples
    --------
    >>> from kernelweave.reduction import SubspaceKernel
    >>> X = [[1.0, 0.2, 0.0], [3.0, 0.1, 1.0], [0.1, 1.0, 1.0], [0.2, 2.0, 0.0]]
    >>> model = SubspaceKernel().fit(X, ["a", "a", "b", "b"])
    >>> model.transform(X).shape, bool(model.history_["objective"].is_monotonic_increasing)
    ((4, 2), True)
    """

    _constraints = Constraints(
        center=Flag(),
        criterion=Choice("alignment", "radius-margin"),
        init=Choice("koc", "kpca", "kpls", "random"),
        optimizer=Choice("cg", "lbfgs"),
        C=Number(above=0),
        ridge=Number(low=0),
        max_iter=Whole(1),
        tol=Number(low=0),
        random_state=Seed(),
        verbose=Flag() | Whole(0),
    )

    def __init__(
        self,
        kernel: Any = None,
        n_components: int | None = None,
        *,
        center: bool = False,
        criterion: str = "alignment",
        init: str = "koc",
        optimizer: str = "cg",
        landmarks: Any = None,
        C: float = 1.0,
        ridge: float = 1e-8,
        normalize: str | None = None,
        max_iter: int = 1000,
        tol: float = 2e-3,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.center = center
        self.criterion = criterion
        self.init = init
        self.optimizer = optimizer
        self.landmarks = landmarks
        self.C = C
        self.ridge = ridge
        self.normalize = normalize
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _extract(self, samples: TrainingSamples, labels: np.ndarray, given: SimpleNamespace) -> Extraction:
        n_components = len(self.classes_) if given.n_components is None else given.n_components
        aligned = given.criterion == "alignment"
        criterion = Alignment(labels, given.center) if aligned else RadiusMargin(labels, given.C)
        rng = given.random_state
        watched = progress_bar(f"Fitting {type(self).__name__}") if given.verbose else nullcontext()
        with watched as progress:
            options = {"max_iter": given.max_iter, "tol": given.tol, "progress": progress}
            over = self._over_combinations if self.landmarks is None else self._over_landmarks
            found, ascent = over(samples, labels, n_components, criterion, rng, options)
        self._record(ascent, criterion)
        return found

    def _over_combinations(
        self, samples: TrainingSamples, labels: np.ndarray, n_components: int, criterion: Any, rng: Any, options: dict
    ) -> tuple[Extraction, Ascent]:
        K = samples.kernel.gram()
        ridge = float(self.ridge) * float(np.trace(K)) / len(K)
        W = self._start(K, labels, n_components, rng)
        W = orthonormal(W, K @ W, limit=n_components)
        if W.shape[1] < n_components:
            W = self._with_random_columns(K, W, n_components, rng)
        W = orthonormal(W, K @ W, ridge)
        if self.optimizer == "cg":
            ascent = conjugate_gradients(K, W, criterion=criterion, ridge=ridge, **options)
        else:
            ascent = climb(over_coefficients(K, criterion, ridge), W, "lbfgs", **options)
        W = orthonormal(ascent.position, K @ ascent.position, ridge)
        return Extraction(W, 0.0, K @ W).with_axes(), ascent

    def _over_landmarks(
        self, samples: TrainingSamples, labels: np.ndarray, n_components: int, criterion: Any, rng: Any, options: dict
    ) -> tuple[Extraction, Ascent]:
        if len(samples.kernels) > 1 or self.normalize is not None:
            raise ValueError("landmarks need one kernel, and normalize=None")
        kernel = samples.kernels[0]
        spanned = LandmarkKernel(kernel, view_values(kernel, samples.views), ridge=float(self.ridge))
        start = starting_landmarks(self.landmarks, spanned.values, labels, n_components, rng)
        ascent = climb(spanned.judged_by(criterion), start, self.optimizer, **options)
        self.landmarks_ = ascent.position
        projection = spanned.project(self.landmarks_)
        coef = solve_triangular(projection.root, np.eye(n_components), lower=True, trans="T")  # psi root^-T, (16)
        points = landmark_views(kernel, self.landmarks_, samples.views.X.shape[1])
        return Extraction(coef, 0.0, projection.features, samples.kernel.compared_with(points)).with_axes(), ascent

    def _start(self, K: np.ndarray, labels: np.ndarray, n_components: int, rng: Any) -> np.ndarray:
        if self.init == "koc":
            return centroids(labels)
        if self.init == "kpls":
            return components(K, labels, n_components, center=False)
        if self.init == "kpca":
            n_vectors = min(n_components, len(K) - 1)
            return eigsh(K, n_vectors, v0=np.ones(len(K)))[1]
        return rng.normal(size=(len(K), n_components))

    def _with_random_columns(self, K: np.ndarray, W: np.ndarray, n_components: int, rng: Any) -> np.ndarray:
        both = np.hstack([W, rng.normal(size=(len(K), n_components - W.shape[1]))])
        W = orthonormal(both, K @ both)
        rank = W.shape[1]
        if rank == 0:
            raise ValueError("the kernel is zero between all training samples, so there is no subspace to choose")
        if rank < n_components:
            warn(
                f"n_components is {n_components}, but the kernel of the training samples has rank {rank}; "
                f"{rank} components are extracted",
            )
        return W

    def _record(self, ascent: Ascent, criterion: Any) -> None:
        self.history_ = pd.DataFrame({"objective": [criterion.objective(value) for value in ascent.values]})
        self.objective_ = float(self.history_["objective"].iloc[-1])
        self.n_iter_ = len(ascent.values) - 1
        if not ascent.converged:
            warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} iterations while the objective still "
                "improved; raise max_iter or tol",
                ConvergenceWarning,
            )
