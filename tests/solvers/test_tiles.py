"""Powers of 2 are exact to rounding, and loops over features add up to distances."""

import numpy as np
import pytest

from kernelweave.solvers.tiles import (
    absolute_distances,
    add_products,
    add_weighted,
    chi_squared_distances,
    powers32,
    powers64,
    raise_power,
)

rng = np.random.default_rng(0)


@pytest.mark.parametrize(("powers", "dtype"), [(powers32, np.float32), (powers64, np.float64)])
def test_powers_of_two(powers, dtype):
    whole = -np.arange(100.0)
    x = np.concatenate([whole, whole - 0.5, -rng.exponential(20.0, 10000)]).astype(dtype)[None, :]
    found = x.copy()
    powers(found)
    wanted = np.exp2(x.astype(np.longdouble))
    large = wanted > 4.0 * np.finfo(dtype).tiny
    assert np.abs(found / wanted - 1.0)[large].max() < 2.0 * np.finfo(dtype).eps
    assert (found[~large] < 8.0 * np.finfo(dtype).tiny).all()
    np.testing.assert_array_equal(found[0, :100], np.exp2(x[0, :100]))  # whole numbers, 0 among them
    odd = np.array([[1e-7, -1e30, -np.inf]], dtype=dtype)  # rounding above 0, and far away
    powers(odd)
    assert odd[0, 0] == 1.0 and (odd[0, 1:] < 1e-37).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 7, 8])
def test_distances(dtype, n_features):
    A, B = (rng.random((n, n_features)).astype(dtype) for n in (5, 33))
    A[0], B[0], B[1] = 0.0, 0.0, A[1]
    S = np.empty((5, 33), dtype=dtype)
    close = {"atol": 40 * np.finfo(dtype).eps}
    absolute_distances(A, np.ascontiguousarray(B.T), S)
    np.testing.assert_allclose(S, -np.abs(A[:, None] - B).sum(axis=2), **close)
    chi_squared_distances(A, np.ascontiguousarray(B.T), S)
    sums = A[:, None].astype(float) + B
    squares = (A[:, None].astype(float) - B) ** 2
    np.testing.assert_allclose(S, -np.divide(squares, sums, where=sums > 0, out=0 * sums).sum(axis=2), **close)
    assert S[0, 0] == 0.0 and S[1, 1] == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_and_products(dtype):
    S = rng.normal(size=(5, 33)).astype(dtype)
    for degree in range(5):
        found = S.copy()
        raise_power(found, dtype(0.5), degree, dtype(2.0))
        np.testing.assert_allclose(found, 2.0 * (S + dtype(0.5)) ** degree, rtol=1e-5, atol=1e-6)
    V, out = rng.normal(size=(3, 33)), np.ones((5, 3))
    add_products(S, V, out)
    np.testing.assert_allclose(out, 1.0 + S.astype(float) @ V.T, rtol=1e-12)
    left, right, total = rng.normal(size=5), rng.normal(size=33), np.ones((5, 33))
    add_weighted(S, left, right, total)
    np.testing.assert_allclose(total, 1.0 + left[:, None] * S.astype(float) * right, rtol=1e-12)
