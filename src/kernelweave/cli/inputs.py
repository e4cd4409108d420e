"""What a call has read, with checksums, and the call itself, as reports and models state them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..files import OpenViews
from ..files.base import Source
from ..files.sources import opened_views, sources, split_entry, target_place
from ..reporting.content import Input, ModelRecord, Provenance
from ..reporting.provenance import command_line, file_input, folder_input, now
from .events import split_event
from .messages import working


def training_inputs(chosen: argparse.Namespace, overlap: Any) -> list[Input]:
    """The files of `compare` or `fit`; `overlap` is that of the tables that were read."""
    roles = {role: getattr(chosen, role) for role in ("target", "groups", "event")}
    if chosen.event is not None:
        roles["event"] = split_event(chosen.event)[0]
    counts = overlap["samples"].iloc[: list(overlap.index).index("in all views")]
    return _checked(_read(chosen.files, chosen.kernel, roles, counts), counts)


def new_inputs(chosen: argparse.Namespace, files: Sequence[str], counts: Mapping[str, int]) -> list[Input]:
    """The model and the files of new samples, these as ``view=path``."""
    model = Path(chosen.model).expanduser()
    return _checked([(model, "model"), *_read(files, chosen.kernel, {"target": chosen.target}, counts)], counts)


def open_inputs(chosen: argparse.Namespace, table: OpenViews) -> list[Input]:
    """The files and folders that `fit` reads block by block."""
    found, seen = [], set()
    with working("computing checksums"):
        for word, one in zip(chosen.files, opened_views(list(chosen.files)), strict=True):
            path, what = Path(split_entry(word)[1]).expanduser(), f"view {one.name}"
            seen.update(one.rows.files)
            if path.is_dir():
                found.append(folder_input(path, one.rows.files, what, one.rows.n_rows))
            else:
                found.append(file_input(path, what, one.rows.n_rows))
        targets = [path for path in table.files if path not in seen]
        found += [file_input(path, "target", table.n_samples) for path in targets]
    return found


def made_by(chosen: argparse.Namespace, seed: int, inputs: list[Input], model: ModelRecord | None = None) -> Provenance:
    return Provenance(date=now(), command=command_line(chosen.words), seed=seed, inputs=inputs, model=model)


def _read(
    files: Sequence[str], kernels: Sequence[str], columns: Mapping[str, Any], counts: Mapping[str, int]
) -> list[tuple[Path, str]]:
    """Each file with what it is read as; a column of one of the views has no file of its own."""
    views: list[Source] = sources(files) if files else []
    matrices: list[Source] = sources(kernels) if kernels else []
    places = {
        role: target_place(where, [*views, *matrices], role=role)
        for role, where in columns.items()
        if where is not None
    }
    # A file of several views is no view by its own name.
    found = [(one.path, f"view {one.name}" if one.name in counts else "views") for one in views]
    found += [(one.path, f"similarities {one.name}") for one in matrices]
    return found + [(place.source.path, role) for role, place in places.items() if place.source is not None]


def _checked(files: Iterable[tuple[Path, str]], counts: Mapping[str, int]) -> list[Input]:
    """Each file once, however often it is read."""
    roles: dict[Path, list[str]] = {}
    given: dict[Path, Path] = {}
    for path, what in files:
        given.setdefault(path.resolve(), path)
        roles.setdefault(path.resolve(), []).append(what)
    with working("computing checksums"):
        return [file_input(given[real], ", ".join(whats), _rows(whats, counts)) for real, whats in roles.items()]


def _rows(whats: list[str], counts: Mapping[str, int]) -> int | None:
    names = [what.partition(" ")[2] for what in whats]
    return next((int(counts[name]) for name in names if name in counts), None)
