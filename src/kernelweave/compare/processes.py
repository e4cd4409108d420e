"""Cells of experiments in worker processes of this machine, one cell at a time in each.

Threads share one memory, so that nobody can tell how much a cell took; a process that does nothing else can be asked.
Workers load the data themselves, as those of a Dask cluster do, once for each data set, and are kept from one data set
to the next. Records come back as cells are finished, in any order, and are stored by the process that began the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from joblib import Parallel, delayed

from .cluster import CellsOfFold, FoldSource, Loaded, Records, run_fold


class FoldsInProcesses:
    """Cells of one source in worker processes.

    Parameters
    ----------
    source : FoldSource
    digest
        `FoldSource.digest` of the data in this process.
    n_jobs : int, optional
        Number of processes, as in joblib. One, the default, is this process.
    """

    def __init__(self, source: FoldSource, digest: Any, *, n_jobs: int | None = None):
        self.source, self.digest, self.n_jobs = source, digest, n_jobs

    def measured(
        self, missing: Mapping[int, Sequence[str]], until: float | None
    ) -> Iterator[tuple[int, dict[str, Records]]]:
        """Folds with the records of one method, as they are finished.

        Parameters
        ----------
        missing : mapping from fold to methods
        until : float or None
            When no further cell begins, by `time.monotonic`.
        """
        deadline = None if until is None else time.time() + until - time.monotonic()
        given = Loaded(self.source, self.digest)
        cells = [CellsOfFold(fold, [method], deadline) for fold, methods in missing.items() for method in methods]
        workers = Parallel(self.n_jobs or 1, backend="loky", batch_size=1, return_as="generator_unordered")
        yield from workers(delayed(_cell)(given, cell) for cell in cells)


def _cell(given: Loaded, cell: CellsOfFold) -> tuple[int, dict[str, Records]]:
    """A fold and the records of its one method; none where the time is over."""
    return cell.fold, run_fold(given, cell)
