"""`local_affinity`: affinities of samples, each measured in the scale of its own neighbourhood.

================  ==============================
Sugiyama (2007)   here
================  ==============================
A_ij              what `local_affinity` returns
sigma_i           `scale`
================  ==============================
"""

from __future__ import annotations

import numpy as np


def local_affinity(squared: np.ndarray, k: int, weight: np.ndarray | None = None) -> np.ndarray:
    """The affinities ``a_ij = exp(-d_ij^2 / (s_i s_j))``, s_i the distance of sample i to its k-th nearest other.

    Reference: L. Zelnik-Manor and P. Perona, Self-tuning spectral clustering, 2004. Where a scale is 0, as it is for a
    sample with k duplicates, affinities are those of the limit: 1 to duplicates and 0 to all others.

    Parameters
    ----------
    squared : ndarray of shape (n_samples, n_samples)
        Squared distances, with zeros on the diagonal.
    k : int
        At most all other samples count.
    weight : ndarray of shape (n_samples,), optional
        How many times each sample is there. Copies are neighbours of each other.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)

    Notes
    -----
    Memory: beside the distances and the affinities one n x n array at a time, two with weights.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.reduction.graphs.local_scaling import local_affinity
    >>> x = np.array([[0.0], [1.0], [3.0]])
    >>> local_affinity((x - x.T) ** 2, 1).round(2)
    array([[1.  , 0.37, 0.01],
           [0.37, 1.  , 0.14],
           [0.01, 0.14, 1.  ]])
    """
    scale = np.sqrt(_neighbor_distance(squared, k, weight))
    affinity = np.maximum(scale[:, None] * scale[None, :], np.finfo(float).tiny)
    with np.errstate(over="ignore"):  # any distance is infinite beside a scale of 0
        np.divide(squared, affinity, out=affinity)
    np.negative(affinity, out=affinity)
    return np.exp(affinity, out=affinity)


def _neighbor_distance(squared: np.ndarray, k: int, weight: np.ndarray | None) -> np.ndarray:
    """Squared distance of each sample to its k-th nearest other; the sample itself is the first of its row."""
    if weight is None:
        place = min(k, len(squared) - 1)
        return np.partition(squared, place, axis=1)[:, place]
    order = squared.argsort(axis=1)
    reached = weight[order].cumsum(axis=1)
    place = (reached >= np.minimum(k + 1, reached[:, -1:])).argmax(axis=1)[:, None]
    return np.take_along_axis(squared, np.take_along_axis(order, place, axis=1), axis=1)[:, 0]
