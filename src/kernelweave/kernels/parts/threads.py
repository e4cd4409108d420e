"""Threads of the host for work on tiles: as many as BLAS has, which is limited to one thread inside each of them.

Tiles do not depend on the number of threads, and neither do results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

_lock = Lock()
_state: dict[str, Any] = {"users": 0, "limit": None, "threads": 1}


def in_threads(work: Callable[[int, Scratch], None], n_tasks: int) -> None:
    """Call ``work(task, scratch)`` for each task below `n_tasks`; tasks must not depend on each other.

    Examples
    --------
    >>> from kernelweave.kernels.parts.threads import in_threads
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
        for task in tasks:
            work(task, scratch)

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


@contextmanager
def one_thread_each() -> Iterator[int]:
    """Limit BLAS to one thread, and give the number that it had; several Python threads may do so at the same time."""
    with _lock:
        if _state["users"] == 0:
            blas = _blas()
            _state["threads"] = max([library["num_threads"] for library in blas.info()], default=1)
            _state["limit"] = blas.limit(limits=1) if _state["threads"] > 1 else None
        _state["users"] += 1
        n_threads = _state["threads"]
    try:
        yield n_threads
    finally:
        with _lock:
            _state["users"] -= 1
            if _state["users"] == 0 and _state["limit"] is not None:
                _state["limit"].restore_original_limits()
                _state["limit"] = None


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
