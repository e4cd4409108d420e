"""`CohortModel` end to end: every method, missing views, rare classes, groups, arrays.

Takes many seconds: every method is fitted by inner validation, and most of them for both tasks.
"""

from copy import deepcopy
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from kernelweave import MKLClassifier, MKLRegressor, load, save, stack_views
from kernelweave.recipes import CohortModel, method_names
from kernelweave.recipes import inner as inner_module
from kernelweave.recipes.search import inner_splits, setting_text
from mixed_cohort import cohort

VIEWS = ["rna", "clinical", "notes", "counts", "sim"]
_LIKE_OTHERS = ("alone:clinical", "alone:notes", "alone:counts")  # "alone:rna" in another view, which "mean" reads too
METHODS = [name for name in method_names("classification", VIEWS) if name not in _LIKE_OTHERS]


@pytest.fixture(scope="module")
def data():
    return cohort()


@cache
def _fitted(method, task, options):
    X, labels, numbers, K = cohort()
    y = labels if task == "classification" else numbers
    return CohortModel(method, matrices={"sim": K}, **dict(options)).fit(X, y)


def fitted(method, task="classification", **options):
    """A fitted model of its own; equal ones are fitted once."""
    options = {"effort": "quick", "random_state": 0, **options}
    return deepcopy(_fitted(method, task, tuple(sorted(options.items()))))


def assert_saved(model, X, folder):
    """A saved model gives the same bits, and can be saved again."""
    save(model, folder / "model.kw")
    again = load(folder / "model.kw")
    for method in ("predict", "decision_function", "predict_proba", "contributions"):
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    assert again.decisions_ == model.decisions_ and again.setting_ == model.setting_
    pd.testing.assert_frame_equal(again.kinds_, model.kinds_)
    assert again.matrices is None and again.views == model.views
    save(again, folder / "again.kw")
    assert (folder / "again.kw").read_bytes() == (folder / "model.kw").read_bytes()


@pytest.mark.parametrize("method", METHODS)
def test_classification(data, method, tmp_path):
    X, y, _, _ = data
    model = fitted(method)
    assert_saved(model, X, tmp_path)
    assert model.task_ == "classification" and model.classes_.tolist() == ["ill", "well"]
    labels, values, probabilities = model.predict(X), model.decision_function(X), model.predict_proba(X)
    assert values.shape == (len(X),) and probabilities.shape == (len(X), 2)
    np.testing.assert_array_equal(labels, model.classes_[(values > 0).astype(int)])
    np.testing.assert_array_equal(labels, model.classes_[probabilities.argmax(axis=1)])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    parts = model.contributions(X)
    np.testing.assert_allclose(parts.sum(axis=1), values, atol=1e-9)
    assert parts.index.equals(X.index)
    assert model.score(X, y) == (labels == y).mean() > 0.5
    assert model.setting_.keys() <= {"C", "method"} and set(model.settings_) == {"setting", "score", "std", "loss"}
    best = model.settings_.loc[model.settings_["setting"] == setting_text(model.setting_)].iloc[0]
    assert model.validation_score_ == best["score"]
    assert method == "auto" or best["loss"] == model.settings_["loss"].min()
    assert model.n_samples_ == len(X) and set(model.views) <= set(VIEWS)
    assert all(isinstance(sentence, str) for sentence in model.decisions_)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("lp", "convex", "alone:sim")])
def test_regression(data, method, tmp_path):
    X, _, y, _ = data
    model = fitted(method, "regression")
    assert_saved(model, X, tmp_path)
    assert model.task_ == "regression" and not hasattr(model, "classes_")
    assert model.target_mean_ == pytest.approx(y.mean()) and model.target_scale_ == pytest.approx(y.std())
    np.testing.assert_allclose(model.contributions(X).sum(axis=1), model.predict(X), atol=1e-9)
    assert not hasattr(model, "decision_function") and not hasattr(model, "predict_proba")
    assert model.score(X, y) > 0


def test_the_unit_of_the_target_does_not_matter(data):
    X, _, y, _ = data
    first = fitted("mean", "regression")
    second = clone(first).fit(X, 1e6 * y - 3e7)
    np.testing.assert_allclose(second.predict(X), 1e6 * first.predict(X) - 3e7, rtol=1e-6)
    assert first.validation_score_ == pytest.approx(second.validation_score_)


