"""Compiled Newton step on the free samples of a block, for when their set has settled.

On the free samples F (strictly inside their box and, with an l1 term, away from zero) the objective is a smooth
concave quadratic with slopes r = g_F - e sign(c_F), and the best step that keeps the sum solves

    K_FF d + b 1 = r,    1'd = 0        =>     d = K_FF^-1 (r - b 1),    b = 1'K_FF^-1 r / 1'K_FF^-1 1 .

The step follows d to the first bound that a sample meets, pins that sample there, d_B = end - c_B, by a further
multiplier, and goes on towards the best d that is left: an active set method that raises the objective all the way and
for which one factor of K_FF serves throughout. A step that rounding keeps from raising it is taken back. A ridge keeps
the factor of a rank-deficient kernel defined; slopes are taken from their mean, or b 1 / ridge would drown d. Symbols
as in `_pairs`; the factor is our own because it is as fast as LAPACK's at these sizes, one thread's work stays one
thread's work, and plain loops compile in a fraction of the time.
"""

from __future__ import annotations

import numpy as np

from ._block import fetch
from ._compiled import compiled
from ._pairs import FLAGS, down_shift, up_shift

RIDGE = 1e-11  # times the diagonal entry
PINS = 6  # about one in so many free samples may be pinned before the step ends


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
def factorise(A, n):
    """Cholesky factor of the first n rows of A in their lower triangle; False where they are not positive definite."""
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
def substitute(factor, x, n):
    """Solve L L' x = x in place."""
    for i in range(n):
        x[i] = (x[i] - dot(factor[i], x, i)) / factor[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= factor[i, i]
        add_scaled(x, factor[i], -x[i], i)


@compiled(error_model="numpy")
def follow(A, newton, ones, here, low, high, step):
    """Walk to the maximum over the free samples, pinning each that meets a bound on the way; `step` is the whole walk.

    With the samples B pinned at d_B = wanted and N = [1, E_B], the conditions N'd = (0, wanted) and d = A^-1 (r - N m)
    give (N'A^-1 N) m = N'A^-1 r - (0, wanted), from A^-1 r, A^-1 1 and A^-1 E_B.
    """
    size = step.shape[0]
    most = size // PINS + 8
    columns = np.empty((most, size))
    pinned = np.empty(most, np.int64)
    S = np.empty((most + 1, most + 1))
    m = np.empty(most + 1)
    aim = np.empty(size)
    for k in range(size):
        step[k] = 0.0
    count = 0
    while True:
        S[0, 0] = 0.0
        m[0] = 0.0
        for k in range(size):
            S[0, 0] += ones[k]
            m[0] += newton[k]
        for a in range(count):
            k = pinned[a]
            S[a + 1, 0] = ones[k]
            m[a + 1] = newton[k] - step[k]
            for b in range(a + 1):
                S[a + 1, b + 1] = columns[b, k]
        order = 1 + pinned[:count].shape[0]
        if not factorise(S, order):
            return
        substitute(S, m, order)
        for k in range(size):
            aim[k] = newton[k] - m[0] * ones[k]
        for a in range(count):
            add_scaled(aim, columns[a], -m[a + 1], size)
        for a in range(count):
            aim[pinned[a]] = step[pinned[a]]
        length = 1.0
        blocking = -1
        for k in range(size):
            way = aim[k] - step[k]
            if way != 0.0:
                reach = ((high[k] if way > 0.0 else low[k]) - here[k] - step[k]) / way
                if reach < length:
                    length = max(0.0, reach)
                    blocking = k
        for k in range(size):
            step[k] += length * (aim[k] - step[k])
        if blocking < 0:
            return
        step[blocking] = (high[blocking] if aim[blocking] > step[blocking] else low[blocking]) - here[blocking]
        if count == most:
            return
        column = columns[count]
        for k in range(size):
            column[k] = 0.0
        column[blocking] = 1.0
        substitute(A, column, size)
        pinned[count] = blocking
        count += 1


@compiled(error_model="numpy")
def take_step(rows, slots, free, here, low, high, slopes, step, c, gradient):
    """Take the step, in place on the block's c and gradient; returns the rise of the objective.

    What rounding left of the step's sum goes to the sample with most room on both sides.
    """
    size = step.shape[0]
    excess, widest, place = 0.0, 0.0, 0
    for a in range(size):
        excess += step[a]
        room = min(high[a] - here[a] - step[a], here[a] + step[a] - low[a])
        if room > widest:
            widest = room
            place = a
    step[place] -= excess
    gain = 0.0
    for a in range(size):
        value = here[a] + step[a]
        rounding = 2e-15 * (abs(here[a]) + abs(step[a]))  # a step to a bound must end on it, or the next is idle
        if value - low[a] <= rounding:
            value = low[a]
        elif high[a] - value <= rounding:
            value = high[a]
        step[a] = value - here[a]
        c[free[a]] = value
        gain += step[a] * (slopes[a] - 0.5 * gradient[free[a]])
    for a in range(size):
        add_scaled(gradient, rows[slots[a]], -step[a], gradient.shape[0])
    for a in range(size):
        gain += 0.5 * step[a] * gradient[free[a]]  # r'd + d'(g_after - g_before) / 2
    return gain


@compiled(error_model="numpy")
def newton_step(K, block, rows, slot, c, gradient, lower, upper, insensitivity):
    """One Newton step on the free samples of the block, in place on c and gradient; returns whether it gained."""
    n = c.shape[0]
    places = np.empty(n, np.int64)
    count = 0
    for k in range(n):
        if up_shift(c[k], upper[k], insensitivity) == down_shift(c[k], lower[k], insensitivity):
            places[count] = k
            count += 1
    free = places[:count]
    size = free.shape[0]  # not the counter: numba would compile what it is handed to for a literal 0, too
    A = np.empty((size, size))
    work = np.empty((7, size))
    here, low, high, slopes, newton, ones, step = work[0], work[1], work[2], work[3], work[4], work[5], work[6]
    slots = np.empty(size, np.int64)
    mean = 0.0
    for a in range(size):
        k = free[a]
        slots[a] = fetch(K, block, rows, slot, k)
        here[a], low[a], high[a] = c[k], lower[k], upper[k]
        if insensitivity > 0.0:  # the slope changes at zero
            if c[k] > 0.0:
                low[a] = max(low[a], 0.0)
            else:
                high[a] = min(high[a], 0.0)
        slopes[a] = gradient[k] + up_shift(c[k], upper[k], insensitivity)
        mean += slopes[a] / size
        source = rows[slots[a]]
        row = A[a]
        for b in range(a + 1):
            row[b] = source[free[b]]
        row[a] += RIDGE * (row[a] if row[a] > 0.0 else 1.0)
    if not factorise(A, size):
        return False
    for a in range(size):
        slopes[a] -= mean
        newton[a] = slopes[a]
        ones[a] = 1.0
    substitute(A, newton, size)  # A^-1 (r - mean)
    substitute(A, ones, size)  # A^-1 1
    follow(A, newton, ones, here, low, high, step)
    kept = gradient.copy()
    if take_step(rows, slots, free, here, low, high, slopes, step, c, gradient) > 0.0:
        return True
    for a in range(size):
        c[free[a]] = here[a]
    for k in range(n):
        gradient[k] = kept[k]
    return False
