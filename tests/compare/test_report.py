"""The files of a comparison: complete, consistent, and written only when all is made."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from kernelweave import load
from kernelweave.compare import report as writing
from kernelweave.compare.declaration import ROW, declare
from kernelweave.compare.outcome import gather
from kernelweave.compare.report import data_rows, folds_table, methods_section, results_data
from kernelweave.compare.run import measure_row
from kernelweave.files.read import read_cohort


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Four methods on a cohort of 60 samples, some of which lack views; the second method cannot be fitted."""
    folder = tmp_path_factory.mktemp("cohort")
    rng = np.random.default_rng(0)
    ids = pd.Index([f"p{i}" for i in range(60)], name="sample")
    signal = np.repeat([0.0, 3.0], 30)
    rna = pd.DataFrame(rng.normal(size=(60, 3)), index=ids, columns=["g1", "g2", "g3"])
    rna["g1"] += signal
    rna.iloc[:55].to_csv(folder / "rna.csv")
    lab = pd.DataFrame({"sex": rng.choice(["f", "m"], 60), "crp": rng.normal(size=60)}, index=ids)
    lab.iloc[4:].to_csv(folder / "lab.csv")
    labels = pd.DataFrame({"ill": np.where(signal > 0, "yes", "no"), "house": np.arange(60) % 20}, index=ids)
    labels.to_csv(folder / "labels.csv")
    cohort = read_cohort(
        [folder / "rna.csv", folder / "lab.csv"], "labels.csv:ill", groups="labels.csv:house", id="sample"
    )
    declared = declare(
        cohort.tables.X,
        cohort.tables.y,
        groups=cohort.groups,
        methods=["alone", "mean", "linear"],
        quick=True,
    )
    measured = measure_row(declared.comparison, ROW, folder / "cells")
    measured.cells["alone:lab", 1] = [{"candidate": "", "failed": "too <few> samples"}]
    return cohort, declared, measured, gather(measured, declared.labels)


def test_the_section_has_every_method_and_chance(compared):
    _, declared, _, outcome = compared
    text, table, chart, scores = methods_section(outcome, declared).blocks
    assert "3 folds" in text.text and "at most" not in text.text and "times" not in text.text
    names = [row[0] for row in table.rows]
    assert names[0] == outcome.highest.label and names[-2:] == ["lab alone", "most frequent class"]
    assert table.rows[-2][-1] == "could not be fitted: too <few> samples" and table.rows[-2][1] is None
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert table.rows[0][1:4] == [outcome.highest.score, *outcome.highest.interval]
    assert [table.rows[row][0] for row in table.marked] == [outcome.winner.label]
    assert [dot.label for dot in chart.dots] == names[:3]
    assert chart.reference == outcome.rival.score and chart.kind == "percent"
    assert f"most frequent class reaches {outcome.written(outcome.chance_score)}" in chart.description
    assert [column.name for column in scores.columns] == [
        *("method", "accuracy", "balanced accuracy", "ROC AUC", "log loss", "Brier score")
    ]
    assert scores.note == "Of log loss and Brier score smaller values are better."


def test_rows_on_data_say_what_was_decided(compared):
    cohort, declared, _, _ = compared
    overlap, *rows = data_rows(cohort, declared)
    assert overlap.rows[0] == ["rna", 55, 55]
    decided = {row[0]: row[1] for row in rows}
    assert decided["samples"] == "60 with a target" and decided["task"] == "classification"
    assert decided["groups"] == "20 of house, never in training and test at once"
    assert decided["folds"].startswith("3 folds") and decided["random seed"] == "0"
    assert "training samples" not in decided
    assert decided["columns"] == "4 columns of numbers, 1 column of categories"
    few = dataclasses.replace(declared.comparison, protocol=dataclasses.replace(declared.protocol, max_train=20))
    limited = dataclasses.replace(declared, comparison=few)
    assert ("training samples", "at most 20 in a fold, because of --quick; the saved model is fitted to all") in (
        data_rows(cohort, limited)
    )
    assert [row for row in rows if row[0] == "rows matched by"] == [
        ("rows matched by", "column 'sample'", "the same in every file")
    ]
    tables = dataclasses.replace(cohort.tables, matched_by=pd.Series({"a": "row order", "b": "ids", "c": "ids"}))
    _, *differing = data_rows(dataclasses.replace(cohort, tables=tables), declared)
    assert [row[1:] for row in differing if row[0] == "rows matched by"] == [("row order", "a"), ("ids", "b and c")]


def test_the_table_of_folds(compared):
    _, declared, measured, outcome = compared
    table = folds_table(measured, outcome, declared)
    assert list(table.columns) == [
        *("method", "repeat", "fold", "score", "validation", "stored_samples", "seconds", "setting")
    ]
    assert len(table) == 12 and set(table["fold"]) == {1, 2, 3} and set(table["repeat"]) == {1}
    for result in outcome.results:
        np.testing.assert_allclose(table.loc[table["method"] == result.method, "score"], result.scores)
    failed = table[(table["method"] == "alone:lab") & (table["fold"] == 2)].iloc[0]
    assert failed["setting"] == "failed: too <few> samples" and np.isnan(failed["score"])
    assert (
        table["stored_samples"].notna().any() and table.loc[table["method"] == "linear", "stored_samples"].isna().all()
    )


