import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_breast_cancer, make_regression
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, RepeatedStratifiedKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from conventions import checks
from kernelweave import MKLClassifier, MKLRegressor, datasets
from kernelweave.combiners import ConvexMKL, EigenvalueCosts, FixedWeights
from kernelweave.kernels import Gaussian, Linear, Polynomial
from kernelweave.model_selection import ResponseSurfaceSearchCV
from kernelweave.model_selection.response_surfaces import check_factors

X, Y = datasets.make_gauss(3, 120, random_state=0)
WEIGHTS = ["combiner__weights__polynomial", "combiner__weights__gaussian"]


def three_kernels(**options):
    weights = FixedWeights({"linear": 1.0, "polynomial": 1.0, "gaussian": 1.0})
    return MKLClassifier([Linear(), Polynomial(degree=2), Gaussian(scale="nearest")], weights, **options)


class Bowl(RegressorMixin, BaseEstimator):
    """An estimator whose score is known: 1 - (log10 a - 0.4)^2 - 2 (log10 b + 0.2)^2."""

    def __init__(self, a=1.0, b=1.0, fails_above=np.inf):
        self.a = a
        self.b = b
        self.fails_above = fails_above

    def fit(self, X, y=None):
        if self.a > self.fails_above:
            raise RuntimeError("a is too large")
        self.fitted_ = len(X)
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def score(self, X, y=None):
        return 1.0 - (np.log10(self.a) - 0.4) ** 2 - 2.0 * (np.log10(self.b) + 0.2) ** 2


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.FitFailedWarning")
@checks(
    [ResponseSurfaceSearchCV(MKLClassifier(), ["C"], cv=2, max_iter=3, tol=0.5)],
    [ResponseSurfaceSearchCV(MKLRegressor(), ["C"], cv=2, max_iter=3, tol=0.5)],
)
def test_scikit_learn_convention(estimator, check):
    check(estimator)


def test_it_finds_the_known_optimum_and_tells_its_way():
    search = ResponseSurfaceSearchCV(Bowl(), ["a", "b"], cv=3).fit(X, Y)
    assert search.best_params_ == pytest.approx({"a": 10**0.4, "b": 10**-0.2}, rel=1e-4)
    assert search.best_score_ == pytest.approx(1.0) and search.best_index_ == 6 and search.n_iter_ == 2
    assert search.best_estimator_.fitted_ == len(X) and search.best_estimator_.a == search.best_params_["a"]
    assert list(search.design_) == ["a", "b", "response"] and len(search.design_) == 7
    np.testing.assert_allclose(search.design_["response"], -search.cv_results_["mean_test_score"])
    np.testing.assert_allclose(search.design_["a"], np.log10(search.cv_results_["param_a"].astype(float)), atol=1e-9)
    np.testing.assert_array_equal(search.cv_results_["iter"], [0] * 6 + [1])
    assert list(search.path_) == ["a", "b", "predicted", "response"]
    np.testing.assert_allclose(search.path_.to_numpy(), [[0.4, -0.2, -1.0, -1.0]], atol=1e-5)
    np.testing.assert_allclose(search.surface_.quadratic, [[1.0, 0.0], [0.0, 2.0]], atol=1e-9)
    np.testing.assert_allclose(search.surface_.minimum(), [0.4, -0.2], atol=1e-6)


def test_the_centre_is_exactly_what_the_estimator_has():
    search = ResponseSurfaceSearchCV(Bowl(a=0.7), {"a": (0.1, 10.0), "b": (0.5, 0.8, 3.0)}, cv=2).fit(X, Y)
    assert search.cv_results_["params"][0] == {"a": 0.7, "b": 0.8}
    assert search.surface_.low == pytest.approx(np.log10([0.1, 0.5]))
    assert search.surface_.high == pytest.approx(np.log10([10.0, 3.0]))


@pytest.mark.parametrize(
    ("estimator", "factors", "centre"),
    [
        (Bowl(a=20.0), {"a": (1.0, 9.0)}, 3.0),
        (Bowl(a=20.0), ["a"], 20.0),
        (SVC(gamma="scale"), ["gamma"], 1.0),
        (MKLClassifier(combiner=FixedWeights({})), ["combiner__weights__x"], 1.0),
    ],
)
def test_centres(estimator, factors, centre):
    found = check_factors(estimator, factors, (0.1, 10.0))
    assert found.centre_values == pytest.approx([centre])
    if isinstance(factors, list):
        np.testing.assert_allclose([found.low[0], found.high[0]], np.log10([0.1 * centre, 10.0 * centre]))


