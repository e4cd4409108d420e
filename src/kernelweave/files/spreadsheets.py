"""CSV files for spreadsheets, which run a text cell that begins as a formula does.

Such a cell (it begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, and spells no number) gets an
apostrophe in front, as is customary: spreadsheets show it as text. All CSV files are written by `as_csv`; `unescaped`
takes the apostrophe off the ids that are read, so that they match those of other files.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..validation.inputs import spelled_number

_STARTS = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: pd.DataFrame, *, header: bool = True, index_label: str | None = None) -> str:
    """A table as the text of a CSV file.

    Parameters
    ----------
    table : DataFrame
    header : bool
        Whether the first line names the columns.
    index_label : str, optional
        The name of a first column with the row labels; None for no such column.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelweave.files.spreadsheets import as_csv
    >>> print(as_csv(pd.DataFrame({"id": ["=A1", "-2"], "value": [-1.5, 2.0]})))
    id,value
    '=A1,-1.5
    -2,2.0
    <BLANKLINE>
    """
    table = table.set_axis([_escaped(name) for name in table.columns], axis=1)
    for place, dtype in enumerate(table.dtypes):
        if not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
            table.isetitem(place, table.iloc[:, place].map(_escaped, na_action="ignore"))
    if index_label is None:
        return table.to_csv(index=False, header=header, lineterminator="\n")
    table.index = table.index.map(_escaped)
    return table.to_csv(header=header, index_label=_escaped(index_label), lineterminator="\n")


def unescaped(text: str) -> str:
    """An id without the apostrophe that `as_csv` puts in front of it."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_STARTS) else text


def _escaped(cell: Any) -> Any:
    is_formula = isinstance(cell, str) and cell.startswith(_STARTS) and spelled_number(cell) is None
    return f"'{cell}" if is_formula else cell
