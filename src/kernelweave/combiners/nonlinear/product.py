"""`Product`: the product of all kernels, thesis (2.3)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from ...kernels import Kernel, KernelStack
from ...kernels.tiles.sums import TiledFunction
from ...machines import Machine
from ...stacks import FitControl, TrainingStack, training
from ...stacks.base import check_every_view
from ...views import Views
from ..base import Combiner
from ..combined import PointwiseKernel


class Product(Combiner):
    """The product of the kernels, k(x, z) = prod_m k_m(x, z): thesis (Gönen 2010), (2.3).

    Nothing is learned. Samples are similar only if they are similar in every view; every sample needs every view. All
    factors count alike, so each kernel's weight is 1.

    Memory: two n x n matrices, the product and the kernel being multiplied, and at most one more inside the machine; in
    lazy storage none.

    Examples
    --------
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Product
    >>> from kernelweave.kernels import Gaussian, Polynomial
    >>> model = MKLClassifier([Polynomial(), Gaussian()], combiner=Product())
    >>> model.fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]).predict([[1.5], [5.5]])
    array([0, 1])
    """

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """A function of all kernel values."""
        return {"elementwise": "Product multiplies kernels, whose explicit features would be all products of theirs"}

    def largest_value(self, names: list[str], largest: np.ndarray) -> float:
        """The product."""
        return float(largest.prod())

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> ProductKernel:
        """Solve the machine once under the product."""
        begin = time.perf_counter()
        stack.check_memory(3, "the combined kernel")
        return ProductKernel(training(stack)).solve(machine, control, begin)


class ProductKernel(PointwiseKernel):
    """k(x, z) = prod_m k_m(x, z).

    Parameters
    ----------
    stack : KernelStack
    """

    def __init__(self, stack: KernelStack):
        super().__init__(stack, np.ones(stack.n_kernels))

    def combine(self, values: Iterator[np.ndarray]) -> np.ndarray:
        """The product, in place of the first of the matrices."""
        product = next(values)
        for other in values:
            product *= other
        return product

    def in_parts(self) -> TiledFunction:
        """The product in parts, wherever these are."""
        found = super().in_parts()
        found.combine = lambda values, rows, columns: self.combine(values)
        return found

    def check(self, present: np.ndarray, views: Views) -> None:
        """Every sample needs every view."""
        check_every_view("Product", self.names, present, views)

    def sample_weights(self, views: Views) -> np.ndarray:
        """One for each kernel and sample."""
        return np.ones((views.n_samples, self.n_kernels))

    def restrict(self, index: np.ndarray) -> ProductKernel:
        """The product over some training samples."""
        return ProductKernel(self.stack.restrict(index))
