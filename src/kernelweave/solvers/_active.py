"""Outer loop: solve small dense blocks of the box QP until every sample meets the KKT conditions.

Each round ranks all samples by how far they are from agreeing with the current multiplier b,

    rank_i = max(up_i - b, b - down_i)        (positive: violating; very negative: safely at its bound)

hands the worst of them to one dense block (`_block`), and brings the full gradient up to date by reading only the
rows whose coefficient changed. The pair that violates most is in every block, so every round raises the objective
until the violation is within the tolerance or below what floating point resolves. Symbols as in `_pairs`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ._block import solve_block
from ._compiled import compiled
from ._newton import newton_step
from ._pairs import MAX_BLOCK, down_shift, subtract_rows, up_shift

SHARE = 3  # a block holds at most one sample in so many, or half as many again as there are free ones
LEAST = 128  # but blocks this small cost nothing
INNER = 0.3  # a block is solved to this fraction of the violation that chose it
FINAL = 100.0  # and to the end when that violation is below this multiple of the tolerance, or it holds all samples
RESOLUTION = 2.3e-16
STALL = 3  # rounds in a row that gain less than their own rounding before that is blamed
LOWEST = -1.7e308


@compiled(error_model="numpy")
def extremes(c, gradient, lower, upper, insensitivity):
    """Max up and min down over all samples, and where they are (-1 where no sample may move)."""
    top, low = -np.inf, np.inf
    raised, lowered = -1, -1
    for k in range(c.shape[0]):
        up = gradient[k] + up_shift(c[k], upper[k], insensitivity)
        down = gradient[k] + down_shift(c[k], lower[k], insensitivity)
        if up > top:
            top, raised = up, k
        if down < low:
            low, lowered = down, k
    return top, low, raised, lowered


@compiled(error_model="numpy")
def choose_block(c, gradient, lower, upper, insensitivity, tol, most, jitter, rank):
    """Max up, min down, and the samples ranked worst, in increasing order: none where no pair violates beyond tol.

    The pair that violates most is among them, and no more than `most` are. With `most` or more samples that may move,
    `jitter` holds a number in [0, 1) for each: equal ranks are broken at random, or sorted samples would give a
    lopsided block.
    """
    n = c.shape[0]
    top, low, raised, lowered = extremes(c, gradient, lower, upper, insensitivity)
    if not top - low > tol:
        return top, low, np.empty(0, np.int64)
    middle = 0.5 * (top + low)
    violating, free, movable = 0, 0, 0
    for k in range(n):
        up = up_shift(c[k], upper[k], insensitivity)
        down = down_shift(c[k], lower[k], insensitivity)
        worst = max(gradient[k] + up - middle, middle - gradient[k] - down)
        rank[k] = worst
        violating += worst > 0.0
        free += up == down
        movable += worst > LOWEST
    limit = max(n // SHARE, LEAST, free + free // 2)
    size = min(movable, limit, most, max(LEAST, violating + violating // 3))
    threshold = LOWEST
    if size < movable:
        largest = 0.5 * (top - low)
        for k in range(n):
            rank[k] += 1e-6 * largest * jitter[k]
        threshold = threshold_for(rank, size, largest)
    chosen = np.empty(min(n, most), np.int64)
    room = chosen.shape[0]
    count = 0
    for k in range(n):
        forced = (k == raised) | (k == lowered)
        waiting = (k < raised) + (k < lowered)  # places kept for the pair
        if forced or (rank[k] > threshold and count + waiting < room):
            chosen[count] = k
            count += 1
    return top, low, chosen[:count]


@compiled(error_model="numpy")
def threshold_for(rank, size, largest):
    """A rank that about `size` (at least, and up to an eighth more) exceed, by bisection."""
    low = largest
    high = 2.0 * largest
    width = 1e-3 * largest
    while count_above(rank, low) < size:
        low = largest - width
        width *= 2.0
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


@compiled(error_model="numpy")
def count_above(values, threshold):
    """How many values exceed the threshold."""
    count = 0
    for k in range(values.shape[0]):
        count += values[k] > threshold
    return count


@compiled(error_model="numpy")
def spread_changes(K, block, new, c, gradient, insensitivity, diagonal):
    """Carry a block's new coefficients over to c and the full gradient.

    Returns the rise of the objective, d'(g_before + g_after)/2 - e (|new| - |old|), its rounding error, and how far
    the coefficients moved in all.
    """
    moved = np.empty(block.shape[0], np.int64)
    change = np.empty(block.shape[0])
    count = 0
    travelled, gain, error, length = 0.0, 0.0, 0.0, 0.0
    for a in range(block.shape[0]):
        k = block[a]
        if new[a] != c[k]:
            d = new[a] - c[k]
            moved[count] = k
            change[count] = d
            travelled += abs(d)
            gain += 0.5 * d * gradient[k] - insensitivity * (abs(new[a]) - abs(c[k]))
            error += abs(d) * (abs(gradient[k]) + insensitivity)
            c[k] = new[a]
            count += 1
    subtract_rows(K, moved[:count], change[:count], gradient)
    for k in range(c.shape[0]):
        length += np.sqrt(abs(diagonal[k])) * abs(c[k])
    for a in range(count):
        k = moved[a]
        gain += 0.5 * change[a] * gradient[k]
        # |K_kj c_j| <= sqrt(K_kk) sqrt(K_jj) |c_j|: what the rounding of K c is relative to
        error += abs(change[a]) * (abs(gradient[k]) + np.sqrt(abs(diagonal[k])) * length)
    return gain, RESOLUTION * error, travelled


@lru_cache(maxsize=8)
def fixed_jitter(n):
    """Numbers in [0, 1) from a fixed state: results are a function of the arrays alone."""
    return np.random.RandomState(0).random_sample(n)


def solve_rounds(K, diagonal, c, gradient, lower, upper, insensitivity, tol, max_steps):
    """Rounds until max up - min down <= tol, in place on c and gradient.

    Ends before that only where rounding ends progress (a block that contained the pair that violates most changed no
    coefficient or did not raise the objective, or some in a row raised it by less than the rounding error of that rise)
    or with the budget.

    Returns
    -------
    steps : int
        Pair updates, and what Newton steps count as.
    drift : float
        What rounding may have done to the gradient.
    idle : int
        Rounds that did not raise the objective and did not end within tol.
    """
    n = len(c)
    jitter = fixed_jitter(n) if n > LEAST else np.empty(0)
    rank = np.empty(n)
    space = np.empty(0, K.dtype)
    largest = np.abs(diagonal).max()
    steps, drift, idle = 0, 0.0, 0
    missed, weak = False, 0  # whether the round before did not gain; rounds that gained less than rounding, in a row
    while True:
        top, low, block = choose_block(c, gradient, lower, upper, insensitivity, tol, MAX_BLOCK, jitter, rank)
        m = len(block)
        idle += missed and m > 0
        if m == 0 or missed or weak >= STALL or steps >= max_steps:
            return steps, drift, idle
        if len(space) < m * m:
            space = np.empty(m * m, K.dtype)
        new = c[block]
        inner = 0.9 * tol if m == n or top - low < FINAL * tol else INNER * (top - low)
        steps += _solve_block(
            (K, block, space[: m * m].reshape(m, m), np.full(m + 1, -1)),
            diagonal[block],
            (new, gradient[block], lower[block], upper[block], insensitivity),
            inner,
            min(max_steps - steps, 100 * m + 1000),
        )
        gain, error, travelled = spread_changes(K, block, new, c, gradient, insensitivity, diagonal)
        drift += RESOLUTION * (largest * travelled + abs(top) + abs(low))
        missed = not gain > 0.0
        weak = 0 if gain > error else weak + 1


def _solve_block(source, diagonal, problem, tol, budget):
    """Alternate runs of pair updates with the Newton steps that they ask for; returns the number of steps."""
    steps, newton_works, due = 0, True, 0
    source[3][-1] = 0  # rows copied so far
    while True:
        done, due = solve_block(*source, diagonal, *problem, tol, budget - steps, newton_works)
        steps += done
        if due == 0:
            return steps
        newton_works = newton_step(*source, *problem)
        steps += due
