"""`MKLRegressor` with several targets: one kernel for all or one for each, and what each target has then."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from sklearn.svm import SVR

from kernelweave import MKLRegressor, combiners
from kernelweave.combiners import (
    AlignmentWeights,
    BestSingle,
    BinaryMKL,
    Combiner,
    ConvexLocalized,
    ConvexMKL,
    CorrelationWeights,
    ElasticMKL,
    ErrorWeights,
    FixedWeights,
    GeneralizedMKL,
    GroupMKL,
    IdealKernelDistance,
    KernelDifference,
    KLDivergence,
    LinearMKL,
    Localized,
    LpMKL,
    Mean,
    PerOutput,
    PolynomialMKL,
    Product,
    Projected,
    Softmax,
    SparseMKL,
    WidthMKL,
)
from kernelweave.machines import DualTerms, RegressionLoss
from targets_problem import KERNELS, NEW, N, X, Y, model

rng = np.random.default_rng(1)
MACHINES = ["svm", "least-squares", "squared-epsilon-insensitive"]
SHARED = [  # each with an answer for several targets at once
    Mean(),
    FixedWeights([1.0, 2.0, 3.0]),
    Product(),
    BestSingle(cv=3),
    CorrelationWeights(cv=3),
    ErrorWeights(cv=3),
    AlignmentWeights(),
    AlignmentWeights("qcqp"),
    AlignmentWeights("gradient", center=False),
    IdealKernelDistance(),
    KLDivergence(),
    ConvexMKL(),
    LpMKL(),
    ElasticMKL(),
    SparseMKL(),
    WidthMKL(),
    BinaryMKL(2),
    GroupMKL({"both": ["left", "right"]}),
    LinearMKL("alignment"),
    KernelDifference("square"),
    PolynomialMKL(),
    GeneralizedMKL(strength=0.1),
    ConvexLocalized(2),
    Localized(l2=0.01),
    Localized(validation_fraction=0.3, l2=0.01),
    Projected(1, Softmax(), init="lda"),
]


class AbsoluteError(RegressionLoss):
    """A loss of a user's own."""

    def terms(self, y, bound):
        return DualTerms(y, -bound, bound)


def dense(fitted):
    """Coefficients of all training samples, a row for each target."""
    coef = np.zeros((len(fitted.dual_coef_), N))
    coef[:, fitted.support_] = fitted.dual_coef_
    return coef


@pytest.mark.parametrize("machine", [*MACHINES, AbsoluteError()], ids=str)
@pytest.mark.parametrize("normalize", ["unit-diagonal", "center", None])
def test_under_a_given_kernel_each_target_is_its_own_fit(machine, normalize):
    together = model(machine=machine, normalize=normalize).fit(X, Y)
    alone = [model(machine=machine, normalize=normalize).fit(X, Y[name]) for name in Y]
    n_support = len(together.support_)
    assert together.dual_coef_.shape == (3, n_support) and together.intercept_.shape == (3,)
    assert together.predict(NEW).shape == (9, 3) and together.predict(NEW).dtype == np.float64
    np.testing.assert_allclose(dense(together), np.vstack([dense(each) for each in alone]), atol=1e-5)
    np.testing.assert_allclose(together.predict(NEW), np.column_stack([each.predict(NEW) for each in alone]), atol=1e-4)
    assert together.objective_ == pytest.approx(sum(each.objective_ for each in alone), rel=1e-6)
    assert 0.0 <= together.duality_gap_ <= 1e-4 * together.objective_
    np.testing.assert_array_equal(together.support_, np.unique(np.concatenate([each.support_ for each in alone])))
    assert together.score(X, Y) == pytest.approx(np.mean([a.score(X, Y[n]) for a, n in zip(alone, Y, strict=True)]))


def test_support_vectors_of_some_targets_only_have_zeros_for_the_others():
    calm = Y.assign(slope=0.01 * Y["slope"])  # within the tube, so that it has no support vectors
    fitted = model().fit(X, calm)
    assert len(fitted.support_) and not fitted.dual_coef_[2].any() and (fitted.dual_coef_ != 0.0).any(axis=0).all()
    single = SVR(kernel="precomputed", C=3.0, epsilon=0.1, tol=1e-8)
    K = fitted.fit_kernel(X, calm).gram()
    for row, name in zip(dense(fitted)[:2], calm, strict=False):
        single.fit(K, calm[name])
        np.testing.assert_allclose(np.flatnonzero(row), np.sort(single.support_))
        np.testing.assert_allclose(row[single.support_], single.dual_coef_[0], atol=1e-4)


def test_least_squares_is_one_linear_system():
    weight = rng.uniform(0.5, 2.0, N)
    fitted = model(machine="least-squares").fit(X, Y, sample_weight=weight)
    K = model(machine="least-squares").fit_kernel(X, Y).gram()
    system = np.block([[K + np.diag(1.0 / (3.0 * weight)), np.ones((N, 1))], [np.ones((1, N)), np.zeros((1, 1))]])
    exact = np.linalg.solve(system, np.vstack([Y, np.zeros((1, 3))]))
    np.testing.assert_allclose(fitted.dual_coef_, exact[:-1].T, atol=1e-6)
    np.testing.assert_allclose(fitted.intercept_, exact[-1], atol=1e-6)


