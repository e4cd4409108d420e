"""Turn a view selector into column positions.

================  ===========================================================
selector          columns
================  ===========================================================
``"fac"``         the columns named ``fac`` or starting ``fac__``
list              each entry a position, a column's name or else a view's; each column once
slice             positions, or column names with both ends included
boolean mask      one truth value per column
callable          what ``selector(X)`` returns, resolved by these rules
``None``          all columns
================  ===========================================================
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ..validation import shown
from ..validation.columns import SEPARATOR


def resolve_columns(selector: Any, names: np.ndarray | None, n_features: int, X: Any = None) -> np.ndarray:
    """Positions of the columns that a selector means; a `ValueError` names a selector that means none."""
    if callable(selector) and not isinstance(selector, type):
        selector = selector(X)
    if selector is None:
        columns = np.arange(n_features)
    elif isinstance(selector, str):
        columns = _named_columns(selector, names)
    elif isinstance(selector, slice):
        columns = np.arange(n_features)[_positional_slice(selector, names)]
    else:
        columns = _listed_columns(selector, names, n_features)
    if len(columns) == 0:
        raise ValueError(f"the view {describe(selector)} selects no column of X")
    return columns


def prefixes(names: np.ndarray) -> dict[str, np.ndarray]:
    """The view prefixes of column names, in order, each with the positions of its columns.

    Columns without the separator share the key ``""``, except that a column named as a prefix belongs to it.
    """
    known = {name.partition(SEPARATOR)[0] for name in names if SEPARATOR in name}
    found: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        prefix = name.partition(SEPARATOR)[0]
        found.setdefault(prefix if prefix in known else "", []).append(position)
    return {prefix: np.array(positions) for prefix, positions in found.items()}


def describe(selector: Any) -> str:
    """Name a selector in a message: strings quoted, long lists cut."""
    return shown(selector)


def _named_columns(view: str, names: np.ndarray | None) -> np.ndarray:
    if names is None:
        raise ValueError(
            f"the view {view!r} is a name, but X has no column names; pass a data frame "
            "(see stack_views) or select columns by position"
        )
    columns = np.flatnonzero([name == view or name.startswith(view + SEPARATOR) for name in names])
    if len(columns) == 0:
        known = sorted({name.partition(SEPARATOR)[0] for name in names})
        shown = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
        raise ValueError(f"the view {view!r} matches no column of X; the views of X are: {shown}")
    return columns


def _column_or_view(entry: Any, names: np.ndarray | None, n_features: int) -> np.ndarray:
    """A position, the column of exactly that name where there is one, or else the view of that name."""
    if isinstance(entry, str) and names is not None and (names == entry).any():
        return np.flatnonzero(names == entry)
    return resolve_columns(entry, names, n_features)


def _positional_slice(selector: slice, names: np.ndarray | None) -> slice:
    def position(end: Any, offset: int) -> Any:
        return _named_columns(end, names)[-1 if offset else 0] + offset if isinstance(end, str) else end

    return slice(position(selector.start, 0), position(selector.stop, 1), selector.step)


def _listed_columns(selector: Any, names: np.ndarray | None, n_features: int) -> np.ndarray:
    entries = np.atleast_1d(np.asarray(selector))
    names_inside = entries.dtype.kind in "UO" and np.ndim(selector) == 1
    if names_inside and all(isinstance(entry, str | Integral) for entry in list(selector)):
        groups = [_column_or_view(entry, names, n_features) for entry in list(selector)]
        return np.array(list(dict.fromkeys(np.concatenate(groups).tolist())))  # each column once
    if entries.dtype.kind == "b":
        if entries.shape != (n_features,):
            raise ValueError(f"the view mask has {entries.size} entries, but X has {n_features} columns")
        return np.flatnonzero(entries)
    if entries.size == 0:
        return np.array([], dtype=int)
    if entries.dtype.kind not in "iu" or entries.ndim != 1:
        raise ValueError(
            f"the view {describe(selector)} is not a name, a list of names or positions, a slice, "
            "a boolean mask, a callable or None"
        )
    if entries.min() < -n_features or entries.max() >= n_features:
        raise ValueError(f"the view {describe(selector)} names columns that X ({n_features}) does not have")
    return entries % n_features
