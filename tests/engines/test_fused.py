"""The fused pass gives what the general one gives, for all losses, outputs and precisions."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kernelweave.engines import InMemory
from kernelweave.engines.memory import (
    Block,
    RecomputedRows,
    RecomputedTiles,
    StoredFeatures,
    feature_block,
    feature_bytes,
)
from kernelweave.engines.primal import Pass, Primal, plain_sweep, sweep
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, KernelStack, Laplacian, Linear, Polynomial
from kernelweave.machines import DualTerms
from kernelweave.stacks.explicit import WeightAmplitudes
from kernelweave.views import Views
from softmax_amplitudes import SoftmaxAmplitudes

OFFSETS = np.array([0, 7, 7 + 16, 7 + 16 + 33])
LOSSES = ("squared hinge", "squared", "insensitive", "one-class", "bounded")


def losses_of_kind(kind: str, y: np.ndarray, rng: np.random.Generator) -> DualTerms:
    n, q = y.shape
    far = np.full((n, q), np.inf)
    h = 1.0 / rng.uniform(0.5, 2.0, size=(n, 1)) * np.ones((1, q))  # weights of samples
    if kind == "squared hinge":
        return DualTerms(np.sign(y), np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0), h)
    if kind == "squared":
        return DualTerms(y, -far, far, h)
    if kind == "insensitive":
        return DualTerms(y, -far, far, h, insensitivity=0.3)
    if kind == "one-class":
        return DualTerms(np.zeros((n, q)), np.zeros((n, q)), far, h, total=1.0)
    return DualTerms(y, np.full((n, q), -0.2), np.full((n, q), 0.3), h)


def block_of(n: int, q: int, kind: str, dtype: str, *, missing: bool = False, seed: int = 0) -> Block:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(n, OFFSETS[-1])).astype(dtype)
    present = rng.random((n, 3)) > 0.3 if missing else None
    if present is not None:
        present[~present.any(axis=1), 0] = True
        for m in range(3):
            matrix[~present[:, m], OFFSETS[m] : OFFSETS[m + 1]] = 0.0
    losses = losses_of_kind(kind, rng.normal(size=(n, q)), rng)
    return Block(0, StoredFeatures(matrix, OFFSETS), losses, None, np.ones(n), present, rng.normal(size=(n, 4)))


def position(q: int, n_parameters: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return rng.normal(size=(OFFSETS[-1], q)), rng.normal(size=q), rng.normal(size=n_parameters)


def assert_same(one: Pass, other: Pass, rtol: float) -> None:
    for name in ("loss", "pulled", "totals", "slopes"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max(initial=0.0), err_msg=name)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-12), ("float32", 2e-5)])
def test_fused_is_general(kind, q, dtype, rtol):
    block = block_of(531, q, kind, dtype, missing=True)
    for amplitudes in (WeightAmplitudes(np.array([0.2, 0.5, 0.3])), SoftmaxAmplitudes(3, 4)):
        at = position(q, amplitudes.n_parameters)
        assert block.fused_pass(amplitudes, *at) is not None
        assert_same(sweep(block, amplitudes, *at), plain_sweep(block, amplitudes, *at), rtol)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 2047, 2050])
def test_any_number_of_samples(n):
    block = block_of(n, 1, "squared", "float64")
    amplitudes = WeightAmplitudes(np.full(3, 1.0 / 3.0))
    at = position(1, 0)
    assert_same(sweep(block, amplitudes, *at), plain_sweep(block, amplitudes, *at), 1e-12)


def test_gradient_is_that_of_the_value():
    engine = InMemory([block_of(80, 1, "squared", "float64", seed=k) for k in range(2)])
    amplitudes = SoftmaxAmplitudes(3, 4)
    primal = Primal(engine, amplitudes, int(OFFSETS[-1]), 1, total=0.5)
    x = 0.3 * np.random.default_rng(3).normal(size=OFFSETS[-1] + 1 + amplitudes.n_parameters)
    gradient = primal(x)[1]
    for j in [0, 20, 50, OFFSETS[-1], OFFSETS[-1] + 1, len(x) - 1]:
        step = np.zeros(len(x))
        step[j] = 1e-6
        slope = (primal(x + step)[0] - primal(x - step)[0]) / 2e-6
        assert slope == pytest.approx(gradient[j], rel=1e-5, abs=1e-5)


def test_threads_change_nothing():
    engine = InMemory([block_of(700, 1, "squared hinge", "float32", seed=k) for k in range(5)])
    primal = Primal(engine, SoftmaxAmplitudes(3, 4), int(OFFSETS[-1]), 1)
    x = np.concatenate([each.ravel() for each in position(1, 15)])
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(primal(x))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.fixture(scope="module")
def views() -> Views:
    X = np.random.default_rng(0).normal(size=(3000, 12))
    X[::7, 4:8] = np.nan
    return Views(X)


KERNELS = [Gaussian([0, 1, 2, 3], scale=3.0), Laplacian([4, 5, 6, 7], scale=5.0), Polynomial([8, 9, 10, 11], degree=2)]


def maps_of(views: Views, dtype: str, kernels=KERNELS, normalize="unit-diagonal") -> tuple[list, np.ndarray]:
    stack, rng = KernelStack(kernels, normalize).fit(views.rows(slice(0, 500))), np.random.RandomState(0)
    maps = [NystroemFeatures(40).fit_map(stack, m, rng, dtype=np.dtype(dtype)) for m in range(len(kernels))]
    return maps, stack.presence(views)


@pytest.mark.parametrize(("dtype", "atol"), [("float64", 1e-10), ("float32", 1e-4)])
@pytest.mark.parametrize("q", [1, 3, 11])
def test_recomputed_is_held(views, dtype, atol, q):
    maps, present = maps_of(views, dtype)
    held, again = (feature_block(maps, views, present, np.dtype(dtype), held=held) for held in (True, False))
    assert held.matrix.nbytes == feature_bytes(3000, held.matrix.shape[1], dtype)
    some = slice(100, 130)
    np.testing.assert_allclose(held.features(some), again.features(some), atol=atol)
    rng = np.random.default_rng(5)
    losses = losses_of_kind("squared hinge", rng.normal(size=(3000, q)), rng)
    blocks = [Block(0, features, losses, None, np.ones(3000), present) for features in (held, again)]
    at = rng.normal(size=(held.matrix.shape[1], q)), np.zeros(q), np.empty(0)
    one, other = (sweep(block, WeightAmplitudes(np.array([0.2, 0.5, 0.3])), *at) for block in blocks)
    assert_same(one, other, atol)
    assert_same(other, plain_sweep(blocks[1], WeightAmplitudes(np.array([0.2, 0.5, 0.3])), *at), atol)


MIXED = [*KERNELS[:2], Linear([8, 9, 10, 11])]
GAUSSIANS = [Gaussian([4 * v, 4 * v + 1, 4 * v + 2, 4 * v + 3], scale=3.0) for v in range(3)]


@pytest.mark.parametrize(("dtype", "atol"), [("float64", 1e-10), ("float32", 1e-4)])
@pytest.mark.parametrize("kernels", [GAUSSIANS, MIXED], ids=["gaussians", "mixed"])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center"])
def test_recomputed_gradient_is_held(views, dtype, atol, kernels, normalize):
    maps, present = maps_of(views, dtype, kernels, normalize)
    assert not present.all()
    rng = np.random.default_rng(5)
    losses, codes = losses_of_kind("squared hinge", rng.normal(size=(3000, 1)), rng), rng.normal(size=(3000, 4))
    found = []
    for held in (True, False):
        features = feature_block(maps, views, present, np.dtype(dtype), held=held)
        # presence is not given, so that amplitudes are not 0 where a view is missing: the features are
        block = Block(0, features, losses, None, np.ones(3000), None, codes)
        amplitudes, rng = SoftmaxAmplitudes(3, 4), np.random.default_rng(6)
        at = rng.normal(size=(features.offsets[-1], 1)), np.array([0.2]), rng.normal(size=amplitudes.n_parameters)
        found.append(sweep(block, amplitudes, *at))
    assert_same(*found, atol)


COARSE = [GAUSSIANS[0], Gaussian([8, 9], scale=1e-3)]  # float32 is too coarse for the second


@pytest.mark.filterwarnings("ignore:40 landmarks capture")
@pytest.mark.parametrize("kernels", [MIXED, COARSE], ids=["mixed", "gaussians"])
def test_values_of_different_types_are_not_rounded_to_one_of_them(views, monkeypatch, kernels):
    maps, present = maps_of(views, "float32", kernels)
    features = feature_block(maps, views, present, np.dtype("float32"), held=False)
    types = [each.dtype for each in features.opened(slice(0, 100))]
    assert {each.name for each in types} == {"float32", "float64"}
    seen = {}

    def score(self, values, m, out):
        seen.setdefault(m, set()).add(values.dtype)
        RecomputedTiles.score(self, values, m, out)

    monkeypatch.setattr(RecomputedRows, "score", score)  # of a pass of one output, and not of the general one
    rng = np.random.default_rng(5)
    losses = losses_of_kind("squared", rng.normal(size=(3000, 1)), rng)
    block = Block(0, features, losses, None, np.ones(3000), present)
    at = rng.normal(size=(features.offsets[-1], 1)), np.zeros(1), np.empty(0)
    amplitudes = WeightAmplitudes(np.full(len(kernels), 1.0 / len(kernels)))
    assert_same(sweep(block, amplitudes, *at), plain_sweep(block, amplitudes, *at), 1e-11)
    assert seen == {m: {dtype} for m, dtype in enumerate(types)}


def test_far_samples_beside_near_ones():
    # the first chunk is too far from the landmarks for float32, the second is near, and exponentials of both vanish
    X = np.random.default_rng(0).normal(size=(4000, 4))
    near = Views(X[2100:])
    X[::3] *= np.where(np.arange(len(X[::3])) < 600, 1e6, 1.0)[:, None]
    views = Views(X)
    kernels = [Gaussian([0, 1], scale=0.5), Gaussian([2, 3])]
    stack, rng = KernelStack(kernels).fit(near), np.random.RandomState(0)
    maps = [NystroemFeatures(40).fit_map(stack, m, rng, dtype=np.dtype("float32")) for m in range(2)]
    rng = np.random.default_rng(5)
    losses, found = losses_of_kind("squared", rng.normal(size=(4000, 1)), rng), []
    for held in (True, False):
        features = feature_block(maps, views, np.ones((4000, 2), dtype=bool), np.dtype("float32"), held=held)
        block = Block(0, features, losses, None, np.ones(4000))
        weights = np.random.default_rng(6).normal(size=(features.offsets[-1], 1))
        found.append(sweep(block, WeightAmplitudes(np.array([0.4, 0.6])), weights, np.zeros(1), np.empty(0)))
        assert np.isfinite(found[-1].pulled).all()
    assert_same(*found, 1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_features_are_those_of_the_maps(views, dtype):
    kernels = [*KERNELS, Linear([0, 1, 2, 3]), Gaussian([8, 9]) * Gaussian([10, 11]), Gaussian([0, 1], scale=0.05)]
    maps, present = maps_of(views, dtype, kernels)
    found = feature_block(maps, views, present, np.dtype(dtype)).matrix
    wanted = np.concatenate([each.transform(views, present[:, m]) for m, each in enumerate(maps)], axis=1)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, atol=1e-10 if dtype == "float64" else 2e-4)
    assert (found[~present[:, 1], 40:80] == 0.0).all()


@pytest.mark.parametrize("held", [True, False])
def test_no_temporary_is_larger_than_a_block(held):
    n, width = 16384, 4
    X = np.random.default_rng(0).normal(size=(n, 3 * width))
    views = Views(X)
    kernels = [Gaussian(list(range(width * v, width * v + width)), scale=2.0) for v in range(3)]
    stack, rng = KernelStack(kernels).fit(views.rows(slice(0, 500))), np.random.RandomState(0)
    maps = [NystroemFeatures(128).fit_map(stack, m, rng, dtype=np.dtype("float32")) for m in range(3)]
    y = np.sign(X[:, :1])
    losses = DualTerms(y, np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0), np.ones((n, 1)))
    features = feature_block(maps, views, np.ones((n, 3), dtype=bool), np.dtype("float32"), held=held)
    block, size = Block(0, features, losses, None, np.ones(n)), feature_bytes(n, features.offsets[-1], "float32")
    amplitudes, at = WeightAmplitudes(np.full(3, 1.0 / 3.0)), (np.ones((features.offsets[-1], 1)), np.zeros(1))
    sweep(block, amplitudes, *at, np.empty(0))  # loads compiled code
    tracemalloc.start()
    sweep(block, amplitudes, *at, np.empty(0))
    peak = tracemalloc.get_traced_memory()[1]
    if held:
        tracemalloc.reset_peak()
        feature_block(maps, views, np.ones((n, 3), dtype=bool), np.dtype("float32"))
        assert tracemalloc.get_traced_memory()[1] < 1.2 * size
    tracemalloc.stop()
    assert peak < 0.2 * size
