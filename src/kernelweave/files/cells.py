"""Columns of text that are almost columns of numbers: one warning that names the first odd cell."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from .._warnings import warn

SHARE = 0.9  # of cells that are numbers, above which the others are probably mistakes
_N_TRIED = 25  # cells of a column that are looked at first; most columns of text have no number among them
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")


def warn_of_odd_cells(frame: pd.DataFrame, lines: np.ndarray, shown: str, decimal: str) -> None:
    """Warn of columns in which few cells, or decimal commas, keep the others from being numbers."""
    found = []
    for name, dtype in frame.dtypes.items():
        if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
            continue
        odd = _odd_cell(frame[name], decimal)
        if odd is not None:
            found.append((name, *odd))
    if not found:
        return
    name, row, value, n_numbers, n_cells = found[0]
    others = f" (and so in {len(found) - 1} more columns)" if len(found) > 1 else ""
    if n_numbers is None:
        reason = f"its numbers have commas, {value!r}"
        remedy = "pass decimal=',' if these are decimal commas, and remove them if they are not"
    else:
        reason = f"{n_numbers} of {n_cells} cells are numbers and this one is {value!r}"
        remedy = f"correct the cell, or pass na_values=[{value!r}] if it means that the value is missing"
    warn(f"{shown}, line {lines[row]}, column {name!r}: the column is read as text, because {reason}{others}; {remedy}")


def _odd_cell(column: pd.Series, decimal: str) -> tuple[int, str, int | None, int] | None:
    """The cell to name (row, text), how many cells are numbers (None: all, with decimal commas), and of how many."""
    tried = [cell for cell in column.iloc[:: max(1, len(column) // _N_TRIED)] if isinstance(cell, str)]
    if 2 * sum(_NUMBER.fullmatch(cell) is not None for cell in tried) < len(tried):
        return None
    there = column.notna().to_numpy()
    if not there.any():
        return None
    texts = column[there].astype(str)
    numbers = pd.to_numeric(texts.str.replace(decimal, ".", regex=False), errors="coerce").notna().to_numpy()
    rows = np.flatnonzero(there)
    if decimal == ".":
        commas = texts.str.fullmatch(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*").to_numpy(dtype=bool)
        if commas.any() and (numbers | commas).all():
            first = int(np.flatnonzero(commas)[0])
            return int(rows[first]), texts.iloc[first], None, len(texts)
    if numbers.all() or numbers.mean() <= SHARE:
        return None
    first = int(np.flatnonzero(~numbers)[0])
    return int(rows[first]), texts.iloc[first], int(numbers.sum()), len(texts)
