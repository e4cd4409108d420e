"""`GatedFamily`: gated sums of base kernels for all parameters of a gating model, with the penalty on them.

    minimise over V   J(V) + l2/2 J0 ||V||^2

where J0 is the optimum under the mean kernel, so that l2 means the same for every C, machine and number of samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...kernels import KernelStack
from ...machines import Machine, Solution
from ...solvers.qp.in_parts import KernelInParts
from ...solvers.stacks.sums import gated_pullback
from ..descent.family import KernelFamily, Learner, kept_images, support_rows
from ..descent.held_out import Watch, split
from ..gates.base import Gate
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
    stack : KernelStack
        All Gram matrices are computed here, unless the kernels are projected or in lazy storage.
    gate : Gate
        The gating model, fitted.
    inputs : GatingInputs or NoInputs
        Fitted.
    codes : ndarray of shape (n_samples, ...)
        The training samples as the gating model reads them.
    options : GatingOptions

    Attributes
    ----------
    l2 : float
        The penalty in units of J0, once `starts` has fixed it.
    l2_path : DataFrame or None
        How it was chosen.
    strength : float
        By what ||V||^2 / 2 is multiplied: l2 times J0.
    """

    def __init__(
        self,
        stack: KernelStack,
        gate: Gate,
        inputs: GatingInputs | NoInputs,
        codes: np.ndarray,
        options: GatingOptions,
    ):
        super().__init__(stack)
        self.gate, self.inputs, self.codes, self.options = gate, inputs, codes, options
        self.l2 = 0.0
        self.l2_path: pd.DataFrame | None = None
        self.strength = 0.0

    @property
    def n_kernels(self) -> int:
        """Number of base kernels, P."""
        return self.stack.n_kernels

    @property
    def is_settled(self) -> bool:
        """An infinite penalty leaves the mean kernel."""
        return bool(np.isinf(self.strength))

    def at(self, theta: np.ndarray) -> GatedSum:
        """The gated sum with these parameters, all gates as they are."""
        gates = self.gate.values(theta, self.codes, self.stack.present)
        return GatedSum(self.stack, theta, self.gate, self.inputs, gates, codes=self.codes)

    def pullback(self, kernel: Any, coef: np.ndarray) -> np.ndarray:
        """-1/2 sum_r c_r' (dK_eta / dV) c_r, thesis section 3.3 for any machine."""
        rows, coef = support_rows(coef)
        if kernel.is_lazy:
            slopes = gate_slopes(coef, kernel.images(rows, coef))
        else:
            slopes = gated_pullback(self.stack.matrices(), kernel.gates, rows, coef)[rows]
        return self._from_slopes(kernel, rows, slopes)

    def gradient(self, kernel: Any, solution: Solution) -> np.ndarray:
        """`pullback` of a solution, for nothing where that holds the images k_m (eta_m c) of its coefficients."""
        rows, coef = support_rows(solution.coef)
        images = kept_images(solution, rows, kernel.stack.place)
        if images is None:
            return self.pullback(kernel, solution.coef)
        return self._from_slopes(kernel, rows, gate_slopes(coef, images))

    def _from_slopes(self, kernel: Any, rows: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """dJ/dV from dJ/dgates of some samples."""
        return self.gate.pullback(kernel.theta, self.codes[rows], kernel.gates[rows], slopes)

    def start(self, machine: Machine, y: np.ndarray | None, rng: np.random.RandomState) -> np.ndarray:
        """Small random parameters."""
        return self.gate.start(self.codes, self.n_kernels, rng)

    def starts(
        self,
        machine: Machine,
        y: np.ndarray | None,
        rng: np.random.RandomState,
        n_init: int,
        learner: Learner,
    ) -> list[np.ndarray]:
        """Random gating parameters, or those that were learned with the chosen penalty from parts of the samples."""
        scale = self.mean_optimum(machine)
        random = super().starts(machine, y, rng, n_init, learner)
        if self.options.l2 != "auto":
            self.l2 = float(self.options.l2)
        elif machine.detects_novelty:
            self.l2 = ONE_CLASS_L2
        elif self.gate.per_sample:
            self.l2 = PER_SAMPLE_L2 / machine.n_samples
        else:
            self.l2, learned, self.l2_path = choose_l2(self, machine, random[0], rng, learner)
            self.strength = self.l2 * scale
            if np.isfinite(self.l2):
                run = learner(self, machine)
                random[0] = min(learned, key=lambda theta: run.evaluate(theta)[0])
        self.strength = self.l2 * scale
        return [np.zeros_like(random[0])] if self.is_settled else random

    def mean_optimum(self, machine: Machine) -> float:
        """J0, the size of the optimum under the mean kernel (1 if that is 0), in which the penalty is measured."""
        if not self.gate.learns:  # there is nothing to penalise
            return 1.0
        optimum = abs(machine.solve(self.mean_operand(), gap_tol=PRECISION).objective)
        return optimum if optimum > 0.0 else 1.0

    def mean_operand(self) -> np.ndarray | KernelInParts:
        """The mean kernel of the training samples, as a machine is solved on it."""
        return WeightedSum(self.stack, np.full(self.n_kernels, 1.0 / self.n_kernels)).operand()

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """l2/2 J0 ||V||^2."""
        if self.is_settled:
            return 0.0, np.zeros_like(theta)
        return 0.5 * self.strength * float(theta @ theta), self.strength * theta

    def subset(self, rows: np.ndarray) -> GatedFamily:
        """The same over some of the training samples; copies their Gram matrices where they are stored."""
        return GatedFamily(self.stack.subset(rows), self.gate, self.inputs, self.codes[rows], self.options)

    def watch(self, machine: Machine, rng: np.random.RandomState) -> Watch | None:
        """Hold out a part of the samples for early stopping."""
        if self.options.validation_fraction == 0.0:
            return None
        if self.gate.per_sample:
            raise ValueError(
                f"validation_fraction must be 0 with {type(self.gate).__name__}, which has parameters of its own "
                "for each sample: those of held-out samples could not be learned"
            )
        training, held_out = split(machine, self.options.validation_fraction, rng)
        part, its_machine, judge = self.subset(training), machine.subset(training), machine.subset(held_out)
        part.strength = self.l2 * part.mean_optimum(its_machine)

        def risk(theta: np.ndarray, solution: Solution) -> float:
            return judge.risk(self.held_out_values(theta, solution, training, held_out))

        return Watch(part, its_machine, risk)

    def held_out_values(
        self, theta: np.ndarray, solution: Solution, training: np.ndarray, held_out: np.ndarray
    ) -> np.ndarray:
        """Raw values of held-out samples under a solution on the training part: (n_held_out, n_outputs)."""
        kernel = self.at(theta)
        rows, coef = support_rows(solution.coef)
        columns = training[rows]
        if kernel.is_lazy:
            return kernel.lazy().product(held_out, columns, coef) + solution.intercept
        values = np.zeros((len(held_out), coef.shape[1])) + solution.intercept
        for m in range(self.n_kernels):
            inner = kernel.training_block(m, held_out, columns) @ (kernel.gates[columns, m, None] * coef)
            values += kernel.gates[held_out, m, None] * inner
        return values

    def finish(self, theta: np.ndarray) -> GatedSum:
        """Close small gates; kernels that are closed for every sample leave the model."""
        gates, active = self.closed_gates(self.at(theta))
        return GatedSum(
            self.stack,
            theta,
            self.gate,
            self.inputs,
            gates,
            gate_tol=self.options.gate_tol,
            active=active,
            open_share=(gates > 0.0).mean(axis=0),
        )

    def closed_gates(self, kernel: GatedSum) -> tuple[np.ndarray, np.ndarray]:
        """The gates of the training samples without small ones, and the kernels that are open for some sample."""
        tol, present = self.options.gate_tol, self.stack.present
        codes = np.asarray(kernel.codes)
        active = np.any(self.gate.values(kernel.gate_parameters, codes, present, tol), axis=0)
        if not active.any():
            raise ValueError(f"every gate of every sample is below gate_tol ({tol:g}); lower gate_tol, or l2")
        return self.gate.values(kernel.gate_parameters, codes, present & active, tol), active


def gate_slopes(coef: np.ndarray, images: np.ndarray) -> np.ndarray:
    """dJ/dgates of the samples with these coefficients and images, -sum_r c_ir (k_m (eta_m c_r))_i."""
    return -np.einsum("ir,imr->im", coef, images)
