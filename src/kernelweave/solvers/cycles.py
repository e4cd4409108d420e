"""The joint multiclass dual: compiled steps along cycles of classes on one dense block, and the certificate of a point.

Raising alpha_i^l gives to the column y_i of C what it takes from column l; lowering it does the reverse. So a feasible
direction is a circulation on the graph of the classes, and the elementary ones are cycles. With the slopes
S[l, i] = dJ / d alpha_i^l = m_il - (F[i, y_i] - F[i, l]),  F = K C,  the best way to move one unit from class b to a is

    edge[a, b] = max( max over y_i = a, alpha_i^b < C_i of S[b, i],   max over y_i = b, alpha_i^a > 0 of -S[a, i] )

and the point is optimal when no cycle has a positive sum, i.e. when there are biases with edge[a, b] <= b_a - b_b. The
largest mean slope of a cycle (Karp, 1978) is the smallest KKT violation that any biases can reach. Cycles of two
classes are the pair updates of a binary machine and do nearly all of the work; longer ones are looked for when no such
pair is left.

With z_il = S[l, i] - (b_{y_i} - b_l), any biases give an upper bound on the optimum, and the distance to it is a sum of
non-negative terms,

    gap(b) = sum_il  C_i max(0, z_il) - alpha_i^l z_il ,

convex and piecewise linear in b. Along one bias its minimum is a weighted quantile.

alpha_i^l is alpha[l, i] and S slope[l, i], both zero for l = y_i; C_i is `bound`, and the samples of class a are at the
positions starts[a] .. starts[a + 1] of the block.
"""

from __future__ import annotations

import numpy as np

from .compiled import compiled
from .pairs import FLAGS, FLAT, add_scaled, larger, smaller


@compiled(fastmath=FLAGS)
def largest(slope, shift, sign):
    best = -np.inf
    for i in range(slope.shape[0]):
        best = larger(best, sign * slope[i] + shift[i])
    return best


@compiled
def refresh_edges(slope, up, down, starts, edge, p):
    for q in range(slope.shape[0]):
        for turn in range(2):
            a, b = (p, q) if turn == 0 else (q, p)
            if a != b:
                raised = largest(slope[b, starts[a] : starts[a + 1]], up[b, starts[a] : starts[a + 1]], 1.0)
                lowered = largest(slope[a, starts[b] : starts[b + 1]], down[a, starts[b] : starts[b + 1]], -1.0)
                edge[a, b] = larger(raised, lowered)


@compiled
def locate(slope, up, down, starts, a, b):
    """The sample of edge[a, b], and whether its alpha rises."""
    best = -np.inf
    sample = -1
    rises = True
    for i in range(starts[a], starts[a + 1]):
        value = slope[b, i] + up[b, i]
        if value > best:
            best, sample, rises = value, i, True
    for i in range(starts[b], starts[b + 1]):
        value = -slope[a, i] + down[a, i]
        if value > best:
            best, sample, rises = value, i, False
    return sample, rises


@compiled(error_model="numpy")
def locate_partner(slope, up, down, starts, a, b, i, top, row, diagonal, flat):
    """The sample that moves from b to a with the largest gain beside sample i, whose slope the other way is `top`."""
    best = 0.0
    sample = -1
    rises = True
    for j in range(starts[a], starts[a + 1]):
        rise = slope[b, j] + up[b, j] + top
        if rise > 0.0:
            value = rise * rise / larger(diagonal[i] + diagonal[j] - 2.0 * row[j], flat)
            if value > best:
                best, sample, rises = value, j, True
    for j in range(starts[b], starts[b + 1]):
        rise = -slope[a, j] + down[a, j] + top
        if rise > 0.0:
            value = rise * rise / larger(diagonal[i] + diagonal[j] - 2.0 * row[j], flat)
            if value > best:
                best, sample, rises = value, j, False
    return sample, rises


@compiled
def best_pair(edge):
    best = -np.inf
    first, second = -1, -1
    for a in range(edge.shape[0]):
        for b in range(a):
            value = edge[a, b] + edge[b, a]
            if value > best:
                best, first, second = value, a, b
    return first, second, best


@compiled(error_model="numpy")
def find_cycle(edge, walk, before, place, trail, cycle):
    """Karp's cycle of largest mean: its mean (-inf where there is none) and length; its classes go into `cycle`.

    `walk[length, a]` is the best sum of a walk of so many edges that ends at class a, `before` the class it came from.
    """
    k = edge.shape[0]
    for a in range(k):
        walk[0, a] = 0.0
        place[a] = -1
    for length in range(1, k + 1):
        for a in range(k):
            best = -np.inf
            before[length, a] = -1
            for b in range(k):
                value = walk[length - 1, b] + edge[a, b]
                if value > best:
                    best = value
                    before[length, a] = b
            walk[length, a] = best
    mean = -np.inf
    end = -1
    for a in range(k):
        if walk[k, a] > -np.inf:
            least = np.inf
            for length in range(k):
                if walk[length, a] > -np.inf:
                    least = smaller(least, (walk[k, a] - walk[length, a]) / (k - length))
            if least > mean:
                mean = least
                end = a
    if end < 0:
        return -np.inf, 0
    a, step = end, 0
    while place[a] < 0:  # k + 1 classes are on the walk, so one is met twice
        place[a] = step
        trail[step] = a
        step += 1
        a = before[k - step + 1, a]
    count = step - place[a]
    total = 0.0
    for e in range(count):  # back to front, so that each class gives to the next
        cycle[e] = trail[step - 1 - e]
    for e in range(count):
        total += edge[cycle[(e + 1) % count], cycle[e]]
    return total / count, count


