"""Base kernels over views, their normalisation, and the stack of their Gram matrices.

A kernel selects its view, learns what it must from the training samples (`fit`), and then computes
`gram(X)`, `cross(X, Y)` and `diagonal(X)`. Kernels add and multiply: ``Linear("a") + 0.5 * Gaussian("b")``.
"""

from .arithmetic import Constant, KernelProduct, KernelSum
from .base import Kernel, ViewKernel
from .features import Gaussian, Linear, Polynomial
from .function import Function
from .memory import MemoryWarning
from .naming import named_kernels
from .normalization import Normalizer
from .precomputed import Precomputed
from .stack import KernelStack

__all__ = [
    "Constant",
    "Function",
    "Gaussian",
    "Kernel",
    "KernelProduct",
    "KernelStack",
    "KernelSum",
    "Linear",
    "MemoryWarning",
    "Normalizer",
    "Polynomial",
    "Precomputed",
    "ViewKernel",
    "named_kernels",
]
