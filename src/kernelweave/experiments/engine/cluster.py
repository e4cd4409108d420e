"""Folds of experiments on the workers of a Dask cluster.

A fold is a task. Its worker loads the data, once for all folds that it gets, and checks that they are those of this
process; Gram matrices are computed there and never sent. Records, which are small, come back and are stored here as
those of a run in this process are, so that either kind of run goes on where the other stopped. Records are the same but
for seconds: each fold has its own seeds, and BLAS one thread. A fold whose worker is lost is run again on another one.
"""

from __future__ import annotations

import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

from ...engines.dask import Given, as_finished, connected
from .troubles import warnings_by_thread

__all__ = ["CellsOfFold", "FoldSource", "FoldsOnCluster", "Loaded", "connected", "run_fold"]

Records = list[dict[str, Any]]
Measure = Callable[[str], Records]


class FoldSource(ABC):
    """What a worker needs to run folds; sent to it.

    Attributes
    ----------
    data : str
        What the data are called in messages.
    is_tolerant : bool
        Whether warnings are counted, see `troubles`.
    """

    data: str
    is_tolerant: bool = False

    @abstractmethod
    def load(self) -> Any:
        """The data and their folds, read where this is called."""

    @abstractmethod
    def digest(self, loaded: Any) -> Any:
        """What is the same where data and folds are the same."""

    @abstractmethod
    def prepare(self, loaded: Any, fold: int) -> Measure:
        """A function that measures a method on a fold."""


class FoldsOnCluster:
    """Folds of one source as tasks.

    Parameters
    ----------
    client : distributed.Client
    source : FoldSource
    digest
        `FoldSource.digest` of the data in this process.
    """

    def __init__(self, client: Any, source: FoldSource, digest: Any):
        self.client, self.source, self.digest = client, source, digest

    def measured(
        self, missing: Mapping[int, Sequence[str]], until: float | None
    ) -> Iterator[tuple[int, dict[str, Records]]]:
        """Folds with the records of their methods, as they are finished.

        Parameters
        ----------
        missing : mapping from fold to methods
        until : float or None
            When no further cell begins, by `time.monotonic`.
        """
        deadline = None if until is None else time.time() + until - time.monotonic()
        token = uuid.uuid4().hex
        given, keys = f"arguments-{token}", {(f"fold-{token}", fold): fold for fold in missing}
        graph: dict[Any, Any] = {given: (Given(Loaded(self.source, self.digest)),)}
        for key, fold in keys.items():
            graph[key] = (run_fold, given, CellsOfFold(fold, list(missing[fold]), deadline))
        futures = self.client.get(graph, list(keys), sync=False)
        for place, records in as_finished(self.client, futures, "fold"):
            yield list(missing)[place], records


class CellsOfFold:
    """The cells of a fold."""

    def __init__(self, fold: int, methods: list[str], deadline: float | None):
        self.fold, self.methods, self.deadline = fold, methods, deadline


_data: dict[str, Any] = {}  # of this process: what it has loaded last, by name and digest
_loading = threading.Lock()


class Loaded:
    """A source, loaded once by each process."""

    def __init__(self, source: FoldSource, digest: Any):
        self.source, self.expected, self.run = source, digest, f"{source.data} {digest}"

    def data(self) -> Any:
        """The data of the source; an error where they are not those that were expected."""
        with _loading:
            if self.run not in _data:
                _data.clear()  # of another run
                loaded = self.source.load()
                if self.source.digest(loaded) != self.expected:
                    raise ValueError(
                        f"a worker of the Dask cluster reads other data of {self.source.data} than this process; give "
                        "all of them the same files at the same path, and the same version of kernelweave"
                    )
                _data[self.run] = loaded
            return _data[self.run]


def run_fold(given: Loaded, cells: CellsOfFold) -> dict[str, Records]:
    """The records of the methods of a fold."""
    records: dict[str, Records] = {}
    with threadpool_limits(1), _hearing() if given.source.is_tolerant else nullcontext():
        measure = None
        for method in cells.methods:
            if cells.deadline is not None and time.time() >= cells.deadline:
                break
            measure = measure or given.source.prepare(given.data(), cells.fold)
            records[method] = measure(method)
    return records


_hearers: list[Any] = []
_counting = threading.Lock()


@contextmanager
def _hearing() -> Iterator[None]:
    """`warnings_by_thread` while any thread of this process runs a fold: it is of the whole process."""
    with _counting:
        if not _hearers:
            context = warnings_by_thread()
            context.__enter__()
            _hearers.append(context)
        _hearers.append(None)
    try:
        yield
    finally:
        with _counting:
            _hearers.pop()
            if len(_hearers) == 1:
                _hearers.pop().__exit__(None, None, None)
