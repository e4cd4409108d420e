"""`InMemory`: blocks in memory, worked on in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from ..kernels.threads import in_blas_threads
from .base import Engine, added


class InMemory(Engine):
    """Blocks in memory.

    Parameters
    ----------
    blocks : sequence
    """

    def __init__(self, blocks: Sequence[Any]):
        self.blocks = list(blocks)

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Threads take block after block; results are added in the order of the blocks, as soon as that is possible."""
        total: Any = None
        waiting: dict[int, Any] = {}  # results of blocks after one that is not finished
        n_added, adding = 0, Lock()

        def work(place: int) -> None:
            nonlocal total, n_added
            found = function(self.blocks[place], *arguments)
            with adding:
                waiting[place] = found
                while n_added in waiting:
                    total = added([total, waiting.pop(n_added)])
                    n_added += 1

        in_blas_threads(work, range(len(self.blocks)))
        return total

    def replace(self, function: Callable[..., Any], *arguments: Any, keep: bool = True) -> InMemory:
        """All blocks are held."""
        return InMemory(in_blas_threads(lambda block: function(block, *arguments), self.blocks))
