"""`OnDask`: blocks on the workers of a Dask cluster.

A future holds a *batch*: the units of one thread of a worker, each of them a list of blocks. A sum is one task per
batch, which runs where the batch is. At most `FAN_IN` sums are fetched and added here; where there are more, tasks add
them up first. Parameters travel in the other direction. Each result depends on the one that it was made of, down to the
chunks of the user's collection: Dask computes again what a lost worker held.

Dask chooses the worker of a task by the sizes of what it depends on, and underestimates blocks: unless the worker is
given, a task may run where its arguments are, and the batch would be sent there.

Dask waits for ever where no worker is left. Here the wait ends with one error if there has been no worker for a while,
if the scheduler is gone, or if a task has ended the worker that ran it too often. Ctrl-C, and any error,
cancels what was waited for.
"""

from __future__ import annotations

import functools
import inspect
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from weakref import WeakSet

import numpy as np

from .._extras import optional
from ..kernels.resources import one_thread_each
from .base import Engine, added

WITHOUT_WORKERS = "30s"  # how long a cluster may be without workers; Dask's setting kernelweave.without-workers
POLL = 0.5  # seconds between checks of the workers
CONNECT = "10s"  # how long connecting to a scheduler may take


def distributed() -> Any:
    return optional("distributed", "to compute on a Dask cluster", "dask")


def dask_package() -> Any:
    return optional("dask", "for Dask arrays and data frames", "dask")


def patience() -> float:
    dask = dask_package()
    return float(dask.utils.parse_timedelta(dask.config.get("kernelweave.without-workers", WITHOUT_WORKERS)))


class WorkersLostError(RuntimeError):
    """The cluster cannot go on: it has no workers, no scheduler, or loses every worker that runs a task."""


def n_workers(client: Any) -> int:
    return len(client.nthreads()) if client.status == "running" else 0


class Watch:
    """Raises an error if the cluster has been without workers for too long."""

    def __init__(self, client: Any):
        self.client, self.limit = client, patience()
        self.last_seen = time.monotonic()

    def look(self) -> None:
        if n_workers(self.client):
            self.last_seen = time.monotonic()
        elif time.monotonic() - self.last_seen > self.limit:
            raise WorkersLostError(
                f"the Dask cluster has had no workers for {self.limit:g} s; start workers, or raise Dask's setting "
                "kernelweave.without-workers where they take longer to come back"
            )


def wait_for(client: Any, futures: list[Any]) -> None:
    watch = Watch(client)
    waiting = list(futures)
    try:
        while waiting:
            try:
                distributed().wait(waiting, timeout=POLL, return_when="FIRST_COMPLETED")
            except TimeoutError:
                watch.look()
            if any(future.status in ("error", "cancelled") for future in waiting):
                return
            waiting = [future for future in waiting if not future.done()]
    except BaseException:
        cancel(client, futures)
        raise


def as_finished(client: Any, futures: list[Any], what: str) -> Iterator[tuple[int, Any]]:
    """Positions and small results of futures as they are finished; the error of the first that fails."""
    watch, waiting = Watch(client), dict(enumerate(futures))
    try:
        while waiting:
            with suppress(TimeoutError):
                distributed().wait(list(waiting.values()), timeout=POLL, return_when="FIRST_COMPLETED")
            watch.look()
            for place in [place for place, future in waiting.items() if future.done()]:
                future = waiting.pop(place)
                if future.status != "finished":
                    error = future.exception()
                    raise lost(error, what) or error
                yield place, fetched(client, [future])[0]
                future.release()
    finally:
        cancel(client, [future for future in waiting.values() if not future.done()])
        for future in futures:
            future.release()


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address such as "tcp://127.0.0.1:8786"; an `OSError` where there is none."""
    try:
        client = distributed().Client(address, timeout=CONNECT)
    except (OSError, ValueError, TypeError) as error:
        raise OSError(f"there is no Dask scheduler at {address}: {error}") from error
    with client:
        yield client


def results_of(client: Any, futures: list[Any], what: str) -> list[Any]:
    """The small results of some futures, or one error, after which they are released."""
    try:
        wait_for(client, futures)
        return fetched(client, futures)
    except BaseException as error:
        cancel(client, futures)
        release(futures)
        clear = lost(error, what)
        if clear is None:
            raise
        raise clear from error


def release(futures: list[Any]) -> None:
    for future in futures:
        future.release()


def fetched(client: Any, futures: list[Any]) -> list[Any]:
    """The small results of futures that are done, fetched together; Dask computes those of lost workers again."""
    watch = Watch(client)
    while True:
        try:
            # A short limit would cut transfers off, which Dask does not handle well.
            return list(client.sync(partial(client.gather, futures, asynchronous=True), callback_timeout=watch.limit))
        except TimeoutError:
            if any(future.status == "error" for future in futures):  # the task's own TimeoutError
                raise
            watch.look()


def lost(error: BaseException, what: str) -> WorkersLostError | None:
    package = distributed()
    if isinstance(error, package.KilledWorker):
        return WorkersLostError(
            f"each worker that ran the step {what!r} was lost, one after the other, most often for want of memory; use "
            f'smaller chunks, more memory for each worker, or storage="lazy" ({error})'
        )
    if isinstance(error, package.CancelledError):
        return WorkersLostError(
            f"the step {what!r} was cancelled: the Dask scheduler is gone, was restarted, or its client was closed "
            f"({error})"
        )
    return None


def cancel(client: Any, futures: list[Any]) -> None:
    if client.status == "running":
        client.cancel(futures, force=True)


def places_of(client: Any, X: Any, n_chunks: int) -> list[Any]:
    """A worker for each chunk: adjacent chunks together, as many as a worker has threads for.

    Chunks that are on workers already stay there. Workers are preferences only: where one is lost, another takes over.
    None where there is no worker yet.
    """
    threads = client.nthreads()
    if not threads or distributed().futures_of(X):  # chunks that are futures are read where they are
        return [None] * n_chunks
    workers = sorted(threads)
    ends = np.cumsum([threads[worker] for worker in workers])
    middles = (np.arange(n_chunks) + 0.5) * ends[-1] / n_chunks
    return [workers[place] for place in np.searchsorted(ends, middles, side="right")]


def shares(sizes: Sequence[int], places: Sequence[str | None], threads: dict[str, int]) -> list[tuple[str, list[int]]]:
    """The units of each thread: those on its worker first, in order, so that all threads have about as many samples.

    Of each unit `sizes` has the number of samples and `places` the worker that has it; `threads` is by worker. Returns
    worker and units of each thread that gets any, in the order of the first units.
    """
    workers = [worker for worker in sorted(threads) for _ in range(threads[worker])]
    room = np.full(len(workers), sum(sizes) / len(workers))
    taken: list[list[int]] = [[] for _ in workers]

    def take(unit: int, thread: int) -> None:
        taken[thread].append(unit)
        room[thread] -= sizes[unit]

    others = []
    for unit, (size, place) in enumerate(zip(sizes, places, strict=True)):
        own = [k for k, worker in enumerate(workers) if worker == place and room[k] >= 0.5 * size]
        if own:
            take(unit, own[0])
        else:
            others.append(unit)
    for unit in others:
        take(unit, max(range(len(workers)), key=lambda k: (room[k], workers[k] == places[unit], -k)))
    found = [(worker, sorted(units)) for worker, units in zip(workers, taken, strict=True) if units]
    return sorted(found, key=lambda share: share[1][0])


class Places:
    """Where tasks are to run, as Dask's annotation ``workers``: the address of a worker by key; others run anywhere."""

    def __init__(self, workers: dict[Any, str | None]):
        self.workers = workers

    def __call__(self, key: Any) -> list[str]:
        worker = self.workers.get(key)
        return [] if worker is None else [worker]


