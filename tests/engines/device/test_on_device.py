"""Blocks on a device give the sums of blocks on the host, with features that are held or computed in every pass."""

import numpy as np
import pytest

from device_problem import KERNELS, N, Steady, problem, same, sums
from kernelweave.arrays import Place
from kernelweave.engines.device import blocks_on_device as made_on_device
from kernelweave.engines.device.features import ComputedFeatures, HeldFeatures
from kernelweave.engines.primal import best_intercepts, scored
from kernelweave.engines.targets import NumberTargets
from kernelweave.engines.training import ExplicitKernel
from kernelweave.estimators.training import Preparation
from kernelweave.features import ExactFeatures
from kernelweave.features.base import raw_dtype
from kernelweave.features.nystroem import NystroemMap
from kernelweave.kernels import Distance, Gaussian, Linear
from kernelweave.kernels.resources import KernelMemoryError
from kernelweave.machines import SquaredEpsilonInsensitive
from places import ON_TORCH, STRICT

OFF_HOST = [pytest.param(lambda: STRICT, id="strict"), *ON_TORCH]


def blocks_on_device(*given):
    return made_on_device(*given)[0]


off_host = pytest.mark.parametrize("place_of", OFF_HOST)


@off_host
@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_pass_is_that_of_the_host(place_of, storage, name, n_classes):
    rows, preparation = problem(KERNELS[name], n_classes=n_classes)
    engine = blocks_on_device(rows.blocks, N, preparation, place_of(), storage)
    assert isinstance(engine.blocks[0].features, HeldFeatures if storage == "dense" else ComputedFeatures)
    q = 1 if n_classes == 2 else n_classes
    for learns in (False, True):
        found = sums(engine, preparation, q, learns=learns)
        same(found, sums(rows.replace(preparation), preparation, q, learns=learns), 1e-9)


@off_host
@pytest.mark.parametrize("storage", ["dense", "lazy"])
def test_in_float32_to_its_precision(place_of, storage):
    rows, preparation = problem(KERNELS["mixed"], dtype="float32")
    engine = blocks_on_device(rows.blocks, N, preparation, place_of(), storage)
    exact = problem(KERNELS["mixed"], dtype="float64")[1]
    exact = Preparation(preparation.maps, exact.stack, exact.machine_of, np.dtype("float64"))
    same(sums(engine, preparation), sums(rows.replace(exact), exact), 1e-4)


@off_host
@pytest.mark.parametrize("normalize", ["unit-diagonal", "center", None])
@pytest.mark.parametrize("storage", ["dense", "lazy"])
def test_float32_blocks_of_features_that_need_float64(place_of, storage, normalize):
    """Eigenvalues down to rounding: raw values, whitening and centring are in float64, what is held is float32.

    Sums of weights times features of size 1 are wrong by 6e-8 for each, where raw values in float32 would be by 1e-2.
    """
    rows, preparation = problem([Gaussian([0, 1], scale=20.0), Linear([3, 4])], n_components=60, normalize=normalize)
    assert raw_dtype(preparation.maps[0], "float32") == np.float64
    exact = ExactFeatures().fit_map(preparation.stack, 1, np.random.RandomState(0), dtype=np.dtype("float32"))
    maps = [preparation.maps[0], exact]
    made = [Preparation(maps, preparation.stack, preparation.machine_of, np.dtype(each)) for each in ("f4", "f8")]
    engine = blocks_on_device(rows.blocks, N, made[0], place_of(), storage)
    assert engine.blocks[0].features.dtype == "float32"
    for q in (1, 2):
        same(sums(engine, made[0], q), sums(rows.replace(made[1]), made[1], q), 1e-5)
    found, wanted = engine.sum(squared_features), rows.replace(made[1]).sum(squared_features)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * wanted.max())


@off_host
@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_every_normalisation(place_of, normalize):
    rows, preparation = problem(KERNELS["gaussian"], normalize=normalize)
    for storage in ("dense", "lazy"):
        engine = blocks_on_device(rows.blocks, N, preparation, place_of(), storage)
        assert isinstance(engine.blocks[0].features, HeldFeatures if storage == "dense" else ComputedFeatures)
        same(sums(engine, preparation), sums(rows.replace(preparation), preparation), 1e-8)
        found, wanted = (each.sum(squared_features) for each in (engine, rows.replace(preparation)))
        np.testing.assert_allclose(found, wanted, atol=1e-9)  # rows of samples that lack the view are 0


def test_centred_features_are_made_on_the_device(monkeypatch):
    rows, preparation = problem(KERNELS["gaussian"], normalize="center")
    monkeypatch.setattr(NystroemMap, "raw", lambda *a: pytest.fail("kernel values were computed on the host"))
    for storage in ("dense", "lazy"):
        blocks_on_device(rows.blocks, N, preparation, STRICT, storage)


@off_host
@pytest.mark.parametrize("storage", ["dense", "lazy"])
def test_a_machine_is_solved_to_the_same_certificate(place_of, storage):
    rows, preparation = problem(KERNELS["gaussian"])
    host, device = rows.replace(preparation), blocks_on_device(rows.blocks, N, preparation, place_of(), storage)
    sample = preparation.machine_of(np.array([0, 1]), np.ones(2))[0]
    D = sum(found.n_features for found in preparation.maps)
    solutions = [
        sample.solve(ExplicitKernel(engine, Steady(np.full(2, 0.5)), D), tol=1e-9) for engine in (host, device)
    ]
    for solution in solutions:
        assert solution.gap <= 1e-9 * max(1.0, abs(solution.objective))
    assert solutions[1].objective == pytest.approx(solutions[0].objective, rel=1e-8)
    assert np.abs(solutions[1].coef - solutions[0].coef).max() < 1e-3


