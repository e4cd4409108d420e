"""The parts of a report's sections, as plain data: text, tables and charts.

Each chart can give the table of its numbers, which stands below it on the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

Cell = str | float | int | bool | None  # of a table; None, and a number that is not finite, is shown as a dash

KINDS = ("text", "number", "count", "percent", "seconds", "p-value")


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and how its cells are written.

    Attributes
    ----------
    name : str
    kind : {"text", "number", "count", "percent", "seconds", "p-value"}
        Cells of kind "percent" are shares, 0.953 for 95.3 %.
    note : str
        What the column means, where the heading is too short to say it.
    """

    name: str
    kind: str = "text"
    note: str = ""

    def __post_init__(self) -> None:
        _check_kind(self.kind)


@dataclass(frozen=True, kw_only=True)
class Block:
    """A part of a section; `type` names the class in JSON."""

    type: ClassVar[str]

    def table(self) -> Table | None:
        """The numbers behind a chart; None for what is text or a table itself."""
        return None


@dataclass(frozen=True, kw_only=True)
class Text(Block):
    """A paragraph; `strong` for the sentence to be read first."""

    type: ClassVar[str] = "text"
    text: str
    strong: bool = False


@dataclass(frozen=True, kw_only=True)
class Code(Block):
    """Text with line breaks that is to be copied, such as a citation."""

    type: ClassVar[str] = "code"
    text: str
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Table(Block):
    """A table, sortable by any column.

    Attributes
    ----------
    title : str
    columns : list of Column
    rows : list of list
        Numbers as numbers, not as text.
    marked : list of int
        Rows to stand out, such as the recommended method.
    note : str
        Below the table.
    """

    type: ClassVar[str] = "table"
    title: str
    columns: list[Column]
    rows: list[list[Cell]]
    marked: list[int] = field(default_factory=list)
    note: str = ""

    def __post_init__(self) -> None:
        _check_rows(self.title, self.rows, len(self.columns), "columns")
        if any(not 0 <= row < len(self.rows) for row in self.marked):
            raise ValueError(f"{self.title!r} marks a row that it does not have: {self.marked}")


@dataclass(frozen=True, kw_only=True)
class Chart(Block):
    """A picture of numbers.

    Attributes
    ----------
    title : str
    description : str
        What is to be seen, in a sentence or two, also for those who cannot see it.
    note : str
        Such as how many of the points are drawn.
    """

    title: str
    description: str
    note: str = ""


