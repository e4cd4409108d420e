"""`InMemory`: blocks in memory, worked on in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        """Threads take block after block."""
        return added(in_blas_threads(lambda block: function(block, *arguments), self.blocks))

    def replace(self, function: Callable[..., Any], *arguments: Any, keep: bool = True) -> InMemory:
        """All blocks are held."""
        return InMemory(in_blas_threads(lambda block: function(block, *arguments), self.blocks))
