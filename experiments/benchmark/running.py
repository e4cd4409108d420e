"""`run_benchmark`: data set by data set, each cell stored at once, resumable, in parallel over cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..engine.cells import Progress
from ..engine.comparison_run import measure_row
from .data_sets import DataSet
from .declaration import SPLITS, declare_benchmark
from .entries import Entry
from .results import cells_folder, cells_table


@dataclass(frozen=True)
class BenchmarkOutcome:
    """What a run of the benchmark gave.

    Attributes
    ----------
    cells : DataFrame
        As `load_cells` returns it: of the data sets and methods of this run.
    absent : tuple of str
        Data sets that are not in the data home.
    n_missing : int
        Cells that were not begun because the time was over.
    """

    cells: pd.DataFrame
    absent: tuple[str, ...]
    n_missing: int


def run_benchmark(
    data_sets: Sequence[DataSet],
    methods: Sequence[Entry],
    *,
    output: Any = "kernelweave-results",
    splits: int = SPLITS,
    quick: bool = False,
    data_home: Any = None,
    n_jobs: int | None = None,
    until: float | None = None,
    client: Any = None,
    progress: Progress | None = None,
) -> BenchmarkOutcome:
    """Run methods on data sets, or continue where an earlier run stopped.

    Parameters
    ----------
    data_sets : sequence of DataSet
    methods : sequence of Entry
    output : path
        Folder for finished cells; a cell that is there is not computed again.
    splits : int
    quick : bool
        Fewer samples and less time, see `declare_benchmark`.
    data_home : path, optional
        As in `datasets.load_dataset`.
    n_jobs : int, optional
        Cells at the same time, each in a process of its own with one thread.
    until : float, optional
        When no further cell begins, by `time.monotonic`.
    client : distributed.Client, optional
        Cells run on the workers of this Dask cluster, which read the data and entries themselves.
    progress : callable, optional
        Called with the numbers of finished and of all cells, and the data set and the method just finished.

    Returns
    -------
    BenchmarkOutcome

    Raises
    ------
    FileNotFoundError
        Where none of the data sets is there.
    """
    comparison = declare_benchmark(data_sets, methods, splits=splits, quick=quick)
    folder = cells_folder(output, quick=quick)
    absent: list[str] = []
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    n_done, n_row, n_missing = 0, len(methods) * splits, 0
    for row in data_sets:

        def tell(done: int, total: int, method: str, row: str = row.name, before: int = n_done) -> None:
            if progress is not None:
                progress(before + done, n_row * (len(data_sets) - len(absent)), f"{row} {method}")

        try:
            measured = measure_row(
                comparison,
                row.name,
                folder,
                data_home=data_home,
                n_jobs=n_jobs,
                progress=tell,
                until=until,
                client=client,
            )
        except FileNotFoundError:
            absent.append(row.name)
            continue
        n_done += n_row
        n_missing += n_row - len(measured.cells)
        found |= {(row.name, method, split): record for (method, split), (record,) in measured.cells.items()}
    if len(absent) == len(data_sets):
        raise FileNotFoundError(
            f"none of the data sets is in the data home: {', '.join(absent)}; name its folder by --data or the "
            "environment variable KERNELWEAVE_DATA"
        )
    options: dict[str, Any] = {"methods": methods, "folder": folder, "quick": quick}
    cells = cells_table(found, data_sets, **options) if found else pd.DataFrame()
    return BenchmarkOutcome(cells, tuple(absent), n_missing)
