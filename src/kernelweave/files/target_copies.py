"""Columns of views that have the name of the target: they are left out, for they would give the answer away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from .._warnings import warn
from ..validation import shown as written
from .table import Table


class KeptColumns:
    """The columns that are to stay although they have the name of the target, ``keep_columns`` of `read_views`.

    Parameters
    ----------
    given : sequence of str
        ``"FILE:COLUMN"``, where the file may also be the name of the view.
    """

    def __init__(self, given: Any):
        if isinstance(given, str) or not isinstance(given, Iterable) or not all(isinstance(one, str) for one in given):
            raise ValueError(f"keep_columns must be a list such as ['FILE:COLUMN'], not {written(given)}")
        self._left = list(given)

    def leaves_out(self, shown: str, names: Sequence[str], column: str, target: str) -> bool:
        """Whether a view's column is left out, with a warning; its file is `shown`, or one of the `names`."""
        if column != target or column.isdigit():  # numbers are the positions of an array's columns, and no names
            return False
        entries = [f"{file}:{column}" for file in (shown, Path(shown).name, *names)]
        kept = [entry for entry in self._left if entry in entries]
        self._left = [entry for entry in self._left if entry not in kept]
        if not kept:
            warn(
                f"{shown}: the column {column!r} has the name of the target and is left out, because it would give the "
                f"answer away; where it is something else, pass keep_columns=[{entries[1]!r}]"
            )
        return not kept

    def check_used(self, target: str | None) -> None:
        """Refuse an entry for which there is nothing to keep."""
        if self._left:
            name = "" if target is None else f", {target!r}"
            raise ValueError(
                f"keep_columns has {self._left[0]!r}, but there is no such column with the name of the target{name}: "
                "all other columns are kept anyway"
            )


def without_copies(tables: list[Table], target: str, kept: KeptColumns) -> list[Table]:
    """Tables of views without columns of the target's name, and without tables that have no other column.

    Parameters
    ----------
    tables : list of Table
        Without the target itself.
    target : str
    kept : KeptColumns
    """
    found = []
    for table in tables:
        names = list(table.columns) if sp.issparse(table.values) else [str(name) for name in table.values.columns]
        places = [
            place for place, name in enumerate(names) if not kept.leaves_out(table.shown, [table.name], name, target)
        ]
        if len(places) < len(names):
            table.has_lost_columns = True
            if sp.issparse(table.values):
                table.values, table.columns = table.values[:, places], [names[place] for place in places]
            else:
                table.values = table.values.iloc[:, places]
        if places:
            found.append(table)
    return found
