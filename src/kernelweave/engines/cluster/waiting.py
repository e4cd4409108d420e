"""Waiting for results of a cluster, in bounded time.

Dask computes again what a lost worker held, as long as some worker is left; it waits for ever where none is. Here the
wait ends with one error where no worker has been there for a while, where the scheduler is gone, or where a task has
ended the worker that ran it too often. Ctrl-C, and any error, cancels what was waited for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from ..._extras import optional

WITHOUT_WORKERS = "30s"  # how long a cluster may be without workers; setting kernelweave.without-workers of Dask
POLL = 0.5  # seconds between looks at the workers
CONNECT = "10s"  # that connecting to a scheduler may take


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


def as_finished(client: Any, futures: list[Any], what: str) -> Iterator[tuple[int, Any]]:
    """Positions and small results of futures as they are finished; the error of the first that fails.

    All are released in the end.

    Parameters
    ----------
    client : distributed.Client
    futures : list of Future
    what : str
        The step, for messages.
    """
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
    """A client of the scheduler at an address; an `OSError` where there is none.

    Parameters
    ----------
    address : str
        Such as "tcp://127.0.0.1:8786".
    """
    try:
        client = distributed().Client(address, timeout=CONNECT)
    except (OSError, ValueError, TypeError) as error:
        raise OSError(f"there is no Dask scheduler at {address}: {error}") from error
    with client:
        yield client


def results_of(client: Any, futures: list[Any], what: str) -> list[Any]:
    """The small results of some futures, or one error; they are released.

    Parameters
    ----------
    client : distributed.Client
    futures : list of Future
    what : str
        The step, for messages.
    """
    try:
        wait_for(client, futures)
        return fetched(client, futures)
    except BaseException as error:
        cancel(client, futures)
        clear = lost(error, what)
        if clear is None:
            raise
        raise clear from error
    finally:
        for future in futures:
            future.release()


def fetched(client: Any, futures: list[Any]) -> list[Any]:
    """The small results of futures that are done, all fetched together.

    Dask computes again those whose worker is lost by now.
    """
    watch = Watch(client)
    while True:
        try:
            # A short limit would cut transfers short, which Dask does not take well.
            return list(client.sync(partial(client.gather, futures, asynchronous=True), callback_timeout=watch.limit))
        except TimeoutError:
            if any(future.status == "error" for future in futures):  # the task's own TimeoutError
                raise
            watch.look()


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
