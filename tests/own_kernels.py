"""Kernels as users write them, outside the package: one is stationary and learns a width, the other is neither."""

import numpy as np

from kernelweave.kernels import ViewKernel


class RationalQuadratic(ViewKernel):
    """k(x, z) = 2 / (1 + ||x - z||^2 / scale_^2), where scale_^2 is the mean squared norm of centred features."""

    positive_semidefinite = True
    is_stationary = True
    is_differentiable = True
    has_width = True

    def __init__(self, view=None, scale=None):
        self.view = view
        self.scale = scale

    def learn(self, A, sample_weight):
        deviations = A - np.average(A, axis=0, weights=sample_weight)
        spread = np.sqrt(np.average((deviations**2).sum(axis=1), weights=sample_weight))
        self.scale_ = float(self.scale or spread or 1.0)

    def cross_of(self, A, B):
        squared = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
        return 2.0 / (1.0 + squared / self.scale_**2)

    def pullback(self, A, Z, weights):
        slopes = weights * self.cross_of(A, Z) ** 2 / self.scale_**2
        return slopes.T @ A - slopes.sum(axis=0)[:, None] * Z


class ExponentialProduct(ViewKernel):
    """k(x, z) = exp(<x, M z>) with M = diag(1, 1/2, 1/3, ...): its k(x, x) differs between directions of x."""

    positive_semidefinite = True
    is_differentiable = True

    def __init__(self, view=None):
        self.view = view

    def cross_of(self, A, B):
        return np.exp(A / np.arange(1, A.shape[1] + 1) @ B.T)

    def pullback(self, A, Z, weights):
        return (weights * self.cross_of(A, Z)).T @ A / np.arange(1, A.shape[1] + 1)
