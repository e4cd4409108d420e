"""Folds keep groups together and share classes out; the splits of the inner validation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.recipes.search import balanced_folds, inner_splits


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 5), st.integers(2, 5), st.integers(0, 100))
def test_classes_are_shared_out(n, n_classes, n_folds, seed):
    labels = np.random.RandomState(seed).randint(n_classes, size=n)
    folds = balanced_folds(np.arange(n), labels, n_folds, np.random.RandomState(seed))
    for label in range(n_classes):
        sizes = np.bincount(folds[labels == label], minlength=n_folds)
        assert np.ptp(sizes) <= 1


@settings(deadline=None)
@given(st.integers(2, 60), st.integers(2, 12), st.integers(0, 100))
def test_folds_keep_groups_together(n, n_groups, seed):
    random = np.random.RandomState(seed)
    groups = random.randint(n_groups, size=n)
    folds = balanced_folds(groups, random.randint(3, size=n), 3, random)
    assert all(len(set(folds[groups == group])) == 1 for group in set(groups))
    assert len(set(folds)) == min(3, len(set(groups)))


def test_classes_of_one_sample_are_spread():
    folds = balanced_folds(np.arange(6), np.arange(6), 3, np.random.RandomState(0))
    assert np.bincount(folds).tolist() == [2, 2, 2]


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
