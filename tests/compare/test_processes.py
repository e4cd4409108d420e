"""Cells in worker processes: the same records, one at a time, and rows and measures that a comparison brings itself."""

import time

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelweave.compare import Comparison, Contender, Problem
from kernelweave.compare.cells import described, in_full
from kernelweave.compare.run import measure_row
from kernelweave.model_selection import RepeatedHalves

X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a__x", "a__y"])
Y = (X["a__x"] > 0).astype(int).to_numpy()


def made(data_home):
    """A row that is made where it is needed."""
    if data_home is not None and data_home.name == "empty":
        raise FileNotFoundError("nothing here")
    return Problem(X, Y)


def counted(label, model, problem, split, parts):
    """A measure of a comparison's own: numbers of samples."""
    return {"candidate": label, "sizes": [len(part) for part in parts], "seconds": 0.0}


def neighbours(problem):
    return {f"k={k}": KNeighborsClassifier(k) for k in (1, 3)}


def declared(**options):
    return Comparison(
        name="small",
        title="",
        source="",
        datasets={"made": made},
        contenders=(Contender("neighbours", neighbours), Contender("again", neighbours)),
        protocol=RepeatedHalves(3),
        is_tolerant=True,
        **options,
    )


def records(cells):
    timed = ("seconds",)
    return {key: [{n: v for n, v in record.items() if n not in timed} for record in own] for key, own in cells.items()}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_processes_give_what_threads_give(tmp_path, n_jobs):
    threads = measure_row(declared(), "made", tmp_path / "threads").cells
    seen = []
    processes = measure_row(
        declared(in_processes=True),
        "made",
        tmp_path / "processes",
        n_jobs=n_jobs,
        progress=lambda done, total, method: seen.append((done, total)),
    ).cells
    assert records(processes) == records(threads) and len(threads) == 6
    assert seen == [(done, 6) for done in range(7)]


def test_no_cell_begins_when_the_time_is_over(tmp_path):
    found = measure_row(declared(in_processes=True), "made", tmp_path, until=time.monotonic() - 1.0)
    assert found.cells == {} and not list(tmp_path.rglob("*.json"))


def test_a_measure_of_its_own(tmp_path):
    cells = measure_row(declared(measure=counted), "made", tmp_path).cells
    (first, _) = cells["again", 2]
    assert first["sizes"] == [20, 0, 20] and first["n_warnings"] == 0


def test_a_row_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing here"):
        measure_row(declared(), "made", tmp_path, data_home=tmp_path / "empty")


def test_estimators_inside_others_are_described_in_full():
    def settings(C):
        return {"a": make_pipeline(StandardScaler(), SVC(C=C))}

    assert described(settings(1.0)) == described(settings(1.0)) != described(settings(2.0))
    assert in_full([("x", SVC(C=3.0))])[0][1][1]["C"] == "3.0"
