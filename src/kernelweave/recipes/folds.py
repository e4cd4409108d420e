"""The splits of the inner validation: balanced folds in which rare classes are always trained on."""

from __future__ import annotations

import numpy as np

from .rivals.folds import balanced_folds


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
