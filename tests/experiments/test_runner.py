"""Runs: what is measured, that folds share Gram matrices, and that interrupted runs end in the same table."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import small_experiment
from experiments.fold import Fold
from experiments.reports.writing import write_report
from experiments.runner import fingerprint, run_experiment
from kernelweave.compare.cells import CellStore
from kernelweave.datasets import load_dataset
from kernelweave.kernels import Gaussian, Linear, Precomputed
from kernelweave.model_selection import RepeatedHalves, RepeatedKFoldProtocol, ThesisProtocol
from small_experiment import LEARNED, SMALL

SECONDS = ("seconds", "path_seconds")


def without_times(value):
    """Results less everything that is measured by the clock."""
    if isinstance(value, dict):
        return {key: without_times(entry) for key, entry in value.items() if key not in SECONDS}
    return [without_times(entry) for entry in value] if isinstance(value, list) else value


def report(outcome, folder):
    return without_times(json.loads(write_report(outcome, folder)[0].read_text()))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The outcome of a whole run, and its folder."""
    folder = tmp_path_factory.mktemp("whole")
    return run_experiment(SMALL, folder), folder


@pytest.fixture(scope="module")
def whole(finished):
    return report(*finished)


def test_numbers_are_those_of_an_independent_run():
    """One fold by hand, with scikit-learn."""
    X, y = load_dataset("iris", "merged", return_X_y=True)
    split = SMALL.protocol.split(y, True)[3]
    fold = Fold(SMALL, X, y, split)
    scaler = StandardScaler().fit(X.iloc[split.train])
    parts = [scaler.transform(X.iloc[part]) for part in (split.train, split.validation, split.test)]
    scale = Gaussian().fit(parts[0]).scale_
    for record in fold.measure(SMALL.methods[1]):
        K, *rows = [rbf_kernel(part, parts[0], gamma=1 / scale**2) for part in parts]
        svc = SVC(C=record["parameters"]["C"], kernel="precomputed", tol=1e-6).fit(K, y[split.train])
        assert record["validation"] == pytest.approx(100 * svc.score(rows[0], y[split.validation]), abs=2.1)
        assert record["test"] == pytest.approx(100 * svc.score(rows[1], y[split.test]), abs=2.1)
        assert record["support"] == pytest.approx(100 * len(svc.support_) / 50, abs=4.1)
        assert record["cost"] == pytest.approx(record["support"] / 100 * 50)
        assert record["total_cost"] == pytest.approx(record["support"]) and record["weights"] == {"all": 1.0}
        assert record["active_kernels"] == record["solves"] == 1 and record["gap"] < 0.01
    both = fold.measure(SMALL.methods[2])[0]
    assert both["active_kernels"] == 2 and both["cost"] == pytest.approx(2 * both["support"] / 100 * 50)


def test_gram_matrices_are_computed_once_a_fold(tmp_path, monkeypatch):
    calls = []
    tile_of = Linear.tile_of  # what makes a Gram matrix of dense samples
    monkeypatch.setattr(Linear, "tile_of", lambda self, A: calls.append(len(A)) or tile_of(self, A))
    run_experiment(SMALL, tmp_path)
    assert calls == [50] * 10  # petal serves two methods and two values of C; sepal no method at all


def test_constants_come_from_the_training_part():
    X, y = load_dataset("iris", "merged", return_X_y=True)
    split = SMALL.protocol.split(y, True)[0]
    spoiled = X.copy()
    spoiled.iloc[split.test] = 1e6
    for name in ("petal", "all"):
        one, other = Fold(SMALL, X, y, split).kernel(name), Fold(SMALL, spoiled, y, split).kernel(name)
        assert isinstance(one, Precomputed)
        np.testing.assert_array_equal(one.K, other.K)
        np.testing.assert_array_equal(one.rows[:50], other.rows[:50])  # validation rows


def test_selection_and_results(finished):
    outcome, output = finished
    for method in SMALL.methods:
        folder = output / "cells" / "table-small" / method.name
        cells = [json.loads(path.read_text())["records"] for path in sorted(folder.glob("*.json"))]
        assert len(cells) == 10
        validation = np.array([[record["validation"] for record in records] for records in cells])
        best = validation.mean(axis=0).argmax()
        row = outcome.row(method.name)
        assert row.parameters == [{"C": [0.1, 10.0][best]}]
        np.testing.assert_array_equal(row.values["test"], [records[best]["test"] for records in cells])
    assert outcome.row("all").against_baseline == {}
    expected = ThesisProtocol().compare(outcome.row("all").values["test"], outcome.row("petal").values["test"])
    assert outcome.row("petal").against_baseline["test"] == expected


