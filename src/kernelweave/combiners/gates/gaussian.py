"""`GaussianGate`: regions around centres, thesis (3.4).

==========  ======================================================================
thesis      here
==========  ======================================================================
mu_m        means, the first n_kernels * n_inputs numbers of theta
sigma_m     exp of the last n_kernels numbers of theta, so that it stays positive
==========  ======================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import place_of, precision_of
from .base import SMALL, Gate, parameters_like

LARGEST_LOG = {"float64": 100.0, "float32": 15.0}  # of a spread, either way: its square must not overflow


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

    def scores(self, theta: Any, codes: Any, n_kernels: int) -> Any:
        """-||x - mu_m||^2 / sigma_m^2."""
        means, precisions, _ = self._parts(parameters_like(theta, codes), n_kernels)
        return -self._distances(codes, means) * precisions

    def scores_pullback(self, theta: Any, codes: Any, slopes: Any) -> Any:
        """Thesis section 3.3; d/dlog(sigma) = sigma d/dsigma."""
        place = place_of(codes)
        xp, slopes = place.xp, place.asarray(slopes, precision_of(codes))
        means, precisions, free = self._parts(parameters_like(theta, codes), slopes.shape[1])
        weighted = 2.0 * slopes * precisions
        by_means = weighted.T @ codes - xp.sum(weighted, axis=0)[:, None] * means
        by_spreads = xp.sum(weighted * self._distances(codes, means), axis=0) * place.asarray(free, precision_of(codes))
        return xp.concat([xp.reshape(by_means, (-1,)), by_spreads])

    def codes_pullback(self, theta: np.ndarray, codes: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Samples are pulled towards the means of kernels that should be more open for them."""
        means, precisions, _ = self._parts(theta, slopes.shape[1])
        weighted = 2.0 * slopes * precisions
        return weighted @ means - weighted.sum(axis=1)[:, None] * codes

    def _parts(self, theta: Any, n_kernels: int) -> tuple[Any, Any, Any]:
        """Means, 1 / sigma^2, and which spreads are not at their limit."""
        xp, limit = place_of(theta).xp, LARGEST_LOG[precision_of(theta)]
        logs = theta[-n_kernels:]
        precisions = xp.exp(-2.0 * xp.clip(logs, -limit, limit))
        return xp.reshape(theta[:-n_kernels], (n_kernels, -1)), precisions, xp.abs(logs) < limit

    def _distances(self, codes: Any, means: Any) -> Any:
        xp = place_of(codes).xp
        squares = xp.sum(codes**2, axis=1)[:, None] + xp.sum(means**2, axis=1)
        return xp.clip(squares - 2.0 * codes @ means.T, 0.0, None)
