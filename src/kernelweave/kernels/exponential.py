"""Kernels that fall off with a distance, not with its square: Laplacian and chi-squared.

==============  ==========================================  ==============
formula         distance                                    class
==============  ==========================================  ==============
exp(-d/scale)   d = sum_j |x_j - z_j|                       `Laplacian`
exp(-d/scale)   d = sum_j (x_j - z_j)^2 / (x_j + z_j)       `ChiSquared`
==============  ==========================================  ==============

The chi-squared distance compares histograms; MKL-DR, section 4.2, derives two of its image kernels from it. Both
kernels are positive semidefinite for every scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import ViewKernel
from .measures import chosen_scale, neighbour_scale, row_blocks


class _Exponential(ViewKernel):
    """k(x, z) = exp(-d(x, z) / scale): what such kernels share; subclasses write `_distances` and `_own_scale`."""

    positive_semidefinite = True

    def __init__(self, view: Any = None, scale: float | None = None):
        self.view = view
        self.scale = scale

    def _learn(self, values, sample_weight):
        self.scale_ = chosen_scale(self, lambda: self._own_scale(values, sample_weight))

    def _gram(self, A):
        return self._cross(A, A)

    def _cross(self, A, B):
        distances = self._distances(A, B)
        distances /= -self.scale_
        return np.exp(distances, out=distances)

    def _diagonal(self, A):
        return np.ones(A.shape[0])


class Laplacian(_Exponential):
    """The Laplacian kernel k(x, z) = exp(-||x - z||_1 / scale).

    It is less smooth than the Gaussian kernel and less impressed by single features that differ much.

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    scale : float or None
        The width. None takes the mean L1 distance of a training sample to its nearest neighbour, in the manner of
        thesis (2.10); copies of a sample are not its neighbours, so that repeating samples does not change it.

    Attributes
    ----------
    scale_ : float
        The width in use.

    Examples
    --------
    >>> from kernelweave.kernels import Laplacian
    >>> X = [[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]]
    >>> kernel = Laplacian().fit(X)
    >>> round(kernel.scale_, 3)  # (2 + 2 + 4) / 3
    2.667
    >>> kernel.cross(X[:1], X).round(3)
    array([[1.   , 0.472, 0.105]])
    """

    takes_sparse = True

    def _distances(self, A, B):
        from sklearn.metrics.pairwise import manhattan_distances

        return manhattan_distances(A, B)

    def _own_scale(self, values, sample_weight):
        from sklearn.metrics.pairwise import manhattan_distances

        def distances_of(rows):
            distances = manhattan_distances(values[rows], values)
            distances[distances == 0] = np.inf
            return distances

        return neighbour_scale(distances_of, sample_weight)


class ChiSquared(_Exponential):
    """The chi-squared kernel k(x, z) = exp(-chi2(x, z) / scale), chi2 = sum_j (x_j - z_j)^2 / (x_j + z_j).

    For histograms and other non-negative data; where both entries are 0 the term is 0.

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all. Their values must be at least 0.
    scale : float or None
        The width. None takes the mean chi2 over all pairs of training samples that differ.

    Attributes
    ----------
    scale_ : float
        The width in use.

    Examples
    --------
    >>> from kernelweave.kernels import ChiSquared
    >>> X = [[4.0, 0.0], [2.0, 2.0]]
    >>> kernel = ChiSquared(scale=2.0).fit(X)
    >>> kernel.gram(X).round(4)  # chi2 = 4 / 6 + 4 / 2
    array([[1.    , 0.2636],
           [0.2636, 1.    ]])
    """

    def _learn(self, values, sample_weight):
        _Exponential._learn(self, self._not_negative(values), sample_weight)

    def _distances(self, A, B):
        from sklearn.metrics.pairwise import additive_chi2_kernel

        distances = additive_chi2_kernel(self._not_negative(A), self._not_negative(B))
        return np.negative(distances, out=distances)

    def _own_scale(self, values, sample_weight):
        from sklearn.metrics.pairwise import additive_chi2_kernel

        values = self._not_negative(values)
        total = weight = 0.0
        for rows in row_blocks(len(values)):
            distances = -additive_chi2_kernel(values[rows], values)
            pair_weight = sample_weight[rows, None] * sample_weight[None, :]
            total += float((pair_weight * distances).sum())
            weight += float(pair_weight[distances > 0].sum())
        return total / weight if weight > 0 else 1.0

    def _not_negative(self, values):
        if values.min(initial=0.0) < 0:
            raise ValueError(
                f"view {self._view_label!r} holds negative values ({values.min():.3g}), but the kernel {self.label_!r} "
                "(ChiSquared) compares histograms; did a scaler touch them? Laplacian and Gaussian take any numbers"
            )
        return np.require(values, requirements="W")  # scikit-learn's compiled loop wants to be able to write
