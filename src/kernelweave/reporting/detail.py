"""How much of a report is drawn on its page, which is to stay below one megabyte; report.json has everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Detail:
    """The largest numbers of things on a page.

    Attributes
    ----------
    rows : int
        Of a table with up to ten columns; of wider ones fewer.
    marks : int
        Labels of a `Dots` or `Bars` chart, points of one line.
    points : int
        Of a `Scatter`.
    cells : int
        Rows, and columns, of a `Heatmap`.
    text : int
        Characters of a line that is shown on hover; cells of tables have four times as many.
    """

    rows: int
    marks: int
    points: int
    cells: int
    text: int

    def rows_of(self, columns: int) -> int:
        """How many rows of a table with so many columns are shown."""
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
    """At most `most` of the items, evenly spread, the first and the last among them.

    >>> evenly(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(items) <= most:
        return list(items)
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]
