"""Partitions of samples into clusters that are compact in a kernel's feature space: k-means on a Gram matrix.

The *inertia* of a partition into clusters of n_c samples is the sum of squared distances of samples to their centres,

    sum_i ||phi(x_i) - mu_c(i)||^2 = tr(K) - sum_c 1/n_c sum_{i, j in c} K_ij = tr(K) - tr(H'KH),

where column c of H is n_c^(-1/2) for the members of c and 0 elsewhere. Columns of H are orthonormal and span the
vector of ones. All other matrices of that kind, which need not be partitions, give the bound of Ding and He (2004),

    inertia >= tr(CKC) - the sum of the k - 1 largest eigenvalues of CKC,      C = I - 11'/n,

which is at least tr(K) less the sum of the k largest eigenvalues of K. `leading` solves that relaxed problem.

`improve` moves one sample after the other while that lowers the inertia (Hartigan and Wong 1979). A move from a to b
changes it by ``n_b / (n_b + 1) d_b^2 - n_a / (n_a - 1) d_a^2``, d being the distances of the sample to both centres, so
that no sample is nearer to another centre at the end, as after Lloyd's algorithm, but not all that Lloyd's algorithm
ends with is an end here. No cluster becomes empty. Starts are drawn by k-means++ (`seeds`).

Weights of several kernels are learned in three ways; K_m are matrices of centred kernels of the same trace:

=================  ==============================================================  ===============================
function           problem                                                         source
=================  ==============================================================  ===============================
`min_max_weights`  min over g of max over H of tr(H'K_g H), K_g = sum_m g_m^2 K_m  Liu (2020), SimpleMKKM
`alternate`        min over g and partitions of the inertia under K_g              Huang, Chuang and Chen (2012)
`localize`         min over G and partitions of the inertia under                  Gönen and Margolin (2014)
                   sum_m g_im K_m[i, j] g_jm
=================  ==============================================================  ===============================

Weights g are at least 0 and add up to 1, in the last row those of each sample. The first problem is convex: with x_m =
g_m^2 it is a maximum of linear functions of x, so each H gives a cut and the bundle of `weights.methods` a gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from .compiled import compiled, read_only
from .sums import sum_kernels
from .weights.methods import Bundle, Evaluation, minimize_cuts
from .weights.sets import RootSimplex

# A move must lower the inertia by this share of a sample's mean squared length: more than what rounding makes of it.
LEAST = 1e-10
# Samples nearer to each other than this, relative to that squared length, are the same; and eigenvalues with a smaller
# share of the trace are rounding.
SAME = 1e-12


@dataclass(frozen=True)
class Partition:
    """`labels`, the inertia at the beginning and after each sweep, and whether the last sweep moved nothing.

    Clusters are numbered as they first occur, so that the same partition has the same labels.
    """

    labels: np.ndarray
    inertias: list[float]
    converged: bool

    @property
    def inertia(self) -> float:
        return self.inertias[-1]


def indicators(labels: np.ndarray) -> np.ndarray:
    """One column per cluster or class, 1 for its members and 0 elsewhere."""
    return (labels[:, None] == np.arange(labels.max() + 1)).astype(float)


def numbered(labels: np.ndarray) -> np.ndarray:
    """The same clusters, 0, 1, ... as they first occur.

    >>> numbered(np.array([2, 0, 2, 1]))
    array([0, 1, 0, 2])
    """
    first = np.unique(labels, return_index=True)[1]
    return np.argsort(np.argsort(first))[labels]


def inertia_of(K: np.ndarray, labels: np.ndarray) -> float:
    """The inertia of a partition into clusters 0, 1, ..., none of them empty.

    >>> inertia_of(np.array([[0.0, 0.0, 0.0], [0.0, 4.0, 4.0], [0.0, 4.0, 4.0]]), np.array([0, 0, 1]))
    2.0
    """
    Z = indicators(labels)
    within = np.einsum("ic,ic->c", Z, K @ Z)
    return float(np.trace(K) - (within / Z.sum(axis=0)).sum())


def leading(K: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues of a symmetric matrix, ascending, and their eigenvectors."""
    n = len(K)
    if rank == 0:
        return np.empty(0), np.empty((n, 0))
    return eigh(K, subset_by_index=[n - rank, n - 1])


