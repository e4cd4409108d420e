import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import ConvexMKL, ElasticMKL, FixedWeights, GroupMKL, LpMKL, Mean, SparseMKL
from kernelweave.kernels import Gaussian, Linear, Polynomial, Precomputed
from kernelweave.solvers.weights import methods

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=(N, 4))
NEW = rng.normal(size=(9, 4))
Y = X[:, 0] + 0.4 * rng.normal(size=N) > 0
VALUE = np.sin(X[:, 0]) + 0.5 * X[:, 1]
KERNELS = [Linear([0, 1]), Gaussian(scale=2.0), Polynomial([2, 3])]
LEARNED = [ConvexMKL(), LpMKL(), ElasticMKL(), GroupMKL([0, 0, 1]), SparseMKL()]


def fitted(combiner, kernels=KERNELS, C=1.0, tol=1e-7, **options):
    return MKLClassifier(kernels, combiner, C=C, tol=tol, **options).fit(X, Y)


@pytest.mark.parametrize("combiner", [ConvexMKL(), LpMKL(), ElasticMKL(), GroupMKL([0]), SparseMKL()])
def test_one_kernel_is_the_plain_machine(combiner):
    model, plain = fitted(combiner, [Gaussian()]), fitted(Mean(), [Gaussian()])
    assert model.kernel_weights_.tolist() == pytest.approx([1.0])
    np.testing.assert_allclose(model.decision_function(NEW), plain.decision_function(NEW), atol=1e-5)


@pytest.mark.parametrize("combiner", [ConvexMKL(costs=3.0), LpMKL(costs=3.0), GroupMKL([0, 0, 1], costs=3.0)])
def test_equal_costs_are_the_plain_problem_at_another_cost(combiner):
    plain = type(combiner)(**{**combiner.get_params(deep=False), "costs": None})
    cheap, dear = fitted(plain, C=2.0 / 9.0), fitted(combiner, C=2.0)
    # Power cones end a little earlier than linear constraints.
    atol = 1e-3 if isinstance(combiner, GroupMKL) else 1e-4
    np.testing.assert_allclose(dear.decision_function(NEW), cheap.decision_function(NEW), atol=atol)
    assert dear.objective_ == pytest.approx(9.0 * cheap.objective_, rel=1e-5)


def test_scaling_a_kernel_and_its_cost_changes_nothing():
    scaled = [Linear([0, 1]), 5.0 * Gaussian(scale=2.0), Polynomial([2, 3])]
    plain = fitted(ConvexMKL(), normalize=None)
    model = fitted(ConvexMKL([1.0, np.sqrt(5.0), 1.0]), scaled, normalize=None)
    np.testing.assert_allclose(model.decision_function(NEW), plain.decision_function(NEW), atol=1e-4)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)


def test_trace_costs_give_the_qcqp_of_lanckriet():
    """Lanckriet: minimise J with sum_m eta_m tr(K_m) = c, here by scaling kernels to trace c."""
    c = 30.0
    gram = [Linear([0, 1]), Gaussian(scale=2.0), Polynomial([2, 3])]
    model = fitted(Mean(), gram, normalize=None)
    traces = np.array([np.trace(kernel.gram(X)) for kernel in model.kernels_])
    by_costs = fitted(ConvexMKL(np.sqrt(traces / c)), gram, normalize=None)
    by_scale = fitted(ConvexMKL(), [(c / t) * k for t, k in zip(traces, gram, strict=True)], normalize=None)
    np.testing.assert_allclose(by_costs.kernel_weights_ * traces / c, by_scale.kernel_weights_.to_numpy(), atol=2e-3)
    assert by_costs.objective_ == pytest.approx(by_scale.objective_, rel=1e-6)
    assert (by_costs.kernel_weights_ @ traces) == pytest.approx(c)


def test_duplicating_a_kernel_changes_neither_objective_nor_total_weight():
    once, twice = fitted(ConvexMKL()), fitted(ConvexMKL(), [*KERNELS, Gaussian(scale=2.0)])
    assert twice.objective_ == pytest.approx(once.objective_, rel=1e-6)
    weights = twice.kernel_weights_
    assert weights["gaussian"] + weights["gaussian-2"] == pytest.approx(once.kernel_weights_["gaussian"], abs=2e-3)


def test_large_p_gives_near_uniform_weights():
    weights = fitted(LpMKL(p=200)).kernel_weights_
    assert weights.max() - weights.min() < 0.02
    assert fitted(LpMKL(p=np.inf)).kernel_weights_.tolist() == pytest.approx([1.0, 1.0, 1.0])


def test_p_of_one_is_convex():
    lp, convex = fitted(LpMKL(p=1)), fitted(ConvexMKL())
    assert lp.objective_ == pytest.approx(convex.objective_, rel=1e-6)
    np.testing.assert_allclose(lp.kernel_weights_, convex.kernel_weights_, atol=1e-3)


