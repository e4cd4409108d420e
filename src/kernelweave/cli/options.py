"""Commands and their options, as `argparse` parsers; nothing heavy is imported for them.

A wrong call is answered in one line, ``kernelweave compare: error: ...; see kernelweave compare --help``, and exit
status 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from .._version import __version__
from .failing import one_line
from .option_types import duration, encoding, id_column, path, separator, whole

METHODS = (
    *("alone:VIEW", "concatenation", "mean", "least-squares", "lp", "convex", "localized", "projected"),
    *("stacking", "linear", "forest", "boosting"),
)
EXAMPLES = {
    "compare": "kernelweave compare rna.csv protein.csv clinical.tsv --target labels.csv:diagnosis --id sample "
    "--out results/",
    "fit": "kernelweave fit rna.csv protein.csv --target labels.csv:diagnosis --method localized --out model.kw",
    "predict": "kernelweave predict results/best.kw rna-new.csv protein=protein-new.csv --out predictions.csv",
    "explain": "kernelweave explain results/best.kw rna-new.csv protein=protein-new.csv --out why/",
    "report": "kernelweave report results/",
}
_LARGEST_SEED = 2**32 - 1


class Parser(argparse.ArgumentParser):
    """A parser that answers a wrong call in one line."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong in one line and exit with status 2."""
        text = one_line(message)
        end = "" if text.endswith("?") else ";"
        print(f"{self.prog}: error: {text}{end} see {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of a call; `command` is the command's name, None where there is none, and `parser` its parser.

    What can be wrong with options in view of others, and of files, is checked by `checking.check`, which also turns
    several ``--id`` into a mapping from files to columns.
    """
    parser = build_parser()
    chosen, rest = parser.parse_known_args(arguments)
    own = chosen.parser
    unknown = [word for word in rest if word.startswith("-")]
    if unknown:
        own.error(_no_option(unknown[0], own))
    if rest and not hasattr(chosen, "files"):
        own.error(f"unexpected words: {' '.join(rest)}")
    if rest:  # files that stand behind an option
        chosen.files = [*chosen.files, *rest]
    if getattr(chosen, "id", None) is not None and len(chosen.id) == 1:
        chosen.id = chosen.id[0]
    return chosen


def build_parser() -> Parser:
    """The parser of the whole command line."""
    parser = Parser(prog="kernelweave", description="Learn how to combine kernels over several views.")
    parser.add_argument("--version", action="version", version=f"kernelweave {__version__}")
    parser.set_defaults(command=None, parser=parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_compare(commands)
    _add_fit(commands)
    _add_predict(commands)
    _add_explain(commands)
    _add_report(commands)
    _add_demo(commands)
    _add_reproduce(commands)
    _add_defaults(commands)
    _add_benchmark(commands)
    return parser


def _add(commands: Any, name: str, summary: str, description: str = "") -> Parser:
    """A command; those for people's own files end their help with an example."""
    epilog = f"example:\n  {EXAMPLES[name]}" if name in EXAMPLES else None
    parser = commands.add_parser(
        name,
        help=summary,
        description=description or summary,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=name, parser=parser)
    return parser


def _add_compare(commands: Any) -> None:
    parser = _add(
        commands,
        "compare",
        "compare ways to combine the views in your files, and say which to use",
        "Compare each view alone, combinations of views and common models of all columns under nested\n"
        "cross-validation. Prints one table and a sentence that says what to use, and writes report.html,\n"
        "report.json, report.md, folds.csv and best.kw. An interrupted run goes on where it stopped.",
    )
    _add_training_files(parser)
    _add_out(parser, Path("results"), "folder of the results (default results/)")
    group = parser.add_argument_group("comparison")
    group.add_argument("--folds", type=whole(2), metavar="N", help="outer folds (default 5, 3 with --quick)")
    group.add_argument("--repeats", type=whole(1), default=1, metavar="N", help="repeats of the folds (default 1)")
    group.add_argument(
        "--methods",
        nargs="+",
        action="extend",
        metavar="METHOD",
        help=f"compare these only (default: all that the data allow): alone (each view by itself), {_listed_methods()}",
    )
    group.add_argument(
        "--max-time",
        type=duration,
        metavar="TIME",
        help="start no further fold after this time, such as 90s, 30m or 2h; the same call goes on later",
    )
    _add_dask(group)
    _add_run_options(parser)


def _add_fit(commands: Any) -> None:
    parser = _add(
        commands,
        "fit",
        "fit one method on your files and save the model",
        "Fit one method, its setting chosen by cross-validation, and save the model for predict and explain. NPY and\n"
        "Parquet files that take more than a quarter of the free memory, and folders of their parts, are read block\n"
        "by block, with approximate kernels: a fifth of the samples, at most 5000, choose the setting.",
    )
    _add_training_files(parser)
    _add_out(parser, Path("model.kw"), "file of the model (default model.kw)")
    parser.add_argument("--method", default="mean", metavar="METHOD", help=f"{_listed_methods()} (default mean)")
    _add_in_blocks(parser)
    _add_run_options(parser)


def _add_predict(commands: Any) -> None:
    parser = _add(
        commands,
        "predict",
        "predict new samples with a saved model",
        "Write label, decision values and calibrated probabilities of each sample (or its predicted number). Files\n"
        "are read block by block, so that they may be larger than memory. Views may be missing.",
    )
    _add_new_files(parser)
    _add_out(
        parser,
        Path("predictions.csv"),
        "file of the predictions, .csv or .parquet (default predictions.csv; - for standard output)",
    )
    _add_in_blocks(parser)
    parser.add_argument(
        "--block-size", type=whole(1), default=10_000, metavar="N", help="samples to read at a time (default 10000)"
    )


def _add_in_blocks(parser: Parser) -> None:
    parser.add_argument(
        "--in-blocks",
        action="store_true",
        help="leave rows in their NPY and Parquet files, which have the same samples in the same order, and read them "
        "block by block (default: where they take more than a quarter of the free memory)",
    )


def _add_explain(commands: Any) -> None:
    parser = _add(
        commands,
        "explain",
        "explain what a saved model predicts for new samples",
        "Write what each view contributes to the decision value of each sample (contributions.csv), the weights of\n"
        "kernels (weights.csv) and of features where kernels are linear (features.csv), and a report (report.html).",
    )
    _add_new_files(parser)
    _add_out(parser, Path("why"), "folder of the explanations (default why/)")


def _add_report(commands: Any) -> None:
    parser = _add(
        commands,
        "report",
        "draw a report again from its report.json",
        "Draw report.html and report.md again from the report.json of compare or explain.",
    )
    parser.add_argument("results", type=path, metavar="RESULTS", help="folder with a report.json, or such a file")
    _add_out(parser, None, "folder of report.html and report.md (default: where report.json is)")


def _add_demo(commands: Any) -> None:
    parser = _add(commands, "demo", "compare ways to combine six views of handwritten digits")
    parser.add_argument("--output", type=Path, default=Path("kernelweave-demo.png"), help="where to save the picture")
    parser.add_argument("--repeats", type=whole(1), default=5, help="repeats of two-fold cross-validation (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the splits (default 0)")


def _add_reproduce(commands: Any) -> None:
    parser = _add(commands, "reproduce", "run the papers' tables, with paper and ours side by side")
    parser.add_argument("names", nargs="*", metavar="TABLE", help='number of a table, such as 5.16; or "all"')
    _add_experiment_options(parser)


def _add_defaults(commands: Any) -> None:
    parser = _add(commands, "defaults", "compare defaults with their alternatives on the data sets that are there")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a default, such as multiclass (default: all)")
    _add_experiment_options(parser)


def _add_benchmark(commands: Any) -> None:
    parser = _add(
        commands,
        "benchmark",
        "compare methods on many data sets of several views, by fixed splits",
        "Compare the library's methods, common models and methods of your own on every data set of several views or\n"
        "kernels that is there, under one budget. Each finished cell is stored; an interrupted run goes on where it\n"
        "stopped. docs/benchmark_enter.md has the rules and how to enter a method.",
    )
    parser.add_argument("names", nargs="*", metavar="SET", help="data sets, or views, masked, kernels (default: all)")
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
        "--jobs", type=whole(1), default=_cores(), metavar="N", help="processes (default: one for each core)"
    )
    parser.add_argument(
        "--max-time",
        type=duration,
        metavar="TIME",
        help="start no further cell after this time, such as 90s, 30m or 2h; the same call goes on later",
    )
    _add_experiment_options(parser, jobs=False)


