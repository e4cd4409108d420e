"""Cohort models of times to an event, the calibration of their risks, and the methods of scikit-survival."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLSurvival, load, save
from kernelweave.estimators.reuse import SharedFoldKernels
from kernelweave.kernels import Gaussian, Linear
from kernelweave.kernels.arithmetic import KernelSheet, SharedKernel
from kernelweave.model_selection import view_report
from kernelweave.recipes import CohortModel, guess_task, method_names, unavailable
from kernelweave.recipes.baselines import ColumnModel
from kernelweave.recipes.kinds import column_kinds
from kernelweave.recipes.leaks import copies_of_target
from kernelweave.recipes.metrics import has_pairs, survival_scores
from kernelweave.recipes.scoring import scoring_named
from kernelweave.recipes.search import SurvivalCalibration
from kernelweave.survival import breslow, concordance, outcome
from survival_cohort import cohort

X, Y = cohort(lacking=4)
METHODS = ("alone:clinical", "linear", "mean", "lp")


@pytest.fixture(scope="module")
def models():
    return {method: CohortModel(method, effort="quick", random_state=0).fit(X, Y) for method in METHODS}


def test_times_with_events_are_guessed_and_taken_in_all_their_forms():
    assert guess_task(Y)[0] == "survival"
    frame = pd.DataFrame({"days": Y["time"], "died": Y["event"]}, X.index)
    assert guess_task(frame)[0] == "survival" and guess_task(frame["days"])[0] == "regression"
    options = {"effort": "quick", "random_state": 0}
    given = [CohortModel("mean", **options).fit(X, y).predict(X[:5]) for y in (Y, frame)]
    given.append(CohortModel("mean", task="survival", **options).fit(X, Y).predict(X[:5]))
    np.testing.assert_allclose(given[1:], [given[0]] * 2, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_risks_are_sums_of_parts_about_the_average_sample(models, method):
    model = models[method]
    risks, parts = model.predict(X), model.contributions(X)
    np.testing.assert_allclose(parts.sum(axis=1), risks, atol=1e-9)
    decided = model.has_needed_views(X)
    assert abs(risks[decided].mean()) < 1e-9 and decided.sum() == (86 if method == "alone:clinical" else 90)
    assert (risks[~decided] == 0.0).all() and risks[decided].std() > 0.1
    np.testing.assert_allclose(model.mean_contributions_, parts[decided].mean(), atol=1e-9)
    assert model.score(X, Y) == concordance(Y, risks) > 0.6
    assert model.scoring_ == "concordance" and 0.5 < model.validation_score_ < 1.0


def test_survival_falls_with_time_and_with_risk(models):
    model = models["mean"]
    times = np.array([0.0, 10.0, 100.0, 500.0, 1e6])
    chances = model.predict_survival_function(X, times)
    assert chances.shape == (90, 5) and (chances[:, 0] == 1.0).all() and (np.diff(chances, axis=1) <= 0.0).all()
    order = np.argsort(model.predict(X))
    assert (np.diff(chances[order], axis=0) <= 0.0).all() and np.ptp(chances[:, 2]) > 0.3
    assert model.predict_survival_function(X[:2]).shape == (2, len(model.event_times_))
    with pytest.raises(ValueError, match="times must be finite numbers of at least 0"):
        model.predict_survival_function(X, [-1.0])
    bare = CohortModel("mean", effort="quick", calibrate=False).fit(X, Y)
    assert not hasattr(bare, "predict_survival_function") and not hasattr(model, "predict_proba")


@pytest.mark.parametrize("method", METHODS)
def test_saved_models_predict_the_same(models, method, tmp_path):
    save(models[method], tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    np.testing.assert_array_equal(loaded.predict(X), models[method].predict(X))
    at = [50.0, 300.0]
    expected = models[method].predict_survival_function(X, at)
    np.testing.assert_array_equal(loaded.predict_survival_function(X, at), expected)


def test_the_ridge_is_that_of_all_columns(models):
    """The method "linear" is a Cox model of the prepared columns with a penalty: so its kernel is not cut to length."""
    inner = models["linear"].model_
    assert inner.kernel_names_ == ["linear"] and inner.normalize == "unit-trace"
    parts = models["linear"].contributions(X)
    assert list(parts.columns) == ["rna", "clinical", "intercept"] and np.ptp(parts["intercept"]) < 1e-9
    changed = X.assign(rna__g0=X["rna__g0"] + 1.0)  # a column of rna changes the part of rna, by as much as the risk
    moved = models["linear"].contributions(changed) - parts
    change = models["linear"].predict(changed) - models["linear"].predict(X)
    np.testing.assert_allclose(moved["rna"], change, atol=1e-9)
    assert np.abs(moved["clinical"]).max() < 1e-9 < np.abs(change).min()
    importance = models["linear"].feature_importance()
    assert importance["feature"].tolist()[0] in ("g0", "age") and (importance["importance"] > 0).all()


def test_auto_is_the_better_of_mean_and_lp():
    model = CohortModel(effort="quick", random_state=0).fit(X, Y)
    assert set(model.portfolio_.index) == {"mean", "lp"} and model.method_ in ("mean", "lp")


def test_which_methods_there_are(monkeypatch):
    monkeypatch.setattr("kernelweave.recipes.methods.find_spec", lambda name: None)
    reasons = unavailable("survival", X)
    assert set(reasons) == {"forest", "coxnet"} and "scikit-survival" in reasons["forest"]
    names = method_names("survival", ["rna"])
    assert "stacking" not in names and "boosting" not in names and names["linear"] == "Cox ridge regression"
    assert names["forest"] == "random survival forest"
    assert "coxnet" not in method_names("classification", ["rna"]) | method_names("regression", ["rna"])
    with pytest.raises(ValueError, match="'boosting' cannot be had for these data: scikit-learn has no gradient"):
        CohortModel("boosting").fit(X, Y)
    with pytest.raises(ValueError, match="'accuracy' is for a classification, not a survival; take concordance"):
        scoring_named("accuracy", "survival")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (outcome(Y["time"], np.zeros(90, bool)), "all 90 samples of y are censored"),
        (outcome(np.full(90, 5.0), np.ones(90, bool)), "no two samples can be compared"),
        (Y[:50], "inconsistent numbers of samples: 90 and 50"),
        (pd.DataFrame({"days": -Y["time"], "died": Y["event"]}), "'days' of y is negative"),
        (pd.DataFrame({"time": Y["time"], "event": Y["event"] + 1}), "must be True or 1 for an event"),
    ],
)
def test_bad_outcomes_are_one_error(y, message):
    model = CohortModel("mean", task="survival", effort="quick")
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "model_")


def test_one_event_is_enough_to_fit():
    event = np.zeros(90, dtype=bool)
    event[np.argsort(Y["time"])[20]] = True
    model = CohortModel("mean", effort="quick", random_state=0).fit(X, outcome(Y["time"], event))
    assert np.isfinite(model.predict(X)).all() and np.isfinite(model.predict_survival_function(X, [100.0])).all()


def test_a_column_that_is_the_time_or_the_event_is_named():
    leaky = X.assign(clinical__seen=Y["time"] / 365.25, clinical__state=np.where(Y["event"], "dead", "alive"))
    found = copies_of_target(leaky, Y, column_kinds(leaky), "survival")
    assert sorted(found) == ["clinical__seen", "clinical__state"]
    assert copies_of_target(X, Y, column_kinds(X), "survival") == []


def test_the_slope_maximises_the_partial_likelihood_within_folds():
    rng = np.random.default_rng(1)
    risks, folds = rng.normal(size=120), rng.integers(3, size=120)
    time, seen = np.ceil(4.0 * rng.exponential(np.exp(-0.8 * risks))), np.ceil(6.0 * rng.exponential(size=120))
    y = outcome(np.minimum(time, seen), time <= seen)
    found = SurvivalCalibration.fit(risks + 100.0 * folds, y, folds)  # levels of folds do not count
    centred = risks - np.array([risks[folds == f].mean() for f in range(3)])[folds]

    def loss(slope):  # written out, pair by pair
        at_risk = (y["time"][None] >= y["time"][:, None]) & (folds[None] == folds[:, None])
        sums = np.log((at_risk * np.exp(slope * centred)[None]).sum(axis=1))
        return (sums - slope * centred)[y["event"]].sum() + 0.5 * (slope * centred.std()) ** 2

    assert found.slope[0] == pytest.approx(minimize_scalar(loss, bounds=(0.0, 5.0), method="bounded").x, abs=1e-4)
    hazard = breslow(y, found.slope[0] * centred)
    at = np.array([1.0, 3.0, 8.0])
    expected = np.exp(-hazard(at) * np.exp(found.slope[0] * 0.7))
    np.testing.assert_allclose(found.survival(np.array([0.7]), at)[0], expected, rtol=1e-12)


def test_risks_without_information_give_the_same_survival_to_all():
    found = SurvivalCalibration.fit(np.full(90, 3.0), Y, np.arange(90) % 3)
    assert np.ptp(found.survival(np.array([-2.0, 3.0, 3.0 + 1e-12]), np.array([100.0]))[1:]) < 1e-9
    reversed_ = SurvivalCalibration.fit(np.argsort(np.argsort(Y["time"])) * 1.0, Y, np.zeros(90, int))
    assert 0.0 < reversed_.slope[0] * 25.98 < 2e-3  # never negative: a larger risk is never a better chance


def test_kernels_of_a_fold_are_shared_where_transformers_may_see_targets():
    kernels = [Linear("rna", transformer=StandardScaler()), Gaussian("clinical__age", transformer=StandardScaler())]
    whole = X.drop(columns="clinical__sex").fillna(60.0)
    options = {"cv": list(StratifiedKFold(2).split(whole, Y["event"])), "return_folds": True}
    found = [view_report(MKLSurvival(kernels), whole, Y, share_kernels=share, **options)[1] for share in (True, False)]
    pd.testing.assert_frame_equal(*found)
    shared = SharedFoldKernels(MKLSurvival(kernels), ["C"]).of_fold(whole, Y, np.arange(45), np.arange(45, 90))
    model = MKLSurvival([(name, SharedKernel(kernel, [sheet])) for name, kernel, sheet in shared])
    fitted = model.fit(whole[:45], Y[:45]).kernels_
    assert all(isinstance(kernel, KernelSheet) for kernel in fitted)  # looked up, not fitted again


def test_scores_of_survival_take_what_is_defined():
    risks, chances = -Y["time"], np.tile([0.9, 0.5, 0.4], (90, 1))
    times = np.array([100.0, 300.0, 1e9])
    found = survival_scores(Y, risks, chances, times)
    assert found["C index"] == 1.0 and 0.0 < found["Brier score over time"] < 1.0
    assert survival_scores(Y, risks, chances, times[2:]) == {"C index": 1.0}
    one = outcome([5.0, 5.0], [True, True])
    assert not has_pairs(one) and np.isnan(survival_scores(one, [1.0, 2.0])["C index"])
    assert has_pairs(outcome([5.0, 5.0], [True, False])) and not has_pairs(outcome([5.0, 4.0], [True, False]))


@pytest.mark.parametrize("kind", ["coxnet", "forest"])
def test_the_models_of_scikit_survival_are_kept_as_arrays(kind, tmp_path):
    pytest.importorskip("sksurv")
    numbers = X.drop(columns="clinical__sex").fillna(60.0)
    model = ColumnModel(kind, task="survival", C=8.0, n_trees=10, random_state=0).fit(numbers, Y)
    assert model.score(numbers, Y) > 0.7
    parts = model.contributions(numbers[:7])
    np.testing.assert_allclose(parts.sum(axis=1), model.predict(numbers[:7]), atol=1e-9)
    whole = CohortModel(kind, effort="quick", random_state=0).fit(X, Y)
    save(whole, tmp_path / "model.kw")
    np.testing.assert_array_equal(load(tmp_path / "model.kw").predict(X), whole.predict(X))


def test_coxnet_is_that_of_scikit_survival():
    linear_model = pytest.importorskip("sksurv.linear_model")
    numbers = X[[f"rna__g{i}" for i in range(4)]]
    model = ColumnModel("coxnet", task="survival", C=5.0).fit(numbers, Y)
    scaled = (numbers - numbers.mean()) / numbers.std(ddof=0)
    rival = linear_model.CoxnetSurvivalAnalysis(l1_ratio=0.5, n_alphas=50, alpha_min_ratio=0.2).fit(scaled, Y)
    np.testing.assert_allclose(model.predict(numbers), scaled.to_numpy() @ rival.coef_[:, -1], rtol=1e-6, atol=1e-9)


def test_tasks_have_only_their_own_models_of_columns():
    with pytest.raises(ValueError, match="estimator='boosting' is not for the task 'survival', which has 'coxnet'"):
        ColumnModel("boosting", task="survival").fit(X, Y)
    with pytest.raises(ValueError, match="estimator='coxnet' is not for the task 'regression'"):
        ColumnModel("coxnet", task="regression").fit(X, Y["time"])
