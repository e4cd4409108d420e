"""The tests against hand calculation, SciPy, simulation and the thesis' own tables."""

import numpy as np
import pytest
from scipy import stats

from kernelweave.model_selection import (
    corrected_t_test,
    paired_f_test_5x2cv,
    paired_t_test,
    wilcoxon_signed_rank,
    win_tie_loss,
)

# Thesis Table 5.10, MKL in the first column, the cost-conscious variant in the second.
ACCURACY_5_10 = """83.17 83.27 79.67 79.67 93.85 90.94 64.17 65.91 98.01 98.01 96.71 97.37 99.30 99.80 100.00 100.00
99.20 99.20 73.09 72.93 98.01 87.25 81.14 80.29 92.53 92.43 97.20 97.20 95.45 94.97"""
SUPPORT_5_10 = """90.68 83.27 79.44 79.44 64.36 46.67 93.30 80.87 28.21 19.12 25.46 15.25 11.70 9.10 14.00 6.50
33.20 32.60 68.91 68.79 26.85 82.46 86.96 69.13 42.99 31.06 89.10 89.00 22.26 17.00"""
COST_5_10 = """70.14 64.40 18.00 18.00 54.25 44.65 57.01 66.57 28.21 10.46 25.46 8.34 11.70 9.10 14.00 6.50
18.16 7.39 20.14 15.58 12.17 56.05 86.96 37.81 42.99 12.40 20.18 20.16 16.97 3.85"""
# Thesis Table 5.14.
ACCURACY_5_14 = """78.20 72.70 93.29 93.24 86.40 83.96 84.81 82.07 91.51 91.50 86.75 83.84 90.20 87.01 92.93 92.73
94.59 94.57 89.97 88.54 94.66 94.65 94.87 94.10 97.74 97.74"""
SUPPORT_5_14 = """91.08 97.03 91.10 96.54 95.68 94.62 93.17 94.48 75.42 90.96 91.74 95.46 83.09 95.46 91.67 95.91
84.71 96.55 94.88 92.54 92.97 97.22 75.80 83.02 86.64 96.79"""
# Thesis Table 5.8.
ACCURACY_5_8 = """78.59 79.21 93.23 93.56 87.17 87.47 85.62 87.07 91.90 92.29 86.73 87.64 90.31 90.49 92.92 93.26
94.75 95.20 89.16 89.05 94.65 94.43 95.26 95.24 97.73 97.74"""
SUPPORT_5_8 = """91.50 94.85 90.95 85.93 96.11 93.14 87.22 82.81 91.24 77.52 93.58 92.78 82.56 86.45 91.49 95.91
82.28 84.18 93.39 75.94 96.24 86.68 76.32 79.63 77.14 9.74"""


@pytest.mark.parametrize(
    ("table", "higher_is_better", "direct", "wilcoxon"),
    [
        (ACCURACY_5_10, True, (4, 5, 6), "T"),
        (SUPPORT_5_10, False, (13, 1, 1), "W"),
        (COST_5_10, False, (12, 1, 2), "W"),
        (ACCURACY_5_14, True, (0, 1, 12), "L"),
        (SUPPORT_5_14, False, (2, 0, 11), "L"),
        (ACCURACY_5_8, True, (10, 0, 3), "W"),
        (SUPPORT_5_8, False, (8, 0, 5), "T"),
    ],
)
def test_last_lines_of_the_thesis_tables(table, higher_is_better, direct, wilcoxon):
    first, second = np.array(table.split(), dtype=float).reshape(-1, 2).T
    result = win_tie_loss(first, second, higher_is_better=higher_is_better)
    assert (result.direct, result.wilcoxon, result.tested) == (direct, wilcoxon, None)


def test_f_test_by_hand():
    second = np.array([[3.0, 1.0], [2.0, 2.0], [0.0, -1.0], [1.0, 2.0], [4.0, 1.0]])
    # Squares sum to 41; s_i^2 are 2, 0, 1/2, 1/2, 9/2.
    result = paired_f_test_5x2cv(np.zeros((5, 2)), second)
    assert result.statistic == pytest.approx(41.0 / 15.0)
    assert result.pvalue == pytest.approx(stats.f.sf(41.0 / 15.0, 10, 5))
    assert paired_f_test_5x2cv(np.zeros(10), second.ravel()) == result
    assert paired_f_test_5x2cv(second, np.zeros((5, 2))) == result


def test_f_test_keeps_its_level_where_its_assumptions_hold():
    differences = np.random.default_rng(0).normal(size=(4000, 5, 2))
    rejected = np.mean([paired_f_test_5x2cv(np.zeros((5, 2)), d).significant() for d in differences])
    # Numerator and denominator are dependent, which makes the test conservative.
    assert 0.005 < rejected <= 0.06


def test_nothing_varies():
    same = paired_f_test_5x2cv(np.ones(10), np.ones(10))
    assert (same.statistic, same.pvalue, same.significant()) == (0.0, 1.0, False)
    shifted = paired_f_test_5x2cv(np.zeros(10), np.ones(10))
    assert (shifted.statistic, shifted.pvalue) == (np.inf, 0.0)
    assert paired_t_test([1.0, 1.0], [1.0, 1.0]).pvalue == 1.0
    assert paired_t_test([1.0, 1.0], [0.0, 0.0]) == paired_t_test([2.0, 2.0], [0.0, 0.0])


def test_t_test_is_scipys():
    first, second = np.random.default_rng(1).normal(size=(2, 8))
    expected = stats.ttest_rel(second, first)
    result = paired_t_test(first, second)
    assert (result.statistic, result.pvalue) == pytest.approx((expected.statistic, expected.pvalue))


