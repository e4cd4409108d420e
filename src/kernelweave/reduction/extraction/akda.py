"""`AKDAQR`: discriminant analysis inside the span of the class centroids (KDA/QR and its approximation AKDA/QR).

===================  =================================================================================
Xiong et al. (2005)  here
===================  =================================================================================
C = Q R              class centroids in the feature space, and an orthonormal basis of their span
H_b' Q, H_w' Q       between- and within-class factors of the samples projected onto Q
AKDA/QR              each centroid replaced by the image of the class mean, so only n x c kernel values
===================  =================================================================================
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.linalg import eigh

from ...kernels.points import class_means
from ...validation import Constraints, Flag, Number
from ..base import Extraction, KernelTransformer, TrainingSamples, indicators
from .centroid import centroids
from .subspace_ascent import orthonormal


class AKDAQR(KernelTransformer):
    """Two-stage kernel discriminant analysis: onto the span of the class centroids, then Fisher's criterion in there.

    Maximises ``v' S_b v / v' (S_w + ridge I) v`` over directions v of unit length in the span of the centroids, which
    has one dimension per class. The approximate version takes the image of each class mean for the centroid (with the
    linear kernel they are the same) and so computes n_classes kernel values per sample: its time is
    O(n_samples n_features n_classes), which SKFE names as the mark of AKDA/QR. Reference: Xiong, Ye, Li, Janardan and
    Cherkassky (2005).

    Parameters
    ----------
    kernel : Kernel, callable, MKLClassifier or None
        The kernel; None means `Linear()`. An `MKLClassifier` stands for its combined kernel, which is learned first.
    n_components : int or None
        None for one per class.
    approximate : bool
        Whether centroids are images of class means (AKDA/QR), which needs numbers to take means of; otherwise they are
        exact (KDA/QR).
    ridge : float
        Added to the within-class scatter, relative to its mean eigenvalue.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
        Normalisation of the kernel; the approximate version takes only the first and the last.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes or n_samples, n_components)
        Directions as combinations of class means or, where exact, of training samples.
    offset_ : ndarray of shape (n_components,)
        Zero here.
    eigenvalues_ : ndarray of shape (n_components,)
        Fisher's criterion of each direction, descending.
    kernel_ : Kernel or MKLClassifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
    n_components_ : int
        Fewer than requested where centroids depend on each other.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

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
            kernel = samples.compared_with(class_means(samples.views, samples.kernels, labels))
            products, cross = kernel.gram(), kernel.cross(samples.views)
            basis = orthonormal(np.eye(len(products)), products)  # Q of C = Q R
        else:
            cross = samples.gram()
            W = centroids(labels)
            basis = orthonormal(W, cross @ W)
        if basis.shape[1] == 0:
            raise ValueError("the kernel is zero between all training samples, so the centroids span nothing")
        projected = cross @ basis
        directions, self.eigenvalues_ = _discriminant(projected, labels, given.ridge, limit)
        return Extraction(basis @ directions, 0.0, projected @ directions, kernel)


def _discriminant(features: np.ndarray, labels: np.ndarray, ridge: float, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Directions of unit length, ordered by Fisher's criterion, best first, and its values."""
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
