import numpy as np
import pytest
from scipy.linalg import expm, polar

from kernelweave.solvers import ConvexSet, ProductSpace, Space, Sphere, Stiefel

rng = np.random.default_rng(0)
BOX = ConvexSet(lambda x: np.clip(x, -1.0, 1.0))
MIXED = ProductSpace([(12, Stiefel(4, 3)), (5, Space()), (6, Sphere(2.0)), (3, Stiefel(3, 1))])
MANIFOLDS = [
    pytest.param(Stiefel(7, 3), 21, id="stiefel"),
    pytest.param(Stiefel(5, 5), 25, id="square"),
    pytest.param(Stiefel(6, 1), 6, id="one column"),
    pytest.param(Stiefel(1, 1), 1, id="one entry"),
    pytest.param(Sphere(2.5), 8, id="sphere"),
    pytest.param(MIXED, 26, id="product"),
    pytest.param(ProductSpace([(26, MIXED), (2, Sphere())]), 28, id="nested"),
]
ALL = [*MANIFOLDS, pytest.param(Space(), 4, id="space"), pytest.param(BOX, 4, id="convex set")]


def deviation(W):
    return np.abs(W.T @ W - np.eye(W.shape[1])).max()


@pytest.mark.parametrize(("domain", "size"), ALL)
def test_entering_twice_changes_nothing(domain, size):
    outside = rng.normal(size=size)
    before = outside.copy()
    inside = domain.enter(outside)
    np.testing.assert_array_equal(outside, before)
    np.testing.assert_allclose(domain.enter(inside), inside, atol=1e-14)
    assert inside.shape == (size,) and np.isfinite(inside).all()


@pytest.mark.parametrize(("n_rows", "n_columns"), [(7, 3), (5, 5), (6, 1), (300, 10)])
def test_orthonormal_matrices_are_entered_at_the_polar_factor(n_rows, n_columns):
    A = rng.normal(size=(n_rows, n_columns))
    W = Stiefel(n_rows, n_columns).enter(A.ravel()).reshape(n_rows, n_columns)
    np.testing.assert_allclose(W, polar(A)[0], atol=1e-12)
    assert deviation(W) < 1e-14


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_dependent_columns_are_entered_too(rank):
    A = rng.normal(size=(6, rank)) @ rng.normal(size=(rank, 3))
    W = Stiefel(6, 3).enter(A.ravel()).reshape(6, 3)
    assert deviation(W) < 1e-14
    nearest = np.sqrt(((np.linalg.svd(A, compute_uv=False) - 1.0) ** 2).sum())  # von Neumann's trace inequality
    assert np.linalg.norm(W - A) == pytest.approx(nearest)


def test_spheres_are_entered_by_scaling():
    np.testing.assert_allclose(Sphere(10.0).enter(np.array([3.0, 0.0, -4.0])), [6.0, 0.0, -8.0])
    with pytest.raises(ValueError, match="zeros has no direction"):
        Sphere(1.0).enter(np.zeros(3))


@pytest.mark.parametrize("columns", [1, 3, 6])
def test_tangent_vectors_are_the_derivatives_of_turns(columns):
    """The curves expm(t skew) W give all tangent vectors skew W; what a projection removes is orthogonal to them."""
    domain = Stiefel(6, columns)
    position = domain.enter(rng.normal(size=6 * columns))
    vector = rng.normal(size=6 * columns)
    tangent = domain.tangent(position, vector)
    skews = rng.normal(size=(40, 6, 6))
    turns = [((skew - skew.T) @ position.reshape(6, columns)).ravel() for skew in skews]
    np.testing.assert_allclose(turns @ (vector - tangent), 0.0, atol=1e-12)
    parts = np.linalg.lstsq(np.transpose(turns), tangent, rcond=None)[0]
    np.testing.assert_allclose(parts @ turns, tangent, atol=1e-12)


@pytest.mark.parametrize(("domain", "size"), MANIFOLDS)
def test_tangent_space_is_where_entering_leads(domain, size):
    """Entering projects nearby points, so that its derivative is the projection onto the tangent space."""
    position, vector = domain.enter(rng.normal(size=size)), rng.normal(size=size)
    step = 1e-6
    slope = (domain.enter(position + step * vector) - domain.enter(position - step * vector)) / (2.0 * step)
    np.testing.assert_allclose(domain.tangent(position, vector), slope, atol=1e-8)


