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
from functools import cached_property

import numpy as np

from ...kernels import KernelStack
from ...machines import Machine, Solution
from ...solvers.qp.program import DualProgram, curvature
from ...solvers.stacks.images import images
from ...solvers.stacks.sums import sum_kernels
from ...solvers.weights.bundle import Evaluation

MOST_STEPS = 200_000  # of one solve on the way, or 50 per sample: a rough solution gives a valid cut too
FIRST_TOLERANCE = 1e-2  # largest KKT violation of the first solve, far from the optimal weights
MOST_FIRST_SOLVES = 5  # finer ones, until there is a coefficient
MOST_UPDATES = 20  # of the combined kernel before it is summed afresh


class WeightProblem:
    """J as a function of x = d^2 eta, evaluated by solving the machine from its last solution.

    Parameters
    ----------
    stack : KernelStack
        Its P Gram matrices are computed here and kept.
    machine : Machine
    scale : ndarray of shape (P,)
        eta = scale * x.
    factor : ndarray of shape (n_samples,)
        What rows and columns of the combined kernel are multiplied by (samples that lack views).
    max_steps : int or None
        Passed to the machine.

    Notes
    -----
    Memory: the P Gram matrices and one n x n matrix, the combined kernel; it is updated where one or two
    weights move, and summed afresh otherwise.
    """

    def __init__(
        self, stack: KernelStack, machine: Machine, scale: np.ndarray, factor: np.ndarray, max_steps: int | None
    ):
        self.names, self.matrices = stack.names, stack.matrices()
        self.views = [tuple(kernel.columns()) for kernel in stack.kernels]
        self.machine, self.scale, self.max_steps = machine, scale, max_steps
        self.factor = None if (factor == 1.0).all() else factor
        self.last: Solution | None = None
        self.history: list[dict[str, float]] = []
        self._clock = time.perf_counter()
        self._K = np.empty(self.matrices.shape[1:], self.matrices.dtype)
        self._weights: np.ndarray | None = None
        self._updates = 0

    def evaluate(self, point: np.ndarray, gap: float | None) -> Evaluation:
        """J at a point to within a gap; None for a first, rough solve. The curvature is of the latest point only."""
        K = self.kernel(self.scale * point)
        most = min(max(MOST_STEPS, 50 * len(K)), self.max_steps or MOST_STEPS * len(K))
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
            solution = self.machine.solve(K, self.last, gap_tol=gap_tol, max_steps=most)
        return self.record(point, solution)

    def finish(self, eta: np.ndarray, factor: np.ndarray, tol: float) -> Solution:
        """The machine's solution at the final weights to a KKT violation of `tol`."""
        if (
            self._weights is not None
            and self.last is not None
            and np.array_equal(eta, self._weights)
            and (factor == 1.0).all()
        ):
            solution = self.machine.refine(self._K, self.last, tol, self.max_steps)
        else:
            self.factor = None if (factor == 1.0).all() else factor
            solution = self.machine.solve(self.kernel(eta), self.last, tol=tol, max_steps=self.max_steps)
        self._note(solution)
        return solution

    def record(self, point: np.ndarray, solution: Solution) -> Evaluation:
        """An evaluation, and a line of the history, from a solution."""
        if self.factor is None:
            found = images(self.matrices, solution.coef)
        else:
            found = images(self.matrices, self.factor[:, None] * solution.coef).scaled(self.factor)
        forms = self.scale * found.forms()
        self._note(solution)

        def bend() -> np.ndarray:
            H = curvature(self._programs, self._K, solution.coef, found)
            return self.scale[:, None] * H * self.scale

        return Evaluation(point, solution.objective, solution.gap, forms, bend, solution)

    def _note(self, solution: Solution) -> None:
        """The latest solution, and a line of the history for it."""
        self.last = solution
        now = time.perf_counter()
        n_support = int(np.count_nonzero(solution.coef.any(axis=1)))
        line = {"objective": solution.objective, "solves": 1, "seconds": now - self._clock, "n_support": n_support}
        self.history.append(line)
        self._clock = now

    @cached_property
    def _programs(self) -> list[DualProgram]:
        return self.machine.programs()

    def scaled_matrices(self) -> np.ndarray:
        """The kernels that x weighs, as a new stack."""
        factor = np.ones(self.matrices.shape[1]) if self.factor is None else self.factor
        return self.scale[:, None, None] * self.matrices * np.outer(factor, factor)

    def kernel(self, eta: np.ndarray) -> np.ndarray:
        """The combined kernel, updated or summed afresh; overwritten by the next call."""
        moved = None if self._weights is None else eta - self._weights
        few = moved is not None and np.count_nonzero(moved) <= min(2, int(np.count_nonzero(eta)) - 1)
        if moved is not None and few and self.factor is None and self._updates < MOST_UPDATES:
            if moved.any():
                sum_kernels(self.matrices, moved, out=self._K, add=True)
                self._updates += 1
        else:
            sum_kernels(self.matrices, eta, out=self._K)
            self._updates = 0
            if self.factor is not None:
                self._K *= self.factor[:, None]
                self._K *= self.factor
        self._weights = None if self.factor is not None else eta.copy()
        return self._K
