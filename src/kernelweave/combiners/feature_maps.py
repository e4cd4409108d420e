"""The vectors that projections act on (SLDR, B.2), and the first projections of a descent.

A kernel that is differentiable by its view's features (`Kernel.is_differentiable`; linear, polynomial and Gaussian
kernels are) takes projected features as well, so the features are projected and the kernel is evaluated afterwards,
between the projected points (`ViewFeatures`). Any other kernel (precomputed, of sequences or distances) enters through
kernel PCA, whose features have the kernel as their inner product, or through the empirical kernel map
(`KernelFeatures`); between their projections the kernel is linear.

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

Projections begin at random, at principal components, or at directions between classes. Copies of one kernel that begin
equal stay equal, and while they are nearly equal descent gains little by separating their regions and may stop. So a
random part of about the same length is added to directions found from the data, and gates begin a little open or
closed. For that reason directions need not be exact: a few steps of iterative methods find them, without a matrix of
products. A matrix that the user gives is taken as it is.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsmr

from .._warnings import warn
from ..kernels import KernelStack, Linear
from ..kernels.base import ViewKernel, n_features_of
from ..kernels.normalization import NORMALIZATIONS
from ..kernels.points import PointKernel
from ..kernels.vectors import squared_norms
from ..solvers.base import above_rounding
from ..validation import Choice, check, shown
from ..validation.schemas import (
    Schema,
    Sizes,
    anything,
    flag,
    maybe,
    number,
    numbers,
    object_of,
    one_of,
    optional,
    refuse,
    text,
)
from ..views import Views

METHODS = ("view", "kpca", "map")


class ViewFeatures:
    by_kernel = False  # whether new samples must be compared with all training samples

    _saved = Schema(
        {
            "method": one_of(*NORMALIZATIONS),
            "names": anything,
            "label": text,
            "largest": number(positive=True),
            "scales": flag,
            "factor": number(),
            "mean": maybe(numbers("own")),
            "kernel": object_of(PointKernel),
        }
    )

    def fit(self, stack: KernelStack, m: int) -> Any:
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
        """The factor of the kernel, beside the normalisation of the rows."""
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
        """The normalised features of new samples, to which `directions` are applied."""
        return self.of(stack.kernels[m], views)

    def of(self, kernel: Any, views: Views) -> Any:
        return self._normalized(*kernel.read(views))

    def directions(self, W: np.ndarray) -> np.ndarray:
        """A projection of features, in terms of the values that `read` returns."""
        return W

    def settled(self) -> ViewFeatures:
        """A copy with what `read` needs, once `directions` are known."""
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

    def n_read(self, stack: KernelStack, m: int) -> int:
        return n_features_of(stack.kernels[m])

    def check_kernel(self, stack: KernelStack, m: int, path: str, is_read: bool) -> None:
        """Refuse features from a file that are not those of kernel m."""
        if not isinstance(stack.kernels[m], ViewKernel):
            refuse(path, "takes the features of a kernel that has none")
        elif self.mean is not None and len(self.mean) != self.n_read(stack, m):
            refuse(f"{path}.mean", f"has {len(self.mean)} numbers where {self.n_read(stack, m)} are expected")


class KernelFeatures:
    """Features from kernel values: kernel PCA, or the empirical kernel map k(x, training samples).

    With K = U diag(lambda) U' the features of kernel PCA are F = U diag(lambda)^(1/2), all with a positive eigenvalue,
    so that their inner products are K; new samples get k(x, training samples) F diag(lambda)^-1. K is not centred
    beyond what ``normalize="center"`` does.
    """

    by_kernel = True

    _saved = Schema(
        {
            "method": one_of("kpca", "map"),
            "names": anything,
            "kernel": object_of(PointKernel),
            "training": maybe(numbers("reference", "values")),
            "eigenvalues": optional(anything),
        }
    )

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
        """Kernel values of new samples to all training samples, to which `directions` are applied."""
        return stack.cross(m, views, stack.kernels[m].present(views))

    def directions(self, W: np.ndarray) -> np.ndarray:
        return W if self.training is None else self.training @ (self._inverse[:, None] * W)

    def settled(self) -> KernelFeatures:
        lean = copy(self)
        lean.training = None
        return lean

    def features(self, values: np.ndarray) -> np.ndarray:
        return values if self.training is None else (values @ self.training) * self._inverse

    @property
    def _inverse(self) -> np.ndarray:
        return np.divide(1.0, self.eigenvalues, out=np.zeros_like(self.eigenvalues), where=self.eigenvalues > 0.0)

    def n_read(self, stack: KernelStack, m: int) -> int:
        return stack.n_samples

    def check_kernel(self, stack: KernelStack, m: int, path: str, is_read: bool) -> None:
        if is_read and not stack.active[m]:
            refuse(path, "reads a kernel of which nothing is kept")
        if self.training is not None and len(self.training) != stack.n_samples:
            refuse(f"{path}.training", f"has {len(self.training)} rows where {stack.n_samples} are expected")

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if self.training is not None:
            numbers("values")(vars(self).get("eigenvalues"), sizes, f"{path}.eigenvalues")


def feature_maps(features: Any, stack: KernelStack) -> list[ViewFeatures | KernelFeatures]:
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


STARTS = ("random", "pca", "lda")
RIDGE = 0.1  # in units of the mean eigenvalue of the scatter
STEPS = 30  # steps of the iterative methods
TURN = 1.0  # length of the random part that is added to each direction from the data


def starting_projection(
    method: str,
    features: Any,
    n_components: int,
    target: np.ndarray | None,
    weight: np.ndarray,
    rng: np.random.RandomState,
) -> np.ndarray:
    """A matrix of shape (n_features, n_components) with orthonormal columns."""
    random = np.linalg.qr(rng.normal(size=(features.shape[1], n_components)))[0]
    if method == "random":
        return random
    centered = _Centered(features, weight)
    found = np.zeros((features.shape[1], 0))
    if method == "lda" and target is not None and target.shape[1]:
        found = _towards(centered, _Centered(target, weight).times(np.eye(target.shape[1])), n_components)
    if found.shape[1] < n_components:
        found = np.hstack([found, _principal(centered, found, n_components - found.shape[1], rng)])
    return np.linalg.qr(found + TURN * random)[0]


def given_projections(init: Any, names: list[str], shapes: list[tuple[int, int]]) -> dict[int, np.ndarray]:
    given = {}
    for name, value in init.items():
        if name not in names:
            raise ValueError(f"init names a kernel that is not there: {name!r}; there are {names}")
        m = names.index(name)
        try:
            matrix = np.array(value, dtype=float)
        except (TypeError, ValueError):
            matrix = np.array(np.nan)
        if matrix.shape != shapes[m] or not np.isfinite(matrix).all() or not matrix.any():
            raise ValueError(
                f"init of the kernel {name!r} must be finite numbers of shape {shapes[m]} (features, components), not "
                f"all 0; not {shown(value)}"
            )
        given[m] = matrix
    return given


def class_indicators(labels: np.ndarray) -> np.ndarray:
    """1 for each sample's class, of shape (n_samples, n_classes - 1): those of the first class follow from the rest."""
    classes, positions = np.unique(labels, return_inverse=True)
    return np.eye(len(classes))[positions][:, 1:]


