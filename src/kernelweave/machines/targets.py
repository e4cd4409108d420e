"""Regression of several targets under one kernel: an independent machine for each target.

With targets y_1 .. y_q the machines' coefficients are the columns of C and their optima add up to J, so that a combiner
that minimises J finds one kernel for all targets. Least squares needs no such machine: `least_squares` has all targets
as right-hand sides of one factorisation.
"""

from __future__ import annotations

import numpy as np

from .base import as_bound, columns
from .independent import IndependentMachines, MachineMaker


class TargetsMachine(IndependentMachines):
    """Several targets of the same samples, each with a machine of the same loss.

    Minimises the sum over targets r of ``1/2 ||w_r||^2 + sum_i C_i loss(y_ir, f_r(x_i))``.

    Parameters
    ----------
    loss : RegressionLoss
        What makes the machine of one target, by ``loss.for_targets(y, bound)``.
    y : ndarray of shape (n_samples, n_targets)
        Targets, a column for each.
    bound : float or ndarray of shape (n_samples,)
        Cost of each sample (C times its weight), the same for all targets.
    n_jobs : int, optional
        Threads, as in joblib: None is 1, -1 is all cores. The result does not depend on it.

    Notes
    -----
    Memory: no copy of K.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.machines import EpsilonInsensitive, TargetsMachine
    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> machine = TargetsMachine(EpsilonInsensitive(epsilon=0.0), np.column_stack([2 * x + 1, -x]), bound=10.0)
    >>> solution = machine.solve(np.outer(x, x))
    >>> np.round(machine.decision(np.outer(x, x) @ solution.coef + solution.intercept), 6) + 0.0
    array([[-1.,  1.],
           [ 1.,  0.],
           [ 3., -1.]])
    """

    n_outputs: int = 1
    decides_with = ("n_outputs",)

    def __init__(self, loss: MachineMaker, y: np.ndarray, bound: float | np.ndarray, *, n_jobs: int | None = None):
        self.targets = np.asarray(y, dtype=np.float64)
        if self.targets.ndim != 2 or self.targets.size == 0 or not np.isfinite(self.targets).all():
            raise ValueError("y must be finite, of shape (n_samples, n_targets)")
        self.n_samples, self.n_outputs = self.targets.shape
        self.bound = as_bound(bound, self.n_samples)
        self.n_jobs = n_jobs
        self.maker = loss
        self.strata = None

    def parts(self) -> list[tuple[np.ndarray | None, np.ndarray]]:
        """Return all samples for each target, and its values."""
        return [(None, np.ascontiguousarray(target)) for target in self.targets.T]

    def subset(self, index: np.ndarray) -> TargetsMachine:
        """Return the same machine on the chosen samples."""
        return TargetsMachine(self.maker, self.targets[index], self.bound[index], n_jobs=self.n_jobs)

    def decision(self, values: np.ndarray) -> np.ndarray:
        """Predicted values, a column for each target."""
        return columns(values, self.n_outputs)

    def losses(self, values: np.ndarray) -> np.ndarray:
        """Squared errors, summed over targets."""
        return ((columns(values, self.n_outputs, self.n_samples) - self.targets) ** 2).sum(axis=1)
