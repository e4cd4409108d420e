"""The dual QP of every plain kernel machine: a box and one equality, in signed coefficients.

    maximise over c    p'c - e ||c||_1 - 1/2 c'Kc     subject to   sum(c) = total,   lower <= c <= upper

In the thesis (Gönen 2010, PhD thesis, Boğaziçi University), (1.3), the dual of (1.5) and the dual of (1.7) are members
of this family; the table of losses in `machines.base` has their terms.

Small dense blocks (`pairs`) are solved one after the other until every sample meets the KKT conditions. Each round
ranks all samples by how far they are from agreeing with the current multiplier b,

    rank_i = max(up_i - b, b - down_i)        (positive: violating; very negative: safely at its bound)

gives the worst of them to one block, and brings the full gradient up to date by reading only the rows whose coefficient
changed. The pair that violates most is in every block, so every round raises the objective until the violation is
within the tolerance or below what floating point resolves.

The Lagrangian dual is the machine's primal. For any b, with f = K c,

    P(b) = 1/2 c'Kc + sum_i h_i(p_i - f_i - b) + b total,    h_i(z) = max_{lower_i <= v <= upper_i} z v - e|v|

bounds the optimum D from above. So does the primal at any other point; scaling the weight vector w by t >= 0,

    P(t, b) = t^2/2 c'Kc + sum_i h_i(p_i - t f_i - b) + b total

is convex in both, and gap = min P(t, b) - D certifies the solution (`certify` at t = 1, `least_gap` at all t). Decision
values are K c + b, with b from the free samples.

`solve_in_working_set` is the short way for a kernel that is combined of whole Gram matrices, from a start near its
solution: on a small set of samples the problem is solved as usual, the certificate is computed for all, and samples
whose coefficient should not be 0 join. `in_parts` is the general way without any matrix.

p is `linear`, epsilon (e) `insensitivity`, c `Result.solution`, b `Result.multiplier`, and g = p - K c `gradient`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Protocol

import numpy as np

from .base import Result
from .compiled import compiled, read_only
from .pairs import LOWEST, MAX_BLOCK, PAIR_FLAT, TINY, down_shift, solve_block, subtract_rows, up_shift

GAP_PER_TOL = 10.0  # a KKT violation of tol comes with a relative gap of at most this times tol
LEAST_SIZE = 1e-6  # of an objective without linear term, relative to that of one sample, see `least_size`
SUM_ERROR = 1e-13  # of the coefficients' sum, relative; more is repaired
SHARE = 3  # a block holds at most one sample in so many, or half as many again as there are free ones
LEAST = 128  # but blocks this small cost nothing
INNER = 0.3  # a block is solved to this fraction of the violation that chose it
FINAL = 100.0  # and to the end when that violation is below this multiple of the tolerance, or it holds all samples
RESOLUTION = 2.3e-16
STALL = 3  # rounds in a row that gain less than their own rounding before that is blamed
LATE = 30  # from so many rounds on, the best partners of the pair that violates most are in the block too
NONE = np.empty(0, np.int64)
WORTHWHILE = 100.0  # a gap is looked for where violation * distance to the bounds is within this multiple of the limit
MOST_CUTS = 60
LARGEST_SHARE = 0.4  # of the samples; a working set beyond costs as much as all of them
# Samples in the first working set: a multiple of those with coefficients, and at least a share of all.
FIRST_FACTOR, FIRST_SHARE = 1.3, 0.1
MOST_ROUNDS = 5


def solve_box_qp(
    K: np.ndarray,
    linear: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    total: float = 0.0,
    insensitivity: float = 0.0,
    start: np.ndarray | None = None,
    tol: float = 1e-3,
    gap_tol: float | None = None,
    max_steps: int | None = None,
) -> Result:
    """Maximise ``linear'c - insensitivity*|c|_1 - c'Kc/2`` with ``sum(c) = total``, ``lower <= c <= upper``.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric matrix, float64 or float32 (other types are converted). Never written to; copied only when
        it is contiguous in neither order. It should be positive semidefinite; for an indefinite K the solve still
        ends, at a point that satisfies the first-order conditions or without having converged.
    linear, lower, upper : ndarray of shape (n,)
        Linear term p and the finite bounds.
    total : float, default=0
        Required sum of the coefficients.
    insensitivity : float, default=0
        Weight of the l1 term (the epsilon of regression).
    start : ndarray of shape (n,), optional
        Starting point, feasible or not: it is clipped to the box and its sum repaired. A start whose
        objective is below that of zero coefficients (where these are not feasible: whose gap exceeds
        ``total**2 / 2`` times the largest diagonal entry) comes from too different a kernel and is dropped, so that
        it costs one gradient and no more.
    tol : float, default=1e-3
        Largest KKT violation, as in libsvm. The gap is then at most ``10 * tol`` of ``max(1, |objective|)``, or of
        ``|objective|`` where there is no linear term (one-class; at least ``1e-6 * total**2`` times the largest
        diagonal entry, for objectives of 0).
    gap_tol : float, optional
        If given, solve instead until ``gap <= gap_tol * max(1, |objective|)``, at any violation.
    max_steps : int, optional
        Most pair updates; ``max(10_000_000, 100 n)`` by default.

    Returns
    -------
    Result
        ``steps`` counts pair updates (a Newton step on f free samples of a block of m counts as f^3 / 50 m of
        them, which is about its time), and ``multiplier`` is b.

    Notes
    -----
    Beside K, memory is a dozen vectors and the rows of the block being solved that were touched: of n/3 samples, or
    half as many again as there are free ones, so at most a ninth of K unless most samples are free. The gradient
    is double precision throughout, and is computed afresh where the rounding of its updates could matter. Where
    ``2.2e-16 * max|K| * sum(upper - lower)`` exceeds the linear term, double precision does not hold the gradient at
    the bounds, and the solve may end there without having converged.

    Examples
    --------
    Two samples, one in each class, whose margin is 1 at c = (1/2, -1/2):

    >>> import numpy as np
    >>> y = np.array([1.0, -1.0])
    >>> result = solve_box_qp(np.outer(y, y), y, np.array([0.0, -10.0]), np.array([10.0, 0.0]))
    >>> result.solution, float(result.objective), result.converged
    (array([ 0.5, -0.5]), 0.5, True)
    """
    K, linear, lower, upper = _checked(K, linear, lower, upper, total, insensitivity)
    problem = (linear, lower, upper, float(insensitivity))
    diagonal = np.ascontiguousarray(K.diagonal(), dtype=np.float64)
    tol, gap_tol, floor = wanted(tol, gap_tol, linear, diagonal, total)
    budget = max(10_000_000, 100 * len(linear)) if max_steps is None else int(max_steps)
    c, gradient = _begin(K, linear, lower, upper, total, insensitivity, start)
    (objective, gap, violation, b), steps, converged = _solve(
        K, diagonal, c, gradient, problem, total, tol, gap_tol, floor, budget
    )
    if not (np.isfinite(objective) and np.isfinite(gap) and is_finite(gradient)):
        raise ValueError("K contains NaN or infinity, or overflows when multiplied by the bounds")
    return Result(c, objective, gap, steps, converged, violation, b)


def wanted(tol, gap_tol, linear, diagonal, total):
    """The violation that ends a solve, the gap relative to the objective, and what size this counts as at least."""
    if not is_finite(diagonal):
        raise ValueError("the diagonal of K contains NaN or infinity")
    if gap_tol is not None:
        return np.inf, gap_tol, 1.0
    # without a linear term the objective has no other size than its own
    return tol, GAP_PER_TOL * tol, 1.0 if linear.any() else least_size(diagonal, total)


def least_size(diagonal, total):
    """What an objective without linear term counts as at least, where a gap is relative to it.

    Its optimum is 0 where 0 is a mixture of the samples that the bounds allow (one-class: of centred samples, with a
    bound of few of them), and no gap is small against that. Rounding leaves about 2e-16 of total^2 max K_ii open: a
    tolerance of 1e-6 of it is met down to tolerances of 1e-9.
    """
    return LEAST_SIZE * total**2 * float(np.abs(diagonal).max())


def _checked(K, linear, lower, upper, total, insensitivity):
    K = as_float(K)
    return as_rows(K), *checked_problem(K.shape, linear, lower, upper, total, insensitivity)


def as_float(K):
    K = np.asarray(K)
    return K if K.dtype in (np.float64, np.float32) else K.astype(np.float64)


def as_rows(K):
    """A symmetric matrix row by row, and read-only: one compiled specialisation serves all."""
    if not K.flags.c_contiguous:
        K = K.T if K.flags.f_contiguous else np.ascontiguousarray(K)
    return read_only(K)


def checked_problem(shape, linear, lower, upper, total, insensitivity):
    linear, lower, upper = (np.ascontiguousarray(v, dtype=np.float64) for v in (linear, lower, upper))
    n = len(linear)
    if n == 0 or shape != (n, n) or linear.shape != (n,) or lower.shape != (n,) or upper.shape != (n,):
        raise ValueError(
            f"K must be square and linear, lower, upper must match it, got shapes {shape}, {linear.shape}, "
            f"{lower.shape} and {upper.shape}"
        )
    if not (is_finite(linear) and is_finite(lower) and is_finite(upper)):
        raise ValueError("linear, lower and upper must be finite")
    if not np.isfinite(insensitivity) or insensitivity < 0:
        raise ValueError(f"insensitivity must be finite and not negative, got {insensitivity}")
    if (lower > upper).any():
        raise ValueError("lower must not exceed upper")
    slack = 1e-12 * (np.abs(lower).sum() + np.abs(upper).sum())
    if not lower.sum() - slack <= total <= upper.sum() + slack:
        raise ValueError(f"no feasible point: sum(lower) <= {total} <= sum(upper) does not hold")
    return linear, lower, upper


def is_finite(values):
    """Whether all are finite. The sum of squares shows it in a third of the time, unless it overflows."""
    return math.isfinite(np.dot(values, values)) or bool(np.isfinite(values).all())


def _begin(K, linear, lower, upper, total, insensitivity, start):
    """First point and its gradient: the given start, unless it is worse than starting from nothing."""
    if start is not None:
        c = feasible(np.array(start, dtype=np.float64).reshape(-1), lower, upper, total)
        gradient = _gradient(K, linear, c)
        objective, gap, _, _ = certify(c, gradient, linear, lower, upper, insensitivity)
        if not worse_than_nothing(objective, gap, lower, upper, total, np.max(K.diagonal())):
            return c, gradient
    c = cold_start(linear, lower, upper, total, lambda rows, missing: product(K, rows, missing / len(rows)))
    return c, _gradient(K, linear, c)


def worse_than_nothing(objective, gap, lower, upper, total, largest):
    """Whether a start is worse than zeros or, where these are infeasible, its gap larger than one sample's can be."""
    zero_is_feasible = total == 0.0 and (lower <= 0.0).all() and (upper >= 0.0).all()
    useless = objective < 0.0 if zero_is_feasible else gap > 0.5 * total**2 * largest
    return useless and np.isfinite(gap)


