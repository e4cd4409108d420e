"""Kernels of feature vectors: linear, polynomial and Gaussian.

The thesis is Gönen (2010, PhD thesis, Boğaziçi University), here the end of its section 1.1:

==========  =====================================  ==================
thesis      here                                   class
==========  =====================================  ==================
k_L         <x, z>                                 `Linear`
k_P, q      (<x, z> + coef0)^degree, coef0 = 1     `Polynomial`
k_G, s      exp(-||x - z||^2 / scale^2)            `Gaussian`
==========  =====================================  ==================

Dense views and CSR matrices; a sparse view is never made dense. Gram matrices of dense views are computed in tiles, see
`tiles`. Memory: the result, plus one more matrix of its size while a sparse product is made dense.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..validation import Constraints, Number, Whole, check_parameters
from .symmetric import TILE, Tile, TiledKernel, symmetric
from .threads import in_blas_threads
from .tiles.functions import PointFunction
from .widths import PAIR_RULES, Samples, binary_unit, chosen_scale, largest_entry

# Pairs closer than this, relative to their norms, count as copies of one sample: rounding of the expanded square.
_SAME_SAMPLE = 1e-12
# A column that varies by less than this, relative to its largest entry, is constant but for rounding.
_SAME_VALUE = 8.0 * np.finfo(float).eps


class Linear(TiledKernel):
    """The linear kernel k(x, z) = <x, z>, k_L of the thesis (Gönen, 2010).

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    transformer : transformer or None
        A transformer of scikit-learn that prepares the view, such as ``StandardScaler()``: the kernel compares what it
        returns. A copy of it, `transformer_`, is fitted (with y) to the training samples that have the view.

    Examples
    --------
    >>> from kernelweave.kernels import Linear
    >>> X = [[1.0, 2.0], [3.0, 0.0]]
    >>> Linear().fit(X).gram(X)
    array([[5., 3.],
           [3., 9.]])
    """

    takes_sparse = True
    positive_semidefinite = True
    is_linear = True
    is_differentiable = True

    def __init__(self, view: Any = None, *, transformer: Any = None):
        self.view = view
        self.transformer = transformer

    def point_function(self):
        """<a, b>."""
        return PointFunction("linear")

    def cross_of(self, A, B):
        """<a, b>."""
        return products(A, B)

    def tile_of(self, A):
        """<a, a'> between ranges of rows."""
        return lambda rows, columns: A[rows] @ A[columns].T

    def diagonal_of(self, A):
        """||a||^2."""
        return squared_norms(A)

    def pullback(self, A, Z, weights):
        """sum_i weights_ij a_i."""
        return _weighted_sums(A, weights)


class Polynomial(TiledKernel):
    """The polynomial kernel k(x, z) = (<x, z> + coef0)^degree, k_P of the thesis (Gönen, 2010).

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    degree : int
        The degree q, at least 1.
    coef0 : float
        The constant, at least 0.
    transformer : transformer or None
        A transformer of scikit-learn that prepares the view, such as ``StandardScaler()``: the kernel compares what it
        returns. A copy of it, `transformer_`, is fitted (with y) to the training samples that have the view.

    Examples
    --------
    >>> from kernelweave.kernels import Polynomial
    >>> X = [[1.0, 2.0], [3.0, 0.0]]
    >>> Polynomial(degree=2).fit(X).gram(X)
    array([[ 36.,  16.],
           [ 16., 100.]])
    """

    takes_sparse = True
    positive_semidefinite = True
    is_differentiable = True

    _constraints = Constraints(degree=Whole(1), coef0=Number(low=0))

    def __init__(self, view: Any = None, degree: int = 2, *, coef0: float = 1.0, transformer: Any = None):
        self.view = view
        self.degree = degree
        self.coef0 = coef0
        self.transformer = transformer

    def learn(self, values, sample_weight):
        """Check the degree and the constant."""
        check_parameters(self, f"the kernel {self.label_!r}")

    def point_function(self):
        """(<a, b> + coef0)^degree."""
        return PointFunction("polynomial", degree=self.degree, coef0=self.coef0)

    def cross_of(self, A, B):
        """(<a, b> + coef0)^degree."""
        return self._power(products(A, B))

    def tile_of(self, A):
        """(<a, a'> + coef0)^degree between ranges of rows."""
        return lambda rows, columns: self._power(A[rows] @ A[columns].T)

    def diagonal_of(self, A):
        """(||a||^2 + coef0)^degree."""
        return self._power(squared_norms(A))

    def pullback(self, A, Z, weights):
        """sum_i weights_ij degree (<a_i, z_j> + coef0)^(degree - 1) a_i."""
        inner = A @ Z.T + self.coef0
        return _weighted_sums(A, weights * (self.degree * inner ** (self.degree - 1)))

    def _power(self, values):
        values += self.coef0
        if self.degree == 2:  # np.power is several times slower than a product
            return np.multiply(values, values, out=values)
        return np.power(values, self.degree, out=values)


