"""`ExplicitProjectedSum`: kernels of projected samples with explicit features, weighted by gates.

f_r(x) = sum_m eta_m(x|V, T) <w_mr, phi_m(W_m' x^m)> + b_r
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ....engines.stack import ExplicitStack
from ....views import Views
from ...projected.gates import ProjectedGates
from ...projected.kernel import component_names
from ...projected.layout import Layout
from ..gates.kernel import ExplicitGatedSum


class ExplicitProjectedSum(ProjectedGates, ExplicitGatedSum):
    """k(x, z) = sum_m eta_m(x) <phi_m(W_m' x^m), phi_m(W_m' z^m)> eta_m(z).

    Parameters
    ----------
    stack : ExplicitStack
        Its maps are `ProjectedMap`s.
    theta, gate, inputs, gate_tol, active, mean_weights, open_share, engine, totals
        As in `ExplicitGatedSum`; theta holds V, T and all W_m.
    layout : Layout
        Where each parameter stands in theta.
    """

    shows = (*ExplicitGatedSum.shows, "projections_", "feature_importance_", "gating_projection_")

    def __init__(self, stack: ExplicitStack, theta: np.ndarray, gate: Any, inputs: Any, *, layout: Layout, **rest: Any):
        super().__init__(stack, theta, gate, inputs, **rest)
        self.layout = layout

    @property
    def _maps(self) -> list[Any]:
        """Each a `ProjectedMap`."""
        stack: Any = self.stack
        return stack.maps

    def points_of(self, m: int, views: Views) -> np.ndarray:
        """By the map of the kernel."""
        return self._maps[m].points(views)

    def values_at(self, m: int, points: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """What kernel m adds to the values of samples that lie at these points of its space and have gate 1 there."""
        return self._maps[m].features_at(points) @ self._own(m, coef)

    @property
    def is_linear(self) -> bool:
        """Whether values are linear in the projections."""
        return all(each.is_linear for each, on in zip(self._maps, self.active, strict=True) if on)

    def attributes(self) -> Mapping[str, Any]:
        """The projections W_m, the lengths of their rows and, if there is one, the projection T of gating inputs."""
        matrices = dict(zip(self.names, self.layout.projections(self.theta), strict=True))
        features = {name: each.features.names for name, each in zip(self.names, self._maps, strict=True)}
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

    def restrict(self, index: np.ndarray) -> ExplicitProjectedSum:
        """The same kernel without training samples."""
        lean: Any = super().restrict(index).stack
        return ExplicitProjectedSum(
            ExplicitStack(lean.reservoir, self._maps, None, lean.n_samples),
            self.theta,
            self.gate,
            self.inputs,
            layout=self.layout,
            gate_tol=self.gate_tol,
            active=self.active,
            mean_weights=self.mean_weights,
            open_share=self.open_share,
        )