def best_cycle(edge: np.ndarray) -> tuple[float, np.ndarray]:
    walk, before, place, trail, cycle = _cycle_space(len(edge))
    mean, count = find_cycle(edge, walk, before, place, trail, cycle)
    return mean, cycle[:count]


def _cycle_space(k: int) -> tuple[np.ndarray, ...]:
    walk, before = np.empty((k + 1, k)), np.empty((k + 1, k), np.int64)
    return walk, before, np.empty(k, np.int64), np.empty(k, np.int64), np.empty(max(k, 2), np.int64)


def potentials(edge: np.ndarray, mean: float) -> np.ndarray:
    """Biases with edge[a, b] <= b_a - b_b + max(mean, 0): best sums of walks that end at each class."""
    gains = edge - max(mean, 0.0)
    bias = np.zeros(len(edge))
    for _ in range(len(edge)):
        longer = np.maximum(bias, np.max(gains + bias, axis=1))
        if np.array_equal(longer, bias):
            break
        bias = longer
    return bias


@compiled
def transfer(slope, row, starts, source, target, t):
    """Slopes after one sample, whose kernel row is given, moved t from class `source` to class `target`."""
    m = row.shape[0]
    add_scaled(slope[target], row, t, m)
    add_scaled(slope[source], row, -t, m)
    for l in range(slope.shape[0]):  # noqa: E741
        first, last = starts[target], starts[target + 1]
        add_scaled(slope[l, first:last], row[first:last], -t, last - first)
        first, last = starts[source], starts[source + 1]
        add_scaled(slope[l, first:last], row[first:last], t, last - first)


@compiled
def move(alpha, up, down, bound, l, i, t):  # noqa: E741
    """Change one alpha by t, landing exactly on a bound where it is meant to; returns whether anything moved."""
    old = alpha[l, i]
    new = old + t
    if t >= bound[i] - old:
        new = bound[i]
    elif -t >= old:
        new = 0.0
    alpha[l, i] = new
    up[l, i] = -np.inf if new >= bound[i] else 0.0
    down[l, i] = -np.inf if new <= 0.0 else 0.0
    return new != old


@compiled(error_model="numpy")
def cycle_step(K, alpha, slope, up, down, bound, starts, classes, count, samples, rises, flat):
    """The best step along a cycle of classes, each giving to the next through its sample; returns whether it moved."""
    total = 0.0
    curvature = 0.0
    room = np.inf
    for e in range(count):
        source, target, i = classes[e], classes[(e + 1) % count], samples[e]
        if rises[e]:
            total += slope[source, i]
            room = smaller(room, bound[i] - alpha[source, i])
        else:
            total -= slope[target, i]
            room = smaller(room, alpha[target, i])
        for f in range(count):  # D'KD, D having +1 at the target and -1 at the source of each transfer
            other_source, other_target = classes[f], classes[(f + 1) % count]
            weight = (
                (target == other_target)
                + (source == other_source)
                - (target == other_source)
                - (source == other_target)
            )
            if weight != 0:
                curvature += weight * K[i, samples[f]]
    t = smaller(total / curvature, room) if curvature > flat else room
    if not 0.0 < t < np.inf:
        return False
    moved = False
    for e in range(count):
        source, target, i = classes[e], classes[(e + 1) % count], samples[e]
        if rises[e]:
            moved |= move(alpha, up, down, bound, source, i, t)
        else:
            moved |= move(alpha, up, down, bound, target, i, -t)
        transfer(slope, K[i], starts, source, target, t)
    return moved


@compiled
def take_steps(
    K, alpha, slope, bound, starts, tol, max_steps,  # see solve_cycles
    up, down, diagonal, flat, edge, samples, rises, walk, before, place, trail, classes,
):  # fmt: skip
    for a in range(edge.shape[0]):
        refresh_edges(slope, up, down, starts, edge, a)
    steps = 0
    while steps < max_steps:
        a, b, total = best_pair(edge)
        if total > 2.0 * tol:
            count = 2
            classes[0], classes[1] = b, a
            i, rises[0] = locate(slope, up, down, starts, a, b)
            samples[0] = i
            samples[1], rises[1] = locate_partner(slope, up, down, starts, b, a, i, edge[a, b], K[i], diagonal, flat)
        else:
            mean, count = find_cycle(edge, walk, before, place, trail, classes)
            if not mean > tol:
                break
            for e in range(count):
                samples[e], rises[e] = locate(slope, up, down, starts, classes[(e + 1) % count], classes[e])
        steps += 1
        if not cycle_step(K, alpha, slope, up, down, bound, starts, classes, count, samples, rises, flat):
            break  # below the resolution of floating point
        for e in range(count):
            refresh_edges(slope, up, down, starts, edge, classes[e])
    return steps


