"""`ExactFeatures`: the feature space of linear and polynomial kernels itself, of their sums and of their products.

============================================  ======================================================================
kernel                                        phi(x)
============================================  ======================================================================
<x, z>                                        x
(<x, z> + coef0)^degree                       all monomials of (x, coef0^(1/2)) of that degree, each times the root of
                                              the number of orders of its factors
k_1(x, z) + k_2(x, z)                         phi_1(x) and phi_2(x) side by side
k_1(x, z) k_2(x, z)                           all products of a feature of k_1 and one of k_2
============================================  ======================================================================
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb, factorial

import numpy as np
import scipy.sparse as sp

from ..kernels import Kernel, KernelStack
from ..views import Views
from .base import Approximation
from .direct import DirectMap
from .precision import degree_of, warn_of_lost_differences

MOST_FEATURES = 10_000  # of what is wider than a dense view


class ExactMap(DirectMap):
    """The feature space of a kernel; parameters are those of `DirectMap`."""

    def expand(self, views: Views) -> np.ndarray:
        """phi of samples."""
        return _expansion(self.kernel, views)

    def feature_weights(self, weights: np.ndarray) -> np.ndarray | None:
        """Weights of normalised columns that give the same scores as these weights of features; None if not linear."""
        function = self.kernel.point_function()
        if function is None or function.kind != "linear":
            return None
        return self.factor * np.sqrt(function.gain) * weights


class ExactFeatures(Approximation):
    """The feature space itself, phi(x) with <phi(x), phi(z)> = k(x, z), of linear and polynomial kernels.

    They serve `Linear`, `Polynomial`, numbers, and sums and products of these. A linear kernel has a feature for each
    column, a polynomial one of d columns and degree q (d + q)! / (d! q!) monomials, so that views must be narrow:
    above 10 000 features they are refused, except a linear kernel of a dense view.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.features import ExactFeatures
    >>> from kernelweave.kernels import Linear, Polynomial
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = MKLClassifier([Linear(), Polynomial(degree=2)], approximation=ExactFeatures()).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def fit_map(self, stack: KernelStack, m: int, rng: np.random.RandomState, *, dtype: np.dtype) -> ExactMap:
        """Count the features and learn the constants of normalisation."""
        name, kernel = stack.names[m], stack.kernels[m]
        width = expanded_width(kernel, name)
        if width > MOST_FEATURES and not _is_dense_view(kernel, stack.support):
            raise ValueError(
                f"the kernel {name!r} ({type(kernel).__name__}) has {width} exact features, more than {MOST_FEATURES}: "
                f"its view is too wide; use NystroemFeatures for it, approximation={{{name!r}: NystroemFeatures(), "
                "...}, or fewer columns, such as transformer=TruncatedSVD(50)"
            )
        return _fitted(stack, m, width)


def narrow_map(stack: KernelStack, m: int, most: int) -> ExactMap | None:
    """The exact features of a kernel, where it has some and they are at most so many; else None.

    Parameters
    ----------
    stack, m
        As in `Approximation.fit_map`.
    most : int
    """
    width = _width(stack.kernels[m])
    return None if isinstance(width, Kernel) or width > most else _fitted(stack, m, width)


def _fitted(stack: KernelStack, m: int, width: int) -> ExactMap:
    name, kernel = stack.names[m], stack.kernels[m]
    found = ExactMap(kernel, name, width)
    moments = found.normalized(stack, m)
    found.trace_share = min(1.0, found.trace_share)
    degree = degree_of(kernel)
    if degree > 1:  # a feature is of first degree in a column where its value is; beside it are those of higher ones
        warn_of_lost_differences(name, kernel, moments.varied, degree - 1)
    return found


def expanded_width(kernel: Kernel, name: str) -> int:
    """Number of exact features of a fitted kernel; a `ValueError` where it has none.

    Parameters
    ----------
    kernel : Kernel
    name : str
        What messages call it.
    """
    width = _width(kernel)
    if isinstance(width, Kernel):
        raise ValueError(
            f"ExactFeatures are for linear and polynomial kernels, but the kernel {name!r} is or contains "
            f"{type(width).__name__}; use NystroemFeatures, which serve every kernel, for it: "
            f"approximation={{{name!r}: NystroemFeatures(), ...}}"
        )
    return width


def _width(kernel: Kernel) -> int | Kernel:
    """Number of exact features of a kernel, or the part of it that has none."""
    join = kernel.join_function()
    if join is not None:
        first, second = _width(join.first), _width(join.second)
        if isinstance(first, Kernel) or isinstance(second, Kernel):
            return first if isinstance(first, Kernel) else second
        return first * second if join.is_product else first + second
    function = kernel.point_function()
    if function is None or function.kind not in ("linear", "polynomial"):
        return kernel
    preparation = getattr(kernel, "preparation_", None)
    n_columns = max(1, len(kernel.columns())) if preparation is None else int(preparation.n_features)
    if function.kind == "linear":
        return n_columns
    degree = int(function.degree)
    return comb(n_columns + (function.coef0 > 0.0) + degree - 1, degree)


def _is_dense_view(kernel: Kernel, views: Views) -> bool:
    return kernel.is_linear and not sp.issparse(kernel.read(views)[0])


def _expansion(kernel: Kernel, views: Views) -> np.ndarray:
    """phi of samples, a new array."""
    join = kernel.join_function()
    if join is not None:
        first, second = _expansion(join.first, views), _expansion(join.second, views)
        if not join.is_product:
            return np.hstack([first, second])
        return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
    function, values = kernel.point_function(), kernel.read(views)[0]
    if function is None:
        raise TypeError(f"{type(kernel).__name__} has no exact features")
    values = values.toarray() if sp.issparse(values) else values
    if function.kind == "linear":
        return np.sqrt(function.gain) * values
    if function.coef0 > 0.0:
        values = np.hstack([values, np.full((len(values), 1), np.sqrt(function.coef0))])
    return np.sqrt(function.gain) * _monomials(values, function.degree)


def _monomials(values: np.ndarray, degree: int) -> np.ndarray:
    """All monomials of a degree, each times the root of the number of orders of its factors."""
    chosen = np.array(list(combinations_with_replacement(range(values.shape[1]), degree)), dtype=int)
    orders = np.array([_orders(row) for row in chosen.tolist()])
    features = values[:, chosen[:, 0]] * np.sqrt(orders)
    for factor in chosen.T[1:]:
        features *= values[:, factor]
    return features


def _orders(row: list[int]) -> float:
    repeats = 1
    for column in set(row):
        repeats *= factorial(row.count(column))
    return factorial(len(row)) / repeats
