"""Compiled solve of one dense block: pair updates, and a Newton step once the free samples have settled.

The block is a list of samples; rows of its kernel are copied out of K when a step first needs them, side by side, so that
the loops run over short contiguous rows that stay in the cache. A Newton step costs about as much as
free^3 / (50 samples) pair updates, and is counted as so many steps; it is tried after a run of updates, a fraction as
long, in which no sample reached or left a bound. Symbols as in `_pairs`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernelweave.solvers._newton import RIDGE, newton_target
from kernelweave.solvers._pairs import (
    FLAT,
    down_shift,
    move,
    pair_length,
    pick_down,
    pick_up,
    subtract_rows,
    up_shift,
    update_and_pick,
)

NEWTON_SPEED = 50.0
NEWTON_WAIT = 0.3
NEWTON_LEAST = 30


@njit(cache=True, nogil=True)
def fetch(K, block, rows, slot, used, a):
    """Row a of the block's kernel, copied when first asked for; returns its slot and the number of slots used."""
    if slot[a] < 0:
        source = K[block[a]]
        target = rows[used]
        for b in range(block.shape[0]):
            target[b] = source[block[b]]
        slot[a] = used
        used += 1
    return slot[a], used


@njit(cache=True, nogil=True)
def set_shifts(k, c, lower, upper, insensitivity, raise_shift, lower_shift):
    """Bring the shifts of one sample up to date; returns whether it is free."""
    raise_shift[k] = up_shift(c[k], upper[k], insensitivity)
    lower_shift[k] = down_shift(c[k], lower[k], insensitivity)
    return raise_shift[k] == lower_shift[k]


@njit(cache=True, nogil=True)
def newton_step(K, block, rows, slot, used, c, gradient, lower, upper, insensitivity, shifts, ridge):
    """One Newton step on the free samples of the block; returns the slots used and whether it gained."""
    raise_shift, lower_shift = shifts
    free = np.nonzero(raise_shift == lower_shift)[0]
    size = free.shape[0]
    A = np.empty((size, size))
    slopes = np.empty(size)
    for a in range(size):
        k = free[a]
        row, used = fetch(K, block, rows, slot, used, k)
        slopes[a] = gradient[k] + raise_shift[k]
        source = rows[row]
        for b in range(a + 1):
            A[a, b] = source[free[b]]
    here = c[free]
    low = lower[free]
    high = upper[free]
    if insensitivity > 0.0:  # the slope changes at zero
        low = np.where(here > 0.0, np.maximum(low, 0.0), low)
        high = np.where(here < 0.0, np.minimum(high, 0.0), high)
    step, gain = newton_target(A, slopes, here, low, high, ridge)
    if not (gain > 0.0 and np.isfinite(gain)):
        return used, False
    for a in range(size):
        c[free[a]] = min(max(here[a] + step[a], low[a]), high[a])
    subtract_rows(rows, slot[free], c[free] - here, gradient)
    for k in free:
        set_shifts(k, c, lower, upper, insensitivity, raise_shift, lower_shift)
    return used, True


@njit(cache=True, nogil=True)
def solve_block(K, block, rows, diagonal, c, gradient, lower, upper, insensitivity, tol, max_steps):
    """Steps until max up - min down <= tol; c and gradient in place. Returns the number of steps."""
    n = c.shape[0]
    raise_shift = np.empty(n)
    lower_shift = np.empty(n)
    slot = np.full(n, -1)
    used = 0
    free = 0
    for k in range(n):
        free += set_shifts(k, c, lower, upper, insensitivity, raise_shift, lower_shift)
    scale = np.max(np.abs(diagonal))
    flat = FLAT * scale + 1e-300
    steps = 0
    settled = 0
    newton_works = True
    i = pick_up(gradient, raise_shift)
    while i >= 0 and steps < max_steps:
        top = gradient[i] + raise_shift[i]
        row_i, used = fetch(K, block, rows, slot, used, i)
        j, low = pick_down(gradient, rows[row_i], lower_shift, diagonal, diagonal[i], top, flat)
        if j < 0 or not top - low > tol:
            break
        newton_cost = free * free * free / (NEWTON_SPEED * n)
        if newton_works and settled > max(NEWTON_LEAST, NEWTON_WAIT * newton_cost):
            shifts = (raise_shift, lower_shift)
            used, newton_works = newton_step(
                K, block, rows, slot, used, c, gradient, lower, upper, insensitivity, shifts, RIDGE * scale
            )
            steps += 1 + int(newton_cost)
            settled = 0
            free = np.sum(raise_shift == lower_shift)
            i = pick_up(gradient, raise_shift)
            continue
        row_j, used = fetch(K, block, rows, slot, used, j)
        slope = top - (gradient[j] + lower_shift[j])
        curvature = diagonal[i] + diagonal[j] - 2.0 * rows[row_i, j]
        c_i, c_j = c[i], c[j]
        room = min(upper[i] - c_i, c_j - lower[j])
        t = pair_length(slope, curvature, flat, c_i, c_j, room, insensitivity)
        c[i] = move(c_i, t, upper[i])
        c[j] = -move(-c_j, t, -lower[j])
        if (c[i] == c_i and c[j] == c_j) or not np.isfinite(t):
            break  # below the resolution of floating point
        before = (raise_shift[i] == lower_shift[i]) + (raise_shift[j] == lower_shift[j])
        was = (raise_shift[i], lower_shift[i], raise_shift[j], lower_shift[j])
        free += set_shifts(i, c, lower, upper, insensitivity, raise_shift, lower_shift)
        free += set_shifts(j, c, lower, upper, insensitivity, raise_shift, lower_shift)
        free -= before
        same = was == (raise_shift[i], lower_shift[i], raise_shift[j], lower_shift[j])
        settled = settled + 1 if same else 0
        steps += 1
        i = update_and_pick(gradient, rows[row_i], rows[row_j], t, raise_shift, low - (top - low))
        if i < 0:
            i = pick_up(gradient, raise_shift)
    return steps
