"""Compiled steps along cycles of classes: the joint multiclass dual on one dense block of samples.

Raising alpha_i^l gives to the column y_i of C what it takes from column l; lowering it does the reverse. So a feasible
direction is a circulation on the graph of the classes, and the elementary ones are cycles. With the slopes
S[l, i] = dJ / d alpha_i^l = m_il - (F[i, y_i] - F[i, l]),  F = K C,  the best way to move one unit from class b to a is

    edge[a, b] = max( max over y_i = a, alpha_i^b < C_i of S[b, i],   max over y_i = b, alpha_i^a > 0 of -S[a, i] )

and the point is optimal when no cycle has a positive sum, i.e. when there are biases with edge[a, b] <= b_a - b_b. The
largest mean slope of a cycle (Karp, 1978) is the smallest KKT violation that any biases can reach. Cycles of two
classes are the pair updates of a binary machine and do nearly all of the work; longer ones are looked for when no such
pair is left.

======================  ====================================================
symbol                  name
======================  ====================================================
alpha_i^l               alpha[l, i], zero for l = y_i
S                       slope[l, i], zero for l = y_i
C_i                     bound
samples of class a      positions starts[a] .. starts[a + 1] of the block
======================  ====================================================
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._pairs import FLAGS, FLAT, larger


@njit(cache=True, nogil=True, fastmath=FLAGS)
def largest(slope, shift, first, last, sign):
    """Max of sign * slope + shift over positions first .. last."""
    best = -np.inf
    slope, shift = slope[first:last], shift[first:last]
    for i in range(slope.shape[0]):
        best = larger(best, sign * slope[i] + shift[i])
    return best


@njit(cache=True, nogil=True)
def edge_value(slope, up, down, starts, a, b):
    """edge[a, b]."""
    raised = largest(slope[b], up[b], starts[a], starts[a + 1], 1.0)
    lowered = largest(slope[a], down[a], starts[b], starts[b + 1], -1.0)
    return max(raised, lowered)


@njit(cache=True, nogil=True)
def all_edges(slope, up, down, starts):
    """Every edge; -inf from a class to itself and where no sample can move."""
    k = slope.shape[0]
    edge = np.full((k, k), -np.inf)
    for a in range(k):
        for b in range(k):
            if a != b:
                edge[a, b] = edge_value(slope, up, down, starts, a, b)
    return edge


@njit(cache=True, nogil=True)
def refresh_edges(slope, up, down, starts, edge, p):
    """Bring the edges of class p up to date."""
    for b in range(slope.shape[0]):
        if b != p:
            edge[p, b] = edge_value(slope, up, down, starts, p, b)
            edge[b, p] = edge_value(slope, up, down, starts, b, p)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, error_model="numpy")
def locate_partner(slope, up, down, starts, a, b, i, top, row, diagonal, flat):
    """The sample that moves from b to a with the largest gain beside sample i, whose slope the other way is `top`."""
    best = 0.0
    sample = -1
    rises = True
    for j in range(starts[a], starts[a + 1]):
        rise = slope[b, j] + up[b, j] + top
        if rise > 0.0:
            value = rise * rise / max(diagonal[i] + diagonal[j] - 2.0 * row[j], flat)
            if value > best:
                best, sample, rises = value, j, True
    for j in range(starts[b], starts[b + 1]):
        rise = -slope[a, j] + down[a, j] + top
        if rise > 0.0:
            value = rise * rise / max(diagonal[i] + diagonal[j] - 2.0 * row[j], flat)
            if value > best:
                best, sample, rises = value, j, False
    return sample, rises


@njit(cache=True, nogil=True)
def best_pair(edge):
    """The two classes whose cycle has the largest sum, and that sum."""
    best = -np.inf
    first, second = -1, -1
    for a in range(edge.shape[0]):
        for b in range(a):
            value = edge[a, b] + edge[b, a]
            if value > best:
                best, first, second = value, a, b
    return first, second, best


@njit(cache=True, nogil=True)
def best_cycle(edge):
    """Karp's cycle of largest mean: its mean (-inf where there is none) and its classes, each giving to the next."""
    k = edge.shape[0]
    walk = np.zeros((k + 1, k))  # best sum of a walk of so many edges that ends at a class
    before = np.full((k + 1, k), -1)
    for length in range(1, k + 1):
        for a in range(k):
            best = -np.inf
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
            smallest = np.inf
            for length in range(k):
                if walk[length, a] > -np.inf:
                    smallest = min(smallest, (walk[k, a] - walk[length, a]) / (k - length))
            if smallest > mean:
                mean = smallest
                end = a
    if end < 0:
        return -np.inf, np.empty(0, np.int64)
    trail = np.empty(k + 1, np.int64)
    place = np.full(k, -1)
    a = end
    for step in range(k + 1):
        trail[step] = a
        if place[a] >= 0:
            cycle = trail[place[a] : step][::-1].copy()
            total = 0.0
            for e in range(cycle.shape[0]):
                total += edge[cycle[(e + 1) % cycle.shape[0]], cycle[e]]
            return total / cycle.shape[0], cycle
        place[a] = step
        a = before[k - step, a]
    return -np.inf, np.empty(0, np.int64)


