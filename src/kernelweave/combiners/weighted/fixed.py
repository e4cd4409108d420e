"""Fixed rules: the mean of the kernels and given weights, thesis section 2.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..named import NamedNumbers, as_numbers
from .sums import ChosenWeights


class Mean(ChosenWeights):
    """The mean of the kernels, k(x, z) = (1/P) sum_m k_m(x, z).

    That is (2.3) of the thesis (Gönen 2010), up to the factor 1/P. Nothing is learned; it is the baseline that every
    learned combination has to beat.

    Examples
    --------
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Mean
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> model = MKLClassifier([Linear(), Gaussian()], combiner=Mean())
    >>> model.fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]).kernel_weights_
    linear      0.5
    gaussian    0.5
    dtype: float64
    """

    def choose(self, stack, machine, control):
        """The same weight 1/P for each kernel."""
        return np.full(stack.n_kernels, 1.0 / stack.n_kernels), 0


class FixedWeights(NamedNumbers, ChosenWeights):
    """A weighted sum of the kernels with given weights, k(x, z) = sum_m eta_m k_m(x, z).

    Parameters
    ----------
    weights : mapping or Series from kernel name to weight, or sequence with one weight per kernel
        At least 0, one of them positive. Kernels that a mapping does not name have weight 0 and are never computed.
        Single weights of a mapping are parameters: ``weights__<name>``.

    Examples
    --------
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import FixedWeights
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> model = MKLClassifier([Linear(), Gaussian()], combiner=FixedWeights({"gaussian": 2.0}))
    >>> model.fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]).kernel_weights_
    linear      0.0
    gaussian    2.0
    dtype: float64
    """

    _numbers = ("weights",)

    def __init__(self, weights: Mapping[str, float] | Any):
        self.weights = weights

    def for_kernels(self, names, kept):
        """The weights of the kernels that stay, in proportion and with the sum of all; equal ones where all are 0."""
        eta = dict(zip(names, as_numbers(self.weights, names, "weights", default=0.0).tolist(), strict=True))
        left = sum(eta[name] for name in kept)
        share = {name: eta[name] / left if left > 0.0 else 1.0 / len(kept) for name in kept}
        other = super().for_kernels(names, kept)
        return other.set_params(weights={name: share[name] * sum(eta.values()) for name in kept})

    def largest_value(self, names, largest):
        """The weighted sum."""
        return float(as_numbers(self.weights, names, "weights", default=0.0) @ largest)

    def choose(self, stack, machine, control):
        """The given weights, checked and in the order of the kernels."""
        eta = as_numbers(self.weights, stack.names, "weights", default=0.0)
        if not eta.any():
            raise ValueError(f"one of the weights must be positive, but they are {eta.tolist()}")
        return eta, 0
