"""`MKLRegressor` with several targets: one kernel for all or one for each, and the shapes that scikit-learn expects."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, combiners, load, save
from kernelweave.combiners import (
    AlignmentWeights,
    BestSingle,
    BinaryMKL,
    Combiner,
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
)
from kernelweave.kernels import Gaussian, Linear, Precomputed
from kernelweave.machines import DualTerms, RegressionLoss

rng = np.random.default_rng(0)
N = 50
X = rng.normal(size=(N, 5))
NEW = rng.normal(size=(9, 5))
Y = pd.DataFrame(
    {
        "wave": np.sin(X[:, 0]) + 0.1 * rng.normal(size=N),
        "saddle": X[:, 2] * X[:, 3] + 0.1 * rng.normal(size=N),
        "slope": X[:, 1] + 0.2 * rng.normal(size=N),
    }
)
KERNELS = [("left", Gaussian([0, 1], scale=1.5)), ("right", Gaussian([2, 3], scale=1.5)), ("line", Linear())]
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
    BinaryMKL(2),
    GroupMKL({"both": ["left", "right"]}),
    LinearMKL("alignment"),
    KernelDifference("square"),
    PolynomialMKL(),
    GeneralizedMKL(strength=0.1),
    Localized(l2=0.01),
    Localized(validation_fraction=0.3, l2=0.01),
    Projected(1, Softmax(), init="lda"),
]


def model(combiner=None, **options):
    return MKLRegressor(KERNELS, combiner, **{"C": 3.0, "tol": 1e-6, "random_state": 0, **options})


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
    from kernelweave.machines import least_squares

    calls = []
    factorise = least_squares.cho_factor
    monkeypatch.setattr(least_squares, "cho_factor", lambda *args, **kw: calls.append(1) or factorise(*args, **kw))
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


def test_the_kind_of_kernel_weights_follows_the_dimensions_of_y():
    own = model(ConvexMKL(), weights="per-target")
    assert isinstance(own.fit(X, Y["wave"]).kernel_weights_, pd.Series)
    plain = own.kernel_weights_
    assert own.fit(X, Y[["wave"]]).kernel_weights_.shape == (1, 3)
    np.testing.assert_allclose(own.kernel_weights_.loc["wave"], plain, atol=1e-6)
    assert own.predict(NEW).shape == (9, 1)


def test_a_second_fit_to_one_target_forgets_the_names():
    fitted = model().fit(X, Y)
    assert fitted.fit(X, Y["wave"]).predict(NEW).shape == (9,) and not hasattr(fitted, "target_names_")
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(X, Y.replace(Y.iloc[0, 0], np.nan))
    assert not hasattr(fitted, "target_names_") and fitted.predict(NEW).shape == (9,)


@pytest.mark.parametrize(
    ("y", "names"),
    [
        (Y, ["wave", "saddle", "slope"]),
        (Y.to_numpy(), [0, 1, 2]),
        (Y.to_numpy().tolist(), [0, 1, 2]),
        (np.asfortranarray(Y.to_numpy(), dtype=np.float32), [0, 1, 2]),
        (pl.DataFrame({name: Y[name].to_numpy() for name in Y}), ["wave", "saddle", "slope"]),
        (Y.set_axis([5, 6, 7], axis=1), [5, 6, 7]),
        (Y.convert_dtypes(), ["wave", "saddle", "slope"]),
        (Y.astype(object), ["wave", "saddle", "slope"]),
        (
            Y.set_axis(pd.MultiIndex.from_product([["lab"], list("abc")]), axis=1),
            [("lab", "a"), ("lab", "b"), ("lab", "c")],
        ),
    ],
    ids=["frame", "array", "lists", "float32", "polars", "numbered", "nullable", "objects", "levels"],
)
def test_kinds_of_y(y, names, tmp_path):
    fitted, expected = model(ConvexMKL()).fit(X, y), model(ConvexMKL()).fit(X, Y)
    assert fitted.target_names_ == names
    assert type(fitted.predict(NEW)) is np.ndarray
    np.testing.assert_allclose(fitted.predict(NEW), expected.predict(NEW), atol=1e-3)
    own = model(ConvexMKL(), weights="per-target").fit(X, y)
    assert list(own.kernel_weights_.index) == names and own.kernel_weights(NEW).shape == (9, 9)
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.target_names_ == names
    np.testing.assert_array_equal(again.predict(NEW), fitted.predict(NEW))


def test_mixed_columns_and_whole_numbers():
    y = pd.DataFrame({"flag": Y["wave"] > 0, "count": np.arange(N), "value": Y["slope"]})
    fitted = model().fit(X, y)
    np.testing.assert_allclose(fitted.predict(NEW), model().fit(X, y.astype(float)).predict(NEW))


X_LABELS = [f"p{i}" for i in range(N)]


def hole(value, column="saddle"):
    y = Y.copy()
    y.loc[7, column] = value
    return y


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (hole(np.nan), "Input y contains NaN: target 'saddle' of sample 7"),
        (hole(-np.inf, "slope"), "Input y contains infinity: target 'slope' of sample 7"),
        (hole(np.nan).set_axis(X_LABELS), "target 'saddle' of sample 'p7';"),
        (Y.shift(3).set_axis(X_LABELS), "target 'wave' of sample 'p0' and 2 more;"),
        (hole(np.nan).to_numpy(), "Input y contains NaN: target 1 of sample 7;"),
        (hole(pd.NA).convert_dtypes(), "Input y contains NaN: target 'saddle' of sample 7"),
        (Y.assign(slope="steep"), "y of a regression must be numbers, but target 'slope' is not"),
        (Y.assign(slope=pd.Timestamp("2020-01-01")), "dates or time spans"),
        ([[day] for day in pd.date_range("2020-01-01", periods=N)], "dates or time spans"),
        (np.empty((N, 0)), "no columns"),
        (Y[["wave", "slope", "wave"]], "several columns of the name 'wave'"),
        (Y.iloc[:-1], "inconsistent numbers of samples: 50 and 49"),
        (Y.to_numpy()[:, :, None], "dim"),
        (np.ma.masked_greater(Y.to_numpy(), 1.0), "y is masked|y of a regression is masked"),
        ([[1.0], [2.0, 3.0]] * (N // 2), "inhomogeneous|sequence"),
    ],
)
def test_bad_targets(y, message):
    with pytest.raises(ValueError, match=message):
        model().fit(X, y)


def test_sparse_targets():
    with pytest.raises((TypeError, ValueError), match="[Ss]parse"):
        model().fit(X, sp.csr_matrix(Y.to_numpy()))


def test_rows_in_another_order_are_refused():
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(N)])
    with pytest.raises(ValueError, match="another order"):
        MKLRegressor().fit(frame, Y.set_index(frame.index).iloc[::-1])


def test_classifiers_and_detectors_keep_one_target():
    with pytest.raises(ValueError):
        MKLClassifier().fit(X, (Y > 0).to_numpy())
    assert MKLOneClass().fit(X, Y) is not None  # y is ignored


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


def test_a_target_that_only_left_out_samples_lack_is_still_an_error():
    with pytest.raises(ValueError, match="target 'saddle' of sample 7"):
        model().fit(X, hole(np.nan), sample_weight=np.arange(N) != 7)


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_do_not_change_the_result(machine):
    one, two = (model(LpMKL(), machine=machine, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


@pytest.mark.parametrize("weights", ["shared", "per-target"])
def test_gates_are_labelled_by_target(weights):
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(N)])
    fitted = MKLRegressor(KERNELS, Localized(l2=0.01), C=3.0, weights=weights, random_state=0).fit(frame, Y.to_numpy())
    summary = fitted.gating_summary_
    if weights == "shared":
        values = fitted.local_values(frame)
        assert values.columns[0] == (0, "left") and values.shape == (N, 9) and values.index[3] == "s3"
        gates = fitted.gates(frame)
        for place in range(3):
            parts = ((values[place] - fitted.intercept_[place]) * gates).sum(axis=1) + fitted.intercept_[place]
            np.testing.assert_allclose(parts, fitted.predict(frame)[:, place], atol=1e-8)
        assert "output" not in summary
    else:
        assert fitted.kernel_weights(frame).columns[4] == (1, "right")
        assert summary["output"].unique().tolist() == [0, 1, 2]
    assert set(fitted.gating_summary(frame)["kernel"]) == {"left", "right", "line"}


def test_fetched_views():
    frame = pd.DataFrame(X, columns=["a__0", "a__1", "b__0", "b__1", "c__0"])
    kernels, gates = [Linear("a"), Gaussian("b")], Localized(inputs=["c"], l2=0.01)
    fitted = MKLRegressor(kernels, gates, C=3.0, random_state=0).fit(frame, Y)
    lacking = frame.assign(b__0=np.nan, b__1=np.nan)
    found = fitted.predict(lacking, fetch=lambda view, rows: frame[["b__0", "b__1"]].iloc[rows])
    np.testing.assert_allclose(found, fitted.predict(frame), atol=1e-10)


def test_missing_views_and_precomputed_kernels():
    holes = X.copy()
    holes[3::7, 2:] = np.nan
    kernels = [Gaussian([0, 1], scale=1.5), Gaussian([2, 3, 4], scale=1.5)]
    fitted = MKLRegressor(kernels, ConvexMKL(), tol=1e-6).fit(holes, Y)
    alone = MKLRegressor(kernels, FixedWeights(fitted.kernel_weights_.to_dict()), tol=1e-6).fit(holes, Y["slope"])
    np.testing.assert_allclose(fitted.predict(holes)[:, 2], alone.predict(holes), atol=1e-3)
    ids = np.arange(N + 9)[:, None]
    both = np.vstack([X, NEW])
    given = MKLRegressor([Precomputed(both @ both.T)], tol=1e-6).fit(ids[:N], Y)
    plain = MKLRegressor([Linear()], tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(given.predict(ids[N:]), plain.predict(NEW), atol=1e-6)


def test_ecosystem():
    fitted = model(ConvexMKL()).fit(X, Y)
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.predict(NEW), fitted.predict(NEW))
    np.testing.assert_array_equal(clone(fitted).fit(X, Y).dual_coef_, fitted.dual_coef_)
    search = GridSearchCV(model(ConvexMKL(), tol=1e-3), {"C": [0.1, 3.0], "weights": ["shared", "per-target"]}, cv=3)
    assert search.fit(X, Y).predict(NEW).shape == (9, 3) and search.best_params_["C"] == 3.0
    assert cross_val_predict(model(tol=1e-3), X, Y, cv=3).shape == (N, 3)
    assert np.isfinite(cross_val_score(model(tol=1e-3), X, Y, cv=3)).all()
    assert make_pipeline(StandardScaler(), MKLRegressor()).fit(X, Y).predict(NEW).shape == (9, 3)
    separate = MultiOutputRegressor(model(ConvexMKL())).fit(X, Y)
    own = model(ConvexMKL(), weights="per-target").fit(X, Y)
    np.testing.assert_allclose(separate.predict(NEW), own.predict(NEW), atol=1e-3)


def test_targets_on_different_scales():
    """As the docstring advises: targets of any scale and place, brought to one and back."""
    wide = Y * [1.0, 1e4, 1e-3] + [0.0, -50.0, 7.0]
    scaled = TransformedTargetRegressor(model(ConvexMKL()), transformer=StandardScaler())
    found, expected = scaled.fit(X, wide).predict(NEW), clone(scaled).fit(X, Y).predict(NEW)
    np.testing.assert_allclose((found - [0.0, -50.0, 7.0]) / [1.0, 1e4, 1e-3], expected, atol=1e-3)
    weights = model(ConvexMKL(), machine="least-squares").fit(X, wide).kernel_weights_
    assert weights["right"] > 0.95  # without it the largest target decides


def test_bad_weights_parameter():
    with pytest.raises(ValueError, match='weights of MKLRegressor must be "shared"'):
        model(weights="per-class").fit(X, Y)


def test_several_targets_of_one_constant():
    fitted = model().fit(X, Y.assign(saddle=2.5))
    np.testing.assert_allclose(fitted.predict(NEW)[:, 1], 2.5, atol=0.11)
    nothing = model().fit(X, np.full((N, 2), 4.0))
    assert len(nothing.support_) == 0 and nothing.dual_coef_.shape == (2, 0)
    np.testing.assert_allclose(nothing.predict(NEW), np.full((9, 2), 4.0), atol=0.11)


@pytest.mark.parametrize("weights", ["shared", "per-target"])
@pytest.mark.parametrize("combiner", [ConvexMKL(), Localized(l2=0.01)])
def test_contributions_add_up_to_each_target(combiner, weights):
    fitted = model(combiner, weights=weights, tol=1e-3).fit(X, Y)
    parts = fitted.contributions(NEW)
    assert parts.columns[0] == ("wave", "left") and parts.shape == (9, 12)
    for place, name in enumerate(Y):
        np.testing.assert_allclose(parts[name].sum(axis=1), fitted.predict(NEW)[:, place], atol=1e-10)
