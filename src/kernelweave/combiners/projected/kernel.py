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

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...arrays import Place
from ...kernels import Kernel
from ...kernels.stacking.stack import NewPart
from ...solvers.stacks.sums import KernelBlock, sum_kernels
from ...stacks.dense import Points
from ...views import Views
from ..gates.base import Gate
from ..gates.inputs import GatingInputs, NoInputs
from ..localized.kernel import GatedSum
from .feature_maps import ViewFeatures
from .layout import Layout


class ProjectedKernel(GatedSum):
    """k(x, z) = sum_m eta_m(x) k_m(W_m' x^m, W_m' z^m) eta_m(z): kernels of projected samples, weighted by gates.

    Parameters
    ----------
    stack, theta, gate, inputs, gates, gate_tol, active, open_share, mean_weights
        As in `GatedSum`; theta holds V, T and all W_m, and `stack` keeps no training samples unless kernel values give
        the features of new ones.
    layout : Layout
        Where each parameter stands in theta.
    maps : list
        One for each kernel: `ViewFeatures` or `KernelFeatures`, fitted; with explicit features each a `ProjectedMap`.
    points : list of ndarray of shape (n_samples, n_components), or None
        The projected training samples; None with explicit features, whose stack is at the projections.
    directions : list of ndarray, optional
        What makes points of what the maps read of new samples; computed by default.

    Notes
    -----
    Memory: the points, and one n x n matrix for `gram`; in tiles the points and P numbers for each sample.
    """

    shows = (*GatedSum.shows, "projections_", "feature_importance_", "gating_projection_")

    def __init__(
        self,
        stack: Any,
        theta: np.ndarray,
        gate: Gate,
        inputs: GatingInputs | NoInputs,
        gates: np.ndarray | None,
        layout: Layout,
        maps: list[Any],
        points: list[np.ndarray] | None,
        *,
        directions: list[np.ndarray] | None = None,
        **rest: Any,
    ):
        super().__init__(stack, theta, gate, inputs, gates, **rest)
        self.layout, self.maps, self.points, self._directions = layout, maps, points, directions
        self.at = None if points is None else Points([each.kernel for each in maps], points)

    @property
    def directions(self) -> list[np.ndarray]:
        """What makes points of what the maps read of new samples, for each kernel."""
        if self._directions is None:
            matrices = self.layout.projections(self.theta)
            self._directions = [each.directions(W) for each, W in zip(self.maps, matrices, strict=True)]
        return self._directions

    # New samples

    def points_of(self, m: int, views: Views) -> np.ndarray:
        """W_m' x of new samples, which all have the view of kernel m."""
        if self.points is None:
            return self.maps[m].points(views)
        return np.asarray(self.maps[m].read(self.stack, m, views) @ self.directions[m])

    def scores(self, m: int, views: Views, present: np.ndarray, coef: np.ndarray, right: Any) -> np.ndarray:
        """Kernels compare projected new samples with the points, on the host."""
        if self.points is None:
            return super().scores(m, views, present, coef, right)
        columns = np.flatnonzero(right)
        values = self.maps[m].kernel.cross(self.points_of(m, views), self.points[m][columns])
        return values @ (right[columns, None] * coef[columns])

    def crossed(self, parts: Iterator[NewPart], left: np.ndarray) -> np.ndarray:
        """K between new samples and the points."""
        if self.points is None:
            return super().crossed(parts, left)
        points: Any = self.points
        blocks = (
            KernelBlock(m, self.maps[m].kernel.cross(self.points_of(m, views), points[m]), rows)
            for m, rows, views, _ in parts
        )
        return sum_kernels(blocks, left, self.right(), out=np.empty((len(left), self.n_samples)))

    def values_in(self, place: Place, views: Views, coef: np.ndarray) -> np.ndarray | None:
        """New samples are projected and compared on the host, but for explicit features."""
        return super().values_in(place, views, coef) if self.points is None else None

    def values_at(self, m: int, points: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """What kernel m adds to the values of samples that lie at these points of its space and have gate 1 there."""
        if self.points is None:
            offsets = self.stack.offsets
            return self.maps[m].features_at(points) @ coef[offsets[m] : offsets[m + 1]]
        return self.maps[m].kernel.cross(points, self.points[m]) @ (np.asarray(self.gates)[:, m, None] * coef)

    def feature_weights(self, m: int, coef: np.ndarray) -> np.ndarray | None:
        """W_m W_m' sum_i c_i x_i with the weights of both samples, where no gating model weighs samples differently."""
        features = self.maps[m]
        if self.gate.learns or self.points is None or not isinstance(features, ViewFeatures):
            return None
        gate = self.gates_at(np.empty((1, 0)))[0, m]
        own = self.points[m].T @ (np.asarray(self.gates)[:, m, None] * coef)
        return gate * features.factor * (self.directions[m] @ own)

    @property
    def is_linear(self) -> bool:
        """Whether values are linear in the projections."""
        used = [each for each, on in zip(self.maps, self.active, strict=True) if on]
        return all(each.is_linear if self.points is None else each.kernel.is_linear for each in used)

    @property
    def gate_parameters(self) -> np.ndarray:
        """The parameters V of the gating model."""
        return self.layout.gating(self.theta)[0]

    def codes_of(self, views: Views) -> np.ndarray:
        """What the gating model reads of new samples: T' x^G if there is a T, x^G otherwise."""
        return self.layout.projected_codes(self.theta, super().codes_of(views))

    def gating_coefficients(self) -> tuple[np.ndarray, np.ndarray] | None:
        """T v_m, for scores are linear in the inputs before their projection too, and v_m0."""
        found, T = super().gating_coefficients(), self.layout.gating(self.theta)[1]
        return found if found is None or T is None else (T @ found[0], found[1])

    def project(self, views: Views) -> tuple[np.ndarray, list[np.ndarray]]:
        """The gates of new samples, and their projections for each kernel; NaN for samples that lack the view."""
        gates = self.gates_of(views)
        present = self.stack.presence(views, self.active)
        found = []
        for m, (_, n_components) in enumerate(self.layout.shapes):
            points = np.full((views.n_samples, n_components), np.nan)
            rows = np.flatnonzero(present[:, m])
            if len(rows):
                points[rows] = self.points_of(m, views if len(rows) == len(points) else views.rows(rows))
            found.append(points)
        return gates, found

    # What prediction takes, and what is kept

    def values_per_sample(self, coef: np.ndarray) -> int:
        """Support vectors, or all training samples if kernel values give features."""
        if self.points is None:
            return super().values_per_sample(coef)
        return max(len(coef), self.stack.n_samples)

    def evaluations(self, coef: np.ndarray) -> np.ndarray:
        """As for `GatedSum`, but kernels whose values give features compare with all training samples."""
        if self.points is None:
            return super().evaluations(coef)
        share = 1.0 if self.inputs.reads_features else self.open_share
        return np.where(self.stack.active, self.stack.n_samples * share, super().evaluations(coef))

    def restrict(self, index: np.ndarray) -> ProjectedKernel:
        """The kernel over some training samples, with what prediction needs.

        Training samples stay only where kernel values give the features of new ones.
        """
        kept = self.kept(index)
        gates = kept.pop("gates")
        if self.points is None:
            lean = self.stack.restrict(index, self.active)
            lean.maps = self.maps
            given = lean, self.theta, self.gate, self.inputs, gates, self.layout, self.maps, None
            return ProjectedKernel(*given, **kept)
        by_kernel = np.array([each.by_kernel for each in self.maps])
        compared = by_kernel & (self.active | self.inputs.reads_features)
        rows = np.arange(self.stack.n_samples) if compared.any() else np.empty(0, dtype=int)
        stack = self.stack.restrict(rows, compared)
        return ProjectedKernel(
            stack,
            self.theta,
            self.gate,
            self.inputs.restrict(stack),
            gates,
            self.layout,
            [each.settled() for each in self.maps],
            [Z[index] if on else Z[:0] for Z, on in zip(self.points, self.active, strict=True)],
            directions=[D if on else D[:0] for D, on in zip(self.directions, self.active, strict=True)],
            **kept,
        )

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices inside the kernels and the gating kernel, each with the ids that are looked up."""
        used = self.active if self.points is None else self.stack.active
        return [*self.stack.lookups(used), *self.inputs.lookups()]

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
            found["gating_projection_"] = pd.DataFrame(T, self.input_names(), copy=True).add_prefix("gating__")
        return found


def component_names(name: str, count: int) -> list[str]:
    """The columns of a projection."""
    return [f"{name}__{k}" for k in range(count)]
