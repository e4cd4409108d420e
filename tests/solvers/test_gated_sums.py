"""Sums with a weight for each sample and matrix, and their gradients, against plain NumPy."""

import numpy as np
import pytest

from cases import each
from kernelweave.solvers.sums import gated_pullback, sum_kernels

rng = np.random.default_rng(0)


def problem(n, n_kernels, dtype=np.float64):
    factors = rng.normal(size=(n_kernels, n, n))
    matrices = (factors @ factors.transpose(0, 2, 1)).astype(dtype)
    gates = rng.random((n, n_kernels)) * (rng.random((n, n_kernels)) > 0.3)
    return matrices, gates


@each("n", [1, 5, 31, 32, 33, 70])
@each("n_kernels", [1, 2, 3, 4, 7])
@each("dtype", [np.float64, np.float32])
def test_sum(n, n_kernels, dtype):
    matrices, gates = problem(n, n_kernels, dtype)
    expected = np.einsum("im,mij,jm->ij", gates, matrices, gates)
    K = sum_kernels(matrices, gates)
    assert K.dtype == dtype
    precision = 1e-5 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(K, expected, rtol=0, atol=precision * np.abs(expected).max())
    np.testing.assert_array_equal(K, K.T)
    out = np.full((n, n), np.nan, dtype)
    assert sum_kernels(matrices, gates, out=out) is out
    np.testing.assert_array_equal(out, K)
    out = np.ones((n, n), dtype)
    sum_kernels(matrices, gates, out=out, add=True)
    np.testing.assert_allclose(out, 1.0 + K, rtol=0, atol=precision * np.abs(expected).max())


def test_closed_rows_are_not_read():
    matrices, gates = problem(40, 3)
    gates[7, 1] = 0.0
    expected = sum_kernels(matrices, gates)
    matrices[1, 7, :8] = np.nan
    np.testing.assert_array_equal(sum_kernels(matrices, gates)[:, 7], expected[:, 7])


def test_read_only_matrices():
    matrices, gates = problem(20, 2)
    matrices.flags.writeable = False
    gated_pullback(matrices, gates, np.arange(20), np.ones((20, 1)))
    assert np.isfinite(sum_kernels(matrices, gates)).all()


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pullback_is_the_slope_of_the_quadratic_form(n_outputs, dtype):
    matrices, gates = problem(24, 4, dtype)
    rows = np.array([0, 3, 4, 11, 20, 23])
    coef = np.zeros((24, n_outputs))
    coef[rows] = rng.normal(size=(6, n_outputs))
    coef[3, 0] = 0.0 if n_outputs > 1 else coef[3, 0]

    def form(g):
        return -0.5 * np.einsum("ir,im,mij,jm,jr->", coef, g, matrices.astype(float), g, coef)

    slopes = gated_pullback(matrices, gates, rows, coef[rows])
    h = 1e-5
    for i in range(24):
        for m in range(4):
            step = np.zeros_like(gates)
            step[i, m] = h
            expected = (form(gates + step) - form(gates - step)) / (2 * h)
            assert slopes[i, m] == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_no_support_vector():
    matrices, gates = problem(5, 2)
    np.testing.assert_array_equal(
        gated_pullback(matrices, gates, np.empty(0, dtype=int), np.empty((0, 1))), np.zeros((5, 2))
    )