def solve_cycles(K, alpha, slope, bound, starts, tol, max_steps):
    """Steps until no cycle of classes has a mean slope above tol; alpha and slope in place. Returns steps."""
    k, m = alpha.shape
    own = np.repeat(np.arange(k), np.diff(starts)), np.arange(m)
    up = np.where(alpha >= bound, -np.inf, 0.0)  # shifts: 0 where alpha may rise (fall), -inf where not
    down = np.where(alpha <= 0.0, -np.inf, 0.0)
    up[own] = down[own] = -np.inf
    diagonal = K.diagonal().copy()
    flat = FLAT * np.abs(diagonal).max() + 1e-300
    edge = np.full((k, k), -np.inf)
    samples, rises = np.empty(max(k, 2), np.int64), np.empty(max(k, 2), np.bool_)
    arrays = (up, down, diagonal, flat, edge, samples, rises, *_cycle_space(k))
    return take_steps(K, alpha, slope, bound, starts, tol, max_steps, *arrays)


@compiled
def fill_edges(alpha, slope, labels, bound, edge, sample):
    """`class_edges` into arrays that hold -inf and -1."""
    for l in range(alpha.shape[0]):  # noqa: E741
        for i in range(alpha.shape[1]):
            y = labels[i]
            if y == l:
                continue
            if alpha[l, i] < bound[i] and slope[l, i] > edge[y, l]:
                edge[y, l] = slope[l, i]
                sample[y, l] = i
            if alpha[l, i] > 0.0 and -slope[l, i] > edge[l, y]:
                edge[l, y] = -slope[l, i]
                sample[l, y] = i


def class_edges(alpha, slope, labels, bound):
    k = len(alpha)
    edge, sample = np.full((k, k), -np.inf), np.full((k, k), -1)
    fill_edges(alpha, slope, labels, bound, edge, sample)
    return edge, sample


def disagreement(slope, labels, bias):
    return slope - bias[labels] + bias[:, None]


def sample_ranks(alpha, slope, labels, bound, bias):
    """How far each sample is from agreeing with the biases (positive: violating)."""
    z = disagreement(slope, labels, bias)
    rank = np.maximum(np.where(alpha < bound, z, -np.inf), np.where(alpha > 0.0, -z, -np.inf))
    rank[labels, np.arange(len(labels))] = -np.inf
    return rank.max(axis=0)


def gap_of(alpha, slope, labels, bound, bias):
    z = disagreement(slope, labels, bias)
    z[labels, np.arange(len(labels))] = 0.0
    return float(np.sum(np.where(z > 0.0, bound - alpha, -alpha) * z))


def mean_biases(alpha, slope, labels, bound, bias):
    """Biases that fit the slopes of the free alphas, which equal b_y - b_l at the optimum, by least squares."""
    k, n = alpha.shape
    free = (alpha > 0.0) & (alpha < bound)  # never for the own class, whose alpha is 0
    z = np.where(free, disagreement(slope, labels, bias), 0.0)
    count, total = (np.stack([np.bincount(labels, row, minlength=k) for row in values]) for values in (free, z))
    return fitted_biases(bias, count, total, n)


def fitted_biases(bias, count, total, n):
    """`mean_biases` from the number of free alphas of each class l (row) and class of samples y, and the sums of z."""
    laplacian = -(count + count.T)
    laplacian[np.diag_indices(len(bias))] = 1e-9 * n - laplacian.sum(axis=1)  # classes without any keep their bias
    return bias + np.linalg.solve(laplacian, total.sum(axis=0) - total.sum(axis=1))


def polish_biases(alpha, slope, labels, bound, bias):
    """One sweep of exact minimisation of the gap along each bias, in place."""
    for a in range(len(alpha)):
        own, rest = np.flatnonzero(labels == a), np.flatnonzero(labels != a)
        others = np.delete(np.arange(len(alpha)), a)
        falling = (slope[others][:, own] + bias[others, None]).ravel()
        at = np.concatenate([falling, bias[labels[rest]] - slope[a, rest]])
        weight = np.concatenate([np.tile(bound[own], len(others)), bound[rest]])
        # sum alpha_il z_il contributes sum alpha (b_y - b_l) = 0 in exact arithmetic
        order = np.argsort(at)
        passed = np.cumsum(weight[order])
        # the slope of the gap far to the left, added up as `passed` is, so that equal weights reach it exactly
        fall = np.cumsum(weight[: len(falling)])[-1] if len(falling) else 0.0
        position = int(np.searchsorted(passed, fall))
        if position < len(at):
            low = at[order[position]]
            last = position + 1 == len(at) or passed[position] > fall or fall == 0.0
            bias[a] = low if last else 0.5 * (low + at[order[position + 1]])
