"""`FromFiles`: blocks that are read again in every pass over the samples; results that fit into memory are held.

A thread reads the next blocks while the present ones are worked on. What `replace` makes is held while it takes at most
`HELD_SHARE` of the memory that is free; blocks beyond that are read and made again whenever they are used. So memory is
bounded, and the results of a pass are the same either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ..kernels.resources import available_memory, blas_threads, in_blas_threads
from .base import Engine, added
from .memory import InMemory

HELD_SHARE = 0.6  # share of the free memory that held results may take


class StoredBlocks(Protocol):
    """Where blocks come from: reading one twice gives the same. It can be pickled."""

    n_blocks: int

    def block(self, number: int) -> Any:
        """A block by its number, from 0."""


class FromFiles(Engine):
    def __init__(
        self,
        source: StoredBlocks,
        steps: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (),
        held: dict[int, tuple[int, Any]] | None = None,
        watch: Callable[[], AbstractContextManager[Callable[[int, int], None]]] | None = None,
    ):
        self.source, self.steps, self.held, self.watch = source, steps, held or {}, watch

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return added(self.results(function, *arguments))

    def replace(self, function: Callable[..., Any], *arguments: Any, keep: bool = True) -> Engine:
        """Results are held while they fit, or made again from the files in each pass (``keep=False``)."""
        steps = (*self.steps, (function, arguments))
        if not keep:
            return FromFiles(self.source, steps, self.held, self.watch)
        free = available_memory()
        left = np.inf if free is None else HELD_SHARE * free
        held: dict[int, tuple[int, Any]] = {}
        for number, result in enumerate(self.results(function, *arguments)):
            left -= bytes_of(result)
            if left < 0:
                break
            held[number] = len(steps), result
        if len(held) == self.source.n_blocks:
            return InMemory([result for _, result in held.values()])
        return FromFiles(self.source, steps, {**self.held, **held}, self.watch)

    def results(self, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        steps = (*self.steps, (function, arguments))

        def work(entry: tuple[int, Any]) -> Any:
            done, block = entry
            for step, given in steps[done:]:
                block = step(block, *given)
            return block

        total, size = self.source.n_blocks, blas_threads()
        waves = [range(first, min(first + size, total)) for first in range(0, total, size)]
        pool = ThreadPoolExecutor(1)
        try:
            with nullcontext() if self.watch is None else self.watch() as moved:
                yield from self._worked(pool, waves, work, moved)
        finally:  # after an error, or Ctrl-C, nothing more is read
            pool.shutdown(cancel_futures=True)

    def _worked(self, pool: ThreadPoolExecutor, waves: list[range], work: Callable[[Any], Any], moved: Any) -> Iterator:
        ahead = pool.submit(self._read, waves[0])
        for place, wave in enumerate(waves):
            entries = ahead.result()
            if place + 1 < len(waves):
                ahead = pool.submit(self._read, waves[place + 1])
            found = in_blas_threads(work, entries)
            del entries
            if moved is not None:
                moved(wave.stop, self.source.n_blocks)
            while found:
                yield found.pop(0)

    def _read(self, numbers: range) -> list[tuple[int, Any]]:
        return [self.held[k] if k in self.held else (0, self.source.block(k)) for k in numbers]


def bytes_of(result: Any, seen: set[int] | None = None) -> int:
    """About how many bytes all arrays in an object take, each counted once."""
    seen = set() if seen is None else seen
    if result is None or isinstance(result, str | bytes | int | float | type | ModuleType) or id(result) in seen:
        return 0
    seen.add(id(result))
    if isinstance(result, np.ndarray):
        return result.nbytes
    if isinstance(result, pd.DataFrame | pd.Series):
        return int(result.memory_usage(index=True, deep=False).sum() if result.ndim == 2 else result.memory_usage())
    if isinstance(result, dict):
        return sum(bytes_of(entry, seen) for entry in result.values())
    if isinstance(result, list | tuple | set):
        return sum(bytes_of(entry, seen) for entry in result)
    return sum(bytes_of(entry, seen) for entry in getattr(result, "__dict__", {}).values())
