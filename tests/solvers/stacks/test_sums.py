import numpy as np
import pytest

from kernelweave.solvers.stacks.sums import add_weighted, images, weighted_sum

rng = np.random.default_rng(0)


def stack(n, count, dtype=np.float64):
    M = rng.normal(size=(count, n, n))
    return (M + M.transpose(0, 2, 1)).astype(dtype)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("n", [1, 31, 33, 100])
def test_sum_and_update(n, count):
    matrices, weights = stack(n, count), rng.normal(size=count)
    weights[rng.integers(count)] = 0.0
    expected = np.einsum("m,mij->ij", weights, matrices)
    np.testing.assert_allclose(weighted_sum(matrices, weights), expected, atol=1e-12)
    base = stack(n, 1)[0]
    np.testing.assert_allclose(add_weighted(matrices, weights, base.copy()), base + expected, atol=1e-12)


def test_only_lower_triangles_and_weighted_matrices_are_read():
    matrices = stack(50, 3)
    spoiled = matrices.copy()
    spoiled[:, *np.triu_indices(50, 1)] = np.nan
    spoiled[1] = np.nan
    weights = np.array([1.0, 0.0, 2.0])
    np.testing.assert_allclose(weighted_sum(spoiled, weights), matrices[0] + 2 * matrices[2], atol=1e-12)


def test_float32_and_read_only_stacks():
    matrices = stack(20, 2, np.float32)
    matrices.flags.writeable = False
    total = weighted_sum(matrices, np.array([1.0, 0.5]))
    assert total.dtype == np.float32
    np.testing.assert_allclose(total, matrices[0] + 0.5 * matrices[1], rtol=1e-5)


@pytest.mark.parametrize("filled", [1.0, 0.3, 0.02])
@pytest.mark.parametrize("outputs", [1, 3, 40])
def test_images_at_the_nonzero_entries(outputs, filled):
    matrices, coef = stack(30, 4), rng.normal(size=(30, outputs))
    coef[rng.random(coef.shape) > filled] = 0.0
    coef[::3] = 0.0
    found = images(matrices, coef)
    assert sorted(zip(found.rows, found.columns, strict=True)) == sorted(zip(*np.nonzero(coef), strict=True))
    every = matrices @ coef
    np.testing.assert_allclose(found.values, every[:, found.rows, found.columns], atol=1e-11)
    np.testing.assert_allclose(found.forms(), np.einsum("mir,ir->m", every, coef), atol=1e-10)
    some = rng.permutation(len(found.rows))[:7]
    np.testing.assert_array_equal(found.at(found.rows[some], found.columns[some]), found.values[:, some])


def test_images_under_scaled_kernels():
    matrices, coef, factor = stack(30, 4), rng.normal(size=(30, 3)), 1.0 + rng.random(30)
    found = images(matrices, factor[:, None] * coef).scaled(factor)
    expected = (matrices * np.outer(factor, factor)) @ coef
    np.testing.assert_allclose(found.values, expected[:, found.rows, found.columns], atol=1e-10)
    np.testing.assert_allclose(found.forms(), np.einsum("mir,ir->m", expected, coef), atol=1e-10)


def test_no_support_at_all():
    found = images(stack(5, 2), np.zeros((5, 1)))
    assert found.values.shape == (2, 0) and found.forms().tolist() == [0.0, 0.0]
