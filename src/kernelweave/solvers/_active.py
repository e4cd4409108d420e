"""Compiled outer loop: solve small dense blocks of the box QP until every sample meets the KKT conditions.

Each round ranks all samples by how far they are from agreeing with the current multiplier b,

    rank_i = max(up_i - b, b - down_i)        (positive: violating; very negative: safely at its bound)

hands the worst of them to one dense block (`_block`), and brings the full gradient up to date by reading only the
rows whose coefficient changed. The pair that violates most is always in the block, so every round raises the
objective. Symbols as in `_pairs`.
"""

from __future__ import annotations

import numpy as np

from ._block import solve_block
from ._compiled import compiled
from ._pairs import MAX_BLOCK, down_shift, largest_size, subtract_rows, take, up_shift

SHARE = 3  # a block holds at most one sample in so many, or half as many again as there are free ones
LEAST = 128  # but blocks this small cost nothing
INNER = 0.3  # a block is solved to this fraction of the violation that chose it
FINAL = 100.0  # and to the end when that violation is below this multiple of the tolerance
RESOLUTION = 2.3e-16
STALL = 3  # rounds without progress before floating point is blamed


@compiled
def extremes(c, gradient, lower, upper, insensitivity):
    """Max up and min down over all samples."""
    top = -np.inf
    low = np.inf
    for k in range(c.shape[0]):
        top = max(top, gradient[k] + up_shift(c[k], upper[k], insensitivity))
        low = min(low, gradient[k] + down_shift(c[k], lower[k], insensitivity))
    return top, low