@off_host
def test_biases_of_stored_scores_are_those_of_the_host(place_of):
    rows, preparation = problem(KERNELS["gaussian"], n_classes=3)
    rng = np.random.default_rng(2)
    w = rng.normal(size=(sum(found.n_features for found in preparation.maps), 3))
    found = []
    for engine in (rows.replace(preparation), blocks_on_device(rows.blocks, N, preparation, place_of())):
        stored = engine.replace(scored, Steady(np.full(2, 0.5)), w, np.empty(0))
        found.append(best_intercepts(stored, np.zeros(3), 0.0))
    np.testing.assert_allclose(found[1], found[0], atol=1e-10)


@off_host
def test_the_tube_of_a_regression(place_of):
    rows, preparation = problem(KERNELS["gaussian"])
    targets = NumberTargets(SquaredEpsilonInsensitive(epsilon=0.3), 2.0)
    preparation = Preparation(preparation.maps, preparation.stack, targets, np.dtype("float64"))
    engine = blocks_on_device(rows.blocks, N, preparation, place_of())
    same(sums(engine, preparation), sums(rows.replace(preparation), preparation), 1e-9)


def total_weight(block):
    assert isinstance(block.weight, np.ndarray)
    return float(block.weight.sum())


def mean_features(block):
    return block.features.features(slice(0, block.n_samples)).sum(axis=0)


def squared_features(block):
    return (block.features.features(slice(0, block.n_samples)) ** 2).sum(axis=0)


def halved(block):
    """Some samples, as a function of the host makes them."""
    from dataclasses import replace

    from kernelweave.engines.memory import StoredFeatures

    index = np.arange(0, block.n_samples, 2)
    matrix = block.features.features(slice(0, block.n_samples))[index]
    present = None if block.present is None else block.present[index]
    features = StoredFeatures(matrix, block.features.offsets)
    losses, y, weight = block.losses.of(index), block.y[index], block.weight[index]
    return replace(block, features=features, losses=losses, y=y, weight=weight, present=present)


@off_host
@pytest.mark.parametrize("storage", ["dense", "lazy"])
def test_functions_of_the_host_read_the_same_block(place_of, storage):
    rows, preparation = problem(KERNELS["gaussian"])
    host, device = rows.replace(preparation), blocks_on_device(rows.blocks, N, preparation, place_of(), storage)
    assert device.sum(total_weight) == pytest.approx(host.sum(total_weight))
    np.testing.assert_allclose(device.sum(mean_features), host.sum(mean_features), atol=1e-9)
    same(sums(device.replace(halved), preparation), sums(host.replace(halved), preparation), 1e-9)
    assert device.replace(halved).blocks[0].n_samples == N // 2


@pytest.mark.parametrize("storage", ["auto", "dense", "lazy"])
def test_memory_is_foreseen(storage, monkeypatch):
    rows, preparation = problem(KERNELS["gaussian"])
    monkeypatch.setattr(Place, "free_memory", lambda place: 1000)
    made = []
    monkeypatch.setattr(HeldFeatures, "__init__", lambda *a: made.append(a))
    with pytest.raises(KernelMemoryError, match=r'300 samples.*GiB on the device.*fewer samples or device="cpu"'):
        blocks_on_device(rows.blocks, N, preparation, STRICT, storage)
    assert not made


def test_features_that_do_not_fit_are_computed_in_each_pass(monkeypatch):
    rows, preparation = problem(KERNELS["gaussian"], n_components=150)
    for free, held in ((10**6, True), (7 * 10**5, False)):
        monkeypatch.setattr(Place, "free_memory", lambda place, free=free: free)
        engine = blocks_on_device(rows.blocks, N, preparation, STRICT)
        assert isinstance(engine.blocks[0].features, HeldFeatures) == held


def test_kernels_of_the_host_are_named_and_must_be_held():
    kernels = [("a", Gaussian(slice(0, 3))), ("b", Distance("cityblock", view=slice(3, 6)))]
    rows, preparation = problem(kernels)
    with pytest.warns(UserWarning, match="the kernel 'b' is computed on the CPU and moved to the device"):
        engine = blocks_on_device(rows.blocks, N, preparation, STRICT)
    same(sums(engine, preparation), sums(rows.replace(preparation), preparation), 1e-9)
    wrong = pytest.raises(ValueError, match='storage="lazy" on a device needs kernels that are computed there')
    with wrong, pytest.warns(UserWarning):
        blocks_on_device(rows.blocks, N, preparation, STRICT, "lazy")


def test_small_blocks_are_joined(monkeypatch):
    from kernelweave.engines.device import engine as device_engine

    rows, preparation = problem(KERNELS["gaussian"])
    assert len(blocks_on_device(rows.blocks, N, preparation, STRICT).blocks) == 1
    monkeypatch.setattr(device_engine, "MOST_ROWS", 150)
    monkeypatch.setattr(device_engine, "PIECE", 50)
    engine = blocks_on_device(rows.blocks, N, preparation, STRICT)
    assert [block.n_samples for block in engine.blocks] == [128, 128, 44]
    assert [block.first for block in engine.blocks] == [0, 128, 256]
    same(sums(engine, preparation), sums(rows.replace(preparation), preparation), 1e-9)
