"""Compiled Cholesky factors, row by row, and the solution of systems with them.

They are our own because they are as fast as LAPACK's at the sizes of a Newton step, use one thread, and compile in a
fraction of the time.
"""

from __future__ import annotations

import numpy as np

from ..compiled import compiled
from ._pairs import FLAGS


@compiled(inner=True, fastmath=FLAGS, error_model="numpy")
def dot(a, b, n):
    """Inner product of the first n entries."""
    result = 0.0
    for k in range(n):
        result += a[k] * b[k]
    return result


@compiled(inner=True, fastmath=FLAGS, error_model="numpy")
def add_scaled(target, source, weight, n):
    """target += weight * source on the first n entries."""
    for k in range(n):
        target[k] += weight * source[k]


@compiled(inner=True, error_model="numpy")
def factorise(A, i):
    """Row i of A becomes that of its Cholesky factor, given the rows before it; False where there is none."""
    row = A[i]
    for j in range(i):
        row[j] = (row[j] - dot(row, A[j], j)) / A[j, j]
    pivot = row[i] - dot(row, row, i)
    if not pivot > 0.0:
        return False
    row[i] = np.sqrt(pivot)
    return True


@compiled(inner=True, error_model="numpy")
def substitute(factor, x, n):
    """Solve L L' x = x in place."""
    for i in range(n):
        x[i] = (x[i] - dot(factor[i], x, i)) / factor[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= factor[i, i]
        add_scaled(x, factor[i], -x[i], i)
