"""Generalised cross-validation from one tridiagonal form: against the hat matrix of solves with unit vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.machines import LeastSquaresClassMachine, LeastSquaresMachine
from kernelweave.machines.gcv import gcv_scores

COSTS = 10.0 ** np.arange(-3, 4)


def problem(seed, n, outputs, rank=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank or 3))
    K = X @ X.T if rank else np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 4)
    return K, rng.standard_normal((n, outputs)) + 3.0, rng.uniform(0.2, 4.0, n)


def by_definition(K, Y, weight, C):
    n = len(K)
    system = np.block([[K + np.diag(1 / (C * weight)), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    answer = np.linalg.solve(system, np.vstack([np.eye(n), np.zeros((1, n))]))
    hat = K @ answer[:n] + answer[n]
    errors = Y - hat @ Y
    return (weight[:, None] * errors**2).sum() / n / (1 - np.trace(hat) / n) ** 2


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(2, 40),
    outputs=st.integers(1, 4),
    rank=st.sampled_from([None, 1, 2]),
    weighted=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_scores_are_the_definition(n, outputs, rank, weighted, seed):
    K, Y, weight = problem(seed, n, outputs, rank)
    weight = weight if weighted else np.ones(n)
    before = K.copy()
    found = gcv_scores(K, Y, weight, COSTS)
    # tr(I - A) is a difference of numbers near n in the definition, and at least 1e-3 here
    np.testing.assert_allclose(found, [by_definition(K, Y, weight, C) for C in COSTS], rtol=1e-6)
    np.testing.assert_array_equal(K, before)


def test_a_matrix_in_single_precision_and_a_row_major_one_are_read_alike():
    K, Y, weight = problem(0, 30, 2)
    expected = gcv_scores(K, Y, weight, COSTS)
    np.testing.assert_allclose(gcv_scores(np.asfortranarray(K), Y, weight, COSTS), expected, rtol=1e-9)
    np.testing.assert_allclose(gcv_scores(K.astype(np.float32), Y, weight, COSTS), expected, rtol=1e-3)


def test_a_cost_for_which_the_kernel_is_indefinite_is_infinite():
    K, Y, weight = problem(1, 20, 1)
    scores = gcv_scores(K - 0.5 * np.eye(20), Y, np.ones(20), COSTS)
    assert np.isfinite(scores[COSTS < 1]).all() and np.isinf(scores[COSTS > 10]).all()


@pytest.mark.parametrize("n", [1, 2, 25])
def test_equal_scores_choose_the_smallest_cost(n):
    machine = LeastSquaresMachine(np.arange(float(n)), COSTS[-1]).choosing_among(COSTS)
    assert machine.solve(np.ones((n, n))).cost == COSTS[0]  # a constant kernel, of which the bias leaves nothing


def test_the_solution_is_that_of_the_chosen_cost():
    K, Y, weight = problem(2, 40, 3)
    machine = LeastSquaresMachine(Y, COSTS[-1] * weight).choosing_among(COSTS)
    found = machine.solve(K)
    assert found.cost == COSTS[found.gcv.argmin()]
    alone = LeastSquaresMachine(Y, found.cost * weight).solve(K)
    np.testing.assert_allclose(found.coef, alone.coef, rtol=1e-9, atol=1e-12)
    assert machine.costs is COSTS  # a solve leaves the machine as it is
    assert not machine.takes_parts and LeastSquaresMachine(Y, 1.0).takes_parts


def test_subsets_and_outputs_choose_too():
    labels = np.arange(30) % 3
    K = problem(3, 30, 1)[0]
    machine = LeastSquaresClassMachine(labels, COSTS[-1]).choosing_among(COSTS)
    rows = np.arange(20)
    assert machine.subset(rows).solve(K[:20, :20]).gcv.shape == COSTS.shape
    assert all(own.solve(K).cost in COSTS for _, own in machine.outputs())
    assert LeastSquaresMachine(np.ones(30), COSTS[-1]).choosing_among(COSTS).subset(rows).costs is COSTS


def test_what_is_not_finite_is_named():
    machine = LeastSquaresMachine(np.arange(3.0), 1.0).choosing_among(COSTS)
    with pytest.raises(ValueError, match="K contains NaN or infinity"):
        machine.solve(np.full((3, 3), np.nan))
