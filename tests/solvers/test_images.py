"""Products of matrices with sparse coefficients, against plain NumPy."""

import numpy as np
import pytest

from kernelweave.solvers.sums import images

rng = np.random.default_rng(0)


def stack(n, count):
    M = rng.normal(size=(count, n, n))
    return M + M.transpose(0, 2, 1)


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
