"""Folds of comparisons on the workers of a Dask cluster, or cell by cell in processes of this machine.

Workers load the data themselves, once for all folds that they get, and check that they are those of this process; Gram
matrices are computed there and never sent. Records, which are small, are stored by the process that began the run, as
those of a run in its threads are, so that either kind of run resumes the other. Records are the same but for seconds:
each fold has its own seeds, and BLAS one thread.

On a cluster a fold is a task; where its worker is lost it is run again on another one. In processes a task is one cell,
one at a time in each, so that its memory can be measured: threads share one memory.
"""

from __future__ import annotations

import threading
import time
import uuid
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from ..engines.dask import Given, as_finished

Records = list[dict[str, Any]]  # of a cell: one for each setting
Measure = Callable[[str], Records]

# Warnings about code, not data: users who compare methods can do nothing about them.
_ABOUT_CODE = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)
_thread = threading.local()


@contextmanager
def warnings_by_thread() -> Iterator[None]:
    """While this lasts, warnings go to the list that `heard` made for their thread; Python has one for all."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for category in _ABOUT_CODE:
            warnings.simplefilter("ignore", category)
        before = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **options: Any) -> None:
            texts = getattr(_thread, "texts", None)
            if texts is None:
                before(message, category, *place, **options)
            else:
                texts.append(f"{category.__name__}: {message}")

        warnings.showwarning = show
        yield


@contextmanager
def heard() -> Iterator[list[str]]:
    """The warnings of this thread, inside `warnings_by_thread`."""
    _thread.texts = []
    try:
        yield _thread.texts
    finally:
        _thread.texts = None


class FoldSource(ABC):
    """What a worker needs to run folds; `data` is what messages call it, and `is_tolerant` has warnings counted."""

    data: str
    is_tolerant: bool = False

    @abstractmethod
    def load(self) -> Any:
        """The data and their folds, read where this is called."""

    @abstractmethod
    def digest(self, loaded: Any) -> Any:
        """A value that is equal where data and folds are equal."""

    @abstractmethod
    def prepare(self, loaded: Any, fold: int) -> Measure:
        """A function that measures a method on a fold."""


class FoldsOnCluster:
    """Folds of one source as tasks of a client; `digest` is that of the data in this process."""

    def __init__(self, client: Any, source: FoldSource, digest: Any):
        self.client, self.given = client, _Loaded(source, digest)

    def measured(
        self, missing: Mapping[int, Sequence[str]], until: float | None
    ) -> Iterator[tuple[int, dict[str, Records]]]:
        """Folds with the records of their methods, as they are finished; none begins after `until` (monotonic)."""
        token = uuid.uuid4().hex
        given, keys = f"arguments-{token}", {fold: (f"fold-{token}", fold) for fold in missing}
        graph: dict[Any, Any] = {given: (Given(self.given),)}
        for fold, methods in missing.items():
            graph[keys[fold]] = (partial(_run_fold, fold=fold, methods=list(methods), until=_deadline(until)), given)
        futures = self.client.get(graph, list(keys.values()), sync=False)
        for place, records in as_finished(self.client, futures, "fold"):
            yield list(missing)[place], records


class FoldsInProcesses:
    """Cells of one source in `n_jobs` worker processes, which are kept from one data set to the next."""

    def __init__(self, source: FoldSource, digest: Any, *, n_jobs: int | None = None):
        self.given, self.n_jobs = _Loaded(source, digest), n_jobs

    def measured(
        self, missing: Mapping[int, Sequence[str]], until: float | None
    ) -> Iterator[tuple[int, dict[str, Records]]]:
        cells = [(fold, method) for fold, methods in missing.items() for method in methods]
        workers = Parallel(self.n_jobs or 1, backend="loky", batch_size=1, return_as="generator_unordered")
        yield from workers(delayed(_cell)(self.given, fold, method, _deadline(until)) for fold, method in cells)


def _deadline(until: float | None) -> float | None:
    """A time of this process's monotonic clock by the clock that all processes share."""
    return None if until is None else time.time() + until - time.monotonic()


_data: dict[str, Any] = {}  # of this process: what it has loaded last, by name and digest
_loading = threading.Lock()


class _Loaded:
    def __init__(self, source: FoldSource, digest: Any):
        self.source, self.expected, self.run = source, digest, f"{source.data} {digest}"

    def data(self) -> Any:
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


def _run_fold(given: _Loaded, *, fold: int, methods: list[str], until: float | None) -> dict[str, Records]:
    records: dict[str, Records] = {}
    with threadpool_limits(1), _counting_warnings() if given.source.is_tolerant else nullcontext():
        measure = None
        for method in methods:
            if until is not None and time.time() >= until:
                break
            measure = measure or given.source.prepare(given.data(), fold)
            records[method] = measure(method)
    return records


def _cell(given: _Loaded, fold: int, method: str, until: float | None) -> tuple[int, dict[str, Records]]:
    return fold, _run_fold(given, fold=fold, methods=[method], until=until)


_open: list[Any] = []  # the context of `warnings_by_thread`, and None for each thread that runs a fold
_opening = threading.Lock()


@contextmanager
def _counting_warnings() -> Iterator[None]:
    """`warnings_by_thread` while any thread of this process runs a fold: warnings are handled per process."""
    with _opening:
        if not _open:
            context = warnings_by_thread()
            context.__enter__()
            _open.append(context)
        _open.append(None)
    try:
        yield
    finally:
        with _opening:
            _open.pop()
            if len(_open) == 1:
                _open.pop().__exit__(None, None, None)
