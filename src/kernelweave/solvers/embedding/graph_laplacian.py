"""`GraphLaplacian`: the matrix of a graph over samples, kept as sparse, low-rank and diagonal parts.

A graph with affinities ``W = S + F diag(c) F'`` (S sparse, F of low rank r) has the Laplacian ``diag(W 1) - W``; a
product with a matrix of k columns takes ``O((nnz(S) + n r) k)``.

=============================  ====================================================
MKL-DR, (1) to (4)             here
=============================  ====================================================
W, W'                          `affinity` and `factors`, `factor_weights`
L, L'                          `GraphLaplacian`, from `GraphLaplacian.of_affinities`
D                              `GraphLaplacian` with a `diagonal` only
=============================  ====================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

# A product with a sparse matrix that is fuller than this takes longer than one with a dense matrix.
_DENSE_SHARE = 0.03


@dataclass(frozen=True)
class GraphLaplacian:
    """The symmetric matrix ``diag(diagonal) - affinity - factors diag(factor_weights) factors'``.

    Attributes
    ----------
    diagonal : ndarray of shape (n_samples,)
    affinity : sparse matrix or ndarray of shape (n_samples, n_samples), or None
    factors : ndarray of shape (n_samples, n_factors)
    factor_weights : ndarray of shape (n_factors,)

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.solvers.embedding.graph_laplacian import GraphLaplacian
    >>> chain = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> GraphLaplacian.of_affinities(chain).dot(np.eye(3))
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """

    diagonal: np.ndarray
    affinity: Any
    factors: np.ndarray
    factor_weights: np.ndarray

    @classmethod
    def of_affinities(cls, affinity: Any = None, factors: Any = None, factor_weights: Any = None) -> GraphLaplacian:
        """``diag(W 1) - W`` of the affinities ``W = affinity + factors diag(factor_weights) factors'``."""
        n_samples = len(factors) if affinity is None else affinity.shape[0]
        factors = np.zeros((n_samples, 0)) if factors is None else factors
        factor_weights = np.ones(factors.shape[1]) if factor_weights is None else factor_weights
        degree = factors @ (factor_weights * factors.sum(axis=0))
        if affinity is not None:
            degree = degree + np.asarray(affinity.sum(axis=1)).ravel()
        return cls(degree, affinity, factors, factor_weights)

    @classmethod
    def of_diagonal(cls, diagonal: np.ndarray) -> GraphLaplacian:
        """The diagonal matrix of constraint (3)."""
        return cls(diagonal, None, np.zeros((len(diagonal), 0)), np.zeros(0))

    @property
    def size(self) -> float:
        """The largest entry of its diagonal or eigenvalue of a factor: what rounding errors of a product go by."""
        lengths = (self.factors**2).sum(axis=0) * np.abs(self.factor_weights)
        return float(max(np.abs(self.diagonal).max(), lengths.max(initial=0.0)))

    def dot(self, B: np.ndarray) -> np.ndarray:
        """The product with a vector or with a matrix of n_samples rows."""
        weights = self.factor_weights if B.ndim == 1 else self.factor_weights[:, None]
        product = (self.diagonal if B.ndim == 1 else self.diagonal[:, None]) * B
        if self.affinity is not None:
            product -= self.affinity @ B
        if len(weights):
            product -= self.factors @ (weights * (self.factors.T @ B))
        return product

    def __mul__(self, factor: float) -> GraphLaplacian:
        affinity = None if self.affinity is None else self.affinity * factor
        return GraphLaplacian(self.diagonal * factor, affinity, self.factors, self.factor_weights * factor)

    __rmul__ = __mul__

    def __add__(self, other: GraphLaplacian) -> GraphLaplacian:
        parts = [part for part in (self.affinity, other.affinity) if part is not None]
        affinity = parts[0] + parts[1] if len(parts) == 2 else parts[0] if parts else None
        return GraphLaplacian(
            self.diagonal + other.diagonal,
            affinity,
            np.hstack([self.factors, other.factors]),
            np.concatenate([self.factor_weights, other.factor_weights]),
        )

    def __sub__(self, other: GraphLaplacian) -> GraphLaplacian:
        return self + (-1.0) * other


def class_laplacians(labels: np.ndarray) -> tuple[GraphLaplacian, GraphLaplacian]:
    """Within-class and total scatter as Laplacians: (30), w_ij = 1 / n_{y_i} within a class, w'_ij = 1 / N.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,)
        From 0 to n_classes - 1; -1 for samples without a label, which take no part.
    """
    counts = np.bincount(labels[labels >= 0])
    known = labels >= 0
    members = np.zeros((len(labels), len(counts)))
    members[known, labels[known]] = 1.0
    within = GraphLaplacian.of_affinities(
        None, members, np.divide(1.0, counts, out=np.zeros(len(counts)), where=counts > 0)
    )
    total = GraphLaplacian.of_affinities(None, known[:, None].astype(float), np.array([1.0 / known.sum()]))
    return within, total


def mean_affinity(affinities: list[Any]) -> sp.csr_array | np.ndarray:
    """The mean of sparse affinity matrices, one for each kernel (MKL-DR, section 4.3); dense if that is faster."""
    total = affinities[0]
    for affinity in affinities[1:]:
        total = total + affinity
    mean = sp.csr_array(total * (1.0 / len(affinities)))
    return mean.toarray() if mean.nnz > _DENSE_SHARE * mean.shape[0] ** 2 else mean
