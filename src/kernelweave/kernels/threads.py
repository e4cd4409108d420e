"""Work in threads, as many as BLAS has.

NumPy's products use as many threads as BLAS is given (``OMP_NUM_THREADS``, ``threadpoolctl.threadpool_limits``). Other
work on matrices follows the same number: one BLAS thread means one thread. Inside the threads BLAS has one thread each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

# Limits of BLAS hold for the whole process: limits that overlap in two threads would restore each other's.
_limiting = Lock()


@cache
def _controller() -> ThreadpoolController:
    """BLAS as this process has loaded it; looking for the libraries takes milliseconds, so that is done once."""
    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """How many threads BLAS uses now; 1 where no BLAS library is known."""
    return max((library.num_threads or 1 for library in _controller().lib_controllers), default=1)


@contextmanager
def one_thread_each() -> Iterator[int]:
    """Limit BLAS to one thread, and give the number of threads that it had.

    That is 1 where BLAS cannot be limited, because it is limited already, by work around this one or in another thread
    of Python: this thread does its work alone then. The thread that limits BLAS is the one that ends the limit, as
    threadpoolctl demands.
    """
    n_threads = blas_threads()
    if n_threads == 1 or not _limiting.acquire(blocking=False):
        yield 1
        return
    try:
        with _controller().limit(limits=1):
            yield n_threads if blas_threads() == 1 else 1
    finally:
        _limiting.release()


class Scratch:
    """Arrays that a thread uses again for one task after the other."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, int], np.ndarray] = {}

    def array(self, dtype: np.dtype, size: int, number: int = 0) -> np.ndarray:
        """An array of so many entries, whatever they are; arrays of different numbers are different arrays."""
        key = np.dtype(dtype).str, number
        if key not in self._arrays or len(self._arrays[key]) < size:
            self._arrays[key] = np.empty(size, dtype=dtype)
        return self._arrays[key][:size]


def in_threads(work: Callable[[int, Scratch], None], n_tasks: int) -> None:
    """Call ``work(task, scratch)`` for each task below `n_tasks`; tasks must not depend on each other.

    They are begun in order. After an error, or Ctrl-C, no other task is begun.

    Examples
    --------
    >>> from kernelweave.kernels.threads import in_threads
    >>> found = [0] * 4
    >>> in_threads(lambda task, scratch: found.__setitem__(task, task**2), 4)
    >>> found
    [0, 1, 4, 9]
    """
    if n_tasks <= 1:
        for task in range(n_tasks):
            work(task, Scratch())
        return
    tasks = iter(range(n_tasks))  # shared: the next number is taken under the interpreter's lock

    def share() -> None:
        scratch = Scratch()
        try:
            for task in tasks:
                work(task, scratch)
        except BaseException:
            for _ in tasks:  # which the other threads would begin
                pass
            raise

    with one_thread_each() as n_threads:
        others = min(n_threads, n_tasks) - 1
        if others <= 0:
            share()
            return
        with ThreadPoolExecutor(others) as pool:
            shares = [pool.submit(share) for _ in range(others)]
            share()
            for each in shares:
                each.result()  # raises what a task raised


def in_blas_threads(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """`function` of every item, in order, by `in_threads`.

    Examples
    --------
    >>> in_blas_threads(abs, [-1, 2])
    [1, 2]
    """
    items = list(items)
    found: list[Any] = [None] * len(items)

    def work(task: int, _: Scratch) -> None:
        found[task] = function(items[task])

    in_threads(work, len(items))
    return found