def test_kernels_of_each_view(data):
    model = fitted("lp").model_
    assert isinstance(model, MKLClassifier)
    kinds = {"counts": ["linear"], "notes": ["linear"]}
    names = [f"{view}-{kind}" for view in VIEWS[:4] for kind in kinds.get(view, ["linear", "gaussian"])]
    assert model.kernel_names_ == [*names, "sim"]
    assert isinstance(fitted("projected", "regression").model_, MKLRegressor)
    assert fitted("projected").model_.kernel_names_ == [name for name in names if name.endswith("linear")]
    assert fitted("alone:sim").model_.kernel_names_ == ["sim"]


def test_the_model_inside_takes_the_table_and_also_x_itself(data):
    X, _, _, _ = data
    model = fitted("mean")
    np.testing.assert_array_equal(
        model.model_.decision_function(model.table(X)).round(12), model.decision_function(X).round(12)
    )


def test_samples_without_the_view_get_the_majority_class(data):
    X, y, numbers, _ = data
    model = fitted("alone:rna")
    lacking = X["rna__g0"].isna().to_numpy()
    majority = pd.Series(y).mode()[0]
    assert lacking.sum() == 4 and model.model_.support_.max() < (~lacking).sum()
    assert set(model.predict(X[lacking])) == {majority}
    share = np.array([(y == label).mean() for label in model.classes_])
    np.testing.assert_allclose(model.predict_proba(X[lacking]), [share] * 4)
    np.testing.assert_allclose(model.decision_function(X[lacking]), np.log(share[1] / share[0]))
    assert (model.contributions(X[lacking]).drop(columns="intercept") == 0).all(axis=None)
    assert any("4 samples lack the view 'rna'" in sentence for sentence in model.decisions_)
    regression = fitted("alone:rna", "regression")
    np.testing.assert_allclose(regression.predict(X[lacking]), numbers.mean())


@pytest.mark.parametrize("method", ["mean", "localized", "concatenation", "stacking"])
def test_samples_without_anything_are_predicted_too(data, method):
    X, y, _, _ = data
    new = X[:3].copy().astype({name: object for name in X if X[name].dtype == bool})
    new.loc[:, :] = np.nan
    model = fitted(method)
    assert set(model.predict(new)) == {pd.Series(y).mode()[0]}


def test_a_later_cohort_lacks_views(data):
    X, _, _, _ = data
    model = fitted("mean")
    some = X[[name for name in X if name.startswith(("rna__", "clinical__"))]]
    assert model.predict(some).shape == (len(X),)
    shuffled = X[X.columns[::-1]]
    np.testing.assert_allclose(model.decision_function(shuffled), model.decision_function(X))


@pytest.mark.parametrize(
    "method", ["mean", "concatenation", "localized", "projected", "stacking", "linear", "boosting"]
)
def test_a_column_that_a_view_lacks_is_missing(data, method, recwarn):
    X = data[0]
    model = fitted(method)
    for lacking, words in {
        ("rna__g0",): "1 of 4 columns of the view 'rna' ('rna__g0')",
        ("clinical__stage",): "1 of 3 columns of the view 'clinical' ('clinical__stage')",
        ("rna__g1", "rna__g3", "clinical__age"): "2 of 4 columns of the view 'rna' ('rna__g1', 'rna__g3') and 1 of 3 "
        "columns of the view 'clinical' ('clinical__age')",
    }.items():
        gaps = X.copy()
        gaps[list(lacking)] = np.nan
        expected = model.predict_proba(gaps)
        recwarn.clear()
        np.testing.assert_array_equal(model.predict_proba(X.drop(columns=list(lacking))), expected)
        (warning,) = [str(one.message) for one in recwarn if "lacks" in str(one.message)]
        assert warning == f"X lacks {words}: missing for all samples, and filled in as gaps of the training samples are"