def test_results_do_not_depend_on_n_jobs(tmp_path, whole):
    assert report(run_experiment(SMALL, tmp_path, n_jobs=2), tmp_path) == whole


def test_an_error_in_the_middle_loses_nothing(tmp_path, whole, monkeypatch):
    measure, calls = Fold.measure, []

    def break_down(self, method):
        calls.append(method.name)
        if len(calls) == 8:
            raise RuntimeError("power cut")
        return measure(self, method)

    monkeypatch.setattr(Fold, "measure", break_down)
    with pytest.raises(RuntimeError, match="power cut"):
        run_experiment(SMALL, tmp_path)
    assert len(list(tmp_path.rglob("fold-*.json"))) == 7
    seen = []
    outcome = run_experiment(SMALL, tmp_path, progress=lambda *state: seen.append(state))
    assert len(calls) == 8 + 23 and seen[0] == (7, 30, "") and seen[-1][:2] == (30, 30)
    assert report(outcome, tmp_path) == whole


def test_a_killed_run_continues_to_the_same_table(tmp_path, whole):
    command = [sys.executable, small_experiment.__file__, str(tmp_path)]
    # The first folder has the package `experiments`.
    folders = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)})
    deadline = time.monotonic() + 120
    while len(list(tmp_path.rglob("fold-*.json"))) < 5 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    n_finished = len(list(tmp_path.rglob("fold-*.json")))
    assert 5 <= n_finished < 30 and not (tmp_path / "table-small.json").exists()
    assert report(run_experiment(SMALL, tmp_path), tmp_path) == whole


def test_cells_of_other_settings_are_not_believed(tmp_path, monkeypatch):
    base = SMALL.quickened()  # two folds
    run_experiment(base, tmp_path)
    measured = []
    measure = Fold.measure
    monkeypatch.setattr(Fold, "measure", lambda self, method: measured.append(method.name) or measure(self, method))
    run_experiment(base, tmp_path)
    assert measured == []
    for change in (
        {"grid": {"C": [0.1, 1.0]}},
        {"protocol": ThesisProtocol(n_repeats=1, random_state=1)},
        {"normalize": "unit-trace"},
        {"standardize": False},
        {"max_samples": 90},
        {"variant": None},
    ):
        measured.clear()
        run_experiment(dataclasses.replace(base, **change), tmp_path)
        assert len(measured) == 6, change
    run_experiment(base, tmp_path)
    measured.clear()
    # One kernel changes, so the methods that use it are run again, the other one is not.
    changed = dataclasses.replace(base, kernels=base.kernels | {"petal": Linear([2])})
    run_experiment(changed, tmp_path)
    assert sorted(measured) == ["both", "both", "petal", "petal"]
    path = tmp_path / "cells" / "table-small" / "all" / "fold-001.json"
    path.write_text(path.read_text()[:-20])
    measured.clear()
    run_experiment(changed, tmp_path)
    assert measured == ["all"]


