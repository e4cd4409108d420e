"""Folds keep groups together and share classes out."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.recipes.rivals.folds import balanced_folds


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
def test_groups_stay_together(n, n_groups, seed):
    random = np.random.RandomState(seed)
    groups = random.randint(n_groups, size=n)
    folds = balanced_folds(groups, random.randint(3, size=n), 3, random)
    assert all(len(set(folds[groups == group])) == 1 for group in set(groups))
    assert len(set(folds)) == min(3, len(set(groups)))


def test_classes_of_one_sample_are_spread():
    folds = balanced_folds(np.arange(6), np.arange(6), 3, np.random.RandomState(0))
    assert np.bincount(folds).tolist() == [2, 2, 2]
