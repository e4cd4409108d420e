"""The box QP: optimal by an independent solver, certified by an independent gap, from any start, on any input."""

import numpy as np
import pytest

from cases import each
from kernelweave.solvers import solve_box_qp
from kernelweave.solvers.box_qp import _refresh, product
from reference_qp import (
    clarabel_optimum,
    dual_objective,
    kkt_violation,
    least_primal,
    primal_objective,
    random_problem,
)

KINDS = ("binary", "regression", "one-class")
SIZES = (2, 9, 40, 150)


def certified(K, problem, result):
    """Assert that the result is feasible and that everything it says of itself is true."""
    c = result.solution
    scale = 1.0 + abs(result.objective) + np.abs(c) @ np.abs(problem["linear"])
    assert (c >= problem["lower"]).all() and (c <= problem["upper"]).all()
    assert abs(c.sum() - problem["total"]) <= 1e-11 * (1.0 + np.abs(c).sum())
    objective = dual_objective(K, problem["linear"], problem["insensitivity"], c)
    assert result.objective == pytest.approx(objective, abs=1e-9 * scale)
    assert result.gap >= 0.0
    assert result.gap <= primal_objective(K, **problem, c=c, b=result.multiplier) - objective + 1e-8 * scale
    assert result.gap >= least_primal(K, **problem, c=c) - objective - 1e-7 * scale
    parts = {name: problem[name] for name in ("linear", "lower", "upper", "insensitivity")}
    assert result.violation == pytest.approx(kkt_violation(K, **parts, c=c), abs=1e-9 * scale)


@each("kind", KINDS)
@each("n", SIZES)
@each("seed", range(3))
def test_optimum_is_clarabels(kind, n, seed):
    K, problem = random_problem(kind, n, np.random.default_rng([seed, n]))
    optimum, _ = clarabel_optimum(K, **problem)
    result = solve_box_qp(K, **problem, gap_tol=1e-7)
    certified(K, problem, result)
    assert result.converged
    assert result.gap <= 1e-7 * max(1.0, abs(result.objective))
    assert result.objective == pytest.approx(optimum, rel=1e-6, abs=1e-7)
    assert optimum <= result.objective + result.gap + 1e-7 * max(1.0, abs(optimum))  # the gap is an upper bound


@pytest.mark.parametrize("kind", KINDS)
def test_violation_is_as_asked(kind):
    K, problem = random_problem(kind, 120, np.random.default_rng(5))
    loose = solve_box_qp(K, **problem, tol=1e-1)
    tight = solve_box_qp(K, **problem, tol=1e-6)
    for tol, result in ((1e-1, loose), (1e-6, tight)):
        certified(K, problem, result)
        assert result.converged and result.violation <= tol
    assert loose.steps < tight.steps
    assert loose.objective <= tight.objective <= loose.objective + loose.gap + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_gap_of_1e_10_on_a_well_conditioned_problem(kind):
    K, problem = random_problem(kind, 200, np.random.default_rng(11), features=8)
    K = K + 0.5 * np.eye(200)
    result = solve_box_qp(K, **problem, gap_tol=1e-10)
    assert result.converged
    assert result.gap <= 1e-10 * max(1.0, abs(result.objective))
    certified(K, problem, result)


@pytest.mark.parametrize("kind", KINDS)
def test_any_start_gives_the_same_optimum(kind):
    rng = np.random.default_rng(3)
    n = 150
    K, problem = random_problem(kind, n, rng)
    cold = solve_box_qp(K, **problem, gap_tol=1e-7)
    width = problem["upper"] - problem["lower"]
    starts = {
        "optimum": cold.solution,
        "zero": np.zeros(n),
        "corner": problem["upper"],
        "feasible by luck": problem["lower"] + width * rng.random(n),
        "far outside": 1e6 * rng.standard_normal(n),
    }
    for name, start in starts.items():
        given = start.copy()
        warm = solve_box_qp(K, **problem, start=start, gap_tol=1e-7)
        certified(K, problem, warm)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-6, abs=1e-7), name
        np.testing.assert_array_equal(start, given)


@pytest.mark.parametrize("kind", KINDS)
def test_restart_at_the_optimum_takes_no_steps(kind):
    K, problem = random_problem(kind, 150, np.random.default_rng(4))
    first = solve_box_qp(K, **problem, tol=1e-4)
    again = solve_box_qp(K, **problem, start=first.solution, tol=1e-3)
    assert first.steps > 10
    assert again.steps == 0
    np.testing.assert_allclose(again.solution, first.solution, atol=1e-12)


