"""Certificates on explicit features: exact biases, and gaps that bound the distance from the optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from explicit_problem import CASES, NOVELTY, Twin, X, some_missing
from kernelweave.combiners import WeightedSum
from kernelweave.engines import InMemory
from kernelweave.engines.primal import Primal, Scored, best_intercepts
from kernelweave.engines.training import certificate
from kernelweave.machines import BinaryLoss, DualTerms, SquaredEpsilonInsensitive, SquaredHinge, SquaredOneClassMachine
from kernelweave.stacks.explicit import WeightAmplitudes

TWINS: dict[str, Twin] = {}


def twin_of(case: str) -> Twin:
    if case not in TWINS:
        TWINS[case] = Twin(case, X=some_missing(X))
    return TWINS[case]


@pytest.mark.parametrize("case", [*CASES, *NOVELTY])
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_gap_is_never_below_the_true_one(case, data):
    twin = twin_of(case)
    seed = data.draw(st.integers(0, 1000))
    size = data.draw(st.sampled_from([0.0, 1e-3, 1.0, 1e4]))
    rng = np.random.default_rng(seed)
    eta = rng.uniform(size=4) * rng.integers(0, 2, size=4)
    eta[1] += 0.1
    exact = twin.machine.solve(WeightedSum(twin.dense, eta).gram(), gap_tol=1e-9)
    n_features, q = twin.explicit.n_features, twin.machine.n_outputs
    primal = Primal(twin.explicit.engine, WeightAmplitudes(eta), n_features, q, total=twin.machine.total)
    near = twin.machine.solve(twin.explicit.sum(eta, eta), gap_tol=1e-6)
    w = near.coef + size * rng.normal(size=near.coef.shape) / np.sqrt(n_features)
    found = certificate(primal, primal.join(w, 10.0 * size * rng.normal(size=q), np.empty(0)), 0)
    best = exact.objective + exact.gap
    rounding = 1e-9 * (abs(best) + abs(found.objective) + found.gap)
    upper, lower = found.objective + found.gap, found.objective
    assert upper >= exact.objective - rounding, "the primal value is above the optimum"
    assert lower <= best + rounding, "the dual value is below it"
    assert found.gap >= upper - best - rounding


def scored_blocks(losses: DualTerms, scores: np.ndarray) -> InMemory:
    cuts = [slice(0, 1), slice(1, 7), slice(7, len(scores))]
    return InMemory([Scored(scores[rows], losses.of(rows), np.ones(len(scores[rows]))) for rows in cuts])


class Bounded(BinaryLoss):
    """A hinge, rounded off, whose coefficients have a limit."""

    def terms(self, y, bound):
        ends = bound * y
        return DualTerms(y, np.minimum(ends, 0.0), np.maximum(ends, 0.0), quadratic=0.3 / bound)


@settings(max_examples=80, deadline=None)
@given(
    kind=st.sampled_from(["hinge", "tube", "one class", "bounded"]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    cost=st.sampled_from([1e-8, 1.0, 1e8]),
    start=st.sampled_from([0.0, 1e9, -1e9, np.inf, np.nan]),
    seed=st.integers(0, 10_000),
)
def test_biases_minimise_the_losses(kind, scale, cost, start, seed):
    rng = np.random.default_rng(seed)
    n, total = 30, 0.0
    scores, bound = scale * rng.normal(size=(n, 1)), cost * rng.uniform(0.1, 2.0, n)
    signs = np.where(np.arange(n) < rng.integers(1, n), 1.0, -1.0)
    if kind == "tube":
        losses = SquaredEpsilonInsensitive(epsilon=0.3).for_targets(scale * rng.normal(size=n), bound).terms
    elif kind == "one class":
        losses, total = SquaredOneClassMachine(bound, nu=0.1).terms, 1.0
    else:
        losses = (SquaredHinge() if kind == "hinge" else Bounded()).for_targets(signs, bound).terms

    def excess(b: float) -> float:
        return float(losses.coefficients(scores + b).sum()) - total

    b = best_intercepts(scored_blocks(losses, scores), np.array([start]), total)[0]
    size = np.abs(losses.coefficients(scores + b)).sum() + total
    assert np.isfinite(b)
    if abs(excess(b)) <= 1e-12 * size:
        return
    far = 10.0 * (1.0 + abs(b) + scale + total / bound.sum())
    root = brentq(excess, -far, far, xtol=1e-14 * max(1.0, abs(b)), rtol=1e-15)
    np.testing.assert_allclose(b, root, rtol=1e-11, atol=1e-11 * scale)


def test_samples_that_are_all_beyond_the_margin_leave_the_bias_free():
    signs = np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    losses = SquaredHinge().for_targets(signs, np.ones(8)).terms
    engine = scored_blocks(losses, 5.0 * signs[:, None])
    assert best_intercepts(engine, np.array([0.5]), 0.0) == [0.5]
    b = best_intercepts(engine, np.array([40.0]), 0.0)[0]
    assert -4.0 <= b <= 4.0  # the interval in which no sample has a loss


def test_another_bias_gives_no_bound():
    twin = twin_of("squared-hinge")
    eta = np.full(4, 1e-9)  # a kernel so small that only the bias counts
    n_features = twin.explicit.n_features
    primal = Primal(twin.explicit.engine, WeightAmplitudes(eta), n_features, 1)
    exact = twin.machine.solve(WeightedSum(twin.dense, eta).gram(), gap_tol=1e-9).objective
    position = primal.join(np.zeros((n_features, 1)), np.array([30.0]), np.empty(0))
    value, _, far = primal(position)
    assert value - 0.5 * (far.pulled**2).sum() > 2.0 * exact
    found = certificate(primal, position, 0)
    assert found.objective <= exact * (1 + 1e-8) and exact <= (found.objective + found.gap) * (1 + 1e-8)
