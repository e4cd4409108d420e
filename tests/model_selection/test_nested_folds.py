"""Folds that keep classes even and groups together."""

import numpy as np
import pytest
from scipy.stats import t

from kernelweave.model_selection import NestedFolds

CLASSES = np.random.default_rng(0).permutation(np.repeat(["a", "b", "c", "d"], [57, 31, 10, 3]))
PEOPLE = np.random.default_rng(1).integers(0, 25, size=len(CLASSES))


@pytest.mark.parametrize("groups", [None, PEOPLE], ids=["samples", "groups"])
@pytest.mark.parametrize("stratify", [True, False])
def test_each_sample_is_tested_once_in_each_repeat(groups, stratify):
    y = CLASSES if stratify else np.arange(len(CLASSES)) / 7.0
    folds = NestedFolds(5, 3).split(y, stratify, groups=groups)
    assert len(folds) == 15 and [fold.run for fold in folds] == [0] * 5 + [1] * 5 + [2] * 5
    for run in range(3):
        tested = np.concatenate([fold.test for fold in folds if fold.run == run])
        assert sorted(tested) == list(range(len(y)))
    for fold in folds:
        assert sorted(np.concatenate([fold.train, fold.test])) == list(range(len(y))) and len(fold.validation) == 0
        if groups is not None:
            assert not set(groups[fold.train]) & set(groups[fold.test])
    again = NestedFolds(5, 3).split(y, stratify, groups=groups)
    assert all(np.array_equal(one.test, other.test) for one, other in zip(folds, again, strict=True))
    assert not np.array_equal(folds[0].test, folds[5].test)
    assert not np.array_equal(folds[0].test, NestedFolds(5, random_state=1).split(y, stratify, groups=groups)[0].test)


def test_folds_and_classes_differ_by_at_most_one_sample():
    folds = NestedFolds(5).split(CLASSES, True)
    for counted in (lambda part: len(part), *(lambda part, c=c: (CLASSES[part] == c).sum() for c in "abcd")):
        counts = [counted(fold.test) for fold in folds]
        assert max(counts) - min(counts) <= 1
    assert sum((CLASSES[fold.test] == "d").any() for fold in folds) == 3  # fewer members than folds


def test_groups_keep_sizes_and_shares_even():
    sizes = np.array([len(fold.test) for fold in NestedFolds(4).split(CLASSES, False, groups=PEOPLE)])
    assert sizes.max() - sizes.min() <= np.bincount(PEOPLE).max()
    y = np.repeat(np.arange(2), 60)
    for fold in NestedFolds(3).split(y, True, groups=np.arange(120) // 10):  # each group has one class
        assert np.bincount(y[fold.test]).tolist() == [20, 20]


def test_as_many_groups_as_folds():
    folds = NestedFolds(3).split(np.zeros(12), False, groups=np.repeat([0, 1, 2], [10, 1, 1]))
    assert sorted(len(fold.test) for fold in folds) == [1, 1, 10]


def test_limited_training_keeps_every_class():
    folds = NestedFolds(3, max_train=30).split(CLASSES, True)
    for fold in folds:
        assert len(fold.train) == 30 and len(fold.test) >= 33 and not set(fold.train) & set(fold.test)
        classes, counts = np.unique(CLASSES[fold.train], return_counts=True)
        assert list(classes) == list("abcd") and counts[0] > counts[1] > counts[3] and counts[3] == 2
    whole = NestedFolds(3, max_train=1000).split(CLASSES, True)
    assert all(len(fold.train) + len(fold.test) == len(CLASSES) for fold in whole)


def test_methods_are_compared_by_samples_and_no_more_by_folds():
    first, second = np.array([0.8, 0.7, 0.9, 0.85, 0.75]), np.array([0.82, 0.75, 0.9, 0.9, 0.74])
    assert NestedFolds(5).compares_samples and NestedFolds(5).test_name == "paired test of held-out losses"
    with pytest.warns(FutureWarning, match="use `paired_loss_test`"):
        result = NestedFolds(5).compare(first, second)
    difference = second - first
    statistic = difference.mean() / np.sqrt((1 / 5 + 1 / 4) * difference.var(ddof=1))
    assert result.statistic == pytest.approx(statistic)
    assert result.pvalue == pytest.approx(2 * t.sf(statistic, 4))


def test_wrong_numbers_are_named():
    with pytest.raises(ValueError, match="n_folds of NestedFolds must be"):
        NestedFolds(1)
    with pytest.raises(ValueError, match="5 folds need at least as many samples, but there are 4"):
        NestedFolds(5).split(np.zeros(4), False)
    with pytest.raises(ValueError, match="5 folds need at least as many groups, but there are 3"):
        NestedFolds(5).split(np.zeros(9), False, groups=np.arange(9) // 3)
