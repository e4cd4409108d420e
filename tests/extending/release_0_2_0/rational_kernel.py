"""The rational quadratic kernel: Gaussian kernels of many widths at once."""

import numpy as np
from scipy.spatial.distance import cdist

from kernelweave.kernels import ViewKernel


class RationalQuadratic(ViewKernel):
    """k(x, z) = (1 + ||x - z||^2 / (2 alpha s^2))^(-alpha), which falls more slowly than a Gaussian kernel.

    Parameters
    ----------
    view : view selector
    alpha : float
        Small for many widths at once; large for nearly a Gaussian kernel.
    scale : float or None
        The width s; None learns the root mean square distance of the samples from their mean.
    """

    positive_semidefinite = is_stationary = is_differentiable = has_width = True

    def __init__(self, view=None, alpha=1.0, scale=None):
        self.view, self.alpha, self.scale = view, alpha, scale

    def learn(self, A, sample_weight):
        if not self.alpha > 0.0:
            raise ValueError(f"alpha must be positive, not {self.alpha!r}")
        squares = ((A - np.average(A, axis=0, weights=sample_weight)) ** 2).sum(axis=1)
        self.scale_ = self.scale or float(np.sqrt(np.average(squares, weights=sample_weight))) or 1.0

    def cross_of(self, A, B):
        return (1.0 + cdist(A, B, "sqeuclidean") / (2.0 * self.alpha * self.scale_**2)) ** -self.alpha

    def pullback(self, A, Z, weights):
        pulls = weights * self.cross_of(A, Z) ** (1.0 + 1.0 / self.alpha) / self.scale_**2
        return pulls.T @ A - pulls.sum(axis=0)[:, None] * Z
