"""Columns of new data by name, for models whose columns are named by view: ``view__column``, or by their kernels.

A view is here the columns with one prefix; a column without a prefix is a view by itself (`stack_views` names
one-dimensional views so), or belongs to the columns without a prefix that a kernel reads together with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from .._warnings import warn

SEPARATOR = "__"
_SHOWN = 5  # how many names a message lists
_COMPARED = 2000  # how many unknown names are searched for one that is spelled alike


def are_found_by_name(estimator: Any, X: pd.DataFrame, names: np.ndarray) -> bool:
    """Whether columns of a new data frame are found by name: those of the fit are named by view, and no two alike.

    They are where one is called ``view__column``, or where a kernel names its view, which may be one column.
    """
    if len(set(names.tolist())) < len(names):
        return False
    by_kernel = any(isinstance(getattr(kernel, "view", None), str) for kernel in getattr(estimator, "kernels_", []))
    if not by_kernel and not any(SEPARATOR in name for name in names):
        return False
    return text_names(X) is not None


def check_unique_columns(columns: pd.Index, what: str = "X") -> None:
    again = list(dict.fromkeys(columns[columns.duplicated()])) if columns.has_duplicates else []
    if again:
        occur = "occurs" if len(again) == 1 else "occur"
        raise ValueError(
            f"the {_listed('column', again)} {occur} more than once in {what}; rename or remove the others"
        )


def feature_names(X: pd.DataFrame) -> list[Any]:
    """What a model calls the columns of a data frame; a column of sparse rows is as many columns as its rows have."""
    if not has_sparse_rows(X):
        return list(X.columns.to_numpy(dtype=object))  # an index of text is slow to iterate over
    names: list[Any] = []
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        features = getattr(dtype, "features", None)
        names += [name] if features is None else [f"{name}{SEPARATOR}{feature}" for feature in features]
    return names


def text_names(X: pd.DataFrame) -> np.ndarray | None:
    """The names of all columns, None where one of them is not text."""
    names = X.columns.to_numpy(dtype=object)
    return names if all(isinstance(name, str) for name in names.tolist()) else None


def has_sparse_rows(X: pd.DataFrame) -> bool:
    return any(hasattr(dtype, "features") for dtype in set(X.dtypes))


def by_name(estimator: Any, X: pd.DataFrame, names: np.ndarray, used: np.ndarray) -> pd.DataFrame:
    """The columns of a fit, found in a new data frame by name.

    Other columns of X are left out. A view of which X has no column is missing for all samples: its columns are NaN.
    A view that lacks some of the columns that the model reads (`used`, positions in the `names` of the fit) is a
    `ValueError`.
    """
    columns = pd.Index(feature_names(X), dtype=object)
    if np.array_equal(columns, names):
        return X
    if not columns.is_unique:
        X = _first_of_each(X, columns, names[used])
        columns = pd.Index(feature_names(X), dtype=object)
    there = pd.Index(names).isin(columns)  # by hashing: NumPy compares every pair of objects
    views, known = _views(estimator, names), set(names)
    unknown = [name for name in columns if name not in known]
    started = set(views[there]) | {view for name in unknown for view in (name, name.partition(SEPARATOR)[0])}
    read = list(dict.fromkeys(views[used]))
    absent = [view for view in read if view not in started]
    if absent and len(absent) == len(read):
        raise ValueError(
            f"X has no column of the {_listed('view', absent)} that {type(estimator).__name__} was fitted with, such "
            f"as {names[used][0]!r}; the {_listed('column', columns)} of X must have the names of the fit: name the "
            f"views where they are read, such as read_views({{{absent[0]!r}: FILE}}), or in stack_views"
        )
    is_used = np.isin(np.arange(len(names)), used)
    wrong = [view for view in read if view in started and not there[is_used & (views == view)].all()]
    if wrong:
        raise ValueError(_lacking(wrong, views, names, is_used, there, unknown))
    _warn_of_other_names(absent, unknown, set(views))
    return _in_order(X, names) if has_sparse_rows(X) else X.reindex(columns=list(names))


def _in_order(X: pd.DataFrame, names: np.ndarray) -> pd.DataFrame:
    """The features of these names, in this order, where some columns of X are sparse rows."""
    is_sparse = np.array([hasattr(dtype, "features") for dtype in X.dtypes])
    places = {X.columns[place]: place for place in np.flatnonzero(is_sparse)}
    column = np.array([places.get(name.partition(SEPARATOR)[0], -1) for name in names])
    starts = np.concatenate([[0], np.flatnonzero(np.diff(column)) + 1, [len(names)]])
    dense, parts = X.loc[:, ~is_sparse], []
    for start, end in pairwise(starts):
        run, place = names[start:end], column[start]
        if place < 0:
            parts.append(dense.reindex(columns=list(run)))
            continue
        view, rows = X.columns[place], X.iloc[:, place].array
        indexer = rows.dtype.features.get_indexer([name.removeprefix(view + SEPARATOR) for name in run])
        parts.append(pd.DataFrame({view: rows.select(indexer)}, index=X.index))
    return pd.concat(parts, axis=1)


def _first_of_each(X: pd.DataFrame, columns: pd.Index, used: np.ndarray) -> pd.DataFrame:
    again = columns.duplicated()
    twice = columns[again & (columns.isin(used) | has_sparse_rows(X))]
    check_unique_columns(twice.repeat(2))
    return X.loc[:, ~again]


def _views(estimator: Any, names: np.ndarray) -> np.ndarray:
    prefix = [name.partition(SEPARATOR)[0] for name in names]
    known = {view for view, name in zip(prefix, names, strict=True) if SEPARATOR in name}
    alone = np.array([view not in known for view in prefix])
    views = np.where(alone, names, np.array(prefix, dtype=object))
    for kernel in getattr(estimator, "kernels_", []):
        columns = kernel.columns()
        together = columns[alone[columns]]
        views[together] = ", ".join(names[together][:_SHOWN])
    return views


def _lacking(
    wrong: Sequence[str],
    views: np.ndarray,
    names: np.ndarray,
    is_used: np.ndarray,
    there: np.ndarray,
    unknown: Sequence[str],
) -> str:
    parts = []
    for view in wrong[:_SHOWN]:
        own = is_used & (views == view)
        lacking = names[own & ~there]
        text = f"{len(lacking)} of {own.sum()} columns of the view {view!r}: {quoted(lacking)}"
        meant = {name: other for name in lacking[:_SHOWN] for other in alike(name, unknown)}
        if meant:
            pairs = ", ".join(f"{other!r} for {name!r}" for name, other in meant.items())
            text += f" (did you mean {pairs}?)"
        parts.append(text)
    more = f"; and columns of {len(wrong) - _SHOWN} more views" if len(wrong) > _SHOWN else ""
    return (
        f"X lacks {'; '.join(parts)}{more}. Add or rename them; where X has no column of a view at all, the view "
        "counts as missing for all samples"
    )


def alike(name: str, others: Sequence[str]) -> list[str]:
    """The one of some names that is spelled much like another, in a list; an empty list where none is."""
    others = others[:_COMPARED]
    plain = [_letters(other) for other in others]
    close = get_close_matches(_letters(name), plain, n=1, cutoff=0.8)
    return [others[plain.index(close[0])]] if close else []


def _letters(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _warn_of_other_names(absent: Sequence[str], unknown: Sequence[str], known: set[str]) -> None:
    if not absent or not unknown:
        return
    prefixed = dict.fromkeys(name.partition(SEPARATOR)[0] for name in unknown if SEPARATOR in name)
    alone = [name for name in unknown if SEPARATOR not in name]
    similar = [other for view in absent[:_SHOWN] for other in alike(view, alone)]
    others = [view for view in dict.fromkeys([*prefixed, *similar]) if view not in known]
    if others:
        warn(
            f"X lacks the {_listed('view', absent)} of the fit, now missing for all samples, and has the "
            f"{_listed('view', others)} beyond those of the fit: if these are the same under another name, rename the "
            f"columns of X, or name the view where it is read, such as read_views({{{absent[0]!r}: FILE}})"
        )


def _listed(word: str, names: Sequence[Any]) -> str:
    return f"{word}{'' if len(names) == 1 else 's'} {quoted(names)}"


def quoted(names: Sequence[Any]) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > _SHOWN else ""
    return ", ".join(repr(str(name)) for name in names[:_SHOWN]) + more
