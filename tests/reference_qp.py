"""Independent answers for the box QP: Clarabel's optimum, and a certificate computed with plain NumPy."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse


def clarabel_optimum(K, linear, lower, upper, total, insensitivity):
    """Objective and solution of  max p'c - e|c|_1 - c'Kc/2,  written with c = plus - minus, both >= 0."""
    n = len(linear)
    half = np.hstack([np.eye(n), -np.eye(n)])
    P = half.T @ np.asarray(K, dtype=float) @ half + 1e-13 * np.eye(2 * n)
    q = -half.T @ linear + insensitivity
    A = np.vstack([half.sum(axis=0), -half, half, -np.eye(2 * n)])
    b = np.concatenate([[total], -lower, upper, np.zeros(2 * n)])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(4 * n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    problem = clarabel.DefaultSolver(sparse.csc_matrix(np.triu(P)), q, sparse.csc_matrix(A), b, cones, settings)
    answer = problem.solve()
    assert str(answer.status) in ("Solved", "AlmostSolved"), answer.status
    c = half @ np.array(answer.x)
    return dual_objective(K, linear, insensitivity, c), c


def exactly(machine, K, start=None, gap_tol=1e-11):
    """The machine solved to a gap that finite differences can stand, and that is reached."""
    solution = machine.solve(K, start=start, gap_tol=gap_tol)
    assert solution.converged and solution.gap <= gap_tol * max(1.0, abs(solution.objective)) * machine.n_outputs
    return solution


def dual_objective(K, linear, insensitivity, c):
    K = np.asarray(K, dtype=float)
    return linear @ c - insensitivity * np.abs(c).sum() - 0.5 * c @ K @ c


def primal_objective(K, linear, lower, upper, total, insensitivity, c, b):
    """P(b) = c'Kc/2 + sum_i h_i(p_i - f_i - b) + b total, h_i by trying every corner of its box."""
    K = np.asarray(K, dtype=float)
    z = linear - K @ c - b
    corners = np.stack([lower, upper, np.clip(0.0, lower, upper)])
    return 0.5 * c @ K @ c + (z * corners - insensitivity * np.abs(corners)).max(axis=0).sum() + b * total


def least_primal(K, linear, lower, upper, total, insensitivity, c):
    """Minimum over b and t >= 0 of P(t, b) = t^2/2 c'Kc + sum_i h_i(p_i - t f_i - b) + b total, by Clarabel."""
    K = np.asarray(K, dtype=float)
    n, f = len(c), K @ c
    corners = np.stack([lower, upper, np.clip(0.0, lower, upper)])
    # Variables t, b, h_1 .. h_n with h_i >= v (p_i - t f_i - b) - e|v| at each corner v, each row scaled to size 1.
    scale = np.maximum(1.0, np.abs(corners).max(axis=0))
    rows = [np.column_stack([-v * f / scale, -v / scale, -np.diag(1.0 / scale)]) for v in corners]
    limits = [(insensitivity * np.abs(v) - v * linear) / scale for v in corners]
    A = np.vstack([*rows, np.eye(1, n + 2) * -1.0])
    P = sparse.csc_matrix(([max(0.0, c @ f)], ([0], [0])), (n + 2, n + 2))
    q = np.concatenate([[0.0, total], np.ones(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    limits = np.concatenate([*limits, [0.0]])
    answer = clarabel.DefaultSolver(
        P, q, sparse.csc_matrix(A), limits, [clarabel.NonnegativeConeT(len(A))], settings
    ).solve()
    assert str(answer.status) in ("Solved", "AlmostSolved"), answer.status
    return answer.obj_val


def kkt_violation(K, linear, lower, upper, insensitivity, c):
    """Largest slope of a move that raises one coefficient and lowers another."""
    gradient = linear - np.asarray(K, dtype=float) @ c
    up = np.where(c >= 0, gradient - insensitivity, gradient + insensitivity)[c < upper]
    down = np.where(c > 0, gradient - insensitivity, gradient + insensitivity)[c > lower]
    return max(0.0, up.max() - down.min()) if len(up) and len(down) else 0.0


def random_problem(kind, n, rng, features=4, scale=1.0):
    """A kernel and the arguments of `solve_box_qp`, of the family's three machines, with awkward samples in it."""
    X = rng.standard_normal((n, features))
    if n >= 8:
        X[n // 2] = X[0]  # duplicated samples
        X[1] = 0.0  # a zero row
    K = scale * X @ X.T if rng.random() < 0.5 else scale * np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / features)
    bound = rng.uniform(0.1, 3.0, n) * 10.0 ** rng.integers(-1, 3)
    if n >= 8:
        bound[2] = 0.0  # a box without width
    if kind == "binary":
        y = np.where(rng.random(n) < 0.25, 1.0, -1.0)  # unbalanced
        y[:2] = 1.0, -1.0
        ends = bound * y
        return K, dict(linear=y, lower=np.minimum(ends, 0), upper=np.maximum(ends, 0), total=0.0, insensitivity=0.0)
    if kind == "regression":
        y = X[:, 0] + 0.3 * rng.standard_normal(n)
        return K, dict(linear=y, lower=-bound, upper=bound, total=0.0, insensitivity=0.2)
    bound = bound * (1.0 + rng.random() * n / 3) / bound.sum()
    return K, dict(linear=np.zeros(n), lower=np.zeros(n), upper=bound, total=1.0, insensitivity=0.0)
