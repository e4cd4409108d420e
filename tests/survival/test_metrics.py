"""Metrics: against their definitions, a pair at a time, and against scikit-survival where it is there.

They are ratios of sums of at most some thousand positive terms of about one size, which rounding changes by less than
1e-12 relatively in any order of summation; a wrong pair changes them by 1e-4 or more.
"""

import re

import numpy as np
import pandas as pd
import pytest

from censored_outcomes import SEEDS, tied
from kernelweave.survival import (
    brier_scores,
    censoring_curve,
    concordance,
    dynamic_auc,
    integrated_brier_score,
    kaplan_meier,
    outcome,
    uno_concordance,
)

CLOSE = {"rel": 1e-10, "abs": 1e-12}
TIMES = np.array([1.0, 2.5, 4.0, 5.0])


def parts(seed, n=60):
    """Training and other samples; the training samples are followed for longer."""
    (train, _), (y, risk) = tied(seed + 100, n=80, last=10), tied(seed, n=n)
    train["time"][:2], train["event"][:2] = 11.0, [True, False]
    return train, y, risk


def predicted(y, risk, times):
    """Some survival of samples, with noise: not a monotone function of the risk."""
    rng = np.random.RandomState(len(y))
    hazard = np.exp(0.5 * risk + rng.normal(size=len(y)))
    return np.exp(-0.1 * hazard[:, None] * times)


def ordered(a, b):
    return 0.5 if abs(a - b) <= 1e-8 else float(a > b)


def concordance_by_definition(y, f, weight):
    won = all_pairs = 0.0
    for i, (event, time) in enumerate(y):
        for j, (other_event, other_time) in enumerate(y):
            if event and (time < other_time or (time == other_time and not other_event)):
                won += weight[i] * ordered(f[i], f[j])
                all_pairs += weight[i]
    return won / all_pairs


def auc_by_definition(y, f, weight, t):
    won = all_pairs = 0.0
    for i, (event, time) in enumerate(y):
        for j, (_, other_time) in enumerate(y):
            if event and time <= t < other_time:
                won += weight[i] * ordered(f[i], f[j])
                all_pairs += weight[i]
    return won / all_pairs


def brier_by_definition(y, S, G, t):
    total = 0.0
    for i, (event, time) in enumerate(y):
        if time > t:
            total += (1.0 - S[i]) ** 2 / float(G(t))
        elif event:
            total += S[i] ** 2 / float(G(time))
    return total / len(y)


@pytest.mark.parametrize("seed", SEEDS)
def test_concordance_is_its_definition(seed):
    train, y, risk = parts(seed)
    one = np.ones(len(y))
    assert concordance(y, risk) == pytest.approx(concordance_by_definition(y, risk, one), **CLOSE)
    assert concordance(y, -risk) == pytest.approx(1.0 - concordance(y, risk), **CLOSE)
    weight = 1.0 / censoring_curve(train)(y["time"]) ** 2
    assert uno_concordance(train, y, risk) == pytest.approx(concordance_by_definition(y, risk, weight), **CLOSE)
    weight[y["time"] >= 4.0] = 0.0
    found = uno_concordance(train, y, risk, tau=4.0)
    assert found == pytest.approx(concordance_by_definition(y, risk, weight), **CLOSE)
    assert found != pytest.approx(uno_concordance(train, y, risk), abs=1e-6)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 200])
