"""The command line: ``kernelweave compare``, ``fit``, ``predict``, ``explain`` and ``report`` for people's own files.

``kernelweave demo`` compares ways to combine six views of handwritten digits.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

from .messages import guarded
from .options import check, parse

__all__ = ["main"]

_MODULES = {"predict": "prediction", "explain": "explanation"}  # of commands that are not called as their module


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
    return guarded(chosen.parser.prog, lambda: _run(chosen))


def _run(chosen: argparse.Namespace) -> int:
    """Check a call and run its command, the function `run` of a module whose import takes a while."""
    if chosen.command != "demo":
        check(chosen)
    return import_module(f".{_MODULES.get(chosen.command, chosen.command)}", __package__).run(chosen)