def cold_start(linear, lower, upper, total, rough_image):
    """Zero where the box allows it; any missing sum goes to the samples that a rough gradient prefers.

    ``rough_image(rows, missing)`` is K c for coefficients that share the missing sum among these rows.
    """
    c = np.minimum(np.maximum(0.0, lower), upper)
    missing = total - c.sum()
    if missing == 0.0:
        return c
    rows = np.arange(len(c)) if len(c) <= 32 else np.linspace(0, len(c) - 1, 32).astype(int)
    preference = np.sign(missing) * (linear - rough_image(rows, missing))
    order = np.argsort(-preference, kind="stable")
    room = (upper - c if missing > 0 else c - lower)[order]
    before = np.cumsum(room) - room
    c[order] += np.sign(missing) * np.clip(abs(missing) - before, 0.0, room)
    return np.clip(c, lower, upper)


def feasible(start, lower, upper, total):
    """The start clipped to the box; its sum is repaired by shrinking coefficients towards zero first."""
    if start.shape != lower.shape or not np.isfinite(start).all():
        raise ValueError(f"start must hold {len(lower)} finite coefficients")
    c = np.clip(start, lower, upper)
    origin = np.clip(0.0, lower, upper)
    scale = np.abs(c).sum() + abs(total)
    for target in (origin, None):
        excess = c.sum() - total
        if abs(excess) <= 4 * np.finfo(float).eps * scale:
            break
        if target is None:
            target = lower if excess > 0 else upper
        room = np.maximum(np.sign(excess) * (c - target), 0.0)
        if room.sum() > 0.0:
            c -= np.sign(excess) * room * min(1.0, abs(excess) / room.sum())
    return np.clip(c, lower, upper)


