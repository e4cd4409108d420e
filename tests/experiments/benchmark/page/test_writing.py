"""The page of the benchmark, from made-up cells: full, partial and small tables."""

import importlib.util
import re

import pytest

from experiments.benchmark import DATA_SETS, read_results, write_benchmark_page
from experiments.benchmark.page.findings import counted
from made_up_cells import METHODS, SETS, made_up_cells

ABOUT = {"version": "0.2.0", "date": "2026-11-16", "cores": 2, "quick": False}


@pytest.fixture
def without_pictures(monkeypatch):
    """As if matplotlib were absent, which is faster."""
    find = importlib.util.find_spec
    absent = lambda name: None if name == "matplotlib" else find(name)  # noqa: E731 - one line
    monkeypatch.setattr("experiments.benchmark.page.writing.find_spec", absent)


def written(cells, tmp_path):
    return write_benchmark_page(cells, tmp_path / "benchmark.md")[0].read_text(encoding="utf-8")


def section(text, title):
    """What is below a heading, down to the next one of the same level or above."""
    level = len(re.search(rf"^(#+) {re.escape(title)}$", text, re.MULTILINE)[1])
    below = text.split(f"{'#' * level} {title}\n", 1)[1]
    return re.split(rf"^#{{1,{level}}} ", below, maxsplit=1, flags=re.MULTILINE)[0]


def rows(table):
    """The cells of the last table of a text, by the first column."""
    lines = [line.strip("| ").split(" | ") for line in table.strip().splitlines() if line.startswith("|")]
    return {line[0]: line for line in lines}


def test_a_full_page(tmp_path):
    pytest.importorskip("matplotlib", reason="draws; needs the extra plot")
    cells = made_up_cells(failing={("cora", "LpMKL")})
    cells.attrs["about"] = ABOUT
    files = write_benchmark_page(cells, tmp_path / "benchmark.md")
    text = files[0].read_text(encoding="utf-8")
    assert all(path.exists() for path in files)
    links = re.findall(r"\]\(([^)]+\.png)\)", text)
    assert {tmp_path / link for link in links} == set(files[2:]) and len(links) == 6
    assert "11 methods on 10 data sets" in text
    assert "(Kernelweave 0.2.0, run until 2026-11-16, a machine with 2 cores)" in text
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert titles == [
        *("What it shows", "Overall", "Critical differences", "Where others win", "What was run"),
        *("Accuracy by data set", "Log loss by data set", "Failures", "What is missing"),
    ]
    assert not re.search(r"\bnan\b|None|inf\b", text)


def test_figures_are_those_of_the_cells(tmp_path, without_pictures):
    cells = made_up_cells()
    text = written(cells, tmp_path)
    overall = rows(section(text, "Overall").split("### What it costs")[0])
    own = cells[cells["method"] == "SVM on all columns"]
    line = overall["SVM on all columns (rival)"]
    assert line[1] == f"{100 * own.groupby('set')['accuracy'].mean().mean():.1f}"
    assert line[5] == f"{own['log_loss'].mean():.3f}" and overall["auto"][3] == "-"
    costs = rows(section(text, "What it costs"))
    assert costs["SVM on all columns (rival)"][1:] == ["160", f"{own['seconds'].mean():.2f}", "0.100", "30"]
    assert costs["random forest (rival)"][1] == "-"
    accuracy = rows(section(text, "Accuracy by data set: several kernels of one table"))
    heart = 100 * cells[cells["set"] == "heart"].groupby("method")["accuracy"].mean()
    shown = {name: accuracy[name][1] for name in METHODS}
    assert {name: value.strip("*") for name, value in shown.items()} == {n: f"{v:.1f}" for n, v in heart.items()}
    assert shown[heart.idxmax()].startswith("**") and not shown[heart.idxmin()].startswith("**")
    sets = rows(section(text, "What was run"))
    assert sets["cora-block"] == ["cora-block", "masked", "2708", "4", "7", "200", "400", "3"]
    assert sets["heart"][2:5] == ["270", "1", "2"] and sets["multifeat"][2:5] == ["2000", "6", "10"]


def test_the_page_speaks_of_the_default_first(tmp_path, without_pictures):
    text = written(made_up_cells(), tmp_path)
    assert "*auto* is what `CohortModel` does by default" in text.split("## What it shows")[0]
    first = text.splitlines()[2]
    assert first.startswith("The one method of Kernelweave that was named beforehand, *auto*, is more accurate than *")
    said = section(text, "What it shows").strip().splitlines()
    assert said[0].startswith("- *auto* is ahead of the best of the others, or within 0.5 points of it, on ")
    assert "mean rank" in said[1] and "*auto*" in said[1]
    assert "on which the method beats *auto*" in text
    without = written(made_up_cells(methods={name: METHODS[name] for name in METHODS if name != "auto"}), tmp_path)
    assert "*auto* is" not in without and section(without, "What it shows").startswith("\n- The best mean rank")


