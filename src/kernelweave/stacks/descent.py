"""Descents that learn parameters theta of a kernel: with the machine solved at each step, or together with it.

    minimise over theta   J(theta) + penalty(theta)

`NestedDescent` solves the machine at each theta, for kernels of whole matrices and of tiles. `JointDescent` serves
explicit features, by L-BFGS on weight vectors, biases and theta together:

    minimise over w, b, theta    1/2 ||w||^2 + sum_i loss_i(f_i) + penalty(theta)

At the optimum over (w, b) this is J(theta) + penalty(theta), so that no machine has to be solved within the descent:
one pass over the data is one evaluation. The descent ends where `WINDOW` iterations together bring a relative progress
below the tolerance (single ones vary too much); the machine is solved afterwards at the final theta, to a small gap.
"""

from __future__ import annotations

import dataclasses
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engines.primal import MEMORY
from ..machines import Machine, Solution
from ..solvers import Descent, Domain, minimize_alternating, minimize_armijo, minimize_lbfgs
from ..solvers.descent import EVERYWHERE, Point, QuasiNewton
from .base import FitControl
from .held_out import PATIENCE

STEPS_KNOWN = 6  # of a nested descent, whose curvature is remembered
OPTIMIZERS = {"lbfgs": minimize_lbfgs, "armijo": minimize_armijo}


@dataclass(frozen=True)
class Loop:
    """How a descent runs; its history counts seconds from `begin`, and `report` is called after each iteration."""

    optimizer: str
    max_iter: int
    control: FitControl
    begin: float
    report: Callable[[], None]


@dataclass(frozen=True)
class Start:
    """Where a descent begins.

    The solution is what was learned with theta, where a part of the samples has taught it; `rest` is what else a family
    draws at random for it.
    """

    theta: np.ndarray
    solution: Solution | None = None
    rest: Any = None


@dataclass(frozen=True)
class Watch:
    """Held-out samples: theta is learned by the family and machine of the others.

    The descent keeps the theta of least ``risk(theta, solution)`` (the last of equals, which has the smallest
    objective), stops if it has not been matched for `PATIENCE` iterations, and the machine is then solved for all
    samples under that theta.
    """

    family: Any
    machine: Machine
    risk: Callable[[np.ndarray, Solution], float]


class DescentRun(ABC):
    """Descents over the same samples, with their history.

    Progress is measured over `window` iterations; `total` solves or passes were made, `count` since the last row.
    """

    window = 1

    def __init__(self, family: Any, machine: Machine, watch: Watch | None, loop: Loop):
        self.whole, self.watch, self.loop = (family, machine), watch, loop
        self.family, self.machine = self.whole if watch is None else (watch.family, watch.machine)
        self.last: Solution | None = None
        self.count = self.total = 0
        self.clock = loop.begin
        self.history: list[dict[str, float]] = []
        self.risk = np.inf
        self.best: tuple[int, np.ndarray, float, Solution] | None = None

    @abstractmethod
    def descend(self, start: Start) -> Descent:
        """Minimise from a start; theta is the solution of what is returned, and a `Solution` its detail."""

    def loosen(self, factor: float) -> None:
        """End descents at a tolerance that is larger by this factor, where each iteration is judged by itself."""
        if self.window == 1:
            control = self.loop.control
            self.loop = dataclasses.replace(self.loop, control=dataclasses.replace(control, tol=factor * control.tol))

    def go_on(self) -> Descent | None:
        """Minimise from where the last descent ended, under another weight of a quadratic penalty, if possible."""
        return None

    @abstractmethod
    def value(self, start: Start) -> float:
        """What is minimised, at a start."""

    @abstractmethod
    def close(self, end: Descent) -> Any:
        """The combined kernel at the end of a descent, under which the machine is solved to the full tolerance."""

    @abstractmethod
    def row(self, solution: Solution, seconds: float) -> dict[str, float]:
        """What a row of the history has beside the objective."""

    def counted(self, more: int) -> None:
        self.count += more
        self.total += more

    def record(self, iteration: int, theta: np.ndarray, value: float, solution: Solution) -> bool:
        """Add a row to the history; True if the held-out samples end the descent."""
        self.add_row(value, solution)
        if iteration > 0:
            self.loop.report()
        if self.watch is None:
            return False
        risk = self.watch.risk(theta, solution)
        self.history[-1]["validation_risk"] = risk
        if risk <= self.risk:
            self.risk, self.best = risk, (iteration, theta, value, solution)
        return self.best is not None and iteration - self.best[0] >= PATIENCE

    def watched(self, end: Descent) -> Descent:
        if self.best is None:
            return end
        _, theta, value, solution = self.best
        return dataclasses.replace(end, solution=theta, objective=value, detail=solution)

    def add_row(self, objective: float, solution: Solution) -> None:
        now = time.perf_counter()
        self.history.append({"objective": objective, **self.row(solution, now - self.clock)})
        self.count, self.clock = 0, now

    def merged(self) -> list[dict[str, float]]:
        """The history, in which the last two rows are one."""
        last, final = self.history[-2:]
        for name in ("solves", "passes", "seconds"):
            if name in final:
                final[name] += last[name]
        return [*self.history[:-2], final]


