"""Newton's method on explicit features: its steps, its sums over blocks, and when it is used."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from explicit_problem import CASES, NOVELTY, Twin
from kernelweave.engines import InMemory, training
from kernelweave.engines.memory import Block, StoredFeatures
from kernelweave.engines.primal import Primal
from kernelweave.engines.training import Newton, Scatter, certificate, certified_descent, scatter, solved
from kernelweave.machines import DualTerms
from kernelweave.stacks.explicit import WeightAmplitudes
from softmax_amplitudes import SoftmaxAmplitudes

AMPLITUDES = WeightAmplitudes(np.array([0.4, 0.6]))


def problem(n: int, D: int, kind: str, *, C: float, shift: float = 0.0, dtype: str = "float64", rows: int = 70):
    """P over blocks: features around `shift`, with one output, three classes, or two least-squares targets."""
    rng = np.random.default_rng(n + D)
    matrix = (rng.normal(size=(n, D)) * 10.0 ** -np.linspace(0.0, 2.0, D) + shift).astype(dtype)
    score = (matrix - shift) @ rng.normal(size=(D, {"one": 1, "three": 3, "targets": 2}[kind])) + 0.3
    found = []
    for first in range(0, n, rows):
        part = slice(first, min(first + rows, n))
        y = score[part] if kind == "targets" else np.sign(score[part] + 0.5 * rng.normal(size=score[part].shape))
        low, high = (
            (-np.inf, np.inf) if kind == "targets" else (np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0))
        )
        low, high = (np.broadcast_to(each, y.shape).copy() for each in (low, high))
        losses = DualTerms(y, low, high, np.full(y.shape, 1.0 / C))
        features = StoredFeatures(matrix[part], np.array([0, D // 3, D]))
        found.append(Block(first, features, losses, None, np.ones(len(y))))
    return Primal(InMemory(found), AMPLITUDES, D, score.shape[1])


@pytest.mark.parametrize("D", [12, 400])  # fewer features than samples, and more
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("kind", ["one", "three", "targets"])
def test_a_few_steps_end_at_the_minimiser(kind, C, D):
    primal = problem(150, D, kind, C=C)
    solution, position = certified_descent(primal, np.zeros((D + 1) * primal.shape[1]), 1e-3)
    assert solution.converged and solution.steps <= (2 if kind == "targets" else 40)
    assert 0.0 <= solution.gap <= 1e-10 * max(1.0, solution.objective)
    value, gradient, _ = primal(position)
    assert value == pytest.approx(solution.objective, rel=1e-9)
    assert np.abs(gradient).max() < 1e-5 * max(1.0, C)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0):
        assert primal(position + size * rng.normal(size=len(position)))[0] > value


def test_least_squares_are_one_linear_system():
    C, primal = 50.0, problem(150, 12, "targets", C=50.0)
    solution = certified_descent(primal, np.zeros(26), 1e-3)[0]
    blocks = primal.engine.blocks
    phi = np.vstack([block.features.matrix for block in blocks]) * np.sqrt(np.repeat([0.4, 0.6], [4, 8]))
    y = np.vstack([block.losses.linear for block in blocks])
    wide = np.column_stack([phi, np.ones(150)])
    wanted = np.linalg.solve(wide.T @ wide + np.diag([1.0] * 12 + [0.0]) / C, wide.T @ y)
    np.testing.assert_allclose(solution.coef, wanted[:-1], atol=1e-9)
    np.testing.assert_allclose(solution.intercept, wanted[-1], atol=1e-9)
    assert solution.steps == 1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["one", "three"])
def test_a_large_mean_costs_no_precision(kind, dtype):
    """C times k(x, x) is 1e11, nearly all of it in the mean."""
    primal = problem(150, 12, kind, C=1e3, shift=3e3, dtype=dtype)
    solution = certified_descent(primal, np.zeros(13 * primal.shape[1]), 1e-6)[0]
    assert solution.converged and solution.gap >= 0.0
    assert solution.steps <= 60


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["one", "three", "targets"])
@pytest.mark.parametrize("shift", [3e3, 1e5])
def test_a_gap_is_not_what_rounding_leaves_of_a_large_bias(kind, dtype, shift):
    """b cancels a mean of scores: sums of c are wrong by n C eps |b|, which counts times decision values, not b."""
    primal = problem(150, 12, kind, C=1e3, shift=shift, dtype=dtype)
    solution, position = certified_descent(primal, np.zeros(13 * primal.shape[1]), 1e-6)
    sizes = np.abs(solution.intercept)
    assert solution.converged and sizes.max() > 1e3
    gap = certificate(primal, position, solution.steps).gap
    largest_value = 10.0  # of what is decided; the gap found is a hundredth of this bound
    assert 0.0 <= gap <= 1e-9 * solution.objective + 150 * 1e3 * 1e-15 * largest_value * sizes.sum()


def test_a_certificate_is_made_once_where_no_step_follows(monkeypatch):
    """A tolerance below all rounding is not reached, and the same gap is not found again and again."""
    found = []

    def counted(primal, position, steps, gap_tol):
        found.append(steps)
        return certificate(primal, position, steps, gap_tol)

    monkeypatch.setattr(training, "certificate", counted)
    primal = problem(150, 12, "one", C=1e3, shift=3e3)
    assert not certified_descent(primal, np.zeros(13), 1e-18)[0].converged
    assert len(found) == len(set(found)) > 0


@pytest.mark.parametrize("case", [*CASES, *NOVELTY])
def test_it_takes_few_steps_for_each_machine(case):
    twin = Twin(case)
    solution = twin.machine.solve(twin.explicit.sum(np.full(4, 0.25)))
    assert solution.converged and solution.steps <= 12
    assert solution.gap <= 1e-9 * abs(solution.objective)


def test_sums_over_blocks_are_those_of_all_samples():
    sums = []
    w, b = 0.1 * np.random.default_rng(1).normal(size=(12, 3)), np.array([0.1, 0.0, -0.1])
    for rows in (7, 70, 150):
        primal = problem(150, 12, "three", C=2.0, shift=50.0, rows=rows)
        if rows == 7:
            primal.engine.blocks.append(_without_samples(primal.engine.blocks[0]))
        sums.append(primal.engine.sum(scatter, AMPLITUDES, w, b, np.empty(0), [0, 2]))
    for found in sums[:2]:
        for mine, whole in zip(dataclasses.astuple(found), dataclasses.astuple(sums[2]), strict=True):
            np.testing.assert_allclose(mine, whole, rtol=1e-9, atol=1e-9 * np.abs(whole).max())


def test_samples_that_do_not_curve_add_nothing():
    empty = Scatter(np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2, 2)))
    some = Scatter(np.ones(1), np.ones((1, 2)), np.eye(2)[None])
    for found in (empty + some, some + empty):
        for mine, wanted in zip(dataclasses.astuple(found), dataclasses.astuple(some), strict=True):
            np.testing.assert_array_equal(mine, wanted)


def test_systems_are_solved_where_rounding_leaves_them_indefinite():
    rng = np.random.default_rng(0)
    thin = rng.normal(size=(3, 6)) * 1e9
    S, right = thin.T @ thin, rng.normal(size=(6, 2))
    S[-1], S[:, -1] = 0.0, 0.0  # a feature that no sample has
    found = solved(S, right)
    np.testing.assert_array_equal(found[-1], right[-1])
    assert np.isfinite(found).all() and ((right * found).sum(axis=0) > 0.0).all()


def test_when_it_is_used():
    """At once where features are few; after as many steps as take its time where they are not; never beyond a size."""
    assert Newton(problem(150, 12, "one", C=1.0)).patience(1e-3) == 0.0
    assert Newton(problem(150, 400, "one", C=1.0)).patience(1e-3) == 0.0
    later = Newton(problem(3000, 600, "one", C=1.0, rows=3000))
    assert 20.0 < later.patience(1e-3) < np.inf
    wide = problem(150, 12, "one", C=1.0)
    gates = Primal(wide.engine, SoftmaxAmplitudes(2, 3), 12, 1)
    assert Newton(gates).patience(1e-3) == np.inf
    wide.engine.takes_products = False
    assert Newton(wide).patience(1e-3) == np.inf


def test_its_turn_comes_where_the_descent_is_slow(monkeypatch):
    primal = problem(300, 40, "one", C=1e5)
    slow = certified_descent(_without_products(problem(300, 40, "one", C=1e5)), np.zeros(41), 1e-9)[0]
    monkeypatch.setattr(Newton, "patience", lambda self, gap_tol: _asked(self, 7.0))
    solution = certified_descent(primal, np.zeros(41), 1e-9)[0]
    assert solution.converged and 7 < solution.steps < slow.steps
    assert certified_descent(primal, np.zeros(41), 1e-9, max_steps=9)[0].steps == 9
    np.testing.assert_allclose(solution.objective, slow.objective, rtol=1e-6)


def _asked(newton: Newton, patience: float) -> float:
    newton.n_samples = 300
    return patience


def _without_products(primal: Primal) -> Primal:
    primal.engine.takes_products = False
    return primal


def _without_samples(block: Block) -> Block:
    features = StoredFeatures(block.features.matrix[:0], block.features.offsets)
    return dataclasses.replace(block, features=features, losses=block.losses.of(slice(0, 0)), weight=block.weight[:0])


def test_least_squares_curve_where_targets_are_met():
    """A coefficient of 0 is no corner of a quadratic loss, as it is of an insensitive one."""
    y, everywhere = np.zeros((4, 1)), np.full((4, 1), np.inf)
    for insensitivity, wanted in ((0.0, 3.0), (0.1, 0.0)):
        losses = DualTerms(y, -everywhere, everywhere, np.full((4, 1), 1.0 / 3.0), insensitivity)
        np.testing.assert_allclose(losses.curvature(y), wanted)
