import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from kernelweave.solvers import ConvexSet, minimize_armijo, minimize_lbfgs

rng = np.random.default_rng(0)
A = rng.normal(size=(30, 12))
Q = A.T @ A + 0.01 * np.eye(12)
B = rng.normal(size=12)
METHODS = [minimize_lbfgs, minimize_armijo]


def quadratic(x):
    return 0.5 * x @ Q @ x - B @ x, Q @ x - B, None


def rosenbrock(x):
    return rosen(x), rosen_der(x), None


def without_detail(function):
    return lambda x: function(x)[:2]


NONNEGATIVE = ConvexSet(lambda x: np.maximum(x, 0.0))


def simplex(x):
    ordered = np.sort(x)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, len(x) + 1)
    return np.maximum(x - excess[ordered > excess][-1], 0.0)


@pytest.mark.parametrize("method", METHODS)
def test_quadratic(method):
    found = method(quadratic, np.zeros(12), tol=1e-14, max_iterations=20000)
    assert found.converged
    np.testing.assert_allclose(found.solution, np.linalg.solve(Q, B), atol=1e-4)
    assert found.objective == pytest.approx(quadratic(found.solution)[0], rel=1e-12)


def test_rosenbrock_takes_about_as_many_evaluations_as_scipy():
    for start in (np.array([-1.2, 1.0]), np.full(8, -1.0)):
        found = minimize_lbfgs(rosenbrock, start, tol=1e-12, max_iterations=500)
        theirs = minimize(rosen, start, jac=rosen_der, method="L-BFGS-B", options={"ftol": 1e-12, "gtol": 0.0})
        assert found.converged and found.objective < 1e-9
        assert found.evaluations < 1.3 * theirs.nfev


@pytest.mark.parametrize(
    ("function", "low", "high"), [(quadratic, 0.0, np.inf), (quadratic, -2.0, 0.1), (rosenbrock, -2.0, 0.1)]
)
def test_bounds_as_in_scipy(function, low, high):
    start = np.full(12, 0.05)
    found = minimize_lbfgs(function, start, ConvexSet(lambda x: np.clip(x, low, high)), tol=1e-13, max_iterations=500)
    options = {"ftol": 1e-15, "gtol": 1e-10}
    expected = minimize(
        without_detail(function), start, jac=True, method="L-BFGS-B", bounds=[(low, high)] * 12, options=options
    )
    assert found.objective == pytest.approx(expected.fun, rel=1e-8)
    assert found.evaluations < 1.3 * expected.nfev + 5
    at_bound = (expected.x == low) | (expected.x == high)
    assert at_bound.any()
    np.testing.assert_array_equal((found.solution == low) | (found.solution == high), at_bound)


def test_curvature_is_used_on_a_set():
    """A valley 10^4 times as steep as long, in turned axes and cut by the bounds."""
    axes = np.linalg.qr(np.random.default_rng(2).normal(size=(12, 12)))[0]
    valley = (axes * np.logspace(0, 4, 12)) @ axes.T

    def function(x):
        return 0.5 * x @ valley @ x - 100.0 * B @ x, valley @ x - 100.0 * B, None

    options = {"ftol": 1e-10, "gtol": 0.0}
    found = minimize_lbfgs(function, np.zeros(12), NONNEGATIVE, tol=1e-10, max_iterations=1000)
    theirs = minimize(
        without_detail(function), np.zeros(12), jac=True, method="L-BFGS-B", bounds=[(0, None)] * 12, options=options
    )
    assert 0 < np.count_nonzero(found.solution) < 12
    assert found.objective == pytest.approx(theirs.fun, rel=1e-7)
    assert found.evaluations < 1.3 * theirs.nfev


@pytest.mark.parametrize("method", METHODS)
def test_any_convex_set(method):
    """Over the simplex the gradient is the same on the support, and no smaller elsewhere."""
    found = method(quadratic, np.full(12, 1.0 / 12), ConvexSet(simplex), tol=1e-13, max_iterations=20000)
    slope = quadratic(found.solution)[1]
    used = found.solution > 0
    assert found.solution.sum() == pytest.approx(1.0) and 1 < used.sum() < 12
    np.testing.assert_allclose(slope[used], slope[used].min(), atol=1e-3)
    assert slope[~used].min() > slope[used].max() - 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_a_start_outside_the_set_is_brought_in(method):
    seen = []

    def function(x):
        seen.append(x.min())
        return quadratic(x)

    method(function, np.full(12, -5.0), NONNEGATIVE)
    assert min(seen) >= 0.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("value", "slope"), [(np.nan, np.nan), (np.inf, np.inf), (-np.inf, 0.0), (-1.0, np.nan)])
