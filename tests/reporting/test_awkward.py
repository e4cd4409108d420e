"""Data as they come: few samples, many classes or views, odd names, missing views, and how many points are drawn."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import kernelweave
from kernelweave import MKLClassifier, MKLRegressor, load, save, stack_views
from kernelweave.combiners import ConvexMKL, Localized, LpMKL, Projected, Softmax
from kernelweave.kernels import Function, Gaussian, Linear, Precomputed, Spectrum
from kernelweave.reporting.page import Report
from kernelweave.reporting.samples import drawn_rows
from reported import block, blocks, cohort, column, ids, report, text

ONE_EACH = [Linear("rna"), Linear("protein"), Linear("noise")]
NASTY = "<script>alert('x')</script>"


def joined(contents):
    return " ".join(contents.headline)


def test_one_view_with_one_kernel():
    X, y = cohort()
    model = MKLClassifier([Linear("rna")]).fit(X, y)
    found = report(model, X, y, cv=2)
    assert "a single view" in text(found, "views")
    assert not blocks(found, "views", "dots")
    assert [c.name for c in block(found, "views", "table").columns] == ["view", "weight", "accuracy alone"]
    assert not blocks(found, "weights", "bars")
    assert not any("views" in sentence and "matter" in sentence for sentence in found.headline)


def test_two_samples_of_a_class_mean_two_folds():
    X, y = cohort(30)
    y = np.where(np.arange(30) < 2, "rare", "common")
    model = MKLClassifier(ONE_EACH).fit(X, y)
    found = report(model, X, y, cv=None)
    assert "the 2 folds)" in found.headline[0]
    assert any("The class rare has only 2 samples" in sentence for sentence in found.headline)
    assert any("With 30 samples" in sentence for sentence in found.headline)


def test_a_class_with_one_sample_does_without_cross_validation_or_says_so():
    X, y = cohort(12)
    y = np.where(np.arange(12) < 1, "rare", "common")
    model = MKLClassifier(ONE_EACH).fit(X, y)
    with pytest.warns(match="could not be fitted in 1 of 2 folds"):
        found = report(model, X, y, cv=None)
    assert any("The class rare has only 1 sample" in sentence for sentence in found.headline)


def test_too_few_samples_for_folds():
    X, y = cohort(3)
    found = report(MKLClassifier(ONE_EACH).fit(X, y), X, y, cv=None)
    assert "3 samples are too few for cross-validation" in text(found, "views")


def test_a_model_that_cannot_be_fitted_again_says_why(tmp_path):
    X, y = cohort(30)
    K = pd.DataFrame(Gaussian("rna").fit(X).gram(X), X.index, X.index)
    table = pd.DataFrame({"id": X.index}, index=X.index)
    model = MKLClassifier([("alike", Precomputed(K, "id"))], C=100.0).fit(table, y)
    assert len(model.support_) < 30
    save(model, tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    found = report(loaded, table, y, cv=None)
    assert "could not be fitted to parts of these samples" in joined(found)
    assert Report(found).to_markdown().count("could not be fitted to parts of these samples") == 1
    with pytest.raises(ValueError):
        report(loaded, table, y, cv=2)


def test_a_score_that_is_defined_nowhere():
    X, _ = cohort(4)
    model = MKLRegressor(ONE_EACH).fit(X, [1.0, 2.0, 3.0, 5.0])
    assert "in the 2 folds" in report(model, X, [1.0, 2.0, 3.0, 5.0], cv=None).headline[0]
    with pytest.warns(match="not well-defined"):
        found = report(model, X, [1.0, 2.0, 3.0, 5.0], cv=4)
    assert "The R² is not defined on parts of these samples." in text(found, "views")


@pytest.mark.parametrize("kernels", [ONE_EACH, ONE_EACH[:1]])
def test_why_there_is_no_cross_validation_is_said_once(kernels):
    X, y = cohort(12)
    found = report(MKLClassifier(kernels).fit(X, y), X, y, cv=False)
    assert Report(found).to_markdown().count("Cross-validation was not asked for.") == 1


def test_thirty_classes():
    X, y = cohort(120, 30)
    model = MKLClassifier(ONE_EACH, LpMKL(), weights="per-class").fit(X, y)
    found = report(model, X, y)
    assert len(block(found, "weights", "heatmap").rows) == 30
    assert len(block(found, "data", "table", "Classes").rows) == 30


def test_pairs_of_ten_classes():
    X, y = cohort(60, 10)
    pairs = MKLClassifier(ONE_EACH, multiclass="one-vs-one", weights="per-class").fit(X, y)
    heat = block(report(pairs, X, y), "weights", "heatmap")
    assert len(heat.rows) == 40
    assert "first 40 of 45" in heat.note


def test_two_hundred_views():
    rng = np.random.default_rng(0)
    X = stack_views({f"view {m}": rng.normal(size=(30, 1)) for m in range(200)})
    y = (X.iloc[:, 0] > 0).to_numpy()
    kernels = [(name, Gaussian(name, scale=1.0)) for name in (f"view {m}" for m in range(200))]
    model = MKLClassifier(kernels, LpMKL()).fit(X, y)
    found = report(model, X, y)
    bars = block(found, "weights", "bars")
    assert len(bars.labels) == 25
    assert bars.note == "Drawn are the 25 kernels with the largest weights, of 200; the table has all."
    assert len(block(found, "weights", "table").rows) == 200
    parts = block(found, "contributions", "bars")
    assert parts.parts[-2:] == ["other views", "intercept"]
    assert len(parts.parts) == 10
    assert np.allclose(np.sum(parts.values, axis=1), parts.totals)
    assert parts.note == "Other views are 192 views."
    assert len(kernelweave.report(model, X, y, cv=False).to_html()) < 1_000_000


def test_targets_of_a_regression_have_a_table_of_their_own():
    X, _ = cohort()
    y = pd.DataFrame({"a": X["rna__0"], NASTY: X["protein__0"]})
    model = MKLRegressor(ONE_EACH, ConvexMKL(), weights="per-target").fit(X, y)
    found = report(model, X, y, cv=2)
    table = block(found, "data", "table", "Targets")
    assert column(table, "target") == ["a", NASTY]
    assert column(table, "largest") == [y["a"].max(), y[NASTY].max()]
    assert block(found, "weights", "heatmap").rows == ["a", NASTY]
    assert "predicts 2 numbers" in " ".join(found.headline)
    assert len(block(found, "certificates", "lines").lines) == 2


def test_missing_views_and_text():
    X, y = cohort(40, missing=[("protein", slice(0, 10))])
    X["word"] = ["abc" if label == y[0] else "cba" for label in y]
    X.loc[X.index[3], "word"] = None
    model = MKLClassifier([Linear("rna"), Linear("protein"), Spectrum("word", k=2)]).fit(X, y)
    found = report(model, X, y, cv=2)
    assert block(found, "data", "table", "Views").rows[2] == ["word", 1, 1, 39, 1]
    assert block(found, "data", "table", "Missing").rows[0][:3] == ["all views", 3, 30]
    assert "substrings in common" in column(block(found, "weights", "table"), "what it is")


def test_gates_with_missing_views_keep_every_sample():
    X, y = cohort(60, missing=[("protein", slice(0, 10)), ("rna", slice(20, 25))])
    model = MKLClassifier(ONE_EACH, Localized(l2=0.01), C=10.0, random_state=0).fit(X, y)
    chart = block(report(model, X, y), "gates", "scatter")
    assert sorted(chart.label) == sorted(X.index)
    assert all("protein" not in chart.about[chart.label.index(name)] for name in X.index[:10])


def test_unusual_labels_of_samples():
    X, y = cohort(30)
    for index in (
        pd.MultiIndex.from_arrays([["a"] * 30, range(30)]),
        pd.date_range("2020-01-01", periods=30),
        pd.Index(["same"] * 30),
        pd.Index([None, 1.5, NASTY, *range(27)], dtype=object),
    ):
        Z = X.set_axis(index, axis=0)
        model = MKLClassifier(ONE_EACH, Localized(l2=0.01), random_state=0).fit(Z, y)
        found = report(model, Z, y)
        assert all(isinstance(label, str) for label in block(found, "gates", "scatter").label)
        json.dumps(found.to_plain(), allow_nan=False)


def test_names_with_markup_are_passed_on_as_text_and_harmless_on_the_page():
    X, y = cohort(40)
    X.columns = [name.replace("rna", NASTY) for name in X.columns]
    X = X.set_axis([f"{NASTY}{i}" for i in range(40)], axis=0)
    y = np.where(y == y[0], NASTY, "b")
    kernels = [Linear(NASTY), Linear("protein")]
    model = MKLClassifier(kernels, Projected(2, Softmax()), random_state=0).fit(X, y)
    page = kernelweave.report(model, X, y, cv=2, title=NASTY, data=[(NASTY, NASTY)])
    assert NASTY in column(block(page.contents, "data", "table", "Views"), "view")
    assert "<script>alert" not in page.to_html()


def test_samples_are_drawn_in_proportion_and_it_is_said():
    X, y = cohort(200)
    y = np.where(np.arange(200) % 10 == 0, "rare", "common")
    model = MKLClassifier(ONE_EACH, Localized(l2=0.01), random_state=0).fit(X, y)
    chart = block(report(model, X, y, max_points=50), "gates", "scatter")
    assert len(chart.x) == len(set(chart.label)) == 50
    assert chart.note == "50 of 200 samples are drawn, chosen at random in proportion to the groups."
    again = block(report(model, X, y, max_points=50), "gates", "scatter")
    other = block(report(model, X, y, max_points=50, random_state=1), "gates", "scatter")
    assert again.label == chart.label != other.label
    assert "All 200 samples are drawn." in block(report(model, X, y), "gates", "scatter").note


@pytest.mark.parametrize("most", [1, 7, 99, 100, 101])
def test_drawn_rows_keep_the_shares_of_strata(most):
    rows, strata = np.arange(1000, 1100), np.repeat([0, 1, 2], [50, 30, 20])
    drawn = drawn_rows(rows, strata, most, 0)
    assert len(np.unique(drawn)) == min(most, 100)
    assert (np.diff(drawn) > 0).all()
    counts = np.bincount(strata[drawn - 1000], minlength=3)
    assert (np.abs(counts - np.array([0.5, 0.3, 0.2]) * len(drawn)) <= 1.0).all()


def test_projections_share_the_points():
    X, y = cohort(200)
    model = MKLClassifier(ONE_EACH, Projected(2), random_state=0).fit(X, y)
    charts = blocks(report(model, X, y, max_points=90), "projections", "scatter")
    assert [len(chart.x) for chart in charts] == [30, 30, 30]


def test_precomputed_similarities_only():
    X, y = cohort(40)
    K = pd.DataFrame(Gaussian("rna").fit(X).gram(X), X.index, X.index)
    L = pd.DataFrame(Gaussian("noise").fit(X).gram(X), X.index, X.index)
    table = pd.DataFrame({"id": X.index}, index=X.index)
    model = MKLClassifier([("alike", Precomputed(K, "id")), ("other", Precomputed(L, "id"))]).fit(table, y)
    found = report(model, table, y, cv=2)
    assert column(block(found, "views", "table"), "view") == ["alike", "other"]
    assert column(block(found, "weights", "table"), "what it is") == ["given similarity matrix"] * 2


def test_new_samples_may_lack_a_view_that_the_model_does_not_need():
    X, y = cohort(100)
    model = MKLClassifier(ONE_EACH, ConvexMKL(), C=0.05).fit(X, y)
    new = X[[name for name in X if not name.startswith("noise")]]
    found = report(model, new)
    assert block(found, "data", "table", "Views").rows[2][3:] == [0, 100]
    assert "came without targets" in found.headline[0]


def test_classes_that_the_model_does_not_know_are_counted_as_they_are():
    X, y = cohort(40)
    model = MKLClassifier(ONE_EACH).fit(X, y)
    other = y.astype(object)
    other[:3] = "never seen"
    found = report(model, X, other)
    assert block(found, "data", "table", "Classes").rows[-1] == ["never seen", 3, 3 / 40]


def test_no_samples_to_take_apart():
    X, y = cohort(40)
    assert "contributions" not in ids(report(MKLClassifier(ONE_EACH).fit(X, y), X, y, n_shown=0))


@pytest.mark.parametrize("combiner", [ConvexMKL(), Localized()], ids=lambda one: type(one).__name__)
def test_sentences_begin_with_a_capital_and_none_is_repeated(combiner):
    X, y = cohort(40)
    found = report(MKLClassifier(ONE_EACH, combiner).fit(X, y), X, y, cv=2)
    shown = [block for section in found.sections if section.id != "cite" for block in section.blocks]
    texts = [block.text for block in shown if block.type == "text"]
    about = [text for block in shown for text in (getattr(block, "description", ""), getattr(block, "note", ""))]
    sentences = [part for text in [*found.headline, *texts, *about] for part in re.split(r"(?<=[.]) (?=\w)", text)]
    assert [text for text in sentences if text[:1].islower()] == []
    assert len(set(found.headline) & set(texts)) == 0


def test_a_kernel_that_is_not_positive_semidefinite_certifies_nothing(recwarn):
    X, y = cohort()
    model = MKLClassifier(
        [Function(lambda A, B: A[:, :1] @ B[:, :1].T - A[:, 1:2] @ B[:, 1:2].T, "rna")], normalize=None
    )
    found = report(model.fit(X, y), X, y, cv=2)
    assert "Nothing certifies the fit" in text(found, "certificates")
    assert "nothing certifies the fit" in joined(found) and "did not reach" not in joined(found)
    assert not any(each.category is ConvergenceWarning for each in recwarn.list)