class _Centered:
    """Features minus their mean, each row times the root of its sample's weight, in units of the largest feature.

    Only products with it are ever formed, so that sparse features stay sparse.
    """

    def __init__(self, features: Any, weight: np.ndarray):
        self.features, self.root = features, np.sqrt(weight)
        self.unit = max(abs(features).max(), np.finfo(float).tiny)
        self.mean = np.asarray((features.T @ (weight / self.unit)) / weight.sum()).ravel()
        self.shape = features.shape

    def times(self, block: np.ndarray) -> np.ndarray:
        return self.root[:, None] * (np.asarray(self.features @ (block / self.unit)) - self.mean @ block)

    def transposed_times(self, block: np.ndarray) -> np.ndarray:
        weighted = self.root[:, None] * block
        return np.asarray(self.features.T @ (weighted / self.unit)) - np.outer(self.mean, weighted.sum(axis=0))

    def norm(self) -> float:
        squares = self.root**2 @ squared_norms(self.features / self.unit)
        return float(np.sqrt(max(squares - (self.root**2).sum() * (self.mean @ self.mean), 0.0)))


def _towards(centered: _Centered, target: np.ndarray, limit: int) -> np.ndarray:
    """Directions of a ridge regression of the targets: for indicators of classes they span those of Fisher."""
    damp = np.sqrt(RIDGE / min(centered.shape)) * centered.norm()
    operator = LinearOperator(
        centered.shape,
        matvec=lambda v: centered.times(v.reshape(-1, 1))[:, 0],
        rmatvec=lambda v: centered.transposed_times(v.reshape(-1, 1))[:, 0],
        dtype=float,
    )
    exact = {"atol": 0.0, "btol": 0.0, "maxiter": STEPS}
    slopes = np.column_stack([lsmr(operator, column, damp, **exact)[0] for column in target.T])
    left, values, _ = np.linalg.svd(slopes, full_matrices=False)
    return left[:, values > 1e-10 * max(values[0], 1e-300)][:, :limit]


def _principal(centered: _Centered, found: np.ndarray, count: int, rng: np.random.RandomState) -> np.ndarray:
    """Leading principal directions outside of those found before, by subspace iteration."""
    block = rng.normal(size=(centered.shape[1], count))
    for _ in range(STEPS):
        block = np.linalg.qr(block - found @ (found.T @ block))[0]
        image = centered.transposed_times(centered.times(block))
        if not image.any():  # nothing varies
            break
        block = image
    return np.linalg.qr(block - found @ (found.T @ block))[0]
