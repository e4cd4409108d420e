"""Sums over blocks in memory: in the order of the blocks, and without keeping the results of all of them."""

from __future__ import annotations

import time
from weakref import WeakSet

import numpy as np
from threadpoolctl import threadpool_limits

from kernelweave.engines import InMemory

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
