from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import polar

from kernelweave.solvers import ConvexSet, ProductSpace, Space, Sphere, Stiefel, minimize_alternating, minimize_lbfgs
from manifold_problems import distance, spectrum, trace

rng = np.random.default_rng(0)
SPREAD, CURVE, GOAL = spectrum(12, 2), spectrum(3, 2), 3.0 * rng.normal(size=(12, 2))
W_PART, V_PART = slice(0, 24), slice(24, 27)
BLOCKS = [(W_PART, Stiefel(12, 2)), (V_PART, Space())]
WHOLE = ProductSpace([(24, Stiefel(12, 2)), (3, Space())])
START = rng.normal(size=27)


def coupled(x):
    """||AW - B||^2 + v'Hv / 2 - 1'v + (w'v)^2 with w the first entries of W."""
    W, v = x[W_PART].reshape(12, 2), x[V_PART]
    value, slope, _ = distance(SPREAD, GOAL)(x[W_PART])
    meet = W[:3, 0] @ v
    slope.reshape(12, 2)[:3, 0] += 2.0 * meet * v
    value += 0.5 * v @ CURVE @ v - v.sum() + meet**2
    return float(value), np.append(slope, CURVE @ v - 1.0 + 2.0 * meet * W[:3, 0]), x.copy()


class Watched:
    """A function that remembers where it was called."""

    def __init__(self, function=coupled):
        self.function = function
        self.seen = []

    def __call__(self, x):
        self.seen.append(x.copy())
        return self.function(x)


def accepted(seen, function=coupled):
    """The positions of a descent that were lower than all before."""
    lowest, values = [], [function(x)[0] for x in seen]
    for x, value in zip(seen, values, strict=True):
        if not lowest or value < lowest[-1][1]:
            lowest.append((x, value))
    return [x for x, _ in lowest]


def test_reaches_what_quasi_newton_reaches_with_many_more_evaluations():
    slow = minimize_alternating(coupled, START, BLOCKS, tol=1e-9, max_iterations=5000)
    fast = minimize_lbfgs(coupled, START, WHOLE, tol=1e-9, max_iterations=500)
    assert slow.converged and fast.converged
    assert slow.objective == pytest.approx(fast.objective, abs=1e-4)
    assert slow.evaluations > 5 * fast.evaluations


def test_one_block_moves_at_a_time_in_their_order():
    function = Watched()
    minimize_alternating(function, START, BLOCKS, tol=1e-6)
    moved = []
    for before, after in pairwise(accepted(function.seen)):
        changed = [not np.array_equal(before[part], after[part]) for part, _ in BLOCKS]
        assert sum(changed) == 1
        moved.append(changed.index(True))
    assert moved[:6] == [0, 1, 0, 1, 0, 1]


def test_steps_are_those_of_the_paper():
    """Down the gradient in space, then to the polar factor; a first trial at twice the last step size, then halves."""
    function = Watched()
    minimize_alternating(function, START, BLOCKS, tol=1e-6, first_step=0.7, max_iterations=8)
    current, rates = function.seen[0], [None, None]
    np.testing.assert_allclose(current[W_PART].reshape(12, 2), polar(START[W_PART].reshape(12, 2))[0], atol=1e-12)
    trials = iter(function.seen[1:])
    for block in [0, 1] * 8:
        part, _ = BLOCKS[block]
        value, gradient, _ = coupled(current)
        inner = gradient[part]
        rate = 0.7 / np.linalg.norm(inner) if rates[block] is None else 2.0 * rates[block]
        for trial in trials:
            target = current[part] - rate * inner
            if block == 0:
                target = polar(target.reshape(12, 2))[0].ravel()
            np.testing.assert_allclose(trial[part], target, atol=1e-10)
            rates[block] = rate
            if coupled(trial)[0] < value:
                break
            rate *= 0.5
        current = trial
    assert next(trials, None) is None


def test_blocks_that_promise_nothing_cost_nothing():
    function = Watched(
        lambda x: (float((x[:2] - 1.0) @ (x[:2] - 1.0)), np.append(2.0 * (x[:2] - 1.0), [0.0, 0.0]), None)
    )
    blocks = [(slice(2, 4), Sphere()), (slice(0, 2), Space())]
    found = minimize_alternating(function, np.array([0.0, 0.0, 0.6, 0.8]), blocks, tol=1e-10)
    assert found.converged
    np.testing.assert_allclose(found.solution, [1.0, 1.0, 0.6, 0.8], atol=1e-4)
    assert all(np.array_equal(x[2:], [0.6, 0.8]) for x in function.seen)
    assert not any(np.array_equal(before, after) for before, after in pairwise(function.seen))
    at_the_end = minimize_alternating(function, np.array([1.0, 1.0, 0.6, 0.8]), blocks)
    assert at_the_end.converged and at_the_end.steps == 0 and at_the_end.evaluations == 1


