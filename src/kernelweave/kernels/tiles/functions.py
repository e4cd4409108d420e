"""What a kernel is as a function of what it compares, and its values in any namespace of the array API.

`PointFunction`: k(x, z) of two feature vectors, times `gain`:

================  ================================================
kind              k(x, z)
================  ================================================
``linear``        <x, z>
``polynomial``    (<x, z> + coef0)^degree
``gaussian``      exp(-||x - z||^2 / scale^2)
``laplacian``     exp(-||x - z||_1 / scale)
``chi-squared``   exp(-sum_j (x_j - z_j)^2 / (x_j + z_j) / scale)
================  ================================================

`MatrixFunction`: values looked up in a matrix by id. `JoinFunction`: the sum or product of two kernels. Kernels declare
them (`Kernel.point_function`, `matrix_function`, `join_function`); a kernel that declares none is computed by its own
code, on the host.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Place

if TYPE_CHECKING:
    from ..base import Kernel
    from ..lookups.precomputed import Precomputed

KINDS = ("linear", "polynomial", "gaussian", "laplacian", "chi-squared")
STATIONARY = ("gaussian", "laplacian")
LOG2E = 1.0 / math.log(2.0)
#: The scale of a kernel in units in which exponents are powers of 2, by its kind.
UNITS = {"gaussian": math.sqrt(2.0 * LOG2E), "laplacian": LOG2E, "chi-squared": LOG2E}


@dataclass(frozen=True)
class PointFunction:
    """A kernel as a function of feature vectors; see the table of the module.

    Attributes
    ----------
    kind : {"linear", "polynomial", "gaussian", "laplacian", "chi-squared"}
    scale : float
        The width of the exponential kinds.
    degree : int
    coef0 : float
        Of the polynomial.
    gain : float
        A constant factor.
    """

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
        """k(a, a) of each row of a NumPy array."""
        if self.kind not in ("linear", "polynomial"):
            return np.full(len(A), self.gain)
        squared = np.einsum("ij,ij->i", A, A, dtype=np.float64)
        return self.gain * (squared if self.kind == "linear" else (squared + self.coef0) ** self.degree)


def in_units(function: PointFunction) -> tuple[PointFunction, float]:
    """The function of features in units, and what features are multiplied by to be so.

    Examples
    --------
    >>> from kernelweave.kernels.parts.functions import PointFunction, in_units
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
    """K[id(x), id(z)] or, of a matrix of distances, exp(-(K[id(x), id(z)] / scale)^2).

    Attributes
    ----------
    lookup : Precomputed
        Fitted: it gives the ids of samples and their entries of the matrix.
    scale : float or None
        The width where the matrix holds distances.
    """

    lookup: Precomputed
    scale: float | None = None


@dataclass(frozen=True)
class JoinFunction:
    """first(x, z) + second(x, z), or the product, of two fitted kernels; 0 for a sample that lacks one of them."""

    first: Kernel
    second: Kernel
    is_product: bool
