"""The box QP with a diagonal: against Clarabel on the kernel plus the diagonal, with certificates of its own."""

import numpy as np
import pytest

from kernelweave.solvers import responses, solve_ridged_qp
from reference_qp import clarabel_optimum, random_problem

WIDE = 1e4  # in place of infinity, for Clarabel


def smooth_problem(kind, n, seed):
    """A member of each family with a diagonal: unbounded above (squared losses) and bounded (Huber's)."""
    rng = np.random.default_rng(seed)
    K, problem = random_problem("regression" if "regression" in kind else "binary", n, rng)
    cost = np.maximum(problem["upper"], -problem["lower"])
    quadratic = np.where(cost > 0.0, 1.0 / np.where(cost > 0.0, cost, 1.0), 1.0)
    if "unbounded" in kind:
        problem["lower"] = np.where(problem["lower"] < 0.0, -np.inf, 0.0)
        problem["upper"] = np.where(problem["upper"] > 0.0, np.inf, 0.0)
    return K, problem, quadratic


KINDS = ["binary", "regression", "binary, unbounded", "regression, unbounded"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_clarabels(kind, seed):
    K, problem, quadratic = smooth_problem(kind, 60, seed)
    result = solve_ridged_qp(K, **problem, quadratic=quadratic, gap_tol=1e-10)
    finite = problem | {name: np.clip(problem[name], -WIDE, WIDE) for name in ("lower", "upper")}
    optimum, c = clarabel_optimum(K + np.diag(quadratic), **finite)
    assert result.converged and 0.0 <= result.gap <= 1e-10 * max(1.0, abs(result.objective))
    assert result.objective == pytest.approx(optimum, rel=1e-6, abs=1e-7)
    np.testing.assert_allclose(result.solution, c, atol=1e-3 * max(1.0, np.abs(c).max()))
    assert abs(result.solution.sum()) <= 1e-9 * np.abs(result.solution).sum()
    assert (result.solution >= problem["lower"] - 1e-9).all() and (result.solution <= problem["upper"] + 1e-9).all()
    assert solve_ridged_qp(K, **problem, quadratic=quadratic, start=result.solution, gap_tol=1e-9).steps == 0


def test_the_gap_is_primal_minus_dual_and_bounds_the_error_of_any_point():
    K, problem, quadratic = smooth_problem("regression, unbounded", 50, 3)
    best = solve_ridged_qp(K, **problem, quadratic=quadratic, gap_tol=1e-12)
    rough = solve_ridged_qp(K, **problem, quadratic=quadratic, max_steps=0)
    assert not rough.converged and rough.objective <= best.objective + 1e-12
    assert best.objective <= rough.objective + rough.gap
    c, b = rough.solution, rough.multiplier
    slope = problem["linear"] - K @ c - b
    v = responses(slope, problem["lower"], problem["upper"], quadratic, problem["insensitivity"])
    loss = slope * v - problem["insensitivity"] * np.abs(v) - 0.5 * quadratic * v**2
    assert 0.5 * c @ K @ c + loss.sum() - rough.objective == pytest.approx(rough.gap, rel=1e-9)


def test_a_start_saves_steps_and_a_bad_one_is_dropped():
    K, problem, quadratic = smooth_problem("regression, unbounded", 200, 1)
    cold = solve_ridged_qp(K, **problem, quadratic=quadratic)
    warm = solve_ridged_qp(1.01 * K, **problem, quadratic=quadratic, start=cold.solution)
    assert warm.steps < cold.steps
    bad = solve_ridged_qp(K, **problem, quadratic=quadratic, start=1e6 * np.arange(200.0))
    assert bad.steps == cold.steps and bad.objective == pytest.approx(cold.objective, rel=1e-12)


def test_single_precision_total_and_empty_sides():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    K = X @ X.T
    box = {"linear": np.zeros(40), "lower": np.zeros(40), "upper": np.full(40, 0.1), "quadratic": np.full(40, 0.5)}
    one = solve_ridged_qp(K, **box, total=1.0, gap_tol=1e-12)
    assert one.solution.sum() == pytest.approx(1.0) and one.converged
    optimum, _ = clarabel_optimum(K + 0.5 * np.eye(40), box["linear"], box["lower"], box["upper"], 1.0, 0.0)
    assert one.objective == pytest.approx(optimum, rel=1e-7)
    single = solve_ridged_qp(K.astype(np.float32), **box, total=1.0, gap_tol=1e-9)
    assert single.objective == pytest.approx(one.objective, rel=1e-5) and single.converged
    alone = solve_ridged_qp(K, np.ones(40), np.zeros(40), np.full(40, np.inf), np.ones(40))  # one class only
    assert not alone.solution.any() and alone.converged and alone.multiplier == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"quadratic": np.zeros(4)}, "quadratic positive"),
        ({"lower": np.full(4, 2.0)}, "lower must not exceed"),
        ({"insensitivity": -1.0}, "insensitivity must be"),
        ({"total": 99.0}, "no feasible point"),
        ({"linear": np.ones(3)}, "K must be square"),
        ({"K": np.full((4, 4), np.nan)}, "NaN"),
        ({"K": -9.0 * np.eye(4), "lower": np.full(4, -9.0), "upper": np.full(4, 9.0)}, "negative eigenvalue"),
        ({"start": np.full(4, np.nan)}, "start must hold"),
    ],
)
def test_bad_input_is_named(change, message):
    good = {"K": np.eye(4), "linear": np.array([1.0, -1, 1, -1]), "lower": np.full(4, -1.0), "upper": np.ones(4)}
    with pytest.raises(ValueError, match=message):
        solve_ridged_qp(**(good | {"quadratic": np.ones(4)} | change))
