"""`EvenGate`: the gating model of combiners without one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import place_of, precision_of
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

    def scores(self, theta: Any, codes: Any, n_kernels: int) -> Any:
        """All alike."""
        return place_of(codes).zeros((codes.shape[0], n_kernels), precision_of(codes))

    def scores_pullback(self, theta: Any, codes: Any, slopes: Any) -> Any:
        """No parameters."""
        return place_of(slopes).zeros(0, precision_of(slopes))

    def values(self, theta: Any, codes: Any, present: Any, tol: float = 0.0) -> Any:
        """The gates, whose squares sum to 1."""
        place = place_of(codes)
        there = place.asarray(place.asarray(present), precision_of(codes))
        count = place.xp.sum(there, axis=1, keepdims=True)
        return there / place.xp.sqrt(place.xp.where(count > 0.0, count, place.xp.ones_like(count)))