def test_elastic_runs_from_convex_to_mean():
    convex, mean = fitted(ConvexMKL()), fitted(Mean())
    np.testing.assert_allclose(fitted(ElasticMKL(l2=0.0)).kernel_weights_, convex.kernel_weights_, atol=1e-3)
    np.testing.assert_allclose(fitted(ElasticMKL(l2=1e7)).kernel_weights_, mean.kernel_weights_, atol=1e-3)
    distance = [np.ptp(fitted(ElasticMKL(l2=lam)).kernel_weights_) for lam in (0.0, 1.0, 10.0, 100.0)]
    assert distance == sorted(distance, reverse=True)
    assert distance[0] > distance[-1]


def test_groups_of_one_and_of_all():
    convex, lp = fitted(ConvexMKL()), fitted(LpMKL(p=2))
    alone, together = fitted(GroupMKL([0, 1, 2], p=3)), fitted(GroupMKL([0, 0, 0], p=2))
    assert alone.objective_ == pytest.approx(convex.objective_, rel=1e-6)
    assert together.objective_ == pytest.approx(lp.objective_, rel=1e-6)


def test_no_combination_on_the_simplex_is_better():
    model = fitted(ConvexMKL())
    for weights in np.random.default_rng(1).dirichlet(np.ones(3), size=30):
        assert fitted(FixedWeights(weights)).objective_ >= model.objective_ * (1.0 - 1e-6)


@pytest.mark.parametrize("combiner", LEARNED)
def test_regression_and_novelty_detection(combiner):
    regressor = MKLRegressor(KERNELS, combiner, C=10.0).fit(X, VALUE)
    assert regressor.score(X, VALUE) > 0.8
    assert regressor.duality_gap_ <= 2e-3 * abs(regressor.objective_)
    novelty = MKLOneClass(KERNELS, combiner, nu=0.2).fit(X)
    values = novelty.decision_function(X)
    assert np.mean(values < -1e-3) <= 0.2  # samples at the boundary are at zero but for the tolerance
    assert novelty.duality_gap_ <= 2e-3 * abs(novelty.objective_)  # relative also where the objective is small


def test_zero_weights_are_never_evaluated_in_prediction():
    calls = []

    def noise(A, B):
        calls.append(1)
        return np.where((A[:, None, 0] == B[None, :, 0]), 1.0, 0.0)

    model = MKLClassifier([Linear([0]), ("noise", noise)], ConvexMKL({"noise": 100.0}), normalize=None).fit(X, Y)
    assert model.kernel_weights_["noise"] == 0.0
    calls.clear()
    model.predict(NEW)
    assert not calls


VIEWS = stack_views({"a": X[:, :2], "b": X[:, 2:], "c": X[:, :1] + 1.0})


@pytest.mark.parametrize("combiner", [ConvexMKL(min_weight=0.05), LpMKL(), ElasticMKL(l2=100.0)])
def test_missing_views(combiner):
    holes = VIEWS.copy()
    holes.iloc[3, :2] = np.nan
    holes.iloc[5:9, 2:4] = np.nan
    model = MKLClassifier(combiner=combiner).fit(holes, Y)
    weights = model.kernel_weights(holes)
    assert weights["a"].iloc[3] == 0.0
    np.testing.assert_allclose(weights.sum(axis=1), model.kernel_weights_.sum())
    whole = MKLClassifier(combiner=combiner).fit(VIEWS, Y)
    assert np.mean(model.predict(VIEWS) == whole.predict(VIEWS)) > 0.9


def test_a_sample_without_any_view_that_counts():
    holes = VIEWS.copy()
    holes.iloc[3, :2] = np.nan
    with pytest.warns(UserWarning, match="sample 3 has none of the views .* the bias alone"):
        model = MKLClassifier(combiner=ConvexMKL({"b": 100.0, "c": 100.0})).fit(holes, Y)
    assert model.kernel_weights_.tolist() == pytest.approx([1.0, 0.0, 0.0])
    with pytest.warns(UserWarning, match="sample 3 has none of the views"):
        assert model.decision_function(holes.iloc[3:4])[0] == pytest.approx(model.intercept_[0])


def test_float32_agrees():
    single, double = fitted(ConvexMKL(), tol=1e-4, dtype="float32"), fitted(ConvexMKL(), tol=1e-4)
    np.testing.assert_allclose(single.kernel_weights_, double.kernel_weights_, atol=1e-2)
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-3)


