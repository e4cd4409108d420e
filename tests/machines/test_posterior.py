"""The posterior-probability machine for two classes: thesis (1.12), (1.13) and SEEDS' limit of small soft labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.machines import BinaryMachine, PosteriorMachine
from reference_qp import clarabel_optimum, dual_objective


def data(seed, n=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 3)
    posterior = 1 / (1 + np.exp(-3 * X[:, 0] - rng.standard_normal(n)))
    return K, posterior, rng.uniform(0.5, 3.0, n)


def primal(K, soft, bound, kept, c, b):
    """1/2 ||w||^2 + C sum xi with xi_i the slack of t f >= t^2 - t^2 xi, as (1.13) states it."""
    f = K @ c + b
    t = soft[kept]
    slack = np.maximum(0.0, (t**2 - t * f[kept]) / t**2)
    return 0.5 * c @ K @ c + bound[kept] @ slack


@pytest.mark.parametrize("seed", range(3))
def test_optimum_is_clarabels_and_the_primal_is_the_thesis_one(seed):
    K, posterior, bound = data(seed)
    machine = PosteriorMachine(posterior, bound)
    solution = machine.solve(K, gap_tol=1e-8)
    optimum, _ = clarabel_optimum(K, **machine.problem())
    assert solution.converged and solution.objective == pytest.approx(optimum, rel=1e-6)
    c = solution.coef[:, 0]
    assert solution.objective == pytest.approx(dual_objective(K, machine.soft, 0.0, c), rel=1e-9)
    certified = primal(K, machine.soft, bound, ~machine.dropped, c, solution.intercept[0])
    assert solution.gap >= 0
    assert certified - solution.objective == pytest.approx(solution.gap, abs=1e-7 * certified)
    alpha = c[~machine.dropped] / machine.soft[~machine.dropped]
    assert (alpha >= 0).all() and (alpha <= (bound / machine.soft**2)[~machine.dropped] * (1 + 1e-12)).all()
    assert machine.solve(K, start=solution, gap_tol=1e-8).steps == 0


def test_certain_posteriors_are_the_binary_machine():
    K, posterior, bound = data(0)
    hard = (posterior > 0.5).astype(float)
    soft = PosteriorMachine(hard, bound).solve(K)
    binary = BinaryMachine(2 * hard - 1, bound).solve(K)
    np.testing.assert_array_equal(soft.coef, binary.coef)


def test_samples_of_which_little_is_known_are_dropped():
    K, posterior, bound = data(1)
    posterior[:5] = [0.5, 0.524, 0.476, 0.526, 0.474]
    machine = PosteriorMachine(posterior, bound)
    np.testing.assert_array_equal(machine.dropped[:5], [True, True, True, False, False])
    solution = machine.solve(K, gap_tol=1e-9)
    assert not solution.coef[machine.dropped].any()
    kept = np.flatnonzero(~machine.dropped)
    without = machine.subset(kept).solve(K[np.ix_(kept, kept)], gap_tol=1e-9)
    assert without.objective == pytest.approx(solution.objective, rel=1e-8)
    assert not PosteriorMachine(posterior, bound, threshold=1e-6).dropped[1:5].any()


def test_subset_decision_and_risk():
    K, posterior, bound = data(2)
    y = np.where(posterior > 0.3, 1.0, -1.0)
    machine = PosteriorMachine(posterior, bound, y_signed=y, threshold=0.2)
    index = np.arange(60) % 2 == 0
    small = machine.subset(index)
    assert small.threshold == 0.2 and small.n_samples == 30
    np.testing.assert_array_equal(small.strata, y[index])
    for name, value in small.problem().items():
        np.testing.assert_array_equal(value, machine.problem()[name][index] if np.ndim(value) else value)
    values = np.where(posterior > 0.5, 1.0, -1.0)[:, None]
    assert machine.risk(values) == np.mean((posterior > 0.3) != (posterior > 0.5))
    assert PosteriorMachine(posterior, bound).risk(values) == 0.0
    np.testing.assert_array_equal(machine.decision(values), values[:, 0])


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 20), seed=st.integers(0, 1000), certain=st.floats(0.0, 1.0))
def test_any_shape_is_solved_and_certified(n, seed, certain):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    posterior = np.where(rng.random(n) < certain, rng.integers(0, 2, n), rng.random(n))
    solution = PosteriorMachine(posterior, rng.uniform(0, 3, n)).solve(X @ X.T, gap_tol=1e-6)
    assert solution.converged and solution.gap >= 0 and np.isfinite(solution.intercept).all()
    assert solution.coef.sum() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: PosteriorMachine(np.eye(2), 1.0), "one-dimensional"),
        (lambda: PosteriorMachine(np.array([0.2, 1.1]), 1.0), "from 0 to 1"),
        (lambda: PosteriorMachine(np.array([0.2, np.nan]), 1.0), "from 0 to 1"),
        (lambda: PosteriorMachine(np.array([0.2, 0.9]), 1.0, threshold=0.0), "threshold"),
        (lambda: PosteriorMachine(np.array([0.2, 0.9]), 1.0, y_signed=np.array([0.0, 1.0])), "y_signed"),
        (lambda: PosteriorMachine(np.array([0.2, 0.9]), -1.0), "bound"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()
