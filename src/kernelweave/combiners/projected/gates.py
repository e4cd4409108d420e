"""`ProjectedGates`: what kernels with projections share, whatever their training samples are held as."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ...views import Views
from ..gates.kernel import KernelWithGates
from .layout import Layout


class ProjectedGates(KernelWithGates):
    """A kernel with gates whose theta has projections of each kernel and perhaps of the gating inputs.

    Attributes
    ----------
    layout : Layout
        Where V, T and the projections W_m stand in theta.
    """

    layout: Layout

    @abstractmethod
    def points_of(self, m: int, views: Views) -> np.ndarray:
        """W_m' x of new samples, which all have the view of kernel m."""

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
