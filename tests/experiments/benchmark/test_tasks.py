"""Tasks beside classification: cells are kept and computed anew where they must, and sections say what cells hold."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from experiments.benchmark import write_benchmark_page
from experiments.benchmark.page.tasks import means, ranks, task_sections
from experiments.benchmark.page.writing import task_file
from experiments.benchmark.tasks.clusters import affinity, fused
from experiments.benchmark.tasks.task import TASKS, CellStore, find_task, read_task, run_task, save_task
from kernelweave.survival import outcome
from made_up_cells import made_up_cells

CLUSTERS = find_task("clusters")


def made_up(task, values):
    """Cells of a task from the scores of each method on each set, the same on two folds but for 1."""
    rows = [
        {"set": name, "n": 40, "method": method, "family": task.methods[method], "fold": fold, "seconds": 1.0 + fold}
        | {"failed": "", task.scores[0].column: value + 2 * fold - 1, task.scores[1].column: 100.0 - value}
        for method, own in values.items()
        for name, value in own.items()
        for fold in (0, 1)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_declares_itself(name):
    task = find_task(name)
    assert task.name == name and task.methods[task.named] == "kernelweave"
    assert "rival" in task.methods.values() and len(set(task.sets)) == len(task.sets)


def test_cells_are_computed_once(tmp_path):
    small = dataclasses.replace(CLUSTERS, sets=("multifeat", "cora"), methods={"k-means": "rival"}, n_folds=2)
    told = []
    options = {
        "output": tmp_path,
        "data_home": tmp_path,
        "progress": lambda done, total, name: told.append((done, name)),
    }
    cells, absent = run_task(small, **options)
    assert list(cells["fold"]) == [0, 1] and set(cells["set"]) == {"multifeat"} and (cells["n"] == 2000).all()
    assert len(absent) == 1 and absent[0].startswith("cora: ")
    assert cells["ARI"].between(60.0, 90.0).all() and (cells["seconds"] > 0.0).all() and told[-1][0] == 2
    told.clear()
    again, _ = run_task(small, **options)
    assert told == [(2, "multifeat ")]
    pd.testing.assert_frame_equal(again, cells)


def test_a_method_that_fails_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.benchmark.tasks.task.FoldsInProcesses", lambda *_, **__: None)  # in this process
    monkeypatch.setattr("experiments.benchmark.tasks.clusters._measure", None)
    broken = dataclasses.replace(CLUSTERS, sets=("multifeat",), methods={"k-means": "rival"}, n_folds=1)
    monkeypatch.setattr(
        "experiments.benchmark.tasks.clusters.TASK", dataclasses.replace(broken, measure=lambda *_: 1 / 0)
    )
    cells, _ = run_task(broken, output=tmp_path)
    assert cells["failed"].tolist() == ["ZeroDivisionError: division by zero"] and cells["ARI"].isna().all()
    assert "*k-means* on multifeat (ZeroDivisionError" in task_sections(broken, cells)[-1]


def test_cells_of_another_version_do_not_count(tmp_path, monkeypatch):
    small = dataclasses.replace(CLUSTERS, sets=("multifeat",), methods={"k-means": "rival"}, n_folds=1)
    run_task(small, output=tmp_path)
    path = CellStore(tmp_path / "cells" / "benchmark-clusters" / "multifeat").path("k-means", 0)
    before = path.stat().st_mtime_ns
    monkeypatch.setattr("experiments.benchmark.tasks.task.__version__", "0.0")
    run_task(small, output=tmp_path)
    assert path.stat().st_mtime_ns > before


def test_the_section_has_the_figures_of_its_cells():
    sets = ("cora", "ngs", "pie10")
    values = {"mean": (40.0, 90.0, 50.0), "SNF": (30.0, 95.0, 40.0), "k-means": (20.0, 80.0, 10.0)}
    cells = made_up(CLUSTERS, {method: dict(zip(sets, own, strict=True)) for method, own in values.items()})
    text = "\n".join(task_sections(CLUSTERS, cells))
    assert "the best mean rank of 3 is that of *mean* (1.3)" in text
    assert "*mean* is ahead on 2 of 3 data sets and behind on 1, with 60.0 against 55.0 in the mean" in text
    assert "| mean | 1.3 | 60.0 | **40.0** | 90.0 | **50.0** | 1.50 |" in text
    assert "| SNF (rival) | 1.7 | 55.0 | 30.0 | **95.0** | 40.0 | 1.50 |" in text
    assert "3 data sets, 2 seeds each" in text


def test_the_least_loss_is_best_and_failures_are_last():
    survival = find_task("survival")
    brier = survival.scores[1]
    cells = made_up(survival, {"auto": {"aids": 80.0}, "LpMKL": {"aids": 60.0}, "ConvexMKL": {"aids": 70.0}})
    cells.loc[(cells["method"] == "LpMKL") & (cells["fold"] == 1), brier.column] = np.nan
    table = pd.concat(
        [means(survival, cells, brier), pd.DataFrame({"veterans": 1.0}, index=["auto", "LpMKL", "ConvexMKL"])], axis=1
    )
    assert ranks(table, brier).index.tolist() == ["auto", "ConvexMKL", "LpMKL"]
    line = next(line for line in "\n".join(task_sections(survival, cells)).splitlines() if "| **20.00**" in line)
    assert line.startswith("| auto |")


def test_the_page_has_the_tasks_that_lie_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.benchmark.page.writing.find_spec", lambda name: None)
    page = tmp_path / "benchmark.md"
    write_benchmark_page(made_up_cells(["heart"]), page)
    assert "## Clusters" not in page.read_text() and "The task clusters was not run." in page.read_text()
    cells = made_up(CLUSTERS, {"mean": {"cora": 40.123456789}, "SNF": {"cora": 30.0}})
    save_task(cells, task_file(page, "clusters"))
    assert read_task(task_file(page, "clusters"))["ARI"].iloc[0] == 39.1235
    write_benchmark_page(made_up_cells(["heart"]), page)
    text = page.read_text()
    assert "## Clusters" in text and "The task clusters" not in text and "The task survival was not run." in text


def test_fused_networks_join_what_each_view_tells_apart():
    rng = np.random.RandomState(0)
    groups = np.repeat([0, 1, 2], 30)
    squares = []
    for merged in ((0, 0, 1), (0, 1, 1)):  # each view tells two of the three groups apart
        points = np.asarray(merged)[groups][:, None] * 4.0 + rng.normal(size=(90, 2))
        squares.append(((points[:, None] - points) ** 2).sum(axis=2))
    W = fused([affinity(each) for each in squares])
    np.testing.assert_allclose(W, W.T)
    inside, between = W[np.equal.outer(groups, groups)].mean(), W[np.not_equal.outer(groups, groups)].mean()
    assert inside > 2.0 * between


def test_survival_is_measured_by_both_scores():
    survival = find_task("survival")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a__0", "b__0"])
    y = outcome(rng.exponential(np.exp(-2.0 * X["a__0"])), rng.uniform(size=120) < 0.8)
    found = survival.measure((X, y), "one linear kernel", 0)
    nothing = survival.measure((X, y), "Kaplan-Meier", 0)
    assert found["C"] > 75.0 and found["Brier"] < nothing["Brier"] - 3.0 and "C" not in nothing
    ranking = survival.measure((X, y), "kernel SVM", 0)
    assert ranking["C"] > 75.0 and np.isnan(ranking["Brier"])
