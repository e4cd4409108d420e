"""Comparisons of data at hand and of contenders that choose their own setting: cells, failures, warnings, time."""

import dataclasses
import json
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from experiments.runner import run_experiment
from kernelweave.compare import Comparison, Contender, Problem, run_comparison
from kernelweave.compare import run as module
from kernelweave.compare.cells import described
from kernelweave.compare.run import measure_row
from kernelweave.model_selection import NestedFolds, RepeatedHalves, paired_loss_test
from kernelweave.views.digests import frame_digest
from kernelweave.views.frames import SparseRows


class Chooser(ClassifierMixin, BaseEstimator):
    """k-NN that has what a contender has that chooses its setting by itself."""

    def __init__(self, k=1, *, matrices=None, trouble=None):
        self.k, self.matrices, self.trouble = k, matrices, trouble

    def fit(self, X, y, groups=None):
        if self.trouble == "fails":
            raise ValueError("no such\nluck")
        if self.trouble == "breaks":
            raise TypeError("a bug")
        if self.trouble == "warns":
            warnings.warn("not there yet", ConvergenceWarning, stacklevel=2)
            warnings.warn("old code", FutureWarning, stacklevel=2)
            warnings.warn("not there yet", ConvergenceWarning, stacklevel=2)
        self.groups_ = groups
        self.model_ = KNeighborsClassifier(self.k).fit(X, y)
        self.classes_, self.n_stored_ = self.model_.classes_, np.int64(len(X))
        self.validation_score_, self.setting_ = 1.0 - self.k / 10.0, {"k": np.int64(self.k), "odd": slice(1)}
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a__x", "a__y"])
Y = np.where(X["a__x"] > 0, "ill", "well").astype(object)


def declared(problem=None, **models):
    models = models or {"one": Chooser(1), "five": Chooser(5)}
    return Comparison(
        name="given",
        title="",
        source="",
        datasets={"mine": Problem(X, Y) if problem is None else problem},
        contenders=tuple(Contender(name, lambda problem, m=model: {"": m}) for name, model in models.items()),
        protocol=NestedFolds(3),
        is_tolerant=True,
    )


@pytest.fixture
def measured(monkeypatch):
    """The contenders that are measured, in order."""
    calls = []
    measure = module.measure_candidate

    def counted(label, model, *arguments, **options):
        calls.append(model.k)
        return measure(label, model, *arguments, **options)

    monkeypatch.setattr(module, "measure_candidate", counted)
    return calls


def test_cells_hold_scores_settings_and_sizes(tmp_path):
    row = measure_row(declared(), "mine", tmp_path)
    assert sorted(row.cells) == [("five", 0), ("five", 1), ("five", 2), ("one", 0), ("one", 1), ("one", 2)]
    for fold, split in enumerate(row.splits):
        (record,) = row.cells["five", fold]
        model = KNeighborsClassifier(5).fit(X.iloc[split.train], Y[split.train])
        assert record["test"] == pytest.approx(100 - 100 * model.score(X.iloc[split.test], Y[split.test]))
        assert record["validation"] == pytest.approx(50.0)
        assert record["predicted"] == np.searchsorted(["ill", "well"], model.predict(X.iloc[split.test])).tolist()
        assert record["probabilities"] == model.predict_proba(X.iloc[split.test]).tolist()
        assert record["stored"] == 40 and record["setting"] == {"k": 5, "odd": "slice(None, 1, None)"}
        assert record["n_warnings"] == 0 and record["warning"] is None and record["seconds"] > 0
    stored = json.loads((tmp_path / "mine" / "five" / "fold-000.json").read_text())
    assert stored["records"] == row.cells["five", 0]


def test_unchanged_cells_are_read_and_changed_data_are_measured(tmp_path, measured):
    measure_row(declared(), "mine", tmp_path)
    assert len(measured) == 6
    measured.clear()
    again = measure_row(declared(Problem(X.copy(), Y.copy())), "mine", tmp_path, n_jobs=2)
    assert measured == [] and len(again.cells) == 6
    (tmp_path / "mine" / "five" / "fold-001.json").unlink()
    measure_row(declared(), "mine", tmp_path)
    assert measured == [5]
    other = X.copy()
    other.iloc[7, 0] += 1e-9
    labels = Y.copy()
    labels[3] = "iller"
    for problem in (
        Problem(other, Y),
        Problem(X, labels),
        Problem(X, Y, groups=np.arange(60) % 20),
        Problem(X.rename(columns={"a__x": "b__x"}), Y),
        Problem(X.astype(np.float32), Y),
    ):
        measured.clear()
        measure_row(declared(problem), "mine", tmp_path)
        assert len(measured) == 6
    measured.clear()
    measure_row(dataclasses.replace(declared(problem), protocol=NestedFolds(3, random_state=1)), "mine", tmp_path)
    assert len(measured) == 6


