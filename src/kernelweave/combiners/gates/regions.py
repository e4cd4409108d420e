"""Gates that are constant within regions: clusters of samples, or single samples (thesis 3.5.5).

===================  =====================================================
thesis               here
===================  =====================================================
eta_{c_i}^m          gates by a row of theta, that of the cluster c_i
eta_i^m              gates by a row of theta, that of the sample i
===================  =====================================================

The gates of a region are written as a softmax, like those of `Softmax`. A new sample takes those of the
nearest cluster centre (Yang et al. 2009) or of the nearest training sample, in the space of the gating inputs; Yang et
al. (2010) give new samples equal weights instead, so that training and prediction use two different kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import place_of, precision_of
from ...validation import Constraints, Whole, check_parameters
from .base import SMALL, Gate


class RegionGate(Gate):
    """Scores from a table with a row for each centre; a sample reads the row of its nearest centre."""

    centers_: np.ndarray

    def encode(self, inputs: np.ndarray) -> np.ndarray:
        """The position of the nearest centre."""
        from sklearn.metrics import pairwise_distances_argmin

        return pairwise_distances_argmin(inputs, self.centers_)

    def start(self, codes: np.ndarray, n_kernels: int, rng: np.random.RandomState) -> np.ndarray:
        """Normal numbers of spread 0.1, for each region and kernel."""
        return SMALL * rng.normal(size=len(self.centers_) * n_kernels)

    def scores(self, theta: Any, codes: Any, n_kernels: int) -> Any:
        """The row of each sample's region."""
        place = place_of(codes)
        return place.xp.take(place.xp.reshape(place.asarray(theta), (-1, n_kernels)), codes, axis=0)

    def scores_pullback(self, theta: Any, codes: Any, slopes: Any) -> Any:
        """Samples of a region add up."""
        place = place_of(codes)
        if place.is_host:
            columns = [np.bincount(codes, column, len(self.centers_)) for column in slopes.T]
            return np.stack(columns, axis=1).ravel()
        regions = place.asarray(np.arange(len(self.centers_), dtype=np.int64))
        members = place.asarray(regions[:, None] == place.xp.astype(codes, regions.dtype), precision_of(slopes))
        return place.xp.reshape(members @ slopes, (-1,))


class ClusterGate(RegionGate):
    """Weights for each cluster of samples, eta_m(x) = eta_{c(x)}^m (Yang et al. 2009; thesis (Gönen 2010), 3.5.5).

    The training samples are clustered by k-means on the gating inputs beforehand, then the weights of each cluster
    minimise the objective of `Localized`. The `l2` penalty counts the logarithms of the weights (up to a constant).

    Parameters
    ----------
    n_clusters : int
        At most as many are made as there are different samples.
    norm : {"unit", "paper"}
        Gates of length 1, sum_m g_m^2 = 1; or of sum 1, as in the papers.

    Attributes
    ----------
    centers_ : ndarray of shape (n_clusters, n_inputs)

    References
    ----------
    J. Yang, Y. Li, Y. Tian, L. Duan, W. Gao, Group-sensitive multiple kernel learning for object categorization, ICCV
    2009.

    Examples
    --------
    >>> import numpy as np
    >>> gate = ClusterGate(n_clusters=2)
    >>> gate.prepare(np.array([[0.0], [0.1], [5.0], [5.1]]), np.random.RandomState(0))
    >>> len(set(gate.encode(np.array([[0.2], [4.0]]))))
    2
    """

    _constraints = Constraints(n_clusters=Whole(1))

    def __init__(self, n_clusters: int = 5, norm: str = "unit"):
        self.n_clusters = n_clusters
        self.norm = norm

    def prepare(self, inputs: np.ndarray, rng: np.random.RandomState) -> None:
        """Find the clusters."""
        from sklearn.cluster import KMeans

        count = min(check_parameters(self).n_clusters, len(np.unique(inputs, axis=0)))
        self.centers_ = KMeans(count, n_init=3, random_state=rng).fit(inputs).cluster_centers_


class InstanceGate(RegionGate):
    """Weights of its own for each training sample, eta_m(x_i) = eta_i^m (Yang et al. 2010).

    The weights minimise the objective of `Localized`; only the `l2` penalty, which counts the logarithms of the weights
    (up to a constant), keeps n_samples * n_kernels parameters from fitting every sample. Samples with the same gating
    inputs share their weights. A new sample takes the weights of the nearest training sample. See the thesis (Gönen
    2010), 3.5.5.

    Parameters
    ----------
    norm : {"unit", "paper"}
        Gates of length 1, sum_m g_m^2 = 1; or of sum 1, as in the papers.

    Attributes
    ----------
    centers_ : ndarray of shape (n_samples, n_inputs)
        The gating inputs of all training samples, which prediction needs.

    References
    ----------
    J. Yang, Y. Li, Y. Tian, L. Duan, W. Gao, Per-sample multiple kernel approach for visual concept learning, EURASIP
    Journal on Image and Video Processing, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> gate = InstanceGate()
    >>> gate.prepare(np.array([[0.0], [1.0], [5.0]]), np.random.RandomState(0))
    >>> gate.encode(np.array([[0.9]]))
    array([1])
    """

    per_sample = True

    def __init__(self, norm: str = "unit"):
        self.norm = norm

    def prepare(self, inputs: np.ndarray, rng: np.random.RandomState) -> None:
        """Keep the inputs."""
        self.centers_ = inputs