def test_columns_that_cannot_be_filled_in_are_errors(data):
    """Most columns of a view, one that is there under another name, and those of a sparse view or a plain model."""
    X, y, _, _ = data
    model = fitted("mean")
    with pytest.raises(ValueError, match="X lacks 3 of 4 columns of the view 'rna'"):
        model.predict(X.drop(columns=["rna__g0", "rna__g1", "rna__g2"]))
    with pytest.raises(ValueError, match="1 of 3 columns of the view 'clinical'.*did you mean 'clinical__Age'"):
        model.predict(X.rename(columns={"clinical__age": "clinical__Age"}))
    few = X["counts"].array
    with pytest.raises(ValueError, match="X lacks 1 of 12 columns of the view 'counts': 'counts__11'"):
        model.predict(X.assign(counts=few.select(np.arange(11))))
    plain = MKLClassifier(["rna"]).fit(X[[f"rna__g{k}" for k in range(4)]].fillna(0.0), y)
    with pytest.raises(ValueError, match="X lacks 1 of 4 columns of the view 'rna': 'rna__g0'"):
        plain.predict(X[["rna__g1", "rna__g2", "rna__g3"]])


def test_a_column_of_a_table_without_views_is_missing(data):
    _, y, _, _ = data
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(len(y), 4)), columns=list("abcd"))
    model = CohortModel("mean", effort="quick", random_state=0).fit(table, y)
    with pytest.warns(UserWarning, match=r"X lacks 1 of 4 columns of the view 'X' \('b'\)"):
        found = model.decision_function(table.drop(columns="b"))
    np.testing.assert_array_equal(found, model.decision_function(table.assign(b=np.nan)))
    for wrong in (table[["a", "d", "c"]], table.rename(columns={"b": "B"}), table[["a", "b", "c"]].assign(e=0.0)):
        with pytest.raises(ValueError, match="feature names should match|features? names"):
            model.predict(wrong)


def test_matrices_need_their_column_and_their_ids(data):
    X, y, _, K = data
    with pytest.raises(ValueError, match="X has no column 'sim'"):
        CohortModel("mean", matrices={"sim": K}).fit(X.drop(columns="sim"), y)
    only = X[["sim"]].dropna()
    model = CohortModel("localized", matrices={"sim": K}, effort="quick", random_state=0).fit(X[["sim"]], y)
    assert model.predict(only).shape == (len(only),)
    assert any("not positive semidefinite" in sentence for sentence in model.decisions_)


def test_new_samples_of_a_matrix(data):
    X, y, _, K = data
    old, new = X.index[10:40], X.index[40:]
    known = K.loc[old, old].where(~np.eye(len(old), dtype=bool), 10.0)
    model = CohortModel("mean", matrices={"sim": known}, effort="quick", random_state=0)
    model.fit(X.loc[old], pd.Series(y, X.index)[old])
    block = K.loc[new, old]
    X_new = model.extend_kernels({"sim": block})
    assert X_new.columns.equals(pd.Index(model.feature_names_in_))
    assert X_new["sim"].tolist() == list(new)
    values = model.decision_function(X_new)
    assert np.ptp(values) > 0
    X_new = model.extend_kernels({"sim": block}, diagonal=10.0)
    np.testing.assert_allclose(model.decision_function(X_new), values)
    other = CohortModel("alone:rna", matrices={"sim": known}, effort="quick").fit(
        X.loc[old], pd.Series(y, X.index)[old]
    )
    assert other.extend_kernels({"sim": block})["sim"].tolist() == list(new)
    with pytest.raises(ValueError, match="fitted without a similarity matrix 'voice'"):
        model.extend_kernels({"voice": block})


@pytest.mark.parametrize(
    ("method", "effort"),
    [("mean", "full"), ("mean", "quick"), ("alone:a", "full"), ("stacking", "quick"), ("linear", "full")],
)
def test_rare_classes(method, effort):
    rng = np.random.default_rng(0)
    y = np.array(["a"] * 14 + ["b"] * 12 + ["two"] * 2 + ["one"])
    X = stack_views({"a": rng.normal(size=(29, 3)) + (y == "a")[:, None], "b": rng.normal(size=(29, 2))})
    X.loc[28, ["a__0", "a__1", "a__2"]] = 50.0
    model = CohortModel(method, effort=effort, random_state=0).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "one", "two"]
    values = model.decision_function(X)
    assert values.shape == (29, 4) and np.isfinite(values).all()
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    if method in ("mean", "alone:a"):
        assert model.predict(X)[28] == "one"


