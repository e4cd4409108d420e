"""Odd shapes and scales: the solver always ends, says something finite, and keeps what it promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.solvers import solve_box_qp
from reference_qp import dual_objective, kkt_violation, primal_objective

powers = st.integers(-8, 8).map(lambda k: 10.0**k)


@st.composite
def problems(draw):
    n = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    X = rng.standard_normal((n, draw(st.integers(1, 12))))
    X[rng.random(n) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = 0.0  # zero rows, up to a zero kernel
    X = X[rng.integers(0, n, n)] if draw(st.booleans()) else X  # duplicates
    K = (X @ X.T) * draw(powers)
    if draw(st.booleans()):
        K = K.astype(np.float32)
    bound = np.exp(draw(st.floats(0, 5)) * rng.standard_normal(n)) * draw(powers)
    kind = draw(st.sampled_from(["binary", "regression", "one-class"]))
    if kind == "binary":
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        lower, upper = np.minimum(bound * y, 0), np.maximum(bound * y, 0)
        return K, dict(linear=y, lower=lower, upper=upper, total=0.0, insensitivity=0.0)
    if kind == "regression":
        y = rng.standard_normal(n) * draw(powers)
        return K, dict(linear=y, lower=-bound, upper=bound, total=0.0, insensitivity=draw(powers))
    lower, upper = np.zeros(n), bound
    return K, dict(linear=np.zeros(n), lower=lower, upper=upper, total=bound.sum() * rng.random(), insensitivity=0.0)


def slack_of(K, problem, c):
    """Rounding error that a gradient may carry which has been as large as any point of this sum can make it."""
    size = np.abs(K).max() * np.abs(c).sum()
    return 1e-12 * (np.abs(problem["linear"]).max() + size + problem["insensitivity"])


@given(problems(), st.booleans())
@settings(max_examples=250, deadline=None)
def test_always_ends_and_tells_the_truth(case, from_the_top):
    K, problem = case
    start = problem["upper"] if from_the_top else None
    result = solve_box_qp(K, **problem, start=start, max_steps=200_000)
    c = result.solution
    slack = slack_of(K, problem, c)
    parts = {name: problem[name] for name in ("linear", "lower", "upper", "insensitivity")}
    assert np.isfinite(c).all() and np.isfinite([result.objective, result.gap, result.multiplier]).all()
    assert (c >= problem["lower"]).all() and (c <= problem["upper"]).all()
    assert abs(c.sum() - problem["total"]) <= 1e-12 * (np.abs(c).sum() + problem["upper"].sum())
    objective = dual_objective(K, problem["linear"], problem["insensitivity"], c)
    weight = np.abs(c).sum() + (problem["upper"] - problem["lower"]).sum()
    assert result.objective == pytest.approx(objective, rel=1e-9, abs=slack * weight)
    gap = primal_objective(K, **problem, c=c, b=result.multiplier) - objective
    assert 0.0 <= result.gap <= gap * (1.0 + 1e-6) + slack * weight
    violation = kkt_violation(K, **parts, c=c)
    assert result.violation == pytest.approx(violation, rel=1e-6, abs=slack)
    # Converged means converged; where it is not, the budget or floating point must be the reason.
    least = 1.0 if problem["linear"].any() else 1e-6 * problem["total"] ** 2 * np.abs(K.diagonal()).max()
    within = result.violation <= 1e-3 and result.gap <= 1e-2 * max(least, abs(result.objective))
    assert result.converged == within
    # A solve may have come by any point of the box, where the gradient is rounded relative to K times its coefficients.
    rounding = np.finfo(float).eps * np.abs(K).max() * (problem["upper"] - problem["lower"]).sum()
    assert result.converged or result.steps >= 200_000 or violation <= max(1e3 * slack, 10 * rounding)
