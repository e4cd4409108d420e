"""Fitting `Projected` on explicit features: starts on the reservoir, descents over all samples, and the last solve."""

from __future__ import annotations

import dataclasses
import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp

from ....arrays import HOST
from ....engines.base import Engine
from ....engines.block import Block, StoredFeatures
from ....engines.stack import ExplicitStack
from ....engines.training.machine import ExplicitKernel, ExplicitMachine
from ....features.exact import ExactMap
from ....features.fourier import FourierMap, frequencies_of
from ....features.nystroem import NystroemMap
from ....kernels.base import ViewKernel
from ....machines import Solution
from ....solvers.descent.domains import ProductSpace, Space
from ....solvers.descent.smooth import Point, minimize_lbfgs
from ....views import Views
from ...base import FitControl
from ...gates.base import Gate
from ...projected.feature_maps import ViewFeatures
from ..amplitudes import WeightAmplitudes
from ..gates.amplitudes import GateAmplitudes, encoded
from ..gates.descent import MEMORY, PRECISION, ROUNDING, WINDOW
from ..gates.totals import GateTotals, count_open, totals_of
from .kernel import ExplicitProjectedSum
from .maps import ProjectedMap
from .primal import Model, ProjectedPrimal
from .terms import FourierTerm, LinearTerm, NystroemTerm, Term

if TYPE_CHECKING:
    from ...projected.projected import Projected

FIRST_STEPS = 20  # of the weight vectors alone, at the start of a descent


@dataclass(frozen=True)
class Reading:
    """What gives a block the features that are projected, and codes; small, and sent to wherever blocks are."""

    maps: list[ViewFeatures]
    kernels: list[ViewKernel]
    inputs: Any
    gate: Gate

    def __call__(self, block: Block) -> Block:
        """The block with these features, in the precision of those that it has."""
        dtype = np.dtype(getattr(block.features, "dtype", np.float64))
        parts = [each.of(kernel, block.views) for each, kernel in zip(self.maps, self.kernels, strict=True)]
        dense = [part.toarray() if sp.issparse(part) else part for part in parts]
        offsets = np.cumsum([0, *(part.shape[1] for part in dense)])
        codes = encoded(self.gate, self.inputs.transform(block.views), np.dtype(np.float64))
        features = StoredFeatures(np.hstack(dense).astype(dtype), offsets)
        return dataclasses.replace(block, features=features, codes=codes, views=None)


@dataclass(frozen=True)
class Projecting:
    """What gives a block the explicit features at learned projections, and codes as the gating model reads them."""

    maps: list[ProjectedMap]
    inputs: Any
    gate: Gate
    T: np.ndarray | None

    def __call__(self, block: Block) -> Block:
        """The block with these features, in the precision of those that it has."""
        dtype = np.dtype(getattr(block.features, "dtype", np.float64))
        offsets = np.cumsum([0, *(each.n_features for each in self.maps)])
        matrix = np.empty((block.n_samples, offsets[-1]), dtype=dtype)
        for m, each in enumerate(self.maps):
            there = np.ones(block.n_samples, dtype=bool) if block.present is None else block.present[:, m]
            matrix[:, offsets[m] : offsets[m + 1]] = each.transform(block.views, there)
        codes = encoded(self.gate, self.inputs.transform(block.views), np.dtype(np.float64))
        codes = codes if self.T is None else codes @ self.T
        return dataclasses.replace(block, features=StoredFeatures(matrix, offsets), codes=codes, views=None)


def _is_computed_again(block: Block) -> int:
    return int(not isinstance(block.features, StoredFeatures))


@dataclass(frozen=True)
class ProjectedEnd:
    """A combined kernel, and what the combiner keeps of its fit."""

    kernel: ExplicitProjectedSum
    gate: Gate
    layout: Any
    l2: float
    steps: int
    progress: float
    converged: bool
    l2_path: None = None


