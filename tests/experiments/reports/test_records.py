"""Records of full runs."""

import json

from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

from experiments.reports.records import read_records, record_of, write_records
from experiments.reports.writing import write_report
from experiments.runner import run_experiment
from kernelweave.compare import Comparison, Contender, Problem
from kernelweave.model_selection import RepeatedHalves
from small_experiment import SEVERAL


def test_records_come_back_as_they_were_written(tmp_path):
    records = {"5.6": {"title": "Gönen", "version": "1", "results": [{"data": "", "method": "a", "test": [1.0, None]}]}}
    assert read_records(tmp_path / "docs") == {}
    write_records(tmp_path / "docs", records)
    assert read_records(tmp_path / "docs") == records
    text = (tmp_path / "docs" / "results.json").read_text()
    assert "Gönen" in text and json.loads(text) == records


def test_record_of_several_data_sets(tmp_path):
    outcome = run_experiment(SEVERAL, tmp_path, quick=True)
    content = json.loads(write_report(outcome, tmp_path)[0].read_text())
    record = record_of(content)
    assert record["title"] == "IRIS and WDBC" and record["score"] == "accuracy %" and record["baseline"] == "MKL"
    assert [(row["data"], row["method"]) for row in record["results"]] == [
        (data, method) for data in ("IRIS", "WDBC") for method in ("MKL", "dear", "found")
    ]
    first = record["results"][0]
    assert first["paper"] == {"test": [90.0, 1.0], "support": [50.0, 2.0], "total_cost": [12.0, 1.0]}
    assert first["total_cost"][0] == round(outcome.parts[0].row("MKL").mean("total_cost"), 4)


def test_record_of_a_comparison(tmp_path):
    X, y = load_iris(return_X_y=True)
    comparison = Comparison(
        "near",
        "Neighbours",
        source="nowhere",
        datasets={"iris": Problem(X, y)},
        contenders=tuple(Contender(f"{k}", lambda data, k=k: {"": KNeighborsClassifier(k)}) for k in (1, 60)),
        protocol=RepeatedHalves(n_repeats=3),
        paper={"iris": {"1": (4.0, 1.0)}},
    )
    outcome = run_experiment(comparison, tmp_path)
    record = record_of(json.loads(write_report(outcome, tmp_path)[0].read_text()))
    first, other = record["results"]
    assert record["score"] == "error %" and "baseline" not in record
    assert first["paper"] == {"test": [4.0, 1.0]} and "paper" not in other
    assert first["best"] and not other["best"] and first["test"][0] < other["test"][0]
