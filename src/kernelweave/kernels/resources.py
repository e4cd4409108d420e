"""How much memory Gram matrices take: a warning before they are computed, with advice where there is too little.

Free is what the system calls available, or less where a container (a Linux control group, of version 1 or 2) may not
have all of that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from ..._warnings import warn

_PROCESSES = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")


class MemoryWarning(UserWarning):
    """The Gram matrices of a fit are estimated to need more memory than the machine has free."""


class KernelMemoryError(MemoryError):
    """There was too little memory for the Gram matrices of a fit."""


class LazyStorageError(ValueError):
    """Something needs a whole n x n matrix of a model with ``storage="lazy"``, which keeps kernels in parts."""


def lazy_storage_error(n_matrices: int, n_samples: int, dtype: DTypeLike, what: str, advice: str) -> LazyStorageError:
    """The error of what cannot be done in parts.

    Parameters
    ----------
    n_matrices, n_samples : int
        The Gram matrices that would be needed.
    dtype : dtype
    what : str
        What needs them.
    advice : str
        What to use instead, beside ``storage="dense"``.
    """
    dtype = np.dtype(dtype)
    needed = n_matrices * n_samples**2 * dtype.itemsize
    count = f"{n_matrices} matrices" if n_matrices > 1 else "a matrix"
    return LazyStorageError(
        f"{what} needs {count} of {n_samples} x {n_samples} {dtype.name} ({needed / 2**30:.2g} GiB), but with "
        f'storage="lazy" kernels are kept in parts; use storage="dense" or {advice}'
    )


def warn_if_too_large(
    n_matrices: int,
    n_samples: int,
    dtype: DTypeLike,
    what: str,
    per_kernel: bool = False,
    has_dtype: bool = True,
    instead: Sequence[str] = (),
) -> None:
    """Emit a `MemoryWarning` where ``n_matrices`` Gram matrices exceed the free memory.

    Parameters
    ----------
    n_matrices, n_samples : int
    dtype : dtype
    what : str
        What the matrices are for.
    per_kernel : bool
        Whether fewer kernels would need fewer matrices.
    has_dtype : bool
        Whether the user's model has a parameter `dtype` that would make them smaller.
    instead : sequence of str
        Parameters with which the user's model would do without them, such as ``storage="lazy"``.
    """
    needed = n_matrices * n_samples**2 * np.dtype(dtype).itemsize
    free = available_memory()
    if free is not None and needed > free:
        warn(_described(n_matrices, n_samples, dtype, what, free, per_kernel, has_dtype, instead), MemoryWarning)


def kernel_memory_error(
    n_matrices: int,
    n_samples: int,
    dtype: DTypeLike,
    what: str,
    per_kernel: bool = False,
    has_dtype: bool = True,
    instead: Sequence[str] = (),
) -> KernelMemoryError:
    """The error of a fit that ran out of memory, with the message of `warn_if_too_large`; parameters are the same."""
    told = _described(n_matrices, n_samples, dtype, what, available_memory(), per_kernel, has_dtype, instead)
    return KernelMemoryError(f"out of memory: {told}")


@contextmanager
def telling_memory_errors(
    n_matrices: int, n_samples: int, dtype: DTypeLike, what: str, *, has_dtype: bool = True
) -> Iterator[None]:
    """Turn a `MemoryError` of the block into a `kernel_memory_error`; parameters are those of `warn_if_too_large`.

    An error that was turned already, inside, stays as it is.
    """
    try:
        yield
    except KernelMemoryError:
        raise
    except MemoryError as error:
        raise kernel_memory_error(n_matrices, n_samples, dtype, what, has_dtype=has_dtype) from error


def _described(
    n_matrices: int,
    n_samples: int,
    dtype: DTypeLike,
    what: str,
    free: int | None,
    per_kernel: bool,
    has_dtype: bool,
    instead: Sequence[str],
) -> str:
    dtype = np.dtype(dtype)
    needed = n_matrices * n_samples**2 * dtype.itemsize
    there = "" if free is None else f", and {free / 2**30:.1f} GiB are free"
    count = f"{n_matrices} matrices" if n_matrices > 1 else "a matrix"
    advice = [*instead, "fewer samples"]
    if per_kernel:
        advice.append("fewer kernels")
    if has_dtype and dtype.itemsize > 4:
        advice.append('dtype="float32"')
    return (
        f"{what} needs about {needed / 2**30:.1f} GiB ({count} of {n_samples} x {n_samples} {dtype.name}){there}; "
        f"use {' or '.join(advice)}"
    )


def available_memory() -> int | None:
    """Free memory in bytes, or None where the system has no such figure."""
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
    """What each control group that this process is in has left; none where there are no limits."""
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
    """Limit less usage of a group and of all that contain it; files that are only cached do not count as used."""
    inside = Path(path.lstrip("/"))
    for group in (inside, *inside.parents):  # the last is the root, which may be the only one that a container can read
        try:
            most, used = int((root / group / limit).read_text()), int((root / group / usage).read_text())
            statistics = (root / group / "memory.stat").read_text().splitlines()
        except (OSError, ValueError):  # not there, or "max"
            continue
        cached = next((int(line.split()[1]) for line in statistics if line.split()[:1] == [cache]), 0)
        yield max(most - used + cached, 0)
