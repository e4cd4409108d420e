"""Parse the command line and call the command."""

from __future__ import annotations

import argparse
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
    return chosen.command(chosen)


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
    return parser


def _demo(chosen: argparse.Namespace) -> int:
    from .demo import run_demo  # matplotlib is slow to import

    run_demo(chosen.output, chosen.repeats, chosen.seed)
    return 0


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
