"""Ascent by SciPy's methods: it ends at the top, records its way, and stops where it becomes slow or is told to."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from kernelweave.solvers.descent import climb

CENTRE = np.array([[1.0, -2.0], [3.0, 0.5]])
STRETCH = np.array([[1.0, 30.0], [4.0, 200.0]])


def hill(position):
    return -float(np.sum(STRETCH * (position - CENTRE) ** 2)), -2.0 * STRETCH * (position - CENTRE)


@pytest.mark.parametrize("method", ["cg", "lbfgs"])
def test_the_top_is_found(method):
    seen = []
    ascent = climb(hill, np.zeros((2, 2)), method, 200, 1e-12, lambda done, total: seen.append((done, total)))
    np.testing.assert_allclose(ascent.position, CENTRE, atol=1e-5)
    assert ascent.converged and (np.diff(ascent.values) >= 0).all()
    assert ascent.values[0] == hill(np.zeros((2, 2)))[0] and ascent.values[-1] == hill(ascent.position)[0]
    assert seen == [(done, 200) for done in range(1, len(ascent.values))]


@pytest.mark.parametrize("method", ["cg", "lbfgs"])
def test_limits(method):
    early = climb(hill, np.zeros((2, 2)), method, 1, 0.0)
    assert not early.converged and len(early.values) == 2 and early.values[1] > early.values[0]

    def valley(position):
        return -float(rosen(position)), -rosen_der(position)

    slow = climb(valley, np.array([-1.2, 1.0]), method, 500, 5.0)
    assert slow.converged and len(slow.values) == 11  # the first time that ten iterations can be judged
    assert len(climb(valley, np.array([-1.2, 1.0]), method, 500, 1e-9).values) > 12
