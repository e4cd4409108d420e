"""``python -m experiments benchmark``: many methods on many data sets of several views, by fixed splits."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

from experiments.benchmark.data_sets import DATA_SETS, choose_data_sets
from experiments.benchmark.entries import Entry, choose_methods, is_there, list_methods, load_entry
from experiments.benchmark.page.tasks import task_sections
from experiments.benchmark.page.writing import task_file, write_benchmark_page
from experiments.benchmark.results import standings
from experiments.benchmark.run import BenchmarkOutcome, load_cells, run_benchmark
from experiments.benchmark.tasks.task import TASKS, find_task, run_task, save_task
from kernelweave.cli.messages import GOES_ON, INTERRUPTED, counting, listed, one_line, say
from kernelweave.datasets import list_datasets
from kernelweave.engines.dask import connected

_LONGEST_REASON = 200


def run(chosen: argparse.Namespace) -> int:
    """Run the benchmark, print the table, and write the page where one is asked for; returns the exit status."""
    if chosen.list:
        return _print_lists(chosen.data)
    until = None if chosen.max_time is None else time.monotonic() + chosen.max_time
    names = [name for name in chosen.names if name not in TASKS]
    tasks = [name for name in chosen.names if name in TASKS]
    if not chosen.names and chosen.methods is None and not chosen.entry and not chosen.quick:
        tasks = list(TASKS)
    try:
        if names or not chosen.names:
            _show(_outcome(chosen, names, until))
        for name in tasks:
            _run_task(chosen, name, until)
    except KeyboardInterrupt:
        print(GOES_ON, file=sys.stderr)
        return INTERRUPTED
    if chosen.page is not None:
        _write_page(chosen)
    return 0


def _outcome(chosen: argparse.Namespace, names: list[str], until: float | None) -> BenchmarkOutcome:
    data_sets = choose_data_sets(names)
    entries = [load_entry(path) for path in chosen.entry]
    methods = [*entries, *_methods(chosen, entries)]
    say([f"{len(methods)} methods on {len(data_sets)} data sets, {chosen.splits} splits each."])
    with (
        nullcontext() if chosen.dask is None else connected(chosen.dask) as client,
        counting("benchmark", 40) as progress,
    ):
        return run_benchmark(
            data_sets,
            methods,
            output=chosen.output,
            splits=chosen.splits,
            quick=chosen.quick,
            data_home=chosen.data,
            n_jobs=chosen.jobs,
            until=until,
            client=client,
            progress=progress,
        )


def _run_task(chosen: argparse.Namespace, name: str, until: float | None) -> None:
    """Run a task beside classification, print its sections, and keep its cells where the page is written."""
    task = find_task(name)
    say([f"{name}: {len(task.methods)} methods on {len(task.sets)} data sets, {task.n_folds} {task.fold_name}s each."])
    with counting(name, 40) as progress:
        cells, absent = run_task(
            task, output=chosen.output, data_home=chosen.data, n_jobs=chosen.jobs, until=until, progress=progress
        )
    say([f"left out: {reason}" for reason in absent])
    if len(cells):
        print("\n\n".join(task_sections(task, cells)))
        if chosen.page is not None:
            save_task(cells, task_file(chosen.page, name))


def _methods(chosen: argparse.Namespace, entries: list[Entry]) -> list[Entry]:
    """Those that are named; without names all, unless ``--methods none`` runs entries alone."""
    if chosen.methods == ["none"]:
        if not entries:
            raise ValueError("--methods none leaves nothing to run without --entry FILE")
        return []
    return choose_methods(chosen.methods)


def _show(outcome: BenchmarkOutcome) -> None:
    cells = outcome.cells
    if len(cells):
        Console().print(_table(cells), highlight=False)
        say([f"{row}: splits {', '.join(digests)}" for row, digests in _digests(cells).items()])
        failed = cells[cells["failed"] != ""].drop_duplicates(["method", "set"])
        for method, part in failed.groupby("method"):
            reason = part["failed"].iloc[0][:_LONGEST_REASON]
            say([f"{method} could not be fitted on {listed(list(part['set']))}: {reason}."])
    if outcome.absent:
        say([f"Not in the data home, and left out: {listed(list(outcome.absent))}."])
    if outcome.n_missing:
        say([f"The time was over before {outcome.n_missing} cells; the same command goes on with them."])


def _digests(cells: pd.DataFrame) -> dict[str, list[str]]:
    once = cells[cells["digest"] != ""].drop_duplicates(["set", "split"]).sort_values("split")
    return {str(row): list(part["digest"]) for row, part in once.groupby("set", sort=False)}


def _table(cells: pd.DataFrame) -> Table:
    """The methods, best first, in 80 columns."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("method", overflow="fold")
    for name in ("family", "accuracy", "rank", "seconds", "failed", "sets"):
        table.add_column(name, justify="left" if name == "family" else "right", no_wrap=True)
    for method, row in standings(cells).iterrows():
        accuracy, rank, seconds = (
            "-" if np.isnan(row[name]) else f"{row[name]:.{digits}f}"
            for name, digits in (("accuracy", 3), ("rank", 2), ("seconds", 1))
        )
        table.add_row(
            one_line(str(method)), row["family"], accuracy, rank, seconds, str(row["failed"]), str(row["sets"])
        )
    return table


def _print_lists(data_home: Path | None) -> int:
    """Print data sets and methods, and whether they are there."""
    available = list_datasets(data_home)["available"]
    table = Table("data set", "kind", "data", title="Data sets")
    for row in DATA_SETS.values():
        table.add_row(row.name, row.kind, "there" if available[row.dataset] else "absent")
    methods = Table("method", "family", "package", title="Methods")
    for name in TASKS:
        for own in find_task(name).sets:
            is_here = available[DATA_SETS[own].dataset] if own in DATA_SETS else find_spec("sksurv") is not None
            table.add_row(own, name, "there" if is_here else "absent")
    for entry in list_methods():
        methods.add_row(entry.name, entry.family, "there" if is_there(entry) else "not installed")
    console = Console()
    console.print(table)
    console.print(methods)
    return 0


def _write_page(chosen: argparse.Namespace) -> None:
    entries = [load_entry(path) for path in chosen.entry]
    cells = load_cells(chosen.output, quick=chosen.quick, data_home=chosen.data, entries=entries)
    write_benchmark_page(cells, chosen.page)
    say([f"Written: {chosen.page}"])