class NestedDescent(DescentRun):
    """The machine is solved at each theta, from the last solution.

    Each evaluation solves it to a share of the progress that ends the loop, a tenth unless the family wants another
    (`KernelFamily.precision`). (Rougher solves at first do not pay: after a restart they are hardly cheaper, and their
    gradients lengthen the loop.)
    """

    K: np.ndarray | None = None
    model: QuasiNewton | None = None  # what the last descent learned of the curvature
    point: Point | None = None  # where it ended
    penalties: Sequence[tuple[float, np.ndarray]] = ()  # under the weight at that time, see `_penalized`

    def descend(self, start: Start) -> Descent:
        theta = start.theta
        if self.family.is_settled:
            value, _, solution = self.evaluate(theta)
            self.record(0, theta, value, solution)
            return Descent(theta, value, solution, 0, 1, 0.0, "converged")
        size = float(np.linalg.norm(theta)) or 1.0
        if self.loop.optimizer != "lbfgs":
            return self._minimized(theta, first_step=size)
        self.model = QuasiNewton(size, STEPS_KNOWN)
        return self._minimized(theta, model=self.model)

    def _minimized(self, start: np.ndarray | Point, **options: Any) -> Descent:
        blocks = self.family.blocks() if self.loop.optimizer == "armijo" else None
        minimize: Any = OPTIMIZERS[self.loop.optimizer] if blocks is None else minimize_alternating

        def after(iteration: int, point: Point) -> bool:
            self.point = point
            return self.record(iteration, point.position, point.value, point.detail)

        end = minimize(
            self.evaluate,
            start,
            self.family.domain() if blocks is None else blocks,
            tol=self.loop.control.tol,
            precision=self._precision,
            max_iterations=self.loop.max_iter,
            callback=after,
            **options,
        )
        self.penalties = [self.family.penalty(each) for each in self._penalized()]
        return self.watched(end)

    def _penalized(self) -> list[np.ndarray]:
        # the last position, and the steps that tell of the curvature
        assert self.point is not None
        return [self.point.position, *(() if self.model is None else (step for step, _ in self.model.pairs))]

    def go_on(self) -> Descent | None:
        if self.model is None or self.point is None or not self.family.domain().everywhere:
            return None
        # the machine is solved there, and a quadratic penalty bends by its own gradient along each step
        found = [self.family.penalty(each) for each in self._penalized()]
        (value, slope), *bends = [(a - b, x - y) for (a, x), (b, y) in zip(found, self.penalties, strict=True)]
        self.model.bent([bend for _, bend in bends])
        position, before, gradient, solution = self.point
        return self._minimized(Point(position, before + value, gradient + slope, solution), model=self.model)

    def value(self, start: Start) -> float:
        return self.evaluate(start.theta)[0]

    def evaluate(self, theta: np.ndarray) -> tuple[float, np.ndarray, Any]:
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
        self.counted(1)
        self.last = solution
        return solution.objective + value, gradient + self.family.gradient(kernel, solution), solution

    def close(self, end: Descent) -> Any:
        """The last solve belongs to the last iteration, or is a row by itself where its machine has more samples."""
        family, machine = self.whole
        kernel, control = family.finish(end.solution), self.loop.control
        K, start = (self.K, end.detail) if self.watch is None else (None, None)
        solution = machine.solve(kernel.operand(K), start=start, tol=control.tol, max_steps=control.max_steps)
        self.counted(1)
        self.add_row(solution.objective + family.penalty(kernel.theta)[0], solution)
        return kernel.solved(solution, self.merged() if self.watch is None else self.history)

    def row(self, solution: Solution, seconds: float) -> dict[str, float]:
        n_support = int(solution.coef.any(axis=1).sum())
        return {"solves": self.count, "seconds": seconds, "n_support": n_support}

    @property
    def _precision(self) -> float:
        return self.family.precision * self.loop.control.tol


WINDOW = 10
ROUNDING = 1e-10  # relative, of sums over samples
# The share of the mean kernel's weight vectors at which a descent begins. Compared with 1 on eight problems from three
# or four starts, objectives are lower by up to a quarter, and nowhere higher by more than 0.2 per cent.
BEGINNING = 0.5


def finished(family: Any, theta: np.ndarray, solution: Solution) -> tuple[Any, Solution]:
    return family.finish(theta), solution


@dataclass(frozen=True)
class JointProblem:
    """What a joint descent minimises, and what follows it.

    `diagonal` is that of the Hessian, see `minimize_lbfgs`. It begins at the weight vectors and biases of `solution`.
    ``finish(family, theta, solution)`` gives the combined kernel at the end, and where its machine begins.
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
        return {"solves": 0, "passes": self.count, "seconds": seconds}


def learned(weights: np.ndarray, intercept: np.ndarray) -> Solution:
    return Solution(weights, intercept, 0.0, np.inf, np.inf, 0, False)


def beginning(machine: Machine, mean: Solution) -> Solution:
    """Where weight vectors begin with new gates: halfway to those of the mean kernel's optimum."""
    share = 1.0 if machine.detects_novelty else BEGINNING
    return learned(share * mean.coef, mean.intercept)