def centred(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """K of samples moved to their mean in the feature space, CKC, in place, and the column means that K had."""
    means = K.mean(axis=0)
    K -= means[:, None]
    K -= means[None, :]
    K += means.mean()
    return K, means


def seeds(K: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Positions of samples to begin with: k-means++ (Arthur and Vassilvitskii 2007), the best of a few draws each.

    Each is drawn with a probability in proportion to its squared distance to the nearest one before. Fewer than
    `n_clusters` where all other samples are the same as one of them.
    """
    diagonal = np.diagonal(K)
    same = SAME * float(np.mean(np.abs(diagonal)))
    chosen = [int(rng.randint(len(K)))]
    nearest = _distances(K, diagonal, chosen)[0]
    n_draws = 2 + int(np.log(n_clusters))
    while len(chosen) < n_clusters:
        nearest[nearest <= same] = 0.0
        total = nearest.sum()
        if not total > 0.0:
            break
        drawn = np.searchsorted(np.cumsum(nearest), rng.uniform(size=n_draws) * total)
        drawn = np.minimum(drawn, np.flatnonzero(nearest)[-1])
        trials = np.minimum(nearest, _distances(K, diagonal, drawn))
        best = int(trials.sum(axis=1).argmin())
        chosen.append(int(drawn[best]))
        nearest = trials[best]
    return np.array(chosen)


def _distances(K: np.ndarray, diagonal: np.ndarray, rows: list[int] | np.ndarray) -> np.ndarray:
    """Squared distances of some samples (rows) to all."""
    return diagonal[rows, None] - 2.0 * K[rows] + diagonal


def nearest(K: np.ndarray, points: np.ndarray) -> np.ndarray:
    """For each sample the number of the nearest of these samples; each of them is its own."""
    labels = _distances(K, np.diagonal(K), points).argmin(axis=0)
    labels[points] = np.arange(len(points))
    return labels


def improve(
    K: np.ndarray, labels: np.ndarray, max_sweeps: int = 300, rng: np.random.RandomState | None = None
) -> Partition:
    """Move single samples to other clusters while that lowers the inertia.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    labels : ndarray of int, shape (n_samples,)
        Clusters 0, 1, ... to begin with, none of them empty.
    max_sweeps : int
        Limit on passes over all samples.
    rng : RandomState or None
        For the order in which samples are looked at; None for that of K.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 10.0, 11.0])
    >>> improve(np.outer(x, x), np.array([0, 1, 0, 1])).labels
    array([0, 0, 1, 1])
    """
    K = np.ascontiguousarray(K, dtype=np.float64)
    labels = np.array(labels, dtype=np.int64)
    diagonal = np.diagonal(K).copy()
    least = LEAST * float(np.mean(np.abs(diagonal)))
    order = np.arange(len(K)) if rng is None else rng.permutation(len(K))
    sums, within, sizes = _sums(K, labels)
    inertias, moved, fresh = [_inertia(diagonal, within, sizes)], 1, True
    while moved or not fresh:
        if not moved:  # sums that were updated many times have rounding errors: look again with new ones
            sums, within, sizes = _sums(K, labels)
            fresh = True
        if len(inertias) > max_sweeps:
            return Partition(numbered(labels), inertias, False)
        moved = _sweep(read_only(K), diagonal, order, labels, sums, within, sizes, least)
        fresh = fresh and not moved
        if moved:
            inertias.append(_inertia(diagonal, within, sizes))
    return Partition(numbered(labels), inertias, True)


def _sums(K: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kernel values of each sample summed over each cluster, (n_clusters, n); these sums over members; sizes."""
    Z = indicators(labels)
    sums = np.ascontiguousarray((K @ Z).T)
    return sums, np.einsum("ci,ic->c", sums, Z), Z.sum(axis=0)


