"""Graphs: which samples an embedding should bring together, and which it should keep apart.

Graph embedding (Yan et al., 2007; MKL-DR, (1) to (4)) minimises ``tr(Z'LZ)`` over embeddings Z of the samples, under a
constraint on ``tr(Z'L'Z)`` or ``tr(Z'DZ)``. A graph gives the two matrices, as `GraphLaplacian` objects that are never
formed. Some graphs are of labels alone or the user's own. In the others neighbours are found under each kernel, by the
distance ``d^2(x, z) = k(x, x) + k(z, z) - 2 k(x, z)`` of its feature space, and the affinities of all kernels are
averaged (MKL-DR, section 4.3). A sample without a row in a kernel has no neighbours there.

===============================  ========================================================
papers                           here
===============================  ========================================================
L (of W)                         first of `Graph.laplacians`
L' (of W'), or D                 second of `Graph.laplacians`
LDA, (30); LDE, (31)-(32)        `LDAGraph`; `LDEGraph`
k, k' of (31)-(32)               `n_neighbors`, `n_neighbors_between` of `LDEGraph`
k_1, k_2 of MFA                  `n_neighbors`, `n_neighbors_between` of `MFAGraph`
A_ij, sigma_i, Sugiyama (2007)   `local_affinity`, and the scale in it
===============================  ========================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from ..solvers.embedding import GraphLaplacian, class_laplacians, mean_affinity
from ..validation import Choice, Constraints, Number, Whole, blamed_on, check_parameters


class Graph(BaseEstimator, ABC):
    """The interface of a graph for `MKLDR`. Parameters follow scikit-learn's conventions.

    Attributes
    ----------
    reads_labels : bool
        Whether `laplacians` needs labels.
    """

    reads_labels = False

    @abstractmethod
    def laplacians(
        self, grams: np.ndarray, present: np.ndarray, labels: np.ndarray | None
    ) -> tuple[GraphLaplacian | None, GraphLaplacian]:
        """The matrix to make small and the one to keep large.

        Parameters
        ----------
        grams : ndarray of shape (n_kernels, n_samples, n_samples)
        present : ndarray of bool, shape (n_samples, n_kernels)
            Which sample has a row in which kernel.
        labels : ndarray of int, shape (n_samples,), or None
            From 0; -1 for no label.

        Returns
        -------
        tuple of GraphLaplacian
            L, and L' or D. None in the place of L means the squared norm of the projections, ``tr(A'KA)``.
        """

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Labels as whole numbers from 0."""
        check_classification_targets(y)
        return np.unique(y, return_inverse=True)[1]

    def default_components(self, labels: np.ndarray | None, n_samples: int) -> int:
        """Components where the user names no number: one less than classes, or 2 where labels are not read."""
        return min(2, n_samples) if labels is None or not self.reads_labels else max(1, int(labels.max()))


class LDAGraph(Graph):
    """Linear discriminant analysis: small scatter within classes, large scatter between them.

    ``w_ij = 1 / n_{y_i}`` within a class and 0 between classes, ``w'_ij = 1 / N - w_ij``. Both are of low rank.

    Parameters
    ----------
    against : {"between", "total"}
        Which scatter to keep large. With "between" the ratio-trace step at given weights is kernel Fisher discriminant
        analysis exactly. "total" is (30), ``w'_ij = 1 / N``. Without a ridge the two are alike; with one, "total"
        prefers directions of large scatter within classes to those of little scatter between them.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.reduction import LDAGraph
    >>> within, between = LDAGraph().laplacians(None, None, np.array([0, 0, 1]))
    >>> within.dot(np.eye(3)).round(2)
    array([[ 0.5, -0.5,  0. ],
           [-0.5,  0.5,  0. ],
           [ 0. ,  0. ,  0. ]])
    """

    reads_labels = True

    _constraints = Constraints(against=Choice("between", "total"))

    def __init__(self, against: str = "between"):
        self.against = against

    def laplacians(self, grams, present, labels):
        check_parameters(self)
        within, total = class_laplacians(labels)
        return within, total if self.against == "total" else total - within


class PCAGraph(Graph):
    """Principal components: large variance for projections of norm one.

    Maximises ``tr(A'KHKA)``, H the centring matrix, under ``A'KA = I``: kernel PCA up to a shift of the embedding. As a
    pair of graphs PCA would have eigenvalues 0 and 1 only, so the norm of the projections takes the place of the first
    graph. Kernel weights cannot be learned from that: they stay as they begin. Reference: B. Schölkopf, A. Smola, K.-R.
    Müller, Nonlinear component analysis as a kernel eigenvalue problem, 1998.

    Examples
    --------
    >>> from kernelweave.kernels import Gaussian
    >>> from kernelweave.reduction import MKLDR, PCAGraph
    >>> X = [[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [4.0, 0.0]]
    >>> MKLDR([Gaussian(scale=3.0)], PCAGraph(), n_components=2).fit_transform(X).shape
    (4, 2)
    """

    def laplacians(self, grams, present, labels):
        return None, class_laplacians(np.zeros(len(present), dtype=int))[1]


