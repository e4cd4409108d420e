"""Folds on a Dask cluster: the same records as in this process, resumable, and run again where a worker is lost."""

import json
import os
import signal
import threading

import pytest

pytest.importorskip("distributed")

from dask_cluster import client, no_futures, time_limit  # noqa: F401
from experiments.runner import ExperimentFolds, run_experiment
from kernelweave.compare import Comparison, Contender, Problem
from kernelweave.compare.run import measure_row
from kernelweave.compare.workers import FoldsOnCluster
from kernelweave.model_selection import ThesisProtocol
from small_experiment import LEARNED, SMALL

pytestmark = pytest.mark.dask


def records_of(folder):
    """All stored records, without the seconds that they took."""
    found = {}
    for path in sorted(folder.rglob("*.json")):
        if path.parent.parent.parent.name == "cells":
            records = json.loads(path.read_text())["records"]
            found[str(path.relative_to(folder))] = [
                {name: value for name, value in record.items() if name != "seconds"} for record in records
            ]
    return found


@pytest.mark.parametrize("experiment", [SMALL, LEARNED], ids=lambda experiment: experiment.name)
def test_records_are_those_of_this_process(client, tmp_path, experiment, no_futures):  # noqa: F811
    here = run_experiment(experiment, tmp_path / "here", quick=True)
    told = []
    there = run_experiment(
        experiment, tmp_path / "there", quick=True, client=client, progress=lambda *arguments: told.append(arguments)
    )
    assert records_of(tmp_path / "here") == records_of(tmp_path / "there") != {}
    assert there.experiment.name == here.experiment.name
    assert told[-1][0] == told[-1][1]
    assert no_futures(client)


def test_a_run_goes_on_on_a_cluster(client, tmp_path):  # noqa: F811
    whole = run_experiment(SMALL, tmp_path, quick=True)
    stored = sorted(tmp_path.rglob("fold-*.json"))
    times = [path.stat().st_mtime_ns for path in stored[1:]]
    stored[0].unlink()
    again = run_experiment(SMALL, tmp_path, quick=True, client=client)
    assert stored[0].exists() and [path.stat().st_mtime_ns for path in stored[1:]] == times
    assert records_of(tmp_path) and type(again) is type(whole)


def slow_folds():
    import dask_problem

    return dask_problem.SlowFolds()


def test_other_data_on_a_worker(client, no_futures):  # noqa: F811
    with pytest.raises(ValueError, match="a worker of the Dask cluster reads other data of 'slow'"):
        list(FoldsOnCluster(client, slow_folds(), "other").measured({0: ["a"]}, None))
    assert no_futures(client)


def test_no_cell_begins_after_the_time(client):  # noqa: F811
    import time

    begun = FoldsOnCluster(client, slow_folds(), "same").measured({0: ["a"]}, time.monotonic() - 1.0)
    assert list(begun) == [(0, {})]


def test_data_at_hand_are_sent(client, tmp_path):  # noqa: F811
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    X, y = load_iris(return_X_y=True)
    comparison = Comparison(
        "own",
        "own",
        source="",
        datasets={"iris": Problem(X, y)},
        contenders=(
            Contender("logistic", lambda problem: {"": LogisticRegression(max_iter=3)}),
            Contender("linear", lambda problem: {"": LinearSVC(), "wrong": LinearSVC(C=-1.0)}),
        ),
        protocol=ThesisProtocol(n_repeats=1),
        is_tolerant=True,
    )
    here = measure_row(comparison, "iris", tmp_path / "here").cells
    there = measure_row(comparison, "iris", tmp_path / "there", client=client).cells
    assert _without_seconds(here) == _without_seconds(there)
    assert there["logistic", 0][0]["n_warnings"] == 1 and "failed" in there["linear", 0][1]


def _without_seconds(cells):
    return {
        key: [{name: value for name, value in record.items() if name != "seconds"} for record in records]
        for key, records in cells.items()
    }


def test_sources_are_told_apart():
    """Data that are loaded already serve folds of the same protocol only."""
    first, second = (ExperimentFolds(experiment, None, {}) for experiment in (SMALL, SMALL.quickened()))
    loaded = first.load()
    assert first.digest(loaded) != second.digest(loaded)


def test_a_fold_whose_worker_is_lost_is_run_again(client):  # noqa: F811
    source = slow_folds()

    def kill():
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    threading.Timer(0.7, kill).start()
    found = dict(FoldsOnCluster(client, source, "same").measured({0: ["a"], 1: ["a", "b"], 2: ["b"]}, None))
    assert found == {0: {"a": [{"fold": 0, "method": "a"}]}, 1: both(1), 2: {"b": [{"fold": 2, "method": "b"}]}}


def both(fold):
    return {method: [{"fold": fold, "method": method}] for method in ("a", "b")}
