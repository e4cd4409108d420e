"""Which eigenvalues of a Gram matrix count, against the spectrum that the matrix has without rounding."""

import numpy as np
import pytest

from kernelweave.solvers.base import above_rounding, is_indefinite


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mean", [0.0, 1.0, 100.0])
@pytest.mark.parametrize(("n", "rank"), [(5, 2), (60, 7), (60, 60), (300, 20)])
def test_the_rank_of_samples_of_few_columns(n, rank, mean, dtype):
    """Products in a type, of columns with a mean: all but the rank is rounding."""
    A = (np.random.default_rng(n + rank).normal(size=(n, rank)) + mean).astype(dtype)
    values = np.linalg.eigvalsh((A @ A.T).astype(np.float64))
    if dtype is np.float32 and mean > 1.0:
        assert 1 <= above_rounding(values, dtype).sum() <= rank  # float32 has lost the directions around the mean
    else:
        assert above_rounding(values, dtype).sum() == rank or rank == n


def test_a_spectrum_over_many_scales_is_kept():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 40)))[0]
    wanted = np.logspace(-12, 0, 40)
    values = np.linalg.eigvalsh((Q * wanted) @ Q.T)
    assert above_rounding(values).all() and not is_indefinite(values)


def test_negative_eigenvalues_show_how_large_rounding_is():
    values = np.array([-3e-9, 2e-9, 5e-9, 1e-8, 1.0])
    np.testing.assert_array_equal(above_rounding(values), [False, False, False, True, True])


def test_an_indefinite_matrix_and_one_of_zeros():
    values = np.array([-0.1, 1e-12, 1e-8, 1.0])
    assert is_indefinite(values)
    np.testing.assert_array_equal(above_rounding(values), [False, False, True, True])
    assert is_indefinite(np.array([-2.0, -1.0])) and not above_rounding(np.array([-2.0, -1.0])).any()
    assert not above_rounding(np.zeros(3)).any() and not is_indefinite(np.zeros(3))
