"""The report as Markdown: tables that stay tables, and text that stays text."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from kernelweave.reporting.content import Code, Column, Contents, Dot, Dots, Section, Table, Text
from kernelweave.reporting.markdown import write_markdown
from reporting.pages import NASTY, large, nasty, usual


def small(*blocks) -> Contents:
    return Contents(
        title="T", headline=["First.", "Second."], sections=[Section(id="a", title="A", blocks=list(blocks))]
    )


@pytest.fixture(scope="module")
def parser():
    return MarkdownIt("commonmark", {"html": True}).enable("table")


def test_headline_sections_tables_and_charts_are_there():
    text = write_markdown(usual())
    assert text.startswith("# Handwritten digits, six views\n\n**Use localized combination: it is right")
    for section in usual().sections:
        assert f"\n## {section.title}\n" in text
    assert "| **localized combination** | **97.1 %** | **1.2 %** |" in text
    assert "| method | accuracy | spread | stored samples | time | p |\n| --- | ---: |" in text
    assert "### Accuracy of each method" in text
    assert "The chart has 300 numbers: they are in report.json." in text
    assert "```\n@phdthesis{gonen2010,\n" in text


@pytest.mark.parametrize("make", [usual, nasty, large])
def test_no_name_becomes_markup(parser, make):
    text = write_markdown(make())
    tokens = parser.parse(text)
    kinds = {token.type for token in tokens} | {c.type for token in tokens for c in token.children or []}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "code_inline", "em_open", "hr"}
    rows = sum(token.type == "tr_open" for token in tokens)
    tables = [block for section in make().sections for block in section.blocks if isinstance(block, Table)]
    assert rows > sum(min(len(table.rows), 300) for table in tables)


def test_names_with_markup_are_read_back_as_they_are(parser):
    table = Table(title="t", columns=[Column("name"), Column("n", "count")], rows=[[name, 1] for name in NASTY[:6]])
    tokens = parser.parse(write_markdown(small(table)))
    cells = ["".join(c.content for c in token.children) for token in tokens if token.type == "inline"]
    for name in NASTY[:6]:
        assert name in cells


def test_text_at_the_beginning_of_a_line_is_no_list_or_heading(parser):
    texts = [
        "# one",
        "- two",
        "3. three",
        "+ four",
        "> five",
        "=== six",
        "--- seven",
        "---",
        "===",
        "-5 %",
        "1.5 and 2",
    ]
    tokens = parser.parse(write_markdown(small(*(Text(text=text) for text in texts))))
    kinds = [token.type for token in tokens]
    assert not {"bullet_list_open", "ordered_list_open", "blockquote_open", "hr"} & set(kinds)
    assert kinds.count("heading_open") == 2
    shown = ["".join(child.content for child in token.children) for token in tokens if token.type == "inline"]
    assert shown[-len(texts) :] == texts


def test_a_long_table_is_cut_and_says_so():
    table = Table(title="t", columns=[Column("a", note="why")], rows=[[f"row {i}"] for i in range(500)], note="Note.")
    text = write_markdown(small(table))
    assert text.count("\n| row ") == 300
    assert "The first 300 of 500 rows; report.json has all of them." in text
    assert "\nNote.\n" in text and "\na: why\n" in text


def test_a_short_chart_has_its_numbers():
    chart = Dots(title="C", description="What.", note="All.", axis="score", dots=[Dot("a", 0.5)], kind="percent")
    assert "| a | 50.0 % | – | – |" in write_markdown(small(chart))


def test_code_with_backticks_stays_code(parser):
    tokens = parser.parse(write_markdown(small(Code(text="a\n```\nb"))))
    assert [token.content for token in tokens if token.type == "fence"] == ["a\n```\nb\n"]
    assert re.search("^````$", write_markdown(small(Code(text="```"))), re.MULTILINE)
