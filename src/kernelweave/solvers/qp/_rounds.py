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

from ..compiled import compiled
from ._block import solve_block, subtract_rows
from ._pairs import LOWEST, MAX_BLOCK, PAIR_FLAT, TINY, down_shift, up_shift

SHARE = 3  # a block holds at most one sample in so many, or half as many again as there are free ones
LEAST = 128  # but blocks this small cost nothing
INNER = 0.3  # a block is solved to this fraction of the violation that chose it
FINAL = 100.0  # and to the end when that violation is below this multiple of the tolerance, or it holds all samples
RESOLUTION = 2.3e-16
STALL = 3  # rounds in a row that gain less than their own rounding before that is blamed
LATE = 30  # from so many rounds on, the best partners of the pair that violates most are in the block too
NONE = np.empty(0, np.int64)


@compiled(error_model="numpy")
def survey(c, gradient, linear, lower, upper, insensitivity, rank):
    """What one pass over the samples computes at (c, gradient = linear - K c); writes their ranks.

    Returns objective, gap at t = 1 and b, and multiplier b: the mean over free samples of the slope that must equal
    it, else the middle of the allowed interval (as libsvm); max up and min down and where they are (-1 where no sample
    may move); and how many samples are violating, free and movable.
    """
    top, low = -np.inf, np.inf
    raised, lowered = -1, -1
    objective, total = 0.0, 0.0
    violating, free, movable = 0, 0, 0
    for k in range(c.shape[0]):
        up = up_shift(c[k], upper[k], insensitivity)
        down = down_shift(c[k], lower[k], insensitivity)
        objective += 0.5 * c[k] * (linear[k] + gradient[k]) - insensitivity * abs(c[k])  # as Kc = p - g
        if gradient[k] + up > top:
            top, raised = gradient[k] + up, k
        if gradient[k] + down < low:
            low, lowered = gradient[k] + down, k
        if up == down:
            total += gradient[k] + up
            free += 1
    middle = 0.5 * (top + low)
    b = 0.0
    if free > 0:
        b = total / free
    elif raised >= 0:
        b = middle if lowered >= 0 else top
    elif lowered >= 0:
        b = low
    gap = 0.0
    for k in range(c.shape[0]):
        z = gradient[k] - b
        best = z * lower[k] - insensitivity * abs(lower[k])
        other = z * upper[k] - insensitivity * abs(upper[k])
        if other > best:
            best = other
        if best < 0.0 and lower[k] < 0.0 and upper[k] > 0.0:
            best = 0.0
        best -= z * c[k] - insensitivity * abs(c[k])
        if best > 0.0:
            gap += best
        worst = gradient[k] + up_shift(c[k], upper[k], insensitivity) - middle
        other = middle - gradient[k] - down_shift(c[k], lower[k], insensitivity)
        if other > worst:
            worst = other
        rank[k] = worst
        violating += worst > 0.0
        movable += worst > LOWEST
    return objective, gap, b, top, low, raised, lowered, violating, free, movable


def certify(c, gradient, linear, lower, upper, insensitivity):
    """Objective, gap at t = 1 and b, multiplier b, and KKT violation at (c, gradient = linear - K c)."""
    found = survey(c, gradient, linear, lower, upper, insensitivity, np.empty(len(c)))
    objective, gap, b, top, low = found[:5]
    return objective, gap, b, max(0.0, top - low)


@compiled(error_model="numpy")
def select(rank, jitter, largest, size, chosen):
    """List the samples of the highest ranks: at least `size`, up to an eighth more (found by bisection) and ties."""
    for k in range(rank.shape[0]):
        rank[k] += 1e-6 * largest * jitter[k]
    low, high = -np.inf, 2.0 * largest
    threshold, width = largest, 1e-3 * largest
    count = 0
    for _ in range(100):
        count = 0
        for k in range(rank.shape[0]):
            count += rank[k] > threshold
        if count < size:
            high = threshold
        else:
            low = threshold
            if count <= size + size // 8:
                break
        threshold = 0.5 * (low + high) if low > -np.inf else largest - width
        width *= 2.0
    count = 0
    for k in range(rank.shape[0]):
        if rank[k] > low:
            chosen[count] = k
            count += 1
    return count


