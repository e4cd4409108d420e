"""The vectors that projections act on: features of a view, or those that kernel values give (SLDR, B.2).

A kernel that is differentiable by its view's features (`Kernel.is_differentiable`; linear, polynomial and Gaussian
kernels are) takes projected features as well, so the features are projected and the kernel is evaluated afterwards,
between the projected points. Any other kernel (precomputed, of sequences or distances) enters through
kernel PCA, whose features have the kernel as their inner product, or through the empirical kernel map; between their
projections the kernel is linear.

Normalisation comes before the projection: a linear kernel of one-dimensional projections, normalised afterwards, would
be +-1. What a kernel of features is divided by is also taken before:

=================  =======================================================================================
normalize          here
=================  =======================================================================================
``unit-diagonal``  rows of length 1, and divided by the mean over training samples of k(x, x) for such rows, which is
                   (1 + coef0)^degree for a polynomial; a stationary kernel is divided by its k(x, x) only
``unit-trace``     divided by the mean over training samples of k(x, x), without projection
``center``         features minus their mean; a stationary kernel depends on differences only
=================  =======================================================================================
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..._warnings import warn
from ...kernels import KernelStack, Linear
from ...kernels.base import ViewKernel
from ...kernels.features import squared_norms
from ...kernels.points.projected import PointKernel
from ...solvers.base import above_rounding
from ...validation import Choice, check
from ...views import Views

METHODS = ("view", "kpca", "map")


class ViewFeatures:
    """The features of a kernel's view, normalised.

    Attributes
    ----------
    kernel : PointKernel
        The kernel of projected features.
    names : list
        What the features are called.
    """

    by_kernel = False  # whether new samples must be compared with all training samples

    def fit(self, stack: KernelStack, m: int) -> Any:
        """Learn the constants; returns the features of the training samples, an array or CSR matrix."""
        kernel, self.method = stack.kernels[m], stack.normalizers[m].method
        values, present = kernel.read(stack.support)
        self.names = kernel.feature_names(stack.support.names)
        self.label = stack.names[m]
        self.largest = float(np.finfo(stack.dtype).max)
        self.scales = not kernel.is_stationary
        self.factor, self.mean = 1.0, None
        if self.method == "center" and self.scales:
            if sp.issparse(values):
                raise ValueError(
                    f'normalize="center" would make the sparse view of the kernel {self.label!r} dense; use another '
                    f'normalisation, or features={{{self.label!r}: "kpca"}}'
                )
            weight = np.where(present, stack.weight, 0.0)
            self.mean = weight @ values / weight.sum()
        gain = self._gain(kernel, values[present], stack.weight[present])
        if kernel.is_linear:
            self.factor, gain = np.sqrt(gain), 1.0
        self.kernel = PointKernel(kernel, gain)
        return self._normalized(values, present, tell=True)

    def _gain(self, kernel: ViewKernel, values: Any, weight: np.ndarray) -> float:
        """What the kernel is multiplied by, beyond what is done to the rows."""
        if self.method == "unit-trace":
            with np.errstate(over="ignore"):
                shares = weight / max(weight.sum(), np.finfo(float).tiny)
                mean = shares @ kernel.diagonal_of(values)
            if not np.isfinite(mean):
                raise self._overflow()
            return float(1.0 / mean) if mean > 0.0 else 0.0
        if self.method != "unit-diagonal" or kernel.is_linear:
            return 1.0
        if self.scales:
            values, zero = _unit_rows(values)
            values, weight = values[~zero], weight[~zero]
        if not weight.any():
            return 1.0
        mean = np.average(kernel.diagonal_of(values), weights=weight)
        return float(1.0 / mean) if mean > 0.0 else 0.0

    def read(self, stack: KernelStack, m: int, views: Views) -> Any:
        """What `directions` are applied to, of new samples: their normalised features."""
        return self.of(stack.kernels[m], views)

    def of(self, kernel: Any, views: Views) -> Any:
        """The normalised features of samples, as the fitted kernel reads them."""
        return self._normalized(*kernel.read(views))

    def directions(self, W: np.ndarray) -> np.ndarray:
        """A projection of features as one of what `read` gives."""
        return W

    def settled(self) -> ViewFeatures:
        """What `read` needs, once `directions` are known."""
        return self

    def _normalized(self, values: Any, present: np.ndarray, tell: bool = False) -> Any:
        if self.mean is not None:
            values = np.where(present[:, None], values - self.mean, 0.0)
        if self.method == "unit-diagonal" and self.scales:
            values, zero = _unit_rows(values)
            if tell:
                self._warn_of_zeros(zero & present & (self.kernel.kernel.diagonal_of(values) == 0.0))
        with np.errstate(over="ignore", invalid="ignore"):
            values = values if self.factor == 1.0 else values * self.factor
            sizes = self.kernel.kernel.diagonal_of(values) if self.scales else squared_norms(values)
            # Orthonormal projections only make them smaller.
            finite = self.kernel.gain * sizes.sum() < self.largest
        if not finite:
            raise self._overflow()
        return values

    def _overflow(self) -> ValueError:
        return ValueError(
            f"the kernel {self.label!r} gives overflowing values; scale its view first "
            "(sklearn.preprocessing.StandardScaler)"
        )

    def _warn_of_zeros(self, zero: np.ndarray) -> None:
        if zero.any():  # those of a polynomial are not, if it has a constant
            warn(
                f"the kernel {self.label!r} is zero for {np.count_nonzero(zero)} sample(s), which stay zero after "
                "normalisation to a unit diagonal",
            )


class KernelFeatures:
    """Features from kernel values: kernel PCA, or the empirical kernel map.

    With K = U diag(lambda) U' the features of kernel PCA are F = U diag(lambda)^(1/2), all with a positive eigenvalue,
    so that their inner products are K; new samples get k(x, training samples) F diag(lambda)^-1. K is not centred
    beyond what ``normalize="center"`` does. The empirical kernel map is k(x, training samples) itself.

    Parameters
    ----------
    method : {"kpca", "map"}
    """

    by_kernel = True

    def __init__(self, method: str):
        self.method = method

    def fit(self, stack: KernelStack, m: int) -> np.ndarray:
        """Find the eigenvectors; returns the features of the training samples, at most an n x n matrix.

        Takes about four n x n matrices while it works; a `LazyStorageError` in lazy storage.
        """
        K = stack.gram(m).astype(np.float64, copy=False)
        self.kernel = PointKernel(Linear())
        self.training: np.ndarray | None = None
        if self.method == "map":
            self.names = [f"sample {position}" for position in stack.support.positions]
            return K
        values, vectors = scipy.linalg.eigh(K, overwrite_a=True, check_finite=False)
        kept = np.flatnonzero(above_rounding(values, stack.dtype))[::-1]
        if len(kept) == 0:  # a kernel of zeros has one feature, which is 0
            kept, values = np.array([len(values) - 1]), np.zeros_like(values)
        self.names = [f"component {k}" for k in range(len(kept))]
        self.eigenvalues = values[kept]
        self.training = vectors[:, kept]
        self.training *= np.sqrt(self.eigenvalues)
        return self.training

    def read(self, stack: KernelStack, m: int, views: Views) -> np.ndarray:
        """What `directions` are applied to, of new samples: kernel values to all training samples."""
        return stack.cross(m, views, stack.kernels[m].present(views))

    def directions(self, W: np.ndarray) -> np.ndarray:
        """A projection of features as one of what `read` gives."""
        return W if self.training is None else self.training @ (self._inverse[:, None] * W)

    def settled(self) -> KernelFeatures:
        """What `read` needs, once `directions` are known: nothing of the size of the Gram matrix."""
        lean = copy(self)
        lean.training = None
        return lean

    def features(self, values: np.ndarray) -> np.ndarray:
        """Features from what `read` gives."""
        return values if self.training is None else (values @ self.training) * self._inverse

    @property
    def _inverse(self) -> np.ndarray:
        return np.divide(1.0, self.eigenvalues, out=np.zeros_like(self.eigenvalues), where=self.eigenvalues > 0.0)


def feature_maps(features: Any, stack: KernelStack) -> list[ViewFeatures | KernelFeatures]:
    """How each kernel's samples become vectors, not yet fitted.

    Parameters
    ----------
    features : {"auto", "kpca", "map"} or mapping from kernel name to {"view", "kpca", "map"}
    stack : KernelStack
    """
    names = stack.names
    if isinstance(features, str):
        chosen = {} if features == "auto" else dict.fromkeys(names, features)
    else:
        chosen = dict(features)
        for name, method in chosen.items():
            if name not in names:
                raise ValueError(f"features names a kernel that is not there: {name!r}; there are {names}")
            check(f"the kernel {name!r}", "features", method, Choice(*METHODS))
    maps: list[ViewFeatures | KernelFeatures] = []
    for name, kernel in zip(names, stack.kernels, strict=True):
        method = chosen.get(name, "view" if kernel.is_differentiable else "kpca")
        if method == "view" and not kernel.is_differentiable:
            raise ValueError(
                f"the kernel {name!r} ({type(kernel).__name__}) has no derivatives by its features as Linear, "
                'Polynomial and Gaussian have; use features "kpca" or "map" for it'
            )
        maps.append(ViewFeatures() if method == "view" else KernelFeatures(method))
    return maps


def _unit_rows(values: Any) -> tuple[Any, np.ndarray]:
    """Rows divided by their length, and which of them are zero and stay zero."""
    largest = abs(values).max(axis=1)  # rows divided by it have squares that neither overflow nor vanish
    largest = largest.toarray().ravel() if sp.issparse(largest) else largest
    zero = largest == 0.0
    values = _scaled_rows(values, np.where(zero, 1.0, largest))
    return _scaled_rows(values, np.where(zero, 1.0, np.sqrt(squared_norms(values)))), zero


def _scaled_rows(values: Any, divisors: np.ndarray) -> Any:
    if sp.issparse(values):
        return sp.diags(1.0 / divisors).dot(values).tocsr()
    return values / divisors[:, None]
