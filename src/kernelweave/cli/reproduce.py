"""``kernelweave reproduce``: run the papers' tables, with paper and ours side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..datasets import list_datasets
from ..experiments import Experiment, Summary, find_experiment, list_experiments, results_page, run_experiment
from ..experiments.report import (
    COST_HEADINGS,
    COST_NOTE,
    cost_cells,
    results_cells,
    results_headings,
    settings,
    significance,
    write_report,
)

# Columns of `results_cells` that make the two tables shown.
_SCORE = (0, 1, 2, 3, 4, 8)
_SUPPORT = (0, 5, 6, 7, 9)


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
    console, failed = Console(), 0
    try:
        chosen = [e for name in names for e in (list_experiments() if name == "all" else [find_experiment(name)])]
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
            Console(stderr=True).print(f"Table {experiment.name}: {error}", highlight=False, soft_wrap=True)
            failed = 1
            continue
        _show(console, summary)
        files = write_report(summary, output)
        console.print(f"Written: {files[0]} and {files[1]}", highlight=False, soft_wrap=True)
    if page is not None:
        try:
            tables = results_page(output, page)
        except (ValueError, OSError) as error:
            Console(stderr=True).print(str(error), highlight=False, soft_wrap=True)
            return 1
        console.print(f"Written: {page} with {len(tables)} table(s)", highlight=False, soft_wrap=True)
    return failed


def print_list(data_home: Path | None = None) -> int:
    """Print every experiment and whether its data are there."""
    available = list_datasets(data_home)["available"]
    table = Table("table", "what", "data set", "methods", "data", title="Experiments")
    for experiment in list_experiments():
        there = "there" if available[experiment.dataset] else "absent"
        data = experiment.dataset + ("" if experiment.variant is None else f" ({experiment.variant})")
        table.add_row(experiment.name, experiment.title, data, str(len(experiment.methods)), there)
    Console().print(table)
    return 0


def _run(
    console: Console, experiment: Experiment, output: Path, quick: bool, data_home: Path | None, n_jobs: int | None
) -> Summary:
    columns = (TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        bar = bars.add_task(f"Table {experiment.name}", total=None)

        def progress(done: int, total: int, method: str) -> None:
            bars.update(bar, completed=done, total=total, description=f"Table {experiment.name} {method}")

        return run_experiment(experiment, output, quick, data_home, n_jobs, progress)


def _show(console: Console, summary: Summary) -> None:
    title = f"Table {summary.experiment.name}: {summary.experiment.title}" + (" (quick run)" if summary.quick else "")
    lines = [results_headings(summary), *(results_cells(summary, row) for row in summary.rows)]
    # The score and the support vectors in a table each, so that a line fits a terminal of 80 columns.
    score, support = ([[line[column] for column in columns] for line in lines] for columns in (_SCORE, _SUPPORT))
    costs = [COST_HEADINGS, *(cost_cells(row) for row in summary.rows)]
    for part in (settings(summary), _table(score, title), _table(support), significance(summary), _table(costs)):
        console.print(part, highlight=False)
    console.print(COST_NOTE, highlight=False)


def _table(lines: list[list[str]], title: str | None = None) -> Table:
    """A table from its headings and rows; what is too narrow is folded, never cut."""
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for position, heading in enumerate(lines[0]):
        table.add_column(heading, justify="right" if position else "left", overflow="fold")
    for row in lines[1:]:
        table.add_row(*row)
    return table