class UserGraph(Graph):
    """Any pair of affinity matrices (W, W'), or an affinity matrix and a diagonal matrix D.

    Parameters
    ----------
    W : array or sparse matrix of shape (n_samples, n_samples)
        Affinities of the training samples, symmetric and at least 0: which to bring together.
    W_prime : array or sparse matrix of shape (n_samples, n_samples), optional
        Which to keep apart.
    D : array of shape (n_samples,), optional
        Diagonal of the matrix of constraint (3), at least 0. Exactly one of `W_prime` and `D` must be given.

    Notes
    -----
    Memory: what W and W' take; sparse ones stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Gaussian
    >>> from kernelweave.reduction import MKLDR, UserGraph
    >>> together = np.kron(np.eye(2), np.ones((2, 2)))
    >>> model = MKLDR([Gaussian(scale=3.0)], UserGraph(together, 1 - together), n_components=1)
    >>> model.fit_transform([[0.0], [1.0], [3.0], [4.0]]).shape
    (4, 1)
    """

    def __init__(self, W: Any, W_prime: Any = None, *, D: Any = None):
        self.W = W
        self.W_prime = W_prime
        self.D = D

    def laplacians(self, grams, present, labels):
        n_samples = len(present)
        if (self.W_prime is None) == (self.D is None):
            raise ValueError("UserGraph needs exactly one of W_prime and D")
        numerator = GraphLaplacian.of_affinities(_checked_affinity("W", self.W, n_samples))
        if self.W_prime is not None:
            return numerator, GraphLaplacian.of_affinities(_checked_affinity("W_prime", self.W_prime, n_samples))
        with blamed_on("D of UserGraph"):
            D = np.asarray(self.D, dtype=float)
        if D.shape != (n_samples,) or not np.isfinite(D).all() or (D < 0).any() or not D.any():
            raise ValueError(
                f"D of UserGraph must hold one finite number of at least 0 for each of the {n_samples} training "
                "samples, not all of them 0"
            )
        return numerator, GraphLaplacian.of_diagonal(D)


def _checked_affinity(name: str, W: Any, n_samples: int) -> Any:
    with blamed_on(f"{name} of UserGraph"):
        W = sp.csr_array(W, dtype=float) if sp.issparse(W) else np.asarray(W, dtype=float)
    if W.shape != (n_samples, n_samples):
        raise ValueError(
            f"{name} of UserGraph must have a row and a column for each of the {n_samples} training samples, "
            f"but its shape is {W.shape}"
        )
    values = W.data if sp.issparse(W) else W
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"{name} of UserGraph must hold finite affinities of at least 0")
    if abs(W - W.T).max() > 1e-10 * max(values.max(initial=0.0), np.finfo(float).tiny):
        raise ValueError(f"{name} of UserGraph must be symmetric; use (W + W.T) / 2")
    return W


class LPPGraph(Graph):
    """Locality preserving projections: neighbours stay neighbours, without labels.

    Minimises ``sum_ij w_ij ||z_i - z_j||^2`` for ``w_ij = 1`` where one of i and j is among the `n_neighbors` nearest
    of the other, with ``sum_i d_i ||z_i - mean||^2`` held, ``d_i = sum_j w_ij`` and the mean weighted by d. Without the
    mean the optimum would be one point for all samples wherever the kernel can express a constant. Reference: X. He, P.
    Niyogi, Locality preserving projections, 2003.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours, at most all other samples.

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

    def laplacians(self, grams, present, labels):
        check_parameters(self)
        numerator = GraphLaplacian.of_affinities(_neighbors(grams, present, self.n_neighbors))
        degree = numerator.diagonal
        denominator = GraphLaplacian(degree, None, degree[:, None], np.array([1.0 / degree.sum()]))
        return numerator, denominator


class LDEGraph(Graph):
    """Local discriminant embedding: neighbours of one class together, neighbours of different classes apart.

    ``w_ij = 1`` where i and j are of one class and one of them is among the `n_neighbors` nearest of the other,
    ``w'_ij = 1`` where they are of different classes and one is among the `n_neighbors_between` nearest of the other.
    Reference: H.-T. Chen, H.-W. Chang, T.-L. Liu, Local discriminant embedding and its variants, 2005.

    Parameters
    ----------
    n_neighbors, n_neighbors_between : int
        Numbers of neighbours, at most all other samples.
    among : {"class", "all"}
        Where neighbours are searched. "class": `n_neighbors` within a sample's own class and `n_neighbors_between`
        outside of it, so that every sample has both. "all": among all samples before classes are compared, exactly
        (31); where classes are well apart few samples of different classes are neighbours.

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

    def laplacians(self, grams, present, labels):
        check_parameters(self)
        same = labels[:, None] == labels[None, :]

        def edges(k: int, wanted: np.ndarray) -> np.ndarray:
            return _neighbors(grams, present, k, wanted if self.among == "class" else None, wanted)

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
    outside of it. Reference: S. Yan et al., Graph embedding and extensions: a general framework for dimensionality
    reduction, 2007.

    Parameters
    ----------
    n_neighbors : int
        Neighbours of each sample.
    n_neighbors_between : int
        Pairs of each class.

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

    def laplacians(self, grams, present, labels):
        check_parameters(self)
        same = labels[:, None] == labels[None, :]
        within = _neighbors(grams, present, self.n_neighbors, same)
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
    ``w_ij = a_ij / n_{y_i}`` within a class and 0 between classes; ``w'_ij = a_ij / N`` within and ``1 / N`` between
    (Sugiyama, 2007, as `LocalFisher`).

    Parameters
    ----------
    n_neighbors : int
        k, the neighbour whose distance is the scale of a sample; at most the size of its class less one.

    Notes
    -----
    Memory: W and W' hold the blocks of the classes, that is the sum of squared class sizes.

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

    def laplacians(self, grams, present, labels):
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
    are those of the samples with a label, and ``w_ij = 1 / k`` where one of any two samples is among the k nearest of
    the other. Reference: D. Cai, X. He, J. Han, Semi-supervised discriminant analysis, 2007.

    Parameters
    ----------
    n_neighbors : int
        k, the number of neighbours; at most all other samples.
    alpha : float
        Weight of the neighbours; 0 takes samples with a label only.

    Notes
    -----
    ``y`` holds the label of a sample, or -1 where it has none.

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

    def laplacians(self, grams, present, labels):
        check_parameters(self)
        within, total = class_laplacians(labels)
        neighbors = _neighbors(grams, present, self.n_neighbors)
        return total + (self.alpha / self.n_neighbors) * GraphLaplacian.of_affinities(neighbors), total - within


