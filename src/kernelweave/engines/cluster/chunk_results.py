"""Results of chunks, with errors that name the chunk that cannot be read."""

from __future__ import annotations

import sys
from typing import Any

from ..._extras import optional
from .waiting import distributed, fetched, lost, wait_for


class ChunkError(ValueError):
    """A chunk that is not like the others; the message names it."""


def active_client() -> Any:
    """The client that Dask would use now; None where there is none."""
    if "distributed" not in sys.modules:
        return None
    try:
        return distributed().get_client()
    except ValueError:
        return None


def small_results(parts: list[Any]) -> list[Any]:
    """Small results of lazy values, one for each chunk of X, wherever Dask computes now.

    Parameters
    ----------
    parts : list of Delayed
    """
    client = active_client()
    return computed_here(parts) if client is None else gathered(client, client.compute(parts))


def computed_here(parts: list[Any]) -> list[Any]:
    """The values of lazy values, one for each chunk of X, by Dask's own threads."""
    try:
        return list(optional("dask", "for Dask arrays and data frames", "dask").compute(*parts))
    except ChunkError:
        raise
    except Exception:
        # The error of Dask does not name it: one after the other is tried.
        for number, part in enumerate(parts):
            try:
                part.compute()
            except Exception as error:
                raise unreadable(number, error) from error
        raise


def gathered(client: Any, futures: list[Any]) -> list[Any]:
    """The small results of futures, one for each chunk of X; the futures are released."""
    try:
        wait_for(client, futures)
        for number, future in enumerate(futures):
            if future.status in ("error", "cancelled"):
                error = future.exception()
                raise unreadable(number, error) from error
        return fetched(client, futures)
    finally:
        for future in futures:
            future.release()


def unreadable(number: int, error: BaseException) -> Exception:
    """What is raised for a chunk that cannot be computed."""
    if isinstance(error, ChunkError):
        return error
    kind = ValueError if isinstance(error, ValueError) else RuntimeError
    message = f"chunk {number} of X, or of what goes with it, cannot be read: {type(error).__name__}: {error}"
    return lost(error, f"read, chunk {number} of X") or kind(message)
