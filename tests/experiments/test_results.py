"""The pages of results in `docs`: the figures of the digest are those of the tables."""

import re
from pathlib import Path

import pytest

from experiments.discovery import find_experiment, list_defaults, list_experiments
from experiments.reports.digest import digest
from experiments.reports.records import read_records
from experiments.tables import NOT_TO_BE_HAD

DOCS = Path(__file__).parents[2] / "docs"
RECORDS = read_records(DOCS / "results")


def rows_of(text):
    """The lines of all tables of a page, as cells."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("| ---")]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


def test_the_digest_is_that_of_the_records():
    assert (DOCS / "results.md").read_text("utf-8") == digest(list_experiments(), RECORDS, NOT_TO_BE_HAD)


def test_every_table_has_a_page_and_a_record():
    assert {path.stem for path in (DOCS / "results").glob("*.md")} == set(RECORDS)
    assert set(RECORDS) <= {experiment.name for experiment in list_experiments()}


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_the_figures_of_the_pages(name):
    text = (DOCS / "results" / f"{name}.md").read_text("utf-8")
    record, rows = RECORDS[name], rows_of(text)
    assert f"Run with version {record['version']}: `python -m experiments reproduce {name}`." in text
    by_errors = record["score"] == "error %"
    for result in record["results"]:
        if by_errors:  # two lines a data set, a column a method
            place = next(row for row in rows if row[:2] in (["data", ""], ["data set", ""])).index(result["method"])
            at = next(number for number, row in enumerate(rows) if row[:2] == [result["data"], "ours"])
            shown = [rows[at][place], rows[at + 1][place] if "paper" in result else None]
        else:
            head = next(row for row in rows if any(cell == f"{record['score']}, ours" for cell in row))
            key = [result["data"], result["method"]] if result["data"] else [result["method"]]
            line = next(row for row in rows[rows.index(head) :] if row[: len(key)] == key)
            place = head.index(f"{record['score']}, ours")
            shown = [line[place], line[place + 1] if "test" in result.get("paper", {}) else None]
            assert_figure(line[place + 3], result["support"])
        assert_figure(shown[0], result["test"])
        if shown[1] is not None:
            assert_figure(shown[1], result["paper"]["test"])


@pytest.mark.parametrize("name", RECORDS)
def test_pages_describe_the_protocol_in_words(name):
    text = (DOCS / "results" / f"{name}.md").read_text("utf-8")
    protocol = find_experiment(name).members[0].protocol
    assert re.findall(r"Protocol: (.*?); \d+ folds\.", text) == [protocol.in_words] and repr(protocol) not in text


def test_the_page_of_defaults_describes_protocols_in_words():
    found = re.findall(r"Protocol: (.*?)\.", (DOCS / "defaults.md").read_text("utf-8"))
    assert found and set(found) == {comparison.protocol.in_words for comparison in list_defaults()}


def assert_figure(cell, figure):
    """A figure as a page prints it."""
    printed = re.findall(r"[\d.]+", cell)
    assert len(printed) == 2 - (figure[1] is None), cell
    for text, value in zip(printed, figure, strict=False):
        places = len(text.partition(".")[2])
        assert float(text) == pytest.approx(value, abs=0.5001 * 10.0**-places + 1e-4), (cell, figure)
