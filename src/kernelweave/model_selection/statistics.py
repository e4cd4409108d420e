"""Tests that compare two methods: appendix A of Gönen's thesis (2010), and its tables of wins, ties and losses.

=============  ===========================================================================
thesis         here
=============  ===========================================================================
p_i^(j)        difference of two methods on fold j = 1, 2 of replication i = 1 ... 5
s_i^2          its variance in replication i
f ~ F_{10,5}   `paired_f_test_5x2cv`: ``sum_ij (p_i^j)^2 / (2 sum_i s_i^2)`` (A.1 prints a
               sigma^2 where the 2 belongs)
R^+, R^-, T    sums of ranks in favour of the second and the first method, their minimum
z ~ Z          `wilcoxon_signed_rank`
W-T-L          `win_tie_loss`
=============  ===========================================================================

The null hypothesis of `paired_loss_test` is an equal expected score over training sets. With d_i the difference of the
two losses of a tested sample, averaged over the repeats of a cross-validation (and summed over the samples of a group,
which count as one):

    SE^2 = (1 / n + 1 / n_train) Var(d),    t = mean(d) / SE,    n - 1 degrees of freedom.

1 / n is for the samples that were tested, 1 / n_train for the training sets, which the folds share (Nadeau and Bengio
2003); of K folds it is ``(1 + K / (K - 1)) Var(d) / n``. Var(d) is that of the differences and of one discordant pair
more each way, +u and -u, where u^2 is the mean square of the differences that are not 0: 1 for labels that are right or
wrong. Without it a few differences with the same sign would have hardly any variance.

A score that is no mean over samples, such as the area under the ROC curve, has a bootstrap standard error over samples
(or groups) in the place of ``Var(d) / n``: `paired_score_test`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import stats

from .._warnings import warn
from ..validation import Number, check

TEST_NAME = "paired test of held-out losses"
# What differs by less than this share of the largest loss is equal: it is rounding, of which losses that were computed
# from sums of some thousand products carry about 1e-13.
_EQUAL = 1e-10


@dataclass(frozen=True)
class TestResult:
    """Statistic and p-value of a test of equal performance."""

    __test__ = False  # not a test case, in spite of its name
    statistic: float
    pvalue: float

    def significant(self, level: float = 0.05) -> bool:
        """Whether equality is rejected at this level."""
        return self.pvalue < level


@dataclass(frozen=True)
class LossTestResult(TestResult):
    """Result of `paired_loss_test`.

    Attributes
    ----------
    difference : float
        Mean loss of the second method less that of the first.
    error : float
        Standard error of the difference.
    freedom : int
        Degrees of freedom of the t distribution.
    """

    _: KW_ONLY
    difference: float = np.nan
    error: float = np.nan
    freedom: int = 1

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of the difference."""
        reach = stats.t.ppf(0.5 + 0.5 * level, self.freedom) * self.error
        return self.difference - reach, self.difference + reach

    def upper(self, level: float = 0.95) -> float:
        """One-sided upper confidence bound of the difference: below a margin, the second method is no worse by that."""
        return float(self.difference + stats.t.ppf(level, self.freedom) * self.error)


@dataclass(frozen=True)
class WilcoxonResult(TestResult):
    """Result of `wilcoxon_signed_rank`; `statistic` is T.

    Attributes
    ----------
    z : float
        The normal score of T; never positive.
    rank_plus, rank_minus : float
        Sums of ranks for data sets where the second method is larger, or the first.
    n_ranked : int
        Number M of data sets that are ranked.
    """

    _: KW_ONLY
    z: float
    rank_plus: float
    rank_minus: float
    n_ranked: int


@dataclass(frozen=True)
class WinTieLoss:
    """A second method against a first one: the last lines of the tables of the thesis (Gönen 2010).

    Attributes
    ----------
    tested : tuple of int, or None
        Wins, ties and losses by the 5x2 cv paired F test; None where not every entry has ten results.
    direct : tuple of int
        Wins, ties and losses by comparison of the averages.
    wilcoxon : {"W", "T", "L"}
        Win, tie or loss over all data sets by Wilcoxon's signed rank test of the averages.
    """

    tested: tuple[int, int, int] | None
    direct: tuple[int, int, int]
    _: KW_ONLY
    wilcoxon: str


