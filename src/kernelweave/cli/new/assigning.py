"""Which file of new samples is which view of a model: by its name, or by its columns."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...files.base import Options
from ...files.read import column_names
from ..checking import without_suffix
from .naming import named_views

_MOST = 0.5  # share of a view's columns above which a file is that view


class Assigned(NamedTuple):
    """Files as ``"view=path"``, and what was decided by their columns, in sentences."""

    files: list[str]
    notes: list[str]


def assigned(words: Sequence[str], columns: Mapping[str, Collection[str]], chosen: argparse.Namespace) -> Assigned:
    """The views of files: as given, by the files' whole names, by their columns, or by parts of their names.

    Parameters
    ----------
    words : sequence of str
        Paths or ``"view=path"``.
    columns : mapping from view to column names
        The views of the model.
    chosen : Namespace
        How files are read.

    Raises
    ------
    ValueError
        One that lists the views of the model and how to name one.
    """
    files: list[str] = []
    notes: list[str] = []
    for word in words:
        file = Path(os.path.expanduser(word))
        view = None
        if file.is_file() and without_suffix(file.name) not in columns:  # no "view=path"
            options = Options(None, chosen.sep, chosen.decimal, chosen.encoding)
            found = set(column_names(file, options))
            shared = {name: len(found & set(own)) for name, own in columns.items()}
            alike = [name for name, count in shared.items() if count > _MOST * len(set(columns[name]))]
            view = alike[0] if len(alike) == 1 else None
        if view is not None:
            count = f"{shared[view]} of its {len(set(columns[view]))} columns"
            notes.append(f"{word} is read as the view {view!r}, by its columns: it has {count}.")
        files.append(word if view is None else f"{view}={word}")
    return Assigned(named_views(files, list(columns)), notes)
