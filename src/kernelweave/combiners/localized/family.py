"""`GatedFamily`: gated sums of base kernels for all parameters of a gating model, with the penalty on them.

    minimise over V   J(V) + l2/2 J0 ||V||^2

where J0 is the optimum under the mean kernel, so that l2 means the same for every C, machine and number of samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...machines import Machine, Solution
from ...machines.base import Operand
from ...stacks import TrainingStack
from ...stacks.descent import JointProblem, Start, Watch
from ..descent.family import KernelFamily, Learner, support_rows
from ..gates.base import Gate
from ..gates.function import GateFunction
from ..gates.inputs import GatingInputs, NoInputs
from ..weighted.sums import WeightedSum
from .kernel import GatedSum
from .l2_path import choose_l2

ONE_CLASS_L2 = 0.3  # no held-out loss measures whether novelty is detected
# Divided by the number of samples, of which each has parameters of its own and cannot be held out: of 10, 3, 1, 0.3 and
# 0.1 on held-out samples of six sets 3 stays within 0.3 points of the mean kernel, 1 loses up to 12.
PER_SAMPLE_L2 = 3.0
PRECISION = 1e-4  # relative duality gap of J0


@dataclass(frozen=True)
class GatingOptions:
    """Parameters of a gated combiner that its family needs.

    Attributes
    ----------
    l2 : float or "auto"
    gate_tol : float
    validation_fraction : float
    n_jobs : int or None
    """

    l2: Any
    gate_tol: float
    validation_fraction: float
    n_jobs: int | None


class GatedFamily(KernelFamily):
    """Gated sums over the same training samples, for all parameters of the gating model.

    Parameters
    ----------
    stack : TrainingStack
        With codes: the training samples as the gating model reads them.
    gate : Gate
        The gating model, fitted.
    inputs : GatingInputs or NoInputs
        Fitted.
    options : GatingOptions

    Attributes
    ----------
    l2 : float
        The penalty in units of J0, once `starts` has fixed it.
    l2_path : DataFrame or None
        How it was chosen.
    strength : float
        By what ||V||^2 / 2 is multiplied: l2 times J0.
    mean : Solution or None
        The optimum under the mean kernel, where it was computed.
    """

    def __init__(self, stack: TrainingStack, gate: Gate, inputs: GatingInputs | NoInputs, options: GatingOptions):
        super().__init__(stack)
        self.gate, self.inputs, self.options = gate, inputs, options
        self.l2 = 0.0
        self.l2_path: pd.DataFrame | None = None
        self.strength = 0.0
        self.mean: Solution | None = None
        self.passes = 0  # over blocks, which the next descent counts as its own

    @property
    def n_kernels(self) -> int:
        """Number of base kernels, P."""
        return self.stack.n_kernels

    @property
    def is_settled(self) -> bool:
        """An infinite penalty leaves the mean kernel."""
        return bool(np.isinf(self.strength))

    @property
    def amplitudes(self) -> GateFunction:
        """The gates as a function of samples and of V, all as they are."""
        return GateFunction(self.gate, np.ones(self.n_kernels, dtype=bool), self.n_parameters)

    @property
    def n_parameters(self) -> int:
        """Length of V."""
        return len(self.gate.start(self.stack.some_codes, self.n_kernels, np.random.RandomState(0)))

    def over(self, stack: TrainingStack) -> GatedFamily:
        """The same over some of the training samples, a stack with their codes."""
        return GatedFamily(stack, self.gate, self.inputs, self.options)

    def at(self, theta: np.ndarray) -> GatedSum:
        """The gated sum with these parameters, all gates as they are."""
        every = np.ones(self.n_kernels, dtype=bool)
        return self._kernel(theta, self.stack.gates(GateFunction(self.gate, every, fixed=theta)))

    def _kernel(self, theta: np.ndarray, gates: np.ndarray | None, **rest: Any) -> GatedSum:
        return GatedSum(self.stack, theta, self.gate, self.inputs, gates, **rest)

    def pullback(self, kernel: Any, coef: np.ndarray, solution: Solution | None = None) -> np.ndarray:
        """-1/2 sum_r c_r' (dK_eta / dV) c_r, thesis section 3.3 for any machine."""
        rows, coef = support_rows(coef)
        return self._from_slopes(kernel, rows, *kernel.stack.slopes(kernel.gates, kernel.at, rows, coef, solution))

    def gradient(self, kernel: Any, solution: Solution) -> np.ndarray:
        """`pullback` of a solution, for nothing where that holds the images k_m (eta_m c) of its coefficients."""
        return self.pullback(kernel, solution.coef, solution)

    def _from_slopes(
        self, kernel: Any, rows: np.ndarray, by_gates: np.ndarray, by_points: list[np.ndarray]
    ) -> np.ndarray:
        """dJ/dV from dJ/dgates of some samples."""
        return self.gate.pullback(kernel.theta, self.stack.codes[rows], kernel.gates[rows], by_gates)

    def start(self, machine: Machine, rng: np.random.RandomState) -> np.ndarray:
        """Small random parameters."""
        return self.gate.start(self.stack.some_codes, self.n_kernels, rng)

    def starts(self, machine: Machine, rng: np.random.RandomState, n_init: int, learner: Learner) -> list[Start]:
        """Random gating parameters, or those that were learned with the chosen penalty from parts of the samples."""
        scale = self.mean_optimum(machine)
        random = super().starts(machine, rng, n_init, learner)
        if self.options.l2 != "auto":
            self.l2 = float(self.options.l2)
        elif machine.detects_novelty:
            self.l2 = ONE_CLASS_L2
        elif self.gate.per_sample:
            self.l2 = PER_SAMPLE_L2 / self.stack.n_samples
        else:
            self.l2, learned, self.l2_path = choose_l2(self, machine, random[0].theta, rng, learner)
            self.strength = self.l2 * scale
            if np.isfinite(self.l2):
                run = learner(self, machine)
                random[0] = min(self.candidates(learned), key=run.value)
        self.strength = self.l2 * scale
        return [Start(np.zeros_like(random[0].theta))] if self.is_settled else random

    def candidates(self, learned: list[Start]) -> list[Start]:
        """Where a descent may begin, from what parts of the samples taught: their gates, and the mean weights."""
        return [*learned, *(Start(start.theta, self.mean) for start in learned)] if self.joins else learned

    @property
    def joins(self) -> bool:
        """Whether weight vectors are learned together with the gates."""
        return "nested" not in self.stack.offers

    def joint(self, machine: Machine, start: Start) -> JointProblem:
        """The descent in weight vectors, biases and V."""
        return self.stack.gate_problem(self, machine, start.solution)

    def mean_optimum(self, machine: Machine) -> float:
        """J0, the size of the optimum under the mean kernel (1 if that is 0), in which the penalty is measured."""
        if not self.gate.learns and not self.joins:  # there is nothing to penalise
            return 1.0
        self.mean = machine.solve(self.mean_operand(), gap_tol=PRECISION)
        self.passes += self.mean.steps
        optimum = abs(self.mean.objective) if self.gate.learns else 1.0
        return optimum if optimum > 0.0 else 1.0

    def mean_operand(self) -> Operand:
        """The mean kernel of the training samples, as a machine is solved on it."""
        return WeightedSum(self.stack, np.full(self.n_kernels, 1.0 / self.n_kernels)).operand()

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """l2/2 J0 ||V||^2."""
        if self.is_settled:
            return 0.0, np.zeros_like(theta)
        return 0.5 * self.strength * float(theta @ theta), self.strength * theta

    def watch(self, machine: Machine, rng: np.random.RandomState) -> Watch | None:
        """Hold out a part of the samples for early stopping."""
        if self.options.validation_fraction == 0.0:
            return None
        if self.gate.per_sample:
            raise ValueError(
                f"validation_fraction must be 0 with {type(self.gate).__name__}, which has parameters of its own "
                "for each sample: those of held-out samples could not be learned"
            )
        part = self.stack.split(machine, self.options.validation_fraction, rng)
        own = self.over(part.stack)
        own.strength = self.l2 * own.mean_optimum(part.machine)
        return Watch(own, part.machine, lambda theta, solution: part.risk(self, theta, solution))

    def finish(self, theta: np.ndarray) -> GatedSum:
        """Close small gates; kernels that are closed for every sample leave the model."""
        function = self.closed(self.stack, theta)
        gates = self.stack.gates(function)
        rest = {} if gates is None else {"open_share": (gates > 0.0).mean(axis=0)}
        return self._kernel(theta, gates, gate_tol=function.tol, active=function.active, **rest)

    def closed(self, stack: TrainingStack, V: np.ndarray) -> GateFunction:
        """The gates with small ones closed, of kernels that are open for some sample."""
        tol = self.options.gate_tol
        every = GateFunction(self.gate, np.ones(self.n_kernels, dtype=bool), fixed=V, tol=tol)
        active = stack.open_counts(every) > 0
        if not active.any():
            raise ValueError(f"every gate of every sample is below gate_tol ({tol:g}); lower gate_tol, or l2")
        return GateFunction(self.gate, active, fixed=V, tol=tol)
