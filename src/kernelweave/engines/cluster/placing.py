"""Which worker gets which chunks, and how many units make a batch."""

from __future__ import annotations

from typing import Any

import numpy as np


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


def batch_width(n_units: int, n_batches: int) -> int:
    """Units of a batch: the largest power of 2 with at least `n_batches` batches.

    Examples
    --------
    >>> from kernelweave.engines.cluster.placing import batch_width
    >>> batch_width(33, 4), batch_width(3, 4)
    (8, 1)
    """
    return 2 ** max(0, int(np.floor(np.log2(max(1.0, n_units / max(1, n_batches))))))
