"""Certificate of the joint multiclass dual: KKT violation, biases and duality gap over all samples.

With z_il = S[l, i] - (b_{y_i} - b_l), any biases give an upper bound on the optimum, and the distance to it is a sum of
non-negative terms,

    gap(b) = sum_il  C_i max(0, z_il) - alpha_i^l z_il ,

convex and piecewise linear in b. Along one bias its minimum is a weighted quantile. Symbols as in `_cycles`.
"""

from __future__ import annotations

import numpy as np

from ..compiled import compiled


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


def class_edges(
    alpha: np.ndarray, slope: np.ndarray, labels: np.ndarray, bound: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """edge[a, b] over all samples (see `_cycles`) and the sample that attains it."""
    k = len(alpha)
    edge, sample = np.full((k, k), -np.inf), np.full((k, k), -1)
    fill_edges(alpha, slope, labels, bound, edge, sample)
    return edge, sample


def disagreement(slope: np.ndarray, labels: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """z of shape (k, n)."""
    return slope - bias[labels] + bias[:, None]


def sample_ranks(
    alpha: np.ndarray, slope: np.ndarray, labels: np.ndarray, bound: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """How far each sample is from agreeing with the biases (positive: violating)."""
    z = disagreement(slope, labels, bias)
    rank = np.maximum(np.where(alpha < bound, z, -np.inf), np.where(alpha > 0.0, -z, -np.inf))
    rank[labels, np.arange(len(labels))] = -np.inf
    return rank.max(axis=0)


def gap_of(alpha: np.ndarray, slope: np.ndarray, labels: np.ndarray, bound: np.ndarray, bias: np.ndarray) -> float:
    """The duality gap at these biases."""
    z = disagreement(slope, labels, bias)
    z[labels, np.arange(len(labels))] = 0.0
    return float(np.sum(np.where(z > 0.0, bound - alpha, -alpha) * z))


def mean_biases(
    alpha: np.ndarray, slope: np.ndarray, labels: np.ndarray, bound: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """Biases that fit the slopes of the free alphas, which equal b_y - b_l at the optimum, by least squares."""
    k, n = alpha.shape
    free = (alpha > 0.0) & (alpha < bound)  # never for the own class, whose alpha is 0
    z = np.where(free, disagreement(slope, labels, bias), 0.0)
    count = np.stack([np.bincount(labels, row, minlength=k) for row in free])
    total = np.bincount(labels, z.sum(axis=0), minlength=k) - z.sum(axis=1)
    laplacian = -(count + count.T)
    laplacian[np.diag_indices(k)] = 1e-9 * n - laplacian.sum(axis=1)  # classes without free alphas keep their bias
    return bias + np.linalg.solve(laplacian, total)


def polish_biases(
    alpha: np.ndarray, slope: np.ndarray, labels: np.ndarray, bound: np.ndarray, bias: np.ndarray
) -> None:
    """One sweep of exact minimisation of the gap along each bias, in place."""
    for a in range(len(alpha)):
        own, rest = np.flatnonzero(labels == a), np.flatnonzero(labels != a)
        rivals = np.delete(np.arange(len(alpha)), a)
        falling = (slope[rivals][:, own] + bias[rivals, None]).ravel()
        at = np.concatenate([falling, bias[labels[rest]] - slope[a, rest]])
        weight = np.concatenate([np.tile(bound[own], len(rivals)), bound[rest]])
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
