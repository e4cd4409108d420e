"""Sentences about what was decided, for people who look at a report."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..kernels import Precomputed
from ..kernels.stacking.repair import approximate_smallest
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
    found = []
    for view, part in kinds.groupby("view", sort=False):
        counts = part["kind"].value_counts()
        used = counts.drop(LEFT_OUT, errors="ignore")
        if used.empty:
            found.append(f"The view {view!r} is left out: none of its columns can be used.")
        elif list(used.index) == [SIMILARITY]:
            found.append(f"The view {view!r} is a similarity matrix.")
        else:
            found.append(f"The view {view!r} has {_counted(part, used)}.")
    for why, part in kinds[kinds["kind"] == LEFT_OUT].groupby("why", sort=False):
        names = [repr(str(name)) for name in part.index[:_SHOWN]]
        more = f" and {len(part) - _SHOWN} more" if len(part) > _SHOWN else ""
        word = "column" if len(part) == 1 else "columns"
        verb = "is" if len(part) == 1 else "are"
        found.append(f"The {word} {', '.join(names)}{more} {verb} left out: {why}.")
    return found


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
