"""Comparisons of defaults: ranks and gains by hand, every declaration on toy data, absent data, resuming."""

import dataclasses
import json
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import wilcoxon
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsClassifier

from experiments import standings
from experiments.defaults import scaling
from experiments.discovery import find_default, list_defaults
from experiments.reports.comparisons import gains, rank_table, score_table
from experiments.reports.writing import markdown, write_report
from experiments.runner import run_experiment
from kernelweave import MKLClassifier
from kernelweave.combiners import Localized, Softmax
from kernelweave.compare import Comparison, ComparisonOutcome, Contender, Problem
from kernelweave.compare import run as module
from kernelweave.compare.run import ContenderResult
from kernelweave.datasets import load_dataset
from kernelweave.datasets.catalogue import CATALOGUE
from kernelweave.model_selection import RepeatedDraws
from toy_data import write_toy


def neighbours(*counts):
    return lambda data: {f"k = {k}": KNeighborsClassifier(k) for k in counts}


SMALL = Comparison(
    name="default-neighbours",
    title="How many neighbours",
    source="",
    datasets={name: (name, None) for name in ("iris", "wdbc", "sonar")},
    contenders=(
        Contender("few", neighbours(1, 9)),
        Contender("many", neighbours(25, 5)),
        Contender("none", lambda data: {"": DummyClassifier()}),
    ),
    protocol=RepeatedDraws(n_repeats=3, n_train=40, n_validation=20, n_test=60),
    scaling=scaling,
    default="few",
    skip_absent=True,
    quick={"protocol": RepeatedDraws(n_repeats=1, n_train=30, n_validation=10, n_test=40)},
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return run_experiment(SMALL, folder, data_home=folder)


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    for name in ("mnist4", "ngs", "tr23", "newthyroid", "sonar", "heart", "mcycle"):
        write_toy(folder, name)
    return folder


def made(errors, default):
    """An outcome with given errors, {data set: {contender: errors}}."""
    names = list(next(iter(errors.values())))
    results = {
        (row, name): ContenderResult(
            np.array(values, dtype=float), ["C = 1"], 0.5, candidates=("C = 1",), validation=values[0]
        )
        for row, figures in errors.items()
        for name, values in figures.items()
    }
    comparison = dataclasses.replace(
        SMALL,
        datasets={row: (row, None) for row in errors},
        contenders=tuple(Contender(name, neighbours(1)) for name in names),
        default=default,
    )
    return ComparisonOutcome(comparison, results, n_folds=2, quick=False, first=results)


def test_standings_by_hand():
    outcome = made(
        {
            "one": {"a": [10.0, 12.0], "b": [8.0, 10.0], "c": [30.0, 30.0]},
            "two": {"a": [20.0, 20.0], "b": [20.0, 20.02], "c": [10.0, 12.0]},
            "three": {"a": [5.0, 5.0], "b": [7.0, 9.0], "c": [9.0, 11.0]},
        },
        "a",
    )
    assert score_table(outcome).to_numpy().round(2).tolist() == [[89, 91, 70], [80, 79.99, 89], [95, 92, 90]]
    assert rank_table(score_table(outcome)).to_numpy().tolist() == [[2, 1, 3], [2.5, 2.5, 1], [1, 2, 3]]
    a, b, c = standings(outcome)
    assert (a.name, a.score, a.difference, a.worst, a.wins, a.ties, a.losses, a.pvalue) == ("a", 88, 0, 0, 0, 3, 0, 1)
    assert a.rank == pytest.approx(5.5 / 3) and b.rank == pytest.approx(5.5 / 3) and c.rank == pytest.approx(7 / 3)
    assert b.difference == pytest.approx((2 - 0.01 - 3) / 3) and b.worst == pytest.approx(-3)
    assert (b.wins, b.ties, b.losses) == (1, 1, 1) and (c.wins, c.ties, c.losses) == (1, 0, 2)
    assert c.difference == pytest.approx((-19 + 9 - 5) / 3) and c.worst == pytest.approx(-19) and c.seconds == 0.5
    assert b.validation == pytest.approx(100 - (8 + 20 + 7) / 3)


def test_pvalue_is_that_of_wilcoxons_test():
    rng = np.random.default_rng(0)
    errors = {f"set {i}": {"a": [v], "b": [v + d]} for i, (v, d) in enumerate(rng.normal([20, 1], 2, (14, 2)).round(1))}
    _, other = standings(made(errors, "a"))
    values = np.array([[100 - row["a"][0], 100 - row["b"][0]] for row in errors.values()]).round(1)
    expected = wilcoxon(values[:, 0], values[:, 1], method="approx", correction=False).pvalue
    assert other.pvalue == pytest.approx(expected, rel=0.05)


def test_gains_are_clear_ones():
    outcome = made(
        {
            "clear": {"a": [10.0, 12.0, 11.0], "b": [8.0, 10.0, 9.1]},
            "noisy": {"a": [10.0, 30.0, 10.0], "b": [10.0, 20.0, 10.0]},
            "small": {"a": [10.0, 10.0, 10.0], "b": [9.5, 9.5, 9.5]},
        },
        "a",
    )
    assert gains(outcome) == {"b": {"clear": pytest.approx(5.9 / 3)}}
    assert "b on clear (+2.0)." in markdown(outcome)
    assert "Nothing beats the default" in markdown(made({"x": {"a": [1.0], "b": [2.0]}}, "a"))


def test_scores_at_the_first_setting_and_at_the_chosen_one(whole, tmp_path):
    outcome = run_experiment(SMALL, tmp_path, data_home=tmp_path)
    cells = sorted((tmp_path / "cells" / "table-default-neighbours" / "wdbc").glob("many/fold-*.json"))
    records = [json.loads(path.read_text())["records"] for path in cells]
    assert [record["candidate"] for record in records[0]] == ["k = 25", "k = 5"]
    first = np.mean([fold[0]["test"] for fold in records])
    chosen = np.mean([min(fold, key=lambda record: record["validation"])["test"] for fold in records])
    assert score_table(outcome, first=True).loc["wdbc", "many"] == pytest.approx(100 - first)
    assert score_table(outcome).loc["wdbc", "many"] == pytest.approx(100 - chosen)
    held = [min(record["validation"] for record in fold) for fold in records]
    assert outcome.results["wdbc", "many"].validation == pytest.approx(np.mean(held))
    assert outcome.first["wdbc", "many"].validation == pytest.approx(
        np.mean([fold[0]["validation"] for fold in records])
    )
    pd.testing.assert_frame_equal(score_table(outcome), score_table(whole))


class Probe(ClassifierMixin, BaseEstimator):
    """Notes what it sees."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen.append(X)
        return self

    def predict(self, X):
        self.seen.append(X)
        return np.full(X.shape[0], self.classes_[0])


@pytest.mark.parametrize("name", ["mnist4", "ngs"])
def test_scaling_is_learned_from_the_training_samples_of_a_fold(name, toy, tmp_path):
    Probe.seen.clear()
    probe = dataclasses.replace(
        SMALL,
        datasets={name: (name, None)},
        contenders=(Contender("probe", lambda data: {"": Probe()}),),
        default="probe",
    )
    run_experiment(probe, tmp_path, quick=True, data_home=toy)
    train, test, validation = Probe.seen
    assert (train.shape[0], validation.shape[0], test.shape[0]) == (30, 10, 40)
    if name == "mnist4":
        assert list(train.columns) == list(load_dataset(name, data_home=toy).data.columns)
        np.testing.assert_allclose(train.mean(), 0, atol=1e-9)
        np.testing.assert_allclose(train.std(ddof=0), 1)
        assert abs(test.mean()).max() > 0.01
    else:
        assert sp.issparse(train) and train.shape[1] == 6000
        for view in load_dataset(name, data_home=toy).views.values():
            np.testing.assert_allclose(np.sqrt(train[:, view].multiply(train[:, view]).sum(axis=1)), 1)


def test_regression_is_scored_by_r2(toy, tmp_path):
    lines = dataclasses.replace(
        SMALL,
        datasets={"mcycle": ("mcycle", None)},
        contenders=(
            Contender("line", lambda data: {"": LinearRegression()}),
            Contender("mean", lambda data: {"": DummyRegressor()}),
        ),
        default="line",
    )
    outcome = run_experiment(lines, tmp_path, data_home=toy)
    X, y = load_dataset("mcycle", data_home=toy, return_X_y=True)
    scores = []
    for split in SMALL.protocol.split(y, False):
        model = LinearRegression().fit(X.iloc[split.train], y[split.train])
        scores.append(100 * r2_score(y[split.test], model.predict(X.iloc[split.test])))
    np.testing.assert_allclose(100 - outcome.results["mcycle", "line"].errors, scores)
    assert score_table(outcome).loc["mcycle", "mean"] <= 0


def test_absent_data_are_named_and_left_out(whole, tmp_path):
    assert whole.absent == ("sonar",) and list(score_table(whole).index) == ["iris", "wdbc"]
    assert "Not there and left out: sonar." in markdown(whole)
    nowhere = dataclasses.replace(SMALL, datasets={"sonar": ("sonar", None), "heart": ("heart", None)})
    with pytest.raises(FileNotFoundError, match="none of the data sets of 'default-neighbours' .*: sonar, heart"):
        run_experiment(nowhere, tmp_path, data_home=tmp_path)
    with pytest.raises(FileNotFoundError, match="'sonar'"):
        run_experiment(dataclasses.replace(SMALL, skip_absent=False), tmp_path, data_home=tmp_path)


def test_an_interrupted_run_goes_on_where_it_stopped(whole, tmp_path, monkeypatch):
    measured, limit = [], 12
    measure = module.measure_candidate

    def counted(label, *arguments, **options):
        if len(measured) == limit:
            raise KeyboardInterrupt
        measured.append(label)
        return measure(label, *arguments, **options)

    monkeypatch.setattr(module, "measure_candidate", counted)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(SMALL, tmp_path, data_home=tmp_path)
    stored = sum(len(json.loads(path.read_text())["records"]) for path in tmp_path.rglob("fold-*.json"))
    assert 0 < stored <= 12
    measured.clear()
    limit = 1000
    outcome = run_experiment(SMALL, tmp_path, data_home=tmp_path)
    assert len(measured) == 2 * 3 * 5 - stored
    pd.testing.assert_frame_equal(score_table(outcome), score_table(whole))


def test_report(whole, tmp_path):
    json_file, markdown_file = write_report(whole, tmp_path)
    content, text = json.loads(json_file.read_text()), markdown_file.read_text()
    assert text.startswith("## Default neighbours: How many neighbours\n")
    assert content["default"] == "few" and content["absent"] == ["sonar"]
    best = min(standings(whole, first=True), key=lambda one: one.rank)
    assert content["standings, k = 1"][0]["rank"] == standings(whole, first=True)[0].rank
    first_line = text.split("Over the 2 data sets, k = 1:")[1].split("\n")[4]
    assert first_line.startswith(f"| {best.name}") and f"| {best.rank:.2f} |" in first_line
    few = standings(whole)[0]
    assert f"| few (default) | {few.validation:.1f} | {few.score:.1f} | {few.rank:.2f} | - | - | - | - |" in text
    assert "| data set | few (default) | many | none |" in text and "**" in text


def test_wrong_declarations_are_named():
    with pytest.raises(ValueError, match="default of comparison 'default-neighbours' must be .*none.*'all'"):
        dataclasses.replace(SMALL, default="all")
    with pytest.raises(ValueError, match="no default 'nothing' to compare; the defaults are .*multiclass"):
        find_default("nothing")
    assert find_default("default-multiclass") is find_default("Multiclass")


DEFAULTS = list_defaults()
TOY = {
    "combiner": ["mnist4"],
    "localized": ["ngs"],
    "gates": ["heart"],
    "projections": ["heart"],
    "width": ["mnist4", "heart", "mcycle"],
    "normalize": ["ngs", "heart", "mcycle"],
}


@pytest.mark.parametrize("comparison", DEFAULTS, ids=lambda comparison: comparison.name)
def test_every_default_on_toy_data(comparison, toy, tmp_path):
    name = comparison.name.removeprefix("default-")
    chosen = {row: comparison.datasets[row] for row in TOY.get(name, ["mnist4", "ngs"]) if row in comparison.datasets}
    few = dataclasses.replace(comparison, datasets=chosen)
    outcome = run_experiment(few, tmp_path, quick=True, data_home=toy)
    scores = score_table(outcome)
    assert outcome.absent == () and list(scores.index) == list(chosen)
    least = [60.0 if CATALOGUE[row].classes else 0.0 for row in scores.index]
    assert (scores[comparison.default] > least).all(), scores
    assert comparison.default in markdown(outcome)


@pytest.mark.parametrize("comparison", DEFAULTS, ids=lambda comparison: comparison.name)
def test_every_default_has_ten_data_sets_and_is_registered(comparison):
    assert len(comparison.datasets) >= 10 and comparison.skip_absent and comparison.note
    for name, variant in comparison.datasets.values():
        assert variant is None or variant in CATALOGUE[name].variants
    if "multiclass" in comparison.name:
        assert all(len(CATALOGUE[name].classes) > 2 for name in comparison.datasets)


def test_the_declared_defaults_are_those_of_the_library(toy):
    bunch = load_dataset("mnist4", data_home=toy)
    data = Problem(bunch.data, bunch.target, views=bunch.views)
    for name in ("multiclass", "multiclass-linear", "normalize", "combiner"):
        comparison = find_default(name)
        contender = next(one for one in comparison.contenders if one.name == comparison.default)
        model = contender.candidates(data)["C = 1"]
        unlike = {
            key: value
            for key, value in MKLClassifier().get_params(deep=False).items()
            if key not in ("kernels", "random_state", "combiner") and getattr(model, key) != value
        }
        assert not unlike and type(model.combiner).__name__ in ("NoneType", "Mean"), comparison.name
    if "norm" in Softmax().get_params():
        assert (Softmax().norm, Localized().l2) == ("unit", "auto")