def test_sample_weights_are_repetitions():
    weight = 1.0 + (np.arange(N) % 3 == 0)
    repeated = np.repeat(np.arange(N), weight.astype(int))
    options = {"C": 1.0, "normalize": None, "tol": 1e-6}
    weighted = MKLClassifier(KERNELS, ConvexMKL(), **options).fit(X, Y, sample_weight=weight)
    twice = MKLClassifier(KERNELS, ConvexMKL(), **options).fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(weighted.decision_function(NEW), twice.decision_function(NEW), atol=1e-3)


def test_stopping_early_warns():
    with pytest.warns(ConvergenceWarning, match="raise max_iter of the combiner"):
        fitted(ConvexMKL(max_iter=2))


def test_a_degenerate_machine_needs_no_kernel():
    """Targets inside the tube: J is zero whatever the weights."""
    model = MKLRegressor(KERNELS, ConvexMKL(), epsilon=100.0).fit(X, VALUE)
    assert model.objective_ == pytest.approx(0.0, abs=1e-12)
    assert len(model.support_) == 0


def test_huge_and_tiny_scales():
    for factor in (1e-6, 1e6):
        scaled = [factor * kernel for kernel in KERNELS]
        model = fitted(ConvexMKL(), scaled, C=1.0 / factor, normalize=None, tol=1e-5)
        plain = fitted(ConvexMKL(), C=1.0, normalize=None, tol=1e-5)
        np.testing.assert_allclose(model.kernel_weights_, plain.kernel_weights_.to_numpy(), atol=2e-2)


@pytest.mark.parametrize(
    ("combiner", "message"),
    [
        (ConvexMKL(solver="magic"), "solver of ConvexMKL must be"),
        (ConvexMKL(costs={"fax": 2.0}), "costs names kernels that are not there"),
        (ConvexMKL(costs=0.0), "costs must be positive"),
        (ConvexMKL(min_weight=0.4), "min_weight leaves nothing to learn"),
        (ConvexMKL(max_iter=0), "max_iter of ConvexMKL"),
        (LpMKL(p=0.5), "p of LpMKL"),
        (LpMKL(solver="conic"), "solver of LpMKL must be"),
        (ElasticMKL(l2=-1.0), "l2 of ElasticMKL"),
        (GroupMKL({"a": ["linear"], "b": ["linear"]}), "into two groups"),
        (GroupMKL({"a": ["fax"]}), "groups names kernels"),
        (GroupMKL([0, 1]), "groups must map"),
        (GroupMKL([0, 0, 1], p=0.3), "p of GroupMKL"),
        (SparseMKL(eps=0.0), "eps of SparseMKL"),
        (SparseMKL(n_rounds=0), "n_rounds of SparseMKL"),
    ],
)
def test_bad_parameters(combiner, message):
    with pytest.raises(ValueError, match=message):
        fitted(combiner)


def test_groups_by_name_by_label_and_by_view():
    by_name = fitted(GroupMKL({"first": ["linear", "gaussian"]}))
    by_kernel = fitted(GroupMKL({"linear": "first", "gaussian": "first"}))
    in_order = fitted(GroupMKL([7, 7, 9]))
    for other in (by_kernel, in_order):
        np.testing.assert_allclose(by_name.kernel_weights_, other.kernel_weights_)
    kernels = [Linear([0, 1]), Gaussian([0, 1]), Linear([2, 3])]
    by_view = fitted(GroupMKL(), kernels)
    np.testing.assert_allclose(by_view.kernel_weights_, fitted(GroupMKL([0, 0, 1]), kernels).kernel_weights_)


def test_sparse_is_sparser_and_never_gets_worse():
    sparse, convex = fitted(SparseMKL(eps=0.05), tol=1e-5), fitted(ConvexMKL(), tol=1e-5)
    assert (sparse.kernel_weights_ > 0).sum() <= (convex.kernel_weights_ > 0).sum()
    rounds = np.array(sparse.combiner_.rounds_)
    assert (np.diff(rounds) <= 1e-4 * rounds[0]).all()
    eta = sparse.kernel_weights_.to_numpy()
    assert (np.log1p(eta / 0.05) / np.log1p(1 / 0.05)).sum() <= 1.0 + 1e-9
    nearly = fitted(SparseMKL(eps=1e5), tol=1e-6)
    assert nearly.objective_ == pytest.approx(convex.objective_, rel=1e-3)


def test_costs_by_name_are_parameters():
    model = MKLClassifier(KERNELS, ConvexMKL())
    model.set_params(combiner__costs__gaussian=3.0)
    assert model.fit(X, Y).combiner_.costs_.to_dict() == {"linear": 1.0, "gaussian": 3.0, "polynomial": 1.0}
    assert isinstance(model.combiner_.costs_, pd.Series)


