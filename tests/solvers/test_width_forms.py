"""The largest form of a Gaussian over its widths: found, and bounded for all of them."""

import numpy as np
import pytest

from kernelweave.solvers.weights.widths import PAIRS, WidthForms, _bounds, largest_form


def problem(n=60, n_outputs=1, seed=0, columns=2):
    """Exponents and forms of random samples, some of them copies, with coefficients that add up to zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    X[::7] = X[0]
    C = np.sign(X[:, :1] * X[:, 1:2]) * rng.uniform(0.0, 1.0, (n, n_outputs))
    e = ((X[:, None] - X) ** 2).sum(axis=2)
    return e, C - C.mean(axis=0), WidthForms(lambda rows, others: e[rows, others].copy(), C - C.mean(axis=0))


def by_hand(e, C, u):
    return np.sum((C @ C.T) * np.exp(-e * np.exp(-2.0 * u)))


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_forms_and_slopes(n_outputs, monkeypatch):
    e, C, forms = problem(n_outputs=n_outputs)
    points = np.array([[-6.0, -1.0, 0.2], [0.3, 0.31, 7.0]])
    whole = forms.along(points)
    monkeypatch.setattr("kernelweave.solvers.weights.widths.PAIRS", 7 * len(C))  # several blocks of rows
    for values, slopes, bends in (whole, forms.along(points)):
        np.testing.assert_allclose(values, [[by_hand(e, C, u) for u in row] for row in points], rtol=1e-10, atol=1e-10)
        h = 1e-5
        expected = [[(by_hand(e, C, u + h) - by_hand(e, C, u - h)) / (2 * h) for u in row] for row in points]
        np.testing.assert_allclose(slopes, expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(bends, whole[2], rtol=1e-10)
    assert len(C) ** 2 < PAIRS


def test_the_bound_holds_between_points():
    """In 120 intervals of all lengths, against 50 points in each; the bend is no less than differences say."""
    rng, h = np.random.default_rng(1), 1e-3
    for seed in range(4):
        e, C, forms = problem(30, seed=seed)
        starts = rng.uniform(-4.0, 3.0, 30)
        ends = np.stack([starts, starts + 10.0 ** rng.uniform(-2.0, 0.5, 30)])
        values, slopes, bends = forms.along(ends.T)
        bounds = _bounds(ends, values.T, slopes.T, bends[:, 0])
        for place in range(30):
            inside = np.linspace(*ends[:, place], 50)
            q = np.array([by_hand(e, C, u) for u in inside])
            assert q.max() <= bounds[place] + 1e-9 * np.abs(C).sum() ** 2
            u = inside[1:-1]
            second = [(by_hand(e, C, v + h) - 2 * by_hand(e, C, v) + by_hand(e, C, v - h)) / h**2 for v in u]
            # differences reach h beyond the interval only where it is shorter than two of their steps; they are exact
            # to h^2 times a fourth derivative, of at most 60 for one pair
            assert max(second) <= bends[place, 0] + 5.0 * h**2 * np.abs(C).sum() ** 2 + 1e-5


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_bend_of_one_pair_is_exact(sign):
    """2 w g(t) of a pair, whose largest value is at a turn where the interval holds one."""
    C = np.array([[1.0], [sign]])
    forms = WidthForms(lambda rows, others: (1.0 - np.eye(2))[rows, others], C)
    for ends in ([-1.0, 1.0], [-1.0, 0.0], [0.0, 1.0], [0.6, 2.0], [-3.0, -0.6]):
        t = np.exp(-2.0 * np.linspace(*ends, 20_001))
        largest = (2.0 * sign * 4.0 * t * (t - 1.0) * np.exp(-t)).max()
        assert forms.along(np.array([ends]))[2].item() == pytest.approx(largest, abs=1e-6)


def test_the_largest_form_is_found_to_the_slack():
    for seed in range(5):
        e, C, forms = problem(40, seed=seed)
        grid = np.linspace(-4.0, 3.0, 2001)
        best = max(by_hand(e, C, u) for u in grid)
        for slack in (1.0, 1e-2, 1e-6):
            peak = largest_form(forms, -4.0, 3.0, best, slack)
            assert peak.value == pytest.approx(by_hand(e, C, peak.point))
            beyond = max(peak.value - best, 0.0)  # between the points of the grid
            assert max(best, peak.value) <= peak.bound <= best + beyond + max(slack, 0.5 * beyond)
            assert (np.diff(peak.points) > 0.0).all() and peak.values.max() == peak.value
        assert len(peak.points) < 150  # 1e-6 of about 100 by bounds of first order would take millions
        low = largest_form(forms, -4.0, 3.0, 0.0, 1e-6)  # far above the level half of it is enough
        assert low.value <= best <= low.bound <= 1.5 * low.value


def test_levels_that_are_out_of_reach_cost_the_first_points_only():
    e, C, forms = problem()
    peak = largest_form(forms, -2.0, 2.0, 1e3, 1e-6)
    assert peak.value < peak.bound <= 1e3 and len(peak.points) < 30


def test_one_width_and_no_samples():
    e, C, forms = problem()
    peak = largest_form(forms, 0.5, 0.5, 0.0, 1e-6)
    assert peak.point == 0.5 and peak.bound == peak.value == pytest.approx(by_hand(e, C, 0.5))
    nobody = WidthForms(lambda rows, others: np.zeros((0, 0)), np.zeros((0, 1)))
    assert largest_form(nobody, -1.0, 1.0, 0.0, 1e-6).bound == 0.0


def test_copies_and_constant_columns():
    """Of equal samples the form is the same for all widths."""
    C = np.array([[1.0], [-0.5], [2.0]])
    forms = WidthForms(lambda rows, others: np.zeros((3, 3))[rows, others], C)
    peak = largest_form(forms, -7.0, 7.0, 0.0, 1e-6)
    assert peak.value == pytest.approx(2.5**2) and peak.bound == pytest.approx(2.5**2)
