"""The test of held-out losses against numbers by hand, and its level where nothing differs."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from kernelweave.model_selection import paired_loss_test
from kernelweave.model_selection.statistics import (
    loss_statistics,
    mean_by_sample,
    paired_ratio_test,
    paired_score_test,
)


def test_by_hand():
    """Nine losses of ten: d = (1, 1, 1, -1, 0, ...), and one discordant pair more each way."""
    first, second = np.zeros(10), np.zeros(10)
    second[:3], first[3] = 1.0, 1.0
    # 1 + 1 + 1 - 1 = 2; squares 4 + 2 = 6, of 12 numbers: Var = (6 - 2^2 / 12) / 11
    variance = (6 - 4 / 12) / 11
    statistic = 0.2 / np.sqrt((1 / 10 + 1 / 8) * variance)
    result = paired_loss_test(first, second, n_train=8)
    assert result.statistic == pytest.approx(statistic)
    assert result.pvalue == pytest.approx(2 * stats.t.sf(statistic, 9))
    back = paired_loss_test(second, first, n_train=8)
    assert back.statistic == pytest.approx(-statistic) and back.pvalue == pytest.approx(result.pvalue)


@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
def test_the_factor_is_that_of_folds(n_folds):
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, (2, 60)).astype(float)
    d = second - first
    error = np.sqrt((1 + n_folds / (n_folds - 1)) * np.append(d, [1, -1]).var(ddof=1) / 60)
    result = paired_loss_test(first, second, n_train=60 * (n_folds - 1) / n_folds)
    assert result.statistic == pytest.approx(d.mean() / error)


def test_groups_count_as_one():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 30)) ** 2
    groups = np.array(list("abcdef") * 5)
    sums = np.array([(second - first)[groups == name].sum() for name in "abcdef"])
    u = np.sqrt(np.mean(sums**2))
    error = np.sqrt((1 + 30 / 20) * np.append(sums, [u, -u]).var(ddof=1) / 6)
    result = paired_loss_test(first, second, n_train=20, groups=groups)
    assert result.pvalue == pytest.approx(2 * stats.t.sf(abs(sums.mean() / error), 5))
    alone = paired_loss_test(first, second, n_train=20, groups=np.arange(30))
    assert alone == paired_loss_test(first, second, n_train=20)


def test_units_of_the_loss_do_not_matter_and_rounding_is_no_difference():
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, 40)) ** 2
    assert paired_loss_test(1e6 * first, 1e6 * second, n_train=30).pvalue == pytest.approx(
        paired_loss_test(first, second, n_train=30).pvalue
    )
    same = paired_loss_test(first, first * (1 + 1e-15), n_train=30)
    assert (same.statistic, same.pvalue) == (0.0, 1.0)
    assert paired_loss_test(np.zeros(5), np.zeros(5), n_train=4).pvalue == 1.0


def test_wrong_losses_are_named():
    for first, second, options, message in (
        ([0.0, 1.0], [1.0], {}, "same samples, but there are 2 and 1"),
        ([0.0, np.nan], [1.0, 0.0], {}, "must be finite"),
        ([0.0], [1.0], {}, "at least two samples"),
        ([0.0, 1.0], [1.0, 1.0], {"groups": [1, 1]}, "two groups"),
        ([0.0, 1.0], [1.0, 1.0], {"groups": [1]}, "groups has 1 entries"),
        ([0.0, 1.0], [1.0, 1.0], {"n_train": 0}, "n_train of paired_loss_test must be"),
    ):
        with pytest.raises(ValueError, match=message):
            paired_loss_test(first, second, **{"n_train": 2, **options})


def test_a_bootstrap_has_the_same_factor():
    rng = np.random.default_rng(3)
    resampled = rng.normal(0.1, 0.05, 200)
    error = np.sqrt((1 + 50 / 40) * (resampled.var(ddof=1) + 2 * (0.1 / 50) ** 2))
    result = paired_score_test(0.1, np.append(resampled, np.nan), n_samples=50, n_units=50, n_train=40)
    assert result.pvalue == pytest.approx(2 * stats.t.sf(0.1 / error, 49))
    assert paired_score_test(0.1, np.full(200, 0.1), n_samples=50, n_units=50, n_train=40).pvalue > 0.0
    assert np.isnan(paired_score_test(0.1, [np.nan], n_samples=50, n_units=50, n_train=40).pvalue)


def test_repeats_are_averaged_by_sample():
    samples, means = mean_by_sample([np.array([3, 1]), np.array([1, 7])], [[1.0, 0.0], [1.0, 0.5]])
    assert samples.tolist() == [1, 3, 7] and means.tolist() == [0.5, 1.0, 0.5]


@pytest.mark.parametrize("n_folds", [2, 3])
def test_the_level_is_kept_where_nothing_differs(n_folds):
    """Classifiers by class means of disjoint, equally good columns; `benchmarks.paired_test` has more of this."""
    rng = np.random.default_rng(4)
    n_samples, n_columns, n_times = 42, 10, 4000
    y = np.where(np.arange(n_samples) % 2, 1.0, -1.0)
    fold = np.arange(n_samples) // 2 % n_folds
    wrong = np.empty((2, n_times, n_samples))
    for method in range(2):
        X = rng.normal(size=(n_times, n_samples, n_columns)) + 0.2 * y[:, None]
        for k in range(n_folds):
            w = np.einsum("i,rij->rj", y[fold != k], X[:, fold != k])
            wrong[method][:, fold == k] = np.einsum("rij,rj->ri", X[:, fold == k], w) * y[fold == k] < 0
    pvalues = loss_statistics(wrong[1] - wrong[0], 1 + n_folds / (n_folds - 1))[1]
    for level in (0.05, 0.01, 0.001):
        # four standard errors of the share above the level
        assert (pvalues <= level).mean() <= level + 4 * np.sqrt(level * (1 - level) / n_times)
    one = paired_loss_test(wrong[0][0], wrong[1][0], n_train=n_samples * (n_folds - 1) / n_folds)
    assert one.pvalue == pytest.approx(pvalues[0])


def test_the_ratio_of_losses_is_tested_as_their_difference_where_they_are_nearly_equal():
    random = np.random.default_rng(0)
    second = random.exponential(size=400)
    first = second * (1.0 + 0.01 * random.normal(size=400)) - 0.002
    ratio = paired_ratio_test(first, second, n_train=300)
    assert ratio.pvalue == pytest.approx(paired_loss_test(first, second, n_train=300).pvalue, rel=0.1)
    assert ratio.difference == pytest.approx(np.log(second.mean() / first.mean()))
    scaled = paired_ratio_test(100.0 * first, 100.0 * second, n_train=300)
    assert scaled.pvalue == pytest.approx(ratio.pvalue, rel=1e-9)
    assert paired_ratio_test(np.zeros(50), np.ones(50), n_train=40).pvalue < 0.001  # nothing lost: no ratio


def test_a_few_extreme_targets_do_not_hide_that_most_of_the_error_is_gone():
    target = np.r_[np.linspace(0, 1, 60), 50.0, 100.0, 80.0, 60.0]
    chance, model = (target - target.mean()) ** 2, (0.3 * (target - target.mean())) ** 2
    assert paired_loss_test(model, chance, n_train=43).pvalue > 0.1
    assert paired_ratio_test(model, chance, n_train=43).pvalue < 0.001


def errors_of_ridge(random, n_samples, signal, shape):
    """Out-of-fold errors of the best of four ridge regressions and of the mean, and its true gain on fresh samples."""
    X = random.normal(size=(n_samples + 4000, 10))
    y = shape(signal * X[:, 0] + random.normal(size=len(X)))
    known, fresh = np.arange(n_samples), np.arange(n_samples, len(X))
    losses = {}
    for alpha in (1, 10, 100, 1000):
        predicted, mean = np.zeros(n_samples), np.zeros(n_samples)
        for train, test in KFold(5, shuffle=True, random_state=0).split(known):
            predicted[test] = Ridge(alpha).fit(X[train], y[train]).predict(X[test])
            mean[test] = y[train].mean()
        losses[alpha] = (y[known] - predicted) ** 2
    best = min(losses, key=lambda alpha: losses[alpha].mean())
    model = Ridge(best).fit(X[known], y[known])
    gain = (y[fresh] - y[known].mean()) ** 2 - (y[fresh] - model.predict(X[fresh])) ** 2
    is_better = gain.mean() > 2 * gain.std() / np.sqrt(len(gain))
    return losses[best], (y[known] - mean) ** 2, is_better


@pytest.mark.long
@pytest.mark.parametrize("shape", [np.asarray, lambda latent: np.exp(1.5 * latent)], ids=["normal", "lognormal"])
@pytest.mark.parametrize("n_samples", [40, 100, 300])
def test_a_regression_is_seldom_better_than_chance_by_luck(shape, n_samples):
    """As `compare` says it: the one-sided p-value, times the number of methods, is below 0.05."""
    said = dict.fromkeys((0.0, 0.3, 1.0), 0)
    for signal in said:
        random, wrong = np.random.default_rng(n_samples), 0
        for _ in range(100):
            model, chance, is_better = errors_of_ridge(random, n_samples, signal, shape)
            test = paired_ratio_test(model, chance, n_train=0.8 * n_samples)
            if test.difference > 0.0 and 0.5 * test.pvalue * 4 < 0.05:
                said[signal] += 1
                wrong += not is_better
        assert wrong <= 8, signal
    assert said[1.0] >= (20 if n_samples == 300 else 0)
