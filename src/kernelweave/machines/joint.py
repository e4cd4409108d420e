"""Joint multiclass machine, thesis (1.9) to (1.11), and its posterior-probability form, section 1.5.

Minimises  1/2 sum_l ||w^l||^2 + sum_{i, l != y_i} C_i max(0, m_il - (f^y(x_i) - f^l(x_i))),  y = y_i: the own class is
to lead every other one by the margin m_il, which is 2 for hard labels and 2 (Pr(y_i|x_i) - Pr(l|x_i)) for soft ones
(negative where another class is more likely). Its dual has one column of coefficients for each class,
C[i, l] = [y_i = l] A_i - alpha_i^l  with  A_i = sum_l alpha_i^l, and J = sum m alpha - 1/2 sum_l c_l' K c_l.

Only differences of biases are determined; they are returned with mean 0. With two classes and hard labels this is the
binary machine at the same C: column 1 of its coefficients is the binary c, column 0 is -c, J is twice the binary one
and b_1 - b_0 twice the binary b.
"""

from __future__ import annotations

import numpy as np

from ..solvers import DualProgram, solve_joint_qp
from ..solvers.qp.in_parts import KernelInParts
from .base import Machine, as_bound, columns
from .labels import as_labels, predicted_classes
from .posterior import as_posteriors
from .solution import Solution
from .terms import BEYOND


class JointMachine(Machine):
    """Multiclass SVM that trains all classes at once.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,)
        Classes 0 .. n_classes - 1.
    bound : float or ndarray of shape (n_samples,)
        Largest alpha of each sample (C times its weight), for every other class.
    n_classes : int, optional
        Number of classes; ``max(labels) + 1`` by default.
    posterior : ndarray of shape (n_samples, n_classes), optional
        Pr(l|x_i): soft labels in place of hard ones.

    Notes
    -----
    Memory: no copy of K; a dozen arrays of shape (n_samples, n_classes); some hundred megabytes in long solves on
    kernels of low rank.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([-3.0, -2.0, 0.0, 0.1, 2.0, 3.0])
    >>> machine = JointMachine(np.array([0, 0, 1, 1, 2, 2]), bound=10.0)
    >>> K = np.outer(x, x)
    >>> solution = machine.solve(K)
    >>> machine.decision(K @ solution.coef + solution.intercept).argmax(axis=1)
    array([0, 0, 1, 1, 2, 2])
    """

    decides_with = ("n_classes",)

    def __init__(
        self,
        labels: np.ndarray,
        bound: float | np.ndarray,
        *,
        n_classes: int | None = None,
        posterior: np.ndarray | None = None,
    ):
        self.labels, self.n_classes = as_labels(labels, n_classes)
        self.class_count = np.bincount(self.labels, minlength=self.n_classes)
        self.n_samples = len(self.labels)
        self.bound = as_bound(bound, self.n_samples)
        self.posterior = None if posterior is None else as_posteriors(posterior, self.n_samples, self.n_classes)
        self.strata = self.labels

    @property
    def n_outputs(self) -> int:
        """One column for each class."""
        return self.n_classes

    def margins(self) -> np.ndarray:
        """Return the wanted lead of the own class over each class, of shape (n_samples, n_classes)."""
        if self.posterior is None:
            return np.full((self.n_samples, self.n_classes), 2.0)
        own = self.posterior[np.arange(self.n_samples), self.labels]
        return 2.0 * (own[:, None] - self.posterior)

    def solve_dual(  # noqa: D102
        self,
        K: np.ndarray | KernelInParts,
        start: np.ndarray | Solution | None,
        tol: float,
        gap_tol: float | None,
        max_steps: int | None,
    ) -> Solution:
        first = self.first(start)
        result = solve_joint_qp(self.matrix(K), self.labels, self.margins(), self.bound, first, tol, gap_tol, max_steps)
        return Solution(
            coef=result.solution,
            intercept=np.asarray(result.multiplier),
            objective=result.objective,
            gap=result.gap,
            violation=result.violation,
            steps=result.steps,
            converged=result.converged,
        )

    def loss(self, values: np.ndarray) -> float:
        """``sum_i C_i sum_l max(0, m_il - (f^y - f^l))`` over the other classes l."""
        return float((self.bound[:, None] * np.maximum(self._lacks(values), 0.0)).sum())

    def slope(self, values: np.ndarray) -> np.ndarray:
        """C_i for each class whose margin is not reached, and minus their sum for the own class."""
        return -self._signed(self.bound[:, None] * (self._lacks(values) > 0.0))

    def conjugate(self, coef: np.ndarray) -> float:
        """``-sum m alpha`` where rows add up to 0 and alpha lies between 0 and C_i, else infinite."""
        coef = columns(coef, self.n_outputs, self.n_samples)
        alpha = np.where(self._own(), 0.0, -coef)
        slack = BEYOND * np.abs(coef).max(initial=0.0)
        inside = (alpha >= -slack) & (alpha <= self.bound[:, None] + slack)
        if not inside.all() or np.abs(coef.sum(axis=1)).max() > slack * self.n_classes:
            return np.inf
        return -float((self.margins() * alpha).sum())

    def _own(self) -> np.ndarray:
        return np.arange(self.n_classes) == self.labels[:, None]

    def _lacks(self, values: np.ndarray) -> np.ndarray:
        """What the lead over each other class lacks of its margin; 0 for the own class."""
        values = columns(values, self.n_outputs, self.n_samples)
        lead = values[np.arange(self.n_samples), self.labels][:, None] - values
        return np.where(self._own(), 0.0, self.margins() - lead)

    def _signed(self, alpha: np.ndarray) -> np.ndarray:
        """Coefficients C of the alphas, which are 0 for the own class."""
        return np.where(self._own(), alpha.sum(axis=1, keepdims=True), -alpha)

    def programs(self) -> list[DualProgram]:
        """One program: alpha_i^l adds itself to the sample's own column and takes itself from column l."""
        sample, other = np.nonzero(np.arange(self.n_classes) != self.labels[:, None])
        return [
            DualProgram(
                linear=self.margins()[sample, other],
                quadratic=np.zeros(len(sample)),
                lower=np.zeros(len(sample)),
                upper=self.bound[sample],
                sample=sample,
                plus=self.labels[sample],
                minus=other,
            )
        ]

    def subset(self, index: np.ndarray) -> JointMachine:
        """Return the same machine on the chosen samples, with the same classes."""
        posterior = None if self.posterior is None else self.posterior[index]
        part = JointMachine(self.labels[index], self.bound[index], n_classes=self.n_classes, posterior=posterior)
        part.class_count = self.class_count
        return part

    def decision(self, values: np.ndarray) -> np.ndarray:
        """Raw values: the largest wins."""
        return columns(values, self.n_outputs)

    def losses(self, values: np.ndarray) -> np.ndarray:
        """1 for samples whose label is not the class with the largest value."""
        values = columns(values, self.n_outputs, self.n_samples)
        return (predicted_classes(values, self.class_count) != self.labels).astype(float)
