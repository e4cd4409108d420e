"""Graphs: which samples an embedding should bring together, and which it should keep apart.

Graph embedding (Yan et al., 2007; MKL-DR, (1) to (4)) minimises ``tr(Z'LZ)`` over embeddings Z of the samples, under a
constraint on ``tr(Z'L'Z)`` or ``tr(Z'DZ)``. A graph gives the two matrices, as `GraphLaplacian` objects that are never
formed. This module has the graphs of labels alone and the user's own; `neighbors` has the graphs of nearest neighbours.

=============================  =====================================================
MKL-DR                         here
=============================  =====================================================
L (of W)                       first of `Graph.laplacians`
L' (of W'), or D               second of `Graph.laplacians`
LDA, (30)                      `LDAGraph`
LDE, (31)-(32)                 `LDEGraph`
=============================  =====================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from ...solvers.embedding import GraphLaplacian, class_laplacians
from ...validation import Choice, Constraints, blamed_on, check_parameters


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
    """Linear discriminant analysis: small scatter within classes, large scatter between them, (30).

    ``w_ij = 1 / n_{y_i}`` within a class and 0 between classes, ``w'_ij = 1 / N - w_ij``. Both are of low rank.

    Parameters
    ----------
    against : {"between", "total"}
        Which scatter to keep large. With "between" the ratio-trace step at given weights is kernel Fisher discriminant
        analysis to the letter. "total" is (30), ``w'_ij = 1 / N``. Without a ridge the two are alike; with one, "total"
        prefers directions of large scatter within classes to those of little scatter between them.

    References
    ----------
    Y.-Y. Lin, T.-L. Liu, C.-S. Fuh, Dimensionality reduction for data in multiple feature representations, 2008.

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

    def laplacians(self, grams, present, labels):  # noqa: D102
        check_parameters(self)
        within, total = class_laplacians(labels)
        return within, total if self.against == "total" else total - within


class PCAGraph(Graph):
    """Principal components: large variance for projections of norm one.

    Maximises ``tr(A'KHKA)``, H the centring matrix, under ``A'KA = I``: kernel PCA up to a shift of the embedding. As a
    pair of graphs PCA would have eigenvalues 0 and 1 only, so the norm of the projections takes the place of the first
    graph. Kernel weights cannot be learned from that: they stay as they begin.

    References
    ----------
    B. Schölkopf, A. Smola, K.-R. Müller, Nonlinear component analysis as a kernel eigenvalue problem, 1998.

    Examples
    --------
    >>> from kernelweave.kernels import Gaussian
    >>> from kernelweave.reduction import MKLDR, PCAGraph
    >>> X = [[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [4.0, 0.0]]
    >>> MKLDR([Gaussian(scale=3.0)], PCAGraph(), n_components=2).fit_transform(X).shape
    (4, 2)
    """

    def laplacians(self, grams, present, labels):  # noqa: D102
        return None, class_laplacians(np.zeros(len(present), dtype=int))[1]


class UserGraph(Graph):
    """Any pair of affinity matrices (W, W'), or an affinity matrix and the diagonal matrix D: (1).

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

    def laplacians(self, grams, present, labels):  # noqa: D102
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
