"""Paths and targets that the user gives: files, folders and arrays, checked, each with the name of its view.

`sources` are files that are read whole, each by the reader of its format (`READERS`); `opened_views` are files, folders
and arrays whose rows stay where they are.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..validation import shown
from ..validation.columns import SEPARATOR
from .base import Loaded, Options, Source, check_once, view_name
from .rows import (
    ARRAY_SUFFIXES,
    MODALITY_SUFFIXES,
    NPY,
    PARQUET_SUFFIXES,
    ArrayRows,
    NpyRows,
    ParquetRows,
    SeveralParts,
    StoredRows,
    read_arrays,
    read_modalities,
    read_parquet,
)
from .text import COMPRESSIONS, SEPARATORS, format_suffix, read_text

READERS: dict[str, Callable[[Source, Options, str | None], Loaded]] = {
    **dict.fromkeys(SEPARATORS, read_text),
    **dict.fromkeys(PARQUET_SUFFIXES, read_parquet),
    **dict.fromkeys(ARRAY_SUFFIXES, read_arrays),
    **dict.fromkeys(MODALITY_SUFFIXES, read_modalities),
}
_SPREADSHEETS = (".xlsx", ".xls", ".ods")
_log = logging.getLogger("kernelweave.files")


class TargetPlace(NamedTuple):
    """Where the target stands: a file (None: one of the views' tables) and a column (None: the file's only one)."""

    source: Source | None
    column: str | None


def sources(paths: Any) -> list[Source]:
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if isinstance(paths, Mapping):
        paths = list(paths.items())
    if not isinstance(paths, Iterable):
        raise ValueError(f"paths must be paths of files, or a mapping from view names to paths, not {shown(paths)}")
    found = [_source(entry) for entry in paths]
    if not found:
        raise ValueError("paths is empty; give the path of at least one file")
    named = [(source.name, source.shown) for source in found]
    check_distinct(named, "give them names, such as paths={{'{name}-1': {first!r}, '{name}-2': {second!r}}}")
    return found


def check_distinct(views: Iterable[tuple[str, str]], remedy: str) -> None:
    seen: dict[str, str] = {}
    for name, second in views:
        if name in seen:
            remedy = remedy.format(name=name, first=seen[name], second=second)
            raise ValueError(f"the view {name!r} would be both {seen[name]} and {second}; {remedy}")
        seen[name] = second


def load(source: Source, options: Options, target: str | None) -> Loaded:
    return READERS[format_suffix(source.path.name)](source, options, target)


def target_place(target: Any, views: list[Source], *, role: str = "target") -> TargetPlace:
    """Where a target such as "labels.csv:diagnosis" stands: the file part ends at the first colon that makes it a file.

    A file is looked for as it is given, among the views (by file or name), and beside them. Messages call the column
    its `role`, the target or the groups.
    """
    if isinstance(target, os.PathLike):
        return TargetPlace(_needed(os.fspath(target), views, role), None)
    if isinstance(target, tuple) and len(target) == 2 and isinstance(target[0], str | os.PathLike):
        return TargetPlace(_needed(os.fspath(target[0]), views, role), str(target[1]))
    if not isinstance(target, str) or not target:
        raise ValueError(f"{role} must be 'FILE:COLUMN', the name of a column, or None, not {shown(target)}")
    if target.endswith(":"):
        raise ValueError(f"{role}={target!r} names no column; pass 'FILE:COLUMN'")
    if format_suffix(target) in READERS and _found(target, views) is not None:
        return TargetPlace(_needed(target, views, role), None)
    files = [target[:place] for place, letter in enumerate(target) if letter == ":"]
    for file in files:
        source = _found(file, views)
        if source is not None and format_suffix(source.path.name):  # a file without suffix is none that is meant
            return TargetPlace(_needed(file, views, role), target[len(file) + 1 :])
    for file in [*files, target]:
        if format_suffix(file) in READERS:
            _needed(file, views, role)
    return TargetPlace(None, target)


def _needed(path: str, views: list[Source], role: str) -> Source:
    source = _found(path, views)
    if source is not None:
        _check_file(source.path)
        return source
    folders = sorted({str(view.path.parent) for view in views})
    raise FileNotFoundError(
        f"there is no file {path!r} for the {role}, neither in the working directory ({Path.cwd()}) nor beside the "
        f"views ({', '.join(folders)})"
    )


def _found(path: str, views: list[Source]) -> Source | None:
    given = Path(path).expanduser()
    try:
        if given.is_file():
            same = (view for view in views if view.path.samefile(given))
            return next(same, None) or Source(given, stem_of(given))
    except (OSError, ValueError):  # a text that no path can be
        return None
    by_name = [view for view in views if path in (view.name, view.path.name)]
    if len(by_name) == 1:
        return by_name[0]
    beside = sorted({view.path.parent / given for view in views if (view.path.parent / given).is_file()})
    if len(beside) > 1:
        raise ValueError(
            f"the file {path!r} of the target is there {len(beside)} times, {beside[0]} and {beside[1]}; give the "
            "whole path of one"
        )
    return Source(beside[0], stem_of(given)) if beside else None


def split_entry(entry: Any) -> tuple[Any, Any]:
    name, path = None, entry
    if isinstance(entry, tuple):
        if len(entry) != 2:
            raise ValueError(f"an entry of paths must be a path or (name, path), not {shown(entry)}")
        name, path = entry
    elif isinstance(entry, str) and "=" in entry and not Path(entry).exists():
        before, _, after = entry.partition("=")
        if before and not set(before) & set("/\\"):
            name, path = before, after
    return name, path


def check_name(name: Any, shown: str) -> None:
    if not isinstance(name, str) or not name.strip() or "__" in name or name.endswith("_"):
        raise ValueError(
            f"the view name {name!r} of {shown} must be a text without '__', which separates a view from its columns, "
            "and without '_' at its end"
        )


def _source(entry: Any) -> Source:
    name, path = split_entry(entry)
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ValueError(f"an entry of paths must be a path, not {shown(path)}; stack_views takes data in memory")
    file = Path(os.fspath(path)).expanduser()
    _check_file(file)
    if name is None:
        return Source(file, stem_of(file))
    check_name(name, str(file))
    return Source(file, name, is_named=True)


def _check_file(file: Path) -> None:
    if file.is_dir():
        raise ValueError(f"{file} is a folder; give its files, such as paths=sorted(Path({str(file)!r}).glob('*.csv'))")
    if not file.exists():
        pattern = "; a pattern is not expanded: pass sorted(glob.glob(pattern))" if set("*?") & set(str(file)) else ""
        raise FileNotFoundError(f"there is no file {str(file)!r} (the working directory is {Path.cwd()}){pattern}")
    suffix = format_suffix(file.name)
    if suffix not in READERS:
        remedy = "save the sheet as CSV" if suffix in _SPREADSHEETS else "the name must end with one of them"
        known = ", ".join(READERS)
        raise ValueError(
            f"{file} has the suffix {suffix!r}, and files of these can be read: {known} (text also compressed, "
            f"{', '.join(COMPRESSIONS)}); {remedy}"
        )


def stem_of(file: Path) -> str:
    stem = file.name
    suffix = format_suffix(stem)
    stem = stem[: stem.lower().rindex(suffix)] if suffix else stem
    name = view_name(stem)
    if not name:
        raise ValueError(f"{file} has no name that a view could have; give one, such as paths={{'rna': {str(file)!r}}}")
    if name != stem:
        _log.info("%s: the view is called %r, because '__' separates a view from its columns", file, name)
    return name


STORED_SUFFIXES = (NPY, *PARQUET_SUFFIXES)
_TABLES = (".csv", ".tsv", ".npz")  # that may hold rows, too


@dataclass(frozen=True)
class Opened:
    """A view's name and rows, and whether its columns are named as in X already."""

    name: str
    rows: StoredRows
    is_whole: bool = False

    def named(self, place: int) -> str:
        own = self.rows.columns[place].name
        return own if self.is_whole else f"{self.name}{SEPARATOR}{own}"


