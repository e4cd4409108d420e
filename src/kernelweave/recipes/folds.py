"""Folds of about equal size and shares of classes, groups kept together, and the splits of the inner validation."""

from __future__ import annotations

import numpy as np


def balanced_folds(
    groups: np.ndarray, labels: np.ndarray, n_folds: int, random_state: np.random.RandomState
) -> np.ndarray:
    """The fold of each sample.

    Groups are dealt out one by one, large ones first and in random order among those of one size, each to the fold in
    which ``sum_c (n_cf / n_c)^2`` grows least (n_cf samples of class c in fold f, n_c in all). Unlike scikit-learn's
    splitters it takes classes of a single sample, and fewer groups than folds: some folds are empty then.

    Parameters
    ----------
    groups : ndarray of shape (n_samples,)
    labels : ndarray of int, shape (n_samples,)
        Classes from 0; all 0 for a regression.
    n_folds : int
    random_state : RandomState

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.recipes.folds import balanced_folds
    >>> labels = np.array([0, 0, 0, 0, 1, 1])
    >>> folds = balanced_folds(np.arange(6), labels, 2, np.random.RandomState(0))
    >>> [np.bincount(labels[folds == fold]).tolist() for fold in range(2)]
    [[2, 1], [2, 1]]
    """
    _, group_of = np.unique(groups, return_inverse=True)
    group_of = group_of.reshape(-1)
    counts = np.zeros((group_of.max() + 1, labels.max() + 1))
    np.add.at(counts, (group_of, labels), 1.0)
    counts /= np.maximum(counts.sum(axis=0), 1.0)
    order = random_state.permutation(len(counts))
    order = order[np.argsort(-np.bincount(group_of)[order], kind="stable")]
    filled = np.zeros((n_folds, counts.shape[1]))
    fold_of = np.empty(len(counts), dtype=int)
    for group in order:
        growth = 2.0 * filled @ counts[group]
        # Classes of one sample each would all go to the first fold: among equals the emptiest one takes it.
        best = np.flatnonzero(growth <= growth.min() + 1e-12)
        fold = best[filled[best].sum(axis=1).argmin()]
        filled[fold] += counts[group]
        fold_of[group] = fold
    return fold_of[group_of]


def inner_splits(
    labels: np.ndarray,
    groups: np.ndarray | None,
    n_folds: int,
    random_state: np.random.RandomState,
    *,
    only_first: bool = False,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and validation samples of each fold, or of the first only; folds that would be empty are left out.

    A class of one sample is in the training part of every fold, and a class of two or more is in each training part
    too, unless groups keep it together.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,)
        Classes from 0; all 0 for a regression.
    groups : ndarray of shape (n_samples,) or None
        Samples of one group are in one fold.
    n_folds : int
    random_state : RandomState
    only_first : bool
        Whether one split is enough.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.recipes.folds import inner_splits
    >>> labels = np.array([0, 0, 0, 0, 1, 1, 2])
    >>> [labels[test].tolist() for _, test in inner_splits(labels, None, 2, np.random.RandomState(0))]
    [[0, 0, 1], [0, 0, 1]]
    """
    own = np.arange(len(labels)) if groups is None else groups
    folds = balanced_folds(own, labels, n_folds, random_state)
    tested = np.bincount(labels)[labels] > 1
    splits = []
    for fold in range(n_folds):
        test = np.flatnonzero((folds == fold) & tested)
        # A sample that is its class' only one trains in every fold, unless others of its group are tested.
        kept = ~tested & ~np.isin(own, own[test])
        train = np.flatnonzero((folds != fold) | kept)
        if len(test) and len(train) > 1:
            splits.append((train, test))
    return splits[:1] if only_first else splits