def test_concordance_of_few_and_many_samples(n):
    """Lengths around powers of two, where the number of bits changes; risks without ties."""
    y, _ = tied(n, n=n, last=max(3, n // 3))
    y["time"][0], y["event"][0], y["time"][-1] = 0.0, True, 9.0
    risk = np.random.RandomState(n + 50).normal(size=n)
    assert concordance(y, risk) == pytest.approx(concordance_by_definition(y, risk, np.ones(n)), **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_concordances_are_those_of_scikit_survival(seed):
    metrics = pytest.importorskip("sksurv.metrics")
    train, y, risk = parts(seed, n=300)
    expected = metrics.concordance_index_censored(y["event"], y["time"], risk)[0]
    assert concordance(y, risk) == pytest.approx(expected, **CLOSE)
    for tau in (None, 5.0):
        expected = metrics.concordance_index_ipcw(train, y, risk, tau=tau)[0]
        assert uno_concordance(train, y, risk, tau=tau) == pytest.approx(expected, **CLOSE)


def test_risks_that_hardly_differ_are_tied():
    y = outcome([1, 2, 3], [True, True, True])
    assert concordance(y, [1.0, 1.0, 1.0]) == 0.5
    assert concordance(y, np.array([3.0, 2.0, 1.0]) * 1e-9) == 0.5
    assert concordance(y, np.array([3.0, 2.0, 1.0]) * 1e-7) == 1.0


def test_concordance_of_one_event():
    assert concordance(outcome([2, 1, 3], [True, False, False]), [1.0, 5.0, 0.0]) == 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_area_is_its_definition(seed):
    train, y, risk = parts(seed)
    weight = 1.0 / censoring_curve(train)(y["time"])
    auc, mean = dynamic_auc(train, y, risk, TIMES)
    assert auc == pytest.approx([auc_by_definition(y, risk, weight, t) for t in TIMES], **CLOSE)
    steps = -np.diff(kaplan_meier(y)(TIMES), prepend=1.0)
    assert mean == pytest.approx(np.average(auc, weights=steps), **CLOSE)
    each = np.column_stack([risk, -risk, np.round(risk), risk**2])
    auc, _ = dynamic_auc(train, y, each, TIMES)
    expected = [auc_by_definition(y, f, weight, t) for f, t in zip(each.T, TIMES, strict=True)]
    assert auc == pytest.approx(expected, **CLOSE)
    auc, mean = dynamic_auc(train, y, risk, 2.5)
    assert auc == pytest.approx([auc_by_definition(y, risk, weight, 2.5)], **CLOSE) and mean == auc[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_area_is_that_of_scikit_survival(seed):
    metrics = pytest.importorskip("sksurv.metrics")
    train, y, risk = parts(seed, n=200)
    for given in (risk, np.column_stack([risk, -risk, np.round(risk), risk**2])):
        (auc, mean), (expected, expected_mean) = (
            area(train, y, given, TIMES) for area in (dynamic_auc, metrics.cumulative_dynamic_auc)
        )
        assert auc == pytest.approx(expected, **CLOSE) and mean == pytest.approx(expected_mean, **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_brier_scores_are_their_definition(seed):
    train, y, risk = parts(seed)
    S = predicted(y, risk, TIMES)
    G = censoring_curve(train)
    scores = brier_scores(train, y, S, TIMES)
    assert scores == pytest.approx([brier_by_definition(y, S[:, k], G, t) for k, t in enumerate(TIMES)], **CLOSE)
    assert brier_scores(train, y, S[:, 1], TIMES[1]) == pytest.approx(scores[1:2], **CLOSE)
    mean = ((scores[0] + scores[1]) * 1.5 + (scores[1] + scores[2]) * 1.5 + scores[2] + scores[3]) / 2.0 / 4.0
    assert integrated_brier_score(train, y, S, TIMES) == pytest.approx(mean, **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_brier_scores_are_those_of_scikit_survival(seed):
    metrics = pytest.importorskip("sksurv.metrics")
    train, y, risk = parts(seed, n=200)
    S = predicted(y, risk, TIMES)
    assert brier_scores(train, y, S, TIMES) == pytest.approx(metrics.brier_score(train, y, S, TIMES)[1], **CLOSE)
    expected = metrics.integrated_brier_score(train, y, S, TIMES)
    assert integrated_brier_score(train, y, S, TIMES) == pytest.approx(expected, **CLOSE)


def test_without_censoring_they_are_those_of_labels():
    """A quarter for one half, and the area of ranks."""
    y = outcome([1, 2, 3, 4, 5, 6], [True] * 6)
    assert brier_scores(y, y, np.full((6, 2), 0.5), [2, 3]) == pytest.approx([0.25, 0.25])
    assert dynamic_auc(y, y, [3, 1, 2, 0, 4, -1], [3])[0] == pytest.approx([6 / 9])
    assert uno_concordance(y, y, [3, 1, 2, 0, 4, -1]) == concordance(y, [3, 1, 2, 0, 4, -1])


def test_frames_are_taken():
    train, y, risk = parts(0)
    frames = [pd.DataFrame({"time": part["time"], "event": part["event"]}, index=part["time"]) for part in (train, y)]
    assert uno_concordance(*frames, risk) == uno_concordance(train, y, risk)
    assert dynamic_auc(*frames, pd.Series(risk), list(TIMES))[1] == dynamic_auc(train, y, risk, TIMES)[1]


Y = outcome([2, 3, 5, 7, 8], [True, False, True, True, False])
F = [3.0, 1.0, 0.5, 2.0, 0.0]
SHORT = outcome([1, 2, 4], [True, False, True])
ENDS_CENSORED = outcome([1, 2, 6], [True, True, False])
HALF = np.full((5, 2), 0.5)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: concordance(outcome([1, 2], [False, False]), [0, 1]), "y has no comparable pair"),
        (lambda: concordance(outcome([3, 3, 3], [True] * 3), [0, 1, 2]), "y has no comparable pair"),
        (lambda: concordance(outcome([1, 2, 3], [False, False, True]), [0, 1, 2]), "y has no comparable pair"),
        (lambda: concordance(outcome([1], [True]), [0]), "y has no comparable pair"),
        (lambda: uno_concordance(Y, Y, F, tau=1.5), r"y has no comparable pair.*\(before tau, if that is given\)"),
        (lambda: uno_concordance(Y, Y, F, tau=0), "tau of uno_concordance must be"),
        (lambda: concordance(Y, F[:2]), "risk must have one number for each of 5 samples"),
        (lambda: concordance(Y, [1, 2, 3, np.inf, 5]), "risk of sample 3 is not finite"),
        (lambda: concordance(F, F), r"y must hold a time and an event"),
        (lambda: uno_concordance(F, Y, F), r"y_train must hold a time and an event"),
        (lambda: uno_concordance(SHORT, Y, F), "by the time 4, so .* censoring at 7 is unknown; pass a tau before 4"),
        (lambda: uno_concordance(ENDS_CENSORED, Y, F), "by the time 6, so .* at 7 is unknown; pass a tau before 6"),
        (lambda: uno_concordance(outcome([1, 7], [True, False]), Y, F), "by the time 7, so .* at 7 is unknown"),
        (lambda: dynamic_auc(SHORT, Y, F, [2, 6]), "by the time 4, .* at 5 is unknown; end times before 4"),
        (
            lambda: dynamic_auc(Y, outcome([1, 3, 5], [False, True, True]), F[:3], [2, 4]),
            "by the time 2, so that there is",
        ),
        (lambda: dynamic_auc(Y, Y, F, [2, 8]), "at least 2 and below 8, but are from 2 to 8"),
        (lambda: dynamic_auc(Y, Y, F, [1, 4]), "at least 2 and below 8, but are from 1 to 4"),
        (lambda: dynamic_auc(Y, Y, F, [4, 3]), "times must be finite numbers that increase"),
        (lambda: dynamic_auc(Y, Y, F, []), "times must be finite numbers that increase"),
        (lambda: dynamic_auc(Y, Y, F, "x"), "times must be numbers"),
        (lambda: dynamic_auc(Y, Y, np.zeros((5, 3)), [2, 4]), r"each of 2 times, but its shape is \(5, 3\)"),
        (lambda: brier_scores(SHORT, Y, HALF, [3, 6]), "censoring at 5 is unknown; end times before 4"),
        (lambda: brier_scores(SHORT, outcome([3, 9], [False, False]), HALF[:2], [3, 6]), "at 6 is unknown"),
        (lambda: brier_scores(Y, Y, 3.0 * HALF, [2, 4]), "probabilities from 0 to 1, but some are 1.5; are they risks"),
        (lambda: brier_scores(Y, Y, HALF[:, 0], [2, 4]), "survival must have a column for each of 2 times"),
        (lambda: brier_scores(Y, Y, np.nan * HALF, [2, 4]), "survival of sample 0 is not finite"),
        (lambda: integrated_brier_score(Y, Y, HALF[:, :1], [2]), "needs at least two times"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_tau_as_advised_is_taken():
    for train in (SHORT, ENDS_CENSORED):
        with pytest.raises(ValueError, match="pass a tau before") as found:
            uno_concordance(train, Y, F)
        tau = float(re.search(r"tau before (\d+)", str(found.value))[1])
        assert 0.0 < uno_concordance(train, Y, F, tau=tau) <= 1.0
