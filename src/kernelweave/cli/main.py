"""Parse the command line and call the command."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module

from .checking import check
from .failing import guarded
from .options import parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words of the command line; by default those of the process.

    Examples
    --------
    >>> from kernelweave.cli import main
    >>> main([])  # doctest: +ELLIPSIS
    usage: kernelweave ...
    """
    chosen = parse(arguments)
    if chosen.command is None:
        chosen.parser.print_help()
        return 0
    command = _COMMANDS.get(chosen.command, _own_files)
    return guarded(chosen.parser.prog, lambda: command(chosen))


def _own_files(chosen: argparse.Namespace) -> int:
    """A command for people's own files: a module with a function `run`."""
    check(chosen)
    command = import_module(f".commands.{chosen.command}", __package__)  # here, because the import takes a while
    return command.run(chosen)


def _demo(chosen: argparse.Namespace) -> int:
    from .commands.demo import run_demo

    run_demo(chosen.output, chosen.repeats, random_state=chosen.seed)
    return 0


def _reproduce(chosen: argparse.Namespace) -> int:
    if not chosen.names and not chosen.list and chosen.page is None:
        chosen.parser.error("name a TABLE, or --list them, or gather finished ones with --page")
    return _run(chosen, chosen.names, defaults=False)


def _defaults(chosen: argparse.Namespace) -> int:
    return _run(chosen, chosen.names or ["all"], defaults=True)


def _run(chosen: argparse.Namespace, names: Sequence[str], *, defaults: bool) -> int:
    from .commands.reproduce import print_list, run_experiments

    if chosen.list:
        return print_list(chosen.data, defaults=defaults)
    return run_experiments(
        names,
        chosen.output,
        defaults=defaults,
        quick=chosen.quick,
        data_home=chosen.data,
        n_jobs=chosen.jobs,
        page=chosen.page,
        dask=chosen.dask,
    )


def _benchmark(chosen: argparse.Namespace) -> int:
    from .commands.benchmark import run

    return run(chosen)


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "demo": _demo,
    "reproduce": _reproduce,
    "defaults": _defaults,
    "benchmark": _benchmark,
}
