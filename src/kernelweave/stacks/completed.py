"""`CompletedMatrices`: Gram matrices, completed as in `kernels.completion`; no scaling for missing views."""

from __future__ import annotations

from typing import Self

import numpy as np

from ..kernels.completion import CompletedStack
from .dense import Matrices


class CompletedMatrices(CompletedStack, Matrices):
    """Whole matrices of a stack that is completed; parameters and attributes are those of `CompletedStack`."""

    offers = Matrices.offers - {"kernels"}  # other kernels would have to be completed anew

    def subset(self, rows: np.ndarray) -> Self:
        part = super().subset(rows)
        same = part.reference is self.reference
        part.holding(*((self.held, self.counts) if same else (self.held[rows], self.counts[rows])))
        lacking = [np.empty((0, len(view.rows))) for view in part.views]
        part.coefficients = self.coefficients_at(rows) if same else lacking
        return part
