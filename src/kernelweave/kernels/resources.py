"""What the computer has: threads for work on matrices, and memory for Gram matrices.

NumPy's products use as many threads as BLAS is given (``OMP_NUM_THREADS``, ``threadpoolctl.threadpool_limits``). Other
work on matrices follows the same number: one BLAS thread means one thread. Inside the threads BLAS has one thread each.

A warning says how much memory Gram matrices take before they are computed, with advice where there is too little.
Free is what the system calls available, or less where a container (a Linux control group, of version 1 or 2) may not
have all of that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from threadpoolctl import ThreadpoolController

from .._warnings import warn

# Limits of BLAS hold for the whole process: limits that overlap in two threads would restore each other's.
_limiting = Lock()


@cache
def _controller() -> ThreadpoolController:
    """BLAS as this process has loaded it; looking for the libraries takes milliseconds, so that is done once."""
    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    return max((library.num_threads or 1 for library in _controller().lib_controllers), default=1)


@contextmanager
def one_thread_each() -> Iterator[int]:
    """Limit BLAS to one thread, and give the number of threads that it had.

    That is 1 where BLAS is limited already, by work around this one or in another thread: this thread works alone then.
    The thread that limits BLAS is the one that ends the limit, as threadpoolctl demands.
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
    """Call ``work(task, scratch)`` for each task below `n_tasks`, in order; after an error no other task begins."""
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
    items = list(items)
    found: list[Any] = [None] * len(items)

    def work(task: int, _: Scratch) -> None:
        found[task] = function(items[task])

    in_threads(work, len(items))
    return found


_PROCESSES = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")


class MemoryWarning(UserWarning):
    """The Gram matrices of a fit are estimated to need more memory than the machine has free."""


class KernelMemoryError(MemoryError):
    """There was too little memory for the Gram matrices of a fit."""


class LazyStorageError(ValueError):
    """Something needs a whole n x n matrix of a model with ``storage="lazy"``, which keeps kernels in parts."""


def lazy_storage_error(n_matrices: int, n_samples: int, dtype: DTypeLike, what: str, advice: str) -> LazyStorageError:
    count, needed = _matrices(n_matrices, n_samples, dtype)
    return LazyStorageError(
        f'{what} needs {count} ({needed:.2g} GiB), but with storage="lazy" kernels are kept in parts; '
        f'use storage="dense" or {advice}'
    )


def warn_if_too_large(n_matrices: int, n_samples: int, dtype: DTypeLike, what: str, **advice: Any) -> None:
    free = available_memory()
    if free is not None and n_matrices * n_samples**2 * np.dtype(dtype).itemsize > free:
        warn(_need(n_matrices, n_samples, dtype, what, free, **advice), MemoryWarning)


def kernel_memory_error(
    n_matrices: int, n_samples: int, dtype: DTypeLike, what: str, **advice: Any
) -> KernelMemoryError:
    return KernelMemoryError(
        f"out of memory: {_need(n_matrices, n_samples, dtype, what, available_memory(), **advice)}"
    )


@contextmanager
def explained_memory_errors(
    n_matrices: int, n_samples: int, dtype: DTypeLike, what: str, **advice: Any
) -> Iterator[None]:
    """Turn a `MemoryError` of the block into a `kernel_memory_error`, but one that was turned already, inside."""
    try:
        yield
    except KernelMemoryError:
        raise
    except MemoryError as error:
        raise kernel_memory_error(n_matrices, n_samples, dtype, what, **advice) from error


def _need(
    n_matrices: int,
    n_samples: int,
    dtype: DTypeLike,
    what: str,
    free: int | None,
    *,
    per_kernel: bool = False,
    has_dtype: bool = True,
    instead: Sequence[str] = (),
) -> str:
    """How much memory Gram matrices need, and what needs less.

    `per_kernel`: fewer kernels would need fewer matrices; `has_dtype`: the model has a parameter `dtype` that makes
    them smaller; `instead`: parameters with which it would do without them, such as ``storage="lazy"``.
    """
    count, needed = _matrices(n_matrices, n_samples, dtype)
    there = "" if free is None else f", and {free / 2**30:.1f} GiB are free"
    advice = [*instead, "fewer samples"]
    if per_kernel:
        advice.append("fewer kernels")
    if has_dtype and np.dtype(dtype).itemsize > 4:
        advice.append('dtype="float32"')
    return f"{what} needs about {needed:.1f} GiB ({count}){there}; use {' or '.join(advice)}"


def _matrices(n_matrices: int, n_samples: int, dtype: DTypeLike) -> tuple[str, float]:
    dtype = np.dtype(dtype)
    count = f"{n_matrices} matrices" if n_matrices > 1 else "a matrix"
    return f"{count} of {n_samples} x {n_samples} {dtype.name}", n_matrices * n_samples**2 * dtype.itemsize / 2**30


def available_memory() -> int | None:
    known = [free for free in (_available_on_machine(), *_available_in_groups()) if free is not None]
    return min(known, default=None)


def _available_on_machine() -> int | None:
    try:
        lines = (_PROCESSES / "meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _available_in_groups() -> Iterator[int]:
    """How much memory is left in each control group of this process that has a limit."""
    try:
        lines = (_PROCESSES / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:  # such as 0::/user.slice (version 2) or 4:memory:/docker/1f (version 1)
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0":
            yield from _left(_GROUPS, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            yield from _left(_GROUPS / "memory", path, *names)


def _left(root: Path, path: str, limit: str, usage: str, cache: str) -> Iterator[int]:
    """What a group and all that contain it have left: the limit less the usage, without files that are only cached."""
    inside = Path(path.lstrip("/"))
    for group in (inside, *inside.parents):  # the last is the root, which may be the only one that a container can read
        try:
            most, used = int((root / group / limit).read_text()), int((root / group / usage).read_text())
            statistics = (root / group / "memory.stat").read_text().splitlines()
        except (OSError, ValueError):  # not there, or "max"
            continue
        cached = next((int(line.split()[1]) for line in statistics if line.split()[:1] == [cache]), 0)
        yield max(most - used + cached, 0)
