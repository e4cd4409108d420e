"""`WeightAmplitudes`: the amplitudes of one weight for each kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import HOST, Place, place_of
from ...engines.block import Samples


class WeightAmplitudes:
    """a_m(x) = (eta_m)^(1/2), times the factor of samples that lack views, see `weighted.WeightedSum`.

    The factor of a sample is (sum_m rho_m / sum_{m present} rho_m)^(1/2), and 1 where the sum of those present is 0;
    rho, the reference, are the weights themselves, except while weights are learned.

    Parameters
    ----------
    eta : ndarray of shape (n_kernels,)
        At least 0.
    reference : ndarray of shape (n_kernels,), optional
        rho; `eta` by default. Zeros mean that all factors are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.combiners.explicit.amplitudes import WeightAmplitudes
    >>> WeightAmplitudes(np.array([4.0, 5.0])).of(np.array([[True, True], [True, False]]))
    array([[2.        , 2.23606798],
           [3.        , 0.        ]])
    """

    n_parameters = 0

    def __init__(self, eta: np.ndarray, reference: np.ndarray | None = None):
        self.eta, self.reference = eta, eta if reference is None else reference

    def values(self, theta: np.ndarray, block: Samples, rows: slice) -> Any:
        """Equal rows where all views are there; arrays of the place where the block's arrays are."""
        place = place_of(block.weight)
        if block.present is None:
            root = place.asarray(np.sqrt(self.eta)[None, :], "float64")
            return place.xp.broadcast_to(root, (rows.stop - rows.start, len(self.eta)))
        return self.of(block.present[rows], place)

    def of(self, present: Any, place: Place = HOST) -> Any:
        """Amplitudes of samples that have these views, an array of bool of a place."""
        xp = place.xp
        there = xp.astype(present, xp.float64)
        root, reference = (place.asarray(values, "float64") for values in (np.sqrt(self.eta), self.reference))
        weight = there @ reference
        some = weight > 0.0
        factor = xp.where(some, xp.sum(reference) / xp.where(some, weight, 1.0), 1.0) ** 0.5
        return there * root[None, :] * factor[:, None]

    def pullback(
        self, theta: np.ndarray, block: Samples, rows: slice, amplitudes: np.ndarray, slopes: np.ndarray
    ) -> np.ndarray:
        """There are no parameters."""
        return np.empty(0)
