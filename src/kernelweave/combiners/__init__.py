"""Combiners: how the kernels of a model become one kernel.

A combiner learns (or is given) parameters theta, forms the combined kernel K_theta of the training samples, and
compares new samples with them by the same theta. Here are the fixed rules of thesis section 2.1 and the choice of
the best single kernel.
"""

from .base import Combination, Combiner, WeightedSum
from .best_single import BestSingle
from .fixed import FixedWeights, Mean, Product

__all__ = ["BestSingle", "Combination", "Combiner", "FixedWeights", "Mean", "Product", "WeightedSum"]
