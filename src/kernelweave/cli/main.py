"""Parse the command line and call the command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .._version import __version__


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
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.command is None:
        parser.print_help()
        return 0
    try:
        return chosen.command(chosen)  # begins with imports, which take a while
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130  # as shells do: 128 + SIGINT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kernelweave", description="Learn how to combine kernels over several views.")
    parser.add_argument("--version", action="version", version=f"kernelweave {__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands")
    demo = commands.add_parser("demo", help="compare ways to combine six views of handwritten digits")
    demo.add_argument("--output", type=Path, default=Path("kernelweave-demo.png"), help="where to save the picture")
    demo.add_argument("--repeats", type=_positive, default=5, help="repeats of two-fold cross-validation (default 5)")
    demo.add_argument("--seed", type=int, default=0, help="seed of the splits (default 0)")
    demo.set_defaults(command=_demo)
    _add_reproduce(commands)
    _add_defaults(commands)
    return parser


def _add_reproduce(commands: argparse._SubParsersAction) -> None:
    reproduce = commands.add_parser("reproduce", help="run the papers' tables, with paper and ours side by side")
    reproduce.add_argument("names", nargs="*", metavar="TABLE", help='number of a table, such as 5.16; or "all"')
    _add_run_options(reproduce)
    reproduce.set_defaults(command=_reproduce, usage=reproduce.error)


def _add_defaults(commands: argparse._SubParsersAction) -> None:
    defaults = commands.add_parser(
        "defaults", help="compare defaults with their alternatives on the data sets that are there"
    )
    defaults.add_argument("names", nargs="*", metavar="NAME", help="a default, such as multiclass (default: all)")
    _add_run_options(defaults)
    defaults.set_defaults(command=_defaults)


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    """What the commands share that run experiments."""
    parser.add_argument("--list", action="store_true", help="list what can be run and whether its data are there")
    parser.add_argument("--quick", action="store_true", help="fewer folds and samples")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("kernelweave-results"),
        help="folder for results; a run continues where an earlier one stopped (default kernelweave-results)",
    )
    parser.add_argument("--data", type=Path, help="folder with the data sets (default: KERNELWEAVE_DATA)")
    parser.add_argument("--n-jobs", type=_positive, default=1, help="folds to run at the same time (default 1)")
    parser.add_argument("--page", type=Path, help="also gather all full runs in --output as one Markdown page")


def _demo(chosen: argparse.Namespace) -> int:
    from .demo import run_demo

    run_demo(chosen.output, chosen.repeats, random_state=chosen.seed)
    return 0


def _reproduce(chosen: argparse.Namespace) -> int:
    if not chosen.names and not chosen.list and chosen.page is None:
        chosen.usage("name a TABLE, or --list them, or gather finished ones with --page")
    return _run(chosen, chosen.names, defaults=False)


def _defaults(chosen: argparse.Namespace) -> int:
    return _run(chosen, chosen.names or ["all"], defaults=True)


def _run(chosen: argparse.Namespace, names: Sequence[str], *, defaults: bool) -> int:
    from .reproduce import print_list, run_experiments

    if chosen.list:
        return print_list(chosen.data, defaults=defaults)
    return run_experiments(
        names,
        chosen.output,
        defaults=defaults,
        quick=chosen.quick,
        data_home=chosen.data,
        n_jobs=chosen.n_jobs,
        page=chosen.page,
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
