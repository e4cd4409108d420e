"""Fitting `Localized` on explicit features: inputs and codes, the penalty, the descents, and the last solve."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from ....engines.base import Engine
from ....engines.stack import ExplicitStack
from ....engines.training.machine import ExplicitMachine
from ...base import FitControl
from ...descent.held_out import PATIENCE
from ...gates.base import Gate, Softmax
from ...gates.inputs import GatingInputs
from ...localized.family import ONE_CLASS_L2
from .amplitudes import Coding, GateAmplitudes, encoded
from .descent import End, GatedProblem, Position
from .held_out import divided
from .kernel import ExplicitGatedSum
from .l2 import choose_l2, scale_of, splits, watch_of
from .totals import GateTotals, count_open, totals_of

if TYPE_CHECKING:
    from ...localized.localized import Localized

# The share of the mean kernel's weight vectors at which a descent begins. Compared with 1 on eight problems from three
# or four starts, objectives are lower by up to a quarter, and nowhere higher by more than 0.2 per cent.
BEGINNING = 0.5


@dataclass(frozen=True)
class ExplicitFit:
    """A combined kernel, and what the combiner keeps of its fit."""

    kernel: ExplicitGatedSum
    gate: Gate
    l2: float
    l2_path: pd.DataFrame | None
    end: End | None


class GatedFit:
    """One fit of `Localized` on explicit features.

    Parameters
    ----------
    combiner : Localized
    stack : ExplicitStack
    machine : ExplicitMachine
    control : FitControl
    """

    def __init__(self, combiner: Localized, stack: ExplicitStack, machine: ExplicitMachine, control: FitControl):
        self.combiner, self.stack, self.machine, self.control = combiner, stack, machine, control
        rng = control.rng
        self.inputs = GatingInputs(combiner.inputs, combiner.quadratic, combiner.scaling)
        self.gate: Gate = clone(Softmax() if combiner.gating is None else combiner.gating)
        values = self.inputs.fit(stack.reservoir, rng)
        self.gate.prepare(values, rng)
        self.codes = encoded(self.gate, values[:1], np.dtype(np.float64))
        engine: Any = stack.engine
        self.engine: Engine = engine.replace(Coding(self.inputs, self.gate))
        self.n_classes = machine.n_classes
        finished = itertools.count(1)
        self.problem = GatedProblem(
            stack,
            machine,
            self.gate,
            len(self._start(np.random.RandomState(0))),
            control,
            combiner.max_iter,
            lambda: control.report(next(finished), combiner.n_init * combiner.max_iter),
        )

    def run(self) -> ExplicitFit:
        """Learn the gates, close small ones, then solve the machine."""
        mean = self.problem.mean_solution(self.engine)
        seeds = self.control.rng.randint(np.iinfo(np.int32).max, size=self.combiner.n_init)
        thetas = [self._start(np.random.RandomState(seed)) for seed in seeds]
        starts = [self._begin(mean, theta) for theta in thetas]
        l2, path = self.combiner.l2, None
        if isinstance(l2, str) and self.machine.detects_novelty:
            l2 = ONE_CLASS_L2
        elif isinstance(l2, str):
            chosen = choose_l2(self.problem, self.engine, thetas[0], self.n_classes, self.control.rng)
            l2, path = chosen.l2, chosen.path
            if np.isfinite(l2):
                starts[0] = self._best(l2 * scale_of(mean.objective), chosen.starts, mean)
        if np.isinf(l2):
            theta, last = np.zeros_like(thetas[0]), Position(mean.coef, mean.intercept, thetas[0])
            return ExplicitFit(self._finish(theta, last, 0.0), self.gate, float(l2), path, None)
        end = self._descend(float(l2), scale_of(mean.objective), starts)
        strength = float(l2) * scale_of(mean.objective)
        return ExplicitFit(self._finish(end.position.theta, end.position, strength), self.gate, float(l2), path, end)

    def _start(self, rng: np.random.RandomState) -> np.ndarray:
        return self.gate.start(self.codes, self.stack.n_kernels, rng)

    def _begin(self, mean: Any, theta: np.ndarray) -> Position:
        """Where a descent begins: halfway to the weight vectors of the mean kernel's optimum.

        At that optimum itself weight vectors have no reason to change but through the gates, which then often divide
        the samples along the decision boundary of the mean kernel, a poor local minimum.
        """
        share = 1.0 if self.machine.detects_novelty else BEGINNING
        return Position(share * mean.coef, mean.intercept, theta)

    def _best(self, strength: float, learned: list[Position], mean: Any) -> Position:
        """Where to begin: gates that a part of the samples taught, with weight vectors of that part or of all."""
        candidates = [*learned, *(Position(mean.coef, mean.intercept, part.theta) for part in learned)]
        return min(candidates, key=lambda position: self.problem.value(self.engine, strength, position))

    def _descend(self, l2: float, scale: float, starts: list[Position]) -> End:
        """The best end of descents from all starts: the least objective, or the least risk of held-out samples."""
        engine, watch, fraction = self.engine, None, self.combiner.validation_fraction
        if fraction > 0.0:
            if self.machine.detects_novelty:
                raise ValueError(
                    "validation_fraction must be 0 for novelty detection on explicit features: held-out samples have "
                    "no loss to judge gates by"
                )
            seed, edges = int(self.control.rng.randint(2**31)), np.array([0.0, fraction])
            parts = splits(engine, self.n_classes, seed, edges, 1.0)
            if not parts:
                raise ValueError(
                    f"validation_fraction={fraction!r} does not fit these samples: no class has a second sample"
                )
            engine = engine.replace(divided, parts[0])
            mean = self.problem.mean_solution(engine)
            scale, watch = scale_of(mean.objective), watch_of(self.problem, engine)
            starts = [self._begin(mean, start.theta) for start in starts]
        problem, histories = self.problem, list[list[dict[str, float]]]()
        ends: list[End] = []
        for start in starts:
            if not ends:  # what was done before belongs to the first row
                problem.passes += int(sum(row["passes"] for row in problem.history))
            problem.history = []
            ends.append(problem.descend(engine, l2 * scale, start, watch, PATIENCE))
            histories.append(problem.history)
        chosen = min(range(len(ends)), key=lambda k: (ends[k].risk, ends[k].value))
        problem.history = histories[chosen]
        return ends[chosen]

    def _finish(self, theta: np.ndarray, last: Position, strength: float) -> ExplicitGatedSum:
        """Close small gates, and solve the machine; kernels that are closed for every sample leave the model."""
        P, tol = self.stack.n_kernels, self.combiner.gate_tol
        every = GateAmplitudes(self.gate, np.ones(P, dtype=bool), fixed=theta, tol=tol)
        opened: np.ndarray = self.engine.sum(count_open, every)
        active = opened > 0
        if not active.any():
            raise ValueError(f"every gate of every sample is below gate_tol ({tol:g}); lower gate_tol, or l2")
        kernel = ExplicitGatedSum(
            self.stack,
            theta,
            self.gate,
            self.inputs,
            gate_tol=tol,
            active=active,
            mean_weights=np.zeros(P),
            open_share=np.zeros(P),
            engine=self.engine,
        )
        operand, control = kernel.operand(), self.control
        start: Any = last.as_solution()
        solution = self.machine.solve(operand, start, tol=control.tol, max_steps=control.max_steps)
        self.problem.passes += solution.steps + 1
        arguments = operand.amplitudes, solution.coef, solution.intercept, max(self.n_classes, 1)
        totals: GateTotals = self.engine.sum(totals_of, *arguments)
        count = totals.count[0].sum()
        kernel.totals = totals
        kernel.mean_weights = totals.weights[0].sum(axis=0) / count
        kernel.open_share = totals.opened[0].sum(axis=0) / count
        self.problem.record(solution.objective + 0.5 * strength * float(theta @ theta))
        self.problem.history[-1]["solves"] = 1
        return kernel.solved(solution, self.problem.history)