def paired_f_test_5x2cv(first: Any, second: Any) -> TestResult:
    """5x2 cv paired F test of equal performance, thesis (Gönen 2010), A.1.

    Parameters
    ----------
    first, second : array of shape (5, 2) or (10,)
        Results of two methods on the same folds: replications in rows, or one after the other.

    Returns
    -------
    TestResult
        ``f = sum_ij p_ij^2 / (2 sum_i s_i^2)`` and its p-value under F with 10 and 5 degrees of freedom. Methods with
        the same result on every fold have f = 0; a difference that never varies within a replication has f = inf.

    Examples
    --------
    >>> from kernelweave.model_selection import paired_f_test_5x2cv
    >>> first = [90.1, 90.5, 89.8, 90.2, 90.4, 90.0, 90.3, 89.9, 90.6, 90.1]
    >>> second = [91.0, 91.3, 91.1, 90.9, 91.4, 91.2, 90.8, 91.0, 91.5, 91.3]
    >>> paired_f_test_5x2cv(first, second).significant()
    True
    """
    difference = _differences(first, second)
    if difference.size != 10:
        raise ValueError(f"the 5x2 cv paired F test needs the results of five times two folds, not {difference.size}")
    difference = difference.reshape(5, 2)
    variance = np.square(difference - difference.mean(axis=1, keepdims=True)).sum(axis=1)
    return TestResult(*_ratio(np.square(difference).sum(), 2.0 * variance.sum(), lambda f: stats.f.sf(f, 10, 5)))


def paired_t_test(first: Any, second: Any) -> TestResult:
    """Paired t test of equal performance over k folds or repeats, two-sided.

    Parameters
    ----------
    first, second : array of shape (n_folds,)
        Results of two methods on the same folds, at least two.

    Examples
    --------
    >>> from kernelweave.model_selection import paired_t_test
    >>> round(paired_t_test([1.0, 2.0, 3.0], [1.5, 2.0, 4.0]).pvalue, 3)
    0.225
    """
    difference = _differences(first, second)
    if difference.size < 2:
        raise ValueError("the paired t test needs the results of at least two folds")
    error = difference.std(ddof=1) / np.sqrt(difference.size)
    return TestResult(*_ratio(difference.mean(), error, lambda t: 2.0 * stats.t.sf(abs(t), difference.size - 1)))


def corrected_t_test(first: Any, second: Any, *, ratio: float) -> TestResult:
    """Corrected resampled t test of equal performance over the folds of a cross-validation (Nadeau and Bengio 2003).

    `corrected_t_test` is deprecated since 0.3 and goes in 0.4; use `paired_loss_test`: the variance of a few folds may
    be next to nothing by luck, so that this test finds differences where there are none.

    Training parts of different folds overlap, so that their results are not independent and the plain t test finds
    differences too often. This one divides the mean difference by the root of ``(1 / k + n_test / n_train) s^2``, where
    s^2 is the variance of the k differences. It serves k-fold cross-validation, repeated or not, and random splits.

    Parameters
    ----------
    first, second : array of shape (n_folds,)
        Results of two methods on the same folds, at least two.
    ratio : float
        n_test / n_train: samples of a test part over those of a training part, 1 / 4 for five folds.

    Returns
    -------
    TestResult
        The statistic and its two-sided p-value under t with k - 1 degrees of freedom.

    References
    ----------
    C. Nadeau, Y. Bengio, Inference for the generalization error, Machine Learning 52, 2003.

    Examples
    --------
    >>> import warnings
    >>> from kernelweave.model_selection import corrected_t_test, paired_t_test
    >>> warnings.simplefilter("ignore", FutureWarning)
    >>> first, second = [0.80, 0.84, 0.79, 0.83, 0.81], [0.85, 0.86, 0.84, 0.85, 0.86]
    >>> round(corrected_t_test(first, second, ratio=1 / 4).pvalue, 3), round(paired_t_test(first, second).pvalue, 3)
    (0.026, 0.007)
    """
    warn("`corrected_t_test` is deprecated since 0.3 and goes in 0.4; use `paired_loss_test`", FutureWarning)
    return corrected_by_overlap(first, second, ratio)


def corrected_by_overlap(first: Any, second: Any, ratio: float) -> TestResult:
    """`corrected_t_test` without its warning."""
    difference = _differences(first, second)
    if difference.size < 2:
        raise ValueError("the corrected t test needs the results of at least two folds")
    check("the corrected t test", "ratio", ratio, Number(above=0))
    error = difference.std(ddof=1) * np.sqrt(1.0 / difference.size + ratio)
    return TestResult(*_ratio(difference.mean(), error, lambda t: 2.0 * stats.t.sf(abs(t), difference.size - 1)))