@pytest.mark.parametrize(("domain", "size"), ALL)
def test_many_vectors_are_projected_as_one(domain, size):
    position, vectors = domain.enter(rng.normal(size=size)), rng.normal(size=(4, 2, size))
    before = vectors.copy()
    projected = domain.tangent(position, vectors)
    np.testing.assert_array_equal(vectors, before)
    for index in np.ndindex(4, 2):
        np.testing.assert_allclose(projected[index], domain.tangent(position, vectors[index]), atol=1e-13)
    np.testing.assert_allclose(domain.tangent(position, projected), projected, atol=1e-13)


@pytest.mark.parametrize("length", [0.0, 0.3, 2.0, 50.0])
@pytest.mark.parametrize(("domain", "size"), MANIFOLDS)
def test_moves_stay_inside_and_their_velocity_is_the_derivative(domain, size, length):
    position = domain.enter(rng.normal(size=size))
    direction = domain.tangent(position, rng.normal(size=size))
    new, velocity = domain.move(position, direction, length)
    np.testing.assert_allclose(new, domain.enter(new), atol=1e-14)
    np.testing.assert_allclose(new, domain.enter(position + length * direction), atol=1e-13)
    np.testing.assert_allclose(domain.tangent(new, velocity), velocity, atol=1e-13)
    step = 1e-6 * max(1.0, length)
    ahead, behind = (domain.move(position, direction, length + sign * step)[0] for sign in (1.0, -1.0))
    np.testing.assert_allclose(velocity, (ahead - behind) / (2.0 * step), atol=1e-8)
    if length == 0.0:
        np.testing.assert_allclose(velocity, direction, atol=1e-13)


def test_moves_follow_geodesics_to_second_order():
    """On the orthogonal group the geodesic is W expm(t W'Z)."""
    domain = Stiefel(4, 4)
    position = domain.enter(rng.normal(size=16))
    direction = domain.tangent(position, rng.normal(size=16))
    W, Z = position.reshape(4, 4), direction.reshape(4, 4)
    errors = [
        np.abs(domain.move(position, direction, t)[0] - (W @ expm(t * W.T @ Z)).ravel()).max() for t in (0.1, 0.05)
    ]
    assert errors[0] < 0.02 and errors[0] / errors[1] > 6.0  # third order, 8


def test_nothing_drifts_in_a_thousand_moves():
    domain = Stiefel(30, 4)
    position = domain.enter(rng.normal(size=120))
    for _ in range(1000):
        position, _ = domain.move(position, domain.tangent(position, rng.normal(size=120)), rng.uniform(0.0, 2.0))
        assert deviation(position.reshape(30, 4)) < 1e-14


def test_huge_steps_are_orthonormal():
    domain = Stiefel(9, 2)
    position = domain.enter(rng.normal(size=18))
    direction = domain.tangent(position, np.outer(rng.normal(size=9), [1.0, 0.0]).ravel())  # of rank one
    new, velocity = domain.move(position, direction, 1e9)
    assert deviation(new.reshape(9, 2)) < 1e-14 and np.isfinite(velocity).all()


def test_straight_lines_end_in_convex_sets_only():
    target = np.full(4, 3.0)
    np.testing.assert_array_equal(BOX.limit(target), np.ones(4))
    np.testing.assert_array_equal(ProductSpace([(2, BOX), (2, Sphere(1.0))]).limit(target), [1.0, 1.0, 3.0, 3.0])
    assert (Space().longest, Stiefel(3, 2).longest, Sphere().longest, BOX.longest) == (np.inf, np.inf, np.inf, 1.0)
    assert MIXED.longest == np.inf and ProductSpace([(2, Space()), (2, BOX)]).longest == 1.0


def test_parts_are_in_their_own_domains():
    position = MIXED.enter(rng.normal(size=26))
    assert deviation(position[:12].reshape(4, 3)) < 1e-14
    assert np.linalg.norm(position[17:23]) == pytest.approx(2.0)
    outside = rng.normal(size=26)
    np.testing.assert_array_equal(MIXED.enter(outside)[12:17], outside[12:17])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Stiefel(2, 3), "2 rows cannot have 3 orthonormal columns"),
        (lambda: Stiefel(2, 0), "n_columns must be between 1 and n_rows"),
        (lambda: Sphere(0.0), "radius of a sphere must be positive"),
        (lambda: Sphere(np.nan), "radius of a sphere must be positive"),
        (lambda: ProductSpace([(5, Stiefel(3, 2))]), "a Stiefel of 6 entries cannot take 5"),
        (lambda: ProductSpace([(27, MIXED)]), "a ProductSpace of 26 entries cannot take 27"),
        (lambda: MIXED.enter(np.ones(25)), "26 entries, the position has 25"),
    ],
)
def test_bad_domains(make, message):
    with pytest.raises(ValueError, match=message):
        make()
