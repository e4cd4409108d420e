"""The loss of a machine by the terms of its dual: one formula for loss, slope, curvature and conjugate.

For each sample and output, with z_i = p_i - f_i,

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

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import HOST, place_of
from ..solvers import responses

TERMS = ("linear", "lower", "upper", "quadratic")

BEYOND = 1e-9  # of the largest coefficient: what rounding may leave outside of the bounds


@dataclass(frozen=True)
class DualTerms:
    """What the dual ``max p'c - e |c|_1 - 1/2 c'Hc - 1/2 c'Kc`` has besides the kernel.

    Dual solvers read the terms, and the descent on explicit features reads the loss that they define; the latter where
    the arrays are, which may be a device.

    Attributes
    ----------
    linear : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        p: the targets.
    lower, upper : ndarray of the same shape
        Bounds of the coefficients; infinite ones only where quadratic is positive.
    quadratic : ndarray of the same shape or float, default=0
        h: zero for losses with a kink, positive for smooth ones. All zero, or all positive.
    insensitivity : float, default=0
        e: half the width of the tube in which errors are free.
    total : float, default=0
        Required sum of the coefficients: what a bias costs.

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
        if isinstance(self.linear, np.ndarray):
            quadratic = np.broadcast_to(np.asarray(self.quadratic, dtype=np.float64), np.shape(self.linear))
            object.__setattr__(self, "quadratic", quadratic)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return 1 if self.linear.ndim == 1 else self.linear.shape[1]

    @property
    def is_smooth(self) -> bool:
        """Whether the loss has a slope everywhere: all quadratic terms are positive."""
        return bool((self.quadratic > 0.0).all())

    @property
    def is_bounded(self) -> bool:
        """Whether all coefficients have finite bounds, so that the dual is a box QP on the kernel plus a diagonal."""
        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())

    # Some of the samples and outputs

    def mapped(self, function: Callable[[Any], Any]) -> DualTerms:
        """The terms with a function of each of the four arrays in their place."""
        return self.with_terms({name: function(getattr(self, name)) for name in TERMS})

    def with_terms(self, found: dict[str, Any]) -> DualTerms:
        """The terms with other arrays."""
        return dataclasses.replace(self, **found)

    def of(self, rows: slice | np.ndarray) -> DualTerms:
        """Those of some of the samples."""
        return self.mapped(lambda term: term[rows, ...])

    def column(self, output: int) -> DualTerms:
        """Those of one output."""
        return self.mapped(lambda term: term[:, output : output + 1])

    def followed_by(self, others: list[DualTerms]) -> DualTerms:
        """Those of several sets of samples, one after the other."""
        joined = {name: np.concatenate([getattr(each, name) for each in (self, *others)]) for name in TERMS}
        return self.with_terms(joined)

    def without(self, rows: np.ndarray) -> DualTerms:
        """The same for samples of which some (a boolean array) have no loss."""
        left_out = rows if self.linear.ndim == 1 else rows[:, None]
        lower, upper = (np.where(left_out, 0.0, end) for end in (self.lower, self.upper))
        return dataclasses.replace(self, lower=lower, upper=upper)

    # The loss

    def loss(self, values: Any) -> Any:
        """What the values f cost each sample."""
        z = self.linear - values
        return self._worth(self._response(z), z)

    def slope(self, values: Any) -> Any:
        """The derivative of `loss` by f; at a kink, the slope of the flatter side."""
        return -self.coefficients(values)

    def coefficients(self, values: Any) -> Any:
        """c of each sample at the values f: minus the slope."""
        return self._response(self.linear - values)

    def respond(self, values: Any) -> tuple[Any, Any]:
        """The sum of the losses for each output, in float64, and c of each sample."""
        xp, z = place_of(values).xp, self.linear - values
        c = self._response(z)
        return xp.sum(self._worth(c, z), axis=0, dtype=xp.float64), c

    def curvature(self, values: Any) -> Any:
        """Second derivatives of a smooth loss: 1/h for coefficients inside the bounds."""
        xp = place_of(values).xp
        inside = self.curves(self.coefficients(values))
        return xp.where(inside, 1.0 / self.quadratic, xp.zeros_like(self.quadratic))

    def curves(self, c: Any) -> Any:
        """Whether the loss of a sample with coefficient c has a second derivative that is not 0."""
        inside = (c > self.lower) & (c < self.upper)
        return inside & (c != 0.0) if self.insensitivity else inside

    def conjugate(self, coef: np.ndarray) -> np.ndarray:
        """The conjugate of each sample's loss at -coef: ``max_f -coef f - loss(f)``."""
        slack = BEYOND * np.abs(coef).max(initial=0.0)
        inside = (coef >= self.lower - slack) & (coef <= self.upper + slack)
        return np.where(inside, -self._worth(coef, self.linear), np.inf)

    def _response(self, z: Any) -> Any:
        if isinstance(z, np.ndarray) and z.size and self.quadratic.flat[0] == 0.0:
            return responses(z, self.lower, self.upper, self.quadratic, self.insensitivity)
        xp, e = HOST.xp if isinstance(z, np.ndarray) else place_of(z).xp, self.insensitivity
        free = xp.sign(z) * xp.clip(xp.abs(z) - e, min=0.0) if e else z
        return xp.minimum(xp.maximum(free / self.quadratic, self.lower), self.upper)

    def _worth(self, v: Any, z: Any) -> Any:
        worth = z * v - 0.5 * self.quadratic * v**2
        return worth - self.insensitivity * abs(v) if self.insensitivity else worth
