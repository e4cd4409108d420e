"""Weighted sums of many symmetric matrices, and their products with few vectors, each in one pass.

Both are bound by memory, not by arithmetic. The sum reads the lower triangles only, several matrices at a time, and
mirrors each band of rows while it is still in the cache; the products read only the rows of nonzero coefficients.

    K = sum_m w_m K_m            images[m] = K_m C  (at the rows where C is not zero)

======  ==========================
symbol  name
======  ==========================
K_m     matrices[m]
w       weights
C       coef, of shape (n, r)
======  ==========================
"""

from __future__ import annotations

import numpy as np

from ._compiled import compiled

BAND = 32  # rows that are summed before they are mirrored


def weighted_sum(matrices: np.ndarray, weights: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The sum of symmetric matrices with given weights; matrices of weight zero are not read.

    Parameters
    ----------
    matrices : ndarray of shape (P, n, n)
        Symmetric; float64 or float32.
    weights : ndarray of shape (P,)
    out : ndarray of shape (n, n), optional
        Where to put the sum; it has the type of the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_sum(np.array([np.eye(2), np.ones((2, 2))]), np.array([1.0, 0.5]))
    array([[1.5, 0.5],
           [0.5, 1.5]])
    """
    if out is None:
        out = np.empty(matrices.shape[1:], matrices.dtype)
    _accumulate(_read_only(matrices), np.flatnonzero(weights), weights.astype(matrices.dtype), out, True)
    return out


def add_weighted(matrices: np.ndarray, weights: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Add the weighted sum of symmetric matrices to the symmetric matrix `out`, in place; see `weighted_sum`.

    Examples
    --------
    >>> import numpy as np
    >>> add_weighted(np.ones((1, 2, 2)), np.array([-1.0]), np.eye(2))
    array([[ 0., -1.],
           [-1.,  0.]])
    """
    _accumulate(_read_only(matrices), np.flatnonzero(weights), weights.astype(matrices.dtype), out, False)
    return out


def images(matrices: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """K_m C at the rows where C is not zero, for each symmetric matrix K_m, in double precision.

    Parameters
    ----------
    matrices : ndarray of shape (P, n, n)
    coef : ndarray of shape (n, r)
        Rows of zeros cost nothing.

    Returns
    -------
    rows : ndarray of int, shape (s,)
        The rows where C is not zero.
    images : ndarray of shape (P, s, r)

    Examples
    --------
    >>> import numpy as np
    >>> rows, parts = images(np.array([np.eye(3), np.ones((3, 3))]), np.array([[1.0], [0.0], [-2.0]]))
    >>> rows, parts[:, :, 0]
    (array([0, 2]), array([[ 1., -2.],
           [-1., -1.]]))
    """
    rows = np.flatnonzero(coef.any(axis=1))
    return rows, _images(_read_only(matrices), rows, np.ascontiguousarray(coef[rows].T, dtype=np.float64))


def _read_only(matrices: np.ndarray) -> np.ndarray:
    """One compiled specialisation serves writable and read-only arrays."""
    matrices = matrices.view()
    matrices.flags.writeable = False
    return matrices


@compiled
def _accumulate(matrices, chosen, weights, out, afresh):
    n, k = out.shape[0], len(chosen)
    for top in range(0, n, BAND):
        bottom = min(top + BAND, n)
        for i in range(top, bottom):
            row = out[i, : i + 1]
            if afresh:
                row[:] = 0.0
            a = 0
            while a + 2 < k:
                first, second, third = chosen[a], chosen[a + 1], chosen[a + 2]
                u, v, w = weights[first], weights[second], weights[third]
                x, y, z = matrices[first, i, : i + 1], matrices[second, i, : i + 1], matrices[third, i, : i + 1]
                for j in range(i + 1):
                    row[j] += u * x[j] + v * y[j] + w * z[j]
                a += 3
            while a < k:
                u = weights[chosen[a]]
                x = matrices[chosen[a], i, : i + 1]
                for j in range(i + 1):
                    row[j] += u * x[j]
                a += 1
        for j in range(bottom):
            for i in range(max(top, j + 1), bottom):
                out[j, i] = out[i, j]


@compiled(fastmath={"reassoc", "contract"})
def _images(matrices, rows, coef):
    """Each row is gathered once for all columns of C."""
    n_matrices, n_rows, n_outputs = matrices.shape[0], len(rows), coef.shape[0]
    result = np.empty((n_matrices, n_rows, n_outputs))
    gathered = np.empty(n_rows)
    for m in range(n_matrices):
        for i in range(n_rows):
            row = matrices[m, rows[i]]
            for j in range(n_rows):
                gathered[j] = row[rows[j]]
            for r in range(n_outputs):
                column = coef[r]
                total = 0.0
                for j in range(n_rows):
                    total += gathered[j] * column[j]
                result[m, i, r] = total
    return result
