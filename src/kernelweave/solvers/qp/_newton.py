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

from ..compiled import compiled
from ._block import fetch
from ._pairs import FLAGS, down_shift, subtract_rows, up_shift

RIDGE = 1e-11  # times the diagonal entry
PINS = 6  # about one in so many free samples may be pinned before the step ends


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


@compiled(error_model="numpy")
def solve_free(K, block, rows, slot, c, gradient, lower, upper, insensitivity, free, slots, A, work):
    """List the free samples, factorise K_FF into A and fill work (see `newton_step`); False where it has no factor."""
    here, low, high, slopes, newton, ones = work[0], work[1], work[2], work[3], work[4], work[5]
    size = np.int64(0)  # not a literal, for which numba would compile what it is handed to once more
    mean = 0.0
    for k in range(c.shape[0]):
        shift = up_shift(c[k], upper[k], insensitivity)
        if shift == down_shift(c[k], lower[k], insensitivity):
            free[size] = k
            here[size] = c[k]
            low[size] = lower[k]
            high[size] = upper[k]
            if insensitivity > 0.0:  # the slope changes at zero
                if c[k] > 0.0 and lower[k] < 0.0:
                    low[size] = 0.0
                if c[k] < 0.0 and upper[k] > 0.0:
                    high[size] = 0.0
            slopes[size] = gradient[k] + shift
            mean += slopes[size]
            size += 1
    mean /= size
    for a in range(size):
        slots[a] = fetch(K, block, rows, slot, free[a])
        for b in range(a + 1):
            A[a, b] = rows[slots[a], free[b]]
        A[a, a] += RIDGE * (A[a, a] if A[a, a] > 0.0 else 1.0)
        if not factorise(A, a):
            return False
        slopes[a] -= mean
        newton[a] = slopes[a]
        ones[a] = 1.0
    for s in range(4, 6):
        substitute(A, work[s], size)
    return True


@compiled(error_model="numpy")
def follow(A, work, columns, pinned, S, m, free, c, gradient):
    """Walk to the maximum over the free samples, pinning each that meets a bound on the way; in place on c.

    With the samples B pinned at d_B = wanted and N = [1, E_B], the conditions N'd = (0, wanted) and d = A^-1 (r - N m)
    give (N'A^-1 N) m = N'A^-1 r - (0, wanted), from A^-1 r, A^-1 1 and A^-1 E_B (columns). There are no more pins than
    columns. What rounding left of the step's sum goes to the sample with most room on both sides.

    Returns r'd - d'g_before / 2.
    """
    here, low, high, slopes, newton, ones = work[0], work[1], work[2], work[3], work[4], work[5]
    step, aim = work[6], work[7]
    size = step.shape[0]
    count = np.int64(0)
    all_ones, all_newton = 0.0, 0.0
    for k in range(size):
        step[k] = 0.0
        all_ones += ones[k]
        all_newton += newton[k]
    S[0, 0] = all_ones
    while factorise(S, count):
        m[0] = all_newton
        for a in range(count):
            m[a + 1] = newton[pinned[a]] - step[pinned[a]]
        substitute(S, m, count + 1)
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
                    length = reach if reach > 0.0 else 0.0
                    blocking = k
        for k in range(size):
            step[k] += length * (aim[k] - step[k])
        if blocking < 0:
            break
        step[blocking] = (high[blocking] if aim[blocking] > step[blocking] else low[blocking]) - here[blocking]
        if count == pinned.shape[0]:
            break
        column = columns[count]
        for k in range(size):
            column[k] = 0.0
        column[blocking] = 1.0
        substitute(A, column, size)
        pinned[count] = blocking
        count += 1
        S[count, 0] = ones[blocking]
        for b in range(count):
            S[count, b + 1] = columns[b, blocking]
    excess, widest, place = 0.0, 0.0, 0
    for a in range(size):
        excess += step[a]
        value = here[a] + step[a]
        if high[a] - value > widest and value - low[a] > widest:
            widest = min(high[a] - value, value - low[a])
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
    return gain


def newton_step(K, block, rows, slot, c, gradient, lower, upper, insensitivity, size):
    """One Newton step on the `size` free samples of a block, in place on c and gradient; returns whether it gained."""
    free, slots = np.empty((2, size), np.int64)
    A = np.empty((size, size))
    work = np.empty((8, size))  # c_F, its bounds, r less its mean, A^-1 r, A^-1 1, the step, and room
    if not solve_free(K, block, rows, slot, c, gradient, lower, upper, insensitivity, free, slots, A, work):
        return False
    most = size // PINS + 8
    room = np.empty((most, size)), np.empty(most, np.int64), np.empty((most + 1, most + 1)), np.empty(most + 1)
    gain = follow(A, work, *room, free, c, gradient)
    rows = rows.view()
    rows.flags.writeable = False  # as the kernel is: one compiled specialisation serves both
    kept, step = gradient.copy(), work[6]
    subtract_rows(rows, slots, step, gradient)
    if gain + 0.5 * np.dot(step, gradient[free]) > 0.0:  # r'd + d'(g_after - g_before) / 2
        return True
    c[free] = work[0]
    gradient[:] = kept
    return False