def test_parameters_that_are_matrices_count_with_every_entry(tmp_path, measured):
    big = pd.DataFrame(np.eye(200), index=range(200), columns=range(200))
    measure_row(declared(one=Chooser(matrices={"kin": big})), "mine", tmp_path)
    measured.clear()
    measure_row(declared(one=Chooser(matrices={"kin": big.copy()})), "mine", tmp_path)
    assert measured == []
    big.iloc[100, 100] = 1.5
    measure_row(declared(one=Chooser(matrices={"kin": big})), "mine", tmp_path)
    assert len(measured) == 3


def test_descriptions_of_frames():
    text = pd.DataFrame({"a": ["x", None, "z"], "b": [1, 2, 3]})
    assert frame_digest(text) == frame_digest(text.copy())
    assert len({frame_digest(frame) for frame in (text, text[["b", "a"]], text.replace("z", "y"), text[::-1])}) == 4
    matrix = sp.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    sparse = pd.DataFrame({"s": SparseRows(matrix, ["u", "v"])})
    changed = pd.DataFrame({"s": SparseRows(matrix * 2, ["u", "v"])})
    assert frame_digest(sparse) == frame_digest(sparse.copy()) != frame_digest(changed)
    assert described(pd.Series({"a": "number"})) != described(pd.Series({"a": "text"}))
    assert described({"C": 1.0}) == "{'C': 1.0}" and described("x") == "'x'"


def test_groups_reach_protocol_and_estimator(tmp_path, monkeypatch):
    groups = np.array([f"p{i % 12}" for i in range(60)], dtype=object)
    seen = []
    fit = Chooser.fit

    def watched(self, X, y, groups=None):
        seen.append(groups)
        return fit(self, X, y, groups)

    monkeypatch.setattr(Chooser, "fit", watched)
    row = measure_row(declared(Problem(X, Y, groups=groups), one=Chooser()), "mine", tmp_path)
    for split, given in zip(row.splits, seen, strict=True):
        assert not set(groups[split.train]) & set(groups[split.test])
        np.testing.assert_array_equal(given, groups[split.train])


def test_failures_are_recorded_with_their_reason(tmp_path, measured):
    contenders = {"one": Chooser(), "bad": Chooser(2, trouble="fails"), "bug": Chooser(3, trouble="breaks")}
    row = measure_row(declared(**contenders), "mine", tmp_path)
    assert row.cells["bad", 1] == [{"candidate": "", "failed": "no such luck"}]
    assert row.cells["bug", 2] == [{"candidate": "", "failed": "TypeError: a bug"}]
    assert "test" in row.cells["one", 0][0]
    measured.clear()
    assert measure_row(declared(**contenders), "mine", tmp_path).cells == row.cells and measured == []
    with pytest.raises(ValueError, match="no such"):
        run_experiment(dataclasses.replace(declared(**contenders), is_tolerant=False), tmp_path / "strict")


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_warnings_are_counted_by_cell(tmp_path, n_jobs, recwarn):
    shown = warnings.showwarning
    row = measure_row(declared(one=Chooser(), loud=Chooser(2, trouble="warns")), "mine", tmp_path, n_jobs=n_jobs)
    for fold in range(3):
        assert row.cells["one", fold][0]["n_warnings"] == 0
        record = row.cells["loud", fold][0]
        assert record["n_warnings"] == 2 and record["warning"] == "ConvergenceWarning: not there yet"
    assert warnings.showwarning is shown and not recwarn.list


def test_no_cell_begins_after_the_time(tmp_path, measured, monkeypatch):
    clock = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: clock + 10.0 * len(measured))
    comparison = declared(one=Chooser(1), slow=Chooser(2), last=Chooser(3))
    assert measure_row(comparison, "mine", tmp_path, until=time.monotonic()).cells == {} and measured == []
    row = measure_row(comparison, "mine", tmp_path, until=time.monotonic() + 15.0)
    assert sorted(row.cells) == [("one", 0), ("slow", 0)]  # what had begun was finished
    measured.clear()
    assert len(measure_row(comparison, "mine", tmp_path).cells) == 9 and len(measured) == 7


def test_results_do_not_depend_on_jobs_or_interruptions(tmp_path):
    one = measure_row(declared(), "mine", tmp_path / "one")
    measure_row(declared(), "mine", tmp_path / "two", until=time.monotonic() + 0.005)
    two = measure_row(declared(), "mine", tmp_path / "two", n_jobs=2)

    def numbers(cells):
        return {key: {k: v for k, v in record.items() if k != "seconds"} for key, (record,) in cells.items()}

    assert numbers(one.cells) == numbers(two.cells)


