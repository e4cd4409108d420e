"""`Run`: descents over the same samples, with the function that they minimise and their history.

Each evaluation restarts the machine from the last solution and solves it to a share of the progress that ends the loop,
a tenth unless the family wants another (`KernelFamily.precision`). (Rougher solves at first do not pay: after a restart
they are hardly cheaper, and their gradients lengthen the loop.)
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...machines import Machine, Solution
from ...solvers.descent.alternating import minimize_alternating
from ...solvers.descent.smooth import Descent, Point, minimize_armijo, minimize_lbfgs
from ..base import FitControl
from ..combined import CombinedKernel
from .held_out import PATIENCE, Watch

if TYPE_CHECKING:
    from .family import KernelFamily

OPTIMIZERS = {"lbfgs": minimize_lbfgs, "armijo": minimize_armijo}


@dataclasses.dataclass(frozen=True)
class Loop:
    """How a descent runs.

    Attributes
    ----------
    optimizer : {"lbfgs", "armijo"}
    max_iter : int
        Most outer iterations.
    control : FitControl
    begin : float
        When the fit began, for the seconds of the first row of the history.
    report : callable
        Called after each iteration.
    """

    optimizer: str
    max_iter: int
    control: FitControl
    begin: float
    report: Callable[[], None]


class Run:
    """Descents over the same samples: the function that they minimise, and their history.

    Parameters
    ----------
    family : KernelFamily
    machine : Machine
    watch : Watch or None
        Held-out samples; theta is then learned from the others.
    loop : Loop
    """

    def __init__(self, family: KernelFamily, machine: Machine, watch: Watch | None, loop: Loop):
        self.whole, self.watch, self.loop = (family, machine), watch, loop
        self.family, self.machine = self.whole if watch is None else (watch.family, watch.machine)
        self.last: Solution | None = None
        self.K: np.ndarray | None = None
        self.solves = 0  # since the last row of the history
        self.total = 0
        self.clock = loop.begin
        self.history: list[dict[str, float]] = []
        self.risk = np.inf  # of the held-out samples, the least so far
        self.best: tuple[int, Point] | None = None

    def descend(self, theta: np.ndarray) -> Descent:
        """Minimise from theta."""
        if self.family.is_settled:
            value, gradient, solution = self.evaluate(theta)
            self.record(0, Point(theta, value, gradient, solution))
            return Descent(theta, value, solution, 0, 1, 0.0, "converged")
        size = np.linalg.norm(theta)
        blocks = self.family.blocks() if self.loop.optimizer == "armijo" else None
        minimize: Any = OPTIMIZERS[self.loop.optimizer] if blocks is None else minimize_alternating
        end = minimize(
            self.evaluate,
            theta,
            self.family.domain() if blocks is None else blocks,
            tol=self.loop.control.tol,
            precision=self._precision,
            max_iterations=self.loop.max_iter,
            first_step=size if size > 0.0 else 1.0,
            callback=self.record,
        )
        if self.best is None:
            return end
        _, point = self.best
        return dataclasses.replace(end, solution=point.position, objective=point.value, detail=point.detail)

    def evaluate(self, theta: np.ndarray) -> tuple[float, np.ndarray, Solution | None]:
        """J + penalty, its gradient and the machine's solution."""
        value, gradient = self.family.penalty(theta)
        kernel = self.family.at(theta)
        max_steps = self.loop.control.max_steps
        solution = None
        if self.last is not None and kernel.has_cheap_blocks:
            solution = self.machine.solve_in_working_set(kernel, self.last, self._precision, max_steps)
        if solution is None:
            operand = kernel.operand(self.K)
            if isinstance(operand, np.ndarray):
                self.K, diagonal = operand, operand.diagonal()
            else:
                diagonal = operand.diagonal
            if not np.isfinite(diagonal).all():  # theta so large that the kernel overflows
                return np.inf, gradient, self.last
            solution = self.machine.solve(operand, start=self.last, gap_tol=self._precision, max_steps=max_steps)
        self.solves += 1
        self.total += 1
        self.last = solution
        return solution.objective + value, gradient + self.family.gradient(kernel, solution), solution

    def record(self, iteration: int, point: Point) -> bool:
        """Add a row to the history; True if the held-out samples end the descent."""
        self._add_row(point.value, point.detail)
        if iteration > 0:
            self.loop.report()
        if self.watch is None:
            return False
        risk = self.watch.risk(point.position, point.detail)
        self.history[-1]["validation_risk"] = risk
        if risk <= self.risk:
            self.risk, self.best = risk, (iteration, point)
        return self.best is not None and iteration - self.best[0] >= PATIENCE

    def close(self, end: Descent) -> CombinedKernel:
        """Solve the machine at the end of a descent to the full tolerance; that belongs to the last iteration.

        If samples were held out, it is a row of the history by itself, because its machine has all samples.
        """
        family, machine = self.whole
        kernel, control = family.finish(end.solution), self.loop.control
        K, start = (self.K, end.detail) if self.watch is None else (None, None)
        solution = machine.solve(kernel.operand(K), start=start, tol=control.tol, max_steps=control.max_steps)
        self.solves += 1
        self._add_row(solution.objective + family.penalty(kernel.theta)[0], solution)
        if self.watch is not None:
            return kernel.solved(solution, self.history)
        last, final = self.history[-2:]
        final["solves"] += last["solves"]
        final["seconds"] += last["seconds"]
        return kernel.solved(solution, [*self.history[:-2], final])

    @property
    def _precision(self) -> float:
        return self.family.precision * self.loop.control.tol

    def _add_row(self, objective: float, solution: Solution) -> None:
        now = time.perf_counter()
        self.history.append(
            {
                "objective": objective,
                "solves": self.solves,
                "seconds": now - self.clock,
                "n_support": int(solution.coef.any(axis=1).sum()),
            }
        )
        self.solves, self.clock = 0, now
