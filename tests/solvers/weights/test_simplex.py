import numpy as np
import pytest
from scipy.optimize import minimize

from kernelweave.solvers import minimize_on_simplex, project_on_simplex

rng = np.random.default_rng(0)


@pytest.mark.parametrize("total", [1.0, 3.5])
def test_projection_is_the_nearest_point(total):
    for point in rng.normal(size=(20, 5)) * 2:
        found = project_on_simplex(point, total)
        assert found.min() >= 0 and found.sum() == pytest.approx(total)
        for other in total * rng.dirichlet(np.ones(5), size=50):
            assert np.linalg.norm(found - point) <= np.linalg.norm(other - point) + 1e-12


def quadratic(seed, n=6, rank=6):
    local = np.random.default_rng(seed)
    A, b = local.normal(size=(rank, n)), local.normal(size=n)
    return lambda x: (0.5 * ((A @ x) ** 2).sum() - b @ x, A.T @ (A @ x) - b)


@pytest.mark.parametrize("rank", [6, 2])
@pytest.mark.parametrize("seed", range(5))
def test_convex_functions_and_their_gap(seed, rank):
    function = quadratic(seed, rank=rank)
    result = minimize_on_simplex(function, rng.dirichlet(np.ones(6)), tol=1e-7)
    assert result.converged and result.solution.sum() == pytest.approx(1) and result.solution.min() >= 0
    best = minimize(
        lambda x: function(x)[0],
        np.ones(6) / 6,
        jac=lambda x: function(x)[1],
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    assert result.objective == pytest.approx(best.fun, abs=2e-7)
    early = minimize_on_simplex(function, np.eye(6)[0], tol=1e-9, max_steps=1)
    assert early.objective - best.fun <= early.gap + 1e-9


def test_the_objective_never_rises():
    def steep(x):  # curvature that grows without limit towards the border
        x = np.maximum(x, 1e-12)
        return float(-(np.log(x) * [5.0, 1.0, 0.1]).sum() + 40 * x[0]), -np.array([5.0, 1.0, 0.1]) / x + [40, 0, 0]

    start = np.array([0.98, 0.01, 0.01])
    values = [minimize_on_simplex(steep, start, 1e-10, steps).objective for steps in range(30)]
    assert values[0] > values[-1] + 1
    assert (np.diff(values) <= 0).all()


def test_an_early_stop_says_so():
    result = minimize_on_simplex(quadratic(0), np.eye(6)[0], tol=1e-12, max_steps=1)
    assert not result.converged and result.steps == 1
    wrong_slope = minimize_on_simplex(lambda x: (x[0], np.array([-1.0, 0.0])), np.array([0.5, 0.5]))
    assert not wrong_slope.converged and wrong_slope.objective == 0.5
