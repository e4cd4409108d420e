"""Smooth losses on a kernel in parts: the optimum of the dense solver, with a certificate of all samples."""

import numpy as np
import pytest

from dense_parts import DenseParts
from kernelweave.machines.base import DualTerms
from kernelweave.solvers import newton_in_parts, solve_ridged_qp
from kernelweave.solvers.newton_in_parts import Landmarks, solve_newton_in_parts
from places import in_every_place

N = 150
TOL = 1e-8


@pytest.fixture(autouse=True)
def few_landmarks(monkeypatch):
    """As with many samples, of which not all are landmarks."""
    monkeypatch.setattr(newton_in_parts, "SMALL", 0)


def gaussian(X, width=4.0):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / width)


def samples(n=N, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4))


def problem(kind, X, C=1.0, seed=0):
    """The terms of a machine with three outputs."""
    n, rng = len(X), np.random.default_rng(seed)
    values = X[:, :3] * X[:, 1:] + 0.3 * rng.normal(size=(n, 3))
    infinite, cost = np.full((n, 3), np.inf), C * (0.5 + rng.random((n, 1)))
    signs = np.where(values > 0.3, 1.0, -1.0)
    if kind == "least squares":
        return DualTerms(10.0 + values, -infinite, infinite, 1.0 / cost)
    if kind == "squared hinge":
        lower, upper = np.where(signs > 0, 0.0, -np.inf), np.where(signs > 0, np.inf, 0.0)
        lower[:20, 1] = upper[:20, 1] = 0.0  # samples that do not take part in an output
        return DualTerms(signs, lower, upper, 1.0 / cost)
    if kind == "squared tube":
        return DualTerms(10.0 + values, -infinite, infinite, 1.0 / cost, 0.2)
    return DualTerms(np.zeros((n, 3)), np.zeros((n, 3)), infinite, 1.0 / cost, total=1.0)


KINDS = ["least squares", "squared hinge", "squared tube", "one class"]


def gap_of(K, terms, found):
    """Primal minus dual of each output, from the definition."""
    values = K @ found.coef + found.intercept
    primal = 0.5 * (found.coef * (K @ found.coef)).sum(axis=0) + terms.loss(values).sum(axis=0)
    dual = -terms.conjugate(found.coef).sum(axis=0) - 0.5 * (found.coef * (K @ found.coef)).sum(axis=0)
    return primal + terms.total * found.intercept - dual


def check(K, terms, found, tol):
    """The end is feasible, and its gap is that of all samples and as small as was asked for."""
    assert found.converged.all() and (found.gaps <= tol * np.maximum(1.0, np.abs(found.objectives))).all()
    size = np.abs(found.coef).sum(axis=0)
    assert (np.abs(found.coef.sum(axis=0) - terms.total) <= 1e-11 * size).all()
    assert (found.coef >= terms.lower).all() and (found.coef <= terms.upper).all()
    primal_size = np.abs(found.objectives) + 1.0
    np.testing.assert_allclose(found.gaps, gap_of(K, terms, found), atol=1e-10 * primal_size.max())


def dense(K, terms, r):
    arrays = {name: getattr(terms, name)[:, r] for name in ("linear", "lower", "upper", "quadratic")}
    return solve_ridged_qp(K, **arrays, total=terms.total, insensitivity=terms.insensitivity, gap_tol=1e-11)


@in_every_place
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_that_of_the_dense_solver(kind, place_of):
    X = samples()
    K, terms = gaussian(X), problem(kind, X)
    found = solve_newton_in_parts(DenseParts(K, place=place_of()), terms, gap_tol=TOL)
    check(K, terms, found, TOL)
    for r in range(3):
        best = dense(K, terms, r)
        size = max(1.0, abs(best.objective))
        assert -1e-10 * size <= best.objective + best.gap - found.objectives[r] <= found.gaps[r] + 1e-10 * size


