"""The digest of results."""

import dataclasses

from experiments.declaration import Claim
from experiments.reports.digest import digest
from kernelweave import __version__
from small_experiment import SMALL

CLAIM = Claim(
    "Both are better",
    "both",
    ahead_of=("petal", "all"),
    simpler=("petal", "all"),
    own="all",
    reason="iris is small",
    details="Its samples are not large.",
    remark="three kinds",
)
NARROW = "\N{NO-BREAK SPACE}"
TABLE = dataclasses.replace(SMALL, claim=CLAIM)


def record(mean, version=__version__):
    def row(method, score, **more):
        return {"data": "", "method": method, "test": [score, 1.0], "support": [30.0, 1.0], **more}

    results = [row("petal", 90.0), row("all", 95.0), row("both", mean, paper={"test": [97.0, 1.0]}, p={"test": 0.01})]
    return {"score": "accuracy %", "baseline": "all", "version": version, "title": "IRIS", "results": results}


def line_of(text):
    return next(line for line in text.splitlines() if line.startswith("| [Table small]"))


def test_a_table_that_is_reached_and_holds():
    text = digest([TABLE], {"small": record(96.5)}, {})
    cells = [cell.strip().replace(NARROW, " ") for cell in line_of(text).strip("|").split("|")]
    assert cells == [
        "[Table small](results/small.md)",
        "96.50 ± 1.00",
        "97.00 ± 1.00",
        "-0.50",
        "yes",
        "1/1",
        "yes",
        "three kinds",
        __version__,
    ]
    assert "- [Table small](results/small.md), IRIS. Both are better: `both`.\n" in text
    assert "Of the 1 tables whose paper has a figure for that row, 1 reach it" in text
    assert "There are none." in text and "last run with" not in text and "not large" not in text


def test_a_table_that_is_not():
    text = digest([TABLE, dataclasses.replace(TABLE, name="other")], {"small": record(92.0, "0.0.1")}, {"A set": "T 1"})
    line = line_of(text)
    assert "| -5.00 | **no** | 0/1 | **no** | iris is small; three kinds | 0.0.1, old |" in line
    assert f"This is version {__version__}" in text
    assert "Both are better: `both`. Against it: all is ahead. Its samples are not large." in text
    assert "| Table small | all | 95.00 | both | 92.00 | significant |" in text
    forms = "| Table small | both | all | 92.00 ± 1.00 | 95.00 ± 1.00 | 30.00 ± 1.00 | 30.00 ± 1.00 |"
    assert forms in text.replace(NARROW, " ")
    assert "- A set: T 1" in text and "never run in full: Table other." in text


def test_a_row_that_was_not_run():
    without = record(96.0)
    without["results"] = without["results"][:2]
    assert "| - | - | - | not run | - | not run | iris is small" in line_of(digest([TABLE], {"small": without}, {}))


def test_a_table_that_measures_figures_again_is_shown_and_not_counted():
    again = dataclasses.replace(TABLE, name="again", claim=dataclasses.replace(CLAIM, again=True))
    text = digest([TABLE, again], {"small": record(96.5), "again": record(80.0)}, {})
    assert "| [Table again](results/again.md) | 80.00" in text.replace(NARROW, " ")
    assert "Of the 1 tables whose paper has a figure for that row, 1 reach it" in text and "1 of all 1 figures" in text
    assert "These counts are without Table again, which measure figures once more." in text
