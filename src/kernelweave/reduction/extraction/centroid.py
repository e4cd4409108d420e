"""`KernelOrthogonalCentroid`: the subspace that the class centroids span (KOC).

==================  =====================================================
Park & Park (2004)  here
==================  =====================================================
C                   centroids as combinations of samples, columns of W
Q of C = Q R        the same span, orthonormal in the feature space
==================  =====================================================
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from ...validation import Constraints, Seed, Whole
from ..base import Extraction, KernelTransformer, TrainingSamples, indicators
from .subspace_ascent import orthonormal


class KernelOrthogonalCentroid(KernelTransformer):
    """Projection onto the span of the class centroids in the kernel's feature space.

    Keeps the centroids, and with them the distances between classes, exactly: among all subspaces of that dimension
    it has the largest trace of the between-class scatter. There is nothing to tune. Features are coordinates in an
    orthonormal basis, their principal axes. Reference: Park and Park (2004);
    the rival KOC of Wu and Farquhar (SKFE).

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
        K = samples.gram()
        if n_clusters > 1:
            labels = _clusters(K, labels, n_clusters, given.random_state)
        W = centroids(labels)
        KW = K @ W
        W = orthonormal(W, KW, limit=limit)
        if W.shape[1] == 0:
            raise ValueError("the kernel is zero between all training samples, so the centroids span nothing")
        return Extraction(W, 0.0, K @ W).with_axes()


def centroids(labels: np.ndarray) -> np.ndarray:
    """Centroids of classes as combinations of samples: one column per class, 1 / its size for its members."""
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
