"""`WeightAmplitudes`: the amplitudes of one weight for each kernel."""

from __future__ import annotations

import numpy as np

from ...engines.block import Block


class WeightAmplitudes:
    """a_m(x) = (eta_m)^(1/2), times the factor of samples that lack views, see `weighted.WeightedSum`.

    Parameters
    ----------
    eta : ndarray of shape (n_kernels,)
    """

    n_parameters = 0

    def __init__(self, eta: np.ndarray):
        self.eta = eta

    def values(self, theta: np.ndarray, block: Block, rows: slice) -> np.ndarray:
        """Equal rows where all views are there."""
        n_rows = rows.stop - rows.start
        present = None if block.present is None else block.present[rows]
        return self.of(np.ones((n_rows, len(self.eta)), dtype=bool) if present is None else present)

    def of(self, present: np.ndarray) -> np.ndarray:
        """Amplitudes of samples that have these views."""
        if present.all():
            return np.tile(np.sqrt(self.eta), (len(present), 1))
        weight = present @ self.eta
        factor = np.sqrt(np.divide(self.eta.sum(), weight, out=np.ones(len(weight)), where=weight > 0.0))
        return present * np.sqrt(self.eta) * factor[:, None]

    def pullback(
        self, theta: np.ndarray, block: Block, rows: slice, amplitudes: np.ndarray, slopes: np.ndarray
    ) -> np.ndarray:
        """There are no parameters."""
        return np.empty(0)
