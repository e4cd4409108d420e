"""Products of every matrix of a stack with few vectors, at the entries where the vectors are not zero.

    images[m] = K_m C

The products are bound by memory, not by arithmetic, and read only what nonzero coefficients touch.

======  ==========================
symbol  name
======  ==========================
K_m     matrices[m]
C       coef, of shape (n, r)
======  ==========================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..compiled import compiled
from .sums import read_only

SPARSE = 0.125  # share of nonzero entries of C among its nonzero rows below which its columns are taken one by one


@dataclass(frozen=True)
class Images:
    """K_m C at the nonzero entries of C, column by column.

    Attributes
    ----------
    rows, columns : ndarray of int, shape (n_entries,)
        Where C is not zero: the samples and, in increasing order, the columns.
    coef : ndarray of shape (n_entries,)
        C there.
    values : ndarray of shape (P, n_entries)
        K_m C there, in double precision.
    """

    rows: np.ndarray
    columns: np.ndarray
    coef: np.ndarray
    values: np.ndarray

    def forms(self) -> np.ndarray:
        """q_m = sum_r c_r' K_m c_r, of shape (P,)."""
        return self.values @ self.coef

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The values at entries that are not zero, of shape (P, n)."""
        n = max(self.rows.max(initial=0), rows.max(initial=0)) + 1
        return self.values[:, np.searchsorted(self.columns * n + self.rows, columns * n + rows)]

    def scaled(self, factor: np.ndarray) -> Images:
        """The images under kernels whose rows and columns are multiplied by a factor, if C was multiplied by it."""
        here = factor[self.rows]
        return Images(self.rows, self.columns, self.coef / here, self.values * here)


def images(matrices: np.ndarray, coef: np.ndarray) -> Images:
    """K_m C at the nonzero entries of C, for each symmetric matrix K_m.

    What a column of C does not touch costs nothing, so that the pairs of many classes cost what their few samples do.

    Parameters
    ----------
    matrices : ndarray of shape (P, n, n)
    coef : ndarray of shape (n, r)

    Examples
    --------
    >>> import numpy as np
    >>> found = images(np.array([np.eye(3), np.ones((3, 3))]), np.array([[1.0], [0.0], [-2.0]]))
    >>> found.rows, found.values
    (array([0, 2]), array([[ 1., -2.],
           [-1., -1.]]))
    >>> found.forms()
    array([5., 1.])
    """
    rows, columns = np.nonzero(coef)
    order = np.argsort(columns, kind="stable")
    rows, columns = rows[order], columns[order]
    entries = np.ascontiguousarray(coef[rows, columns], dtype=np.float64)
    support = np.flatnonzero(np.bincount(rows, minlength=len(coef)))
    if len(entries) < SPARSE * len(support) * coef.shape[1]:
        values = np.empty((len(matrices), len(entries)))
        starts = np.searchsorted(columns, np.arange(coef.shape[1] + 1))
        _sparse_images(read_only(matrices), rows, starts, entries, values)
    else:
        dense = np.ascontiguousarray(coef[support].T, dtype=np.float64)
        every = np.empty((len(matrices), len(support), coef.shape[1]))
        _images(read_only(matrices), support, dense, np.empty(len(support)), every)
        values = every[:, np.searchsorted(support, rows), columns]
    return Images(rows, columns, entries, values)


@compiled(fastmath={"reassoc", "contract"})
def _images(matrices, rows, coef, gathered, result):
    """Each row is gathered once for all columns of C."""
    n_rows = len(rows)
    for m in range(matrices.shape[0]):
        for i in range(n_rows):
            row = matrices[m, rows[i]]
            for j in range(n_rows):
                gathered[j] = row[rows[j]]
            for r in range(coef.shape[0]):
                column = coef[r]
                total = 0.0
                for j in range(n_rows):
                    total += gathered[j] * column[j]
                result[m, i, r] = total


@compiled(fastmath={"reassoc", "contract"})
def _sparse_images(matrices, rows, starts, coef, result):
    """Each column of C reads only what its own entries touch."""
    for m in range(matrices.shape[0]):
        for r in range(len(starts) - 1):
            for a in range(starts[r], starts[r + 1]):
                row = matrices[m, rows[a]]
                total = 0.0
                for b in range(starts[r], starts[r + 1]):
                    total += row[rows[b]] * coef[b]
                result[m, a] = total
