"""Functions of orthonormal matrices, ill-conditioned as much as wanted."""

import numpy as np


def spectrum(size, decades, seed=3):
    """A symmetric matrix with eigenvalues from 1 down to 10^-decades."""
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]
    return (axes * np.logspace(0, -decades, size)) @ axes.T


def trace(matrix):
    """-tr(W'AW), whose minimum over orthonormal W is the negative sum of the largest eigenvalues."""

    def function(x):
        image = matrix @ x.reshape(len(matrix), -1)
        return -float(x @ image.ravel()), -2.0 * image.ravel(), None

    return function


def distance(left, right):
    """||AW - B||^2."""

    def function(x):
        rest = left @ x.reshape(left.shape[1], -1) - right
        return float((rest**2).sum()), 2.0 * (left.T @ rest).ravel(), None

    return function
