"""J as a function of one weight for each kernel: the problem that multiple kernel learning solves.

    minimise over eta    J(eta) + r(eta),      J(eta) = max_C l(C) - 1/2 sum_m eta_m q_m(C)

where q_m(C) = sum_r c_r' K_m c_r. J is the optimum of the machine under K = sum_m eta_m K_m, convex in eta, with
dJ/deta_m = -1/2 q_m (Danskin). Costs d_m enter as a change of variables x_m = d_m^2 eta_m, that is, as kernels
K_m / d_m^2 with plain constraints on x: thesis (2.4), (2.5), where sum_m d_m^2 eta_m = 1. Solvers work with x only,
through `WeightProblem.evaluate`; the subclasses of `OptimalWeights` define the set of x and choose a solver.

==========  ===================================
thesis      here
==========  ===================================
d_m         costs
eta_m       weights; theta of a `WeightedSum`
gamma, t    the largest q_m / d_m^2
==========  ===================================
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ...machines import Machine, Solution
from ...solvers.weights.methods import Evaluation
from ...stacks import TrainingStack

MOST_STEPS = 200_000  # of one solve on the way, or 50 per sample: a rough solution gives a valid cut too
FIRST_TOLERANCE = 1e-2  # largest KKT violation of the first solve, far from the optimal weights
MOST_FIRST_SOLVES = 5  # finer ones, until there is a coefficient


class WeightProblem:
    """J as a function of x = d^2 eta, evaluated by solving the machine from its last solution.

    Parameters
    ----------
    stack : KernelStack
    machine : Machine
    scale : ndarray of shape (P,)
        eta = scale * x.
    factor : ndarray
        What rows and columns of the combined kernel are multiplied by (samples that lack views), see
        `WeightedSum.scaling`.
    max_steps : int or None
        Passed to the machine.

    Notes
    -----
    Memory: the P Gram matrices and one n x n matrix, the combined kernel; with ``storage="lazy"``, n_samples x P
    numbers for each output of the machine.
    """

    def __init__(
        self, stack: TrainingStack, machine: Machine, scale: np.ndarray, factor: np.ndarray, max_steps: int | None
    ):
        self._stack, self.names, self.sums = stack, stack.names, stack.sums(factor)
        self.views = [tuple(kernel.columns()) for kernel in stack.kernels]
        self.machine, self.scale, self.factor, self.max_steps = machine, scale, factor, max_steps
        self.last: Solution | None = None
        self.history: list[dict[str, float]] = []
        self._clock = time.perf_counter()
        self._weights: np.ndarray | None = None
        self._K: Any = None

    def evaluate(self, point: np.ndarray, gap: float | None) -> Evaluation:
        """J at a point to within a gap; None for a first, rough solve. The curvature is of the latest point only."""
        K, n_samples = self._kernel(self.scale * point), self._stack.n_samples
        most = min(max(MOST_STEPS, 50 * n_samples), self.max_steps or MOST_STEPS * n_samples)
        if gap is None or self.last is None:
            solution = self.machine.solve(K, tol=FIRST_TOLERANCE, max_steps=most)
            for _ in range(MOST_FIRST_SOLVES):
                if solution.coef.any() or solution.gap <= 0.0:
                    break
                # The optimum is small against the tolerance, and the cut of coefficients 0 says nothing of the weights.
                gap_tol = 0.1 * solution.gap / self.machine.n_outputs
                solution = self.machine.solve(K, solution, gap_tol=gap_tol, max_steps=most)
        else:
            # The machine's rule is gap <= gap_tol * max(1, |J|) for each output.
            gap_tol = gap / (self.machine.n_outputs + abs(self.last.objective))
            solution = self.machine.solve(K, self.sums.start(self.last), gap_tol=gap_tol, max_steps=most)
        return self.record(point, solution)

    def finish(self, eta: np.ndarray, factor: np.ndarray, tol: float) -> Solution:
        """The machine's solution at the final weights to a KKT violation of `tol`."""
        same = self._weights is not None and np.array_equal(eta, self._weights) and np.array_equal(factor, self.factor)
        if same and self.last is not None:
            solution = self.machine.refine(self._K, self.last, tol, self.max_steps)
        else:
            self.factor = factor
            self.sums.scale(factor)
            K, start = self._kernel(eta), None if self.last is None else self.sums.start(self.last)
            solution = self.machine.solve(K, start, tol=tol, max_steps=self.max_steps)
        self._note(solution)
        return solution

    def record(self, point: np.ndarray, solution: Solution) -> Evaluation:
        """An evaluation, and a line of the history, from a solution."""
        found = self.sums.found(self.machine, solution)
        forms = self.scale * found.forms()
        self._note(solution)

        def bend() -> np.ndarray:
            H = self.sums.curvature(self.machine, self._K, solution, found)
            return self.scale[:, None] * H * self.scale

        return Evaluation(point, solution.objective, solution.gap, forms, bend, solution, self.least)

    @property
    def least(self) -> float:
        """What J counts as at least where a gap is relative to it, at the latest weights."""
        return self.machine.least_objective(self._K)

    def _note(self, solution: Solution) -> None:
        """The latest solution, and a line of the history for it."""
        self.last = solution
        now = time.perf_counter()
        line = {"objective": solution.objective, "solves": 1, "seconds": now - self._clock}
        support = self._stack.n_support(solution)
        if support is not None:
            line["n_support"] = support
        self.history.append(line)
        self._clock = now

    def scaled_matrices(self) -> np.ndarray:
        """The kernels that x weighs, as a new stack of whole matrices."""
        return self.scale[:, None, None] * self._stack.matrices() * np.outer(self.factor, self.factor)

    def _kernel(self, eta: np.ndarray) -> Any:
        """What the machine is solved on; overwritten by the next call."""
        self._weights, self._K = eta.copy(), self.sums.at(eta)
        return self._K