class ProjectedFit:
    """One fit of `Projected` on explicit features.

    Parameters
    ----------
    combiner : Projected
    stack : ExplicitStack
    machine : ExplicitMachine
    control : FitControl
    """

    def __init__(self, combiner: Projected, stack: ExplicitStack, machine: ExplicitMachine, control: FitControl):
        self.combiner, self.stack, self.machine, self.control = combiner, stack, machine, control
        if not getattr(stack.engine, "place", HOST).is_host:
            raise ValueError('Projected on explicit features is learned on the CPU; use device="cpu"')
        for m, found in enumerate(stack.maps):
            _check_map(stack.names[m], stack.kernels[m], found)
        self.family = combiner.family(stack.reservoir, machine.sample, stack.reservoir.y, control)
        maps: Any = self.family.maps
        self.maps: list[Any] = maps
        engine: Any = stack.engine
        self.given: Engine = engine
        kernels: Any = stack.kernels
        self.engine: Engine = engine.replace(Reading(maps, kernels, self.family.inputs, self.family.gate))
        self.history: list[dict[str, float]] = []
        self.finished = itertools.count(1)
        self.n_classes = machine.n_classes

    def run(self) -> ProjectedEnd:
        """Descend from all starts, close small gates, then solve the machine."""
        layout = self.family.layout
        self.family.strength = self.combiner.l2 * self._mean_optimum()
        seeds = self.control.rng.randint(np.iinfo(np.int32).max, size=self.combiner.n_init)
        best: Any = None
        for seed in seeds:
            rng = np.random.RandomState(seed)
            theta = self.family.start(self.machine.sample, self.stack.reservoir.y, rng)
            terms = [self._term(m, W, rng) for m, W in enumerate(layout.projections(theta))]
            history: list[dict[str, float]] = []
            end = self._descend(terms, theta, history)
            if best is None or end[0].objective < best[0].objective:
                best = *end, terms, history
        end, progress, u, theta, terms, self.history = best
        kernel = self._finish(terms, u, theta)
        converged = end.status != "max_iterations"
        return ProjectedEnd(kernel, self.family.gate, layout, self.combiner.l2, end.steps, progress, converged)

    def _mean_optimum(self) -> float:
        """J0, the optimum under the mean of the kernels without projection; 1 where there is nothing to penalise."""
        if not self.family.gate.learns:
            return 1.0
        P = self.stack.n_kernels
        even = ExplicitKernel(self.given, WeightAmplitudes(np.full(P, 1.0 / P)), self.stack.n_features)
        optimum = abs(self.machine.solve(even, gap_tol=PRECISION).objective)
        return optimum if optimum > 0.0 else 1.0

    def _term(self, m: int, W: np.ndarray, rng: np.random.RandomState) -> Term:
        """Explicit features of a kernel of projected samples; those of landmarks are whitened at W."""
        kernel, found = self.maps[m].kernel, cast(Any, self.stack.maps[m])
        if kernel.is_linear:
            return LinearTerm(W.shape[1])
        if isinstance(found, FourierMap):
            count = found.frequencies.shape[1]
            return FourierTerm(frequencies_of(kernel.kernel.point_function(), W.shape[1], count, rng), kernel.gain)
        landmarks: Any = self.maps[m].of(self.stack.kernels[m], self._landmarks(m, rng))
        landmarks = landmarks.toarray() if sp.issparse(landmarks) else landmarks
        return NystroemTerm.of(kernel, landmarks, W)

    def _landmarks(self, m: int, rng: np.random.RandomState) -> Views:
        """Those of a kernel's features; of exact ones, which have none, as many samples as there are features."""
        found, reservoir = self.stack.maps[m], self.stack.reservoir
        if found.landmarks is not None:
            return found.landmarks.support
        drawn = rng.permutation(np.flatnonzero(reservoir.present[:, m]))[: found.n_features]
        return reservoir.support.rows(np.sort(drawn))

    def _descend(self, terms: list[Term], theta: np.ndarray, history: list) -> tuple[Any, float, Any, np.ndarray]:
        """Minimise from a start, where weight vectors begin at 0 and are first learned alone, roughly."""
        family, machine, control = self.family, self.machine, self.control
        model = Model(family.gate, family.layout, terms)
        primal = ProjectedPrimal(
            self.engine, model, machine.n_outputs, total=machine.total, penalty=self.family.penalty
        )
        values: list[float] = []
        clock = [time.perf_counter(), 0.0]

        def progress() -> float:
            earlier = values[max(0, len(values) - 1 - WINDOW)]
            return (earlier - values[-1]) / max(1.0, abs(values[-1]))

        def after(iteration: int, point: Point) -> bool:
            values.append(point.value)
            now, passes = time.perf_counter(), primal.evaluations
            row = {"objective": point.value, "solves": 0, "passes": passes - clock[1], "seconds": now - clock[0]}
            history.append(row)
            clock[:] = now, passes
            if iteration:
                control.report(next(self.finished), self.combiner.n_init * self.combiner.max_iter)
            return iteration >= WINDOW and progress() < control.tol

        n_first = (primal.shape[0] + 1) * machine.n_outputs

        def at_start(first: np.ndarray) -> tuple[float, np.ndarray, None]:
            value, gradient, _ = primal(np.concatenate([first, theta]))
            return value, gradient[:n_first], None

        first = minimize_lbfgs(at_start, np.zeros(n_first), tol=0.0, max_iterations=FIRST_STEPS, memory=MEMORY)
        end = minimize_lbfgs(
            primal,
            np.concatenate([first.solution, theta]),
            ProductSpace([(n_first, Space()), (len(theta), family.domain())]),
            tol=0.0,
            precision=ROUNDING,
            max_iterations=self.combiner.max_iter,
            memory=MEMORY,
            callback=after,
        )
        u, b, theta = primal.parts(end.solution)
        return end, progress(), (u, b), theta

    def _stack_at(self, terms: list[Term], theta: np.ndarray) -> tuple[ExplicitStack, Engine]:
        """The kernels at projections, with explicit features of all samples."""
        family, stack = self.family, self.stack
        matrices = family.layout.projections(theta)
        maps: list[Any] = [
            ProjectedMap(each, kernel, W.copy(), term.at(W))
            for each, kernel, W, term in zip(self.maps, stack.kernels, matrices, terms, strict=True)
        ]
        T = family.layout.gating(theta)[1]
        keep = not self.given.sum(_is_computed_again)
        engine = self.given.replace(Projecting(maps, family.inputs, family.gate, T), keep=keep)
        return ExplicitStack(stack.reservoir, maps, engine, stack.n_samples), engine

    def _finish(self, terms: list[Term], u: tuple[np.ndarray, np.ndarray], theta: np.ndarray) -> ExplicitProjectedSum:
        """Close small gates, and solve the machine; kernels that are closed for every sample leave the model."""
        family, control, tol = self.family, self.control, self.combiner.gate_tol
        stack, engine = self._stack_at(terms, theta)
        P = stack.n_kernels
        V = family.layout.gating(theta)[0]
        opened: np.ndarray = engine.sum(count_open, GateAmplitudes(family.gate, np.ones(P, bool), fixed=V, tol=tol))
        if not opened.any():
            raise ValueError(f"every gate of every sample is below gate_tol ({tol:g}); lower gate_tol, or l2")
        rest: dict[str, Any] = {"mean_weights": np.zeros(P), "open_share": np.zeros(P), "engine": engine}
        kernel = ExplicitProjectedSum(
            stack, theta, family.gate, family.inputs, layout=family.layout, gate_tol=tol, active=opened > 0, **rest
        )
        operand = kernel.operand()
        start: Any = Solution(_whitened(terms, stack, u[0]), u[1], 0.0, np.inf, np.inf, 0, False)
        solution = self.machine.solve(operand, start, tol=control.tol, max_steps=control.max_steps)
        arguments = operand.amplitudes, solution.coef, solution.intercept, max(self.n_classes, 1)
        totals: GateTotals = engine.sum(totals_of, *arguments)
        count = totals.count[0].sum()
        kernel.totals = totals
        kernel.mean_weights = totals.weights[0].sum(axis=0) / count
        kernel.open_share = totals.opened[0].sum(axis=0) / count
        last = {"objective": solution.objective + family.penalty(theta)[0], "solves": 1, "passes": solution.steps}
        self.history.append({**last, "seconds": 0.0})
        return kernel.solved(solution, self.history)


