"""Sums of kernels with weights, and of kernels that are computed one by one, against plain NumPy."""

import tracemalloc

import numpy as np
import pytest

from kernelweave.solvers.sums import KernelBlock, sum_kernels

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
    np.testing.assert_allclose(sum_kernels(matrices, weights), expected, atol=1e-12)
    base = stack(n, 1)[0]
    np.testing.assert_allclose(sum_kernels(matrices, weights, out=base.copy(), add=True), base + expected, atol=1e-12)


def test_only_lower_triangles_and_weighted_matrices_are_read():
    matrices = stack(50, 3)
    spoiled = matrices.copy()
    spoiled[:, *np.triu_indices(50, 1)] = np.nan
    spoiled[1] = np.nan
    weights = np.array([1.0, 0.0, 2.0])
    np.testing.assert_allclose(sum_kernels(spoiled, weights), matrices[0] + 2 * matrices[2], atol=1e-12)


def test_float32_and_read_only_stacks():
    matrices = stack(20, 2, np.float32)
    matrices.flags.writeable = False
    total = sum_kernels(matrices, np.array([1.0, 0.5]))
    assert total.dtype == np.float32
    np.testing.assert_allclose(total, matrices[0] + 0.5 * matrices[1], rtol=1e-5)


def one_by_one(matrices, chosen):
    """The kernels as new matrices, each computed when it is asked for."""
    return (KernelBlock(m, matrices[m].copy()) for m in chosen)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gated", [False, True])
def test_one_by_one_is_the_sum_of_the_stack(gated, dtype):
    matrices = stack(40, 4, dtype)
    weights = rng.random((40, 4)) if gated else np.array([1.0, 0.0, -0.5, 2.0])
    chosen = range(4) if gated else np.flatnonzero(weights)
    expected = sum_kernels(matrices, weights)
    close = {"atol": 1e-12 if dtype == np.float64 else 1e-5}
    total = sum_kernels(one_by_one(matrices, chosen), weights)
    assert total.dtype == dtype
    np.testing.assert_allclose(total, expected, **close)
    out = np.full((40, 40), np.nan, dtype)
    assert sum_kernels(one_by_one(matrices, chosen), weights, out=out) is out
    np.testing.assert_array_equal(out, total)
    more = sum_kernels(one_by_one(matrices, chosen), weights, out=np.ones((40, 40), dtype), add=True)
    np.testing.assert_allclose(more, 1.0 + expected, **close)


def test_gates_of_other_samples_multiply_the_columns():
    kernels, rows, columns = rng.normal(size=(3, 5, 7)), rng.random((5, 3)), rng.random((7, 3))
    expected = np.einsum("im,mij,jm->ij", rows, kernels, columns)
    np.testing.assert_allclose(sum_kernels(one_by_one(kernels, range(3)), rows, columns), expected, atol=1e-14)


@pytest.mark.parametrize("given", [False, True])
def test_kernels_between_samples_with_open_gates(given):
    kernels, rows, columns = rng.normal(size=(4, 5, 7)), rng.random((5, 4)), rng.random((7, 4))
    rows[[0, 3], 0] = rows[2, 1] = columns[[1, 6], 0] = columns[4, 2] = 0.0
    places = [(np.flatnonzero(rows[:, m]), np.flatnonzero(columns[:, m])) for m in range(4)]
    blocks = [KernelBlock(m, kernels[m][np.ix_(*place)], *place) for m, place in enumerate(places)]
    blocks[1] = KernelBlock(1, kernels[1][places[1][0]], places[1][0])
    blocks[2] = KernelBlock(2, kernels[2][:, places[2][1]], None, places[2][1])
    blocks[3] = KernelBlock(3, kernels[3].copy())
    out = np.full((5, 7), np.nan) if given else None
    total = sum_kernels(iter(blocks), rows, columns, out=out)
    assert (total is out) == given
    np.testing.assert_allclose(total, np.einsum("im,mij,jm->ij", rows, kernels, columns), atol=1e-14)


def test_the_sum_of_no_kernels():
    np.testing.assert_array_equal(sum_kernels(iter(()), np.ones((2, 3)), np.ones((4, 3))), np.zeros((2, 4)))
    np.testing.assert_array_equal(sum_kernels(iter(()), np.ones((2, 3))), np.zeros((2, 2)))
    np.testing.assert_array_equal(sum_kernels(iter(()), np.ones(3), out=np.ones((2, 2))), np.zeros((2, 2)))
    np.testing.assert_array_equal(sum_kernels(iter(()), np.ones(3), out=np.ones((2, 2)), add=True), np.ones((2, 2)))
    with pytest.raises(ValueError, match="the shape of the sum is not known"):
        sum_kernels(iter(()), np.ones(3))


def test_what_cannot_be_summed():
    with pytest.raises(ValueError, match="add=True needs a matrix"):
        sum_kernels(stack(3, 2), np.ones(2), add=True)
    with pytest.raises(ValueError, match="no column_weights"):
        sum_kernels(stack(3, 2), np.ones((3, 2)), np.ones((3, 2)))


@pytest.mark.parametrize("given", [False, True])
def test_kernels_computed_one_by_one_take_two_matrices_of_memory(given):
    n, gates = 300, rng.random((300, 5))
    for weights in (np.arange(1.0, 6.0), gates):
        tracemalloc.start()
        out = np.empty((n, n)) if given else None
        sum_kernels((KernelBlock(m, np.ones((n, n))) for m in range(5)), weights, out=out)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2.2 * 8 * n * n
