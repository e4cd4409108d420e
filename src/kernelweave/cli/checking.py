"""What can be known to be wrong with a call before anything is read: methods, paths and names.

Wrong calls are `ValueError` or `OSError`, which `failing.guarded` prints in one line.
"""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path

from .options import METHODS

_FOLDERS = ("compare", "explain", "report")  # commands whose --out is a folder
_SUFFIX = re.compile(r"(\.(csv|tsv|tab|txt|parquet|pq|npy|npz|h5mu|h5ad))(\.(gz|bz2|xz))*$", re.IGNORECASE)


def check(chosen: argparse.Namespace) -> None:
    """Check the options of a command for people's own files; `methods` and `id` are brought into their final form.

    Parameters
    ----------
    chosen : Namespace
        As `options.parse` returns it.

    Raises
    ------
    ValueError, OSError
        One that names the option and the remedy.
    """
    views = _checked_files(chosen)
    if getattr(chosen, "id", None):
        chosen.id = _id_by_file(chosen, views)
    if hasattr(chosen, "model"):
        _check_readable(chosen.model, "the model")
    if hasattr(chosen, "results"):
        _check_results(chosen.results)
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


def check_method(name: str, views: Collection[str] = ()) -> None:
    """Refuse a method that is none, and name those that are, or the one that was meant."""
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
    """The views' names and the files that they are in, as far as that is known before files are opened."""
    views: dict[str, str] = {}
    if not hasattr(chosen, "files"):
        return views
    if not chosen.files and not chosen.kernel:
        raise ValueError("give at least one file, such as rna.csv, or a matrix by --kernel name=matrix.csv")
    entries = [_named(word) for word in chosen.files]
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
    for place in (getattr(chosen, "target", None), getattr(chosen, "groups", None)):
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


def _named(word: str) -> tuple[str, str]:
    """Name and path of "name=path" or "path"."""
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
    """Refuse a folder without report.json."""
    if path.is_dir() and not (path / "report.json").is_file():
        raise FileNotFoundError(f"there is no report.json in {path}; compare and explain write one into --out")
    if not path.is_dir():
        _check_readable(str(path), "a report")


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
