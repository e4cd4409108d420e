"""Which files are read, what their views are called, and where the target stands."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..validation import shown
from . import arrays, frames, modalities, text
from .separators import COMPRESSIONS, SEPARATORS, format_suffix
from .table import Loaded, Options, Source, view_name

READERS: dict[str, Callable[[Source, Options, str | None], Loaded]] = {
    **dict.fromkeys(SEPARATORS, text.read),
    **dict.fromkeys(frames.SUFFIXES, frames.read),
    **dict.fromkeys(arrays.SUFFIXES, arrays.read),
    **dict.fromkeys(modalities.SUFFIXES, modalities.read),
}
_SPREADSHEETS = (".xlsx", ".xls", ".ods")
_log = logging.getLogger("kernelweave.files")


class TargetPlace(NamedTuple):
    """Where the target stands: a file (None: one of the views' tables) and a column (None: the file's only one)."""

    source: Source | None
    column: str | None


def sources(paths: Any) -> list[Source]:
    """The files of the views, checked, each with a name of its own."""
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if isinstance(paths, Mapping):
        paths = list(paths.items())
    if not isinstance(paths, Iterable):
        raise ValueError(f"paths must be paths of files, or a mapping from view names to paths, not {shown(paths)}")
    found = [_source(entry) for entry in paths]
    if not found:
        raise ValueError("paths is empty; give the path of at least one file")
    names: dict[str, Source] = {}
    for source in found:
        other = names.setdefault(source.name, source)
        if other is not source:
            raise ValueError(
                f"the view {source.name!r} would be both {other.shown} and {source.shown}; give them names, such as "
                f"paths={{'{source.name}-1': {other.shown!r}, '{source.name}-2': {source.shown!r}}}"
            )
    return found


def load(source: Source, options: Options, target: str | None) -> Loaded:
    """What a file holds."""
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
    """The name of a view, None where none is given, and what is given for it."""
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
    """Refuse a name that no view can have."""
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
    """A file's name without the suffixes of its format, as the name of a view."""
    stem = file.name
    suffix = format_suffix(stem)
    stem = stem[: stem.lower().rindex(suffix)] if suffix else stem
    name = view_name(stem)
    if not name:
        raise ValueError(f"{file} has no name that a view could have; give one, such as paths={{'rna': {str(file)!r}}}")
    if name != stem:
        _log.info("%s: the view is called %r, because '__' separates a view from its columns", file, name)
    return name
