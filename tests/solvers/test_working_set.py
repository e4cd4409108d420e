"""The box QP on a working set has the optimum of the whole problem."""

import numpy as np
import pytest

from kernelweave.solvers import solve_box_qp
from kernelweave.solvers.box_qp import solve_in_working_set
from kernelweave.solvers.sums import GatedKernel, sum_kernels

rng = np.random.default_rng(0)
N = 300
X = rng.normal(size=(N, 3))
SIGNS = np.where(X[:, 0] + X[:, 1] + X[:, 2] > 0.2, 1.0, -1.0)
MATRICES = np.stack([np.exp(-((X[:, None, k] - X[None, :, k]) ** 2) / 4) for k in range(3)])
GATES = 0.8 + 0.2 * rng.random((N, 3))
PROBLEMS = {
    "binary": (SIGNS, np.minimum(20 * SIGNS, 0.0), np.maximum(20 * SIGNS, 0.0), 0.0, 0.0),
    "regression": (np.sin(X[:, 0]) + X[:, 1], np.full(N, -5.0), np.full(N, 5.0), 0.0, 0.3),
    "one-class": (np.zeros(N), np.zeros(N), np.full(N, 0.1), 1.0, 0.0),
}


class Counted(GatedKernel):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.sizes = []

    def block(self, rows):
        self.sizes.append(len(rows))
        return super().block(rows)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("move", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum_is_that_of_the_whole_problem(name, move, dtype):
    problem = PROBLEMS[name]
    matrices = MATRICES.astype(dtype)
    nearby = np.abs(GATES + move * rng.normal(size=GATES.shape))
    start = solve_box_qp(sum_kernels(MATRICES, nearby), *problem, gap_tol=1e-4).solution
    whole = solve_box_qp(sum_kernels(MATRICES, GATES), *problem, gap_tol=1e-9)
    kernel = Counted(matrices, GATES)
    result = solve_in_working_set(kernel, *problem, start, 1e-5)
    assert result.converged and result.gap <= 1e-5 * max(1.0, abs(result.objective))
    assert result.objective == pytest.approx(whole.objective, abs=2e-5 * max(1.0, abs(whole.objective)))
    assert result.solution.sum() == pytest.approx(problem[3], abs=1e-9)
    assert (result.solution >= problem[1] - 1e-12).all() and (result.solution <= problem[2] + 1e-12).all()
    assert all(size < 0.4 * N for size in kernel.sizes)
    # The certificate holds for all samples, not only for those of the working set.
    slopes = problem[0] - sum_kernels(MATRICES, GATES) @ result.solution - result.multiplier
    idle = result.solution == 0.0
    assert (np.abs(slopes[idle & (problem[1] < 0) & (problem[2] > 0)]) < problem[4] + 0.05).all()


def test_samples_that_want_a_coefficient_join(monkeypatch):
    monkeypatch.setattr("kernelweave.solvers.box_qp.FIRST_FACTOR", 1.0)
    monkeypatch.setattr("kernelweave.solvers.box_qp.FIRST_SHARE", 0.0)
    problem = PROBLEMS["binary"]
    whole = solve_box_qp(sum_kernels(MATRICES, GATES), *problem, gap_tol=1e-9)
    nearby = sum_kernels(MATRICES, GATES + 0.1 * np.random.default_rng(1).random(GATES.shape))
    kernel = Counted(MATRICES, GATES)
    result = solve_in_working_set(kernel, *problem, solve_box_qp(nearby, *problem).solution, 1e-5)
    assert result.objective == pytest.approx(whole.objective, rel=1e-5)
    assert len(kernel.sizes) > 1 and kernel.sizes == sorted(kernel.sizes)


def test_too_many_samples_are_left_to_the_whole_problem():
    problem = (SIGNS, np.minimum(0.01 * SIGNS, 0.0), np.maximum(0.01 * SIGNS, 0.0), 0.0, 0.0)
    dense = solve_box_qp(sum_kernels(MATRICES, GATES), *problem).solution
    assert np.count_nonzero(dense) > 0.4 * N
    kernel = Counted(MATRICES, GATES)
    assert solve_in_working_set(kernel, *problem, dense, 1e-4) is None and kernel.sizes == []
    assert solve_in_working_set(kernel, *problem, np.zeros(N), 1e-4) is None


def test_parts_are_those_of_the_sum():
    gates = GATES * (rng.random(GATES.shape) > 0.3)
    K, kernel = sum_kernels(MATRICES, gates), GatedKernel(MATRICES, gates)
    for count in (1, 3, 4, 10):
        rows, coef = rng.choice(N, count, replace=False), rng.normal(size=count)
        np.testing.assert_allclose(kernel.block(rows), K[np.ix_(rows, rows)], atol=1e-13)
        np.testing.assert_allclose(kernel.product(rows, coef), K[:, rows] @ coef, atol=1e-12)