@pytest.mark.parametrize("n_classes", [3, 4, 5])
@pytest.mark.parametrize("method", ["alone:u", "stacking", "linear", "forest"])
def test_a_class_that_the_view_never_shows(method, n_classes):
    """Columns of contributions are those of decision values: all classes, also where the model inside knows two."""
    rng = np.random.default_rng(0)
    y = np.repeat(list("abcde")[:n_classes], 10)
    views = ("u", "v") if method == "alone:u" else ("u",)
    X = stack_views({view: rng.normal(size=(len(y), 2)) + (y == "d")[:, None] for view in views})
    X.loc[y == "b", ["u__0", "u__1"]] = np.nan
    model = CohortModel(method, effort="quick", random_state=0).fit(X, y)
    known = [label for label in model.classes_ if label != "b"]
    assert model.model_.classes_.tolist() == known and len(model.classes_) == n_classes
    values, parts = model.decision_function(X), model.contributions(X)
    assert values.shape == (len(y), n_classes) and not (model.predict(X)[y != "b"] == "b").any()
    assert parts.columns.names == ["output", "kernel"] and parts.columns.unique(0).tolist() == list(model.classes_)
    sums = np.column_stack([parts[label].sum(axis=1) for label in model.classes_])
    np.testing.assert_allclose(sums, values, atol=1e-9)
    assert (parts["b"].drop(columns="intercept") == 0).all(axis=None)
    assert (parts.drop(columns="intercept", level=1)[y == "b"] == 0).all(axis=None)
    if n_classes == 3:
        np.testing.assert_allclose(parts["a"][y != "b"], -parts["c"][y != "b"], atol=1e-12)


def test_groups_stay_together(data):
    X, y, _, K = data
    groups = np.arange(len(X)) // 4
    model = CohortModel("mean", matrices={"sim": K}, effort="quick", random_state=0).fit(X, y, groups=groups)
    assert 0 <= model.validation_score_ <= 1
    with pytest.raises(ValueError, match="groups has 3 entries"):
        CohortModel("mean", matrices={"sim": K}).fit(X, y, groups=[1, 2, 3])
    together = CohortModel("stacking", matrices={"sim": K}, effort="quick", random_state=0).fit(X, y, groups=groups)
    assert together.predict(X).shape == (len(X),)
    one = CohortModel("mean", matrices={"sim": K}, effort="quick", random_state=0).fit(X, y, groups=np.zeros(len(X)))
    assert np.isnan(one.validation_score_) and one.predict_proba(X).shape == (len(X), 2)


@pytest.mark.parametrize("method", ["mean", "stacking"])
def test_equal_samples_do_not_deceive(method):
    """Each sample stands there four times, and labels are noise: only folds that keep copies together show it."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 5)), 4, axis=0)
    y, groups = np.repeat(rng.integers(0, 2, 30), 4), np.repeat(np.arange(30), 4)
    model = CohortModel(method, task="classification", random_state=0)
    noisy = X + 1e-3 * rng.normal(size=X.shape)  # not equal any more, so that only groups tell
    assert model.fit(noisy, y).validation_score_ > 0.9
    assert model.fit(noisy, y, groups=groups).validation_score_ < 0.75
    assert model.fit(X, y).validation_score_ < 0.75
    assert model.predict_proba(X).max() < 0.9  # calibrated by samples that models had not seen
    assert any(text.startswith("120 samples are equal to another one in all views (30 ") for text in model.decisions_)


def test_equal_samples_join_groups():
    """A group, and the double of one of its samples, are one."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 4)), np.arange(20) % 2
    X[1] = X[0]
    groups = np.arange(20)
    groups[2] = 1
    model = CohortModel("mean", task="classification", random_state=0)
    seen = []

    def splits(labels, groups, *given, **options):
        seen.append(groups)
        return inner_splits(labels, groups, *given, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inner_module, "inner_splits", splits)
        model.fit(X, y, groups=groups)
    assert len(set(seen[0][:3])) == 1 and len(set(seen[0])) == 18


