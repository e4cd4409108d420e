"""`OnDask`: blocks on the workers of a Dask cluster.

A future holds a *batch*: some adjacent units, each of them a list of blocks. A sum is one task per batch and a tree of
sums on the workers; only the total travels, and parameters in the other direction. Units are added in pairs, then pairs
of pairs, and a batch has a power of 2 of them, so that the order of additions does not depend on how many workers there
are.

Each result depends on the one that it was made of, down to the chunks of the user's collection: Dask computes again
what a lost worker held.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from ...kernels.threads import one_thread_each
from ..base import Engine, added
from .waiting import cancel, result_of

FAN_IN = 8  # sums that one task adds up
BATCHES_PER_THREAD = 2  # at least; fewer than twice as many
# Steps as the dashboard shows them, where the function has another name.
STEPS = {"sweep": "pass", "Preparation": "features", "reservoir_of": "reservoir", "scored": "scores", "slopes": "biases"}

Steps = tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...]


class OnDask(Engine):
    """Blocks on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    batches : sequence of Future
        Each of a list of units, and each of these a list of blocks.
    steps : tuple of (function, arguments)
        What is done to each block whenever it is used.
    held : list of OnDask, optional
        All engines of a fit, whose futures `close` releases.
    """

    def __init__(self, client: Any, batches: Sequence[Any], *, steps: Steps = (), held: list[OnDask] | None = None):
        self.client, self.batches, self.steps = client, list(batches), steps
        self.held = [] if held is None else held
        self.held.append(self)

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """One task per batch, a tree of sums, and the total."""
        name, token = step_name(function), uuid.uuid4().hex
        work = Total((*self.steps, (function, arguments)))
        keys: list[Any] = [(f"{name}-{token}", place) for place in range(len(self.batches))]
        graph: dict[Any, Any] = {key: (work, batch) for key, batch in zip(keys, self.batches, strict=True)}
        level = 0
        while len(keys) > 1:
            level += 1
            parts = [keys[first : first + FAN_IN] for first in range(0, len(keys), FAN_IN)]
            keys = [(f"sum-{token}", level, place) for place in range(len(parts))]
            graph.update({key: (in_pairs, part) for key, part in zip(keys, parts, strict=True)})
        total = self.client.get(graph, keys[0], sync=False)
        try:
            return result_of(self.client, total, name)
        finally:
            total.release()

    def replace(self, function: Callable[..., Any], *arguments: Any, keep: bool = True) -> OnDask:
        """One task per batch, whose result stays on its worker; begun, and not waited for."""
        steps = (*self.steps, (function, arguments))
        if not keep:
            return OnDask(self.client, self.batches, steps=steps, held=self.held)
        name = f"{step_name(function)}-{uuid.uuid4().hex}"
        work = Every(steps)
        graph = {(name, place): (work, batch) for place, batch in enumerate(self.batches)}
        return OnDask(self.client, self.client.get(graph, list(graph), sync=False), held=self.held)

    def close(self) -> None:
        """Cancel what is still being computed, and let the workers forget all blocks of this fit."""
        futures = [batch for engine in self.held for batch in engine.batches]
        cancel(self.client, [future for future in futures if future.status == "pending"])
        for engine in self.held:
            engine.batches = []
        for future in futures:
            future.release()
        self.held.clear()


class Every:
    """Each block of a batch, after some steps.

    Parameters
    ----------
    steps : tuple of (function, arguments)
    """

    def __init__(self, steps: Steps):
        self.steps = steps

    def __call__(self, batch: list[list[Any]]) -> list[list[Any]]:
        with one_thread_each():  # the worker has threads of its own
            return [[self.block(block) for block in unit] for unit in batch]

    def block(self, block: Any) -> Any:
        """One block after all steps."""
        for function, arguments in self.steps:
            block = function(block, *arguments)
        return block


class Total(Every):
    """The sum over the blocks of a batch, after some steps."""

    def __call__(self, batch: list[list[Any]]) -> Any:
        with one_thread_each():
            return in_pairs([added(self.block(block) for block in unit) for unit in batch])


def in_pairs(results: list[Any]) -> Any:
    """The sum of results: of neighbours, then of neighbouring sums, and so on."""
    while len(results) > 1:
        results = [added(results[first : first + 2]) for first in range(0, len(results), 2)]
    return results[0]


def step_name(function: Any) -> str:
    """What the dashboard calls a step."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__).strip("_")
    return STEPS.get(name, name)
