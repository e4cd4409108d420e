"""The kernel of projections onto a few landmarks, SKFE (16), and its derivative with respect to where they are.

=================  ==========================================================================
SKFE               here
=================  ==========================================================================
z^_1 ... z^_nf     landmarks, rows of Z: points of the input space
psi_z(x)           k(x, z_1) ... k(x, z_nf)
K_z                k(z_i, z_j), with `ridge` times its mean diagonal on the diagonal
K_w(x, x'), (16)   ``psi(x) K_z^-1 psi(x')' = <features(x), features(x')>``
=================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular

from ...validation import Choice, Instance, blamed_on, check, shown
from ...views import Views
from ...views.kept import KeptColumns
from ..base import Kernel, ViewKernel

# Landmarks whose part outside the span of the others is below this share of the largest depend on them.
_DEPENDENT = 1e-7


@dataclass(frozen=True)
class Projection:
    """Samples projected onto the span of landmarks.

    Attributes
    ----------
    features : ndarray of shape (n_samples, n_landmarks)
        Coordinates in an orthonormal basis of the span.
    root : ndarray of shape (n_landmarks, n_landmarks)
        Lower triangular root of K_z; ``psi(x) root^-T`` are the features of x.
    """

    features: np.ndarray
    root: np.ndarray


class LandmarkKernel:
    """A kernel restricted to the span of landmarks, as a function of the landmarks.

    Parameters
    ----------
    kernel : Kernel
        Fitted and differentiable, see `Kernel.is_differentiable`.
    values : ndarray or CSR matrix of shape (n_samples, n_columns)
        The kernel's view of the training samples.
    ridge : float
        Share of the samples' mean k(x, x) that is added to the diagonal of K_z, so that landmarks may meet or vanish.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Linear
    >>> from kernelweave.kernels.points.landmarks import LandmarkKernel
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> LandmarkKernel(Linear().fit(X), X, ridge=0.0).project(np.array([[2.0, 0.0]])).features.ravel()
    array([1., 3.])
    """

    def __init__(self, kernel: Kernel, values: Any, *, ridge: float):
        if not kernel.is_differentiable:
            raise ValueError(
                "landmarks can be moved under kernels that are differentiable by their features, such as Linear, "
                f"Polynomial and Gaussian, not {shown(kernel)}"
            )
        self.kernel = kernel
        self.values = values
        self.ridge = ridge * float(kernel.diagonal_of(values).mean())

    def judged_by(
        self, criterion: Callable[[np.ndarray], tuple[float, np.ndarray]]
    ) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """A criterion of the features as a function of the landmarks: from them to its value and gradient.

        Parameters
        ----------
        criterion : callable
            From features to a value and to its derivative by kernel values times the features.
        """

        def function(landmarks: np.ndarray) -> tuple[float, np.ndarray]:
            projection = self.project(landmarks)
            value, derivative = criterion(projection.features)
            return value, self.pullback(landmarks, projection, derivative)

        return function

    def project(self, landmarks: np.ndarray) -> Projection:
        """Project the training samples."""
        products = self.kernel.gram_of(landmarks)
        products[np.diag_indices_from(products)] += self.ridge
        try:
            root = cholesky(products, lower=True)
            independent = root.diagonal().min() > _DEPENDENT * root.diagonal().max()
        except np.linalg.LinAlgError:
            independent = False
        if not independent:
            raise ValueError(
                "the landmarks depend on each other (two are equal, or more than the rank of the kernel); give ridge a "
                "positive value or take fewer landmarks"
            )
        features = solve_triangular(root, self.kernel.cross_of(self.values, landmarks).T, lower=True).T
        return Projection(features, root)

    def pullback(self, landmarks: np.ndarray, projection: Projection, derivative: np.ndarray) -> np.ndarray:
        """Gradient with respect to the landmarks of a function of the kernel.

        Parameters
        ----------
        landmarks : ndarray of shape (n_landmarks, n_columns)
        projection : Projection
            Of these landmarks.
        derivative : ndarray of shape (n_samples, n_landmarks)
            ``M features`` with the symmetric matrix M of the function's derivatives by kernel values.
        """
        root = projection.root
        # d tr(M psi K_z^-1 psi') = 2 <M psi K_z^-1, d psi> - <K_z^-1 psi' M psi K_z^-1, d K_z>
        of_psi = 2.0 * _right(root, derivative)
        inner = projection.features.T @ derivative
        of_products = _right(root, _right(root, inner).T)
        of_landmarks = self.kernel.pullback(landmarks, landmarks, of_products)
        return self.kernel.pullback(self.values, landmarks, of_psi) - 2.0 * of_landmarks


def starting_landmarks(
    start: Any,
    values: Any,
    labels: np.ndarray,
    n_landmarks: int,
    rng: np.random.RandomState,
    parameter: str = "landmarks",
) -> np.ndarray:
    """Where landmarks begin, of shape (n_landmarks, n_columns).

    Parameters
    ----------
    start : {"centroids", "samples"} or array of shape (n_landmarks, n_columns)
        "centroids": means of clusters within classes, each class with its share of the landmarks (class means where
        there is one landmark per class); "samples": training samples drawn at random.
    values : ndarray or CSR matrix of shape (n_samples, n_columns)
    labels : ndarray of int, shape (n_samples,)
        Classes 0, 1, ...
    n_landmarks : int
    rng : RandomState
    parameter : str
        What messages call `start`.
    """
    from sklearn.cluster import KMeans

    if not isinstance(start, str):
        with blamed_on(parameter):
            given = np.array(start, dtype=float)
        if given.shape != (n_landmarks, values.shape[1]) or not np.isfinite(given).all():
            raise ValueError(
                f"{parameter} as an array must be {n_landmarks} rows of {values.shape[1]} finite numbers (the kernel's "
                f"columns), not of shape {given.shape}"
            )
        return given
    check(None, parameter, start, Choice("centroids", "samples") | Instance(np.ndarray, "an array"))
    n_samples, n_classes = values.shape[0], labels.max() + 1
    found = []
    if start == "centroids":
        if n_landmarks < n_classes:
            labels, n_classes = np.zeros(n_samples, dtype=int), 1
        shares = np.full(n_classes, n_landmarks // n_classes)
        largest = np.argsort(-np.bincount(labels), kind="stable")
        shares[largest[: n_landmarks % n_classes]] += 1
        for label, share in enumerate(shares):
            members = values[np.flatnonzero(labels == label)]
            found.append(KMeans(min(share, members.shape[0]), n_init=1, random_state=rng).fit(members).cluster_centers_)
    missing = n_landmarks - sum(len(part) for part in found)
    if missing:
        drawn = values[rng.choice(n_samples, missing, replace=missing > n_samples)]
        found.append(drawn.toarray() if sp.issparse(drawn) else drawn)
    return np.ascontiguousarray(np.vstack(found), dtype=float)


def landmark_views(kernel: ViewKernel, values: Any, n_features: int) -> Views:
    """Points with these features, as samples that a fitted kernel can compare with others.

    Parameters
    ----------
    kernel : ViewKernel
    values : ndarray or CSR matrix of shape (n_points, n_columns)
        What the kernel compares: values of its columns or, where it has a transformer, what that returns.
    n_features : int
        Number of columns of X.
    """
    values = _dense(values)
    if kernel.preparation_ is None:
        return _points(kernel.columns(), values, n_features)
    points = Views(KeptColumns(len(values), n_features, []))
    points.hold_points(kernel.preparation_, values)
    return points


def _dense(values: Any) -> np.ndarray:
    return values.toarray() if sp.issparse(values) else np.asarray(values, dtype=float)


def _points(columns: np.ndarray, values: np.ndarray, n_features: int) -> Views:
    """Points with these values in these columns."""
    order = np.argsort(columns)
    kept = KeptColumns(len(values), n_features, [(columns[order], np.ascontiguousarray(values[:, order]))])
    return Views(kept)


def class_means(views: Views, kernels: Sequence[Kernel], labels: np.ndarray) -> Views:
    """The mean of each class 0, 1, ... in the features that fitted kernels read, as points to compare with."""
    for kernel in kernels:
        if kernel.lookups(views):
            raise ValueError(f"the kernel {kernel.name!r} looks samples up by id, and a mean of samples has no id")
    parts = [part for kernel in kernels for part in kernel.parts()]
    prepared = [part for part in parts if getattr(part, "preparation_", None) is not None]
    plain = [part for part in parts if not any(part is other for other in prepared)]
    for part in plain:
        if part.supervised:
            raise ValueError(f"the kernel {part.name!r} has a transformer inside, so a mean of samples has no features")
    columns = np.unique(np.concatenate([np.empty(0, dtype=int), *(part.columns() for part in plain)]))
    members = (labels[None, :] == np.arange(labels.max() + 1)[:, None]).astype(float)

    def means(values: Any, present: np.ndarray) -> np.ndarray:
        if not present.all():
            raise ValueError(f"{views.first(~present)} has no values to take the mean of its class with")
        return _dense((values.T @ members.T).T / members.sum(axis=1)[:, None])

    if len(columns):
        points = _points(columns, means(*views.read(columns, "all columns in use")), views.X.shape[1])
    else:
        points = Views(KeptColumns(len(members), views.X.shape[1], []))
    for part in prepared:
        points.hold_points(part.preparation_, means(*part.read(views)))
    return points


def view_values(kernel: ViewKernel, views: Views) -> Any:
    """The values of a kernel's view, an array or CSR matrix; every sample must have it."""
    values, present = kernel.read(views)
    if not present.all():
        raise ValueError(f"{views.first(~present)} lacks the view of the kernel {kernel.name!r}; remove such samples")
    return values


def _right(root: np.ndarray, values: np.ndarray) -> np.ndarray:
    """values root^-1."""
    return solve_triangular(root, values.T, lower=True, trans="T").T