def test_least_squares_factorises_once_for_all_targets(monkeypatch):
    from kernelweave.machines import regression

    calls = []
    factorise = regression.factorise
    monkeypatch.setattr(regression, "factorise", lambda *args, **kw: calls.append(1) or factorise(*args, **kw))
    model(machine="least-squares").fit(X, np.tile(Y, 7))
    assert len(calls) == 1


def test_the_shared_kernel_minimises_the_sum_over_targets():
    """Against a search over closed forms: J of least squares is 1/2 tr Y'(H^-1 - H^-1 11'H^-1 / 1'H^-1 1)Y."""
    two = [KERNELS[0], KERNELS[1]]
    options = {"C": 3.0, "machine": "least-squares", "tol": 1e-8}
    fitted = MKLRegressor(two, ConvexMKL(), **options).fit(X, Y)
    grams = [MKLRegressor(two, FixedWeights(eta), **options).fit_kernel(X, Y).gram() for eta in np.eye(2)]

    def optimum(eta):
        inverse = np.linalg.inv(eta * grams[0] + (1.0 - eta) * grams[1] + np.eye(N) / 3.0)
        ones = inverse.sum(axis=1)
        return 0.5 * np.trace(Y.T.to_numpy() @ (inverse - np.outer(ones, ones) / ones.sum()) @ Y.to_numpy())

    best = minimize_scalar(optimum, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-8})
    assert 0.1 < best.x < 0.9  # no single target would take both kernels like this
    np.testing.assert_allclose(fitted.kernel_weights_, [best.x, 1.0 - best.x], atol=1e-3)
    assert fitted.objective_ == pytest.approx(best.fun, rel=1e-6)
    assert isinstance(fitted.kernel_weights_, pd.Series)


@pytest.mark.parametrize("machine", MACHINES[:2])
@pytest.mark.parametrize("combiner", SHARED, ids=lambda combiner: str(combiner)[:40])
@pytest.mark.filterwarnings("ignore:.*this model is not localized", "ignore:KernelDifference")
def test_every_combiner_takes_several_targets(combiner, machine):
    fitted = model(combiner, machine=machine, tol=1e-3).fit(X[:24], Y[:24])
    assert fitted.predict(NEW).shape == (9, 3)
    assert isinstance(fitted.kernel_weights_, pd.Series) and fitted.dual_coef_.shape[0] == 3
    assert fitted.duality_gap_ <= 0.02 * abs(fitted.objective_)
    assert fitted.prediction_cost() <= len(fitted.support_)


def test_every_combiner_is_tested():
    public = [getattr(combiners, name) for name in combiners.__all__]
    every = {cls for cls in public if isinstance(cls, type) and issubclass(cls, Combiner)}
    bases = {Combiner, combiners.ChosenWeights, combiners.DescentCombiner, PerOutput}
    of_classes = {combiners.AccuracyWeights, combiners.EasyMKL, combiners.FeatureSpaceMeasure}
    assert every - bases - of_classes == {type(combiner) for combiner in SHARED}


def test_a_combiner_for_one_output_names_the_remedy():
    with pytest.raises(ValueError, match='LinearMKL with criterion="margin".*weights="per-target"'):
        model(LinearMKL()).fit(X, Y)
    assert model(LinearMKL(), weights="per-target").fit(X[:14], Y.iloc[:14, :2]).kernel_weights_.shape == (2, 3)


@pytest.mark.parametrize("machine", MACHINES[:2])
@pytest.mark.parametrize(
    "combiner",
    [
        BestSingle(cv=3),
        CorrelationWeights(cv=3),
        ErrorWeights(cv=3),
        AlignmentWeights(),
        AlignmentWeights("qcqp"),
        IdealKernelDistance(),
        KLDivergence(),
        ConvexMKL(),
        LpMKL(),
        SparseMKL(),
        WidthMKL(),
        PolynomialMKL(tau=0.5),
    ],
    ids=lambda combiner: str(combiner)[:40],
)
def test_equal_targets_have_the_weights_of_one(combiner, machine):
    """J is then q times J of one target, and no weight depends on the factor."""
    one = model(combiner, machine=machine).fit(X, Y["wave"])
    three = model(combiner, machine=machine).fit(X, Y[["wave"] * 3].to_numpy())
    np.testing.assert_allclose(three.kernel_weights_, one.kernel_weights_, atol=2e-3)
    assert three.objective_ == pytest.approx(3.0 * one.objective_, rel=1e-4)
    np.testing.assert_allclose(three.predict(NEW), np.tile(one.predict(NEW)[:, None], 3), atol=5e-3)


