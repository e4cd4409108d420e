"""Tiles on the host: more samples than a tile has, any number of threads, and values that are exactly symmetric."""

from functools import cache

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kernelweave.kernels import ChiSquared, Gaussian, KernelStack, Laplacian, Linear, Polynomial, Precomputed
from kernelweave.kernels.tiles.functions import HEIGHT, WIDTH
from kernelweave.kernels.tiles.sums import TiledSum

rng = np.random.default_rng(0)
N = WIDTH + HEIGHT + 57
X = np.column_stack([np.arange(N), rng.random((N, 7))])
GRAM = X[:, 1:] @ X[:, 1:].T
C = slice(1, 8)
KERNELS = {
    "gaussian": Gaussian(C),
    "laplacian": Laplacian(C),
    "chi-squared": ChiSquared(C),
    "squared": Polynomial(C),
    "fifth power": Polynomial(C, 5),
    "linear": Linear(C),
    "precomputed": Precomputed(GRAM, [0]),
    "sum": Gaussian(C) + 0.5 * Linear(C),
    "product": Laplacian(C) * (Polynomial(C) + Gaussian(slice(1, 4))),
}


@pytest.fixture(scope="module")
def matrices():
    return KernelStack(list(KERNELS.items())).fit(X).matrices()


@cache
def parts_of(dtype):
    return KernelStack(list(KERNELS.items()), dtype=dtype, storage="lazy").fit(X).in_parts()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_outputs", [1, 3, 20])
def test_images_of_several_tiles(matrices, dtype, n_outputs):
    parts, error = parts_of(dtype), 1e-10 if dtype == "float64" else 2e-6
    V = rng.normal(size=(N, len(KERNELS), n_outputs))
    found = parts.images(None, None, V)
    np.testing.assert_allclose(found, np.einsum("mij,jmr->imr", matrices, V), atol=error * N)
    rows, columns = rng.permutation(N)[: HEIGHT + 3], rng.permutation(N)[: WIDTH + 5]
    found = parts.images(rows, columns, V[columns], [0, 4, 8])
    wanted = np.einsum("mij,jmr->imr", matrices[:, rows[:, None], columns], V[columns])
    np.testing.assert_allclose(found[:, [0, 4, 8]], wanted[:, [0, 4, 8]], atol=error * N)
    assert not found[:, [1, 2, 3, 5, 6, 7]].any()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_blocks_of_sums(matrices, dtype):
    left, weights = rng.random((N, len(KERNELS))), rng.random(len(KERNELS))
    weights[2] = 0.0
    kernel = TiledSum(parts_of(dtype), left, weights)
    wanted = np.einsum("m,im,mij,jm->ij", weights, left, matrices, left)
    rows = rng.permutation(N)[: 2 * HEIGHT + 9]
    block = kernel.block(rows)
    np.testing.assert_allclose(block, wanted[np.ix_(rows, rows)], atol=1e-9 if dtype == "float64" else 1e-5)
    np.testing.assert_array_equal(block, block.T)
    np.testing.assert_allclose(np.diagonal(block), np.diagonal(wanted)[rows], rtol=1e-12)


def test_the_number_of_threads_changes_nothing():
    parts = parts_of("float32")
    V, rows = rng.normal(size=(N, len(KERNELS), 2)), np.arange(N)
    results = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads, user_api="blas"):
            block = parts.sum_block(rows, np.ones((N, len(KERNELS))), np.ones(len(KERNELS)))
            results.append((parts.images(None, None, V), block))
    for images, block in results[1:]:
        # Linear kernels and lookups are products of BLAS, which are the same to rounding only.
        fused = [m for m, name in enumerate(KERNELS) if name != "linear"]
        np.testing.assert_array_equal(images[:, fused], results[0][0][:, fused])
        np.testing.assert_allclose(block, results[0][1], rtol=1e-12)


def test_no_samples():
    parts, P = parts_of("float32"), len(KERNELS)
    nobody = np.empty(0, dtype=int)
    assert parts.images(nobody, None, np.ones((N, P, 1))).shape == (0, P, 1)
    assert not parts.images(None, nobody, np.ones((0, P, 1))).any()
    assert parts.sum_block(nobody, np.ones((0, P)), np.ones(P)).shape == (0, 0)


def test_products_of_one_kernel_take_a_few_rows_at_a_time(matrices, monkeypatch):
    monkeypatch.setattr("kernelweave.kernels.tiles.sources.TILE_VALUES", 7 * N)
    coef = rng.normal(size=(N, 2))
    for m, source in enumerate(parts_of("float64").sources):
        np.testing.assert_allclose(source.times(None, None, coef), matrices[m] @ coef, atol=1e-10 * N)
