"""One dense block of the box QP: pair updates (sequential minimal optimisation), and Newton steps on the free samples.

The problem is  maximise  p'c - e |c|_1 - 1/2 c'Kc  with  sum(c) fixed and  lower <= c <= upper.
A pair update,  c_i += t,  c_j -= t,  keeps the sum. With the gradient g = p - K c of the smooth part, the one-sided
slopes of the objective are

    raising c_i:   up_i   = g_i - e  if c_i >= 0  else  g_i + e      (not allowed at the upper bound)
    lowering c_j:  down_j = g_j - e  if c_j > 0   else  g_j + e      (not allowed at the lower bound)

and c is optimal when  max up <= min down  (libsvm's m <= M). The pair is i = argmax up and, with second-order
information (Fan, Chen and Lin, 2005),  j = argmax (up_i - down_j)^2 / (K_ii + K_jj - 2 K_ij)  over the j with
down_j < up_i.

g is `gradient`, up_i - g_i `up_shift` (-inf where c_i may not rise), down_j - g_j `down_shift` (+inf where c_j may not
fall), K_ii + K_jj - 2 K_ij `curvature`, and e `insensitivity`.

Both selections are one vectorised pass each: a float is compared through its bit pattern (the order of non-negative
floats is the order of their bits) whose lowest bits are replaced by the sample's position, so one integer maximum finds
value and place. The bits given up are far below the violation.

The block is a list of samples; rows of its kernel are copied out of K when a step first needs them, side by
side, so that the loops run over short contiguous rows that stay in the cache. A Newton step takes about as long as
free^3 / (50 samples) pair updates, and is counted as so many steps; it is due after a run of updates, a
fraction as long, in which no sample reached or left a bound, or after any run some times as long.

On the free samples F (strictly inside their box and, with an l1 term, away from zero) the objective is a smooth
concave quadratic with slopes r = g_F - e sign(c_F), and the best step that keeps the sum solves

    K_FF d + b 1 = r,    1'd = 0        =>     d = K_FF^-1 (r - b 1),    b = 1'K_FF^-1 r / 1'K_FF^-1 1 .

The step follows d to the first bound that a sample meets, pins that sample there, d_B = end - c_B, by a further
multiplier, and goes on towards the best d that is left: an active set method that raises the objective all the way and
for which one factor of K_FF serves throughout. A step that rounding keeps from raising it is taken back. A ridge keeps
the factor of a rank-deficient kernel defined; slopes are taken from their mean, or b 1 / ridge would be far larger than
d. The Cholesky factors are our own: as fast as LAPACK's at this size, in one thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import intrinsic

from .compiled import compiled, read_only

# No "ninf": the masks are infinities. "nnan": the caller finds NaN in K by checking the final gradient.
FLAGS = {"nnan", "nsz", "reassoc", "contract", "arcp"}
PLACE = np.int64(0xFFFF)  # room for the position within a block
MAX_BLOCK = 0xFFFF
FLAT = 1e-14  # curvature along a cycle below this fraction of the largest diagonal entry counts as zero
PAIR_FLAT = 3e-16  # and along a pair below this fraction of K_ii + K_jj: less is only rounding
ROUNDING = 4.5e-16  # a coefficient this close to its bound, relative to what was added up, is on it
LOWEST = -1.7e308  # any finite number is larger
TINY = 1e-300  # keeps zero curvature from dividing by zero
NEWTON_SPEED = 50.0
NEWTON_WAIT = 0.3
NEWTON_PATIENCE = 3.0
NEWTON_LEAST = 30.0
RIDGE = 1e-11  # times the diagonal entry
SUM_KEPT = 1e-12  # of the sizes of the coefficients: what a step may do to their sum
PINS = 6  # about one in so many free samples may be pinned before the step ends


def _selecting(comparison: str) -> Any:
    """Minimum or maximum as one compare and select that LLVM may vectorise (Python's own keeps NaN order)."""

    @intrinsic
    def choose(typing, a, b):
        def build(context, builder, signature, args):
            flags = ("nnan", "nsz")
            chosen = builder.fcmp_ordered(comparison, args[0], args[1], flags=flags)
            return builder.select(chosen, args[0], args[1], flags=flags)

        return a(a, b), build

    return choose


larger = _selecting(">")
smaller = _selecting("<")


@compiled(inner=True)
def bits(value):
    return np.float64(value).view(np.int64)


@compiled(inner=True, error_model="numpy")
def up_shift(c, upper, insensitivity):
    if c >= upper:
        return -np.inf
    return -insensitivity if c >= 0.0 else insensitivity


@compiled(inner=True, error_model="numpy")
def down_shift(c, lower, insensitivity):
    if c <= lower:
        return np.inf
    return -insensitivity if c > 0.0 else insensitivity


@compiled(inner=True, fastmath=FLAGS, error_model="numpy")
def update_and_pick(gradient, row_i, row_j, t, shift, reference):
    """Gradient step g -= t (K_i - K_j), fused with argmax of up - reference; -1 when none is positive."""
    best = np.int64(0)
    for k in range(gradient.shape[0]):
        value = gradient[k] - t * row_i[k] + t * row_j[k]  # t is double, so single-precision rows lose nothing
        gradient[k] = value
        best = max(best, (bits(larger(value + shift[k] - reference, 0.0)) & ~PLACE) | k)
    return best & PLACE if best > PLACE else -1


@compiled(inner=True, error_model="numpy")
def pick_end(gradient, shift, sign):
    """Argmax of up (sign 1), or argmin of down (sign -1), also where it violates nothing."""
    best = -np.inf
    place = -1
    for k in range(gradient.shape[0]):
        value = sign * (gradient[k] + shift[k])
        if value > best:
            best = value
            place = k
    return place


@compiled(inner=True, fastmath=FLAGS, error_model="numpy")
def pick_down(gradient, row_i, shift, diagonal, diagonal_i, top):
    """Second-order partner of i (-1 when no down is below top), and min down."""
    best = np.int64(0)
    low = np.inf
    for k in range(gradient.shape[0]):
        value = gradient[k] + shift[k]
        low = smaller(low, value)
        fall = larger(top - value, 0.0)
        both = diagonal_i + diagonal[k]
        curvature = larger(both - 2.0 * row_i[k], PAIR_FLAT * larger(both, -both) + TINY)
        best = max(best, (bits(fall * fall / curvature) & ~PLACE) | k)
    return best & PLACE if best > PLACE else -1, low


@compiled(inner=True, error_model="numpy")
def pair_length(slope, curvature, flat, c_i, c_j, room, insensitivity):
    """Maximiser t of the piecewise quadratic along the pair; its slope drops by 2e where a coefficient crosses 0."""
    t = 0.0
    for _ in range(3):
        cross = room
        if insensitivity > 0.0:
            if c_i + t < 0.0 and -c_i < cross:
                cross = -c_i
            if c_j - t > 0.0 and c_j < cross:
                cross = c_j
        if curvature > flat and t + slope / curvature <= cross:
            return t + slope / curvature
        slope -= curvature * (cross - t)
        if c_i == -cross:
            slope -= 2.0 * insensitivity
        if c_j == cross:  # both at once, as from opposite bounds
            slope -= 2.0 * insensitivity
        t = cross
        if t >= room or slope <= 0.0:
            break
    return t


@compiled(inner=True, error_model="numpy")
def move(c, t, upper):
    """c + t, landing exactly on the bound (also where only rounding keeps it away) or on zero when it is meant to."""
    if t >= upper - c - ROUNDING * (abs(c) + t):
        return upper
    if c < 0.0 and t == -c:
        return 0.0
    return c + t


@compiled(inner=True, error_model="numpy")
def fetch(K, block, rows, slot, a):
    """The place in `rows` of row a of the block, which is copied there at its first use; slot[-1] counts them."""
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


def solve_block(source, diagonal, problem, tol, budget):
    """Alternate runs of pair updates with Newton steps on the free samples, in place; returns the number of steps.

    `source` is the kernel K, the samples of the block, room for the block's rows of K, and where in it each of them
    lies; `problem` is coefficients c and gradient of the block (both changed), their bounds, and the insensitivity.
    """
    steps, newton_works = 0, True
    source[3][-1] = 0  # rows copied so far
    shifts = np.empty((2, len(diagonal)))
    while True:
        done, free = update_pairs(*source, diagonal, *problem, shifts, tol, budget - steps, newton_works)
        steps += done
        if free == 0:
            return steps
        newton_works = newton_step(*source, *problem, free)
        steps += 1 + int(free**3 / (NEWTON_SPEED * len(diagonal)))


@compiled(error_model="numpy")
def update_pairs(
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
    i = pick_end(gradient, raise_shift, 1.0)
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
                j = pick_end(gradient, lower_shift, -1.0)
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
            i = pick_end(gradient, raise_shift, 1.0)
    return steps, 0


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

    Returns r'd - d'g_before / 2, or -inf where the step does not keep the sum: the kernel of the free samples is nearly
    singular, and rounding left more than that sample has room for.
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
    gain, total, sizes = 0.0, 0.0, 0.0
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
        total += step[a]
        sizes += abs(here[a]) + abs(step[a])
    return gain if abs(total) <= SUM_KEPT * sizes else -np.inf


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
    kept, step = gradient.copy(), work[6]
    subtract_rows(read_only(rows), slots, step, gradient)
    if gain + 0.5 * np.dot(step, gradient[free]) > 0.0:  # r'd + d'(g_after - g_before) / 2
        return True
    c[free] = work[0]
    gradient[:] = kept
    return False


@compiled(fastmath=FLAGS, error_model="numpy")
def subtract_rows(K, rows, weights, gradient):
    """gradient -= sum_r weights_r K[rows_r], four rows to a pass."""
    n = gradient.shape[0]
    count = rows.shape[0]
    r = 0
    while r + 4 <= count:
        a, b, d, e = K[rows[r]], K[rows[r + 1]], K[rows[r + 2]], K[rows[r + 3]]
        u, v, w, x = weights[r], weights[r + 1], weights[r + 2], weights[r + 3]
        for k in range(n):
            gradient[k] -= u * a[k] + v * b[k] + w * d[k] + x * e[k]
        r += 4
    while r < count:
        a, u = K[rows[r]], weights[r]
        for k in range(n):
            gradient[k] -= u * a[k]
        r += 1


@compiled(inner=True, fastmath=FLAGS, error_model="numpy")
def dot(a, b, n):
    result = 0.0
    for k in range(n):
        result += a[k] * b[k]
    return result


@compiled(inner=True, fastmath=FLAGS, error_model="numpy")
def add_scaled(target, source, weight, n):
    for k in range(n):
        target[k] += weight * source[k]


@compiled(inner=True, error_model="numpy")
def factorise(A, i):
    """Replace row i of A by that of its Cholesky factor, given the rows before it; False where there is none."""
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
    for i in range(n):
        x[i] = (x[i] - dot(factor[i], x, i)) / factor[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= factor[i, i]
        add_scaled(x, factor[i], -x[i], i)
