"""Kernelweave: learn from samples that are described in several ways at once.

Each description is a *view*, each view gets one or more *kernels*, and a *combiner* makes one kernel of them for a
kernel machine: `MKLClassifier`, `MKLRegressor`, `MKLOneClass` and `MKLSurvival`.

The thesis that docstrings cite is M. Gönen, *Localized multiple kernel algorithms for machine learning*, PhD thesis,
Boğaziçi University, 2010; numbers in parentheses, such as (2.4), are its equations.

Each public name is imported at its first use, so that no time is spent on what is not used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from . import cluster, combiners, datasets, display, files, kernels, model_selection, recipes, reduction, survival
    from ._config import config_context, get_config, set_config
    from ._environment import show_versions
    from .estimators import (
        BayesianMKLClassifier,
        BayesianMKLRegressor,
        ColumnBoostingClassifier,
        ColumnBoostingRegressor,
        KernelSAMME,
        KernelVoting,
        MKLClassifier,
        MKLOneClass,
        MKLRegressor,
        MKLSurvival,
        calibrated,
    )
    from .files import open_views, read_views, read_views_in_blocks
    from .reporting import report
    from .saving import load, predict_views, save
    from .views import stack_views

__all__ = [
    "BayesianMKLClassifier",
    "BayesianMKLRegressor",
    "ColumnBoostingClassifier",
    "ColumnBoostingRegressor",
    "KernelSAMME",
    "KernelVoting",
    "MKLClassifier",
    "MKLOneClass",
    "MKLRegressor",
    "MKLSurvival",
    "__version__",
    "calibrated",
    "cluster",
    "combiners",
    "config_context",
    "datasets",
    "display",
    "files",
    "get_config",
    "kernels",
    "load",
    "model_selection",
    "open_views",
    "predict_views",
    "read_views",
    "read_views_in_blocks",
    "recipes",
    "reduction",
    "report",
    "save",
    "set_config",
    "show_versions",
    "stack_views",
    "survival",
]

_PACKAGES = {
    *("views", "kernels", "solvers", "machines", "combiners", "estimators", "saving", "reduction"),
    *("cluster", "model_selection", "datasets", "display", "files", "recipes", "reporting", "compare", "persistence"),
    "survival",
}
_HOMES = {
    "ColumnBoostingClassifier": "estimators",
    "ColumnBoostingRegressor": "estimators",
    "BayesianMKLClassifier": "estimators",
    "BayesianMKLRegressor": "estimators",
    "KernelSAMME": "estimators",
    "KernelVoting": "estimators",
    "MKLClassifier": "estimators",
    "MKLOneClass": "estimators",
    "MKLRegressor": "estimators",
    "MKLSurvival": "estimators",
    "calibrated": "estimators",
    "config_context": "_config",
    "get_config": "_config",
    "load": "saving",
    "open_views": "files",
    "predict_views": "saving",
    "read_views": "files",
    "read_views_in_blocks": "files",
    "report": "reporting",
    "save": "saving",
    "set_config": "_config",
    "show_versions": "_environment",
    "stack_views": "views",
}


def __getattr__(name: str) -> object:
    """Import what a public name stands for: a package, or something that lives in one."""
    if name not in _HOMES and name not in _PACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = (
        getattr(import_module(f".{_HOMES[name]}", __name__), name)
        if name in _HOMES
        else import_module(f".{name}", __name__)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
