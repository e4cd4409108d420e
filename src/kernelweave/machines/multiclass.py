"""Multiclass machines: independent binary ones, thesis 1.4.1, and the joint one, (1.9) to (1.11) and section 1.5.

One against one and one against all stack the binary coefficients as columns of C, so J, its gap and its Danskin
gradient add up. One-versus-one has k(k-1)/2 columns in the order (0,1), (0,2), ..., (1,2), ...; a positive value of
column (a, b) votes for b, the *second* class (as a positive binary value means classes_[1]). One-versus-all has k
columns; a positive value of column a favours class a.

The joint machine minimises
1/2 sum_l ||w^l||^2 + sum_{i, l != y_i} C_i max(0, m_il - (f^y(x_i) - f^l(x_i))),  y = y_i: the own class is
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
from ..solvers.in_parts import KernelInParts, is_in_parts
from ..solvers.joint_in_parts import solve_joint_in_parts
from ..validation.schemas import Schema, count
from .base import BEYOND, Machine, Solution, as_bound, columns, solution_of
from .binary import BinaryMachine, as_posteriors
from .independent import IndependentMachines, MachineMaker

TIE = 1e-10  # relative: far above the rounding of values, and far below what the tolerance of a solver leaves open


def as_labels(labels: np.ndarray, n_classes: int | None) -> tuple[np.ndarray, int]:
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0 or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError("labels must be a one-dimensional array of integers")
    count = int(labels.max()) + 1 if n_classes is None else int(n_classes)
    if labels.min() < 0 or labels.max() >= count or count < 2:
        raise ValueError(f"labels must lie in 0 .. n_classes - 1 with at least two classes, got {n_classes=}")
    return labels, count


def predicted_classes(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The class of the largest value of each sample; in a tie the heaviest, as estimators predict it."""
    return heavier_first(values, TIE * (1.0 + np.abs(values).max(axis=1)), weight).argmax(axis=1)


def heavier_first(values: np.ndarray, error: np.ndarray | float, weight: np.ndarray | None) -> np.ndarray:
    """Values of classes (n_samples, n_classes), of which the heaviest within `error` of the largest is raised above it.

    `weight` is the sum of the sample weights of each class; of equal ones the first counts as heavier.

    >>> heavier_first(np.array([[-1.0, -1.0, -2.0]]), np.array([1e-12]), np.array([20, 35, 45])).argmax(axis=1)
    array([1])
    """
    if weight is None:
        return values
    rows, top = np.arange(len(values)), values.max(axis=1)
    near = values >= (top - error)[:, None]
    heaviest = np.where(near, weight, -np.inf).argmax(axis=1)
    settled = values.astype(np.float64)
    settled[rows, heaviest] = np.where(near.sum(axis=1) > 1, np.nextafter(top, np.inf), values[rows, heaviest])
    return settled


class _ClassMachine(Machine):
    decides_with = ("n_classes",)

    _saved = Schema({"n_classes": count(2)})

    def __init__(self, labels: np.ndarray, bound: float | np.ndarray, n_classes: int | None):
        self.labels, self.n_classes = as_labels(labels, n_classes)
        self.class_count = np.bincount(self.labels, minlength=self.n_classes)
        self.n_samples = len(self.labels)
        self.bound = as_bound(bound, self.n_samples)
        self.strata = self.labels

    @property
    def n_outputs(self) -> int:
        return self.n_classes

    def decision(self, values: np.ndarray) -> np.ndarray:
        return columns(values, self.n_outputs)

    def losses(self, values: np.ndarray) -> np.ndarray:
        decision = self.decision(columns(values, self.n_outputs, self.n_samples))
        return (predicted_classes(decision, self.class_count) != self.labels).astype(float)


class MulticlassMachine(_ClassMachine, IndependentMachines):
    """Independent binary machines on one Gram matrix.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,)
        Classes 0 .. n_classes - 1.
    bound : float or ndarray of shape (n_samples,)
        Largest alpha of each sample (C times its weight), in every binary machine it takes part in.
    n_classes : int, optional
        Number of classes; ``max(labels) + 1`` by default.
    n_jobs : int, optional
        Threads, as in joblib: None is 1, -1 is all cores. The result does not depend on it.
    binary : BinaryLoss, optional
        What makes the binary machines, by ``binary.for_targets(signs, bound)``; `BinaryMachine` by default.
    """

    def __init__(
        self,
        labels: np.ndarray,
        bound: float | np.ndarray,
        *,
        n_classes: int | None = None,
        n_jobs: int | None = None,
        binary: MachineMaker = BinaryMachine,
    ):
        super().__init__(labels, bound, n_classes)
        self.n_jobs, self.maker = n_jobs, binary

    def two_class_problems(self) -> list[tuple[np.ndarray, np.ndarray]]:
        everybody = np.arange(self.n_samples)
        return [(everybody if chosen is None else chosen, signs) for chosen, signs in self.parts()]

    def subset(self, index: np.ndarray) -> MulticlassMachine:
        part = type(self)(
            self.labels[index], self.bound[index], n_classes=self.n_classes, n_jobs=self.n_jobs, binary=self.maker
        )
        part.class_count = self.class_count
        return part


