"""The constants of the recipes, in one place: what each method tries, and how views are prepared.

Every method has settings for each effort: the options of its model, which are fixed, and a grid of parameters, of
which inner validation chooses. Values stand in the order in which they win where scores are equal: the simplest first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

EFFORTS = ("full", "quick")

_COSTS = (0.1, 1.0, 10.0, 100.0)
_FEW_COSTS = (1.0, 10.0)

# Parameters to choose from, by method (all views alone have the settings of "alone") and effort.
GRIDS: dict[str, dict[str, dict[str, Sequence[Any]]]] = {
    "alone": {"full": {"C": _COSTS}, "quick": {"C": _FEW_COSTS}},
    "concatenation": {"full": {"C": _COSTS}, "quick": {"C": _FEW_COSTS}},
    "mean": {"full": {"C": _COSTS}, "quick": {"C": _FEW_COSTS}},
    "lp": {"full": {"C": _COSTS}, "quick": {"C": _FEW_COSTS}},
    "convex": {"full": {"C": _COSTS}, "quick": {"C": _FEW_COSTS}},
    "localized": {"full": {"C": (1.0, 10.0)}, "quick": {"C": (1.0,)}},
    "projected": {"full": {"C": (1.0, 10.0)}, "quick": {"C": (1.0,)}},
    "stacking": {"full": {"C": (0.1, 1.0, 10.0)}, "quick": {"C": (1.0,)}},
    "linear": {"full": {"C": (0.001, 0.01, 0.1, 1.0, 10.0)}, "quick": {"C": (0.01, 0.1, 1.0)}},
    "forest": {"full": {}, "quick": {}},
    "boosting": {"full": {}, "quick": {}},
}

# Options of the combiners.
COMBINERS: dict[str, dict[str, dict[str, Any]]] = {
    "lp": {"full": {"p": 2.0}, "quick": {"p": 2.0}},
    "convex": {"full": {}, "quick": {}},
    "localized": {"full": {}, "quick": {"l2": 0.1, "max_iter": 30}},
    "projected": {"full": {"n_components": 5}, "quick": {"n_components": 5, "max_iter": 30}},
}

# Options of the other models.
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "stacking": {"full": {"machine_C": 10.0}, "quick": {"machine_C": 10.0}},
    "forest": {"full": {"n_trees": 300}, "quick": {"n_trees": 100}},
}

EPSILON = 0.1  # of a regression whose target has variance 1

# One hold-out, of `effort="quick"`, has this share of the samples (1 / QUICK_PARTS).
QUICK_PARTS = 4

# Views of more prepared features are reduced to leading principal components (singular directions of sparse ones).
WIDEST = {"localized": 1000, "projected": 200}
COMPONENTS = {"localized": 200, "projected": 100}

RARE_CATEGORY = 0.01  # share of the samples below which categories are pooled
MOST_WORDS = 20_000  # of a column of documents


def grid_of(method: str, effort: str) -> Mapping[str, Sequence[Any]]:
    """The parameters that a method tries.

    Parameters
    ----------
    method : str
        Such as "mean" or "alone:rna".
    effort : {"full", "quick"}
    """
    return GRIDS[method.partition(":")[0]][effort]


def combiner_options(method: str, effort: str) -> dict[str, Any]:
    """The fixed options of a method's combiner.

    Parameters
    ----------
    method : str
    effort : {"full", "quick"}
    """
    return dict(COMBINERS.get(method.partition(":")[0], {}).get(effort, {}))
