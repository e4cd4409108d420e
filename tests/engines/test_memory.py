"""Sums over blocks in memory, in their order and without keeping all results; tiles in arrays that are used again."""

from __future__ import annotations

import time
from weakref import WeakSet

import numpy as np
from threadpoolctl import threadpool_limits

from kernelweave.engines import InMemory
from kernelweave.engines.memory import in_float64, raw_values
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, KernelStack
from kernelweave.kernels.resources import Scratch
from kernelweave.views import Views

ALIVE: WeakSet = WeakSet()


class Text:
    """Something whose sum depends on the order."""

    def __init__(self, text: str):
        self.text = text
        ALIVE.add(self)

    def __add__(self, other: Text) -> Text:
        return Text(self.text + other.text)


def test_results_are_added_in_order_and_dropped():
    most = []

    def slow_first(block: int) -> Text:
        time.sleep(0.02 if block == 0 else 0.0)
        most.append(len(ALIVE))
        return Text(f"{block} ")

    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            assert InMemory(range(40)).sum(slow_first).text == " ".join(map(str, range(40))) + " "
    assert max(most[:40]) <= 2  # one thread: the total, and what is added to it
    assert InMemory([]).sum(slow_first) is None


def test_tuples_and_arrays():
    one, other = InMemory([1.0, 2.0, 3.0]).sum(lambda block: (block, np.array([block, 1.0])))
    assert one == 6.0
    np.testing.assert_array_equal(other, [6.0, 3.0])


def test_values_in_float64_are_in_one_array():
    """New arrays of a tile are new pages each time on Dask's workers, half the time of making features."""
    scratch, values = Scratch(), np.arange(6, dtype=np.float32).reshape(2, 3)
    first = in_float64(values, scratch)
    np.testing.assert_array_equal(first, values)
    second = in_float64(values[:1] + 1.0, scratch)
    np.testing.assert_array_equal(second, [[1.0, 2.0, 3.0]])
    assert np.shares_memory(first, second) and second.dtype == np.float64
    assert in_float64(first, scratch) is first


def test_features_are_whitened_into_one_array():
    views = Views(np.random.default_rng(0).normal(size=(700, 3)))
    stack = KernelStack([("a", Gaussian())], "unit-diagonal").fit(views, np.ones(700), None)
    found = NystroemFeatures(20).fit_map(stack, 0, np.random.RandomState(0), dtype=np.dtype("float32"))
    scratch, raw = Scratch(), raw_values(found, "float32")
    tiles = [raw.open(views, np.ones(700, dtype=bool)).fill(part).copy() for part in (slice(0, 64), slice(64, 128))]
    alone = [tile.astype(np.float64) @ raw.whitening for tile in tiles]
    whitened = [raw.whitened(tile, scratch) for tile in tiles]
    assert np.shares_memory(*whitened)
    np.testing.assert_array_equal(whitened[1], alone[1])
    np.testing.assert_array_equal(raw.whitened(tiles[0], scratch), alone[0])
