"""Weights of features: what a linear kernel makes of coefficients of the training samples.

For a linear kernel, ``sum_i c_i k(x, x_i) = <w, x>`` with ``w = sum_i c_i x_i``. Normalisation changes x and x_i:

=================  =========================  =====================================
normalize          x                          w
=================  =========================  =====================================
``unit-diagonal``  x / ||x||                  sum_i c_i x_i / ||x_i||
``unit-trace``     x                          sum_i c_i x_i / mean_i ||x_i||^2
``center``         x - mean                   sum_i c_i (x_i - mean)
``None``           x                          sum_i c_i x_i
=================  =========================  =====================================

Samples that lack the view take no part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .stack import KernelStack


def feature_weights(stack: KernelStack, m: int, coef: np.ndarray) -> np.ndarray:
    """The vector w of the linear kernel m for each column of coefficients, of shape (n_features, n_outputs).

    Parameters
    ----------
    stack : KernelStack
    m : int
        A linear kernel, whose constants of normalisation are learned.
    coef : ndarray of shape (n_samples, n_outputs)
        Coefficients of the training samples (or of those that `restrict` kept).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import KernelStack, Linear
    >>> from kernelweave.kernels.stacking.feature_weights import feature_weights
    >>> stack = KernelStack([Linear()]).fit([[3.0, 4.0], [0.0, 2.0]])
    >>> K = stack.gram(0)
    >>> feature_weights(stack, 0, np.array([[10.0], [1.0]]))
    array([[6.],
           [9.]])
    """
    kernel, normalizer, rows = stack.kernels[m], stack.normalizers[m], stack.rows
    values, present = kernel.read(stack.support)  # rows of samples that lack the view are 0
    if normalizer.method == "unit-diagonal":
        return np.asarray(values.T @ (normalizer.factor_[rows, None] * coef))
    weights = np.asarray(values.T @ coef)
    if normalizer.method == "unit-trace":
        return normalizer.factor_ * weights
    if normalizer.method == "center":
        mean = np.asarray(kernel.read(stack.reference)[0].T @ normalizer.weight_)
        return weights - mean[:, None] * coef[present].sum(axis=0)
    return weights
