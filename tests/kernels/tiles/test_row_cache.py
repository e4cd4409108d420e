"""Rows that are kept change nothing but the time, and never take more memory than they may."""

import gc
import pickle
import weakref

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kernelweave import MKLClassifier, config_context
from kernelweave.combiners import Product, WeightedSum
from kernelweave.kernels import Gaussian, KernelStack, Laplacian, Linear, Polynomial, Spectrum
from kernelweave.kernels.tiles import host, sums
from kernelweave.kernels.tiles.sums import RowCache, TiledSum, rows_that_fit
from kernelweave.machines import Hinge
from kernelweave.solvers import in_parts
from kernelweave.solvers.in_parts import solve_in_parts

N = 700
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 6))
Y = np.where(X[:, 0] * X[:, 3] + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)
LEFT, WEIGHTS = rng.random((N, 2)) + 0.5, np.array([0.7, 1.3])
KERNELS = [Gaussian([0, 1, 2]), Laplacian([3, 4, 5])]


@pytest.fixture(autouse=True)
def small_sets(monkeypatch):
    """Working sets of 64 samples, of which some rest after two rounds."""
    monkeypatch.setattr(in_parts, "WORKING_SET", 64)
    monkeypatch.setattr(in_parts, "REST_EVERY", 2)
    monkeypatch.setattr(sums, "FEWEST", 64)


def stack_of(kernels, n_rows, dtype="float32", data=X, **options):
    """A stack that may keep so many rows."""
    named = [(f"k{m}", kernel) for m, kernel in enumerate(kernels)]
    itemsize = np.dtype(dtype).itemsize
    options["cache_bytes"] = n_rows * itemsize * len(data)
    return KernelStack(named, dtype=dtype, storage="lazy", **options).fit(data)


def sum_of(n_rows, dtype="float32", kernels=KERNELS, **options):
    parts = stack_of(kernels, n_rows, dtype).in_parts()
    return TiledSum(parts, LEFT, WEIGHTS, **options)


def matrix_cache(n_rows, K):
    filled = []

    def fill(rows, slots, positions):
        filled.append(rows.tolist())
        slots[positions] = K[rows]

    return RowCache(len(K), n_rows, np.float64, fill), filled


def test_the_rows_used_longest_ago_go_first():
    K = rng.normal(size=(9, 9))
    K += K.T
    cache, filled = matrix_cache(4, K)
    asked = [[0, 1], [2, 3], [0], [4, 5], [0, 1], [5, 6, 7, 8]]
    for number, rows in enumerate(asked):
        rows, change = np.array(rows), rng.normal(size=(len(rows), 3))
        change = change[:, 0] if number % 2 else change  # one column, or several
        np.testing.assert_allclose(cache.times(rows, change), K[:, rows] @ change, rtol=1e-13, atol=1e-14)
        kept = np.flatnonzero(cache.position >= 0)
        np.testing.assert_array_equal(cache.slots[cache.position[kept]], K[kept])
    # 4 and 5 replace 1 and 2, as 0 was used again; 1 replaces 3; then 0, 1 and 4 go, and 5 stays
    assert filled == [[0, 1], [2, 3], [4, 5], [1], [6, 7, 8]]
    assert (cache.hits, cache.misses) == (3, 10)


def test_an_interrupted_row_is_not_kept():
    K = np.eye(5)
    cache, _ = matrix_cache(2, K)
    cache.times(np.array([0, 1]), np.ones(2))
    fill = cache.fill

    def interrupted(rows, slots, positions):
        slots[positions] = np.nan
        raise KeyboardInterrupt

    cache.fill = interrupted
    with pytest.raises(KeyboardInterrupt):
        cache.times(np.array([1, 2]), np.ones(2))
    cache.fill = fill
    np.testing.assert_array_equal(cache.times(np.array([0, 2]), np.ones(2)), [1.0, 0.0, 1.0, 0.0, 0.0])