class Gaussian(TiledKernel):
    """The Gaussian kernel k(x, z) = exp(-||x - z||^2 / scale^2), k_G of the thesis (Gönen, 2010).

    Where a kernel is written exp(-gamma ||x - z||^2), gamma = 1 / scale^2 and scale = gamma^(-1/2).

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    scale : float, {"scale", "nearest", "median"} or None
        The width s, or how the training samples that have the view give it:

        - "scale", what None means: s^2 is the sum over columns of their variance. On standardised columns that is
          ``gamma="scale"`` of scikit-learn's ``SVC``; unlike that, it does not change where columns are shifted.
        - "nearest": the mean distance of a sample to its nearest neighbour, thesis (2.10). It shrinks as samples are
          added, and overfits where they are many.
        - "median": the median distance of two samples.

        It is 1 where all samples coincide. Samples count by their weight, and copies of one are neither its neighbours
        nor pairs, so that repeating samples does not change it. For "nearest" and "median" a part of more than 10 000
        samples is looked at, always the same, which changes the width by about 2 % at most, "nearest" more.
    transformer : transformer or None
        A transformer of scikit-learn that prepares the view, such as ``StandardScaler()``: the kernel compares what it
        returns. A copy of it, `transformer_`, is fitted (with y) to the training samples that have the view.

    Attributes
    ----------
    scale_ : float
        The width in use.

    Examples
    --------
    >>> from kernelweave.kernels import Gaussian
    >>> X = [[0.0], [1.0], [3.0], [4.0]]
    >>> round(Gaussian().fit(X).scale_**2, 3)  # the variance
    2.5
    >>> Gaussian(scale="nearest").fit(X).scale_
    1.0
    """

    takes_sparse = True
    positive_semidefinite = True
    is_stationary = True
    is_differentiable = True
    has_width = True

    def __init__(self, view: Any = None, scale: float | str | None = None, *, transformer: Any = None):
        self.view = view
        self.scale = scale
        self.transformer = transformer

    def learn(self, values, sample_weight):
        """Take the width, by its rule where it is no number."""
        self.scale_ = chosen_scale(self, lambda rule: euclidean_scale(values, sample_weight, rule))

    def point_function(self):
        """exp(-||a - b||^2 / scale^2)."""
        return PointFunction("gaussian", scale=self.scale_)

    def gram_of(self, A):
        """exp(-||a - a'||^2 / scale^2), exactly 1 on the diagonal."""
        K = gaussian(A, A, self.scale_) if sp.issparse(A) else symmetric(len(A), _gaussian_tile(A, self.scale_))
        np.fill_diagonal(K, 1.0)
        return K

    def tile_of(self, A):
        """exp(-||a - a'||^2 / scale^2) between ranges of rows."""
        return _gaussian_tile(A, self.scale_)

    def cross_of(self, A, B):
        """exp(-||a - b||^2 / scale^2)."""
        return gaussian(A, B, self.scale_)

    def diagonal_of(self, A):
        """1."""
        return np.ones(A.shape[0])

    def pullback(self, A, Z, weights):
        """sum_i weights_ij k(a_i, z_j) 2 (a_i - z_j) / scale^2."""
        weights = weights * self.cross_of(A, Z) * (2.0 / self.scale_**2)
        return _weighted_sums(A, weights) - weights.sum(axis=0)[:, None] * Z


def _weighted_sums(values: Any, weights: np.ndarray) -> np.ndarray:
    """weights' values as an array, also for sparse values."""
    return np.ascontiguousarray((values.T @ weights).T)


