"""What each view gives: every row against a cross-validation by hand. Many models are fitted, with all combiners."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectKBest
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, MKLSurvival, stack_views
from kernelweave.combiners import (
    BestSingle,
    BinaryMKL,
    ConvexLocalized,
    ConvexMKL,
    FixedWeights,
    GeneralizedMKL,
    GroupMKL,
    KernelDifference,
    Localized,
    PolynomialMKL,
    Product,
    Projected,
)
from kernelweave.estimators import KernelVoting
from kernelweave.kernels import Gaussian, Linear, Precomputed, Spectrum
from kernelweave.model_selection import paired_loss_test, view_comparison, view_report
from kernelweave.model_selection.statistics import least_error
from kernelweave.survival import outcome

rng = np.random.default_rng(0)
N = 80
A, B, C = rng.normal(size=(N, 3)), rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
X = stack_views({"a": A, "b": B, "c": C})
Y = np.where(A[:, 0] + 0.5 * B[:, 0] + 0.3 * rng.normal(size=N) > 0, "yes", "no")
TARGET = A[:, 0] + 0.5 * B[:, 0]
KERNELS = [Linear("a"), Gaussian("a"), Linear("b"), ("last", Gaussian("c"))]
MODEL = MKLClassifier(KERNELS)
SMALL = MKLClassifier([Linear("a"), Linear("b")])
CV = StratifiedKFold(4, shuffle=True, random_state=0)
HALVES = StratifiedKFold(2, shuffle=True, random_state=0)
ROWS = [("all views", "together"), *[(view, kind) for view in "abc" for kind in ("alone", "without")]]


@cache
def reported():
    return view_report(MODEL, X, Y, cv=CV, return_folds=True)


def lacking(view, rows, data=X):
    data = data.copy()
    data.loc[rows, [name for name in data if name.startswith(f"{view}__")]] = np.nan
    return data


def accuracy(model, X, y):
    return accuracy_score(y, model.predict(X))


def test_a_model_is_scored_once_on_the_same_samples():
    scored = []
    view_report(SMALL, lacking("b", [0]), Y, cv=HALVES, scoring=lambda *given: scored.append(given) or accuracy(*given))
    # In each fold together, and two views alone and without; the model of both once more where sample 0 is left out.
    assert len(scored) == 2 * 5 + 1


def test_rows_are_the_cross_validation_of_models_with_these_kernels():
    report, _ = reported()
    assert list(report.index) == ROWS
    assert list(report.index.names) == ["view", "kernels"]
    for row, kernels in (
        (("all views", "together"), KERNELS),
        (("a", "alone"), KERNELS[:2]),
        (("b", "without"), [*KERNELS[:2], KERNELS[3]]),
        (("c", "alone"), KERNELS[3:]),
    ):
        scores = cross_val_score(MKLClassifier(kernels), X, Y, cv=CV)
        np.testing.assert_allclose(report.loc[row, ["score", "std"]], [scores.mean(), scores.std(ddof=1)], atol=1e-12)
    assert (report["samples"] == N).all()
    assert report.loc[("a", "without"), "difference"] < -0.1
    assert report.loc[("a", "without"), "p_value"] < 0.05 < report.loc[("c", "without"), "p_value"]


def test_defaults_are_those_of_cross_validation():
    data = stack_views({"a": A, "b": B})
    together = view_report(MKLClassifier(), data, Y).loc[("all views", "together"), "score"]
    np.testing.assert_allclose(together, cross_val_score(MKLClassifier(), data, Y).mean())


def by_hand(d, n_train):
    """The p-value of the differences of losses of single samples, which are -1, 0 or 1."""
    n, more = len(d), np.append(d, [1.0, -1.0])
    return 2 * stats.t.sf(abs(d.mean()) / np.sqrt((1 / n + 1 / n_train) * more.var(ddof=1)), n - 1)


def test_the_test_compares_the_losses_of_the_same_samples():
    report, folds = reported()
    assert report.attrs["test"] == "paired test of held-out losses"
    assert len(folds) == 4 * len(ROWS)
    by_fold = folds.set_index(["view", "kernels"])
    first, second = by_fold.loc[("all views", "together"), "score"], by_fold.loc[("b", "without"), "score"]
    found = report.loc[("b", "without")]
    assert found["difference"] == pytest.approx((second.to_numpy() - first.to_numpy()).mean())
    kernels = [KERNELS, [*KERNELS[:2], KERNELS[3]]]
    wrong = [(cross_val_predict(MKLClassifier(own), X, Y, cv=CV) != Y).astype(float) for own in kernels]
    assert found["p_value"] == pytest.approx(by_hand(wrong[1] - wrong[0], 0.75 * N))
    test = paired_loss_test(wrong[1], wrong[0], n_train=0.75 * N)
    assert (found["low"], found["high"]) == pytest.approx(test.interval())
    assert found["low"] < found["difference"] < found["high"]
    assert np.isnan(report.loc[("all views", "together"), "p_value"])


def test_losses_are_averaged_over_repeats_and_summed_over_groups():
    halves = RepeatedStratifiedKFold(n_splits=2, n_repeats=5, random_state=0)
    wrong = np.zeros((2, N))
    for train, test in halves.split(X, Y):
        for place, own in enumerate(([Linear("a"), Linear("b")], [Linear("a")])):
            wrong[place, test] += (MKLClassifier(own).fit(X.iloc[train], Y[train]).predict(X.iloc[test]) != Y[test]) / 5
    expected = paired_loss_test(*wrong, n_train=N / 2).pvalue
    assert view_report(SMALL, X, Y, cv=halves).loc[("b", "without"), "p_value"] == pytest.approx(expected)
    groups = np.arange(N) // 4
    grouped = view_report(SMALL, X, Y, cv=halves, groups=groups).loc[("b", "without"), "p_value"]
    assert grouped == pytest.approx(paired_loss_test(*wrong, n_train=N / 2, groups=groups).pvalue) != expected


def test_equal_losses_in_every_fold_are_no_proof():
    """Two more errors of 20 in each of three folds: the variance over folds is 0, but six errors may be chance."""

    class OneView(MKLClassifier):
        """Right, but for two samples of each fold where the view b is left out."""

        def predict(self, X):
            right = Y[X.index.to_numpy()].copy()
            if not any(kernel.view == "b" for kernel in self.kernels_):
                right[:2] = np.where(right[:2] == "yes", "no", "yes")
            return right

    data, folds = X.iloc[:60], [(np.delete(np.arange(60), part), part) for part in np.arange(60).reshape(3, 20)]
    report = view_report(OneView([Linear("a"), Linear("b")]), data, Y[:60], cv=folds, share_kernels=False)
    assert report.loc[("b", "without"), "difference"] == pytest.approx(-0.1)
    d = np.where(np.arange(60) % 20 < 2, 1.0, 0.0)
    assert report.loc[("b", "without"), "p_value"] == pytest.approx(by_hand(d, 40)) and by_hand(d, 40) > 0.1
    assert report.loc[("a", "without"), "p_value"] == 1.0
    reach = stats.t.ppf(0.975, 59) * least_error(60, 40)  # no difference in 60 labels is no certainty
    assert report.loc[("a", "without"), ["low", "high"]].tolist() == pytest.approx([-reach, reach])


def test_a_score_that_is_no_mean_has_a_bootstrap(monkeypatch):
    monkeypatch.setattr(view_comparison, "N_RESAMPLES", 40)
    report = view_report(SMALL, X, Y, cv=HALVES, scoring="roc_auc")
    assert report.loc[("a", "without"), "p_value"] < 0.01
    gini = view_report(SMALL, X, Y, cv=HALVES, scoring=lambda m, X, y: 2 * roc_auc_score(y, m.decision_function(X)) - 1)
    np.testing.assert_allclose(gini["p_value"], report["p_value"], atol=1e-9)  # no metric that is known by its value


def test_samples_without_the_view_are_left_out_of_both_sides():
    some = np.arange(0, N, 3)
    data = lacking("b", some)
    report, folds = view_report(MODEL, data, Y, cv=CV, return_folds=True)
    alone, together = [], []
    for train, test in CV.split(data, Y):
        rows, new = np.setdiff1d(train, some), np.setdiff1d(test, some)
        model = MKLClassifier([Linear("b")]).fit(data.iloc[rows], Y[rows])
        alone.append(accuracy_score(Y[new], model.predict(data.iloc[new])))
        together.append(clone(MODEL).fit(data.iloc[train], Y[train]).score(data.iloc[new], Y[new]))
    row = report.loc[("b", "alone")]
    assert row["score"] == pytest.approx(np.mean(alone))
    assert row["difference"] == pytest.approx(np.mean(alone) - np.mean(together))
    assert row["samples"] == N - len(some)
    assert report["samples"].drop(("b", "alone")).eq(N).all()
    own = folds[(folds["view"] == "b") & (folds["kernels"] == "alone")]
    np.testing.assert_allclose(own["score_together"], together)
    assert own["samples"].sum() == N - len(some)


def test_samples_with_one_view_only_are_left_out_without_it():
    data = lacking("c", [3, 4], lacking("b", [3, 4]))
    report = view_report(MODEL, data, Y, cv=HALVES)
    assert report["samples"].to_dict() == dict.fromkeys(ROWS, N) | {
        ("a", "without"): N - 2,
        ("b", "alone"): N - 2,
        ("c", "alone"): N - 2,
    }


def test_a_model_that_cannot_be_fitted_is_nan_with_the_reason():
    data = lacking("b", np.flatnonzero(Y == "no"))
    with pytest.warns(
        FitFailedWarning, match="with only the view 'b' could not be fitted in 4 of 4 folds: .*one class"
    ):
        report = view_report(MODEL, data, Y, cv=CV)
    assert report.loc[("b", "alone"), ["score", "difference", "p_value", "stored_samples"]].isna().all()
    assert report.loc[("b", "alone"), "samples"] == 0
    assert report.loc[("b", "without"), "score"] > 0.7
    few = lacking("b", np.arange(2, N))
    with pytest.warns(FitFailedWarning, match="view 'b' could not be fitted"):
        view_report(SMALL, few, Y, cv=CV)


def test_a_fold_in_which_nothing_can_be_fitted():
    halves = [(np.arange(40), np.arange(40, N)), (np.flatnonzero(Y == "no"), np.arange(10))]
    with pytest.warns(FitFailedWarning, match="with all views could not be fitted in 1 of 2 folds") as warned:
        report = view_report(MODEL, X, Y, cv=halves)
    assert len(warned) == 1  # models of single views fail for the same reason
    assert report["score"].notna().all()
    assert report["p_value"].drop(("all views", "together")).notna().all()  # of the samples of the other fold
    assert (report["samples"] == 40).all()


def test_a_view_that_a_training_part_lacks():
    data = lacking("b", np.arange(10, N))
    with pytest.warns(FitFailedWarning, match="with all views could not be fitted in 1 of 4 folds: no training sample"):
        report = view_report(MODEL, data, Y, cv=[(np.arange(10, N), np.arange(10)), *list(CV.split(X, Y))[:3]])
    assert report["score"].notna().all()


def test_a_view_may_be_called_anything():
    kernels = [("x", Linear("a")), ("all views", Linear([3, 4])), ("alone", Linear([5]))]
    report = view_report(MKLClassifier(kernels), X, Y, cv=CV)
    assert report.index.is_unique
    assert report["difference"].nunique() > 3


def test_the_error_of_the_whole_model_is_raised():
    data = lacking("b", [1])
    with pytest.raises(ValueError, match="lacks the view of the kernel 'b'"):
        view_report(MKLClassifier(KERNELS, Product()), data, Y, cv=CV)
    alone = lacking("a", [1], lacking("b", [1], lacking("c", [1])))
    with pytest.raises(ValueError, match="no view at all"):
        view_report(MODEL, alone, Y, cv=CV)


COMBINERS = [  # of three kernels, two of the view a
    None,
    FixedWeights({"a": 1.0, "a-2": 2.0, "last": 0.5}),
    ConvexMKL(costs={"a-2": 2.0, "last": 3.0}),
    GroupMKL({"first": ["a", "last"], "others": ["a-2"]}),
    BestSingle(3),
    BinaryMKL(2),
    Product(),
    KernelDifference("square"),
    PolynomialMKL(2, max_iter=5),
    GeneralizedMKL(max_iter=5),
    ConvexLocalized(2, costs={"last": 2.0}),
    Localized(max_iter=5, l2=0.01),
    Projected({"a": 1, "a-2": 1, "last": 2}, max_iter=5),
]


@pytest.mark.parametrize("combiner", COMBINERS, ids=lambda combiner: type(combiner).__name__)
def test_every_combiner_and_shared_kernels_change_nothing(combiner):
    model = MKLClassifier([*KERNELS[:2], KERNELS[3]], combiner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", FitFailedWarning)
        shared = view_report(model, X, Y, cv=2, scoring="roc_auc", random_state=0)
        plain = view_report(model, X, Y, cv=2, scoring="roc_auc", random_state=0, share_kernels=False)
    assert shared.drop(columns="p_value").drop(("all views", "together")).notna().all(axis=None)
    pd.testing.assert_frame_equal(shared, plain, rtol=1e-6)


def test_shared_kernels_are_computed_once_per_fold():
    class Counting(Gaussian):
        calls = 0

        def gram_of(self, A):
            Counting.calls += 1
            return super().gram_of(A)

    for shared, calls in ((True, 2), (False, 2 * 4)):  # together, a alone, without b, without c
        Counting.calls = 0
        view_report(MKLClassifier([Counting("a"), Linear("b"), Linear("c")]), X, Y, cv=HALVES, share_kernels=shared)
        assert Counting.calls == calls


def test_the_result_depends_on_the_seed_and_not_on_n_jobs():
    model = MKLClassifier([Linear("a"), Linear("c")], Localized(max_iter=2, l2=0.01), tol=0.1)
    options = {"cv": 2, "scoring": "roc_auc"}
    first = view_report(model, X, Y, random_state=3, **options)
    with parallel_config("threading"):
        pd.testing.assert_frame_equal(first, view_report(model, X, Y, random_state=3, n_jobs=2, **options))
    other = view_report(model, X, Y, random_state=4, **options)
    assert not np.allclose(first["score"], other["score"], rtol=1e-12, atol=0.0)


def test_costs_are_shares_of_the_costs_of_all_kernels():
    _, folds = view_report(MODEL, X, Y, cv=HALVES, costs={"a": 3.0, "last": 5.0}, return_folds=True)  # a: both kernels
    stored = folds.set_index(["view", "kernels"])["stored_samples"]
    cost = folds.set_index(["view", "kernels"])["prediction_cost"]
    share = {("all views", "together"): 1.0, ("a", "alone"): 6 / 12, ("a", "without"): 6 / 12, ("c", "alone"): 5 / 12}
    for row, expected in share.items():
        np.testing.assert_allclose(cost[row], stored[row] * expected)
    free = view_report(MODEL, X, Y, cv=2, costs=[0.0, 0.0, 0.0, 2.0])["prediction_cost"]
    assert free[("a", "alone")] == 0.0
    assert free[("a", "without")] > 0.0


def test_costs_of_the_combiner():
    model = MKLClassifier([Linear("a"), Linear("b")], ConvexMKL(costs={"b": 3.0}))
    report = view_report(model, X, Y, cv=HALVES)
    alone = report.loc[("b", "alone")]
    assert alone["prediction_cost"] == pytest.approx(0.75 * alone["stored_samples"])


def test_regression_and_other_scores():
    model = MKLRegressor([Linear("a"), Linear("b")])
    cv = KFold(2, shuffle=True, random_state=0)
    report = view_report(model, X, TARGET, cv=cv)
    np.testing.assert_allclose(
        report.loc[("a", "alone"), "score"], cross_val_score(MKLRegressor([Linear("a")]), X, TARGET, cv=cv).mean()
    )
    errors = view_report(model, X, pd.Series(TARGET, X.index), cv=cv, scoring="neg_mean_absolute_error")
    assert (errors["score"] < 0).all()


def test_several_targets():
    several = np.column_stack([TARGET, A[:, 1]])
    cv = KFold(2, shuffle=True, random_state=0)
    report = view_report(MKLRegressor([Linear("a"), Linear("b")]), X, several, cv=cv)
    alone = cross_val_score(MKLRegressor([Linear("a")]), X, several, cv=cv)
    np.testing.assert_allclose(report.loc[("a", "alone"), "score"], alone.mean())


def test_survival_models_are_scored_by_concordance():
    y, model = outcome(np.exp(-TARGET), np.arange(N) % 3 > 0), MKLSurvival([Linear("a"), Linear("b")], C=0.1)
    cv = KFold(3, shuffle=True, random_state=0)
    report = view_report(model, X, y, cv=cv)
    assert report.loc[("all views", "together"), "score"] == pytest.approx(cross_val_score(model, X, y, cv=cv).mean())
    frame = pd.DataFrame({"time": y["time"], "event": y["event"]}, index=X.index)
    pd.testing.assert_frame_equal(view_report(model, X, frame, cv=cv), report)


def test_one_class_models_are_scored_by_labels():
    label = np.where(np.arange(N) % 8 == 0, -1, 1)
    data = X + 6.0 * (label == -1)[:, None]
    model = MKLOneClass([Gaussian("a"), Gaussian("b")])
    report = view_report(model, data, label, cv=HALVES, scoring="roc_auc")
    alone = cross_val_score(MKLOneClass([Gaussian("a")]), data, label, cv=HALVES, scoring="roc_auc")
    np.testing.assert_allclose(report.loc[("a", "alone"), "score"], alone.mean())


def test_pipelines_searches_and_ensembles():
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, MKLClassifier())
    report = view_report(pipeline, X, Y, cv=HALVES)
    alone = make_pipeline(scaler, MKLClassifier([Linear("b")]))
    np.testing.assert_allclose(report.loc[("b", "alone"), "score"], cross_val_score(alone, X, Y, cv=HALVES).mean())
    search = GridSearchCV(MKLClassifier(KERNELS), {"C": [0.1, 1.0], "kernels__a-2__scale": [1.0]}, cv=2)
    assert view_report(search, X, Y, cv=2).drop(columns=["low", "high", "p_value"]).notna().all(axis=None)
    voting = view_report(KernelVoting([Linear("a"), Linear("b")]), X, Y, cv=2)
    assert voting["score"].notna().all()
    assert voting["prediction_cost"].isna().all()


def test_ids_text_and_sparse_views():
    text = ["".join(rng.choice(list("xy"), size=6)) for _ in range(N)]
    data = stack_views({"a": A, "word": text, "id": np.arange(N)})
    data.loc[[2, 9], "word"] = None
    model = MKLClassifier([Linear("a"), Spectrum("word", k=2), Precomputed(B @ B.T, "id")])
    report = view_report(model, data, Y, cv=2)
    assert report["samples"].to_dict()[("word", "alone")] == N - 2
    sparse = sp.csr_matrix(np.hstack([A, B]))
    report = view_report(MKLClassifier([("a", Linear([0, 1, 2])), ("b", Linear([3, 4]))]), sparse, Y, cv=2)
    assert list(report.index.levels[0]) == ["a", "all views", "b"]


def test_preparation_inside_kernels():
    kernels = [Linear("a", transformer=SelectKBest(k=1)), Gaussian("b", transformer=StandardScaler()), Linear("c")]
    some = np.arange(0, N, 5)
    data = lacking("a", some)
    report = view_report(MKLClassifier(kernels), data, Y, cv=HALVES)
    plain = view_report(MKLClassifier(kernels), data, Y, cv=HALVES, share_kernels=False)
    pd.testing.assert_frame_equal(report, plain)
    without = cross_val_score(MKLClassifier(kernels[1:]), X, Y, cv=HALVES)
    np.testing.assert_allclose(report.loc[("a", "without"), "score"], without.mean())
    assert report.loc[("a", "alone"), "samples"] == N - len(some)


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({name: X[name].to_numpy() for name in X})
    pd.testing.assert_frame_equal(view_report(SMALL, frame, polars.Series(Y), cv=2), view_report(SMALL, X, Y, cv=2))


def test_sparse_views_of_stack_views():
    data = stack_views({"a": A, "s": sp.csr_matrix(np.round(B))})
    report = view_report(MKLClassifier([Linear("a"), Linear("s")], normalize="unit-trace"), data, Y, cv=2)
    assert report["score"].notna().all()


def test_sample_weights_are_split_as_x_is():
    weight = np.where(np.arange(N) % 2, 1.0, 0.0)
    report = view_report(MODEL, X, Y, cv=CV, params={"sample_weight": weight})
    expected = []
    for train, test in CV.split(X, Y):
        model = MKLClassifier(KERNELS[:2]).fit(X.iloc[train], Y[train], sample_weight=weight[train])
        expected.append(model.score(X.iloc[test], Y[test]))
    np.testing.assert_allclose(report.loc[("a", "alone"), "score"], np.mean(expected))


def test_groups_stay_together():
    groups = np.arange(N) // 8
    _, folds = view_report(SMALL, X, Y, cv=GroupKFold(5), groups=groups, return_folds=True)
    assert (folds["samples"] == 16).all()


def test_one_view_has_nothing_to_be_left_out():
    report = view_report(MKLClassifier([Linear("a"), Gaussian("a")]), X, Y, cv=2)
    assert list(report.index) == [("all views", "together"), ("a", "alone")]
    assert report["score"].nunique() == 1


def test_the_model_is_not_touched():
    model = clone(MODEL)
    view_report(model, X, Y, cv=2)
    assert model.kernels is not None
    assert not hasattr(model, "dual_coef_")
    assert [type(entry) for entry in model.kernels] == [Linear, Gaussian, Linear, tuple]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": None}, "view_report needs y"),
        ({"scoring": ["accuracy", "roc_auc"]}, "one metric"),
        ({"costs": {"nothing": 1.0}}, "costs names kernels that are not there: \\['nothing'\\]"),
        ({"y": pd.Series(Y, X.index)[::-1]}, "same row labels in another order"),
        ({"share_kernels": 3}, "share_kernels of view_report must be"),
        ({"model": StandardScaler()}, "a model over kernels is needed"),
        ({"X": {"a": A, "b": B}}, "stack_views"),
    ],
)
def test_errors(options, message):
    given = {"model": MODEL, "X": X, "y": Y, "cv": CV} | options
    with pytest.raises(ValueError, match=message):
        view_report(**given)


def test_progress(capsys):
    view_report(MODEL, X, Y, cv=2, verbose=1)
    assert "view_report" in capsys.readouterr().out
