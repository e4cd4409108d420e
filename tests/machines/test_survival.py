"""Losses of censored times against their definitions, other solvers and other libraries; extreme scores and costs."""

import numpy as np
import pytest
from scipy.optimize import minimize

from kernelweave.machines import SurvivalMachine
from kernelweave.solvers.coupled import ComparablePairs, CoxLoss, RankingLoss
from machine_properties import gaussian_kernel

LOSSES = ["cox", "cox-breslow", "ranking"]
N = 40


def problem(seed=0, n=N, step=1.0):
    """Times with many ties, events, weights and strata."""
    rng = np.random.default_rng(seed)
    time = step * np.ceil(5.0 * rng.exponential(size=n))
    return time, rng.random(n) < 0.6, rng.uniform(0.5, 2.0, n), rng.integers(0, 2, n)


def cox(f, time, event, weight, stratum, efron):
    """The negative log partial likelihood by its definition, over strata, event times and places among ties."""
    loss = 0.0
    for s in np.unique(stratum):
        for t in np.unique(time[(stratum == s) & event]):
            died = np.flatnonzero((stratum == s) & event & (time == t))
            there = (stratum == s) & (time >= t)
            for place in range(len(died)):
                part = place / len(died) if efron else 0.0
                risk = weight[there] @ np.exp(f[there]) - part * (weight[died] @ np.exp(f[died]))
                loss += weight[died].mean() * np.log(risk)
            loss -= weight[died] @ f[died]
    return loss


def ranking(f, time, event, weight, stratum):
    """Squared hinges of all comparable pairs."""
    comparable = event[:, None] & (time[:, None] < time) & (stratum[:, None] == stratum)
    hinge = np.maximum(0.0, 1.0 - f[:, None] + f)
    return 0.5 * float((comparable * weight[:, None] * weight * hinge**2).sum()) / weight.sum()


def by_definition(loss, f, *given):
    return ranking(f, *given) if loss == "ranking" else cox(f, *given, loss == "cox")


def coupled(loss, *given):
    return RankingLoss(*given) if loss == "ranking" else CoxLoss(*given, efron=loss == "cox")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_losses_are_those_of_the_definition_and_so_are_two_derivatives(loss, seed):
    given = problem(seed)
    rng = np.random.default_rng(seed)
    f, v, h = rng.standard_normal(N), rng.standard_normal(N), 1e-5
    found = coupled(loss, *given).at(f)
    assert found.value == pytest.approx(by_definition(loss, f, *given), rel=1e-12)
    slope = [by_definition(loss, f + h * e, *given) - by_definition(loss, f - h * e, *given) for e in np.eye(N)]
    np.testing.assert_allclose(found.slope, np.array(slope) / (2 * h), atol=1e-6)
    ahead, behind = (coupled(loss, *given).at(f + t * v).slope for t in (h, -h))
    np.testing.assert_allclose(found.bent(v), (ahead - behind) / (2 * h), atol=1e-6)


