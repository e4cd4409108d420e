"""The box solver never gives up on a solvable problem: rare classes, narrow kernels, outliers, extreme C and nu."""

import numpy as np
import pytest
from benchmarks.stress import failures
from benchmarks.stress_problems import generate

from kernelweave.machines import BinaryMachine, OneClassMachine, OneVsAllMachine, RegressionMachine
from kernelweave.solvers import solve_box_qp
from kernelweave.solvers.qp import box
from kernelweave.solvers.qp._rounds import choose_block
from reference_qp import clarabel_optimum


def gaussian(X, width):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / width)


@pytest.mark.parametrize("share", range(4))
def test_generated_problems(share):
    wrong = {}
    for number in range(share, 120, 4):
        problem = generate(7, number, largest=250)
        found = failures(problem, compare=number % 3 == 0, permute=number % 4 == 0)
        wrong.update({problem.name: found} if found else {})
    assert not wrong


@pytest.mark.parametrize("seed", range(12))
def test_few_samples_of_one_class_at_random_places(seed):
    rng = np.random.default_rng(seed)
    n, rare = (400, 4) if seed % 2 else (700, 1)
    X = rng.standard_normal((n, 4))
    y = -np.ones(n)
    y[rng.choice(n, rare, replace=False)] = 1.0
    K = gaussian(X, 10.0 ** rng.uniform(-4, 2))
    solution = BinaryMachine(y, 1.0).solve(K)
    assert solution.converged and solution.violation <= 1e-3
    assert (solution.coef[y > 0] > 0.0).any() and solution.objective > 0.1
    order = rng.permutation(n)
    again = BinaryMachine(y[order], 1.0).solve(K[np.ix_(order, order)])
    assert again.objective == pytest.approx(solution.objective, abs=again.gap + solution.gap + 1e-12)


def test_no_machine_of_many_classes_is_empty():
    rng = np.random.default_rng(0)
    labels = np.arange(1000) % 100
    X = rng.standard_normal((100, 20))[labels] + 0.7 * rng.standard_normal((1000, 20))
    solution = OneVsAllMachine(labels, 1.0).solve(gaussian(X, 20.0))
    assert solution.converged and solution.coef.any(axis=0).all()


@pytest.mark.parametrize("seed", range(4))
def test_one_outlier_of_a_regression(seed):
    rng = np.random.default_rng(seed)
    y = 0.01 * rng.standard_normal(400)
    place = rng.integers(400)
    y[place] = 50.0
    solution = RegressionMachine(y, 1.0, epsilon=0.1).solve(gaussian(rng.standard_normal((400, 4)), 4.0))
    assert solution.converged and solution.coef[place, 0] == 1.0


@pytest.mark.parametrize("nu", [0.001, 0.01, 0.1])
@pytest.mark.parametrize("width", [1e-6, 1.0, 1e4])
def test_one_class_is_solved_relative_to_its_own_objective(nu, width):
    """J is about 1/n for narrow kernels: a violation in units of 1/(nu n) alone would accept any start."""
    n = 150
    K = gaussian(np.random.default_rng(1).standard_normal((n, 5)), width)
    machine = OneClassMachine(np.full(n, 1.0 / (nu * n)))
    solution = machine.solve(K)
    optimum, _ = clarabel_optimum(K, **machine.problem())
    assert solution.converged and solution.gap <= 1e-2 * abs(solution.objective)
    assert solution.objective == pytest.approx(optimum, rel=1e-2)
    assert optimum <= solution.objective + solution.gap + 1e-9


@pytest.mark.parametrize("most", [4, 9, 200])
def test_the_pair_that_violates_most_is_in_every_block(most):
    rng = np.random.default_rng(0)
    n = 300
    for _ in range(50):
        c, gradient = np.zeros(n), np.round(rng.standard_normal(n), 1)  # with ties
        lower, upper = -(rng.random(n) < 0.5).astype(float), (rng.random(n) < 0.5).astype(float)
        box_of = (c, gradient, lower, upper, 0.0, 1e-3)
        top, low, block = choose_block(*box_of, most, rng.random(n), np.empty(n))
        up, down = np.where(upper > 0, gradient, -np.inf), np.where(lower < 0, gradient, np.inf)
        assert top == up.max() and low == down.min()
        assert len(block) <= most and (np.diff(block) > 0).all()
        assert up[block].max() == top and down[block].min() == low
        assert ((lower < 0) | (upper > 0))[block].all()


def test_a_round_that_changes_nothing_ends_the_solve(monkeypatch):
    """A gap below the resolution of floating point is given up soon, and close to it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.sign(X[:, 0] + rng.standard_normal(60))
    rounds = []
    solve_rounds = box.solve_rounds

    def counted(*arguments):
        rounds.append(solve_rounds(*arguments))
        return rounds[-1]

    monkeypatch.setattr(box, "solve_rounds", counted)
    result = solve_box_qp(X @ X.T, y, np.minimum(1e4 * y, 0.0), np.maximum(1e4 * y, 0.0), gap_tol=1e-17)
    assert not result.converged and result.steps < 5000 and len(rounds) < 20
    assert result.gap <= 1e-11 * result.objective


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["binary", "one-class"])
def test_kernels_of_low_rank_are_solved_to_the_last_digits(kind, seed):
    """Where free samples outnumber the rank, pair updates alone would crawl for millions of steps."""
    rng = np.random.default_rng(seed)
    n = 40
    gates = rng.random((n, 2))
    X = rng.standard_normal((n, 1))
    K = np.outer(gates[:, 0], gates[:, 0]) * gaussian(X, 400.0) + np.outer(gates[:, 1], gates[:, 1]) * (X @ X.T)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    bound = rng.uniform(0.2, 2.0, n)
    machine = BinaryMachine(y, bound) if kind == "binary" else OneClassMachine(5.0 * bound / bound.sum())
    solution = machine.solve(K, gap_tol=1e-11)
    assert solution.converged and solution.steps < 20_000


@pytest.mark.parametrize("C", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_certificates_say_something_at_large_costs(C, noise):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 5))
    X /= np.linalg.norm(X, axis=1).max()  # max K_ii = 1
    y = np.where(X[:, 0] + noise * rng.standard_normal(200) > 0.0, 1.0, -1.0)
    target = X[:, 0] + noise * rng.standard_normal(200)
    for machine in (BinaryMachine(y, C), RegressionMachine(target, C, epsilon=0.1)):
        solution = machine.solve(X @ X.T)
        assert solution.converged
        assert solution.gap <= 1e-2 * max(1.0, solution.objective)


@pytest.mark.parametrize("C", [1e3, 1e6, 1e9])
def test_copies_with_opposite_labels_do_not_take_turns(C):
    """A pair of copies has no curvature and goes to the bound at once, if both are in the block of either of them."""
    problem = generate(2, 476)
    rows, part = problem.machine.outputs()[15]
    solution = BinaryMachine(part.y_signed, C).solve(problem.K[np.ix_(rows, rows)])
    assert solution.converged and solution.steps < 500
