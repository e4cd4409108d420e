"""The splits of the inner validation."""

import numpy as np
import pytest

from kernelweave.recipes.folds import inner_splits


@pytest.mark.parametrize("counts", [[10, 10], [9, 2, 1], [20, 1, 1, 1], [5, 4, 3, 2]])
@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_every_class_is_trained_on_and_others_tested_once(counts, n_folds):
    labels = np.repeat(np.arange(len(counts)), counts)
    splits = inner_splits(labels, None, n_folds, np.random.RandomState(0))
    tested = np.concatenate([test for _, test in splits])
    single = np.flatnonzero(np.bincount(labels)[labels] == 1)
    assert sorted(tested) == sorted(set(range(len(labels))) - set(single))
    for train, test in splits:
        assert not set(train) & set(test)
        assert set(labels[train]) == set(labels)


def test_groups_stay_together():
    labels, groups = np.arange(30) % 2, np.repeat(np.arange(10), 3)
    for train, test in inner_splits(labels, groups, 3, np.random.RandomState(1)):
        assert not set(groups[train]) & set(groups[test])


def test_one_hold_out_has_its_share():
    ((train, test),) = inner_splits(np.arange(80) % 4, None, 4, np.random.RandomState(0), only_first=True)
    assert len(test) == 20 and len(train) == 60
    assert np.bincount(np.arange(80)[test] % 4).tolist() == [5, 5, 5, 5]


def test_one_group_cannot_be_split():
    assert inner_splits(np.arange(6) % 2, np.zeros(6, dtype=int), 3, np.random.RandomState(0)) == []
