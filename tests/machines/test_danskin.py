"""Danskin's theorem for every machine: dJ along dK, through the re-solved machine, is -1/2 sum_r c_r' dK c_r."""

import numpy as np
import pytest

from kernelweave.machines import (
    BinaryMachine,
    JointMachine,
    LeastSquaresClassMachine,
    LeastSquaresMachine,
    OneClassMachine,
    OneVsAllMachine,
    OneVsOneMachine,
    PosteriorMachine,
    RegressionMachine,
)

rng = np.random.default_rng(0)
N = 36
X = rng.standard_normal((N, 4))
LABELS = rng.permutation(np.arange(N) % 4)
SIGNS = np.where(LABELS < 2, 1.0, -1.0)
BOUND = rng.uniform(0.3, 3.0, N)
TARGET = X[:, 0] + 0.2 * rng.standard_normal(N)
MACHINES = {
    "binary": BinaryMachine(SIGNS, BOUND),
    "regression": RegressionMachine(TARGET, BOUND, epsilon=0.1),
    "one-class": OneClassMachine(5 * BOUND / BOUND.sum()),
    "one-vs-one": OneVsOneMachine(LABELS, BOUND),
    "one-vs-all": OneVsAllMachine(LABELS, BOUND),
    "joint": JointMachine(LABELS, BOUND),
    "joint, soft": JointMachine(LABELS, BOUND, posterior=rng.dirichlet(np.ones(4), N)),
    "posterior": PosteriorMachine(rng.random(N), BOUND),
    "least-squares": LeastSquaresMachine(TARGET, BOUND),
    "least-squares, classes": LeastSquaresClassMachine(LABELS, BOUND),
}


@pytest.mark.parametrize("name", MACHINES)
def test_gradient_of_the_optimum(name):
    machine = MACHINES[name]
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 4) + 0.1 * np.eye(N)
    D = np.random.default_rng(1).standard_normal((N, N)) / N
    D = D + D.T
    solution = machine.solve(K, gap_tol=1e-10)
    assert solution.converged
    h = 1e-4
    ahead, behind = (machine.solve(K + step * D, start=solution, gap_tol=1e-10) for step in (h, -h))
    assert ahead.converged and behind.converged
    expected = -0.5 * sum(c @ D @ c for c in solution.coef.T)
    assert (ahead.objective - behind.objective) / (2 * h) == pytest.approx(expected, rel=1e-4, abs=1e-6)