def test_a_copy_of_the_target_is_noted():
    y = np.arange(40) % 2
    X = pd.DataFrame({"lab__x": np.sin(np.arange(40.0)), "code__dx": np.where(y == 0, "p", "q")})
    decisions = CohortModel("alone:code", effort="quick", random_state=0).fit(X, y).decisions_
    assert any(text.startswith("The column 'code__dx' equals the target one to one") for text in decisions)


def test_same_seed_same_model(data):
    X, _, _, _ = data
    first, second = fitted("localized"), fitted("localized", n_jobs=2)
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def test_without_calibration(data):
    X, _, _, _ = data
    model = fitted("mean", calibrate=False)
    assert model.calibration_ is None and not hasattr(model, "predict_proba")
    np.testing.assert_array_equal(model.predict(X), fitted("mean").predict(X))
    model.calibrate = True
    with pytest.raises(ValueError, match="fitted with calibrate=False"):
        model.predict_proba(X)


def test_arrays_and_sparse_matrices_are_one_view():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 4)) * (rng.random((40, 4)) < 0.6)
    y = (A[:, 0] > 0).astype(int)
    for X in (A, sp.csr_matrix(A), pd.DataFrame(A), pd.DataFrame(A, columns=list("abcd"))):
        model = CohortModel("mean", effort="quick", random_state=0).fit(X, y)
        assert model.views == ["X"] and model.score(X, y) > 0.7
    dense = CohortModel("mean", effort="quick", random_state=0).fit(A, y)
    np.testing.assert_allclose(dense.decision_function(sp.csr_matrix(A)), dense.decision_function(A))
    assert cross_val_score(CohortModel("mean", task="classification", effort="quick"), A, y, cv=3).min() > 0.5


def test_given_kinds(data):
    X, y, _, K = data
    kinds = pd.Series({"clinical__age": "category", "rna__g0": "left out"})
    model = CohortModel("mean", matrices={"sim": K}, kinds=kinds, effort="quick").fit(X, y)
    assert model.kinds_.loc["clinical__age", "kind"] == "category"
    assert "rna__g0" not in model.table(X)
    assert any("'rna__g0' is left out: as given" in sentence for sentence in model.decisions_)


def test_failures_leave_the_model_as_it_was(data):
    X, y, _, K = data
    model = fitted("mean")
    before = model.predict(X)
    bad = X.copy()
    bad.loc[X.index[3], "clinical__age"] = np.inf
    with pytest.raises(ValueError, match=r"'clinical__age' has infinity \(sample 'P-003'\)"):
        model.fit(bad, y)
    np.testing.assert_array_equal(model.predict(X), before)
    for options, message in (
        ({"method": "means"}, "there is no method 'means'"),
        ({"effort": "slow"}, 'effort of CohortModel must be "full" or "quick"'),
        ({"cv": 1}, "cv of CohortModel"),
        ({"task": "ranking"}, "task of CohortModel"),
    ):
        with pytest.raises(ValueError, match=message):
            CohortModel(**{"matrices": {"sim": K}, **options}).fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        CohortModel("mean", matrices={"sim": K}, task="classification").fit(X, ["ill"] * len(X))


def test_wide_views_are_reduced_and_the_decision_noted():
    rng = np.random.default_rng(0)
    X = stack_views({"wide": rng.normal(size=(40, 230)), "b": rng.normal(size=(40, 2))})
    y = (X["b__0"] > 0).astype(int)
    model = CohortModel("projected", effort="quick", random_state=0).fit(X, y)
    assert any("'wide' is reduced to its 39 leading components" in sentence for sentence in model.decisions_)
    W = model.model_.projections_["wide-linear"]
    assert W.index.tolist() == [str(place) for place in range(230)] and np.linalg.matrix_rank(W) <= 39


def test_views_that_too_few_samples_have_are_left_out(data):
    X, y, _, K = data
    X = X.copy()
    X["rare__x"] = np.nan
    X.loc[X.index[:2], "rare__x"] = [1.0, 2.0]
    X.loc[X.index[1], "rare__x"] = np.nan
    X["rare__y"] = X["rare__x"]
    kinds = {"rare__x": "number", "rare__y": "number"}
    model = CohortModel("mean", matrices={"sim": K}, kinds=kinds, effort="quick").fit(X, y)
    assert "rare" not in model.views
    assert "The view 'rare' is left out: only one sample has it." in model.decisions_


