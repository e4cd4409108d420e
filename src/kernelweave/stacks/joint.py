"""Descent on explicit features: weight vectors, biases and theta together, by L-BFGS.

    minimise over w, b, theta    1/2 ||w||^2 + sum_i loss_i(f_i) + penalty(theta)

At the optimum over (w, b) this is J(theta) + penalty(theta), so that no machine has to be solved within the descent:
one pass over the data is one evaluation. The descent ends where `WINDOW` iterations together bring a relative progress
below the tolerance (single ones vary too much); the machine is solved afterwards at the final theta, to a small gap.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engines.training.descent import MEMORY
from ..machines import Machine, Solution
from ..solvers.descent.smooth import EVERYWHERE, Descent, Domain, Point, minimize_lbfgs
from .descent import DescentRun, Loop, Start, Watch

WINDOW = 10
ROUNDING = 1e-10  # relative, of sums over samples
# The share of the mean kernel's weight vectors at which a descent begins. Compared with 1 on eight problems from three
# or four starts, objectives are lower by up to a quarter, and nowhere higher by more than 0.2 per cent.
BEGINNING = 0.5


def finished(family: Any, theta: np.ndarray, solution: Solution) -> tuple[Any, Solution]:
    """The kernel at theta; the machine begins where the descent ended."""
    return family.finish(theta), solution


@dataclass(frozen=True)
class JointProblem:
    """What a joint descent minimises, and what follows it.

    Attributes
    ----------
    primal : callable
        The function of all parameters and its gradient, with `parts` and `join`; see `engines.training.primal`.
    solution : Solution
        Weight vectors and biases to begin at.
    finish : callable
        ``finish(family, theta, solution)``: the combined kernel at the end, of the family of all samples, and where
        its machine begins.
    domain : Domain
        Of all parameters.
    diagonal : callable or None
        Of the Hessian, see `minimize_lbfgs`.
    """

    primal: Any
    solution: Solution
    finish: Callable[[Any, np.ndarray, Solution], tuple[Any, Solution]] = finished
    domain: Domain = EVERYWHERE
    diagonal: Any = None


class JointDescent(DescentRun):
    """Descents in all parameters at once, one pass over the blocks for each evaluation."""

    window = WINDOW
    problem: JointProblem | None = None

    def __init__(self, family: Any, machine: Machine, watch: Watch | None, loop: Loop):
        super().__init__(family, machine, watch, loop)
        for each in (family, self.family):
            self.counted(each.passes)
            each.passes = 0

    def descend(self, start: Start) -> Descent:
        """Minimise from a start, with its own weight vectors, those of the last descent, or those theta begins with."""
        theta, control = start.theta, self.loop.control
        if self.family.is_settled:
            operand = self.family.at(theta).operand()
            given = self.last or self.family.mean
            solution = self.machine.solve(operand, given, tol=control.tol, max_steps=control.max_steps)
            self.counted(solution.steps)
            self.last = solution
            self.record(0, theta, solution.objective, solution)
            return Descent(theta, solution.objective, solution, 0, 1, 0.0, "converged")
        self.problem = problem = self._problem(start)
        primal, values, counted = problem.primal, list[float](), 0

        def progress() -> float:
            earlier = values[max(0, len(values) - 1 - WINDOW)]
            return (earlier - values[-1]) / max(1.0, abs(values[-1]))

        def after(iteration: int, point: Point) -> bool:
            nonlocal counted
            values.append(point.value)
            self.counted(primal.evaluations - counted + (self.watch is not None))
            counted = primal.evaluations
            w, b, at = primal.parts(point.position)
            ended = self.record(iteration, at, point.value, learned(w, b))
            return ended or (iteration >= WINDOW and progress() < control.tol)

        end = minimize_lbfgs(
            primal,
            primal.join(problem.solution.coef, problem.solution.intercept, theta),
            problem.domain,
            tol=0.0,
            precision=max(ROUNDING, primal.engine.rounding),
            max_iterations=self.loop.max_iter,
            memory=MEMORY,
            callback=after,
            diagonal=problem.diagonal,
        )
        w, b, theta = primal.parts(end.solution)
        self.last = learned(w, b)
        return self.watched(dataclasses.replace(end, solution=theta, detail=self.last, progress=progress()))

    def _problem(self, start: Start) -> JointProblem:
        given = start.solution if self.watch is None else None
        return self.family.joint(self.machine, dataclasses.replace(start, solution=given or self.last))

    def value(self, start: Start) -> float:
        """The function at the weight vectors of the start; one pass."""
        problem = self.family.joint(self.machine, start)
        self.counted(1)
        solution = problem.solution
        return problem.primal(problem.primal.join(solution.coef, solution.intercept, start.theta))[0]

    def close(self, end: Descent) -> Any:
        """Solve the machine, which is a row of the history by itself where something was learned."""
        family, machine = self.whole
        settled = self.problem is None
        kernel, start = (self.problem.finish if self.problem else finished)(family, end.solution, end.detail)
        control = self.loop.control
        solution = machine.solve(kernel.operand(), start, tol=control.tol, max_steps=control.max_steps)
        self.counted(solution.steps + 1)
        kernel.settle(solution, machine)
        self.add_row(solution.objective + family.penalty(kernel.theta)[0], solution)
        self.history[-1]["solves"] = 1
        return kernel.solved(solution, self.merged() if settled else self.history)

    def row(self, solution: Solution, seconds: float) -> dict[str, float]:
        """Passes over the data."""
        return {"solves": 0, "passes": self.count, "seconds": seconds}


def learned(weights: np.ndarray, intercept: np.ndarray) -> Solution:
    """Weight vectors and biases, for a machine to begin at."""
    return Solution(weights, intercept, 0.0, np.inf, np.inf, 0, False)


def beginning(machine: Machine, mean: Solution) -> Solution:
    """Where weight vectors begin with new gates: halfway to those of the mean kernel's optimum."""
    share = 1.0 if machine.detects_novelty else BEGINNING
    return learned(share * mean.coef, mean.intercept)