def test_restart_pays_for_small_moves_and_costs_little_for_large_ones():
    rng = np.random.default_rng(0)
    n = 600
    X = rng.standard_normal((n, 6))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0, 1.0, -1.0)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 6)
    problem = dict(linear=y, lower=np.minimum(5 * y, 0), upper=np.maximum(5 * y, 0))
    start = solve_box_qp(K, **problem).solution
    ratios = {}
    for move in (0.001, 0.01, 0.5):
        steps = np.zeros(2)
        for _ in range(4):
            g = 1.0 + move * rng.standard_normal(n)
            moved = K * np.outer(g, g)
            steps += solve_box_qp(moved, **problem, start=start).steps, solve_box_qp(moved, **problem).steps
        ratios[move] = steps[0] / steps[1]
    assert ratios[0.001] < 0.3
    assert ratios[0.01] < 0.7
    assert ratios[0.5] < 1.15


def test_a_start_worse_than_nothing_is_dropped():
    K, problem = random_problem("binary", 150, np.random.default_rng(8))
    cold = solve_box_qp(1e3 * K, **problem)
    warm = solve_box_qp(1e3 * K, **problem, start=np.where(problem["linear"] > 0, problem["upper"], problem["lower"]))
    assert warm.steps == cold.steps
    np.testing.assert_array_equal(warm.solution, cold.solution)


def test_a_useless_start_is_dropped_where_zero_is_not_feasible():
    X = np.random.default_rng(3).standard_normal((60, 3)) * np.repeat([100.0, 1.0], 30)[:, None]
    K = X @ X.T + 1e4 * np.equal.outer(np.arange(60) < 30, np.arange(60) < 30)
    problem = dict(linear=np.zeros(60), lower=np.zeros(60), upper=np.full(60, 1.0), total=1.0)
    worst = np.zeros(60)
    worst[np.argmax(np.diagonal(K))] = 1.0
    cold, warm = solve_box_qp(K, **problem), solve_box_qp(K, **problem, start=worst)
    np.testing.assert_array_equal(warm.solution, cold.solution)


@pytest.mark.parametrize("kind", KINDS)
def test_layout_and_precision_of_the_kernel(kind):
    K, problem = random_problem(kind, 130, np.random.default_rng(6))
    plain = solve_box_qp(K, **problem)
    frozen = K.copy()
    frozen.flags.writeable = False
    wide = np.zeros((130, 260))
    wide[:, ::2] = K
    for other in (frozen, np.asfortranarray(K), wide[:, ::2]):
        result = solve_box_qp(other, **problem)
        np.testing.assert_array_equal(result.solution, plain.solution)
    np.testing.assert_array_equal(frozen, K)
    single = (K + 0.1 * np.eye(130)).astype(np.float32)  # rounding alone would make it indefinite
    result = solve_box_qp(single, **problem, gap_tol=1e-7)
    certified(single, problem, result)  # the certificate is of the matrix that was given, in double precision
    assert result.converged


def test_bias_when_every_coefficient_is_at_its_bound():
    # Both samples violate at c = (C, -C): any b in [p - f] of the two would do, the middle is taken.
    y = np.array([1.0, -1.0])
    result = solve_box_qp(np.diag([1.0, 2.0]), y, np.array([0.0, -0.1]), np.array([0.1, 0.0]))
    np.testing.assert_allclose(result.solution, [0.1, -0.1])
    assert result.multiplier == pytest.approx(0.5 * ((1 - 0.1) + (-1 + 0.2)))
    assert result.gap == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("total, bias", [(0.0, 1.0), (0.3, 0.7)])
def test_one_sample(total, bias):
    result = solve_box_qp(np.ones((1, 1)), np.ones(1), np.zeros(1), np.ones(1), total=total)
    assert result.solution[0] == pytest.approx(total)
    assert result.multiplier == pytest.approx(bias)
    assert result.converged and result.gap <= 1e-12


def test_a_box_without_room_is_solved_at_once():
    full = solve_box_qp(np.eye(4), np.zeros(4), np.zeros(4), np.full(4, 0.25), total=1.0)
    np.testing.assert_array_equal(full.solution, 0.25)
    fixed = solve_box_qp(np.eye(3), np.ones(3), np.full(3, 0.2), np.full(3, 0.2), total=0.6)
    np.testing.assert_array_equal(fixed.solution, 0.2)
    assert full.steps == fixed.steps == 0 and full.gap == pytest.approx(0.0) and fixed.gap == pytest.approx(0.0)


def test_zero_kernel_goes_to_the_bounds():
    y = np.array([1.0, 1.0, -1.0, -1.0])
    result = solve_box_qp(np.zeros((4, 4)), y, np.minimum(2 * y, 0), np.maximum(2 * y, 0))
    np.testing.assert_array_equal(result.solution, 2 * y)
    assert result.objective == 8.0


