"""`ProjectedKernel`: the gated sum of kernels of projected samples, SLDR (3), (5).

=========  ====================================================
SLDR       here
=========  ====================================================
z^m        `points` (training samples), `project` (new samples)
W_m        `Layout.projections` of theta
T' x^G     `codes_of`
=========  ====================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...arrays import Place
from ...kernels import Kernel, KernelStack
from ...kernels.parts.stack import StackInParts
from ...kernels.points.in_parts import points_in_parts
from ...kernels.points.projected import ProjectedSum
from ...views import Views
from ..gates.base import Gate
from ..gates.inputs import GatingInputs, NoInputs
from ..localized.kernel import GatedSum
from .feature_maps import KernelFeatures, ViewFeatures
from .gates import ProjectedGates
from .layout import Layout


class ProjectedKernel(ProjectedGates, GatedSum):
    """k(x, z) = sum_m eta_m(x) k_m(W_m' x^m, W_m' z^m) eta_m(z): kernels of projected samples, weighted by gates.

    Parameters
    ----------
    stack, theta, gate, inputs, gates, gate_tol, active, open_share, codes
        As in `GatedSum`; theta holds V, T and all W_m, and `stack` keeps no training samples unless kernel values give
        the features of new ones.
    layout : Layout
        Where each parameter stands in theta.
    maps : list of ViewFeatures or KernelFeatures
        Fitted, one for each kernel.
    points : list of ndarray of shape (n_samples, n_components)
        The projected training samples.
    directions : list of ndarray, optional
        What makes points of what the maps read of new samples; computed by default.

    Notes
    -----
    Memory: the points, and one n x n matrix for `gram`; in lazy storage the points and P numbers for each sample.
    """

    shows = (*GatedSum.shows, "projections_", "feature_importance_", "gating_projection_")

    def __init__(
        self,
        stack: KernelStack,
        theta: np.ndarray,
        gate: Gate,
        inputs: GatingInputs | NoInputs,
        gates: np.ndarray,
        layout: Layout,
        maps: list[ViewFeatures | KernelFeatures],
        points: list[np.ndarray],
        *,
        directions: list[np.ndarray] | None = None,
        gate_tol: float = 0.0,
        active: np.ndarray | None = None,
        open_share: np.ndarray | None = None,
        codes: np.ndarray | None = None,
    ):
        super().__init__(
            stack, theta, gate, inputs, gates, gate_tol=gate_tol, active=active, open_share=open_share, codes=codes
        )
        self.layout, self.maps, self.points = layout, maps, points
        self._directions = directions

    @property
    def directions(self) -> list[np.ndarray]:
        """What makes points of what the maps read of new samples, for each kernel."""
        if self._directions is None:
            matrices = self.layout.projections(self.theta)
            self._directions = [each.directions(W) for each, W in zip(self.maps, matrices, strict=True)]
        return self._directions

    @cached_property
    def sum(self) -> ProjectedSum:
        """The kernel of the training samples, for dense storage."""
        return ProjectedSum([each.kernel for each in self.maps], self.points, self.gates)

    @cached_property
    def parts(self) -> StackInParts:
        """The kernels of the projected training samples in parts, without gates."""
        kernels = [each.kernel for each in self.maps]
        return points_in_parts(kernels, self.points, self.stack.place, self.stack.dtype)

    def gram(self, out: np.ndarray | None = None) -> np.ndarray:
        """K of the training samples, SLDR A.1."""
        if self.is_lazy:
            self.stack.gram(0)  # the error of lazy storage
        return self.sum.gram(out, self.stack.dtype)

    def block(self, index: np.ndarray) -> np.ndarray:
        """K among some training samples."""
        return super().block(index) if self.is_lazy else self.sum.block(index)

    def product(self, index: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """K times coefficients, without K."""
        if self.is_lazy:
            return super().product(index, coef)
        if coef.ndim == 1:
            return self.sum.product(index, coef)
        return np.column_stack([self.sum.product(index, column) for column in coef.T])

    def training_block(self, m: int, rows: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        """k_m between projected training samples, without gates."""
        if self.is_lazy:
            return super().training_block(m, rows, columns)
        Z = self.points[m]
        return self.maps[m].kernel.cross(Z[rows], Z if columns is None else Z[columns])

    def new_block(self, m: int, views: Views, columns: np.ndarray | None) -> np.ndarray:
        """k_m between projected new samples and training samples."""
        points = self.points[m] if columns is None else self.points[m][columns]
        return self.maps[m].kernel.cross(self.points_of(m, views), points)

    def values_in(self, place: Place, views: Views, coef: np.ndarray) -> None:
        """New samples are projected and compared on the host."""

    def values_at(self, m: int, points: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """What kernel m adds to the values of samples that lie at these points of its space and have gate 1 there."""
        return self.maps[m].kernel.cross(points, self.points[m]) @ (self.gates[:, m, None] * coef)

    def feature_weights(self, m: int, coef: np.ndarray) -> np.ndarray | None:
        """W_m W_m' sum_i c_i x_i with the weights of both samples, where no gating model weighs samples differently."""
        features = self.maps[m]
        if self.gate.learns or not isinstance(features, ViewFeatures):
            return None
        gate = self.gates_at(np.empty((1, 0)))[0, m]
        return gate * features.factor * (self.directions[m] @ (self.points[m].T @ (self.gates[:, m, None] * coef)))

    @property
    def is_linear(self) -> bool:
        """Whether values are linear in the projections."""
        return all(each.kernel.is_linear for each, on in zip(self.maps, self.active, strict=True) if on)

    def values_per_sample(self, coef: np.ndarray) -> int:
        """Support vectors, or all training samples if kernel values give features."""
        return max(len(coef), self.stack.n_samples)

    def evaluations(self, coef: np.ndarray) -> np.ndarray:
        """As for `GatedSum`, but kernels whose values give features compare with all training samples.

        They do for every new sample if the gating model reads those features, else for those with an open gate.
        """
        share = 1.0 if self.inputs.reads_features else self.open_share
        return np.where(self.stack.active, self.stack.n_samples * share, super().evaluations(coef))

    def restrict(self, index: np.ndarray) -> ProjectedKernel:
        """The kernel over some training samples, with what prediction needs.

        All training samples are kept if kernel values give the features of new ones.
        """
        by_kernel = np.array([each.by_kernel for each in self.maps])
        compared = by_kernel & (self.active | self.inputs.reads_features)
        kept = np.arange(self.stack.n_samples) if compared.any() else np.empty(0, dtype=int)
        stack = self.stack.restrict(kept, compared)
        return ProjectedKernel(
            stack,
            self.theta,
            self.gate,
            self.inputs.restrict(stack),
            self.gates[index],
            self.layout,
            [each.settled() for each in self.maps],
            [Z[index] if on else Z[:0] for Z, on in zip(self.points, self.active, strict=True)],
            directions=[D if on else D[:0] for D, on in zip(self.directions, self.active, strict=True)],
            gate_tol=self.gate_tol,
            active=self.active,
            open_share=self.open_share,
        )

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices inside the kernels and the gating kernel, each with the ids that are looked up."""
        return [*self.stack.lookups(self.stack.active), *self.inputs.lookups()]

    def attributes(self) -> Mapping[str, Any]:
        """The projections W_m, the lengths of their rows and, if there is one, the projection T of gating inputs."""
        matrices = dict(zip(self.names, self.layout.projections(self.theta), strict=True))
        features = {name: each.names for name, each in zip(self.names, self.maps, strict=True)}
        found = {
            **super().attributes(),
            "projections_": {
                name: pd.DataFrame(W, features[name], component_names(name, W.shape[1]), copy=True)
                for name, W in matrices.items()
            },
            "feature_importance_": {
                name: pd.Series(np.linalg.norm(W, axis=1), features[name], name=name) for name, W in matrices.items()
            },
        }
        T = self.layout.gating(self.theta)[1]
        if T is not None:
            inputs = self.inputs.names(self.stack)
            found["gating_projection_"] = pd.DataFrame(T, inputs, copy=True).add_prefix("gating__")
        return found

    def points_of(self, m: int, views: Views) -> np.ndarray:
        """The features of each sample, projected."""
        return np.asarray(self.maps[m].read(self.stack, m, views) @ self.directions[m])


def component_names(name: str, count: int) -> list[str]:
    """The columns of a projection."""
    return [f"{name}__{k}" for k in range(count)]