def test_weights_of_ranking_count_samples():
    time, event, _, stratum = problem()
    twice = np.repeat(np.arange(N), 1 + np.arange(N) % 2)
    f = np.random.default_rng(0).standard_normal(N)
    once = RankingLoss(time, event, 1.0 + np.arange(N) % 2, stratum).at(f).value
    assert RankingLoss(time[twice], event[twice], np.ones(len(twice)), stratum[twice]).at(
        f[twice]
    ).value == pytest.approx(once, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_that_of_a_general_solver(loss):
    """In w, with K = R R' and f = R w, by L-BFGS on the definition."""
    given, cost = problem(n=25), 3.0
    K = gaussian_kernel(25)
    R = np.linalg.cholesky(K)

    def objective(w):
        nothing = by_definition(loss, np.zeros(25), *given)
        return 0.5 * w @ w + cost * (by_definition(loss, R @ w, *given) - nothing)

    time, event, weight, stratum = given
    solution = SurvivalMachine(time, event, cost, weight, stratum, loss=loss).solve(K, gap_tol=1e-9)
    other = minimize(objective, np.zeros(25), method="L-BFGS-B", options={"maxfun": 10**5, "ftol": 1e-14, "gtol": 1e-7})
    assert solution.objective == pytest.approx(other.fun, rel=1e-7)  # gradients by differences leave about 1e-8
    assert solution.objective <= other.fun + 1e-9 * abs(other.fun) and solution.converged
    np.testing.assert_allclose(K @ solution.coef[:, 0], R @ other.x, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_score_is_too_large(loss):
    """Differences of scores of thousands: exponentials of them are no numbers, but losses and slopes are."""
    time, event, weight, stratum = problem()
    f = 3000.0 * np.random.default_rng(1).standard_normal(N)
    found = coupled(loss, time, event, weight, stratum).at(f)
    assert np.isfinite(found.value) and np.isfinite(found.slope).all()
    assert np.isfinite(found.bent(np.ones(N))).all() and np.abs(found.bent(np.ones(N))).max() < 1e-6
    assert np.abs(found.slope).sum() > 0.0 and abs(found.slope.sum()) < 1e-9 * np.abs(found.slope).sum()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("cost", [1e-6, 1.0, 1e4])
def test_any_cost_is_solved_to_the_relative_gap(loss, cost):
    time, event, weight, stratum = problem()
    K = gaussian_kernel(N)
    machine = SurvivalMachine(time, event, cost, weight, stratum, loss=loss)
    solution = machine.solve(K, tol=1e-6)
    assert solution.converged and 0.0 <= solution.gap <= 1e-6 * abs(solution.objective)
    assert solution.objective < 0.0 and solution.coef.any()
    single = machine.solve(K.astype(np.float32), tol=1e-3)
    assert single.converged and single.objective == pytest.approx(solution.objective, rel=2e-3)


def test_a_huge_cost_takes_many_steps_and_is_solved():
    rng = np.random.default_rng(0)
    machine = SurvivalMachine(rng.exponential(size=300), rng.random(300) < 0.6, 1e6)
    solution = machine.solve(gaussian_kernel(300) - 0.1 * np.eye(300), tol=1e-3)  # eigenvalues go down to about 0
    assert solution.converged and solution.gap <= 1e-3 * abs(solution.objective)


@pytest.mark.parametrize("loss", LOSSES)
def test_where_nothing_can_be_learned_scores_are_equal(loss):
    time, event, weight, _ = problem()
    constant = SurvivalMachine(time, event, 1.0, weight, loss=loss).solve(np.ones((N, N)))
    assert constant.converged and abs(constant.objective) < 1e-9 and np.ptp(np.ones((N, N)) @ constant.coef) == 0.0
    same = SurvivalMachine(np.ones(N), np.ones(N, dtype=bool), 1.0, loss=loss).solve(gaussian_kernel(N))
    assert same.converged and np.abs(same.coef).max() < 1e-9  # ties of everything


def test_an_indefinite_kernel_is_refused():
    time, event, weight, _ = problem()
    with pytest.raises(ValueError, match="negative eigenvalue"):
        SurvivalMachine(time, event, 10.0, weight).solve(-gaussian_kernel(N))


def test_held_out_samples_are_judged_by_their_pairs():
    time, event, weight, stratum = problem(3)
    f = np.round(np.random.default_rng(3).standard_normal(N), 1)  # with ties
    machine = SurvivalMachine(time, event, 1.0, weight, stratum)
    comparable = event[:, None] & (time[:, None] < time) & (stratum[:, None] == stratum)
    both = weight[:, None] * weight * comparable
    wrong = both * ((f[:, None] < f) + 0.5 * (f[:, None] == f))
    pairs = (both + both.T).sum(axis=1)
    np.testing.assert_allclose(machine.importance, pairs)
    np.testing.assert_allclose(machine.losses(f) * pairs, (wrong + wrong.T).sum(axis=1), atol=1e-12)
    assert machine.risk(f) == pytest.approx(wrong.sum() / both.sum())
    late = SurvivalMachine(np.array([1.0, 2.0]), np.array([False, True]), 1.0)
    assert late.risk(np.zeros(2)) == 0.5 and not late.importance.any()  # no pair at all


def test_second_derivatives_by_weights_are_those_of_the_solved_machine():
    time, event, weight, stratum = problem()
    matrices = [gaussian_kernel(N, seed) for seed in (0, 1)]
    for loss in ("cox", "ranking"):
        machine = SurvivalMachine(time, event, 2.0, weight, stratum, loss=loss)

        def slopes(eta, machine=machine):
            c = machine.solve(eta[0] * matrices[0] + eta[1] * matrices[1], gap_tol=1e-12).coef[:, 0]
            return np.array([-0.5 * c @ K @ c for K in matrices]), c

        eta, h = np.array([0.5, 0.7]), 1e-4
        expected = [(slopes(eta + h * e)[0] - slopes(eta - h * e)[0]) / (2 * h) for e in np.eye(2)]
        from kernelweave.solvers.sums import images

        K = eta[0] * matrices[0] + eta[1] * matrices[1]
        solution = machine.solve(K, gap_tol=1e-12)
        found = machine.curvature(K, solution, images(np.array(matrices), solution.coef))
        # conjugate gradients leave a hundredth of each residual; of a piecewise quadratic loss kinks are passed, too
        np.testing.assert_allclose(found, expected, rtol=0.03, atol=0.03 * np.abs(expected).max())


def test_cox_with_a_linear_kernel_is_ridge_regression_of_scikit_survival():
    sksurv = pytest.importorskip("sksurv.linear_model")
    time, event, _, _ = problem(n=60)
    X = np.random.default_rng(2).standard_normal((60, 4))
    y = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
    for ties in ("efron", "breslow"):
        loss = {"efron": "cox", "breslow": "cox-breslow"}[ties]
        solution = SurvivalMachine(time, event, 2.0, loss=loss).solve(X @ X.T, gap_tol=1e-12)
        # its objective is the negative log likelihood and alpha / 2 times the squared norm, both divided by n
        other = sksurv.CoxPHSurvivalAnalysis(alpha=1.0 / 2.0, ties=ties, tol=1e-12).fit(X, y)
        np.testing.assert_allclose(X.T @ solution.coef[:, 0], other.coef_, atol=1e-5)


def test_ranking_is_the_survival_svm_of_scikit_survival():
    sksurv = pytest.importorskip("sksurv.svm")
    time, event, _, _ = problem(n=60, step=0.1)
    time = time + np.linspace(0.0, 0.01, 60)  # tied times it puts in a random order and compares
    K = gaussian_kernel(60)
    y = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
    solution = SurvivalMachine(time, event, 5.0, loss="ranking").solve(K, gap_tol=1e-12)
    other = sksurv.FastKernelSurvivalSVM(alpha=5.0 / 60, kernel="precomputed", tol=1e-10, max_iter=1000).fit(K, y)
    f, g = K @ solution.coef[:, 0], other.predict(K)
    np.testing.assert_allclose(f - f.mean(), g - g.mean(), atol=1e-3)


def test_pairs_of_many_samples_are_counted_in_trees():
    rng = np.random.default_rng(0)
    time, event, f = rng.integers(0, 50, 500).astype(float), rng.random(500) < 0.5, rng.standard_normal(500)
    wrong, pairs = ComparablePairs(time, event, np.ones(500)).counts(f)
    comparable = event[:, None] & (time[:, None] < time)
    assert pairs.sum() == 2 * comparable.sum() and wrong.sum() == 2 * (comparable & (f[:, None] < f)).sum()


@pytest.mark.parametrize("loss", LOSSES)
def test_samples_of_weight_0_have_no_part(loss):
    time, event, weight, stratum = problem()
    chosen = np.arange(N) % 3 > 0
    chosen[np.argmax(time)] = False  # nobody is left in the last risk set
    machine, f = SurvivalMachine(time, event, 2.0, weight, stratum, loss=loss), np.linspace(-1.0, 1.0, N)
    among, without = machine.among(chosen).at(f), machine.subset(chosen).at(f[chosen])
    assert among.value == pytest.approx(without.value, rel=1e-12)
    np.testing.assert_allclose(among.slope[chosen], without.slope, atol=1e-12)
    assert not among.slope[~chosen].any() and not among.bent(f)[~chosen].any()
    np.testing.assert_allclose(machine.among(chosen).losses(f)[chosen], machine.subset(chosen).losses(f[chosen]))
