"""`GaussianGate`: regions around centres, thesis (3.4).

==========  ======================================================================
thesis      here
==========  ======================================================================
mu_m        means, the first n_kernels * n_inputs numbers of theta
sigma_m     exp of the last n_kernels numbers of theta, so that it stays positive
==========  ======================================================================
"""

from __future__ import annotations

import numpy as np

from .base import SMALL, Gate

LARGEST_LOG = 100.0  # of a spread, either way: its square must not overflow


class GaussianGate(Gate):
    """Gaussian gating: a softmax of the scores s_m = -||x^G - mu_m||^2 / sigma_m^2.

    The kernels compete for each sample by how near it is to their centres. Parameters are the means mu_m and the
    logarithms of the spreads sigma_m; the `l2` penalty of `Localized` counts both (a spread of 1 costs nothing). As the
    gating model of `Localized` it minimises the objective stated there (Gönen and Alpaydın 2008; thesis (Gönen 2010),
    (3.4) and section 3.3).

    Parameters
    ----------
    norm : {"unit", "paper"}
        Gates of length 1, sum_m g_m^2 = 1; or of sum 1, as in the papers.

    Examples
    --------
    >>> import numpy as np
    >>> theta = np.array([0.0, 1.0, 0.0, 0.0])  # mu_1, mu_2, log sigma_1, log sigma_2
    >>> GaussianGate("paper").values(theta, np.array([[0.5], [1.0]]), np.ones((2, 2), dtype=bool)).round(3)
    array([[0.5  , 0.5  ],
           [0.269, 0.731]])
    """

    def __init__(self, norm: str = "unit"):
        self.norm = norm

    def start(self, codes: np.ndarray, n_kernels: int, rng: np.random.RandomState) -> np.ndarray:
        """Means near the mean of standardised inputs, spreads near 1."""
        return SMALL * rng.normal(size=n_kernels * (codes.shape[1] + 1))

    def scores(self, theta: np.ndarray, codes: np.ndarray, n_kernels: int) -> np.ndarray:
        """-||x - mu_m||^2 / sigma_m^2."""
        means, precisions, _ = self._parts(theta, n_kernels)
        return -self._distances(codes, means) * precisions

    def scores_pullback(self, theta: np.ndarray, codes: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Thesis section 3.3; d/dlog(sigma) = sigma d/dsigma."""
        means, precisions, free = self._parts(theta, slopes.shape[1])
        weighted = 2.0 * slopes * precisions
        by_means = weighted.T @ codes - weighted.sum(axis=0)[:, None] * means
        by_spreads = (weighted * self._distances(codes, means)).sum(axis=0) * free
        return np.concatenate([by_means.ravel(), by_spreads])

    def codes_pullback(self, theta: np.ndarray, codes: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Samples are pulled towards the means of kernels that should be more open for them."""
        means, precisions, _ = self._parts(theta, slopes.shape[1])
        weighted = 2.0 * slopes * precisions
        return weighted @ means - weighted.sum(axis=1)[:, None] * codes

    def _parts(self, theta: np.ndarray, n_kernels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means, 1 / sigma^2, and which spreads are not at their limit."""
        logs = theta[-n_kernels:]
        precisions = np.exp(-2.0 * np.clip(logs, -LARGEST_LOG, LARGEST_LOG))
        return theta[:-n_kernels].reshape(n_kernels, -1), precisions, np.abs(logs) < LARGEST_LOG

    def _distances(self, codes: np.ndarray, means: np.ndarray) -> np.ndarray:
        squares = (codes**2).sum(axis=1)[:, None] + (means**2).sum(axis=1)
        return np.maximum(squares - 2.0 * codes @ means.T, 0.0)
