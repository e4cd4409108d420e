"""`OnDask`: blocks on the workers of a Dask cluster.

A future holds a *batch*: the units of one thread of a worker, each of them a list of blocks. A sum is one task per
batch, which runs where the batch is. At most `FAN_IN` sums are fetched and added here; where there are more, tasks add
them up first. Parameters travel in the other direction. Results are added in order, within a batch and among batches,
so that a sum depends on how units are divided into batches, by rounding, and on nothing else.

Each result depends on the one that it was made of, down to the chunks of the user's collection: Dask computes again
what a lost worker held.
"""

from __future__ import annotations

import functools
import inspect
import uuid
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

from ...kernels.resources import one_thread_each
from ..base import Engine, added
from .placing import begun_at
from .waiting import cancel, results_of

FAN_IN = 8  # sums that are added up together
# Steps as the dashboard shows them, where the function has another name.
STEPS = {
    "sweep": "pass",
    "Preparation": "features",
    "reservoir_of": "reservoir",
    "scored": "scores",
    "slopes": "biases",
}


class Step:
    """A function of a block, with its other arguments.

    Parameters
    ----------
    function : callable
    arguments : tuple
    """

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]):
        self.function, self.arguments = function, arguments

    def __call__(self, block: Any) -> Any:
        """The function of one block."""
        return self.function(block, *self.arguments)

    def __dask_tokenize__(self) -> str:
        """A name of its own: Dask would read all arguments to find one, which takes longer than sending them."""
        return uuid.uuid4().hex


class Given:
    """A task whose result is an object, such as a step: workers that need it fetch it once."""

    def __init__(self, value: Any):
        self.value = value

    def __call__(self) -> Any:
        """The object."""
        return self.value

    def __dask_tokenize__(self) -> str:
        """A name of its own, as of a step."""
        return uuid.uuid4().hex


class OnDask(Engine):
    """Blocks on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    batches : sequence of Future
        Each of a list of units, and each of these a list of blocks.
    places : sequence of str or None
        The worker on which each batch is, or was at first.
    steps : sequence of Future, optional
        Of `Step`s: what is done to each block whenever it is used.
    fit : WeakSet of OnDask, optional
        All engines of a fit that are in use: `close` releases their futures. Futures of others are released already.
    """

    def __init__(
        self,
        client: Any,
        batches: Sequence[Any],
        places: Sequence[str | None],
        *,
        steps: Sequence[Any] = (),
        fit: WeakSet[OnDask] | None = None,
    ):
        self.client, self.batches, self.places, self.steps = client, list(batches), list(places), list(steps)
        self.fit: WeakSet[OnDask] = WeakSet() if fit is None else fit
        self.fit.add(self)

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """One task per batch; some sums are added up here, many by further tasks before."""
        name, token = step_name(function), uuid.uuid4().hex
        step = Step(function, arguments)
        keys: list[Any] = [(f"{name}-{token}", place) for place in range(len(self.batches))]
        graph: dict[Any, Any] = {
            key: (total, batch, *self.steps, step) for key, batch in zip(keys, self.batches, strict=True)
        }
        places = dict(zip(keys, self.places, strict=True))
        level = 0
        while len(keys) > FAN_IN:
            level += 1
            parts = [keys[first : first + FAN_IN] for first in range(0, len(keys), FAN_IN)]
            keys = [(f"sum-{token}", level, place) for place in range(len(parts))]
            graph.update({key: (in_pairs, part) for key, part in zip(keys, parts, strict=True)})
        return in_pairs(results_of(self.client, begun_at(self.client, graph, keys, places), name))

    def replace(self, function: Callable[..., Any], *arguments: Any, keep: bool = True) -> OnDask:
        """One task per batch, whose result stays on its worker; begun, and not waited for.

        The function and its arguments, which may be large, are sent to the cluster once.
        """
        name, token = step_name(function), uuid.uuid4().hex
        given = f"arguments-{token}"
        sent = {given: (Given(Step(function, arguments)),)}
        if not keep:
            step = self.client.get(sent, given, sync=False)
            return OnDask(self.client, self.batches, self.places, steps=[*self.steps, step], fit=self.fit)
        keys = [(f"{name}-{token}", place) for place in range(len(self.batches))]
        graph = {key: (every, batch, *self.steps, given) for key, batch in zip(keys, self.batches, strict=True)}
        begun = begun_at(self.client, sent | graph, keys, dict(zip(keys, self.places, strict=True)))
        return OnDask(self.client, begun, self.places, fit=self.fit)

    def free_memory(self) -> float | None:
        """Bytes that the workers may still use; None where they have no limits."""
        workers = self.client.scheduler_info(**_of_all_workers(self.client))["workers"].values()
        if not workers or not all(worker["memory_limit"] for worker in workers):
            return None
        return float(sum(worker["memory_limit"] - worker["metrics"].get("memory", 0) for worker in workers))

    def close(self) -> None:
        """Cancel what is still being computed, and let the workers forget all blocks of this fit."""
        engines = list(self.fit)
        futures = [future for engine in engines for future in (*engine.batches, *engine.steps)]
        cancel(self.client, [future for future in futures if future.status == "pending"])
        for engine in engines:
            engine.batches, engine.places, engine.steps = [], [], []
        for future in futures:
            future.release()


def _of_all_workers(client: Any) -> dict[str, int]:
    """Arguments of `Client.scheduler_info`, which leaves out all but five workers in later versions."""
    return {"n_workers": -1} if "n_workers" in inspect.signature(client.scheduler_info).parameters else {}


def every(batch: list[list[Any]], *steps: Step) -> list[list[Any]]:
    """Each block of a batch, after some steps."""
    with one_thread_each():  # the worker has threads of its own
        return [[_after(block, steps) for block in unit] for unit in batch]


def total(batch: list[list[Any]], *steps: Step) -> Any:
    """The sum over the blocks of a batch, after some steps."""
    with one_thread_each():
        return in_pairs([added(_after(block, steps) for block in unit) for unit in batch])


def _after(block: Any, steps: Sequence[Step]) -> Any:
    for step in steps:
        block = step(block)
    return block


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