@compiled
def choose_block(c, gradient, lower, upper, insensitivity, middle, jitter, rank):
    """Positions of the samples ranked worst, in increasing order."""
    n = c.shape[0]
    violating = 0
    free = 0
    largest = 0.0
    for k in range(n):
        up = up_shift(c[k], upper[k], insensitivity)
        down = down_shift(c[k], lower[k], insensitivity)
        rank[k] = max(gradient[k] + up - middle, middle - gradient[k] - down)
        violating += rank[k] > 0.0
        free += up == down
        largest = max(largest, rank[k])
    limit = max(n // SHARE, LEAST, free + free // 2)
    size = min(n, limit, MAX_BLOCK, max(LEAST, violating + violating // 3))
    if size == n:
        return positions_above(rank, -np.inf)
    for k in range(n):  # equal ranks are broken at random, or sorted samples would give a lopsided block
        rank[k] += 1e-6 * largest * jitter[k]
    return positions_above(rank, threshold_for(rank, size, largest))


@compiled
def threshold_for(rank, size, largest):
    """A rank that about `size` (at least, and up to an eighth more) reach, by bisection."""
    low = largest
    width = 1e-3 * largest
    while count_above(rank, low) < size:
        low = largest - width
        width *= 2.0
    high = largest + largest
    for _ in range(60):
        middle = 0.5 * (low + high)
        count = count_above(rank, middle)
        if count < size:
            high = middle
        else:
            low = middle
            if count <= size + size // 8:
                break
    return low


@compiled
def count_above(values, threshold):
    """How many values reach the threshold."""
    count = 0
    for value in values:
        count += value >= threshold
    return count


@compiled
def positions_above(values, threshold):
    """Where values reach the threshold, in increasing order; a block's fill at most."""
    chosen = np.empty(min(values.shape[0], MAX_BLOCK), np.int64)
    count = 0
    for k in range(values.shape[0]):
        if values[k] >= threshold and count < MAX_BLOCK:
            chosen[count] = k
            count += 1
    return chosen[:count]


@compiled
def fixed_jitter(n):
    """Numbers in [0, 1) from a fixed xorshift, so that results are a function of the arrays alone."""
    jitter = np.empty(n)
    state = np.uint64(88172645463325252)
    for k in range(n):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        jitter[k] = np.float64(state >> np.uint64(11)) / 9007199254740992.0
    return jitter


@compiled
def spread_changes(K, block, old, new, c, gradient):
    """Carry a block's new coefficients over to c and the full gradient; returns how far they moved in all."""
    moved = np.empty(block.shape[0], np.int64)
    change = np.empty(block.shape[0])
    count = 0
    travelled = 0.0
    for a in range(block.shape[0]):
        if new[a] != old[a]:
            moved[count] = block[a]
            change[count] = new[a] - old[a]
            travelled += abs(change[count])
            c[block[a]] = new[a]
            count += 1
    subtract_rows(K, moved[:count], change[:count], gradient)
    return travelled


@compiled
def gain_of(old, new, before, after, insensitivity, diagonal, length):
    """Rise of the objective in a round, d'(g_before + g_after)/2 - e (|new| - |old|), and its rounding error."""
    gain = 0.0
    error = 0.0
    for k in range(old.shape[0]):
        d = new[k] - old[k]
        gain += 0.5 * d * (before[k] + after[k]) - insensitivity * (abs(new[k]) - abs(old[k]))
        noise = abs(before[k]) + abs(after[k]) + insensitivity + np.sqrt(abs(diagonal[k])) * length
        error += RESOLUTION * abs(d) * noise  # |K_kj c_j| <= sqrt(K_kk) sqrt(K_jj) |c_j|
    return gain, error


@compiled
def total_length(c, diagonal):
    """The sum of sqrt(K_jj) |c_j|, which sets the rounding error of K c."""
    total = 0.0
    for j in range(c.shape[0]):
        total += np.sqrt(abs(diagonal[j])) * abs(c[j])
    return total


@compiled
def solve_rounds(K, diagonal, c, gradient, lower, upper, insensitivity, tol, max_steps):
    """Rounds until max up - min down <= tol; c and gradient in place. Returns steps and the gradient's rounding."""
    n = c.shape[0]
    jitter = fixed_jitter(n)
    rank = np.empty(n)
    space = np.empty(0, K.dtype)
    largest = largest_size(diagonal)
    steps = 0
    drift = 0.0
    best = np.inf
    idle = 0
    while idle < STALL and steps < max_steps:
        top, low = extremes(c, gradient, lower, upper, insensitivity)
        violation = top - low
        if not violation > tol:
            break
        block = choose_block(c, gradient, lower, upper, insensitivity, 0.5 * (top + low), jitter, rank)
        m = block.shape[0]
        if space.shape[0] < m * m:
            space = np.empty(m * m, K.dtype)
        rows = space[: m * m].reshape(m, m)
        old = take(c, block)
        new = old.copy()
        before = take(gradient, block)
        inner = 0.9 * tol if violation < FINAL * tol else INNER * violation
        done = solve_block(
            K, block, rows, take(diagonal, block), new, before.copy(), take(lower, block), take(upper, block),
            insensitivity, inner, min(max_steps - steps, 100 * m + 1000),
        )  # fmt: skip
        steps += done
        travelled = spread_changes(K, block, old, new, c, gradient)
        length = total_length(c, diagonal)
        after = take(gradient, block)
        gain, error = gain_of(old, new, before, after, insensitivity, take(diagonal, block), length)
        drift += RESOLUTION * (largest * travelled + abs(top) + abs(low))
        idle = 0 if violation < 0.9 * best or gain > error else idle + 1
        best = min(best, violation)
    return steps, drift


@compiled
def certify(c, gradient, linear, lower, upper, insensitivity):
    """Objective, duality gap, multiplier b and KKT violation at (c, gradient = linear - K c).

    b is the mean over free samples of the slope that must equal it, else the middle of the allowed interval
    (as libsvm). The gap is a sum of non-negative terms, h_i(z) - (z c_i - e |c_i|) with z = g_i - b and
    h_i(z) = max over lower_i <= v <= upper_i of z v - e |v|: no cancellation between primal and dual.
    """
    top, low = extremes(c, gradient, lower, upper, insensitivity)
    total, free = 0.0, 0
    objective = 0.0
    for k in range(c.shape[0]):
        size = insensitivity * abs(c[k])
        objective += 0.5 * c[k] * (linear[k] + gradient[k]) - size  # p'c - e|c| - c'Kc/2, as Kc = p - g
        if lower[k] < c[k] < upper[k] and (insensitivity == 0.0 or c[k] != 0.0):
            total += gradient[k] - insensitivity * np.sign(c[k])
            free += 1
    if free > 0:
        b = total / free
    elif np.isfinite(top) and np.isfinite(low):
        b = 0.5 * (top + low)
    elif np.isfinite(top):
        b = top
    else:
        b = low if np.isfinite(low) else 0.0
    gap = 0.0
    for k in range(c.shape[0]):
        z = gradient[k] - b
        best = max(z * lower[k] - insensitivity * abs(lower[k]), z * upper[k] - insensitivity * abs(upper[k]))
        if lower[k] < 0.0 < upper[k]:
            best = max(best, 0.0)
        gap += max(0.0, best - (z * c[k] - insensitivity * abs(c[k])))
    return objective, gap, b, max(0.0, top - low)
