"""Regression machines: the epsilon-insensitive loss, thesis (1.5), least squares, and several targets under one kernel.

With the loss max(0, |y - f| - epsilon), in signed coefficients c = alpha+ - alpha- (at the optimum one of the two is
zero), the dual is
maximise  y'c - epsilon |c|_1 - 1/2 c'Kc  with  sum(c) = 0,  |c_i| <= C_i:  n variables instead of 2n.

Least squares minimises  1/2 ||w||^2 + 1/2 sum_i C_i (y_i - f(x_i))^2  over  f = <w, phi> + b, for each output by
itself. The dual is

    maximise  alpha'y - 1/2 sum_i lambda_i alpha_i^2 - 1/2 alpha'K alpha      with  sum(alpha) = 0,   lambda_i = 1 / C_i

where the constraint comes from the bias, as in every other machine here. Its optimum solves
(K + Lambda) alpha + b 1 = y, 1'alpha = 0. With the residual r = y - b - (K + Lambda) alpha of any alpha of sum 0 and
any b, primal minus dual is exactly  1/2 sum_i C_i r_i^2, which certifies the solution; r is also the KKT violation.

A cold solve factorises K + Lambda (Cholesky). The solution carries the factor, so that a solve on a nearby kernel that
starts from it needs only a few conjugate gradient steps with that factor as preconditioner, of the order of n^2
operations each instead of n^3 / 3, and passes the factor on. Where they do not suffice, K is factorised anew. All
targets are right-hand sides of one factorisation; with another loss each target has a machine of its own, and their
optima add up to J.

alpha is `coef`, and lambda `ridge`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.linalg import cho_solve

from ..solvers import DualProgram
from ..solvers.in_parts import KernelInParts
from ..solvers.ridge import check_rounding, factorise
from ..validation import Number, check
from ..validation.schemas import Schema, count
from .base import DualTerms, Machine, PlainMachine, Solution, as_bound, box_program, columns
from .gcv import gcv_scores
from .independent import IndependentMachines, MachineMaker
from .multiclass import as_labels, predicted_classes

MOST_STEPS = 8  # conjugate gradient steps after which a new factorisation costs less
POLISH = 20  # steps after a factorisation, which rounding may make necessary
TIE = 1e-9  # relative difference of GCV that counts as none


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
        return {
            "linear": self.y,
            "lower": -self.bound,
            "upper": self.bound,
            "total": 0.0,
            "insensitivity": self.epsilon,
        }

    def subset(self, index: np.ndarray) -> RegressionMachine:
        return RegressionMachine(self.y[index], self.bound[index], epsilon=self.epsilon)

    def losses(self, values: np.ndarray) -> np.ndarray:
        return (columns(values, 1, self.n_samples)[:, 0] - self.y) ** 2


@dataclass(frozen=True)
class FactoredSolution(Solution):
    """A least-squares solution with what a solve on a nearby kernel can use of it.

    Attributes
    ----------
    factor : tuple
        Cholesky factor, as of `scipy.linalg.cho_factor`, of K + Lambda at the last factorisation.
    factorisations : int
        How many this solve needed: 0 where the factor it started from was good enough, else 1.
    cost, gcv : float and ndarray of shape (n_costs,), or None
        The C that was chosen, and the criterion for each, where the machine chooses it.
    """

    factor: tuple[np.ndarray, bool]
    factorisations: int
    cost: float | None = field(default=None, kw_only=True)
    gcv: np.ndarray | None = field(default=None, repr=False, kw_only=True)


class LeastSquaresMachine(Machine):
    """Regression by least squares, one column for each output.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Targets.
    bound : float or ndarray of shape (n_samples,)
        Cost of each sample's squared error (C times its weight), positive.

    Notes
    -----
    Memory: one n x n factor in double precision, kept by the solution. `steps` of a solution counts conjugate gradient
    steps; coefficients have no bounds and are hardly ever zero.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> machine = LeastSquaresMachine(2 * x + 1, bound=1e6)
    >>> solution = machine.solve(np.outer(x, x))
    >>> np.round(np.outer(x, x) @ solution.coef + solution.intercept, 3).ravel()
    array([-1.,  1.,  3.])
    >>> again = machine.solve(1.001 * np.outer(x, x), start=solution)
    >>> again.factorisations
    0
    """

    n_outputs: int = 1
    decides_with = ("n_outputs",)
    costs: np.ndarray | None = None  # among which a solve chooses C; set by `choosing_among`

    _saved = Schema({"n_outputs": count(1)})

    def __init__(self, y: np.ndarray, bound: float | np.ndarray):
        targets = np.asarray(y, dtype=np.float64)
        self.targets = targets[:, None] if targets.ndim == 1 else targets
        if self.targets.ndim != 2 or self.targets.size == 0 or not np.isfinite(self.targets).all():
            raise ValueError("y must be finite, of shape (n_samples,) or (n_samples, n_outputs)")
        self.n_samples, self.n_outputs = self.targets.shape
        self.bound = as_bound(bound, self.n_samples)
        if not (self.bound > 0.0).all():
            raise ValueError("bound (C times the sample weight) of a least-squares machine must be positive")
        self.strata = None

    def choosing_among(self, costs: np.ndarray) -> Self:
        """Return the same machine whose `bound` is that of the largest C, and whose solves choose C by GCV."""
        machine = copy.copy(self)
        machine.costs = costs
        return machine

    @property
    def is_unbounded(self) -> bool:
        return self.costs is None and super().is_unbounded

    def _at_chosen_cost(self, K: np.ndarray, costs: np.ndarray) -> tuple[Self, float, np.ndarray]:
        self._check_finite(K)
        weight = self.bound / costs.max()
        scores = gcv_scores(K, self.targets, weight, costs)
        cost = float(costs[scores <= (1.0 + TIE) * scores.min()].min())
        machine = copy.copy(self)
        machine.bound, machine.costs = cost * weight, None
        return machine, cost, scores

    def solve_dual(
        self,
        K: np.ndarray | KernelInParts,
        start: np.ndarray | Solution | None,
        tol: float,
        gap_tol: float | None,
        max_steps: int | None,
    ) -> FactoredSolution:
        first = self.first(start)
        K = self.matrix(K)
        if self.costs is not None:
            machine, cost, scores = self._at_chosen_cost(K, self.costs)
            return replace(machine.solve_dual(K, start, tol, gap_tol, max_steps), cost=cost, gcv=scores)
        most = np.inf if max_steps is None else max_steps
        alpha = np.zeros_like(self.targets) if first is None else first - first.mean(axis=0)
        factor = start.factor if isinstance(start, FactoredSolution) else None
        steps = factorisations = 0
        if factor is not None and len(factor[0]) == self.n_samples:
            alpha, steps = self._conjugate(K, factor, alpha, tol, gap_tol, min(MOST_STEPS, most))
        residual, b, objective = self._certify(K, alpha)
        if factor is None or self._excess(residual, objective, tol, gap_tol) > 1.0:
            factor, factorisations = self._factorise(K), 1
            alpha, more = self._conjugate(K, factor, alpha, tol, gap_tol, min(POLISH, most), least=1)
            steps += max(0, more - 1)  # the first one is the direct solve
            residual, b, objective = self._certify(K, alpha)
        if not np.isfinite(objective).all():
            raise ValueError("K contains NaN or infinity, or its entries overflow: check and rescale K")
        converged = self._excess(residual, objective, tol, gap_tol) <= 1.0
        gap = float(self._gaps(residual).sum())
        if not converged and steps < most:
            check_rounding(K, 1.0 / self.bound, float(objective.sum()), gap)
        return FactoredSolution(
            coef=alpha,
            intercept=b,
            objective=float(objective.sum()),
            gap=gap,
            violation=float(np.abs(residual).max()),
            steps=steps,
            converged=converged,
            factor=factor,
            factorisations=factorisations,
        )

    def outputs(self) -> list[tuple[np.ndarray, Machine]]:
        everybody = np.arange(self.n_samples)
        return [(everybody, self._alike(LeastSquaresMachine(target, self.bound))) for target in self.targets.T]

    @property
    def terms(self) -> DualTerms:
        everywhere = np.full(self.targets.shape, np.inf)
        return DualTerms(self.targets, -everywhere, everywhere, quadratic=1.0 / self.bound[:, None])

    def programs(self) -> list[DualProgram]:
        everywhere = np.full(self.n_samples, np.inf)
        rest: Any = {
            "total": 0.0,
            "insensitivity": 0.0,
            "sample": np.arange(self.n_samples),
            "quadratic": 1.0 / self.bound,
        }
        return [
            box_program(target, -everywhere, everywhere, column=column, **rest)
            for column, target in enumerate(self.targets.T)
        ]

    def subset(self, index: np.ndarray) -> LeastSquaresMachine:
        return self._alike(LeastSquaresMachine(self.targets[index], self.bound[index]))

    def _alike(self, machine):
        return machine if self.costs is None else machine.choosing_among(self.costs)

    def decision(self, values: np.ndarray) -> np.ndarray:
        """Predicted values, of shape (n,) where there is one output."""
        values = columns(values, self.n_outputs)
        return values[:, 0] if self.n_outputs == 1 else values

    def losses(self, values: np.ndarray) -> np.ndarray:
        return ((columns(values, self.n_outputs, self.n_samples) - self.targets) ** 2).sum(axis=1)

    @staticmethod
    def _check_finite(K):
        if not np.isfinite(K).all():
            raise ValueError("K contains NaN or infinity: check and rescale K")

    def _factorise(self, K):
        self._check_finite(K)
        error = "K + diag(1/C) is not positive definite: K has a clearly negative eigenvalue; repair the kernel"
        return factorise(lambda: np.array(K, dtype=np.float64, order="C"), K.diagonal() + 1.0 / self.bound, error)

    def _certify(self, K, alpha):
        """Residuals at the best biases, those biases, and the dual objective of each output."""
        ridge_alpha = alpha / self.bound[:, None]
        raw = K @ alpha
        residual = self.targets - raw - ridge_alpha
        b = (self.bound @ residual) / self.bound.sum()  # minimises the gap
        objective = (alpha * self.targets - 0.5 * alpha * (raw + ridge_alpha)).sum(axis=0)
        return residual - b, b, objective

    def _gaps(self, residual):
        return 0.5 * self.bound @ residual**2

    def _excess(self, residual, objective, tol, gap_tol):
        """How many times the (squared) residual is larger than it may be."""
        if gap_tol is None:
            return float((np.abs(residual).max() / tol) ** 2)
        return float((self._gaps(residual) / (gap_tol * np.maximum(1.0, np.abs(objective)))).max())

    def _conjugate(self, K, factor, alpha, tol, gap_tol, most, least=0):
        """Conjugate gradients on sum(alpha) = 0, each output with its own step lengths; returns alpha and the steps.

        The preconditioner solves (K_old + Lambda_old) z + m 1 = r with 1'z = 0, so every direction keeps the sum.
        Ends early where the pace so far would not reach the tolerance in `most` steps.
        """
        ones = cho_solve(factor, np.ones(self.n_samples))
        residual, b, objective = self._certify(K, alpha)
        first = excess = self._excess(residual, objective, tol, gap_tol)
        direction: Any = None
        previous: Any = None
        steps = 0
        while steps < most and (steps < least or excess > 1.0):
            if steps >= 2 and excess * (excess / first) ** ((most - steps) / steps) > 1.0:
                break
            z = cho_solve(factor, residual)
            z -= np.outer(ones, z.sum(axis=0) / ones.sum())
            product = (z * residual).sum(axis=0)
            ratio = 0.0 if direction is None else np.divide(product, previous, out=np.zeros_like(b), where=previous > 0)
            direction = z if direction is None else z + ratio * direction
            image = K @ direction + direction / self.bound[:, None]
            bend = (direction * image).sum(axis=0)
            length = np.divide(product, bend, out=np.zeros_like(b), where=bend > 0.0)
            if not (length != 0.0).any():
                break
            alpha = alpha + length * direction
            residual = residual - length * image
            residual -= (self.bound @ residual) / self.bound.sum()
            excess = self._excess(residual, objective, tol, gap_tol)
            previous = product
            steps += 1
        return alpha - alpha.mean(axis=0), steps


class LeastSquaresClassMachine(LeastSquaresMachine):
    """Classification by least squares on targets +1 and -1: one column for two classes, else one for each class.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,)
        Classes 0 .. n_classes - 1.
    bound : float or ndarray of shape (n_samples,)
        Cost of each sample's squared error, positive.
    n_classes : int, optional
        Number of classes; ``max(labels) + 1`` by default.

    Examples
    --------
    >>> import numpy as np
    >>> machine = LeastSquaresClassMachine(np.array([0, 1, 2]), bound=10.0)
    >>> solution = machine.solve(np.eye(3))
    >>> machine.decision(solution.coef + solution.intercept).argmax(axis=1)
    array([0, 1, 2])
    """

    def __init__(self, labels: np.ndarray, bound: float | np.ndarray, *, n_classes: int | None = None):
        self.labels, self.n_classes = as_labels(labels, n_classes)
        chosen = [1] if self.n_classes == 2 else range(self.n_classes)
        super().__init__(np.column_stack([np.where(self.labels == a, 1.0, -1.0) for a in chosen]), bound)
        self.strata = self.labels
        self.class_count = np.bincount(self.labels, minlength=self.n_classes)

    def outputs(self) -> list[tuple[np.ndarray, Machine]]:
        """One machine for each class, against all others; two classes are one machine."""
        if self.n_outputs == 1:
            return [(np.arange(self.n_samples), self)]
        own = [(self.labels == a).astype(int) for a in range(self.n_classes)]
        machines = [LeastSquaresClassMachine(labels, self.bound, n_classes=2) for labels in own]
        return [(np.arange(self.n_samples), self._alike(machine)) for machine in machines]

    def subset(self, index: np.ndarray) -> LeastSquaresClassMachine:
        part = LeastSquaresClassMachine(self.labels[index], self.bound[index], n_classes=self.n_classes)
        part.class_count = self.class_count
        return self._alike(part)

    def losses(self, values: np.ndarray) -> np.ndarray:
        values = columns(values, self.n_outputs, self.n_samples)
        predicted = values[:, 0] > 0.0 if self.n_outputs == 1 else predicted_classes(values, self.class_count)
        return (predicted != self.labels).astype(float)


class TargetsMachine(IndependentMachines):
    """Several targets of the same samples, each with a machine of the same loss.

    Minimises the sum over targets r of ``1/2 ||w_r||^2 + sum_i C_i loss(y_ir, f_r(x_i))``. No copy of K is made.

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

    _saved = Schema({"n_outputs": count(1)})

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
        return [(None, np.ascontiguousarray(target)) for target in self.targets.T]

    def subset(self, index: np.ndarray) -> TargetsMachine:
        return TargetsMachine(self.maker, self.targets[index], self.bound[index], n_jobs=self.n_jobs)

    def decision(self, values: np.ndarray) -> np.ndarray:
        return columns(values, self.n_outputs)

    def losses(self, values: np.ndarray) -> np.ndarray:
        return ((columns(values, self.n_outputs, self.n_samples) - self.targets) ** 2).sum(axis=1)
