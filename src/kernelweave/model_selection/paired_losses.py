"""`paired_loss_test`: whether two methods predict equally well, from what they lose on held-out samples.

The null hypothesis is an equal expected score over training sets. With d_i the difference of the two losses of a tested
sample, averaged over the repeats of a cross-validation (and summed over the samples of a group, which count as one):

    SE^2 = (1 / n + 1 / n_train) Var(d),    t = mean(d) / SE,    n - 1 degrees of freedom.

1 / n is for the samples that were tested, 1 / n_train for the training sets, which the folds share (Nadeau and Bengio
2003); of K folds it is ``(1 + K / (K - 1)) Var(d) / n``. Var(d) is that of the differences and of one discordant pair
more each way, +u and -u, where u^2 is the mean square of the differences that are not 0: 1 for labels that are right or
wrong. Without it a few differences with the same sign would have hardly any variance.

A score that is no mean over samples, such as the area under the ROC curve, has a bootstrap standard error over samples
(or groups) in the place of ``Var(d) / n``: `paired_score_test`.

``python -m benchmarks.paired_test`` measures how often the test rejects where nothing differs, and where there is a
difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from ..validation import Number, check
from .statistics import TestResult

TEST_NAME = "paired test of held-out losses"
# What differs by less than this share of the largest loss is equal: it is rounding, of which losses that were computed
# from sums of some thousand products carry about 1e-13.
_EQUAL = 1e-10


def paired_loss_test(first: Any, second: Any, *, n_train: float, groups: Any = None) -> TestResult:
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

    Returns
    -------
    TestResult
        The statistic, positive where the second method loses more, and its two-sided p-value; 0 and 1 where all losses
        are the same.

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
    n_samples = difference.size
    if groups is not None:
        groups = np.ravel(np.asarray(groups))
        if len(groups) != n_samples:
            raise ValueError(f"groups has {len(groups)} entries, but there are losses of {n_samples} samples")
        difference = np.bincount(np.unique(groups, return_inverse=True)[1], difference)
    if difference.size < 2:
        raise ValueError("a test of held-out losses needs at least two samples, or two groups of samples")
    difference[np.abs(difference) <= _EQUAL * np.abs(losses).max()] = 0.0
    statistic, pvalue = loss_statistics(difference, 1.0 + n_samples / n_train)
    return TestResult(float(statistic), float(pvalue))


def loss_statistics(difference: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Statistics and p-values of many tests at once.

    Parameters
    ----------
    difference : ndarray of shape (..., n_units)
        Of the losses of each sample, or sums of them over groups.
    factor : float
        ``1 + n / n_train``.
    """
    n_units = difference.shape[-1]
    squares = np.square(difference).sum(axis=-1)
    discordant = np.maximum(np.count_nonzero(difference, axis=-1), 1)
    total = difference.sum(axis=-1)
    # The variance of n + 2 numbers, d and +u and -u, whose sum is that of d.
    variance = (squares + 2.0 * squares / discordant - np.square(total) / (n_units + 2)) / (n_units + 1)
    return _t(total / n_units, np.sqrt(factor * variance / n_units), n_units - 1)


def paired_score_test(difference: float, resampled: Any, *, n_samples: int, n_units: int, n_train: float) -> TestResult:
    """The same test of two scores that are no means over samples, by a bootstrap.

    Parameters
    ----------
    difference : float
        Of the two scores.
    resampled : array of shape (n_resamples,)
        The same difference where samples, or groups of them, were drawn with replacement; NaN where it is not defined.
    n_samples, n_units : int
        How many samples were tested, and how many independent ones these are: the samples, or groups of them.
    n_train : float
    """
    resampled = np.asarray(resampled, dtype=np.float64)
    resampled = resampled[np.isfinite(resampled)]
    if len(resampled) < 2 or n_units < 2:
        return TestResult(np.nan, np.nan)
    factor = 1.0 + n_samples / n_train
    # One discordant unit more each way, of the size of the difference: at most as much as it is on average.
    variance = resampled.var(ddof=1) + 2.0 * (difference / n_units) ** 2
    statistic, pvalue = _t(np.array(difference), np.sqrt(factor * variance), n_units - 1)
    return TestResult(float(statistic), float(pvalue))


def mean_by_sample(rows: Sequence[np.ndarray], values: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The samples that some folds test, ascending, and the mean of what each fold has for them.

    Parameters
    ----------
    rows : sequence of ndarray of int
        Positions of the tested samples of each fold.
    values : sequence of array
        Their losses or scores.
    """
    samples, place = np.unique(np.concatenate(rows), return_inverse=True)
    total = np.bincount(place, np.concatenate([np.asarray(part, dtype=np.float64) for part in values]))
    return samples, total / np.bincount(place)


def _t(mean: np.ndarray, error: np.ndarray, freedom: int) -> tuple[np.ndarray, np.ndarray]:
    """Statistic and two-sided p-value; 0 and 1 where there is no difference."""
    statistic = np.divide(mean, error, out=np.zeros_like(mean), where=mean != 0.0)
    return statistic, 2.0 * stats.t.sf(np.abs(statistic), freedom)
