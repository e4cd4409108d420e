"""Values of a `PointFunction` on the host, tile by tile: BLAS for inner products, compiled loops for the rest.

Features are in units in which exponents are powers of 2 (`functions.in_units`), and two more columns make the exponent
of a Gaussian one matrix product:

    row      x, -||x||^2 / 2, 1
    column   z, 1, -||z||^2 / 2

============  ============================================  ===========================
kind          tile S                                        then
============  ============================================  ===========================
gaussian      product of such rows and columns              2^S
polynomial    <x, z>                                        (S + coef0)^degree
linear        <x, z>                                        as it is
laplacian     -||x - z||_1, a loop over features            2^S
chi-squared   -sum_j (x_j - z_j)^2 / (x_j + z_j), a loop    2^S
============  ============================================  ===========================

Values are float32 or float64, as the features are.
"""

from __future__ import annotations

import numpy as np

from ....solvers.tiles import absolute_distances, chi_squared_distances, powers32, powers64, raise_power
from ...resources import Scratch, in_threads
from ..functions import PointFunction, in_units

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
    """What `row_form` gives as the columns of tiles, so many at a time: contiguous, so that loops are made vectors."""
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


def values(function: PointFunction, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """k(a, b) of all pairs of rows of two arrays of the same type."""
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
