"""``kernelweave reproduce`` and ``kernelweave defaults``: run declared comparisons of methods.

The first runs the papers' tables, with paper and ours side by side; the second holds defaults against alternatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..datasets import list_datasets
from ..experiments import (
    defaults_page,
    find_default,
    find_experiment,
    list_defaults,
    list_experiments,
    results_page,
    run_experiment,
    write_report,
)
from ..experiments.reports.layout import Grid, heading, label, sections


def run_reproduce(
    names: Sequence[str],
    output: Path,
    quick: bool = False,
    data_home: Path | None = None,
    n_jobs: int | None = None,
    page: Path | None = None,
) -> int:
    """Run tables, print them and write JSON and Markdown; returns the exit status.

    Parameters
    ----------
    names : sequence of str
        Numbers of tables, or "all".
    output : Path
        Folder for finished cells and results; a run continues where an earlier one stopped.
    quick : bool
        Fewer folds and samples.
    data_home : Path, optional
        Folder with the data sets.
    n_jobs : int, optional
        Folds to run at the same time.
    page : Path, optional
        Where to gather all full runs in `output` as one Markdown page.
    """

    def find(name: str) -> list[Any]:
        return list_experiments() if name == "all" else [find_experiment(name)]

    return _run_all(find, names, results_page, output, quick, data_home, n_jobs, page)


def run_defaults(
    names: Sequence[str],
    output: Path,
    quick: bool = False,
    data_home: Path | None = None,
    n_jobs: int | None = None,
    page: Path | None = None,
) -> int:
    """Run comparisons of defaults, print them and write JSON and Markdown; returns the exit status.

    Parameters are those of `run_reproduce`, with names of defaults; none means all of them.
    """

    def find(name: str) -> list[Any]:
        return list_defaults() if name == "all" else [find_default(name)]

    return _run_all(find, names or ["all"], defaults_page, output, quick, data_home, n_jobs, page)


def _run_all(
    find: Callable[[str], list[Any]],
    names: Sequence[str],
    gather: Callable[[Path, Path], list[str]],
    output: Path,
    quick: bool,
    data_home: Path | None,
    n_jobs: int | None,
    page: Path | None,
) -> int:
    console, failed = Console(), 0
    try:
        chosen = [experiment for name in names for experiment in find(name)]
    except ValueError as error:
        Console(stderr=True).print(str(error), highlight=False)
        return 2
    for experiment in chosen:
        try:
            summary = _run(console, experiment, output, quick, data_home, n_jobs)
        except KeyboardInterrupt:
            Console(stderr=True).print("Interrupted; the same command goes on where it stopped.", highlight=False)
            return 130
        except (ValueError, OSError) as error:
            Console(stderr=True).print(f"{label(experiment.name)}: {error}", highlight=False, soft_wrap=True)
            failed = 1
            continue
        _show(console, summary)
        try:
            files = write_report(summary, output)
        except OSError as error:
            Console(stderr=True).print(f"cannot write the report: {error}", highlight=False, soft_wrap=True)
            failed = 1
            continue
        console.print(f"Written: {files[0]} and {files[1]}", highlight=False, soft_wrap=True)
    if page is not None:
        try:
            tables = gather(output, page)
        except (ValueError, OSError) as error:
            Console(stderr=True).print(str(error), highlight=False, soft_wrap=True)
            return 1
        console.print(f"Written: {page} with {len(tables)} table(s)", highlight=False, soft_wrap=True)
    return failed


def print_list(data_home: Path | None = None, defaults: bool = False) -> int:
    """Print every table of the papers, or every default that is compared, and whether its data are there."""
    available = list_datasets(data_home)["available"]
    table = Table("table", "what", "data set", "methods", "data", title="Experiments")
    for experiment in list_defaults() if defaults else list_experiments():
        absent = [name for name in experiment.dataset_names if not available[name]]
        there = "there" if not absent else "absent" if len(experiment.dataset_names) == 1 else f"{len(absent)} absent"
        table.add_row(experiment.name, experiment.title, experiment.data_label, str(experiment.n_methods), there)
    Console().print(table)
    return 0


def _run(
    console: Console, experiment: Any, output: Path, quick: bool, data_home: Path | None, n_jobs: int | None
) -> Any:
    columns = (TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        bar = bars.add_task(label(experiment.name), total=None)

        def progress(done: int, total: int, method: str) -> None:
            bars.update(bar, completed=done, total=total, description=f"{label(experiment.name)} {method}")

        return run_experiment(experiment, output, quick, data_home, n_jobs, progress)


def _show(console: Console, summary: Any) -> None:
    console.print(heading(summary), style="bold", highlight=False)
    for part in sections(summary):
        for piece in [part] if isinstance(part, str) else map(_table, part.narrowed()):
            console.print(piece, highlight=False)


def _table(grid: Grid) -> Table:
    """A table whose cells are folded where they are too narrow, never cut."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for position, name in enumerate(grid.headings):
        table.add_column(name, justify="right" if position >= grid.n_text else "left", overflow="fold")
    for row in grid.rows:
        table.add_row(*row)
    return table
