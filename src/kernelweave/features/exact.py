"""Features that are functions of a kernel's own features: its feature space itself, or what a transformer makes.

`ExactFeatures` are the feature space of linear and polynomial kernels, of their sums and of their products:

============================================  ======================================================================
kernel                                        phi(x)
============================================  ======================================================================
<x, z>                                        x
(<x, z> + coef0)^degree                       all monomials of (x, coef0^(1/2)) of that degree, each times the root of
                                              the number of orders of its factors
k_1(x, z) + k_2(x, z)                         phi_1(x) and phi_2(x) side by side
k_1(x, z) k_2(x, z)                           all products of a feature of k_1 and one of k_2
============================================  ======================================================================

`TransformerFeatures` are what a transformer of the user's makes of what a kernel compares. `DirectMap` normalises such
features as the kernel is:

=================  ==========================================================
normalisation      phi'(x)
=================  ==========================================================
``unit-diagonal``  phi(x) / ||phi(x)||; 0 where phi(x) is 0
``unit-trace``     phi(x) / root of the mean of ||phi||^2 over the reservoir
``center``         phi(x) - the mean of phi over the reservoir
``None``           phi(x)
=================  ==========================================================

Features that are not centred or scaled by one of these are scaled to the trace of the kernel, see `features.base`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from dataclasses import replace
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernels import Kernel, KernelStack
from ..kernels.normalization import finite
from ..kernels.preparation import Preparation, prepare
from ..kernels.stack import single_stack
from ..validation.schemas import (
    Schema,
    Sizes,
    agree,
    count,
    flag,
    maybe,
    number,
    numbers,
    object_of,
    refuse,
    size,
    text,
)
from ..views import Views
from .base import Approximation, FeatureMap, Moments, degree_of, moments_of, n_compared_by, warn_of_lost_differences


class DirectMap(FeatureMap):
    """Features without whitening, normalised by `by_norm`, `mean` and `factor`; subclasses write `expand`."""

    whitening = None

    _saved = Schema(
        {
            "kernel": object_of(Kernel, "columns"),
            "label": text,
            "width": size("features"),
            "by_norm": flag,
            "factor": number(0.0),
            "mean": maybe(numbers("features")),
        }
    )

    def __init__(self, kernel: Kernel, label: str, width: int):
        self.kernel, self.label, self.width = kernel, label, width
        self.by_norm, self.factor, self.trace_share = False, 1.0, 1.0
        self.mean: np.ndarray | None = None

    @property
    def n_raw(self) -> int:
        return self.width

    @abstractmethod
    def expand(self, views: Views) -> np.ndarray:
        """phi of samples before normalisation, a new array; rows of samples that lack the view may be anything."""

    def raw(self, views: Views, present: np.ndarray) -> np.ndarray:
        features = finite(lambda: self.expand(views), self.label)
        if self.by_norm:
            norms = np.linalg.norm(features, axis=1)
            features *= np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0.0)[:, None]
        if self.mean is not None:
            features -= self.mean
        features *= self.factor
        features[~present] = 0.0
        return features

    def normalized(self, stack: KernelStack, m: int) -> Moments:
        """Take the constants of normalisation from the reservoir; parameters are those of `Approximation.fit_map`."""
        normalize = stack.normalizers[m].method
        own = single_stack(stack, m, normalize=None)

        def compute(views: Views) -> tuple[np.ndarray, np.ndarray]:
            return self.raw(views, np.ones(views.n_samples, dtype=bool)), self.kernel.diagonal(views)

        found = moments_of(own.support, own.weight, self.width, compute)
        self.trace_share = found.share
        self.by_norm = normalize == "unit-diagonal"
        if normalize == "center":
            self.mean = found.mean
        scaled = replace(found, whole=1.0) if normalize == "unit-trace" else found
        self.factor = 1.0 if self.by_norm else scaled.gain
        return found


MOST_FEATURES = 10_000  # of what is wider than a dense view


class ExactMap(DirectMap):
    _saved = Schema({"width": count(1)})

    def expand(self, views: Views) -> np.ndarray:
        return _expansion(self.kernel, views)

    def feature_weights(self, weights: np.ndarray) -> np.ndarray | None:
        function = self.kernel.point_function()
        if function is None or function.kind != "linear":
            return None
        return self.factor * np.sqrt(function.gain) * weights

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        try:
            width = expanded_width(self.kernel, self.label)
        except ValueError:
            refuse(f"{path}.kernel", f"is a {type(self.kernel).__name__}, which it never is")
        agree(sizes, "features", width, f"{path}.width")


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
    return factorial(len(row)) / prod(map(factorial, Counter(row).values()))


class TransformerMap(DirectMap):
    """What a fitted transformer, the preparation, makes of the features that a kernel compares."""

    _saved = Schema({"preparation": object_of(Preparation, "own")})

    def __init__(self, kernel: Kernel, label: str, preparation: Preparation):
        super().__init__(kernel, label, preparation.n_features)
        self.preparation = preparation

    def expand(self, views: Views) -> np.ndarray:
        values, present = self.kernel.read(views)
        features = np.zeros((views.n_samples, self.width))
        if present.any():
            table = Views(values[present])
            found = self.preparation.read(table, np.arange(values.shape[1]), _who(self.label), self.label)[0]
            features[present] = found.toarray() if sp.issparse(found) else found
        return features

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        agree(sizes, "own", n_compared_by(self.kernel, f"{path}.kernel"), f"{path}.preparation")
        agree(sizes, "features", self.preparation.n_features, f"{path}.preparation")


class TransformerFeatures(Approximation):
    """Features that a transformer of scikit-learn makes of the features that a kernel compares.

    The kernel of these features takes the place of the kernel, and is normalised as that one.

    Parameters
    ----------
    transformer : transformer
        A copy of it is fitted to the prepared features of the kernel's view, over the reservoir.
    """

    def __init__(self, transformer: Any):
        self.transformer = transformer

    def fit_map(self, stack: KernelStack, m: int, rng: np.random.RandomState, *, dtype: np.dtype) -> TransformerMap:
        name, kernel = stack.names[m], stack.kernels[m]
        if kernel.reads_ids or kernel.join_function() is not None:
            raise _no_features(name, kernel)
        try:
            values, present = kernel.read(stack.support)
        except TypeError:
            raise _no_features(name, kernel) from None
        y = None if stack.y is None else stack.y[present]
        table, columns = Views(values[present]), np.arange(values.shape[1])
        settings: dict[str, Any] = {"view": None, "who": _who(name), "label": name}
        weight = stack.weight[present]
        found = TransformerMap(
            kernel, name, prepare(self.transformer, table, columns, **settings, sample_weight=weight, y=y)
        )
        found.normalized(stack, m)
        return found


def _who(name: str) -> str:
    return f"the approximation of the kernel {name!r}"


def _no_features(name: str, kernel: Kernel) -> ValueError:
    return ValueError(
        f"a transformer as approximation takes the features of one view, but the kernel {name!r} "
        f"({type(kernel).__name__}) has none; use NystroemFeatures, which serve every kernel, for it: "
        f"approximation={{{name!r}: NystroemFeatures(), ...}}"
    )
