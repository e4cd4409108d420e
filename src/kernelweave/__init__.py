"""Kernelweave: learn from samples that are described in several ways at once.

Each description is a *view*, each view gets one or more *kernels*, and a *combiner* makes one kernel of them for a
support vector machine: `MKLClassifier`, `MKLRegressor` and `MKLOneClass`.
"""

from . import combiners, datasets, display, kernels, model_selection, reduction
from ._version import __version__
from .estimators import KernelSAMME, KernelVoting, MKLClassifier, MKLOneClass, MKLRegressor
from .persistence import load, save
from .views import stack_views

__all__ = [
    "KernelSAMME",
    "KernelVoting",
    "MKLClassifier",
    "MKLOneClass",
    "MKLRegressor",
    "__version__",
    "combiners",
    "datasets",
    "display",
    "kernels",
    "load",
    "model_selection",
    "reduction",
    "save",
    "stack_views",
]