def test_blocks_on_convex_sets():
    """Nearest points of a box, and a block on its bound whose gradient does not vanish ends nothing."""
    goal = np.array([3.0, 0.2, -3.0, 5.0])
    box = ConvexSet(lambda x: np.clip(x, -1.0, 1.0))
    blocks = [(slice(0, 3), box), (slice(3, 4), Space())]
    found = minimize_alternating(
        lambda x: (float((x - goal) @ (x - goal)), 2.0 * (x - goal), None), np.zeros(4), blocks, tol=1e-10
    )
    assert found.converged
    np.testing.assert_allclose(found.solution, [1.0, 0.2, -1.0, 5.0], atol=1e-4)


def test_matrices_in_one_block_take_steps_of_one_size():
    """As in Algorithm 1, where all projections are updated before the machine is solved again."""
    matrix = spectrum(6, 1)

    def function(x):
        (first, slope, _), (second, other, _) = (trace(matrix)(part) for part in (x[:12], x[12:]))
        return first + second, np.append(slope, other), None

    pair = ProductSpace([(12, Stiefel(6, 2))] * 2)
    found = minimize_alternating(function, rng.normal(size=24), [(slice(0, 24), pair)], tol=1e-12, max_iterations=1000)
    assert found.objective == pytest.approx(-2.0 * np.linalg.eigvalsh(matrix)[-2:].sum(), rel=1e-6)
    for W in found.solution.reshape(2, 6, 2):
        np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-13)


def test_every_entry_is_in_one_block():
    with pytest.raises(ValueError, match="entry 24 is in 0"):
        minimize_alternating(coupled, START, BLOCKS[:1])
    with pytest.raises(ValueError, match="entry 23 is in 2"):
        minimize_alternating(coupled, START, [BLOCKS[0], (slice(23, 27), Space())])


def test_callback_sees_every_cycle_and_can_stop():
    seen = []
    everything = minimize_alternating(
        coupled, START, BLOCKS, callback=lambda step, point: seen.append((step, point.value))
    )
    assert [step for step, _ in seen] == list(range(everything.steps + 1))
    values = [value for _, value in seen]
    assert values == sorted(values, reverse=True) and values[-1] == everything.objective
    stopped = minimize_alternating(coupled, START, BLOCKS, callback=lambda step, point: step == 2)
    assert stopped.status == "stopped" and stopped.steps == 2 and stopped.objective == values[2]


def test_cycles_are_limited_and_end_at_little_progress():
    short = minimize_alternating(coupled, START, BLOCKS, tol=1e-12, max_iterations=3)
    assert short.status == "max_iterations" and short.steps == 3 and short.progress > 1e-12
    values = []
    rough = minimize_alternating(coupled, START, BLOCKS, tol=1e-2, callback=lambda _, point: values.append(point.value))
    progress = [(before - after) / max(1.0, abs(after)) for before, after in pairwise(values)]
    assert rough.converged and progress[-1] < 1e-2 <= min(progress[:-1])
    np.testing.assert_array_equal(rough.detail, rough.solution)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_positions_without_a_value_are_backed_out_of(value):
    """-log(1 - x) - x has its minimum at 0 and no value from 1 on; the first trial step goes far beyond."""

    def function(x):
        if x[0] >= 1.0:
            return value, np.array([value]), None
        return -np.log1p(-x[0]) - x[0], 1.0 / (1.0 - x) - 1.0, None

    found = minimize_alternating(function, np.array([-3.0]), [(slice(0, 1), Space())], tol=1e-10, first_step=50.0)
    assert found.converged and abs(found.solution[0]) < 1e-3


def test_values_that_do_not_follow_the_gradient_end_the_descent():
    found = minimize_alternating(
        lambda x: (5.0, np.ones(1), None), np.zeros(1), [(slice(0, 1), Space())], precision=0.01
    )
    assert found.converged and found.evaluations < 8 and found.steps == 1


def test_start_must_have_a_value():
    with pytest.raises(ValueError, match="not finite at the start"):
        minimize_alternating(lambda x: (np.nan, x, None), np.zeros(2), [(slice(0, 2), Space())])