def _inertia(diagonal: np.ndarray, within: np.ndarray, sizes: np.ndarray) -> float:
    return float(diagonal.sum() - (within / sizes).sum())


@compiled
def _sweep(K, diagonal, order, labels, sums, within, sizes, least):
    """Look at each sample once and move it where that lowers the inertia most; returns how many moved."""
    n_clusters, n = sums.shape
    moved = 0
    for place in range(n):
        i = order[place]
        a = labels[i]
        if sizes[a] < 1.5:  # alone, at its centre
            continue
        own = diagonal[i] - 2.0 * sums[a, i] / sizes[a] + within[a] / (sizes[a] * sizes[a])
        own *= sizes[a] / (sizes[a] - 1.0)
        best, b = own - least, a
        for c in range(n_clusters):
            if c != a:
                other = diagonal[i] - 2.0 * sums[c, i] / sizes[c] + within[c] / (sizes[c] * sizes[c])
                other *= sizes[c] / (sizes[c] + 1.0)
                if other < best:
                    best, b = other, c
        if b == a:
            continue
        within[a] += diagonal[i] - 2.0 * sums[a, i]
        within[b] += diagonal[i] + 2.0 * sums[b, i]
        sizes[a] -= 1.0
        sizes[b] += 1.0
        for j in range(n):
            sums[a, j] -= K[i, j]
            sums[b, j] += K[i, j]
        labels[i] = b
        moved += 1
    return moved


# Weights of kernels

Watch = Callable[[float], None]  # is told the objective after each step


def min_max_weights(
    matrices: np.ndarray, rank: int, tol: float, max_iter: int, watch: Watch
) -> tuple[np.ndarray, Bundle]:
    """The weights g that minimise the sum of the `rank` largest eigenvalues of sum_m g_m^2 K_m, and the bundle's gap.

    Any orthonormal H gives a lower bound, so the gap is one however exact the eigenvectors are.

    >>> matrices = np.array([np.diag([1.0, 0.0, 0.0]), np.diag([0.0, 0.5, 0.5])])
    >>> weights, bundle = min_max_weights(matrices, 1, 1e-6, 100, lambda objective: None)
    >>> weights.round(3), bundle.converged
    (array([0.414, 0.586]), True)
    """

    def evaluate(x: np.ndarray, gap: float | None) -> Evaluation:
        values, H = leading(sum_kernels(matrices, x), rank)
        explained = np.einsum("ir,mir->m", H, matrices @ H)
        return Evaluation(x, float(values.sum()), 0.0, -2.0 * explained, lambda: np.zeros((len(x), len(x))))

    bundle = minimize_cuts(evaluate, RootSimplex(len(matrices)), tol, max_iter, lambda bundle: watch(bundle.upper))
    return np.sqrt(bundle.best.point), bundle


def best_weights(inertias: np.ndarray) -> np.ndarray:
    """The weights g that minimise sum_m g_m^2 q_m: in inverse proportion to q, and equal among those with q = 0.

    >>> best_weights(np.array([1.0, 3.0])), best_weights(np.array([0.0, 3.0]))
    (array([0.75, 0.25]), array([1., 0.]))
    """
    zero = inertias <= 0.0
    inverse = zero.astype(float) if zero.any() else inertias.min() / inertias
    return inverse / inverse.sum()


def alternate(
    matrices: np.ndarray, labels: np.ndarray, max_iter: int, rng: np.random.RandomState
) -> tuple[np.ndarray, Partition]:
    """Weights and a partition in turns, from a partition; the objective, among `Partition.inertias`, never rises."""
    weights = np.full(len(matrices), 1.0 / len(matrices))
    objectives: list[float] = []
    while True:
        found = improve(sum_kernels(matrices, weights**2), labels, max_iter, rng)
        objectives += found.inertias if not objectives else found.inertias[1:]
        labels, settled = found.labels, bool(objectives) and len(found.inertias) == 1
        inertias = np.maximum([inertia_of(K, labels) for K in matrices], 0.0)
        weights = best_weights(inertias)
        objectives.append(float(weights**2 @ inertias))
        if settled or len(objectives) > max_iter:
            return weights, Partition(labels, objectives, settled and found.converged)


