"""Descents on manifolds and products of them."""

import numpy as np
import pytest
from scipy.linalg import expm, polar
from scipy.optimize import minimize

from kernelweave.solvers import ConvexSet, ProductSpace, Space, Sphere, Stiefel, minimize_armijo, minimize_lbfgs
from manifold_problems import distance, spectrum, trace

rng = np.random.default_rng(0)
METHODS = [minimize_lbfgs, minimize_armijo]
SPREAD, GOAL = spectrum(10, 1), np.random.default_rng(6).normal(size=10)
BOTH = ProductSpace([(20, Stiefel(10, 2)), (2, Space())])


def slopes_of_turns(function, W, count=20):
    """Slopes of a function along curves expm(t skew) W, which go in all directions that W may go."""
    step, slopes = 1e-5, []
    for skew in np.random.default_rng(4).normal(size=(count, len(W), len(W))):
        ends = [function((expm(t * (skew - skew.T)) @ W).ravel())[0] for t in (step, -step)]
        slopes.append((ends[0] - ends[1]) / (2.0 * step))
    return np.array(slopes)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("columns", [1, 3])
def test_principal_subspaces(method, columns):
    matrix = spectrum(30, 2)
    found = method(trace(matrix), rng.normal(size=30 * columns), Stiefel(30, columns), tol=1e-13, max_iterations=2000)
    values, vectors = np.linalg.eigh(matrix)
    assert found.converged and found.objective == pytest.approx(-values[-columns:].sum(), rel=1e-9)
    W, expected = found.solution.reshape(30, columns), vectors[:, -columns:]
    np.testing.assert_allclose(W @ W.T, expected @ expected.T, atol=1e-4)


def test_rayleigh_quotient_on_a_sphere():
    matrix = spectrum(30, 3)
    found = minimize_lbfgs(trace(-matrix), rng.normal(size=30), Sphere(2.0), tol=1e-14, max_iterations=500)
    values, vectors = np.linalg.eigh(matrix)
    assert found.objective == pytest.approx(4.0 * values[0], rel=1e-3)
    assert abs(vectors[:, 0] @ found.solution) == pytest.approx(2.0, rel=1e-3)


def test_the_best_of_some_starts_is_the_best_that_scipy_finds():
    """||AW - B||^2 has local minima. SciPy minimises over all matrices, through their polar factors."""
    draws = np.random.default_rng(5)
    function = distance(draws.normal(size=(10, 5)), 3.0 * draws.normal(size=(10, 2)))
    starts = draws.normal(size=(12, 10))
    ours = [minimize_lbfgs(function, start, Stiefel(5, 2), tol=1e-13, max_iterations=500) for start in starts]
    free = [minimize(lambda x: function(polar(x.reshape(5, 2))[0].ravel())[0], start).fun for start in starts]
    assert min(end.objective for end in ours) == pytest.approx(min(free), rel=1e-7)
    for end in ours:
        np.testing.assert_allclose(slopes_of_turns(function, end.solution.reshape(5, 2)), 0.0, atol=1e-3)


def test_square_orthonormal_matrices():
    """min ||AW - B||^2 over rotations is Kabsch's problem; the start says which sign the determinant has."""
    left, right = rng.normal(size=(9, 4)), rng.normal(size=(9, 4))
    U, s, Vt = np.linalg.svd(left.T @ right)
    for sign in (1.0, -1.0):
        flip = np.diag([1.0, 1.0, 1.0, sign * np.linalg.det(U @ Vt)])
        start = np.diag([1.0, 1.0, 1.0, sign]).ravel()
        found = minimize_lbfgs(distance(left, right), start, Stiefel(4, 4), tol=1e-14, max_iterations=500)
        np.testing.assert_allclose(found.solution.reshape(4, 4), U @ flip @ Vt, atol=1e-4)


def gated(x):
    """A function of an orthonormal matrix and free weights that depend on each other."""
    W, weights = x[:20].reshape(10, 2), x[20:]
    image = SPREAD @ W
    rest = image @ weights - GOAL
    slope = 2.0 * SPREAD.T @ np.outer(rest, weights) - 0.2 * image
    value = rest @ rest - 0.1 * (image * W).sum() + 0.1 * weights @ weights
    return float(value), np.append(slope, 2.0 * image.T @ rest + 0.2 * weights), None


