"""`Points`: kernels between points, such as projected samples, in the place of the base kernels of a stack."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Place
from ..kernels.points.in_parts import points_in_parts
from ..kernels.points.projected import PointKernel, ProjectedSum
from ..kernels.tiles.stack import TileStack


@dataclass(frozen=True)
class Points:
    """Points of all training samples, for each kernel.

    Attributes
    ----------
    kernels : list of PointKernel
    points : list of ndarray of shape (n_samples, n_components)
    """

    kernels: list[PointKernel]
    points: list[Any]
    made: dict[str, Any] = field(default_factory=dict, compare=False)

    def sum_of(self, gates: np.ndarray) -> ProjectedSum:
        """The gated sum of the kernels; the last one is kept."""
        known = self.made.get("sum")
        if known is None or known[0] is not gates:
            known = self.made["sum"] = gates, ProjectedSum(self.kernels, self.points, gates)
        return known[1]

    def in_parts(self, place: Place, dtype: np.dtype) -> TileStack:
        """The kernels in parts, made once."""
        if "parts" not in self.made:
            self.made["parts"] = points_in_parts(self.kernels, self.points, place, dtype)
        return self.made["parts"]
