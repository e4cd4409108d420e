"""Sums of symmetric matrices whose weights differ from sample to sample, and their gradient, each in one pass.

    K = sum_m diag(g_m) K_m diag(g_m)                               thesis (3.9)
    dJ/dg_im = -sum_r c_ir (K_m (g_m * c_r))_i                      of J = l(C) - 1/2 sum_r c_r' K c_r

Like `sums`, both are bound by memory: the sum reads the lower triangles of three matrices at a time and mirrors each
band of rows while it is still in the cache; a row of a matrix whose gate is closed (0) there is not read at all. The
gradient reads only the rows of nonzero coefficients.

======  ====================================
symbol  name
======  ====================================
K_m     matrices[m]
g_m     gates[:, m]
C       coef, of shape (n_rows, n_outputs)
======  ====================================
"""

from __future__ import annotations

import numpy as np

from ..compiled import compiled
from .sums import BAND, _read_only


def gated_sum(matrices: np.ndarray, gates: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The sum over m of diag(g_m) K_m diag(g_m) for symmetric matrices K_m.

    Parameters
    ----------
    matrices : ndarray of shape (P, n, n)
        Symmetric; float64 or float32.
    gates : ndarray of shape (n, P)
    out : ndarray of shape (n, n), optional
        Where to put the sum; it has the type of the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> gated_sum(np.ones((2, 2, 2)), np.array([[1.0, 0.0], [0.5, 2.0]]))
    array([[1.  , 0.5 ],
           [0.5 , 4.25]])
    """
    if out is None:
        out = np.empty(matrices.shape[1:], matrices.dtype)
    _accumulate(_read_only(matrices), np.ascontiguousarray(gates.T, dtype=matrices.dtype), out)
    return out


def gated_pullback(matrices: np.ndarray, gates: np.ndarray, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """The gradient of -1/2 sum_r c_r' K c_r by the gates, K being the `gated_sum`; in double precision.

    Parameters
    ----------
    matrices : ndarray of shape (P, n, n)
    gates : ndarray of shape (n, P)
    rows : ndarray of int, shape (n_rows,)
        The samples with coefficients.
    coef : ndarray of shape (n_rows, n_outputs)

    Returns
    -------
    ndarray of shape (n, P)
        Rows of samples without coefficients are zero.

    Examples
    --------
    >>> import numpy as np
    >>> gated_pullback(np.ones((1, 2, 2)), np.array([[1.0], [0.5]]), np.array([1]), np.array([[2.0]]))
    array([[ 0.],
           [-2.]])
    """
    slopes = np.zeros(gates.shape)
    slopes[rows] = _slopes(_read_only(matrices), rows, gates[rows].T.copy(), np.ascontiguousarray(coef.T)).T
    return slopes


class GatedKernel:
    """The `gated_sum` in parts, for `solve_in_working_set`.

    Parameters
    ----------
    matrices : ndarray of shape (P, n, n)
    gates : ndarray of shape (n, P)

    Examples
    --------
    >>> import numpy as np
    >>> kernel = GatedKernel(np.ones((2, 2, 2)), np.array([[1.0, 0.0], [0.5, 2.0]]))
    >>> kernel.block(np.array([1])), kernel.product(np.array([1]), np.array([2.0]))
    (array([[4.25]]), array([1. , 8.5]))
    """

    def __init__(self, matrices: np.ndarray, gates: np.ndarray):
        self.matrices, self.gates = _read_only(matrices), np.ascontiguousarray(gates.T, dtype=np.float64)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """The sum at these rows and columns."""
        return _block(self.matrices, rows, self.gates[:, rows].copy())

    def product(self, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """The sum times a vector that is zero but for these entries."""
        return _product(self.matrices, rows, self.gates[:, rows] * coef, self.gates)


@compiled(allocates=True, fastmath={"contract"})
def _accumulate(matrices, gates, out):
    n_kernels, n = gates.shape
    chosen = np.empty(n_kernels, np.int64)
    for top in range(0, n, BAND):
        bottom = min(top + BAND, n)
        for i in range(top, bottom):
            row = out[i, : i + 1]
            row[:] = 0.0
            k = 0
            for m in range(n_kernels):
                if gates[m, i] != 0.0:
                    chosen[k] = m
                    k += 1
            a = 0
            while a + 2 < k:
                first, second, third = chosen[a], chosen[a + 1], chosen[a + 2]
                u, v, w = gates[first, i], gates[second, i], gates[third, i]
                x, y, z = matrices[first, i, : i + 1], matrices[second, i, : i + 1], matrices[third, i, : i + 1]
                f, g, h = gates[first, : i + 1], gates[second, : i + 1], gates[third, : i + 1]
                for j in range(i + 1):
                    row[j] += u * f[j] * x[j] + v * g[j] * y[j] + w * h[j] * z[j]
                a += 3
            while a < k:
                u = gates[chosen[a], i]
                x = matrices[chosen[a], i, : i + 1]
                f = gates[chosen[a], : i + 1]
                for j in range(i + 1):
                    row[j] += u * f[j] * x[j]
                a += 1
        for j in range(bottom):
            for i in range(max(top, j + 1), bottom):
                out[j, i] = out[i, j]


@compiled(allocates=True, fastmath={"reassoc", "contract"})
def _slopes(matrices, rows, gates, coef):
    """Each row of a matrix is gathered once for all columns of C."""
    n_kernels, n_rows, n_outputs = matrices.shape[0], len(rows), coef.shape[0]
    slopes = np.zeros((n_kernels, n_rows))
    gathered = np.empty(n_rows)
    weighted = np.empty((n_outputs, n_rows))
    for m in range(n_kernels):
        for r in range(n_outputs):
            for j in range(n_rows):
                weighted[r, j] = gates[m, j] * coef[r, j]
        for i in range(n_rows):
            row = matrices[m, rows[i]]
            for j in range(n_rows):
                gathered[j] = row[rows[j]]
            for r in range(n_outputs):
                if coef[r, i] == 0.0:
                    continue
                column = weighted[r]
                total = 0.0
                for j in range(n_rows):
                    total += gathered[j] * column[j]
                slopes[m, i] -= coef[r, i] * total
    return slopes


@compiled(allocates=True, fastmath={"contract"})
def _block(matrices, rows, gates):
    """The lower triangle, gathered row by row, and its mirror image."""
    n_kernels, n_rows = gates.shape
    block = np.zeros((n_rows, n_rows))
    for i in range(n_rows):
        target = block[i]
        for m in range(n_kernels):
            if gates[m, i] != 0.0:
                row, weights, weight = matrices[m, rows[i]], gates[m], gates[m, i]
                for j in range(i + 1):
                    target[j] += weight * weights[j] * row[rows[j]]
    for i in range(n_rows):
        for j in range(i):
            block[j, i] = block[i, j]
    return block


@compiled(allocates=True, fastmath={"contract", "reassoc"})
def _product(matrices, rows, weights, gates):
    """Whole rows, four to a pass."""
    n_kernels, n = gates.shape
    n_rows = len(rows)
    result, part = np.zeros(n), np.empty(n)
    for m in range(n_kernels):
        part[:] = 0.0
        whole = n_rows - n_rows % 4
        for first in range(0, whole, 4):
            a, b = matrices[m, rows[first]], matrices[m, rows[first + 1]]
            d, e = matrices[m, rows[first + 2]], matrices[m, rows[first + 3]]
            t, u = weights[m, first], weights[m, first + 1]
            v, w = weights[m, first + 2], weights[m, first + 3]
            for k in range(n):
                part[k] += t * a[k] + u * b[k] + v * d[k] + w * e[k]
        for last in range(whole, n_rows):
            a, t = matrices[m, rows[last]], weights[m, last]
            for k in range(n):
                part[k] += t * a[k]
        for k in range(n):
            result[k] += gates[m, k] * part[k]
    return result
