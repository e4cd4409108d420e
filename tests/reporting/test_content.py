"""Contents of a report as plain data and back; damaged and foreign documents are refused in one sentence."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest

from kernelweave.reporting.content import (
    BLOCKS,
    Bars,
    Block,
    Column,
    Contents,
    Dot,
    Dots,
    Heatmap,
    Line,
    Lines,
    Scatter,
    Section,
    Table,
    Text,
)
from reporting.pages import large, nasty, usual


def by_json(contents: Contents) -> dict:
    return json.loads(json.dumps(contents.to_plain(), allow_nan=False))


@pytest.mark.parametrize("make", [usual, nasty, large])
def test_contents_survive_json(make):
    contents = make()
    assert Contents.from_plain(by_json(contents)) == contents


def test_every_type_of_block_is_in_the_usual_report():
    assert {block.type for section in usual().sections for block in section.blocks} == set(BLOCKS)


def test_numbers_that_are_not_finite_become_none_and_nan_again():
    lines = Lines(
        title="t", description="d", x_axis="x", y_axis="y", lines=[Line("a", [0.0, 1.0], [math.nan, math.inf])]
    )
    table = Table(title="t", columns=[Column("a", "number")], rows=[[math.nan], [None], [1]])
    contents = Contents(title="t", headline=[], sections=[Section(id="a", title="a", blocks=[lines, table])])
    plain = by_json(contents)
    assert plain["sections"][0]["blocks"][0]["lines"][0]["y"] == [None, None]
    read = Contents.from_plain(plain).sections[0].blocks
    assert all(math.isnan(y) for y in read[0].lines[0].y)
    assert read[1].rows == [[None], [None], [1]]
    assert by_json(Contents.from_plain(plain)) == plain


def test_numbers_and_arrays_of_numpy_become_plain():
    table = Table(title="t", columns=[Column("a", "number")], rows=[[np.float64(0.5)], [np.int64(3)], [np.bool_(True)]])
    data = {"scores": np.array([[0.5, np.nan]]), 3: np.float32(0.5)}
    contents = Contents(title="t", headline=[], sections=[Section(id="a", title="a", blocks=[table])], data=data)
    plain = by_json(contents)
    assert plain["data"] == {"scores": [[0.5, None]], "3": 0.5}
    assert plain["sections"][0]["blocks"][0]["rows"] == [[0.5], [3], [True]]


def test_fields_with_defaults_may_be_absent():
    plain = {"format": 1, "title": "t", "headline": [], "sections": []}
    assert Contents.from_plain(plain) == Contents(title="t", headline=[], sections=[])


@pytest.mark.parametrize("document", [None, 3, "text", [], [1], {}, {"cells": 3}, {"title": "t", "headline": []}])
def test_a_foreign_document_is_refused(document):
    with pytest.raises(ValueError, match="no report of kernelweave"):
        Contents.from_plain(document)


@pytest.mark.parametrize("number", [0, 2, "1", None, True, 1.0])
def test_another_format_is_refused(number):
    with pytest.raises(ValueError, match="format"):
        Contents.from_plain({"format": number, "title": "t", "headline": [], "sections": []})


DAMAGES = [
    (("title",), 3, "report.title is 3, not text"),
    (("headline",), "text", "report.headline is 'text', not a list"),
    (("headline", 0), None, r"report.headline\[0\] is null, not text"),
    (("sections",), {}, "report.sections is an object, not a list"),
    (("sections", 0), [], r"report.sections\[0\] is a list, not an object"),
    (("sections", 0, "blocks", 0, "type"), "video", r"blocks\[0\].type is 'video', not one of text, code"),
    (("sections", 0, "blocks", 0, "type"), ["text"], r"blocks\[0\].type is \['text'\]"),
    (("sections", 0, "blocks", 0, "strong"), 1, "strong is 1, not true or false"),
    (("sections", 0, "blocks", 1, "columns", 1, "kind"), "euro", "kind is 'euro', not one of text, number"),
    (("sections", 0, "blocks", 1, "rows", 0), ["a"], "has 1 entries for 6 columns"),
    (("sections", 0, "blocks", 1, "rows", 0, 0), {}, "rows.*is an object"),
    (("sections", 0, "blocks", 1, "marked", 0), 99, "marks a row that it does not have"),
    (("sections", 0, "blocks", 2, "dots", 0, "value"), "0.5", "value is '0.5', not a number"),
    (("sections", 0, "blocks", 2, "dots", 0, "value"), True, "value is True, not a number"),
    (("sections", 3, "blocks", 1, "group", 0), 99, "has a group that is not in groups"),
    (("sections", 3, "blocks", 1, "group", 0), -1, "has a group that is not in groups"),
    (("sections", 3, "blocks", 1, "x"), [], "entries of y for 0 of x"),
    (("sections", 2, "blocks", 0, "values", 0), [], "has 0 entries for 5 columns"),
    (("sections", 4, "blocks", 0, "totals"), [1.0], "entries of totals for 12 of labels"),
    (("sections", 5, "blocks", 0, "lines", 0, "x"), [1.0], "entries of y for 1 of x"),
    (("versions", "numpy"), 3, "report.versions.numpy is 3, not text"),
    (("sections", 1, "id"), "methods", "two sections have the same id"),
    (("sections", 0, "onload"), "x", "has the unknown field 'onload'"),
]


@pytest.mark.parametrize("path, value, message", DAMAGES)
def test_a_damaged_field_is_named(path, value, message):
    plain = by_json(usual())
    place = plain
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    before = copy.deepcopy(plain)
    with pytest.raises(ValueError, match=message) as caught:
        Contents.from_plain(plain)
    assert "\n" not in str(caught.value)
    assert plain == before


@pytest.mark.parametrize("field", ["title", "headline", "sections"])
def test_an_absent_field_is_named(field):
    plain = by_json(usual())
    del plain[field]
    with pytest.raises(ValueError, match=f"report lacks the field '{field}'"):
        Contents.from_plain(plain)


def test_blocks_are_checked_where_they_are_made():
    with pytest.raises(ValueError, match="entries of values"):
        Bars(title="t", description="", axis="", labels=["a"], parts=["b"], values=[])
    with pytest.raises(ValueError, match="kind"):
        Dots(title="t", description="", axis="", dots=[], kind="euro")
    with pytest.raises(ValueError, match="entries of notes"):
        Bars(title="t", description="", axis="", labels=["a"], parts=[], values=[[]], notes=["a", "b"])


def test_each_chart_gives_the_table_of_its_numbers():
    dots = Dots(
        title="t", description="", axis="score", dots=[Dot("a", 0.5, 0.4, 0.6, "alone")], kind="percent"
    ).table()
    assert [column.name for column in dots.columns] == ["name", "series", "score", "from", "to"]
    assert dots.rows == [["a", "alone", 0.5, 0.4, 0.6]]
    scatter = Scatter(title="t", description="", x=[1.0], y=[2.0], group=[0], groups=["g"], label=["s"], about=["x"])
    assert scatter.table().rows == [["s", "g", 1.0, 2.0, "x"]]
    heat = Heatmap(title="t", description="", rows=["r"], columns=["a", "b"], values=[[1.0, None]])
    assert heat.table().rows == [["r", 1.0, None]]
    bars = Bars(
        title="t", description="", axis="", labels=["a"], parts=["p"], values=[[1.0]], totals=[1.5], notes=["n"]
    )
    assert bars.table().rows == [["a", "n", 1.0, 1.5]]
    assert Text(text="a").table() is None
    for section in usual().sections:
        for block in section.blocks:
            assert isinstance(block, Block)
            if table := block.table():
                assert all(len(row) == len(table.columns) for row in table.rows)


def test_bars_of_earlier_versions_are_read():
    """They have no true values, and begin at 0."""
    bars = Bars(title="t", description="d", axis="a", labels=["n"], parts=["p"], values=[[1.0]], totals=[1.0])
    contents = Contents(title="t", headline=[], sections=[Section(id="s", title="s", blocks=[bars])])
    plain = by_json(contents)
    for name in ("truths", "truth_label", "starts", "start_label"):
        del plain["sections"][0]["blocks"][0][name]
    assert Contents.from_plain(plain) == contents


def test_every_bar_has_a_true_value():
    with pytest.raises(ValueError, match="2 entries of truths for 1 of labels"):
        Bars(title="t", description="d", axis="a", labels=["n"], parts=["p"], values=[[1.0]], truths=[1.0, 2.0])
