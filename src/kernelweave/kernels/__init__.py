"""Base kernels over views, their repair and normalisation, and the stack of their Gram matrices.

A kernel selects its view, learns what it must from the training samples (`fit`), and then computes
`gram(X)`, `cross(X, Y)` and `diagonal(X)`. Kernels add and multiply: ``Linear("a") + 0.5 * Gaussian("b")``.
"""

from .arithmetic import Constant, KernelProduct, KernelSum
from .base import Kernel, ViewKernel
from .clinical import Clinical
from .distance import Distance
from .exponential import ChiSquared, Laplacian
from .features import Gaussian, Linear, Polynomial
from .function import Function
from .lookups.precomputed import Precomputed
from .pairwise import Pairwise
from .spectrum import Spectrum
from .stacking.memory import KernelMemoryError, LazyStorageError, MemoryWarning
from .stacking.naming import named_kernels
from .stacking.normalization import Normalizer
from .stacking.repair import IndefiniteKernelWarning, Repair
from .stacking.stack import KernelStack

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
