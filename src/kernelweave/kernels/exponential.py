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
from .tiles.functions import PointFunction
from .widths import chosen_scale, distance_scale


class _Exponential(ViewKernel):
    """k(x, z) = exp(-d(x, z) / scale): what such kernels share; subclasses write `_distances`."""

    positive_semidefinite = True
    has_width = True

    def __init__(self, view: Any = None, scale: float | str | None = None, *, transformer: Any = None):
        self.view = view
        self.scale = scale
        self.transformer = transformer

    def learn(self, values, sample_weight):
        """Take the width, by its rule where it is no number."""

        def distances_of(rows, columns):
            distances = self._distances(values[rows], values[columns])
            return np.where(distances > 0, distances, np.inf)

        self.scale_ = chosen_scale(self, lambda rule: distance_scale(distances_of, sample_weight, rule, power=1))

    def cross_of(self, A, B):
        """exp(-d(a, b) / scale)."""
        distances = self._distances(A, B)
        distances /= -self.scale_
        return np.exp(distances, out=distances)

    def diagonal_of(self, A):
        """1."""
        return np.ones(A.shape[0])


class Laplacian(_Exponential):
    """The Laplacian kernel k(x, z) = exp(-||x - z||_1 / scale).

    It is less smooth than the Gaussian kernel and depends less on single features that differ much.

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    scale : float, {"scale", "nearest", "median"} or None
        The width (1 / gamma where the kernel is written with gamma), or how the training samples that have the view
        give it: "scale", what None means, is the mean L1 distance of two samples; "nearest" that of a sample to its
        nearest neighbour, in the manner of the thesis (Gönen 2010), (2.10); "median" the median of two samples. Copies
        of a sample are left out, so that repeating samples does not change it; 1 where all samples coincide. Of more
        than 10 000 samples a part is looked at, always the same: widths change by about 2 % at most, "nearest" more.
    transformer : transformer or None
        A transformer of scikit-learn that prepares the view, such as ``StandardScaler()``: the kernel compares what it
        returns. A copy of it, `transformer_`, is fitted (with y) to the training samples that have the view.

    Attributes
    ----------
    scale_ : float
        The width in use.

    Examples
    --------
    >>> from kernelweave.kernels import Laplacian
    >>> X = [[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]]
    >>> kernel = Laplacian().fit(X)
    >>> round(kernel.scale_, 3)  # (2 + 4 + 6) / 3
    4.0
    >>> kernel.cross(X[:1], X).round(3)
    array([[1.   , 0.607, 0.223]])
    """

    takes_sparse = True
    is_stationary = True

    def point_function(self):
        """exp(-||a - b||_1 / scale)."""
        return PointFunction("laplacian", scale=self.scale_)

    def _distances(self, A, B):
        from sklearn.metrics.pairwise import manhattan_distances

        return manhattan_distances(A, B)


class ChiSquared(_Exponential):
    """The chi-squared kernel k(x, z) = exp(-chi2(x, z) / scale), chi2 = sum_j (x_j - z_j)^2 / (x_j + z_j).

    For histograms and other non-negative data; where both entries are 0 the term is 0.

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all. Their values must be at least 0.
    scale : float, {"scale", "nearest", "median"} or None
        The width (1 / gamma where the kernel is written with gamma), or how the training samples that have the view
        give it: "scale", what None means, is the mean chi2 of two samples; "nearest" that of a sample and its nearest
        neighbour; "median" the median of two samples. Copies of a sample are left out, so that repeating samples does
        not change it; 1 where all samples coincide. Of more than 10 000 samples a part is looked at, always the same,
        which changes the width by about 2 % at most, "nearest" more.
    transformer : transformer or None
        A transformer of scikit-learn that prepares the view, such as ``StandardScaler()``: the kernel compares what it
        returns. A copy of it, `transformer_`, is fitted (with y) to the training samples that have the view.

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

    def point_function(self):
        """exp(-chi2(a, b) / scale)."""
        return PointFunction("chi-squared", scale=self.scale_)

    def learn(self, values, sample_weight):
        """Take the width, once the values are known not to be negative."""
        super().learn(self._not_negative(values), sample_weight)

    def _distances(self, A, B):
        from sklearn.metrics.pairwise import additive_chi2_kernel

        distances = additive_chi2_kernel(self._not_negative(A), self._not_negative(B))
        return np.negative(distances, out=distances)

    def _not_negative(self, values):
        if values.min(initial=0.0) < 0:
            raise ValueError(
                f"view {self._view_label!r} holds negative values ({values.min():.3g}), but the kernel {self.label_!r} "
                "(ChiSquared) compares histograms; did a scaler touch them? Laplacian and Gaussian take any numbers"
            )
        return np.require(values, requirements="W")  # scikit-learn's compiled loop takes writable arrays only
