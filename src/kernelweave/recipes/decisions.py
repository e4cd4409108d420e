"""Sentences about what was decided, for people who look at a report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ..kernels import Precomputed
from ..kernels.normalization import approximate_smallest
from .kinds import CATEGORY, LEFT_OUT, NUMBER, SIMILARITY, TEXT

_INDEFINITE = 1e-6  # of the norm of a matrix: smaller negative eigenvalues are rounding
_SHOWN = 5  # how many columns a sentence lists
_WORDS = {NUMBER: "numbers", CATEGORY: "categories", TEXT: "text"}


def about_columns(kinds: pd.DataFrame) -> list[str]:
    """What each view holds, and which columns are left out.

    Parameters
    ----------
    kinds : DataFrame
        As `column_kinds` returns.
    """
    alike: dict[tuple[str, ...], dict[str, pd.DataFrame]] = {}
    for view, part in kinds.groupby("view", sort=False):
        used = part["kind"].value_counts().drop(LEFT_OUT, errors="ignore")
        alike.setdefault(tuple(str(kind) for kind in used.index), {})[str(view)] = part
    found = [_about_views(used, parts) for used, parts in alike.items()]
    for why, part in kinds[kinds["kind"] == LEFT_OUT].groupby("why", sort=False):
        word = "column" if len(part) == 1 else "columns"
        verb = "is" if len(part) == 1 else "are"
        found.append(f"The {word} {named_columns(part.index)} {verb} left out: {why}.")
    return found


def _about_views(used: tuple[str, ...], parts: dict[str, pd.DataFrame]) -> str:
    """One sentence about views that hold the same kinds of columns."""
    (view, part), *others = parts.items()
    if not others:
        if not used:
            return f"The view {view!r} is left out: none of its columns can be used."
        if used == (SIMILARITY,):
            return f"The view {view!r} is a similarity matrix."
        return f"The view {view!r} has {_counted(part, part['kind'].value_counts().drop(LEFT_OUT, errors='ignore'))}."
    views = f"The views {named_columns(parts)}"
    if not used:
        return f"{views} are left out: none of their columns can be used."
    if used == (SIMILARITY,):
        return f"{views} are similarity matrices."
    count = sum(int((one["kind"] != LEFT_OUT).sum()) for one in parts.values())
    return f"{views} have columns of {' and of '.join(_WORDS[kind] for kind in used)}, {count} in all."


def named_columns(names: Iterable[Any]) -> str:
    """Names in quotes, of which at most some are given."""
    given = [repr(str(name)) for name in names]
    more = f" and {len(given) - _SHOWN} more" if len(given) > _SHOWN else ""
    return f"{', '.join(given[:_SHOWN])}{more}"


def _counted(part: pd.DataFrame, used: pd.Series) -> str:
    why = part["why"].iloc[0]
    if len(part) == 1 and why.startswith("a sparse matrix"):
        return why
    words = [f"{count} of {_WORDS[kind]}" for kind, count in used.items()]
    words[0] = words[0].replace(" of", f" column{'' if used.iloc[0] == 1 else 's'} of", 1)
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def about_matrix(matrix: Precomputed, table: pd.DataFrame) -> list[str]:
    """Whether a similarity matrix is repaired.

    Parameters
    ----------
    matrix : Precomputed
    table : DataFrame
        The training samples.
    """
    ids = table[[matrix.view]].dropna()
    K = matrix.fit(ids).gram(ids)
    smallest = approximate_smallest(K)
    if smallest >= -_INDEFINITE * np.linalg.norm(K):
        return []
    return [
        f"The similarity matrix {matrix.view!r} is not positive semidefinite (its smallest eigenvalue is about "
        f"{smallest:.3g}): the negative part is left out."
    ]
