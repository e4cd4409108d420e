"""Commands and their options, as `argparse` parsers, and the checks of a call before anything is read.

Nothing heavy is imported for them. A wrong call is answered in one line, ``kernelweave compare: error: ...; see
kernelweave compare --help``, and exit status 2. What is wrong in view of other options, or of files, is a `ValueError`
or an `OSError` of `check`, which `messages.guarded` prints in one line.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from .._version import __version__
from .messages import one_line

METHODS = (
    *(
        "auto",
        "alone:VIEW",
        "concatenation",
        "mean",
        "least-squares",
        "lp",
        "lp-least-squares",
        "lp-scales",
        "completed",
    ),
    *("lp-completed", "convex", "localized", "projected", "stacking", "linear", "coxnet", "forest", "boosting"),
)
EXAMPLES = {
    "compare": "kernelweave compare rna.csv protein.csv clinical.tsv --target labels.csv:diagnosis --id sample "
    "--out results/",
    "fit": "kernelweave fit rna.csv protein.csv --target labels.csv:diagnosis --method localized --out model.kw",
    "predict": "kernelweave predict results/best.kw rna-new.csv protein=protein-new.csv --out predictions.csv",
    "explain": "kernelweave explain results/best.kw rna-new.csv protein=protein-new.csv --out why/",
    "report": "kernelweave report results/",
}
MOVED = ("reproduce", "defaults", "benchmark")  # commands of `experiments`, which is not part of the library
# Options that say what a column holds, and the kind of column of each.
KINDS = {"text": "text", "category": "category", "number": "number", "drop": "left out"}
_LARGEST_SEED = 2**32 - 1
_FOLDERS = ("compare", "explain", "report")  # commands whose --out is a folder
_SUFFIX = re.compile(r"(\.(csv|tsv|tab|txt|parquet|pq|npy|npz|h5mu|h5ad))(\.(gz|bz2|xz))*$", re.IGNORECASE)
SPREADSHEET = re.compile(r"\.(xlsx|xlsm|xlsb|xls|ods|numbers)$", re.IGNORECASE)
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def whole(least: int, largest: float = math.inf) -> Any:
    def number(text: str) -> int:
        value = int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else None
        if value is None or not least <= value <= largest:
            upper = "" if largest == math.inf else f" and at most {largest:.0f}"
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}{upper}, not {text!r}")
        return value

    return number


def positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return value


def times(text: str) -> list[float]:
    """Increasing times of "365,730" or "365 730"."""
    words = re.split(r"[,;\s]+", text.strip().strip(",;"))
    try:
        found = sorted({float(word) for word in words})
    except ValueError:
        found = [math.nan]
    if not all(0.0 <= time < math.inf for time in found):
        raise argparse.ArgumentTypeError(f"must be numbers of at least 0, such as 365,730, not {text!r}")
    return found


def duration(text: str) -> float:
    """Seconds of "90", "90s", "30m", "2h" or "1h30m"."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip().lower())
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    whole = "".join(number + unit for number, unit in parts) == text.strip().lower()
    if not whole or not 0 < seconds < math.inf or any(not unit for _, unit in parts[:-1]):
        raise argparse.ArgumentTypeError(f"must be a time such as 90s, 30m or 2h, not {text!r}")
    return seconds


def id_column(text: str) -> str | bool:
    """The name of a column; False for "none"."""
    if not text:
        raise argparse.ArgumentTypeError('must be the name of a column, or "none", not an empty text')
    return False if text == "none" else text


def separator(text: str) -> str:
    text = {r"\t": "\t", "tab": "\t"}.get(text, text)
    if len(text) != 1:
        raise argparse.ArgumentTypeError(rf"must be one character, such as ; or \t (tab), not {text!r}")
    return text


def encoding(text: str) -> str:
    try:
        "".encode(text)
    except (LookupError, ValueError):
        raise argparse.ArgumentTypeError(f"must be the name of an encoding, such as cp1252, not {text!r}") from None
    return text


def path(text: str) -> Path:
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"must be a path, not {text!r}")
    return Path(os.path.expanduser(text))  # that of pathlib fails where there is no such user


