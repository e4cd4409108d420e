import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import FixedWeights, GeneralizedMKL
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import BinaryMachine
from kernelweave.stacks import training

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
NEW = rng.normal(size=(25, 4))
Y = np.abs(X[:, 1]) > 0.7
MACHINE = BinaryMachine(np.where(Y, 1.0, -1.0), 1.0)
FEATURES = [(f"x{m}", Linear([m])) for m in range(4)]
KERNELS = [Gaussian([0], scale=1.5), Gaussian([1], scale=1.5), Gaussian([2, 3], scale=2.0)]


def signed(model, n_samples):
    """Dual coefficients of all training samples, of shape (n_samples, n_outputs)."""
    coef = np.zeros((n_samples, len(model.dual_coef_)))
    coef[model.support_] = model.dual_coef_.T
    return coef


@pytest.mark.parametrize(
    ("problem", "penalty"),
    [
        *itertools.product(["binary", "joint", "regression", "least-squares"], ["l1", "l2"]),
        ("one-class", "l2"),
    ],
)
def test_the_sum_meets_the_optimality_conditions(problem, penalty):
    """1/2 c'K_m c is the slope of the penalty where a weight is positive, and no more than that where it is 0."""
    combiner = GeneralizedMKL("sum", penalty, strength=0.05 if problem == "one-class" else 5.0)
    model = {
        "binary": MKLClassifier(KERNELS, combiner, tol=1e-8),
        "joint": MKLClassifier(KERNELS, combiner, multiclass="joint", tol=1e-7),
        "regression": MKLRegressor(KERNELS, combiner, tol=1e-8),
        "one-class": MKLOneClass(KERNELS, combiner, nu=0.3, tol=1e-8),
        "least-squares": MKLRegressor(KERNELS, combiner, machine="least-squares", tol=1e-8),
    }[problem]
    y = {"binary": Y, "joint": np.digitize(X[:, 1], [-0.5, 0.5])}.get(problem, X[:, 1] ** 2)
    model.fit(X) if problem == "one-class" else model.fit(X, y)
    coef = signed(model, len(X))
    weights = model.kernel_weights_.to_numpy()
    slopes = np.array([0.5 * np.einsum("ir,ij,jr->", coef, K, coef) for K in KernelStack(KERNELS).fit(X).matrices()])
    wanted = combiner.strength * (weights if penalty == "l2" else np.ones(3))
    used = weights > 0
    assert used.any()
    np.testing.assert_allclose(slopes[used], wanted[used], rtol=5e-3)
    assert (slopes[~used] <= wanted[~used] + 5e-3 * combiner.strength).all()


def test_the_sum_is_a_plain_machine_with_its_weights():
    model = MKLClassifier(KERNELS, GeneralizedMKL("sum", "l2"), tol=1e-7).fit(X, Y)
    plain = MKLClassifier(KERNELS, FixedWeights(model.kernel_weights_), tol=1e-7).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(NEW), plain.decision_function(NEW), atol=1e-4)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)