def test_wilcoxon_is_scipys_without_ties():
    first, second = np.random.default_rng(2).normal(size=(2, 15))
    expected = stats.wilcoxon(second, first, method="approx")
    result = wilcoxon_signed_rank(first, second)
    assert (result.statistic, result.pvalue) == pytest.approx((expected.statistic, expected.pvalue))


def test_wilcoxon_splits_ties_and_ignores_an_odd_one():
    # Two zeros share ranks 1 and 2 (half of 3 to each side), then 1 -> 3, -2 -> 4, 5 -> 5.
    even = wilcoxon_signed_rank(np.zeros(5), [0.0, 0.0, 1.0, -2.0, 5.0])
    assert (even.rank_plus, even.rank_minus, even.n_ranked) == (1.5 + 3 + 5, 1.5 + 4, 5)
    odd = wilcoxon_signed_rank(np.zeros(6), [0.0, 0.0, 0.0, 1.0, -2.0, 5.0])
    assert (odd.rank_plus, odd.rank_minus, odd.n_ranked) == (even.rank_plus, even.rank_minus, 5)
    assert odd.z == pytest.approx((5.5 - 7.5) / np.sqrt(5 * 6 * 11 / 24))
    nothing = wilcoxon_signed_rank([1.0], [1.0])
    assert (nothing.pvalue, nothing.n_ranked) == (1.0, 0)


def test_win_tie_loss_by_f_test():
    rng = np.random.default_rng(3)
    base = {name: 90 + rng.normal(scale=0.1, size=10) for name in "abc"}
    other = {"a": base["a"] + 5 + rng.normal(scale=0.1, size=10), "b": base["b"].copy(), "c": base["c"] - 5}
    result = win_tie_loss(base, other)
    assert result.tested == (1, 1, 1) and result.direct == (1, 1, 1) and result.wilcoxon == "T"
    assert win_tie_loss(base, other, higher_is_better=False).tested == (1, 1, 1)
    assert win_tie_loss(base, {"a": base["a"], "b": base["b"], "c": base["c"] - 5}).tested == (0, 2, 1)


def test_results_that_cannot_be_compared():
    with pytest.raises(ValueError, match="five times two folds, not 8"):
        paired_f_test_5x2cv(np.ones(8), np.ones(8))
    with pytest.raises(ValueError, match="same folds"):
        paired_f_test_5x2cv(np.ones(10), np.ones(8))
    with pytest.raises(ValueError, match="must be finite"):
        wilcoxon_signed_rank([np.nan], [1.0])
    with pytest.raises(ValueError, match="at least two folds"):
        paired_t_test([1.0], [2.0])
    with pytest.raises(ValueError, match="same data sets"):
        win_tie_loss({"a": 1.0}, {"b": 1.0})


def test_ties_of_printed_decimals_are_ties():
    first = np.array([96.1, 79.0, 60.4, 80.5, 96.5, 94.3, 82.6, 67.3, 81.8])
    second = np.array([96.2, 79.2, 60.5, 80.6, 96.6, 94.2, 82.8, 67.4, 81.7])
    decimal, whole = (
        wilcoxon_signed_rank(first, second),
        wilcoxon_signed_rank(np.round(10 * first), np.round(10 * second)),
    )
    assert (decimal.rank_plus, decimal.rank_minus) == (whole.rank_plus, whole.rank_minus) == (37.0, 8.0)
    assert win_tie_loss(first, second).wilcoxon == "T"
    with pytest.raises(ValueError, match="at least one data set"):
        win_tie_loss([], [])


@pytest.mark.filterwarnings("ignore:`corrected_t_test` is deprecated")
def test_the_corrected_t_test_has_the_variance_of_nadeau_and_bengio():
    first, second = np.array([0.80, 0.84, 0.79, 0.83, 0.81]), np.array([0.85, 0.86, 0.84, 0.85, 0.80])
    difference = second - first
    t = difference.mean() / np.sqrt((1 / 5 + 1 / 4) * difference.var(ddof=1))
    result = corrected_t_test(first, second, ratio=1 / 4)
    assert result.statistic == pytest.approx(t)
    assert result.pvalue == pytest.approx(2 * stats.t.sf(abs(t), 4))
    assert corrected_t_test([1.0, 2.0], [1.0, 2.0], ratio=1.0).pvalue == 1.0
    with pytest.raises(ValueError, match="at least two folds"):
        corrected_t_test([1.0], [2.0], ratio=1.0)
    with pytest.raises(ValueError, match="ratio of the corrected t test must be"):
        corrected_t_test([1.0, 2.0], [2.0, 1.0], ratio=0.0)


@pytest.mark.filterwarnings("ignore:`corrected_t_test` is deprecated")
def test_the_corrected_t_test_keeps_its_level_where_folds_are_correlated():
    """Nadeau and Bengio take n_test / (n_test + n_train) for the correlation of two folds: 1/5 in 5 folds."""
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=(4000, 1)), rng.normal(size=(4000, 5))
    differences = np.sqrt(1 / 5) * common + np.sqrt(4 / 5) * own
    nothing = np.zeros(5)
    corrected = np.mean([corrected_t_test(nothing, d, ratio=1 / 4).significant() for d in differences])
    plain = np.mean([paired_t_test(nothing, d).significant() for d in differences])
    assert abs(corrected - 0.05) < 0.012
    assert plain > 0.12


def test_the_corrected_t_test_is_deprecated():
    with pytest.warns(FutureWarning, match="use `paired_loss_test`"):
        corrected_t_test([1.0, 2.0], [1.0, 2.0], ratio=1.0)
