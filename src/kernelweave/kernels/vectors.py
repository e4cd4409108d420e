"""Kernels of feature vectors: linear, polynomial, and any function of the user's.

At the end of section 1.1 of the thesis, k_L = <x, z> is `Linear`, and k_P = (<x, z> + coef0)^degree, of degree q and
coef0 = 1, `Polynomial`.

Dense views and CSR matrices; a sparse view is never made dense. Memory: the result, plus one more matrix of its size
while a sparse product is made dense. Kernels of a dense view with more features than samples share its inner products.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..validation import Constraints, Number, Whole, check_parameters, shown
from ..validation.schemas import Schema, count, function, number
from ..views import Views, as_views
from .base import Tile, ViewKernel, symmetric
from .precomputed import check_symmetric
from .tiles.functions import PointFunction

_CACHED_VALUES = 2**17


class TiledKernel(ViewKernel):
    """A function of feature vectors whose Gram matrix is computed in tiles, where the features are dense.

    A subclass that has a `cross_of` or `gram_of` of its own and no `tile_of` does not use the tiles of its base.
    """

    @abstractmethod
    def tile_of(self, A: np.ndarray) -> Tile:
        """A function that gives k(a, a') between two ranges (slices) of rows of A."""

    def gram_of(self, A: Any) -> np.ndarray:
        if not self._has_tiles(A):
            return self.cross_of(A, A)
        K = symmetric(len(A), self.tile_of(A))
        np.fill_diagonal(K, self.diagonal_of(A))
        return K

    def of_products(self, products: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The values from inner products, which may be overwritten, and the squared lengths of both sides."""
        raise NotImplementedError(f"{type(self).__name__} does not implement of_products")

    def takes_products(self, views: Views, values: np.ndarray) -> bool:
        """Whether `of_products` is as exact as the values from the features of these training samples."""
        return True

    def gram(self, X: Any) -> np.ndarray:
        views = as_views(X)
        shared = self._shared(views, views)
        return super().gram(views) if shared is None else self.of_products(*shared)

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        views, others = as_views(X), as_views(Y)
        shared = self._shared(views, others)
        return super().cross(views, others) if shared is None else self.of_products(*shared)

    def tile(self, X: Any) -> Tile | None:
        views = as_views(X)
        values, present = self.read(views)
        shared = self._shared(views, views)
        if shared is None:
            return self.tile_of(values) if present.all() and self._has_tiles(values) else None
        products, left, right = shared
        return lambda rows, columns: self.of_products(products[rows, columns].copy(), left[rows], right[columns])

    def _shared(self, views: Views, others: Views) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """What `of_products` takes, where training samples (`others`) are dense and wide; kept for all such kernels."""
        (A, present), (B, there) = self.read(views), self.read(others)
        is_wide = B.shape[0] <= B.shape[1] and self.lowered_by is None and present.all() and there.all()
        if not is_wide or not self._has_tiles(A, "of_products") or not self.takes_products(others, B):
            return None
        key = self._features_key

        def compute() -> np.ndarray:
            if A is not B:
                return A @ B.T
            found = symmetric(len(A), lambda rows, columns: A[rows] @ A[columns].T)
            np.fill_diagonal(found, left)
            return found

        left, right = self.lengths(views, A), self.lengths(others, B)
        products = views.kept(("products", key, None if A is B else others), compute)
        return products.copy(), left, right

    def lengths(self, views: Views, values: np.ndarray) -> np.ndarray:
        """The squared lengths of the features of samples, computed once."""
        return views.kept(("lengths", self._features_key), lambda: squared_norms(values))

    @property
    def _features_key(self) -> Any:
        return self.columns_.tobytes() if self.preparation_ is None else self.preparation_

    def _has_tiles(self, A: Any, function: str = "tile_of") -> bool:
        """Whether the features are dense, and no subclass of the one that defines tiles defines other values."""
        functions = {"tile_of", "cross_of", "gram_of", "of_products", "gram"}
        owner = next(cls for cls in type(self).__mro__ if not functions.isdisjoint(vars(cls)))
        return not sp.issparse(A) and function in vars(owner)


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
        return PointFunction("linear")

    def cross_of(self, A, B):
        return products(A, B)

    def of_products(self, products, left, right):
        return products

    def tile_of(self, A):
        return lambda rows, columns: A[rows] @ A[columns].T

    def diagonal_of(self, A):
        return squared_norms(A)

    def pullback(self, A, Z, weights):
        return weighted_sums(A, weights)


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
        As in `Linear`.

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

    _saved = Schema({"degree": count(1), "coef0": number(0.0)})

    def __init__(self, view: Any = None, degree: int = 2, *, coef0: float = 1.0, transformer: Any = None):
        self.view = view
        self.degree = degree
        self.coef0 = coef0
        self.transformer = transformer

    def learn(self, values, sample_weight):
        check_parameters(self, f"the kernel {self.label_!r}")

    def point_function(self):
        return PointFunction("polynomial", degree=self.degree, coef0=self.coef0)

    def cross_of(self, A, B):
        return self._power(products(A, B))

    def of_products(self, products, left, right):
        return self._power(products)

    def tile_of(self, A):
        return lambda rows, columns: self._power(A[rows] @ A[columns].T)

    def diagonal_of(self, A):
        return self._power(squared_norms(A))

    def pullback(self, A, Z, weights):
        """sum_i weights_ij degree (<a_i, z_j> + coef0)^(degree - 1) a_i."""
        inner = A @ Z.T + self.coef0
        return weighted_sums(A, weights * (self.degree * inner ** (self.degree - 1)))

    def _power(self, values):
        values += self.coef0
        if self.degree == 2:  # np.power is several times slower than a product
            return np.multiply(values, values, out=values)
        return np.power(values, self.degree, out=values)


def weighted_sums(values: Any, weights: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray((values.T @ weights).T)


def products(A: Any, B: Any) -> np.ndarray:
    values = A @ B.T
    return values.toarray() if sp.issparse(values) else values


def squared_norms(A: Any) -> np.ndarray:
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)


def column_parts(A: np.ndarray) -> Iterator[np.ndarray]:
    """Some columns after the other, so few that a processor's cache holds them while they are gone through again."""
    width = max(64, _CACHED_VALUES // max(1, len(A)))
    return (A[:, first : first + width] for first in range(0, A.shape[1], width))


class Function(ViewKernel):
    """The kernel k(x, z) = function(A, B)[i, j] for row i of A and row j of B.

    Parameters
    ----------
    function : callable
        Takes two arrays of samples (rows) and returns the array of shape (len(A), len(B)) of their similarities,
        which must be symmetric. Columns that are not numbers come as object arrays, sparse views as CSR matrices.
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    repair : {"clip", "shift", None}
        What a model does where the similarities of its training samples are not positive semidefinite, see `Repair`;
        None only warns.
    transformer : transformer or None
        As in `Linear`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Function
    >>> overlap = Function(lambda A, B: np.minimum(A[:, None, :], B[None, :, :]).sum(axis=2))
    >>> X = [[1.0, 2.0], [3.0, 0.0]]
    >>> overlap.fit(X).gram(X)
    array([[3., 1.],
           [1., 3.]])
    """

    takes_text = True
    takes_sparse = True

    _saved = Schema({"function": function})

    def __init__(
        self,
        function: Callable[[Any, Any], np.ndarray],
        view: Any = None,
        *,
        repair: str | None = None,
        transformer: Any = None,
    ):
        self.function = function
        self.view = view
        self.repair = repair
        self.transformer = transformer

    @property
    def name(self) -> str:
        return self.view if isinstance(self.view, str) else getattr(self.function, "__name__", "function").strip("<>")

    def learn(self, values, sample_weight):
        if not callable(self.function) or isinstance(self.function, type):
            raise ValueError(
                f"function of the kernel {self.label_!r} (Function) must be a callable f(A, B), not "
                f"{shown(self.function)}"
            )

    def gram_of(self, A):
        K = self.cross_of(A, A)
        check_symmetric(K, f"the values of the kernel {self.label_!r}")
        return K

    def cross_of(self, A, B):
        # Copies that the user's function may write to; some compiled functions take nothing else.
        K = self.function(A.copy(), B.copy())
        if sp.issparse(K) or np.iscomplexobj(K):
            raise ValueError(
                f"the kernel {self.label_!r} returned sparse or complex values; it must return real arrays"
            )
        K = np.array(K, dtype=np.float64)
        if K.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"the kernel {self.label_!r} returned shape {K.shape} for {A.shape[0]} and {B.shape[0]} samples; "
                f"its function must return shape {(A.shape[0], B.shape[0])}"
            )
        return K
