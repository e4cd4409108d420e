"""`MKLSurvival`: conventions, combiners in each storage, hazards, strata, weights, missing views, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from kernelweave import MKLSurvival, config_context, load, save
from kernelweave.combiners import (
    AlignmentWeights,
    BestSingle,
    ConvexMKL,
    CorrelationWeights,
    EasyMKL,
    InstanceGate,
    Localized,
    LpMKL,
    Mean,
    PolynomialMKL,
    Product,
    Projected,
)
from kernelweave.kernels import Gaussian, Linear
from kernelweave.survival import concordance, outcome

KERNELS = [Linear("a"), Gaussian("b"), Gaussian("c")]
N = 120


def cohort(n=N, seed=0):
    """Three views, of which the first two have the risk and the third has none."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 6)), columns=["a__0", "a__1", "b__0", "b__1", "c__0", "c__1"])
    time = rng.exponential(np.exp(-1.5 * X["a__0"] - X["b__1"] ** 2))
    seen = rng.exponential(1.0, size=n)
    return X, outcome(np.ceil(20.0 * np.minimum(time, seen)), time <= seen)


X, Y = cohort()


@pytest.mark.parametrize("loss", ["cox", "ranking"])
@pytest.mark.parametrize(
    "combiner",
    [
        Mean(),
        ConvexMKL(),
        LpMKL(),
        Product(),
        PolynomialMKL(),
        BestSingle(cv=3),
        Localized(l2=0.1),
        Localized(gating=InstanceGate(), l2=0.1),
        Projected(n_components=1),
    ],
    ids=lambda combiner: str(combiner)[:30],
)
def test_combiners_find_the_same_on_matrices_and_in_tiles(combiner, loss):
    model = MKLSurvival(KERNELS, combiner, loss=loss, C=0.5, tol=1e-4, dtype="float64", random_state=0)
    dense, tiles = (clone(model).set_params(storage=storage).fit(X, Y) for storage in ("dense", "lazy"))
    size = abs(dense.objective_)
    assert dense.duality_gap_ <= 2e-3 * size and tiles.objective_ == pytest.approx(dense.objective_, rel=2e-3)
    np.testing.assert_allclose(tiles.predict(X), dense.predict(X), atol=0.1)
    assert dense.score(X, Y) > 0.7 and dense.intercept_ == [0.0]
    parts = dense.contributions(X) if dense._kernel.is_sum else pd.DataFrame(dense.predict(X))
    np.testing.assert_allclose(parts.sum(axis=1), dense.predict(X), atol=1e-9)


def test_learned_weights_leave_out_the_view_without_risk():
    weights = MKLSurvival(KERNELS, ConvexMKL(), C=0.3).fit(*cohort(300)).kernel_weights_
    assert weights["c"] < 0.1 and weights.sum() == pytest.approx(1.0)


def test_weights_minimise_the_optimum():
    """dJ/d eta_m of the solved machine, which is -1/2 q_m, is the same for all kernels of positive weight."""
    model = MKLSurvival(KERNELS, ConvexMKL(), C=0.3, tol=1e-6)
    kernel = model.fit_kernel(X, Y)
    c = kernel.solution.coef[:, 0]
    forms = np.array([c @ _gram(m) @ c for m in range(3)])
    used = kernel.weights() > 0.01
    assert np.ptp(forms[used]) <= 1e-2 * forms.max() and forms.max() == pytest.approx(forms[used].max(), rel=1e-2)


def _gram(m):
    K = clone(KERNELS[m]).fit(X).gram(X)
    root = np.sqrt(K.diagonal())
    return K / root / root[:, None]


def test_conventions_of_scikit_learn():
    model = MKLSurvival(KERNELS, C=0.1)
    search = GridSearchCV(model, {"C": [1e-3, 0.1], "combiner": [Mean(), LpMKL()]}, cv=3).fit(X, Y)
    assert 0.5 < search.best_score_ < 1.0 and search.score(X, Y) == concordance(Y, search.predict(X))
    assert (cross_val_score(MKLSurvival([Linear([0, 1]), Gaussian([2, 3])]), X.to_numpy(), Y, cv=3) > 0.6).all()
    assert clone(model).get_params()["C"] == 0.1 and model.fit(X, Y) is model
    frame = pd.DataFrame({"time": Y["time"], "event": Y["event"]}, index=X.index)
    np.testing.assert_array_equal(clone(model).fit(X, frame).predict(X), model.predict(X))
    with pytest.raises(ValueError, match="row label"):
        clone(model).fit(X, frame.iloc[::-1])


