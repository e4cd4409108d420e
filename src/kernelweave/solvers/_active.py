"""Compiled outer loop: solve small dense blocks of the box QP until every sample satisfies the KKT conditions.

Each round ranks all samples by how far they are from agreeing with the current multiplier b,

    rank_i = max(up_i - b, b - down_i)        (positive: violating; very negative: safely at its bound)

copies the kernel of the worst few into one dense block that fits the cache, solves that block by pair updates
(`_pairs`), and brings the full gradient up to date by reading only the rows whose coefficient changed. The pair that violates
most is always in the block, so every round raises the objective. Symbols as in `_pairs`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernelweave.solvers._block import solve_block
from kernelweave.solvers._pairs import MAX_BLOCK, down_shift, subtract_rows, up_shift

SHARE = 3  # a block holds at most one sample in so many, or half as many again as there are free ones
LEAST = 128  # but blocks this small cost nothing
INNER = 0.3  # a block is solved to this fraction of the violation that chose it
FINAL = 100.0  # and to the end when that violation is below this multiple of the tolerance
STALL = 3  # rounds without progress before floating point is blamed


@njit(cache=True, nogil=True)
def extremes(c, gradient, lower, upper, insensitivity):
    """Max up and min down over all samples."""
    top = -np.inf
    low = np.inf
    for k in range(c.shape[0]):
        top = max(top, gradient[k] + up_shift(c[k], upper[k], insensitivity))
        low = min(low, gradient[k] + down_shift(c[k], lower[k], insensitivity))
    return top, low


@njit(cache=True, nogil=True)
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
        return np.arange(n)
    for k in range(n):  # equal ranks are broken at random, or sorted samples would give a lopsided block
        rank[k] += 1e-6 * largest * jitter[k]
    threshold = np.partition(rank, n - size)[n - size]
    chosen = np.nonzero(rank >= threshold)[0]
    return chosen[:MAX_BLOCK]


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def gain_of(old, new, before, after, insensitivity):
    """Rise of the objective over a round, d'(g_before + g_after)/2 - e (|new| - |old|), and its rounding error."""
    gain = 0.0
    error = 0.0
    for k in range(old.shape[0]):
        d = new[k] - old[k]
        term = 0.5 * d * (before[k] + after[k]) - insensitivity * (abs(new[k]) - abs(old[k]))
        gain += term
        error += abs(d) * (abs(before[k]) + abs(after[k]) + insensitivity)
    return gain, 1e-15 * error


@njit(cache=True, nogil=True)
def solve_rounds(K, diagonal, c, gradient, lower, upper, insensitivity, tol, max_steps):
    """Rounds until max up - min down <= tol; c and gradient in place. Returns steps and a bound on gradient rounding."""
    n = c.shape[0]
    jitter = fixed_jitter(n)
    rank = np.empty(n)
    space = np.empty(0, K.dtype)
    largest = np.max(np.abs(diagonal))
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
        old = c[block]
        new = old.copy()
        before = gradient[block]
        inner = 0.9 * tol if violation < FINAL * tol else INNER * violation
        done = solve_block(
            K, block, rows, diagonal[block], new, before.copy(), lower[block], upper[block], insensitivity,
            inner, min(max_steps - steps, 100 * m + 1000),
        )  # fmt: skip
        steps += done
        moved = np.nonzero(new != old)[0]
        subtract_rows(K, block[moved], new[moved] - old[moved], gradient)
        c[block] = new
        gain, error = gain_of(old, new, before, gradient[block], insensitivity)
        drift += 2.3e-16 * (largest * np.sum(np.abs(new - old)) + abs(top) + abs(low))
        idle = 0 if violation < 0.9 * best or gain > error else idle + 1
        best = min(best, violation)
    return steps, drift


@njit(cache=True, nogil=True)
def certify(c, gradient, linear, lower, upper, insensitivity):
    """Objective, duality gap, multiplier b and KKT violation at (c, gradient = linear - K c).

    b is the mean over free samples of the slope that must equal it, else the middle of the allowed interval (as
    libsvm). The gap is a sum of non-negative terms, h_i(z) - (z c_i - e |c_i|) with z = g_i - b and
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
