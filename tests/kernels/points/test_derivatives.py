"""Derivatives of kernels by points, against differences of kernel values."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from kernelweave.kernels import Gaussian, Laplacian, Linear, Polynomial
from kernelweave.kernels.points.derivatives import is_differentiable, row_pullback

rng = np.random.default_rng(0)
A, Z, WEIGHTS = rng.normal(size=(6, 3)), rng.normal(size=(4, 3)), rng.normal(size=(6, 4))


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(degree=1), Polynomial(), Polynomial(degree=3, coef0=0.5), Gaussian(scale=1.3), Gaussian()],
)
def test_gradient_by_the_points(kernel):
    kernel = kernel.fit(A)
    pulled = row_pullback(kernel, A, Z, WEIGHTS)
    assert pulled.shape == Z.shape
    for row in range(4):
        for column in range(3):
            step = np.zeros_like(Z)
            step[row, column] = 1e-6
            ahead, behind = ((WEIGHTS * kernel.cross(A, Z + sign * step)).sum() for sign in (1, -1))
            assert pulled[row, column] == pytest.approx((ahead - behind) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=3), Gaussian(scale=2.0)])
def test_sparse_samples(kernel):
    dense, thin = row_pullback(kernel.fit(A), A, Z, WEIGHTS), row_pullback(kernel.fit(A), sp.csr_matrix(A), Z, WEIGHTS)
    assert isinstance(thin, np.ndarray)
    assert_allclose(thin, dense, atol=1e-12)


def test_which_kernels_are_differentiable():
    class Own(Linear):
        """A kernel that may be anything."""

    assert all(is_differentiable(kernel) for kernel in (Linear(), Polynomial(), Gaussian()))
    assert not any(is_differentiable(kernel) for kernel in (Laplacian(), Own(), Linear() + Gaussian()))
