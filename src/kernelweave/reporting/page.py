"""`Report`: the page of a report, in a notebook or as a file, and how templates make it.

`lay_out` makes of the contents what the templates show: cells written by their kind, long tables cut, charts drawn.
Jinja2 escapes every text; pictures come from `charts`, which escapes by itself. The saved page forbids all requests and
all scripts and styles but its own, by a Content-Security-Policy with their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from ..saving.atomic import replace_file
from .charts import draw
from .content import Block, Cell, Chart, Code, Contents, Section, Table, Text
from .formatting import DASH, LEVELS, Detail, clean, is_missing, one_line, unbroken, write_column
from .markdown import write_markdown
from .provenance import how_it_was_made
from .svg import Key


class Report:
    """What a model or a comparison found, as a page to save and to send; a notebook shows it where a cell ends with it.

    Parameters
    ----------
    contents : Contents
        Headline and sections, as plain data.

    Attributes
    ----------
    contents : Contents

    Examples
    --------
    >>> from kernelweave.reporting.content import Contents, Section, Text
    >>> text = Text(text="The mean of all kernels is right for 97.1 % of the digits.")
    >>> section = Section(id="methods", title="Methods", blocks=[text])
    >>> report = Report(Contents(title="Digits", headline=["Use the mean."], sections=[section]))
    >>> print(report.to_markdown())
    # Digits
    <BLANKLINE>
    **Use the mean.**
    <BLANKLINE>
    ## Methods
    <BLANKLINE>
    The mean of all kernels is right for 97.1 % of the digits.
    <BLANKLINE>
    """

    def __init__(self, contents: Contents):
        self.contents = contents

    @property
    def data(self) -> dict[str, Any]:
        """Results for programs, such as those of a comparison."""
        return self.contents.data

    def save(self, path: str | os.PathLike) -> None:
        """Write the report to a file, which is replaced as a whole.

        Parameters
        ----------
        path : str or path
            The suffix decides what is written: ``.html`` the page, ``.md`` Markdown, ``.json`` all numbers.

        Raises
        ------
        ValueError
            Where the suffix is another one.
        """
        writers = {".html": self.to_html, ".htm": self.to_html, ".json": self.to_json, ".md": self.to_markdown}
        suffix = Path(path).suffix.lower()
        if suffix not in writers:
            raise ValueError(f"a report is saved as .html, .json or .md, not as {Path(path).name!r}")
        data = writers[suffix]().encode("utf-8")
        replace_file(path, lambda file: file.write(data))

    @classmethod
    def load(cls, path: str | os.PathLike) -> Report:
        """The report in a file that `save` wrote as ``.json``.

        Raises
        ------
        ValueError
            Where the file is no report, or a damaged one.
        """
        try:
            return cls(Contents.from_plain(json.loads(Path(path).read_text(encoding="utf-8"))))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{str(path)!r} cannot be read as a report: {error}") from None

    def to_html(self) -> str:
        """The page as one self-contained file, below one megabyte."""
        return render("document.html", self.contents)

    def to_markdown(self) -> str:
        """Headline, text and tables; of charts, the tables of their numbers where they are short."""
        return write_markdown(self.contents)

    def to_json(self) -> str:
        """All numbers of the report, and ``data``."""
        return json.dumps(self.contents.to_plain(), indent=1, allow_nan=False) + "\n"

    def _repr_html_(self) -> str:
        return render("notebook.html", self.contents)

    def __repr__(self) -> str:
        return f"Report({self.contents.title!r}, {len(self.contents.sections)} sections)"


LARGEST = 950_000  # bytes of a page


def render(template: str, contents: Contents) -> str:
    """The page in the greatest detail that keeps it smaller than a megabyte."""
    for detail in LEVELS:
        text = _render(template, lay_out(contents, detail))
        if len(text.encode()) <= LARGEST:
            break
    return text


def _render(template: str, page: Page) -> str:
    style, outer, script = (_source(name) for name in ("style.css", "outer.css", "script.js"))
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)} {_hash(outer)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    text = (
        _environment()
        .get_template(template)
        .render(page=page, style=Markup(style), outer_style=Markup(outer), script=Markup(script), policy=policy)
    )
    return _without_empty_lines(text)


def _without_empty_lines(text: str) -> str:
    """The text without empty lines, except in <pre>, in styles and in scripts, where they mean something."""
    parts = re.split(r"(<(pre|style|script)\b.*?</\2>)", text, flags=re.DOTALL)
    kept = [part if place % 3 == 1 else re.sub(r"\n\s*\n+", "\n", part) for place, part in enumerate(parts)]
    return "".join(part for place, part in enumerate(kept) if place % 3 != 2)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_as_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def _as_shown(value: Any) -> Any:
    """Texts with numbers that stay beside their per cent signs; pictures, styles and scripts as they are."""
    return unbroken(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _source(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8").strip() + "\n"


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


_FEW = 3  # columns of a small table
_LONG = 24  # characters of a text that is not to be broken into many short lines


@dataclass(frozen=True)
class ShownCell:
    """A cell as text, what it is sorted by (None: its text; empty: comes last) and how it looks: "n", "long" or ""."""

    text: str
    sort: str | None
    look: str


@dataclass(frozen=True)
class ShownRow:
    cells: list[ShownCell]
    marked: bool


@dataclass(frozen=True)
class ShownColumn:
    name: str
    is_number: bool


@dataclass(frozen=True)
class Note:
    """A sentence below a table, about a column or (empty) about the whole."""

    about: str
    text: str


@dataclass(frozen=True)
class ShownTable:
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
    name: str
    title: str
    description: str
    pictures: dict[str, Markup]
    keys: list[Key]
    scale: Markup | None
    notes: list[str]
    table: ShownTable
    type: str = "chart"


Shown = Text | Code | ShownTable | ShownChart


@dataclass(frozen=True)
class ShownSection:
    id: str
    title: str
    blocks: list[Shown]
    is_quiet: bool = False  # small, for those who look for it


@dataclass(frozen=True)
class Page:
    title: str
    headline: list[str]
    sections: list[ShownSection]
    first: str


def lay_out(contents: Contents, detail: Detail) -> Page:
    sections = [_section(section, number, detail) for number, section in enumerate(contents.sections, 1)]
    made = how_it_was_made(contents)
    if made is not None:  # in full on every page
        sections.append(replace(_section(made, len(sections) + 1, LEVELS[0]), is_quiet=True))
    return Page(
        title=one_line(contents.title) or "Report",
        headline=[one_line(sentence) for sentence in contents.headline if sentence.strip()],
        sections=sections,
        first=sections[0].id if sections else "none",
    )


def _section(section: Section, number: int, detail: Detail) -> ShownSection:
    name = section.id if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", section.id) else f"section-{number}"
    blocks = [_block(block, f"b{number}-{place}", detail) for place, block in enumerate(section.blocks, 1)]
    return ShownSection(name, one_line(section.title), blocks)


def _block(block: Block, name: str, detail: Detail) -> Shown:
    match block:
        case Text():
            return replace(block, text=clean(block.text))
        case Code():
            return replace(block, text=clean(block.text), title=one_line(block.title))
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
