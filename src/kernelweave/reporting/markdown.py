"""A report as Markdown: headline, text and tables; of charts, the tables of their numbers where they are short."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Sequence

from .content import Block, Chart, Code, Contents, Table, Text
from .formatting import clean, one_line, write_column
from .provenance import how_it_was_made

LONGEST = 40  # rows of a table behind a chart
ROWS = 300  # rows of a table


def write_markdown(contents: Contents) -> str:
    lines = [f"# {_escaped(contents.title) or 'Report'}", ""]
    for place, sentence in enumerate(contents.headline):
        lines += [f"**{_escaped(sentence)}**" if place == 0 else _escaped(sentence), ""]
    made = how_it_was_made(contents)
    for section in [*contents.sections, *([] if made is None else [made])]:
        lines += [f"## {_escaped(section.title)}", ""]
        for block in section.blocks:
            lines += _block(block)
    return "\n".join(lines).rstrip() + "\n"


def _block(block: Block) -> list[str]:
    match block:
        case Text():
            text = _escaped(block.text)
            return [f"**{text}**" if block.strong else text, ""]
        case Code():
            return [*([f"### {_escaped(block.title)}", ""] if block.title else []), *_code(block.text), ""]
        case Table():
            return [*([f"### {_escaped(block.title)}", ""] if block.title else []), *_table(block)]
        case Chart():
            return _chart(block)
    raise TypeError(f"Markdown cannot show {type(block).__name__}")


def _chart(chart: Chart) -> list[str]:
    table = chart.table()
    assert table is not None
    lines = [f"### {_escaped(chart.title)}", ""]
    for text in filter(None, (chart.description, chart.note)):
        lines += [_escaped(text), ""]
    if len(table.rows) <= LONGEST:
        return [*lines, *_table(table)]
    return [*lines, f"The chart has {len(table.rows):,} numbers: they are in report.json.", ""]


def _table(table: Table) -> list[str]:
    if not table.columns:
        return []
    names = [_escaped(column.name) for column in table.columns]
    shown = table.rows[:ROWS]
    columns = [write_column([row[place] for row in shown], c.kind) for place, c in enumerate(table.columns)]
    rows = []
    for place in range(len(shown)):
        cells = [_escaped(column[place]) for column in columns]
        rows.append([f"**{cell}**" if place in table.marked and cell else cell for cell in cells])
    text = [place for place, column in enumerate(table.columns) if column.kind == "text"]
    lines = [markdown_table(names, rows, text=text), ""]
    notes = [table.note] if table.note else []
    notes += [f"{column.name}: {column.note}" for column in table.columns if column.note]
    if len(table.rows) > ROWS:
        notes.append(f"The first {ROWS} of {len(table.rows):,} rows; report.json has all of them.")
    for note in notes:
        lines += [_escaped(note), ""]
    return lines


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, text: Collection[int] = (0,)) -> str:
    """A table in which some columns, by their places, are text, and the others numbers.

    >>> print(markdown_table(["method", "rank"], [["a", "1.5"]]))
    | method | rank |
    | --- | ---: |
    | a | 1.5 |
    """
    rule = ["---" if place in text else "---:" for place in range(len(headings))]
    return "\n".join(f"| {' | '.join(line)} |" for line in [headings, rule, *rows])


def _code(text: str) -> list[str]:
    """A fence that is longer than every run of backticks in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *clean(text).splitlines(), fence]


def _escaped(text: str) -> str:
    """Text in one line in which nothing is markup.

    >>> _escaped("<b>|_x_")
    '&lt;b&gt;\\\\|\\\\_x\\\\_'
    """
    text = html.escape(one_line(text), quote=False)
    text = re.sub(r"([\\`*_{}\[\]|~$])", r"\\\1", text)
    text = re.sub(r"^(#{1,6}(?!\S)|[-+](?!\S)|-{2,}|=+)", r"\\\1", text)  # headings, lists and rules
    return re.sub(r"^(\d+)([.)])(?!\S)", r"\1\\\2", text)
