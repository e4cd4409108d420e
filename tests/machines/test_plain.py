"""Binary, regression and one-class machines: the problems they state, against Clarabel and scikit-learn."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR, OneClassSVM

from cases import each
from kernelweave.machines import BinaryMachine, OneClassMachine, RegressionMachine
from reference_qp import clarabel_optimum, dual_objective, primal_objective


def data(seed, n=120):
    """A kernel with duplicated and zero samples, unbalanced labels, targets, and unequal bounds."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    X[n // 2 : n // 2 + 10] = X[:10]
    X[-1] = 0.0
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 5) if seed % 2 else X @ X.T
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.standard_normal(n) > 1.5, 1.0, -1.0)
    target = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(n)
    bound = rng.uniform(0.2, 2.0, n) * (10.0 if seed >= 2 else 1.0)
    return K, y, target, bound


def machines(seed):
    K, y, target, bound = data(seed)
    yield K, BinaryMachine(y, bound)
    yield K, RegressionMachine(target, bound, epsilon=0.1)
    yield K, OneClassMachine(bound * 5.0 / bound.sum())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("which", range(3), ids=["binary", "regression", "one-class"])
def test_optimum_is_clarabels_and_the_solution_is_consistent(seed, which):
    K, machine = list(machines(seed))[which]
    problem = machine.problem()
    solution = machine.solve(K, gap_tol=1e-7)
    optimum, _ = clarabel_optimum(K, **problem)
    assert solution.converged
    assert solution.coef.shape == (machine.n_samples, 1) and solution.intercept.shape == (1,)
    assert solution.objective == pytest.approx(optimum, rel=1e-6, abs=1e-7)
    c = solution.coef[:, 0]
    assert solution.objective == pytest.approx(
        dual_objective(K, problem["linear"], problem["insensitivity"], c), rel=1e-9, abs=1e-10
    )
    primal = primal_objective(K, **problem, c=c, b=solution.intercept[0])
    assert 0.0 <= solution.gap <= primal - solution.objective + 1e-8 * max(1.0, abs(primal))
    assert optimum <= solution.objective + solution.gap + 1e-8 * max(1.0, abs(optimum))
    restarted = machine.solve(K, start=solution, gap_tol=1e-7)
    assert restarted.steps == 0


@pytest.mark.parametrize("seed", range(4))
def test_binary_machine_is_sklearns_svc(seed):
    K, y, _, bound = data(seed)
    theirs = SVC(kernel="precomputed", C=1.0, tol=1e-7).fit(K, y, sample_weight=bound)
    ours = BinaryMachine(y, bound).solve(K, tol=1e-7)
    dual = np.zeros(len(y))
    dual[theirs.support_] = theirs.dual_coef_[0]
    assert ours.objective == pytest.approx(dual_objective(K, y, 0.0, dual), rel=1e-6)
    np.testing.assert_allclose((K @ ours.coef + ours.intercept)[:, 0], theirs.decision_function(K), atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_regression_machine_is_sklearns_svr(seed):
    K, _, target, bound = data(seed)
    theirs = SVR(kernel="precomputed", C=1.0, epsilon=0.1, tol=1e-7).fit(K, target, sample_weight=bound)
    ours = RegressionMachine(target, bound, epsilon=0.1).solve(K, tol=1e-7)
    dual = np.zeros(len(target))
    dual[theirs.support_] = theirs.dual_coef_[0]
    assert ours.objective == pytest.approx(dual_objective(K, target, 0.1, dual), rel=1e-6)
    np.testing.assert_allclose((K @ ours.coef + ours.intercept)[:, 0], theirs.predict(K), atol=1e-4)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.9])
def test_one_class_machine_is_sklearns(nu):
    K = data(1)[0]
    n = len(K)
    theirs = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-6).fit(K)
    machine = OneClassMachine(np.full(n, 1.0 / (nu * n)))
    ours = machine.solve(K, tol=1e-6)
    dual = np.zeros(n)
    dual[theirs.support_] = theirs.dual_coef_[0] / (nu * n)  # libsvm solves for c nu n
    assert ours.objective == pytest.approx(dual_objective(K, np.zeros(n), 0.0, dual), rel=1e-6)
    np.testing.assert_allclose(
        (K @ ours.coef + ours.intercept)[:, 0] * nu * n, theirs.decision_function(K), atol=1e-4 * nu * n
    )
    assert machine.risk(K @ ours.coef + ours.intercept) <= 0.1


