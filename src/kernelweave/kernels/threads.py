"""Work in threads, as many as BLAS has.

NumPy's products use as many threads as BLAS is given (``OMP_NUM_THREADS``, ``threadpoolctl.threadpool_limits``). Other
work on matrices follows the same number: one BLAS thread means one thread. Inside the threads BLAS has one thread each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

# Limits of BLAS hold for the whole process: limits that overlap in two threads would restore each other's.
_LIMITING = Lock()


@cache
def _controller() -> ThreadpoolController:
    """BLAS as this process has loaded it; looking for the libraries takes milliseconds, so that is done once."""
    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """How many threads BLAS uses now; 1 where no BLAS library is known."""
    return max((library.num_threads or 1 for library in _controller().lib_controllers), default=1)


def in_blas_threads(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """`function` of every item, in order, on as many threads as BLAS has, while BLAS itself has one.

    Where BLAS cannot be limited, because another thread of the process has limited it, this thread does the work alone.

    Examples
    --------
    >>> in_blas_threads(abs, [-1, 2])
    [1, 2]
    """
    items = list(items)
    count = min(blas_threads(), len(items))
    if count > 1 and _LIMITING.acquire(blocking=False):
        try:
            with _controller().limit(limits=1):
                if blas_threads() == 1:
                    with ThreadPoolExecutor(count) as pool:
                        return list(pool.map(function, items))
        finally:
            _LIMITING.release()
    return [function(item) for item in items]