def product(K, rows, coef):
    """K c, where c is zero but for these entries, or for one number at these rows; K is symmetric."""
    image = np.zeros(len(K))
    subtract_rows(as_rows(K), rows, np.zeros(len(rows)) - coef, image)
    return image


def _gradient(K, linear, c):
    gradient = linear.copy()
    rows = np.flatnonzero(c)
    if len(rows):
        subtract_rows(K, rows, c[rows], gradient)
    return gradient


def _refresh(K, c, gradient, problem, total):
    """Remove what rounding has done: to the sum, at the sample with most room on its side, and to the gradient."""
    linear, lower, upper, _ = problem
    place, excess = excess_of_sum(c, lower, upper, total)
    c[place] -= excess
    gradient[:] = _gradient(K, linear, c)


def excess_of_sum(c, lower, upper, total):
    """The sample with most room on its side of zero, and how much of it repairs the sum; 0 where nothing is to repair.

    Zeros stay zero: an l1 term has a kink there.
    """
    excess = c.sum() - total
    room = np.minimum(np.minimum(upper - c, c - lower), np.abs(c))
    place = int(np.argmax(room))
    return place, excess if SUM_ERROR * np.abs(c).sum() < abs(excess) < room[place] else 0.0


def _solve(K, diagonal, c, gradient, problem, total, tol, gap_tol, floor, budget):
    """Rounds until the violation is at most tol and gap <= gap_tol * max(floor, |J|), or rounding ends progress.

    The gap falls with the violation, which is tightened until it does. Returns the certificate, the steps and whether
    both were reached.
    """
    linear, lower, upper, insensitivity = problem
    steps = 0
    best = np.inf
    while True:
        objective, gap, b, violation = certify(c, gradient, linear, lower, upper, insensitivity)
        limit = gap_tol * max(floor, abs(objective))
        ends = steps >= budget or not violation <= 0.9 * best
        target = tol
        if violation <= tol:
            # A required gap is first sought at b itself, which makes the coefficients as exact as they can be.
            if gap > limit and (ends or tol < np.inf):
                gap = least_gap(c, gradient, linear, lower, upper, insensitivity, total, gap, limit, violation)
            if gap <= limit:
                return (objective, gap, violation, b), steps, True
            target = violation * min(0.3, max(1e-3, 0.5 * limit / gap))
        if ends:
            return (objective, gap, violation, b), steps, False
        best = violation
        done, drift, _ = solve_rounds(K, diagonal, c, gradient, lower, upper, insensitivity, target, budget - steps)
        steps += done
        if drift > 0.01 * target or abs(c.sum() - total) > SUM_ERROR * np.abs(c).sum():
            _refresh(K, c, gradient, problem, total)


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


