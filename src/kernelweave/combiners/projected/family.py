"""`ProjectedFamily`: gated sums of kernels of projected samples, for all projections and gating parameters.

A projection is one more block of parameters. Its gradient goes from kernel values to the projected points z_i^m and
from there to W_m, dJ/dW_m = sum_i x_i^m (dJ/dz_i^m)', a sum over support vectors only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels import KernelStack
from ...kernels.parts.sums import SumInParts
from ...kernels.points.in_parts import points_in_parts, points_pullback
from ...machines import Machine, Solution
from ...solvers.descent.domains import Domain
from ...solvers.qp.in_parts import KernelInParts
from ...solvers.stacks.sums import KernelBlock, sum_kernels
from ..descent.family import kept_images, support_rows
from ..gates.base import SMALL, Gate
from ..gates.even import EvenGate
from ..gates.inputs import GatingInputs, NoInputs
from ..localized.family import GatedFamily, GatingOptions, gate_slopes
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
        stack: KernelStack,
        gate: Gate,
        inputs: GatingInputs | NoInputs,
        codes: np.ndarray,
        options: GatingOptions,
        layout: Layout,
        maps: list[ViewFeatures | KernelFeatures],
        features: list[Any],
        projection: ProjectionOptions,
    ):
        super().__init__(stack, gate, inputs, codes, options)
        self.layout, self.maps, self.features, self.projection = layout, maps, features, projection
        self.has_widths = False

    def at(self, theta: np.ndarray) -> ProjectedKernel:
        """The kernel with these projections and gates, all gates as they are."""
        V, codes = self.layout.gating(theta)[0], self.layout.projected_codes(theta, self.codes)
        return self._kernel(theta, self.gate.values(V, codes, self.stack.present), codes=codes)

    def pullback(self, kernel: Any, coef: np.ndarray) -> np.ndarray:
        """-1/2 sum_r c_r' (dK / dtheta) c_r, SLDR A.2 and A.3 for any machine."""
        rows, coef = support_rows(coef)
        if kernel.is_lazy:
            return self._lazy_gradient(kernel, rows, coef, kernel.images(rows, coef))
        return self._from_points(kernel, rows, *kernel.sum.pullback(rows, coef))

    def gradient(self, kernel: Any, solution: Solution) -> np.ndarray:
        """`pullback` of a solution; what it holds of the products of kernels and coefficients is not computed again."""
        rows, coef = support_rows(solution.coef)
        images = kept_images(solution, rows, kernel.stack.place)
        return (
            self.pullback(kernel, solution.coef) if images is None else self._lazy_gradient(kernel, rows, coef, images)
        )

    def _lazy_gradient(self, kernel: Any, rows: np.ndarray, coef: np.ndarray, images: np.ndarray) -> np.ndarray:
        """dJ/dtheta from the images of the samples with coefficients."""
        kernels, points = [each.kernel for each in self.maps], [Z[rows] for Z in kernel.points]
        weighted = kernel.gates[rows][:, :, None] * coef[:, None, :]
        by_points = points_pullback(kernels, points, weighted, images, self.stack.place, self.stack.dtype)
        return self._from_points(kernel, rows, gate_slopes(coef, images), by_points)

    def _from_points(
        self, kernel: Any, rows: np.ndarray, by_gates: np.ndarray, by_points: list[np.ndarray]
    ) -> np.ndarray:
        """dJ/dtheta from dJ/dgates and dJ/dpoints of some samples."""
        codes = kernel.codes[rows]
        V, T = self.layout.gating(kernel.theta)
        by_scores = self.gate.score_slopes(V, codes, kernel.gates[rows], by_gates)
        by_V = self.gate.scores_pullback(V, codes, by_scores)
        to_codes = self.gate.codes_pullback
        by_T = None if T is None or to_codes is None else self.codes[rows].T @ to_codes(V, codes, by_scores)
        matrices = [np.asarray(F[rows].T @ slopes) for F, slopes in zip(self.features, by_points, strict=True)]
        return self.layout.join(by_V, by_T, matrices)

    def start(self, machine: Machine, y: np.ndarray | None, rng: np.random.RandomState) -> np.ndarray:
        """Random gating parameters that separate regions a little, and projections by `init`."""
        init, layout, weight = self.projection.init, self.layout, self.stack.weight
        method = init if isinstance(init, str) else "random"
        target = class_indicators(machine.strata) if machine.strata is not None else _numeric(y)
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

    def mean_operand(self) -> np.ndarray | KernelInParts:
        """The mean of the kernels of whole features, without projection."""
        gates = EvenGate().values(np.empty(0), self.codes, self.stack.present)
        if self.stack.storage == "lazy":
            kernels = [each.kernel.of_width(self.stack.kernels[m]) for m, each in enumerate(self.maps)]
            return SumInParts(points_in_parts(kernels, self.features, self.stack.place, self.stack.dtype), gates)
        blocks = (
            KernelBlock(m, each.kernel.of_width(self.stack.kernels[m]).gram(F))
            for m, (each, F) in enumerate(zip(self.maps, self.features, strict=True))
        )
        return sum_kernels(blocks, gates, out=np.empty((self.stack.n_samples,) * 2, self.stack.dtype))

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

    def subset(self, rows: np.ndarray) -> ProjectedFamily:
        """The same over some of the training samples."""
        return ProjectedFamily(
            self.stack.subset(rows),
            self.gate,
            self.inputs,
            self.codes[rows],
            self.options,
            self.layout,
            self.maps,
            [F[rows] for F in self.features],
            self.projection,
        )

    def finish(self, theta: np.ndarray) -> ProjectedKernel:
        """Close small gates; kernels that are closed for every sample leave the model."""
        gates, active = self.closed_gates(self.at(theta))
        return self._kernel(
            theta,
            gates,
            gate_tol=self.options.gate_tol,
            active=active,
            open_share=(gates > 0.0).mean(axis=0),
        )

    def _kernel(self, theta: np.ndarray, gates: np.ndarray, **rest: Any) -> ProjectedKernel:
        matrices = self.layout.projections(theta)
        points = [np.asarray(F @ W) for F, W in zip(self.features, matrices, strict=True)]
        return ProjectedKernel(self.stack, theta, self.gate, self.inputs, gates, self.layout, self.maps, points, **rest)

    def _learn_widths(self, matrices: list[np.ndarray]) -> None:
        """Take the widths that kernels learn by a rule from these projections of the training samples."""
        for m, (each, F, W) in enumerate(zip(self.maps, self.features, matrices, strict=True)):
            present = self.stack.present[:, m]
            each.kernel = each.kernel.with_width_of(np.asarray(F @ W)[present], self.stack.weight[present])
        self.has_widths = True


def _numeric(y: np.ndarray | None) -> np.ndarray | None:
    return None if y is None else np.asarray(y, dtype=float).reshape(len(y), -1)
