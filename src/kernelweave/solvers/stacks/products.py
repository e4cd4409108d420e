"""Compiled inner products of large symmetric matrices that are centred on the way, without a centred copy."""

from __future__ import annotations

import numpy as np

from ..compiled import compiled

FLAGS = {"reassoc", "contract"}  # sums in any order, which is what makes them fast


@compiled(fastmath=FLAGS)
def centred_square(K: np.ndarray, means: np.ndarray, mean: float, root: np.ndarray) -> float:
    """Sum over i, j of (root_i root_j (K_ij - means_i - means_j + mean))^2 of a symmetric matrix.

    Reads the lower triangle once; sums are in double precision.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    means : ndarray of shape (n,)
        Row means, or zeros.
    mean : float
        Their mean.
    root : ndarray of shape (n,)
        Roots of the samples' weights; 0 leaves a sample out.

    Examples
    --------
    >>> import numpy as np
    >>> float(centred_square(np.array([[1.0, 0.0], [0.0, 1.0]]), np.full(2, 0.5), 0.5, np.ones(2)))
    1.0
    """
    total = 0.0
    for i in range(len(means)):
        shift = mean - means[i]
        below = 0.0
        for j in range(i):
            value = (K[i, j] + shift - means[j]) * root[j]
            below += value * value
        value = (K[i, i] + shift - means[i]) * root[i]
        total += root[i] * root[i] * (2.0 * below + value * value)
    return total
