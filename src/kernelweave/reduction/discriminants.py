"""Supervised features of one kernel in closed form, or by deflation: KOC, KFDA, KDA/QR, KPLS.

`KernelOrthogonalCentroid` (KOC, Park & Park 2004) takes the span of the class centroids, which are combinations of
samples (`centroids`), orthonormal in the feature space: Q of C = Q R.

====================  ========================================================================
Mika et al. (2001)    here, `KernelFisher` (KFDA)
====================  ========================================================================
M                     between-class scatter ``K B B' K``, B with one column per class
N                     within-class scatter ``A' A``, A = K with class means of rows taken off
mu                    ridge, relative to the mean diagonal of N; ``ridge_`` is its absolute value
alpha                 columns of `coef_`, with ``alpha' (N + ridge I) alpha = 1``
====================  ========================================================================

===================  =================================================================================
Xiong et al. (2005)  here, `AKDAQR` (KDA/QR and its approximation AKDA/QR)
===================  =================================================================================
C = Q R              class centroids in the feature space, and an orthonormal basis of their span
H_b' Q, H_w' Q       between- and within-class factors of the samples projected onto Q
AKDA/QR              each centroid replaced by the image of the class mean, so only n x c kernel values
===================  =================================================================================

=======================  ======================================================================
Rosipal & Trejo (2001)   here, `KernelPLS` (KPLS)
=======================  ======================================================================
K, Y                     K (centred), targets (class indicators, centred)
t, u                     columns of scores and weights
(I - tt') K (I - tt')    never formed: K t is kept instead, and scores are made orthogonal to it
T = K U (T'KU)^-1        what `components` returns
=======================  ======================================================================
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.cluster import KMeans

from ..kernels.points import class_means
from ..solvers.partitions import centred, indicators
from ..validation import Constraints, Flag, Number, Seed, Whole
from .base import Extraction, KernelTransformer, TrainingSamples, orthonormal


class KernelOrthogonalCentroid(KernelTransformer):
    """Projection onto the span of the class centroids in the kernel's feature space.

    Keeps the centroids, and with them the distances between classes, exactly: among all subspaces of that dimension it
    has the largest trace of the between-class scatter. There is nothing to tune. Features are coordinates in an
    orthonormal basis, their principal axes. Reference: Park and Park (2004); KOC in SKFE (Wu and Farquhar).

    Parameters
    ----------
    kernel : Kernel, callable, MKLClassifier or None
        The kernel; None means `Linear()`. An `MKLClassifier` stands for its combined kernel, which is learned first.
    n_components : int or None
        None for as many as there are centroids; fewer keep the strongest directions of their span.
    n_clusters : int
        Clusters in each class, found by k-means in the feature space; a class with fewer distinct samples has fewer.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
        Normalisation of the kernel.
    random_state : int, RandomState or None
        For k-means.

    Attributes
    ----------
    coef_ : ndarray of shape (n_samples, n_components)
        Directions as combinations of training samples.
    offset_ : ndarray of shape (n_components,)
        Zero here.
    kernel_ : Kernel or MKLClassifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
    n_components_ : int
        Fewer than requested where centroids depend on each other.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Memory: one n x n matrix; with clusters two, and an eigendecomposition of the kernel of each class.

    Examples
    --------
    >>> from kernelweave.reduction import KernelOrthogonalCentroid
    >>> X = [[1.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
    >>> KernelOrthogonalCentroid().fit_transform(X, ["a", "a", "b", "b"]).shape
    (4, 2)
    """

    _constraints = Constraints(n_clusters=Whole(1), random_state=Seed())

    def __init__(
        self,
        kernel: Any = None,
        n_components: int | None = None,
        *,
        n_clusters: int = 1,
        normalize: str | None = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.random_state = random_state

    def _extract(self, samples: TrainingSamples, labels: np.ndarray, given: SimpleNamespace) -> Extraction:
        n_clusters = given.n_clusters
        limit = len(self.classes_) * n_clusters if given.n_components is None else given.n_components
        K = samples.kernel.gram()
        if n_clusters > 1:
            labels = _clusters(K, labels, n_clusters, given.random_state)
        W = centroids(labels)
        KW = K @ W
        W = orthonormal(W, KW, limit=limit)
        if W.shape[1] == 0:
            raise ValueError("the kernel is zero between all training samples, so the centroids span nothing")
        return Extraction(W, 0.0, K @ W).with_axes()


def centroids(labels: np.ndarray) -> np.ndarray:
    Y = indicators(labels)
    return Y / Y.sum(axis=0)


def _clusters(K: np.ndarray, labels: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Labels 0, 1, ... of clusters within classes, by k-means on coordinates that have the distances of K."""
    found = np.empty(len(labels), dtype=int)
    total = 0
    for label in range(labels.max() + 1):
        members = np.flatnonzero(labels == label)
        values, vectors = np.linalg.eigh(K[np.ix_(members, members)])
        coordinates = vectors * np.sqrt(np.maximum(values, 0.0))
        distinct = len(np.unique(coordinates.round(12), axis=0))
        model = KMeans(min(n_clusters, distinct), n_init=10, random_state=rng).fit(coordinates)
        _, inside = np.unique(model.labels_, return_inverse=True)
        found[members] = total + inside
        total += inside.max() + 1
    return found


# Eigenvalues below this share of the largest are rounding: the scatter between c classes has rank c - 1.
_NOTHING = 1e-10
# Scatter within classes below this share of that between them is rounding.
_NO_SCATTER = 1e-12


class KernelFisher(KernelTransformer):
    """Kernel Fisher discriminant analysis: features that spread classes while their members stay together.

    Maximises ``a' M a / a' (N + ridge I) a``, between-class over within-class scatter of the features ``K a`` (Mika et
    al., 2001; Baudat and Anouar, 2000 for several classes). There are at most n_classes - 1 such features. The choice
    of the kernel itself under this criterion (Kim, Magnani and Boyd, 2006; Ye, Ji and Chen, 2008) is multiple kernel
    learning with the least-squares machine: give such an `MKLClassifier` as `kernel`.

    Parameters
    ----------
    kernel, normalize
        As in `KernelOrthogonalCentroid`.
    n_components : int or None
        None for all, one less than there are classes.
    ridge : float
        Ridge, relative to the mean diagonal of the within-class scatter N (of M where N is zero).

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The criterion of each direction, descending.
    ridge_ : float
        The ridge in absolute terms.
    coef_, offset_, kernel_, classes_, n_components_, n_features_in_, feature_names_in_
        As in `KernelOrthogonalCentroid`.

    Notes
    -----
    Memory: two n x n matrices, the kernel and N. Time: one Cholesky factorisation; no eigenproblem of that size.

    Examples
    --------
    >>> from kernelweave.reduction import KernelFisher
    >>> X = [[1.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
    >>> KernelFisher().fit_transform(X, ["a", "a", "b", "b"]).shape
    (4, 1)
    """

    _constraints = Constraints(ridge=Number(above=0))

    def __init__(
        self,
        kernel: Any = None,
        n_components: int | None = None,
        *,
        ridge: float = 1e-3,
        normalize: str | None = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.ridge = ridge
        self.normalize = normalize

    def _extract(self, samples: TrainingSamples, labels: np.ndarray, given: SimpleNamespace) -> Extraction:
        limit = len(self.classes_) - 1 if given.n_components is None else given.n_components
        K = samples.kernel.gram()
        Y = indicators(labels)
        sizes = Y.sum(axis=0)
        means = (Y.T @ K) / sizes[:, None]
        between = (np.sqrt(sizes)[:, None] * (means - K.mean(axis=0))).T  # K B
        for label, mean in enumerate(means):
            K[labels == label] -= mean  # A, in the place of K
        within = K.T @ K
        scatter, apart = float(np.trace(within)), float(np.sum(between**2))
        if scatter <= _NO_SCATTER * apart:  # members of a class that are all alike, up to rounding
            scatter = apart
        self.ridge_ = given.ridge * (scatter or 1.0) / len(within)
        within[np.diag_indices_from(within)] += self.ridge_
        # The between-class scatter has a few columns only, so the eigenproblem is as small as they are many.
        # Transposed, the symmetric matrix has the order that LAPACK overwrites without a copy.
        solved = cho_solve(cho_factor(within.T, lower=True, overwrite_a=True), between)
        values, vectors = eigh(between.T @ solved)
        strong = np.flatnonzero(values > _NOTHING * values.max(initial=0.0))[::-1][:limit]
        if len(strong) == 0:
            raise ValueError("the classes have the same mean in the kernel's feature space and cannot be separated")
        self.eigenvalues_ = values[strong]
        coef = solved @ (vectors[:, strong] / np.sqrt(values[strong]))
        return Extraction(coef, 0.0, K @ coef + (means @ coef)[labels])


class AKDAQR(KernelTransformer):
    """Two-stage kernel discriminant analysis: onto the span of the class centroids, then Fisher's criterion in there.

    Maximises ``v' S_b v / v' (S_w + ridge I) v`` over directions v of unit length in the span of the centroids, which
    has one dimension per class. The approximate version takes the image of each class mean for the centroid (with the
    linear kernel they are the same) and so computes n_classes kernel values per sample: its time is O(n_samples
    n_features n_classes), the mark of AKDA/QR in SKFE. Reference: Xiong, Ye, Li, Janardan and Cherkassky (2005).

    Parameters
    ----------
    kernel : Kernel, callable, MKLClassifier or None
        The kernel; None means `Linear()`. An `MKLClassifier` stands for its combined kernel, which is learned first.
    n_components : int or None
        None for one per class.
    approximate : bool
        Whether centroids are images of class means (AKDA/QR), which takes numbers; otherwise they are exact (KDA/QR).
    ridge : float
        Added to the within-class scatter, relative to its mean eigenvalue.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
        Normalisation of the kernel; the approximate version takes only the first and the last.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes or n_samples, n_components)
        Directions as combinations of class means or, where exact, of training samples.
    eigenvalues_ : ndarray of shape (n_components,)
        Fisher's criterion of each direction, descending.
    offset_, kernel_, classes_, n_components_, n_features_in_, feature_names_in_
        As in `KernelOrthogonalCentroid`.

    Notes
    -----
    Memory: approximate, an array of n_samples x n_classes; exact, one n x n matrix.

    Examples
    --------
    >>> from kernelweave.reduction import AKDAQR
    >>> X = [[1.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
    >>> model = AKDAQR().fit(X, ["a", "a", "b", "b"])
    >>> model.coef_.shape, bool(model.eigenvalues_[0] > 1.0)
    ((2, 2), True)
    """

    _constraints = Constraints(approximate=Flag(), ridge=Number(low=0))

    def __init__(
        self,
        kernel: Any = None,
        n_components: int | None = None,
        *,
        approximate: bool = True,
        ridge: float = 1e-2,
        normalize: str | None = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.approximate = approximate
        self.ridge = ridge
        self.normalize = normalize

    def _extract(self, samples: TrainingSamples, labels: np.ndarray, given: SimpleNamespace) -> Extraction:
        limit = len(self.classes_) if given.n_components is None else given.n_components
        kernel = None
        if given.approximate:
            kernel = samples.kernel.compared_with(class_means(samples.views, samples.kernels, labels))
            products, cross = kernel.gram(), kernel.cross(samples.views)
            basis = orthonormal(np.eye(len(products)), products)  # Q of C = Q R
        else:
            cross = samples.kernel.gram()
            W = centroids(labels)
            basis = orthonormal(W, cross @ W)
        if basis.shape[1] == 0:
            raise ValueError("the kernel is zero between all training samples, so the centroids span nothing")
        projected = cross @ basis
        directions, self.eigenvalues_ = _discriminant(projected, labels, given.ridge, limit)
        return Extraction(basis @ directions, 0.0, projected @ directions, kernel)


def _discriminant(features: np.ndarray, labels: np.ndarray, ridge: float, limit: int) -> tuple[np.ndarray, np.ndarray]:
    Y = indicators(labels)
    sizes = Y.sum(axis=0)
    means = (Y.T @ features) / sizes[:, None]
    of_means = np.sqrt(sizes)[:, None] * (means - features.mean(axis=0))  # H_b' Q
    of_members = features - means[labels]  # H_w' Q
    between, within = of_means.T @ of_means, of_members.T @ of_members
    # Classes of one point each have no scatter at all; the other one then gives the unit.
    unit = (np.trace(within) or np.trace(between) or 1.0) / len(within)
    within[np.diag_indices_from(within)] += max(ridge, np.finfo(float).eps) * unit
    values, vectors = eigh(between, within)
    best = np.argsort(-values)[:limit]
    return vectors[:, best] / np.linalg.norm(vectors[:, best], axis=0), values[best]


# A component whose covariance with the labels is below this share of the first one's is rounding.
_NOTHING = 1e-12


class KernelPLS(KernelTransformer):
    """Partial least squares in the kernel's feature space: directions of largest covariance with the class indicators.

    Each component maximises ``||cov(<z, phi(x)>, Y)||`` over directions z of unit length, then data and labels are
    deflated by its scores. With the linear kernel the features are the ``x_scores_`` of
    ``sklearn.cross_decomposition.PLSRegression(scale=False)`` on the class indicators, up to sign. Reference: Rosipal
    and Trejo (2001); KPLS in the comparison of Wu and Farquhar (SKFE).

    Parameters
    ----------
    kernel : Kernel, callable, MKLClassifier or None
        The kernel; None means `Linear()`. An `MKLClassifier` stands for its combined kernel, which is learned first.
    n_components : int or None
        None for one per class. Fewer are found where nothing is left to explain.
    center : bool
        Whether samples are moved to their mean in the feature space first, as partial least squares does.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
        Normalisation of the kernel, before that.

    Attributes
    ----------
    offset_ : ndarray of shape (n_components,)
        What moves the training samples' features to mean zero.
    coef_, kernel_, classes_, n_components_, n_features_in_, feature_names_in_
        As in `KernelOrthogonalCentroid`.

    Notes
    -----
    Memory: one n x n matrix. Time: one product of it with n_classes + n_components columns.

    Examples
    --------
    >>> from kernelweave.reduction import KernelPLS
    >>> X = [[1.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
    >>> KernelPLS(n_components=1).fit_transform(X, ["a", "a", "b", "b"]).shape
    (4, 1)
    """

    _constraints = Constraints(center=Flag())

    def __init__(
        self,
        kernel: Any = None,
        n_components: int | None = None,
        *,
        center: bool = True,
        normalize: str | None = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.center = center
        self.normalize = normalize

    def _extract(self, samples: TrainingSamples, labels: np.ndarray, given: SimpleNamespace) -> Extraction:
        n_components = len(self.classes_) if given.n_components is None else given.n_components
        K, means = samples.kernel.gram(), None
        if given.center:
            K, means = centred(K)
        coef = components(K, labels, n_components, given.center)
        if coef.shape[1] == 0:
            raise ValueError("the kernel has no covariance with the classes, so there is no component to extract")
        features = K @ coef
        if means is None:
            return Extraction(coef, 0.0, features)
        # <z, phi(x) - mean> in terms of the kernel as it was: centred coefficients and a constant.
        coef = coef - coef.mean(axis=0)
        return Extraction(coef, -means @ coef, features)


def components(K: np.ndarray, labels: np.ndarray, n_components: int, center: bool) -> np.ndarray:
    """Coefficients of the components over the samples, as many as there are; K is centred where `center`."""
    targets = indicators(labels)
    if center:
        targets -= targets.mean(axis=0)
    K_targets = K @ targets
    scores, K_scores, weights = (np.empty((len(K), 0)) for _ in range(3))
    lengths, first = np.empty(0), None
    for _ in range(min(n_components, len(K))):
        covariance = targets.T @ K_targets
        value, vector = eigh((covariance + covariance.T) / 2.0, subset_by_index=[len(covariance) - 1] * 2)
        first = value[0] if first is None else first
        if not value[0] > _NOTHING * first:
            break
        weight = targets @ vector
        score = K_targets @ vector
        score -= scores @ (scores.T @ score)
        length = np.linalg.norm(score)
        if not length > 0.0:
            break
        score /= length
        # The score of a direction of unit length is longer by this: <z, phi(x)> with z = phi' weight / |phi' weight|.
        lengths = np.append(lengths, length / np.sqrt(value[0]))
        scores, weights = np.hstack([scores, score]), np.hstack([weights, weight])
        K_score = K @ score
        explained = score.T @ targets
        targets = targets - score @ explained
        K_targets = K_targets - K_score @ explained
        K_scores = np.hstack([K_scores, K_score])
    if scores.shape[1] == 0:
        return scores
    inner = K_scores.T @ weights  # T'KU
    return np.linalg.solve(inner.T, weights.T).T * lengths  # T = K U (T'KU)^-1
