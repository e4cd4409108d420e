"""Models of all columns: scikit-learn's predictions, contributions that add up, odd tables."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler

from kernelweave import stack_views
from kernelweave.recipes.baselines import ESTIMATORS, RAREST, ColumnModel, boosting
from kernelweave.recipes.design import Design
from kernelweave.views import Views

rng = np.random.default_rng(0)
N = 120
NUMBERS = ["lab__a", "lab__b", "scan__a", "scan__b", "scan__c"]
WORDS = np.array(["alpha", "beta", "gamma", "delta", "epsilon", "zeta"])
VALUES = rng.normal(size=(N, 5))
TEXT = [" ".join(rng.choice(WORDS, 5)) for _ in range(N)]
GROUP = np.array(["x", "y", "z"])[rng.integers(3, size=N)]
X = pd.DataFrame(VALUES, columns=NUMBERS, index=[f"s{i}" for i in range(N)]).assign(who__group=GROUP, note__text=TEXT)
X.loc["s3":"s9", ["lab__a", "lab__b"]] = np.nan
X.loc["s7":"s14", "note__text"] = np.nan
X.loc["s9":"s19", "who__group"] = np.nan
SCORE = VALUES[:, 0] + VALUES[:, 2] * VALUES[:, 3] + (GROUP == "x")
TARGETS = {
    "binary": np.where(SCORE > 0, "ill", "well"),
    "classes": np.array(["u", "v", "w"])[np.digitize(SCORE, [-0.7, 0.7])],
    "regression": SCORE,
}
CASES = [(kind, target) for kind in ESTIMATORS for target in TARGETS]


def preparation():
    numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    categories = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    return ColumnTransformer(
        [
            ("numbers", numbers, NUMBERS),
            ("categories", categories, ["who__group"]),
            ("text", TfidfVectorizer(), "note__text"),
        ]
    )


def model_of(kind, target, **options):
    task = "regression" if target == "regression" else "classification"
    options = {"n_trees": 20, "learning_rate": 0.5, "random_state": 0, **options}
    return ColumnModel(kind, preparation(), task=task, **options)


@pytest.fixture(scope="module")
def fitted():
    return {case: model_of(*case).fit(X, TARGETS[case[1]]) for case in CASES}


def totals(contributions, model):
    if contributions.columns.nlevels == 1:
        return contributions.sum(axis=1).to_numpy()
    return np.column_stack([contributions[label].sum(axis=1) for label in model.classes_])


@pytest.mark.parametrize("case", CASES)
def test_contributions_add_up_to_decision_values(fitted, case):
    model = fitted[case]
    found = model.contributions(X)
    np.testing.assert_allclose(totals(found, model), model.decision_function(X), rtol=0, atol=1e-10)
    assert found.index.equals(X.index)
    names = found.columns if found.columns.nlevels == 1 else found.columns.get_level_values(1).unique()
    assert list(names) == ["lab", "scan", "who", "note", "intercept"] == [*model.views, "intercept"]


@pytest.mark.parametrize("case", CASES)
def test_a_contribution_is_what_the_loss_of_the_view_changes(fitted, case):
    model = fitted[case]
    found = model.contributions(X)
    for view in model.views:
        without = X.copy()
        own = [name for name in X.columns if name.startswith(view)]
        without[own] = np.nan if view in ("lab", "scan") else None
        change = model.decision_function(X) - model.decision_function(without)
        part = found[view] if change.ndim == 1 else found.xs(view, axis=1, level=1)
        np.testing.assert_allclose(part.to_numpy(), change, rtol=0, atol=1e-10)
        dropped = model.decision_function(X.drop(columns=own))
        np.testing.assert_array_equal(dropped, model.decision_function(without))
    lab = found["lab"] if found.columns.nlevels == 1 else found.xs("lab", axis=1, level=1)
    assert not lab.loc["s3":"s9"].to_numpy().any() and lab.to_numpy().any()


def test_the_intercept_of_a_linear_model_is_the_decision_value_of_a_sample_without_views(fitted):
    model = fitted["linear", "classes"]
    nothing = pd.DataFrame(np.nan, index=["new"], columns=X.columns, dtype=object)
    intercepts = model.contributions(X).xs("intercept", axis=1, level=1)
    expected = np.broadcast_to(model.decision_function(nothing), intercepts.shape)
    np.testing.assert_allclose(intercepts, expected, atol=1e-10)


@pytest.mark.parametrize("target", TARGETS)
def test_linear_models_are_those_of_scikit_learn(fitted, target):
    table = preparation().fit_transform(X.fillna({"note__text": ""}))
    plain = Ridge(alpha=1.0) if target == "regression" else LogisticRegression(C=1.0, max_iter=5000)
    plain.fit(table, TARGETS[target])
    expected = plain.predict(table) if target == "regression" else plain.decision_function(table)
    np.testing.assert_allclose(fitted["linear", target].decision_function(X), expected, rtol=1e-8, atol=1e-8)


def test_a_forest_is_that_of_scikit_learn(fitted):
    model = fitted["forest", "classes"]
    table = preparation().fit_transform(X.fillna({"note__text": ""}))
    forest = RandomForestClassifier(20, random_state=np.random.RandomState(0)).fit(table, TARGETS["classes"])
    share = forest.predict_proba(table)
    np.testing.assert_allclose(model.decision_function(X), np.log(np.maximum(share, 1 / 40)), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), forest.predict(table))


@pytest.mark.parametrize("case", CASES)
def test_models_learn_and_are_pickled_and_cloned(fitted, case):
    model = fitted[case]
    assert model.score(X, TARGETS[case[1]]) > (0.5 if case[1] == "regression" else 0.7)
    assert np.isfinite(model.decision_function(X)).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    refitted = clone(model).fit(X, TARGETS[case[1]])
    np.testing.assert_array_equal(refitted.decision_function(X), model.decision_function(X))
    assert model.n_stored_ is None
    is_of_its_task = is_regressor if case[1] == "regression" else is_classifier
    assert is_of_its_task(model)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_predictions_of_a_fitted_model_do_not_depend_on_its_parameters(fitted, kind):
    model = pickle.loads(pickle.dumps(fitted[kind, "binary"]))
    before = model.decision_function(X)
    model.set_params(estimator="linear", task="regression")
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_new_samples_may_have_unknown_categories_words_and_columns(fitted, kind):
    new = X[::-1].head(5).assign(who__group="unheard of", note__text="quite other words", more__column=1.0)
    assert np.isfinite(fitted[kind, "classes"].decision_function(new[new.columns[::-1]])).all()


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_odd_tables(kind):
    table = pd.DataFrame({"a__0": np.arange(12.0), "a__same": 1.0, "b__none": np.nan, "c__0": [1.0, np.nan] * 6})
    table.loc[::3, "a__0"] = np.nan
    rare = ["common"] * 10 + ["rare", "rarest"]
    model = ColumnModel(kind, n_trees=5, learning_rate=0.5, random_state=0).fit(table, rare)
    assert model.decision_function(table).shape == (12, 3) and np.isfinite(model.decision_function(table)).all()
    assert np.isfinite(model.contributions(table).to_numpy()).all()
    assert set(model.predict(table)) <= set(rare)
    two = ColumnModel(kind, n_trees=5, learning_rate=0.5, random_state=0).fit(table[:2], ["a", "b"])
    assert np.isfinite(two.decision_function(table)).all()


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_arrays_have_one_view(kind):
    model = ColumnModel(kind, task="regression", n_trees=5, learning_rate=0.5, random_state=0).fit(VALUES, SCORE)
    assert model.views == ["rest"]
    np.testing.assert_allclose(model.contributions(VALUES).sum(axis=1), model.predict(VALUES), atol=1e-10)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_sparse_views(kind):
    sparse = stack_views({"words": sp.csr_array(np.eye(60))})
    model = ColumnModel(kind, MaxAbsScaler(), n_trees=5, learning_rate=0.5, random_state=0).fit(
        sparse, np.arange(60) % 3
    )
    assert model.views == ["words"]
    if kind == "boosting":
        assert model.scores_.width == 50
    np.testing.assert_allclose(totals(model.contributions(sparse), model), model.decision_function(sparse), atol=1e-10)


def test_boosting_takes_gaps_as_they_are_and_few_components_of_text():
    gaps = np.where(rng.random(N) < 0.5, np.nan, rng.normal(size=N))
    table = pd.DataFrame({"lab__gap": gaps, "note__text": [f"word{i} word{i + 1}" for i in range(N)]})
    parts = [("numbers", SimpleImputer(strategy="median"), ["lab__gap"]), ("text", TfidfVectorizer(), "note__text")]
    given = ColumnTransformer(parts)
    model = ColumnModel("boosting", given, random_state=0).fit(table, np.isnan(gaps))
    assert model.score(table, np.isnan(gaps)) == 1.0
    assert model.scores_.width == 51 and given.transformers == parts


@pytest.mark.parametrize("kind", ["interactions", "categories", "few"])
def test_boosting_is_as_good_as_that_of_scikit_learn(kind):
    own = np.random.default_rng(1)
    if kind == "categories":
        effects, sites = 2.0 * own.normal(size=80), own.integers(80, size=1600)
        table, target = np.eye(80)[sites], effects[sites]
    else:
        table = own.normal(size=(2000 if kind == "interactions" else 60, 8))
        target = 3.0 * table[:, 0]
        if kind == "interactions":
            target = table[:, 0] * table[:, 1] + np.sin(3.0 * table[:, 2]) * table[:, 3]
    target = target + 0.3 * own.normal(size=len(target))
    half = len(table) // 2
    usual = HistGradientBoostingRegressor(random_state=0).fit(table[:half], target[:half])
    model = ColumnModel("boosting", task="regression", random_state=0).fit(table[:half], target[:half])
    assert model.score(table[half:], target[half:]) > usual.score(table[half:], target[half:]) - 0.02


def test_only_large_cohorts_without_rare_classes_stop_early():
    given, table = ColumnModel("boosting", learning_rate=0.2), np.ones((100, 3))
    large, rare = np.arange(10_001) % 2, np.r_[np.zeros(10_001, dtype=int), np.ones(RAREST - 1, dtype=int)]
    assert boosting(given, table, large).early_stopping and boosting(given, table, large).max_iter == 50
    assert not boosting(given, table, rare).early_stopping and not boosting(given, table, large[1:]).early_stopping


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": "trees"}, 'estimator of ColumnModel must be "linear", "forest", "boosting" or "coxnet"'),
        ({"C": 0.0}, "C of ColumnModel must be a positive"),
        ({"learning_rate": 2.0}, "learning_rate of ColumnModel must be a number from 0.01 to 1"),
        ({"preparation": "scale"}, "preparation of ColumnModel must be a transformer"),
        ({"preparation": ColumnTransformer([])}, "makes no features"),
        ({"preparation": OneHotEncoder(categories=[])}, "the preparation OneHotEncoder of all columns fails"),
        ({"preparation": None}, "fails"),
    ],
)
def test_bad_parameters(change, message):
    model = model_of("linear", "binary").set_params(**change)
    with pytest.raises(ValueError, match=message):
        model.fit(X, TARGETS["binary"])
    assert not hasattr(model, "design_")


def test_infinity_is_an_error():
    table = X.assign(lab__a=np.inf)
    with pytest.raises(ValueError, match="infinity"):
        ColumnModel("boosting", preparation()).fit(table, TARGETS["binary"])


def test_one_class_and_several_targets_are_errors():
    with pytest.raises(ValueError, match="only one class"):
        ColumnModel().fit(VALUES, ["a"] * N)
    with pytest.raises(ValueError, match="takes one target, but y has 2"):
        ColumnModel(task="regression").fit(VALUES, VALUES[:, :2])


@pytest.mark.parametrize(
    ("columns", "read"),
    [
        ("b", [1]),
        (2, [2]),
        (-1, [3]),
        (["c", "a"], [0, 2]),
        ([3, 0], [0, 3]),
        (slice("b", "c"), [1, 2]),
        (slice(1, 3), [1, 2]),
        (slice(None), [0, 1, 2, 3]),
        ([True, False, False, True], [0, 3]),
        (lambda table: table.columns[:2], [0, 1]),
    ],
)
def test_the_columns_that_a_preparation_reads(columns, read):
    X = pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=list("abcd"))
    taken = FunctionTransformer(lambda values: np.asarray(values).reshape(3, -1))
    design = Design.fit(ColumnTransformer([("some", taken, columns)]), Views(X))
    assert design.read.tolist() == read
    others = ColumnTransformer([("some", "drop", columns)], remainder="passthrough")
    expected = sorted(set(range(4)) - set(read))
    if expected:
        assert Design.fit(others, Views(X)).read.tolist() == expected


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_gradient_boosting_learns_from_few_samples(task):
    X = pd.DataFrame({"a__x": [0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0]})
    y = (X["a__x"] > 5.0).astype(int)
    model = ColumnModel("boosting", task=task).fit(X, y)
    assert model.score(X, y) > 0.9
