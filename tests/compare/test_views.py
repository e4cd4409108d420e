"""What each view gives the recommended method: cells of their own, on the folds of the comparison."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from kernelweave import stack_views
from kernelweave.compare import views as module
from kernelweave.compare.declaration import ROW, declare
from kernelweave.compare.out_of_fold import OutOfFold
from kernelweave.compare.outcome import gather
from kernelweave.compare.run import measure_row
from kernelweave.compare.views import scores_of_views, view_comparison, views_of
from kernelweave.recipes import CohortModel
from kernelweave.reporting.scores import findings


def tables(n_samples=80, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    rna = random.normal(size=(n_samples, 3)) + 2.5 * y[:, None] * [1, 0, 0]
    lab = random.normal(size=(n_samples, 2))
    sites = random.normal(size=(n_samples, 2))
    X = stack_views({"rna": rna, "lab": lab, "sites": sites}).set_axis([f"s{i}" for i in range(n_samples)], axis=0)
    return X, pd.Series(np.array(["no", "yes"])[y], X.index, name="ill")


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cells")
    declared = declare(*tables(), methods=["alone:rna", "alone:lab", "linear", "mean"], quick=True)
    outcome = gather(measure_row(declared.comparison, ROW, folder), declared.labels)
    first = sorted(outcome.results, key=lambda result: result.method != "linear")
    outcome = dataclasses.replace(outcome, results=first)
    assert outcome.winner.method == "linear"
    return declared, outcome, measure_row(view_comparison(declared, "linear"), module.ROW, folder), folder


def test_a_view_is_left_out_of_the_recommended_method_in_the_same_folds(compared):
    declared, outcome, measured, _ = compared
    found = scores_of_views(outcome, declared, measured)
    problem, splits = declared.problem, measured.splits
    table = found.table
    assert list(table.index) == ["rna", "lab", "sites"] and found.together == outcome.winner.score
    X = problem.X.drop(columns=[name for name in problem.X if name.startswith("rna__")])
    right = np.zeros(80, dtype=bool)
    for split in splits:
        model = CohortModel("linear", effort="quick", random_state=0, task="classification")
        predicted = model.fit(X.iloc[split.train], problem.y[split.train]).predict(X.iloc[split.test])
        right[split.test] = predicted == problem.y[split.test]
    assert table.loc["rna", "without"] == pytest.approx(right.mean())
    whole = outcome.winner.predictions
    wrong = OutOfFold(
        whole.rows, whole.repeat, whole.fold, np.where(right[whole.rows], 0, 1) ^ outcome.judge.targets[whole.rows]
    )
    test = outcome.judge.test(whole, wrong)
    assert table.loc["rna", "loss"] == pytest.approx(outcome.winner.score - right.mean())
    assert tuple(table.loc["rna", ["loss low", "loss high"]]) == pytest.approx(test.interval())
    assert table.loc["rna", "p"] == pytest.approx(3 * test.pvalue)  # the smallest of three


def test_alone_is_the_score_of_the_comparison_and_exchange_costs_where_a_view_is_relied_on(compared):
    declared, outcome, measured, _ = compared
    table = scores_of_views(outcome, declared, measured).table
    by_method = {result.method: result.score for result in outcome.results}
    assert table.loc["rna", "alone"] == by_method["alone:rna"] and np.isnan(table.loc["sites", "alone"])
    assert table.loc["rna", "permuted"] > 0.2 > abs(table.loc["sites", "permuted"])
    assert table.loc["rna", "permuted low"] > 0.0


def test_words_state_the_interval(compared):
    declared, outcome, measured, _ = compared
    found = scores_of_views(outcome, declared, measured)
    first, best, *rest = findings(found)
    row = found.table.loc["rna"]
    assert first.startswith("The view that matters most is rna: without it the accuracy falls by ")
    assert f"({100 * row['loss']:.1f}" in first or f"{100 * row['loss']:.1f} percentage points (95 % interval " in first
    assert f"{100 * row['loss low']:.1f} to {100 * row['loss high']:.1f})" in first
    assert best.startswith("The best view alone is rna")
    few = dataclasses.replace(found, table=found.table.assign(p=1.0))
    assert findings(few)[0].startswith("3 folds of 80 samples cannot tell whether any single view is needed: ")
    assert not rest  # 80 samples do not show that a loss is less than two points
    sure = found.table.assign(**{"loss high": [0.5, 0.01, 0.015]})
    assert (
        "Without any one of lab and sites the loss is, with 95 % confidence, less than 2.0"
        in (findings(dataclasses.replace(found, table=sure))[-1])
    )


def test_any_one_view_can_be_left_out_where_none_is_missed(compared):
    declared, outcome, measured, _ = compared
    found = scores_of_views(outcome, declared, measured)
    none = found.table.assign(**{"loss": [0.004, 0.0, -0.01], "loss high": [0.012, 0.01, 0.015], "p": 1.0})
    first, *rest = findings(dataclasses.replace(found, table=none))
    assert first.startswith(
        "Any one view can be left out: without it the accuracy is, with 95 % confidence, less than 2.0"
    )
    assert not any("measuring it may not" in sentence for sentence in rest)


def test_cells_are_kept(compared, monkeypatch):
    declared, _, measured, folder = compared

    def fails(*arguments, **options):
        raise AssertionError

    monkeypatch.setattr(module, "measure_candidate", fails)
    again = measure_row(view_comparison(declared, "linear"), module.ROW, folder)
    assert again.cells == measured.cells


def test_a_cell_that_failed_or_is_missing_is_no_number(compared):
    declared, outcome, measured, _ = compared
    cells = dict(measured.cells)
    cells["linear without rna", 1] = [{"candidate": "", "failed": "no luck"}]
    del cells["linear without lab", 0]
    found = scores_of_views(outcome, declared, dataclasses.replace(measured, cells=cells))
    assert found.table["loss"].notna().tolist() == [False, False, True]
    assert "Some could not be fitted: no luck." in found.about


def test_methods_that_read_one_view_have_none_to_leave_out(compared):
    declared, outcome, _, _ = compared
    assert views_of(declared, "alone:rna") == [] and view_comparison(declared, "alone:rna") is None
    alone = sorted(outcome.results, key=lambda result: result.method != "alone:rna")
    found = scores_of_views(dataclasses.replace(outcome, results=alone), declared, None)
    assert found.table["loss"].isna().all() and "rna alone reads no other view." in found.about
    assert findings(found)[0].startswith("The best view alone is rna")


def test_similarity_matrices_are_views_of_kernel_methods_only():
    X, y = tables(40)
    K = pd.DataFrame(np.eye(40) + 0.1, X.index, X.index)
    declared = declare(X.assign(kin=X.index), y, matrices={"kin": K}, quick=True)
    assert views_of(declared, "mean") == ["rna", "lab", "sites", "kin"]
    assert views_of(declared, "forest") == ["rna", "lab", "sites"]
    without = view_comparison(declared, "mean").contenders[3]
    model = without.candidates(declared.problem)[""]
    assert without.name == "mean without kin" and model.matrices is None
    assert model.kinds["kin"] == "left out"
    model.fit(declared.problem.X, declared.problem.y)
    assert model.views == ["rna", "lab", "sites"]


def test_a_view_that_the_recommended_method_never_reads_has_no_numbers(tmp_path):
    X, y = tables(60)
    K = pd.DataFrame(np.eye(60) + 0.1, X.index, X.index)
    declared = declare(X.assign(kin=X.index), y, matrices={"kin": K}, methods=["linear"], folds=2, quick=True)
    outcome = gather(measure_row(declared.comparison, ROW, tmp_path), declared.labels)
    measured = measure_row(view_comparison(declared, "linear"), module.ROW, tmp_path)
    table = scores_of_views(outcome, declared, measured).table
    assert table.loc["kin"].isna().all() and table.loc["rna", ["loss", "permuted"]].notna().all()