class Parser(argparse.ArgumentParser):
    """A parser that answers a wrong call in one line."""

    def error(self, message: str) -> NoReturn:
        text = one_line(message)
        end = "" if text.endswith("?") else ";"
        print(f"{self.prog}: error: {text}{end} see {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of a call; `command` is the command's name or None, `parser` its parser, `words` the call itself."""
    parser = build_parser()
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in MOVED:
        parser.error(f"{words[0]} has moved: run python -m experiments {words[0]} in a clone of the repository")
    chosen = parsed(parser, words)
    chosen.words = list(words)
    return chosen


def parsed(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    """The options of a call; those that the parser does not know are an error of the command."""
    chosen, rest = parser.parse_known_args(words)
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
    return parser


def add_command(commands: Any, name: str, summary: str, description: str = "") -> Parser:
    """A command with its parser; the help of those for people's own files ends with an example."""
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
    parser = add_command(
        commands,
        "compare",
        "compare ways to combine the views in your files, and say which to use",
        "Compare each view alone, combinations of views and common models of all columns under nested\n"
        "cross-validation. Prints one table and a sentence that says what to use, and writes report.html,\n"
        "report.json, report.md, folds.csv, out_of_fold.csv (what each method predicts of samples that it was\n"
        "not fitted to) and best.kw. An interrupted run goes on where it stopped.",
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
        help="compare these only (default: all that the data allow): alone (each view by itself), "
        f"{', '.join(METHODS)}",
    )
    group.add_argument(
        "--max-time",
        type=duration,
        metavar="TIME",
        help="start no further fold after this time, such as 90s, 30m or 2h; the same call goes on later",
    )
    group.add_argument(
        "--margin",
        type=positive,
        metavar="NUMBER",
        help="how much lower the score of a simpler method may be for it to count as good (default 0.02, two points "
        "of a share; 0.05 of R2)",
    )
    _add_scoring(group)
    add_dask(group)
    _add_run_options(parser)


def _add_scoring(group: Any) -> None:
    group.add_argument(
        "--scoring",
        metavar="NAME",
        help="the score that decides, by scikit-learn's name, such as roc_auc, f1_macro or neg_mean_absolute_error "
        "(default: accuracy; balanced accuracy where a class is rare; R2 of numbers; concordance of times to an event)",
    )
    group.add_argument(
        "--positive",
        metavar="LABEL",
        help="the positive one of two classes, of which f1, precision, recall, jaccard and average_precision are "
        "(default: the second in sorted order)",
    )
    group.add_argument(
        "--class-weight",
        choices=["auto", "balanced", "none"],
        default="auto",
        help="weight the errors of a class by the inverse of its share (default auto: both are tried where balanced "
        "accuracy decides)",
    )


def _add_fit(commands: Any) -> None:
    parser = add_command(
        commands,
        "fit",
        "fit one method on your files and save the model",
        "Fit one method, its setting chosen by cross-validation, and save the model for predict and explain. NPY and\n"
        "Parquet files that take more than a quarter of the free memory, and folders of their parts, are read block\n"
        "by block, with approximate kernels: a fifth of the samples, at most 5000, choose the setting.",
    )
    _add_training_files(parser)
    _add_out(parser, Path("model.kw"), "file of the model (default model.kw)")
    parser.add_argument("--method", default="auto", metavar="METHOD", help=f"{', '.join(METHODS)} (default auto)")
    _add_in_blocks(parser)
    _add_scoring(parser)
    _add_run_options(parser)


def _add_predict(commands: Any) -> None:
    parser = add_command(
        commands,
        "predict",
        "predict new samples with a saved model",
        "Write label, decision values and calibrated probabilities of each sample (or its predicted number, or its\n"
        "risk of an event and the chance to be without it after --times). Files are read block by block, so that they\n"
        "may be larger than memory. Views may be missing. With --target the\n"
        "predictions are scored: all scores with 95 % intervals, and what is predicted for each class.",
    )
    _add_new_files(parser)
    _add_out(
        parser,
        Path("predictions.csv"),
        "file of the predictions, .csv or .parquet (default predictions.csv; - for standard output)",
    )
    _add_in_blocks(parser)
    parser.add_argument(
        "--times",
        type=times,
        metavar="TIMES",
        help="of a model of times until an event: also write the chance to be without it after these times, such as "
        "365,730, in the unit of the training times",
    )
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
    parser = add_command(
        commands,
        "explain",
        "explain what a saved model predicts for new samples",
        "Write what each view contributes to the decision value of each sample (contributions.csv), the weights of\n"
        "kernels (weights.csv) and of features where kernels are linear (features.csv), and a report (report.html).\n"
        "With --target the report says how good the predictions of these samples are.",
    )
    _add_new_files(parser)
    _add_out(parser, Path("why"), "folder of the explanations (default why/)")


def _add_report(commands: Any) -> None:
    parser = add_command(
        commands,
        "report",
        "draw a report again from its report.json",
        "Draw report.html and report.md again from the report.json of compare or explain.",
    )
    parser.add_argument("results", type=path, metavar="RESULTS", help="folder with a report.json, or such a file")
    _add_out(parser, None, "folder of report.html and report.md (default: where report.json is)")


def _add_demo(commands: Any) -> None:
    parser = add_command(commands, "demo", "compare ways to combine six views of handwritten digits")
    parser.add_argument("--output", type=Path, default=Path("kernelweave-demo.png"), help="where to save the picture")
    parser.add_argument("--repeats", type=whole(1), default=5, help="repeats of two-fold cross-validation (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the splits (default 0)")


def _add_training_files(parser: Parser) -> None:
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
        "--event",
        metavar="FILE:COLUMN[=VALUE]",
        help="the target holds times until an event: this column says where it happened (yes or no, 1 or 0); other "
        "samples are censored, last seen without it. With =VALUE, such as labels.csv:status=dead, that value means it",
    )
    group.add_argument(
        "--keep-column",
        action="append",
        default=[],
        metavar="FILE:COLUMN",
        help="keep a column that has the name of the target, which is left out otherwise; may be repeated",
    )
    _add_reading(group, "similarities of the samples, a square table with ids in its first row and column")
    _add_columns(parser)
    parser.add_argument(
        "--task",
        choices=["classification", "regression", "survival"],
        help="(default: by what the target holds; survival with --event)",
    )
    parser.add_argument(
        "--groups",
        metavar="FILE:COLUMN",
        help="samples of one group, such as a patient, are never in training and test at once",
    )


def _add_columns(parser: Parser) -> None:
    group = parser.add_argument_group(
        "columns", "What columns hold is found out, and is in the report. COLUMN may be FILE:COLUMN; may be repeated."
    )
    for option, meaning in (
        ("text", "text, of which the words count"),
        ("category", "categories, whole numbers too"),
        ("number", "numbers"),
        ("drop", "nothing to be used: leave the column out"),
    ):
        group.add_argument(f"--{option}", action="append", default=[], metavar="COLUMN", help=f"it holds {meaning}")
    group.add_argument(
        "--log",
        action="append",
        default=[],
        metavar="VIEW",
        help="take the numbers x of this view as log(1 + x); may be repeated",
    )


def _add_new_files(parser: Parser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a file that compare or fit wrote, such as results/best.kw")
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="a view of the new samples, named as in training: rna=rna-new.csv"
    )
    group = parser.add_argument_group("files")
    group.add_argument(
        "--target",
        metavar="FILE:COLUMN",
        help="the true labels or numbers, such as labels.csv:diagnosis, or a column of one of the files: the "
        "predictions are scored by them",
    )
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
    group.add_argument(
        "--na-values",
        nargs="+",
        action="extend",
        default=[],
        metavar="TEXT",
        help="further cells of text files that mean a missing value, such as 999 or unknown; predict and explain also "
        "take those of the training",
    )


def _add_out(parser: Parser, default: Path | None, text: str) -> None:
    parser.add_argument("--out", type=path, default=default, metavar="PATH", help=text)


def _add_run_options(parser: Parser) -> None:
    group = parser.add_argument_group("run")
    group.add_argument("--seed", type=whole(0, _LARGEST_SEED), default=0, metavar="N", help="random seed (default 0)")
    group.add_argument(
        "--jobs",
        type=whole(1),
        default=cores(),
        metavar="N",
        help="threads: so many folds of a comparison run at a time, and so many classes of a model or trees of a "
        "forest are fitted at a time (default: one for each core)",
    )
    group.add_argument("--quick", action="store_true", help="fewer settings to choose from: a first impression")


def add_dask(parser: Any) -> None:
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run folds on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786, whose workers read the "
        "same files (kernelweave[dask])",
    )


