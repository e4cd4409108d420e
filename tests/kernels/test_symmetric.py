"""Gram matrices in tiles: the same values as without, exactly symmetric, and the same for any number of threads."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from kernelweave.combiners import WeightedSum
from kernelweave.kernels import Constant, Gaussian, KernelStack, Laplacian, Linear, Polynomial
from kernelweave.kernels.base import TILE, symmetric

N = 2 * TILE + 37  # three tiles a side, the last one small
X = np.random.default_rng(0).normal(size=(N, 6)) + 3.0
KERNELS = {
    "linear": (Linear(), lambda A, B: A @ B.T),
    "polynomial": (Polynomial(degree=3), lambda A, B: (A @ B.T + 1.0) ** 3),
    "gaussian": (Gaussian(scale=2.0), lambda A, B: np.exp(-cdist(A, B, "sqeuclidean") / 4.0)),
}


@pytest.mark.parametrize("n", [1, 31, 32, 33, TILE - 1, TILE, TILE + 1, N])
def test_the_matrix_is_exactly_symmetric_whatever_the_tiles_are(n):
    values = np.random.default_rng(1).normal(size=(n, n))
    K = symmetric(n, lambda rows, columns: values[rows, columns].copy())
    np.testing.assert_array_equal(K, np.tril(values) + np.tril(values, -1).T)


def test_the_matrix_is_put_where_it_is_wanted_and_in_its_type():
    values = np.random.default_rng(1).normal(size=(40, 40))
    out = np.empty((40, 40), dtype=np.float32)
    assert symmetric(40, lambda rows, columns: values[rows, columns].copy(), out=out) is out
    np.testing.assert_array_equal(np.tril(out), np.tril(values).astype(np.float32))
    assert symmetric(40, lambda rows, columns: values[rows, columns].copy(), dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize("name", KERNELS)
def test_gram_matrices_of_several_tiles(name):
    kernel, formula = KERNELS[name]
    fitted, expected = kernel.fit(X), formula(X, X)
    K = fitted.gram(X)
    np.testing.assert_allclose(K, expected, rtol=1e-11, atol=1e-14)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diagonal(K), fitted.diagonal(X))
    np.testing.assert_allclose(fitted.cross(X[::7], X), expected[::7], rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
@pytest.mark.parametrize("name", KERNELS)
def test_stacks_normalise_tiles_as_whole_matrices(name, normalize):
    kernel, formula = KERNELS[name]
    stack = KernelStack([kernel], normalize).fit(X)
    K, raw = stack.gram(0), formula(X, X)
    if normalize == "unit-diagonal":
        root = np.sqrt(np.diagonal(raw))
        raw /= root[:, None] * root
        np.testing.assert_array_equal(np.diagonal(K), 1.0)
    elif normalize == "unit-trace":
        raw /= np.diagonal(raw).mean()
    elif normalize == "center":
        raw = raw - raw.mean(axis=0) - raw.mean(axis=1, keepdims=True) + raw.mean()
    np.testing.assert_allclose(K, raw, rtol=1e-10, atol=1e-12 * np.abs(raw).max())
    assert (stack.tile(0) is None) == (normalize == "center")
    if normalize != "center":
        np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(stack.matrices()[0], K)
    chosen = np.array([N - 1, 0, TILE])
    np.testing.assert_allclose(KernelStack([kernel], normalize).fit(X).gram_rows(0, chosen), K[chosen], rtol=1e-9)


def test_the_number_of_threads_changes_nothing():
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            stack = KernelStack([Gaussian([0, 1, 2]), Linear([3, 4]), Polynomial()]).fit(X)
            found.append(WeightedSum(stack, np.array([0.2, 0.3, 0.5])).gram())
    np.testing.assert_array_equal(*found)


def test_weighted_sums_add_kernels_with_tiles_and_without():
    kernels = [Gaussian([0, 1, 2]), Laplacian([1, 2]), Constant(2.0), Linear([3, 4]), Polynomial()]
    theta = np.array([0.2, 0.1, 0.3, 0.4, 0.0])
    stack = KernelStack(kernels).fit(X)
    assert [stack.tile(m) is None for m in range(5)] == [False, True, True, False, False]
    expected = sum(weight * stack.gram(m) for m, weight in enumerate(theta))
    K = WeightedSum(stack, theta).gram()
    np.testing.assert_allclose(K, expected, rtol=1e-13, atol=1e-15)
    out = np.full((N, N), np.nan)
    assert WeightedSum(stack, theta).gram(out) is out
    np.testing.assert_array_equal(out, K)
    stack.matrices()
    np.testing.assert_allclose(WeightedSum(stack, theta).gram(), K, rtol=1e-13, atol=1e-15)


def test_samples_that_lack_a_view():
    gaps = X.copy()
    gaps[::5, :3] = np.nan
    stack = KernelStack([Gaussian([0, 1, 2], scale=2.0), Gaussian([3, 4, 5], scale=2.0)]).fit(gaps)
    assert stack.tile(0) is None and stack.tile(1) is not None
    there, K = np.arange(N) % 5 != 0, stack.gram(0)
    np.testing.assert_allclose(K[np.ix_(there, there)], Gaussian(scale=2.0).fit(X[there, :3]).gram(X[there, :3]))
    assert not K[~there].any() and not K[:, ~there].any()
    whole = WeightedSum(stack, np.array([0.5, 0.5])).gram()
    np.testing.assert_allclose(whole[~there][:, ~there], stack.gram(1)[~there][:, ~there])


def test_sparse_views_have_no_tiles():
    fitted = Gaussian(scale=2.0).fit(sp.csr_matrix(X))
    assert fitted.tile(sp.csr_matrix(X)) is None
    np.testing.assert_allclose(fitted.gram(sp.csr_matrix(X)), Gaussian(scale=2.0).fit(X).gram(X), rtol=1e-11)


def test_single_precision_is_the_rounded_sum():
    stacks = [KernelStack([Gaussian(), Linear()], dtype=dtype).fit(X) for dtype in ("float64", "float32")]
    exact, rounded = (WeightedSum(stack, np.array([0.5, 0.5])).gram() for stack in stacks)
    assert rounded.dtype == np.float32
    np.testing.assert_array_equal(rounded, exact.astype(np.float32))
    np.testing.assert_array_equal(stacks[1].gram(0), stacks[0].gram(0).astype(np.float32))


class Half(Linear):
    def cross_of(self, A, B):
        return 0.5 * super().cross_of(A, B)

    def diagonal_of(self, A):
        return 0.5 * super().diagonal_of(A)


class Doubled(Gaussian):
    def gram_of(self, A):
        return 2.0 * super().gram_of(A)


class Renamed(Gaussian):
    pass


def test_a_subclass_with_other_values_does_not_use_the_tiles_of_its_base():
    np.testing.assert_allclose(Half().fit(X).gram(X), 0.5 * X @ X.T)
    for kernel in (Half(), Doubled(scale=2.0)):
        assert kernel.fit(X).tile(X) is None
        np.testing.assert_array_equal(KernelStack([kernel], None).fit(X).gram(0), kernel.fit(X).gram(X))
    assert Renamed().fit(X).tile(X) is not None


def test_values_that_are_not_finite_name_the_kernel():
    for kernel in (Linear(), Polynomial(degree=4)):
        with pytest.raises(ValueError, match="the kernel 'big' gives NaN, infinite or overflowing values"):
            KernelStack([("big", kernel)]).fit(1e160 * X).gram(0)
    # entries that overflow only between different samples, off the first tile
    far = np.zeros((N, 2))
    far[:TILE, 0], far[TILE:, 0] = 1e80, 1e79

    class Overflowing(Linear):
        def tile_of(self, A):
            return lambda rows, columns: np.full((rows.stop - rows.start, columns.stop - columns.start), 1e308)

    with pytest.raises(ValueError, match="the kernel 'big' gives NaN, infinite or overflowing values"):
        KernelStack([("big", Overflowing())], None).fit(far).gram(0)


def test_a_sum_in_tiles_takes_the_memory_of_one_matrix():
    n = 5 * TILE
    A = np.random.default_rng(0).normal(size=(n, 12))
    stack = KernelStack([Gaussian([m, m + 1]) for m in range(6)]).fit(A)
    kernel = WeightedSum(stack, np.full(6, 1 / 6))
    with threadpool_limits(1):
        tracemalloc.start()
        kernel.gram()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 8 * n**2 + 6 * 8 * TILE**2
