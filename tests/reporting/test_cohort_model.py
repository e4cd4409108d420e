"""Reports on a `CohortModel`, whose model may be a kernel machine or one without kernels.

Each model searches its setting and is calibrated, which takes most of the time.
"""

import numpy as np
import pandas as pd
import pytest

from kernelweave.model_selection import view_importance, view_report
from kernelweave.recipes import CohortModel, column_kinds
from kernelweave.reporting.data import columns_table, folded
from kernelweave.reporting.samples import OutOfFoldValues, contributions_section
from kernelweave.reporting.subject import Subject
from reported import block, blocks, cohort, column, ids, report, text


def fitted(method, X, y):
    return CohortModel(method, effort="quick", random_state=0).fit(X, y)


def test_a_kernel_machine_has_all_sections_and_the_decisions():
    X, y = cohort(missing=[("protein", slice(0, 9))])
    model = CohortModel("mean", cv=2, random_state=0).fit(X, y)
    assert len(model.settings_) > 1
    found = report(model, X, y, cv=2)
    assert ids(found) == ["views", "weights", "features", "contributions", "certificates", "data", "cite"]
    assert column(block(found, "views", "table"), "view") == ["rna", "protein", "noise"]
    decisions = column(block(found, "data", "table", "decided about"), "decision")
    assert decisions == model.decisions_
    tried = block(found, "data", "table", "Settings that were tried")
    assert column(tried, "score") == pytest.approx(model.settings_["score"].tolist())


def test_decisions_about_many_views_are_one_row():
    many = [f"The view 'v{i}' is reduced to its 39 leading components for this method." for i in range(40)]
    assert folded(["The task is classification: why.", *many, "The view 'w' is left out: no sample has it."]) == [
        "The task is classification: why.",
        "Each of the views 'v0', 'v1', 'v2', 'v3', 'v4', 'v5' and 34 more is reduced to its 39 leading components "
        "for this method.",
        "The view 'w' is left out: no sample has it.",
    ]


def test_what_each_column_is_taken_as():
    X, y = cohort()
    X = X.assign(rna__batch="one")
    found = report(fitted("linear", X, y), X, y)
    table = block(found, "data", "table", "taken as")
    names = [f"{view}__{name}" for view, name in zip(column(table, "view"), column(table, "column"), strict=True)]
    assert sorted(names) == sorted(X.columns)
    assert dict(zip(names, column(table, "why"), strict=True))["rna__batch"] == "the same value in all samples"


def test_of_many_columns_the_first_of_each_view_are_listed():
    wide = pd.DataFrame(np.arange(12000.0).reshape(4, 3000)).add_prefix("rna__g")
    wide = wide.assign(rna__note="u", rna__g2999=1.0, lab__crp=[1, 2, 3, 5])
    rows = columns_table(column_kinds(wide)).rows
    assert [row[1] for row in rows[:3]] == ["g2999", "note", "g0"]  # what is not plain comes first
    assert len(rows) == 22 and rows[20:] == [
        ["rna", "and 2,981 more", "number (2,981)", ""],
        ["lab", "crp", "number", "numbers"],
    ]
    few = columns_table(column_kinds(wide.iloc[:, -150:])).rows
    assert len(few) == 150 and not any("more" in row[1] for row in few)


def test_values_of_training_samples_are_called_optimistic():
    X, y = cohort()
    assert "optimistic" in text(report(fitted("linear", X, y), X, y), "contributions")


def test_scores_keep_the_setting_and_are_those_of_the_machine_inside():
    X, y = cohort()
    model = fitted("mean", X, y)
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    found = report(model, X, y, cv=folds)
    expected = view_report(model.model_, model.table(X), y, cv=folds, random_state=0)
    without = expected["score"].xs("without", level="kernels")
    assert column(block(found, "views", "table"), "accuracy without it") == pytest.approx(without.tolist())
    assert "The setting stayed the one" in text(found, "views")


