"""What the cells of a text file mean, and what its columns hold: numbers or text.

`Columns` finds the kinds of columns from blocks of rows as pandas would from all of them at once, and gives one
warning, which names the first odd cell of columns of text that are almost columns of numbers. `as_kinds` makes columns
what they are known to hold. Which cells are missing is decided where they are parsed, in `text.parsed`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .._warnings import warn
from ..validation.inputs import spelled_number

NUMBER = "number"
TEXT = "text"
_TEXT_TYPE = pd.Series([], dtype=str).dtype
_TRUTH = "truth value"
_TRUTHS = dict.fromkeys(("True", "TRUE", "true"), 1.0) | dict.fromkeys(("False", "FALSE", "false"), 0.0)

_SHARE = 0.9  # of cells that are numbers, above which the others are probably mistakes
_CELLS_TRIED = 25  # cells of a column that are looked at first; most columns of text have no number among them
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_COMMA = r"\s*[+-]?[0-9]+,[0-9]+([eE][+-]?[0-9]+)?\s*"


def without_blanks(cell: Any) -> Any:
    """Text without blanks around it, and None where nothing is left; what is no text as it is."""
    return (cell.strip() or None) if isinstance(cell, str) else cell


@dataclass
class _Counts:
    """Cells of one column: how many there are, how many are numbers, and how many numbers with a comma."""

    kinds: set[str] = field(default_factory=set)
    n_cells: int = 0
    n_numbers: int = 0
    n_commas: int = 0
    odd: tuple[int, str] | None = None  # line and text of the first cell that is no number
    comma: tuple[int, str] | None = None  # and of the first number with a comma

    @property
    def has_commas(self) -> bool:
        return self.n_commas > 0 and self.n_numbers + self.n_commas == self.n_cells

    @property
    def is_odd(self) -> bool:
        return self.has_commas or _SHARE * self.n_cells < self.n_numbers < self.n_cells

    def add(self, column: pd.Series, lines: np.ndarray, decimal: str) -> None:
        there = column.notna().to_numpy()
        if not there.any():
            return
        self.kinds.add(_TRUTH if pd.api.types.infer_dtype(column, skipna=True) == "boolean" else TEXT)
        self.n_cells += int(there.sum())
        step = max(1, len(column) // _CELLS_TRIED)
        tried = [
            (line, cell) for line, cell in zip(lines[::step], column.iloc[::step], strict=True) if isinstance(cell, str)
        ]
        words = [(int(line), cell) for line, cell in tried if _NUMBER.fullmatch(cell) is None]
        if 2 * len(words) > len(tried):
            self.odd = self.odd or words[0]
            return
        texts = column[there].astype(str)
        numbers = pd.to_numeric(texts.str.replace(decimal, ".", regex=False), errors="coerce").notna().to_numpy()
        commas = np.zeros(len(texts), dtype=bool)
        if decimal == ".":
            commas = texts.str.fullmatch(_COMMA).to_numpy(dtype=bool)
        rows = np.flatnonzero(there)
        self.n_numbers += int(numbers.sum())
        self.n_commas += int((commas & ~numbers).sum())
        self.odd = self.odd or _first(~numbers, texts, lines[rows])
        self.comma = self.comma or _first(commas, texts, lines[rows])


def _first(chosen: np.ndarray, texts: pd.Series, lines: np.ndarray) -> tuple[int, str] | None:
    if not chosen.any():
        return None
    place = int(np.flatnonzero(chosen)[0])
    return int(lines[place]), texts.iloc[place]


class Columns:
    """What columns hold, found from frames of some rows each, whose columns are named by position.

    Numbers and truth values in one column make it text, and columns without any value count as numbers.
    """

    def __init__(self, names: Sequence[str], decimal: str):
        self._names, self._decimal = names, decimal
        self._n_numbers = np.zeros(len(names), dtype=int)  # in frames where pandas reads numbers
        self._others: defaultdict[int, _Counts] = defaultdict(_Counts)

    def add(self, frame: pd.DataFrame, lines: np.ndarray) -> None:
        numbers = [
            place for place, dtype in frame.dtypes.items() if isinstance(dtype, np.dtype) and dtype.kind in "fiu"
        ]
        self._n_numbers[numbers] += (~np.isnan(frame[numbers].to_numpy(dtype=np.float64))).sum(axis=0)
        for place in frame.columns.difference(numbers, sort=False):
            self._others[place].add(frame[place], lines, self._decimal)

    def kind(self, place: int) -> str:
        kinds = self._others[place].kinds | ({NUMBER} if self._n_numbers[place] else set())
        return TEXT if TEXT in kinds or len(kinds) > 1 else NUMBER

    def warn(self, shown: str) -> None:
        for place, counts in self._others.items():
            counts.n_cells += self._n_numbers[place]
            counts.n_numbers += self._n_numbers[place]
        found = [place for place in sorted(self._others) if self._others[place].is_odd]
        if not found:
            return
        counts = self._others[found[0]]
        others = f" (and so in {len(found) - 1} more columns)" if len(found) > 1 else ""
        if counts.has_commas and counts.comma is not None:
            line, value = counts.comma
            reason = f"its numbers have commas, {value!r}"
            remedy = "pass decimal=',' if these are decimal commas, and remove them if they are not"
        else:
            line, value = counts.odd or (0, "")
            reason = f"{counts.n_numbers} of {counts.n_cells} cells are numbers and this one is {value!r}"
            remedy = f"correct the cell, or pass na_values=[{value!r}] if it means that the value is missing"
        warn(
            f"{shown}, line {line}, column {self._names[found[0]]!r}: the column is read as text, because "
            f"{reason}{others}; {remedy}"
        )


def as_kinds(frame: pd.DataFrame, kinds: Mapping[Any, str], decimal: str, place: Callable[[int], str]) -> pd.DataFrame:
    """Columns as numbers or text; a `ValueError` names the first cell that is no number, by `place`: file and line."""
    # Columns of numbers all at once: pandas takes long over one after the other.
    plain = [isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in frame.dtypes]
    numbers = [name for name, is_plain in zip(frame.columns, plain, strict=True) if is_plain and kinds[name] == NUMBER]
    typed = pd.DataFrame(frame[numbers].to_numpy(dtype=np.float64), columns=numbers, index=frame.index)
    if len(numbers) == frame.shape[1]:
        return typed
    others = frame.columns.difference(numbers, sort=False)
    converted = pd.DataFrame({name: _as_kind(frame[name], kinds[name], decimal, place) for name in others})
    return pd.concat([typed, converted], axis=1)[list(frame.columns)]


def _as_kind(column: pd.Series, kind: str, decimal: str, place: Callable[[int], str]) -> pd.Series:
    if kind == NUMBER:
        return _as_numbers(column, decimal, place)
    if pd.api.types.is_numeric_dtype(column.dtype):
        texts = column.map(
            lambda value: str(int(value)) if float(value).is_integer() else str(value), na_action="ignore"
        )
        return texts.astype(_TEXT_TYPE)
    return column


def _as_numbers(column: pd.Series, decimal: str, place: Callable[[int], str]) -> pd.Series:
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
