"""`EvenGate`: the gating model of combiners without one."""

from __future__ import annotations

import numpy as np

from .base import Gate


class EvenGate(Gate):
    """Every kernel alike: eta_m = 1 / sqrt(n_kernels), so that the gated sum is the mean of the kernels.

    A sample that lacks views spreads their weight over those it has, as `Mean` does. There is nothing to learn.

    Examples
    --------
    >>> import numpy as np
    >>> EvenGate().values(np.empty(0), np.empty((2, 0)), np.array([[True, True], [True, False]])).round(3)
    array([[0.707, 0.707],
           [1.   , 0.   ]])
    """

    learns = False

    def start(self, codes: np.ndarray, n_kernels: int, rng: np.random.RandomState) -> np.ndarray:
        """No parameters."""
        return np.empty(0)

    def scores(self, theta: np.ndarray, codes: np.ndarray, n_kernels: int) -> np.ndarray:
        """All alike."""
        return np.zeros((len(codes), n_kernels))

    def scores_pullback(self, theta: np.ndarray, codes: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """No parameters."""
        return np.empty(0)

    def values(self, theta: np.ndarray, codes: np.ndarray, present: np.ndarray, tol: float = 0.0) -> np.ndarray:
        """The gates, whose squares sum to 1."""
        count = np.maximum(present.sum(axis=1, keepdims=True), 1)
        return present / np.sqrt(count)
