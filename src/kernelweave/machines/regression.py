"""Support vector regression with the epsilon-insensitive loss max(0, |y - f| - epsilon), thesis (1.5).

In signed coefficients c = alpha+ - alpha- (at the optimum one of the two is zero) the dual is
maximise  y'c - epsilon |c|_1 - 1/2 c'Kc  with  sum(c) = 0,  |c_i| <= C_i:  n variables instead of 2n.
"""

from __future__ import annotations

import numpy as np

from ..validation import Number, check
from .base import PlainMachine, as_bound, columns


class RegressionMachine(PlainMachine):
    """Epsilon-insensitive support vector regression.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Targets.
    bound : float or ndarray of shape (n_samples,)
        Largest ``|c|`` of each sample (C times its weight).
    epsilon : float
        Half the width of the tube inside which errors are free.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> solution = RegressionMachine(2 * x + 1, bound=10.0, epsilon=0.0).solve(np.outer(x, x))
    >>> np.round(np.outer(x, x) @ solution.coef + solution.intercept, 6).ravel()
    array([-1.,  1.,  3.])
    """

    def __init__(self, y: np.ndarray, bound: float | np.ndarray, *, epsilon: float):
        self.y = np.asarray(y, dtype=np.float64)
        if self.y.ndim != 1 or not np.isfinite(self.y).all():
            raise ValueError("y must be one-dimensional and finite")
        self.n_samples = len(self.y)
        self.bound = as_bound(bound, self.n_samples)
        self.epsilon = check(self, "epsilon", epsilon, Number(low=0))
        self.strata = None

    def problem(self) -> dict:
        """Return the dual of (1.5) in signed coefficients."""
        return {
            "linear": self.y,
            "lower": -self.bound,
            "upper": self.bound,
            "total": 0.0,
            "insensitivity": self.epsilon,
        }

    def subset(self, index: np.ndarray) -> RegressionMachine:
        """Return the same machine on the chosen samples."""
        return RegressionMachine(self.y[index], self.bound[index], epsilon=self.epsilon)

    def losses(self, values: np.ndarray) -> np.ndarray:
        """Squared errors."""
        return (columns(values, 1, self.n_samples)[:, 0] - self.y) ** 2
