"""What combiners with a gating model share: K = sum_m diag(g_m) K_m diag(g_m), with gates g that depend on the sample.

Thesis (3.9) holds whatever K_m is: a base kernel (`Localized`) or the kernel of a learned projection (`Projected`).
Here is everything that only needs the gates and blocks of K_m: the penalty on the gating parameters, closing small
gates, dropping kernels that nobody uses, predicting from open gates only, holding samples out, and saying so when gates
hardly depend on the sample.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._parameters import is_choice, is_number, shown
from ..._warnings import warn
from ...kernels import KernelStack
from ...machines import Machine, OneClassMachine, Solution
from ...views import Views
from ..base import Combination
from ..descent.learning import LearnedCombiner, support_rows
from ..descent.watching import Watch, split
from ..gates.base import NORMS, Gate, LinearGate
from ..gates.even import EvenGate
from ..weighted.fixed import Mean
from .gated_stack import GatedStack
from .l2_path import choose_l2

HARDLY = 0.01  # share of the weight that differs between samples, below which a model is not localized
ONE_CLASS_L2 = 0.3  # no held-out loss tells whether novelty is detected
# Divided by the number of samples, of which each has parameters of its own and cannot be held out: of 10, 3, 1, 0.3 and
# 0.1 on held-out samples of six sets 3 stays within 0.3 points of the mean kernel, 1 loses up to 12.
PER_SAMPLE_L2 = 3.0
PRECISION = 1e-4  # relative duality gap of J0
TINY = np.finfo(float).tiny


class GatedCombiner(LearnedCombiner):
    """A combiner k(x, z) = sum_m eta_m(x) k_m(x, z) eta_m(z) whose gates eta (and perhaps k_m) are learned.

    Minimises J + l2/2 J0 ||V||^2, where J0 is the optimum under the mean kernel and V are all parameters of the gating
    model, biases too. Subclasses implement `block` and `training_block`, the values of k_m, and what `LearnedCombiner`
    asks; they have the parameters `gating`, `inputs`, `quadratic`, `scaling`, `l2`, `gate_tol` and
    `validation_fraction` of `Localized`.
    """

    chooses_l2 = False  # whether l2 may be "auto"
    l2_: float

    takes_fetch = True

    @abstractmethod
    def block(self, state: Any, theta: np.ndarray, m: int, views: Views, columns: np.ndarray | None) -> np.ndarray:
        """k_m between new samples, which all have its view, and some of the kept training samples (None: all)."""

    @abstractmethod
    def training_block(
        self, state: Any, theta: np.ndarray, m: int, rows: np.ndarray, columns: np.ndarray
    ) -> np.ndarray:
        """k_m between training samples, while theta is learned."""

    def fit(self, stack, machine, y, rng, tol=1e-3, max_steps=None, progress=None) -> Combination:
        """Learn the gating model, close small gates, then solve the machine."""
        found = super().fit(stack, machine, y, rng, tol, max_steps, progress)
        self._tell_of_even_gates(found.state, machine)
        return found

    def starts(self, state: GatedStack, machine: Machine, y, rng, learner) -> list[np.ndarray]:
        """Random gating parameters, or those that were learned with the chosen penalty from parts of the samples."""
        scale = self.mean_optimum(state, machine)
        random = super().starts(state, machine, y, rng, learner)
        self.__dict__.pop("l2_path_", None)
        if self.l2 != "auto":
            self.l2_ = float(self.l2)
        elif is_one_class(machine) or self.gating_.per_sample:
            self.l2_ = ONE_CLASS_L2 if is_one_class(machine) else PER_SAMPLE_L2 / machine.n_samples
        else:
            self.l2_, learned, self.l2_path_ = choose_l2(self, state, machine, random[0], rng, learner)
            state.penalty = self.l2_ * scale
            if np.isfinite(self.l2_):
                run = learner(state, machine)
                random[0] = min(learned, key=lambda theta: run.evaluate(theta)[0])
        state.penalty = self.l2_ * scale
        return [np.zeros_like(random[0])] if self.is_settled(state) else random

    def mean_optimum(self, state: GatedStack, machine: Machine) -> float:
        """J0, the size of the optimum under the mean kernel (1 where that is 0), in which the penalty is measured."""
        if isinstance(self.gating_, EvenGate):  # there is nothing to penalise
            return 1.0
        optimum = abs(machine.solve(self.mean_gram(state), gap_tol=PRECISION).objective)
        return optimum if optimum > 0.0 else 1.0

    def mean_gram(self, state: Any) -> np.ndarray:
        """The mean kernel of the training samples."""
        return Mean().gram(state.stack, np.full(state.n_kernels, 1.0 / state.n_kernels))

    def is_settled(self, state: GatedStack) -> bool:
        """An infinite penalty leaves the mean kernel."""
        return bool(np.isinf(state.penalty))

    def penalize(self, state: GatedStack, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """l2/2 J0 ||V||^2."""
        if self.is_settled(state):
            return 0.0, np.zeros_like(theta)
        return 0.5 * state.penalty * float(theta @ theta), state.penalty * theta

    def watch(self, state: GatedStack, machine: Machine, rng: np.random.RandomState) -> Watch | None:
        """Hold out a part of the samples for early stopping."""
        if self.validation_fraction == 0.0:
            return None
        if self.gating_.per_sample:
            raise ValueError(
                f"validation_fraction must be 0 with {type(self.gating_).__name__}, which has parameters of its own "
                "for each sample: those of held-out samples could not be learned"
            )
        training, held_out = split(machine, self.validation_fraction, rng)
        part, its_machine, judge = state.subset(training), machine.subset(training), machine.subset(held_out)
        part.penalty = self.l2_ * self.mean_optimum(part, its_machine)

        def risk(theta: np.ndarray, solution: Solution) -> float:
            return judge.risk(self.held_out_values(state, theta, solution, training, held_out))

        return Watch(part, its_machine, risk)

    def held_out_values(
        self, state: GatedStack, theta: np.ndarray, solution: Solution, training: np.ndarray, held_out: np.ndarray
    ) -> np.ndarray:
        """Raw values of held-out samples under a solution on the training part: (n_held_out, n_outputs)."""
        gates = self._gates(theta, state.codes, state.stack.present)
        rows, coef = support_rows(solution.coef)
        columns = training[rows]
        values = np.zeros((len(held_out), coef.shape[1])) + solution.intercept
        for m in range(state.n_kernels):
            inner = self.training_block(state, theta, m, held_out, columns) @ (gates[columns, m, None] * coef)
            values += gates[held_out, m, None] * inner
        return values

    def finish(self, state: GatedStack, theta: np.ndarray) -> np.ndarray:
        """Close small gates; kernels that are closed everywhere leave the model."""
        active = self._gates(theta, state.codes, state.stack.present, self.gate_tol).any(axis=0)
        if not active.any():
            raise ValueError(f"every gate of every sample is below gate_tol ({self.gate_tol:g}); lower gate_tol, or l2")
        state.settle(self._gates(theta, state.codes, state.stack.present & active, self.gate_tol), active)
        return theta

    def active(self, state: GatedStack, theta: np.ndarray) -> np.ndarray:
        """The kernels that are open for some training sample."""
        return state.active

    def cross(self, state: GatedStack, theta: np.ndarray, views: Views) -> np.ndarray:
        """K_eta between new samples and training samples, thesis (3.9)."""
        K = np.zeros((views.n_samples, len(state.gates)))
        for m, new, rows, columns, block in self._open_blocks(state, theta, views):
            block *= new[rows, m, None]
            block *= state.gates[columns, m]
            K[np.ix_(rows, columns)] += block
        return K

    def values(self, state: GatedStack, theta: np.ndarray, views: Views, coef: np.ndarray) -> np.ndarray:
        """K_eta of new samples times coefficients, without forming K_eta."""
        values = np.zeros((views.n_samples, coef.shape[1]))
        for m, new, rows, columns, block in self._open_blocks(state, theta, views):
            values[rows] += new[rows, m, None] * (block @ (state.gates[columns, m, None] * coef[columns]))
        return values

    def local_values(self, state: Any, theta: np.ndarray, views: Views, coef: np.ndarray) -> np.ndarray:
        """What each kernel alone says of new samples, as if its gate were 1: of shape (n_new, n_outputs, n_kernels).

        0 for kernels that are not active, NaN where a sample lacks the view.
        """
        present = state.stack.presence(views, state.active)
        values = np.zeros((views.n_samples, coef.shape[1], state.n_kernels))
        for m in np.flatnonzero(state.active):
            rows = np.flatnonzero(present[:, m])
            values[~present[:, m], :, m] = np.nan
            if len(rows):
                part = views if len(rows) == views.n_samples else views.rows(rows)
                values[rows, :, m] = self.block(state, theta, m, part, None) @ (state.gates[:, m, None] * coef)
        return values

    def kernel_weights(self, state: GatedStack, theta: np.ndarray, views: Views) -> np.ndarray:
        """The squared gates of new samples, which multiply k_m(x, x)."""
        return self.gates(state, theta, views) ** 2

    def gates(self, state: GatedStack, theta: np.ndarray, views: Views) -> np.ndarray:
        """The gates of new samples, of shape (n_new, n_kernels)."""
        if views.can_fetch:  # whatever is needed can be had
            present = np.tile(state.active, (views.n_samples, 1))
        else:
            present = state.stack.presence(views, state.active)
        return self._gates(theta, self.gating_.encode(state.inputs.transform(views)), present, self.gate_tol)

    def sample_weights(self, state: GatedStack, theta: np.ndarray) -> np.ndarray:
        """The squared gates of the training samples."""
        return state.gates**2

    def global_weights(self, state: GatedStack, theta: np.ndarray) -> np.ndarray:
        """The squared gates averaged over the training samples."""
        return (state.gates**2).mean(axis=0)

    def gating_coefficients(self, theta: np.ndarray, n_kernels: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Slopes of the scores by the gating inputs, of shape (n_inputs, n_kernels), and biases; None if not linear."""
        if not isinstance(self.gating_, LinearGate):
            return None
        slopes, biases = self.gating_.coefficients(theta, n_kernels)
        return slopes.T, biases

    def reads(self, state: GatedStack) -> np.ndarray:
        """The columns of the gating inputs."""
        return state.inputs.columns()

    def evaluations(self, state: GatedStack, theta: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Support vectors with an open gate, times the share of training samples with one.

        That is how many of them a new sample is compared with on average, if it is like the training samples.
        """
        return (state.gates > 0.0).sum(axis=0) * state.open_share

    def _codes(self, inputs: Any, gating: Gate, stack: KernelStack, rng: np.random.RandomState) -> np.ndarray:
        """A fresh gating model, and the training samples as it reads them."""
        values = inputs.fit(stack, rng)
        self.gating_ = clone(gating)
        self.gating_.prepare(values, rng)
        return self.gating_.encode(values)

    def _open_blocks(
        self, state: GatedStack, theta: np.ndarray, views: Views
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Kernel values between new and training samples whose gates are both open, kernel by kernel."""
        new = self.gates(state, theta, views)
        for m in range(state.n_kernels):
            rows, columns = np.flatnonzero(new[:, m]), np.flatnonzero(state.gates[:, m])
            if len(rows) and len(columns):
                part = views if len(rows) == views.n_samples else views.rows(rows)
                part = part.complete(state.stack.kernels[m].columns(), state.view_name(m))
                some = None if len(columns) == len(state.gates) else columns
                yield m, new, rows, columns, self.block(state, theta, m, part, some)

    def _training_gates(self, state: GatedStack, theta: np.ndarray) -> np.ndarray:
        """The gates of the training samples: final ones, those of the last theta, or new ones."""
        if state.gates is not None:
            return state.gates
        last, gates = state.latest
        if last is not theta:
            gates = self._gates(theta, state.codes, state.stack.present)
            state.latest = theta, gates
        return gates

    def _gates(self, theta: np.ndarray, codes: np.ndarray, present: np.ndarray, tol: float = 0.0) -> np.ndarray:
        parameters, codes = self._gating(theta, codes)
        return self.gating_.values(parameters, codes, present, tol)

    def _gating(self, theta: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The parameters V of the gating model and what it reads of samples; here all of theta, and the codes."""
        return theta, codes

    def _check(self) -> None:
        if self.gating is not None and not isinstance(self.gating, Gate):
            raise ValueError(f"gating must be a gating model such as Softmax() or None, not {shown(self.gating)}")
        if self.gating is not None and not is_choice(self.gating.norm, NORMS):
            owner = type(self.gating).__name__
            raise ValueError(f"norm of {owner} must be one of {list(NORMS)}, not {shown(self.gating.norm)}")
        for name, limit in (("gate_tol", 1.0), ("validation_fraction", 1.0)):
            self._check_number(name, limit)
        if self.chooses_l2 and is_number(self.l2) and self.l2 == np.inf:
            return
        if not (self.chooses_l2 and isinstance(self.l2, str) and self.l2 == "auto"):
            self._check_number("l2", np.inf, 'or "auto"' if self.chooses_l2 else "")
        elif self.validation_fraction > 0.0:
            raise ValueError('l2="auto" holds out samples by itself; set validation_fraction to 0, or l2 to a number')

    def _check_number(self, name: str, limit: float, otherwise: str = "") -> None:
        value = getattr(self, name)
        if not is_number(value) or not 0.0 <= value < limit:
            owner = type(self).__name__
            wanted = f"a number from 0 and below {limit:g}" + (f" {otherwise}" if otherwise else "")
            raise ValueError(f"{name} of {owner} must be {wanted}, not {shown(value)}")

    def _tell_of_even_gates(self, state: GatedStack, machine: Machine) -> None:
        """Say so where gates hardly depend on the sample: a model with one weight per kernel would do."""
        whole = state.stack.present.all(axis=1)  # samples that lack views have other gates anyway
        if state.n_kernels < 2 or not whole.any() or isinstance(self.gating_, EvenGate):
            return
        weights = state.gates[whole] ** 2
        average = weights.mean(axis=0)
        if 0.5 * np.abs(weights - average).sum(axis=1).mean() > HARDLY * max(average.sum(), TINY):
            return
        warn(f"{self._reason(average)}: this model is not localized; {self._advice(average, machine)}")

    def _reason(self, average: np.ndarray) -> str:
        if not hasattr(self, "l2_path_") or np.isfinite(self.l2_):
            return "every sample has nearly the same kernel weights (kernel_weights_)"
        if self.l2_path_.empty:
            return 'no class has a second sample that could be held out, so l2="auto" took equal gates'
        return 'held-out samples give no reason to weigh kernels differently, so l2="auto" took equal gates'

    def _advice(self, average: np.ndarray, machine: Machine) -> str:
        if is_one_class(machine):
            return "for novelty detection prefer Mean(), because J only favours the kernel of largest similarities"
        if np.abs(average - 1.0 / len(average)).max() < HARDLY:
            return "Mean() is this model at less cost"
        return "a combiner with one weight for each kernel, such as ConvexMKL(), costs less"


def is_one_class(machine: Machine) -> bool:
    """Whether a machine, perhaps one that is restarted, detects novelty."""
    return isinstance(getattr(machine, "_machine", machine), OneClassMachine)
