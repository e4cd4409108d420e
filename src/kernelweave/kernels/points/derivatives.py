"""Derivatives of kernels by the points that they compare: SLDR A.3, and the landmarks of SKFE.

For a function f of kernel values with derivatives ``weights``, the gradient by the points z_j is a sum over i. It is
written with matrix products only, so nothing larger than the kernel values themselves is ever formed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import Kernel
from ..features import Gaussian, Linear, Polynomial


def is_differentiable(kernel: Kernel) -> bool:
    """Whether `row_pullback` knows a kernel: it is linear, polynomial or Gaussian."""
    return type(kernel) in _PULLBACKS


def row_pullback(kernel: Kernel, A: Any, Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The gradient of ``sum_ij weights_ij k(a_i, z_j)`` by the rows of Z.

    Parameters
    ----------
    kernel : Linear, Polynomial or Gaussian
        Fitted.
    A : ndarray or CSR matrix of shape (n, n_columns)
    Z : ndarray of shape (n_points, n_columns)
    weights : ndarray of shape (n, n_points)

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Linear
    >>> A = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> row_pullback(Linear().fit(A), A, np.zeros((1, 2)), np.array([[1.0], [10.0]]))
    array([[31., 42.]])
    """
    return _PULLBACKS[type(kernel)](kernel, A, Z, weights)


def _weighted_sums(values: Any, weights: np.ndarray) -> np.ndarray:
    """weights' values as an array, also for sparse values."""
    return np.ascontiguousarray((values.T @ weights).T)


def _pull_linear(kernel: Linear, A: Any, Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return _weighted_sums(A, weights)


def _pull_polynomial(kernel: Polynomial, A: Any, Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    inner = A @ Z.T + kernel.coef0
    return _weighted_sums(A, weights * (kernel.degree * inner ** (kernel.degree - 1)))


def _pull_gaussian(kernel: Gaussian, A: Any, Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    weights = weights * kernel._cross(A, Z) * (2.0 / kernel.scale_**2)
    return _weighted_sums(A, weights) - weights.sum(axis=0)[:, None] * Z


_PULLBACKS = {Linear: _pull_linear, Polynomial: _pull_polynomial, Gaussian: _pull_gaussian}
