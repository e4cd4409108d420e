"""Kernels between points that need not be samples, landmarks and projected samples, and derivatives by these points.

The kernel of projections onto a few landmarks, SKFE (16):

=================  ==========================================================================
SKFE               here
=================  ==========================================================================
z^_1 ... z^_nf     landmarks, rows of Z: points of the input space
psi_z(x)           k(x, z_1) ... k(x, z_nf)
K_z                k(z_i, z_j), with `ridge` times its mean diagonal on the diagonal
K_w(x, x'), (16)   ``psi(x) K_z^-1 psi(x')' = <features(x), features(x')>``
=================  ==========================================================================

Kernels of projected samples, weighted by gates, SLDR A.1 to A.3, also section 4.2 of Gönen (2010, PhD thesis, Boğaziçi
University):

    K = sum_m diag(g_m) K_m diag(g_m),      K_m[i, j] = k_m(z_i^m, z_j^m),      z^m = W_m' x^m

Here z_i^m is points[m][i], eta_m(x_i) gates[i, m], k_m kernels[m], a `PointKernel`, and Upsilon C C', the outer product
of coefficients.

The points z^m are few numbers per sample, so nothing here costs more than n x n values of small inner products, and
what only concerns support vectors costs their number squared. All linear kernels together are one low-rank product A A'
with A = [g_1 z^1, g_2 z^2, ...]: products with K and its pullback then never form a matrix of kernel values.

In parts there is no matrix of all points either (`points_in_parts`, `points_pullback`). With B = diag(g_m) C the
derivative of -1/2 sum_r c_r' K c_r by the point z_i of kernel m is  -sum_rj b_ir b_jr dk/dz_i:

===============  ============================================================================
kernel           sum_rj b_ir b_jr dk(z_i, z_j)/dz_i
===============  ============================================================================
linear           sum_r b_ir sum_j b_jr z_j
polynomial       sum_r b_ir sum_j p (<z_i, z_j> + coef0)^(p - 1) b_jr z_j
Gaussian         2/s^2 sum_r b_ir (sum_j k(z_i, z_j) b_jr z_j - z_i sum_j k(z_i, z_j) b_jr)
any other        by its `pullback`, some rows at a time
===============  ============================================================================

so that for the named kernels it is a product of kernel values with the coefficients b_jr z_j, all kernels in one pass
(`TileStack.images`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular

from ..arrays import Place
from ..validation import Choice, Instance, blamed_on, check, shown
from ..validation.schemas import Schema, Sizes, anything, is_own, number, refuse, schema_of
from ..views import Views
from ..views.frames import KeptColumns
from .base import Kernel, ViewKernel
from .tiles.functions import PointFunction, in_units, limit_of, size_of
from .tiles.sources import TILE_VALUES, PointSource, Side, Source, declared
from .tiles.stack import TileStack

# Landmarks whose part outside the span of the others is below this share of the largest depend on them.
_DEPENDENT = 1e-7


@dataclass(frozen=True)
class Projection:
    """Samples projected onto the span of landmarks: coordinates in an orthonormal basis, (n_samples, n_landmarks)."""

    features: np.ndarray
    root: np.ndarray


class LandmarkKernel:
    """A fitted, differentiable kernel restricted to the span of landmarks, as a function of the landmarks."""

    def __init__(self, kernel: Kernel, values: Any, *, ridge: float):
        if not kernel.is_differentiable:
            raise ValueError(
                "landmarks can be moved under kernels that are differentiable by their features, such as Linear, "
                f"Polynomial and Gaussian, not {shown(kernel)}"
            )
        self.kernel = kernel
        self.values = values
        self.ridge = ridge * float(kernel.diagonal_of(values).mean())

    def judged_by(
        self, criterion: Callable[[np.ndarray], tuple[float, np.ndarray]]
    ) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """A criterion of the features as a function of the landmarks, with its gradient."""

        def function(landmarks: np.ndarray) -> tuple[float, np.ndarray]:
            projection = self.project(landmarks)
            value, derivative = criterion(projection.features)
            return value, self.pullback(landmarks, projection, derivative)

        return function

    def project(self, landmarks: np.ndarray) -> Projection:
        products = self.kernel.gram_of(landmarks)
        products[np.diag_indices_from(products)] += self.ridge
        try:
            root = cholesky(products, lower=True)
            independent = root.diagonal().min() > _DEPENDENT * root.diagonal().max()
        except np.linalg.LinAlgError:
            independent = False
        if not independent:
            raise ValueError(
                "the landmarks depend on each other (two are equal, or more than the rank of the kernel); give ridge a "
                "positive value or take fewer landmarks"
            )
        features = solve_triangular(root, self.kernel.cross_of(self.values, landmarks).T, lower=True).T
        return Projection(features, root)

    def pullback(self, landmarks: np.ndarray, projection: Projection, derivative: np.ndarray) -> np.ndarray:
        """Gradient with respect to the landmarks of a function of the kernel.

        `derivative` is ``M features`` with the symmetric matrix M of the function's derivatives by kernel values.
        """
        root = projection.root
        # d tr(M psi K_z^-1 psi') = 2 <M psi K_z^-1, d psi> - <K_z^-1 psi' M psi K_z^-1, d K_z>
        of_psi = 2.0 * _right(root, derivative)
        inner = projection.features.T @ derivative
        of_products = _right(root, _right(root, inner).T)
        of_landmarks = self.kernel.pullback(landmarks, landmarks, of_products)
        return self.kernel.pullback(self.values, landmarks, of_psi) - 2.0 * of_landmarks


def starting_landmarks(
    start: Any,
    values: Any,
    labels: np.ndarray,
    n_landmarks: int,
    rng: np.random.RandomState,
    parameter: str = "landmarks",
) -> np.ndarray:
    """Where landmarks begin, of shape (n_landmarks, n_columns); messages call `start` the `parameter`.

    "centroids": means of clusters within classes 0, 1, ... (`labels`), each class with its share of the landmarks
    (class means where there is one landmark per class); "samples": training samples drawn at random; or an array.
    """
    from sklearn.cluster import KMeans

    if not isinstance(start, str):
        with blamed_on(parameter):
            given = np.array(start, dtype=float)
        if given.shape != (n_landmarks, values.shape[1]) or not np.isfinite(given).all():
            raise ValueError(
                f"{parameter} as an array must be {n_landmarks} rows of {values.shape[1]} finite numbers (the kernel's "
                f"columns), not of shape {given.shape}"
            )
        return given
    check(None, parameter, start, Choice("centroids", "samples") | Instance(np.ndarray, "an array"))
    n_samples, n_classes = values.shape[0], labels.max() + 1
    found = []
    if start == "centroids":
        if n_landmarks < n_classes:
            labels, n_classes = np.zeros(n_samples, dtype=int), 1
        shares = np.full(n_classes, n_landmarks // n_classes)
        largest = np.argsort(-np.bincount(labels), kind="stable")
        shares[largest[: n_landmarks % n_classes]] += 1
        for label, share in enumerate(shares):
            members = values[np.flatnonzero(labels == label)]
            found.append(KMeans(min(share, members.shape[0]), n_init=1, random_state=rng).fit(members).cluster_centers_)
    missing = n_landmarks - sum(len(part) for part in found)
    if missing:
        drawn = values[rng.choice(n_samples, missing, replace=missing > n_samples)]
        found.append(drawn.toarray() if sp.issparse(drawn) else drawn)
    return np.ascontiguousarray(np.vstack(found), dtype=float)


def landmark_views(kernel: ViewKernel, values: Any, n_features: int) -> Views:
    """Points with these features, as samples that a fitted kernel can compare with others."""
    values = _dense(values)
    if kernel.preparation_ is None:
        return _points(kernel.columns(), values, n_features)
    points = Views(KeptColumns(len(values), n_features, []))
    points.hold_points(kernel.preparation_, values)
    return points


def _dense(values: Any) -> np.ndarray:
    return values.toarray() if sp.issparse(values) else np.asarray(values, dtype=float)


def _points(columns: np.ndarray, values: np.ndarray, n_features: int) -> Views:
    order = np.argsort(columns)
    kept = KeptColumns(len(values), n_features, [(columns[order], np.ascontiguousarray(values[:, order]))])
    return Views(kept)


def class_means(views: Views, kernels: Sequence[Kernel], labels: np.ndarray) -> Views:
    """The mean of each class 0, 1, ... in the features that fitted kernels read, as points to compare with."""
    for kernel in kernels:
        if kernel.lookups(views):
            raise ValueError(f"the kernel {kernel.name!r} looks samples up by id, and a mean of samples has no id")
    parts = [part for kernel in kernels for part in kernel.parts()]
    prepared = [part for part in parts if getattr(part, "preparation_", None) is not None]
    plain = [part for part in parts if not any(part is other for other in prepared)]
    for part in plain:
        if part.supervised:
            raise ValueError(f"the kernel {part.name!r} has a transformer inside, so a mean of samples has no features")
    columns = np.unique(np.concatenate([np.empty(0, dtype=int), *(part.columns() for part in plain)]))
    members = (labels[None, :] == np.arange(labels.max() + 1)[:, None]).astype(float)

    def means(values: Any, present: np.ndarray) -> np.ndarray:
        if not present.all():
            raise ValueError(f"{views.first(~present)} has no values to take the mean of its class with")
        return _dense((values.T @ members.T).T / members.sum(axis=1)[:, None])

    if len(columns):
        points = _points(columns, means(*views.read(columns, "all columns in use")), views.X.shape[1])
    else:
        points = Views(KeptColumns(len(members), views.X.shape[1], []))
    for part in prepared:
        points.hold_points(part.preparation_, means(*part.read(views)))
    return points


def view_values(kernel: ViewKernel, views: Views) -> Any:
    values, present = kernel.read(views)
    if not present.all():
        raise ValueError(f"{views.first(~present)} lacks the view of the kernel {kernel.name!r}; remove such samples")
    return values


def _right(root: np.ndarray, values: np.ndarray) -> np.ndarray:
    return solve_triangular(root, values.T, lower=True, trans="T").T


@dataclass(frozen=True)
class PointKernel:
    """A fitted and differentiable kernel between points, times a constant, which is 1 for a linear kernel."""

    kernel: ViewKernel
    gain: float = 1.0

    _saved = Schema({"kernel": anything, "gain": number()})

    def __post_init__(self):
        if self.is_linear and self.gain != 1.0:
            raise ValueError("a linear kernel has no gain; scale its points")

    def with_width_of(self, points: np.ndarray, sample_weight: np.ndarray) -> PointKernel:
        return replace(self, kernel=self.kernel.learned_from(points, sample_weight)) if self.kernel.has_width else self

    def of_width(self, kernel: ViewKernel) -> PointKernel:
        return replace(self, kernel=kernel) if self.kernel.has_width else self

    @property
    def is_linear(self) -> bool:
        return self.kernel.is_linear

    def gram(self, points: np.ndarray) -> np.ndarray:
        values = self.kernel.gram_of(points)
        return values if self.gain == 1.0 else np.multiply(values, self.gain, out=values)

    def cross(self, points: np.ndarray, others: np.ndarray) -> np.ndarray:
        values = self.kernel.cross_of(points, others)
        return values if self.gain == 1.0 else np.multiply(values, self.gain, out=values)

    def contract(self, points: np.ndarray, weighted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """K B, and half the gradient of <K, B B'> by the points, for coefficients B of shape (n_points, n_outputs)."""
        if self.is_linear:
            inner = points.T @ weighted
            return points @ inner, weighted @ inner.T
        pulled = self.kernel.pullback(points, points, weighted @ weighted.T)
        return self.gram(points) @ weighted, self.gain * pulled

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """A kernel of points, whose view plays no part."""
        kernel = self.kernel
        cls: type = type(kernel)
        if not (isinstance(kernel, ViewKernel) and kernel.is_differentiable):
            refuse(f"{path}.kernel", f"is a {cls.__name__}, which it never is")
        for name, kind in schema_of(cls).attributes.items() if is_own(cls) else ():
            if name not in ViewKernel._saved.attributes:
                kind(vars(kernel).get(name), sizes, f"{path}.kernel.{name}")


