import numpy as np
import pytest

from kernelweave.solvers import minimize_scale_free

rng = np.random.default_rng(0)


def cosine(G, a):
    def function(x):
        image = G @ x
        square = x @ image
        return -(a @ x) / np.sqrt(square), -(a * square - (a @ x) * image) / square**1.5

    return function


@pytest.mark.parametrize("seed", range(5))
def test_no_other_direction_is_better(seed):
    local = np.random.default_rng(seed)
    B = local.normal(size=(8, 5)) + 0.5
    function = cosine(B.T @ B, B.T @ local.normal(size=8) + 2)
    result = minimize_scale_free(function, np.ones(5))
    assert result.converged and result.solution.min() >= 0 and result.solution.sum() == pytest.approx(1)
    for other in local.dirichlet(np.full(5, 0.5), size=500):
        assert function(other)[0] >= result.objective - 1e-6


def test_many_dependent_variables():
    B = rng.normal(size=(30, 100)) + 1
    function = cosine(B.T @ B, B.T @ (rng.normal(size=30) + 1))
    assert minimize_scale_free(function, np.ones(100)).converged


def test_an_early_stop_says_so():
    function = cosine(np.diag([1.0, 100.0, 1e4]), np.ones(3))
    result = minimize_scale_free(function, np.array([1.0, 50.0, 1.0]), max_steps=1)
    assert not result.converged and result.violation > 1e-5