def test_one_class_tolerance_is_in_units_of_the_bound():
    K = data(1)[0] * 1e-2  # slopes of about 1e-3: an absolute tolerance would accept any start
    machine = OneClassMachine(np.full(len(K), 1.0 / (0.2 * len(K))))
    solution = machine.solve(K, tol=1e-3)
    exact = machine.solve(K, tol=1e-8)
    assert solution.violation <= 1e-3
    assert solution.objective == pytest.approx(exact.objective, rel=2e-2)


def test_one_bound_for_all_is_that_bound_for_each():
    K, y, target, _ = data(0)
    np.testing.assert_array_equal(
        BinaryMachine(y, 2.0).solve(K).coef, BinaryMachine(y, np.full(120, 2.0)).solve(K).coef
    )
    one = RegressionMachine(target, 2.0, epsilon=0.1).solve(K)
    np.testing.assert_array_equal(one.coef, RegressionMachine(target, np.full(120, 2.0), epsilon=0.1).solve(K).coef)


def test_budget_reached_is_not_converged():
    for K, machine in machines(1):
        assert not machine.solve(K, max_steps=3).converged


@pytest.mark.parametrize("which", range(3), ids=["binary", "regression", "one-class"])
def test_subset_is_the_machine_on_those_samples(which):
    K, machine = list(machines(1))[which]
    mask = np.random.default_rng(0).random(machine.n_samples) < 0.6
    by_mask, by_position = machine.subset(mask), machine.subset(np.flatnonzero(mask))
    assert by_mask.n_samples == mask.sum() and type(by_mask) is type(machine)
    for name, value in by_mask.problem().items():
        np.testing.assert_array_equal(value, by_position.problem()[name])
    if which == 2:
        assert by_mask.nu == pytest.approx(machine.nu)
        np.testing.assert_allclose(by_mask.bound / by_mask.bound.sum(), machine.bound[mask] / machine.bound[mask].sum())
    else:
        np.testing.assert_array_equal(by_mask.problem()["upper"], machine.problem()["upper"][mask])
        np.testing.assert_array_equal(by_mask.problem()["linear"], machine.problem()["linear"][mask])
    inner = K[np.ix_(mask, mask)]
    assert by_mask.solve(inner).converged


def test_risks():
    binary = BinaryMachine(np.array([1.0, 1.0, -1.0, -1.0]), 1.0)
    assert binary.risk(np.array([[0.5], [-0.5], [0.0], [-3.0]])) == 0.25
    np.testing.assert_array_equal(binary.strata, [1, 1, -1, -1])
    regression = RegressionMachine(np.array([1.0, 2.0]), 1.0, epsilon=0.1)
    assert regression.risk(np.array([2.0, 4.0])) == pytest.approx(2.5)
    one_class = OneClassMachine(np.full(4, 0.5))  # nu = 1/2
    assert one_class.risk(np.array([[-1.0], [1.0], [1.0], [0.0]])) == pytest.approx(0.25)
    assert regression.strata is None and one_class.strata is None
    np.testing.assert_array_equal(binary.decision(np.arange(3.0)[:, None]), np.arange(3.0))


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: BinaryMachine(np.array([1.0, 2.0]), 1.0), "labels"),
        (lambda: BinaryMachine(np.array([1.0, -1.0]), np.ones(3)), "bound"),
        (lambda: BinaryMachine(np.array([1.0, -1.0]), -1.0), "bound"),
        (lambda: BinaryMachine(np.array([1.0, -1.0]), np.inf), "bound"),
        (lambda: RegressionMachine(np.array([1.0, np.nan]), 1.0, epsilon=0.1), "finite"),
        (lambda: RegressionMachine(np.array([1.0, 2.0]), 1.0, epsilon=-0.1), "epsilon"),
        (lambda: OneClassMachine(np.full(10, 0.05)), "C must be at least 1/n = 0.1"),
        (lambda: BinaryMachine(np.array([1.0, -1.0]), 1.0).solve(np.eye(2), start=np.zeros((3, 1))), "shape"),
        (lambda: BinaryMachine(np.array([1.0, -1.0]), 1.0).risk(np.zeros((3, 1))), "shape"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@each("tol", [1e-2, 1e-3, 1e-6, 1e-9])
@each("scale", [0.5, 3.0, 100.0])
@each("nu", [0.001, 0.01, 0.1, 0.5])
def test_nu_bounds_the_share_of_rejected_samples(nu, scale, tol):
    """Samples on the boundary are inside, whatever rounding and the tolerance make of them."""
    A = np.random.default_rng(0).normal(size=(150, 5))
    K = np.exp(-((A[:, None] - A[None]) ** 2).sum(axis=2) / scale**2)
    machine = OneClassMachine(np.full(150, max(1.0, 1.0 / nu) / 150))
    solution = machine.solve(K, tol=tol)
    assert machine.losses(K @ solution.coef + solution.intercept).mean() <= nu + 1e-12