def test_a_view_that_few_samples_have_may_be_absent_from_a_fold():
    """Samples 0 to 2 have the view v only; folds that train on one of them cannot decide on the others."""
    rng = np.random.default_rng(0)
    X = stack_views({"v": rng.normal(size=(30, 1)), "w": rng.normal(size=(30, 2))})
    y = np.arange(30) % 2
    X.loc[3:, "v__0"] = np.nan
    X.loc[:2, ["w__0", "w__1"]] = np.nan
    for method, seed in (("mean", 0), ("mean", 1), ("localized", 0), ("stacking", 0), ("alone:v", 0), ("alone:v", 1)):
        model = CohortModel(method, effort="quick", random_state=seed).fit(X, y)
        assert set(model.predict(X)) <= {0, 1}
    X.loc[1, "v__0"] = np.nan
    X.loc[1, "w__0"] = 1.0
    with pytest.raises(ValueError, match="all samples that have a view it needs \\(v\\) are of one class, 0"):
        CohortModel("alone:v").fit(X, y)


def test_two_columns_of_one_name():
    X = pd.DataFrame(np.eye(6), columns=["v__a", "v__a", *"bcde"])
    with pytest.raises(ValueError, match="column 'v__a' occurs more than once"):
        CohortModel("mean").fit(X, [0, 1] * 3)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_inner_scores_count_samples_without_the_view(task):
    rng = np.random.default_rng(0)
    score = rng.normal(size=300)
    X = pd.DataFrame({"a__x": score + 0.1 * rng.normal(size=300), "b__x": rng.normal(size=300)})
    X.loc[rng.random(300) < 0.5, "a__x"] = np.nan
    y = score if task == "regression" else np.where(score > 0, "p", "q")
    model = CohortModel("alone:a", effort="quick", task=task, random_state=0).fit(X[:200], y[:200])
    assert model.validation_score_ == pytest.approx(model.score(X[200:], y[200:]), abs=0.12)
    assert model.validation_score_ == model.settings_["score"].max()


def test_what_a_user_says_is_saved(tmp_path):
    """Logarithms, the positive class and missing values of a model, which a file of it has, too."""
    random = np.random.default_rng(0)
    y = np.tile(["ill", "well"], 30)
    X = pd.DataFrame({"rna__a": np.exp(random.normal(size=60) + 2 * (y == "ill")), "rna__b": random.random(60)})
    options = {"effort": "quick", "scoring": "recall", "random_state": 0}
    model = CohortModel("linear", log=["rna"], positive="ill", na_values=["999", -1], **options).fit(X, y)
    assert_saved(model, X, tmp_path)
    again = load(tmp_path / "model.kw")
    assert (again.positive_, again.log, again.na_values) == ("ill", ["rna"], ["999", -1])
    by_hand = CohortModel("linear", positive="ill", **options).fit(np.log1p(X), y)
    np.testing.assert_allclose(model.decision_function(X), by_hand.decision_function(np.log1p(X)), atol=1e-12)
    assert "Numbers x of the view 'rna' are taken as log(1 + x)." in model.decisions_
    assert "The positive class is 'ill', as given." in model.decisions_
    with pytest.raises(ValueError, match="the view 'rna' is taken as log"):
        again.predict(-X)
    other = CohortModel("linear", log=["rna"], **options).fit(X, y)
    assert other.positive_ == "well" and other.validation_score_ != model.validation_score_
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


def test_a_positive_class_that_is_none():
    X, numbers = pd.DataFrame({"x": np.arange(12.0)}), np.arange(12.0) / 7
    for y, message in (
        (np.tile(["a", "b"], 6), "positive='c' is no class of the target, which has 'a' and 'b'"),
        (np.tile(["a", "b", "c"], 4), "positive='c' is for a target of two classes, and this one has 3"),
        (numbers, "positive='c' is for a target of two classes, and this one has numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            CohortModel("linear", positive="c").fit(X, y)
    assert CohortModel("linear", effort="quick").fit(X, numbers).positive_ is None