def _add_training_files(parser: Parser) -> None:
    """The files of views and of the target."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="a view: rna.csv, or with a name for it, rna=path/to/expression.csv"
    )
    group = parser.add_argument_group("files")
    group.add_argument(
        "--target",
        required=True,
        metavar="FILE:COLUMN",
        help="what to predict, such as labels.csv:diagnosis, or a column of one of the files",
    )
    group.add_argument(
        "--keep-column",
        action="append",
        default=[],
        metavar="FILE:COLUMN",
        help="keep a column that has the name of the target, which is left out otherwise; may be repeated",
    )
    _add_reading(group, "similarities of the samples, a square table with ids in its first row and column")
    parser.add_argument("--task", choices=["classification", "regression"], help="(default: by what the target holds)")
    parser.add_argument(
        "--groups",
        metavar="FILE:COLUMN",
        help="samples of one group, such as a patient, are never in training and test at once",
    )


def _add_new_files(parser: Parser) -> None:
    """The model and the files of new samples."""
    parser.add_argument("model", metavar="MODEL", help="a file that compare or fit wrote, such as results/best.kw")
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="a view of the new samples, named as in training: rna=rna-new.csv"
    )
    group = parser.add_argument_group("files")
    _add_reading(group, "similarities of the new samples (rows) with the training samples (columns)")
    group.add_argument(
        "--diagonal",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="similarity of each new sample with itself, for a matrix (default: that of the training samples)",
    )


def _add_reading(group: Any, matrix: str) -> None:
    group.add_argument("--kernel", action="append", default=[], metavar="NAME=FILE", help=f"{matrix}; may be repeated")
    group.add_argument(
        "--id",
        type=id_column,
        action="append",
        metavar="COLUMN",
        help='column of the sample ids; FILE=COLUMN for one file, may be repeated; "none": rows belong together by '
        "their order (default: the first column, if it has ids)",
    )
    group.add_argument("--sep", type=separator, metavar="CHARACTER", help="separator of text files (default: found)")
    group.add_argument("--decimal", choices=[".", ","], default=".", help="decimal mark of text files (default .)")
    group.add_argument("--encoding", type=encoding, metavar="NAME", help="encoding of text files (default UTF-8)")


def _add_out(parser: Parser, default: Path | None, text: str) -> None:
    parser.add_argument("--out", type=path, default=default, metavar="PATH", help=text)


def _add_run_options(parser: Parser) -> None:
    """What the commands share that fit models."""
    group = parser.add_argument_group("run")
    group.add_argument("--seed", type=whole(0, _LARGEST_SEED), default=0, metavar="N", help="random seed (default 0)")
    group.add_argument(
        "--jobs", type=whole(1), default=_cores(), metavar="N", help="threads (default: one for each core)"
    )
    group.add_argument("--quick", action="store_true", help="fewer settings to choose from: a first impression")


def _add_dask(parser: Any) -> None:
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run folds on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786, whose workers read the "
        "same files (kernelweave[dask])",
    )


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
    _add_dask(parser)
    parser.add_argument("--page", type=Path, help="also write the page of all full runs in --output, in Markdown")


def _no_option(word: str, parser: Parser) -> str:
    """A message: there is no such option."""
    name = word.partition("=")[0]
    known = [text for action in parser._actions for text in action.option_strings]
    close = get_close_matches(name, known, n=1)
    return f"there is no option {name}" + (f"; did you mean {close[0]}?" if close else "")


def _listed_methods() -> str:
    return ", ".join(METHODS)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
