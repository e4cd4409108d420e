"""`GatedSum`: the kernel sum_m eta_m(x) k_m(x, z) eta_m(z), with gates eta that depend on the sample.

Thesis (3.9) holds for every k_m: a base kernel (here), or the kernel of a learned projection (`ProjectedKernel`).
Prediction evaluates a kernel only between samples whose gates are both open.

==============  ==========================================================
thesis          here
==============  ==========================================================
eta_m(x|V)      `gates` (training samples), `gates_of` (new samples)
V               `theta`
==============  ==========================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...kernels import Kernel
from ...kernels.stacking.stack import NewPart
from ...machines import Machine, Solution
from ...machines.base import Operand
from ...stacks import training
from ...stacks.dense import Points
from ...views import Views
from ..combined import KernelsTimesAmplitudes
from ..gates.base import Gate
from ..gates.function import GateFunction
from ..gates.inputs import GatingInputs, NoInputs


class GatedSum(KernelsTimesAmplitudes):
    """k(x, z) = sum_m eta_m(x) k_m(x, z) eta_m(z): base kernels, weighted by gates.

    Parameters
    ----------
    stack : TrainingStack, or what `restrict` leaves of one
        With codes, while there are training samples.
    theta : ndarray
        The parameters of the gating model.
    gate : Gate
        The gating model, fitted.
    inputs : GatingInputs or NoInputs
        What the gating model reads of samples, fitted.
    gates : ndarray of shape (n_samples, n_kernels) or None
        The gates of the training samples; None where these are in blocks.
    gate_tol : float
        Gates of new samples whose square is below are closed.
    active : ndarray of bool, shape (n_kernels,), optional
        The kernels that are open for some training sample; all by default.
    open_share : ndarray of shape (n_kernels,), optional
        For which share of the training samples each kernel is open; all of them by default.
    mean_weights : ndarray of shape (n_kernels,), optional
        Squared gates, averaged over the training samples; from `gates` by default.

    Attributes
    ----------
    at : Points or None
        Points that kernels compare in the place of the training samples.
    totals : GateTotals or None
        Sums of the gates of training samples in blocks, by class.

    Notes
    -----
    Memory: `gram` makes one n x n matrix beside the P Gram matrices of the stack; in tiles P numbers for each sample.
    """

    shows: tuple[str, ...] = ("gating_coef_", "gating_intercept_")
    takes_fetch = True
    at: Points | None = None
    totals: Any = None

    def __init__(
        self,
        stack: Any,
        theta: np.ndarray,
        gate: Gate,
        inputs: GatingInputs | NoInputs,
        gates: np.ndarray | None,
        *,
        gate_tol: float = 0.0,
        active: np.ndarray | None = None,
        open_share: np.ndarray | None = None,
        mean_weights: np.ndarray | None = None,
    ):
        self.stack, self.theta, self.gate, self.inputs = stack, theta, gate, inputs
        self.gates, self.gate_tol, self.mean_weights = gates, gate_tol, mean_weights
        self.open_kernels = np.ones(stack.n_kernels, dtype=bool) if active is None else active
        self.open_share = np.ones(stack.n_kernels) if open_share is None else open_share

    @property
    def n_samples(self) -> int:
        """Number of training samples, or of those that `restrict` kept."""
        return self.stack.n_samples if self.gates is None else len(self.gates)

    @property
    def active(self) -> np.ndarray:
        """The kernels that are open for some training sample."""
        return self.open_kernels

    @property
    def gate_parameters(self) -> np.ndarray:
        """The parameters V of the gating model; here all of theta."""
        return self.theta

    @property
    def function(self) -> GateFunction:
        """The gates as a function of samples."""
        return GateFunction(self.gate, self.active, fixed=self.gate_parameters, tol=self.gate_tol)

    def settle(self, solution: Solution, machine: Machine) -> None:
        """Find out what a fitted model shows of the gates of training samples in blocks, at a solution."""
        self.totals = training(self.stack).gate_totals(self.function, solution, machine)
        if self.totals is not None:
            count = self.totals.count[0].sum()
            self.mean_weights = self.totals.weights[0].sum(axis=0) / count
            self.open_share = self.totals.opened[0].sum(axis=0) / count

    # Training samples

    @property
    def has_cheap_blocks(self) -> bool:  # type: ignore[override]  # an attribute of other kernels, computed here
        """Whether the P matrices are there, of which `block` and `product` read a part."""
        return training(self.stack).has_cheap_blocks

    def operand(self, out: np.ndarray | None = None) -> Operand:
        """K_eta of the training samples, thesis (3.9)."""
        return training(self.stack).gated(self.function, self.gates, self.at, out)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """K_eta between some training samples and all of them."""
        return training(self.stack).gated_rows(self.gates, self.at, index)

    def block(self, index: np.ndarray) -> np.ndarray:
        """K_eta among some training samples."""
        return training(self.stack).gated_block(self.gates, self.at, index)

    def product(self, index: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """K_eta times coefficients, without K_eta."""
        return training(self.stack).gated_product(self.gates, self.at, index, coef)

    def between(self, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """K_eta between some training samples and others, times coefficients of the others."""
        used = np.flatnonzero(coef.any(axis=1))
        return training(self.stack).gated_values(self.gates, self.at, rows, columns[used], coef[used])

    # New samples

    def gates_of(self, views: Views) -> np.ndarray:
        """The gates of new samples, of shape (n_new, n_kernels)."""
        if views.can_fetch:  # every view that is needed can be fetched
            present = np.tile(self.active, (views.n_samples, 1))
        else:
            present = self.stack.presence(views, self.active)
        return self.gates_at(self.codes_of(views), present)

    def codes_of(self, views: Views) -> np.ndarray:
        """What the gating model reads of new samples."""
        return self.gate.encode(self.inputs.transform(views))

    def gates_at(self, codes: np.ndarray, present: np.ndarray | None = None) -> np.ndarray:
        """The gates of samples with these codes, which have all views unless `present` is given."""
        present = np.tile(self.active, (len(codes), 1)) if present is None else present
        return self.gate.values(self.gate_parameters, codes, present, self.gate_tol)

    def new_parts(self, views: Views) -> tuple[np.ndarray, np.ndarray, Iterator[NewPart]]:
        """The samples with an open gate, for each kernel."""
        new = self.gates_of(views)

        def parts() -> Iterator[NewPart]:
            for m in range(self.n_kernels):
                rows = np.flatnonzero(new[:, m])
                if len(rows) and (self.gates is None or self.gates[:, m].any()):
                    yield m, rows, self.complete(m, views, rows), np.ones(len(rows), dtype=bool)

        return new, new != 0.0, parts()

    def right(self) -> np.ndarray | None:
        """The gates of the training samples; None where coefficients are weight vectors, which contain them."""
        return self.gates

    def alone(self, m: int, views: Views, coef: np.ndarray) -> np.ndarray:
        """What kernel m adds to the values of new samples, which all have its view, as if its gate were 1."""
        right = None if self.gates is None else self.gates[:, m]
        return self.scores(m, views, np.ones(views.n_samples, dtype=bool), coef, right)

    def local_values(self, views: Views, coef: np.ndarray) -> np.ndarray:
        """The part of each kernel in the values of new samples, as if its gate were 1: (n_new, n_outputs, n_kernels).

        0 for kernels that are not active, NaN for samples that lack the view.
        """
        present = self.stack.presence(views, self.active)
        values = np.zeros((views.n_samples, coef.shape[1], self.n_kernels))
        for m in np.flatnonzero(self.active).tolist():
            rows = np.flatnonzero(present[:, m])
            values[~present[:, m], :, m] = np.nan
            if len(rows):
                part = views if len(rows) == views.n_samples else views.rows(rows)
                values[rows, :, m] = self.alone(m, part, coef)
        return values

    # Weights

    def weights(self) -> np.ndarray:
        """The squared gates, averaged over the training samples."""
        return (np.asarray(self.gates) ** 2).mean(axis=0) if self.mean_weights is None else self.mean_weights

    def training_weights(self) -> np.ndarray | None:
        """The squared gates of the training samples; None where these are in blocks."""
        return None if self.gates is None else self.gates**2

    def sample_weights(self, views: Views) -> np.ndarray:
        """The squared gates of new samples, which multiply k_m(x, x)."""
        return self.gates_of(views) ** 2

    # What prediction takes, and what is kept

    def evaluations(self, coef: np.ndarray) -> np.ndarray:
        """Support vectors with an open gate, or landmarks, times the share of training samples with one."""
        compared = super().evaluations(coef) if self.gates is None else (self.gates > 0.0).sum(axis=0)
        return compared * self.open_share

    def kept(self, index: np.ndarray) -> dict[str, Any]:
        """What `restrict` keeps of the gates."""
        return {
            "gates": None if self.gates is None else self.gates[index],
            "gate_tol": self.gate_tol,
            "active": self.active,
            "open_share": self.open_share,
            "mean_weights": self.mean_weights,
        }

    def restrict(self, index: np.ndarray) -> GatedSum:
        """The kernel over some training samples, with what prediction needs."""
        stack = self.stack.restrict(index, self.active)
        return GatedSum(stack, self.theta, self.gate, self.inputs, **self.kept(index))

    def reads(self) -> np.ndarray:
        """The columns of the gating inputs."""
        return self.inputs.columns()

    def replace(self, m: int, kernel: Kernel) -> None:
        """Install an extended kernel in the place of base kernel m, and of the gating kernel if that is the same."""
        old = self.stack.kernels[m]
        self.stack.replace(m, kernel)
        self.inputs.replace(old, kernel)

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices inside the kernels and the gating kernel."""
        return [*self.stack.lookups(self.active), *self.inputs.lookups()]

    def attributes(self) -> Mapping[str, Any]:
        """Slopes and biases of the scores, if the gating model is linear."""
        found = self.gating_coefficients()
        if found is None:
            return {}
        return {
            "gating_coef_": pd.DataFrame(found[0], self.input_names(), self.names, copy=True),
            "gating_intercept_": pd.Series(found[1], self.names, copy=True),
        }

    def input_names(self) -> list[str]:
        """What the gating inputs are called."""
        return self.inputs.names(training(self.stack).sample())

    def gating_coefficients(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Slopes of the scores by the gating inputs, of shape (n_inputs, n_kernels), and biases; None if not linear."""
        found = self.gate.coefficients(self.gate_parameters, self.n_kernels)
        return None if found is None else (found[0].T, found[1])

    def complete(self, m: int, views: Views, rows: np.ndarray) -> Views:
        """Some samples, of which each has the view of kernel m; it is fetched where it is missing and can be."""
        part = views if len(rows) == views.n_samples else views.rows(rows)
        kernel = self.stack.kernels[m]
        partly = getattr(kernel, "takes_missing_cells", False)
        view = getattr(kernel, "view", None)
        return part.complete(kernel.columns(), view if isinstance(view, str) else self.names[m], partly=partly)