def test_the_least_log_loss_is_bold(tmp_path, without_pictures):
    cells = made_up_cells(["heart"])
    table = rows(section(written(cells, tmp_path), "Log loss by data set"))
    best = cells.groupby("method")["log_loss"].mean().idxmin()
    assert table[best][1].startswith("**")


def test_the_page_can_be_written_again_from_its_results(tmp_path, without_pictures):
    cells = made_up_cells(failing={("cora", "LpMKL")})
    cells.attrs["about"] = ABOUT
    first = written(cells, tmp_path)
    again = read_results(tmp_path / "benchmark" / "results.json")
    assert again.attrs["about"] == ABOUT
    second = written(again, tmp_path)
    assert written(read_results(tmp_path / "benchmark" / "results.json"), tmp_path) == second
    assert section(first, "Where others win") == section(second, "Where others win")


def test_failures_are_named_with_their_reasons(tmp_path, without_pictures):
    text = written(made_up_cells(failing={("cora", "LpMKL"), ("heart", "LpMKL")}), tmp_path)
    assert r"| LpMKL | ValueError: no luck \| here | cora (3), heart (3) |" in text
    assert rows(section(text, "Overall").split("### What it costs")[0].split("| column |")[0])["LpMKL"][1][0] == "("
    assert "| 2 |" in next(line for line in section(text, "Overall").splitlines() if line.startswith("| LpMKL |"))
    assert rows(section(text, "Accuracy by data set: several kernels of one table"))["LpMKL"][1] == "failed"
    assert "Every method could be fitted" in written(made_up_cells(["heart"]), tmp_path)


def test_partial_tables_name_what_is_left_out(tmp_path, without_pictures):
    cells = made_up_cells()
    late = (cells["method"] == "Localized") & (cells["set"] != "cora")
    rare = (cells["set"] == "sonar") & ~cells["method"].isin(["LpMKL", "ConvexMKL"])
    text = written(cells[~late & ~rare], tmp_path)
    overall = section(text, "Overall")
    assert "Left out of the ranks because of missing cells: *Localized*." in overall
    assert "some method was not run there: sonar." in overall and "Means over 9 data sets" in overall
    assert "Localized" not in rows(overall)
    accuracy = rows(section(text, "Accuracy by data set: several kernels of one table"))
    assert "Localized" not in accuracy


def test_what_was_not_run_is_named(tmp_path, without_pictures):
    text = section(written(made_up_cells(), tmp_path), "What is missing")
    absent = next(name for name in DATA_SETS if name not in SETS)
    assert absent.replace("_", r"\_") in text and "*stacking*" in text and "*LpMKL*" not in text


@pytest.mark.parametrize(
    ("sets", "methods", "splits"),
    [(["heart"], ["LpMKL"], 1), (["heart"], ["LpMKL", "random forest"], 2), (SETS[:2], ["random forest"], 1)],
)
def test_small_tables(tmp_path, sets, methods, splits):
    pytest.importorskip("matplotlib", reason="draws; needs the extra plot")
    text = written(made_up_cells(sets, {name: METHODS[name] for name in methods}, splits=splits), tmp_path)
    assert f"{counted(len(methods), 'method')} on {counted(len(sets), 'data set')}, by" in text
    assert f"--splits {splits}" in text
    assert not re.search(r"\bnan\b|None|\binf\b", text)


def test_no_common_cells(tmp_path, without_pictures):
    cells = made_up_cells(["heart", "sonar"])
    apart = (cells["set"] == "heart") == (cells["method"] == "LpMKL")
    text = written(cells[apart & cells["method"].isin(["LpMKL", "random forest"])], tmp_path)
    assert "Left out of the ranks" in text or "Data sets left out" in text


def test_all_failed(tmp_path, without_pictures):
    text = written(made_up_cells(["heart"], failing={("heart", name) for name in METHODS}), tmp_path)
    assert "no luck" in text and not re.search(r"\bnan\b", text)


def test_quick_runs_and_entries_are_said(tmp_path, without_pictures):
    cells = made_up_cells(["heart"], METHODS | {"my | own": ("entry", 0.1, 1.0, 0.5)})
    cells.attrs["about"] = ABOUT | {"quick": True}
    text = written(cells, tmp_path)
    assert "This is a quick run" in text and "--quick --entry FILE.py" in text and "After 2 seconds" in text
    assert r"my \| own (entry)" in rows(section(text, "Overall"))


def test_no_cells_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no cells"):
        write_benchmark_page(made_up_cells().iloc[:0], tmp_path / "page.md")
