"""What combiners with a gating model share: K = sum_m diag(g_m) K_m diag(g_m), with gates g that depend on the sample.

Thesis (3.9) holds whatever K_m is: a base kernel (`Localized`) or the kernel of a learned projection (`Projected`).
Here is everything that only needs the gates and blocks of K_m: closing small gates, dropping kernels that nobody uses,
predicting from open gates only, holding samples out, and saying when a one-class model has collapsed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from .._parameters import is_number, shown
from .._warnings import warn
from ..kernels import KernelStack
from ..machines import Machine, OneClassMachine, Solution
from ..views import Views
from .base import Combination
from .gated_stack import GatedStack
from .gating import Gate, LinearGate
from .learning import LearnedCombiner, support_rows
from .watching import Watch, split


class GatedCombiner(LearnedCombiner):
    """A combiner k(x, z) = sum_m eta_m(x) k_m(x, z) eta_m(z) whose gates eta (and perhaps k_m) are learned.

    Minimises J(theta) plus a penalty. Subclasses implement `block` and `training_block`, the values of k_m, and what
    `LearnedCombiner` asks; they have the parameters `gating`, `inputs`, `quadratic`, `scaling`, `l2`, `gate_tol` and
    `validation_fraction` of `Localized`.
    """

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
        if is_one_class(machine):
            self._warn_of_collapse(found.state)
        return found

    def penalize(self, state: GatedStack, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """l2/2 ||V||^2, without the biases."""
        gradient = np.zeros_like(theta)
        part = self.gating_.penalized(theta, state.n_kernels)
        self.gating_.penalized(gradient, state.n_kernels)[:] = self.l2 * part
        return 0.5 * self.l2 * float(part @ part), gradient

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
        judge = machine.subset(held_out)

        def risk(theta: np.ndarray, solution: Solution) -> float:
            gates = self._gates(theta, state.codes, state.stack.present)
            rows, coef = support_rows(solution.coef)
            columns = training[rows]
            values = np.zeros((len(held_out), coef.shape[1])) + solution.intercept
            for m in range(state.n_kernels):
                inner = self.training_block(state, theta, m, held_out, columns) @ (gates[columns, m, None] * coef)
                values += gates[held_out, m, None] * inner
            return judge.risk(values)

        return Watch(state.subset(training), machine.subset(training), risk)

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
        """The gates of new samples."""
        if views.can_fetch:  # whatever is needed can be had
            present = np.tile(state.active, (views.n_samples, 1))
        else:
            present = state.stack.presence(views, state.active)
        return self._gates(theta, self.gating_.encode(state.inputs.transform(views)), present, self.gate_tol)

    def sample_weights(self, state: GatedStack, theta: np.ndarray) -> np.ndarray:
        """The gates of the training samples."""
        return state.gates

    def global_weights(self, state: GatedStack, theta: np.ndarray) -> np.ndarray:
        """The gates averaged over the training samples."""
        return state.gates.mean(axis=0)

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
        new = self.kernel_weights(state, theta, views)
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
        for name, limit in (("l2", np.inf), ("gate_tol", 1.0), ("validation_fraction", 1.0)):
            self._check_number(name, limit)

    def _check_number(self, name: str, limit: float) -> None:
        value = getattr(self, name)
        if not is_number(value) or not 0.0 <= value < limit:
            owner = type(self).__name__
            raise ValueError(f"{name} of {owner} must be a number from 0 and below {limit:g}, not {shown(value)}")

    def _warn_of_collapse(self, state: GatedStack) -> None:
        """Gates that are 0 or 1, and the same for every sample, as one-class machines like them."""
        present = state.stack.present
        free = present.sum(axis=1) > 1  # samples with one view have no choice
        if not free.any():
            return
        gates, present = state.gates[free], present[free]
        on = gates.sum(axis=0) > 0.5 * present.sum(axis=0)
        if np.abs(np.where(present, gates - on, 0.0)).max() < 0.05:
            names = ", ".join(name for name, is_on in zip(state.stack.names, on, strict=True) if is_on)
            others = "" if on.all() else ", and 0 for the other kernels"
            warn(
                f"the gates have collapsed: every sample has gate 1 for {names}{others}; this one-class model is not "
                "localized (raise l2, or use a combiner with one weight per kernel)",
            )


def is_one_class(machine: Machine) -> bool:
    """Whether a machine, perhaps one that is restarted, detects novelty."""
    return isinstance(getattr(machine, "_machine", machine), OneClassMachine)
