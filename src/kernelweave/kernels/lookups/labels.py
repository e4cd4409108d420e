"""Labels of samples: how the rows and columns of a data frame of similarities are found.

Labels are text or numbers, and are compared as text. A whole number is its digits, so that 101, 101.0 (what pandas
makes of 101 in a column with missing entries) and "101" (what it makes of 101 in the header of a file) are one label;
"007" and 7 are two.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from ...validation import blamed_on, shown

_EXACT = 2.0**53  # from here on different whole numbers may be one floating-point number
_LOOKED_THROUGH = 2000  # labels that are compared with an unknown one
_NAMED = 3


def as_text(entries: Iterable[Any], what: str) -> np.ndarray:
    """Labels as text; a `ValueError` names one that is neither text nor a number.

    Parameters
    ----------
    entries : iterable
    what : str
        What messages call the labels.

    Examples
    --------
    >>> from kernelweave.kernels.lookups.labels import as_text
    >>> as_text(["a7", 7, 7.0, 0.5], "ids").tolist()
    ['a7', '7', '7', '0.5']
    """
    texts = [_as_text(entry, what) for entry in entries]
    found = np.empty(len(texts), dtype=object)
    found[:] = texts
    return found


def _as_text(entry: Any, what: str) -> str:
    if isinstance(entry, str):
        return str(entry)
    if isinstance(entry, Integral) and not isinstance(entry, bool):
        return str(int(entry))
    if isinstance(entry, Real) and not isinstance(entry, bool) and np.isfinite(float(entry)):
        number = float(entry)
        if not number.is_integer():
            return repr(number)
        if abs(number) < _EXACT:
            return str(int(number))
        raise ValueError(f"{what} must not be numbers as large as {number:.0f}, which are rounded; give them as text")
    raise ValueError(f"{what} must be text or numbers, but one is {shown(entry)}; .astype(str) makes text of labels")


def unique_labels(index: pd.Index, what: str) -> pd.Index:
    """The labels of an index as text, each of which is there once."""
    labels = pd.Index(as_text(index.tolist(), what), dtype=object)
    if not labels.is_unique:
        raise ValueError(f"the label {labels[labels.duplicated()][0]!r} is there twice in {what}")
    return labels


def is_numbered(index: pd.Index) -> bool:
    """Whether an index is what pandas gives to rows or columns without labels: 0, 1, 2, ..."""
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def square_matrix(frame: pd.DataFrame, what: str) -> tuple[np.ndarray, pd.Index | None]:
    """The values of a square data frame, with columns in the order of the rows, and its labels.

    Labels are None where pandas numbered both rows and columns.
    """
    dtype = np.float32 if (frame.dtypes == np.float32).all() else np.float64
    with blamed_on(what):
        values = frame.to_numpy(dtype=dtype, na_value=np.nan)
    if is_numbered(frame.index) and is_numbered(frame.columns):
        return values, None
    rows = unique_labels(frame.index, f"the index of {what}")
    columns = unique_labels(frame.columns, f"the columns of {what}")
    for some, others, missing in ((rows, columns, "row but no column"), (columns, rows, "column but no row")):
        alone = some[~some.isin(others)]
        if len(alone):
            raise ValueError(
                f"{what} must have the same labels in rows and columns, but there is a {missing} {alone[0]!r}; "
                "pd.DataFrame(K, index=labels, columns=labels) gives an array labels"
            )
    return (values if rows.equals(columns) else values[:, columns.get_indexer(rows)]), rows


def named(labels: pd.Index) -> str:
    """A few labels in a message."""
    some = ", ".join(repr(label) for label in labels[:_NAMED])
    return some if len(labels) <= _NAMED else f"{some} and {len(labels) - _NAMED} more"


def alternatives(label: str, labels: pd.Index) -> str:
    """What a message says beside an unknown label: labels that are much like it, and the first of those that exist."""
    close = get_close_matches(label, labels[:_LOOKED_THROUGH].tolist(), n=_NAMED)
    known = f"the {len(labels)} ids are {named(labels)}" if len(labels) else "there are no ids"
    return f"(did you mean {' or '.join(repr(other) for other in close)}?) {known}" if close else known