def test_scores_of_a_regression_are_those_of_the_machine_on_its_own_scale():
    X, _ = cohort()
    y = (1000.0 + 50.0 * X["rna__0"] + 20.0 * X["noise__0"] ** 2).to_numpy()
    model = fitted("mean", X, y)
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    inner = (y - y.mean()) / y.std()
    expected = view_report(model.model_, model.table(X), inner, cv=folds, random_state=0)["score"]
    alone = column(block(report(model, X, y, cv=folds), "views", "table"), "R² alone")
    assert alone == pytest.approx(expected.xs("alone", level="kernels").tolist(), rel=1e-6)


def test_contributions_of_a_regression_are_in_units_of_the_target():
    X, _ = cohort()
    y = (1000.0 + 50.0 * X["rna__0"]).to_numpy()
    model = fitted("mean", X, y)
    bars = block(report(model, X, y), "contributions", "bars")
    predicted = model.predict(X.loc[bars.labels])
    assert np.allclose(bars.totals, predicted)
    assert np.allclose(bars.starts + np.sum(bars.values, axis=1), predicted)
    assert set(bars.parts) == {"rna", "protein", "noise"}
    assert bars.truths == y[[X.index.get_loc(label) for label in bars.labels]].tolist()


@pytest.mark.parametrize("method", ["mean", "linear", "forest", "stacking"])
def test_parts_of_predicted_numbers_are_measured_from_their_means_over_the_training_samples(method):
    """The same for every choice of samples, also for one alone."""
    X, _ = cohort()
    y = (1000.0 + 50.0 * X["rna__0"]).to_numpy()
    model = fitted(method, X, y)
    parts = model.contributions(X)
    assert np.allclose(model.mean_contributions_, parts.mean())
    views = {name: name.removesuffix("-linear").removesuffix("-gaussian") for name in parts}
    expected = (parts - parts.mean()).T.groupby(views, sort=False).sum().T
    for rows in (slice(None), slice(7, 8)):
        bars = block(report(model, X[rows], y[rows], cv=False), "contributions", "bars")
        assert bars.starts == pytest.approx([model.predict(X).mean()] * len(bars.labels))
        assert np.allclose(bars.values, expected.loc[bars.labels, bars.parts])
        assert ("intercept" in bars.parts) == (method == "forest")
    assert "their means over the training samples" in text(report(model, X, y, cv=False), "contributions")


def test_samples_are_ranked_by_out_of_fold_values_where_there_are_some():
    X, y = cohort()
    rng = np.random.default_rng(3)
    margins = pd.Series(rng.normal(size=50), index=rng.permutation(60)[:50])
    predicted = pd.Series("class 1", index=margins.index)
    subject = Subject(fitted("mean", X, y), X, y)
    found = contributions_section(subject, n_shown=6, out_of_fold=OutOfFoldValues(margins, predicted))
    bars = next(one for one in found.blocks if one.type == "bars")
    assert bars.labels == [X.index[row] for row in margins.abs().sort_values(kind="stable").index[:6]]
    assert all(note.endswith(", out of fold class 1") for note in bars.notes)
    assert np.allclose(bars.totals, subject.model.decision_function(subject.cohort.table(X.loc[bars.labels])))
    assert "of models that were not fitted to them" in found.blocks[0].text
    numbers = (1000.0 + 50.0 * X["rna__0"]).to_numpy()
    values = OutOfFoldValues(margins, pd.Series(numbers, dtype=float)[margins.index] + 10.0 * margins)
    subject = Subject(fitted("mean", X, numbers), X, numbers)
    found = contributions_section(subject, n_shown=60, out_of_fold=values)
    bars = next(one for one in found.blocks if one.type == "bars")
    assert bars.labels == [X.index[row] for row in (-margins.abs()).sort_values(kind="stable").index]


def test_several_classes_are_ranked_by_out_of_fold_margins():
    X, y = cohort(60, 3)
    margins = pd.Series(np.arange(60.0)[::-1], index=range(60))
    subject = Subject(fitted("mean", X, y), X, y)
    values = OutOfFoldValues(margins, pd.Series("class 2", index=range(60)))
    found = contributions_section(subject, n_shown=4, out_of_fold=values)
    bars = next(one for one in found.blocks if one.type == "bars")
    assert bars.labels == [X.index[row] for row in (59, 58, 57, 56)]
    assert all("out of fold class 2, next class" in note for note in bars.notes)


