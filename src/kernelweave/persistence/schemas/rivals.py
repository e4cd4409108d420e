"""What prediction reads of the models in `recipes.baselines`, in the words of `language`.

Children of a node stand behind it, so that no forged tree has a way without an end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...estimators import MKLClassifier, MKLRegressor
from ...recipes.baselines import ESTIMATORS, ColumnModel, StackedViews
from ...recipes.design import Design
from ...recipes.trees import LinearScores, TreeSum
from ...views.handed import TableKind
from ..bounds import check_whole
from . import rules
from .language import (
    Schema,
    Sizes,
    agree,
    array,
    count,
    flag,
    flags,
    maybe,
    number,
    numbers,
    one_of,
    optional,
    part,
    positions,
    refuse,
    several,
    size,
    text,
)
from .operations import operation

_TASKS = ("classification", "regression")
_ARRAYS = {
    **dict.fromkeys(("roots", "first", "left", "right", "reads"), np.int32),
    **dict.fromkeys(("threshold", "values", "offset"), np.float64),
}


def _design_rule(value: Design, sizes: Sizes, path: str) -> None:
    """The operation takes all columns, as a table, and makes as many features as there are."""
    agree(sizes, "columns", value.transformer.n_in, f"{path}.transformer")
    agree(sizes, "features", value.transformer.n_out, f"{path}.transformer")
    if value.transformer.takes_documents:
        refuse(f"{path}.transformer", "takes documents in the place of a table")


def _trees_rule(value: TreeSum, sizes: Sizes, path: str) -> None:
    """Ways from node to node lead onwards, to features and values that are there."""
    for name, dtype in _ARRAYS.items():
        if getattr(value, name).dtype != dtype:
            refuse(f"{path}.{name}", f"is an array of {getattr(value, name).dtype}, which it never is")
    is_leaf = value.left < 0
    if not np.array_equal(is_leaf, value.right < 0):
        refuse(f"{path}.right", "is no leaf where the other child is one")
    inner = np.flatnonzero(~is_leaf)
    for name in ("left", "right"):
        if (getattr(value, name)[inner] <= inner).any():
            refuse(f"{path}.{name}", "holds children that do not stand behind their node")
    check_whole(value.reads[inner], f"{path}.reads", below=int(value.width), of="features")
    check_whole(value.reads[is_leaf], f"{path}.reads", below=len(value.values), of="leaves")
    n_firsts = len(value.offset) - value.values.shape[1] + 1  # outputs with as many behind them as leaves have values
    check_whole(value.first, f"{path}.first", below=n_firsts, of="outputs")


def _task_rule(value: Any, sizes: Sizes, path: str) -> None:
    """A classification has classes, and a regression has none."""
    if (value.task_ == "classification") != ("classes_" in vars(value)):
        refuse(f"{path}.classes_", f"are not those of a {value.task_}")
    if value.task_ == "classification":
        rules.classes_rule(value, sizes, path)


def _n_outputs(value: Any) -> int:
    """How many columns decision values have."""
    n_classes = len(value.classes_) if value.task_ == "classification" else 1
    return n_classes if n_classes > 2 else 1


def _column_model_rule(value: ColumnModel, sizes: Sizes, path: str) -> None:
    """The scores are those of the kind of model, with an output for each class or target."""
    if isinstance(value.scores_, LinearScores) != (value.kind_ == "linear"):
        refuse(f"{path}.scores_", f"is a {type(value.scores_).__name__}, which the kind {value.kind_!r} never has")
    both = value.kind_ == "forest" and value.task_ == "classification"
    expected = len(value.classes_) if both else _n_outputs(value)
    agree({"outputs": expected}, "outputs", value.scores_.n_outputs, f"{path}.scores_")
    agree({"features": value.design_.width}, "features", value.scores_.width, f"{path}.scores_")
    if isinstance(value.scores_, TreeSum) and not value.scores_.factor > 0:
        refuse(f"{path}.scores_.factor", "is not positive")


def _stacked_rule(value: StackedViews, sizes: Sizes, path: str) -> None:
    """Machines are of the task, and know classes that are there; views have columns."""
    n_values = _n_outputs(value)
    agree(sizes, "outputs", n_values, f"{path}.intercept_")
    agree(sizes, "values", n_values, f"{path}.means_")
    kind = MKLClassifier if value.task_ == "classification" else MKLRegressor
    for place, machine in enumerate(value.machines_):
        where = f"{path}.machines_[{place}]"
        if machine is None:
            continue
        if type(machine) is not kind:
            refuse(where, f"is a {type(machine).__name__}, which a {value.task_} never has")
        if kind is MKLClassifier:
            known = positions("known", below="classes")
            known(machine.classes_, {"classes": len(value.classes_)}, f"{where}.classes_")
        elif machine.intercept_.shape != (1,):
            refuse(where, "has several targets")
    names = vars(value).get("feature_names_in_", ())
    for view in value.views_:
        if not any(name == view or name.startswith(f"{view}__") for name in names):
            refuse(f"{path}.views_", f"has the view {view!r}, of which there is no column")


_COLUMNS = Schema(
    {"n_features_in_": size("columns"), "feature_names_in_": optional(array("O", "columns"))},
    rules.feature_names_rule,
)
_TASK = Schema(
    {
        "task_": one_of(*_TASKS),
        "classes_": optional(array("biufUSO", "classes")),
        "class_count_": optional(numbers("classes", low=0.0)),
    },
    _task_rule,
)

RIVAL_SCHEMAS: dict[type, Schema] = {
    Design: Schema(
        {
            "n_in": size("columns"),
            "kind": part(TableKind, own="columns"),
            "read": positions("read", below="columns"),
            "documents": positions("documents", below="columns"),
            "width": size("features"),
            "transformer": operation,
        },
        _design_rule,
    ),
    LinearScores: Schema({"coef": numbers("outputs", "features"), "intercept": numbers("outputs")}),
    TreeSum: Schema(
        {
            "width": size("features"),
            "left": positions("nodes", low=-1, below="nodes"),
            "right": positions("nodes", low=-1, below="nodes"),
            "reads": positions("nodes"),
            "threshold": numbers("nodes", inf=True),
            "missing_left": flags("nodes"),
            "values": numbers("leaves", "values"),
            "roots": positions("trees", below="nodes"),
            "first": positions("trees"),
            "offset": numbers("outputs"),
            "factor": number(),
            "single": flag,
        },
        _trees_rule,
    ),
    ColumnModel: _COLUMNS
    | _TASK
    | Schema(
        {
            "kind_": one_of(*ESTIMATORS),
            "design_": part(Design, "columns", "features"),
            "scores_": part((LinearScores, TreeSum), "features"),
        },
        _column_model_rule,
    ),
    StackedViews: _COLUMNS
    | _TASK
    | Schema(
        {
            "views_": several(text, "views"),
            "machines_": several(maybe(part((MKLClassifier, MKLRegressor))), "views"),
            "means_": numbers("views", "values"),
            "coef_": numbers("outputs", "views", "values"),
            "intercept_": numbers("outputs"),
            "n_stored_": count(),
        },
        _stacked_rule,
    ),
}
