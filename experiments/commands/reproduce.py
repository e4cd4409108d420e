"""``kernelweave reproduce`` and ``kernelweave defaults``: run declared comparisons of methods.

The first runs the papers' tables, with paper and ours side by side; the second compares defaults with alternatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ...datasets import list_datasets
from ...experiments import (
    find_default,
    find_experiment,
    list_defaults,
    list_experiments,
    run_experiment,
    write_page,
    write_report,
)
from ...experiments.engine.cluster import connected
from ...experiments.reports.sections import TextTable, heading, label, sections

_INTERRUPTED = 130


def run_experiments(
    names: Sequence[str],
    output: Path,
    *,
    defaults: bool = False,
    quick: bool = False,
    data_home: Path | None = None,
    n_jobs: int | None = None,
    page: Path | None = None,
    dask: str | None = None,
) -> int:
    """Run experiments, print them and write JSON and Markdown; returns the exit status.

    Parameters
    ----------
    names : sequence of str
        Numbers of tables, or names of defaults; "all" for every one.
    output : Path
        Folder for finished cells and results; a run continues where an earlier one stopped.
    defaults : bool
        Whether to run comparisons of defaults instead of the papers' tables.
    quick : bool
        Fewer folds and samples.
    data_home : Path, optional
        Folder with the data sets.
    n_jobs : int, optional
        Folds to run at the same time.
    page : Path, optional
        Where to gather all full runs in `output` as one Markdown page.
    dask : str, optional
        Address of a Dask scheduler, on whose workers folds run.
    """
    every, find = (list_defaults, find_default) if defaults else (list_experiments, find_experiment)
    console = Console()
    try:
        chosen = [experiment for name in names for experiment in (every() if name == "all" else [find(name)])]
    except ValueError as error:
        Console(stderr=True).print(str(error), highlight=False)
        return 2
    with ExitStack() as opened:
        client = opened.enter_context(connected(dask)) if dask is not None and chosen else None
        failed = _run_all(console, chosen, output, quick, data_home, n_jobs, client)
    if failed == _INTERRUPTED:
        return failed
    if page is not None:
        try:
            tables = write_page(output, page, defaults=defaults)
        except (ValueError, OSError) as error:
            Console(stderr=True).print(str(error), highlight=False, soft_wrap=True)
            return 1
        console.print(f"Written: {page} with {len(tables)} table(s)", highlight=False, soft_wrap=True)
    return failed


def _run_all(
    console: Console,
    chosen: Sequence[Any],
    output: Path,
    quick: bool,
    data_home: Path | None,
    n_jobs: int | None,
    client: Any,
) -> int:
    """Run experiments, print and write them; the exit status."""
    failed = 0
    for experiment in chosen:
        try:
            outcome = _run(console, experiment, output, quick, data_home, n_jobs, client)
        except KeyboardInterrupt:
            Console(stderr=True).print("Interrupted; the same command goes on where it stopped.", highlight=False)
            return _INTERRUPTED
        except (ValueError, OSError, RuntimeError) as error:
            Console(stderr=True).print(f"{label(experiment.name)}: {error}", highlight=False, soft_wrap=True)
            failed = 1
            continue
        _show(console, outcome)
        try:
            files = write_report(outcome, output)
        except OSError as error:
            Console(stderr=True).print(f"cannot write the report: {error}", highlight=False, soft_wrap=True)
            failed = 1
            continue
        console.print(f"Written: {files[0]} and {files[1]}", highlight=False, soft_wrap=True)
    return failed


def print_list(data_home: Path | None = None, *, defaults: bool = False) -> int:
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
    console: Console,
    experiment: Any,
    output: Path,
    quick: bool,
    data_home: Path | None,
    n_jobs: int | None,
    client: Any,
) -> Any:
    columns = (TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        bar = bars.add_task(label(experiment.name), total=None)

        def progress(done: int, total: int, method: str) -> None:
            bars.update(bar, completed=done, total=total, description=f"{label(experiment.name)} {method}")

        return run_experiment(
            experiment, output, quick=quick, data_home=data_home, n_jobs=n_jobs, progress=progress, client=client
        )


def _show(console: Console, outcome: Any) -> None:
    console.print(heading(outcome), style="bold", highlight=False)
    for part in sections(outcome):
        for piece in [part] if isinstance(part, str) else map(_table, part.narrowed()):
            console.print(piece, highlight=False)


def _table(content: TextTable) -> Table:
    """A table whose cells are folded where they are too narrow, never cut."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for position, name in enumerate(content.headings):
        table.add_column(name, justify="right" if position >= content.n_text else "left", overflow="fold")
    for row in content.rows:
        table.add_row(*row)
    return table
