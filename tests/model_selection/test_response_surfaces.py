import numpy as np
import pytest
from scipy.optimize import differential_evolution

from kernelweave.model_selection import ResponseSurface, fit_surface, koshal_design
from kernelweave.model_selection.response_surfaces import minimize_response


def box(n_factors):
    return {"low": -np.ones(n_factors), "high": np.ones(n_factors)}


def random_quadratic(n_factors, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n_factors, n_factors))
    return ResponseSurface(
        rng.normal(), rng.normal(size=n_factors), quadratic=(A + A.T) / 2 + shift * np.eye(n_factors), **box(n_factors)
    )


def test_the_design_for_three_kernels_is_the_one_of_the_thesis():
    step = 0.3
    printed = np.array([[0, 0, 0, 0, 0, 0], [0, step, -step, 0, 0, step], [0, 0, 0, step, -step, step]])
    np.testing.assert_array_equal(koshal_design([0.0, 0.0], step, **box(2)), printed[1:].T)


@pytest.mark.parametrize("n_factors", [1, 2, 3, 5])
def test_sizes_of_designs(n_factors):
    low, high = box(n_factors).values()
    assert len(koshal_design(np.zeros(n_factors), 0.3, low=low, high=high)) == (n_factors + 1) * (n_factors + 2) // 2
    np.testing.assert_array_equal(
        koshal_design(np.zeros(n_factors), 0.3, low=low, high=high, order=1)[1:], 0.3 * np.eye(n_factors)
    )


@pytest.mark.parametrize("centre", [[1.0, -1.0], [0.9, 0.0], [-1.0, -0.8]])
def test_a_design_at_the_rim_stays_inside_and_determines_a_quadratic(centre):
    low, high = box(2).values()
    points = koshal_design(centre, 0.3, low=low, high=high)
    assert (points >= low).all() and (points <= high).all()
    true = random_quadratic(2, 0)
    fitted = fit_surface(points, true.predict(points), low=low, high=high, centre=centre, delta=0.3)
    np.testing.assert_allclose(fitted.quadratic, true.quadratic, atol=1e-9)
    np.testing.assert_allclose(fitted.linear, true.linear, atol=1e-9)


@pytest.mark.parametrize("n_factors", [1, 2, 4])
def test_a_quadratic_is_fitted_exactly_from_its_design(n_factors):
    true = random_quadratic(n_factors, 1)
    centre = np.full(n_factors, 0.2)
    points = koshal_design(centre, 0.3, **box(n_factors))
    fitted = fit_surface(points, true.predict(points), **box(n_factors), centre=centre, delta=0.3)
    np.testing.assert_allclose(fitted.linear, true.linear, atol=1e-9)
    np.testing.assert_allclose(fitted.quadratic, true.quadratic, atol=1e-9)
    assert fitted.intercept == pytest.approx(true.intercept)


def test_a_first_order_surface_is_a_plane():
    points = np.random.default_rng(0).uniform(-1, 1, size=(9, 2))
    noise = np.random.default_rng(1).normal(size=9)
    fitted = fit_surface(points, 3.0 + points @ [1.0, -2.0] + noise, **box(2), order=1)
    terms = np.column_stack([np.ones(9), points])
    expected = np.linalg.solve(terms.T @ terms, terms.T @ (3.0 + points @ [1.0, -2.0] + noise))
    np.testing.assert_allclose([fitted.intercept, *fitted.linear], expected)
    assert not fitted.quadratic.any()


def test_points_that_failed_do_not_count():
    points = koshal_design([0.0, 0.0], 0.3, **box(2))
    true = random_quadratic(2, 2)
    points = np.vstack([points, [[0.7, 0.7]]])
    fitted = fit_surface(points, np.append(true.predict(points[:-1]), np.nan), **box(2))
    np.testing.assert_allclose(fitted.quadratic, true.quadratic, atol=1e-9)