def test_weights_by_performance_over_targets():
    fitted = model(CorrelationWeights(cv=3)).fit(X, Y)
    alone = [model(CorrelationWeights(cv=3)).fit(X, Y[name]).combiner_.correlation_ for name in Y]
    np.testing.assert_allclose(fitted.combiner_.correlation_, np.mean(alone, axis=0), atol=1e-4)
    fitted = model(ErrorWeights(cv=3)).fit(X, Y)
    alone = [model(ErrorWeights(cv=3)).fit(X, Y[name]).combiner_.error_ for name in Y]
    np.testing.assert_allclose(fitted.combiner_.error_, np.sum(alone, axis=0), atol=1e-4)


def test_alignment_with_the_mean_of_the_targets_kernels():
    fitted = model(AlignmentWeights(center=False)).fit(X, Y)
    Z = (Y - Y.mean()).to_numpy()
    grams = [model(FixedWeights(eta)).fit_kernel(X, Y).gram() for eta in np.eye(3)]
    expected = [np.vdot(K, Z @ Z.T) / np.linalg.norm(K) / np.linalg.norm(Z @ Z.T) for K in grams]
    np.testing.assert_allclose(fitted.combiner_.alignments_, expected, rtol=1e-6)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    "combiner",
    [ConvexMKL(), LpMKL(), AlignmentWeights("qcqp"), KLDivergence(), GeneralizedMKL(strength=0.1), Product()],
    ids=lambda combiner: str(combiner)[:30],
)
def test_weights_per_target_are_those_of_separate_models(combiner, machine):
    own = model(combiner, machine=machine, weights="per-target", n_jobs=2).fit(X, Y)
    assert own.kernel_weights_.index.tolist() == list(Y) == own.target_names_
    assert own.kernel_weights_.columns.tolist() == ["left", "right", "line"]
    assert isinstance(own.combiner_, PerOutput) and len(own.combiner_.combiners_) == 3
    total = 0.0
    for place, name in enumerate(Y):
        alone = model(combiner, machine=machine).fit(X, Y[name])
        total += alone.objective_
        np.testing.assert_allclose(own.kernel_weights_.loc[name], alone.kernel_weights_, atol=1e-4)
        np.testing.assert_allclose(own.predict(NEW)[:, place], alone.predict(NEW), atol=1e-4)
    assert own.objective_ == pytest.approx(total, rel=1e-6)
    assert own.history_["output"].unique().tolist() == list(Y)


def test_weights_per_target_of_given_weights_are_the_shared_model():
    own, shared = (model(weights=weights).fit(X, Y) for weights in ("per-target", "shared"))
    np.testing.assert_allclose(own.predict(NEW), shared.predict(NEW), atol=1e-6)
    assert own.prediction_cost() == pytest.approx(shared.prediction_cost())


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    "combiner", [Mean(), ConvexMKL(), Localized(l2=0.01), AlignmentWeights(), CorrelationWeights()]
)
def test_one_column_is_one_target(combiner, machine):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        column = model(combiner, machine=machine).fit(X, Y[["wave"]].to_numpy())
    plain = model(combiner, machine=machine).fit(X, Y["wave"].to_numpy())
    np.testing.assert_array_equal(column.dual_coef_, plain.dual_coef_)
    np.testing.assert_array_equal(column.intercept_, plain.intercept_)
    assert column.predict(NEW).shape == (9, 1) and plain.predict(NEW).shape == (9,)
    np.testing.assert_array_equal(column.predict(NEW)[:, 0], plain.predict(NEW))
    assert plain.dual_coef_.shape == (1, len(plain.support_)) and plain.intercept_.shape == (1,)
    assert column.score(X, Y[["wave"]]) == plain.score(X, Y["wave"])


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("weights", ["shared", "per-target"])
def test_sample_weights_are_repetitions(machine, weights):
    weight = rng.integers(0, 4, N)
    options = {"machine": machine, "weights": weights, "tol": 1e-8}
    weighted = model(LpMKL(), **options).fit(X, Y, sample_weight=weight)
    repeated = model(LpMKL(), **options).fit(np.repeat(X, weight, axis=0), np.repeat(Y.to_numpy(), weight, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    np.testing.assert_allclose(weighted.predict(NEW), repeated.predict(NEW), atol=1e-3)
    assert not np.isin(weighted.support_, np.flatnonzero(weight == 0)).any()
    with pytest.raises(ValueError, match="Sample weights must be 1D"):
        model().fit(X, Y, sample_weight=np.ones((N, 3)))


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_do_not_change_the_result(machine):
    one, two = (model(LpMKL(), machine=machine, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_several_targets_of_one_constant():
    fitted = model().fit(X, Y.assign(saddle=2.5))
    np.testing.assert_allclose(fitted.predict(NEW)[:, 1], 2.5, atol=0.11)
    nothing = model().fit(X, np.full((N, 2), 4.0))
    assert len(nothing.support_) == 0 and nothing.dual_coef_.shape == (2, 0)
    np.testing.assert_allclose(nothing.predict(NEW), np.full((9, 2), 4.0), atol=0.11)
