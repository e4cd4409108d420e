"""Comparisons: what counts, what is marked, what is stored, and how it reads."""

import dataclasses
import json

import numpy as np
import pytest
from scipy.stats import ttest_rel
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

from experiments.discovery import find_experiment, list_experiments
from experiments.reports.comparisons import error_table
from experiments.reports.sections import sections
from experiments.reports.writing import markdown, write_report
from experiments.runner import run_experiment
from kernelweave.compare import Comparison, Contender, Problem
from kernelweave.compare import run as module
from kernelweave.datasets import list_datasets
from kernelweave.datasets.catalogue import find_spec
from kernelweave.model_selection import RepeatedHalves, RepeatedKFoldProtocol, ThesisProtocol


def neighbours(data):
    return {f"k = {k}": KNeighborsClassifier(k) for k in (1, 40)}


SMALL = Comparison(
    name="errors",
    title="IRIS and WDBC",
    source="nowhere",
    datasets={"iris": ("iris", None), "merged": ("iris", "merged")},
    contenders=(
        Contender("1-NN", lambda data: {"raw": KNeighborsClassifier(1)}),
        Contender("k-NN", neighbours),
        Contender("nothing", lambda data: {"most": DummyClassifier()}),
    ),
    protocol=RepeatedHalves(n_repeats=5),
    paper={"iris": {"1-NN": (4.0, 1.5)}},
    quick={"protocol": RepeatedHalves(n_repeats=2), "datasets": {"merged": ("iris", "merged")}},
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run_experiment(SMALL, tmp_path_factory.mktemp("whole"))


def test_errors_are_those_of_scikit_learn(whole):
    X, y = load_iris(return_X_y=True)
    errors = []
    for split in SMALL.protocol.split(y, True):
        model = KNeighborsClassifier(1).fit(X[split.train], y[split.train])
        errors.append(100 - 100 * model.score(X[split.test], y[split.test]))
    result = whole.results["iris", "1-NN"]
    np.testing.assert_allclose(result.errors, errors)
    assert result.mean == pytest.approx(np.mean(errors)) and result.std == pytest.approx(np.std(errors, ddof=1))
    assert whole.results["iris", "nothing"].mean == pytest.approx(100 * 2 / 3)
    table = error_table(whole)
    assert list(table.columns) == ["1-NN", "k-NN", "nothing"] and table.loc["iris", "1-NN"] == result.mean


def test_the_best_candidate_over_all_repeats_counts(whole):
    result = whole.results["iris", "k-NN"]
    assert result.chosen == ["k = 1"] and result.mean == whole.results["iris", "1-NN"].mean


def test_marks_are_those_of_a_paired_t_test(whole):
    for row in SMALL.datasets:
        best = min((whole.results[row, name] for name in ("1-NN", "k-NN", "nothing")), key=lambda result: result.mean)
        for name in ("1-NN", "k-NN", "nothing"):
            result = whole.results[row, name]
            same = np.array_equal(result.errors, best.errors)
            assert result.best == (same or ttest_rel(result.errors, best.errors).pvalue >= 0.01), (row, name)
    assert not whole.results["iris", "nothing"].best


def test_candidates_by_run_where_runs_are_cross_validations(tmp_path):
    protocol = RepeatedKFoldProtocol(n_folds=3, n_repeats=4)
    outcome = run_experiment(dataclasses.replace(SMALL, protocol=protocol), tmp_path)
    result = outcome.results["merged", "k-NN"]
    assert len(result.errors) == len(result.chosen) == 4 and outcome.n_folds == 12
    folder = tmp_path / "cells" / "table-errors" / "merged"
    cells = [json.loads(path.read_text())["records"] for path in sorted(folder.glob("k-nn*/fold-*.json"))]
    test = np.array([[record["test"] for record in records] for records in cells]).reshape(4, 3, 2).mean(axis=1)
    np.testing.assert_allclose(result.errors, test.min(axis=1))


def test_candidates_by_validation_where_there_is_some(tmp_path):
    outcome = run_experiment(dataclasses.replace(SMALL, protocol=ThesisProtocol()), tmp_path)
    folder = tmp_path / "cells" / "table-errors" / "iris"
    cells = [json.loads(path.read_text())["records"] for path in sorted(folder.glob("k-nn*/fold-*.json"))]
    validation = np.array([[record["validation"] for record in records] for records in cells])
    test = np.array([[record["test"] for record in records] for records in cells])
    assert (validation != test).any()
    np.testing.assert_allclose(outcome.results["iris", "k-NN"].errors, test[:, validation.mean(axis=0).argmin()])


def test_finished_cells_are_not_computed_again(tmp_path, monkeypatch):
    measured = []
    measure = module.measure_candidate

    def counted(label, *arguments, **options):
        measured.append(label)
        return measure(label, *arguments, **options)

    monkeypatch.setattr(module, "measure_candidate", counted)
    first = run_experiment(SMALL, tmp_path)
    assert len(measured) == 2 * 5 * 4
    measured.clear()
    again = run_experiment(SMALL, tmp_path, n_jobs=2)
    assert measured == []
    np.testing.assert_array_equal(error_table(first), error_table(again))
    changed = dataclasses.replace(
        SMALL, contenders=(*SMALL.contenders[:2], Contender("nothing", lambda data: {"x": DummyClassifier(constant=1)}))
    )
    run_experiment(changed, tmp_path)
    assert len(measured) == 2 * 5
    measured.clear()
    run_experiment(dataclasses.replace(SMALL, prepare=lambda X: X * 2.0), tmp_path)
    assert len(measured) == 2 * 5 * 4


def test_quick_runs_are_kept_apart(tmp_path):
    outcome = run_experiment(SMALL, tmp_path, quick=True)
    assert outcome.quick and outcome.n_folds == 2 and list(error_table(outcome).index) == ["merged"]
    assert not (tmp_path / "cells" / "table-errors").exists()
    json_file, _ = write_report(outcome, tmp_path)
    assert json_file.name == "table-errors-quick.json"


def test_report(whole, tmp_path):
    json_file, markdown_file = write_report(whole, tmp_path)
    content = json.loads(json_file.read_text())
    assert len(content["results"]) == 6 and content["results"][0]["paper"] == [4.0, 1.5]
    assert len(content["results"][0]["errors"]) == 5
    text = markdown_file.read_text()
    assert text == markdown(whole) and text.startswith("## Table errors: IRIS and WDBC")
    result = whole.results["iris", "1-NN"]
    assert f"| iris | ours | {result.mean:.2f} ± {result.std:.2f}* |" in text
    assert "|  | paper | 4.00 ± 1.50 | - | - |" in text and "k = 1" in text
    assert text.count("| paper |") == 1  # the paper has no second row
    assert "level 0.01" in sections(whole)[2]


def test_a_terminal_shows_three_methods_beside_each_other(whole):
    four = dataclasses.replace(whole.experiment, contenders=(*SMALL.contenders, Contender("again", neighbours)))
    more = {(row, "again"): whole.results[row, "k-NN"] for row in SMALL.datasets}
    first, second = sections(dataclasses.replace(whole, experiment=four, results=whole.results | more))[1].narrowed()
    assert first.headings == ["data set", "", "1-NN", "k-NN", "nothing"]
    assert second.headings == ["data set", "", "again"] and len(first.rows) == len(second.rows) == 3


def test_wrong_declarations_are_named():
    with pytest.raises(ValueError, match="contenders of comparison 'errors' must have unique names"):
        dataclasses.replace(SMALL, contenders=SMALL.contenders[:1] * 2, paper={})
    with pytest.raises(ValueError, match=r"unknown entries \['glass'\]"):
        dataclasses.replace(SMALL, paper={"glass": {"1-NN": (1.0, 1.0)}})
    with pytest.raises(TypeError, match="a str is no outcome"):
        markdown("text")


COMPARISONS = [experiment for experiment in list_experiments() if isinstance(experiment, Comparison)]


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.name)
def test_declarations_are_sound(comparison):
    for place in comparison.datasets.values():
        if callable(place):  # made where it is run
            continue
        name, variant = place
        _, spec = find_spec(name)
        assert spec.classes and (variant is None or variant in spec.variants)
    assert set(comparison.quickened().datasets) <= set(comparison.datasets)
    assert comparison.data_label and comparison.n_methods == len(comparison.contenders)


def test_candidates_of_the_subspace_kernel_tables():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 6
    for name, kpls in (("skfe-2", 18), ("skfe-3", 3)):
        for contender in find_experiment(name).contenders:
            candidates = contender.candidates(Problem(X, y))
            assert len(candidates) == {"KPLS": kpls, "1-NN": 1}.get(contender.name, 6 if name == "skfe-2" else 1)
            for model in candidates.values():
                assert model.fit(X, y).predict(X).shape == (30,)


def test_text_table_on_data_of_the_data_home(tmp_path):
    if not list_datasets().loc["tr23", "available"]:
        pytest.skip("tr23 is not in the data home")
    one = dataclasses.replace(
        find_experiment("skfe-3"), datasets={"tr23": ("tr23", None)}, paper={}, protocol=RepeatedHalves(n_repeats=2)
    )
    table = error_table(run_experiment(one, tmp_path))
    assert table.loc["tr23", "SKFE"] < table.loc["tr23", "1-NN"]
