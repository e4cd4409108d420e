"""Threads of the host for work on tiles: as many as BLAS has, which is limited to one thread inside each of them.

Tiles do not depend on the number of threads, and neither do results.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_state: dict[str, Any] = {"users": 0, "limit": None, "threads": 1}


def in_threads(work: Callable[[int], None], n_tasks: int) -> None:
    """Call ``work(0)``, ..., ``work(n_tasks - 1)``, which must not depend on each other.

    Examples
    --------
    >>> from kernelweave.kernels.parts.threads import in_threads
    >>> found = [0] * 4
    >>> in_threads(lambda task: found.__setitem__(task, task**2), 4)
    >>> found
    [0, 1, 4, 9]
    """
    with one_thread_each() as n_threads:
        if min(n_threads, n_tasks) <= 1:
            for task in range(n_tasks):
                work(task)
            return
        with ThreadPoolExecutor(min(n_threads, n_tasks)) as pool:
            for _ in pool.map(work, range(n_tasks)):  # raises what a task raised
                pass


@contextmanager
def one_thread_each():
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