def test_survival_functions():
    model = MKLSurvival(KERNELS, C=0.1).fit(X, Y)
    times = np.array([-1.0, 0.0, 3.0, 10.0, 1e9])
    S, H = model.predict_survival_function(X, times), model.predict_cumulative_hazard(X, times)
    assert S.shape == H.shape == (N, 5) and (S[:, 0] == 1.0).all()
    np.testing.assert_allclose(S, np.exp(-H))
    assert (np.diff(S, axis=1) <= 0.0).all() and (S >= 0.0).all()
    risks = model.predict(X)
    assert (np.diff(S[np.argsort(risks), 3]) <= 1e-12).all()  # the larger the risk, the smaller the survival
    assert model.predict_survival_function(X).shape == (N, len(model.event_times_))
    np.testing.assert_array_equal(model.event_times_, np.unique(Y["time"][Y["event"]]))
    # expected events of the training samples are those observed: a property of Breslow's estimator
    fitted = MKLSurvival(KERNELS, C=0.1, ties="breslow").fit(X, Y)
    own = fitted.predict_cumulative_hazard(X, Y["time"])[np.arange(N), np.arange(N)]
    assert own.sum() == pytest.approx(Y["event"].sum(), rel=1e-9)
    with pytest.raises(ValueError, match='use loss="cox"'):
        MKLSurvival(KERNELS, loss="ranking").fit(X, Y).predict_survival_function(X)
    with pytest.raises(ValueError, match="finite"):
        model.predict_survival_function(X, [np.nan])


def test_survival_functions_are_those_of_scikit_survival():
    sksurv = pytest.importorskip("sksurv.linear_model")
    A = X[["a__0", "a__1"]].to_numpy()
    model = MKLSurvival([Linear()], C=2.0, ties="breslow", normalize=None, tol=1e-10).fit(A, Y)
    other = sksurv.CoxPHSurvivalAnalysis(alpha=1.0 / 2.0, ties="breslow", tol=1e-12).fit(A, Y)
    times = np.array([1.0, 5.0, 20.0])
    expected = np.array([each(times) for each in other.predict_survival_function(A)])
    np.testing.assert_allclose(model.predict_survival_function(A, times), expected, atol=1e-5)


def test_strata_have_hazards_of_their_own_and_are_not_compared():
    hospital = np.where(np.arange(N) % 3 == 0, "north", "south")
    slow = Y.copy()
    slow["time"][hospital == "north"] *= 1000.0  # of no effect within strata
    model = MKLSurvival(KERNELS, C=0.1)
    plain, scaled = (clone(model).fit(X, y, strata=hospital) for y in (Y, slow))
    np.testing.assert_allclose(plain.predict(X), scaled.predict(X))
    assert plain.baseline_hazard_.shape == (2, len(plain.event_times_)) and list(plain.strata_) == ["north", "south"]
    assert not np.allclose(plain.predict(X), clone(model).fit(X, slow).predict(X))
    S = plain.predict_survival_function(X, [5.0], strata=hospital)
    np.testing.assert_allclose(S[:3], plain.predict_survival_function(X[:3], [5.0], strata=hospital[:3]))
    assert plain.predict_survival_function(X[:2], [5.0], strata="south").shape == (2, 1)
    for strata, message in ((None, "give those of X"), ("east", "was not there in training")):
        with pytest.raises(ValueError, match=message):
            plain.predict_survival_function(X, [5.0], strata=strata)
    with pytest.raises(ValueError, match="without"):
        clone(model).fit(X, Y).predict_survival_function(X, strata="south")
    with pytest.raises(ValueError, match="sample 1 is missing"):
        clone(model).fit(X, Y, strata=["a", None] + ["a"] * (N - 2))


