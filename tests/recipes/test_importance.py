"""`CohortModel.feature_importance`: what it is for each family of methods, and what its features are called."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelweave import load, save, stack_views
from kernelweave.estimators.explanations import weights_in_typical_samples
from kernelweave.kernels.components import Origin, origin_of
from kernelweave.recipes import CohortModel
from kernelweave.recipes.baselines import ColumnModel
from mixed_cohort import cohort

X, Y, NUMBERS, K = cohort()
OWN = {
    "rna": ["g0", "g1", "g2", "g3"],
    "clinical": ["age", "stage_I", "stage_II", "stage_III", "smokes"],
    "counts": [str(place) for place in range(12)],
}


def fitted(method, y=Y, data=X, **options):
    matrices = {"sim": K} if "sim" in data else None
    return CohortModel(method, matrices=matrices, effort="quick", random_state=0, **options).fit(data, y)


def check(table, signed):
    assert table.columns.tolist() == ["view", "feature", "importance", *["weight"] * signed]
    assert (table["importance"] >= 0.0).all() and table["importance"].is_monotonic_decreasing
    if signed:
        np.testing.assert_allclose(table["weight"].abs(), table["importance"])
    return table.set_index(["view", "feature"])["weight" if signed else "importance"]


@pytest.mark.parametrize("method", ["mean", "concatenation", "lp", "localized", "projected", "linear", "forest"])
def test_every_method_names_columns(method, tmp_path):
    model = fitted(method)
    found = check(model.feature_importance(), signed=method != "forest")
    for view, names in OWN.items():
        assert set(names) <= set(found[view].index)
    assert any(word.endswith("rash") for word in found["notes"].index) and "sim" not in found.index.get_level_values(0)
    assert found.abs()["rna"].max() > found.abs()["counts"].max() * 0.8
    save(model, tmp_path / "model.kw")
    pd.testing.assert_frame_equal(load(tmp_path / "model.kw").feature_importance(), model.feature_importance())


def test_kernels():
    """Weights of samples of length 1, divided by the average length."""
    model = fitted("alone:rna")
    found = check(model.feature_importance(), signed=True)["rna"]
    inner = model.model_
    support = model.table(X).loc[:, inner.feature_names_in_].dropna().iloc[inner.support_]
    lengths = np.linalg.norm(inner.kernels_[0].transformer_.transform(support.set_axis(OWN["rna"], axis=1)), axis=1)
    expected = inner.feature_weights("rna-linear") * (1.0 / lengths).mean()
    pd.testing.assert_series_equal(found.sort_index(), expected.sort_index(), check_names=False)


@pytest.mark.parametrize("method", ["localized", "projected"])
def test_gated_kernels(method):
    """Weights of the local models, times the root mean square of their gates."""
    model = fitted(method)
    found = check(model.feature_importance(), signed=True)["rna"]
    inner, name = model.model_, "rna-linear"
    m = inner.kernel_names_.index(name)
    table = model.table(X)
    rna = inner.kernels_[m].transformer_.transform(
        table[[f"rna__{g}" for g in OWN["rna"]]].set_axis(OWN["rna"], axis=1)
    )
    local = (inner.local_values(table)[name] - inner.intercept_[0]).to_numpy() * np.linalg.norm(rna, axis=1)
    there = ~np.isnan(local)
    parts = rna[there] @ found[OWN["rna"]].to_numpy()
    ratio = parts @ local[there] / (local[there] @ local[there])  # the root mean square gate over the average length
    np.testing.assert_allclose(parts, ratio * local[there], atol=1e-10)
    length = 1.0
    if method == "localized":
        length = 1.0 / np.mean(1.0 / np.linalg.norm(rna[inner.support_][there[inner.support_]], axis=1))
    assert np.isclose(ratio, np.sqrt(inner.kernel_weights_[name]) / length)


def test_coefficients_of_a_regression_in_units_of_the_target():
    model = fitted("linear", NUMBERS)
    found = check(model.feature_importance(), signed=True)
    expected = model.model_.coefficients() * model.target_scale_
    pd.testing.assert_series_equal(found.sort_index(), expected.sort_index(), check_names=False)


def test_several_classes_have_the_mean_of_theirs():
    y = np.where(np.arange(len(X)) % 5 == 0, "other", Y)
    model = fitted("linear", y)
    found = check(model.feature_importance(), signed=False)
    expected = model.model_.coefficients().abs().mean(axis=1)
    pd.testing.assert_series_equal(found.sort_index(), expected.sort_index(), check_names=False)


@pytest.mark.parametrize("method", ["forest", "boosting"])
def test_trees_have_shares(method, tmp_path):
    rng = np.random.default_rng(0)
    data = stack_views({"a": rng.normal(size=(120, 3)), "b": rng.normal(size=(120, 2))})
    model = CohortModel(method, effort="quick", random_state=0).fit(data, np.where(data["b__1"] > 0, "up", "down"))
    found = check(model.feature_importance(), signed=False)
    assert np.isclose(found.sum(), 1.0) and found.index[0] == ("b", "1") and found.iloc[0] > 0.7
    inner = model.model_
    inner.scores_ = replace(inner.scores_, importance=None)  # as in a file of an earlier version
    save(model, tmp_path / "model.kw")
    assert load(tmp_path / "model.kw").feature_importance() is None


def test_shares_of_components_go_to_columns_by_squared_loadings():
    rng = np.random.default_rng(0)
    data = stack_views({"a": rng.normal(size=(80, 4))})
    y = np.where(data["a__2"] > 0, "up", "down")
    preparation = make_pipeline(StandardScaler(), TruncatedSVD(3, random_state=0))
    model = fitted("forest", y, data)
    inner = ColumnModel("forest", preparation, random_state=0).fit(data, y)
    model.model_ = inner
    found = check(model.feature_importance(), signed=False)["a"]
    V = inner.design_.transformer[-1].components_
    expected = (V**2).T @ inner.scores_.importance / 1.0
    np.testing.assert_allclose(found[["0", "1", "2", "3"]], expected)
    inner = ColumnModel("linear", preparation, random_state=0).fit(data, y)
    np.testing.assert_allclose(inner.coefficients()["a"], (V.T @ inner.scores_.coef.T)[:, 0])
    assert inner.coefficients()["a"].index.tolist() == ["0", "1", "2", "3"]


def test_wide_views_of_localized_kernels_name_their_columns():
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(40, 1100))).add_prefix("gene")
    y = np.where(wide["gene7"] + rng.normal(size=40) > 0, "up", "down")
    model = fitted("localized", y, stack_views({"rna": wide, "b": rng.normal(size=(40, 2))}))
    assert any("reduced" in text for text in model.decisions_)
    found = check(model.feature_importance(), signed=True)
    assert len(found["rna"]) == 1100 and set(found["rna"].index) == set(wide)


@pytest.mark.parametrize("method", ["stacking", "alone:sim"])
def test_methods_without(method):
    assert fitted(method).feature_importance() is None


def test_shares_of_features_that_are_no_components_stay():
    origin = origin_of(StandardScaler().fit(np.eye(2)), ["a", "b"], 2)
    amounts = np.array([0.25, 0.75])
    assert origin.names == ["a", "b"] and origin.shared(amounts) is amounts and Origin(["a"]).loadings is None


@pytest.mark.parametrize("method", ["mean", "localized"])
def test_explicit_features(method):
    rng = np.random.default_rng(0)
    data = stack_views({"a": rng.normal(size=(150, 3)), "b": rng.normal(size=(150, 2))})
    y = np.where(data["b__1"] > 0, "up", "down")
    found = check(
        CohortModel(method, effort="quick", approximation="nystroem", random_state=0).fit(data, y).feature_importance(),
        signed=True,
    )
    assert found.index[0] == ("b", "1")


def test_weights_of_unscaled_numbers_are_added_in_standard_deviations(tmp_path):
    rng = np.random.default_rng(0)
    scales = np.array([100.0, 1.0, 0.01, 1.0])
    Z = rng.normal(size=(80, 4))
    data, y = (
        stack_views({"a": Z * scales, "b": rng.normal(size=(80, 2))}),
        np.where(Z[:, :3].sum(axis=1) > 0, "u", "v"),
    )
    model = fitted("lp-scales", y, data)
    found = check(model.feature_importance(), signed=True)
    assert found.index.is_unique and len(found) == 6
    own = found["a"].sort_index().to_numpy()
    assert min(abs(own[:3])) > 2.0 * abs(own[3])
    weights = {}
    for name in ("a-linear", "a-unscaled-linear"):
        m = model.model_.kernel_names_.index(name)
        weights[name] = weights_in_typical_samples(model.model_, m)[1][:, 0]
    expected = weights["a-linear"] + weights["a-unscaled-linear"] * (Z * scales).std(axis=0)
    np.testing.assert_allclose(own, expected)
    save(model, tmp_path / "model.kw")
    pd.testing.assert_frame_equal(load(tmp_path / "model.kw").feature_importance(), model.feature_importance())
