"""`Place`: the operations that the array API lacks do the same in every place, and `chosen_place` reads `device`."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from kernelweave.arrays import HOST, Place, chosen_place
from places import HAS_TORCH, STRICT, has_cuda, in_every_place, needs_torch

VALUES = np.array([3.0, 1.0, 2.0, 5.0])


@in_every_place
def test_numbers_come_back_as_they_went(place_of):
    place = place_of()
    table = np.arange(6.0).reshape(2, 3).T  # not contiguous
    frozen = VALUES.copy()
    frozen.flags.writeable = False
    for values in (table, frozen, VALUES[::-1]):
        for dtype in (None, "float64", "float32", "int64"):
            there = place.asarray(values, dtype)
            assert np.array_equal(place.numpy(there), values)
            assert place.numpy(there).dtype == (values.dtype if dtype is None else dtype)
            assert np.array_equal(place.numpy(place.asarray(there, "float32")), values)
    assert np.array_equal(place.numpy(place.zeros((2, 3), "float32")), np.zeros((2, 3), dtype="float32"))


@in_every_place
def test_values_are_taken_written_and_added_at_positions(place_of):
    place, index = place_of(), np.array([2, 0])
    values = place.asarray(VALUES.copy())
    table = place.asarray(np.arange(8.0).reshape(2, 4))
    assert place.numpy(place.take(values, index)).tolist() == [2.0, 3.0]
    assert place.take(values, None) is values
    assert place.numpy(place.take(table, index, axis=1)).tolist() == [[2.0, 0.0], [6.0, 4.0]]
    place.put(values, index, place.asarray([7.0, 8.0]))
    assert place.numpy(values).tolist() == [8.0, 1.0, 7.0, 5.0]
    place.add(values, index, place.asarray([10.0, 20.0]))
    assert place.numpy(values).tolist() == [28.0, 1.0, 17.0, 5.0]
    place.add(values, None, place.asarray(np.ones(4)))
    assert place.numpy(values).tolist() == [29.0, 2.0, 18.0, 6.0]
    place.put(values, None, place.asarray(VALUES))
    assert place.numpy(values).tolist() == VALUES.tolist()
    place.put(values, np.array([1]), -np.inf)
    assert place.numpy(values)[1] == -np.inf
    empty = np.empty(0, dtype=np.int64)
    place.add(values, empty, place.asarray(np.empty(0)))
    assert place.numpy(place.take(values, empty)).tolist() == []


@in_every_place
def test_rows_of_a_table_are_written_and_added(place_of):
    place, index = place_of(), np.array([2, 0])
    table = place.asarray(np.zeros((3, 2)))
    place.put(table, index, place.asarray(np.ones((2, 2))))
    place.add(table, index, place.asarray(np.array([[1.0, 2.0], [3.0, 4.0]])))
    assert place.numpy(table).tolist() == [[4.0, 5.0], [0.0, 0.0], [2.0, 3.0]]


@in_every_place
@pytest.mark.parametrize("count", [0, 1, 3, 4, 9])
def test_the_largest_are_found(place_of, count):
    place = place_of()
    values = np.random.default_rng(count).permutation(4).astype(float)
    found = place.largest(place.asarray(values), count)
    assert sorted(found.tolist()) == sorted(np.argsort(-values)[:count].tolist())
    found, largest = place.top(place.asarray(values), count)
    assert sorted(found.tolist()) == sorted(np.argsort(-values)[:count].tolist())
    assert np.array_equal(values[found], largest)


@in_every_place
def test_a_place_is_pickled_by_name(place_of):
    place = place_of()
    again = pickle.loads(pickle.dumps(place))
    assert again == place
    assert hash(again) == hash(place)
    assert (again is HOST) == (place is HOST)
    assert place != (STRICT if place is HOST else HOST)


def test_a_pickled_place_that_is_no_more_becomes_the_host(monkeypatch):
    blob = pickle.dumps(STRICT)
    monkeypatch.setitem(sys.modules, "array_api_strict", None)
    assert pickle.loads(blob) is HOST


@in_every_place
def test_free_memory_is_that_of_a_device(place_of):
    place = place_of()
    place.synchronize()
    free = place.free_memory()
    assert (free is not None and free > 2**20) if place.is_cuda else free is None


def test_the_cpu_is_the_host():
    assert chosen_place("cpu") is HOST
    assert HOST.is_host and not HOST.is_torch and not HOST.is_cuda


@pytest.mark.parametrize("device", ["gpu", "cuda:0", "", None, 3, ["cpu"]])
def test_other_devices_are_refused(device):
    with pytest.raises(ValueError, match="device must be one of 'cpu', 'cuda', 'auto'"):
        chosen_place(device)


def test_without_torch_cuda_names_the_command_and_auto_is_the_host(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert chosen_place("auto") is HOST
    with pytest.raises(ImportError, match=r"torch is needed for device='cuda'; pip install kernelweave\[torch\]"):
        chosen_place("cuda")


class TestTorch:
    pytestmark = needs_torch

    def test_without_a_device_cuda_is_refused_with_advice(self, monkeypatch):
        import torch

        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        assert chosen_place("auto") is HOST
        with pytest.raises(ValueError, match='finds no CUDA device.*device="cpu"'):
            chosen_place("cuda")

    @pytest.mark.skipif(not has_cuda(), reason="there is no CUDA device")
    def test_auto_takes_the_device(self):
        assert chosen_place("auto") == chosen_place("cuda")
        assert isinstance(chosen_place("cuda"), Place) and chosen_place("cuda").is_cuda


@pytest.mark.skipif(HAS_TORCH is False, reason="torch is not installed")
def test_importing_loads_no_torch():
    code = "import kernelweave.estimators, kernelweave.kernels, sys; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