def _averaged(
    grams: np.ndarray, present: np.ndarray, affinity_of: Callable[[np.ndarray, np.ndarray], sp.csr_array]
) -> sp.csr_array | np.ndarray:
    return mean_affinity([affinity_of(K, present[:, m]) for m, K in enumerate(grams)])


def _neighbors(
    grams: np.ndarray,
    present: np.ndarray,
    k: int,
    searched: np.ndarray | None = None,
    kept: np.ndarray | None = None,
) -> sp.csr_array | np.ndarray:
    """1 where one of two samples is among the k nearest of the other, averaged over kernels.

    Neighbours are searched among the pairs of the mask `searched`; then only those in the mask `kept` stay.
    """

    def either(K: np.ndarray, there: np.ndarray) -> sp.csr_array:
        n = len(K)
        distance = _distances(K)
        np.fill_diagonal(distance, np.inf)
        distance[:, ~there] = np.inf
        distance[~there] = np.inf
        if searched is not None:
            distance[~searched] = np.inf
        count = min(k, n - 1)
        rows = np.repeat(np.arange(n), count)
        columns = np.argpartition(distance, count - 1, axis=1)[:, :count].ravel()
        found = np.isfinite(distance[rows, columns])
        if kept is not None:
            found &= kept[rows, columns]
        return _symmetric(rows[found], columns[found], n)

    return _averaged(grams, present, either)


def _distances(K: np.ndarray) -> np.ndarray:
    diagonal = np.diagonal(K)
    return diagonal[:, None] + diagonal[None, :] - 2.0 * K


def _symmetric(rows: np.ndarray, columns: np.ndarray, n: int) -> sp.csr_array:
    ones = np.ones(2 * len(rows))
    pairs = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    affinity = sp.csr_array((ones, pairs), shape=(n, n))
    affinity.data[:] = 1.0  # a pair that was found from both ends counts once
    return affinity


def local_affinity(squared: np.ndarray, k: int, weight: np.ndarray | None = None) -> np.ndarray:
    """The affinities ``a_ij = exp(-d_ij^2 / (s_i s_j))``, s_i the distance of sample i to its k-th nearest other.

    Reference: L. Zelnik-Manor and P. Perona, Self-tuning spectral clustering, 2004. Where a scale is 0, as it is for a
    sample with k duplicates, affinities are those of the limit: 1 to duplicates and 0 to all others.
    Memory: beside the distances and the affinities one n x n array at a time, two with weights.
    """
    scale = np.sqrt(_neighbor_distance(squared, k, weight))
    affinity = np.maximum(scale[:, None] * scale[None, :], np.finfo(float).tiny)
    with np.errstate(over="ignore"):  # any distance is infinite beside a scale of 0
        np.divide(squared, affinity, out=affinity)
    np.negative(affinity, out=affinity)
    return np.exp(affinity, out=affinity)


def _neighbor_distance(squared: np.ndarray, k: int, weight: np.ndarray | None) -> np.ndarray:
    """Squared distance of each sample to its k-th nearest other; the sample itself is the first of its row."""
    if weight is None:
        place = min(k, len(squared) - 1)
        return np.partition(squared, place, axis=1)[:, place]
    order = squared.argsort(axis=1)
    reached = weight[order].cumsum(axis=1)
    place = (reached >= np.minimum(k + 1, reached[:, -1:])).argmax(axis=1)[:, None]
    return np.take_along_axis(squared, np.take_along_axis(order, place, axis=1), axis=1)[:, 0]
