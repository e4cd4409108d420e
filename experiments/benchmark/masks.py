"""Which samples of the benchmark lack which views: at random, or by block.

A mask is a boolean matrix, samples by views, True where the sample has the view. It depends on the numbers of samples
and views and on a seed only, so that everybody masks a data set alike. Every sample has at least one view, and training
and test samples lack views alike.
"""

from __future__ import annotations

import numpy as np

SHARE = 0.3  # of views that a sample lacks, in the mean of the masks at random and about so by block
COHORTS = 4


def mask_at_random(n_samples: int, n_views: int, *, share: float = SHARE, seed: int = 0) -> np.ndarray:
    """Each view of a sample is missing with probability `share`, independently of all others, but never all views.

    A sample that would lack all views keeps one of them, drawn at random.

    Parameters
    ----------
    n_samples, n_views : int
    share : float
        From 0 to 1.
    seed : int

    Returns
    -------
    ndarray of bool, shape (n_samples, n_views)
        True where the sample has the view.

    Examples
    --------
    >>> from kernelweave.experiments.benchmark.masks import mask_at_random
    >>> present = mask_at_random(1000, 3)
    >>> bool(present.any(axis=1).all()), float(present.mean().round(1))
    (True, 0.7)
    """
    rng = np.random.RandomState(seed)
    present = rng.uniform(size=(n_samples, n_views)) >= share
    kept = rng.randint(n_views, size=n_samples)
    nothing = ~present.any(axis=1)
    present[nothing, kept[nothing]] = True
    return present


def mask_by_block(
    n_samples: int, n_views: int, *, share: float = SHARE, cohorts: int = COHORTS, seed: int = 0
) -> np.ndarray:
    """Samples belong to cohorts that were measured on different platforms; a cohort lacks the same views throughout.

    Cohorts are of equal size, up to one sample, and drawn at random. The first cohort has all views. Each other one
    lacks ``share`` of the views, rounded up, but not all; the views go round, so that cohorts lack different ones.

    Parameters
    ----------
    n_samples, n_views : int
        At least two views.
    share : float
        From 0 to 1.
    cohorts : int
    seed : int

    Returns
    -------
    ndarray of bool, shape (n_samples, n_views)
        True where the sample has the view.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.experiments.benchmark.masks import mask_by_block
    >>> present = mask_by_block(400, 3)
    >>> np.unique(present, axis=0).astype(int)
    array([[0, 1, 1],
           [1, 0, 1],
           [1, 1, 0],
           [1, 1, 1]])
    """
    rng = np.random.RandomState(seed)
    cohort = rng.permutation(np.arange(n_samples) % cohorts)
    order = rng.permutation(n_views)
    n_missing = min(int(np.ceil(share * n_views)), n_views - 1)
    present = np.ones((n_samples, n_views), dtype=bool)
    for number in range(1, cohorts):
        missing = order[((number - 1) * n_missing + np.arange(n_missing)) % n_views]
        present[np.ix_(cohort == number, missing)] = False
    return present
