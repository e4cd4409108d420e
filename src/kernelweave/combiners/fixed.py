"""Fixed rules: mean, given weights and product of the kernels, thesis section 2.1."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..kernels import KernelStack
from ..views import Views
from .base import Combination, Combiner, WeightedSum, solve_once, warn_of_memory


class Mean(WeightedSum):
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


class FixedWeights(WeightedSum):
    """A weighted sum of the kernels with given weights, k(x, z) = sum_m eta_m k_m(x, z).

    Parameters
    ----------
    weights : mapping or Series from kernel name to weight, or sequence with one weight per kernel
        At least 0, one of them positive. Kernels that a mapping does not name have weight 0 and are never computed.

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

    def __init__(self, weights: Mapping[str, float] | Any):
        self.weights = weights

    def choose(self, stack, machine, y, rng, tol, max_steps, progress):
        """The given weights, checked and in the order of the kernels."""
        weights = self.weights
        if isinstance(weights, pd.Series):  # such as the kernel_weights_ of another model
            if not weights.index.is_unique:
                raise ValueError("weights is a series that names a kernel twice")
            weights = weights.to_dict()
        if isinstance(weights, Mapping):
            unknown = sorted(set(weights) - set(stack.names))
            if unknown:
                raise ValueError(f"weights names kernels that are not there: {unknown}; there are {stack.names}")
            weights = [weights.get(name, 0.0) for name in stack.names]
        eta = np.array(weights, dtype=float)
        if eta.shape != (stack.n_kernels,):
            raise ValueError(f"weights must have one entry for each of the {stack.n_kernels} kernels, not {eta.shape}")
        if not np.isfinite(eta).all() or (eta < 0).any() or not eta.any():
            raise ValueError(f"weights must be finite and at least 0, with one of them positive, not {eta.tolist()}")
        return eta, 0


class Product(Combiner):
    """The product of the kernels, k(x, z) = prod_m k_m(x, z), thesis (2.3).

    Nothing is learned. Samples are similar only where every view says so; every sample needs every view.

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
        self._check_present(state, state.present, state.reference)
        return self._product(state, state.gram)

    def cross(self, state: KernelStack, theta: np.ndarray, views: Views) -> np.ndarray:
        """The product for new samples."""
        present = state.presence(views)
        self._check_present(state, present, views)
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

    def _check_present(self, stack: KernelStack, present: np.ndarray, views: Views) -> None:
        incomplete = ~present.all(axis=1)
        if incomplete.any():
            m = np.flatnonzero(~present[incomplete][0])[0]
            raise ValueError(
                f"Product needs every view of every sample, but {views.first(incomplete)} lacks the view of the kernel "
                f"{stack.names[m]!r}; Mean and FixedWeights work with missing views"
            )
