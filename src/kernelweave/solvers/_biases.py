"""Compiled certificate of the joint multiclass dual: KKT violation, biases and duality gap over all samples.

With z_il = S[l, i] - (b_{y_i} - b_l), any biases give an upper bound on the optimum, and the distance to it is a sum of
non-negative terms,

    gap(b) = sum_il  C_i max(0, z_il) - alpha_i^l z_il ,

convex and piecewise linear in b. Along one bias its minimum is a weighted quantile. Symbols as in `_cycles`.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def class_edges(alpha, slope, labels, bound):
    """edge[a, b] over all samples (see `_cycles`) and the sample that attains it."""
    k, n = alpha.shape
    edge = np.full((k, k), -np.inf)
    sample = np.full((k, k), -1)
    for l in range(k):  # noqa: E741
        for i in range(n):
            y = labels[i]
            if y == l:
                continue
            if alpha[l, i] < bound[i] and slope[l, i] > edge[y, l]:
                edge[y, l] = slope[l, i]
                sample[y, l] = i
            if alpha[l, i] > 0.0 and -slope[l, i] > edge[l, y]:
                edge[l, y] = -slope[l, i]
                sample[l, y] = i
    return edge, sample


@njit(cache=True, nogil=True)
def sample_ranks(alpha, slope, labels, bound, bias):
    """How far each sample is from agreeing with the biases (positive: violating)."""
    k, n = alpha.shape
    rank = np.full(n, -np.inf)
    for l in range(k):  # noqa: E741
        for i in range(n):
            y = labels[i]
            if y != l:
                z = slope[l, i] - bias[y] + bias[l]
                if alpha[l, i] < bound[i]:
                    rank[i] = max(rank[i], z)
                if alpha[l, i] > 0.0:
                    rank[i] = max(rank[i], -z)
    return rank


@njit(cache=True, nogil=True)
def gap_of(alpha, slope, labels, bound, bias):
    """The duality gap at these biases."""
    k, n = alpha.shape
    gap = 0.0
    for l in range(k):  # noqa: E741
        for i in range(n):
            if labels[i] != l:
                z = slope[l, i] - bias[labels[i]] + bias[l]
                gap += (bound[i] - alpha[l, i]) * z if z > 0.0 else -alpha[l, i] * z
    return gap


@njit(cache=True, nogil=True)
def mean_biases(alpha, slope, labels, bound, bias):
    """Biases that fit the slopes of the free alphas, which equal b_y - b_l at the optimum, by least squares."""
    k, n = alpha.shape
    count = np.zeros((k, k))
    total = np.zeros(k)
    for l in range(k):  # noqa: E741
        for i in range(n):
            y = labels[i]
            if y != l and 0.0 < alpha[l, i] < bound[i]:
                count[y, l] += 1.0
                total[y] += slope[l, i] - bias[y] + bias[l]
                total[l] -= slope[l, i] - bias[y] + bias[l]
    laplacian = -(count + count.T)
    for a in range(k):
        laplacian[a, a] = -np.sum(laplacian[a]) + 1e-9 * n  # classes without free alphas keep their bias
    return bias + np.linalg.solve(laplacian, total)


@njit(cache=True, nogil=True)
def polish_biases(alpha, slope, labels, bound, bias):
    """One sweep of exact minimisation of the gap along each bias, in place."""
    k, n = alpha.shape
    for a in range(k):
        at = np.empty(n * k)
        weight = np.empty(n * k)
        count = 0
        fall = 0.0  # slope of the gap far to the left
        for i in range(n):
            y = labels[i]
            if y == a:
                for l in range(k):  # noqa: E741
                    if l != a:
                        at[count], weight[count] = slope[l, i] + bias[l], bound[i]
                        fall += bound[i]
                        count += 1
            else:
                at[count], weight[count] = bias[y] - slope[a, i], bound[i]
                count += 1
        # sum alpha_il z_il contributes sum alpha (b_y - b_l) = 0 in exact arithmetic
        order = np.argsort(at[:count])
        passed = 0.0
        for position in range(count):
            passed += weight[order[position]]
            if passed >= fall:
                low = at[order[position]]
                last = position + 1 == count or passed > fall or fall == 0.0
                bias[a] = low if last else 0.5 * (low + at[order[position + 1]])
                break
