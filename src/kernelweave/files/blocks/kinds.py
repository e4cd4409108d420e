"""Whether a column holds numbers or text, the same for all blocks of its file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ...validation.inputs import spelled_number

NUMBER = "number"
TEXT = "text"
_TRUTH = "truth value"
_TRUTHS = dict.fromkeys(("True", "TRUE", "true"), 1.0) | dict.fromkeys(("False", "FALSE", "false"), 0.0)


class Kinds:
    """What columns hold, found out from blocks of their rows as pandas would from the whole file.

    Numbers and truth values in one column make it text, and columns without any value count as numbers.
    """

    def __init__(self) -> None:
        self._seen: defaultdict[Any, set[str]] = defaultdict(set)

    def add(self, frame: pd.DataFrame) -> None:
        """Look at further rows."""
        for name, dtype in frame.dtypes.items():
            seen = self._seen[name]
            is_known = TEXT in seen or (NUMBER in seen and isinstance(dtype, np.dtype) and dtype.kind in "fiu")
            if not is_known and frame[name].notna().any():
                seen.add(_kind(frame[name], dtype))

    def of(self, name: Any) -> str:
        """The kind of a column: "number" or "text"."""
        seen = self._seen[name]
        return TEXT if TEXT in seen or len(seen) > 1 else NUMBER


def _kind(column: pd.Series, dtype: Any) -> str:
    if pd.api.types.is_bool_dtype(dtype):
        return _TRUTH
    if pd.api.types.is_numeric_dtype(dtype):
        return NUMBER
    return _TRUTH if pd.api.types.infer_dtype(column, skipna=True) == "boolean" else TEXT


def as_kind(column: pd.Series, kind: str, decimal: str, place: Callable[[int], str]) -> pd.Series:
    """A column as numbers or text; one `ValueError` names the first cell that is no number where it should be.

    `place` gives the file and the line of a row, in words.
    """
    if kind == NUMBER:
        return _numbers(column, decimal, place)
    if pd.api.types.is_numeric_dtype(column.dtype):
        texts = column.map(
            lambda value: str(int(value)) if float(value).is_integer() else str(value), na_action="ignore"
        )
        return texts.astype(empty(TEXT).dtype)
    return column


def empty(kind: str) -> pd.Series:
    """A column without rows."""
    return pd.Series([], dtype=np.float64) if kind == NUMBER else pd.Series([], dtype=str)


def _numbers(column: pd.Series, decimal: str, place: Callable[[int], str]) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return column.astype(np.float64)
    cells = column.astype(object).map(lambda cell: _number(cell, decimal), na_action="ignore")
    numbers = pd.to_numeric(cells, errors="coerce").astype(np.float64)
    odd = (numbers.isna() & column.notna()).to_numpy()
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        cell = column.iloc[row]
        remedy = f"correct the cell, or pass na_values=[{cell!r}] if it means that the value is missing"
        if decimal == "." and isinstance(_number(cell.replace(",", "."), "."), float) and "," in cell:
            remedy = "pass decimal=',' if this is a decimal comma"
        raise ValueError(
            f"{place(row)}, column {column.name!r}: {cell!r} is no number, and the column should hold numbers; {remedy}"
        )
    return numbers


def _number(cell: Any, decimal: str) -> Any:
    if not isinstance(cell, str):
        return cell
    cell = cell.strip()
    if cell in _TRUTHS:
        return _TRUTHS[cell]
    if decimal != "." and "." in cell:  # perhaps a thousands separator
        return None
    return spelled_number(cell, decimal)