@pytest.mark.parametrize("C", [1e-6, 1e4])
@pytest.mark.parametrize("kind", KINDS)
def test_tiny_and_huge_costs_twins_and_a_constant_kernel(kind, C, monkeypatch):
    monkeypatch.setattr(newton_in_parts, "SMALL", N)
    X = samples()
    X[50:100] = X[:50]  # twins
    for K in (gaussian(X), np.ones((N, N)), np.zeros((N, N)), gaussian(X) + 50.0):
        terms = problem(kind, X, min(C, 100.0) if kind == "one class" else C)
        found = solve_newton_in_parts(DenseParts(K), terms, gap_tol=1e-5)
        check(K, terms, found, 1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_at_the_optimum_takes_no_step_and_a_bad_one_is_dropped(kind):
    X = samples()
    K, terms = gaussian(X), problem(kind, X)
    kernel = DenseParts(K)
    first = solve_newton_in_parts(kernel, terms, gap_tol=TOL)
    kernel.products = 0
    again = solve_newton_in_parts(kernel, terms, first.coef, first.images, gap_tol=1e-6)
    assert again.steps == 0 and kernel.products == 0
    check(K, terms, again, 1e-6)
    nearby = solve_newton_in_parts(DenseParts(1.01 * K), terms, first.coef, gap_tol=1e-6)
    assert nearby.steps < solve_newton_in_parts(DenseParts(1.01 * K), terms, gap_tol=1e-6).steps
    bad = solve_newton_in_parts(kernel, terms, 1e6 * np.ones((N, 3)), gap_tol=1e-6)
    check(K, terms, bad, 1e-6)


class TestLandmarks:
    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch):
        monkeypatch.setattr(newton_in_parts, "FEWEST", 2)

    @pytest.mark.parametrize("kind", KINDS)
    def test_they_save_steps_and_change_nothing_else(self, kind, monkeypatch):
        X = samples(400)
        K, terms = gaussian(X, 20.0), problem(kind, X, 20.0)
        with_landmarks = solve_newton_in_parts(DenseParts(K), terms, gap_tol=1e-6)
        monkeypatch.setattr(newton_in_parts, "FEWEST", 10**9)
        plain = solve_newton_in_parts(DenseParts(K), terms, gap_tol=1e-6)
        assert with_landmarks.steps < 0.6 * plain.steps
        for found in (plain, with_landmarks):
            check(K, terms, found, 1e-6)

    @in_every_place
    def test_what_follows_is_what_is_formed_anew(self, place_of):
        place, rng = place_of(), np.random.default_rng(0)
        K, weight, rows = gaussian(samples()), rng.random((N, 2)), np.arange(0, N, 5)
        first, second = (rng.random((N, 2)) < 0.6 for _ in range(2))
        there = [place.asarray(values.astype(float)) for values in (weight, first, second)]
        kernel = DenseParts(K, place=place)
        found = Landmarks(kernel, rows, there[0], False)
        found.follow(there[1])
        found.follow(there[2])
        anew = Landmarks(kernel, rows, there[0], False)
        anew.follow(there[2])
        np.testing.assert_allclose(place.numpy(found.sums), place.numpy(anew.sums), atol=1e-10)
        residual = second * rng.normal(size=(N, 2))
        solved = place.numpy(anew.solve(place.asarray(residual), there[2]))
        for r in range(2):  # by the definition
            free = np.flatnonzero(second[:, r])
            near = K[:, rows] @ np.linalg.solve(K[np.ix_(rows, rows)], K[rows])
            system = near[np.ix_(free, free)] + np.diag(1.0 / weight[free, r])
            np.testing.assert_allclose(solved[free, r], np.linalg.solve(system, residual[free, r]), atol=1e-6)
            assert not solved[~second[:, r], r].any()

    def test_one_inverse_serves_outputs_with_the_same_equations(self):
        K, rows = gaussian(samples()), np.arange(0, N, 5)
        mask = np.ones((N, 2))
        shared = Landmarks(DenseParts(K), rows, np.ones((N, 2)), True)
        shared.follow(mask)
        assert shared.sums.shape[0] == 1
        other = mask * [1.0, 0.0]
        shared.follow(other)
        own = Landmarks(DenseParts(K), rows, np.ones((N, 2)), False)
        own.follow(other)
        np.testing.assert_allclose(shared.sums, own.sums, atol=1e-10)


def test_a_budget_ends_a_solve_with_a_true_gap():
    X = samples()
    K, terms = gaussian(X), problem("squared hinge", X, 100.0)
    found = solve_newton_in_parts(DenseParts(K), terms, gap_tol=1e-9, max_steps=3)
    assert found.steps == 3 and not found.converged.all()
    np.testing.assert_allclose(found.gaps, gap_of(K, terms, found), rtol=1e-7)
    best = solve_newton_in_parts(DenseParts(K), terms, gap_tol=1e-9)
    assert (best.objectives <= found.objectives + found.gaps).all()


def test_products_that_are_wrong_are_noticed():
    """The gap comes from a fresh product: what rounding did to sums of products is no part of it."""

    class Rounded(DenseParts):
        def images(self, coef):
            return super().images(coef) * (1.0 + 1e-3 * (self.products < 5))

    X = samples()
    K, terms = gaussian(X), problem("least squares", X)
    found = solve_newton_in_parts(Rounded(K), terms, gap_tol=1e-6)
    check(K, terms, found, 1e-6)


@pytest.mark.parametrize("kind", ["least squares", "squared hinge"])
def test_what_cannot_be_solved_is_an_error(kind):
    X = samples()
    K, terms = gaussian(X), problem(kind, X)
    bad = K.copy()
    bad[3, 4] = bad[4, 3] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        solve_newton_in_parts(DenseParts(bad), terms)
    with pytest.raises(ValueError, match="negative eigenvalue"):
        solve_newton_in_parts(DenseParts(-5.0 * K), terms)
    with pytest.raises(ValueError, match="finite coefficients"):
        solve_newton_in_parts(DenseParts(K), terms, np.full((N, 3), np.nan))


def test_progress_grows_to_the_end():
    X = samples()
    seen = []
    kernel = DenseParts(gaussian(X))
    kernel.progress = seen.append
    solve_newton_in_parts(kernel, problem("squared hinge", X, 10.0), gap_tol=1e-6)
    assert len(seen) > 3 and seen == sorted(seen) and seen[0] >= 0.0 and seen[-1] <= 1.0
