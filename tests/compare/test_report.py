"""The files of a comparison: complete, consistent, and written only when all is made."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

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


def test_the_section_has_every_method_the_choice_and_chance(compared):
    _, declared, _, outcome = compared
    text, table, chart = methods_section(outcome, declared).blocks
    assert "3 folds" in text.text and "at most" not in text.text
    names = [row[0] for row in table.rows]
    assert names[0] == outcome.winner.label and names[-3:] == [
        "lab alone",
        "choice by validation",
        "most frequent class",
    ]
    assert table.rows[-3][-1] == "could not be fitted: too <few> samples" and table.rows[-3][1] is None
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert table.rows[0][1] == outcome.winner.mean and table.rows[-2][1] == outcome.nested.mean()
    assert [dot.label for dot in chart.dots] == [*names[:3], "choice by validation"]
    assert chart.reference == outcome.baseline.mean and chart.kind == "percent"
    assert chart.reference_label == f"best simple method: {outcome.baseline.label}"
    assert f"most frequent class reaches {outcome.score_text(outcome.chance.mean())}" in chart.description


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
    table = folds_table(measured, declared)
    assert list(table.columns) == [
        *("method", "repeat", "fold", "score", "validation", "stored_samples", "seconds", "setting")
    ]
    assert len(table) == 12 and set(table["fold"]) == {1, 2, 3} and set(table["repeat"]) == {1}
    means = table.groupby("method")["score"].mean()
    for result in outcome.results:
        assert means[result.method] == pytest.approx(result.mean)
    failed = table[(table["method"] == "alone:lab") & (table["fold"] == 2)].iloc[0]
    assert failed["setting"] == "failed: too <few> samples" and np.isnan(failed["score"])
    assert (
        table["stored_samples"].notna().any() and table.loc[table["method"] == "linear", "stored_samples"].isna().all()
    )


def test_files(compared, tmp_path):
    cohort, declared, measured, outcome = compared
    models = writing.fitted_models(outcome, declared)
    page, best = writing.write_results(tmp_path / "out", cohort, declared, measured, outcome, models)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    expected = {"report.html", "report.json", "report.md", "folds.csv", "best.kw"}
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
    assert data["methods"][-1] == {"method": "alone:lab", "label": "lab alone", "failed": "too <few> samples"}
    assert content["sections"][0]["id"] == "methods"
    assert data["recommendation"].startswith(content["headline"][0])
    html = (tmp_path / "out" / "report.html").read_text()
    assert "too &lt;few&gt; samples" in html and "too <few> samples" not in html


def test_a_winner_without_kernels_has_a_kernel_machine_beside_it(compared, tmp_path):
    cohort, declared, measured, outcome = compared
    order = sorted(outcome.results, key=lambda result: result.method != "linear")
    first = type(outcome)(**{**outcome.__dict__, "results": order})
    models = writing.fitted_models(first, declared)
    assert models.best.method == "linear" and models.kernels.method in ("alone:rna", "mean")
    report = writing.build_report(cohort, declared, first, models, with_views=False)
    assert any("is no kernel machine" in sentence for sentence in report.contents.headline)
    writing.write_results(tmp_path, cohort, declared, measured, first, models, with_views=False)
    assert load(tmp_path / "best-kernels.kw").method == models.kernels.method
    writing.write_results(
        tmp_path, cohort, declared, measured, first, writing.FittedModels(models.kernels), with_views=False
    )
    assert not (tmp_path / "best-kernels.kw").exists()


def test_nothing_is_written_where_the_report_fails(compared, tmp_path, monkeypatch):
    cohort, declared, measured, outcome = compared
    models = writing.FittedModels(declared.model("alone:rna").fit(declared.problem.X, declared.problem.y))

    def fails(*arguments, **options):
        raise ValueError("no report")

    monkeypatch.setattr(writing, "report", fails)
    with pytest.raises(ValueError, match="no report"):
        writing.write_results(tmp_path / "out", cohort, declared, measured, outcome, models)
    assert not (tmp_path / "out").exists()
