"""Landmarks of a kernel, drawn from samples.

==============  =======================================================================================
method          how
==============  =======================================================================================
``rpcholesky``  with chances proportional to the residual k(x, x) - ||projection on the landmarks so far||^2
                (randomly pivoted Cholesky: Chen, Epperly, Tropp and Webber 2025)
``kmeans++``    with chances proportional to the squared distance to the nearest landmark so far, in the
                kernel's own feature space (Arthur and Vassilvitskii 2007)
``uniform``     each sample with the same chance
==============  =======================================================================================

At most n_samples x n_landmarks kernel values are held. Samples count by their weights.
"""

from __future__ import annotations

import numpy as np

from ..kernels import KernelStack

METHODS = ("rpcholesky", "kmeans++", "uniform")
PROPOSALS = 64  # pivots that are proposed together
EPS, LEAST = float(np.finfo(float).eps), 256


def negligible(count: int) -> float:
    """What rounding leaves of values among so many points, relative to the largest: n eps.

    Kernel values themselves, sums over columns, are wrong by some eps, however few points there are: n is at least 256.
    """
    return max(count, LEAST) * EPS


def drawn_landmarks(stack: KernelStack, count: int, method: str, rng: np.random.RandomState) -> np.ndarray:
    """Positions of landmarks, ascending: all samples where there are no more than `count`.

    Fewer are drawn where these span the kernel already, as for copies of samples or a linear kernel of few columns.

    Parameters
    ----------
    stack : KernelStack
        Of one kernel, over samples that all have its view.
    count : int
    method : {"rpcholesky", "kmeans++", "uniform"}
    rng : RandomState
    """
    n = stack.n_samples
    if n <= count:
        return np.arange(n)
    if method == "uniform":
        return np.sort(rng.choice(n, count, replace=False))
    draw = pivoted if method == "rpcholesky" else spread_out
    chosen = draw(stack, count, rng)
    return np.sort(chosen) if len(chosen) else np.arange(1)  # a kernel that is zero has no pivot


def diagonal_of(stack: KernelStack) -> np.ndarray:
    """The normalised k(x, x) of each sample of a stack of one kernel."""
    stack.gram_rows(0, np.arange(1))  # learns the constants of normalisation
    return stack.normalizers[0].gram_diagonal(stack.kernels[0].diagonal(stack.reference))


def pivoted(stack: KernelStack, count: int, rng: np.random.RandomState) -> np.ndarray:
    """Randomly pivoted Cholesky with pivots proposed in groups and accepted one by one.

    A proposal is accepted with the chance by which the pivots accepted before it have left its residual, so pivots have
    the distribution of those drawn one at a time (Epperly, Tropp and Webber 2024), by products of matrices.
    """
    first = diagonal_of(stack)
    residual, floor = np.maximum(first, 0.0), negligible(count) * np.abs(first)
    residual[residual <= floor] = 0.0
    factor = np.empty((count, stack.n_samples))
    chosen: list[int] = []
    while len(chosen) < count and residual.any():
        chances = stack.weight * residual
        proposed = rng.choice(stack.n_samples, min(PROPOSALS, count), p=chances / chances.sum())
        done = factor[: len(chosen)]
        among = stack.cross(0, stack.support.rows(proposed), np.ones(len(proposed), dtype=bool), proposed)
        block = among - done[:, proposed].T @ done[:, proposed]
        accepted = _accepted(block, residual[proposed], floor[proposed], rng)[: count - len(chosen)]
        if not len(accepted):
            residual[proposed] = 0.0  # they have none but rounding
            continue
        pivots = proposed[accepted]
        L = np.linalg.cholesky(block[np.ix_(accepted, accepted)])
        new = np.linalg.solve(L, stack.gram_rows(0, pivots) - done[:, pivots].T @ done)
        factor[len(chosen) : len(chosen) + len(pivots)] = new
        residual -= (new**2).sum(axis=0)
        residual[pivots] = 0.0
        residual[residual <= floor] = 0.0
        chosen += pivots.tolist()
    return np.array(chosen, dtype=int)


def _accepted(block: np.ndarray, proposed: np.ndarray, floor: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Which of the proposed pivots are accepted; the first is, but for rounding.

    What is left below the floor is rounding. Pivots of Cholesky's factor of the accepted are those left here, and with
    1e-10 of what was proposed at least they are positive there, too.
    """
    left, kept = block.copy(), []
    chances = rng.uniform(size=len(left))
    for j in range(len(left)):
        if left[j, j] > max(1e-10 * proposed[j], floor[j]) and chances[j] * proposed[j] < left[j, j]:
            kept.append(j)
            left[j + 1 :, j + 1 :] -= np.outer(left[j + 1 :, j], left[j, j + 1 :]) / left[j, j]
    return np.array(kept, dtype=int)


def spread_out(stack: KernelStack, count: int, rng: np.random.RandomState) -> np.ndarray:
    """k-means++ by kernel values."""
    diagonal = diagonal_of(stack)
    floor = negligible(count) * np.abs(diagonal).max(initial=0.0)
    nearest = np.full(stack.n_samples, np.inf)
    chances = np.where(diagonal != 0.0, stack.weight, 0.0)
    chosen: list[int] = []
    while len(chosen) < count and chances.any():
        new = int(rng.choice(stack.n_samples, p=chances / chances.sum()))
        chosen.append(new)
        distance = diagonal - 2.0 * stack.gram_rows(0, np.array([new]))[0] + diagonal[new]
        nearest = np.minimum(nearest, np.where(distance > floor, distance, 0.0))
        nearest[new] = 0.0
        chances = stack.weight * nearest
    return np.array(chosen, dtype=int)