@dataclass(frozen=True)
class Dot:
    """A number with its spread: one mark of a `Dots` chart."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    series: str = ""


@dataclass(frozen=True, kw_only=True)
class Dots(Chart):
    """Numbers with spreads, one line for each label, one symbol and colour for each series.

    Attributes
    ----------
    axis : str
        What the numbers are.
    dots : list of Dot
    kind : str
        How numbers are written, as in `Column`.
    reference : float or None
        Where to draw a line, such as the score of all views together.
    reference_label : str
    marked : list of str
        Labels to stand out.
    """

    type: ClassVar[str] = "dots"
    axis: str
    dots: list[Dot]
    kind: str = "number"
    reference: float | None = None
    reference_label: str = ""
    marked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        _check_kind(self.kind)

    def table(self) -> Table:
        """One row for each dot."""
        with_series = any(dot.series for dot in self.dots)
        columns = [Column("name"), *([Column("series")] if with_series else [])]
        columns += [Column(name, self.kind) for name in (self.axis, "from", "to")]
        rows: list[list[Cell]] = [
            [dot.label, *([dot.series] if with_series else []), dot.value, dot.low, dot.high] for dot in self.dots
        ]
        return Table(title=self.title, columns=columns, rows=rows)


@dataclass(frozen=True, kw_only=True)
class Bars(Chart):
    """Horizontal bars that may be negative, the parts of each stacked from 0 to either side.

    Attributes
    ----------
    axis : str
    labels : list of str
        One bar for each.
    parts : list of str
        Names of the parts, each with a colour.
    values : list of list of float
        A row for each label, a number for each part.
    totals : list of float or None
        Marks on the bars, such as decision values; None for none.
    total_label : str
    notes : list of str
        What is shown with a label on hover, such as true and predicted class; empty for none.
    kind : str
    """

    type: ClassVar[str] = "bars"
    axis: str
    labels: list[str]
    parts: list[str]
    values: list[list[float]]
    totals: list[float] | None = None
    total_label: str = ""
    notes: list[str] = field(default_factory=list)
    kind: str = "number"

    def __post_init__(self) -> None:
        _check_kind(self.kind)
        _check_lengths(self.title, len(self.labels), "labels", values=self.values)
        _check_rows(self.title, self.values, len(self.parts), "parts")
        if self.totals is not None:
            _check_lengths(self.title, len(self.labels), "labels", totals=self.totals)
        if self.notes:
            _check_lengths(self.title, len(self.labels), "labels", notes=self.notes)

    def table(self) -> Table:
        """One row for each bar."""
        with_notes, with_totals = bool(self.notes), self.totals is not None
        columns = [Column("name"), *([Column("about")] if with_notes else [])]
        columns += [Column(part, self.kind) for part in self.parts]
        columns += [Column(self.total_label or "total", self.kind)] if with_totals else []
        rows: list[list[Cell]] = []
        for number, label in enumerate(self.labels):
            row: list[Cell] = [label, *([self.notes[number]] if with_notes else []), *self.values[number]]
            rows.append([*row, *([self.totals[number]] if self.totals is not None else [])])
        return Table(title=self.title, columns=columns, rows=rows)


@dataclass(frozen=True, kw_only=True)
class Scatter(Chart):
    """Points in a plane, coloured (and shaped) by group, with a text for each on hover.

    Attributes
    ----------
    x, y : list of float
    group : list of int
        Position in `groups` of each point.
    groups : list of str
    label : list of str
        The sample of each point.
    about : list of str
        Further text for each point on hover, such as class and gates; empty for none.
    x_axis, y_axis : str
    """

    type: ClassVar[str] = "scatter"
    x: list[float]
    y: list[float]
    group: list[int]
    groups: list[str]
    label: list[str]
    about: list[str] = field(default_factory=list)
    x_axis: str = ""
    y_axis: str = ""

    def __post_init__(self) -> None:
        _check_lengths(self.title, len(self.x), "x", y=self.y, group=self.group, label=self.label)
        if self.about:
            _check_lengths(self.title, len(self.x), "x", about=self.about)
        if any(not 0 <= group < len(self.groups) for group in self.group):
            raise ValueError(f"a point of {self.title!r} has a group that is not in groups")

    def table(self) -> Table:
        """One row for each point."""
        columns = [Column("sample"), Column("group"), Column(self.x_axis or "x", "number")]
        columns += [Column(self.y_axis or "y", "number"), *([Column("about")] if self.about else [])]
        rows: list[list[Cell]] = [
            [self.label[i], self.groups[self.group[i]], self.x[i], self.y[i], *([self.about[i]] if self.about else [])]
            for i in range(len(self.x))
        ]
        return Table(title=self.title, columns=columns, rows=rows)


@dataclass(frozen=True)
class Line:
    """One line of a `Lines` chart."""

    label: str
    x: list[float]
    y: list[float]

    def __post_init__(self) -> None:
        _check_lengths(self.label, len(self.x), "x", y=self.y)


@dataclass(frozen=True, kw_only=True)
class Lines(Chart):
    """Lines over a common axis; `log` for a logarithmic y axis (numbers that are not positive are left out)."""

    type: ClassVar[str] = "lines"
    x_axis: str
    y_axis: str
    lines: list[Line]
    log: bool = False

    def table(self) -> Table:
        """One row for each point of each line."""
        columns = [Column("line"), Column(self.x_axis, "number"), Column(self.y_axis, "number")]
        rows: list[list[Cell]] = [
            [line.label, x, y] for line in self.lines for x, y in zip(line.x, line.y, strict=True)
        ]
        return Table(title=self.title, columns=columns, rows=rows)


@dataclass(frozen=True, kw_only=True)
class Heatmap(Chart):
    """A matrix of numbers as shades, the number written in each cell where there is room.

    Attributes
    ----------
    rows, columns : list of str
    values : list of list
        None, or a number that is not finite, for an empty cell.
    signed : bool
        Whether 0 is the middle of the colours; otherwise it is their start.
    row_axis, column_axis : str
    kind : str
    """

    type: ClassVar[str] = "heatmap"
    rows: list[str]
    columns: list[str]
    values: list[list[float | None]]
    signed: bool = False
    row_axis: str = ""
    column_axis: str = ""
    kind: str = "number"

    def __post_init__(self) -> None:
        _check_kind(self.kind)
        _check_lengths(self.title, len(self.rows), "rows", values=self.values)
        _check_rows(self.title, self.values, len(self.columns), "columns")

    def table(self) -> Table:
        """One row for each row of the matrix."""
        columns = [Column(self.row_axis or "row"), *(Column(name, self.kind) for name in self.columns)]
        rows: list[list[Cell]] = [[name, *values] for name, values in zip(self.rows, self.values, strict=True)]
        return Table(title=self.title, columns=columns, rows=rows)


BLOCKS: dict[str, type[Block]] = {
    block.type: block for block in (Text, Code, Table, Dots, Bars, Scatter, Lines, Heatmap)
}


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}, not one of {', '.join(KINDS)}")


def _check_rows(title: str, rows: Sequence[Sequence[Any]], width: int, names: str) -> None:
    for place, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(f"row {place} of {title!r} has {len(row)} entries for {width} {names}")


def _check_lengths(title: str, length: int, name: str, **lists: Sequence[Any]) -> None:
    for other, values in lists.items():
        if len(values) != length:
            raise ValueError(f"{title!r} has {len(values)} entries of {other} for {length} of {name}")