def gaussian(A: Any, B: Any, scale: float) -> np.ndarray:
    """exp(-||a - b||^2 / scale^2) for all pairs of rows."""
    if sp.issparse(A) or sp.issparse(B):
        unit = binary_unit(scale)  # dividing by it is exact, and squares of a tiny or huge scale under- or overflow
        return falling(_squared_distances(A / unit, B / unit), scale / unit)
    left, right = _exponent_factors(A, B, scale)
    K = np.empty((len(A), len(B)))
    height = max(1, TILE**2 // max(1, len(B)))
    bands = (slice(first, first + height) for first in range(0, len(A), height))
    in_blas_threads(lambda band: _exponentials(left[band], right, out=K[band]), bands)
    return K


def _exponent_factors(A: np.ndarray, B: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose products are the exponents -||a - b||^2 / scale^2, of dense features.

    With u = sqrt(2) (a - centre) / scale, and v of b alike, they are <u, v> - ||u||^2 / 2 - ||v||^2 / 2: one product of
    rows with two more columns. The common centre keeps them accurate.
    """
    unit = binary_unit(scale)  # dividing by it is exact, and squares of a tiny or huge scale would under- or overflow
    same, gain = A is B, np.sqrt(2.0) / (scale / unit)
    V = B / unit
    centre = V.mean(axis=0) if len(V) else 0.0
    V = (V - centre) * gain
    U = V if same else (A / unit - centre) * gain
    left = np.hstack([U, -0.5 * squared_norms(U)[:, None], np.ones((len(U), 1))])
    return left, np.hstack([V, np.ones((len(V), 1)), -0.5 * squared_norms(V)[:, None]])


def _exponentials(left: np.ndarray, right: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """exp of all products of rows; products above 0, by rounding, count as 0."""
    exponents = np.matmul(left, right.T, out=out)
    if exponents.size and not exponents.max() <= 0.0:
        np.minimum(exponents, 0.0, out=exponents)
    return np.exp(exponents, out=exponents)


def _gaussian_tile(A: np.ndarray, scale: float) -> Tile:
    """exp(-||a - a'||^2 / scale^2) between ranges of rows."""
    left, right = _exponent_factors(A, A, scale)
    return lambda rows, columns: _exponentials(left[rows], right[columns])


def falling(squared: np.ndarray, scale: float) -> np.ndarray:
    """exp(-squared / scale^2), in place."""
    squared /= -scale
    squared /= scale
    return np.exp(squared, out=squared)


def products(A: Any, B: Any) -> np.ndarray:
    """<a, b> for all pairs of rows, as a dense array."""
    values = A @ B.T
    return values.toarray() if sp.issparse(values) else values


def squared_norms(A: Any) -> np.ndarray:
    """||a||^2 of each row."""
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)


def _squared_distances(A: Any, B: Any) -> np.ndarray:
    """||a - b||^2 for all pairs, by the expanded square; for sparse features, which cannot be centred."""
    squared = products(A, B)
    squared *= -2.0
    squared += squared_norms(A)[:, None]
    squared += squared_norms(B)[None, :]
    return np.maximum(squared, 0.0, out=squared)


def euclidean_scale(A: Any, sample_weight: np.ndarray, rule: str) -> float:
    """The width by a rule, for Euclidean distances between the rows of an array or CSR matrix."""
    unit = binary_unit(largest_entry(A))
    A = A / unit  # exact, and squares of huge or tiny entries neither over- nor underflow
    if rule == "scale":
        return unit * _spread(A, sample_weight) or 1.0
    if not sp.issparse(A) and len(A):
        A = A - A.mean(axis=0)
    norms = squared_norms(A)

    def distances_of(rows: Samples, columns: Samples) -> np.ndarray:
        squared = products(A[rows], A[columns])
        squared *= -2.0
        squared += norms[rows, None]
        squared += norms[columns]
        squared[squared <= _SAME_SAMPLE * (norms[rows, None] + norms[columns])] = np.inf
        return np.sqrt(squared, out=squared)

    return unit * PAIR_RULES[rule](distances_of, sample_weight) or 1.0


def _spread(A: Any, sample_weight: np.ndarray) -> float:
    """The root of the columns' summed variances, which no shift of a column cancels."""
    total = sample_weight.sum()
    if not total > 0.0:
        return 0.0
    if not sp.issparse(A):
        largest = np.abs(A).max(axis=0, initial=0.0)
        A = A - A[0]  # so that constant columns are exactly 0
        A -= sample_weight @ A / total
        A[:, np.abs(A).max(axis=0, initial=0.0) <= _SAME_VALUE * largest] = 0.0
        size = binary_unit(largest_entry(A))
        A /= size
        return size * float(np.sqrt(sample_weight @ squared_norms(A) / total))
    A = A.tocsc(copy=True)
    A.sum_duplicates()
    stored = np.diff(A.indptr)
    weight, column = sample_weight[A.indices], np.repeat(np.arange(A.shape[1]), stored)
    mean = np.bincount(column, weight * A.data, A.shape[1]) / total
    # Entries that are not stored are 0 and lie at -mean.
    absent = np.where(stored < A.shape[0], total - np.bincount(column, weight, A.shape[1]), 0.0)
    deviation = A.data - mean[column]
    variance = (np.bincount(column, weight * deviation**2, A.shape[1]) + absent * mean**2) / total
    largest = abs(A).max(axis=0).toarray().ravel()
    return float(np.sqrt(variance[variance > (_SAME_VALUE * largest) ** 2].sum()))
