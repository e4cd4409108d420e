"""Fixed rules: mean, given weights and product of the kernels, thesis section 2.1."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...kernels import KernelStack
from ...views import Views
from ..base import ChosenWeights, Combination, Combiner, solve_once, warn_of_memory
from ..checks import check_every_view
from ..named import NamedNumbers, as_numbers


class Mean(ChosenWeights):
    """The mean of the kernels, k(x, z) = (1/P) sum_m k_m(x, z): thesis (2.3) up to the factor 1/P.

    Nothing is learned; it is the baseline that every learned combination has to beat.

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

    def choose(self, stack, machine, y, rng, tol, max_steps, progress):
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

    def choose(self, stack, machine, y, rng, tol, max_steps, progress):
        """The given weights, checked and in the order of the kernels."""
        eta = as_numbers(self.weights, stack.names, "weights", default=0.0)
        if not eta.any():
            raise ValueError(f"one of the weights must be positive, but they are {eta.tolist()}")
        return eta, 0


class Product(Combiner):
    """The product of the kernels, k(x, z) = prod_m k_m(x, z), thesis (2.3).

    Nothing is learned. Samples are similar only where every view says so; every sample needs every view. All factors
    count alike, so every kernel's weight is told as 1.

    Memory: two n x n matrices, the product and the kernel being multiplied, and at most one more inside the machine.

    Examples
    --------
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Product
    >>> from kernelweave.kernels import Gaussian, Polynomial
    >>> model = MKLClassifier([Polynomial(), Gaussian()], combiner=Product())
    >>> model.fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]).predict([[1.5], [5.5]])
    array([0, 1])
    """

    def fit(self, stack, machine, y, rng, tol=1e-3, max_steps=None, progress=None) -> Combination:
        """Solve the machine once under the product."""
        start = time.perf_counter()
        warn_of_memory(stack)
        return solve_once(self, stack, np.ones(stack.n_kernels), machine, tol, max_steps, start)

    def active(self, state: KernelStack, theta: np.ndarray) -> np.ndarray:
        """Every kernel."""
        return np.ones(state.n_kernels, dtype=bool)

    def gram(self, state: KernelStack, theta: np.ndarray) -> np.ndarray:
        """The product for the training samples."""
        check_every_view(self, state, state.present, state.support)
        return self._product(state, state.gram)

    def cross(self, state: KernelStack, theta: np.ndarray, views: Views) -> np.ndarray:
        """The product for new samples."""
        present = state.presence(views)
        check_every_view(self, state, present, views)
        return self._product(state, lambda m: state.cross(m, views, present[:, m]))

    def kernel_weights(self, state: KernelStack, theta: np.ndarray, views: Views) -> np.ndarray:
        """One for each kernel and sample: all factors count alike."""
        return np.ones((views.n_samples, state.n_kernels))

    def global_weights(self, state: KernelStack, theta: np.ndarray) -> np.ndarray:
        """One for each kernel."""
        return theta

    def _product(self, stack, kernel_of):
        product = kernel_of(0)
        for m in range(1, stack.n_kernels):
            product *= kernel_of(m)
        return product
