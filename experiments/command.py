"""The command line of the experiments: ``python -m experiments reproduce``, ``defaults`` and ``benchmark``.

The first runs the papers' tables, with paper and ours side by side; the second compares defaults with alternatives; the
third is in `benchmark.command`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from experiments.benchmark import command as benchmark
from experiments.discovery import find_default, find_experiment, list_defaults, list_experiments
from experiments.reports.sections import TextTable, heading, label, sections
from experiments.reports.writing import write_page, write_report
from experiments.runner import run_experiment
from kernelweave.cli.messages import GOES_ON, INTERRUPTED, guarded
from kernelweave.cli.options import Parser, add_command, add_dask, cores, duration, parsed, whole
from kernelweave.datasets import list_datasets
from kernelweave.engines.dask import connected


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    parser = Parser(prog="python -m experiments", description="Papers' tables, defaults and benchmark of kernelweave.")
    parser.set_defaults(command=None, parser=parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_reproduce(commands)
    _add_defaults(commands)
    _add_benchmark(commands)
    chosen = parsed(parser, sys.argv[1:] if arguments is None else arguments)
    if chosen.command is None:
        parser.print_help()
        return 0
    if chosen.command == "reproduce" and not chosen.names and not chosen.list and chosen.page is None:
        chosen.parser.error("name a TABLE, or --list them, or gather finished ones with --page")
    command = benchmark.run if chosen.command == "benchmark" else _run
    return guarded(chosen.parser.prog, lambda: command(chosen))


def _add_reproduce(commands: Any) -> None:
    parser = add_command(commands, "reproduce", "run the papers' tables, with paper and ours side by side")
    parser.add_argument("names", nargs="*", metavar="TABLE", help='number of a table, such as 5.16; or "all"')
    _add_experiment_options(parser)


def _add_defaults(commands: Any) -> None:
    parser = add_command(
        commands, "defaults", "compare defaults with their alternatives on the data sets that are there"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a default, such as multiclass (default: all)")
    _add_experiment_options(parser)


def _add_benchmark(commands: Any) -> None:
    parser = add_command(
        commands,
        "benchmark",
        "compare methods on many data sets of several views, by fixed splits",
        "Compare the library's methods, common models and methods of your own on every data set of several views or\n"
        "kernels that is there, under one budget. Each finished cell is stored; an interrupted run goes on where it\n"
        "stopped. docs/benchmark_enter.md has the rules and how to enter a method.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="SET",
        help="data sets, or views, masked, kernels, survival, clusters (default: all)",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        action="extend",
        metavar="METHOD",
        help="these only, by name; kernelweave, rival: all of the family; none: entries alone (default: all)",
    )
    parser.add_argument(
        "--entry",
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file with one more method; may be repeated",
    )
    parser.add_argument("--splits", type=whole(1), default=3, metavar="N", help="splits of each data set (default 3)")
    parser.add_argument(
        "--jobs", type=whole(1), default=cores(), metavar="N", help="processes (default: one for each core)"
    )
    parser.add_argument(
        "--max-time",
        type=duration,
        metavar="TIME",
        help="start no further cell after this time, such as 90s, 30m or 2h; the same call goes on later",
    )
    _add_experiment_options(parser, jobs=False)


def _add_experiment_options(parser: Parser, jobs: bool = True) -> None:
    """What the commands share that run experiments; `jobs`: whether folds are threads, by --jobs."""
    parser.add_argument("--list", action="store_true", help="list what can be run and whether its data are there")
    parser.add_argument("--quick", action="store_true", help="fewer folds and samples")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("kernelweave-results"),
        help="folder for results; a run continues where an earlier one stopped (default kernelweave-results)",
    )
    parser.add_argument("--data", type=Path, help="folder with the data sets (default: KERNELWEAVE_DATA)")
    if jobs:
        parser.add_argument("--jobs", type=whole(1), default=1, metavar="N", help="folds at the same time (default 1)")
    add_dask(parser)
    parser.add_argument("--page", type=Path, help="also write the page of all full runs in --output, in Markdown")


def _run(chosen: argparse.Namespace) -> int:
    """Run experiments, print them and write JSON and Markdown."""
    is_default = chosen.command == "defaults"
    every, find = (list_defaults, find_default) if is_default else (list_experiments, find_experiment)
    if chosen.list:
        return _print_list(every(), chosen.data)
    console, errors = Console(), Console(stderr=True)
    names = chosen.names or (["all"] if is_default else [])
    try:
        experiments = [experiment for name in names for experiment in (every() if name == "all" else [find(name)])]
    except ValueError as error:
        errors.print(str(error), highlight=False)
        return 2
    status = 0
    with connected(chosen.dask) if chosen.dask is not None and experiments else nullcontext() as client:
        for experiment in experiments:
            try:
                status = max(status, _run_one(console, errors, experiment, chosen, client))
            except KeyboardInterrupt:
                errors.print(GOES_ON, highlight=False)
                return INTERRUPTED
    if chosen.page is not None:
        try:
            tables = write_page(chosen.output, chosen.page, defaults=is_default)
        except (ValueError, OSError) as error:
            errors.print(str(error), highlight=False, soft_wrap=True)
            return 1
        console.print(f"Written: {chosen.page} with {len(tables)} table(s)", highlight=False, soft_wrap=True)
    return status


def _run_one(console: Console, errors: Console, experiment: Any, chosen: argparse.Namespace, client: Any) -> int:
    """Run an experiment, print it and write it; 1 where that fails."""
    columns = (TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    name = label(experiment.name)
    try:
        with Progress(*columns, console=console) as bars:
            bar = bars.add_task(name, total=None)
            outcome = run_experiment(
                experiment,
                chosen.output,
                quick=chosen.quick,
                data_home=chosen.data,
                n_jobs=chosen.jobs,
                progress=lambda done, total, method: bars.update(
                    bar, completed=done, total=total, description=f"{name} {method}"
                ),
                client=client,
            )
    except (ValueError, OSError, RuntimeError) as error:
        errors.print(f"{name}: {error}", highlight=False, soft_wrap=True)
        return 1
    _show(console, outcome)
    try:
        files = write_report(outcome, chosen.output)
    except OSError as error:
        errors.print(f"cannot write the report: {error}", highlight=False, soft_wrap=True)
        return 1
    console.print(f"Written: {files[0]} and {files[1]}", highlight=False, soft_wrap=True)
    return 0


def _print_list(experiments: Sequence[Any], data_home: Path | None) -> int:
    """Print experiments, and whether their data are there."""
    available = list_datasets(data_home)["available"]
    table = Table("table", "what", "data set", "methods", "data", title="Experiments")
    for experiment in experiments:
        absent = [name for name in experiment.dataset_names if not available[name]]
        there = "there" if not absent else "absent" if len(experiment.dataset_names) == 1 else f"{len(absent)} absent"
        table.add_row(experiment.name, experiment.title, experiment.data_label, str(experiment.n_methods), there)
    Console().print(table)
    return 0


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