def test_how_many_rows_fit():
    for n in (1, 63, 64, 500, 10_000):
        for dtype in ("float32", "float64"):
            for given in (0.0, 1e3, 1e5, 1e7, np.inf):
                found, size = rows_that_fit(given, n, dtype), np.dtype(dtype).itemsize * n
                assert found * size <= given
                assert found <= n
                assert found == 0 or found >= min(64, n)
                assert found == n or found == 0 or (found + 1) * size > given
                assert found or given < min(64, n) * size
    assert rows_that_fit(1e9, 0, "float32") == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("gated", [False, True])
def test_the_rows_of_sums(dtype, gated):
    left = LEFT if gated else np.ones((N, 2))
    parts = stack_of(KERNELS, N, dtype).in_parts()
    kernel, plain = TiledSum(parts, left, WEIGHTS), TiledSum(stack_of(KERNELS, 0, dtype).in_parts(), left, WEIGHTS)
    assert plain.cache is None and kernel.cache.slots.dtype == dtype
    rows = rng.permutation(N)[:300]
    change = rng.normal(size=300)
    error = 1e-12 if dtype == "float64" else 3e-6
    for targets in (None, np.sort(rng.permutation(N)[:400]), np.sort(rng.permutation(N)[:40])):
        images = []
        for each in (kernel, plain):
            image = each.zero()
            each.add(image, rows, change, targets)
            images.append(image.values)
        np.testing.assert_allclose(images[0], images[1], atol=error * np.abs(change).sum())
        others = np.setdiff1d(np.arange(N), np.arange(N) if targets is None else targets)
        assert not images[0][others].any()
    # twice for enough targets; few targets take no whole rows
    assert (kernel.cache.hits, kernel.cache.misses) == (300, 300)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "center"])
def test_rows_of_all_kinds_of_kernels(normalize):
    letters = np.array(["".join(rng.choice(list("acgt"), 8)) for _ in range(90)], dtype=object)
    data = np.column_stack([np.abs(X[:90]).astype(object), letters])
    kernels = [
        Gaussian([0, 1]),
        Linear([2, 3]),
        Polynomial([1, 2]) * Laplacian([0, 4]) + Gaussian([5]),
        Spectrum([6]),
    ]
    results = []
    for n_rows in (90, 0):
        parts = stack_of(kernels, n_rows, "float64", data, normalize=normalize).in_parts()
        kernel = TiledSum(parts, 0.5 + np.arange(360.0).reshape(90, 4) / 360, np.array([1.0, 0.5, 2.0, 1.5]))
        results.append(kernel.image(np.linspace(-1, 1, 90)).values)
        assert (kernel.cache is None) == (n_rows == 0)
    np.testing.assert_allclose(*results, rtol=1e-10, atol=1e-10)


def test_the_number_of_threads_changes_nothing():
    found = []
    for threads in (1, 3):
        with threadpool_limits(threads, user_api="blas"):
            found.append(sum_of(300).image(np.where(np.arange(N) < 200, Y, 0.0)).values)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("n_rows", [0, 40, 64, 150, N])
def test_the_same_solution(n_rows):
    """40 rows are fewer than a working set, so that none is kept."""
    given = Y, np.minimum(0.0, 2.0 * Y), np.maximum(0.0, 2.0 * Y)
    plain, kernel = sum_of(0), sum_of(n_rows)
    wanted, found = (solve_in_parts(each, *given, tol=1e-4) for each in (plain, kernel))
    assert found.converged and found.violation <= 1e-4
    assert found.objective == pytest.approx(wanted.objective, rel=1e-6)
    support = np.flatnonzero(found.solution)
    fresh = plain.product(np.arange(N), support, found.solution[support])
    np.testing.assert_allclose(found.image.values, fresh, atol=1e-4)
    if n_rows < 64:
        assert kernel.cache is None
    else:
        assert kernel.cache.hits > 0
        assert kernel.cache.slots.nbytes <= kernel.tiles.cache_bytes
        assert (kernel.cache.position >= 0).sum() <= n_rows


