"""A task of the benchmark beside classification: its data sets, methods and scores, run with the same engine of cells.

A `Task` declares what differs: how a data set is read, what a method is measured by on a fold (a split, or a seed of
the starts), and which scores the page shows. `run_task` computes the cells that are missing, each in a process with one
BLAS thread, and returns all of them as a table; a cell is computed again where the data, the version of Kernelweave or
the file that declares the task have changed.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from kernelweave import __version__
from kernelweave.compare.cells import CellStore, Progress, measure_cells, write_atomically
from kernelweave.compare.workers import FoldsInProcesses, FoldSource, Records

OURS, RIVAL = "kernelweave", "rival"
COLUMNS = ("set", "n", "method", "family", "fold", "seconds", "failed")  # and the scores
_FORMAT = 1


@dataclass(frozen=True)
class Score:
    """A column of a task's cells.

    Attributes
    ----------
    column, title : str
    decimals : int
    is_loss : bool
        Whether the least value is the best.
    """

    column: str
    title: str
    _: KW_ONLY
    decimals: int = 1
    is_loss: bool = False


@dataclass(frozen=True)
class Task:
    """What a module of this folder declares as ``TASK``.

    Attributes
    ----------
    name : str
        Of the module, and on the command line.
    title : str
        Of its section on the page.
    named, named_as : str
        The one method of Kernelweave that is compared with the best of the others, chosen before any score was seen,
        and what makes it the one.
    sets : tuple of str
    methods : mapping from method to family
        In the order of the tables.
    n_folds : int
    fold_name : str
        "split" or "seed".
    scores : tuple of Score
        The first ranks the methods.
    load : callable
        From the name of a set and the data home to its data; FileNotFoundError or ImportError where it is absent.
    digest : callable
        From the data to a text that differs where they do.
    size : callable
        From the data to the number of samples.
    measure : callable
        From data, method and fold to the scores and ``seconds`` of the processor.
    """

    name: str
    _: KW_ONLY
    title: str
    named: str
    named_as: str
    sets: tuple[str, ...]
    methods: Mapping[str, str]
    n_folds: int
    fold_name: str
    scores: tuple[Score, ...]
    load: Callable[[str, Any], Any]
    digest: Callable[[Any], str]
    size: Callable[[Any], int]
    measure: Callable[[Any, str, int], dict[str, float]]


TASKS = ("survival", "clusters")


def find_task(name: str) -> Task:
    """A task by its name.

    Parameters
    ----------
    name : str
        One of `TASKS`.

    Examples
    --------
    >>> from experiments.benchmark.tasks.task import find_task
    >>> find_task("clusters").scores[0].title
    'Adjusted Rand index x 100'
    """
    return import_module(f"experiments.benchmark.tasks.{name}").TASK


class TaskFolds(FoldSource):
    """The folds of one data set of a task.

    Parameters
    ----------
    task : str
    row : str
        The data set.
    data_home : path or None
    """

    def __init__(self, task: str, row: str, data_home: Any):
        self.task, self.row, self.data_home, self.data = task, row, data_home, row

    def load(self) -> Any:
        """The data."""
        return find_task(self.task).load(self.row, self.data_home)

    def digest(self, loaded: Any) -> str:
        """Of the data."""
        return find_task(self.task).digest(loaded)

    def prepare(self, loaded: Any, fold: int) -> Callable[[str], Records]:
        """A function that measures a method on a fold."""
        task = find_task(self.task)
        return lambda method: [_measured(partial(task.measure, loaded, method, fold), method, task.size(loaded))]


def _measured(measure: Callable[[], dict[str, float]], method: str, n: int) -> dict[str, Any]:
    """The record of a cell; the reason in the place of scores where the method fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a search meets settings that do not converge
        try:
            found: dict[str, Any] = measure()
        except MemoryError:  # of this machine at this time, not of the method
            raise
        except Exception as error:
            found = {"failed": " ".join(f"{type(error).__name__}: {error}".split())}
    scores = {name: value if isinstance(value, str) or value == value else None for name, value in found.items()}
    return {"candidate": method, "n": n} | scores


def run_task(
    task: Task,
    *,
    output: Any,
    data_home: Any = None,
    n_jobs: int | None = None,
    until: float | None = None,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """Run a task, or go on where an earlier run stopped.

    Parameters
    ----------
    task : Task
    output : path
        Folder for finished cells.
    data_home : path, optional
    n_jobs : int, optional
        Cells at the same time, each in a process of its own.
    until : float, optional
        When no further cell begins, by `time.monotonic`.
    progress : callable, optional
        Called with the numbers of finished and of all cells, and the data set and method just finished.

    Returns
    -------
    cells : DataFrame
        With the columns above and those of the scores, one row for each finished cell.
    absent : list of str
        Why data sets were left out.
    """
    records, absent, n_row = [], [], len(task.methods) * task.n_folds
    code = Path(__file__).with_name(f"{task.name}.py").read_bytes()
    for place, row in enumerate(task.sets):
        source = TaskFolds(task.name, row, data_home)
        try:
            loaded = source.load()
        except (FileNotFoundError, ImportError) as reason:
            absent.append(f"{row}: {str(reason).partition(';')[0]}")
            continue

        def tell(done: int, _: int, method: str, row: str = row, before: int = place * n_row) -> None:
            if progress is not None:
                progress(before + done, n_row * len(task.sets), f"{row} {method}")

        digest = source.digest(loaded)
        settings = [__version__, task.name, row, digest, hashlib.sha256(code).hexdigest()]
        cells = measure_cells(
            CellStore(Path(output) / "cells" / f"benchmark-{task.name}" / row),
            {name: hashlib.sha256(json.dumps([*settings, name]).encode()).hexdigest() for name in task.methods},
            folds=range(task.n_folds),
            prepare=partial(source.prepare, loaded),
            progress=tell,
            until=until,
            elsewhere=FoldsInProcesses(source, digest, n_jobs=n_jobs),
        )
        for (method, fold), (record,) in sorted(
            cells.items(), key=lambda cell: (list(task.methods).index(cell[0][0]), cell[0][1])
        ):
            names = {"set": row, "method": method, "family": task.methods[method], "fold": fold}
            records.append({"failed": ""} | record | names)
    return pd.DataFrame(records).reindex(columns=[*COLUMNS, *(score.column for score in task.scores)]), absent


def save_task(cells: pd.DataFrame, path: Path) -> None:
    """Write the cells of a task as a compact JSON file, with the version of Kernelweave.

    Parameters
    ----------
    cells : DataFrame
        As `run_task` returns it.
    path : Path
    """
    short = cells.assign(
        **{name: cells[name].map("{:.6g}".format).astype(float) for name in cells.select_dtypes("float")}
    )
    columns = {str(name): json.loads(values.to_json(orient="values")) for name, values in short.items()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(values)}" for name, values in columns.items())
    write_atomically(path, f'{{"format": {_FORMAT}, "version": "{__version__}", "columns": {{\n{lines}\n}}}}\n')


def read_task(path: Path) -> pd.DataFrame:
    """The cells of a file that `save_task` wrote; its ``attrs["version"]`` is that of Kernelweave.

    Parameters
    ----------
    path : Path
    """
    content = json.loads(path.read_text("utf-8"))
    if content.get("format") != _FORMAT:
        raise ValueError(f"{path} has another format of results than this version reads; write it again")
    cells = pd.DataFrame(content["columns"])
    cells.attrs["version"] = content["version"]
    return cells
