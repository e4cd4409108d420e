"""Pair updates with an l1 term: the slope drops at each zero crossing, also where both samples cross at once."""

import numpy as np
import pytest

from kernelweave.solvers import solve_box_qp
from kernelweave.solvers.pairs import pair_length


@pytest.mark.parametrize(("c_i", "c_j"), [(-0.1, 0.1), (-0.1, 0.05), (-0.03, 0.1), (0.0, 0.1), (-0.1, 0.0)])
@pytest.mark.parametrize("slope", [0.1, 0.7, 1.3, 1.6, 3.0])
def test_pair_length_maximises_along_the_pair(c_i, c_j, slope):
    curvature, insensitivity, bound = 2.0, 0.32, 0.1
    room = min(bound - c_i, c_j + bound)
    t = np.linspace(0.0, room, 200001)
    # `slope` is that of the whole objective at t = 0, so the l1 term counts relative to its own slope there.
    at_start = -insensitivity * ((1.0 if c_i >= 0 else -1.0) + (-1.0 if c_j > 0 else 1.0))
    l1 = -insensitivity * (np.abs(c_i + t) + np.abs(c_j - t))
    value = (slope - at_start) * t - 0.5 * curvature * t**2 + l1
    found = pair_length.py_func(slope, curvature, 1e-14, c_i, c_j, room, insensitivity)
    assert found == pytest.approx(t[value.argmax()], abs=1e-6)


def test_start_with_all_samples_at_opposite_bounds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.rint(6 + X[:, 0] + 0.8 * rng.normal(size=300))  # few distinct targets, so that many samples agree
    box = np.full(300, 0.1)
    start = 0.1 * np.sign(y - np.median(y))
    cold = solve_box_qp(X @ X.T, y, -box, box, insensitivity=0.32)
    for sign in (1.0, -1.0):
        result = solve_box_qp(X @ X.T, y + 20, -box, box, insensitivity=0.32, start=sign * start)
        assert result.converged
        assert result.objective == pytest.approx(cold.objective, rel=1e-3)
