"""Threads follow BLAS, and its limits are as before afterwards."""

from threading import Barrier, Thread, get_ident

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kernelweave.kernels.resources import Scratch, blas_threads, in_blas_threads, in_threads, one_thread_each


@pytest.mark.parametrize("count", [1, 2])
def test_threads_are_as_many_as_blas_has(count):
    together, seen = Barrier(count), set()

    def work(item):
        together.wait(timeout=20)  # passes only if so many threads are there at once
        seen.add(get_ident())
        return 2 * item, blas_threads()

    with threadpool_limits(count):
        assert blas_threads() == count
        assert in_blas_threads(work, range(2 * count)) == [(2 * item, 1) for item in range(2 * count)]
        assert len(seen) == count and blas_threads() == count


def test_limits_are_restored_after_an_error():
    with threadpool_limits(2):
        with pytest.raises(ZeroDivisionError):
            in_blas_threads(lambda item: 1 // item, [1, 0])
        assert blas_threads() == 2


@pytest.mark.parametrize("count", [1, 2])
def test_no_task_is_begun_after_an_error(count):
    begun, both = [], Barrier(count)

    def work(task, scratch):
        begun.append(task)
        if task < count:
            both.wait(timeout=20)
            raise FloatingPointError("a task")

    with threadpool_limits(count):
        with pytest.raises(FloatingPointError, match="a task"):
            in_threads(work, 100)
        assert len(begun) <= count + 1 and blas_threads() == count  # one may be on its way


def test_the_thread_that_limits_blas_ends_the_limit_whatever_else_is_at_work():
    entered, found = Barrier(2), []

    def second():
        with one_thread_each() as n_threads:
            found.append(n_threads)
            entered.wait(timeout=20)
            entered.wait(timeout=20)

    with threadpool_limits(2):
        other = Thread(target=second)
        with one_thread_each() as n_threads:
            assert n_threads == 2 and blas_threads() == 1
            other.start()
            entered.wait(timeout=20)  # the other thread is inside
        assert blas_threads() == 2
        entered.wait(timeout=20)
        other.join()
        assert blas_threads() == 2 and found == [1]


def test_scratch_is_used_again_where_it_is_large_enough():
    scratch = Scratch()
    large = scratch.array("float32", 8)
    assert np.shares_memory(large, scratch.array("float32", 4))
    assert not np.shares_memory(large, scratch.array("float32", 4, 1))
    assert not np.shares_memory(large, scratch.array("float64", 4))


def test_work_inside_work_is_done_by_its_thread_alone():
    def outer(item):
        return in_blas_threads(lambda inner: (item, inner, get_ident()), range(3))

    with threadpool_limits(2):
        for found in in_blas_threads(outer, range(2)):
            assert len({thread for _, _, thread in found}) == 1
        assert blas_threads() == 2


def test_work_that_overlaps_in_two_threads_leaves_the_limit_as_it_was():
    entered, found = Barrier(2), []

    def slow(item):
        if item == 0:
            entered.wait(timeout=20)
            entered.wait(timeout=20)
        return item

    def first():
        found.append(in_blas_threads(slow, range(4)))

    with threadpool_limits(2):
        other = Thread(target=first)
        other.start()
        entered.wait(timeout=20)  # the other thread is inside
        found.append(in_blas_threads(lambda item: -item, range(4)))
        entered.wait(timeout=20)
        other.join()
        assert blas_threads() == 2
    assert sorted(found) == [[0, -1, -2, -3], [0, 1, 2, 3]]


def test_nothing_to_do():
    assert in_blas_threads(abs, []) == []
    in_threads(lambda task, scratch: 1 // 0, 0)
