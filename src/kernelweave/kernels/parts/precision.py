"""Where single precision is enough for kernel values.

Rows in parts are computed in float32 unless that would change values by more than about 1e-6 of the diagonal. With the
features centred (where a kernel depends on differences only) and divided by the width, an error of rounding by a share
epsilon changes

================  =========================================  ================================================
kind              the value by at most about                 so that the size compared with `LARGEST` is
================  =========================================  ================================================
``gaussian``      epsilon (||x||^2 + ||z||^2) k(x, z)        the largest ||x||^2
``laplacian``     epsilon (||x||_1 + ||z||_1) k(x, z)        the largest ||x||_1
``chi-squared``   epsilon (||x||_1 + ||z||_1) k(x, z)        the largest ||x||_1
``polynomial``    epsilon sqrt(k(x, x) k(z, z))              the largest ||x||^2 over the mean of centred ones
================  =========================================  ================================================

where the polynomial has its differences between samples in view: they drown in columns with a large mean. Its values
must be in `RANGE` too, or float32 would not hold them. A linear kernel is computed in float64 always: its products with
coefficients need no kernel values, and cost as good as nothing. A kernel that is centred is in float64 where k(x, x)
falls by more than `LARGEST` times, see `drowns`. Where it falls by more than 2^29 times that, double precision is not
enough either, and a warning says so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from .functions import PointFunction

#: Features of a larger size are kept in float64: 2^-24 * 16 is 1e-6.
LARGEST = 16.0
#: Values of a polynomial that are far below the first or above the second are computed in float64.
RANGE = (1e-12, 1e18)
NEVER = -1.0  # a limit that all sizes exceed


def limit_of(function: PointFunction, features: np.ndarray) -> float:
    """The size of features up to which float32 is enough, given those of the training samples, or `NEVER`.

    Parameters
    ----------
    function : PointFunction
    features : ndarray of shape (n, n_columns), float64
        Centred where the kernel is stationary.
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
    """What rounding of features is multiplied by in the kernel values; see the table of the module."""
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

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels.parts.precision import drowns
    >>> drowns(np.array([2.0, 2.0]), np.array([1.0, 1.0])), drowns(np.array([1e4, 1e4]), np.array([1.0, 1.0]))
    (False, True)
    """
    most = LARGEST * float(np.finfo(np.float32).eps / np.finfo(dtype).eps)
    return bool(raw.max(initial=0.0) > most * max(centred.mean() if len(centred) else 0.0, 0.0))
