"""Waiting for results of a cluster, in bounded time.

Dask computes again what a lost worker held, as long as some worker is left; it waits for ever where none is. Here the
wait ends with one error where no worker has been there for a while, where the scheduler is gone, or where a task has
ended the worker that ran it too often. Ctrl-C, and any error, cancels what was waited for.
"""

from __future__ import annotations

import time
from typing import Any

from ..._extras import optional

WITHOUT_WORKERS = "30s"  # how long a cluster may be without workers; setting kernelweave.without-workers of Dask
POLL = 0.5  # seconds between looks at the workers


def distributed() -> Any:
    """The package `distributed`."""
    return optional("distributed", "to compute on a Dask cluster", "dask")


def patience() -> float:
    """For how many seconds a cluster may be without workers."""
    dask = optional("dask", "to compute on a Dask cluster", "dask")
    return float(dask.utils.parse_timedelta(dask.config.get("kernelweave.without-workers", WITHOUT_WORKERS)))


class WorkersLostError(RuntimeError):
    """The cluster cannot go on: it has no workers, no scheduler, or loses every worker that runs a task."""


def n_workers(client: Any) -> int:
    """How many workers the cluster has now; 0 where the scheduler cannot be reached."""
    return len(client.nthreads()) if client.status == "running" else 0


class Watch:
    """Raises where the cluster has been without workers for too long.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any):
        self.client, self.limit = client, patience()
        self.last_seen = time.monotonic()

    def look(self) -> None:
        """One look at the workers."""
        if n_workers(self.client):
            self.last_seen = time.monotonic()
        elif time.monotonic() - self.last_seen > self.limit:
            raise WorkersLostError(
                f"the Dask cluster has had no workers for {self.limit:g} s; start workers, or raise Dask's setting "
                "kernelweave.without-workers where they take longer to come back"
            )


def wait_for(client: Any, futures: list[Any]) -> None:
    """Return when all futures are done, or one of them has failed; cancel them where the wait is interrupted.

    Parameters
    ----------
    client : distributed.Client
    futures : list of Future
    """
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


def result_of(client: Any, future: Any, what: str) -> Any:
    """The result of one future, or one error.

    Parameters
    ----------
    client : distributed.Client
    future : Future
    what : str
        The step, for messages.
    """
    watch = Watch(client)
    try:
        while True:
            try:
                return future.result(timeout=POLL)
            except TimeoutError:
                if future.status == "error":  # the task's own TimeoutError
                    raise
                watch.look()
    except BaseException as error:
        cancel(client, [future])
        clear = lost(error, what)
        if clear is None:
            raise
        raise clear from error


def lost(error: BaseException, what: str) -> WorkersLostError | None:
    """What an error of Dask itself means; None for errors of tasks."""
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
    """Cancel futures, where there is still a scheduler."""
    if client.status == "running":
        client.cancel(futures, force=True)
