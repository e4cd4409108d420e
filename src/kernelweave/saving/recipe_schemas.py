"""What prediction reads of `CohortModel` and of the models that people would otherwise take.

The model inside a `CohortModel` is of any kind that `recipes` makes; what it reads is a table, which the layout makes
of X. Children of a node of a tree stand behind it, so that no forged tree has a way without an end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..estimators import MKLClassifier, MKLRegressor
from ..kernels.preparation import TableKind
from ..recipes import CohortModel
from ..recipes.baselines import ESTIMATORS, ColumnModel, StackedViews
from ..recipes.design import Design
from ..recipes.drift import GRID, CohortSummary, PairStructure
from ..recipes.kinds import CATEGORY, NUMBER, SIMILARITY, TEXT
from ..recipes.layout import TableLayout, ViewColumns
from ..recipes.search import Calibration
from ..recipes.trees import LinearScores, TreeSum
from ..validation.schemas import (
    COLUMNS,
    SCHEMAS,
    Schema,
    Sizes,
    agree,
    array,
    check_classes,
    check_whole,
    count,
    expect,
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

_MODELS = (MKLClassifier, MKLRegressor, StackedViews, ColumnModel)


def _task_rule(value: Any, sizes: Sizes, path: str) -> None:
    if (value.task_ == "classification") != ("classes_" in vars(value)):
        refuse(f"{path}.classes_", f"are not those of a {value.task_}")
    if value.task_ == "classification":
        check_classes(value, sizes, path)


_TASK = COLUMNS | Schema(
    {
        "task_": one_of("classification", "regression"),
        "classes_": optional(array("biufUSO", "classes")),
        "class_count_": optional(numbers("classes", low=0.0)),
    },
    _task_rule,
)


def _view_rule(value: ViewColumns, sizes: Sizes, path: str) -> None:
    """A similarity matrix is one column, a sparse view has numbers only, and no column is there twice."""
    if SIMILARITY in value.kinds and not value.is_matrix:
        refuse(f"{path}.kinds", "has ids beside columns")
    if value.is_sparse and set(value.kinds) != {NUMBER}:
        refuse(f"{path}.kinds", "has a sparse view that is not of numbers")
    if len(set(value.names)) < len(value.names) or len(set(value.positions.tolist())) < len(value.positions):
        refuse(path, "has a column twice")


SCHEMAS[ViewColumns] = Schema(
    {
        "name": text,
        "positions": positions("own", below="columns", filled=True),
        "names": several(text, "own"),
        "kinds": several(one_of(NUMBER, CATEGORY, TEXT, SIMILARITY), "own"),
        "is_sparse": flag,
        "means": maybe(numbers("own")),
    },
    _view_rule,
)


def _layout_rule(value: TableLayout, sizes: Sizes, path: str) -> None:
    names = [name for view in value.views for name in ([view.name] if view.is_sparse else view.names)]
    if not value.views or len(set(value.names)) < len(value.views) or len(set(names)) < len(names):
        refuse(f"{path}.views", "are not there, or one of them is there twice")


SCHEMAS[TableLayout] = Schema({"views": several(part(ViewColumns, "columns")), "joined": flag}, _layout_rule)

SCHEMAS[PairStructure] = Schema(
    {
        "first": positions("pairs", below="measures", filled=True),
        "second": positions("pairs", below="measures"),
        "sign": numbers("pairs"),
        "mean": number(),
        "scale": number(positive=True),
        "n_samples": count(1),
    }
)


def _summary_rule(value: CohortSummary, sizes: Sizes, path: str) -> None:
    if not set(value.categories) <= set(value.columns):
        refuse(f"{path}.categories", "are not among the columns")
    if len(value.shares) and value.shares.max() > 1.0:
        refuse(f"{path}.shares", "are above 1")


SCHEMAS[CohortSummary] = Schema(
    {
        "n_samples": count(1),
        "views": several(text, "views"),
        "shares": numbers("views", low=0.0),
        "columns": several(text, "columns"),
        "column_views": positions("columns", below="views"),
        "measures": several(text, "measures"),
        "measure_views": positions("measures", below="views"),
        "grid": numbers(GRID, "measures"),
        "moments": numbers(6, "measures"),
        "categories": several(text, "categories"),
        "values": several(several(text), "categories"),
        "singles": numbers("categories", low=0.0),
        "pairs": several(part(PairStructure, "measures")),
    },
    _summary_rule,
)

SCHEMAS[Calibration] = Schema({"slope": numbers(1, low=np.finfo(float).tiny), "intercept": numbers(1)})


def _table_names(view: ViewColumns) -> list[str]:
    return [f"{view.name}__{name}" for name in view.names] if view.is_sparse else view.names


def _cohort_rule(value: CohortModel, sizes: Sizes, path: str) -> None:
    """The model inside is of the task, knows no other classes, and reads the columns of the table."""
    inside = vars(value)
    classifies = inside["task_"] == "classification"
    if classifies == ("target_mean_" in inside and "target_scale_" in inside):
        refuse(f"{path}.task_", "is not that of the other attributes")
    if classifies:
        agree(sizes, "prior", len(value.classes_), f"{path}.classes_")
        if not (inside["_prior"] > 0).all():
            refuse(f"{path}._prior", "has classes without a sample")
    else:
        agree(sizes, "prior", 1, f"{path}._prior")
    if isinstance(value.model_, MKLClassifier | MKLRegressor):
        is_right = isinstance(value.model_, MKLClassifier if classifies else MKLRegressor)
    else:
        is_right = value.model_.task_ == value.task_
    if not is_right or (isinstance(value.model_, MKLRegressor) and value.model_.intercept_.shape != (1,)):
        refuse(f"{path}.model_", f"is none of a {value.task_}")
    if classifies and not set(value.model_.classes_.tolist()) <= set(value.classes_.tolist()):
        refuse(f"{path}.model_.classes_", "are not among the classes")
    layout, needs = inside["_layout"], inside["_needs"]
    if not needs or not set(needs) <= set(layout.names):
        refuse(f"{path}._needs", "are no views of the model")
    width = sum(len(view.names) for view in layout.views)
    expect(width, value.model_.n_features_in_, f"{path}.model_.n_features_in_", "table columns")
    expected = np.array([name for view in layout.views for name in _table_names(view)], dtype=object)
    names = vars(value.model_).get("feature_names_in_")
    if names is None or not np.array_equal(names, expected):
        refuse(f"{path}.model_.feature_names_in_", "are not the columns of the layout")


SCHEMAS[CohortModel] = _TASK | Schema(
    {
        "target_mean_": optional(number()),
        "target_scale_": optional(number(positive=True)),
        "_prior": numbers("prior", low=0.0),
        "_layout": part(TableLayout, "columns"),
        "_needs": several(text),
        "model_": part(_MODELS),
        "calibration_": maybe(part(Calibration)),
        "cohort_": optional(part(CohortSummary)),
    },
    _cohort_rule,
    transient=dict.fromkeys(("matrices", "kinds"), lambda: None),  # only a fit reads them
)


def _design_rule(value: Design, sizes: Sizes, path: str) -> None:
    agree(sizes, "columns", value.transformer.n_in, f"{path}.transformer")
    agree(sizes, "features", value.transformer.n_out, f"{path}.transformer")
    if value.transformer.takes_documents:
        refuse(f"{path}.transformer", "takes documents in the place of a table")


SCHEMAS[Design] = Schema(
    {
        "n_in": size("columns"),
        "kind": part(TableKind, own="columns"),
        "read": positions("read", below="columns"),
        "documents": positions("documents", below="columns"),
        "width": size("features"),
        "transformer": part("Operation"),
    },
    _design_rule,
)

SCHEMAS[LinearScores] = Schema({"coef": numbers("outputs", "features"), "intercept": numbers("outputs")})

_TREE_TYPES = {
    **dict.fromkeys(("roots", "first", "left", "right", "reads"), np.int32),
    **dict.fromkeys(("threshold", "values", "offset"), np.float64),
}


def _trees_rule(value: TreeSum, sizes: Sizes, path: str) -> None:
    """Children come after their parents, and nodes refer to features and values that exist."""
    for name, dtype in _TREE_TYPES.items():
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


SCHEMAS[TreeSum] = Schema(
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
        "importance": optional(maybe(numbers("features", low=0.0))),
    },
    _trees_rule,
)


def _n_outputs(value: Any) -> int:
    n_classes = len(value.classes_) if value.task_ == "classification" else 1
    return n_classes if n_classes > 2 else 1


def _column_model_rule(value: ColumnModel, sizes: Sizes, path: str) -> None:
    if isinstance(value.scores_, LinearScores) != (value.kind_ == "linear"):
        refuse(f"{path}.scores_", f"is a {type(value.scores_).__name__}, which the kind {value.kind_!r} never has")
    both = value.kind_ == "forest" and value.task_ == "classification"
    expected = len(value.classes_) if both else _n_outputs(value)
    expect(expected, value.scores_.n_outputs, f"{path}.scores_", "outputs")
    expect(value.design_.width, value.scores_.width, f"{path}.scores_", "features")
    if isinstance(value.scores_, TreeSum) and not value.scores_.factor > 0:
        refuse(f"{path}.scores_.factor", "is not positive")


SCHEMAS[ColumnModel] = _TASK | Schema(
    {
        "kind_": one_of(*ESTIMATORS),
        "design_": part(Design, "columns", "features"),
        "scores_": part((LinearScores, TreeSum), "features"),
    },
    _column_model_rule,
)


def _stacked_rule(value: StackedViews, sizes: Sizes, path: str) -> None:
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


SCHEMAS[StackedViews] = _TASK | Schema(
    {
        "views_": several(text, "views"),
        "machines_": several(maybe(part((MKLClassifier, MKLRegressor))), "views"),
        "means_": numbers("views", "values"),
        "coef_": numbers("outputs", "views", "values"),
        "intercept_": numbers("outputs"),
        "n_stored_": count(),
    },
    _stacked_rule,
)