def test_an_error_in_one_fold_stops_the_others(tmp_path, monkeypatch):
    begun = []

    def measure(label, model, problem, split, parts, **options):
        begun.append(split)
        if len(begun) == 1:
            raise MemoryError
        time.sleep(0.3)
        return {"candidate": label, "validation": None, "test": 0.0, "seconds": 0.0}

    monkeypatch.setattr(module, "measure_candidate", measure)
    with pytest.raises(MemoryError):
        measure_row(declared(), "mine", tmp_path, n_jobs=2)
    time.sleep(0.5)
    assert len(begun) <= 2


def test_a_constant_test_part_has_a_finite_error():
    problem = Problem(np.zeros((4, 1)), np.array([1.0, 1.0, 2.0, 3.0]), is_classification=False)

    class Mean:
        def __init__(self, value):
            self.value = value

        def predict(self, X):
            return np.full(len(X), self.value)

    part = np.array([0, 1])
    assert problem.error(Mean(1.0), problem.X[part], part) == 0.0
    assert problem.error(Mean(2.0), problem.X[part], part) == 100.0
    part = np.array([2, 3])
    assert problem.error(Mean(2.5), problem.X[part], part) == pytest.approx(100.0)


def test_a_table_of_given_data_is_run_as_any_other(tmp_path):
    outcome = run_experiment(declared(), tmp_path)
    assert outcome.rows == ["mine"] and outcome.experiment.dataset_names == []
    assert outcome.results["mine", "one"].errors.shape == (3,)


def test_cells_without_predictions_are_measured_again(tmp_path, measured, monkeypatch):
    """As those of 0.2.0: their fingerprint is another one, so that no test can lack predictions."""
    measure_row(declared(), "mine", tmp_path)
    measured.clear()
    with monkeypatch.context() as patch:
        patch.setattr(NestedFolds, "compares_samples", False)
        cells = measure_row(declared(), "mine", tmp_path / "old").cells
    assert all("predicted" not in record for records in cells.values() for record in records)
    measured.clear()
    row = measure_row(declared(), "mine", tmp_path / "old")
    assert len(measured) == 6 and all("predicted" in records[0] for records in row.cells.values())


def test_a_comparison_by_samples_is_tested_by_their_losses(tmp_path):
    """k-NN of one and of 25 neighbours; the marked ones are those that the test does not tell from the best."""
    groups = np.arange(60) // 2
    comparison = declared(Problem(X, Y, groups=groups), one=Chooser(1), many=Chooser(25))
    outcome = run_comparison(comparison, tmp_path)
    row = measure_row(comparison, "mine", tmp_path / "again")
    losses = {name: np.empty(60) for name in ("one", "many")}
    for name, own in losses.items():
        for fold, split in enumerate(row.splits):
            labels = np.array(["ill", "well"])[row.cells[name, fold][0]["predicted"]]
            own[split.test] = labels != Y[split.test]
    test = paired_loss_test(losses["one"], losses["many"], n_train=40, groups=groups)
    results = [outcome.results["mine", name] for name in ("one", "many")]
    best, worse = sorted(results, key=lambda result: result.mean)
    assert best.best and worse.best == (test.pvalue >= comparison.level)


def test_out_of_fold_predictions_of_a_comparison(tmp_path):
    problem = Problem(X, Y)
    comparison = dataclasses.replace(declared(problem), protocol=NestedFolds(3, 2))
    outcome = run_comparison(comparison, tmp_path)
    table = outcome.out_of_fold("mine")
    names = ["sample", "repeat", "fold", "method", "target", "label", "probability_ill", "probability_well"]
    assert list(table.columns) == names and len(table) == 240
    for (method, repeat), part in table.groupby(["method", "repeat"]):
        assert sorted(part["sample"]) == list(range(60)) and set(part["fold"]) == {1, 2, 3}
        np.testing.assert_array_equal(part["target"], Y[part["sample"].to_numpy(dtype=int)])
        errors = [100 * (one["label"] != one["target"]).mean() for _, one in part.groupby("fold")]
        places = slice(3 * (repeat - 1), 3 * repeat)
        np.testing.assert_allclose(outcome.results["mine", method].errors[places], errors)
    with pytest.raises(ValueError, match="there is no data set 'yours'; those of this comparison are mine"):
        outcome.out_of_fold("yours")
    halves = dataclasses.replace(declared(problem), protocol=RepeatedHalves(2))
    with pytest.raises(ValueError, match="predictions are kept where the protocol is NestedFolds"):
        run_comparison(halves, tmp_path / "halves").out_of_fold("mine")
