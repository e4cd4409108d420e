"""Base kernels over views, their repair and normalisation, and the stack of their Gram matrices.

A kernel selects its view, learns what it must from the training samples (`fit`), and then computes
`gram(X)`, `cross(X, Y)` and `diagonal(X)`. Kernels add and multiply: ``Linear("a") + 0.5 * Gaussian("b")``.
"""

from .arithmetic import Constant, KernelProduct, KernelSum, Pairwise
from .base import Kernel, ViewKernel
from .clinical import Clinical
from .distances import ChiSquared, Distance, Gaussian, Laplacian
from .normalization import IndefiniteKernelWarning, Normalizer, Repair
from .precomputed import Precomputed
from .resources import KernelMemoryError, LazyStorageError, MemoryWarning
from .stack import KernelStack, named_kernels
from .strings import Spectrum
from .vectors import Function, Linear, Polynomial

__all__ = [
    "ChiSquared",
    "Clinical",
    "Constant",
    "Distance",
    "Function",
    "Gaussian",
    "IndefiniteKernelWarning",
    "Kernel",
    "KernelMemoryError",
    "KernelProduct",
    "KernelStack",
    "KernelSum",
    "Laplacian",
    "LazyStorageError",
    "Linear",
    "MemoryWarning",
    "Normalizer",
    "Pairwise",
    "Polynomial",
    "Precomputed",
    "Repair",
    "Spectrum",
    "ViewKernel",
    "named_kernels",
]
