"""`ProjectedFamily`: gated sums of kernels of projected samples, for all projections and gating parameters.

A projection is one more block of parameters. Its gradient goes from kernel values to the projected points z_i^m and
from there to W_m, dJ/dW_m = sum_i x_i^m (dJ/dz_i^m)', a sum over support vectors only.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...machines import Machine
from ...machines.base import Operand
from ...solvers import Domain
from ...stacks import TrainingStack
from ...stacks.descent import JointProblem, Start
from ..gates.base import SMALL, Gate
from ..gates.even import EvenGate
from ..gates.function import GateFunction
from ..gates.inputs import GatingInputs, NoInputs
from ..localized.family import GatedFamily, GatingOptions
from .feature_maps import KernelFeatures, ViewFeatures
from .kernel import ProjectedKernel
from .layout import Layout
from .starts import class_indicators, given_projections, starting_projection

SCORES = 0.2  # spread of the scores of standardised gating inputs at the start


@dataclass(frozen=True)
class ProjectionOptions:
    """Parameters of `Projected` that its family needs.

    Attributes
    ----------
    init : str or mapping from kernel name to array
    penalty : float
        Weight of ||W||^2 / 2, where W is free; else 0.
    """

    init: Any
    penalty: float


class ProjectedFamily(GatedFamily):
    """Projection kernels over the same training samples, for all projections and gating parameters.

    Parameters
    ----------
    stack, gate, inputs, codes, options
        As in `GatedFamily`; the codes are those before their projection by T.
    layout : Layout
        Where each parameter stands in theta.
    maps : list of ViewFeatures or KernelFeatures
        Fitted, one for each kernel.
    features : list of ndarray or CSR matrix
        The features of the training samples, for each kernel.
    projection : ProjectionOptions
    """

    # J has many minima in W: with solves to a tenth of tol, models of dense and of lazy storage differ by up to 1 % in
    # J, with these by 4e-5 at most (n = 2000, four machines); that takes hardly longer.
    precision = 1e-3

    def __init__(
        self,
        stack: TrainingStack,
        gate: Gate,
        inputs: GatingInputs | NoInputs,
        options: GatingOptions,
        layout: Layout,
        maps: list[ViewFeatures | KernelFeatures],
        features: list[Any],
        codes: Any,
        projection: ProjectionOptions,
    ):
        super().__init__(stack, gate, inputs, options)
        self.layout, self.maps, self.features, self.codes = layout, maps, features, codes
        self.projection, self.has_widths = projection, False

    def over(self, stack: TrainingStack) -> ProjectedFamily:
        """The same over some of the training samples; `stack.chosen` are their positions among these."""
        features, codes = [F[stack.chosen] for F in self.features], self.codes[stack.chosen]
        given = self.gate, self.inputs, self.options, self.layout, self.maps, features, codes, self.projection
        return ProjectedFamily(stack, *given)

    def at(self, theta: np.ndarray) -> ProjectedKernel:
        """The kernel with these projections and gates, all gates as they are."""
        stack, every = self._coded_at(theta), np.ones(self.n_kernels, dtype=bool)
        function = GateFunction(self.gate, every, fixed=self.layout.gating(theta)[0])
        return self._at_points(stack, theta, stack.gates(function))

    def _coded_at(self, theta: np.ndarray) -> Any:
        """The stack with the codes that the gating model reads at a projection of the gating inputs."""
        stack = copy(self.stack)
        stack.codes = self.layout.projected_codes(theta, self.codes)
        return stack

    def _at_points(self, stack: TrainingStack, theta: np.ndarray, gates: np.ndarray, **rest: Any) -> ProjectedKernel:
        matrices = self.layout.projections(theta)
        points = [np.asarray(F @ W) for F, W in zip(self.features, matrices, strict=True)]
        return ProjectedKernel(stack, theta, self.gate, self.inputs, gates, self.layout, self.maps, points, **rest)

    def _from_slopes(
        self, kernel: Any, rows: np.ndarray, by_gates: np.ndarray, by_points: list[np.ndarray]
    ) -> np.ndarray:
        """dJ/dtheta from dJ/dgates and dJ/dpoints of some samples, SLDR A.2 and A.3 for any machine."""
        codes = kernel.stack.codes[rows]
        V, T = self.layout.gating(kernel.theta)
        by_scores = self.gate.score_slopes(V, codes, kernel.gates[rows], by_gates)
        by_V = self.gate.scores_pullback(V, codes, by_scores)
        to_codes = self.gate.codes_pullback
        by_T = None if T is None or to_codes is None else self.codes[rows].T @ to_codes(V, codes, by_scores)
        matrices = [np.asarray(F[rows].T @ slopes) for F, slopes in zip(self.features, by_points, strict=True)]
        return self.layout.join(by_V, by_T, matrices)

    def first(self, machine: Machine, rng: np.random.RandomState) -> Start:
        """A theta, and what the stack draws at random for it."""
        theta = self.start(machine, rng)
        return Start(theta, rest=self.stack.terms(self, theta, rng))

    def start(self, machine: Machine, rng: np.random.RandomState) -> np.ndarray:
        """Random gating parameters that separate regions a little, and projections by `init`."""
        init, layout, weight = self.projection.init, self.layout, self.stack.sample().weight
        method = init if isinstance(init, str) else "random"
        strata = machine.strata
        target = class_indicators(strata) if strata is not None else _numeric(self.stack.sample_targets)
        matrices = [
            starting_projection(method, F, n_components, target, weight, rng)
            for F, (_, n_components) in zip(self.features, layout.shapes, strict=True)
        ]
        if not isinstance(init, str):
            given = given_projections(init, self.stack.names, layout.shapes)
            if layout.constraint != "penalty":  # their scale means nothing
                given = {m: W / np.abs(W).max() for m, W in given.items()}
            matrices = [given.get(m, W) for m, W in enumerate(matrices)]
        T, codes = None, self.codes
        if layout.gating_shape is not None:
            T = starting_projection(method, codes, layout.gating_shape[1], target, weight, rng)
            codes = codes @ T
        V = self.gate.start(codes, self.n_kernels, rng)
        if codes.ndim == 2 and codes.shape[1]:
            V = V * (SCORES / (SMALL * np.sqrt(codes.shape[1])))
        theta = layout.domain().enter(layout.join(V, T, matrices))
        if not self.has_widths:
            self._learn_widths(layout.projections(theta))
        return theta

    def mean_optimum(self, machine: Machine) -> float:
        """J0 under the mean of the kernels without projection; 1 where there is nothing to penalise."""
        return super().mean_optimum(machine) if self.gate.learns else 1.0

    def mean_operand(self) -> Operand:
        """The mean of the kernels of whole features, without projection."""
        kernels = [each.kernel.of_width(self.stack.sample().kernels[m]) for m, each in enumerate(self.maps)]
        every = np.ones(self.n_kernels, dtype=bool)
        gates = self.stack.gates(GateFunction(EvenGate(), every, fixed=np.empty(0)))
        return self.stack.mean_of(kernels, self.features, gates)

    def joint(self, machine: Machine, start: Start) -> JointProblem:
        """The descent in weight vectors, biases and theta."""
        return self.stack.projection_problem(self, machine, start)

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """l2/2 J0 ||V||^2, and penalty/2 ||W||^2 if W is free."""
        gradient, n_gating, first = np.zeros_like(theta), self.layout.n_gating, self.layout.first_projection
        value, gradient[:n_gating] = super().penalty(theta[:n_gating])
        if self.projection.penalty:
            W = theta[first:]
            value += 0.5 * self.projection.penalty * float(W @ W)
            gradient[first:] = self.projection.penalty * W
        return value, gradient

    def domain(self) -> Domain:
        """Stiefel manifolds for T and W_m, spheres or all of space for the W_m, by `constraint`."""
        return self.layout.domain()

    def blocks(self) -> list[tuple[slice, Domain]]:
        """W, T and V, which take turns in the papers' descent."""
        return self.layout.blocks()

    def finish(self, theta: np.ndarray) -> ProjectedKernel:
        """Close small gates; kernels that are closed for every sample leave the model."""
        stack = self._coded_at(theta)
        function = self.closed(stack, self.layout.gating(theta)[0])
        gates = stack.gates(function)
        rest = {"gate_tol": function.tol, "active": function.active, "open_share": (gates > 0.0).mean(axis=0)}
        return self._at_points(stack, theta, gates, **rest)

    def finished(self, stack: TrainingStack, maps: list, theta: np.ndarray) -> ProjectedKernel:
        """The same over explicit features at these projections."""
        function = self.closed(stack, self.layout.gating(theta)[0])
        rest: dict[str, Any] = {"gate_tol": function.tol, "active": function.active}
        return ProjectedKernel(
            stack,
            theta,
            self.gate,
            self.inputs,
            None,
            self.layout,
            maps,
            None,
            **rest,
        )

    def _learn_widths(self, matrices: list[np.ndarray]) -> None:
        """Take the widths that kernels learn by a rule from these projections of the training samples."""
        sample = self.stack.sample()
        for m, (each, F, W) in enumerate(zip(self.maps, self.features, matrices, strict=True)):
            present, weight = sample.present[:, m], sample.weight
            each.kernel = each.kernel.with_width_of(np.asarray(F @ W)[present], weight[present])
        self.has_widths = True


def _numeric(y: np.ndarray | None) -> np.ndarray | None:
    return None if y is None else np.asarray(y, dtype=float).reshape(len(y), -1)