def wilcoxon_signed_rank(first: Any, second: Any) -> WilcoxonResult:
    """Wilcoxon's signed rank test of two methods over several data sets, thesis (Gönen 2010), A.2.

    Ranks of equal results are split evenly between the two methods, one such data set being ignored where their number
    is odd; equal differences share their mean rank. Equality is rejected at 0.05 where ``z < -1.96``.

    Parameters
    ----------
    first, second : array of shape (n_data_sets,)
        Average results of the two methods.

    Returns
    -------
    WilcoxonResult
        The p-value is that of the normal approximation, two-sided.

    Examples
    --------
    >>> from kernelweave.model_selection import wilcoxon_signed_rank
    >>> result = wilcoxon_signed_rank([78.2, 93.3, 86.4, 84.8], [79.1, 93.3, 86.5, 85.4])
    >>> result.rank_plus, result.rank_minus, result.n_ranked  # the tie on the second data set is ignored
    (6.0, 0.0, 3)
    """
    difference = _differences(first, second)
    # Results are printed decimals: what differs by less than rounding is equal.
    scale = max(1.0, np.abs(np.asarray(first, dtype=float)).max(initial=0.0))
    difference = np.round(difference / scale, 12) * scale
    ties = np.flatnonzero(difference == 0)
    if len(ties) % 2:
        difference = np.delete(difference, ties[0])
    n_ranked = difference.size
    if n_ranked == 0:
        return WilcoxonResult(0.0, 1.0, z=0.0, rank_plus=0.0, rank_minus=0.0, n_ranked=0)
    rank = stats.rankdata(np.round(np.abs(difference) / scale, 12))
    shared = 0.5 * rank[difference == 0].sum()
    plus, minus = float(rank[difference > 0].sum() + shared), float(rank[difference < 0].sum() + shared)
    smaller = min(plus, minus)
    deviation = np.sqrt(n_ranked * (n_ranked + 1) * (2 * n_ranked + 1) / 24.0)
    z = float((smaller - n_ranked * (n_ranked + 1) / 4.0) / deviation)
    return WilcoxonResult(
        smaller, float(2.0 * stats.norm.cdf(z)), z=z, rank_plus=plus, rank_minus=minus, n_ranked=n_ranked
    )


def win_tie_loss(
    first: Mapping[str, Any] | Any,
    second: Mapping[str, Any] | Any,
    *,
    higher_is_better: bool = True,
    level: float = 0.05,
    decimals: int | None = 2,
) -> WinTieLoss:
    """Wins, ties and losses of a second method against a first one over several data sets.

    Parameters
    ----------
    first, second : mapping from data set to results, or sequence
        For each data set the results of the folds, or one average.
    higher_is_better : bool
        True for accuracies; False for errors, support-vector percentages and costs.
    level : float
        Level of the tests.
    decimals : int or None
        Averages are compared directly as they would be printed, with this many decimals.

    Examples
    --------
    >>> from kernelweave.model_selection import win_tie_loss
    >>> win_tie_loss([78.2, 93.3, 86.4], [79.1, 93.3, 86.0]).direct
    (1, 1, 1)
    """
    names: Any = list(first) if isinstance(first, Mapping) else range(len(first))
    if len(second) != len(first) or (isinstance(first, Mapping) and set(first) != set(second)):
        raise ValueError("win_tie_loss needs the results of both methods on the same data sets")
    if len(first) == 0:
        raise ValueError("win_tie_loss needs the results of at least one data set")
    sign = 1.0 if higher_is_better else -1.0
    pairs = [(np.ravel(np.asarray(first[n], float)), np.ravel(np.asarray(second[n], float))) for n in names]
    means = sign * np.array([[a.mean(), b.mean()] for a, b in pairs])
    shown = means if decimals is None else np.round(means, decimals)
    direct = np.sign(shown[:, 1] - shown[:, 0])
    tested = None
    if all(a.size == b.size == 10 for a, b in pairs):
        sure = np.array([paired_f_test_5x2cv(a, b).significant(level) for a, b in pairs])
        tested = _count(np.sign(means[:, 1] - means[:, 0]) * sure)
    overall = wilcoxon_signed_rank(shown[:, 0], shown[:, 1])
    letter = ("W" if overall.rank_plus > overall.rank_minus else "L") if overall.significant(level) else "T"
    return WinTieLoss(tested, _count(direct), wilcoxon=letter)