def begun_at(client: Any, graph: dict[Any, Any], keys: list[Any], places: dict[Any, str | None]) -> list[Any]:
    """Futures of the tasks of a graph, each begun on its worker, or on another one where that worker is lost."""
    with dask_package().annotate(workers=Places(places), allow_other_workers=True):
        return list(client.get(graph, keys, sync=False))


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
    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]):
        self.function, self.arguments = function, arguments

    def __call__(self, block: Any) -> Any:
        return self.function(block, *self.arguments)

    def __dask_tokenize__(self) -> str:
        """A unique name: Dask would read all arguments to find one, which takes longer than sending them."""
        return uuid.uuid4().hex


class Given:
    """A task whose result is an object, such as a step: workers that need it fetch it once."""

    def __init__(self, value: Any):
        self.value = value

    def __call__(self) -> Any:
        return self.value

    def __dask_tokenize__(self) -> str:
        return uuid.uuid4().hex


class OnDask(Engine):
    """Batches of units, each a list of blocks, on Dask's workers; `close` releases all engines in `fit`."""

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
        self.last: list[Any] = []  # the futures of the last sum, which are let go when the next has begun
        self.fit: WeakSet[OnDask] = WeakSet() if fit is None else fit
        self.fit.add(self)

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """One task per batch; few sums are added here, many by further tasks before that.

        A client sends messages at once, but the next one 10 ms later at the earliest. Were the futures of a sum let go
        when it is known, the next sum would wait for the message that says so.
        """
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
        before, self.last = self.last, begun_at(self.client, graph, keys, places)
        release(before)
        return in_pairs(results_of(self.client, self.last, name))

    def replace(self, function: Callable[..., Any], *arguments: Any, keep: bool = True) -> OnDask:
        """One task per batch, not waited for, whose result stays on its worker; arguments are sent once."""
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
        workers = self.client.scheduler_info(**_of_all_workers(self.client))["workers"].values()
        if not workers or not all(worker["memory_limit"] for worker in workers):
            return None
        return float(sum(worker["memory_limit"] - worker["metrics"].get("memory", 0) for worker in workers))

    def close(self) -> None:
        engines = list(self.fit)
        futures = [future for engine in engines for future in (*engine.batches, *engine.steps, *engine.last)]
        cancel(self.client, [future for future in futures if future.status == "pending"])
        for engine in engines:
            engine.batches, engine.places, engine.steps, engine.last = [], [], [], []
        release(futures)


def _of_all_workers(client: Any) -> dict[str, int]:
    return {"n_workers": -1} if "n_workers" in inspect.signature(client.scheduler_info).parameters else {}


def every(batch: list[list[Any]], *steps: Step) -> list[list[Any]]:
    with one_thread_each():  # the worker has threads of its own
        return [[_after(block, steps) for block in unit] for unit in batch]


def total(batch: list[list[Any]], *steps: Step) -> Any:
    with one_thread_each():
        return in_pairs([added(_after(block, steps) for block in unit) for unit in batch])


def _after(block: Any, steps: Sequence[Step]) -> Any:
    for step in steps:
        block = step(block)
    return block


def in_pairs(results: list[Any]) -> Any:
    while len(results) > 1:
        results = [added(results[first : first + 2]) for first in range(0, len(results), 2)]
    return results[0]


def step_name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__).strip("_")
    return STEPS.get(name, name)
