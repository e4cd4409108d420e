"""The loss of a machine with one output, by the terms of its dual: one formula for loss, slope and conjugate.

For each sample, with z_i = p_i - f_i,

    loss_i(f_i) = max_v  z_i v - e |v| - h_i/2 v^2      over   lower_i <= v <= upper_i,

so that the slope of the loss is -v at the maximiser, and its conjugate at -c is  -p_i c_i + e |c_i| + h_i/2 c_i^2
within the bounds and infinite outside.

========================  ==================  ===========  ==============  ====  =========
loss                      p                   bounds       e               h     total
========================  ==================  ===========  ==============  ====  =========
hinge                     y                   [0, C] y     0               0     0
squared hinge             y                   [0, inf) y   0               1/C   0
epsilon-insensitive       y                   [-C, C]      epsilon         0     0
its square                y                   (-inf, inf)  epsilon         1/C   0
one-class                 0                   [0, C]       0               0     1
squared error             y                   (-inf, inf)  0               1/C   0
========================  ==================  ===========  ==============  ====  =========
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..solvers import responses

BEYOND = 1e-9  # of the largest coefficient: what rounding may leave outside of the bounds


@dataclass(frozen=True)
class DualTerms:
    """What the dual ``max p'c - e |c|_1 - 1/2 c'Hc - 1/2 c'Kc`` has besides the kernel.

    Attributes
    ----------
    linear : ndarray of shape (n_samples,)
        p: the targets.
    lower, upper : ndarray of shape (n_samples,)
        Bounds of the coefficients; infinite ones only where quadratic is positive.
    quadratic : ndarray of shape (n_samples,) or float, default=0
        h: zero for losses with a kink, positive for smooth ones. All zero, or all positive.
    insensitivity : float, default=0
        e: half the width of the tube in which errors are free.
    total : float, default=0
        Required sum of the coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> hinge = DualTerms(np.array([1.0, -1.0]), np.array([0.0, -2.0]), np.array([2.0, 0.0]))
    >>> hinge.loss(np.array([0.5, 3.0]))
    array([1., 8.])
    >>> hinge.slope(np.array([0.5, 3.0]))
    array([-2.,  2.])
    """

    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    quadratic: Any = 0.0
    insensitivity: float = 0.0
    total: float = 0.0

    def __post_init__(self):
        """Write one quadratic term for each sample."""
        quadratic = np.broadcast_to(np.asarray(self.quadratic, dtype=np.float64), np.shape(self.linear))
        object.__setattr__(self, "quadratic", quadratic)

    @property
    def is_smooth(self) -> bool:
        """Whether the loss has a slope everywhere: all quadratic terms are positive."""
        return bool((self.quadratic > 0.0).all())

    def loss(self, values: np.ndarray) -> np.ndarray:
        """What the values f cost each sample."""
        z = self.linear - values
        return self._worth(self._response(z), z)

    def slope(self, values: np.ndarray) -> np.ndarray:
        """The derivative of `loss` by f; at a kink, the slope of the flatter side."""
        return -self._response(self.linear - values)

    def conjugate(self, coef: np.ndarray) -> np.ndarray:
        """The conjugate of each sample's loss at -coef: ``max_f -coef f - loss(f)``."""
        slack = BEYOND * np.abs(coef).max(initial=0.0)
        inside = (coef >= self.lower - slack) & (coef <= self.upper + slack)
        return np.where(inside, -self._worth(coef, self.linear), np.inf)

    def _response(self, z: np.ndarray) -> np.ndarray:
        return responses(z, self.lower, self.upper, self.quadratic, self.insensitivity)

    def _worth(self, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        return z * v - self.insensitivity * np.abs(v) - 0.5 * self.quadratic * v**2
