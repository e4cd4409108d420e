"""Kernels of points in parts: their sources, and the derivative by the points without a matrix of all of them.

With B = diag(g_m) C the derivative of -1/2 sum_r c_r' K c_r by the point z_i of kernel m is  -sum_rj b_ir b_jr dk/dz_i:

===============  ============================================================================
kernel           sum_rj b_ir b_jr dk(z_i, z_j)/dz_i
===============  ============================================================================
linear           sum_r b_ir sum_j b_jr z_j
polynomial       sum_r b_ir sum_j p (<z_i, z_j> + coef0)^(p - 1) b_jr z_j
Gaussian         2/s^2 sum_r b_ir (sum_j k(z_i, z_j) b_jr z_j - z_i sum_j k(z_i, z_j) b_jr)
any other        by its `pullback`, some rows at a time
===============  ============================================================================

so that for the named kernels it is a product of kernel values with the coefficients b_jr z_j, all kernels in one pass
(`TileStack.images`). SLDR A.3; symbols as in `projected`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Place
from ...views import Views
from ..tiles.functions import PointFunction, in_units, limit_of, size_of
from ..tiles.sources import TILE_VALUES, PointSource, Side, Source, declared
from ..tiles.stack import TileStack
from .projected import PointKernel

COLUMNS = 64  # coefficients b_jr z_j that are multiplied at once


class KernelSource(Source):
    """Any kernel between points, computed on the host; for those that are no `PointFunction`, and sparse points.

    Parameters
    ----------
    kernel : PointKernel
    points : ndarray or CSR matrix of shape (n_samples, n_columns)
    place : Place
        Where values go.
    dtype : dtype
    """

    def __init__(self, kernel: PointKernel, points: Any, place: Place, dtype: np.dtype):
        self.kernel, self.dtype = kernel, dtype
        diagonal = kernel.gain * kernel.kernel.diagonal_of(points)
        side = Side(points, place.asarray(np.ones(points.shape[0])), diagonal)
        super().__init__(side, side, place)

    def pick(self, features: Any, index: np.ndarray) -> Any:
        """Some points."""
        return features[index]

    def values(self, A: Any, B: Any) -> Any:
        """Values between some points and others."""
        return self.place.asarray(self.kernel.cross(A, B), self.dtype.name)

    def read(self, views: Views) -> tuple[Any, np.ndarray, np.ndarray]:
        """Points are no samples, and nothing is compared with them here."""
        raise TypeError("points are compared with each other only")


def points_in_parts(kernels: Sequence[PointKernel], points: Sequence[Any], place: Place, dtype: np.dtype) -> TileStack:
    """Kernels of points in parts.

    Parameters
    ----------
    kernels : sequence of PointKernel
    points : sequence of ndarray or CSR matrix of shape (n_samples, n_columns)
        For each kernel.
    place : Place
    dtype : dtype
        Of the values.
    """
    return TileStack([_source(kernel, Z, place, dtype) for kernel, Z in zip(kernels, points, strict=True)], place)


def _function(kernel: PointKernel, points: Any) -> PointFunction | None:
    """The kernel as a function of feature vectors; None where it is none, or the points are sparse."""
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
    """The gradient of -1/2 sum_r c_r' K c_r by points that all have coefficients.

    Parameters
    ----------
    kernels, points, place, dtype
        As in `points_in_parts`.
    weighted : ndarray of shape (n_points, n_kernels, n_outputs)
        Coefficients times gates, B of each kernel.
    images : ndarray of shape (n_points, n_kernels, n_outputs)
        The values of each kernel among the points times B.

    Returns
    -------
    list of ndarray of shape (n_points, n_components)
        For each kernel.
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
            function, factor = _derivative(function)
            curved.append((m, _point_source(function, Z, place, dtype), factor))
            shift = (B * images[:, m]).sum(axis=1)[:, None] * Z if function.kind == "gaussian" else np.zeros_like(Z)
            found.append(factor * shift)
    if curved:
        _add_products(curved, moved, weighted, found, place)
    return found


def _derivative(function: PointFunction) -> tuple[PointFunction, float]:
    """The function that b_jr z_j is multiplied by, and a factor."""
    if function.kind == "gaussian":
        return function, 2.0 / function.scale**2
    return replace(function, degree=function.degree - 1), float(function.degree)


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