def _count(signs: np.ndarray) -> tuple[int, int, int]:
    return int((signs > 0).sum()), int((signs == 0).sum()), int((signs < 0).sum())


def _differences(first: Any, second: Any) -> np.ndarray:
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if first.shape != second.shape:
        raise ValueError(
            f"two methods are compared on the same folds, but the shapes are {first.shape}, {second.shape}"
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("results to compare must be finite")
    return (second - first).ravel()


def _ratio(numerator: float, denominator: float, tail: Any) -> tuple[float, float]:
    """A test statistic and its p-value, also where nothing varies (0/0: no difference; x/0: certain difference)."""
    if denominator <= 0.0:
        return (0.0, 1.0) if numerator == 0.0 else (float(np.copysign(np.inf, numerator)), 0.0)
    statistic = float(numerator / denominator)
    return statistic, float(tail(statistic))


def paired_loss_test(
    first: Any, second: Any, *, n_train: float, groups: Any = None, strata: Any = None
) -> LossTestResult:
    """Test of equal performance of two methods, from what they lose on the same held-out samples.

    The mean difference of the losses is divided by its standard error, the root of ``(1 / n + 1 / n_train) Var(d)``,
    where the variance counts one discordant pair more each way, and compared with t of n - 1 degrees of freedom. Unlike
    a test of the scores of a few folds it does not find differences that are certain because they happen to be equal in
    all folds; unlike the tests of McNemar and of random signs it takes into account that other training samples would
    give other models.

    Parameters
    ----------
    first, second : array of shape (n_samples,)
        The losses of each sample, by models that were not fitted to it: 0 or 1 for a right or wrong label, squared
        errors of a regression. A sample that is tested in several repeats has the mean of its losses.
    n_train : float
        How many samples train a model, on average: ``n (K - 1) / K`` in K folds of n samples.
    groups : array of shape (n_samples,), optional
        Samples of one group are not independent: their losses are summed, and groups are what is counted.
    strata : array of shape (n_samples,), optional
        Classes whose samples have weights that make up for their numbers, as in balanced accuracy. What varies is then
        a loss within its class: how many samples a class has is no part of such a score.

    Returns
    -------
    LossTestResult
        The statistic, positive where the second method loses more, and its two-sided p-value; 0 and 1 where all losses
        are the same. Also the difference, its standard error, and intervals.

    References
    ----------
    C. Nadeau, Y. Bengio, Inference for the generalization error, Machine Learning 52, 2003.

    Examples
    --------
    Two labels in each of three folds of 20 that the second method has wrong and the first has right:

    >>> import numpy as np
    >>> from kernelweave.model_selection import paired_loss_test
    >>> first = np.zeros(60)
    >>> second = np.where(np.arange(60) % 20 < 2, 1.0, 0.0)
    >>> round(paired_loss_test(first, second, n_train=40).pvalue, 3)
    0.165
    """
    losses = [np.ravel(np.asarray(values, dtype=np.float64)) for values in (first, second)]
    if losses[0].shape != losses[1].shape:
        raise ValueError(
            f"two methods are compared on the same samples, but there are {losses[0].size} and {losses[1].size} losses"
        )
    if not np.isfinite(losses).all():
        raise ValueError("losses to compare must be finite")
    check("paired_loss_test", "n_train", n_train, Number(above=0))
    difference: Any = losses[1] - losses[0]
    difference[np.abs(difference) <= _EQUAL * np.abs(losses).max()] = 0.0
    n_samples = difference.size
    given: dict[str, Any] = {}
    for name, values in (("groups", groups), ("strata", strata)):
        given[name] = None if values is None else np.unique(np.ravel(np.asarray(values)), return_inverse=True)[1]
        if values is not None and len(given[name]) != n_samples:
            raise ValueError(f"{name} has {len(given[name])} entries, but there are losses of {n_samples} samples")
    varying = difference
    if given["strata"] is not None:
        counts = np.bincount(given["strata"])
        varying = difference - (np.bincount(given["strata"], difference) / counts)[given["strata"]] + difference.mean()
    if given["groups"] is not None:
        varying, difference = (np.bincount(given["groups"], values) for values in (varying, difference))
    if difference.size < 2:
        raise ValueError("a test of held-out losses needs at least two samples, or two groups of samples")
    n_units, factor = difference.size, 1.0 + n_samples / n_train
    error = loss_error(difference, factor, varying)
    statistic, pvalue = _t(np.asarray(difference.mean()), error, n_units - 1)
    per_sample = n_units / n_samples  # groups have sums of losses
    return LossTestResult(
        float(statistic),
        float(pvalue),
        difference=float(difference.mean()) * per_sample,
        error=float(error) * per_sample,
        freedom=n_units - 1,
    )


def loss_statistics(difference: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Statistics and p-values of tests, by differences of losses (last axis); `factor` is ``1 + n / n_train``."""
    return _t(difference.mean(axis=-1), loss_error(difference, factor), difference.shape[-1] - 1)


def loss_error(difference: np.ndarray, factor: float, varying: np.ndarray | None = None) -> np.ndarray:
    """Standard error of the mean of differences (last axis); `varying`, of the same mean, is what varies."""
    varying = difference if varying is None else varying
    n_units = difference.shape[-1]
    discordant = np.maximum(np.count_nonzero(difference, axis=-1), 1)
    unit = np.square(difference).sum(axis=-1) / discordant
    # The variance of n + 2 numbers, d and +u and -u, whose sum is that of d.
    variance = np.square(varying).sum(axis=-1) + 2.0 * unit - np.square(varying.sum(axis=-1)) / (n_units + 2)
    return np.sqrt(factor * np.maximum(variance, 0.0) / (n_units + 1) / n_units)


def paired_score_test(
    difference: float, resampled: Any, *, n_samples: int, n_units: int, n_train: float
) -> LossTestResult:
    """The same test of two scores that are no means over samples, by a bootstrap.

    `resampled` are differences in resamples, NaN where not defined; `n_units` of `n_samples` tested are independent.
    """
    resampled = np.asarray(resampled, dtype=np.float64)
    resampled = resampled[np.isfinite(resampled)]
    if len(resampled) < 2 or n_units < 2:
        return LossTestResult(np.nan, np.nan)
    factor = 1.0 + n_samples / n_train
    # One discordant unit more each way, of the size of the difference: at most as much as it is on average.
    error = np.sqrt(factor * (resampled.var(ddof=1) + 2.0 * (difference / n_units) ** 2))
    statistic, pvalue = _t(np.array(difference), error, n_units - 1)
    return LossTestResult(
        float(statistic), float(pvalue), difference=difference, error=float(error), freedom=n_units - 1
    )


def paired_ratio_test(first: np.ndarray, second: np.ndarray, *, n_train: float, groups: Any = None) -> LossTestResult:
    """The test of `paired_loss_test` for the ratio of the mean losses, on a logarithmic scale.

    With A and B the means of the losses a_i and b_i, log(B / A) has to first order the variance of the mean of
    ``b_i / B - a_i / A``. For methods that are nearly equal this is the test of their difference. Where a few samples
    make up most of B, those of an extreme target, their difference varies as much as it is large, but not the ratio.
    `difference` is log(B / A).
    """
    means = [values.mean() for values in (first, second)]
    if min(means) <= 0.0:
        return paired_loss_test(first, second, n_train=n_train, groups=groups)
    ratio = float(np.log(means[1] / means[0]))
    # As differences of losses whose mean is the logarithm.
    return paired_loss_test(first / means[0], second / means[1] + ratio, n_train=n_train, groups=groups)


def least_error(n_samples: int, n_train: float, unit: float = 1.0) -> float:
    """The standard error where two methods differ by `unit` on one sample each way: none is smaller."""
    return float(unit * np.sqrt((1.0 + n_samples / n_train) * 2.0 / (n_samples * (n_samples + 1.0))))


def holm(pvalues: Any) -> np.ndarray:
    """P-values corrected for how many they are, so that any of those below 0.05 is wrong 5 times in 100 at most.

    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1.0)
    return corrected


def mean_by_sample(rows: Sequence[np.ndarray], values: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    samples, place = np.unique(np.concatenate(rows), return_inverse=True)
    total = np.bincount(place, np.concatenate([np.asarray(part, dtype=np.float64) for part in values]))
    return samples, total / np.bincount(place)


def _t(mean: np.ndarray, error: np.ndarray, freedom: int) -> tuple[np.ndarray, np.ndarray]:
    statistic = np.divide(mean, error, out=np.zeros_like(mean), where=mean != 0.0)
    return statistic, 2.0 * stats.t.sf(np.abs(statistic), freedom)
