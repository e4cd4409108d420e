"""The benchmark as a `Comparison`, run data set by data set, and the finished cells of a run.

Splits are fixed by seed: stratified draws of at most 300 training samples (and at most half of the set) and at most
1000 test samples, three of them unless more are asked for; further ones leave the first as they are.

The folder of a run keeps cells of earlier declarations: of an older file of an entry, of other settings, data or
versions. `load_cells` takes a cell where its fingerprint is the one that the declaration gives its method and data set
now. To compute that takes the data set and the declaration of the method. Cells of a data set that is not in the data
home, and of an entry whose file is not given, therefore do not count either. A warning names what does not count.
"""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.benchmark.data_sets import DATA_SETS, DataSet
from experiments.benchmark.entries import Entry, list_methods
from experiments.benchmark.measures import measure_cell
from experiments.benchmark.results import cells_folder, cells_table
from kernelweave.compare import Comparison, Contender
from kernelweave.compare.cells import CellStore, Progress
from kernelweave.compare.run import fingerprints, measure_row
from kernelweave.model_selection import RepeatedDraws

SPLITS, TRAIN, TEST = 3, 300, 1000
MAX_SECONDS = 20.0  # of a cell, after which no further setting is begun
_QUICK = {"n_train": 80, "n_test": 200}
QUICK_SECONDS = 2.0


@dataclass(frozen=True)
class FixedDraws(RepeatedDraws):
    """`RepeatedDraws` for training and testing only, whose first draws do not depend on how many there are.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.benchmark.run import FixedDraws
    >>> y = np.arange(90) % 3
    >>> few, more = FixedDraws(1).split(y, stratify=True), FixedDraws(5).split(y, stratify=True)
    >>> len(few[0].train), len(few[0].test), bool((few[0].train == more[0].train).all())
    (45, 45, True)
    """

    n_repeats: int = field(default=SPLITS, repr=False)  # fingerprints are of the text, and serve any number
    n_train: int = TRAIN
    n_validation: int = 0
    n_test: int = TEST


def declare_benchmark(
    data_sets: Sequence[DataSet], methods: Sequence[Entry], *, splits: int = SPLITS, quick: bool = False
) -> Comparison:
    """Declare the benchmark.

    Parameters
    ----------
    data_sets : sequence of DataSet
    methods : sequence of Entry
    splits : int
    quick : bool
        80 training samples, and 2 seconds in place of 20 after which no further setting is begun.

    Examples
    --------
    >>> from experiments.benchmark.data_sets import choose_data_sets
    >>> from experiments.benchmark.run import declare_benchmark
    >>> from experiments.benchmark.entries import find_method
    >>> declare_benchmark(choose_data_sets(["wdbc"]), [find_method("EasyMKL")]).n_methods
    1
    """
    limit = QUICK_SECONDS if quick else MAX_SECONDS
    timed = [dataclasses.replace(entry, max_seconds=limit) for entry in methods]
    return Comparison(
        name="benchmark",
        title="Kernels over several views",
        source="",
        datasets={row.name: row for row in data_sets},
        contenders=tuple(Contender(entry.name, entry) for entry in timed),
        protocol=FixedDraws(splits, **(_QUICK if quick else {})),
        skip_absent=True,
        is_tolerant=True,
        measure=measure_cell,
        in_processes=True,
    )


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


def load_cells(
    folder: Any, *, quick: bool = False, data_home: Any = None, entries: Sequence[Entry] = ()
) -> pd.DataFrame:
    """The finished cells of a run that are those of the benchmark as it is declared now, as a table.

    Cells of other settings, of other data, of another version of Kernelweave or of an older file of an entry are left
    out, as are those that cannot be checked: of data sets that are not in the data home and of entries that are not
    given. A warning names them.

    Parameters
    ----------
    folder : path
        The output folder of ``python -m experiments benchmark``.
    quick : bool
        Whether to read those of a quick run.
    data_home : path, optional
        As in `datasets.load_dataset`. The data sets are read, because fingerprints of cells depend on them.
    entries : sequence of Entry
        Methods of others that were run, as `load_entry` returns them.

    Returns
    -------
    DataFrame
        One row per data set, method and split, with the columns of `results`. Its ``attrs["about"]`` has the version
        of Kernelweave, the date of the last cell, the number of cores of this machine, and whether the run was quick.

    Raises
    ------
    FileNotFoundError
        Where there are no such cells.

    Examples
    --------
    >>> import tempfile
    >>> from experiments.benchmark import choose_data_sets, choose_methods, load_cells, run_benchmark
    >>> sets, methods = choose_data_sets(["wdbc"]), choose_methods(["logistic regression"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_benchmark(sets, methods, output=folder, quick=True, splits=1)
    ...     load_cells(folder, quick=True)[["set", "method", "split", "n_train"]]
        set               method  split  n_train
    0  wdbc  logistic regression      0       80
    """
    cells = cells_folder(folder, quick=quick)
    files = sorted(cells.glob("*/*/fold-*.json"))
    methods = [*entries, *list_methods()]
    marks = {row: _marks(row, methods, quick, data_home) for row in {path.parent.parent.name for path in files}}
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    left_out: Counter[str] = Counter()
    for path in files:
        row, (method, fold) = path.parent.parent.name, _named(path)
        mark = (marks[row] or {}).get(method)
        records = None if mark is None else CellStore(cells / row).read(method, fold, mark)
        if records is None:
            left_out[_reason(row, method, marks[row])] += 1
        else:
            (found[row, method, fold],) = records
    words = [f"{count} of {reason}" for reason, count in sorted(left_out.items())]
    if not found:
        others = f" that count ({'; '.join(words)})" if words else ""
        raise FileNotFoundError(f"there are no cells of the benchmark below {str(folder)!r}{others}; run it first")
    if words:
        warnings.warn(
            f"cells of the benchmark below {str(folder)!r} that are left out: {'; '.join(words)}", stacklevel=2
        )
    return cells_table(found, DATA_SETS.values(), methods=methods, folder=cells, quick=quick)


def _marks(row: str, methods: Sequence[Entry], quick: bool, data_home: Any) -> Mapping[str, str] | None:
    """The fingerprint of each method on a data set, or None where the data set is not there."""
    if row not in DATA_SETS:
        return None
    try:
        return fingerprints(declare_benchmark([DATA_SETS[row]], methods, quick=quick), row, data_home=data_home)
    except FileNotFoundError:
        return None


def _named(path: Path) -> tuple[str, int]:
    """Method and split of a cell; no method where the file is damaged."""
    try:
        return str(json.loads(path.read_bytes())["method"]), int(path.stem.partition("-")[2])
    except (ValueError, TypeError, KeyError):
        return "", 0


def _reason(row: str, method: str, marks: Mapping[str, str] | None) -> str:
    """Which cells one that does not count belongs to, and why they do not count."""
    if row not in DATA_SETS:
        return f"{row!r}, which is no data set of the benchmark"
    if marks is None:
        return f"{row}, which is not in the data home"
    if not method:
        return "damaged files"
    if method not in marks:
        return f"{method!r}, an entry whose file is not given"
    return f"{method!r} as it was before data, settings, its file or the version changed, which a run computes again"
