"""Combiners whose weights, one for each kernel, minimise the machine's own optimum.

    minimise over eta    J(eta) + r(eta)

`WeightProblem` evaluates J; a subclass of `OptimalWeights` defines the set that the weights live in, and the solver.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...kernels import Kernel
from ...machines import Machine
from ...solvers.weights.methods import Bundle
from ...stacks import FitControl, TrainingStack
from ...validation import Constraints, Whole, check_parameters
from ..base import Combiner
from ..named import NamedNumbers, as_numbers
from ..weighted.sums import WeightedSum
from .problem import WeightProblem

Tell = Callable[[Bundle], None]


@dataclass(frozen=True)
class WeightResult:
    """What a solver found.

    Attributes
    ----------
    point : ndarray of shape (P,)
        x, at the best evaluation.
    lower, upper : float
        Certified bounds on the optimum of J + r; the upper one is attained at the point.
    penalty : float
        r at the point.
    converged : bool
        Whether the wanted gap was reached.
    """

    point: np.ndarray
    lower: float
    upper: float
    penalty: float
    converged: bool

    @classmethod
    def of(cls, bundle: Bundle) -> WeightResult:
        """What the solvers of `solvers.weights` return."""
        point = bundle.best.point
        return cls(point, bundle.lower, bundle.upper, bundle.feasible.penalty(point), bundle.converged)


class OptimalWeights(NamedNumbers, Combiner):
    """k(x, z) = sum_m eta_m k_m(x, z) with weights that minimise the machine's optimum: what such combiners share.

    Samples that lack views: the weights are learned with the rows and columns of the combined kernel scaled as for
    equal weights, so that the problem stays convex, and the machine is then solved with the scaling of the learned
    weights; the gap reported is the sum of both.

    Memory: the P Gram matrices and one n x n matrix; with ``storage="lazy"`` n_samples x P numbers for each output of
    the machine instead, and with explicit features (``approximation=``) 4 n_samples x P while second derivatives are
    computed.
    """

    _constraints = Constraints(max_iter=Whole(1))
    _numbers: tuple[str, ...] = ("costs",)
    costs: Any
    max_iter: int

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """What the costs need, where they are computed from the kernels."""
        if not hasattr(self.costs, "costs"):
            return {}
        reads = {"gram": f"{type(self.costs).__name__}, the costs of {type(self).__name__}, reads whole Gram matrices"}
        return self.costs.needs() if hasattr(self.costs, "needs") else reads

    @abstractmethod
    def minimize(self, problem: WeightProblem, costs: np.ndarray, tol: float, tell: Tell) -> WeightResult:
        """The weights x, by evaluations of `problem`, to a relative gap of `tol`; `tell` after each evaluation."""

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> WeightedSum:
        """Learn the weights, then solve the machine at them to the KKT tolerance."""
        check_parameters(self)
        costs = self.costs_of(stack)
        what = "the kernels and their combination"
        stack.check_memory(stack.n_kernels + 2, what, per_kernel=True)
        scale = costs**-2.0
        factor = self.kernel(stack, scale / stack.n_kernels).scaling()
        problem = WeightProblem(stack, machine, scale, factor, control.max_steps)

        def tell(bundle: Bundle) -> None:
            control.report(len(problem.history), self.max_iter)

        found = self.minimize(problem, costs, control.tol, tell)
        kernel = self.kernel(stack, problem.scale * found.point)
        final = kernel.scaling()
        solution = problem.finish(kernel.theta, final, control.tol)
        reached = solution.objective + found.penalty if np.array_equal(factor, final) else found.upper
        gap = max(reached - found.lower, 0.0)
        size = max(abs(reached), problem.least)
        small = control.tol * stack.size_of(reached, machine, problem.least)
        if not found.converged and gap > small and solution.coef.any():  # without any J = 0 whatever the weights are
            self._warn(len(problem.history) - 1, gap, size, control.tol)
        self.costs_ = pd.Series(costs, stack.names)
        return kernel.solved(dataclasses.replace(solution, gap=gap + solution.gap), problem.history)

    def for_kernels(self, names: list[str], kept: list[str]) -> OptimalWeights:
        """A copy for some of the kernels; costs are relative, so the least of them stays as large as it is among all.

        A dear kernel alone would otherwise have a smaller weight, and so a more regularised machine, for no gain.
        """
        other: Any = super().for_kernels(names, kept)
        if self.costs is None or hasattr(self.costs, "costs"):
            return other
        costs = dict(zip(names, as_numbers(self.costs, names, "costs", default=1.0).tolist(), strict=True))
        least = min(costs[name] for name in kept)
        factor = min(costs.values()) / least if least > 0.0 else 1.0
        return other.set_params(costs={name: costs[name] * factor for name in kept})

    def kernel(self, stack: Any, eta: np.ndarray) -> WeightedSum:
        """The weighted sum with given weights, which may leave a sample without any: its row is then zero."""
        return WeightedSum(stack, eta, missing="warn", owner=type(self).__name__)

    def costs_of(self, stack: TrainingStack) -> np.ndarray:
        """The cost d_m of each kernel, positive."""
        if hasattr(self.costs, "costs"):
            costs = self.costs.costs(stack)
        else:
            costs = as_numbers(self.costs, stack.names, "costs", default=1.0)
        if not (costs > 0.0).all():
            raise ValueError(f"costs must be positive, not {costs.tolist()}")
        return costs

    def _warn(self, solves: int, gap: float, size: float, tol: float) -> None:
        reached = gap / max(size, np.finfo(float).tiny)
        if solves >= self.max_iter:
            advice = "raise max_iter of the combiner, scale the kernels, or lower C"
        else:
            advice = f"further solves do not narrow it, so take a tol of {2.0 * reached:.1g} or more"
        warn(
            f"{type(self).__name__} stopped after {solves} solves of the machine with a relative duality gap of "
            f"{reached:.2g} (tol is {tol:g}); {advice}",
            ConvergenceWarning,
        )