def opened_views(paths: Any) -> list[Opened]:
    if isinstance(paths, str | os.PathLike):
        return [_of_one_path(paths)]
    if isinstance(paths, np.ndarray):
        raise ValueError("an array has no name that its view could have; pass a mapping, such as {'rna': array}")
    entries = list(paths.items()) if isinstance(paths, Mapping) else paths
    if not isinstance(entries, Iterable) or hasattr(entries, "iloc"):
        raise ValueError(
            f"paths must be paths, or a mapping from view names to paths or arrays, not {shown(paths)}; estimators "
            "take data frames as they are"
        )
    found = [_one(*split_entry(entry)) for entry in entries]
    if not found:
        raise ValueError("paths is empty; give the path of at least one file")
    named = [(one.name, one.rows.shown) for one in found]
    check_distinct(named, "give them names, such as paths={{'{name}-1': ..., '{name}-2': ...}}")
    return found


def _one(name: Any, given: Any) -> Opened:
    if isinstance(given, np.ndarray):
        check_name(name, "an array")
        return Opened(name, ArrayRows(given, name, f"the array of the view {name!r}"))
    if isinstance(given, list | tuple) and given and name is not None:
        check_name(name, "several files")
        parts = [stored_rows(_existing_path(part), name) for part in given]
        return Opened(name, parts[0] if len(parts) == 1 else SeveralParts(parts, f"the parts of the view {name!r}"))
    path = _existing_path(given)
    if name is not None:
        check_name(name, str(path))
    own = name or (view_name(path.resolve().name) if path.is_dir() else stem_of(path))
    return Opened(own, stored_rows(path, own))


