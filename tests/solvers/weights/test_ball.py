import numpy as np
import pytest
from scipy.optimize import minimize

from kernelweave.solvers import project_ball


@pytest.mark.parametrize("seed", range(8))
def test_nearest_point_of_ball_and_orthant(seed):
    rng = np.random.default_rng(seed)
    center, radius, point = rng.uniform(0, 1, 5) * (rng.random(5) > 0.3), rng.uniform(0.1, 1.5), 3 * rng.normal(size=5)
    ball = {"type": "ineq", "fun": lambda x: radius**2 - np.sum((x - center) ** 2), "jac": lambda x: 2 * (center - x)}
    expected = minimize(
        lambda x: (np.sum((x - point) ** 2), 2 * (x - point)), center, jac=True, bounds=[(0, None)] * 5,
        constraints=[ball], method="SLSQP", options={"ftol": 1e-15, "maxiter": 500},
    ).x  # fmt: skip
    found = project_ball(point, center, radius)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found.min() >= 0.0 and np.linalg.norm(found - center) <= radius * (1 + 1e-12)
    np.testing.assert_array_equal(found == 0.0, expected < 1e-9)


def test_points_inside_stay_and_a_point_is_its_own_ball():
    inside = np.array([0.3, 0.0])
    np.testing.assert_array_equal(project_ball(inside, np.zeros(2), 1.0), inside)
    np.testing.assert_array_equal(project_ball(np.array([5.0, -1.0]), inside, 0.0), inside)
