"""Feature vectors as the fused programs of a CUDA device read them: in units, rounded once to TF32, side by side.

The tensor cores multiply numbers of 11 significant bits (TF32). Features are rounded to these once, when they are read,
so that every product of them is exact wherever it is computed, and norms are those of the rounded features. Units are
such that exponents are powers of 2:

============  ======================  =========================================
kind          unit                    k(x, z), in units
============  ======================  =========================================
gaussian      scale / (2 log2 e)^1/2  2^(<x, z> - ||x||^2 / 2 - ||z||^2 / 2)
laplacian     scale / log2 e          2^-||x - z||_1
chi-squared   scale / log2 e          2^-sum_j (x_j - z_j)^2 / (x_j + z_j)
============  ======================  =========================================

For a Gaussian six more columns make the exponent one product of two rows, each norm as a sum of three numbers of TF32:

    row      x, -||x||^2 / 2 (3 columns), 1, 1, 1
    column   z, 1, 1, 1, -||z||^2 / 2 (3 columns)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...arrays import Place

#: Kinds that the programs serve, in the order of their numbers there; the first two are functions of products.
SERVED = ("gaussian", "polynomial", "laplacian", "chi-squared")
PRODUCTS = SERVED[:2]
NORMS = 6  # columns of the norms of a Gaussian


@cache
def is_fused(place: Place) -> bool:
    """Whether kernels of a place are computed by fused programs: on a CUDA device, with Triton."""
    return place.is_cuda and not place.precise and find_spec("triton") is not None


def rounded(features: Any, kind: str, place: Place) -> Any:
    """Features of float32, rounded to TF32 where the tensor cores of a place multiply them."""
    return to_tf32(features) if kind in PRODUCTS and is_fused(place) else features


def to_tf32(values: Any) -> Any:
    """A contiguous array or tensor of float32, rounded to 11 significant bits, ties to even.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels.parts.packing import to_tf32
    >>> to_tf32(np.array([1.0, 1.0 + 2**-10, 1.0 + 2**-11], dtype=np.float32)) - 1.0
    array([0.        , 0.00097656, 0.        ], dtype=float32)
    """
    if isinstance(values, np.ndarray):
        bits = values.view(np.int32)
        return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(np.float32)
    import torch

    bits = values.contiguous().view(torch.int32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)


def packed_width(kind: str, n_features: int) -> int:
    """Numbers that a packed sample takes: powers of 2 from 16 to 64, then multiples of 32; features for a distance."""
    if kind not in PRODUCTS:
        return n_features
    needed = n_features + (NORMS if kind == "gaussian" else 0)
    return next((width for width in (16, 32, 64) if needed <= width), 32 * math.ceil(needed / 32))


@dataclass(frozen=True)
class Packed:
    """Samples of several kernels of one kind and width.

    Attributes
    ----------
    features : tensor of shape (n_kernels, n, width), or (n_kernels, width, n) for distances, float32
    factor : tensor of shape (n_kernels, n), float64
        What rows and columns are multiplied by.
    kind : str
    """

    features: Any
    factor: Any
    kind: str

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.factor.shape[1]

    @property
    def width(self) -> int:
        """Numbers of a packed sample."""
        return self.features.shape[2 if self.kind in PRODUCTS else 1]

    def own(self, g: int, n_features: int) -> Any:
        """The features of one kernel without the columns that packing added, of shape (n, n_features)."""
        return self.features[g, :, :n_features] if self.kind in PRODUCTS else self.features[g, :n_features].T


def pack(features: list[Any], factors: list[Any], kind: str, place: Place) -> Packed:
    """Pack the features (in units, rounded) of several kernels of one kind and width.

    The list of features is emptied as they are packed, so that each is freed in its turn.
    """
    width = packed_width(kind, features[0].shape[1])
    n, count = features[0].shape[0], len(features)
    found = place.zeros((count, n, width) if kind in PRODUCTS else (count, width, n), "float32")
    for g in range(count):
        values = features.pop(0)
        if kind in PRODUCTS:
            found[g, :, : values.shape[1]] = values
        else:
            found[g, : values.shape[1]] = values.T
        if kind == "gaussian":
            _write_norms(found[g], values, place)
    return Packed(found, place.xp.stack(factors), kind)


def _write_norms(found: Any, values: Any, place: Place) -> None:
    """-||x||^2 / 2 as three numbers of TF32, then three ones, in the last columns of a Gaussian's rows."""
    xp, end = place.xp, found.shape[1]
    step = 2**20  # rows at a time: squares are in float64
    for first in range(0, found.shape[0], step):
        rows = slice(first, first + step)
        rest = -0.5 * xp.sum(xp.astype(values[rows], xp.float64) ** 2, axis=1)
        for column in range(end - NORMS, end - 3):
            part = to_tf32(xp.astype(rest, xp.float32))
            found[rows, column] = part
            rest = rest - xp.astype(part, xp.float64)
    found[:, end - 3 :] = 1.0
