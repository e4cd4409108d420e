"""`ExplicitSum`: sum_m a_m(x) k_m(x, z) a_m(z) with explicit features of each kernel.

`cross` gives the features a_m(x) phi_m(x) of all kernels side by side, so that values are ``cross(views) @ coef`` as
they are for every combined kernel; coefficients are the weight vectors w.
"""

from __future__ import annotations

import numpy as np

from ...engines.machine import ExplicitKernel
from ...engines.stack import ExplicitStack
from ...views import Views
from ..combined import CombinedKernel
from .amplitudes import WeightAmplitudes


class ExplicitSum(CombinedKernel):
    """k(x, z) = sum_m eta_m <phi_m(x), phi_m(z)> with one weight for each kernel.

    Parameters
    ----------
    stack : ExplicitStack
    theta : ndarray of shape (n_kernels,)
        The weights.
    """

    is_sum = True

    def __init__(self, stack: ExplicitStack, theta: np.ndarray):
        self.stack, self.theta = stack, theta  # type: ignore[assignment]
        self.amplitudes = WeightAmplitudes(theta)

    @property
    def active(self) -> np.ndarray:
        """The kernels with a weight."""
        return self.theta != 0

    def operand(self, out: np.ndarray | None = None) -> ExplicitKernel:  # type: ignore[override]
        """The features in blocks, with these weights."""
        return ExplicitKernel(self.stack.engine, self.amplitudes, self.stack.n_features)

    def cross(self, views: Views) -> np.ndarray:
        """a_m(x) phi_m(x) of all kernels, of shape (n_new, n_features)."""
        present = self.stack.presence(views, self.active)
        a, offsets = self.amplitudes.of(present), self.stack.offsets
        features = np.zeros((views.n_samples, offsets[-1]))
        for m in np.flatnonzero(self.active).tolist():
            found = self.stack.maps[m].transform(views, present[:, m])
            features[:, offsets[m] : offsets[m + 1]] = a[:, m, None] * found
        return features

    def weights(self) -> np.ndarray:
        """The weights eta."""
        return self.theta

    def restrict(self, index: np.ndarray) -> ExplicitSum:
        """The same kernel without training samples."""
        stack = self.stack
        return ExplicitSum(ExplicitStack(stack.reservoir, stack.maps, None, stack.n_samples), self.theta)
