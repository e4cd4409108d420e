"""The diagonal of the Hessian, the passes that a solve takes, and its certificate."""

from __future__ import annotations

import numpy as np
import pytest

from kernelweave.engines import InMemory
from kernelweave.engines.memory import Block, StoredFeatures
from kernelweave.engines.primal import Hessian, Primal
from kernelweave.engines.training import ExplicitKernel, certified_descent
from kernelweave.machines import DualTerms, SquaredHinge
from kernelweave.solvers.descent import Point
from kernelweave.stacks.explicit import WeightAmplitudes
from softmax_amplitudes import SoftmaxAmplitudes

N, OFFSETS = 600, np.array([0, 12, 30])


def blocks(dtype: str = "float64", C: float = 1.0, seed: int = 0, n: int = N) -> InMemory:
    """Features whose sizes differ by a factor of 1000, and labels that some of them decide."""
    rng = np.random.default_rng(seed)
    sizes = np.concatenate([10.0 ** -np.linspace(0.0, 3.0, 12), 10.0 ** -np.linspace(0.0, 3.0, 18)])
    matrix = (rng.normal(size=(n, 30)) * sizes + 0.3 * sizes).astype(dtype)
    y = np.sign(matrix @ (1.0 / sizes) / 5.0 + rng.normal(size=n) + 0.5)[:, None]
    found = []
    for first in range(0, n, 200):
        rows = slice(first, min(first + 200, n))
        own = y[rows]
        bounds = np.where(own > 0, 0.0, -np.inf), np.where(own > 0, np.inf, 0.0)
        losses = DualTerms(own, *bounds, np.full((len(own), 1), 1.0 / C))
        codes = rng.normal(size=(len(own), 3))
        found.append(Block(first, StoredFeatures(matrix[rows], OFFSETS), losses, None, np.ones(len(own)), None, codes))
    return InMemory(found)


def test_the_diagonal_is_that_of_the_gradient():
    engine, amplitudes = blocks(C=3.0), WeightAmplitudes(np.array([0.4, 0.6]))
    primal = Primal(engine, amplitudes, 30, 1)
    x = 0.1 * np.random.default_rng(1).normal(size=31)
    kept = [block.features.matrix.copy() for block in engine.blocks]
    value, gradient, detail = primal(x)
    found = Hessian(primal)(0, Point(x, value, gradient, detail), None)
    wanted = np.empty(31)
    for j in range(31):
        step = np.zeros(31)
        step[j] = 1e-5
        wanted[j] = (primal(x + step)[1][j] - primal(x - step)[1][j]) / 2e-5
    assert 0.5 < np.median(found / wanted) < 2.0
    assert (found < 3.0 * wanted).all() and (found > wanted / 3.0).all()
    for block, before in zip(engine.blocks, kept, strict=True):
        np.testing.assert_array_equal(block.features.matrix, before)


def test_the_diagonal_of_gates():
    engine, amplitudes = blocks(C=3.0), SoftmaxAmplitudes(2, 3)
    primal = Primal(engine, amplitudes, 30, 1, penalty=lambda theta: (3.0 * float(theta @ theta), 6.0 * theta))
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(size=30), [0.1], 0.1 * rng.normal(size=8)])
    value, gradient, detail = primal(x)
    found = Hessian(primal)(0, Point(x, value, gradient, detail), None)[31:]
    w, b, theta = primal.parts(x)
    wanted = np.full(8, 6.0)
    for block in engine.blocks:  # Gauss and Newton: squares of the derivatives of values, of samples within the margin
        for i in range(block.n_samples):
            rows = slice(i, i + 1)
            a = amplitudes.values(theta, block, rows)
            phi = block.features.matrix[i]
            s = np.array([[phi[:12] @ w[:12, 0], phi[12:] @ w[12:, 0]]])
            if block.losses.of(rows).respond((a * s).sum(axis=1, keepdims=True) + b)[1][0, 0] != 0.0:
                wanted += 3.0 * amplitudes.pullback(theta, block, rows, a, s) ** 2
    assert 0.3 < np.mean(found) / np.mean(wanted) < 3.0
    assert (found >= 6.0).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_a_certified_solve_takes_few_passes(dtype, C):
    primal = Primal(blocks(dtype, C), WeightAmplitudes(np.array([0.4, 0.6])), 30, 1)
    solution, position = certified_descent(primal, np.zeros(31), 1e-4)
    assert solution.converged
    assert solution.gap <= 1e-4 * max(1.0, abs(solution.objective))
    assert primal.evaluations <= solution.steps * 1.3 + 6  # nearly one for each step, and the certificate
    assert primal.evaluations <= 80
    better = certified_descent(primal, position, 1e-9)[0]
    assert solution.objective - 1e-9 <= better.objective + better.gap
    assert better.objective <= solution.objective + solution.gap + 1e-6 * abs(better.objective)


def test_progress_is_reported():
    engine, shares = blocks(), []
    machine = SquaredHinge().for_targets(np.array([1.0, -1.0]), np.ones(2))
    operand = ExplicitKernel(engine, WeightAmplitudes(np.array([0.4, 0.6])), 30)
    operand.progress = shares.append
    machine.solve(operand, tol=1e-4)
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0, abs=0.1)


def test_an_interrupt_ends_the_descent():
    primal = Primal(blocks(), WeightAmplitudes(np.array([0.4, 0.6])), 30, 1)

    def interrupt(iteration, point):
        if iteration == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certified_descent(primal, np.zeros(31), 1e-9, callback=interrupt)
    assert primal.evaluations < 10
