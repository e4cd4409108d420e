"""Learning gates on explicit features: weight vectors, biases and gating parameters together, by L-BFGS.

    minimise over w, b, V    1/2 ||w||^2 + sum_i loss_i(f_i) + strength/2 ||V||^2

At the optimum over (w, b) this is J(V) + strength/2 ||V||^2, the objective of `Localized`, so that no machine has to be
solved within the descent: one pass over the data is one evaluation. The descent ends where `WINDOW` iterations together
bring a relative progress below the tolerance (single ones vary too much); the machine is solved afterwards at the
final gates, to a certified gap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ....engines.base import Engine
from ....engines.stack import ExplicitStack
from ....engines.training.descent import MEMORY, Hessian
from ....engines.training.machine import ExplicitKernel, ExplicitMachine
from ....engines.training.primal import Primal
from ....machines import Solution
from ....solvers.descent.smooth import Point, minimize_lbfgs
from ...base import FitControl
from ...gates.base import Gate
from ..amplitudes import WeightAmplitudes
from .amplitudes import GateAmplitudes

WINDOW = 10
ROUNDING = 1e-10  # relative, of sums over samples
PRECISION = 1e-4  # relative duality gap of J0, the optimum under the mean kernel

Watch = Callable[[np.ndarray, np.ndarray, np.ndarray], float]  # the risk of w, b and V on held-out samples


@dataclass(frozen=True)
class Position:
    """A point of the descent."""

    weights: np.ndarray
    intercept: np.ndarray
    theta: np.ndarray

    def as_solution(self) -> Solution:
        """Weight vectors and biases, for a machine to begin at."""
        return Solution(self.weights, self.intercept, 0.0, np.inf, np.inf, 0, False)


@dataclass(frozen=True)
class End:
    """Where a descent ended: its position, the value there, and how.

    Attributes
    ----------
    position : Position
        The last one, or that of least risk.
    value : float
    risk : float
        Of held-out samples, infinite without any.
    steps : int
    progress : float
        Relative, of the last `WINDOW` iterations.
    converged : bool
    """

    position: Position
    value: float
    risk: float
    steps: int
    progress: float
    converged: bool


@dataclass
class GatedProblem:
    """Gates over blocks that have codes.

    Attributes
    ----------
    stack : ExplicitStack
    machine : ExplicitMachine
    gate : Gate
        Fitted.
    n_parameters : int
        Of V.
    control : FitControl
    max_iter : int
        Most iterations of a descent.
    report : callable
        Called after each iteration.
    """

    stack: ExplicitStack
    machine: ExplicitMachine
    gate: Gate
    n_parameters: int
    control: FitControl
    max_iter: int
    report: Callable[[], None]
    history: list[dict[str, float]] = field(default_factory=list)
    passes: int = 0  # since the last row of the history
    clock: float = field(default_factory=time.perf_counter)

    @property
    def active(self) -> np.ndarray:
        """All kernels take part while gates are learned."""
        return np.ones(self.stack.n_kernels, dtype=bool)

    def mean_solution(self, engine: Engine) -> Solution:
        """The machine's optimum under the mean kernel."""
        P = self.stack.n_kernels
        kernel = ExplicitKernel(engine, WeightAmplitudes(np.full(P, 1.0 / P)), self.stack.n_features)
        solution = self.machine.solve(kernel, gap_tol=PRECISION)
        self.passes += solution.steps
        return solution

    def solution_at(self, engine: Engine, theta: np.ndarray, start: Solution) -> Solution:
        """The machine's optimum at given gates."""
        amplitudes = GateAmplitudes(self.gate, self.active, fixed=theta)
        kernel = ExplicitKernel(engine, amplitudes, self.stack.n_features)
        solution = self.machine.solve(kernel, start, tol=self.control.tol, max_steps=self.control.max_steps)
        self.passes += solution.steps
        return solution

    def primal(self, engine: Engine, strength: float) -> Primal:
        """The function of w, b and V."""
        amplitudes = GateAmplitudes(self.gate, self.active, self.n_parameters)

        def penalty(theta: np.ndarray) -> tuple[float, np.ndarray]:
            return 0.5 * strength * float(theta @ theta), strength * theta

        shape = self.stack.n_features, self.machine.n_outputs
        return Primal(engine, amplitudes, *shape, total=self.machine.total, penalty=penalty)

    def value(self, engine: Engine, strength: float, position: Position) -> float:
        """The function at a position; one pass."""
        primal = self.primal(engine, strength)
        self.passes += 1
        return primal(primal.join(position.weights, position.intercept, position.theta))[0]

    def descend(
        self, engine: Engine, strength: float, start: Position, watch: Watch | None = None, patience: int = 0
    ) -> End:
        """Minimise from a start.

        Parameters
        ----------
        engine : Engine
        strength : float
        start : Position
        watch : callable, optional
            The risk of held-out samples; the position of least risk is returned (the last of equals), and the descent
            ends where it has not been matched for `patience` iterations.
        patience : int
        """
        primal = self.primal(engine, strength)
        values: list[float] = []
        best: tuple[float, int, Point] | None = None
        counted, tol = 0, self.control.tol

        def progress() -> float:
            earlier = values[max(0, len(values) - 1 - WINDOW)]
            return (earlier - values[-1]) / max(1.0, abs(values[-1]))

        def after(iteration: int, point: Point) -> bool:
            nonlocal best, counted
            values.append(point.value)
            self.passes += primal.evaluations - counted
            counted = primal.evaluations
            self.record(point.value)
            if iteration:
                self.report()
            if watch is not None:
                risk = watch(*primal.parts(point.position))
                self.passes += 1
                self.history[-1]["validation_risk"] = risk
                if best is None or risk <= best[0]:
                    best = risk, iteration, point
                if iteration - best[1] >= patience:
                    return True
            return iteration >= WINDOW and progress() < tol

        end = minimize_lbfgs(
            primal,
            primal.join(start.weights, start.intercept, start.theta),
            tol=0.0,
            precision=max(ROUNDING, engine.rounding),
            max_iterations=self.max_iter,
            memory=MEMORY,
            callback=after,
            diagonal=Hessian(primal),
        )
        solution, value, risk = end.solution, end.objective, np.inf
        if best is not None:
            risk, _, point = best
            solution, value = point.position, point.value
        converged = end.status != "max_iterations"
        return End(Position(*primal.parts(solution)), value, risk, end.steps, progress(), converged)

    def record(self, objective: float) -> None:
        """Add a row to the history."""
        now = time.perf_counter()
        row = {"objective": objective, "solves": 0, "passes": self.passes, "seconds": now - self.clock}
        self.history.append(row)
        self.passes, self.clock = 0, now
