"""Which worker gets which chunks, which units make a batch, and tasks that run where their batch is.

Dask places a task by the sizes of what it depends on, and takes blocks for small: without a place of its own, a task
may run on the worker that holds its arguments, and the batch would be sent there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .collections import dask


def places_of(client: Any, X: Any, n_chunks: int) -> list[Any]:
    """A worker for each chunk: adjacent chunks together, as many as a worker has threads for.

    Chunks that are on workers already stay there. Workers are preferences only: where one is lost, another takes over.
    None where there is no worker yet.

    Parameters
    ----------
    client : distributed.Client
    X : Dask array or data frame
    n_chunks : int
    """
    threads = client.nthreads()
    if not threads:
        return [None] * n_chunks
    if _is_persisted(X):
        return [None] * n_chunks  # each is read where it is
    workers = sorted(threads)
    ends = np.cumsum([threads[worker] for worker in workers])
    middles = (np.arange(n_chunks) + 0.5) * ends[-1] / n_chunks
    return [workers[place] for place in np.searchsorted(ends, middles, side="right")]


def _is_persisted(X: Any) -> bool:
    """Whether the chunks of a collection are futures."""
    from .waiting import distributed

    return len(distributed().futures_of(X)) > 0


def shares(sizes: Sequence[int], places: Sequence[str | None], threads: dict[str, int]) -> list[tuple[str, list[int]]]:
    """The units of each thread: those that are on its worker, in order, as long as all threads have as many samples.

    Parameters
    ----------
    sizes : sequence of int
        Samples of each unit.
    places : sequence of str or None
        The worker that has it.
    threads : dict
        Threads of each worker.

    Returns
    -------
    list of (str, list of int)
        Worker and units, for each thread that gets any, in the order of the first units.

    Examples
    --------
    >>> from kernelweave.engines.cluster.placing import shares
    >>> shares([5, 5, 5, 5], ["b", "a", "b", "b"], {"a": 1, "b": 1})
    [('b', [0, 2]), ('a', [1, 3])]
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
    """Where tasks are to run, as Dask's annotation ``workers``: a function of their keys.

    Parameters
    ----------
    workers : dict
        From the key of a task to the address of a worker; other tasks run anywhere.
    """

    def __init__(self, workers: dict[Any, str | None]):
        self.workers = workers

    def __call__(self, key: Any) -> list[str]:
        """The workers that may run a task; none for all."""
        worker = self.workers.get(key)
        return [] if worker is None else [worker]


def begun_at(client: Any, graph: dict[Any, Any], keys: list[Any], places: dict[Any, str | None]) -> list[Any]:
    """Futures of the tasks of a graph, each begun on its worker, or on another one where that worker is lost.

    Parameters
    ----------
    client : distributed.Client
    graph : dict
    keys : list
        Of the tasks whose results are wanted.
    places : dict
        From keys to workers.
    """
    with dask().annotate(workers=Places(places), allow_other_workers=True):
        return list(client.get(graph, keys, sync=False))
