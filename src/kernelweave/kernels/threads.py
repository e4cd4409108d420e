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

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """BLAS as this process has loaded it; looking for the libraries takes milliseconds, so that is done once."""
    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """How many threads BLAS uses now; 1 where no BLAS library is known."""
    return max((library.num_threads for library in _controller().lib_controllers), default=1)


class _OneThread:
    """Limits BLAS to one thread while at least one block of `one_blas_thread` is entered.

    A limit of BLAS holds for the whole process. Blocks that overlap in different threads would otherwise restore each
    other's limit and leave BLAS with one thread for good.
    """

    def __init__(self) -> None:
        self.lock, self.depth = Lock(), 0
        self.limit: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.depth == 0:
                self.limit = _controller().limit(limits=1)
                self.limit.__enter__()
            self.depth += 1

    def leave(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.limit.__exit__(None, None, None)


_ONE = _OneThread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS has one thread inside this block; blocks may be nested, and may overlap in several threads."""
    _ONE.enter()
    try:
        yield
    finally:
        _ONE.leave()


def in_blas_threads(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """`function` of every item, in order, on as many threads as BLAS has, each with one BLAS thread.

    Examples
    --------
    >>> in_blas_threads(abs, [-1, 2])
    [1, 2]
    """
    items = list(items)
    count = min(blas_threads(), len(items))
    if count <= 1:
        return [function(item) for item in items]
    with one_blas_thread(), ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, items))