def _whitened(terms: list[Term], stack: ExplicitStack, u: np.ndarray) -> np.ndarray:
    """Weight vectors of the features from those of the terms: w = A' K_LL R u of landmarks, where K_LL^-1 = A A'."""
    parts = np.split(u, np.cumsum([term.n_features for term in terms])[:-1])
    for m, (term, found) in enumerate(zip(terms, stack.maps, strict=True)):
        if isinstance(term, NystroemTerm):
            placed = cast(Any, found)
            parts[m] = placed.whitening.T @ (term.kernel.gram(placed.term.points) @ (term.basis @ parts[m]))
    return np.vstack(parts)


def _check_map(name: str, kernel: Any, found: Any) -> None:
    """Raise a `ValueError` where a kernel's approximation cannot follow a projection."""
    if not kernel.is_differentiable:
        raise ValueError(
            f"Projected on explicit features takes kernels that are differentiable by their features, such as Linear "
            f"and Gaussian, but {name!r} is {type(kernel).__name__}; use approximation=None for it"
        )
    if not isinstance(found, ExactMap | FourierMap | NystroemMap):
        raise ValueError(
            f"Projected cannot take this approximation of the kernel {name!r} ({type(kernel).__name__}), because it "
            "cannot follow a projection: use NystroemFeatures, FourierFeatures for Gaussian kernels, or ExactFeatures"
        )
