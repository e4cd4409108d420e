"""The least-squares machine: against the linear system and scikit-learn's ridge, and that restarts pay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge

from kernelweave import MKLClassifier
from kernelweave.kernels import Polynomial
from kernelweave.machines import LeastSquaresClassMachine, LeastSquaresMachine


def data(seed=0, n=60, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 4)
    Y = np.sin(X[:, :outputs]) + 0.1 * rng.standard_normal((n, outputs))
    return K, Y, rng.uniform(0.5, 20.0, n)


def bordered(K, Y, bound):
    """alpha and b from the whole system (K + Lambda) alpha + b 1 = y, 1'alpha = 0."""
    n = len(K)
    system = np.block([[K + np.diag(1 / bound), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    answer = np.linalg.solve(system, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return answer[:n], answer[n]


def primal(K, Y, bound, alpha, b):
    error = Y - K @ alpha - b
    return 0.5 * np.sum(alpha * (K @ alpha)) + 0.5 * np.sum(bound[:, None] * error**2)


@pytest.mark.parametrize("outputs", [1, 3])
def test_solution_is_that_of_the_linear_system(outputs):
    K, Y, bound = data(outputs=outputs)
    machine = LeastSquaresMachine(Y[:, 0] if outputs == 1 else Y, bound)
    solution = machine.solve(K)
    alpha, b = bordered(K, Y, bound)
    np.testing.assert_allclose(solution.coef, alpha, atol=1e-10)
    np.testing.assert_allclose(solution.intercept, b, atol=1e-10)
    assert solution.converged and solution.violation < 1e-10 and solution.factorisations == 1
    dual = np.sum(alpha * Y) - 0.5 * np.sum(alpha**2 / bound[:, None]) - 0.5 * np.sum(alpha * (K @ alpha))
    assert solution.objective == pytest.approx(dual, rel=1e-10)
    assert primal(K, Y, bound, solution.coef, solution.intercept) == pytest.approx(dual, rel=1e-9)


def test_centred_problems_are_kernel_ridge_regression():
    K, Y, _ = data(1)
    centre = np.eye(60) - 1 / 60
    K, Y = centre @ K @ centre, centre @ Y
    theirs = KernelRidge(alpha=0.5, kernel="precomputed").fit(K, Y[:, 0])
    ours = LeastSquaresMachine(Y[:, 0], 2.0).solve(K)
    np.testing.assert_allclose(ours.coef[:, 0], theirs.dual_coef_, atol=1e-10)
    assert ours.intercept[0] == pytest.approx(0.0, abs=1e-12)


def test_gap_certifies_unfinished_solutions():
    K, Y, bound = data(2, outputs=2)
    machine = LeastSquaresMachine(Y, bound)
    exact = machine.solve(K)
    far = machine.solve(1.3 * K + 0.2 * np.eye(60), start=exact, gap_tol=1e-2)
    assert far.factorisations == 0 and far.gap > 0
    moved = 1.3 * K + 0.2 * np.eye(60)
    assert primal(moved, Y, bound, far.coef, far.intercept) - far.objective == pytest.approx(far.gap, rel=1e-6)
    optimum = machine.solve(moved).objective
    assert far.objective <= optimum <= far.objective + far.gap


@pytest.mark.parametrize("move, most", [(1e-4, 3), (1e-2, 6)])
def test_a_restart_on_a_nearby_kernel_needs_a_few_steps_and_no_factorisation(move, most):
    K, Y, bound = data(3, n=200, outputs=3)
    machine = LeastSquaresMachine(Y, bound)
    first = machine.solve(K)
    g = 1 + move * np.random.default_rng(0).standard_normal(200)
    near = K * np.outer(g, g)
    again = machine.solve(near, start=first, gap_tol=1e-8)
    assert again.converged and again.factorisations == 0 and 0 < again.steps <= most
    assert again.factor is first.factor
    np.testing.assert_allclose(again.objective, machine.solve(near).objective, rtol=1e-7)
    assert machine.solve(near, start=again, gap_tol=1e-8).steps == 0


def test_a_restart_far_away_factorises_anew():
    K, Y, bound = data(4, outputs=2)
    machine = LeastSquaresMachine(Y, bound * 1e4)
    first = machine.solve(K)
    other = data(5)[0]
    again = machine.solve(other, start=first, gap_tol=1e-10)
    assert again.converged and again.factorisations == 1 and again.factor is not first.factor
    np.testing.assert_allclose(again.objective, machine.solve(other).objective, rtol=1e-8)
    by_array = machine.solve(K, start=first.coef)
    assert by_array.factorisations == 1 and by_array.converged


def test_singular_kernels_and_huge_costs():
    x = np.linspace(-1, 1, 40)
    machine = LeastSquaresMachine(3 * x - 2, 1e12)
    solution = machine.solve(np.outer(x, x), tol=1e-4)
    assert solution.converged
    np.testing.assert_allclose((np.outer(x, x) @ solution.coef + solution.intercept)[:, 0], 3 * x - 2, atol=1e-3)
    constant = LeastSquaresMachine(np.arange(4.0), np.array([1.0, 2.0, 3.0, 4.0])).solve(np.zeros((4, 4)))
    assert constant.intercept[0] == pytest.approx(2.0) and constant.converged
    single = LeastSquaresMachine(Y := data(6)[1], 5.0).solve(data(6)[0].astype(np.float32), gap_tol=1e-6)
    assert single.objective == pytest.approx(LeastSquaresMachine(Y, 5.0).solve(data(6)[0]).objective, rel=1e-5)


def test_classification_columns():
    K, _, bound = data(7)
    labels = np.arange(60) % 3
    machine = LeastSquaresClassMachine(labels, bound)
    solution = machine.solve(K)
    parts = [LeastSquaresMachine(np.where(labels == a, 1.0, -1.0), bound).solve(K) for a in range(3)]
    np.testing.assert_allclose(solution.coef, np.hstack([part.coef for part in parts]), atol=1e-10)
    assert solution.objective == pytest.approx(sum(part.objective for part in parts))
    values = K @ solution.coef + solution.intercept
    assert machine.risk(values) == np.mean(values.argmax(axis=1) != labels)
    two = LeastSquaresClassMachine(labels % 2, bound)
    assert two.n_outputs == 1 and two.decision(np.zeros((5, 1))).shape == (5,)
    assert two.risk(np.where(labels % 2 == 1, 1.0, -1.0)) == 0.0
    small = machine.subset(labels != 2)
    assert small.n_outputs == 3 and small.solve(K[np.ix_(labels != 2, labels != 2)]).converged
    np.testing.assert_array_equal(small.strata, labels[labels != 2])


def test_subset_and_risk_of_a_regression():
    K, Y, bound = data(8, outputs=2)
    machine = LeastSquaresMachine(Y, bound)
    small = machine.subset(np.arange(10))
    np.testing.assert_array_equal(small.targets, Y[:10])
    np.testing.assert_array_equal(small.bound, bound[:10])
    assert machine.strata is None and machine.decision(Y).shape == (60, 2)
    assert machine.risk(Y + np.array([1.0, 2.0])) == pytest.approx(5.0)


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 20), rank=st.integers(0, 4), outputs=st.integers(1, 3), seed=st.integers(0, 1000))
def test_any_shape_is_solved_and_certified(n, rank, outputs, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank))
    Y = rng.standard_normal((n, outputs))
    solution = LeastSquaresMachine(Y, rng.uniform(0.01, 100.0, n)).solve(X @ X.T, gap_tol=1e-9)
    assert solution.converged and solution.gap >= 0
    np.testing.assert_allclose(solution.coef.sum(axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: LeastSquaresMachine(np.array([1.0, np.nan]), 1.0), "finite"),
        (lambda: LeastSquaresMachine(np.array([1.0, 2.0]), np.array([1.0, 0.0])), "positive"),
        (lambda: LeastSquaresMachine(np.array([1.0, 2.0]), 1.0).solve(np.eye(3)), "K must be"),
        (lambda: LeastSquaresMachine(np.array([1.0, 2.0]), 1.0).solve(np.full((2, 2), np.nan)), "NaN"),
        (lambda: LeastSquaresMachine(np.array([1.0, 2.0]), 1.0).solve(-5 * np.eye(2)), "negative eigenvalue"),
        (lambda: LeastSquaresMachine(np.array([1.0, 2.0]), 1.0).solve(np.eye(2), start=np.zeros((3, 1))), "shape"),
        (lambda: LeastSquaresClassMachine(np.array([0, 0]), 1.0), "two classes"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(("size", "degree"), [(1e4, 3), (1e6, 3), (1e6, 2)])
@pytest.mark.parametrize("machine", ["least-squares", "squared-hinge"])
def test_a_kernel_whose_rounding_hides_the_ridge_is_one_true_error(size, degree, machine):
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = X[:, 0] > 0
    model = MKLClassifier([Polynomial(degree=degree)], machine=machine, normalize=None)
    with pytest.raises(ValueError, match=r"K has values up to .* rounding is more than 1 / C .* normalise the kernel"):
        model.fit(size * X, y)
    normalized = model.set_params(normalize="unit-diagonal").fit(size * X, y)
    assert normalized.duality_gap_ <= 1e-3 * normalized.objective_


def test_a_large_kernel_of_full_rank_is_solved():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, 30))
    K, y = 1e20 * (A @ A.T + np.eye(30)), rng.normal(size=30)
    solution = LeastSquaresMachine(y, 1.0).solve(K)
    exact = LeastSquaresMachine(y, 1e20).solve(K / 1e20)  # the same problem in other units
    np.testing.assert_allclose(1e20 * solution.coef, exact.coef, rtol=1e-6)
