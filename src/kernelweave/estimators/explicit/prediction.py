"""`wherever_X_is`: methods that take new samples in whatever holds them.

A method that takes X is written for samples in memory. Where X is something else it is called for each block instead,
and what the blocks give is put together as that X would have it: lazily, or in files.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ...engines.cluster import is_dask
from ...views import TableInBlocks
from .on_dask import on_dask
from .stored import in_files


def wherever_X_is(method: Callable[..., Any]) -> Callable[..., Any]:  # noqa: N802
    """Let a method of an estimator take X in blocks, too.

    Parameters
    ----------
    method : callable
        ``method(estimator, X, ...)`` for X in memory.
    """

    @wraps(method)
    def found(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        by_blocks = _by_blocks(X)
        if by_blocks is None:
            return method(self, X, *arguments, **options)
        return by_blocks(self, method.__name__, X, *arguments, **options)

    return found


def in_files_too(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of an estimator take X in files, too.

    Parameters
    ----------
    method : callable
        ``method(estimator, X, ...)`` for X in memory.
    """

    @wraps(method)
    def found(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(X, TableInBlocks):
            return in_files(self, method.__name__, X, *arguments, **options)
        return method(self, X, *arguments, **options)

    return found


def _by_blocks(X: Any) -> Callable[..., Any] | None:
    """What calls a method for each block of X: ``function(estimator, name, X, ...)``; None for X in memory."""
    if isinstance(X, TableInBlocks):
        return in_files
    return on_dask if is_dask(X) else None
