"""How much memory Gram matrices will take, told before they are computed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from .._warnings import warn


class MemoryWarning(UserWarning):
    """The Gram matrices of a fit are estimated to need more memory than the machine has free."""


def warn_if_too_large(n_matrices: int, n_samples: int, dtype: np.dtype, what: str) -> None:
    """Emit a `MemoryWarning` where ``n_matrices`` Gram matrices exceed the free memory."""
    needed = n_matrices * n_samples**2 * np.dtype(dtype).itemsize
    free = available_memory()
    if free is not None and needed > free:
        warn(
            f"{what} needs about {needed / 2**30:.1f} GiB ({n_matrices} matrices of {n_samples} x {n_samples} "
            f"{np.dtype(dtype).name}), but this machine has {free / 2**30:.1f} GiB free; use fewer samples or "
            'kernels, or dtype="float32"',
            MemoryWarning,
        )


def available_memory() -> int | None:
    """Free memory in bytes, or None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
