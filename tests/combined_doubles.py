"""Three combined kernels as they may be written outside the package: a matrix, rows on demand, explicit features.

Each is k(x, z) = sum_m theta_m k_m(x, z), so that they can be compared, and each has a combiner that returns it.
"""

import time

import numpy as np

from kernelweave.combiners import CombinedKernel, Combiner


class DenseKernel(CombinedKernel):
    """A matrix of the training samples that is held, such as one that comes from elsewhere."""

    def __init__(self, stack, theta, matrix):
        self.stack, self.theta, self.matrix = stack, theta, matrix

    @property
    def active(self):
        return self.theta > 0

    def gram(self, out=None):
        if out is None:
            return self.matrix.copy()
        out[...] = self.matrix
        return out

    def cross(self, views):
        return weighted_cross(self, views)

    def weights(self):
        return self.theta

    def restrict(self, index):
        return DenseKernel(self.stack.restrict(index, self.active), self.theta, self.matrix[np.ix_(index, index)])


class RowKernel(CombinedKernel):
    """Rows that are computed when they are asked for; nothing of size n x n is held."""

    has_cheap_blocks = True

    def __init__(self, stack, theta):
        self.stack, self.theta = stack, theta
        self.largest = 0  # most rows that were asked for at once

    @property
    def active(self):
        return self.theta > 0

    def rows(self, index):
        self.largest = max(self.largest, len(index))
        parts = [self.theta[m] * self.stack.gram_rows(m, index) for m in np.flatnonzero(self.active)]
        return np.sum(parts, axis=0)

    def cross(self, views):
        return weighted_cross(self, views)

    def weights(self):
        return self.theta

    def restrict(self, index):
        return RowKernel(self.stack.restrict(index, self.active), self.theta)


class FeatureKernel(CombinedKernel):
    """K = F F' of explicit features, which are all that is held: no stack, no Gram matrix, no training samples.

    Parameters
    ----------
    kernels : list of Linear
        Fitted.
    labels : list of str
    theta : ndarray of shape (n_kernels,)
    features : ndarray of shape (n_samples, n_features)
        The features of all kernels, side by side, each times the root of its weight.
    """

    has_cheap_blocks = True

    def __init__(self, kernels, labels, theta, features):
        self.kernels, self.labels, self.theta, self.features = kernels, labels, theta, features

    @classmethod
    def of(cls, stack, theta):
        kernel = cls(stack.kernels, stack.names, theta, None)
        kernel.features = kernel.features_of(stack.support)
        return kernel

    def features_of(self, views):
        roots = zip(self.kernels, np.sqrt(self.theta), strict=True)
        return np.hstack([root * kernel.read(views)[0] for kernel, root in roots if root > 0])

    @property
    def names(self):
        return self.labels

    @property
    def n_samples(self):
        return len(self.features)

    @property
    def active(self):
        return self.theta > 0

    def rows(self, index):
        return self.features[index] @ self.features.T

    def product(self, index, coef):
        return self.features @ (self.features[index].T @ coef)

    def cross(self, views):
        return self.features_of(views) @ self.features.T

    def values(self, views, coef):
        return self.features_of(views) @ (self.features.T @ coef)

    def values_per_sample(self, coef):
        return max(1, self.features.shape[1])

    def weights(self):
        return self.theta

    def sample_weights(self, views):
        return np.tile(self.theta, (views.n_samples, 1))

    def restrict(self, index):
        return FeatureKernel(self.kernels, self.labels, self.theta, self.features[index])

    def columns(self):
        return np.concatenate([kernel.columns() for kernel, on in zip(self.kernels, self.active, strict=True) if on])

    def lookups(self):
        return []

    def replace(self, m, kernel):
        raise ValueError("explicit features have no ids")


class Doubled(Combiner):
    """Weights that fall with the position of a kernel, and 0 for the last; `kind` chooses the combined kernel."""

    def __init__(self, kind="dense"):
        self.kind = kind

    def kernel(self, stack):
        theta = 1.0 / np.arange(1.0, stack.n_kernels + 1.0)
        theta[-1] = 0.0
        if self.kind == "dense":
            return DenseKernel(stack, theta, RowKernel(stack, theta).gram())
        return RowKernel(stack, theta) if self.kind == "rows" else FeatureKernel.of(stack, theta)

    def learn(self, stack, machine, control):
        return self.kernel(stack).solve(machine, control, time.perf_counter())


def weighted_cross(kernel, views):
    """The weighted sum for new samples."""
    stack, present = kernel.stack, kernel.stack.presence(views, kernel.active)
    parts = [kernel.theta[m] * stack.cross(m, views, present[:, m]) for m in np.flatnonzero(kernel.active)]
    return np.sum(parts, axis=0)
