"""Compiled pair updates of one dense block, which ask for a Newton step once the free samples have settled.

The block is a list of samples; rows of its kernel are copied out of K when a step first needs them, side by
side, so that the loops run over short contiguous rows that stay in the cache. A Newton step takes about as long as
free^3 / (50 samples) pair updates, and is counted as so many steps; it is due after a run of updates, a
fraction as long, in which no sample reached or left a bound, or after any run some times as long. Symbols as in
`_pairs`.
"""

from __future__ import annotations

import numpy as np

from ..compiled import compiled
from ._pairs import (
    PAIR_FLAT,
    TINY,
    down_shift,
    move,
    pair_length,
    pick_down,
    pick_low,
    pick_up,
    up_shift,
    update_and_pick,
)

NEWTON_SPEED = 50.0
NEWTON_WAIT = 0.3
NEWTON_PATIENCE = 3.0
NEWTON_LEAST = 30.0


def newton_cost(free, n):
    """Pair updates that take as long as a Newton step."""
    return free**3 / (NEWTON_SPEED * n)


@compiled(inner=True, error_model="numpy")
def fetch(K, block, rows, slot, a):
    """Where row a of the block's kernel lies in `rows`, copied there when first asked for; slot[-1] counts them."""
    n = block.shape[0]
    if slot[a] < 0:
        used = slot[n]
        source = K[block[a]]
        target = rows[used]
        for b in range(n):
            target[b] = source[block[b]]
        slot[a] = used
        slot[n] = used + 1
    return slot[a]


@compiled(error_model="numpy")
def solve_block(
    K, block, rows, slot, diagonal, c, gradient, lower, upper, insensitivity, shifts, tol, max_steps, newton_works
):  # fmt: skip
    """Pair updates until max up - min down <= tol; c and gradient in place; shifts is room for them.

    Returns the number of updates, and how many samples the Newton step that is due is for (0 where none is).
    """
    n = c.shape[0]
    raise_shift, lower_shift = shifts[0], shifts[1]
    free = 0
    for k in range(n):
        raise_shift[k] = up_shift(c[k], upper[k], insensitivity)
        lower_shift[k] = down_shift(c[k], lower[k], insensitivity)
        free += raise_shift[k] == lower_shift[k]
    steps = 0
    settled = 0
    i = pick_up(gradient, raise_shift)
    while i >= 0 and steps < max_steps:
        top = gradient[i] + raise_shift[i]
        row_i = rows[fetch(K, block, rows, slot, i)]
        j, low = pick_down(gradient, row_i, lower_shift, diagonal, diagonal[i], top)
        if j < 0 or not top - low > tol:
            break
        if newton_works:
            cost = free * free * free / (NEWTON_SPEED * n)
            if steps > NEWTON_PATIENCE * (cost + n) or (settled > NEWTON_LEAST and settled > NEWTON_WAIT * cost):
                return steps, free
        still = True
        for attempt in range(2):
            if attempt == 1:  # where the best partner cannot move, the one that violates most may
                j = pick_low(gradient, lower_shift)
            c_i, c_j = c[i], c[j]
            slope = top - (gradient[j] + lower_shift[j])
            both = diagonal[i] + diagonal[j]
            room = min(upper[i] - c_i, c_j - lower[j])
            t = pair_length(slope, both - 2.0 * row_i[j], PAIR_FLAT * abs(both) + TINY, c_i, c_j, room, insensitivity)
            if not np.isfinite(t):
                return steps, 0
            c[i] = move(c_i, t, upper[i])
            c[j] = -move(-c_j, t, -lower[j])
            still = c[i] == c_i and c[j] == c_j
            if not still:
                break
        if still:
            break  # below the resolution of floating point
        row_j = rows[fetch(K, block, rows, slot, j)]
        same = True
        for side in range(2):
            k = i if side == 0 else j
            up = up_shift(c[k], upper[k], insensitivity)
            down = down_shift(c[k], lower[k], insensitivity)
            same = same and up == raise_shift[k] and down == lower_shift[k]
            free += (up == down) - (raise_shift[k] == lower_shift[k])
            raise_shift[k] = up
            lower_shift[k] = down
        settled = settled + 1 if same else 0
        steps += 1
        i = update_and_pick(gradient, row_i, row_j, t, raise_shift, low - (top - low))
        if i < 0:
            i = pick_up(gradient, raise_shift)
    return steps, 0