@pytest.mark.parametrize(
    "labels", [(True, False), (2, 1), (0.5, np.inf), ("b", "a"), (1, "a"), pd.array([2, 1]), np.int16([7, 8])], ids=str
)
def test_strata_of_any_type_are_saved(labels, tmp_path):
    strata = np.array([*labels] * (N // 2), dtype=object)
    model = MKLSurvival(KERNELS, C=0.1).fit(X, Y, strata=strata)
    save(model, tmp_path / "model.kw")
    again = load(tmp_path / "model.kw")
    found = again.predict_survival_function(X, [5.0], strata=strata)
    np.testing.assert_array_equal(found, model.predict_survival_function(X, [5.0], strata=strata))
    np.testing.assert_allclose(found[:1], again.predict_survival_function(X[:1], [5.0], strata=labels[0]))
    text = np.array([str(label) for label in strata])
    named = clone(model).fit(X, Y, strata=text).predict_survival_function(X, [5.0], strata=text)
    np.testing.assert_allclose(found, named, rtol=1e-12)


def test_bad_strata_are_one_clear_error():
    model = MKLSurvival(KERNELS, C=0.1)
    for strata, message in (
        ("a", "one label for each of 120 samples"),
        (["a"] * 5, "one label for each of 120 samples"),
        (np.zeros((N, 1)), "one label for each of 120 samples"),
        (np.ma.masked_array(np.zeros(N), np.arange(N) == 2), "masked at 2"),
        (pd.to_datetime(["2020-01-01"] * N), "numbers or text"),
        ([b"a"] * N, "numbers or text"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, Y, strata=strata)
    model.fit(X, Y, strata=np.arange(N) % 2)
    for strata, message in (
        ([0, 1], "one for each of 120 samples"),
        (np.zeros((N, 1)), "one for each of 120 samples"),
        (pd.Series(0, index=X.index[::-1]), "row label"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict_survival_function(X, [5.0], strata=strata)


def test_a_stratum_of_weight_0_was_not_there():
    """Its hazard is not known: one of 0 would say that nobody has the event."""
    hospital = np.where(np.arange(N) % 3 == 0, "north", "south")
    for options in ({}, {"loss": "ranking"}, {"approximation": "nystroem"}):
        model = MKLSurvival(KERNELS, C=0.1, **options)
        model.fit(X, Y, sample_weight=np.where(hospital == "north", 0.0, 1.0), strata=hospital)
        assert list(model.strata_) == ["south"]
    assert model.baseline_hazard_.shape == (1, len(model.event_times_))
    with pytest.raises(ValueError, match="'north' was not there in training"):
        model.predict_survival_function(X, [5.0], strata=hospital)


def test_the_kernel_of_all_samples():
    hospital = np.arange(N) % 3
    model = MKLSurvival(KERNELS, C=0.1)
    fitted = clone(model).fit(X, Y, strata=hospital)
    kernel = model.fit_kernel(X, pd.DataFrame({"time": Y["time"], "event": Y["event"]}), strata=hospital)
    np.testing.assert_allclose(kernel.gram() @ kernel.solution.coef[:, 0], fitted.predict(X), atol=1e-9)
    with pytest.raises(ValueError, match=r"outcome\(time, event\)"):
        clone(model).fit_kernel(X, Y["time"])
    with pytest.raises(ValueError, match=r"outcome\(time, event\)"):
        clone(model).fit_kernel(X, None)


def test_hazards_are_those_of_the_fit_whatever_is_set_afterwards():
    cox, ranking = (MKLSurvival(KERNELS, loss=loss, C=0.1).fit(X, Y) for loss in ("cox", "ranking"))
    before = cox.predict_survival_function(X, [5.0])
    np.testing.assert_array_equal(cox.set_params(loss="ranking").predict_survival_function(X, [5.0]), before)
    with pytest.raises(ValueError, match='use loss="cox"'):
        ranking.set_params(loss="cox").predict_survival_function(X, [5.0])


def test_a_sample_of_weight_0_is_left_out():
    weight = np.ones(N)
    weight[:5] = 0.0
    model = MKLSurvival(KERNELS, C=0.1)
    left_out, without = clone(model).fit(X, Y, sample_weight=weight), clone(model).fit(X[5:], Y[5:])
    np.testing.assert_allclose(left_out.predict(X), without.predict(X))
    np.testing.assert_allclose(left_out.baseline_hazard_, without.baseline_hazard_)
    only = np.where(Y["event"], 0.0, 1.0)
    with pytest.raises(ValueError, match="censored"):
        clone(model).fit(X, Y, sample_weight=only)


@pytest.mark.parametrize("missing", ["native", "complete"])
def test_missing_views(missing):
    masked = X.copy()
    masked.iloc[::4, 2:4] = np.nan
    for combiner in (Mean(), LpMKL()):
        model = MKLSurvival(KERNELS, combiner, C=0.1, missing=missing).fit(masked, Y)
        assert model.score(masked, Y) > 0.6
        if missing == "native":
            assert (model.contributions(masked)["b"].iloc[::4] == 0.0).all()


def test_saved_models_predict_the_same(tmp_path):
    hospital = np.where(np.arange(N) % 3 == 0, "north", "south")
    for loss, combiner, strata in (("cox", LpMKL(), hospital), ("ranking", Localized(l2=0.1), None)):
        model = MKLSurvival(KERNELS, combiner, loss=loss, C=0.1, random_state=0).fit(X, Y, strata=strata)
        save(model, tmp_path / "model.kw")
        again = load(tmp_path / "model.kw")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        if loss == "cox":
            given = {"times": [1.0, 4.0], "strata": hospital}
            found = again.predict_survival_function(X, **given)
            np.testing.assert_array_equal(found, model.predict_survival_function(X, **given))


@pytest.mark.parametrize(
    "name, change, message",
    [
        ("baseline_hazard_", lambda old: -old, "less than 0"),
        ("baseline_hazard_", lambda old: old[:, ::-1].copy(), "decreases"),
        ("baseline_hazard_", lambda old: np.full_like(old, np.nan), "NaN"),
        ("baseline_hazard_", lambda old: np.vstack([old, old]), "length 2"),
        ("event_times_", lambda old: old[::-1].copy(), "ascending"),
        ("event_times_", lambda old: old[:0], "empty"),
        ("event_times_", None, "without the other"),
        ("baseline_hazard_", None, "without the other"),
        ("strata_", lambda old: pd.Index(["a", "b"]), "length"),
    ],
)
def test_forged_hazards_are_refused(name, change, message, tmp_path):
    model = MKLSurvival(KERNELS, C=0.1).fit(X, Y)
    if change is None:
        delattr(model, name)
    else:
        setattr(model, name, change(getattr(model, name, None)))
    save(model, tmp_path / "model.kw")
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "model.kw")


def test_what_needs_whole_matrices_becomes_tiles_where_they_are_large():
    with config_context(dense_bytes=1000):
        assert MKLSurvival(KERNELS, C=0.1).fit(X, Y).storage_ == "lazy"


@pytest.mark.parametrize("combiner", [AlignmentWeights(), CorrelationWeights(), EasyMKL()])
def test_combiners_that_read_targets_are_refused_with_the_remedy(combiner):
    model = MKLSurvival(KERNELS, combiner)
    with pytest.raises(ValueError, match=r"(?s)(censoring|classes).*(ConvexMKL|LpMKL)"):
        model.fit(X, Y)
    assert not hasattr(model, "intercept_")


def test_bad_input_is_one_clear_error():
    model = MKLSurvival(KERNELS)
    censored, negative = Y.copy(), Y.copy()
    censored["event"], negative["time"][3] = False, -1.0
    alone = censored.copy()
    alone["event"][np.argmax(alone["time"])] = True  # the only event comes last
    for y, message in (
        (censored, "censored"),
        (negative, "negative"),
        (alone, "no two samples can be compared"),
        (Y["time"], r"outcome\(time, event\)"),
        (None, r"outcome\(time, event\)"),
        (Y[:5], "samples"),
        (pd.DataFrame({"entry": 0.0, "time": Y["time"], "event": Y["event"]}), "left truncation"),
        (pd.DataFrame({"time": pd.Timestamp("2020-01-01"), "event": Y["event"]}), "dates"),
        (pd.DataFrame({"time": Y["time"], "event": np.where(Y["event"], 2, 1)}), "== 2"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, y)
    for name, value in (("loss", "hinge"), ("C", 0.0), ("ties", "exact")):
        with pytest.raises(ValueError, match=name):
            clone(model).set_params(**{name: value}).fit(X, Y)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_where_no_held_out_samples_can_be_compared_gates_are_equal(approximation):
    one = outcome(np.arange(1.0, N + 1.0), np.arange(N) == 0)
    model = MKLSurvival(KERNELS, Localized(), C=0.1, approximation=approximation, random_state=0)
    with pytest.warns(UserWarning, match="no reason to weigh kernels differently"):
        model.fit(X, one)
    np.testing.assert_allclose(model.kernel_weights_, 1 / 3, atol=1e-3)


def test_one_event_is_enough_and_ties_of_everything_teach_nothing():
    one = outcome(np.arange(1.0, N + 1.0), np.arange(N) == 0)
    model = MKLSurvival(KERNELS, C=0.1).fit(X, one)
    assert model.predict(X).argmax() == 0 and len(model.event_times_) == 1
    tied, all_tied = (outcome(np.ones(N), event) for event in (np.arange(N) % 2 == 0, np.ones(N)))
    for y, loss in ((tied, "ranking"), (all_tied, "ranking"), (all_tied, "cox")):
        with pytest.raises(ValueError, match="no two samples can be compared"):
            MKLSurvival(KERNELS, loss=loss).fit(X, y)


def test_cases_and_controls_of_one_time_are_conditional_logistic_regression():
    """One case in each set of four: the likelihood is that of who it is, as in R's ``clogit``."""
    A, sets = X[["a__0", "a__1"]].to_numpy(), np.arange(N) // 4
    case = np.arange(N) % 4 == 0
    model = MKLSurvival([Linear()], C=2.0, normalize=None, tol=1e-10).fit(A, outcome(np.ones(N), case), strata=sets)

    def objective(w):
        f = (A @ w).reshape(-1, 4)
        return 0.5 * w @ w + 2.0 * float((np.log(np.exp(f).sum(axis=1)) - f[:, 0]).sum())

    w = minimize(objective, np.zeros(2), options={"gtol": 1e-9}).x
    np.testing.assert_allclose(model.predict(A), A @ w, atol=1e-5)


# Explicit features


@pytest.mark.parametrize("loss", ["cox", "ranking"])
@pytest.mark.parametrize(
    "combiner",
    [Mean(), ConvexMKL(), BestSingle(cv=3), Localized(l2=0.1), Localized(), Projected(n_components=1)],
    ids=lambda combiner: str(combiner)[:30],
)
def test_explicit_features_find_what_exact_kernels_find(combiner, loss):
    """As many landmarks as samples: the features are exact, so that the optimum of convex problems is the same."""
    model = MKLSurvival(KERNELS, combiner, loss=loss, C=0.5, random_state=0)
    exact, found = clone(model).fit(X, Y), clone(model).set_params(approximation="nystroem").fit(X, Y)
    local = isinstance(combiner, Localized | Projected)
    assert found.duality_gap_ <= 2e-3 * abs(found.objective_)
    assert found.objective_ == pytest.approx(exact.objective_, rel=0.1 if local else 3e-3)
    assert found.score(X, Y) == pytest.approx(exact.score(X, Y), abs=0.03 if local else 5e-3)
    if loss == "cox":
        times = np.quantile(Y["time"], [0.25, 0.75])
        given = found.predict_survival_function(X, times), exact.predict_survival_function(X, times)
        np.testing.assert_allclose(*given, atol=0.2 if local else 0.02)


@pytest.mark.parametrize("missing", ["native", "complete"])
def test_explicit_features_of_missing_views(missing):
    masked = X.copy()
    masked.iloc[::4, 2:4] = np.nan
    model = MKLSurvival(KERNELS, LpMKL(), C=0.3, missing=missing)
    exact, found = model.fit(masked, Y), clone(model).set_params(approximation="nystroem").fit(masked, Y)
    np.testing.assert_allclose(found.predict(masked), exact.predict(masked), atol=0.1)


def test_gradients_of_features_are_those_of_the_objective():
    """By weight vectors and gates, through scores that are gathered and slopes that are scattered."""
    from kernelweave.engines.coupled import CoupledPrimal
    from kernelweave.engines.memory import Block, InMemory, StoredFeatures
    from kernelweave.machines import DualTerms, SurvivalMachine

    class Amplitudes:  # a_m = exp(theta_m x), of the codes x
        n_parameters = 2

        def values(self, theta, block, rows):
            return np.exp(block.codes[rows] * theta)

        def pullback(self, theta, block, rows, amplitudes, slopes):
            return (block.codes[rows] * amplitudes * slopes).sum(axis=0)

    rng = np.random.default_rng(0)
    F, codes, time, event = rng.standard_normal((N, 5)), rng.standard_normal((N, 1)), Y["time"], Y["event"]
    blocks = []
    for first in (0, 50):
        own = slice(first, first + 50 if first == 0 else N)
        zeros = np.zeros((own.stop - own.start, 1))
        features = StoredFeatures(F[own], np.array([0, 3, 5]))
        given = DualTerms(zeros, zeros, zeros), None, np.ones(len(zeros))
        blocks.append(Block(first, features, *given, codes=codes[own]))
    for loss in ("cox", "ranking"):
        machine = SurvivalMachine(time, event, 2.0, loss=loss)
        primal = CoupledPrimal(InMemory(blocks), Amplitudes(), 5, machine)
        position, h = 0.3 * rng.standard_normal(5 + 1 + 2), 1e-6
        value, gradient, _ = primal(position)
        steps = [(primal(position + h * e)[0] - primal(position - h * e)[0]) / (2 * h) for e in np.eye(8)]
        np.testing.assert_allclose(gradient, steps, atol=1e-5 * max(1.0, np.abs(gradient).max()))


def test_files_are_read_in_blocks_and_what_cannot_be_is_refused_by_name(tmp_path):
    from kernelweave import open_views

    np.save(tmp_path / "all.npy", X.to_numpy())
    table = open_views({"all": tmp_path / "all.npy"})
    kernels = [Gaussian("all")]
    model = MKLSurvival(kernels, C=0.3, approximation="nystroem").fit(table, Y)
    assert model.score(table, Y) > 0.6
    exact = MKLSurvival(kernels, C=0.3).fit(table, Y)
    np.testing.assert_allclose(model.predict(table), exact.predict(table), atol=0.05)
    with pytest.raises(ValueError, match="requires y"):
        MKLSurvival(kernels).fit(table)


@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize("combiner", [LpMKL(), ConvexMKL(), Localized(l2=0.1)], ids=lambda each: type(each).__name__)
def test_blocks_of_files_may_be_empty(combiner, storage, tmp_path):
    """All samples of two blocks have the weight 0."""
    from kernelweave import open_views

    np.save(tmp_path / "all.npy", X.to_numpy())
    table = open_views({"all": tmp_path / "all.npy"}, block_size=20)
    weight = np.ones(N)
    weight[:20] = weight[60:80] = 0.0
    given = {"C": 0.3, "approximation": "nystroem", "storage": storage, "dtype": "float64", "random_state": 0}
    model = MKLSurvival([Gaussian("all"), Linear("all")], combiner, **given)
    found, expected = (clone(model).fit(each, Y, sample_weight=weight) for each in (table, table.rows(0, N)))
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-3)
    np.testing.assert_allclose(found.predict(table), expected.predict(table), atol=0.05)


def test_dask_collections_are_refused_by_name(monkeypatch):
    monkeypatch.setattr("kernelweave.estimators.samples.is_dask", lambda X: True)
    with pytest.raises(ValueError, match=r"MKLSurvival compares the scores .* X.compute\(\)"):
        MKLSurvival(KERNELS, approximation="nystroem").fit(X, Y)
