"""``kernelweave report``: the same page again from report.json."""

import json

import pytest

from kernelweave.cli import main
from kernelweave.reporting.content import Bars, Column, Contents, Dot, Dots, Heatmap, Section, Table, Text
from kernelweave.reporting.page import Report


def contents():
    bars = {
        "title": "parts",
        "description": "parts",
        "axis": "part",
        "labels": ["p"],
        "parts": ["a"],
        "values": [[1.5]],
    }
    blocks = [
        Text(text="Größe <script>alert(1)</script>"),
        Table(
            title="methods", columns=[Column("method"), Column("score", "percent")], rows=[["mean", 0.9]], marked=[0]
        ),
        Bars(**bars, totals=[1.5], notes=["well"]),
        Bars(**bars),
        Dots(title="scores", description="scores", axis="score", dots=[Dot("mean", 0.9, 0.8)], marked=["mean"]),
        Heatmap(title="weights", description="weights", rows=["a"], columns=["b", "c"], values=[[0.5, None]]),
    ]
    section = Section(id="methods", title="Methods", blocks=blocks)
    return Contents(title="Digits", headline=["Use the mean."], sections=[section], data={"scores": [0.9]})


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    Report(contents()).save(folder / "report.json")
    return folder


def test_the_page_is_drawn_from_a_folder(results, capsys):
    assert main(["report", str(results)]) == 0
    assert capsys.readouterr().out.replace("\n", " ").strip() == f"Report: {results / 'report.html'}"
    assert (results / "report.html").read_text("utf-8") == Report(contents()).to_html()
    assert (results / "report.md").read_text("utf-8") == Report(contents()).to_markdown()


def test_or_from_a_file_into_another_folder(results, tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert main(["report", str(results / "report.json"), "--out", str(out)]) == 0
    assert {path.name for path in out.iterdir()} == {"report.html", "report.md"}
    assert {path.name for path in results.iterdir()} == {"report.json"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read as a report"),
        ('{"title": "x"', "cannot be read as a report"),
        ("[1, 2]", "no report of kernelweave"),
        ('{"menu": 1}', "no report of kernelweave"),
        ("[" * 100_000, "cannot be read as a report"),
        ("\udcff", "cannot be read as a report"),
    ],
)
def test_other_files_are_refused_in_one_line(text, message, results, capsys):
    (results / "report.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main(["report", str(results)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("kernelweave report: error: ") and message in line and "report.json" in line
    assert {path.name for path in results.iterdir()} == {"report.json"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plain: plain.update(format=99), "the format 99"),
        (lambda plain: plain.pop("headline"), "headline"),
        (lambda plain: plain["sections"][0]["blocks"][2].update(totals="much"), "totals"),
        (lambda plain: plain["sections"][0]["blocks"][2].update(totals=[1.0, 2.0]), "totals"),
        (lambda plain: plain["sections"][0]["blocks"][0].update(type="dance"), "dance"),
    ],
)
def test_damaged_reports_are_refused_in_one_line(change, message, results, capsys):
    plain = json.loads((results / "report.json").read_text("utf-8"))
    change(plain)
    (results / "report.json").write_text(json.dumps(plain), "utf-8")
    assert main(["report", str(results)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