@dataclass(frozen=True)
class LocalPartition:
    """A partition with weights of each sample, `gates`, of shape (n_samples, n_kernels)."""

    partition: Partition
    gates: np.ndarray


def localize(
    matrices: np.ndarray, present: np.ndarray, labels: np.ndarray, tol: float, max_iter: int
) -> LocalPartition:
    """Weights of samples and a partition, from a partition and equal weights.

    In each step every sample takes the cluster, and the weights for it, with which it is nearest to a centre; then the
    centres move. For a given partition the problem is a convex quadratic program, whose optimum such steps approach.

    Parameters
    ----------
    matrices : ndarray of shape (n_kernels, n_samples, n_samples)
        With a unit diagonal where the sample has a direction in that kernel.
    present : ndarray of bool, shape (n_samples, n_kernels)
        Where it has; its other weights are 0.
    labels : ndarray of int, shape (n_samples,)
    tol : float
        End where no sample changes its cluster and the objective falls by less than this share.
    max_iter : int
    """
    gates = present / np.maximum(present.sum(axis=1), 1)[:, None]
    objectives: list[float] = []
    converged = False
    while not converged and len(objectives) < max_iter:
        products, lengths, objective = centre_products(matrices, gates, labels)
        objectives.append(objective)
        others, new_gates, costs = nearest_with_gates(products, lengths, present)
        fallen = len(objectives) > 1 and objectives[-2] - objective <= tol * objective
        converged = bool(fallen and (others == labels).all())
        if not converged and len(objectives) < max_iter:
            labels, gates = _refilled(others, costs, len(lengths)), new_gates
    return LocalPartition(Partition(numbered(labels), objectives, converged), gates)


def centre_products(
    matrices: np.ndarray, gates: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """<phi_m(x_i), mu_c> of each sample, kernel and centre, (n, P, k); squared lengths of centres; the inertia."""
    Z = indicators(labels)
    shares = Z / Z.sum(axis=0)
    products = np.stack([K @ (own[:, None] * shares) for K, own in zip(matrices, gates.T, strict=True)], axis=1)
    lengths = np.einsum("ic,im,imc->c", shares, gates, products)
    return products, lengths, float((gates**2).sum() - Z.sum(axis=0) @ lengths)


def nearest_with_gates(
    products: np.ndarray, lengths: np.ndarray, present: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nearest centre of each sample if it may choose its weights for it; these weights; and squared distances.

    With weights g the squared distance is ||g||^2 - 2 g'b + ||mu||^2, b being the sample's products with the centre:
    the best g is the point of the simplex nearest to b.
    """
    inner = np.moveaxis(products, 1, 2)  # (n, k, P)
    points = np.where(present[:, None, :], inner, -np.inf)
    ordered = -np.sort(-points, axis=2)
    excess = (np.cumsum(ordered, axis=2) - 1.0) / np.arange(1, points.shape[2] + 1)
    last = np.maximum((ordered > excess).sum(axis=2) - 1, 0)[:, :, None]
    some = present.any(axis=1)
    gates = np.zeros(points.shape)
    gates[some] = np.maximum(points[some] - np.take_along_axis(excess, last, axis=2)[some], 0.0)
    costs = (gates**2 - 2.0 * gates * inner).sum(axis=2) + lengths
    labels = costs.argmin(axis=1)
    rows = np.arange(len(labels))
    return labels, gates[rows, labels], costs[rows, labels]


def _refilled(labels: np.ndarray, costs: np.ndarray, n_clusters: int) -> np.ndarray:
    """The same with the samples that are farthest from their centres in clusters that would be empty."""
    sizes = np.bincount(labels, minlength=n_clusters)
    for i in np.argsort(-costs):
        empty = np.flatnonzero(sizes == 0)
        if not len(empty):
            break
        if sizes[labels[i]] > 1:
            sizes[labels[i]] -= 1
            labels[i] = empty[0]
            sizes[labels[i]] += 1
    return labels
