"""The tables of `kernelweave explain`; each model searches its setting, which takes most of the time."""

from copy import copy
from functools import cache

import numpy as np
import pandas as pd
import pytest

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.cli.explanation import deciding_views, explaining_tables, view_of
from kernelweave.cli.prediction import predictions
from kernelweave.kernels import Gaussian, Linear
from kernelweave.recipes import CohortModel
from kernelweave.recipes.importance import measured_from


def cohort(n_classes, n=60):
    """Samples of which the view "a" tells the classes apart and "b" says nothing; the last ones lack a view."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % max(n_classes, 2)
    a = np.column_stack([y == label for label in range(max(n_classes, 2))]) + 0.3 * rng.standard_normal(
        (n, max(n_classes, 2))
    )
    X = pd.DataFrame(a, columns=[f"a__x{number}" for number in range(a.shape[1])])
    X["b__noise"] = rng.standard_normal(n)
    X["b__kind"] = rng.choice(["u", "v"], n)
    X.index = pd.Index([f"s{number}" for number in range(n)], name="who")
    X.iloc[-3:, [X.columns.get_loc("b__noise"), X.columns.get_loc("b__kind")]] = np.nan
    labels = np.array(["no", "perhaps", "yes", "sometimes", "always"])
    return X, (3.0 * X["a__x0"].to_numpy() + 10.0 if n_classes == 0 else labels[y])


@cache
def fitted(method, n_classes):
    X, y = cohort(n_classes)
    return CohortModel(method, effort="quick", random_state=0).fit(X[:-10], y[:-10]), X[-10:]


def decided_by(n_classes):
    """The column of decision values: of two classes it names the one for which they speak."""
    return "prediction" if n_classes == 0 else "decision_perhaps" if n_classes == 2 else "decision"


@pytest.mark.parametrize(
    ("method", "n_classes"),
    [
        *((method, n) for method in ("mean", "linear") for n in (0, 2, 3)),
        ("localized", 2),
        ("stacking", 0),
        ("stacking", 3),
    ],
)
def test_parts_add_up_to_the_decision(method, n_classes):
    model, X = fitted(method, n_classes)
    tables = explaining_tables(model, X)
    table = tables["contributions.csv"]
    assert list(table.iloc[:, 0]) == list(X.index) and table.columns[0] == "who"
    if n_classes == 0:
        assert table.columns[1] == "prediction"
        assert np.allclose(table.iloc[:, 2:].sum(axis=1), model.predict(X))
        return
    assert list(table.columns[1:3]) == ["label", decided_by(n_classes)] and list(table["label"]) == list(
        model.predict(X)
    )
    values = model.decision_function(X)
    decided = values if n_classes == 2 else values.max(axis=1)
    assert np.allclose(table[decided_by(n_classes)], decided) and np.allclose(table.iloc[:, 3:].sum(axis=1), decided)
    assert ("contributions_by_class.csv" in tables) == (n_classes > 2)
    if n_classes > 2:
        of_all = tables["contributions_by_class.csv"]
        assert list(of_all["who"]) == [name for name in X.index for _ in range(3)]
        assert list(of_all["class"][:3]) == list(model.classes_)
        assert np.allclose(of_all["decision"].to_numpy().reshape(-1, 3), values)


def test_weights_of_kernels_and_features():
    model, X = fitted("mean", 3)
    tables = explaining_tables(model, X)
    weights = tables["weights.csv"].set_index("who")
    assert list(weights) == ["a-linear", "a-gaussian", "b-linear", "b-gaussian"]
    assert np.allclose(weights.iloc[:-3], 0.25) and np.allclose(weights.iloc[-3:, 2:], 0.0)
    features = tables["features.csv"]
    assert list(features) == ["view", "kernel", "feature", "class", "weight"]
    assert features["weight"].abs().is_monotonic_decreasing and set(features["view"]) == {"a", "b"}
    assert features["view"][0] == "a" and set(features["class"]) == set(model.classes_)


def test_weights_of_features_of_a_regression_are_in_units_of_the_target():
    model, X = fitted("alone:a", 0)
    tables = explaining_tables(model, X)
    weights = tables["features.csv"].set_index("feature")["weight"].to_numpy()
    inner = model.model_.feature_weights("a").to_numpy()
    assert np.allclose(np.sort(weights), np.sort(inner * model.target_scale_)) and model.target_scale_ > 1.2


def test_a_model_without_kernels_and_coefficients_has_no_weights():
    model, X = fitted("forest", 2)
    assert set(explaining_tables(model, X)) == {"contributions.csv"}


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_coefficients_of_a_regression_on_all_columns(n_classes):
    model, X = fitted("linear", n_classes)
    tables = explaining_tables(model, X)
    assert "weights.csv" not in tables
    features = tables["features.csv"]
    assert list(features) == ["view", "feature", *(["class"] if n_classes > 2 else []), "weight"]
    assert features["weight"].abs().is_monotonic_decreasing
    names = {("a", f"x{k}") for k in range(max(n_classes, 2))} | {("b", "noise"), ("b", "kind_u"), ("b", "kind_v")}
    assert names <= set(zip(features["view"], features["feature"], strict=True))
    if n_classes != 2:
        return
    moved = X.iloc[:1].copy()  # by one standard deviation of the training samples, which the weight is for
    moved["a__x0"] += cohort(2)[0]["a__x0"][:-10].std(ddof=0)
    change = model.decision_function(moved) - model.decision_function(X.iloc[:1])
    weight = features.set_index(["view", "feature"])["weight"][("a", "x0")]
    assert np.allclose(change, weight) and abs(weight) > 0.1


KERNELS = [Linear("a"), Gaussian("a"), ("noise", Linear(["b__noise"]))]


@pytest.mark.parametrize("kind", ["two", "three", "pairs", "number", "numbers", "one class"])
def test_models_of_the_library(kind):
    X, y = cohort({"two": 2, "number": 0, "numbers": 0}.get(kind, 3))
    X = X.drop(columns="b__kind")
    if kind in ("number", "numbers"):
        model = MKLRegressor(KERNELS).fit(X, np.column_stack([y, -y]) if kind == "numbers" else y)
    elif kind == "one class":
        model = MKLOneClass(KERNELS).fit(X)
    else:
        model = MKLClassifier(KERNELS, multiclass="one-vs-one" if kind == "pairs" else "one-vs-all").fit(X, y)
    X = X[-10:].copy()
    X.loc["s52"] = np.nan
    tables = explaining_tables(model, X)
    table = tables["contributions.csv"]
    assert list(dict.fromkeys(table["who"])) == list(X.index)
    known = table[table["who"] != "s52"]
    assert table[table["who"] == "s52"].iloc[:, 1:].isna().all(axis=None)
    value = "prediction" if kind.startswith("number") else decided_by(2 if kind == "two" else 3)
    assert np.allclose(known[["a", "a-2", "noise", "intercept"]].sum(axis=1).astype(float), known[value].astype(float))
    there = X.drop(index="s52")
    if kind == "numbers":
        assert np.allclose(known["prediction"].to_numpy(float).reshape(-1, 2), model.predict(there))
        assert len(set(known["target"])) == 2
    elif kind == "number":
        assert np.allclose(known["prediction"].astype(float), model.predict(there))
    else:
        assert list(known["label"][:: 3 if kind == "pairs" else 1]) == list(model.predict(there))
    assert ("pair" in table) == (kind == "pairs")
    word = {"three": "class", "pairs": "pair", "numbers": "target"}.get(kind)
    features = tables["features.csv"]
    assert list(features) == ["view", "kernel", "feature", *([] if word is None else [word]), "weight"]
    if word in ("pair", "target"):
        assert set(features[word]) == set(known[word])
    assert ("contributions_by_class.csv" in tables) == (kind == "three")
    assert tables["weights.csv"].columns[0] == "who" and len(tables["weights.csv"]) == 10
    assert set(tables["features.csv"]["kernel"]) == {"a", "noise"}
    counts = deciding_views(model, table)
    assert counts.sum() == 9 and set(counts.index) <= {"a", "b", "none"}
    if kind != "one class":
        assert counts.index[0] == "a"


def test_gates_have_weights_by_sample_and_none_for_features():
    model, X = fitted("localized", 2)
    tables = explaining_tables(model, X)
    assert "features.csv" not in tables and tables["weights.csv"].shape == (10, 5)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_rows_of_samples_that_cannot_be_decided_are_empty(n_classes):
    model, X = fitted("alone:a", n_classes)
    X = X.copy()
    X.loc[X.index[[1, 4]], [name for name in X if name.startswith("a__")]] = np.nan
    tables = explaining_tables(model, X)
    for name in ("contributions.csv", "weights.csv"):
        assert tables[name]["who"].tolist() == X.index.tolist()
        assert tables[name].iloc[:, 1:].isna().all(axis=1).tolist() == [place in (1, 4) for place in range(10)]
    if n_classes == 3:
        assert len(tables["contributions_by_class.csv"]) == 3 * 8 + 2
    assert deciding_views(model, tables["contributions.csv"]).sum() == 8
    with pytest.raises(ValueError, match="no sample has a view that the method alone:a needs"):
        explaining_tables(model, X.iloc[[1, 4]])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_views_may_be_called_as_columns_of_the_table(n_classes):
    X, y = cohort(n_classes)
    X = X.rename(columns=lambda name: name.replace("a__", "label__").replace("b__", "class__"))
    model = CohortModel("linear", effort="quick", random_state=0).fit(X, y)
    tables = explaining_tables(model, X)
    columns = ["who", "label", decided_by(n_classes), "label (view)", "class (view)", "intercept"]
    assert list(tables["contributions.csv"]) == columns
    assert tables["contributions.csv"]["label"].tolist() == model.predict(X).tolist()
    assert deciding_views(model, tables["contributions.csv"]).index[0] == "label"


@pytest.mark.parametrize(("method", "n_classes"), [("linear", 0), ("linear", 2), ("linear", 3), ("stacking", 2)])
def test_views_may_be_called_as_the_intercept_or_the_column_of_ids(method, n_classes):
    X, y = cohort(n_classes)
    X = X.rename(columns=lambda name: name.replace("a__", "intercept__").replace("b__", "who__"))
    model = CohortModel(method, effort="quick", random_state=0).fit(X[:-10], y[:-10])
    table = explaining_tables(model, X[-10:])["contributions.csv"]
    assert list(table)[-3:] == ["intercept (view)", "who (view)", "intercept"] and table.columns.is_unique
    assert np.allclose(table.iloc[:, -3:].sum(axis=1), table[decided_by(n_classes)])
    counts = deciding_views(model, table)
    assert counts.index[0] == "intercept" and counts.sum() == 10


def test_ids_may_stand_in_a_column_called_as_another():
    model, X = fitted("mean", 2)
    table = explaining_tables(model, X.rename_axis("label"))["contributions.csv"]
    assert list(table)[:3] == ["label", "label", "decision_perhaps"] and deciding_views(model, table).sum() == 10


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_the_view_that_tells_the_classes_apart_decides(n_classes):
    model, X = fitted("mean", n_classes)
    counts = deciding_views(model, explaining_tables(model, X)["contributions.csv"])
    assert counts.index[0] == "a" and counts["a"] >= 7 and counts.sum() == 10


def test_views_of_kernels():
    views = ["rna", "rna-linear"]
    assert view_of("rna-gaussian", views) == "rna" and view_of("rna-linear", views) == "rna-linear"
    assert view_of("gaussian", views) == "gaussian"


@pytest.mark.parametrize("n_classes", [3, 4, 5])
@pytest.mark.parametrize("method", ["alone:a", "linear"])
def test_a_class_without_a_sample_that_has_the_view(method, n_classes):
    """The tables are those of any model of so many classes, and parts are those of the predicted class."""
    X, y = cohort(n_classes)
    X = X.drop(columns=[name for name in X if name.startswith("b__")] if method == "linear" else [])
    X.loc[y == np.unique(y)[1], [name for name in X if name.startswith("a__")]] = np.nan
    model = CohortModel(method, effort="quick", random_state=0).fit(X, y)
    assert len(model.classes_) == n_classes and len(model.model_.classes_) == n_classes - 1
    tables = explaining_tables(model, X)
    table = tables["contributions.csv"].dropna()
    there = X.loc[table["who"]]
    assert list(table.columns[1:3]) == ["label", "decision"] and list(table["label"]) == list(model.predict(there))
    values = model.decision_function(there)
    assert np.allclose(table["decision"].astype(float), values.max(axis=1))
    by_class = tables["contributions_by_class.csv"].dropna()
    assert list(by_class["class"]) == list(model.classes_) * len(there)
    assert np.allclose(by_class["decision"].astype(float).to_numpy().reshape(-1, n_classes), values)
    parts = table[[name for name in table if name.startswith("a")]].astype(float).sum(axis=1)
    counts = deciding_views(model, tables["contributions.csv"])
    assert counts.sum() == len(there) and counts.get("none", 0) == (parts <= 0.0).sum()
    features = tables["features.csv"]
    assert set(features["class"]) == set(model.model_.classes_)
    if n_classes == 3:
        first, second = (features[features["class"] == label] for label in model.model_.classes_)
        weights = [part.set_index("feature")["weight"] for part in (first, second)]
        assert np.allclose(weights[0], -weights[1][weights[0].index])


@pytest.mark.parametrize("method", ["mean", "linear", "boosting"])
def test_parts_of_numbers_are_measured_from_the_training_samples(method):
    """The same whatever samples are explained; the intercept is the mean prediction of the training samples."""
    model, X = fitted(method, 0)
    training = cohort(0)[0][:-10]
    table = explaining_tables(model, X)["contributions.csv"]
    parts, means = model.contributions(X), model.contributions(training).mean()
    assert np.allclose(table[list(parts.columns[:-1])], parts.iloc[:, :-1] - means.iloc[:-1])
    if method != "boosting":  # where the intercept also has what views do together
        assert np.allclose(table["intercept"], model.predict(training).mean())
    alone = explaining_tables(model, X[3:4])["contributions.csv"]
    assert np.allclose(alone.iloc[0, 1:].astype(float), table.iloc[3, 1:].astype(float))
    assert deciding_views(model, alone).sum() == 1


def test_a_model_of_version_0_2_has_parts_measured_from_the_samples_given():
    model, X = fitted("mean", 0)
    old = copy(model)
    del old.mean_contributions_
    table = explaining_tables(old, X)["contributions.csv"]
    assert np.allclose(table.iloc[:, 2:-1].mean(), 0.0) and np.allclose(table["intercept"], model.predict(X).mean())
    assert np.allclose(table.iloc[:, 2:].sum(axis=1), model.predict(X))
    alone = explaining_tables(old, X[:1])["contributions.csv"]
    assert np.allclose(alone.iloc[0, 2:].astype(float), model.contributions(X[:1]).iloc[0])
    words = [measured_from(one, n) for one, n in ((model, 1), (old, 2), (old, 1))]
    assert words == ["their means over the training samples", "their means over these samples", "0"]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_values_speak_for_the_positive_class(n_classes):
    """A model may name the first of its two classes as the positive one: signs are turned then."""
    model, X = fitted("mean", n_classes)
    other = copy(model)
    other.positive = model.classes_[0]
    tables = [predictions(one, X) for one in (model, other)]
    parts = [explaining_tables(one, X)["contributions.csv"] for one in (model, other)]
    if n_classes == 3:
        pd.testing.assert_frame_equal(*tables)
        pd.testing.assert_frame_equal(*parts)
        return
    assert list(tables[0])[1] == "decision_perhaps" and list(tables[1])[1] == "decision_no"
    assert np.array_equal(tables[0]["decision_perhaps"], -tables[1]["decision_no"])
    assert ((tables[1]["decision_no"] > 0) == (tables[1]["label"] == "no")).all()
    assert list(parts[1])[2] == "decision_no"
    assert np.allclose(parts[0].iloc[:, 2:].to_numpy(float), -parts[1].iloc[:, 2:].to_numpy(float))
    assert deciding_views(model, parts[0]).equals(deciding_views(other, parts[1]))
