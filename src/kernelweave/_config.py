"""The configuration: how much memory fits may take, by `set_config`, `get_config` and `config_context`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .validation import Exactly, Number, check

_BYTES = Number(low=0) | Exactly(float("inf"), "infinity")
_shared = {"dense_bytes": 2e9, "cache_bytes": 2.56e8}
_own = threading.local()  # has `values` inside `config_context`


def get_config() -> dict[str, float]:
    """The configuration of this thread, as a new dict; see `set_config` for its entries.

    Returns
    -------
    dict from str to float

    Examples
    --------
    >>> import kernelweave
    >>> kernelweave.get_config()
    {'dense_bytes': 2000000000.0, 'cache_bytes': 256000000.0}
    """
    return dict(_values())


def set_config(*, dense_bytes: float | None = None, cache_bytes: float | None = None) -> None:
    """Set how much memory fits may take.

    Parameters
    ----------
    dense_bytes : float, optional
        Estimators with ``storage="auto"`` hold the Gram matrices of all kernels in memory up to this size, and compute
        kernels in parts beyond it. It is a fixed number, 2e9 (2 GB) by default, so that results do not depend on what
        else is running. 0 means always in parts, where that can be had. None leaves it as it is.
    cache_bytes : float, optional
        The most memory for rows of a kernel in parts that are kept to be used again; 2.56e8 (256 MB) by default. Rows
        are kept on the CPU, for kernels of several parts or dear values, if 1024 of them fit (4 bytes for each sample
        and row; 62 000 samples by default); those used longest ago go first. 0 keeps none. None leaves it as it is.

    Notes
    -----
    The setting holds for all threads of the process, or until the end of the block inside `config_context`. It does
    not reach processes that other libraries start, such as those of ``GridSearchCV(n_jobs=2)``: give the estimator
    ``storage="lazy"`` or ``storage="dense"`` there.

    Examples
    --------
    >>> import kernelweave
    >>> kernelweave.set_config(dense_bytes=2e9)
    """
    given = {"dense_bytes": dense_bytes, "cache_bytes": cache_bytes}
    checked = {name: check(None, name, value, _BYTES) for name, value in given.items() if value is not None}
    _values().update(checked)


@contextmanager
def config_context(*, dense_bytes: float | None = None, cache_bytes: float | None = None) -> Iterator[None]:
    """A context in which this thread has another configuration.

    Parameters
    ----------
    dense_bytes, cache_bytes : float, optional
        As in `set_config`.

    Examples
    --------
    >>> import kernelweave
    >>> with kernelweave.config_context(dense_bytes=1e8):
    ...     kernelweave.get_config()["dense_bytes"]
    100000000.0
    >>> kernelweave.get_config()["dense_bytes"]
    2000000000.0
    """
    before = getattr(_own, "values", None)
    _own.values = get_config()
    try:
        set_config(dense_bytes=dense_bytes, cache_bytes=cache_bytes)
        yield
    finally:
        _own.values = before


def _values() -> dict[str, float]:
    values: dict[str, float] | None = getattr(_own, "values", None)
    return _shared if values is None else values
