"""What a kernel is as a function of what it compares, its values, and where single precision is enough for them.

`PointFunction`: k(x, z) of two feature vectors, times `gain`. On the host values are computed tile by tile, by BLAS for
inner products and compiled loops for the rest, from features in units in which exponents are powers of 2 (`in_units`):

================  ============================================  ================================================
kind              k(x, z)                                       tile S of the host, then
================  ============================================  ================================================
``linear``        <x, z>                                        <x, z>
``polynomial``    (<x, z> + coef0)^degree                       <x, z>, (S + coef0)^degree
``gaussian``      exp(-||x - z||^2 / scale^2)                   product of rows and columns with norms, 2^S
``laplacian``     exp(-||x - z||_1 / scale)                     -||x - z||_1, a loop over features, 2^S
``chi-squared``   exp(-sum_j (x_j - z_j)^2 / (x_j + z_j) /      -sum_j (x_j - z_j)^2 / (x_j + z_j), a loop, 2^S
                  scale)
================  ============================================  ================================================

Two more columns make the exponent of a Gaussian one matrix product: rows are x, -||x||^2 / 2, 1 and columns z, 1,
-||z||^2 / 2.

`MatrixFunction`: values looked up in a matrix by id. `JoinFunction`: the sum or product of two kernels. Kernels declare
them (`Kernel.point_function`, `matrix_function`, `join_function`); a kernel that declares none is computed by its own
code, on the host.

Values are computed in float32 unless that would change them by more than about 1e-6 of the diagonal. With the features
centred (where a kernel depends on differences only) and divided by the width, an error of rounding by a share epsilon
changes

================  =========================================  ================================================
kind              the value by at most about                 so that the size compared with `LARGEST` is
================  =========================================  ================================================
``gaussian``      epsilon (||x||^2 + ||z||^2) k(x, z)        the largest ||x||^2
``laplacian``     epsilon (||x||_1 + ||z||_1) k(x, z)        the largest ||x||_1
``chi-squared``   epsilon (||x||_1 + ||z||_1) k(x, z)        the largest ||x||_1
``polynomial``    epsilon sqrt(k(x, x) k(z, z))              the largest ||x||^2 over the mean of centred ones
================  =========================================  ================================================

where the size of a polynomial is relative to centred features, because a large mean hides what differs between samples.
Its values must be in `RANGE` too, or float32 would not hold them. A linear kernel is computed in float64 always: its
products with coefficients need no kernel values, and cost almost nothing. A kernel that is centred is in float64 where
k(x, x) falls by more than `LARGEST` times, see `drowns`. Where it falls by more than 2^29 times that, double precision
is not enough either, and there is a warning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from ...arrays import Place
from ...solvers.tiles import absolute_distances, chi_squared_distances, powers32, powers64, raise_power
from ..resources import Scratch, in_threads

if TYPE_CHECKING:
    from ..base import Kernel
    from ..precomputed import Precomputed

STATIONARY = ("gaussian", "laplacian")
LOG2E = 1.0 / math.log(2.0)
#: The scale of a kernel in units in which exponents are powers of 2, by its kind.
UNITS = {"gaussian": math.sqrt(2.0 * LOG2E), "laplacian": LOG2E, "chi-squared": LOG2E}


@dataclass(frozen=True)
class PointFunction:
    """A kernel as a function of feature vectors, times the constant `gain`; see the table of the module."""

    kind: str
    scale: float = 1.0
    degree: int = 1
    coef0: float = 0.0
    gain: float = 1.0

    def values(self, A: Any, B: Any, place: Place) -> Any:
        """k(a, b) of all pairs of rows of two arrays of a place; features are centred where the kind allows it."""
        xp = place.xp
        if self.kind == "linear":
            return self.gain * (A @ B.T)
        if self.kind == "polynomial":
            return self.gain * (A @ B.T + self.coef0) ** self.degree
        if self.kind == "gaussian":
            squared = xp.sum(A * A, axis=1)[:, None] + xp.sum(B * B, axis=1)[None, :] - 2.0 * (A @ B.T)
            return self.gain * xp.exp(-xp.clip(squared, min=0.0) / self.scale**2)
        total = xp.zeros((A.shape[0], B.shape[0]), dtype=A.dtype, device=place.device)
        for j in range(A.shape[1]):
            a, b = A[:, j][:, None], B[:, j][None, :]
            if self.kind == "laplacian":
                total = total + xp.abs(a - b)
            else:
                sums = a + b
                total = total + (a - b) ** 2 / xp.where(sums > 0.0, sums, xp.ones_like(sums))
        return self.gain * xp.exp(-total / self.scale)

    def diagonal(self, A: np.ndarray) -> np.ndarray:
        if self.kind not in ("linear", "polynomial"):
            return np.full(len(A), self.gain)
        squared = np.einsum("ij,ij->i", A, A, dtype=np.float64)
        return self.gain * (squared if self.kind == "linear" else (squared + self.coef0) ** self.degree)


def in_units(function: PointFunction) -> tuple[PointFunction, float]:
    """The function of features in units, and what features are multiplied by to be so.

    >>> function, factor = in_units(PointFunction("laplacian", scale=2.0))
    >>> round(function.scale, 3), round(factor, 3)
    (1.443, 0.721)
    """
    if function.kind not in UNITS:
        return function, 1.0
    unit = UNITS[function.kind]
    return replace(function, scale=unit), unit / function.scale


@dataclass(frozen=True)
class MatrixFunction:
    """K[id(x), id(z)] or, of a matrix of distances with a scale, exp(-(K[id(x), id(z)] / scale)^2).

    `lookup` is fitted: it gives the ids of samples and their entries of the matrix.
    """

    lookup: Precomputed
    scale: float | None = None


@dataclass(frozen=True)
class JoinFunction:
    """first(x, z) + second(x, z), or the product, of two fitted kernels; 0 for a sample that lacks one of them."""

    first: Kernel
    second: Kernel
    is_product: bool


# Tiles of values on the host

HEIGHT, WIDTH = 256, 512  # of a tile; in float32 it takes half a megabyte, which stays in the cache of a core


def row_form(function: PointFunction, features: np.ndarray) -> np.ndarray:
    """Features as the rows of tiles, of shape (n, width)."""
    own, factor = in_units(function)
    features = features if factor == 1.0 else features * features.dtype.type(factor)
    if own.kind != "gaussian":
        return np.ascontiguousarray(features)
    n, width = features.shape
    found = np.empty((n, width + 2), dtype=features.dtype)
    found[:, :width] = features
    found[:, width] = -0.5 * np.einsum("ij,ij->i", features, features, dtype=np.float64)
    found[:, width + 1] = 1.0
    return found


def column_tiles(function: PointFunction, rows: np.ndarray, width: int) -> list[np.ndarray]:
    """The columns of tiles, `width` at a time, from what `row_form` gives: contiguous, so that loops are vectorised."""
    found = []
    for first in range(0, len(rows), width):
        tile = np.ascontiguousarray(rows[first : first + width].T)
        if function.kind == "gaussian":
            tile[-2:] = tile[[-1, -2]]
        found.append(tile)
    return found


def fill(function: PointFunction, A: np.ndarray, B: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    """The values between rows and columns (in their forms), in the beginning of a buffer of one dimension."""
    out = buffer[: len(A) * B.shape[1]].reshape(len(A), B.shape[1])
    if function.kind == "laplacian":
        absolute_distances(A, B, out)
    elif function.kind == "chi-squared":
        chi_squared_distances(A, B, out)
    else:
        np.matmul(A, B, out=out)
    number = out.dtype.type
    if function.kind == "polynomial":
        raise_power(out, number(function.coef0), function.degree, number(function.gain))
        return out
    if function.kind != "linear":
        (powers32 if out.dtype == np.float32 else powers64)(out)
    if function.gain != 1.0:
        out *= number(function.gain)
    return out


def host_values(function: PointFunction, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    left = row_form(function, A)
    right = column_tiles(function, left if A is B else row_form(function, B), WIDTH)
    found = np.empty((len(A), len(B)), dtype=A.dtype)

    def work(task: int, scratch: Scratch) -> None:
        top = slice(task * HEIGHT, (task + 1) * HEIGHT)
        for place, tile in enumerate(right):
            buffer = scratch.array(A.dtype, HEIGHT * WIDTH)
            found[top, place * WIDTH : (place + 1) * WIDTH] = fill(function, left[top], tile, buffer)

    if found.size:
        in_threads(work, -(-len(A) // HEIGHT))
    return found


# Precision

#: Features of a larger size are kept in float64: 2^-24 * 16 is 1e-6.
LARGEST = 16.0
#: Values of a polynomial that are far below the first or above the second are computed in float64.
RANGE = (1e-12, 1e18)
NEVER = -1.0  # a limit that all sizes exceed


def limit_of(function: PointFunction, features: np.ndarray) -> float:
    """The size of features up to which float32 is enough, or `NEVER`, given those of the training samples.

    Features are float64 of shape (n, n_columns), centred where the kernel is stationary.
    """
    if function.kind == "linear":
        return NEVER
    if function.kind != "polynomial":
        return LARGEST
    mean = features.mean(axis=0) if len(features) else 0.0
    deviations = features - mean
    with np.errstate(over="ignore"):
        size = float(np.einsum("ij,ij->", deviations, deviations)) / max(1, len(features)) + function.coef0
        usual, largest = function.gain * np.power([size, LARGEST * size], function.degree)
    return LARGEST * size if RANGE[0] <= usual and largest <= RANGE[1] else NEVER


def size_of(function: PointFunction, features: np.ndarray) -> float:
    """The size of features that decides whether float32 is enough for them; see the table of the module."""
    if not features.size:
        return 0.0
    with np.errstate(over="ignore"):
        if function.kind in ("laplacian", "chi-squared"):
            return float(np.abs(features).sum(axis=1).max()) / function.scale
        squared = float(np.einsum("ij,ij->i", features, features).max())
        return squared / function.scale**2 if function.kind == "gaussian" else squared + function.coef0


def drowns(raw: np.ndarray, centred: np.ndarray, dtype: DTypeLike = np.float32) -> bool:
    """Whether what centring leaves of a kernel is too small beside its values for a type, by k(x, x) before and after.

    It is where the rounding of values is more than 1e-6 of what is left.

    >>> drowns(np.array([2.0, 2.0]), np.array([1.0, 1.0])), drowns(np.array([1e4, 1e4]), np.array([1.0, 1.0]))
    (False, True)
    """
    most = LARGEST * float(np.finfo(np.float32).eps / np.finfo(dtype).eps)
    return bool(raw.max(initial=0.0) > most * max(centred.mean() if len(centred) else 0.0, 0.0))


#: Kinds that the programs of a CUDA device serve, in the order of their numbers there; the first two multiply features.
SERVED = ("gaussian", "polynomial", "laplacian", "chi-squared")
PRODUCTS = SERVED[:2]


@cache
def is_fused(place: Place) -> bool:
    return place.is_cuda and not place.precise and find_spec("triton") is not None


def rounded(features: Any, kind: str, place: Place) -> Any:
    """Features of float32, rounded to TF32 where the tensor cores of a place multiply them."""
    return to_tf32(features) if kind in PRODUCTS and is_fused(place) else features


def to_tf32(values: Any) -> Any:
    """An array or tensor of float32, rounded to 11 significant bits, ties to even.

    >>> to_tf32(np.array([1.0, 1.0 + 2**-10, 1.0 + 2**-11], dtype=np.float32)) - 1.0
    array([0.        , 0.00097656, 0.        ], dtype=float32)
    """
    if isinstance(values, np.ndarray):
        bits, narrow = values.view(np.int32), np.float32
    else:
        import torch

        bits, narrow = values.contiguous().view(torch.int32), torch.float32
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(narrow)
