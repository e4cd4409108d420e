"""Gated sums of kernels of points: values in parts and as a whole, and their gradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.kernels import Gaussian, Linear, Polynomial
from kernelweave.kernels.points import PointKernel, ProjectedSum

rng = np.random.default_rng(0)
N = 8
ROWS = np.array([1, 2, 5, 7])
COEF = rng.normal(size=(4, 2))
SETS = {
    "linear": [Linear(), Linear()],
    "curved": [Polynomial(degree=3), Gaussian(scale=1.5)],
    "mixed": [Gaussian(scale=2.0), Linear(), Polynomial(), Linear()],
}
GAINS = {"linear": [1.0, 1.0], "curved": [0.2, 3.0], "mixed": [0.5, 1.0, 0.1, 1.0]}


def make(name):
    kernels = SETS[name]
    points = [rng.normal(size=(N, 1 + m % 3)) for m in range(len(kernels))]
    fitted = [kernel.fit(Z) for kernel, Z in zip(kernels, points, strict=True)]
    pairs = zip(fitted, GAINS[name], strict=True)
    return [PointKernel(kernel, gain) for kernel, gain in pairs], points, rng.random((N, len(kernels)))


def brute_force(kernels, points, gates):
    K = np.zeros((N, N))
    for m, each in enumerate(kernels):
        for i in range(N):
            for j in range(N):
                value = each.gain * each.kernel.cross(points[m][[i]], points[m][[j]])[0, 0]
                K[i, j] += gates[i, m] * value * gates[j, m]
    return K


@pytest.mark.parametrize("name", SETS)
def test_values_in_parts_and_as_a_whole(name):
    kernels, points, gates = make(name)
    total, K = ProjectedSum(kernels, points, gates), brute_force(kernels, points, gates)
    assert_allclose(total.gram(), K, atol=1e-12)
    out = np.full((N, N), np.nan, dtype=np.float32)
    assert total.gram(out) is out
    assert_allclose(out, K, rtol=1e-5, atol=1e-6)
    assert total.gram(dtype=np.float32).dtype == np.float32
    assert_allclose(total.block(ROWS), K[np.ix_(ROWS, ROWS)], atol=1e-12)
    assert_allclose(total.product(ROWS, COEF[:, 0]), K[:, ROWS] @ COEF[:, 0], atol=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_gradient_by_gates_and_points(name):
    kernels, points, gates = make(name)

    def value(points, gates):
        K = brute_force(kernels, points, gates)[np.ix_(ROWS, ROWS)]
        return -0.5 * np.trace(COEF.T @ K @ COEF)

    by_gates, by_points = ProjectedSum(kernels, points, gates).pullback(ROWS, COEF)
    step = rng.normal(size=gates.shape)
    slope = (value(points, gates + 1e-6 * step) - value(points, gates - 1e-6 * step)) / 2e-6
    assert (by_gates * step[ROWS]).sum() == pytest.approx(slope, rel=1e-6)
    for m in range(len(kernels)):
        step = rng.normal(size=points[m].shape)
        moved = [[*points[:m], points[m] + h * step, *points[m + 1 :]] for h in (1e-6, -1e-6)]
        slope = (value(moved[0], gates) - value(moved[1], gates)) / 2e-6
        assert (by_points[m] * step[ROWS]).sum() == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("name", SETS)
def test_contraction_of_one_kernel(name):
    for kernel, Z in zip(*make(name)[:2], strict=True):
        image, pulled = kernel.contract(Z, rng.normal(size=(N, 3)))
        assert image.shape == (N, 3) and pulled.shape == Z.shape
        assert_allclose(kernel.gram(Z), kernel.cross(Z, Z), atol=1e-12)
        assert kernel.is_linear == isinstance(kernel.kernel, Linear)