@pytest.mark.parametrize("method", ["stacking", "linear", "boosting"])
def test_models_without_kernels_have_the_other_sections(method):
    X, y = cohort()
    model = fitted(method, X, y)
    found = report(model, X, y)
    own = [] if method == "stacking" else ["features"]
    assert ids(found) == ["views", *own, "contributions", "data", "cite"]
    bars = block(found, "contributions", "bars")
    assert np.allclose(np.sum(bars.values, axis=1), bars.totals)
    assert np.allclose(bars.totals, model.decision_function(X.loc[bars.labels]))
    assert set(bars.parts) == {"rna", "protein", "noise", "intercept"}
    here = 100 * np.mean(model.predict(X) == y)
    assert found.headline[0] == (
        f"On the 60 samples given here, the model predicts the right class for {here:.1f} %; the largest class, "
        "class 0, has 50.0 % of them."
    )
    assert found.headline[1].startswith("In cross-validation inside its fit the model predicts the right class for ")
    assert f"for {100 * model.validation_score_:.1f} %, which is a bit too good" in found.headline[1]
    assert report(model, X).headline[0] == found.headline[1]
    if method == "linear":
        assert "no kernels" in text(report(model, X, y, cv=None), "views")


def test_models_without_kernels_tell_which_views_they_rely_on():
    X, y = cohort()
    model = fitted("linear", X, y)
    found = report(model, X, y)
    groups = {view: [name for name in X if name.startswith(view)] for view in ("rna", "protein", "noise")}
    expected = view_importance(model, X, y, groups=groups, n_repeats=5, random_state=0)
    table = block(found, "views", "table")
    assert column(table, "view") == list(groups)
    assert column(table, "lost") == expected["importance"].tolist()
    chart = block(found, "views", "dots")
    assert {dot.label: dot.value for dot in chart.dots} == expected["importance"].to_dict()
    assert not blocks(report(model, X), "views", "table")


def test_samples_without_any_view_of_the_model_are_left_out_of_what_it_decides():
    X, y = cohort(60, 3, missing=[("rna", slice(0, 7))])
    found = report(fitted("alone:rna", X, y), X, y, cv=2)
    bars = block(found, "contributions", "bars")
    assert not set(bars.labels) & set(X.index[:7])
    assert block(found, "data", "table", "Views").rows[0][-2:] == [53, 7]
    local = report(fitted("localized", X, y), X, y)
    assert blocks(local, "gates", "text")


@pytest.mark.parametrize("n_classes", [3, 4])
def test_a_class_that_the_machine_never_saw(n_classes):
    X, y = cohort(60, n_classes)
    X.loc[y == "class 0", [name for name in X if name.startswith("rna")]] = np.nan
    model = fitted("alone:rna", X, y)
    assert len(model.model_.classes_) == n_classes - 1
    bars = block(report(model, X, y), "contributions", "bars")
    ordered = np.sort(model.decision_function(X.loc[bars.labels]), axis=1)
    assert np.allclose(bars.totals, ordered[:, -1] - ordered[:, -2])
    assert np.allclose(np.sum(bars.values, axis=1), bars.totals)


def test_the_features_that_count_most_are_named():
    X, y = cohort()
    for method in ("mean", "linear", "forest"):
        model = fitted(method, X, y)
        expected = model.feature_importance()
        table = block(report(model, X, y), "features", "table")
        assert [row[:2] for row in table.rows] == expected[["view", "feature"]].head(15).to_numpy().tolist()
        assert column(table, "importance") == expected["importance"].head(15).tolist()
        assert table.rows[0][0] in ("rna", "protein")
        weights = [note for note in (found.note for found in table.columns if found.name == "weight")]
        assert weights == ([] if method == "forest" else ["positive ones speak for class 1"])