def _no_option(word: str, parser: Parser) -> str:
    name = word.partition("=")[0]
    known = [text for action in parser._actions for text in action.option_strings]
    close = get_close_matches(name, known, n=1)
    return f"there is no option {name}" + (f"; did you mean {close[0]}?" if close else "")


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check(chosen: argparse.Namespace) -> None:
    """Check the options of a command for people's own files; `methods` and `id` are brought into their final form.

    Errors name the option and the remedy. Several ``--id`` become a mapping from files to columns.
    """
    _check_na_values(chosen)
    views = _checked_files(chosen)
    if getattr(chosen, "id", None):
        chosen.id = _id_by_file(chosen, views)
    if hasattr(chosen, "model"):
        _check_readable(chosen.model, "the model")
    if hasattr(chosen, "results"):
        _check_results(chosen.results)
    if getattr(chosen, "class_weight", None) == "none":
        chosen.class_weight = None
    if hasattr(chosen, "task"):
        _check_survival(chosen)
    if chosen.command == "compare":
        chosen.methods = _split_methods(chosen.methods, views)
        for name in chosen.methods or []:
            check_method(name, views)
    if chosen.command == "fit":
        check_method(chosen.method, views)
        if chosen.method == "alone":
            raise ValueError(f"--method alone needs a view, such as alone:{next(iter(views))}")
    _check_diagonals(chosen)
    if chosen.out is not None:
        _check_out(chosen, views)


