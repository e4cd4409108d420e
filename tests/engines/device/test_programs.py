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
from kernelweave.engines.device import blocks_on_device as made_on_device
from kernelweave.engines.device import fused, making
from kernelweave.engines.device.landmarks import LandmarkFeatures
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
    for module in (fused, making):
        monkeypatch.setattr(module, "is_fused", lambda place: place.is_torch)
    return torch_place("cpu")


def engines(kernels, place, storage, **options):
    """The programs in float32, and the host with the same features in float64."""
    rows, preparation = problem(kernels, dtype="float32", **options)
    exact = type(preparation)(preparation.maps, preparation.stack, preparation.machine_of, np.dtype("float64"))
    return blocks_on_device(rows.blocks, N, preparation, place, storage), rows.replace(exact), preparation


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_a_pass_over_held_features(name, learns, place):
    device, host, preparation = engines(KERNELS[name], place, "dense")
    assert fused.serves(device.blocks[0], 1)
    same(sums(device, preparation, learns=learns), sums(host, preparation, learns=learns), 1e-4)


@pytest.mark.parametrize("n_components", [7, 150])
def test_any_number_of_features(n_components, place):
    device, host, preparation = engines(KERNELS["gaussian"], place, "dense", n_components=n_components)
    same(sums(device, preparation, learns=True), sums(host, preparation, learns=True), 2e-4)


def test_several_outputs_and_wide_rows_go_the_plain_way(place, monkeypatch):
    device, host, preparation = engines(KERNELS["gaussian"], place, "dense", n_classes=3)
    assert not fused.serves(device.blocks[0], 3)
    same(sums(device, preparation, 3), sums(host, preparation, 3), 1e-4)
    monkeypatch.setattr(fused, "MOST_NUMBERS", 1)
    assert not fused.serves(device.blocks[0], 1)


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


def test_sums_do_not_change_from_run_to_run(place):
    for storage in ("dense", "lazy"):
        device, _, preparation = engines(KERNELS["gaussian"], place, storage)
        first, second = (sums(device, preparation, learns=True) for _ in range(2))
        assert np.array_equal(first.pulled, second.pulled) and np.array_equal(first.loss, second.loss)
