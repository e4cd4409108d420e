"""Compiled solve of one dense block: pair updates, and a Newton step once the free samples have settled.

The block is a list of samples; rows of its kernel are copied out of K when a step first needs them, side by
side, so that the loops run over short contiguous rows that stay in the cache. A Newton step takes about as long as
free^3 / (50 samples) pair updates, and is counted as so many steps; it is tried after a run of updates, a
fraction as long, in which no sample reached or left a bound. Symbols as in `_pairs`.
"""

from __future__ import annotations

import numpy as np

from ._compiled import compiled
from ._newton import newton_target
from ._pairs import (
    FLAT,
    TINY,
    down_shift,
    move,
    pair_length,
    pick_down,
    pick_up,
    subtract_rows,
    take,
    up_shift,
    update_and_pick,
)

NEWTON_SPEED = 50.0
NEWTON_WAIT = 0.3
NEWTON_LEAST = 30


@compiled
def fetch(K, block, rows, slot, used, a):
    """Row a of the block's kernel, copied when first asked for; returns its slot and the slots used."""
    if slot[a] < 0:
        source = K[block[a]]
        target = rows[used]
        for b in range(block.shape[0]):
            target[b] = source[block[b]]
        slot[a] = used
        used += 1
    return slot[a], used


@compiled
def set_shifts(k, c, lower, upper, insensitivity, raise_shift, lower_shift):
    """Bring the shifts of one sample up to date; returns whether it is free."""
    raise_shift[k] = up_shift(c[k], upper[k], insensitivity)
    lower_shift[k] = down_shift(c[k], lower[k], insensitivity)
    return raise_shift[k] == lower_shift[k]


@compiled
def newton_step(K, block, rows, slot, used, c, gradient, lower, upper, insensitivity, shifts):
    """One Newton step on the free samples of the block; returns the slots used and whether it gained."""
    raise_shift, lower_shift = shifts
    free = np.empty(c.shape[0], np.int64)
    size = 0
    for k in range(c.shape[0]):
        if raise_shift[k] == lower_shift[k]:
            free[size] = k
            size += 1
    free = free[:size]
    here, low, high = take(c, free), take(lower, free), take(upper, free)
    A = np.empty((size, size))
    slopes = np.empty(size)
    for a in range(size):
        k = free[a]
        row, used = fetch(K, block, rows, slot, used, k)
        slopes[a] = gradient[k] + raise_shift[k]
        source = rows[row]
        for b in range(a + 1):
            A[a, b] = source[free[b]]
        if insensitivity > 0.0:  # the slope changes at zero
            low[a] = max(low[a], 0.0) if here[a] > 0.0 else low[a]
            high[a] = min(high[a], 0.0) if here[a] < 0.0 else high[a]
    step, gain = newton_target(A, slopes, here, low, high)
    if not (gain > 0.0 and np.isfinite(gain)):
        return used, False
    slots = np.empty(size, np.int64)
    for a in range(size):
        value = here[a] + step[a]
        rounding = 2e-15 * (abs(here[a]) + abs(step[a]))  # a step to a bound must end on it, or the next is idle
        c[free[a]] = low[a] if value - low[a] <= rounding else high[a] if high[a] - value <= rounding else value
        step[a] = c[free[a]] - here[a]
        slots[a] = slot[free[a]]
        set_shifts(free[a], c, lower, upper, insensitivity, raise_shift, lower_shift)
    subtract_rows(rows, slots, step, gradient)
    return used, True


@compiled
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
    steps = 0
    settled = 0
    newton_works = True
    i = pick_up(gradient, raise_shift)
    while i >= 0 and steps < max_steps:
        top = gradient[i] + raise_shift[i]
        row_i, used = fetch(K, block, rows, slot, used, i)
        j, low = pick_down(gradient, rows[row_i], lower_shift, diagonal, diagonal[i], top)
        if j < 0 or not top - low > tol:
            break
        newton_cost = free * free * free / (NEWTON_SPEED * n)
        if newton_works and settled > max(NEWTON_LEAST, NEWTON_WAIT * newton_cost):
            shifts = (raise_shift, lower_shift)
            used, newton_works = newton_step(
                K, block, rows, slot, used, c, gradient, lower, upper, insensitivity, shifts
            )
            steps += 1 + int(newton_cost)
            settled = 0
            free = 0
            for k in range(n):
                free += raise_shift[k] == lower_shift[k]
            i = pick_up(gradient, raise_shift)
            continue
        row_j, used = fetch(K, block, rows, slot, used, j)
        slope = top - (gradient[j] + lower_shift[j])
        curvature = diagonal[i] + diagonal[j] - 2.0 * rows[row_i, j]
        flat = FLAT * abs(diagonal[i] + diagonal[j]) + TINY
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
