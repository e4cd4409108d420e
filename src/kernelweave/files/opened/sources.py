"""What `open_views` is given: paths of files and folders, and arrays, as rows that can be read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...validation import shown
from ..separators import SEPARATORS, format_suffix
from ..sources import check_name, split_entry, stem_of
from ..table import check_once, view_name
from . import parquet
from .arrays import SUFFIX, ArrayRows, NpyRows
from .parquet import ParquetRows
from .rows import SeveralParts, StoredRows

SEPARATOR = "__"
SUFFIXES = (SUFFIX, *parquet.SUFFIXES)
_TABLES = (".csv", ".tsv", ".npz")  # that may hold rows, too


@dataclass(frozen=True)
class Opened:
    """A view's name and rows, and whether its columns are named as in X already."""

    name: str
    rows: StoredRows
    is_whole: bool = False

    def named(self, place: int) -> str:
        """What a column is called in X."""
        own = self.rows.columns[place].name
        return own if self.is_whole else f"{self.name}{SEPARATOR}{own}"


def opened_views(paths: Any) -> list[Opened]:
    """The views that are given, each with its rows.

    Parameters
    ----------
    paths : mapping, sequence or path
    """
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
    names: dict[str, Opened] = {}
    for one in found:
        other = names.setdefault(one.name, one)
        if other is not one:
            raise ValueError(
                f"the view {one.name!r} would be both {other.rows.shown} and {one.rows.shown}; give them names, such "
                f"as paths={{'{one.name}-1': ..., '{one.name}-2': ...}}"
            )
    return found


def _one(name: Any, given: Any) -> Opened:
    """A view of an array or a path."""
    if isinstance(given, np.ndarray):
        check_name(name, "an array")
        return Opened(name, ArrayRows(given, name, f"the array of the view {name!r}"))
    if isinstance(given, list | tuple) and given and name is not None:
        check_name(name, "several files")
        parts = [stored_rows(_existing(part), name) for part in given]
        return Opened(name, parts[0] if len(parts) == 1 else SeveralParts(parts, f"the parts of the view {name!r}"))
    path = _existing(given)
    if name is not None:
        check_name(name, str(path))
    own = name or (view_name(path.resolve().name) if path.is_dir() else stem_of(path))
    return Opened(own, stored_rows(path, own))


def _existing(given: Any) -> Path:
    """The path of a file or folder that is there."""
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
    """The rows of a file, or of all files of a folder.

    Parameters
    ----------
    path : Path
    view : str
        What the only column of an array of one dimension is called.
    """
    if not path.is_dir():
        return _of_file(path, view)
    entries = [entry for entry in path.iterdir() if not entry.name.startswith(("_", "."))]
    # Notes and checksums beside the parts are no parts; text that may hold rows is not passed over in silence.
    files = [e for e in entries if e.is_file() and format_suffix(e.name) in (*SUFFIXES, *_TABLES)]
    files.sort(key=lambda file: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", file.name)])
    formats = {format_suffix(file.name) for file in files}
    formats = {parquet.SUFFIXES[0] if suffix in parquet.SUFFIXES else suffix for suffix in formats}
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
    """Refuse a folder without parts, and one whose parts are in folders inside it."""
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
    if suffix == SUFFIX:
        return NpyRows(file, view)
    if suffix in parquet.SUFFIXES:
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
        f"{file} has the suffix {suffix!r}, and open_views takes {SUFFIX}, {', '.join(parquet.SUFFIXES)} and folders "
        "of such files; read_views takes other formats, for data that fit into memory"
    )


def first_part(rows: StoredRows) -> StoredRows:
    """The first part of a table."""
    return rows.parts[0] if isinstance(rows, SeveralParts) else rows
