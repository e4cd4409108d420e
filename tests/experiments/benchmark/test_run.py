"""A run of the benchmark: resumable cell by cell, in processes, with failures and absent data sets."""

import json
import time

import numpy as np
import pytest

from experiments.benchmark import choose_data_sets, load_entry, run_benchmark
from experiments.benchmark.entries import find_method
from experiments.benchmark.results import COLUMNS

ENTRY = """
from sklearn.neighbors import KNeighborsClassifier
from experiments.benchmark.ingredients import on_columns

NAME = {name!r}


def candidates(problem):
    return {{f"k={{k}}": on_columns(problem, KNeighborsClassifier(k)) for k in (1, 3)}}
"""
SETS = choose_data_sets(["wdbc"])


@pytest.fixture
def entry(tmp_path):
    def make(name="mine", extra=""):
        path = tmp_path / f"{name}{len(extra)}.py"
        path.write_text(ENTRY.format(name=name) + extra)
        return load_entry(path)

    return make


def run(entries, tmp_path, **options):
    options = {"quick": True, "splits": 2, "output": tmp_path / "out"} | options
    return run_benchmark(SETS, entries, **options)


def stamps(tmp_path):
    return {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.json")}


def test_the_table_of_a_run(entry, tmp_path):
    seen = []
    outcome = run([entry()], tmp_path, progress=lambda done, total, what: seen.append((done, total, what)))
    cells = outcome.cells
    assert list(cells.columns) == list(COLUMNS) and len(cells) == 2 and outcome.n_missing == 0
    assert set(cells["set"]) == {"wdbc"} and set(cells["kind"]) == {"kernels"} and set(cells["family"]) == {"entry"}
    assert (cells["n_train"] == 80).all() and (cells["n_test"] == 200).all() and (cells["stored"] == 80).all()
    assert (cells["accuracy"] > 0.85).all() and (cells["failed"] == "").all() and cells["digest"].nunique() == 2
    assert seen[0] == (0, 2, "wdbc ") and seen[-1] == (2, 2, "wdbc mine")


def test_a_finished_cell_is_not_computed_again_whatever_stands_beside_it(entry, tmp_path):
    run([entry()], tmp_path)
    before = stamps(tmp_path)
    outcome = run([entry(), entry("other")], tmp_path, splits=3)
    after = stamps(tmp_path)
    assert len(outcome.cells) == 6 and {path: after[path] for path in before} == before


def test_a_changed_entry_is_computed_again(entry, tmp_path):
    run([entry()], tmp_path)
    before = stamps(tmp_path)
    run([entry(extra="# changed\n")], tmp_path)
    assert all(after > before[path] for path, after in stamps(tmp_path).items())


def test_processes_give_the_same(entry, tmp_path):
    alone = run([entry()], tmp_path).cells
    together = run([entry()], tmp_path, n_jobs=2, output=tmp_path / "other").cells
    same = [name for name in COLUMNS if name not in ("seconds", "predict_seconds", "memory_mb")]
    assert alone[same].equals(together[same])


def test_a_method_that_fails_is_recorded_with_the_reason(entry, tmp_path):
    again = "\n\ndef candidates(problem):\n    raise RuntimeError('out of luck')\n"
    outcome = run([entry(), entry("bad", again)], tmp_path)
    failed = outcome.cells[outcome.cells["method"] == "bad"]
    assert failed["failed"].str.contains("RuntimeError: out of luck").all() and failed["accuracy"].isna().all()
    assert (failed["n_train"] == 80).all() and (failed["digest"] != "").all()


def test_no_cell_begins_when_the_time_is_over(entry, tmp_path):
    outcome = run([entry()], tmp_path, until=time.monotonic() - 1.0)
    assert outcome.n_missing == 2 and len(outcome.cells) == 0
    assert run([entry()], tmp_path).n_missing == 0


def test_absent_sets_are_named_and_skipped(entry, tmp_path, monkeypatch):
    monkeypatch.delenv("KERNELWEAVE_DATA", raising=False)
    options = {"quick": True, "splits": 1, "output": tmp_path / "out"}
    outcome = run_benchmark(choose_data_sets(["wdbc", "sonar"]), [entry()], **options)
    assert outcome.absent == ("sonar",) and set(outcome.cells["set"]) == {"wdbc"}
    with pytest.raises(FileNotFoundError, match="none of the data sets"):
        run_benchmark(choose_data_sets(["sonar"]), [entry()], **options)


def test_an_interruption_keeps_what_is_finished(entry, tmp_path):
    def interrupt(done, total, what):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([entry()], tmp_path, progress=interrupt)
    assert len(stamps(tmp_path)) == 1
    assert len(run([entry()], tmp_path).cells) == 2


def test_numbers_of_a_cell_are_plain_json(tmp_path):
    run([find_method("LpMKL")], tmp_path, splits=1)
    (path,) = stamps(tmp_path)
    (record,) = json.loads(path.read_text())["records"]
    assert record["n_warnings"] == 0 and np.isfinite(record["log_loss"]) and record["stored"] <= 80
