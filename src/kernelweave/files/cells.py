"""Columns of text that are almost columns of numbers: one warning that names the first odd cell."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .._warnings import warn

SHARE = 0.9  # of cells that are numbers, above which the others are probably mistakes
_N_TRIED = 25  # cells of a column that are looked at first; most columns of text have no number among them
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_COMMA = r"\s*[+-]?[0-9]+,[0-9]+([eE][+-]?[0-9]+)?\s*"


@dataclass
class _Counts:
    """Cells of one column: how many there are, how many are numbers, and how many numbers with a comma."""

    n_cells: int = 0
    n_numbers: int = 0
    n_commas: int = 0
    odd: tuple[int, str] | None = None  # line and text of the first cell that is no number
    comma: tuple[int, str] | None = None  # and of the first number with a comma


class OddCells:
    """Columns in which few cells, or decimal commas, keep the others from being numbers.

    Rows are added in blocks, in any number of them.

    Parameters
    ----------
    shown : str
        What messages call the file.
    decimal : str
        The decimal mark of the file.
    """

    def __init__(self, shown: str, decimal: str):
        self._shown, self._decimal = shown, decimal
        self._counts: defaultdict[str, _Counts] = defaultdict(_Counts)

    def add(self, frame: pd.DataFrame, lines: np.ndarray) -> None:
        """Count the cells of further rows, with their lines in the file."""
        numbers = [name for name, dtype in frame.dtypes.items() if isinstance(dtype, np.dtype) and dtype.kind in "fiu"]
        there = (~np.isnan(frame[numbers].to_numpy(dtype=np.float64))).sum(axis=0).tolist()
        for name, n_numbers in zip(numbers, there, strict=True):
            counts = self._counts[str(name)]
            counts.n_cells += n_numbers
            counts.n_numbers += n_numbers
        for name in frame.columns.difference(numbers, sort=False):
            _count(frame[name], lines, self._decimal, self._counts[str(name)])

    def warn(self) -> None:
        """Warn of the first such column, if there is one."""
        found = [(name, counts) for name, counts in self._counts.items() if _is_odd(counts)]
        if not found:
            return
        name, counts = found[0]
        others = f" (and so in {len(found) - 1} more columns)" if len(found) > 1 else ""
        if _has_commas(counts) and counts.comma is not None:
            line, value = counts.comma
            reason = f"its numbers have commas, {value!r}"
            remedy = "pass decimal=',' if these are decimal commas, and remove them if they are not"
        else:
            line, value = counts.odd or (0, "")
            reason = f"{counts.n_numbers} of {counts.n_cells} cells are numbers and this one is {value!r}"
            remedy = f"correct the cell, or pass na_values=[{value!r}] if it means that the value is missing"
        warn(
            f"{self._shown}, line {line}, column {name!r}: the column is read as text, because {reason}{others}; "
            f"{remedy}"
        )


def _count(column: pd.Series, lines: np.ndarray, decimal: str, counts: _Counts) -> None:
    there = column.notna().to_numpy()
    counts.n_cells += int(there.sum())
    step = max(1, len(column) // _N_TRIED)
    tried = [
        (line, cell) for line, cell in zip(lines[::step], column.iloc[::step], strict=True) if isinstance(cell, str)
    ]
    words = [(int(line), cell) for line, cell in tried if _NUMBER.fullmatch(cell) is None]
    if 2 * len(words) > len(tried) or not there.any():
        counts.odd = counts.odd or next(iter(words), None)
        return
    texts = column[there].astype(str)
    numbers = pd.to_numeric(texts.str.replace(decimal, ".", regex=False), errors="coerce").notna().to_numpy()
    commas = np.zeros(len(texts), dtype=bool)
    if decimal == ".":
        commas = texts.str.fullmatch(_COMMA).to_numpy(dtype=bool)
    rows = np.flatnonzero(there)
    counts.n_numbers += int(numbers.sum())
    counts.n_commas += int((commas & ~numbers).sum())
    counts.odd = counts.odd or _first(~numbers, texts, lines[rows])
    counts.comma = counts.comma or _first(commas, texts, lines[rows])


def _first(chosen: np.ndarray, texts: pd.Series, lines: np.ndarray) -> tuple[int, str] | None:
    if not chosen.any():
        return None
    place = int(np.flatnonzero(chosen)[0])
    return int(lines[place]), texts.iloc[place]


def _has_commas(counts: _Counts) -> bool:
    return counts.n_commas > 0 and counts.n_numbers + counts.n_commas == counts.n_cells


def _is_odd(counts: _Counts) -> bool:
    return _has_commas(counts) or SHARE * counts.n_cells < counts.n_numbers < counts.n_cells
