"""Kernels of feature vectors: linear, polynomial and Gaussian (thesis, end of section 1.1).

==========  =====================================  ==================
thesis      here                                   class
==========  =====================================  ==================
k_L         <x, z>                                 `Linear`
k_P, q      (<x, z> + coef0)^degree, coef0 = 1     `Polynomial`
k_G, s      exp(-||x - z||^2 / scale^2)            `Gaussian`
==========  =====================================  ==================

Dense views and CSR matrices; a sparse view is never made dense. Memory: the result, plus one more matrix of its
size while a sparse product is made dense.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from .base import ViewKernel

# Pairs closer than this, relative to their norms, count as copies of one sample: rounding of the expanded square.
_SAME_SAMPLE = 1e-12
_BLOCK_ROWS = 512


class Linear(ViewKernel):
    """The linear kernel k(x, z) = <x, z>, thesis k_L.

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.

    Examples
    --------
    >>> from kernelweave.kernels import Linear
    >>> X = [[1.0, 2.0], [3.0, 0.0]]
    >>> Linear().fit(X).gram(X)
    array([[5., 3.],
           [3., 9.]])
    """

    takes_sparse = True

    def __init__(self, view: Any = None):
        self.view = view

    def _gram(self, A):
        return _products(A, A)

    def _cross(self, A, B):
        return _products(A, B)

    def _diagonal(self, A):
        return _squared_norms(A)


class Polynomial(ViewKernel):
    """The polynomial kernel k(x, z) = (<x, z> + coef0)^degree, thesis k_P.

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    degree : int
        The degree q, at least 1.
    coef0 : float
        The constant, at least 0.

    Examples
    --------
    >>> from kernelweave.kernels import Polynomial
    >>> X = [[1.0, 2.0], [3.0, 0.0]]
    >>> Polynomial(degree=2).fit(X).gram(X)
    array([[ 36.,  16.],
           [ 16., 100.]])
    """

    takes_sparse = True

    def __init__(self, view: Any = None, degree: int = 2, coef0: float = 1.0):
        self.view = view
        self.degree = degree
        self.coef0 = coef0

    def _learn(self, values, sample_weight):
        if not isinstance(self.degree, Integral) or self.degree < 1:
            raise ValueError(f"degree of the kernel {self.label_!r} must be a whole number from 1, not {self.degree!r}")
        if not isinstance(self.coef0, Real) or not 0 <= self.coef0 < np.inf:
            raise ValueError(f"coef0 of the kernel {self.label_!r} must be at least 0, not {self.coef0!r}")

    def _gram(self, A):
        return self._power(_products(A, A))

    def _cross(self, A, B):
        return self._power(_products(A, B))

    def _diagonal(self, A):
        return self._power(_squared_norms(A))

    def _power(self, products):
        products += self.coef0
        if self.degree == 2:  # np.power is several times slower than a product
            return np.multiply(products, products, out=products)
        return np.power(products, self.degree, out=products)


class Gaussian(ViewKernel):
    """The Gaussian kernel k(x, z) = exp(-||x - z||^2 / scale^2), thesis k_G.

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    scale : float or None
        The width s. None takes the mean distance of a training sample to its nearest neighbour, thesis (2.10);
        copies of a sample are not its neighbours, so that repeating samples does not change it.

    Attributes
    ----------
    scale_ : float
        The width in use.

    Examples
    --------
    >>> from kernelweave.kernels import Gaussian
    >>> kernel = Gaussian().fit([[0.0], [1.0], [3.0]])
    >>> round(kernel.scale_, 3)  # (1 + 1 + 2) / 3
    1.333
    """

    takes_sparse = True

    def __init__(self, view: Any = None, scale: float | None = None):
        self.view = view
        self.scale = scale

    def _learn(self, values, sample_weight):
        if self.scale is None:
            self.scale_ = _mean_neighbour_distance(values, sample_weight)
        elif isinstance(self.scale, Real) and 0 < self.scale < np.inf:
            self.scale_ = float(self.scale)
        else:
            raise ValueError(
                f"scale of the kernel {self.label_!r} must be a positive number or None, not {self.scale!r}"
            )

    def _gram(self, A):
        K = self._of_distances(_squared_distances(A, A))
        np.fill_diagonal(K, 1.0)
        return K

    def _cross(self, A, B):
        return self._of_distances(_squared_distances(A, B))

    def _diagonal(self, A):
        return np.ones(A.shape[0])

    def _of_distances(self, squared):
        # Divide twice: scale**2 of a tiny or huge scale would under- or overflow.
        squared /= -self.scale_
        squared /= self.scale_
        return np.exp(squared, out=squared)


def _products(A: Any, B: Any) -> np.ndarray:
    products = A @ B.T
    return products.toarray() if sp.issparse(products) else products


def _squared_norms(A: Any) -> np.ndarray:
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)


def _squared_distances(A: Any, B: Any) -> np.ndarray:
    """||a - b||^2 for all pairs, by the expanded square around a common centre (which keeps it accurate)."""
    if not sp.issparse(A):
        same = A is B
        centre = B.mean(axis=0) if len(B) else 0.0
        B = B - centre
        A = B if same else A - centre
    squared = _products(A, B)
    squared *= -2.0
    squared += _squared_norms(A)[:, None]
    squared += _squared_norms(B)[None, :]
    return np.maximum(squared, 0.0, out=squared)


def _mean_neighbour_distance(A: Any, sample_weight: np.ndarray) -> float:
    """Thesis (2.10), over samples that are not copies of each other; 1 where all samples coincide."""
    if not sp.issparse(A) and len(A):
        A = A - A.mean(axis=0)
    norms = _squared_norms(A)
    nearest = np.empty(A.shape[0])
    for start in range(0, A.shape[0], _BLOCK_ROWS):
        rows = slice(start, min(start + _BLOCK_ROWS, A.shape[0]))
        squared = _products(A[rows], A)
        squared *= -2.0
        squared += norms[rows, None]
        squared += norms[None, :]
        squared[squared <= _SAME_SAMPLE * (norms[rows, None] + norms[None, :])] = np.inf
        nearest[rows] = squared.min(axis=1)
    found = np.isfinite(nearest)
    if not found.any():
        return 1.0
    scale = float(np.average(np.sqrt(nearest[found]), weights=sample_weight[found]))  # thesis (2.10)
    return scale