def test_positions_without_a_value_are_backed_out_of(method, value, slope):
    """-log(1 - x) - x has its minimum at 0 and no value from 1 on; the first trial step goes far beyond."""

    def function(x):
        if x[0] >= 1.0:
            return value, np.array([slope]), None
        return -np.log1p(-x[0]) - x[0], 1.0 / (1.0 - x) - 1.0, None

    found = method(function, np.array([-3.0]), tol=1e-10, first_step=50.0)
    assert found.converged and abs(found.solution[0]) < 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_a_kinked_function_ends(method):
    signs = np.sign(rng.normal(size=30))

    def hinge(x):
        margin = 1.0 - signs * (A @ x)
        return np.maximum(margin, 0.0).sum() + np.abs(x).sum(), -A.T @ (signs * (margin > 0)) + np.sign(x), None

    found = method(hinge, np.zeros(12), tol=1e-6, max_iterations=2000)
    assert found.converged and found.objective < 30.0
    assert found.evaluations < 2000


def test_short_first_steps_are_stretched():
    found = minimize_lbfgs(lambda x: (np.sum((x - 7.0) ** 2), 2.0 * (x - 7.0), None), np.zeros(3), first_step=1e-6)
    np.testing.assert_allclose(found.solution, 7.0, atol=1e-6)


def test_noise_below_the_precision_costs_no_evaluations():
    noise = np.random.default_rng(1)

    def function(x):
        value, gradient, _ = quadratic(x)
        return value + 1e-5 * noise.uniform(), gradient, None

    found = minimize_lbfgs(function, np.zeros(12), tol=1e-4, precision=1e-5)
    assert found.converged and found.objective < quadratic(np.linalg.solve(Q, B))[0] + 1e-3
    assert found.evaluations < 60


@pytest.mark.parametrize("method", METHODS)
def test_a_search_ends_where_it_promises_less_than_the_precision(method):
    """Values that do not follow the gradient at all, as those of a machine that is solved too roughly."""
    found = method(lambda x: (5.0, np.ones(1), None), np.zeros(1), precision=0.01)
    assert found.converged and found.evaluations < 8


def test_progress_is_relative_to_one_where_values_are_small():
    """Halving a value of 1e-6 is no progress; halving one of -1e6 is."""
    small = minimize_lbfgs(lambda x: (1e-6 * x @ x, 2e-6 * x, None), np.ones(2))
    assert small.converged and small.evaluations <= 3
    deep = minimize_lbfgs(lambda x: (1e6 * (x @ x - 2.0), 2e6 * x, None), np.ones(2))
    np.testing.assert_allclose(deep.solution, 0.0, atol=0.05)


@pytest.mark.parametrize("method", METHODS)
def test_callback_sees_every_iteration_and_can_stop(method):
    seen = []
    everything = method(quadratic, np.zeros(12), callback=lambda step, point: seen.append((step, point.value)))
    assert [step for step, _ in seen] == list(range(everything.steps + 1))
    values = [value for _, value in seen]
    assert values == sorted(values, reverse=True) and values[-1] == everything.objective
    stopped = method(quadratic, np.zeros(12), callback=lambda step, point: step == 2)
    assert stopped.status == "stopped" and stopped.steps == 2 and stopped.objective == values[2]
    assert method(quadratic, np.zeros(12), callback=lambda step, point: True).evaluations == 1


@pytest.mark.parametrize("method", METHODS)
def test_details_belong_to_the_best_point(method):
    found = method(lambda x: (*quadratic(x)[:2], x.copy()), np.zeros(12), NONNEGATIVE)
    np.testing.assert_array_equal(found.detail, found.solution)


@pytest.mark.parametrize("method", METHODS)
def test_iterations_are_limited(method):
    found = method(rosenbrock, np.full(8, -1.0), tol=1e-12, max_iterations=3)
    assert found.status == "max_iterations" and found.steps == 3 and not found.converged
    assert found.progress > 1e-12


def test_start_must_have_a_value():
    with pytest.raises(ValueError, match="not finite at the start"):
        minimize_lbfgs(lambda x: (np.nan, x, None), np.zeros(2))


def test_a_minimum_is_recognised_at_once():
    found = minimize_lbfgs(quadratic, np.linalg.solve(Q, B))
    assert found.converged and found.evaluations == 1 and found.steps == 0


def test_memory_is_limited():
    short, long = (
        minimize_lbfgs(rosenbrock, np.full(8, -1.0), tol=1e-10, memory=memory, max_iterations=500) for memory in (1, 20)
    )
    assert short.objective < 1e-6 and short.evaluations > long.evaluations + 20


def test_where_values_scatter_slopes_decide():
    bend = np.logspace(0, 3, 20)

    def bowl(x, scatter=1e-8):
        value = 1e6 + 0.5 * float(bend @ (x - 1.0) ** 2)
        return value * (1.0 + scatter * np.sin(1e9 * float(x.sum()))), bend * (x - 1.0), None

    ends = [
        minimize_lbfgs(bowl, np.zeros(20), tol=0.0, precision=1e-15, max_iterations=300, memory=20, noise=noise)
        for noise in (0.0, 2e-8)
    ]
    errors = [float(np.linalg.norm(bowl(end.solution)[1])) for end in ends]
    assert errors[1] < 1e-2 < errors[0]
    assert ends[1].evaluations < 2 * ends[1].steps + 60
