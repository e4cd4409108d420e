"""Curves and the log-rank test: against their definitions written out, and against scikit-survival where it is there.

All are sums and products of some hundred positive terms of about one size, which rounding changes by less than 1e-13
relatively in any order of summation; 1e-10 is far above that and below what any wrong term would change.
"""

import numpy as np
import pytest
from scipy.stats import binom, chi2

from censored_outcomes import SEEDS, tied
from kernelweave.survival import (
    Curve,
    breslow,
    censoring_curve,
    kaplan_meier,
    logrank_statistic,
    outcome,
    permutation_p,
)

CLOSE = {"rtol": 1e-10, "atol": 1e-12}


def survival_by_definition(time, event, t):
    product = 1.0
    for s in sorted(set(time[event])):
        if s <= t:
            product *= 1 - np.sum((time == s) & event) / np.sum(time >= s)
    return product


@pytest.mark.parametrize("seed", SEEDS)
def test_kaplan_meier_is_its_definition(seed):
    y, _ = tied(seed)
    curve = kaplan_meier(y)
    at = np.arange(-1, y["time"].max() + 0.1, 0.5)
    np.testing.assert_allclose(curve(at), [survival_by_definition(y["time"], y["event"], t) for t in at], **CLOSE)
    assert np.array_equal(curve.at_risk_at(at), [(y["time"] >= t).sum() for t in at])
    assert curve.n_events.sum() == y["event"].sum() and curve.n_censored.sum() == (~y["event"]).sum()
    table = curve.table
    assert list(table.index) == sorted(set(y["time"])) and np.array_equal(table["survival"], curve.values)


@pytest.mark.parametrize("seed", SEEDS)
def test_kaplan_meier_is_that_of_scikit_survival(seed):
    nonparametric = pytest.importorskip("sksurv.nonparametric")
    y, _ = tied(seed)
    curve = kaplan_meier(y, level=0.9)
    found = nonparametric.kaplan_meier_estimator(y["event"], y["time"], conf_type="log-log", conf_level=0.9)
    np.testing.assert_allclose(np.stack([curve.times, curve.values]), found[:2], **CLOSE)
    known = curve.values > 0
    np.testing.assert_allclose(np.stack([curve.lower, curve.upper])[:, known], found[2][:, known], **CLOSE)
    assert np.isnan([curve.lower[~known], curve.upper[~known], curve.error[~known]]).all()