def test_a_penalty_scales_with_the_kernels():
    """Kernels s times as large under an l1 penalty s times as strong give weights s times as small."""
    once = MKLClassifier([1.0 * k for k in KERNELS], GeneralizedMKL("sum"), normalize=None, tol=1e-7).fit(X, Y)
    large = MKLClassifier([4.0 * k for k in KERNELS], GeneralizedMKL("sum", strength=4.0), normalize=None, tol=1e-7)
    large.fit(X, Y)
    np.testing.assert_allclose(4 * large.kernel_weights_, once.kernel_weights_, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(large.decision_function(NEW), once.decision_function(NEW), atol=1e-2)


def test_the_product_selects_features_and_never_looks_at_the_others():
    calls = []

    def counted(A, B):
        calls.append(len(A))
        return A @ B.T

    data = np.random.default_rng(5).normal(size=(300, 4))
    y = np.abs(data[:, 1]) > 0.7
    kernels = [("x0", counted), *FEATURES[1:]]
    model = MKLClassifier(kernels, GeneralizedMKL("product", strength=10.0), normalize=None, tol=1e-6).fit(data, y)
    weights = model.kernel_weights_
    assert weights["x1"] > 0 and (weights.drop("x1") == 0.0).all()
    calls.clear()
    hidden = NEW.copy()
    hidden[:, [0, 2, 3]] = np.nan
    decision = model.decision_function(hidden)
    assert not calls
    plain = SVC(gamma=weights["x1"], tol=1e-8).fit(data[:, [1]], y)
    np.testing.assert_allclose(decision, plain.decision_function(NEW[:, [1]]), atol=1e-3)


@pytest.mark.parametrize("options", [("sum", "l1"), ("product", "l1"), ("product", "l2")])
def test_novelty_detection_is_degenerate_otherwise(options):
    with pytest.raises(ValueError, match="for novelty detection"):
        MKLOneClass(KERNELS, GeneralizedMKL(*options)).fit(X)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_the_product_is_a_local_minimum_as_good_as_scipys(penalty):
    combiner = GeneralizedMKL("product", penalty, strength=2.0)
    model = MKLClassifier(FEATURES, combiner, normalize=None, tol=1e-7).fit(X, Y)
    widths = model.kernel_weights_.to_numpy()

    def objective(eta):
        K = np.exp(-(((X[:, None] - X[None]) ** 2) @ eta))
        machine = SVC(kernel="precomputed", tol=1e-8).fit(K, Y)
        c = np.zeros(len(X))
        c[machine.support_] = machine.dual_coef_[0]
        penalised = 2.0 * eta.sum() if penalty == "l1" else eta @ eta
        return np.abs(c).sum() - 0.5 * c @ K @ c + penalised

    start = combiner.family(training(KernelStack(FEATURES, None).fit(X)), MACHINE, None).start(MACHINE, None)
    theirs = minimize(objective, start, bounds=[(0, None)] * 4, method="L-BFGS-B")
    assert objective(widths) <= theirs.fun * (1 + 1e-3)
    assert model.history_["objective"].iloc[-1] == pytest.approx(objective(widths), rel=1e-4)


def test_start_is_in_the_units_of_each_view():
    stretched = X * np.array([1.0, 10.0, 1e3, 1e-2])
    combiner = GeneralizedMKL()
    starts = [
        combiner.family(training(KernelStack(FEATURES, None).fit(data)), MACHINE, None).start(MACHINE, None)
        for data in (X, stretched)
    ]
    np.testing.assert_allclose(starts[1] * np.array([1.0, 1e2, 1e6, 1e-4]), starts[0])
    np.testing.assert_allclose(1 / starts[0], 4 * X.var(axis=0))
    constant = X.copy()
    constant[:, 3] = 5.0
    assert MKLClassifier(FEATURES, combiner, normalize=None).fit(constant, Y).kernel_weights_["x3"] == 0.0


@pytest.mark.parametrize("form", ["sum", "product"])
def test_order_of_kernels_does_not_matter(form):
    models = [
        MKLClassifier(kernels, GeneralizedMKL(form, "l2"), tol=1e-7).fit(X, Y) for kernels in (KERNELS, KERNELS[::-1])
    ]
    np.testing.assert_allclose(models[0].decision_function(NEW), models[1].decision_function(NEW), atol=5e-3)


@pytest.mark.parametrize("form", ["sum", "product"])
def test_a_weight_of_two_is_a_sample_given_twice(form):
    weight = np.where(np.arange(80) % 4 == 0, 2, 1)
    model = MKLClassifier(KERNELS, GeneralizedMKL(form, "l2"), tol=1e-7).fit(X, Y, sample_weight=weight)
    again = MKLClassifier(KERNELS, GeneralizedMKL(form, "l2"), tol=1e-7)
    again.fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(model.decision_function(NEW), again.decision_function(NEW), atol=5e-3)


def test_samples_without_a_view_are_learned_from():
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    for form in ("sum", "product"):
        model = MKLClassifier(KERNELS, GeneralizedMKL(form, "l2"), normalize="center").fit(gaps, Y)
        assert model.score(gaps, Y) > 0.8
        assert (model.kernel_weights(gaps).iloc[::7, 0] == 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "mean"}, "form of GeneralizedMKL must be"),
        ({"penalty": "l0"}, "penalty of GeneralizedMKL must be"),
        ({"strength": -1.0}, "strength of GeneralizedMKL must be"),
        ({"form": "sum", "strength": 0.0}, 'must be positive for form="sum"'),
        ({"strength": 1e6}, "has removed every kernel; lower strength"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        MKLClassifier(KERNELS, GeneralizedMKL(**options)).fit(X, Y)
