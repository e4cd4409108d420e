"""The programs of a CUDA device give the sums of the plain path.

Without a CUDA device Triton's interpreter runs them on the CPU, slowly: few samples.
"""

import importlib
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from device_problem import KERNELS, N, problem, same, sums
from kernelweave.arrays import torch_place
from kernelweave.combiners import Sigmoid, Softmax
from kernelweave.combiners.gates import GateFunction
from kernelweave.engines.device import blocks_on_device as made_on_device
from kernelweave.engines.device import features
from kernelweave.engines.device.features import LandmarkFeatures
from kernelweave.kernels import Gaussian, Laplacian, Linear, Polynomial
from places import HAS_TORCH, has_cuda

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not HAS_TORCH or find_spec("triton") is None, reason="torch or Triton is not installed"),
]


def blocks_on_device(*given):
    return made_on_device(*given)[0]


PROGRAMS = "kernelweave.engines.device._triton"


@pytest.fixture
def place(monkeypatch):
    """A place of programs: a CUDA device, or torch on the CPU with the programs interpreted."""
    if has_cuda():
        return torch_place("cuda")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.delitem(sys.modules, PROGRAMS, raising=False)
    importlib.import_module(PROGRAMS)
    monkeypatch.setattr(features, "has_programs", lambda place: place.is_torch)
    # Fewer steps for the interpreter, which takes as long for a large one: 2 programs of 3 tiles each, the last cut.
    monkeypatch.setattr(features, "TILES", dict.fromkeys(features.TILES, (64, 1, 1)))
    monkeypatch.setattr(features, "_multiprocessors", lambda place: 1)
    monkeypatch.setattr(features, "PROGRAMS", 2)
    return torch_place("cpu")


def engines(kernels, place, storage, **options):
    """The programs in float32, and the host with the same features in float64."""
    rows, preparation = problem(kernels, dtype="float32", **options)
    exact = type(preparation)(preparation.maps, preparation.stack, preparation.machine_of, np.dtype("float64"))
    return blocks_on_device(rows.blocks, N, preparation, place, storage), rows.replace(exact), preparation


@pytest.mark.parametrize(("name", "learns"), [("gaussian", False), ("mixed", False), ("mixed", True), ("one", True)])
def test_a_pass_over_held_features(name, learns, place):
    device, host, preparation = engines(KERNELS[name], place, "dense")
    assert features.serves_pass(device.blocks[0], 1)
    same(sums(device, preparation, learns=learns), sums(host, preparation, learns=learns), 1e-4)


@pytest.mark.parametrize("n_components", [7, 150])
def test_any_number_of_features(n_components, place):
    device, host, preparation = engines(KERNELS["gaussian"], place, "dense", n_components=n_components)
    same(sums(device, preparation, learns=True), sums(host, preparation, learns=True), 2e-4)


def test_several_outputs_and_wide_rows_go_the_plain_way(place, monkeypatch):
    device, host, preparation = engines(KERNELS["gaussian"], place, "dense", n_classes=3)
    assert not features.serves_pass(device.blocks[0], 3)
    same(sums(device, preparation, 3), sums(host, preparation, 3), 1e-4)
    monkeypatch.setattr(features, "MOST_NUMBERS", 1)
    assert not features.serves_pass(device.blocks[0], 1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "kernels",
    [
        KERNELS["gaussian"],
        KERNELS["mixed"],
        [Polynomial(slice(0, 3), 3), Polynomial(slice(3, 6), 3)],
        [Linear(slice(0, 3)), Laplacian(slice(3, 6))],
        [Gaussian(slice(0, 3)), Gaussian([3])],
    ],
    ids=["gaussian", "mixed", "polynomial", "linear", "narrow"],
)
def test_features_computed_in_every_pass(kernels, n_classes, place):
    device, host, preparation = engines(kernels, place, "lazy", n_classes=n_classes, n_components=10)
    assert isinstance(device.blocks[0].features, LandmarkFeatures)
    q = 1 if n_classes == 2 else n_classes
    same(sums(device, preparation, q, learns=True), sums(host, preparation, q, learns=True), 2e-4)


def test_centred_features_computed_in_every_pass(place):
    device, host, preparation = engines(KERNELS["mixed"], place, "lazy", n_components=10, normalize="center")
    assert device.blocks[0].features.served == {0, 2}
    same(sums(device, preparation, learns=True), sums(host, preparation, learns=True), 2e-4)


@pytest.mark.skipif(not has_cuda(), reason="there is no CUDA device; the interpreter runs programs in order")
def test_sums_do_not_change_from_run_to_run(place):
    for storage in ("dense", "lazy"):
        device, _, preparation = engines(KERNELS["gaussian"], place, storage)
        first, second = (sums(device, preparation, learns=True) for _ in range(2))
        assert np.array_equal(first.pulled, second.pulled) and np.array_equal(first.loss, second.loss)


@pytest.mark.parametrize("gate", [Softmax(), Softmax("paper"), Sigmoid(), Sigmoid("paper")], ids=repr)
def test_linear_gates(gate, place):
    device, _, preparation = engines(KERNELS["mixed"], place, "dense", missing=False)
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(N, 5))
    block = device.blocks[0].with_codes(codes.astype(np.float32))
    P, theta = len(preparation.maps), 3.0 * rng.normal(size=len(preparation.maps) * 6)
    amplitudes = GateFunction(gate, np.ones(P, dtype=bool), len(theta))
    kind = features.gate_kind(block, amplitudes)
    placed = block.place.asarray(theta, "float32")
    found = features.gates_of(block, kind, placed)
    wanted = gate.values(theta, codes, np.ones((N, P), dtype=bool))
    assert np.abs(block.place.numpy(found) - wanted).max() < 1e-5
    slopes = rng.normal(size=(N, P))
    pulled = features.gates_pullback(block, kind, placed, found, block.place.asarray(slopes, "float32"))
    exact = gate.pullback(theta, codes, wanted, slopes)
    assert np.abs(block.place.numpy(pulled) - exact).max() < 1e-4 * max(1.0, np.abs(exact).max())


def test_other_gates_are_computed_by_themselves(place):
    device, _, _ = engines(KERNELS["gaussian"], place, "dense", missing=False)
    block, everything = device.blocks[0].with_codes(np.ones((N, 3), dtype=np.float32)), np.ones(2, dtype=bool)
    assert features.gate_kind(block, GateFunction(Softmax(), everything, 8)) is not None
    assert features.gate_kind(block, GateFunction(Softmax(), everything, 8, tol=0.1)) is None
    assert features.gate_kind(block, GateFunction(Softmax(), np.array([True, False]), 8)) is None
    lacking = engines(KERNELS["gaussian"], place, "dense")[0].blocks[0].with_codes(np.ones((N, 3), dtype=np.float32))
    assert features.gate_kind(lacking, GateFunction(Softmax(), everything, 8)) is None