def test_the_error_is_greenwoods():
    """Without censoring it is that of a share: sqrt(S (1 - S) / n)."""
    curve = kaplan_meier(outcome([1, 2, 2, 3, 4, 5, 6, 7], [True] * 8))
    np.testing.assert_allclose(curve.error[:-1], np.sqrt(curve.values * (1 - curve.values) / 8)[:-1], **CLOSE)
    assert np.isnan(curve.error[-1])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_censoring_curve_has_events_first(seed):
    """As if each censoring came a little later than the events of its time."""
    y, _ = tied(seed)
    later = y["time"] + np.where(y["event"], 0.0, 0.25)
    at = y["time"][y["time"] < y["time"].max()]
    expected = [survival_by_definition(later, ~y["event"], t + 0.25) for t in at]
    np.testing.assert_allclose(censoring_curve(y)(at), expected, **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_censoring_curve_is_that_of_scikit_survival(seed):
    nonparametric = pytest.importorskip("sksurv.nonparametric")
    y, _ = tied(seed)
    at = np.arange(0.0, y["time"].max() + 0.1, 0.5)
    expected = nonparametric.CensoringDistributionEstimator().fit(y).predict_proba(at)
    np.testing.assert_allclose(censoring_curve(y)(at), expected, **CLOSE)


def hazard_by_definition(y, risk, weight, t, ties):
    total = 0.0
    time, event = y["time"], y["event"] & (weight > 0)
    for s in set(time[event]):
        if s > t:
            continue
        own, at_risk = (time == s) & event, time >= s
        d = own.sum()
        for k in range(d):
            less = k / d if ties == "efron" else 0.0
            below = np.sum((weight * np.exp(risk))[at_risk]) - less * np.sum((weight * np.exp(risk))[own])
            total += weight[own].mean() / below
    return total


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_hazard_is_its_definition(seed, ties):
    y, risk = tied(seed)
    rng = np.random.RandomState(seed + 50)  # not the numbers of which y was made
    weight, strata = rng.randint(0, 4, len(y)) / 2.0, rng.choice(["a", "b"], len(y))
    curves = breslow(y, risk, ties=ties, sample_weight=weight, strata=strata)
    assert set(curves) == {"a", "b"}
    for label, curve in curves.items():
        part = strata == label
        at = np.arange(-1, y["time"][part].max() + 0.1, 0.5)
        expected = [hazard_by_definition(y[part], risk[part], weight[part], t, ties) for t in at]
        np.testing.assert_allclose(curve(at), expected, **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_breslows_hazard_is_that_of_scikit_survival(seed):
    coxph = pytest.importorskip("sksurv.linear_model.coxph")
    y, risk = tied(seed)
    expected = coxph.BreslowEstimator().fit(risk, y["event"], y["time"]).cum_baseline_hazard_
    at = np.unique(y["time"])
    np.testing.assert_allclose(breslow(y, risk, ties="breslow")(at), expected(at), **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_efrons_hazard_is_that_of_events_one_after_the_other(seed):
    """Of events of one time with equal risks it does not matter in which order they come."""
    y, _ = tied(seed)
    risk = -0.3 * y["time"]
    later = y.copy()
    rng = np.random.RandomState(seed + 50)  # not the numbers of which y was made
    later["time"] += np.where(y["event"], 0.4 * rng.rand(len(y)), 0.45)  # censored after the events of their time
    at = np.unique(y["time"])[:-1]
    np.testing.assert_allclose(breslow(y, risk)(at), breslow(later, risk, ties="breslow")(at + 0.5), **CLOSE)


def test_a_weight_is_a_number_of_samples():
    y, risk = tied(0)
    weight = np.random.RandomState(50).randint(0, 3, len(y))
    at = np.arange(0, 7)
    repeated = breslow(np.repeat(y, weight), np.repeat(risk, weight), ties="breslow")
    np.testing.assert_allclose(breslow(y, risk, ties="breslow", sample_weight=weight)(at), repeated(at), **CLOSE)


def test_large_risks_do_not_overflow():
    y, risk = tied(0)
    np.testing.assert_allclose(breslow(y, risk + 600.0)(3) * np.exp(600.0), breslow(y, risk)(3), rtol=1e-10)
    large = breslow(y, risk + 720.0)  # exp(720) is no float
    assert np.isfinite(large.values).all() and (large.values > 0).all()


def test_a_curve_is_known_until_the_last_time():
    y = outcome([1, 2, 3], [True, True, False])
    for curve in (kaplan_meier(y), breslow(y, [0.0, 0.0, 0.0]), censoring_curve(outcome([1, 2, 3], [True] * 3))):
        assert np.isfinite(curve(3))
        with pytest.raises(ValueError, match="the time 3.5 is beyond the last time .* ask for times up to 3"):
            curve([1, 3.5])
    assert kaplan_meier(outcome([1, 2], [True, True]))(9) == 0.0  # nobody is left
    with pytest.raises(ValueError, match="no value at the time NaN"):
        Curve(np.array([1.0]), np.array([2.0]), start=0.0, end=3.0)(np.nan)


def logrank_by_definition(y, group, strata):
    labels = np.unique(group)
    U, V = np.zeros(len(labels)), np.zeros((len(labels), len(labels)))
    for stratum in np.unique(strata):
        part = strata == stratum
        time, event, own = y["time"][part], y["event"][part], group[part]
        for s in np.unique(time[event]):
            at_risk, now = time >= s, (time == s) & event
            R, d = at_risk.sum(), now.sum()
            p = np.array([(own[at_risk] == label).mean() for label in labels])
            U += [(own[now] == label).sum() for label in labels] - d * p
            V += d * (R - d) / max(R - 1, 1) * (np.diag(p) - np.outer(p, p))
    return U[:-1] @ np.linalg.solve(V[:-1, :-1], U[:-1])


@pytest.mark.parametrize("n_groups", [2, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_logrank_statistic_is_its_definition(seed, n_groups):
    y, risk = tied(seed, n=100)
    group = np.searchsorted(np.quantile(risk, np.arange(1, n_groups) / n_groups), risk)
    strata = np.random.RandomState(seed + 50).choice([3, 1, 2], len(y))
    one = np.zeros(len(y))
    np.testing.assert_allclose(logrank_statistic(y, group), logrank_by_definition(y, group, one), rtol=1e-9)
    found = logrank_statistic(y, np.array(list("abcd"))[group], strata=strata)
    np.testing.assert_allclose(found, logrank_by_definition(y, group, strata), rtol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_logrank_statistic_is_that_of_scikit_survival(seed):
    compare = pytest.importorskip("sksurv.compare")
    y, risk = tied(seed)
    group = (risk > -0.5).astype(int) + (risk > 0.5)
    assert logrank_statistic(y, group) == pytest.approx(compare.compare_survival(y, group)[0], rel=1e-10)


def test_a_group_that_nobody_at_risk_belongs_to_changes_nothing():
    y, _ = tied(1)
    group = np.arange(len(y)) % 2
    early = np.append(y, outcome([-0.0], [False])), np.append(group, 2)
    late = y.copy()
    late["time"] += 1.0
    expected = logrank_statistic(late, group)
    y = np.append(late, outcome([0.5], [False]))
    assert logrank_statistic(y, early[1]) == pytest.approx(expected, rel=1e-9)


def p_values(n_cases, n_permutations, made):
    """p of groups in random cases: `made(rng, case)` returns y, groups and the options of `permutation_p`."""
    found = []
    for case in range(n_cases):
        y, groups, options = made(np.random.RandomState(case), case)
        found.append(permutation_p(y, groups, n_permutations=n_permutations, random_state=case + 5000, **options))
    return np.array(found)


def few_too_many(p, level):
    """What the number of p-values of at most `level` exceeds once in 10^5 times if each has that chance."""
    return binom.ppf(1 - 1e-5, len(p), level)


def exponential(rng, n):
    time, until = rng.exponential(size=n), rng.exponential(2.0, size=n)
    return outcome(np.ceil(5 * np.minimum(time, until)), time <= until)


def test_p_values_are_uniform_without_signal():
    """Exactly so: p is k / 20 with the chance 1 / 20 each, but for ties of statistics, which make it larger.

    The seeds are fixed and all sums of some 30 small numbers, so that no rounding decides; the limits are what a right
    test exceeds once in 10^5 draws of seeds. A test that p is not too large needs few ties: times that are distinct.
    """

    def made(rng, case):
        strata = np.repeat([0, 1], 15)
        y = exponential(rng, 30)
        y["time"] += 1e-3 * rng.rand(30) + 9.0 * strata  # strata of different survival, groups of different sizes
        return y, rng.rand(30) < 0.15 + 0.7 * strata, {"strata": strata}

    p = p_values(300, 19, made)
    for level in (0.05, 0.1, 0.25, 0.5, 0.75):
        assert (p <= level).sum() <= few_too_many(p, level)
        assert (p > level).sum() <= few_too_many(p, 1 - level)


def test_labels_are_exchanged_within_strata():
    """Of 5 pairs, each with one label of each group, all have the event first in one group: in 2 of 2^5 exchanges."""
    pair = np.arange(10) // 2
    y = outcome(np.arange(10), [True] * 10)
    n = 2000
    p = permutation_p(y, np.arange(10) % 2, strata=pair, n_permutations=n, random_state=0)
    assert abs(binom.cdf(p * (n + 1) - 1, n, 1 / 16) - 0.5) < 0.49999


def test_without_strata_strata_would_seem_a_signal():
    """The check of the test above: the same cases, with labels exchanged among all samples."""

    def made(rng, case):
        strata = np.repeat([0, 1], 15)
        y = exponential(rng, 30)
        y["time"] += 9.0 * strata
        return y, rng.rand(30) < 0.15 + 0.7 * strata, {}

    p = p_values(100, 19, made)
    assert (p <= 0.05).sum() > few_too_many(p, 0.05)


def held_out_groups(rng, n_folds=5, n=60, n_features=10):
    """No signal, and groups cut at the median, within each fold, of the risks of a model of the other folds."""
    y, X = exponential(rng, n), rng.normal(size=(n, n_features))
    fold, group = rng.permutation(np.arange(n) % n_folds), np.zeros(n, dtype=int)
    for k in range(n_folds):
        old, new = fold != k, fold == k
        hazard = breslow(y[old], np.zeros(old.sum()))(y["time"][old])
        risk = X[new] @ ((X[old] - X[old].mean(axis=0)).T @ (y["event"][old] - hazard))  # first step from no risks
        group[new] = risk > np.median(risk)
    return y, group, fold


def test_held_out_groups_differ_too_often_but_for_the_correction():
    """Of 1000 cases 0.117 have p of at most 0.05, and 0.021 with the correction; here the standard error is 0.015."""
    corrected = p_values(200, 39, lambda rng, case: held_out(rng, n_train=48))
    as_given = p_values(200, 39, lambda rng, case: held_out(rng))
    assert (corrected <= 0.05).mean() < 0.075 < (as_given <= 0.05).mean()
    assert (corrected >= as_given).all()


def held_out(rng, **options):
    y, group, fold = held_out_groups(rng)
    return y, group, {"strata": fold, **options}


def test_a_strong_signal_is_found():
    y, _ = tied(0, n=80)
    group = y["time"] + np.random.RandomState(50).normal(size=80) > 4.0
    assert chi2.sf(logrank_statistic(y, group), 1) < 1e-3
    assert permutation_p(y, group, n_permutations=99, random_state=0) == 0.01
    assert permutation_p(y, group, n_permutations=99, random_state=0) == 0.01


Y = outcome([1, 2, 3], [True, False, True])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: breslow(outcome([1, 2], [False, False]), [0, 0]), "all 2 samples of y are censored"),
        (lambda: breslow(Y, [0, 0, 0], sample_weight=[0, 1, 0]), "all 3 samples of y are censored"),
        (lambda: breslow(Y, [0, 0]), r"risk must have one number for each of 3 samples, but its shape is \(2,\)"),
        (lambda: breslow(Y, [0, np.nan, 0]), "risk of sample 1 is not finite"),
        (lambda: breslow(Y, ["a", "b", "c"]), "risk must be numbers"),
        (lambda: breslow(Y, [0, 0, 0], ties="exact"), 'ties of breslow must be "efron" or "breslow"'),
        (lambda: breslow(Y, [0, 0, 0], strata=[1, 2]), "strata must have one label for each of 3 samples"),
        (lambda: breslow(Y, [0, 0, 0], strata=["a", None, "b"]), "strata of sample 1 is missing"),
        (lambda: kaplan_meier(Y, level=1.0), "level of kaplan_meier must be"),
        (lambda: logrank_statistic(Y, [1, 1, 1]), "groups has only one label, 1; at least two"),
        (lambda: logrank_statistic(Y, [{}, 1, 2]), "groups must be labels, such as numbers or text"),
        (lambda: logrank_statistic(outcome([1, 2], [0, 0]), [0, 1]), "all 2 samples of y are censored"),
        (lambda: permutation_p(Y, [0, 1, 1], n_permutations=0), "n_permutations of permutation_p must be"),
        (lambda: permutation_p(Y, [0, 1, 1], n_train=-3), "n_train of permutation_p must be"),
        (lambda: permutation_p(Y, [0, 1, 1], random_state="x"), "random_state of permutation_p must be"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