class ProjectedSum:
    """The gated sum of kernels of points, computed in tiles or as a whole.

    Memory: `gram` makes one n x n matrix, and holds a second while it adds a kernel that is not linear to others.
    """

    def __init__(self, kernels: list[PointKernel], points: list[np.ndarray], gates: np.ndarray):
        self.kernels, self.points, self.gates = kernels, points, gates
        flat = [gates[:, m, None] * points[m] for m, kernel in enumerate(kernels) if kernel.is_linear]
        self._flat = np.hstack(flat) if flat else np.zeros((len(gates), 0))
        self._curved = [m for m, kernel in enumerate(kernels) if not kernel.is_linear]

    def gram(self, out: np.ndarray | None = None, dtype: np.dtype | type = np.float64) -> np.ndarray:
        if out is None:
            out = np.empty((len(self.gates), len(self.gates)), dtype)
        self._fill(out, slice(None))
        return out

    def block(self, rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), len(rows)))
        self._fill(out, rows)
        return out

    def product(self, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        result = self._flat @ (self._flat[rows].T @ coef)
        for m in self._curved:
            values = self.kernels[m].cross(self.points[m], self.points[m][rows])
            result += self.gates[:, m] * (values @ (self.gates[rows, m] * coef))
        return result

    def pullback(self, rows: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """The gradient of -1/2 sum_r c_r' K c_r by gates and by points, at the rows that have these coefficients."""
        by_gates, by_points = np.empty((len(rows), len(self.kernels))), []
        for m, kernel in enumerate(self.kernels):
            weighted = self.gates[rows, m, None] * coef
            image, pulled = kernel.contract(self.points[m][rows], weighted)
            by_gates[:, m] = -np.einsum("ir,ir->i", coef, image)  # SLDR A.2
            by_points.append(-pulled)  # SLDR A.3
        return by_gates, by_points

    def _fill(self, out: np.ndarray, rows: np.ndarray | slice) -> None:
        started = self._flat.shape[1] > 0
        if started:
            flat = self._flat[rows].astype(out.dtype, copy=False)
            np.matmul(flat, flat.T, out=out)
        for m in self._curved:
            values, gates = self.kernels[m].gram(self.points[m][rows]), self.gates[rows, m]
            values *= gates[:, None]
            values *= gates
            if started:
                out += values
            else:
                out[...] = values
            started = True
            del values  # or it would still be there while the next one is made


COLUMNS = 64  # coefficients b_jr z_j that are multiplied at once


class KernelSource(Source):
    """Any kernel between points, computed on the host; for those that are no `PointFunction`, and sparse points."""

    def __init__(self, kernel: PointKernel, points: Any, place: Place, dtype: np.dtype):
        self.kernel, self.dtype = kernel, dtype
        diagonal = kernel.gain * kernel.kernel.diagonal_of(points)
        side = Side(points, place.asarray(np.ones(points.shape[0])), diagonal)
        super().__init__(side, side, place)

    def pick(self, features: Any, index: np.ndarray) -> Any:
        return features[index]

    def values(self, A: Any, B: Any) -> Any:
        return self.place.asarray(self.kernel.cross(A, B), self.dtype.name)

    def read(self, views: Views) -> tuple[Any, np.ndarray, np.ndarray]:
        raise TypeError("points are compared with each other only")


def points_in_parts(kernels: Sequence[PointKernel], points: Sequence[Any], place: Place, dtype: np.dtype) -> TileStack:
    return TileStack([_source(kernel, Z, place, dtype) for kernel, Z in zip(kernels, points, strict=True)], place)


def _function(kernel: PointKernel, points: Any) -> PointFunction | None:
    function = None if sp.issparse(points) else declared(kernel.kernel, "point_function")
    return None if function is None else replace(function, gain=function.gain * kernel.gain)


def _source(kernel: PointKernel, points: Any, place: Place, dtype: np.dtype) -> Source:
    function = _function(kernel, points)
    if function is None:
        return KernelSource(kernel, points, place, dtype)
    if kernel.kernel.is_stationary:
        points = points - points.mean(axis=0)
    return _point_source(function, points, place, dtype)


def _point_source(function: PointFunction, points: np.ndarray, place: Place, dtype: np.dtype) -> PointSource:
    """A function of points that are centred where it is stationary; in float64 where `dtype` is not enough."""
    own, unit = in_units(function)
    features = points * unit
    wanted = dtype.name if size_of(own, features) <= limit_of(own, features) else "float64"
    side = Side(place.asarray(features, wanted), place.asarray(np.ones(len(points))), own.diagonal(features))
    return PointSource(own, side, side, place)


def points_pullback(
    kernels: Sequence[PointKernel],
    points: Sequence[np.ndarray],
    weighted: np.ndarray,
    images: np.ndarray,
    place: Place,
    dtype: np.dtype,
) -> list[np.ndarray]:
    """The gradient of -1/2 sum_r c_r' K c_r by points that all have coefficients, for each kernel.

    `weighted` are coefficients times gates, the B of each kernel, and `images` the values of each kernel among the
    points times B, both of shape (n_points, n_kernels, n_outputs).
    """
    if not len(weighted):  # no sample has coefficients
        return [np.zeros_like(Z) for Z in points]
    curved: list[tuple[int, Source, float]] = []
    found: list[np.ndarray] = []
    moved = [
        Z - Z.mean(axis=0) if kernel.kernel.is_stationary else Z for kernel, Z in zip(kernels, points, strict=True)
    ]
    for m, (kernel, Z) in enumerate(zip(kernels, moved, strict=True)):
        B, function = weighted[:, m], _function(kernel, Z)
        if kernel.is_linear or (function is not None and function.degree == 1 and function.kind == "polynomial"):
            found.append(-kernel.gain * B @ (B.T @ Z))
        elif function is None or function.kind not in ("polynomial", "gaussian"):
            found.append(-_pulled_in_tiles(kernel, points[m], B))
        else:
            # the function that b_jr z_j is multiplied by, and a factor
            if function.kind == "gaussian":
                factor = 2.0 / function.scale**2
            else:
                function, factor = replace(function, degree=function.degree - 1), float(function.degree)
            curved.append((m, _point_source(function, Z, place, dtype), factor))
            shift = (B * images[:, m]).sum(axis=1)[:, None] * Z if function.kind == "gaussian" else np.zeros_like(Z)
            found.append(factor * shift)
    if curved:
        _add_products(curved, moved, weighted, found, place)
    return found


def _add_products(
    curved: list[tuple[int, Source, float]],
    points: list[np.ndarray],
    weighted: np.ndarray,
    found: list[np.ndarray],
    place: Place,
) -> None:
    """Subtract  factor sum_r b_ir sum_j k(z_i, z_j) b_jr z_j  from what was found, a group of outputs at a time."""
    parts = TileStack([source for _, source, _ in curved], place)
    n_points, n_outputs = len(weighted), weighted.shape[2]
    width = max(points[m].shape[1] for m, _, _ in curved)
    group = max(1, COLUMNS // width)
    for first in range(0, n_outputs, group):
        B = weighted[:, :, first : first + group]
        V = np.zeros((n_points, len(curved), B.shape[2], width))
        for k, (m, _, _) in enumerate(curved):
            Z = points[m]
            V[:, k, :, : Z.shape[1]] = B[:, m, :, None] * Z[:, None, :]
        flat = place.asarray(V.reshape(n_points, len(curved), -1), "float64")
        products = place.numpy(parts.images(None, None, flat)).reshape(V.shape)
        for k, (m, _, factor) in enumerate(curved):
            found[m] -= factor * np.einsum("ir,ird->id", B[:, m], products[:, k, :, : points[m].shape[1]])


def _pulled_in_tiles(kernel: PointKernel, points: np.ndarray, B: np.ndarray) -> np.ndarray:
    """sum_rj b_ir b_jr dk/dz_i by the kernel's own pullback, some points at a time."""
    n_points = len(points)
    height = max(1, TILE_VALUES // max(1, n_points))
    tiles = [slice(first, first + height) for first in range(0, n_points, height)]
    pulled = [kernel.kernel.pullback(points, points[tile], B @ B[tile].T) for tile in tiles]
    return kernel.gain * np.concatenate(pulled) if pulled else np.zeros_like(points)