def test_kernels_that_keep_none(monkeypatch):
    X = np.random.default_rng(0).normal(size=(N, 2))
    double = KernelStack([Gaussian()], dtype="float64", storage="lazy").fit(X).in_parts()
    assert TiledSum(double, np.ones((N, 1))).cache is not None  # rows of few samples are short
    monkeypatch.setattr(host, "FEW_SAMPLES", N - 1)
    assert TiledSum(double, np.ones((N, 1))).cache is None
    assert sum_of(N, keeps_images=True).cache is None
    for only, kept in ((Gaussian([0, 1]), False), (Polynomial([0, 1]), False), (Laplacian([0, 1]), True)):
        parts = stack_of([only], N).in_parts()
        assert (TiledSum(parts, np.ones((N, 1))).cache is not None) == kept
    two = sum_of(N)
    assert two.with_weights(np.array([1.0, 0.0])).cache is None  # one Gaussian is left


def test_other_weights_and_samples_have_rows_of_their_own():
    kernel = sum_of(N)
    rows, change = np.arange(100), np.ones(100)
    kernel.add(kernel.zero(), rows, change)
    other, some = kernel.with_weights(np.array([2.0, 1.0])), kernel.subset(np.arange(50, 400))
    assert other.cache is not kernel.cache and some.cache is not kernel.cache
    image = other.zero()
    other.add(image, rows, change)
    np.testing.assert_allclose(image.values, other.product(np.arange(N), rows, change), atol=3e-4)
    image = some.zero()
    some.add(image, rows, change)
    np.testing.assert_allclose(image.values, some.product(np.arange(350), rows, change), atol=3e-4)
    assert "cache" not in kernel.__getstate__()


@pytest.mark.parametrize("kind", ["sum", "product"])
def test_rows_are_freed_with_the_kernel(kind):
    stack = stack_of(KERNELS, N)
    kernel = WeightedSum(stack, WEIGHTS).operand() if kind == "sum" else product_of(stack)
    kernel.add(kernel.zero(), np.arange(100), np.ones(100))
    slots = weakref.ref(kernel.cache.slots)
    gc.disable()
    try:
        del kernel
        assert slots() is None
    finally:
        gc.enable()


def product_of(stack):
    machine = Hinge().for_targets(Y, np.ones(N))
    return Product().fit(stack, machine).operand()


def test_products_of_kernels():
    plain, kernel = (product_of(stack_of(KERNELS, n_rows)) for n_rows in (0, 200))
    assert plain.cache is None
    given = Y, np.minimum(0.0, Y), np.maximum(0.0, Y)
    wanted, found = (solve_in_parts(each, *given, tol=1e-4) for each in (plain, kernel))
    assert found.converged and kernel.cache.hits > 0
    assert found.objective == pytest.approx(wanted.objective, rel=1e-6)
    support = np.flatnonzero(found.solution)
    fresh = plain.product(np.arange(N), support, found.solution[support])
    np.testing.assert_allclose(found.image.values, fresh, atol=1e-4)


def test_one_against_all_shares_rows(monkeypatch):
    """No row is computed twice where all rows fit, whatever the number of classes."""
    made = []

    def recorded(*arguments):
        made.append(RowCache(*arguments))
        return made[-1]

    monkeypatch.setattr(sums, "RowCache", recorded)
    y = np.where(Y > 0, "b", np.where(X[:, 1] > 0, "a", "c"))
    with config_context(cache_bytes=4 * N**2):
        MKLClassifier(KERNELS, storage="lazy", multiclass="one-vs-all").fit(X, y)
    (cache,) = made
    assert cache.misses <= N
    assert cache.hits > 2 * cache.misses


def test_estimators_have_the_same_model():
    y = np.where(Y > 0, "b", np.where(X[:, 1] > 0, "a", "c"))
    models = []
    for cache_bytes in (0.0, 1e7):
        with config_context(cache_bytes=cache_bytes):
            model = MKLClassifier(KERNELS, storage="lazy", multiclass="one-vs-all").fit(X, y)
        models.append(model)
        assert len(pickle.dumps(model)) < 1e6
    values = [model.decision_function(X[:50]) for model in models]
    np.testing.assert_allclose(*values, atol=2e-2)
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-3)