def _existing_path(given: Any) -> Path:
    if not isinstance(given, str | os.PathLike) or not os.fspath(given):
        raise ValueError(
            f"an entry of paths must be a path, an array of NumPy or, by view, a list of paths, not {shown(given)}"
        )
    path = Path(os.fspath(given)).expanduser()
    if not path.exists():
        pattern = "; name the folder, all parts in it are read" if any(sign in path.name for sign in "*?") else ""
        raise FileNotFoundError(
            f"there is no file or folder {str(path)!r} (the working directory is {Path.cwd()}){pattern}"
        )
    return path


def _of_one_path(path: Any) -> Opened:
    """One path alone: a view, or several whose columns are named as in X."""
    one = _one(*split_entry(path))
    is_whole = any(SEPARATOR in name and not name.startswith(SEPARATOR) for name in one.rows.names)
    return Opened(one.name, one.rows, is_whole)


def stored_rows(path: Path, view: str) -> StoredRows:
    """The rows of a file, or of all files of a folder; the only column of a one-dimensional array is called `view`."""
    if not path.is_dir():
        return _of_file(path, view)
    entries = [entry for entry in path.iterdir() if not entry.name.startswith(("_", "."))]
    # Notes and checksums beside the parts are no parts; text that may hold rows is not passed over in silence.
    files = [e for e in entries if e.is_file() and format_suffix(e.name) in (*STORED_SUFFIXES, *_TABLES)]
    files.sort(key=lambda file: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", file.name)])
    formats = {format_suffix(file.name) for file in files}
    formats = {PARQUET_SUFFIXES[0] if suffix in PARQUET_SUFFIXES else suffix for suffix in formats}
    _check_parts(path, files, [entry.name for entry in entries if entry.is_dir()])
    if len(formats) > 1:
        raise ValueError(
            f"the folder {path} has files of several formats ({', '.join(sorted(formats))}); it needs the parts of one "
            "table only, all NPY or all Parquet"
        )
    parts = [_of_file(file, view) for file in files]
    parts = [part for part in parts if part.n_rows] or parts[:1]
    return parts[0] if len(parts) == 1 else SeveralParts(parts, str(path))


def _check_parts(path: Path, files: list[Path], folders: list[str]) -> None:
    keys = [name for name in folders if "=" in name]
    if keys:
        raise ValueError(
            f"the folder {path} is partitioned: its parts are in folders such as {keys[0]!r}, whose names are values "
            f"of the column {keys[0].partition('=')[0]!r}; write the table as one folder of parts with that column, "
            "such as pyarrow.dataset.write_dataset(pyarrow.dataset.dataset(OLD, partitioning='hive'), NEW, "
            "format='parquet')"
        )
    if not files:
        inside = f"; there are folders in it, such as {folders[0]!r}: open that one" if folders else ""
        raise ValueError(f"the folder {path} has no NPY or Parquet files; it needs the parts of one table{inside}")


def _of_file(file: Path, view: str) -> StoredRows:
    suffix = format_suffix(file.name)
    if suffix == NPY:
        return NpyRows(file, view)
    if suffix in PARQUET_SUFFIXES:
        rows = ParquetRows(file)
        check_once(rows.names, rows.names, rows.shown)
        return rows
    if suffix in SEPARATORS:
        raise ValueError(
            f"{file} is a text file, of which no row can be found without reading those before it; convert it once: "
            "write each of the blocks that pandas.read_csv(FILE, chunksize=100000) gives by "
            "to_parquet(f'FOLDER/part-{number:05}.parquet'), and open FOLDER (read_views reads text that fits into "
            "memory)"
        )
    raise ValueError(
        f"{file} has the suffix {suffix!r}, and open_views takes {NPY}, {', '.join(PARQUET_SUFFIXES)} and folders "
        "of such files; read_views takes other formats, for data that fit into memory"
    )


def first_part(rows: StoredRows) -> StoredRows:
    return rows.parts[0] if isinstance(rows, SeveralParts) else rows