def test_a_cone_program_that_cannot_be_certified_further_ends_with_a_warning():
    """The cone solver works to about 1e-8, so that a gap of 1e-12 is out of reach, however sums are rounded."""
    draw = np.random.default_rng(0)
    A = draw.normal(size=(60, 6))
    score = A[:, 0] + 0.5 * A[:, 2] + 0.3 * draw.normal(size=60)
    kernels = [Linear([0, 1]), Gaussian([2, 3]), Gaussian([4, 5]), Polynomial([0, 2])]
    model = MKLClassifier(kernels, ConvexMKL(solver="conic"), C=1e-6, tol=1e-16)
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        model.fit(A, score > np.median(score))


def test_sparse_tells_where_it_stops_early():
    with pytest.warns(ConvergenceWarning, match="raise n_rounds"):
        fitted(SparseMKL(eps=0.1, n_rounds=1))


def test_limits_by_name_are_parameters():
    assert ConvexMKL().set_params(min_weight__gaussian=0.1).min_weight == {"gaussian": 0.1}
    series = ConvexMKL(costs=pd.Series({"linear": 2.0})).set_params(costs__gaussian=3.0)
    assert series.costs == {"linear": 2.0, "gaussian": 3.0}


@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_gap_of_1e_8_is_reached(C, seed):
    """A warning would be an error here; a rougher fit differs by no more than both gaps say."""
    draw = np.random.default_rng(seed)
    samples = draw.normal(size=(100, 4))
    labels = samples[:, 0] + 0.5 * samples[:, 1] + 0.5 * draw.normal(size=100) > 0
    kernels = [Gaussian([m], scale=1.4) for m in range(4)]
    model = MKLClassifier(kernels, ConvexMKL(), C=C, tol=1e-8).fit(samples, labels)
    rough = MKLClassifier(kernels, ConvexMKL(), C=C, tol=1e-3).fit(samples, labels)
    assert model.duality_gap_ <= 2e-8 * model.objective_
    assert len(model.history_) <= 40
    assert abs(rough.objective_ - model.objective_) <= rough.duality_gap_ + model.duality_gap_


def test_a_gap_that_cannot_be_reached_is_not_blamed_on_max_iter():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = fitted(ConvexMKL(), tol=1e-17)
    ours = [str(line.message) for line in told if str(line.message).startswith("ConvexMKL")]
    assert len(ours) == 1 and len(model.history_) < 150
    assert "further solves do not narrow it, so take a tol of" in ours[0] and "max_iter" not in ours[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(ConvexMKL(), tol=max(1e-10, float(ours[0].split("take a tol of ")[1].split()[0])))


@pytest.mark.parametrize("combiner", [ConvexMKL, ElasticMKL, GroupMKL])
@pytest.mark.parametrize("normalize", [None, "unit-diagonal"])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_kernels_of_low_rank_reach_the_optimum(combiner, normalize, C):
    """The curvature of J is without bound where a kernel that is left out would add to the rank."""
    Z, labels = load_wine(return_X_y=True)
    kernels = [Linear([j]) for j in range(Z.shape[1])]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = MKLClassifier(kernels, combiner(), C=C, normalize=normalize).fit(scale(Z), labels)
    if combiner is ConvexMKL:
        other = MKLClassifier(kernels, ConvexMKL(solver="level"), C=C, normalize=normalize, tol=1e-3)
        assert model.objective_ == pytest.approx(other.fit(scale(Z), labels).objective_, rel=1e-3)


@pytest.mark.parametrize("machine", ["svm", "squared-hinge"])
@pytest.mark.parametrize(
    ("C", "sizes"), [(5e6, [30.0, 6e-4]), (2e5, [5e-9, 5e-9, 5e-5]), (1e-6, [1e4, 1e-4]), (1.0, [1e8, 1e8])]
)
def test_the_cone_program_takes_costs_and_kernels_of_any_size(C, sizes, machine):
    draw = np.random.default_rng(0)
    A = draw.normal(size=(30, len(sizes)))
    A[15:] = A[:15]  # copies
    y, ids = A[:, 0] + 0.7 * draw.normal(size=30) > 0, np.arange(30)[:, None]
    kernels = [Precomputed(size * Gaussian().fit(A[:, [m]]).gram(A[:, [m]])) for m, size in enumerate(sizes)]
    found, true = (
        MKLClassifier(kernels, ConvexMKL(solver=solver), C=C, normalize=None, machine=machine).fit(ids, y)
        for solver in ("conic", "auto")
    )
    assert abs(found.objective_ - true.objective_) <= found.duality_gap_ + true.duality_gap_
    assert found.duality_gap_ <= 0.01 * found.objective_


def test_a_cone_program_that_is_not_solved_is_one_clear_error(monkeypatch):
    monkeypatch.setattr(methods, "SOLVED", ())
    with pytest.raises(
        ValueError, match=r'solver="conic" could not solve this problem \(Clarabel: .*use solver="auto"'
    ):
        fitted(ConvexMKL(solver="conic", max_iter=1), tol=1e-14)
