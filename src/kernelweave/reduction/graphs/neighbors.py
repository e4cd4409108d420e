"""Graphs of nearest neighbours: LPP, LDE, MFA, LFDA and the semi-supervised graph.

Neighbours are found under each kernel, by the distance ``d^2(x, z) = k(x, x) + k(z, z) - 2 k(x, z)`` of its feature
space, and the affinities of all kernels are averaged (MKL-DR, section 4.3). A sample without a row in a kernel has no
neighbours there.

==========================  ========================================================
papers                      here
==========================  ========================================================
N_k(i), (31)                a row of `_neighbors`
k, k' of (31)-(32)          `n_neighbors`, `n_neighbors_between` of `LDEGraph`
k_1, k_2 of MFA             `n_neighbors`, `n_neighbors_between` of `MFAGraph`
==========================  ========================================================
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ...solvers.embedding import GraphLaplacian, class_laplacians, mean_affinity
from ...validation import Choice, Constraints, Number, Whole, check_parameters
from .base import Graph
from .local_scaling import local_affinity


class LPPGraph(Graph):
    """Locality preserving projections: neighbours stay neighbours, without labels.

    Minimises ``sum_ij w_ij ||z_i - z_j||^2`` for ``w_ij = 1`` where one of i and j is among the `n_neighbors` nearest
    of the other, with ``sum_i d_i ||z_i - mean||^2`` held, ``d_i = sum_j w_ij`` and the mean weighted by d. Without the
    mean the optimum would be one point for all samples wherever the kernel can express a constant.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours, at most all other samples.

    References
    ----------
    X. He, P. Niyogi, Locality preserving projections, 2003.

    Examples
    --------
    >>> from kernelweave.kernels import Gaussian
    >>> from kernelweave.reduction import LPPGraph, MKLDR
    >>> X = [[0.0], [1.0], [2.0], [6.0], [7.0]]
    >>> MKLDR([Gaussian(scale=3.0)], LPPGraph(n_neighbors=2), n_components=1).fit_transform(X).shape
    (5, 1)
    """

    _constraints = Constraints(n_neighbors=Whole(1))

    def __init__(self, n_neighbors: int = 5):
        self.n_neighbors = n_neighbors

    def laplacians(self, grams, present, labels):  # noqa: D102
        check_parameters(self)
        numerator = GraphLaplacian.of_affinities(
            _averaged(grams, present, lambda K, there: _either(K, there, self.n_neighbors))
        )
        degree = numerator.diagonal
        denominator = GraphLaplacian(degree, None, degree[:, None], np.array([1.0 / degree.sum()]))
        return numerator, denominator


class LDEGraph(Graph):
    """Local discriminant embedding: neighbours of one class together, neighbours of different classes apart, (31)-(32).

    ``w_ij = 1`` where i and j are of one class and one of them is among the `n_neighbors` nearest of the other,
    ``w'_ij = 1`` where they are of different classes and one is among the `n_neighbors_between` nearest of the other.

    Parameters
    ----------
    n_neighbors, n_neighbors_between : int
        Numbers of neighbours, at most all other samples.
    among : {"class", "all"}
        Where neighbours are searched. "class": `n_neighbors` within a sample's own class and `n_neighbors_between`
        outside of it, so that every sample has both. "all": among all samples before classes are compared, (31) to the
        letter; where classes are well apart few samples of different classes are neighbours.

    References
    ----------
    H.-T. Chen, H.-W. Chang, T.-L. Liu, Local discriminant embedding and its variants, 2005.

    Examples
    --------
    >>> from kernelweave.kernels import Gaussian
    >>> from kernelweave.reduction import LDEGraph, MKLDR
    >>> X, y = [[0.0], [1.0], [2.0], [6.0], [7.0], [8.0]], [0, 0, 0, 1, 1, 1]
    >>> MKLDR([Gaussian(scale=3.0)], LDEGraph(n_neighbors=1, n_neighbors_between=2)).fit_transform(X, y).shape
    (6, 1)
    """

    reads_labels = True

    _constraints = Constraints(n_neighbors=Whole(1), n_neighbors_between=Whole(1), among=Choice("class", "all"))

    def __init__(self, n_neighbors: int = 5, n_neighbors_between: int = 20, *, among: str = "class"):
        self.n_neighbors = n_neighbors
        self.n_neighbors_between = n_neighbors_between
        self.among = among

    def laplacians(self, grams, present, labels):  # noqa: D102
        check_parameters(self)
        same = labels[:, None] == labels[None, :]

        def edges(k: int, wanted: np.ndarray) -> np.ndarray:
            searched = wanted if self.among == "class" else None
            return _averaged(grams, present, lambda K, there: _either(K, there, k, searched, wanted))

        between = edges(self.n_neighbors_between, ~same)
        if not between.sum():
            raise ValueError(
                f"no sample has one of another class among its n_neighbors_between={self.n_neighbors_between} nearest "
                'neighbours, so there is nothing to keep apart; raise n_neighbors_between or search with among="class"'
            )
        return GraphLaplacian.of_affinities(edges(self.n_neighbors, same)), GraphLaplacian.of_affinities(between)


class MFAGraph(Graph):
    """Marginal Fisher analysis: neighbours of one class together, the closest pairs across a class's border apart.

    ``w_ij = 1`` where i and j are of one class and one is among the `n_neighbors` nearest of the other in it;
    ``w'_ij = 1`` where (i, j) is one of the `n_neighbors_between` closest pairs of a sample in some class and one
    outside of it.

    Parameters
    ----------
    n_neighbors : int
        Neighbours of each sample.
    n_neighbors_between : int
        Pairs of each class.

    References
    ----------
    S. Yan et al., Graph embedding and extensions: a general framework for dimensionality reduction, 2007.

    Examples
    --------
    >>> from kernelweave.kernels import Gaussian
    >>> from kernelweave.reduction import MFAGraph, MKLDR
    >>> X, y = [[0.0], [1.0], [2.0], [6.0], [7.0], [8.0]], [0, 0, 0, 1, 1, 1]
    >>> MKLDR([Gaussian(scale=3.0)], MFAGraph(n_neighbors=1, n_neighbors_between=2)).fit_transform(X, y).shape
    (6, 1)
    """

    reads_labels = True

    _constraints = Constraints(n_neighbors=Whole(1), n_neighbors_between=Whole(1))

    def __init__(self, n_neighbors: int = 5, n_neighbors_between: int = 40):
        self.n_neighbors = n_neighbors
        self.n_neighbors_between = n_neighbors_between

    def laplacians(self, grams, present, labels):  # noqa: D102
        check_parameters(self)
        same = labels[:, None] == labels[None, :]
        within = _averaged(grams, present, lambda K, there: _either(K, there, self.n_neighbors, same))
        between = _averaged(grams, present, lambda K, there: self._border(K, there, labels))
        return GraphLaplacian.of_affinities(within), GraphLaplacian.of_affinities(between)

    def _border(self, K: np.ndarray, present: np.ndarray, labels: np.ndarray) -> sp.csr_array:
        rows, columns = [], []
        distances = _distances(K)
        for label in np.unique(labels):
            inside, outside = (np.flatnonzero(present & mask) for mask in (labels == label, labels != label))
            distance = distances[np.ix_(inside, outside)].ravel()
            count = min(self.n_neighbors_between, distance.size)
            if count:
                closest = np.argpartition(distance, count - 1)[:count]
                rows.append(inside[closest // len(outside)])
                columns.append(outside[closest % len(outside)])
        if not rows:
            return sp.csr_array(K.shape)
        return _symmetric(np.concatenate(rows), np.concatenate(columns), len(K))


class LFDAGraph(Graph):
    """Local Fisher discriminant analysis: discriminant analysis that keeps the shape of classes with several modes.

    With the affinity ``a_ij = exp(-d_ij^2 / (s_i s_j))``, ``s_i`` the distance to neighbour k of the same class:
    ``w_ij = a_ij / n_{y_i}`` within a class and 0 between classes; ``w'_ij = a_ij / N`` within and ``1 / N`` between.

    Parameters
    ----------
    n_neighbors : int
        k, the neighbour whose distance is the scale of a sample; at most the size of its class less one.

    Notes
    -----
    Memory: W and W' hold the blocks of the classes, that is the sum of squared class sizes.

    References
    ----------
    M. Sugiyama, Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis, 2007.

    Examples
    --------
    >>> from kernelweave.kernels import Gaussian
    >>> from kernelweave.reduction import LFDAGraph, MKLDR
    >>> X, y = [[0.0], [1.0], [2.0], [6.0], [7.0], [8.0]], [0, 1, 0, 1, 0, 1]
    >>> MKLDR([Gaussian(scale=3.0)], LFDAGraph(n_neighbors=1)).fit_transform(X, y).shape
    (6, 1)
    """

    reads_labels = True

    _constraints = Constraints(n_neighbors=Whole(1))

    def __init__(self, n_neighbors: int = 7):
        self.n_neighbors = n_neighbors

    def laplacians(self, grams, present, labels):  # noqa: D102
        check_parameters(self)
        n = len(labels)
        local = _averaged(grams, present, lambda K, there: self._local(K, there, labels))
        counts = np.bincount(labels)
        by_class = local * (1.0 / counts[labels])[:, None]
        within = GraphLaplacian.of_affinities(sp.csr_array(by_class) if sp.issparse(by_class) else by_class)
        # Between classes the affinity is 1 / N for all pairs: the ones less the class blocks, both of low rank.
        members = np.zeros((n, len(counts)))
        members[np.arange(n), labels] = 1.0
        factors = np.hstack([np.ones((n, 1)), members])
        weights = np.concatenate([[1.0], -np.ones(len(counts))]) / n
        return within, GraphLaplacian.of_affinities(local * (1.0 / n), factors, weights)

    def _local(self, K: np.ndarray, present: np.ndarray, labels: np.ndarray) -> sp.csr_array:
        rows, columns, values = [], [], []
        for label in np.unique(labels[present]):
            members = np.flatnonzero(present & (labels == label))
            squared = np.maximum(_distances(K[np.ix_(members, members)]), 0.0)
            rows.append(np.repeat(members, len(members)))
            columns.append(np.tile(members, len(members)))
            values.append(local_affinity(squared, self.n_neighbors).ravel())
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return sp.csr_array(entries, shape=K.shape)


class SemiSupervisedGraph(Graph):
    """Semi-supervised discriminant analysis: labels for some samples, neighbours for all.

    Minimises ``total scatter + alpha * sum_ij w_ij ||z_i - z_j||^2`` over the scatter between classes; both scatters
    are those of the samples with a label, and ``w_ij = 1 / k`` where one of any two samples is among the k
    nearest of the other.

    Parameters
    ----------
    n_neighbors : int
        k, the number of neighbours; at most all other samples.
    alpha : float
        Weight of the neighbours; 0 takes samples with a label only.

    Notes
    -----
    ``y`` holds the label of a sample, or -1 where it has none.

    References
    ----------
    D. Cai, X. He, J. Han, Semi-supervised discriminant analysis, 2007.

    Examples
    --------
    >>> from kernelweave.kernels import Gaussian
    >>> from kernelweave.reduction import MKLDR, SemiSupervisedGraph
    >>> X, y = [[0.0], [1.0], [2.0], [6.0], [7.0], [8.0]], [-1, 0, -1, -1, 1, -1]
    >>> Z = MKLDR([Gaussian(scale=3.0)], SemiSupervisedGraph(n_neighbors=2)).fit_transform(X, y)
    >>> bool((Z[:3].mean() - Z[3:].mean()) ** 2 > Z[:3].var() + Z[3:].var())
    True
    """

    reads_labels = True

    _constraints = Constraints(n_neighbors=Whole(1), alpha=Number(low=0))

    def __init__(self, n_neighbors: int = 5, alpha: float = 0.1):
        self.n_neighbors = n_neighbors
        self.alpha = alpha

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Labels as whole numbers from 0; -1 stays -1."""
        known = np.asarray(y != -1)
        if known.ndim == 0:  # labels that cannot be compared with a number
            known = np.ones(len(y), dtype=bool)
        labels = np.full(len(y), -1)
        if known.any():
            labels[known] = super().encode(y[known])
        if labels.max() < 1:
            raise ValueError("SemiSupervisedGraph needs labels of at least two classes; -1 means that there is none")
        return labels

    def laplacians(self, grams, present, labels):  # noqa: D102
        check_parameters(self)
        within, total = class_laplacians(labels)
        neighbors = _averaged(grams, present, lambda K, there: _either(K, there, self.n_neighbors))
        return total + (self.alpha / self.n_neighbors) * GraphLaplacian.of_affinities(neighbors), total - within


