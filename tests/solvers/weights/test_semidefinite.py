import subprocess
import sys

import clarabel
import numpy as np
import pytest
from scipy import sparse

from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.solvers import solve_alignment_program, solve_box_qp, solve_margin_program
from kernelweave.solvers.base import triangle
from kernelweave.solvers.weights import semidefinite
from kernelweave.solvers.weights.semidefinite import joint_rank
from reference_qp import random_problem

rng = np.random.default_rng(0)


def kernels(n, seed):
    local = np.random.default_rng(seed)
    X = local.normal(size=(n, 4))
    return np.stack([np.exp(-((X[:, None, i : i + 2] - X[None, :, i : i + 2]) ** 2).sum(-1)) for i in range(3)])


def smallest_eigenvalue_program(M):
    """min <M, Z> with tr(Z) = 1, Z psd: only right if the triangle is stored as Clarabel wants it."""
    n = len(M)
    size = n * (n + 1) // 2
    A = np.vstack([triangle(np.eye(n))[None, :], -np.eye(size)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.ZeroConeT(1), clarabel.PSDTriangleConeT(n)]
    b = np.r_[1.0, np.zeros(size)]
    nothing = sparse.csc_matrix((size, size))
    return clarabel.DefaultSolver(nothing, triangle(M), sparse.csc_matrix(A), b, cones, settings).solve().obj_val


def test_triangles_are_stored_as_clarabel_stores_them():
    np.testing.assert_allclose(
        triangle(np.array([[1.0, 2, 4], [2, 3, 5], [4, 5, 6]])),
        [1, 2 * np.sqrt(2), 3, 4 * np.sqrt(2), 5 * np.sqrt(2), 6],
    )
    M = rng.normal(size=(5, 5))
    M = M + M.T
    assert smallest_eigenvalue_program(M) == pytest.approx(np.linalg.eigvalsh(M)[0], abs=1e-6)


@pytest.mark.parametrize("kind", ["binary", "regression", "one-class"])
def test_one_kernel_is_the_box_qp(kind):
    K, options = random_problem(kind, 12, np.random.default_rng(3))
    K = K + 0.05 * np.eye(12)
    exact = solve_box_qp(K, **options, gap_tol=1e-10)
    result = solve_margin_program(K[None], **options, trace=float(np.trace(K)))
    np.testing.assert_allclose(result.solution, [1.0], rtol=1e-6)
    assert result.objective == pytest.approx(exact.objective, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", ["binary", "regression", "one-class"])
def test_the_optimum_over_weights_of_any_sign(kind):
    n = 14
    M = kernels(n, 1)
    _, options = random_problem(kind, n, np.random.default_rng(4))
    result = solve_margin_program(M, **options, trace=float(n))
    assert result.converged

    def optimum(eta):
        return solve_box_qp(np.tensordot(eta, M, 1), **options, gap_tol=1e-9).objective

    K = np.tensordot(result.solution, M, 1)
    assert np.linalg.eigvalsh(K)[0] > -1e-7 and np.trace(K) == pytest.approx(n)
    assert optimum(result.solution) == pytest.approx(result.objective, rel=1e-4)
    local = np.random.default_rng(5)
    tried = 0
    while tried < 30:
        eta = local.normal(size=3) + 1 / 3
        eta /= eta.sum()
        if np.linalg.eigvalsh(np.tensordot(eta, M, 1))[0] >= 0:
            tried += 1
            assert optimum(eta) >= result.objective - 1e-5 * abs(result.objective)


def test_kernels_without_full_rank():
    X = rng.normal(size=(20, 3))
    y = np.sign(X[:, 0])
    M = np.stack([X[:, :2] @ X[:, :2].T, X[:, 1:] @ X[:, 1:].T])
    assert joint_rank(M) == 3
    box = {"lower": np.minimum(y, 0), "upper": np.maximum(y, 0), "total": 0.0, "insensitivity": 0.0}
    result = solve_margin_program(M, y, **box, trace=20.0)
    exact = solve_box_qp(np.tensordot(result.solution, M, 1), y, **box, gap_tol=1e-10)
    assert result.converged and result.objective == pytest.approx(exact.objective, rel=1e-5)


def test_scales_of_kernels_do_not_matter():
    M = kernels(10, 2)
    y = np.sign(rng.normal(size=10))
    y[:2] = 1, -1
    box = {"lower": np.minimum(y, 0), "upper": np.maximum(y, 0), "total": 0.0, "insensitivity": 0.0}
    scale = np.array([1.0, 1e4, 1e-3])
    one = solve_margin_program(M, y, **box, trace=10.0)
    other = solve_margin_program(M * scale[:, None, None], y, **box, trace=10.0)
    np.testing.assert_allclose(other.solution * scale, one.solution, atol=1e-4)
    a, G = np.einsum("i,mij,j->m", y, M, y), np.einsum("mij,hij->mh", M, M)
    one = solve_alignment_program(M, a, G)
    other = solve_alignment_program(M * scale[:, None, None], a * scale, G * np.outer(scale, scale))
    np.testing.assert_allclose(other.solution * scale, one.solution, atol=1e-5)
    assert one.objective == pytest.approx(other.objective) == pytest.approx(a @ one.solution)
    assert np.linalg.norm(np.tensordot(one.solution, M, 1)) == pytest.approx(1, abs=1e-6)


def test_no_positive_semidefinite_combination():
    M = np.diag([1.0, -1.0])[None]
    with pytest.raises(ValueError, match="no combination of the kernels is positive semidefinite"):
        solve_margin_program(M, np.array([1.0, -1.0]), np.array([0.0, -1.0]), np.array([1.0, 0.0]), 0.0, 0.0, 1.0)


def check_margin_program(M, y, C):
    """Solved, by a positive semidefinite kernel of the trace asked for, whose machine has this optimum."""
    options = {"linear": y, "lower": np.minimum(C * y, 0), "upper": np.maximum(C * y, 0), "total": 0.0}
    result = solve_margin_program(M, **options, insensitivity=0.0, trace=float(len(y)))
    assert result.converged
    K = np.tensordot(result.solution, M, 1)
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-6 * values[-1] and np.trace(K) == pytest.approx(len(y), rel=1e-6)
    for eta in [np.full(len(M), len(y) / np.trace(M.sum(axis=0))), *np.diag(len(y) / np.trace(M, axis1=1, axis2=2))]:
        other = solve_box_qp(np.tensordot(eta, M, 1), **options, insensitivity=0.0, gap_tol=1e-9)
        assert result.objective <= other.objective * (1 + 1e-5)
    if values[0] > 1e-12 * values[-1]:
        exact = solve_box_qp(K, **options, insensitivity=0.0, gap_tol=1e-9)
        assert result.objective == pytest.approx(exact.objective, rel=1e-3)


@pytest.mark.parametrize(("C", "n"), [(0.01, 32), (1.0, 60), (100.0, 32)])
@pytest.mark.parametrize("kernels", ["linear and gaussian", "repeated", "wide", "nearly repeated"])
def test_programs_with_a_solution_are_solved(kernels, C, n):
    local = np.random.default_rng(n)
    X = local.normal(size=(n, 1 if kernels == "wide" else 2))
    y = np.where(X[:, 0] + 0.5 * local.normal(size=n) > 0, 1.0, -1.0)
    chosen = {
        "linear and gaussian": [Linear(), Gaussian(scale=3.0)],
        "repeated": [Gaussian([j % 2], scale=1.5) for j in range(4)],
        "wide": [Gaussian(scale=scale) for scale in (1.0, 5.0, 30.0)],
        "nearly repeated": [Gaussian(scale=scale) for scale in (4.0, 4.001, 6.0, 30.0)],
    }[kernels]
    check_margin_program(KernelStack(chosen).fit(X).matrices(), y, C)


def test_kernels_that_are_repeated_share_their_weight():
    M = kernels(12, 3)
    _, options = random_problem("binary", 12, np.random.default_rng(5))
    once = solve_margin_program(M, **options, trace=12.0)
    twice = solve_margin_program(M[[0, 1, 2, 0]], **options, trace=12.0)
    np.testing.assert_allclose(twice.solution[[0, 3]], once.solution[0] / 2, atol=1e-5)
    np.testing.assert_allclose(twice.solution[1:3], once.solution[1:], atol=1e-5)


def test_a_failure_of_the_solver_is_not_called_infeasible(monkeypatch):
    monkeypatch.setattr(semidefinite, "_USABLE", ())
    _, options = random_problem("binary", 8, np.random.default_rng(5))
    with pytest.raises(RuntimeError, match=r"could not be solved \(Clarabel: Solved, Solved, Solved\)"):
        solve_margin_program(kernels(8, 1), **options, trace=8.0)


def test_a_forked_child_can_solve_after_its_parent():
    script = """
import os, sys, time
import numpy as np
from kernelweave.solvers import solve_margin_program

X = np.random.default_rng(0).normal(size=(24, 2))
y = np.sign(X[:, 0])
M = np.exp(-((X.T[:, :, None] - X.T[:, None, :]) ** 2))

def solve():
    return solve_margin_program(M, y, np.minimum(y, 0), np.maximum(y, 0), 0.0, 0.0, 24.0).converged

assert solve()
child = os.fork()
if child == 0:
    os._exit(0 if solve() else 1)
for _ in range(600):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        sys.exit(os.waitstatus_to_exitcode(status))
    time.sleep(0.1)
os.kill(child, 9)
sys.exit("the child hangs")
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
