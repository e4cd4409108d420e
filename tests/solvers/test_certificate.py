"""The gap is the least over b and t of P(t w, b) - D: against Clarabel, on solutions of libsvm at its own tolerance."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR, OneClassSVM

from kernelweave.machines import BinaryMachine, OneClassMachine, PosteriorMachine, RegressionMachine
from kernelweave.solvers import solve_box_qp
from kernelweave.solvers.box_qp import certify, least_gap
from reference_qp import clarabel_optimum, dual_objective, least_primal

rng = np.random.default_rng(0)
N = 120
X = rng.standard_normal((N, 4))
X /= np.linalg.norm(X, axis=1).max()
LINEAR = X @ X.T
NARROW = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 0.2)
SEPARABLE = np.where(X[:, 0] + 0.5 * X[:, 1] > 0.05, 1.0, -1.0)
TARGET = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(N)


def gaps(K, problem, c, limit):
    """The gap at b from the free samples, and the least one."""
    arrays = (problem["linear"], problem["lower"], problem["upper"], problem["insensitivity"])
    gradient = problem["linear"] - K @ c
    _, gap, _, violation = certify(c, gradient, *arrays)
    return gap, least_gap(c, gradient, *arrays, problem["total"], gap, limit, violation)


def test_a_right_solution_of_a_separable_problem_has_a_small_gap_at_every_cost():
    for C in (1e2, 1e4, 1e6):
        machine = BinaryMachine(SEPARABLE, C)
        fitted = SVC(kernel="precomputed", C=C, tol=1e-3).fit(LINEAR, SEPARABLE)
        c = np.zeros(N)
        c[fitted.support_] = fitted.dual_coef_[0]
        objective = dual_objective(LINEAR, SEPARABLE, 0.0, c)
        gap, least = gaps(LINEAR, machine.problem(), c, 1e-2 * objective)
        assert least <= 1e-2 * objective
    assert gap > 0.1 * objective  # at t = 1: C times what the tolerance leaves of the margins


@pytest.mark.parametrize("kernel", ["linear", "narrow"])
@pytest.mark.parametrize("C", [1.0, 1e3])
@pytest.mark.parametrize("kind", ["binary", "regression", "one-class", "posterior"])
def test_least_gap_is_clarabels(kind, C, kernel):
    K = LINEAR if kernel == "linear" else NARROW
    c = np.zeros(N)
    if kind == "binary":
        # bounds for which the reference solver, too, reaches its tolerance
        machine = BinaryMachine(SEPARABLE, C * np.random.default_rng(1).uniform(0.5, 2.0, N))
        fitted = SVC(kernel="precomputed", C=1.0, tol=1e-2).fit(K, SEPARABLE, sample_weight=machine.bound)
        c[fitted.support_] = fitted.dual_coef_[0]
    elif kind == "regression":
        machine = RegressionMachine(TARGET, C, epsilon=0.1)
        fitted = SVR(kernel="precomputed", C=C, epsilon=0.1, tol=1e-2).fit(K, TARGET)
        c[fitted.support_] = fitted.dual_coef_[0]
    elif kind == "one-class":
        machine = OneClassMachine(np.full(N, 1.0 / (0.2 * N)))
        fitted = OneClassSVM(kernel="precomputed", nu=0.2, tol=1e-1).fit(K)
        c[fitted.support_] = fitted.dual_coef_[0] / fitted.dual_coef_[0].sum()
    else:
        machine = PosteriorMachine(1.0 / (1.0 + np.exp(-8.0 * X[:, 0])), C)
        c = solve_box_qp(K, **machine.problem(), gap_tol=1e-2).solution
    problem = machine.problem()
    c = np.clip(c, problem["lower"], problem["upper"])
    objective = dual_objective(K, problem["linear"], problem["insensitivity"], c)
    least = least_primal(K, **problem, c=c) - objective
    optimum, _ = clarabel_optimum(K, **problem)
    size = max(1.0, abs(objective))
    limit = max(2.0 * least, 1e-6 * size)  # what is within half the limit need not be looked for further
    gap, found = gaps(K, problem, c, limit)
    assert least - 1e-8 * size <= found <= min(gap, 1.2 * least + 0.51 * limit) + 1e-8 * size
    assert objective + found >= optimum - 1e-7 * size
    exact = gaps(K, problem, c, 1e-3 * limit + 1e-2 * least)[1]  # a limit it cannot reach ends the search early
    assert least - 1e-8 * size <= exact <= gap
