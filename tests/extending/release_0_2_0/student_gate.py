"""A gating model of regions around centres that has heavy tails: far from all centres, all kernels count alike."""

import numpy as np

from kernelweave.combiners import Gate


class StudentGate(Gate):
    """Scores -log(1 + ||x - mu_m||^2): the squared gates are in proportion to Student's density, as in t-SNE.

    Parameters
    ----------
    norm : {"unit", "paper"}
        Gates of length 1, or of sum 1.
    """

    def __init__(self, norm="unit"):
        self.norm = norm

    def start(self, codes, n_kernels, rng):
        return 0.1 * rng.normal(size=n_kernels * codes.shape[1])

    def scores(self, theta, codes, n_kernels):
        return -np.log1p((self.offsets(theta, codes, n_kernels) ** 2).sum(axis=2))

    def scores_pullback(self, theta, codes, slopes):
        return self.pulls(theta, codes, slopes).sum(axis=0).ravel()

    def codes_pullback(self, theta, codes, slopes):
        return -self.pulls(theta, codes, slopes).sum(axis=1)

    def offsets(self, theta, codes, n_kernels):
        return codes[:, None, :] - theta.reshape(n_kernels, -1)

    def pulls(self, theta, codes, slopes):
        offsets = self.offsets(theta, codes, slopes.shape[1])
        return (2.0 * slopes / (1.0 + (offsets**2).sum(axis=2)))[:, :, None] * offsets
