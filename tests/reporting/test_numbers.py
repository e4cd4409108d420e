"""Every number of a report is the model's own: computed again here, from the model's methods."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import ConvexMKL, Localized, LpMKL, PolynomialMKL, Projected, Softmax
from kernelweave.kernels import Gaussian, Linear
from kernelweave.model_selection import view_report
from kernelweave.model_selection.statistics import holm
from reported import block, blocks, cohort, column, report, section, text

KERNELS = [Linear("rna"), ("rna wide", Gaussian("rna")), Linear("protein"), Linear("noise")]
ONE_EACH = [Linear("rna"), Linear("protein"), Linear("noise")]


@pytest.fixture(scope="module")
def compared():
    X, y = cohort(missing=[("protein", slice(0, 9))])
    model = MKLClassifier(KERNELS, LpMKL()).fit(X, y)
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    return model, X, y, report(model, X, y, cv=folds), view_report(model, X, y, cv=folds, random_state=0)


def test_scores_of_views_are_those_of_view_report(compared):
    _, X, _, found, expected = compared
    table = block(found, "views", "table")
    assert column(table, "view") == ["rna", "protein", "noise"]
    for name, part, key, sign in [
        ("accuracy alone", "alone", "score", 1.0),
        ("accuracy without it", "without", "score", 1.0),
        ("lost without it", "without", "difference", -1.0),
        ("from", "without", "high", -1.0),
        ("to", "without", "low", -1.0),
    ]:
        assert np.allclose(column(table, name), sign * expected[key].xs(part, level="kernels"), atol=1e-12)
    assert column(table, "p-value") == holm(expected["p_value"].xs("without", level="kernels")).tolist()
    assert column(table, "samples") == [60, 51, 60]


def test_the_chart_of_views_has_the_scores_and_the_line_of_all_views(compared):
    found, expected = compared[3:]
    chart = block(found, "views", "dots")
    assert chart.reference == expected.loc[("all views", "together"), "score"]
    for dot in chart.dots:
        part = "alone" if dot.series == "this view alone" else "without"
        row = expected.loc[(dot.label, part)]
        assert (dot.value, dot.low, dot.high) == (row["score"], row["score"] - row["std"], row["score"] + row["std"])
    assert len(chart.dots) == 6
    assert chart.kind == "percent"


def test_machine_readable_results_are_those_of_view_report(compared):
    model, _, _, found, expected = compared
    rows = pd.DataFrame(found.data["views"]).set_index(["view", "kernels"])
    pd.testing.assert_frame_equal(rows, expected, check_like=True)
    weights = model.kernel_weights_
    assert found.data["weights"]["rna"] == pytest.approx(weights["rna"] + weights["rna wide"], rel=1e-15)


def test_weights_of_views_are_sums_over_their_kernels(compared):
    model, found = compared[0], compared[3]
    weights = model.kernel_weights_
    expected = [weights["rna"] + weights["rna wide"], weights["protein"], weights["noise"]]
    assert column(block(found, "views", "table"), "weight") == pytest.approx(expected, rel=1e-15)
    assert column(block(found, "views", "table"), "kernels") == [2, 1, 1]


def test_weights_of_kernels(compared):
    model, found = compared[0], compared[3]
    table = block(found, "weights", "table")
    assert dict(zip(column(table, "kernel"), column(table, "weight"), strict=True)) == model.kernel_weights_.to_dict()
    bars = block(found, "weights", "bars")
    assert bars.values == [[model.kernel_weights_[name]] for name in bars.labels]
    assert bars.labels == list(model.kernel_weights_.sort_values(ascending=False).index)


def test_kernels_without_weight_are_named():
    X, y = cohort(100)
    model = MKLClassifier(ONE_EACH, ConvexMKL(), C=0.05).fit(X, y)
    assert model.removable_kernels_ == ["noise"]
    found = report(model, X, y)
    assert "1 kernel of 3 got no weight" in text(found, "weights")
    assert column(block(found, "weights", "table"), "used for new samples") == ["yes", "yes", "no"]


def test_weights_of_each_class():
    X, y = cohort(90, 3)
    model = MKLClassifier(ONE_EACH, LpMKL(), weights="per-class").fit(X, y)
    heat = block(report(model, X, y), "weights", "heatmap")
    assert heat.rows == ["class 0", "class 1", "class 2"]
    assert np.array_equal(heat.values, model.kernel_weights_.to_numpy())


def test_weights_of_each_class_with_gates_are_means_over_its_samples():
    X, y = cohort(90, 3)
    model = MKLClassifier(ONE_EACH, Localized(l2=0.01), random_state=0).fit(X, y)
    heat = block(report(model, X, y), "weights", "heatmap")
    expected = model.kernel_weights(X).groupby(y).mean()
    assert heat.rows == list(expected.index)
    assert np.allclose(heat.values, expected.to_numpy(), rtol=1e-12)


def test_regions_are_those_of_the_model():
    X, y = cohort(90, 3)
    model = MKLClassifier(ONE_EACH, Localized(l2=0.01), C=10.0, random_state=0).fit(X, y)
    found = report(model, X, y)
    chart = block(found, "gates", "scatter")
    regions = pd.Series(model.region(X), X.index)
    assert [chart.groups[group] for group in chart.group] == list(regions[chart.label])
    table = block(found, "gates", "table")
    expected = pd.crosstab(regions, y)
    for row in table.rows:
        assert row[1] == expected.loc[row[0]].sum()
        assert row[3:] == expected.loc[row[0]].tolist()


def test_regions_of_views_with_several_kernels_add_their_weights():
    X, y = cohort(90, 3)
    model = MKLClassifier(KERNELS, Localized(l2=0.01), C=10.0, random_state=0).fit(X, y)
    chart = block(report(model, X, y), "gates", "scatter")
    weights = model.kernel_weights(X)
    by_view = weights.rename(columns={"rna wide": "rna"}).T.groupby(level=0).sum().T
    assert [chart.groups[group] for group in chart.group] == list(by_view.idxmax(axis=1))
    row = chart.label.index("s5")
    largest = by_view.loc["s5"].nlargest(1)
    assert f"{largest.index[0]} {largest.iloc[0]:.2f}" in chart.about[row]
    assert f"true {y[5]}" in chart.about[row]


def test_gates_over_their_own_plane():
    X, y = cohort(90, 3)
    model = MKLClassifier(ONE_EACH, Projected(2, Softmax(), gating_components=2), random_state=0).fit(X, y)
    chart = block(report(model, X, y), "gates", "scatter")
    points = model.gating_space(X).loc[chart.label].to_numpy()
    assert np.array_equal(np.column_stack([chart.x, chart.y]), points)


def test_the_plane_of_similarities_is_their_principal_one():
    X, y = cohort(40)
    model = MKLClassifier(ONE_EACH, Localized(l2=0.01), random_state=0).fit(X, y)
    chart = block(report(model, X, y), "gates", "scatter")
    K = model._kernel.cross(model._new_views(X))
    left, sizes, _ = np.linalg.svd(K - K.mean(axis=0), full_matrices=False)
    assert np.allclose(np.abs(chart.x), np.abs(left[:, 0] * sizes[0]))
    assert np.allclose(np.abs(chart.y), np.abs(left[:, 1] * sizes[1]))


def test_projections_are_those_of_the_model():
    X, y = cohort(missing=[("protein", slice(0, 9))])
    model = MKLClassifier(ONE_EACH, Projected(2), random_state=0).fit(X, y)
    projected = model.project(X, by_kernel=True)
    charts = blocks(report(model, X, y), "projections", "scatter")
    assert {chart.title.split(":")[0] for chart in charts} == set(projected)
    for chart in charts:
        points = projected[chart.title.split(":")[0]].dropna()
        assert np.array_equal(np.column_stack([chart.x, chart.y]), points.to_numpy())
        assert chart.label == list(points.index)
        assert [chart.groups[group] for group in chart.group] == [y[int(name[1:])] for name in chart.label]


def test_projections_of_local_models_show_the_samples_of_the_region():
    X, y = cohort(90, 3)
    model = MKLClassifier(ONE_EACH, Projected(1, Softmax()), random_state=0).fit(X, y)
    regions = model.region(X)
    for chart in blocks(report(model, X, y), "projections", "scatter"):
        name = chart.title.split(":")[0]
        rows = np.flatnonzero(regions == name)
        assert chart.label == list(X.index[rows])
        assert np.array_equal(chart.x, model.project(X, by_kernel=True)[name].iloc[rows, 0])


def test_features_that_count_most():
    X, y = cohort()
    model = MKLClassifier(ONE_EACH, Projected(2), random_state=0).fit(X, y)
    table = block(report(model, X, y), "projections", "table")
    rna = [row for row in table.rows if row[0] == "rna"]
    expected = model.feature_importance_["rna"].sort_values(ascending=False)
    assert [row[1] for row in rna] == list(expected.index)
    assert np.allclose([row[2] for row in rna], expected)
    assert sum(row[3] for row in rna) == pytest.approx(1.0)


def by_view(parts):
    return parts.assign(rna=parts["rna"] + parts["rna wide"]).drop(columns="rna wide")


def test_contributions_of_two_classes():
    X, y = cohort()
    model = MKLClassifier(KERNELS).fit(X, y)
    bars = block(report(model, X, y, n_shown=7), "contributions", "bars")
    decision = pd.Series(model.decision_function(X), X.index)
    assert bars.labels == list(decision.abs().sort_values(kind="stable").index[:7])
    assert np.array_equal(bars.totals, decision[bars.labels])
    expected = by_view(model.contributions(X)).loc[bars.labels, bars.parts]
    assert np.allclose(bars.values, expected, rtol=1e-12)
    assert np.allclose(np.sum(bars.values, axis=1), bars.totals)
    assert bars.notes[0] == f"true {y[int(bars.labels[0][1:])]}, predicted {model.predict(X.loc[bars.labels[:1]])[0]}"


@pytest.mark.parametrize("multiclass", ["one-vs-all", "joint"])
def test_contributions_of_several_classes(multiclass):
    X, y = cohort(90, 4)
    model = MKLClassifier(KERNELS, multiclass=multiclass, C=0.1).fit(X, y)
    bars = block(report(model, X, y), "contributions", "bars")
    decision = model.decision_function(X)
    ordered = np.sort(decision, axis=1)
    margins = pd.Series(ordered[:, -1] - ordered[:, -2], X.index)
    assert bars.labels == list(margins.sort_values(kind="stable").index[:20])
    assert np.allclose(bars.totals, margins[bars.labels])
    parts = model.contributions(X)
    for label, values in zip(bars.labels, bars.values, strict=True):
        second, first = np.argsort(decision[X.index.get_loc(label)])[-2:]
        row = (parts[model.classes_[first]] - parts[model.classes_[second]]).loc[[label]]
        assert np.allclose(values, by_view(row)[bars.parts])


def test_contributions_of_pairs_of_classes():
    X, y = cohort(90, 3)
    model = MKLClassifier(KERNELS, multiclass="one-vs-one", C=0.1).fit(X, y)
    bars = block(report(model, X, y), "contributions", "bars")
    parts, decision = model.contributions(X), model.decision_function(X)
    for label, values, total in zip(bars.labels, bars.values, bars.totals, strict=True):
        second, first = np.argsort(decision[X.index.get_loc(label)])[-2:]
        a, b = sorted([first, second])
        row = parts[f"class {a} vs class {b}"].loc[[label]] * (1.0 if first == b else -1.0)
        assert np.allclose(values, by_view(row)[bars.parts])
        assert total == pytest.approx(row.to_numpy().sum())


def test_contributions_of_products_of_views_keep_their_names():
    X, y = cohort()
    model = MKLClassifier(ONE_EACH, PolynomialMKL(tau=0.5)).fit(X, y)
    bars = block(report(model, X, y), "contributions", "bars")
    assert {"rna", "rna^2", "rna*protein"} <= set(bars.parts)
    assert np.allclose(np.sum(bars.values, axis=1), bars.totals)
    assert np.allclose(bars.totals, model.decision_function(X.loc[bars.labels]))


def test_contributions_to_the_largest_errors_of_a_regression():
    X, _ = cohort()
    y = X["rna__0"] + X["noise__1"] ** 2
    model = MKLRegressor(KERNELS).fit(X, y)
    bars = block(report(model, X, y), "contributions", "bars")
    errors = (y - model.predict(X)).abs()
    assert bars.labels == list(errors.sort_values(ascending=False, kind="stable").index[:20])
    assert np.array_equal(bars.totals, model.predict(X.loc[bars.labels]))
    assert bars.truths == y[bars.labels].tolist()
    assert np.allclose(bars.starts, model.predict(X).mean())
    assert np.allclose(bars.starts + np.sum(bars.values, axis=1), bars.totals)
    table = bars.table()
    assert [column.name for column in table.columns[2:]] == ["mean prediction", *bars.parts, "prediction", "true value"]
    assert all(sum(row[2:-2]) == pytest.approx(row[-2]) for row in table.rows)


def test_contributions_of_several_targets_each_on_its_own_scale():
    X, _ = cohort()
    y = pd.DataFrame({"small": X["rna__0"] / 100.0, "large": X["protein__0"] * 100.0})
    model = MKLRegressor(KERNELS, epsilon=0.0).fit(X, y)
    bars = block(report(model, X, y), "contributions", "bars")
    errors = ((y - model.predict(X)).abs() / y.std(ddof=0)).stack().sort_values(ascending=False, kind="stable")
    assert bars.labels == [f"{sample}, {target}" for sample, target in errors.index[:20]]
    predicted = pd.DataFrame(model.predict(X), X.index, y.columns)
    assert np.allclose(bars.totals, [predicted.loc[place] for place in errors.index[:20]])
    assert np.allclose(bars.truths, [y.loc[place] for place in errors.index[:20]])
    assert np.allclose(bars.starts, [predicted[target].mean() for _, target in errors.index[:20]])
    assert np.allclose(bars.starts + np.sum(bars.values, axis=1), bars.totals)


def test_samples_at_the_border_of_novelty():
    X, _ = cohort()
    model = MKLOneClass([Gaussian("rna"), Gaussian("noise")]).fit(X)
    found = report(model, X)
    bars = block(found, "contributions", "bars")
    decision = pd.Series(model.decision_function(X), X.index)
    assert bars.labels == list(decision.abs().sort_values(kind="stable").index[:20])
    share = (model.predict(X) < 0).mean()
    assert found.headline[0] == f"{100 * share:.1f} % of the 60 samples given here count as unusual."


def test_certificates_are_those_of_the_model():
    X, y = cohort()
    model = MKLClassifier(KERNELS, ConvexMKL()).fit(X, y)
    found = report(model, X, y)
    values = {row[0]: row[1] for row in block(found, "certificates", "table").rows}
    assert values["objective"] == model.objective_
    assert values["duality gap"] == model.duality_gap_
    assert values["relative gap"] == model.duality_gap_ / max(1.0, abs(model.objective_))
    assert values["tolerance"] == model.tol
    assert values["outer iterations"] == model.n_iter_
    assert values["solves"] == model.history_["solves"].sum()
    assert values["seconds"] == model.history_["seconds"].sum()
    assert values["support vectors"] == len(model.support_)
    assert values["prediction cost"] == model.prediction_cost()
    line = block(found, "certificates", "lines").lines[0]
    assert line.y == model.history_["objective"].tolist()
    assert line.x == model.history_["solves"].cumsum().tolist()


def test_data_are_counted():
    X, y = cohort(61, 2, missing=[("protein", slice(0, 9)), ("noise", slice(6, 8))])
    found = report(MKLClassifier(KERNELS).fit(X, y), X, y)
    assert block(found, "data", "table", "Classes").rows == [["class 0", 31, 31 / 61], ["class 1", 30, 30 / 61]]
    views = block(found, "data", "table", "Views")
    assert views.rows == [["rna", 4, 2, 61, 0], ["protein", 3, 1, 52, 9], ["noise", 2, 1, 59, 2]]
    patterns = block(found, "data", "table", "Missing")
    assert patterns.rows == [
        ["all views", 3, 52, 52 / 61],
        ["all but protein", 2, 7, 7 / 61],
        ["only rna", 1, 2, 2 / 61],
    ]
    assert "52 of them have every view" in text(found, "data")


def test_scores_here_are_those_of_the_model():
    X, y = cohort()
    model = MKLClassifier(KERNELS, C=0.01).fit(X, y)
    right = accuracy_score(y, model.predict(X))
    assert f"the model predicts the right class for {100 * right:.1f} %; the" in report(model, X, y).headline[0]
    assert f"{section(report(model, X, y), 'views').title}" == "What each view gives"
