"""`load_cells`: the finished cells of a run that are those of the benchmark as it is declared now.

The folder of a run keeps cells of earlier declarations: of an older file of an entry, of other settings, data or
versions. A cell counts where its fingerprint is the one that the declaration gives its method and data set now. To
compute that takes the data set and the declaration of the method. Cells of a data set that is not in the data home, and
of an entry whose file is not given, therefore do not count either. A warning names what does not count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..._warnings import warn
from ..engine.cells import CellStore
from ..engine.comparison_run import fingerprints
from .data_sets import DATA_SETS
from .declaration import declare_benchmark
from .entries import Entry, list_methods
from .results import cells_folder, cells_table


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
        The output folder of ``kernelweave benchmark``.
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
    >>> from kernelweave.experiments.benchmark import choose_data_sets, choose_methods, load_cells, run_benchmark
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
        warn(f"cells of the benchmark below {str(folder)!r} that are left out: {'; '.join(words)}")
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