class OneVsOneMachine(MulticlassMachine):
    """One binary machine per pair of classes, on the samples of that pair only.

    Parameters are those of `MulticlassMachine`. Memory: for each thread, a dense copy of K restricted to one pair.
    A pair with an empty class (possible in a subset) has zero coefficients and a bias for the other class.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([-3.0, -2.0, 0.0, 0.1, 2.0, 3.0])
    >>> machine = OneVsOneMachine(np.array([0, 0, 1, 1, 2, 2]), bound=10.0)
    >>> K = np.outer(x, x)
    >>> solution = machine.solve(K)
    >>> machine.decision(K @ solution.coef + solution.intercept).argmax(axis=1)
    array([0, 0, 1, 1, 2, 2])
    """

    @property
    def n_outputs(self) -> int:
        return self.n_classes * (self.n_classes - 1) // 2

    def pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of classes in the order of the columns."""
        return [(a, b) for a in range(self.n_classes) for b in range(a + 1, self.n_classes)]

    def parts(self) -> list[tuple[np.ndarray | None, np.ndarray]]:
        """Return the samples of each pair, +1 for its second class."""
        members = [np.flatnonzero(self.labels == a) for a in range(self.n_classes)]
        chosen = [np.sort(np.concatenate([members[a], members[b]])) for a, b in self.pairs()]
        seconds = [b for _, b in self.pairs()]
        signs = [np.where(self.labels[rows] == b, 1.0, -1.0) for rows, b in zip(chosen, seconds, strict=True)]
        return list(zip(chosen, signs, strict=True))

    def decision(self, values: np.ndarray) -> np.ndarray:
        """Votes for each class, plus a confidence below 1/3 in size that breaks ties (as scikit-learn's "ovr")."""
        values = columns(values, self.n_outputs)
        votes = np.zeros((len(values), self.n_classes))
        confidence = np.zeros_like(votes)
        for value, (a, b) in zip(values.T, self.pairs(), strict=True):
            votes[:, b] += value > 0
            votes[:, a] += value <= 0
            confidence[:, b] += value
            confidence[:, a] -= value
        return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))


class OneVsAllMachine(MulticlassMachine):
    """One binary machine for each class, against all other samples.

    Parameters are those of `MulticlassMachine`. Memory: no copy of K.

    Examples
    --------
    >>> import numpy as np
    >>> machine = OneVsAllMachine(np.array([0, 1, 2]), bound=10.0)
    >>> solution = machine.solve(np.eye(3))
    >>> machine.decision(solution.coef + solution.intercept).argmax(axis=1)
    array([0, 1, 2])
    """

    def parts(self) -> list[tuple[np.ndarray | None, np.ndarray]]:
        return [(None, np.where(self.labels == a, 1.0, -1.0)) for a in range(self.n_classes)]


class JointMachine(_ClassMachine):
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
    Memory: no copy of K; a dozen arrays of shape (n_samples, n_classes), in parts an image for each class; some hundred
    megabytes in long solves on kernels of low rank.

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

    def __init__(
        self,
        labels: np.ndarray,
        bound: float | np.ndarray,
        *,
        n_classes: int | None = None,
        posterior: np.ndarray | None = None,
    ):
        super().__init__(labels, bound, n_classes)
        self.posterior = None if posterior is None else as_posteriors(posterior, self.n_samples, self.n_classes)

    @property
    def takes_parts(self) -> bool:
        return True

    @property
    def n_solves(self) -> int:
        return 1

    def margins(self) -> np.ndarray:
        """Return the wanted lead of the own class over each class, of shape (n_samples, n_classes)."""
        if self.posterior is None:
            return np.full((self.n_samples, self.n_classes), 2.0)
        own = self.posterior[np.arange(self.n_samples), self.labels]
        return 2.0 * (own[:, None] - self.posterior)

    def solve_dual(
        self,
        K: np.ndarray | KernelInParts,
        start: np.ndarray | Solution | None,
        tol: float,
        gap_tol: float | None,
        max_steps: int | None,
    ) -> Solution:
        first, margins = self.first(start), self.margins()
        if is_in_parts(K):
            image = start.image if isinstance(start, Solution) else None
            given = (self.labels, margins, self.bound, first, image, tol, gap_tol, max_steps)
            return solution_of(solve_joint_in_parts(K, *given))
        K = self.matrix(K)
        return solution_of(solve_joint_qp(K, self.labels, margins, self.bound, first, tol, gap_tol, max_steps))

    def loss(self, values: np.ndarray) -> float:
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
        values = columns(values, self.n_outputs, self.n_samples)
        lead = values[np.arange(self.n_samples), self.labels][:, None] - values
        return np.where(self._own(), 0.0, self.margins() - lead)

    def _signed(self, alpha: np.ndarray) -> np.ndarray:
        return np.where(self._own(), alpha.sum(axis=1, keepdims=True), -alpha)

    def programs(self) -> list[DualProgram]:
        """One program: alpha_i^l adds itself to the sample's own column and takes itself from column l."""
        sample, other = np.nonzero(~self._own())
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
        posterior = None if self.posterior is None else self.posterior[index]
        part = JointMachine(self.labels[index], self.bound[index], n_classes=self.n_classes, posterior=posterior)
        part.class_count = self.class_count
        return part