def _check_survival(chosen: argparse.Namespace) -> None:
    if chosen.task == "survival" and chosen.event is None:
        raise ValueError("--task survival needs --event FILE:COLUMN, which says which times are times of an event")
    if chosen.event is not None and chosen.task not in (None, "survival"):
        raise ValueError(f"--event is for times until an event, not for --task {chosen.task}; leave one of them out")
    if chosen.event is not None:
        chosen.task = "survival"


def _check_na_values(chosen: argparse.Namespace) -> None:
    file = next((word for word in getattr(chosen, "na_values", []) if Path(word).is_file()), None)
    if file is not None:
        raise ValueError(f"{file!r} behind --na-values is a file, not a value; give the files before the options")


def check_method(name: str, views: Collection[str] = ()) -> None:
    if name in METHODS or name == "alone" or (name.startswith("alone:") and name != "alone:"):
        return
    if Path(name).exists():
        raise ValueError(f"{name!r} behind --methods is a file, not a method; give the files before the options")
    known = [*(method for method in METHODS if method != "alone:VIEW"), *(f"alone:{view}" for view in views)]
    close = get_close_matches(name, known, n=1)
    meant = f"did you mean {close[0]!r}?" if close else f"the methods are {', '.join(METHODS)}"
    raise ValueError(f"there is no method {name!r}; {meant}")


def _split_methods(given: Sequence[str] | None, views: Collection[str]) -> list[str] | None:
    """Methods that are given as "mean,lp" or as "mean lp", each once."""
    if given is None:
        return None
    whole = {f"alone:{view}" for view in views}
    parts = [part for word in given for part in ([word] if word in whole else word.split(","))]
    names = list(dict.fromkeys(part.strip() for part in parts if part.strip()))
    if not names:
        raise ValueError(f"--methods names no method; the methods are {', '.join(METHODS)}")
    return names


def _checked_files(chosen: argparse.Namespace) -> dict[str, str]:
    views: dict[str, str] = {}
    if not hasattr(chosen, "files"):
        return views
    if not chosen.files and not chosen.kernel:
        raise ValueError("give at least one file, such as rna.csv, or a matrix by --kernel name=matrix.csv")
    entries = [named(word) for word in chosen.files]
    for word in chosen.kernel:
        name, equals, path = word.partition("=")
        if not equals or not name.strip() or not path:
            raise ValueError(f"--kernel {word}: write name=file, such as --kernel similarity={word.strip('=')}")
        entries.append((name, path))
    for place, (name, path) in enumerate(entries):
        _check_readable(path, "a file", folder=place < len(chosen.files) and hasattr(chosen, "in_blocks"))
        if name in views:
            raise ValueError(
                f"the view {name!r} would be both {views[name]} and {path}; give one of them another name, such as "
                f"{name}2={path}"
            )
        views[name] = path
    return views


