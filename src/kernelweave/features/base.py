"""The protocol of explicit features: an approximation fits a feature map for each kernel.

    k_m(x, z)  ~  <phi_m(x), phi_m(z)>,      phi_m(x) = raw_m(x) @ whitening_m

An `Approximation` is the user's choice, such as `NystroemFeatures`; `Approximation.fit_map` returns a `FeatureMap`,
which is all that is kept of it. Maps are fitted on the *reservoir*: a uniform sample of the training samples that have
the kernel's view, over which the kernel itself and its normalisation are fitted too. A sample that lacks the view has
the features 0.

Each map is scaled so that the mean of ||phi(x)||^2 over the reservoir is that of k(x, x), or the approximation itself
would bias the weights of the kernels; `FeatureMap.trace_share` is the ratio of the two before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from ..kernels import KernelStack
from ..kernels.stacking.feature_weights import feature_weights
from ..views import Views


class FeatureMap(ABC):
    """Explicit features phi of one kernel.

    Attributes
    ----------
    n_features : int
        Length of phi(x).
    whitening : ndarray of shape (n_raw, n_features), or None
        float64; what turns raw values into features, so that it can be folded into weight vectors (`fold`, `unfold`).
        None where raw values are the features.
    trace_share : float
        The mean of ||phi(x)||^2 over the reservoir before it was scaled, as a share of the mean of k(x, x).
    landmarks : KernelStack or None
        The kernel alone, over the points to which raw values are kernel values; None for other maps.
    """

    whitening: np.ndarray | None
    trace_share: float
    landmarks: KernelStack | None = None

    @property
    def n_features(self) -> int:
        """Length of phi(x)."""
        return self.n_raw if self.whitening is None else self.whitening.shape[1]

    @property
    def n_raw(self) -> int:
        """Number of raw values of a sample."""
        return 0 if self.whitening is None else len(self.whitening)  # maps without whitening override this

    @abstractmethod
    def raw(self, views: Views, present: np.ndarray) -> np.ndarray:
        """Values of samples before whitening, of shape (n_samples, n_raw); rows of samples that lack the view are 0.

        Parameters
        ----------
        views : Views
        present : ndarray of bool, shape (n_samples,)
            Which samples have the view.
        """

    def transform(self, views: Views, present: np.ndarray) -> np.ndarray:
        """phi of samples, of shape (n_samples, n_features), in float64; parameters are those of `raw`."""
        raw = self.raw(views, present)
        return raw if self.whitening is None else raw @ self.whitening

    def feature_weights(self, weights: np.ndarray) -> np.ndarray | None:
        """Of a linear kernel, vectors v with <v, x> = <weights, phi(x)> for its prepared columns x, normalised.

        None where a map has none: by default where it has no landmarks.
        """
        if self.landmarks is None:
            return None
        return feature_weights(self.landmarks, 0, self.fold(weights)[: self.landmarks.n_samples])

    def fold(self, weights: np.ndarray) -> np.ndarray:
        """Weights of raw values that give the same scores as these weights of features: raw @ fold(w) = phi @ w."""
        return weights if self.whitening is None else self.whitening @ weights

    def unfold(self, pulled: np.ndarray) -> np.ndarray:
        """Sums of features from the same sums of raw values: unfold(raw' G) = phi' G."""
        return pulled if self.whitening is None else self.whitening.T @ pulled


class Approximation(BaseEstimator, ABC):
    """A way to give kernels explicit features."""

    @abstractmethod
    def fit_map(self, stack: KernelStack, m: int, rng: np.random.RandomState, *, dtype: np.dtype) -> FeatureMap:
        """The features of a kernel.

        Parameters
        ----------
        stack : KernelStack
            The fitted kernels over the reservoir.
        m : int
            Which of them.
        rng : RandomState
        dtype : dtype
            What features will be held in: float32 or float64.
        """