def test_directions_that_no_point_tells_about_are_flat():
    points = np.column_stack([np.linspace(-0.5, 0.5, 5), np.zeros(5)])
    fitted = fit_surface(points, points[:, 0] ** 2, **box(2), centre=np.zeros(2), delta=0.3)
    np.testing.assert_allclose(fitted.linear, 0.0, atol=1e-12)
    np.testing.assert_allclose(fitted.quadratic, [[1.0, 0.0], [0.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize("shift", [-3.0, 0.0, 4.0])
@pytest.mark.parametrize("n_factors", [1, 2, 3])
def test_the_minimum_is_global_in_the_box(n_factors, shift):
    for seed in range(3):
        surface = random_quadratic(n_factors, seed, shift)
        found = surface.minimum()
        assert (np.abs(found) <= 1.0).all()
        reference = differential_evolution(
            lambda x, surface=surface: surface.predict(x.T) if x.ndim == 2 else surface.predict(x[None])[0],
            [(-1, 1)] * n_factors,
            seed=0,
            tol=1e-10,
            vectorized=True,
            updating="deferred",
        )
        assert surface.predict(found[None])[0] <= reference.fun + 1e-8


@pytest.mark.parametrize("seed", range(2))
def test_descents_for_many_factors_find_what_the_faces_tell(seed):
    surface = random_quadratic(8, seed, -1.0)
    exact = surface.predict(surface._face_points()).min()
    found = surface.minimum()
    assert (np.abs(found) <= 1.0).all()
    assert surface.predict(found[None])[0] == pytest.approx(exact, abs=1e-8)


def test_a_flat_surface_keeps_the_anchor():
    flat = ResponseSurface(0.3, np.zeros(2), quadratic=np.zeros((2, 2)), **box(2))
    np.testing.assert_array_equal(flat.minimum(np.array([0.1, -0.4])), [0.1, -0.4])
    ridge = ResponseSurface(0.0, np.zeros(2), quadratic=np.diag([1.0, 0.0]), **box(2))
    assert ridge.predict(ridge.minimum()[None])[0] == pytest.approx(0.0)


class Measured:
    """A response, and every point that was asked for."""

    def __init__(self, function):
        self.function, self.asked = function, []

    def __call__(self, points):
        self.asked.append(np.array(points))
        return np.array([self.function(point) for point in points])


def run(function, n_factors=2, **options):
    measure = Measured(function)
    trace = minimize_response(measure, np.zeros(n_factors), **box(n_factors), **options)
    np.testing.assert_array_equal(np.vstack(measure.asked), trace.points)
    distances = np.abs(trace.points[:, None] - trace.points[None]).max(axis=2)
    assert (distances[~np.eye(len(distances), dtype=bool)] > 1e-7).all(), "a point was measured twice"
    assert (np.abs(trace.points) <= 1.0).all()
    return trace


def test_a_quadratic_bowl_takes_one_point_more_than_the_design():
    trace = run(lambda x: (x[0] - 0.4) ** 2 + 2 * (x[1] + 0.25) ** 2 + 0.5 * x[0] * x[1])
    optimum = np.linalg.solve([[2.0, 0.5], [0.5, 4.0]], [0.8, -1.0])
    assert trace.converged and len(trace.points) == 7
    np.testing.assert_allclose(trace.points[-1], optimum, atol=1e-6)
    assert trace.predicted[0] == pytest.approx(trace.responses[-1])


def test_a_smooth_response_that_is_no_quadratic():
    def response(x):
        return np.cosh(2 * (x[0] - 0.5)) + np.exp(x[1]) - 1.5 * x[1]

    trace = run(response)
    lowest = response(np.array([0.5, np.log(1.5)]))
    assert trace.converged and len(trace.points) < 12
    assert trace.responses.min() - lowest < 0.05 * (trace.responses[0] - lowest)


def test_an_indefinite_response_ends_at_the_rim():
    trace = run(lambda x: -(x[0] ** 2) + 0.3 * x[0] + x[1] ** 2)
    best = trace.points[np.argmin(trace.responses)]
    assert trace.converged
    np.testing.assert_allclose(best, [-1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_a_flat_response_stays_at_the_centre(order):
    trace = run(lambda x: 0.1, order=order)
    assert trace.converged and len(trace.predicted) == 0


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_noise_does_not_keep_it_running(order, seed):
    rng = np.random.default_rng(seed)
    trace = run(lambda x: round(0.2 + 0.05 * x @ x + 0.02 * rng.normal(), 2), 3, order=order, max_iter=40)
    assert trace.converged


def test_the_first_order_walks_downhill_by_delta():
    trace = run(lambda x: (x[0] - 0.8) ** 2 + (x[1] + 0.6) ** 2, order=1, delta=0.2, tol=0.01, max_iter=60)
    np.testing.assert_array_equal(trace.points[:3], [[0, 0], [0.2, 0], [0, 0.2]])
    # The plane through the design has slopes (-1.4, 1.4).
    np.testing.assert_allclose(trace.points[3], [0.2 + 0.2 / np.sqrt(2), -0.2 / np.sqrt(2)], atol=1e-6)
    best = trace.points[np.argmin(trace.responses)]
    assert trace.converged
    np.testing.assert_allclose(best, [0.8, -0.6], atol=0.1)


def test_the_first_order_slides_along_the_rim():
    trace = run(lambda x: -x[0] - 0.5 * x[1], order=1, max_iter=60)
    np.testing.assert_allclose(trace.points[np.argmin(trace.responses)], [1.0, 1.0], atol=0.05)


def test_max_iter_limits_the_points_and_is_no_convergence():
    trace = run(lambda x: np.cosh(2 * (x[0] - 0.5)) + np.exp(x[1]) - 1.5 * x[1], tol=1e-9, max_iter=2)
    assert not trace.converged and len(trace.points) == 8 and len(trace.predicted) == 2


def test_a_point_that_fails_ends_the_search():
    trace = run(lambda x: np.nan if np.abs(x).max() > 0.35 else (x[0] - 0.9) ** 2 + x[1] ** 2)
    assert trace.converged and np.isnan(trace.responses[-1]) and len(trace.points) == 7
    nothing = run(lambda x: np.nan)
    assert len(nothing.points) == 6 and np.isnan(nothing.surface.predict([[0.0, 0.0]])).all()


def test_rounding_does_not_leave_the_box():
    low, high = np.log10([0.13]), np.log10([1.9])
    trace = minimize_response(lambda points: -points[:, 0], np.zeros(1), low=low, high=high)
    assert trace.points.max() == high[0]
