"""`KernelPLS`: partial least squares between a kernel's feature space and the class labels (KPLS).

=======================  ======================================================================
Rosipal & Trejo (2001)   here
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
from scipy.linalg import eigh

from ...validation import Constraints, Flag
from ..base import Extraction, KernelTransformer, TrainingSamples, centred, indicators

# A component whose covariance with the labels is below this share of the first one's is rounding.
_NOTHING = 1e-12


class KernelPLS(KernelTransformer):
    """Partial least squares in the kernel's feature space: directions of largest covariance with the class indicators.

    Each component maximises ``||cov(<z, phi(x)>, Y)||`` over directions z of unit length, then data and labels are
    deflated by its scores. With the linear kernel the features are the ``x_scores_`` of
    ``sklearn.cross_decomposition.PLSRegression(scale=False)`` on the class indicators, up to sign. Reference: Rosipal
    and Trejo (2001); the rival KPLS of Wu and Farquhar (SKFE).

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
    coef_ : ndarray of shape (n_samples, n_components)
        Directions as combinations of training samples.
    offset_ : ndarray of shape (n_components,)
        What moves the training samples' features to mean zero.
    kernel_ : Kernel or MKLClassifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
    n_components_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str

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
        K, means = samples.gram(), None
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
