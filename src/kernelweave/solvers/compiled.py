"""The decorator of compiled functions: a cache where a folder for it can be written, and a log line before compiling.

numba keeps compiled code in NUMBA_CACHE_DIR, beside the module or in the user's cache folder, whichever it can write
first. Where it can write none of them (a read-only installation without a home) it would refuse to define the function,
and where the disk is full it would fail in the middle of a fit; here the process compiles for itself then. No other
folder is tried: compiled code is loaded as it is found, so a folder that others can write, such as the system's
temporary one, must be the user's own choice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

import numpy as np
from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache

UNUSABLE = (OSError, EOFError, UnpicklingError)  # no folder, no room, no right, or half a file after a crash

logger = logging.getLogger("kernelweave.solvers")


def compiled(
    function: Callable | None = None, *, inner: bool = False, allocates: bool = False, **options: Any
) -> Callable:
    """``numba.njit(cache=True, nogil=True, **options)``, without a cache where there is no folder for one.

    A function that only compiled code calls is marked ``inner``: it is compiled with its callers, which are cached, and
    has no entry from Python, which would take as long again to compile (``function.py_func`` is the Python original).
    One that makes arrays is marked ``allocates``, without which that is an error: counting references to arrays is an
    eighth of the compiler's work.

    >>> @compiled
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """
    if function is None:
        return lambda function: compiled(function, inner=inner, allocates=allocates, **options)
    flags = {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner, "_nrt": allocates, **options}
    dispatcher: Any = njit(function, nogil=True, **flags)
    if inner:
        return dispatcher
    try:
        dispatcher._cache = _Cache(function)  # what cache=True does, but for the class
    except RuntimeError as error:  # numba found no folder
        logger.debug("%s", error)
    return dispatcher


def read_only(array: np.ndarray) -> np.ndarray:
    """The same numbers read-only, so that one compiled version serves arrays that can be written and that cannot."""
    array = array.view()
    array.flags.writeable = False
    return array


class _Cache(FunctionCache):
    """numba's cache of one function; what cannot be read or written is compiled instead."""

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except UNUSABLE:
            return None  # saving meets the same file and warns

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except UNUSABLE as error:
            logger.warning(
                "compiled code could not be kept in %s (%s), so other processes compile it again: empty that folder, "
                "make room for it or set NUMBA_CACHE_DIR to another that can be written",
                self.cache_path,
                error,
            )
            self.disable()


class _Announcement(event.Listener):
    """One log line when the first function of this package has to be compiled."""

    made = False

    def on_start(self, event: Any) -> None:
        dispatcher = event.data["dispatcher"]
        if self.made or not dispatcher.py_func.__module__.startswith(f"{__package__}."):
            return
        self.made = True
        cache = dispatcher._cache
        kept = (
            f"kept in {cache.cache_path} for later processes"
            if isinstance(cache, _Cache)
            else "for this process only, because no cache folder can be written: set NUMBA_CACHE_DIR to one that can"
        )
        logger.info("compiling the solvers at their first use: some seconds for each machine, %s", kept)

    def on_end(self, event: Any) -> None:
        """Log nothing."""


event.register("numba:compile", _Announcement())
