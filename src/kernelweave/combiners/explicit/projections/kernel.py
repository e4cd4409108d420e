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
from ...projected.kernel import component_names
from ...projected.layout import Layout
from ..gates.kernel import ExplicitGatedSum


class ExplicitProjectedSum(ExplicitGatedSum):
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
                points[rows] = self._maps[m].points(views if len(rows) == len(points) else views.rows(rows))
            found.append(points)
        return gates, found

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