def _averaged(
    grams: np.ndarray, present: np.ndarray, affinity_of: Callable[[np.ndarray, np.ndarray], sp.csr_array]
) -> sp.csr_array | np.ndarray:
    """The mean over kernels of affinities ``affinity_of(K, present)``."""
    return mean_affinity([affinity_of(K, present[:, m]) for m, K in enumerate(grams)])


def _either(
    K: np.ndarray, present: np.ndarray, k: int, searched: np.ndarray | None = None, kept: np.ndarray | None = None
) -> sp.csr_array:
    """1 where one of two samples is among the k nearest of the other.

    Neighbours are searched among the pairs of the mask `searched`; then only those in the mask `kept` stay.
    """
    n = len(K)
    distance = _distances(K)
    np.fill_diagonal(distance, np.inf)
    distance[:, ~present] = np.inf
    distance[~present] = np.inf
    if searched is not None:
        distance[~searched] = np.inf
    k = min(k, n - 1)
    nearest = np.argpartition(distance, k - 1, axis=1)[:, :k]
    rows = np.repeat(np.arange(n), k)
    columns = nearest.ravel()
    found = np.isfinite(distance[rows, columns])
    if kept is not None:
        found &= kept[rows, columns]
    return _symmetric(rows[found], columns[found], n)


def _distances(K: np.ndarray) -> np.ndarray:
    """Squared distances in the feature space."""
    diagonal = np.diagonal(K)
    return diagonal[:, None] + diagonal[None, :] - 2.0 * K


def _symmetric(rows: np.ndarray, columns: np.ndarray, n: int) -> sp.csr_array:
    """1 at the given pairs and their mirror images."""
    ones = np.ones(2 * len(rows))
    pairs = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    affinity = sp.csr_array((ones, pairs), shape=(n, n))
    affinity.data[:] = 1.0  # a pair that was found from both ends counts once
    return affinity