def test_indefinite_kernel_ends_where_no_pair_can_improve():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((60, 60))
    K = A + A.T
    y = np.sign(rng.standard_normal(60))
    lower, upper = np.minimum(y, 0), np.maximum(y, 0)
    result = solve_box_qp(K, y, lower, upper)
    assert result.converged
    assert kkt_violation(K, y, lower, upper, 0.0, result.solution) <= 1e-3 + 1e-9
    assert result.objective == pytest.approx(dual_objective(K, y, 0.0, result.solution))


def test_step_budget_is_kept_and_told():
    K, problem = random_problem("binary", 150, np.random.default_rng(9))
    for budget in (0, 1, 20):
        result = solve_box_qp(K, **problem, max_steps=budget)
        assert not result.converged and result.steps <= budget and result.violation > 1e-3
        certified(K, problem, result)
    assert not solve_box_qp(K, **problem, gap_tol=1e-9, max_steps=20).converged


def test_gradient_is_refreshed_after_cancellation():
    # The start lies on ten enormous samples, the solution on thirty tiny ones: what is left of the first gradient's
    # rounding (1e3 * 1e-16) is far above the slopes that decide.
    rng = np.random.default_rng(1)
    X = np.abs(rng.standard_normal((40, 3))) * np.repeat([1e6, 1e-3], [10, 30])[:, None]
    K = X @ X.T
    problem = dict(linear=np.zeros(40), lower=np.zeros(40), upper=np.full(40, 0.1))
    result = solve_box_qp(K, **problem, total=1.0, start=np.repeat([0.1, 0.0], [10, 30]), tol=1e-9)
    true = kkt_violation(K, **problem, insensitivity=0.0, c=result.solution)
    assert result.converged
    assert result.violation == pytest.approx(true, abs=1e-16)


def test_newton_steps_on_a_nearly_singular_kernel_keep_the_sum():
    X = np.array([[0, -17, -53], [-51, -80, -18], [0, 0, 0], [-59, 80, -24], [24, 26, -100], [0, 0, 0], [1, 26, 87]])
    upper = np.array([715_800.0, 768_653.0, 10_470_391.0, 867_670.0, 1_985_382.0, 148_320.0, 24_019_294.0])
    for total in np.linspace(1.39e7, 1.392e7, 10):
        for start in (None, upper):
            result = solve_box_qp(5e4 * X @ X.T, np.zeros(7), np.zeros(7), upper, total, start=start)
            assert abs(result.solution.sum() - total) <= 1e-12 * upper.sum()


def test_refresh_repairs_the_sum_without_touching_zeros_or_bounds():
    rng = np.random.default_rng(0)
    K = np.eye(6)
    c = np.array([0.0, 1.0, -1.0, 0.5, -0.4, -0.1 + 1e-9])
    gradient = rng.standard_normal(6)
    linear = rng.standard_normal(6)
    _refresh(K, c, gradient, (linear, -np.ones(6), np.ones(6), 0.1), 0.0)
    assert abs(c.sum()) <= 1e-15
    np.testing.assert_array_equal(c[:3], [0.0, 1.0, -1.0])
    np.testing.assert_allclose(gradient, linear - c, atol=1e-15)


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(K=np.eye(3)), "shapes"),
        (dict(linear=np.array([np.nan, 0.0])), "finite"),
        (dict(upper=np.array([np.inf, 1.0])), "finite"),
        (dict(lower=np.array([2.0, 0.0])), "must not exceed"),
        (dict(total=3.0), "no feasible point"),
        (dict(total=-1e-3), "no feasible point"),
        (dict(insensitivity=-0.1), "insensitivity"),
        (dict(start=np.zeros(3)), "start"),
        (dict(start=np.array([np.nan, 0.0])), "start"),
        (dict(K=np.array([[1.0, np.nan], [np.nan, 1.0]])), "NaN"),
        (dict(K=np.array([[np.inf, 0.0], [0.0, 1.0]])), "NaN"),
        (dict(K=np.array([[np.nan, 0.0], [0.0, 1.0]])), "NaN"),
    ],
)
def test_bad_input_is_named(change, message):
    good = dict(K=np.eye(2), linear=np.ones(2), lower=np.zeros(2), upper=np.ones(2), total=1.0)
    with pytest.raises(ValueError, match=message):
        solve_box_qp(**{**good, **change})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", "CF")
def test_products_with_some_rows(dtype, order):
    A = np.random.default_rng(0).normal(size=(9, 9))
    K = np.array(A + A.T, dtype=dtype, order=order)
    rows, coef = np.array([7, 0, 3, 2, 5]), np.linspace(-1.0, 2.0, 5)
    np.testing.assert_allclose(product(K, rows, coef), K[:, rows] @ coef, rtol=1e-6 if dtype == "float32" else 1e-14)
    np.testing.assert_allclose(product(K, rows, 0.5), 0.5 * K[:, rows].sum(axis=1), rtol=1e-5, atol=1e-6)
    assert not product(K, rows[:0], coef[:0]).any()
