"""Kernelweave: learn from samples that are described in several ways at once.

Each description is a *view*, each view gets one or more *kernels*, and a *combiner* makes one kernel of them for a
support vector machine: `MKLClassifier`, `MKLRegressor` and `MKLOneClass`.
"""

from . import combiners, datasets, kernels, model_selection
from ._version import __version__
from .estimators import MKLClassifier, MKLOneClass, MKLRegressor
from .persistence import load, save
from .views import stack_views

__all__ = [
    "MKLClassifier",
    "MKLOneClass",
    "MKLRegressor",
    "__version__",
    "combiners",
    "datasets",
    "kernels",
    "load",
    "model_selection",
    "save",
    "stack_views",
]