@pytest.mark.parametrize("kind", ["free", "bounded"])
def test_all_parts_of_a_product_move_together(kind):
    bounds = [(None, None)] * 2 if kind == "free" else [(-0.3, 0.3)] * 2
    weights = Space() if kind == "free" else ConvexSet(lambda x: np.clip(x, -0.3, 0.3))
    domain = ProductSpace([(20, Stiefel(10, 2)), (2, weights)])
    start = domain.enter(np.random.default_rng(7).normal(size=22))
    found = minimize_lbfgs(gated, start, domain, tol=1e-13, max_iterations=2000)
    theirs = minimize(
        lambda x: gated(np.concatenate([polar(x[:20].reshape(10, 2))[0].ravel(), x[20:]]))[0],
        start,
        method="L-BFGS-B",
        bounds=[(None, None)] * 20 + bounds,
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000, "maxfun": 10**6},
    )
    assert found.converged and found.objective == pytest.approx(theirs.fun, abs=1e-5)
    W, weights = found.solution[:20].reshape(10, 2), found.solution[20:]
    np.testing.assert_allclose(slopes_of_turns(lambda w: gated(np.append(w, weights)), W), 0.0, atol=1e-3)
    assert (np.abs(weights).max() == 0.3) == (kind == "bounded")


def test_directions_are_tangent():
    """Which they are if every remembered step is."""

    class Strict(Stiefel):
        def move(self, position, direction, length):
            W, Z = position.reshape(30, 3), direction.reshape(30, 3)
            worst.append(np.abs(W.T @ Z + Z.T @ W).max())
            return super().move(position, direction, length)

    worst = []
    found = minimize_lbfgs(trace(spectrum(30, 2)), rng.normal(size=90), Strict(30, 3), tol=1e-10)
    assert len(worst) >= found.steps > 1 and max(worst) < 1e-12


def test_searches_know_the_slope_along_the_curve():
    """Of -x_1 on a circle, at an angle of 170 degrees and after moves of length tan(45) and tan(76) degrees.

    The slope sin(angle) cos(moved)^2 is 0.17, then 0.41, too steep to stop, then 0.06.
    """

    class Spied(Sphere):
        def move(self, position, direction, length):
            lengths.append(length)
            return super().move(position, direction, length)

    lengths, angle = [], np.radians(170)
    start = np.array([np.cos(angle), np.sin(angle)])
    found = minimize_lbfgs(lambda x: (-x[0], np.array([-1.0, 0.0]), None), start, Spied(), tol=1e-10)
    np.testing.assert_allclose(found.solution, [1.0, 0.0], atol=1e-4)
    assert lengths[:3] == [1.0, 4.0, 1.0]


def test_orthonormal_after_hundreds_of_steps():
    widths = []

    def measure(step, point):
        W = point.position.reshape(100, 3)
        widths.append(np.abs(W.T @ W - np.eye(3)).max())
        assert np.abs(W.T @ point.gradient.reshape(100, 3) + point.gradient.reshape(100, 3).T @ W).max() < 1e-12

    function = trace(-spectrum(100, 5))
    found = minimize_lbfgs(function, rng.normal(size=300), Stiefel(100, 3), tol=0.0, precision=0.0, callback=measure)
    assert found.steps == 100 == len(widths) - 1
    assert max(widths) < 1e-13


@pytest.mark.parametrize("method", METHODS)
def test_a_start_off_the_manifold_is_brought_in(method):
    seen = []

    def function(x):
        seen.append(x.copy())
        return trace(spectrum(6, 1))(x)

    start = 5.0 * rng.normal(size=12)
    method(function, start, Stiefel(6, 2))
    np.testing.assert_allclose(seen[0].reshape(6, 2), polar(start.reshape(6, 2))[0], atol=1e-12)
    for x in seen:
        np.testing.assert_allclose(x.reshape(6, 2).T @ x.reshape(6, 2), np.eye(2), atol=1e-13)


def test_descents_on_manifolds_are_reproducible():
    start = rng.normal(size=22)
    first, second = (minimize_lbfgs(gated, start, BOTH, tol=1e-8) for _ in range(2))
    np.testing.assert_array_equal(first.solution, second.solution)


def test_turned_starts_give_turned_descents():
    """Nothing depends on the basis of the subspace where the function does not."""
    start = np.linalg.qr(rng.normal(size=(30, 3)))[0]
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    plain, turned = (minimize_lbfgs(trace(spectrum(30, 2)), W.ravel(), Stiefel(30, 3)) for W in (start, start @ turn))
    assert plain.evaluations == turned.evaluations > 5
    np.testing.assert_allclose(plain.solution.reshape(30, 3) @ turn, turned.solution.reshape(30, 3), atol=1e-9)


def test_a_function_without_values_somewhere_on_the_manifold():
    def function(x):
        value, gradient, _ = trace(spectrum(12, 1))(x)
        return (value, gradient, None) if x[0] < 0.5 else (np.inf, np.full(12, np.inf), None)

    found = minimize_lbfgs(function, np.eye(12)[1], Sphere(), tol=1e-9, first_step=10.0)
    assert found.converged and np.isfinite(found.objective) and found.solution[0] < 0.5
