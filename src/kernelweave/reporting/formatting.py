"""How numbers are written, by kind of column, and how much a page shows (`LEVELS`) to stay below one megabyte."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from .content import Cell

DASH = "–"
_PER_CENT = re.compile(r"(?<=[0-9]) (?=%)")
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def is_missing(value: Cell) -> bool:
    """Whether there is nothing to write: None, empty text, or a number that is not finite."""
    return value is None or value == "" or (isinstance(value, float) and not math.isfinite(value))


def write_cell(value: Cell, kind: str = "text") -> str:
    """A cell of a table.

    >>> [write_cell(0.9532, "percent"), write_cell(0.0312, "p-value"), write_cell(1e-5, "p-value")]
    ['95.3 %', '0.03', '< 0.001']
    >>> [write_cell(12345, "count"), write_cell(75.2, "seconds"), write_cell(0.000012345, "number")]
    ['12,345', '1 min 15 s', '1.234 × 10⁻⁵']
    """
    if is_missing(value):
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return clean(value)
    assert value is not None
    return without_minus_zero(_WRITERS.get(kind, _number)(value))


def write_column(values: Sequence[Cell], kind: str = "text") -> list[str]:
    """The cells of a column; numbers of about the same size have the same number of decimals.

    >>> write_column([0.1595, 0.141, None], "number")
    ['0.1595', '0.1410', '–']
    """
    texts = [write_cell(value, kind) for value in values]
    sizes = [abs(value) for value in values if isinstance(value, float) and not is_missing(value) and value]
    plain = all(is_missing(value) or type(value) is float for value in values)
    if kind != "number" or not plain or not sizes or not 1e-2 <= max(sizes) < 1e6:
        return texts
    if max(sizes) >= 10 and max(sizes) >= 1e3 * min(sizes):
        return texts
    needed = max(len(text.partition(".")[2]) for text in texts if "×" not in text)
    decimals = min(needed, max(0, 3 - math.floor(math.log10(max(sizes)))))  # four digits of the largest
    least = 0.5 * 10.0**-decimals  # smaller numbers would be written as 0
    return [
        text
        if not isinstance(value, float) or is_missing(value) or 0.0 < abs(value) < least
        else without_minus_zero(f"{value:.{decimals}f}")
        for text, value in zip(texts, values, strict=True)
    ]


def clean(text: str) -> str:
    """Text that every file can hold: without half characters (lone surrogates) and control characters.

    >>> clean("a\\x00b\\ud800")
    'a\\ufffdb\\ufffd'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join("\ufffd" if _is_unfit(character) else character for character in text)


def _is_unfit(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t"


def one_line(text: str, longest: int = 0) -> str:
    """Text without line breaks, with an ellipsis where it is longer than `longest` characters (0: any length).

    >>> one_line("a very\\nlong name", 9)
    'a very l…'
    """
    text = " ".join(clean(text).split())
    return text if not longest or len(text) <= longest else text[: longest - 1].rstrip() + "…"


def without_minus_zero(text: str) -> str:
    """A number that was rounded to 0 without its sign."""
    return text if re.search("[1-9]", text) else text.removeprefix("-").removeprefix("+")


def unbroken(text: str) -> str:
    """Text as pages have it: a line never ends between a number and its per cent sign.

    >>> unbroken("80.0 % of all")
    '80.0\\xa0% of all'
    """
    return _PER_CENT.sub("\N{NO-BREAK SPACE}", text)


def in_powers(value: float, digits: int, times: str) -> str:
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}{times}10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def _number(value: float) -> str:
    size = abs(value)
    if isinstance(value, int) and size < 10**6:
        return str(value)
    if size and not 1e-3 <= size < 1e6:
        return in_powers(value, 3, " × ")
    return f"{value:.4g}" if size < 1000 else f"{value:.0f}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else _number(value)


def _percent(value: float) -> str:
    if abs(value) > 1e300:
        return _number(value)  # a hundred times as much is no number
    return f"{100 * value:.1f} %" if abs(value) < 1e4 else f"{_number(100 * value)} %"


def _seconds(value: float) -> str:
    if value < 0 or value >= 1e9:
        return f"{_number(value)} s"
    if value < 0.001:
        return "0 s" if value == 0 else "< 1 ms"
    if value < 0.0995:
        return f"{1000 * value:.0f} ms"
    if value < 59.95:
        return f"{value:.2g} s" if value < 0.95 else f"{value:.1f} s" if value < 9.95 else f"{value:.0f} s"
    if value < 3600 - 0.5:
        minutes, seconds = divmod(round(value), 60)
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(round(value / 60), 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def _p_value(value: float) -> str:
    if not 0 <= value <= 1:
        return _number(value)
    if value < 0.001:
        return "< 0.001"
    return f"{value:.3f}" if value < 0.00995 else f"{value:.2f}"


_WRITERS = {"percent": _percent, "count": _count, "seconds": _seconds, "p-value": _p_value}


T = TypeVar("T")


@dataclass(frozen=True)
class Detail:
    """The largest numbers of things on a page."""

    rows: int  # of a table with up to ten columns; of wider ones fewer
    marks: int  # labels of a `Dots` or `Bars` chart, points of one line
    points: int  # of a `Scatter`
    cells: int  # rows, and columns, of a `Heatmap`
    text: int  # characters of a line that is shown on hover; cells of tables have four times as many

    def rows_of(self, columns: int) -> int:
        return max(2, min(self.rows, 10 * self.rows // max(columns, 1)))


LEVELS = (
    Detail(rows=300, marks=200, points=3000, cells=40, text=200),
    Detail(rows=200, marks=120, points=2000, cells=40, text=100),
    Detail(rows=150, marks=80, points=2000, cells=30, text=60),
    Detail(rows=100, marks=60, points=1200, cells=30, text=60),
    Detail(rows=50, marks=40, points=600, cells=20, text=50),
    Detail(rows=20, marks=20, points=200, cells=12, text=40),
    Detail(rows=8, marks=10, points=60, cells=8, text=30),
)


def evenly(items: Sequence[T], most: int) -> list[T]:
    """At most `most` of the items, evenly spread, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]
