"""The engine over files: sums in order, results held while they fit, one clear error where a block cannot be read."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest

from kernelweave.arrays import HOST
from kernelweave.engines import InMemory, files
from kernelweave.engines.files import FromFiles, bytes_of
from kernelweave.kernels.resources import blas_threads


class Numbers:
    """Blocks of numbers that count how often they are read, and by whom."""

    def __init__(self, n_blocks, broken=None):
        self.n_blocks, self.broken = n_blocks, broken
        self.read, self.threads = [], set()

    def block(self, number):
        if number == self.broken:
            raise ValueError("b.parquet, rows 5 to 8: cannot be read")
        self.read.append(number)
        self.threads.add(threading.current_thread().name)
        return np.full(4, float(number))


def scaled(block, factor):
    return block * factor


def listed(block):
    return [float(block[0])]


def test_sums_are_those_in_memory_in_the_order_of_blocks():
    source = Numbers(7)
    engine = FromFiles(source)
    assert engine.sum(listed) == InMemory([source.block(k) for k in range(7)]).sum(listed) == list(range(7))
    assert engine.replace(scaled, 2.0, keep=False).sum(listed) == [2.0 * k for k in range(7)]
    assert threading.main_thread().name in source.threads and len(source.threads) > 1  # the engine's own thread reads


def test_what_fits_is_held_and_nothing_is_read_again():
    source = Numbers(5)
    engine = FromFiles(source).replace(scaled, 2.0)
    assert isinstance(engine, InMemory)
    assert engine.sum(listed) == [0.0, 2.0, 4.0, 6.0, 8.0] and source.read == list(range(5))


@pytest.mark.parametrize(("room", "n_held"), [(0, 0), (31, 0), (32, 1), (100, 3), (159, 4)])
def test_blocks_beyond_the_free_memory_are_made_again(monkeypatch, room, n_held):
    monkeypatch.setattr(files, "available_memory", lambda: room / files.HELD_SHARE)
    source = Numbers(5)
    engine = FromFiles(source).replace(scaled, 2.0)
    size = blas_threads()  # as many are worked on together, and as many are read ahead of the one that does not fit
    assert len(source.read) <= (n_held // size + 2) * size
    source.read.clear()
    assert engine.sum(listed) == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert source.read == list(range(n_held, 5))
    further = engine.replace(scaled, 10.0, keep=False)
    source.read.clear()
    assert further.sum(listed) == [0.0, 20.0, 40.0, 60.0, 80.0]
    assert source.read == list(range(n_held, 5))


def test_keep_false_holds_nothing():
    source = Numbers(3)
    engine = FromFiles(source).replace(scaled, 2.0, keep=False)
    assert source.read == []
    engine.sum(listed), engine.sum(listed)
    assert source.read == [0, 1, 2] * 2


def test_a_block_that_cannot_be_read_ends_the_pass_with_its_error():
    source = Numbers(50, broken=3)
    before = threading.active_count()
    with pytest.raises(ValueError, match="b.parquet, rows 5 to 8"):
        FromFiles(source).sum(listed)
    assert max(source.read) <= 3 and threading.active_count() == before


def test_an_error_of_a_function_ends_reading():
    source = Numbers(50)
    with pytest.raises(ZeroDivisionError):
        FromFiles(source).sum(lambda block: 1 // int(block[0] < 5))
    assert len(source.read) < 12


def test_passes_are_watched():
    seen = []

    @contextmanager
    def watch():
        seen.append("begin")
        yield lambda done, total: seen.append((done, total))
        seen.append("end")

    engine = FromFiles(Numbers(3), watch=watch)
    engine.replace(scaled, 2.0, keep=False).sum(listed)
    assert seen[0] == "begin" and seen[-2:] == [(3, 3), "end"]


def test_sizes_count_each_array_once():
    array = np.zeros(100)
    assert bytes_of([array, {"x": array}, None, "text", 3]) == 800
    assert bytes_of((np.zeros(3, dtype=np.float32), np.zeros(2))) == 28
    assert bytes_of(HOST) == 0  # which holds a module, and that all others
