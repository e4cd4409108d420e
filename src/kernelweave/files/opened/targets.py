"""Where the target of `open_views` stands: a column of a view, another file, or an array."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from ...validation import shown
from ..separators import format_suffix
from ..table import no_column, view_name
from .arrays import ArrayRows
from .columns import StoredColumn, StoredColumns
from .rows import StoredRows
from .sources import SUFFIXES, Opened, first_part, stored_rows

_WAYS = "a column, a path, (path, column), a list of columns or an array"


def target_of(target: Any, opened: list[Opened]) -> tuple[StoredColumn | StoredColumns | None, Opened | None]:
    """The column, or the columns, of the targets, and the table that has it where that is none of the views.

    Parameters
    ----------
    target : str, path, tuple, list or array
    opened : list of Opened
        The views.
    """
    if target is None:
        return None, None
    if _are_columns(target, opened):
        return _several([_named(name, opened) for name in target]), None
    if isinstance(target, np.ndarray | list) or hasattr(target, "to_numpy"):
        array = np.asarray(target)
        array = np.asarray(array.tolist()) if array.dtype == object else array
        rows: StoredRows = ArrayRows(array, "target", "the array of the target")
        return StoredColumn(rows, 0 if len(rows.columns) == 1 else None, "target"), None
    if isinstance(target, tuple):
        return _of_pair(target, opened)
    if not isinstance(target, str | os.PathLike) or not os.fspath(target):
        raise ValueError(f"target must be {_WAYS}, not {shown(target)}")
    text = os.fspath(target)
    named = _columns_named(text, opened)
    if named:
        return _only_one(named, text), None
    found = _found(text, opened)
    if found is not None:
        return _in_file(found, None, opened)
    for colon in re.finditer(":", text):
        found = _found(text[: colon.start()], opened)
        if found is not None and text[colon.end() :]:
            return _in_file(found, text[colon.end() :], opened)
    if isinstance(target, os.PathLike) or format_suffix(text) in SUFFIXES:
        _needed(text, opened)
    return _named(text, opened), None


def _are_columns(target: Any, opened: list[Opened]) -> bool:
    """Whether a list holds names of columns, and not labels: they are columns, or not one text for each sample."""
    if not isinstance(target, list) or not target or not all(isinstance(name, str) for name in target):
        return False
    return len(target) != opened[0].rows.n_rows or all(_columns_named(name, opened) for name in target)


def _named(name: str, opened: list[Opened]) -> StoredColumn:
    """The column of this name."""
    found = _columns_named(name, opened)
    if found:
        return _only_one(found, name)
    names = [known for one in opened for known in one.rows.names]
    start = f"{opened[0].rows.shown} has no" if len(opened) == 1 else f"none of the {len(opened)} views has a"
    raise ValueError(no_column(names, name, start, "target"))


def _several(columns: list[StoredColumn]) -> StoredColumns:
    names = [column.name for column in columns]
    for column in columns:
        if names.count(column.name) > 1:
            raise ValueError(f"the target {column.name!r} is named twice; name each column once")
    return StoredColumns(tuple(columns))


def _of_pair(target: tuple[Any, ...], opened: list[Opened]) -> tuple[StoredColumn | StoredColumns, Opened | None]:
    """``(path, column)``, or ``(path, [column, ...])``."""
    names = target[1] if len(target) == 2 else None
    if isinstance(names, str):
        return _in_file(_needed(os.fspath(target[0]), opened), names, opened)
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"target must be {_WAYS}, not {shown(target)}")
    path = _needed(os.fspath(target[0]), opened)
    first, beside = _in_file(path, names[0], opened)
    known = first.rows.names
    for name in names:
        if name not in known:
            raise ValueError(no_column(known, name, f"{first.rows.shown} has no", "target"))
    return _several([StoredColumn(first.rows, known.index(name), "target") for name in names]), beside


def _columns_named(name: str, opened: list[Opened]) -> list[StoredColumn]:
    return [
        StoredColumn(one.rows, place, "target")
        for one in opened
        for place, column in enumerate(one.rows.columns)
        if name == one.named(place) or (name == column.name and not isinstance(first_part(one.rows), ArrayRows))
    ]


def _only_one(found: list[StoredColumn], name: str) -> StoredColumn:
    if len(found) > 1:
        files = " and ".join(column.rows.shown for column in found)
        raise ValueError(f"the target {name!r} is a column of {files}; pass target='VIEW__{name}' or (path, {name!r})")
    return found[0]


def _in_file(path: Path, column: str | None, opened: list[Opened]) -> tuple[StoredColumn, Opened | None]:
    """A column of a file; of one that is a view too, where it is one."""
    same = next((one for one in opened if any(file.samefile(path) for file in one.rows.files)), None)
    one = same or Opened(view_name(path.stem) or "target", stored_rows(path, "target"))
    rows = one.rows
    if isinstance(first_part(rows), ArrayRows):
        if column is not None and column not in rows.names:
            raise ValueError(no_column(rows.names, column, f"{rows.shown} has no", "target"))
        place = rows.names.index(column) if column is not None else 0 if len(rows.columns) == 1 else None
        return StoredColumn(rows, place, "target"), None
    if column is None:
        others = [name for j, name in enumerate(rows.names) if j != rows.id_place]
        if len(others) != 1:
            raise ValueError(
                f"{rows.shown} has {len(others)} columns that could be the target ({', '.join(others[:8])}); pass "
                "target=(path, column)"
            )
        column = others[0]
    if column not in rows.names:
        raise ValueError(no_column(rows.names, column, f"{rows.shown} has no", "target"))
    return StoredColumn(rows, rows.names.index(column), "target"), None if same else one


def _found(path: str, opened: list[Opened]) -> Path | None:
    """A file or folder as it is given, or beside the views."""
    try:
        given = Path(path).expanduser()
        folders = dict.fromkeys(file.parent for one in opened for file in one.rows.files)
        places = [given, *(folder / given for folder in folders)]
        return next((p for p in places if p.exists() and (p.is_dir() or format_suffix(p.name) in SUFFIXES)), None)
    except (OSError, ValueError):  # a text that no path can be
        return None


def _needed(path: str, opened: list[Opened]) -> Path:
    found = _found(path, opened)
    if found is None:
        raise FileNotFoundError(
            f"there is no NPY or Parquet file {path!r} for the target, neither in the working directory ({Path.cwd()}) "
            "nor beside the views"
        )
    return found