def choose_block(c, gradient, lower, upper, insensitivity, tol, most, jitter, rank, kernel=None):
    """Max up, min down, and the samples ranked worst, in increasing order: none where no pair violates beyond tol.

    The pair that violates most is among them, and no more than `most` are. With `most` or more samples that may move,
    `jitter` holds a number in [0, 1) for each: equal ranks are broken at random, or sorted samples would give a
    lopsided block. Given `kernel`, the matrix and its diagonal, the best partners of that pair are among them as well:
    without them two pairs of copies with opposite labels may take turns without end.
    """
    survey_of = survey(c, gradient, gradient, lower, upper, insensitivity, rank)
    top, low, raised, lowered, violating, free, movable = survey_of[3:]
    if not top - low > tol:
        return top, low, NONE
    n = len(c)
    limit = max(n // SHARE, LEAST, free + free // 2)
    size = min(movable, limit, most, max(LEAST, violating + violating // 3))
    if size == n:
        return top, low, np.arange(n)
    if size == movable:
        return top, low, np.flatnonzero(rank > LOWEST)
    rank[raised] = rank[lowered] = np.inf
    if kernel is not None:
        rank[list(partners(kernel, c, gradient, lower, upper, insensitivity, raised, lowered))] = np.inf
    block = np.empty(n, np.int64)
    block = block[: select(rank, jitter, 0.5 * (top - low), size, block)]
    if len(block) > most:  # ties
        block = np.sort(np.argpartition(rank, n - most)[n - most :])
    return top, low, block


def partners(kernel, c, gradient, lower, upper, insensitivity, raised, lowered):
    """The samples with which the one to be raised, and the one to be lowered, gain most by second order."""
    K, diagonal = kernel
    up = np.where(c < upper, gradient - np.where(c >= 0.0, insensitivity, -insensitivity), -np.inf)
    down = np.where(c > lower, gradient - np.where(c > 0.0, insensitivity, -insensitivity), np.inf)
    for i, slopes in ((raised, up[raised] - down), (lowered, up - down[lowered])):
        both = diagonal[i] + diagonal
        curvature = np.maximum(both - 2.0 * K[i], PAIR_FLAT * np.abs(both) + TINY)
        yield int(np.argmax(np.maximum(slopes, 0.0) ** 2 / curvature))


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
    jitter = fixed_jitter(n) if n > LEAST else None
    rank = np.empty(n)
    space = np.empty(0, K.dtype)
    lengths = np.sqrt(np.abs(diagonal))
    length = np.dot(lengths, np.abs(c))
    largest = lengths.max() ** 2
    steps, drift, idle, rounds = 0, 0.0, 0, 0
    missed, weak = False, 0  # whether the round before did not gain; rounds that gained less than rounding, in a row
    while True:
        kernel = (K, diagonal) if rounds >= LATE else None
        top, low, block = choose_block(c, gradient, lower, upper, insensitivity, tol, MAX_BLOCK, jitter, rank, kernel)
        rounds += 1
        m = len(block)
        idle += missed and m > 0
        if m == 0 or missed or weak >= STALL or steps >= max_steps:
            return steps, drift, idle
        if len(space) < m * m:
            space = np.empty(m * m, K.dtype)
        new = c[block]
        inner = 0.9 * tol if m == n or top - low < FINAL * tol else INNER * (top - low)
        steps += solve_block(
            (K, block, space[: m * m].reshape(m, m), np.full(m + 1, -1)),
            diagonal[block],
            (new, gradient[block], lower[block], upper[block], insensitivity),
            inner,
            min(max_steps - steps, 100 * m + 1000),
        )
        moved, change = np.empty(m, np.int64), np.empty(m)
        count, gain, error, travelled, reach, longer = take_over(
            block, new, c, gradient, insensitivity, lengths, moved, change
        )
        moved, change = moved[:count], change[:count]
        subtract_rows(K, moved, change, gradient)
        gain += 0.5 * np.dot(change, gradient[moved])
        length += longer
        drift += RESOLUTION * (largest * travelled + abs(top) + abs(low))
        missed = not gain > 0.0
        # |K_kj c_j| <= sqrt(K_kk) sqrt(K_jj) |c_j|: what the rounding of K c is relative to
        weak = 0 if gain > RESOLUTION * (error + reach * length) else weak + 1


@compiled(error_model="numpy")
def take_over(block, new, c, gradient, insensitivity, lengths, moved, change):
    """Write a block's new coefficients to c, and which ones changed by how much to moved and change.

    Returns their number; the rise of the objective, d'(g_before + g_after)/2 - e (|new| - |old|), without its part
    of g_after; what its rounding error is relative to; and how far the coefficients moved, plain, in units of
    sqrt(K_kk), and away from zero in these units.
    """
    count = 0
    gain, error, travelled, reach, longer = 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(block.shape[0]):
        k = block[a]
        old = c[k]
        d = new[a] - old
        if d != 0.0:
            moved[count] = k
            change[count] = d
            count += 1
            c[k] = new[a]
            distance = abs(d)
            growth = abs(new[a]) - abs(old)
            travelled += distance
            reach += distance * lengths[k]
            longer += growth * lengths[k]
            gain += 0.5 * d * gradient[k] - insensitivity * growth
            error += distance * (2.0 * abs(gradient[k]) + insensitivity)
    return count, gain, error, travelled, reach, longer