def one_sided_slopes(c, gradient, lower, upper, insensitivity):
    """up (-inf where c may not rise) and down (inf where it may not fall), see `pairs`."""
    up = np.where(c < upper, gradient - np.where(c >= 0.0, insensitivity, -insensitivity), -np.inf)
    return up, np.where(c > lower, gradient - np.where(c > 0.0, insensitivity, -insensitivity), np.inf)


def partners(kernel, c, gradient, lower, upper, insensitivity, raised, lowered):
    """The samples with which the one to be raised, and the one to be lowered, gain most by second order."""
    K, diagonal = kernel
    up, down = one_sided_slopes(c, gradient, lower, upper, insensitivity)
    for i, slopes in ((raised, up[raised] - down), (lowered, up - down[lowered])):
        both = diagonal[i] + diagonal
        curvature = np.maximum(both - 2.0 * K[i], PAIR_FLAT * np.abs(both) + TINY)
        yield int(np.argmax(np.maximum(slopes, 0.0) ** 2 / curvature))


def fixed_jitter(n):
    """Numbers in [0, 1) from a fixed state: results are a function of the arrays alone."""
    return _fixed_numbers(1 << max(0, n - 1).bit_length())[:n]


@lru_cache(maxsize=8)
def _fixed_numbers(n):
    return np.random.RandomState(0).random_sample(n)


