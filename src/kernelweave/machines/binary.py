"""Binary support vector machines, on labels, thesis (1.3), or on posterior probabilities, (1.12) and (1.13).

In signed coefficients c = alpha y the dual is
maximise  y'c - 1/2 c'Kc  with  sum(c) = 0,  0 <= c_i y_i <= C_i.

With the soft label t_i = 2 Pr(+1|x_i) - 1 in place of y_i and the constraints t_i f(x_i) >= t_i^2 - t_i^2 xi_i, the
dual is maximise  sum_i t_i^2 alpha_i - 1/2 c'Kc,  c = alpha t,  sum(c) = 0,  0 <= alpha_i <= C_i / t_i^2.  In signed
coefficients it is the box QP of the binary machine with linear term t and 0 <= c_i sign(t_i) <= C_i / |t_i|; for
t = +-1 it is that machine.

The loss slope C_i / |t_i| grows without limit as t_i goes to 0: a sample whose class is unknown would become a hard
constraint. Samples with |t_i| below a threshold are therefore dropped, as those with t_i = 0 are.
"""

from __future__ import annotations

import numpy as np

from ..validation import Number, check
from .base import PlainMachine, as_bound, columns, wrong_sides

THRESHOLD = 0.05


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
        return _hinge_problem(self.y_signed, self.bound * self.y_signed)

    def subset(self, index: np.ndarray) -> BinaryMachine:
        return BinaryMachine(self.y_signed[index], self.bound[index])

    def losses(self, values: np.ndarray) -> np.ndarray:
        return wrong_sides(values, self.y_signed)


class PosteriorMachine(PlainMachine):
    """Binary SVM on posterior probabilities instead of labels.

    Parameters
    ----------
    posterior : ndarray of shape (n_samples,)
        Pr(+1|x_i).
    bound : float or ndarray of shape (n_samples,)
        Cost of each sample (C times its weight).
    y_signed : ndarray of shape (n_samples,), optional
        Labels +1 and -1, by which `risk` judges; the side of 1/2 on which the posterior lies by default.
    threshold : float, default=0.05
        Samples with ``|2 posterior - 1|`` below it are dropped: their coefficient is 0.

    Attributes
    ----------
    soft : ndarray of shape (n_samples,)
        Soft labels t.
    dropped : ndarray of bool, shape (n_samples,)
        Which samples are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> machine = PosteriorMachine(np.array([0.0, 0.1, 0.51, 1.0]), bound=10.0)
    >>> machine.dropped
    array([False, False,  True, False])
    >>> float(machine.solve(np.outer(x, x)).coef[2, 0])
    0.0
    """

    n_classes = 2

    def __init__(
        self,
        posterior: np.ndarray,
        bound: float | np.ndarray,
        *,
        y_signed: np.ndarray | None = None,
        threshold: float = THRESHOLD,
    ):
        self.posterior = np.asarray(posterior, dtype=np.float64)
        if self.posterior.ndim != 1 or not ((self.posterior >= 0.0) & (self.posterior <= 1.0)).all():
            raise ValueError("posterior must be one-dimensional, with probabilities from 0 to 1")
        self.n_samples = len(self.posterior)
        self.bound = as_bound(bound, self.n_samples)
        self.threshold = check(self, "threshold", threshold, Number(above=0, high=1))
        self.soft = 2.0 * self.posterior - 1.0  # thesis (1.12)
        self.dropped = np.abs(self.soft) < self.threshold
        self.y_signed = np.where(self.soft > 0.0, 1.0, -1.0) if y_signed is None else np.asarray(y_signed, dtype=float)
        if self.y_signed.shape != self.soft.shape or not np.isin(self.y_signed, (-1.0, 1.0)).all():
            raise ValueError("y_signed must hold a label +1 or -1 for each sample")
        self.strata = self.y_signed

    def problem(self) -> dict:
        """Return the box QP in signed coefficients; a dropped sample has a box without width."""
        ends = np.divide(self.bound, self.soft, out=np.zeros(self.n_samples), where=~self.dropped)
        return _hinge_problem(self.soft, ends)

    def subset(self, index: np.ndarray) -> PosteriorMachine:
        return PosteriorMachine(
            self.posterior[index], self.bound[index], y_signed=self.y_signed[index], threshold=self.threshold
        )

    def losses(self, values: np.ndarray) -> np.ndarray:
        return wrong_sides(values, self.y_signed)


def _hinge_problem(linear: np.ndarray, ends: np.ndarray) -> dict:
    return {
        "linear": linear,
        "lower": np.minimum(ends, 0.0),
        "upper": np.maximum(ends, 0.0),
        "total": 0.0,
        "insensitivity": 0.0,
    }


def as_posteriors(posterior: np.ndarray, n_samples: int, n_classes: int) -> np.ndarray:
    """Posteriors of every class as an (n, k) array whose rows sum to 1, or a ValueError."""
    posterior = columns(posterior, n_classes, n_samples)
    if not ((posterior >= 0.0) & (posterior <= 1.0)).all():
        raise ValueError("posterior must hold probabilities from 0 to 1")
    if not np.allclose(posterior.sum(axis=1), 1.0, atol=1e-6):
        raise ValueError("the posteriors of every sample must sum to 1")
    return posterior
