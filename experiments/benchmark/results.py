"""The cells of the benchmark as one table, and the compact file of it that is published.

============================  ======================================================================================
column                        meaning
============================  ======================================================================================
set, kind                     the data set, and "views", "masked" or "kernels"
method, family                the method, and "kernelweave", "rival" or "entry"
split, digest                 number of the split, and its digest (`measures.split_digest`)
n_train, n_test               numbers of samples
accuracy                      share of the test samples that are predicted rightly
log_loss                      NaN where there are no probabilities
stored                        training samples that predictions need, NaN where none
seconds, predict_seconds      selection and fit; prediction of all test samples
memory_mb                     peak above the start, NaN where unknown
setting                       the setting that counts
failed                        the reason where the method could not be fitted, "" otherwise
============================  ======================================================================================
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.benchmark.data_sets import DATA_SETS, DataSet
from experiments.benchmark.entries import Entry
from kernelweave import __version__
from kernelweave.compare.cells import CellStore, write_atomically

COLUMNS = (
    *("set", "kind", "method", "family", "split", "n_train", "n_test", "accuracy", "log_loss", "stored", "seconds"),
    *("predict_seconds", "memory_mb", "setting", "failed", "digest"),
)
_TEXT = ("set", "kind", "method", "family", "setting", "failed", "digest")
_COUNTS = ("split", "n_train", "n_test")
_FORMAT = 1
_NAME = "benchmark"


def cells_folder(output: Any, *, quick: bool = False) -> Path:
    """Where the cells of a run are, below its output folder.

    Parameters
    ----------
    output : path
    quick : bool
    """
    return Path(output) / "cells" / (f"{_NAME}-quick" if quick else _NAME)


def cells_table(
    found: Mapping[tuple[str, str, int], dict[str, Any]],
    data_sets: Iterable[DataSet],
    *,
    methods: Sequence[Entry],
    folder: Path,
    quick: bool = False,
) -> pd.DataFrame:
    """Finished cells as a table with the columns above.

    Parameters
    ----------
    found : mapping from (data set, method, split) to dict
        What a cell holds, see `measures`.
    data_sets : iterable of DataSet
    methods : sequence of Entry
        Those of the cells, or more.
    folder : Path
        Where the cells are, see `cells_folder`.
    quick : bool

    Returns
    -------
    DataFrame
        As `load_cells` returns it.
    """
    kinds = {row.name: row.kind for row in data_sets}
    families = {entry.name: entry.family for entry in methods}
    records = []
    for (row, method, split), record in found.items():
        names = {"set": row, "kind": kinds[row], "method": method, "family": families[method], "split": split}
        records.append(record | names | {"accuracy": None if "test" not in record else 1.0 - record["test"] / 100.0})
    table = _table(records)
    last = max(CellStore(folder / row).path(method, split).stat().st_mtime for row, method, split in found)
    table.attrs["about"] = {
        "version": __version__,
        "date": datetime.fromtimestamp(last, UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "quick": quick,
    }
    return table


def _table(records: list[dict[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(records).reindex(columns=list(COLUMNS))
    for name in ("n_train", "n_test", "digest"):  # those of a method that failed are those of the others
        first = table[name].astype(object).groupby([table["set"], table["split"]]).transform("first")
        table[name] = first.where(first.notna(), "" if name in _TEXT else 0)
    for name in COLUMNS:
        if name in _TEXT:
            table[name] = table[name].astype(object).where(table[name].notna(), "")
        else:
            table[name] = pd.to_numeric(table[name]).astype(np.int64 if name in _COUNTS else float)
    places = {name: place for place, name in enumerate(DATA_SETS)}
    order = table["set"].map(lambda name: places.get(name, len(places)))
    return (
        table.assign(_place=order)
        .sort_values(["_place", "set", "method", "split"])
        .drop(columns="_place")
        .reset_index(drop=True)
    )


def save_results(cells: pd.DataFrame, path: Any) -> None:
    """Write a table of cells as one compact JSON file, with numbers of six digits, and accuracies of twelve.

    Parameters
    ----------
    cells : DataFrame
        As `load_cells` returns it.
    path : path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from experiments.benchmark import read_results, save_results
    >>> cells = pd.DataFrame({"set": ["wdbc"], "method": ["EasyMKL"], "split": [0], "accuracy": [0.9]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_results(cells, Path(folder) / "results.json")
    ...     read_results(Path(folder) / "results.json")[["method", "accuracy"]]
        method  accuracy
    0  EasyMKL       0.9
    """
    columns = {name: [_short(value, name) for value in cells[name]] for name in COLUMNS if name in cells}
    about = json.dumps(cells.attrs.get("about", {"version": __version__}))
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(values)}" for name, values in columns.items())
    text = f'{{"format": {_FORMAT}, "about": {about}, "columns": {{\n{lines}\n}}}}\n'
    write_atomically(Path(path), text)


def read_results(path: Any) -> pd.DataFrame:
    """The table of cells of a file that `save_results` wrote.

    Parameters
    ----------
    path : path

    Raises
    ------
    ValueError
        Where it is no such file.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        columns = content["columns"]
        known = content["format"] == _FORMAT
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is no file of results of the benchmark: {error}") from error
    if not known:
        raise ValueError(f"{path} has another format of results than this version reads; write it again")
    lengths = len(next(iter(columns.values()), []))
    table = _table([{name: values[place] for name, values in columns.items()} for place in range(lengths)])
    table.attrs["about"] = content.get("about", {})
    return table


def _short(value: Any, column: str) -> Any:
    """A value as JSON holds it, numbers of six digits; accuracies of twelve, whose ties count in ranks."""
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else float(f"{value:.{12 if column == 'accuracy' else 6}g}")
    return int(value) if isinstance(value, int | np.integer) else str(value)


def standings(cells: pd.DataFrame) -> pd.DataFrame:
    """The methods, best first: mean accuracy, mean rank, seconds, and on how many data sets a method failed.

    Ranks are those of the mean accuracy over splits on each data set; equal ones share the mean of their ranks, and a
    method that failed on a set is last there. Only the data sets count that every method has been run on.

    Parameters
    ----------
    cells : DataFrame

    Returns
    -------
    DataFrame
        Indexed by method, with the columns ``family``, ``accuracy``, ``rank``, ``seconds`` (mean of a cell),
        ``failed`` and ``sets``.
    """
    failed = cells.assign(failed=cells["failed"] != "").pivot_table(
        index="set", columns="method", values="failed", aggfunc="max", dropna=False
    )
    shared = failed.index[failed.notna().all(axis=1)]
    inside = cells[cells["set"].isin(shared)]
    accuracy = inside.pivot_table(index="set", columns="method", values="accuracy", aggfunc="mean", dropna=False)
    accuracy = accuracy.mask(failed.loc[accuracy.index, accuracy.columns].astype(bool))
    ranks = accuracy.fillna(-1.0).rank(axis=1, ascending=False)
    methods = cells.groupby("method")
    found = pd.DataFrame(
        {
            "family": methods["family"].first(),
            "accuracy": accuracy.mean(),
            "rank": ranks.mean(),
            "seconds": methods["seconds"].mean(),
            "failed": failed.fillna(False).astype(bool).sum(),
            "sets": methods["set"].nunique(),
        }
    )
    return found.sort_values(["rank", "accuracy"], ascending=[True, False])
