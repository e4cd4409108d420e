"""Localized multiple kernel learning: weights that a gating model gives to each sample (thesis chapter 3).

    k_eta(x, z) = sum_m eta_m(x|V) k_m(x, z) eta_m(z|V)                              (3.9)
    minimise over V   J(V) + l2/2 J0 ||V||^2,     J(V) = max_C l(C) - 1/2 sum_r c_r' K_eta c_r      (3.8), any machine

where J0 is the optimum under the mean kernel, so that l2 means the same for every C, machine and number of samples, and
V = 0 is the mean kernel (with gates of unit length; the papers' gates have it times a constant there). (3.9) holds for
every k_m: a base kernel (`GatedSum`), or the kernel of a learned projection (`projected.ProjectedKernel`).

With gates g (n_samples x n_kernels) K_eta = sum_m diag(g_m) K_m diag(g_m), positive semidefinite for any g. The
gradient is one contraction with the coefficients, dJ/dg_im = -sum_r c_ir (K_m (g_m * c_r))_i, that the gating model
pulls back to V. So classification, regression, novelty detection and multiclass problems need no formula of their own.

==============  ==============================================================================
thesis          here
==============  ==============================================================================
eta_m(x|V)      gates: `GatedSum.gates` (training samples), `GatedSum.gates_of` (new samples)
V               theta
x^G             the codes that the stack has, made by `GatingInputs`
Upsilon_i^j     C C', the outer product of coefficients
==============  ==============================================================================

``l2="auto"``: along the path of penalties of `Localized`, gates are learned from a part of the samples, roughly, each
from the last (with a little noise where those of two kernels hardly differ: copies of one stay alike without it), and
judged by the loss on the others (`stacks.held_out`), by paired differences. The hinge loss would be smoother, but
prefers penalties that are too weak.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import clone

from .._warnings import warn
from ..kernels import Kernel, KernelStack
from ..kernels.stack import NewPart
from ..machines import Machine, Solution
from ..machines.base import Operand
from ..machines.independent import in_threads
from ..stacks import FitControl, TrainingStack, training
from ..stacks.dense import Points
from ..stacks.descent import JointProblem, Start, Watch
from ..stacks.explicit import Features
from ..stacks.held_out import BlockPart, ExactPart, LossSums
from ..validation import Choice, Constraints, Exactly, Flag, Instance, Number, check_parameters
from ..validation.schemas import (
    Schema,
    Sizes,
    anything,
    expect,
    flags,
    is_own,
    nothing,
    number,
    numbers,
    object_of,
    refuse,
    together,
)
from ..views import Views
from .combined import ExplicitState, KernelsTimesAmplitudes, Record
from .descent import DescentCombiner, KernelFamily, Learner, support_rows
from .gates import SMALL, Gate, GateFunction, RegionGate, Softmax
from .inputs import SCALINGS, GatingInputs, NoInputs, needs_of
from .weighted import WeightedSum


class GatedStack(Record):
    """The gates of the support vectors, and what new ones are computed of."""

    taken: tuple[str, ...] = ("stack", "inputs", "gates", "active", "open_share")
    _saved = Schema(
        {
            "stack": object_of(KernelStack, "columns", "kernels", "support"),
            "inputs": object_of((GatingInputs, NoInputs), "columns", "kernels"),
            "codes": nothing,
            "latest": together(nothing, nothing),
            "penalty": anything,
            "gates": numbers("support", "kernels"),
            "active": flags("kernels"),
            "open_share": numbers("kernels"),
        }
    )

    @classmethod
    def of(cls, kernel: Any) -> Self:
        unread = {"codes": None, "penalty": 0.0, "latest": (None, None)}  # they had a meaning in a fit
        return cls(**vars(super().of(kernel)), **unread)

    def restored(self, combiner: Any, theta: np.ndarray) -> GatedSum:
        shares = {"gate_tol": combiner.gate_tol, "active": self.active, "open_share": self.open_share}
        return GatedSum(self.stack, theta, combiner.gating_, self.inputs, self.gates, **shares)

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if self.gates[:, ~self.active].any():
            refuse(f"{path}.gates", "are open for kernels that are not active")
        if type(self) is GatedStack and (self.active & ~self.stack.active).any():
            refuse(f"{path}.active", "counts kernels of which nothing is kept")


class ExplicitGates(ExplicitState):
    taken = ("inputs", "active", "mean_weights", "open_share")
    _saved = Schema(
        {
            "inputs": object_of((GatingInputs, NoInputs), "columns", "kernels"),
            "active": flags("kernels"),
            "mean_weights": numbers("kernels", low=0.0),
            "open_share": numbers("kernels", low=0.0),
        }
    )

    def restored(self, combiner: Any, theta: np.ndarray) -> GatedSum:
        shares: dict[str, Any] = {name: getattr(self, name) for name in ("active", "mean_weights", "open_share")}
        return combiner._of_features(self.features(), theta, self.inputs, gate_tol=combiner.gate_tol, **shares)

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if (self.active & ~self.stack.active).any():
            refuse(f"{path}.active", "counts kernels of which nothing is kept")


class ReadsInputs(KernelsTimesAmplitudes):
    """Amplitudes that are functions of gating inputs: `gate` is prepared, and `inputs` are fitted."""

    gate: Gate
    inputs: GatingInputs | NoInputs

    def codes_of(self, views: Views) -> np.ndarray:
        return self.gate.encode(self.inputs.transform(views))

    def reads(self) -> np.ndarray:
        return self.inputs.columns()

    def replace(self, m: int, kernel: Kernel) -> None:
        old = self.stack.kernels[m]
        self.stack.replace(m, kernel)
        self.inputs.replace(old, kernel)

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        return [*self.stack.lookups(self.active), *self.inputs.lookups()]


class GatedSum(ReadsInputs):
    """k(x, z) = sum_m eta_m(x) k_m(x, z) eta_m(z): base kernels, weighted by gates."""

    shows: tuple[str, ...] = ("gating_coef_", "gating_intercept_")
    takes_fetch = True
    at: Points | None = None
    totals: Any = None
    _of_fit = (*KernelsTimesAmplitudes._of_fit, "totals")

    _record_of_samples: type[Record] = GatedStack

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
        return self.stack.n_samples if self.gates is None else len(self.gates)

    @property
    def active(self) -> np.ndarray:
        return self.open_kernels

    @property
    def gate_parameters(self) -> np.ndarray:
        return self.theta

    @property
    def function(self) -> GateFunction:
        return GateFunction(self.gate, self.active, fixed=self.gate_parameters, tol=self.gate_tol)

    def settle(self, solution: Solution, machine: Machine) -> None:
        """Find what a fitted model shows of the gates of training samples in blocks, at a solution."""
        self.totals = training(self.stack).gate_totals(self.function, solution, machine)
        if self.totals is not None:
            count = self.totals.count[0].sum()
            self.mean_weights = self.totals.weights[0].sum(axis=0) / count
            self.open_share = self.totals.opened[0].sum(axis=0) / count

    # Training samples

    @property
    def has_cheap_blocks(self) -> bool:  # type: ignore[override]  # an attribute of other kernels, computed here
        """Whether the P matrices exist, so that `block` and `product` read a part of them."""
        return training(self.stack).has_cheap_blocks

    def operand(self, out: np.ndarray | None = None) -> Operand:
        return training(self.stack).gated(self.function, self.gates, self.at, out)

    def rows(self, index: np.ndarray) -> np.ndarray:
        return training(self.stack).gated_rows(self.gates, self.at, index)

    def block(self, index: np.ndarray) -> np.ndarray:
        return training(self.stack).gated_block(self.gates, self.at, index)

    def product(self, index: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return training(self.stack).gated_product(self.gates, self.at, index, coef)

    def between(self, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(coef.any(axis=1))
        return training(self.stack).gated_values(self.gates, self.at, rows, columns[used], coef[used])

    # New samples

    def gates_of(self, views: Views) -> np.ndarray:
        if views.can_fetch:  # every view that is needed can be fetched
            present = np.tile(self.active, (views.n_samples, 1))
        else:
            present = self.stack.presence(views, self.active)
        return self.gates_at(self.codes_of(views), present)

    def gates_at(self, codes: np.ndarray, present: np.ndarray | None = None) -> np.ndarray:
        present = np.tile(self.active, (len(codes), 1)) if present is None else present
        return self.gate.values(self.gate_parameters, codes, present, self.gate_tol)

    def new_parts(self, views: Views) -> tuple[np.ndarray, np.ndarray, Iterator[NewPart]]:
        new = self.gates_of(views)

        def parts() -> Iterator[NewPart]:
            for m in range(self.n_kernels):
                rows = np.flatnonzero(new[:, m])
                if len(rows) and (self.gates is None or self.gates[:, m].any()):
                    yield m, rows, self.complete(m, views, rows), np.ones(len(rows), dtype=bool)

        return new, new != 0.0, parts()

    def right(self) -> np.ndarray | None:
        return self.gates

    def alone(self, m: int, views: Views, coef: np.ndarray) -> np.ndarray:
        right = None if self.gates is None else self.gates[:, m]
        return self.scores(m, views, np.ones(views.n_samples, dtype=bool), coef, right)

    def local_values(self, views: Views, coef: np.ndarray) -> np.ndarray:
        """Parts of new values if gates were 1: (n_new, n_outputs, n_kernels), 0 if not active, NaN if lacking."""
        present = self.stack.presence(views, self.active)
        values = np.zeros((views.n_samples, coef.shape[1], self.n_kernels))
        for m in np.flatnonzero(self.active).tolist():
            rows = np.flatnonzero(present[:, m])
            values[~present[:, m], :, m] = np.nan
            if len(rows):
                part = views if len(rows) == views.n_samples else views.rows(rows)
                values[rows, :, m] = self.alone(m, part, coef)
        return values

    def local_weights(self, m: int, coef: np.ndarray) -> np.ndarray | None:
        """The vectors w of a linear kernel m, as if its gate were 1: <w, x> is its part in `local_values`."""
        gates = np.ones(len(coef)) if self.gates is None else self.gates[:, m]
        return self.stack.feature_weights(m, coef, gates)

    # Weights

    def weights(self) -> np.ndarray:
        return (np.asarray(self.gates) ** 2).mean(axis=0) if self.mean_weights is None else self.mean_weights

    def training_weights(self) -> np.ndarray | None:
        return None if self.gates is None else self.gates**2

    def sample_weights(self, views: Views) -> np.ndarray:
        return self.gates_of(views) ** 2

    # What prediction takes, and what is kept

    def evaluations(self, coef: np.ndarray) -> np.ndarray:
        """Support vectors with an open gate, or landmarks, times the share of training samples with one."""
        compared = super().evaluations(coef) if self.gates is None else (self.gates > 0.0).sum(axis=0)
        return compared * self.open_share

    def restrict(self, index: np.ndarray) -> GatedSum:
        gates = None if self.gates is None else self.gates[index]
        return self._over(self.stack.restrict(index, self.active), gates=gates)

    def attributes(self) -> Mapping[str, Any]:
        found = self.gating_coefficients()
        if found is None:
            return {}
        return {
            "gating_coef_": pd.DataFrame(found[0], self.input_names(), self.names, copy=True),
            "gating_intercept_": pd.Series(found[1], self.names, copy=True),
        }

    def input_names(self) -> list[str]:
        return self.inputs.names(training(self.stack).sample())

    def gating_coefficients(self) -> tuple[np.ndarray, np.ndarray] | None:
        found = self.gate.coefficients(self.gate_parameters, self.n_kernels)
        return None if found is None else (found[0].T, found[1])

    def complete(self, m: int, views: Views, rows: np.ndarray) -> Views:
        """Some samples with the view of kernel m, which is fetched where it is missing and can be."""
        part = views if len(rows) == views.n_samples else views.rows(rows)
        kernel = self.stack.kernels[m]
        partly = getattr(kernel, "takes_missing_cells", False)
        view = getattr(kernel, "view", None)
        return part.complete(kernel.columns(), view if isinstance(view, str) else self.names[m], partly=partly)

    def _record(self) -> Record:
        return (self._record_of_samples if self.of_samples else ExplicitGates).of(self)


ONE_CLASS_L2 = 0.3  # no held-out loss measures whether novelty is detected
# Divided by the number of samples, of which each has parameters of its own and cannot be held out: of 10, 3, 1, 0.3 and
# 0.1 on held-out samples of six sets 3 stays within 0.3 points of the mean kernel, 1 loses up to 12.
PER_SAMPLE_L2 = 3.0
PRECISION = 1e-4  # relative duality gap of J0


class GatedFamily(KernelFamily):
    def __init__(self, stack: TrainingStack, gate: Gate, inputs: GatingInputs | NoInputs, options: GatedCombiner):
        super().__init__(stack)
        self.gate, self.inputs, self.options = gate, inputs, options
        self.l2 = 0.0  # the penalty in units of J0, once `starts` has fixed it
        self.l2_path: pd.DataFrame | None = None  # how it was chosen
        self.strength = 0.0  # what ||V||^2 / 2 is multiplied by: l2 times J0
        self.mean: Solution | None = None  # the optimum under the mean kernel, where it was computed
        self.passes = 0  # passes over blocks, which the next descent counts as its own

    @property
    def n_kernels(self) -> int:
        return self.stack.n_kernels

    @property
    def is_settled(self) -> bool:
        """An infinite penalty leaves the mean kernel."""
        return bool(np.isinf(self.strength))

    @property
    def amplitudes(self) -> GateFunction:
        return GateFunction(self.gate, np.ones(self.n_kernels, dtype=bool), self.n_parameters)

    @property
    def n_parameters(self) -> int:
        return len(self.gate.start(self.stack.some_codes, self.n_kernels, np.random.RandomState(0)))

    def over(self, stack: TrainingStack) -> GatedFamily:
        return GatedFamily(stack, self.gate, self.inputs, self.options)

    def at(self, theta: np.ndarray) -> GatedSum:
        return GatedSum(self.stack, theta, self.gate, self.inputs, self.stack.gates(self.gate_function(theta)))

    def gate_function(self, V: np.ndarray, gate: Gate | None = None, tol: float = 0.0) -> GateFunction:
        return GateFunction(gate or self.gate, np.ones(self.n_kernels, dtype=bool), fixed=V, tol=tol)

    def pullback(self, kernel: Any, coef: np.ndarray, solution: Solution | None = None) -> np.ndarray:
        """-1/2 sum_r c_r' (dK_eta / dV) c_r, thesis section 3.3 for any machine."""
        rows, coef = support_rows(coef)
        return self._from_slopes(kernel, rows, *kernel.stack.slopes(kernel.gates, kernel.at, rows, coef, solution))

    def gradient(self, kernel: Any, solution: Solution) -> np.ndarray:
        return self.pullback(kernel, solution.coef, solution)

    def _from_slopes(
        self, kernel: Any, rows: np.ndarray, by_gates: np.ndarray, by_points: list[np.ndarray]
    ) -> np.ndarray:
        return self.gate.pullback(kernel.theta, self.stack.codes[rows], kernel.gates[rows], by_gates)

    def differs(self, theta: np.ndarray) -> bool:
        """Whether gates of any two kernels differ by more than those of a random start: copies of one may not."""
        codes = self.stack.some_codes
        scores = self.gate.scores(theta, codes[:: max(1, len(codes) // LOOKED_AT)], self.n_kernels)
        pairs = combinations(scores.T, 2)
        return all(float(np.sqrt(np.mean((one - other) ** 2))) > 0.5 * SMALL for one, other in pairs)

    def start(self, machine: Machine, rng: np.random.RandomState) -> np.ndarray:
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
                if self.joins:  # a descent may begin at the mean weights, too
                    learned = [*learned, *(Start(start.theta, self.mean) for start in learned)]
                random[0] = min(learned, key=learner(self, machine).value)
        self.strength = self.l2 * scale
        return [Start(np.zeros_like(random[0].theta))] if self.is_settled else random

    @property
    def joins(self) -> bool:
        """Whether weight vectors are learned together with the gates."""
        return "nested" not in self.stack.offers

    def joint(self, machine: Machine, start: Start) -> JointProblem:
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
        return WeightedSum(self.stack, np.full(self.n_kernels, 1.0 / self.n_kernels)).operand()

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        if self.is_settled:
            return 0.0, np.zeros_like(theta)
        return 0.5 * self.strength * float(theta @ theta), self.strength * theta

    def watch(self, machine: Machine, rng: np.random.RandomState) -> Watch | None:
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
        function = self.closed(self.stack, theta)
        gates = self.stack.gates(function)
        rest: dict[str, Any] = {} if gates is None else {"open_share": (gates > 0.0).mean(axis=0)}
        rest |= {"gate_tol": function.tol, "active": function.active}
        return GatedSum(self.stack, theta, self.gate, self.inputs, gates, **rest)

    def closed(self, stack: TrainingStack, V: np.ndarray) -> GateFunction:
        """The gates with small ones closed, of kernels that are open for some sample."""
        tol = self.options.gate_tol
        active = stack.open_counts(self.gate_function(V, tol=tol)) > 0
        if not active.any():
            raise ValueError(f"every gate of every sample is below gate_tol ({tol:g}); lower gate_tol, or l2")
        return GateFunction(self.gate, active, fixed=V, tol=tol)


LOOKED_AT = 100  # samples that tell whether gates differ
# Times the tolerance of a fit, on the path. Of 176 fits with 1, 10, 20 and 30 (MULTIFEAT, regions with noise) test
# accuracies differ by 0.0, 0.2 and 0.1 points from those with 1, with a standard error of 0.1.
ROUGH = 20.0
PATH = (np.inf, 0.3, 0.1, 0.03, 0.01, 0.003)


def choose_l2(
    family: GatedFamily, machine: Machine, theta: np.ndarray, rng: np.random.RandomState, learner: Learner
) -> tuple[float, list[Start], pd.DataFrame]:
    """Follow the path from theta on parts of the samples; returns penalty, starts learned on each part, and a table."""
    parts = family.stack.parts(machine, rng)
    noise = SMALL * rng.normal(size=(len(parts), len(PATH), len(theta)))
    found = in_threads(
        lambda k: follow(family, theta, parts[k], noise[k], learner), range(len(parts)), family.options.n_jobs
    )
    sums: LossSums | None = None
    for _, losses in found:
        sums = losses if sums is None else sums + losses
    if sums is None or sums.count == 0:  # no class has a second sample
        return np.inf, [], pd.DataFrame(columns=["risk", "difference", "error"], dtype=float)
    chosen, risk, difference, error = sums.strongest()
    table = {"risk": risk, "difference": difference, "error": error}
    return PATH[chosen], [starts[chosen] for starts, _ in found], pd.DataFrame(table, pd.Index(PATH, name="l2"))


def follow(
    family: GatedFamily, theta: np.ndarray, part: ExactPart | BlockPart, noise: np.ndarray, learner: Learner
) -> tuple[list[Start], LossSums]:
    own, machine = family.over(part.stack), part.machine
    scale = own.mean_optimum(machine)
    run, learned = learner(own, machine), list[Start]()
    run.loosen(ROUGH)
    run.last = own.mean
    for k, l2 in enumerate(PATH):
        own.strength = l2 * scale
        end = run.go_on() if k > 1 and own.differs(theta) else None
        if end is None:
            end = run.descend(Start(np.zeros_like(theta) if np.isinf(l2) else theta + noise[k]))
        theta = theta if np.isinf(l2) else end.solution
        learned.append(Start(end.solution, end.detail))
    run.counted(part.passes)
    return learned, part.losses(family, [(start.theta, start.solution) for start in learned])


HARDLY = 0.01  # share of the weight that differs between samples, below which a model is not localized
TINY = np.finfo(float).tiny


class GatedCombiner(DescentCombiner):
    """A combiner k(x, z) = sum_m eta_m(x) k_m(x, z) eta_m(z) that learns gates; parameters as of `Localized`."""

    _constraints = Constraints(
        gating=Instance(Gate, "a gating model such as Softmax()") | None,
        quadratic=Flag(),
        scaling=Choice(*SCALINGS),
        l2=Number(low=0),
        gate_tol=Number(low=0, below=1),
        validation_fraction=Number(low=0, below=1),
    )
    gating: Gate | None
    inputs: Any
    quadratic: bool
    scaling: str | None
    l2: Any
    gate_tol: float
    validation_fraction: float
    gating_: Gate
    l2_: float

    _saved = Schema({"gating_": object_of(Gate), "gate_tol": number(0.0)})
    _records = GatedStack, ExplicitGates

    @property
    def methods(self) -> frozenset[str]:
        return frozenset({"gates", "region", "local_values"})

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """Whole matrices for kernel values to all samples; samples and solves where features do not suffice."""
        name, found = type(self).__name__, needs_of(self.inputs)
        if self.gating is not None and self.gating.per_sample:
            found["samples"] = f"{type(self.gating).__name__} has parameters of its own for each training sample"
        if self.optimizer != "lbfgs":
            found["nested"] = f"{name}(optimizer={self.optimizer!r}) solves the machine on whole kernels at every step"
        return found

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> GatedSum:
        kernel: Any = super().learn(stack, machine, control)
        if kernel.n_kernels > 1 and self.gating_.learns:
            found = kernel.stack.gate_spread(kernel.function)
            if found is not None and found[1] <= HARDLY * max(found[0].sum(), TINY):
                warn(f"{self._reason()}: this model is not localized; {_advice(found[0], machine)}")
        return kernel

    def remember(self, family: Any, kernel: Any) -> None:
        self.gating_, self.l2_ = family.gate, family.l2
        self.__dict__.pop("l2_path_", None)
        if family.l2_path is not None:
            self.l2_path_ = family.l2_path

    def _coded(
        self, gate: Gate, inputs: GatingInputs | NoInputs, stack: TrainingStack, control: FitControl
    ) -> tuple[Gate, Any, np.ndarray]:
        values, gate = inputs.fit(stack.sample(), control.rng), clone(gate)
        gate.prepare(values, control.rng)
        codes = gate.encode(values)
        return gate, stack.coded(inputs, gate, codes), codes

    def _check(self) -> None:
        if self.gating is not None:
            check_parameters(self.gating)
        if isinstance(self.l2, str) and self.validation_fraction > 0.0:
            raise ValueError('l2="auto" holds out samples by itself; set validation_fraction to 0, or l2 to a number')

    def _reason(self) -> str:
        if not hasattr(self, "l2_path_") or np.isfinite(self.l2_):
            return "every sample has nearly the same kernel weights (kernel_weights_)"
        if self.l2_path_.empty:
            return 'no class has a second sample that could be held out, so l2="auto" took equal gates'
        return 'held-out samples give no reason to weigh kernels differently, so l2="auto" took equal gates'

    def _of_features(self, stack: Features, theta: np.ndarray, inputs: Any, **shares: Any) -> GatedSum:
        """The kernel over explicit features from a file."""
        return GatedSum(stack, theta, self.gating_, inputs, None, **shares)

    def _check_record(self, record: Any, theta: np.ndarray, sizes: Sizes, path: str) -> None:
        self._check_gating(n_codes(record.inputs), len(theta), sizes, path)

    def _check_gating(self, n_inputs: int, n_parameters: int, sizes: Sizes, path: str) -> None:
        if not is_own(type(self.gating_)):
            return
        expect(self.gating_._n_parameters(n_inputs, sizes["kernels"]), n_parameters, f"{path}._theta", "parameters")
        if isinstance(self.gating_, RegionGate):
            expect(n_inputs, self.gating_.centers_.shape[1], f"{path}.combiner_.gating_.centers_", "inputs")


def n_codes(inputs: GatingInputs | NoInputs) -> int:
    """How many gating inputs there are, those of second order with them."""
    if isinstance(inputs, NoInputs):
        return 0
    n_inputs = len(inputs.mean_)
    return n_inputs + (n_inputs * (n_inputs + 1) // 2 if inputs.quadratic else 0)


def _advice(average: np.ndarray, machine: Machine) -> str:
    if machine.detects_novelty:
        return "for novelty detection prefer Mean(), because J only favours the kernel of largest similarities"
    if np.abs(average - 1.0 / len(average)).max() < HARDLY:
        return "Mean() is this model at less cost"
    return "a combiner with one weight for each kernel, such as ConvexMKL(), costs less"


class Localized(GatedCombiner):
    """Localized multiple kernel learning: k(x, z) = sum_m eta_m(x) k_m(x, z) eta_m(z), with a learned gating model eta.

    Minimises J(V) + l2/2 J0 ||V||^2 over the parameters V of the gating model, where J is the optimum of the machine
    under that kernel (thesis (Gönen 2010), (3.6), (3.8) and (3.9)), and J0 its optimum under the mean kernel. J is not
    convex; this is a local minimum, the best of `n_init`. The same kernel may be given several times: three linear
    kernels make a piecewise linear model.

    Parameters
    ----------
    gating : Gate
        `Softmax()` (kernels compete for a sample), `Sigmoid()`, `GaussianGate()`, `ClusterGate()` or `InstanceGate()`.
    inputs : view selector, KernelMap or None
        What the gating model reads of a sample. A view, a list of views, any other selector of columns, or a
        `KernelMap` for kernel values; None means the features of all combined kernels side by side.
    quadratic : bool
        Whether to add products of two inputs, for curved boundaries.
    scaling : {"unit-mean", "unit-row", "standard", None}
        Inputs are standardised ("standard") and then divided by the root of the mean squared length of rows
        ("unit-mean") or by each row's own length ("unit-row", which leaves only directions, so not for one or two
        inputs). None leaves them as they are. Constants come from the training samples.
    optimizer : {"lbfgs", "armijo"}
        Limited-memory BFGS, or the papers' gradient descent with Armijo's rule.
    l2 : float or "auto"
        Weight of the penalty on V, biases included, in units of J0. A strong one (inf) is the mean kernel; a weak one
        lets gates overfit, but leaves fewer support vectors. "auto" takes the strongest of inf, 0.3, 0.1, 0.03, 0.01,
        0.003 whose 0-1 loss (squared loss for regression) on held-out samples is within one standard error of the best,
        in four folds, or on one quarter from 1000 samples on, samples counting by their weight; gates are then learned
        from all samples. One-class machines have no such loss and `InstanceGate` cannot be held out: they take 0.3 and
        3 / n_samples.
    max_iter : int
        Most outer iterations. They end earlier where the relative progress of one is below the estimator's `tol`.
    n_init : int
        Number of random starts, of which the smallest objective (or validation risk) wins.
    n_jobs : int or None
        Threads among which the starts are divided; the result does not depend on it.
    validation_fraction : float
        Share of the training samples, stratified, to hold out while V is learned, so as to keep the V of least risk on
        them; the machine is then solved for all samples. 0 learns from all samples to the end.
    gate_tol : float
        Gates whose square is below are closed (0) in the fitted model; what stays open is scaled to length 1 again.

    Attributes
    ----------
    gating_ : Gate
        The gating model, fitted.
    l2_ : float
        The penalty, inf where "auto" took the mean kernel.
    l2_path_ : DataFrame
        With ``l2="auto"``, for each penalty the mean loss on held-out samples (``risk``), how much more that is than
        the least (``difference``), and the standard error of that (``error``).

    Notes
    -----
    A sample that lacks a view has gate 0 there, while fitting and later; a softmax is taken over the views that it has.
    A part of the gating inputs that it lacks counts as average; a sample that lacks all of them is an error. A kernel
    whose gate is closed for every training sample leaves the model; its view need not be there any more unless the
    gates read it (`removable_kernels_` lists those that can go), so name views that stay as `inputs` to let others go.
    Prediction evaluates a kernel only between samples and support vectors whose gates are both open.

    Gates of unit length (the default of every gating model) leave the combined kernel the diagonal sum_m g_m^2
    k_m(x, x): 1 where the kernels have a unit diagonal and no zero rows, else a weighted mean of theirs. So C means
    what it means for the mean kernel, and no kernel wins by its scale, as with ``norm="paper"``. J still prefers
    kernels under which all training samples differ: a Gaussian kernel so narrow that it is nearly the identity takes
    most of the weight if the penalty lets it. A one-class machine's J only prefers the kernel of largest similarities;
    for novelty detection take `Mean`.

    `kernel_weights(X)` of a fitted estimator are the squared gates of each sample, which multiply k_m(x, x), `gates(X)`
    the gates, and `kernel_weights_` the squares averaged over the training samples. Where scores are linear (`Softmax`,
    `Sigmoid`), `gating_coef_` and `gating_intercept_` are their slopes v_m by the gating inputs and their biases.

    Memory: the P Gram matrices, the combined one for each thread, and at most one more inside the machine; with
    `validation_fraction` or ``l2="auto"`` a copy of the training part of the P matrices for each thread. In lazy
    storage no such matrix: the features, and for each thread P numbers for each sample and output of the machine.
    Gating inputs are then features, or a `KernelMap` with `n_landmarks`.

    On explicit features (an estimator's `approximation`) V is learned together with the weight vectors and biases of
    the machine, by L-BFGS: an iteration is about one pass over the samples, and `max_iter` counts these. They end where
    ten of them bring a relative progress below `tol`; the machine is then solved at the final gates. Samples are held
    out by a hash of their positions; ``l2="auto"`` is chosen on at most 40 000 samples. Constants of the gating inputs,
    and clusters, come from the reservoir. `InstanceGate`, `KernelMap` without `n_landmarks` and ``optimizer="armijo"``
    are for exact models. Memory beside the features: the codes that gates read, in the same precision, or none where
    features are computed again in each pass.

    References
    ----------
    M. Gönen, E. Alpaydın, Localized multiple kernel learning, ICML 2008; thesis (Gönen 2010), chapter 3.

    Examples
    --------
    Two linear kernels on one view, switched by the sign of the first feature:

    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Localized, Softmax
    >>> from kernelweave.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = X[:, 1] * np.sign(X[:, 0]) > 0
    >>> model = MKLClassifier([Linear()] * 2, Localized(Softmax(), l2=0.003), C=10.0, random_state=0)
    >>> model = model.fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:]) > 0.9
    True
    """

    _constraints = Constraints(l2=Number(low=0) | Exactly(np.inf, "infinity") | "auto")

    def __init__(
        self,
        gating: Gate | None = None,
        inputs: Any = None,
        *,
        quadratic: bool = False,
        scaling: str | None = "unit-mean",
        optimizer: str = "lbfgs",
        l2: float | str = "auto",
        max_iter: int = 200,
        n_init: int = 1,
        n_jobs: int | None = None,
        validation_fraction: float = 0.0,
        gate_tol: float = 1e-5,
    ):
        self.gating = gating
        self.inputs = inputs
        self.quadratic = quadratic
        self.scaling = scaling
        self.optimizer = optimizer
        self.l2 = l2
        self.max_iter = max_iter
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.validation_fraction = validation_fraction
        self.gate_tol = gate_tol

    def family(self, stack: TrainingStack, machine: Machine, control: FitControl) -> GatedFamily:
        self._check()
        stack.check_memory(stack.n_kernels + 2, "the kernels and their combination", per_kernel=True)
        inputs = GatingInputs(self.inputs, self.quadratic, self.scaling)
        gate, coded, _ = self._coded(Softmax() if self.gating is None else self.gating, inputs, stack, control)
        coded.prepare()
        return GatedFamily(coded, gate, inputs, self)
