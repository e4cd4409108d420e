"""Compiled Newton step on the free samples of a block, for when their set has settled.

On the free samples F (strictly inside their box and, with an l1 term, away from zero) the objective is a smooth
concave quadratic with slopes r = g_F - e sign(c_F), and the best step that keeps the sum solves

    K_FF d + b 1 = r,    1'd = 0        =>     d = K_FF^-1 (r - b 1),    b = 1'K_FF^-1 r / 1'K_FF^-1 1 .

Samples B that d would carry out of their box are pinned to its end, d_B = end - c_B, by further multipliers, until
none is left; the factor of K_FF serves throughout. If that does not raise the objective (or pins too many), the step
follows the first d up to the first bound, which always does. A ridge keeps the factor of a rank-deficient kernel
defined. Symbols as in `_pairs`; the factor is our own because it is as fast as LAPACK's at these sizes, and one
thread's work stays one thread's work.
"""

from __future__ import annotations

import numpy as np

from ._compiled import compiled
from ._pairs import FLAGS

RIDGE = 1e-11  # times the diagonal entry
PINS = 6  # at most about one in so many free samples may be pinned before the step is given up


@compiled(fastmath=FLAGS)
def dot(a, b, n):
    """Inner product of the first n entries."""
    result = 0.0
    for k in range(n):
        result += a[k] * b[k]
    return result


@compiled(fastmath=FLAGS)
def add_scaled(target, source, weight, n):
    """target += weight * source on the first n entries."""
    for k in range(n):
        target[k] += weight * source[k]


@compiled(error_model="numpy")
def factorise(A):
    """Cholesky factor of A in its lower triangle, in place; False where A is not positive definite."""
    n = A.shape[0]
    for i in range(n):
        row = A[i]
        for j in range(i):
            row[j] = (row[j] - dot(row, A[j], j)) / A[j, j]
        pivot = row[i] - dot(row, row, i)
        if not pivot > 0.0:
            return False
        row[i] = np.sqrt(pivot)
    return True


@compiled(error_model="numpy")
def substitute(factor, x):
    """Solve L L' x = x in place."""
    n = x.shape[0]
    for i in range(n):
        x[i] = (x[i] - dot(factor[i], x, i)) / factor[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= factor[i, i]
        add_scaled(x, factor[i], -x[i], i)


@compiled
def outside(c, step, low, high):
    """Positions that the step would carry out of their interval."""
    places = np.empty(c.shape[0], np.int64)
    count = 0
    for k in range(c.shape[0]):
        if c[k] + step[k] < low[k] or c[k] + step[k] > high[k]:
            places[count] = k
            count += 1
    return places[:count]


@compiled(error_model="numpy")
def pin(newton, ones, columns, pinned, wanted):
    """Newton step under d_B = wanted, from A^-1 r, A^-1 1 and A^-1 E_B; returns d and the multipliers.

    With N = [1, E_B], the conditions N'd = (0, wanted) and d = A^-1 (r - N m) give
    (N'A^-1 N) m = N'A^-1 r - (0, wanted).
    """
    count = pinned.shape[0]
    S = np.empty((count + 1, count + 1))
    m = np.empty(count + 1)
    S[0, 0] = np.sum(ones)
    m[0] = np.sum(newton)
    for a in range(count):
        S[a + 1, 0] = ones[pinned[a]]
        m[a + 1] = newton[pinned[a]] - wanted[a]
        for b in range(a + 1):
            S[a + 1, b + 1] = columns[b][pinned[a]]
    if not factorise(S):
        return newton, m, False
    substitute(S, m)
    step = newton - m[0] * ones
    for a in range(count):
        add_scaled(step, columns[a], -m[a + 1], step.shape[0])
    return step, m, True


@compiled
def balance(step, c, low, high):
    """Remove what rounding left of the step's sum, at the sample with most room on both sides."""
    widest = 0.0
    place = 0
    for k in range(c.shape[0]):
        room = min(high[k] - c[k] - step[k], c[k] + step[k] - low[k])
        if room > widest:
            widest = room
            place = k
    step[place] -= np.sum(step)


@compiled(error_model="numpy")
def newton_target(A, slopes, c, low, high):
    """The step to the maximum over the free samples, those that would leave their interval pinned to its end.

    A is overwritten by its factor. Returns the step and its gain; 0 when A is not positive definite.
    """
    size = c.shape[0]
    ridge = np.empty(size)
    for k in range(size):
        ridge[k] = RIDGE * (A[k, k] if A[k, k] > 0.0 else 1.0)
        A[k, k] += ridge[k]
    step = np.zeros(size)
    if not factorise(A):
        return step, 0.0
    newton = slopes.copy()
    ones = np.ones(size)
    substitute(A, newton)  # A^-1 r
    substitute(A, ones)  # A^-1 1
    first = newton - ones * (np.sum(newton) / np.sum(ones))
    room = size // PINS + 8
    columns = np.empty((room, size))
    pinned = np.empty(room, np.int64)
    wanted = np.empty(room)
    count = 0
    step = first
    multipliers = np.zeros(1)
    sound = True
    while sound:
        leaving = outside(c, step, low, high)
        if leaving.shape[0] == 0:
            break
        sound = count + leaving.shape[0] <= room
        if sound:
            for k in leaving:
                columns[count] = 0.0
                columns[count, k] = 1.0
                substitute(A, columns[count])
                pinned[count] = k
                wanted[count] = (low[k] if c[k] + step[k] < low[k] else high[k]) - c[k]
                count += 1
            step, multipliers, sound = pin(newton, ones, columns, pinned[:count], wanted[:count])
            for a in range(count):
                step[pinned[a]] = wanted[a]
    if sound:
        balance(step, c, low, high)
        # gain = r'd - d'K d / 2, and K d = r - N m - ridge d
        bend = dot(step, slopes, size)
        for k in range(size):
            bend -= ridge[k] * step[k] * step[k]
        for a in range(count):
            bend -= multipliers[a + 1] * wanted[a]
        gain = dot(step, slopes, size) - 0.5 * bend
        if gain > 0.0:
            return step, gain
    balance(first, c, low, high)
    length = 1.0
    for k in range(size):
        if first[k] > 0.0:
            length = min(length, (high[k] - c[k]) / first[k])
        elif first[k] < 0.0:
            length = min(length, (low[k] - c[k]) / first[k])
    return length * first, length * dot(first, slopes, size)
