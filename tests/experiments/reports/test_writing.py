"""JSON, Markdown and the page of results."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from experiments.declaration import Claim, Method
from experiments.outcome import COMPARED
from experiments.reports.records import read_records, write_records
from experiments.reports.sections import TextTable, results_cells, sections
from experiments.reports.writing import markdown, write_page, write_report
from experiments.runner import fingerprint, run_experiment
from kernelweave import KernelSAMME, KernelVoting, __version__
from kernelweave.reduction import MKLDR
from small_experiment import SEVERAL, SMALL

COUNTED = [(method, measure) for method in ("dear", "found") for measure in ("test", "support", "total_cost")]

LATER = dataclasses.replace(SMALL, name="later", claim=Claim("All is better", "all", ahead_of=("petal",)))
RECORD = {
    "title": "IRIS",
    "source": "nowhere",
    "version": "0.0.1",
    "score": "accuracy %",
    "test": "a test",
    "baseline": "all",
    "results": [
        {"data": "", "method": "petal", "test": [90.0, 1.0], "support": [50.0, 1.0]},
        {"data": "", "method": "all", "test": [93.5, 1.0], "support": [40.0, 1.0], "paper": {"test": [95.0, 1.0]}},
    ],
}


def test_paper_and_ours_side_by_side(tmp_path):
    outcome = run_experiment(SMALL, tmp_path)
    row = outcome.row("petal")
    cells = results_cells(outcome, row)
    assert cells[0] == f"{row.parameters[0]['C']:g}"
    assert cells[1] == f"{row.mean('test'):.2f} ± {row.std('test'):.2f}" and cells[2] == "90.00 ± 1.00"
    assert cells[3] == f"{row.mean('test') - 90:+.2f}" and cells[6] == f"{row.mean('support') - 50:+.2f}"
    assert results_cells(outcome, outcome.row("all"))[-2:] == ["-", "-"]
    assert results_cells(outcome, outcome.row("both"))[2:4] == ["-", "-"]
    text = markdown(outcome)
    assert "5x2 cv paired F test of our 10 results of a method against our 10 results of all" in text
    assert "standardised features, unit-diagonal kernels" in text and "C in 0.1, 10" in text
    assert f"Protocol: {SMALL.protocol.in_words}; 10 folds." in text and repr(SMALL.protocol) not in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {11, 13}  # results and costs; nothing here learns weights
    for grid in (part for part in sections(outcome) if not isinstance(part, str)):
        narrow = grid.narrowed()
        shown = [heading for part in narrow for heading in part.headings]
        assert sorted(shown) == sorted(grid.headings + ["method"] * (len(narrow) - 1))  # no column is lost


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    return run_experiment(SEVERAL, tmp_path_factory.mktemp("several"))


def test_several_data_sets_in_one_table(several, tmp_path):
    outcome = several
    results, weights, costs, counts = (part for part in sections(outcome) if not isinstance(part, str))
    assert [row[:2] for row in results.rows] == [[s, m] for s in ("IRIS", "WDBC") for m in ("MKL", "dear", "found")]
    found = outcome.parts[1].row("found")
    mean = found.weights.mean(axis=0)
    for row in outcome.parts[1].rows:
        np.testing.assert_allclose(row.weights.sum(axis=1), 1.0)  # shown so, whatever the costs
    assert weights.rows[5][2] == "-".join(f"{weight:.2f}" for weight in mean) and weights.rows[0][3] == "0.25-0.75"
    assert weights.rows[0][4:] == ["1.00-1.00", "1.00-1.00"] and weights.rows[4][4] == "1.00-30.00"
    assert costs.rows[0][3] == "2" and costs.rows[0][6] == "12.00 ± 1.00" and costs.rows[1][6] == "-"
    assert counts.rows[0][:2] == ["dear", "score"] and counts.rows[2][3::2] == ["0-2-0", "2-0-0", "T"]
    assert [row[2] for row in counts.rows] == ["-".join(map(str, outcome.counts(*key).tested)) for key in COUNTED]
    files = write_report(outcome, tmp_path)
    content = json.loads(files[0].read_text())
    assert [part["title"] for part in content["data_sets"]] == ["IRIS", "WDBC"]
    assert content["counts"]["dear"]["total_cost"]["direct"] == list(outcome.counts("dear", "total_cost").direct)
    text = files[1].read_text()
    assert "Data: iris (merged), wdbc" in text and "over the 2 data sets: by the 5x2 cv paired F test" in text


def test_hyper_parameters_of_one_method_come_by_name(several):
    part = several.parts[0]
    method = dataclasses.replace(part.rows[0].method, grid={"combiner__costs__gamma": [0.1, 0.3], "C": [0.1, 10.0]})
    setting = {"combiner__costs__gamma": 0.3, "C": 10.0}
    assert results_cells(part, dataclasses.replace(part.rows[0], method=method, parameters=[setting]))[0] == (
        "10, gamma 0.3"
    )
    others = [setting, setting | {"C": 0.1}]
    assert results_cells(part, dataclasses.replace(part.rows[0], method=method, parameters=others))[0] == "by run"
    assert results_cells(part, part.row("found"))[0] in ("0.1", "10")  # the point of a search is told by its costs


def test_active_kernels_as_printed_and_weights_of_different_kernels(several):
    part = several.parts[0]
    first, second, third = part.rows
    printed = dataclasses.replace(first.method.paper, active=1.5)
    first = dataclasses.replace(first, method=dataclasses.replace(first.method, paper=printed))
    third = dataclasses.replace(third, method=dataclasses.replace(third.method, kernels=("all", "petal")))
    found = sections(dataclasses.replace(part, rows=[first, second, third]))
    _, _, costs = (section for section in found if not isinstance(section, str))
    assert [row[2] for row in costs.rows] == ["1.50", "-", "-"]
    assert any(
        "Weights of petal - all or all - petal, averaged" in section for section in found if isinstance(section, str)
    )


def test_wins_are_higher_scores_and_lower_costs(several):
    outcome = several
    for measure, sign in (("test", 1), ("support", -1), ("total_cost", -1)):
        means = [[part.row(name).mean(measure) for name in ("MKL", "dear")] for part in outcome.parts]
        wins = sum(sign * round(other, 2) > sign * round(base, 2) for base, other in means)
        assert outcome.counts("dear", measure).direct[0] == wins
    assert outcome.counts("dear", "total_cost").direct[0] > 0


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


def test_layout_of_the_paper_and_learned_weights(tmp_path):
    pipeline = Pipeline([("mkldr", MKLDR(step="ratio-trace")), ("neighbor", KNeighborsClassifier(1))])
    both = ("petal", "all")
    embedding = dataclasses.replace(
        SMALL,
        methods=(
            Method("single", ("petal",), estimator=KernelVoting()),
            Method("boosted", both, estimator=KernelSAMME(random_state=0)),
            Method("voted", both, estimator=KernelVoting()),  # weights that are alike are none to tell of
            Method("embedded", both, estimator=pipeline, grid={"mkldr__ridge": [0.01, 0.1]}),
        ),
        baseline="embedded",
        grid={"ridge": [0.01, 0.1]},
        layout={"petal": {"KFD": "single"}, "All": {"KFD": "boosted", "MKL": "embedded"}},
    )
    outcome = run_experiment(embedding, tmp_path, quick=True)
    layout, _, weights, costs = (part for part in sections(outcome) if isinstance(part, TextTable))
    assert layout.headings == ["accuracy %", "KFD", "MKL"] and layout.rows[0][2] == "-"
    row = outcome.row("embedded")
    assert layout.rows[1] == [
        "All",
        *(f"{outcome.row(n).mean('test'):.2f} ± {outcome.row(n).std('test'):.2f}" for n in ("boosted", "embedded")),
    ]
    np.testing.assert_allclose(row.weights.sum(axis=1), 1.0)
    assert (outcome.row("single").weights == 1.0).all()
    assert [line[0] for line in weights.rows] == ["boosted", "embedded"]
    assert weights.rows[1][1] == "-".join(f"{weight:.2f}" for weight in row.weights.mean(axis=0))
    assert float(costs.rows[3][3]) == pytest.approx(row.mean("cost")) and row.mean("support") == 100.0
    assert row.parameters[0].keys() == {"mkldr__ridge"} and row.mean("test") > 70
    text = markdown(outcome)
    assert "| accuracy % | KFD | MKL |" in text and "Weights of petal - all" in text
    again = run_experiment(embedding, tmp_path, quick=True).row("embedded")  # from the cells
    np.testing.assert_array_equal(again.weights, row.weights)


def test_fingerprints_tell_estimators_apart():
    one = Method("x", ("petal",), estimator=KernelVoting())
    other = Method("x", ("petal",), estimator=KernelVoting(rule="centroid"))
    steps = [Pipeline([("mkldr", MKLDR(ridge=ridge)), ("n", KNeighborsClassifier(1))]) for ridge in (0.1, 0.2)]
    marks = [fingerprint(SMALL, Method("x", ("petal",), estimator=e), "data") for e in steps]
    marks += [fingerprint(SMALL, method, "data") for method in (one, other, Method("x", ("petal",)))]
    assert len(set(marks)) == 5


def test_page_of_defaults_gathers_full_runs_in_the_order_of_the_registry(tmp_path):
    for name in ("table-default-normalize", "table-default-combiner", "table-default-combiner-quick", "table-unknown"):
        (tmp_path / f"{name}.md").write_text(f"## {name}\n")
    page = tmp_path / "docs" / "defaults.md"
    assert write_page(tmp_path, page, defaults=True) == ["default-combiner", "default-normalize"]
    text = page.read_text()
    assert text.index("## table-default-combiner\n") < text.index("## table-default-normalize\n")
    assert "quick\n" not in text and "unknown" not in text and not (tmp_path / "docs" / "defaults").exists()


def test_a_full_run_has_a_page_a_record_and_a_line_and_leaves_the_others_alone(tmp_path, monkeypatch):
    claimed = dataclasses.replace(
        SMALL, claim=Claim("Both are better", "both", ahead_of=("petal",), reason="iris is small")
    )
    monkeypatch.setattr("experiments.reports.writing.list_experiments", lambda: [LATER, claimed])
    output, page = tmp_path / "out", tmp_path / "docs" / "results.md"
    with pytest.raises(ValueError, match="there is no full run below"):
        write_page(output, page)
    folder = tmp_path / "docs" / "results"
    write_records(folder, {"later": RECORD})
    (folder / "later.md").write_text("as it was\n")
    outcome = run_experiment(claimed, output)
    write_report(outcome, output)
    write_report(run_experiment(claimed, output, quick=True), output)
    assert write_page(output, page) == ["small"]
    records = read_records(folder)
    assert list(records) == ["later", "small"] and records["later"] == RECORD
    assert records["small"]["version"] == __version__
    row = next(row for row in records["small"]["results"] if row["method"] == "petal")
    assert row["test"] == pytest.approx([outcome.row("petal").mean("test"), outcome.row("petal").std("test")], abs=1e-4)
    assert row["paper"] == {"test": [90.0, 1.0], "support": [50.0, 2.0]} and set(row["p"]) == set(COMPARED)
    text = (folder / "small.md").read_text()
    assert text.startswith("# Table small: IRIS\n") and f"Run with version {__version__}" in text
    assert (folder / "later.md").read_text() == "as it was\n"
    lines = page.read_text()
    assert "[Table small](results/small.md)" in lines and "[Table later](results/later.md)" in lines
    assert "0.0.1, old" in lines and "1 tables were last run with an earlier one" in lines
    assert write_page(tmp_path / "nothing", page) == [] and page.read_text() == lines  # from the records alone
