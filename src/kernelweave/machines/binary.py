"""Binary support vector machine, thesis (1.3).

In signed coefficients c = alpha y the dual is
maximise  y'c - 1/2 c'Kc  with  sum(c) = 0,  0 <= c_i y_i <= C_i.
"""

from __future__ import annotations

import numpy as np

from .base import PlainMachine, as_bound, columns


class BinaryMachine(PlainMachine):
    """Binary SVM on labels +1 and -1.

    Parameters
    ----------
    y_signed : ndarray of shape (n_samples,)
        Labels, each +1 or -1.
    bound : float or ndarray of shape (n_samples,)
        Largest alpha of each sample (C times its weight).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> machine = BinaryMachine(np.sign(x), bound=10.0)
    >>> solution = machine.solve(np.outer(x, x))
    >>> solution.coef[:, 0]
    array([ 0. , -0.5,  0.5,  0. ])
    >>> machine.risk(np.outer(x, x) @ solution.coef + solution.intercept)
    0.0
    """

    n_classes = 2

    def __init__(self, y_signed: np.ndarray, bound: float | np.ndarray):
        self.y_signed = np.asarray(y_signed, dtype=np.float64)
        if self.y_signed.ndim != 1 or not np.isin(self.y_signed, (-1.0, 1.0)).all():
            raise ValueError("y_signed must be one-dimensional, with labels +1 and -1 only")
        self.n_samples = len(self.y_signed)
        self.bound = as_bound(bound, self.n_samples)
        self.strata = self.y_signed

    @classmethod
    def for_targets(cls, y: np.ndarray, bound: float | np.ndarray) -> BinaryMachine:
        """Return the machine for labels +1 and -1, as losses do (see `losses`)."""
        return cls(y, bound)

    def problem(self) -> dict:
        """Return the box QP (1.3) in signed coefficients."""
        ends = self.bound * self.y_signed
        return {
            "linear": self.y_signed,
            "lower": np.minimum(ends, 0.0),
            "upper": np.maximum(ends, 0.0),
            "total": 0.0,
            "insensitivity": 0.0,
        }

    def subset(self, index: np.ndarray) -> BinaryMachine:
        """Return the same machine on the chosen samples."""
        return BinaryMachine(self.y_signed[index], self.bound[index])

    def losses(self, values: np.ndarray) -> np.ndarray:
        """1 for samples on the wrong side of zero (zero counts as -1)."""
        predicted = np.where(columns(values, 1, self.n_samples)[:, 0] > 0, 1.0, -1.0)
        return (predicted != self.y_signed).astype(float)
