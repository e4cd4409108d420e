"""JSON, Markdown and the page of results."""

import json

from kernelweave.experiments import markdown, results_page, run_experiment, write_report
from kernelweave.experiments.report import results_cells
from small_experiment import SMALL


def test_paper_and_ours_side_by_side(tmp_path):
    summary = run_experiment(SMALL, tmp_path)
    row = summary.row("petal")
    cells = results_cells(summary, row)
    assert cells[:2] == ["petal", f"{row.parameters[0]['C']:g}"]
    assert cells[2] == f"{row.mean('test'):.2f} ± {row.std('test'):.2f}" and cells[3] == "90.00 ± 1.00"
    assert cells[4] == f"{row.mean('test') - 90:+.2f}" and cells[7] == f"{row.mean('support') - 50:+.2f}"
    assert results_cells(summary, summary.row("all"))[-2:] == ["-", "-"]
    assert results_cells(summary, summary.row("both"))[3:5] == ["-", "-"]
    text = markdown(summary)
    assert "5x2 cv paired F test of our 10 results of a method against our 10 results of all" in text
    assert "standardised features, unit-diagonal kernels" in text and "C in 0.1, 10" in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {11, 7}


def test_files(tmp_path):
    json_file, markdown_file = write_report(run_experiment(SMALL, tmp_path), tmp_path)
    content = json.loads(json_file.read_text())
    assert content["table"] == "small" and [method["method"] for method in content["methods"]] == [
        "petal",
        "all",
        "both",
    ]
    assert len(content["methods"][0]["values"]["test"]) == 10
    assert content["methods"][0]["paper"]["score"] == 90.0 and content["methods"][2]["paper"] is None
    assert markdown_file.read_text().startswith("## Table small: IRIS")
    quick, _ = write_report(run_experiment(SMALL, tmp_path, quick=True), tmp_path)
    assert quick.name == "table-small-quick.json"


def test_page_gathers_full_runs_in_the_order_of_the_registry(tmp_path):
    for name in ("table-5.22", "table-5.16", "table-5.16-quick", "table-unknown"):
        (tmp_path / f"{name}.md").write_text(f"## {name}\n")
    page = tmp_path / "docs" / "results.md"
    assert results_page(tmp_path, page) == ["5.16", "5.22"]
    text = page.read_text()
    assert text.index("## table-5.16\n") < text.index("## table-5.22\n")
    assert "quick\n" not in text and "unknown" not in text
