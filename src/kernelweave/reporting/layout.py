"""What the templates show: cells written by their kind, long tables cut, charts drawn."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup

from .blocks import Block, Cell, Chart, Code, Table, Text
from .charts import draw
from .charts.frame import Key
from .content import Contents, Section
from .detail import Detail
from .formatting import DASH, clean, is_missing, one_line, write_column

_FEW = 3  # columns of a small table
_LONG = 24  # characters of a text that is not to be broken into many short lines


@dataclass(frozen=True)
class ShownText:
    """A paragraph."""

    text: str
    strong: bool
    type: str = "text"


@dataclass(frozen=True)
class ShownCode:
    """Text to be copied."""

    text: str
    title: str
    type: str = "code"


@dataclass(frozen=True)
class ShownCell:
    """A cell as text, what it is sorted by (None: its text; empty: comes last) and how it looks: "n", "long" or ""."""

    text: str
    sort: str | None
    look: str


@dataclass(frozen=True)
class ShownRow:
    """A row of a table."""

    cells: list[ShownCell]
    marked: bool


@dataclass(frozen=True)
class ShownColumn:
    """The heading of a column."""

    name: str
    is_number: bool


@dataclass(frozen=True)
class Note:
    """A sentence below a table, about a column or (empty) about the whole."""

    about: str
    text: str


@dataclass(frozen=True)
class ShownTable:
    """A table, or the first rows of it."""

    name: str
    title: str
    columns: list[ShownColumn]
    rows: list[ShownRow]
    notes: list[Note]
    type: str = "table"

    @property
    def is_small(self) -> bool:
        """Whether it would be hard to read along the rows if it were as wide as the page."""
        return len(self.columns) <= _FEW and not any(cell.look == "long" for row in self.rows for cell in row.cells)


@dataclass(frozen=True)
class ShownChart:
    """A chart with its legend and the table of its numbers."""

    name: str
    title: str
    description: str
    pictures: dict[str, Markup]
    keys: list[Key]
    scale: Markup | None
    notes: list[str]
    table: ShownTable
    type: str = "chart"


Shown = ShownText | ShownCode | ShownTable | ShownChart


@dataclass(frozen=True)
class ShownSection:
    """A section with its identifier on the page."""

    id: str
    title: str
    blocks: list[Shown]


@dataclass(frozen=True)
class Page:
    """Everything that the templates read."""

    title: str
    headline: list[str]
    sections: list[ShownSection]
    versions: list[tuple[str, str]]
    first: str


def lay_out(contents: Contents, detail: Detail) -> Page:
    """The contents as the page shows them."""
    sections = [_section(section, number, detail) for number, section in enumerate(contents.sections, 1)]
    return Page(
        title=one_line(contents.title) or "Report",
        headline=[one_line(sentence) for sentence in contents.headline if sentence.strip()],
        sections=sections,
        versions=[(one_line(name), one_line(version)) for name, version in contents.versions.items()],
        first=sections[0].id if sections else "none",
    )


def _section(section: Section, number: int, detail: Detail) -> ShownSection:
    name = section.id if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", section.id) else f"section-{number}"
    blocks = [_block(block, f"b{number}-{place}", detail) for place, block in enumerate(section.blocks, 1)]
    return ShownSection(name, one_line(section.title), blocks)


def _block(block: Block, name: str, detail: Detail) -> Shown:
    match block:
        case Text():
            return ShownText(clean(block.text), block.strong)
        case Code():
            return ShownCode(clean(block.text), one_line(block.title))
        case Table():
            return lay_out_table(block, name, detail)
        case Chart():
            return _chart(block, name, detail)
    raise TypeError(f"a page cannot show {type(block).__name__}")


def _chart(chart: Chart, name: str, detail: Detail) -> ShownChart:
    drawing = draw(chart, detail, name)
    table = chart.table()
    assert table is not None
    return ShownChart(
        name=name,
        title=one_line(chart.title),
        description=one_line(chart.description),
        pictures=drawing.pictures,
        keys=drawing.keys,
        scale=drawing.scale,
        notes=[*([one_line(chart.note)] if chart.note else []), *drawing.notes],
        table=lay_out_table(table, name, detail),
    )


def lay_out_table(table: Table, name: str, detail: Detail) -> ShownTable:
    """A table as the page shows it: its first rows, and those that stand out."""
    most = detail.rows_of(len(table.columns))
    shown = list(range(min(len(table.rows), most)))
    shown += sorted({place for place in table.marked if place >= most})[:most]
    columns = [ShownColumn(one_line(column.name) or DASH, column.kind != "text") for column in table.columns]
    written = [
        _column([table.rows[row][place] for row in shown], column.kind, 4 * detail.text)
        for place, column in enumerate(table.columns)
    ]
    rows = [ShownRow([cells[place] for cells in written], row in table.marked) for place, row in enumerate(shown)]
    notes = [Note("", one_line(table.note))] if table.note else []
    notes += [Note(one_line(column.name), one_line(column.note)) for column in table.columns if column.note]
    if len(shown) < len(table.rows):
        notes.append(Note("", f"{len(shown):,} of {len(table.rows):,} rows are shown; report.json has all of them."))
    return ShownTable(name, one_line(table.title), columns, rows, notes)


def _column(values: list[Cell], kind: str, longest: int) -> list[ShownCell]:
    texts = [one_line(text, longest) or DASH for text in write_column(values, kind)]
    return [_cell(value, text, kind) for value, text in zip(values, texts, strict=True)]


def _cell(value: Cell, text: str, kind: str) -> ShownCell:
    look = "n" if kind != "text" else "long" if len(text) > _LONG else ""
    if is_missing(value):
        return ShownCell(text, "", look)
    if isinstance(value, str):
        return ShownCell(text, None, look)
    assert value is not None
    return ShownCell(text, f"{float(value):.12g}", look)