@njit(cache=True, nogil=True)
def potentials(edge, mean):
    """Biases with edge[a, b] <= b_a - b_b + max(mean, 0): best sums of walks that end at each class."""
    k = edge.shape[0]
    level = max(mean, 0.0)
    bias = np.zeros(k)
    for _ in range(k):
        for a in range(k):
            for b in range(k):
                bias[a] = max(bias[a], bias[b] + edge[a, b] - level)
    return bias


@njit(cache=True, nogil=True, fastmath=FLAGS)
def add_scaled(target, source, weight, first, last):
    """target += weight * source on positions first .. last."""
    target, source = target[first:last], source[first:last]
    for i in range(target.shape[0]):
        target[i] += weight * source[i]


@njit(cache=True, nogil=True)
def transfer(slope, row, starts, source, target, t):
    """Slopes after one sample, whose kernel row is given, moved t from class `source` to class `target`."""
    add_scaled(slope[target], row, t, 0, row.shape[0])
    add_scaled(slope[source], row, -t, 0, row.shape[0])
    for l in range(slope.shape[0]):  # noqa: E741
        add_scaled(slope[l], row, -t, starts[target], starts[target + 1])
        add_scaled(slope[l], row, t, starts[source], starts[source + 1])


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, error_model="numpy")
def cycle_step(K, alpha, slope, up, down, bound, starts, classes, samples, rises, flat):
    """The best step along a cycle of classes, each giving to the next through its sample; returns whether it moved."""
    count = classes.shape[0]
    total = 0.0
    curvature = 0.0
    room = np.inf
    for e in range(count):
        source, target, i = classes[e], classes[(e + 1) % count], samples[e]
        if rises[e]:
            total += slope[source, i]
            room = min(room, bound[i] - alpha[source, i])
        else:
            total -= slope[target, i]
            room = min(room, alpha[target, i])
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
    t = min(room, total / curvature) if curvature > flat else room
    if not (t > 0.0 and np.isfinite(t)):
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


@njit(cache=True, nogil=True)
def set_shifts(alpha, bound, starts):
    """Shifts of every alpha: 0 where it may rise (fall), -inf where not."""
    k, m = alpha.shape
    up = np.zeros((k, m))
    down = np.zeros((k, m))
    for l in range(k):  # noqa: E741
        for i in range(m):
            if alpha[l, i] >= bound[i]:
                up[l, i] = -np.inf
            if alpha[l, i] <= 0.0:
                down[l, i] = -np.inf
        for i in range(starts[l], starts[l + 1]):
            up[l, i] = -np.inf
            down[l, i] = -np.inf
    return up, down


@njit(cache=True, nogil=True)
def solve_cycles(K, alpha, slope, bound, starts, tol, max_steps):
    """Steps until no cycle of classes has a mean slope above tol; alpha and slope in place. Returns steps."""
    m = alpha.shape[1]
    up, down = set_shifts(alpha, bound, starts)
    edge = all_edges(slope, up, down, starts)
    diagonal = np.empty(m)
    for i in range(m):
        diagonal[i] = K[i, i]
    flat = FLAT * np.max(np.abs(diagonal)) + 1e-300
    steps = 0
    pair = np.empty(2, np.int64)
    while steps < max_steps:
        a, b, total = best_pair(edge)
        if total > 2.0 * tol:
            i, i_rises = locate(slope, up, down, starts, a, b)
            top = edge[a, b]
            j, j_rises = locate_partner(slope, up, down, starts, b, a, i, top, K[i], diagonal, flat)
            pair[0], pair[1] = b, a
            classes = pair
            samples = np.array([i, j])
            rises = np.array([i_rises, j_rises])
        else:
            mean, classes = best_cycle(edge)
            if not mean > tol:
                break
            count = classes.shape[0]
            samples = np.empty(count, np.int64)
            rises = np.empty(count, np.bool_)
            for e in range(count):
                samples[e], rises[e] = locate(slope, up, down, starts, classes[(e + 1) % count], classes[e])
        steps += 1
        if not cycle_step(K, alpha, slope, up, down, bound, starts, classes, samples, rises, flat):
            break  # below the resolution of floating point
        for e in range(classes.shape[0]):
            refresh_edges(slope, up, down, starts, edge, classes[e])
    return steps