def test_a_box_that_leaves_out_the_optimum():
    search = ResponseSurfaceSearchCV(Bowl(), ["a", "b"], bounds=(0.5, 2.0), cv=2).fit(X, Y)
    assert search.best_params_ == pytest.approx({"a": 2.0, "b": 10**-0.2}, rel=1e-4)
    assert (search.design_[["a", "b"]].abs() <= np.log10(2.0) + 1e-6).all(axis=None)


def test_candidates_have_the_scores_of_plain_cross_validation():
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    for normalize in ("unit-diagonal", "center"):
        model = three_kernels(C=2.0, normalize=normalize)
        search = ResponseSurfaceSearchCV(model, [*WEIGHTS, "C"], cv=cv, scoring="roc_auc", max_iter=3, tol=0.5)
        search.fit(X, Y)
        for i, params in enumerate(search.cv_results_["params"]):
            assert set(params) == {*WEIGHTS, "C"}
            expected = cross_val_score(clone(model).set_params(**params), X, Y, cv=cv, scoring="roc_auc")
            found = [search.cv_results_[f"split{k}_test_score"][i] for k in range(3)]
            np.testing.assert_allclose(found, expected, atol=1e-9)
        assert [type(kernel) for kernel in search.best_estimator_.kernels] == [Linear, Polynomial, Gaussian]
        assert [type(kernel) for kernel in search.best_estimator_.kernels_] == [Linear, Polynomial, Gaussian]


class Counting(Gaussian):
    values = 0

    def gram_of(self, A):
        Counting.values += len(A) ** 2
        return super().gram_of(A)

    def cross_of(self, A, B):
        Counting.values += len(A) * len(B)
        return super().cross_of(A, B)


