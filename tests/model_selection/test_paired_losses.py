"""The test of held-out losses against numbers by hand, and its level where nothing differs."""

import numpy as np
import pytest
from scipy import stats

from kernelweave.model_selection import paired_loss_test
from kernelweave.model_selection.statistics import loss_statistics, mean_by_sample, paired_score_test


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
