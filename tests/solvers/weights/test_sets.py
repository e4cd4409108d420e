import numpy as np
import pytest

from kernelweave.solvers.weights.sets import Budget, GroupBall, Separate, Simplex

rng = np.random.default_rng(0)
GROUPS = np.array([0, 0, 1, 2, 2])


def points_of(feasible, count=4000):
    """Random points of the set, many of them on its boundary."""
    if isinstance(feasible, Budget):
        return np.array([feasible.clean(x) for x in 3.0 * rng.normal(size=(count, 5))])
    if isinstance(feasible, Separate):
        x = rng.gamma(0.3, size=(count, 5))
        for g, p in enumerate((2.0, np.inf, 1.0)):
            x[:, g == GROUPS] /= np.linalg.norm(x[:, g == GROUPS], p, axis=1)[:, None]
        return x
    if isinstance(feasible, Simplex):
        spare = 1.0 - feasible.lower.sum()
        return feasible.lower + spare * rng.dirichlet(np.full(5, 0.3), size=count)
    x = rng.gamma(0.3, size=(count, 5))
    norms = sum(np.linalg.norm(x[:, g == GROUPS], feasible.p, axis=1) for g in range(3))
    return x / norms[:, None]


SETS = [
    Simplex(np.zeros(5)),
    Simplex(np.array([0.1, 0.0, 0.2, 0.0, 0.05])),
    Simplex(np.zeros(5), pull=2.0),
    Simplex(np.full(5, 0.1), pull=0.3),
    Budget(5, 2),
    GroupBall(GROUPS, 1.5),
    GroupBall(GROUPS, 2.0),
    GroupBall(GROUPS, np.inf),
    Separate([GroupBall(np.zeros(2, int), 2.0), GroupBall(np.zeros(1, int), np.inf), Simplex(np.zeros(2))], GROUPS),
]


@pytest.mark.parametrize("feasible", SETS)
def test_smallest_bounds_every_point_and_is_reached(feasible):
    forms = rng.gamma(2.0, size=5)
    points = points_of(feasible)
    penalties = np.array([feasible.penalty(x) for x in points])
    values = 3.0 - 0.5 * points @ forms + penalties
    smallest = feasible.smallest(3.0, forms)
    assert smallest <= values.min() + 1e-12
    assert values.min() - smallest < 0.15


@pytest.mark.parametrize("feasible", SETS)
def test_clean_points_and_the_start_are_feasible(feasible):
    for x in [feasible.start(), *(feasible.clean(x + 1e-8 * rng.normal(size=5)) for x in points_of(feasible, 20))]:
        if isinstance(feasible, Simplex):
            assert x.sum() == pytest.approx(1.0, abs=1e-12)
            assert (x >= feasible.lower - 1e-15).all()
        elif isinstance(feasible, Budget):
            assert x.sum() == pytest.approx(2.0)
            assert (x >= 0.0).all() and (x <= 1.0).all()
        elif isinstance(feasible, Separate):
            norms = [np.linalg.norm(x[g == GROUPS], p) for g, p in enumerate((2.0, np.inf, 1.0))]
            assert norms == pytest.approx([1.0, 1.0, 1.0])
            assert (x >= 0.0).all()
        else:
            norms = [np.linalg.norm(x[g == GROUPS], feasible.p) for g in range(3)]
            assert sum(norms) == pytest.approx(1.0)
            assert (x >= 0.0).all()


def test_projection_is_the_nearest_point():
    simplex = SETS[1]
    for x in rng.normal(size=(20, 5)):
        nearest = simplex.project(x)
        others = points_of(simplex, 500)
        assert ((x - nearest) ** 2).sum() <= ((x - others) ** 2).sum(axis=1).min() + 1e-12
        assert nearest.sum() == pytest.approx(1.0)


def test_cleaning_puts_small_weights_to_their_limit():
    assert Simplex(np.zeros(2)).clean(np.array([1.0, 1e-9])).tolist() == [1.0, 0.0]
    assert GroupBall(np.array([0, 1]), 2.0).clean(np.array([1.0, 1e-9])).tolist() == [1.0, 0.0]
    own = [GroupBall(np.zeros(2, int), 1.5), Simplex(np.zeros(1))]  # nothing is left of the first: it starts again
    start = 2.0 ** (-1.0 / 1.5)
    assert Separate(own, np.array([0, 1, 0])).clean(np.array([0.0, 1.0, 0.0])).tolist() == [start, 1.0, start]


def test_the_constraints_of_sets_hold_for_their_points_only():
    """The rows of `Separate`, whose helpers are behind all weights, against those of its parts."""
    feasible = SETS[-1]
    A, b, cones = feasible.constraints()
    parts = [own.constraints() for own in feasible.sets]
    assert A.shape == (len(b), 5 + sum(part.shape[1] for part, _, _ in parts) - 5)
    assert len(cones) == sum(len(own) for _, _, own in parts)
    row, helper = 0, 5
    for g, (part, right, _) in enumerate(parts):
        members = np.flatnonzero(g == GROUPS)
        height, n_helpers = len(right), part.shape[1] - len(members)
        mine = A[row : row + height]
        np.testing.assert_array_equal(mine[:, members], part[:, : len(members)])
        np.testing.assert_array_equal(mine[:, helper : helper + n_helpers], part[:, len(members) :])
        assert np.count_nonzero(mine) == np.count_nonzero(part)
        np.testing.assert_array_equal(b[row : row + height], right)
        row, helper = row + height, helper + n_helpers