@pytest.mark.parametrize(
    "change",
    [
        {"grid": {"C": [0.1, 1.0]}},
        {"protocol": ThesisProtocol(random_state=1)},
        {"normalize": "unit-trace"},
        {"standardize": False},
        {"max_samples": 90},
        {"features": ("x",)},
        {"costs": {"all": 2.0}},
        {"kernels": SMALL.kernels | {"all": Gaussian(scale=2.0)}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_setting_is_in_the_fingerprint(change):
    method = SMALL.methods[1]
    assert fingerprint(SMALL, method, "data") == fingerprint(dataclasses.replace(SMALL, note="x"), method, "data")
    assert fingerprint(SMALL, method, "data") != fingerprint(dataclasses.replace(SMALL, **change), method, "data")
    assert fingerprint(SMALL, method, "data") != fingerprint(SMALL, method, "other data")


def test_folders_of_long_names_are_short_and_different():
    store = CellStore("somewhere")
    names = [f"RMKL at {', '.join(['0.123456789012'] * 20)}, {last}" for last in (1, 2)]
    folders = [store.path(name, 0).parent.name for name in names]
    assert folders[0] != folders[1] and all(len(folder) < 100 for folder in folders)


def test_quick_runs_are_kept_apart(tmp_path):
    quick = run_experiment(SMALL, tmp_path, quick=True)
    assert quick.n_folds == 2 and quick.quick
    assert not (tmp_path / "cells" / "table-small").exists()


def test_one_result_for_each_repeat(tmp_path):
    protocol = RepeatedKFoldProtocol(n_folds=3, n_repeats=4)
    outcome = run_experiment(dataclasses.replace(SMALL, protocol=protocol), tmp_path)
    row = outcome.row("all")
    assert len(row.values["test"]) == len(row.parameters) == 4 and outcome.n_folds == 12


def test_no_validation_no_choice(tmp_path):
    halves = dataclasses.replace(SMALL, protocol=RepeatedHalves(n_repeats=3))
    with pytest.raises(ValueError, match="no validation samples to choose between"):
        run_experiment(halves, tmp_path)
    assert len(run_experiment(dataclasses.replace(halves, grid={"C": [1.0]}), tmp_path).rows[0].values["test"]) == 3


def test_methods_see_features_beside_the_kernels():
    X, y = load_dataset("iris", "merged", return_X_y=True)
    experiment = dataclasses.replace(SMALL, features=("x",))
    split = experiment.protocol.split(y, True)[0]
    train = Fold(experiment, X, y, split)._parts[0]
    assert train.columns.tolist() == ["id", "x__0", "x__1", "x__2", "x__3"]
    np.testing.assert_allclose(train.drop(columns="id").mean(), 0.0, atol=1e-12)


def test_weights_and_total_cost_of_learned_kernels():
    """Thesis 2.8 by hand: support vectors in per cent times the share of the active kernels in all costs."""
    X, y = load_dataset("iris", "merged", return_X_y=True)
    fold = Fold(LEARNED, X, y, LEARNED.protocol.split(y, True)[0])
    plain, dear = (fold.measure(method)[1] for method in LEARNED.methods[:2])
    assert plain["weights"]["petal"] + plain["weights"]["all"] == pytest.approx(1.0)
    assert plain["costs"] == {"petal": 1.0, "all": 1.0} and dear["costs"] == {"petal": 1.0, "all": 30.0}
    assert dear["weights"]["petal"] + 900 * dear["weights"]["all"] == pytest.approx(1.0)
    assert plain["weights"]["all"] > 0
    for record in (plain, dear):
        active = [cost for name, cost in LEARNED.costs.items() if record["weights"][name] > 0]
        assert record["active_kernels"] == len(active)
        assert record["total_cost"] == pytest.approx(record["support"] * sum(active) / 4.0)
        assert record["cost"] == pytest.approx(record["support"] / 100 * 50 * sum(active))


def test_fits_do_not_look_for_negative_eigenvalues_again(monkeypatch):
    X, y = load_dataset("iris", "merged", return_X_y=True)
    fold = Fold(SMALL, X, y, SMALL.protocol.split(y, True)[0])
    kernels = [(name, fold.kernel(name)) for name in SMALL.kernels]
    monkeypatch.setattr("kernelweave.kernels.normalization.approximate_smallest", lambda K: pytest.fail("looked again"))
    fold.measure(SMALL.methods[2])
    assert all(np.linalg.eigvalsh(kernel.K).min() > -1e-9 for _, kernel in kernels)


@pytest.fixture
def cell(tmp_path):
    store = CellStore(tmp_path)
    store.write("all", 3, "mark", [{"test": 97.25, "weights": {"a": 0.1}, "by": {10: 1, 9: 2}}])
    return store, store.path("all", 3)


def test_a_stored_cell_is_read_again(cell, caplog):
    store, path = cell
    assert store.read("all", 3, "mark") == [{"test": 97.25, "weights": {"a": 0.1}, "by": {"10": 1, "9": 2}}]
    assert store.read("all", 3, "other mark") is None and store.read("all", 4, "mark") is None
    assert not caplog.records and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("97.25", "98.25"),
        lambda text: text.replace('"a"', '"b"'),
        lambda text: text.replace('"fold": 3', '"fold": 4'),
        lambda text: text[:-30],
        lambda text: "",
        lambda text: "[]",
        lambda text: json.dumps({name: value for name, value in json.loads(text).items() if name != "sha256"}),
    ],
)
def test_damaged_cells_are_not_believed(cell, caplog, change):
    store, path = cell
    text = path.read_text()
    path.write_text(change(text))
    assert path.read_text() != text
    assert store.read("all", 3, "mark") is None
    (record,) = caplog.records
    assert "is damaged or was changed; it is computed again" in record.getMessage() and str(path) in record.getMessage()


def test_bytes_that_are_no_text_are_not_believed(cell, caplog):
    store, path = cell
    path.write_bytes(b"\xff" + path.read_bytes())
    assert store.read("all", 3, "mark") is None and len(caplog.records) == 1
