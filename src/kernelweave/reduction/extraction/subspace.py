"""`SubspaceKernel`: the subspace of a kernel's feature space whose kernel fits the labels best (SKFE).

=====================  ===================================================================
Wu & Farquhar (2007)   here
=====================  ===================================================================
W, (2)                 `coef_`, orthonormal in the feature space
K^w, (4)               ``F F'`` of the features F; formed by the radius-margin bound only
A(W), (17)             `objective_` of ``criterion="alignment"``
z^_i, (16)             `landmarks_`
section 5.1            ``init="koc"``
=====================  ===================================================================
"""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular
from scipy.sparse.linalg import eigsh
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...estimators.progress import progress_bar
from ...kernels.points.landmarks import LandmarkKernel, landmark_views, starting_landmarks, view_values
from ...solvers.descent import Ascent, climb
from ...validation import Choice, Constraints, Flag, Number, Seed, Whole
from ..base import Extraction, KernelTransformer, TrainingSamples
from .centroid import centroids
from .pls import components
from .subspace_ascent import conjugate_gradients, orthonormal, over_coefficients
from .subspace_criteria import Alignment, RadiusMargin


class SubspaceKernel(KernelTransformer):
    """Projection onto the subspace of a kernel's feature space whose kernel is best aligned with the labels.

    Maximises the alignment ``<K^w, K^y> / (||K^w|| ||K^y||)`` of the subspace kernel ``K^w = K W (W' K W)^-1 W' K``
    with the label kernel over the coefficients W of the directions, by gradients from the centroids' subspace (KOC); or
    minimises the radius-margin bound of machines on ``K^w``. Features are coordinates in an orthonormal basis,
    their principal axes. Reference: Wu and Farquhar, A subspace kernel for nonlinear feature extraction (2007), SKFE.

    The alignment is not convex, and with as many dimensions as samples it can be driven towards 1 on any labels; where
    the ascent stops matters. `tol` stops it where it becomes slow, which on text is near what the paper reports.

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
    offset_ : ndarray of shape (n_components,)
        Zero here.
    landmarks_ : ndarray of shape (n_components, n_columns)
        Only with `landmarks`.
    objective_ : float
        The alignment, or the radius-margin bound, at the end.
    history_ : DataFrame
        The objective at the start and after each iteration; it never becomes worse.
    n_iter_ : int
    kernel_ : Kernel or MKLClassifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
    n_components_ : int
        Fewer than requested where the kernel has a smaller rank, with a warning.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

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
        K = samples.gram()
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
        return Extraction(coef, 0.0, projection.features, samples.compared_with(points)).with_axes(), ascent

    def _start(self, K: np.ndarray, labels: np.ndarray, n_components: int, rng: Any) -> np.ndarray:
        """Directions to begin with, as columns of coefficients; perhaps too few."""
        if self.init == "koc":
            return centroids(labels)
        if self.init == "kpls":
            return components(K, labels, n_components, center=False)
        if self.init == "kpca":
            n_vectors = min(n_components, len(K) - 1)
            return eigsh(K, n_vectors, v0=np.ones(len(K)))[1]
        return rng.normal(size=(len(K), n_components))

    def _with_random_columns(self, K: np.ndarray, W: np.ndarray, n_components: int, rng: Any) -> np.ndarray:
        """More columns drawn at random, as far as the kernel has dimensions for them."""
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