def test_every_score_of_the_report_is_one_of_the_predictions_that_are_written(compared, tmp_path):
    cohort, declared, measured, outcome = compared
    models = writing.fitted_models(outcome, declared)
    writing.write_models(tmp_path, declared, measured, outcome, models)
    writing.write_report(tmp_path, cohort, declared, outcome, models)
    table = pd.read_csv(tmp_path / "out_of_fold.csv")
    data = json.loads((tmp_path / "report.json").read_text())["data"]["comparison"]
    for method in data["methods"][:-1]:
        own = table[table["method"] == method["method"]]
        assert len(own) == 60 and set(own["sample"]) == set(cohort.tables.X.index)
        shares = own[["probability_no", "probability_yes"]].to_numpy()
        np.testing.assert_array_equal(own["label"], np.where(shares[:, 1] > 0.5, "yes", "no"))
        areas = [metrics.roc_auc_score(part["target"], part["probability_yes"]) for _, part in own.groupby("fold")]
        expected = {
            "accuracy": metrics.accuracy_score(own["target"], own["label"]),
            "balanced accuracy": metrics.balanced_accuracy_score(own["target"], own["label"]),
            "ROC AUC": np.mean(areas),
            "log loss": metrics.log_loss(own["target"], shares),
            "Brier score": np.mean((own["probability_yes"] - (own["target"] == "yes")) ** 2),
        }
        assert method["all_scores"] == pytest.approx(expected, abs=1e-9)
        assert method["score"] == pytest.approx(expected["accuracy"], abs=1e-12) and data["score"] == "accuracy"
        low, high = method["interval"]
        assert low < method["score"] <= high


def test_files(compared, tmp_path):
    cohort, declared, measured, outcome = compared
    models = writing.fitted_models(outcome, declared)
    best = writing.write_models(tmp_path / "out", declared, measured, outcome, models)
    page = writing.write_report(tmp_path / "out", cohort, declared, outcome, models)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    expected = {"report.html", "report.json", "report.md", "folds.csv", "out_of_fold.csv", "best.kw"}
    assert names - {"best-kernels.kw"} == expected and page.name == "report.html"
    assert ("best-kernels.kw" in names) == (outcome.winner.method == "linear")
    model = load(best)
    assert model.method == outcome.winner.method and model.n_samples_ == 60
    np.testing.assert_array_equal(model.predict(cohort.tables.X), models.best.predict(cohort.tables.X))
    assert model.predict_proba(cohort.tables.X).shape == (60, 2)
    content = json.loads((tmp_path / "out" / "report.json").read_text())
    data = content["data"]["comparison"]
    assert data == json.loads(json.dumps(results_data(outcome, declared)))
    assert data["winner"] == outcome.winner.method and data["nested"]["methods"] == outcome.nested_methods
    assert data["verdict"]["kind"] == outcome.verdict.kind
    assert data["corrected"]["score"] == outcome.corrected.score <= outcome.highest.score
    assert data["methods"][-1] == {"method": "alone:lab", "label": "lab alone", "failed": "too <few> samples"}
    assert content["sections"][0]["id"] == "methods"
    assert data["recommendation"].startswith(content["headline"][0])
    html = (tmp_path / "out" / "report.html").read_text()
    assert "too &lt;few&gt; samples" in html and "too <few> samples" not in html


def test_a_winner_without_kernels_has_a_kernel_machine_beside_it(compared, tmp_path):
    cohort, declared, measured, outcome = compared
    order = sorted(outcome.results, key=lambda result: result.method != "linear")
    first = dataclasses.replace(outcome, results=order)
    models = writing.fitted_models(first, declared)
    assert models.best.method == "linear" and models.kernels.method in ("alone:rna", "mean")
    report = writing.build_report(cohort, declared, first, models)
    best = models.kernels_result.label
    assert f"The best kernel machine is {best}; it is saved as best-kernels.kw." in report.contents.headline
    assert "by 2 views of the samples (rna and lab)" in " ".join(report.contents.headline)
    ids = [section.id for section in report.contents.sections]  # on the method that wins, which has no kernels
    assert ids == ["methods", "held-out", "views", "features", "contributions", "data", "cite"]
    writing.write_models(tmp_path, declared, measured, first, models)
    assert load(tmp_path / "best-kernels.kw").method == models.kernels.method
    writing.write_models(tmp_path, declared, measured, first, writing.FittedModels(models.kernels))
    assert not (tmp_path / "best-kernels.kw").exists()


def test_the_least_sure_samples_are_those_of_the_out_of_fold_predictions(compared):
    cohort, declared, _, outcome = compared
    report = writing.build_report(cohort, declared, outcome, writing.fitted_models(outcome, declared))
    section = next(found for found in report.contents.sections if found.id == "contributions")
    bars = next(found for found in section.blocks if found.type == "bars")
    found = outcome.winner.predictions
    sure = np.abs(found.probabilities[:, 1] - 0.5)
    model = writing.fitted_models(outcome, declared).best
    labels = np.array([str(label) for label in declared.problem.X.index])[found.rows]
    decided = model.has_needed_views(declared.problem.X)[found.rows]
    order = np.argsort(sure[decided], kind="stable")
    limit = np.sort(sure[decided])[19]
    assert set(bars.labels) >= set(labels[decided][order][sure[decided][order] < limit - 1e-9])
    assert len(bars.labels) == 20 and "out of fold" in bars.notes[0]