def _id_by_file(chosen: argparse.Namespace, views: dict[str, str]) -> str | bool | dict[str, str]:
    """One column for all files, or a mapping from files to columns where some have a column of their own."""
    files = {name: Path(path).name for name, path in views.items()}
    for place in (getattr(chosen, name, None) for name in ("target", "groups", "event")):
        starts = [(place or "")[: colon.start()] for colon in re.finditer(":", place or "")]
        found = next((Path(start).name for start in starts if without_suffix(start) != start), None)
        if found is not None and found not in files.values():
            files[found] = found
    common: list[str | bool] = []
    own: dict[str, str] = {}
    for word in chosen.id if isinstance(chosen.id, list) else [chosen.id]:
        left, equals, column = ("", "", "") if word is False else word.partition("=")
        if equals and column and (left in files or left in files.values()):
            own[left] = column
        else:
            common.append(word)
    if len(common) > 1:
        raise ValueError(f"--id names two columns for all files, {common[0]!r} and {common[1]!r}; write FILE=COLUMN")
    if not own:
        return common[0]
    if common == [False]:
        raise ValueError('--id none is for all files; give each of them a column, FILE=COLUMN, or "none" alone')
    mapping = {}
    for name, file in files.items():
        column = own.get(name) or own.get(file) or (common[0] if common else None)
        if column is not None:
            mapping[name if list(files.values()).count(file) > 1 else file] = str(column)
    return mapping


def without_suffix(name: str) -> str:
    """A file's name without the suffixes of its format and compression."""
    return _SUFFIX.sub("", name)


def named(word: str) -> tuple[str, str]:
    """The view and the path of a file that is given as ``path`` or ``view=path``."""
    before, equals, after = word.partition("=")
    if equals and before and not set(before) & set("/\\") and not Path(word).exists():
        return before, after
    return without_suffix(Path(word).name), word


def _check_readable(path: str, what: str, *, folder: bool = False) -> None:
    file = Path(os.path.expanduser(path))
    if path and file.is_dir() and not folder:
        raise ValueError(f"{path!r} is a folder, not {what}; give the files in it")
    if not path or not file.exists():
        there = file.parent
        close = get_close_matches(file.name, [entry.name for entry in there.iterdir()], n=1) if there.is_dir() else []
        meant = f"; did you mean {there / close[0]}?" if close else f" (the working directory is {Path.cwd()})"
        raise FileNotFoundError(f"there is no file {path!r}{meant}")
    if not os.access(file, os.R_OK):
        raise PermissionError(f"the file {path!r} cannot be read: permission denied")


def _check_results(path: Path) -> None:
    if path.is_dir() and not (path / "report.json").is_file():
        raise FileNotFoundError(f"there is no report.json in {path}; compare and explain write one into --out")
    if not path.is_dir():
        _check_readable(str(path), "a report")
        if path.suffix.lower() != ".json":
            what = "the page itself" if path.suffix.lower() in (".html", ".htm") else "no report.json"
            raise ValueError(f"{path} is {what}; give the report.json beside it, or the folder of both")


def _check_diagonals(chosen: argparse.Namespace) -> None:
    matrices = [word.partition("=")[0] for word in getattr(chosen, "kernel", [])]
    for word in getattr(chosen, "diagonal", []):
        name, _, text = word.partition("=")
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not name or not math.isfinite(number):
            raise ValueError(f"--diagonal {word}: write name=number, such as --diagonal similarity=1")
        if name not in matrices:
            raise ValueError(f"--diagonal {word}: there is no --kernel {name}=FILE")


def _check_out(chosen: argparse.Namespace, views: dict[str, str]) -> None:
    """Refuse a place for the results that cannot be written, or that would replace what is read."""
    out: Path = chosen.out
    if chosen.command in _FOLDERS and out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file; {chosen.command} needs a folder")
    if chosen.command not in _FOLDERS and out.is_dir():
        raise ValueError(f"--out {out} is a folder; {chosen.command} needs a file, such as {out / _usual(chosen)}")
    folder = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if chosen.command == "predict" and SPREADSHEET.search(out.name):
        raise ValueError(
            f"--out {out}: predictions are written as .csv, which spreadsheets open, or .parquet; write --out "
            f"{out.with_suffix('.csv')}"
        )
    if chosen.command not in _FOLDERS and folder == out:
        read = [*views.values(), *([chosen.model] if hasattr(chosen, "model") else [])]
        for path in read:
            if out.samefile(Path(os.path.expanduser(path))):
                raise ValueError(f"--out {out} would replace {path}, which is read; choose another path")
        return
    if not folder.is_dir():
        raise ValueError(f"--out {out} cannot be written: {folder} is a file")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"--out {out} cannot be written: no permission to write in {folder}")


def _usual(chosen: argparse.Namespace) -> str:
    return "model.kw" if chosen.command == "fit" else "predictions.csv"
