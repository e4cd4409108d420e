"""The joint dual by an interior point: the factor of K, its solution, and the solves that crawl without it."""

from functools import partial

import numpy as np
import pytest
from benchmarks.stress import failures
from benchmarks.stress_problems import generate

from kernelweave.machines import JointMachine
from kernelweave.solvers import joint_qp
from kernelweave.solvers.joint_qp import low_rank_factor, solve_interior


def data(seed, n=80, classes=5, rank=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank))
    return X @ X.T, rng.permutation(np.arange(n) % classes), rng


def factor_of(K, n_classes, share):
    return low_rank_factor(K.__getitem__, K.diagonal(), n_classes, share)


@pytest.mark.parametrize(("seed", "number"), [(3, 267), (4, 526), (4, 799), (0, 284), (0, 341)])
def test_linear_kernels_at_large_costs_are_solved_in_few_steps(seed, number):
    """Steps along cycles alone are far from the optimum after a million."""
    problem = generate(seed, number)
    assert failures(problem, permute=True) == []
    solution = problem.machine.solve(problem.K)
    assert solution.converged and solution.steps < 6000
    assert solution.gap <= 1e-2 * solution.objective


@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_the_interior_point_is_next_to_the_optimum(C, weighted):
    K, labels, rng = data(0)
    bound = C * (rng.exponential(size=len(K)) * (rng.random(len(K)) < 0.9) if weighted else np.ones(len(K)))
    machine = JointMachine(labels, bound)
    alpha = solve_interior(factor_of(K, 5, 1e-12), labels, machine.margins().T.copy(), bound)
    assert (alpha >= 0.0).all() and (alpha <= bound).all() and not alpha[labels, np.arange(len(K))].any()
    assert ((alpha > 0.0) & (alpha < bound)).sum() < alpha.size // 4  # the others are at their bounds exactly
    C_signed = -alpha.T
    C_signed[np.arange(len(K)), labels] = alpha.sum(axis=0)
    assert np.abs(C_signed.sum(axis=0)).max() <= 1e-6 * alpha.sum()
    best = machine.solve(K, gap_tol=1e-7)
    value = 2.0 * alpha.sum() - 0.5 * np.sum(C_signed * (K @ C_signed))
    assert best.converged and value == pytest.approx(best.objective, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_factor_has_the_rank_of_the_kernel(dtype):
    K, _, _ = data(1)
    L = factor_of(K.astype(dtype), 5, 1e-12)
    assert L.shape == (80, 3)
    np.testing.assert_allclose(L @ L.T, K, atol=1e-5 if dtype == np.float32 else 1e-12)
    assert factor_of(np.zeros((4, 4)), 2, 1e-12).shape == (4, 0)
    K[K.diagonal().argmax(), 5] = np.nan
    assert factor_of(K, 5, 1e-12) is None


def test_kernels_of_high_rank_are_left_to_the_steps(monkeypatch):
    assert factor_of(np.eye(400), 2, 1e-6).shape == (400, 400)
    assert factor_of(np.eye(400), 10, 1e-6) is None
    monkeypatch.setattr(joint_qp, "MOST_ENTRIES", 1000)
    assert factor_of(np.eye(20), 2, 1e-6) is None


def test_no_weight_no_rank_and_a_solver_that_gives_up(monkeypatch):
    K, labels, _ = data(2)
    margins = np.full((5, 80), 2.0)
    L = factor_of(K, 5, 1e-12)
    assert solve_interior(L, labels, margins, np.zeros(80)) is None
    alpha = solve_interior(L[:, :0], labels, margins, np.ones(80))  # a linear program: everything that balances
    assert alpha.sum() == pytest.approx(4 * 80)
    monkeypatch.setattr(joint_qp, "solve_cone_program", partial(joint_qp.solve_cone_program, max_iter=1))
    assert solve_interior(L, labels, margins, np.ones(80)) is None


@pytest.mark.parametrize("answer", ["none", "zero"])
def test_a_worse_point_is_not_taken(monkeypatch, answer):
    K, labels, _ = data(3)
    problem = joint_qp._Problem(K, labels, np.full((80, 5), 2.0), np.ones(80))
    problem.begin(None)
    problem.rounds(1e-3, 50)
    alpha, slope = problem.alpha.copy(), problem.slope.copy()
    assert alpha.any()
    monkeypatch.setattr(joint_qp, "solve_interior", lambda *_: None if answer == "none" else np.zeros_like(alpha))
    problem.leap(problem.leaps.next_point(0))
    problem.leap(problem.leaps.next_point(problem.leaps.due))
    np.testing.assert_array_equal(problem.alpha, alpha)
    np.testing.assert_array_equal(problem.slope, slope)


def test_factors_become_finer_and_wait_for_the_steps_that_they_are_worth(monkeypatch):
    shapes = []
    monkeypatch.setattr(joint_qp, "solve_interior", lambda L, *_: shapes.append(L.shape))
    rng = np.random.default_rng(4)
    X, labels = rng.standard_normal((300, 3)), np.arange(300) % 5
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 30)
    for matrix, count in ((K, 3), (X @ X.T, 1), (np.zeros_like(K), 0)):
        shapes.clear()
        problem = joint_qp._Problem(matrix, labels, np.full((300, 5), 2.0), np.ones(300))
        problem.begin(None)
        leaps = problem.leaps
        dues = [0, leaps.due]
        while leaps.due < np.inf:
            problem.leap(leaps.next_point(leaps.due))
            dues.append(leaps.due)
        assert len(shapes) == count and (np.diff([rank for _, rank in shapes]) > 0).all()
        waits = np.diff(dues[:-1])
        assert (waits >= joint_qp.PATIENCE).all() and (count < 3 or waits[-1] > 10 * joint_qp.PATIENCE)


def test_smooth_kernels_of_many_classes_need_no_fine_factor():
    problem = generate(11, 510)  # at a rank that is exact the interior point would take minutes
    solution = problem.machine.solve(problem.K)
    assert solution.converged and solution.gap <= 1e-2 * solution.objective and solution.steps < 50_000
