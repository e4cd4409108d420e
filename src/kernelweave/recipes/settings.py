"""The constants of the recipes, in one place: what each method tries, and how views are prepared.

Every method has settings for each effort: the options of its model, which are fixed, and a grid of parameters, of
which inner validation chooses. Values stand in the order in which they win where scores are equal: the simplest first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

EFFORTS = ("full", "quick")

# C of kernel machines, by task and effort: the kernels have a unit diagonal and regressions a target of variance 1.
_COSTS: dict[str, dict[str, Sequence[float]]] = {
    "classification": {"full": (0.3, 3.0, 30.0), "quick": (3.0,)},
    "regression": {"full": (0.1, 1.0, 10.0, 100.0), "quick": (0.1, 1.0, 10.0)},
}
# C of logistic regression, and 1 / alpha of ridge regression, on standardised columns.
_LINEAR_COSTS: dict[str, dict[str, Sequence[float]]] = {
    "classification": {"full": (0.01, 0.1, 1.0, 10.0), "quick": (0.1, 1.0)},
    "regression": {"full": (0.001, 0.01, 0.1, 1.0), "quick": (0.01, 0.1)},
}

# Parameters to choose from besides C, by method and effort.
_GRIDS: dict[str, dict[str, dict[str, Sequence[Any]]]] = {
    "localized": {"full": {"combiner__l2": (0.1, 0.01)}, "quick": {}},
}
_STACKING_COSTS = {"full": (0.1, 1.0), "quick": (1.0,)}  # of the regression on decision values

# Options of the combiners.
COMBINERS: dict[str, dict[str, dict[str, Any]]] = {
    "lp": {"full": {"p": 4.0 / 3.0}, "quick": {"p": 4.0 / 3.0}},
    "convex": {"full": {}, "quick": {}},
    "localized": {"full": {}, "quick": {"l2": 0.03}},
    "projected": {
        "full": {"n_components": 10, "gating_components": 2},
        "quick": {"n_components": 10, "gating_components": 2},
    },
}

# Options of the other models.
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "stacking": {"full": {"machine_C": 3.0}, "quick": {"machine_C": 3.0}},
    "forest": {"full": {"n_trees": 300}, "quick": {"n_trees": 100}},
    "boosting": {"full": {"learning_rate": 0.1}, "quick": {"learning_rate": 0.1}},
}

EPSILON = 0.1  # of a regression whose target has variance 1

# One hold-out, of `effort="quick"`, has this share of the samples (1 / QUICK_PARTS).
QUICK_PARTS = 4

# Views of more prepared features are reduced to leading principal components (singular directions of sparse ones).
WIDEST = {"localized": 1000, "projected": 50}
COMPONENTS = {"localized": 200, "projected": 50}

RARE_CATEGORY = 2  # training samples; categories of fewer are pooled
MOST_WORDS = 20_000  # of a column of documents


def grid_of(method: str, effort: str, task: str) -> Mapping[str, Sequence[Any]]:
    """The parameters that a method tries.

    Parameters
    ----------
    method : str
        Such as "mean" or "alone:rna".
    effort : {"full", "quick"}
    task : {"classification", "regression"}

    Examples
    --------
    >>> from kernelweave.recipes.settings import grid_of
    >>> grid_of("alone:rna", "full", "classification")
    {'C': (0.3, 3.0, 30.0)}
    """
    if method in ("forest", "boosting"):
        return {}
    if method == "stacking":
        return {"C": _STACKING_COSTS[effort]}
    costs = _LINEAR_COSTS if method == "linear" else _COSTS
    return {"C": costs[task][effort], **_GRIDS.get(method, {}).get(effort, {})}


def combiner_options(method: str, effort: str) -> dict[str, Any]:
    """The fixed options of a method's combiner.

    Parameters
    ----------
    method : str
    effort : {"full", "quick"}
    """
    return dict(COMBINERS.get(method.partition(":")[0], {}).get(effort, {}))