def count(search, **fit_params):
    Counting.values = 0
    search.fit(X, Y, **fit_params)
    return Counting.values


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_kernels_are_computed_once_a_fold_whatever_the_number_of_candidates(in_pipeline):
    model = MKLClassifier([("g", Counting(scale="nearest")), ("l", Linear())], FixedWeights({"g": 1.0, "l": 1.0}))
    names = ["combiner__weights__g", "C"]
    if in_pipeline:
        model = make_pipeline(StandardScaler(), model)
        names = [f"mklclassifier__{name}" for name in names]
    n, folds = len(X), 3
    once = folds * (n * 2 // 3) * n
    searches = [
        ResponseSurfaceSearchCV(model, factors, cv=folds, refit=False, scoring="roc_auc", **options)
        for factors, options in [(names[:1], {"order": 1}), (names, {}), (names, {"tol": 1e-4, "max_iter": 60})]
    ]
    assert [count(search) for search in searches] == [once] * 3
    assert len({len(search.design_) for search in searches}) == 3
    assert count(searches[1].set_params(refit=True)) == once + n * n
    assert count(searches[1].set_params(refit=False, share_kernels=False)) > 3 * once


def test_sample_weights_are_shared_too():
    model = MKLClassifier([("g", Counting())])
    weight = np.linspace(0.0, 2.0, len(X))
    cv = KFold(3, shuffle=True, random_state=0)
    search = ResponseSurfaceSearchCV(model, ["C"], cv=cv, refit=False, scoring="roc_auc")
    present = [np.count_nonzero(weight[train]) for train, _ in cv.split(X)]
    tests = [len(test) for _, test in cv.split(X)]
    values = count(search, sample_weight=weight)
    assert values == sum(n * (n + m) for n, m in zip(present, tests, strict=True))


def test_a_kernel_whose_parameter_is_a_factor_is_computed_for_each_candidate():
    model = MKLClassifier([("g", Counting(scale=1.0)), ("l", Linear())])
    cv = StratifiedKFold(3)
    search = ResponseSurfaceSearchCV(model, ["kernels__g__scale", "C"], cv=cv, scoring="roc_auc", refit=False, tol=0.5)
    assert count(search) > len(search.design_) * len(X) ** 2
    params = search.best_params_
    expected = cross_val_score(clone(model).set_params(**params), X, Y, cv=cv, scoring="roc_auc").mean()
    assert search.best_score_ == pytest.approx(expected, abs=1e-9)
    assert model.kernels[0][1].scale == 1.0


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_results_do_not_depend_on_n_jobs(backend):
    model = make_pipeline(StandardScaler(), three_kernels())
    factors = [f"mklclassifier__{name}" for name in WEIGHTS]
    options = {"cv": StratifiedKFold(3, shuffle=True), "subsample": 0.8, "random_state": 0, "max_iter": 3, "tol": 0.3}
    options["cv"].random_state = 1
    alone = ResponseSurfaceSearchCV(model, factors, **options).fit(X, Y)
    with joblib.parallel_config(backend=backend):
        together = ResponseSurfaceSearchCV(model, factors, n_jobs=2, **options).fit(X, Y)
    pd.testing.assert_frame_equal(alone.design_, together.design_)
    np.testing.assert_array_equal(alone.predict(X), together.predict(X))


def test_folds_are_drawn_once_even_by_a_random_splitter():
    class Recording(KFold):
        asked = 0

        def split(self, X, y=None, groups=None):
            Recording.asked += 1
            return super().split(X, y, groups)

    search = ResponseSurfaceSearchCV(
        Ridge(), ["alpha"], cv=Recording(3, shuffle=True, random_state=np.random.RandomState(0)), max_iter=5, tol=1e-6
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(*make_regression(60, 20, noise=10.0, random_state=0))
    assert Recording.asked == 1 and len(search.path_) > 1


@pytest.mark.parametrize(("subsample", "size"), [(0.5, 40), (30, 30), (1000, 80), (None, 80)])
def test_subsample_fits_candidates_to_a_part_and_the_model_to_everything(subsample, size):
    seen = []

    class Recording(SVC):
        def fit(self, X, y):
            seen.append(np.array(y))
            return super().fit(X, y)

    y = np.repeat([0, 1], [30, 90])
    search = ResponseSurfaceSearchCV(Recording(), ["C"], cv=StratifiedKFold(3), subsample=subsample, random_state=0)
    search.fit(X, y)
    assert {len(part) for part in seen[:-1]} == {size} and len(seen[-1]) == 120
    assert all(abs(part.mean() - 0.75) < 0.02 for part in seen)


def test_near_the_best_of_a_grid_with_fewer_points():
    data, target = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC(gamma=0.03))
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    values = 10 ** np.linspace(-1, 1, 7)
    grid = GridSearchCV(model, {"svc__C": values, "svc__gamma": 0.03 * values}, cv=cv, scoring="roc_auc")
    grid.fit(data[::2], target[::2])
    search = ResponseSurfaceSearchCV(model, ["svc__C", "svc__gamma"], cv=cv, scoring="roc_auc").fit(
        data[::2], target[::2]
    )
    scores = grid.cv_results_["mean_test_score"]
    assert len(search.design_) < 15 < len(scores)
    assert search.best_score_ > scores.max() - 0.2 * (scores.max() - np.median(scores))


def test_regularised_mkl_on_gauss3_has_fewer_support_vectors_at_no_loss():
    data, target = datasets.make_gauss(3, 200, random_state=1)
    new, truth = datasets.make_gauss(3, 4000, random_state=2)
    mkl = MKLClassifier([Linear(), Polynomial(degree=2), Gaussian(scale="nearest")], ConvexMKL(), C=10.0)
    factors = ["combiner__costs__polynomial", "combiner__costs__gaussian"]
    cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
    search = ResponseSurfaceSearchCV(mkl, factors, delta=0.5, cv=cv).fit(data, target)
    plain = clone(mkl).fit(data, target)
    assert search.cv_results_["params"][0] == dict.fromkeys(factors, 1.0)
    assert len(search.best_estimator_.support_) < 0.8 * len(plain.support_)
    assert search.score(new, truth) >= plain.score(new, truth)


def test_eigenvalue_costs_are_searched_by_gamma():
    model = MKLClassifier([Linear(), Gaussian()], ConvexMKL(EigenvalueCosts(0.5)))
    search = ResponseSurfaceSearchCV(model, {"combiner__costs__gamma": (0.1, 1.0)}, cv=2).fit(X, Y)
    gamma = search.best_estimator_.combiner.costs.gamma
    assert gamma == search.best_params_["combiner__costs__gamma"] and 0.1 <= gamma <= 1.0


def test_response_of_accuracies_is_an_error_and_of_others_the_negated_score():
    options = {"cv": 2, "max_iter": 2, "tol": 0.5}
    for scoring in (None, "accuracy"):
        search = ResponseSurfaceSearchCV(SVC(), ["C"], scoring=scoring, **options).fit(X, Y)
        np.testing.assert_allclose(search.design_["response"], 1.0 - search.cv_results_["mean_test_score"])
    search = ResponseSurfaceSearchCV(SVC(), ["C"], scoring="roc_auc", **options).fit(X, Y)
    np.testing.assert_allclose(search.design_["response"], -search.cv_results_["mean_test_score"])
    search = ResponseSurfaceSearchCV(SVC(), ["C"], scoring=lambda model, X, y: model.C, **options).fit(X, Y)
    np.testing.assert_allclose(search.design_["response"], -(10.0 ** search.design_["C"]))


def test_several_metrics():
    options = {"cv": 2, "max_iter": 2, "tol": 0.5, "scoring": ["accuracy", "roc_auc"]}
    search = ResponseSurfaceSearchCV(SVC(), ["C"], refit="roc_auc", **options).fit(X, Y)
    np.testing.assert_allclose(search.design_["response"], -search.cv_results_["mean_test_roc_auc"])
    assert "mean_test_accuracy" in search.cv_results_
    with pytest.raises(ValueError, match="refit must be the name"):
        ResponseSurfaceSearchCV(SVC(), ["C"], refit=False, **options).fit(X, Y)


def test_a_failing_candidate_of_the_design_counts_as_in_a_grid_search():
    search = ResponseSurfaceSearchCV(Bowl(fails_above=1.9), {"a": (0.1, 1.9), "b": (0.1, 10.0)}, cv=2)
    search.fit(X, Y)
    assert np.isfinite(search.design_["response"]).all()
    search = ResponseSurfaceSearchCV(Bowl(fails_above=1.9), ["a", "b"], bounds=(0.1, 1.99), cv=2, delta=0.29)
    with pytest.warns(FitFailedWarning):
        search.fit(X, Y)
    failed = np.isnan(search.cv_results_["mean_test_score"])
    assert failed.any() and search.cv_results_["params"][int(np.argmax(failed))]["a"] > 1.9
    assert search.best_params_["a"] <= 1.9
    with pytest.raises(RuntimeError, match="too large"):
        clone(search).set_params(error_score="raise").fit(X, Y)


def test_a_failing_point_after_the_design_ends_the_search():
    search = ResponseSurfaceSearchCV(Bowl(fails_above=2.2), ["a", "b"], cv=2)
    with pytest.warns(FitFailedWarning, match="the search ends"):
        search.fit(X, Y)
    assert np.isnan(search.design_["response"].iloc[-1]) and len(search.path_) == 1
    assert len(search.cv_results_["params"]) == 6 and search.best_params_["a"] <= 2.2
    with pytest.raises(ValueError, match="fits failed"):
        ResponseSurfaceSearchCV(Bowl(fails_above=0.0), ["a"], cv=2).fit(X, Y)


def test_max_iter_warns():
    def wavy(model, X, y):
        return -(abs(np.log10(model.a) - 0.33) ** 0.5)

    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        ResponseSurfaceSearchCV(Bowl(), ["a"], cv=2, scoring=wavy, tol=1e-6, max_iter=1).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"factors": []}, "factors"),
        ({"factors": "C"}, "factors"),
        ({"factors": ["C", "C"]}, "factors"),
        ({"factors": ["nothing"]}, "nothing"),
        ({"factors": {"C": (1.0,)}}, "'C'"),
        ({"factors": {"C": (2.0, 1.0)}}, "'C'"),
        ({"factors": {"C": (0.0, 1.0)}}, "'C'"),
        ({"factors": {"C": (1.0, 20.0, 10.0)}}, "'C'"),
        ({"factors": {"C": (1.0, 1.0)}}, "'C'"),
        ({"bounds": (2.0, 10.0)}, "bounds"),
        ({"bounds": (0.5,)}, "bounds"),
        ({"delta": 0.0}, "delta"),
        ({"order": 3}, "order"),
        ({"tol": -1.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"subsample": 1.5}, "subsample"),
        ({"share_kernels": "yes"}, "share_kernels"),
    ],
)
def test_bad_parameters_are_named(options, word):
    with pytest.raises(ValueError, match=word):
        ResponseSurfaceSearchCV(SVC(), **{"factors": ["C"], **options}).fit(X, Y)


def test_clone_and_progress(capsys):
    search = ResponseSurfaceSearchCV(Bowl(), {"a": (0.1, 10.0)}, cv=2, verbose=1)
    assert clone(search).get_params()["estimator__a"] == 1.0
    search.fit(X, Y)
    assert "ResponseSurfaceSearchCV" in capsys.readouterr().out
    assert not {"_data", "_extra"} & set(vars(search))