def solve_rounds(K, diagonal, c, gradient, lower, upper, insensitivity, tol, max_steps):
    """Rounds until max up - min down <= tol, in place on c and gradient.

    Ends before that only where rounding ends progress (a block that contained the pair that violates most changed no
    coefficient or did not raise the objective, or some in a row raised it by less than the rounding error of that rise)
    or with the budget. Returns the steps (pair updates, and what Newton steps count as), what rounding may have done to
    the gradient, and the rounds that did not raise the objective and did not end within tol.
    """
    n = len(c)
    jitter = fixed_jitter(n) if n > LEAST else None
    rank = np.empty(n)
    space, slot = np.empty(0, K.dtype), np.empty(n + 1, np.int64)
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
        slot[: m + 1] = -1
        inner = 0.9 * tol if m == n or top - low < FINAL * tol else INNER * (top - low)
        steps += solve_block(
            (K, block, space[: m * m].reshape(m, m), slot[: m + 1]),
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

    Returns their number; the rise of the objective, d'(g_before + g_after)/2 - e (|new| - |old|), without its part of
    g_after; what its rounding error is relative to; and how far the coefficients moved, in three measures.
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


def least_gap(c, gradient, linear, lower, upper, insensitivity, total, gap, limit, violation):
    """The least of `gap` and min over b and t >= 0 of P(t, b) - D, found until it is clear on which side of the limit.

    Far from the solution, where it could not be within the limit, it is not looked for. With s = 1 - t and
    z_i = g_i + s f_i - b, the gap is a sum of non-negative terms, so that primal and dual do not cancel:

        gap(s, b) = s^2/2 c'Kc + sum_i [h_i(z_i) - (z_i c_i - e |c_i|)].
    """
    inside = np.minimum(c - lower, upper - c)
    if insensitivity > 0.0:
        inside = np.minimum(inside, np.abs(c))
    f = linear - gradient
    size = np.abs(f).max()
    if not (violation * inside.sum() <= WORTHWHILE * limit and 0.0 < size < np.inf):
        return gap
    cuts = _Cuts(c, gradient, f, lower, upper, insensitivity, total)
    value, slope = cuts.at(0.0)
    gap = min(gap, value)
    end, other_end = (0.0, value, slope), None  # tangents on both sides of the minimum, once there are two
    step = -np.sign(slope) * max(violation, 1e-16) / size
    for _ in range(MOST_CUTS):
        if gap <= 0.5 * limit or slope == 0.0:
            break
        if other_end is None:
            s = min(1.0, end[0] + step)
            step *= 4.0
        else:
            (a, at_a, slope_a), (b, at_b, slope_b) = end, other_end
            s = a + (at_b - at_a - slope_b * (b - a)) / (slope_a - slope_b)  # where the tangents meet
            floor = at_a + slope_a * (s - a)
            if floor > limit or gap - max(0.0, floor) <= 0.1 * gap:
                break
            near, far = min(a, b), max(a, b)
            s = min(max(s, near + 0.05 * (far - near)), far - 0.05 * (far - near))
        value, slope = cuts.at(s)
        gap = min(gap, value)
        if slope * end[2] > 0.0:
            end = (s, value, slope)
            if s == 1.0:  # t = 0
                break
        else:
            other_end = (s, value, slope)
    return float(gap)


class _Cuts:
    """min_b gap(s, b) and its slope by s, for any s.

    For one s the best b is that of a fractional knapsack: by linear programming duality

        min_b gap(s, b) = s^2/2 c'Kc + max_v  sum_i (g_i + s f_i)(v_i - c_i) - e (|v_i| - |c_i|)

    over lower <= v <= upper, sum(v) = total, which is solved by sorting slopes; its solution v gives the slope by s.
    """

    def __init__(self, c, gradient, f, lower, upper, insensitivity, total):
        self.c, self.gradient, self.f, self.insensitivity = c, gradient, f, insensitivity
        self.curvature = max(0.0, float(c @ f))
        self.lower, self.missing = lower, total - lower.sum()
        # An interval with zero inside is two: the slope of z v - e|v| changes there.
        kinked = (lower < 0.0) & (upper > 0.0) if insensitivity > 0.0 else np.zeros(len(c), dtype=bool)
        sign = np.where(lower >= 0.0, 1.0, -1.0)
        self.sample = np.concatenate([np.arange(len(c)), np.flatnonzero(kinked)])
        self.shift = insensitivity * np.concatenate([sign, np.ones(kinked.sum())])
        self.width = np.concatenate([np.where(kinked, -lower, upper - lower), upper[kinked]])

    def at(self, s: float) -> tuple[float, float]:
        slopes = self.gradient + s * self.f
        keys = slopes[self.sample] - self.shift
        order = np.argsort(-keys, kind="stable")
        width = self.width[order]
        before = np.cumsum(width) - width
        fill = np.clip(self.missing - before, 0.0, width)
        last = np.flatnonzero(fill > 0.0)
        b = keys[order[last[-1] if len(last) else 0]]
        v = self.lower + np.bincount(self.sample[order], fill, len(self.c))
        l1 = self.insensitivity * (np.abs(v) - np.abs(self.c))
        gap = np.maximum(0.0, (slopes - b) * (v - self.c) - l1).sum() + 0.5 * s * s * self.curvature
        return float(gap), float(s * self.curvature + (self.f * (v - self.c)).sum())


class KernelBlocks(Protocol):
    """A symmetric positive semidefinite matrix of which some entries are computed at a time."""

    def block(self, rows: np.ndarray) -> np.ndarray:
        """The matrix at these rows and columns."""

    def product(self, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """The matrix times a vector that is zero but for these entries."""


def solve_in_working_set(
    kernel: KernelBlocks,
    linear: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    total: float,
    insensitivity: float,
    start: np.ndarray,
    gap_tol: float,
    max_steps: int | None = None,
) -> Result | None:
    """Solve the box QP from a start near its solution; None where that needs too many of the samples.

    Parameters are those of `solve_box_qp`, and so is the rule ``gap <= gap_tol * max(1, |objective|)``.
    """
    n_samples = len(linear)
    c = feasible(start, lower, upper, total)
    working = np.zeros(n_samples, dtype=bool)
    steps = 0
    for _ in range(MOST_ROUNDS):
        used = np.flatnonzero(c)
        if not 0 < len(used) <= LARGEST_SHARE * n_samples:
            return None
        gradient = linear - kernel.product(used, c[used])
        objective, gap, b, violation = certify(c, gradient, linear, lower, upper, insensitivity)
        if gap <= gap_tol * max(1.0, abs(objective)):
            return Result(c, objective, gap, steps, True, violation, b)
        up, down = one_sided_slopes(c, gradient - b, lower, upper, insensitivity)
        distance = np.minimum(-up, down)  # from wanting another coefficient; negative where a sample does
        size = int(max(FIRST_FACTOR * len(used), FIRST_SHARE * n_samples))
        nearest = np.argpartition(distance, min(size, n_samples - 1))[:size]
        working[nearest] = working[used] = working[distance < 0.0] = True
        rows = np.flatnonzero(working)
        if len(rows) > LARGEST_SHARE * n_samples:
            return None
        part = solve_box_qp(
            kernel.block(rows),
            linear[rows],
            lower[rows],
            upper[rows],
            total,
            insensitivity,
            start=c[rows],
            gap_tol=0.5 * gap_tol,
            max_steps=None if max_steps is None else max(1, max_steps - steps),
        )
        steps += part.steps
        if not part.converged:
            return None
        c = np.zeros(n_samples)
        c[rows] = part.solution
    return None
