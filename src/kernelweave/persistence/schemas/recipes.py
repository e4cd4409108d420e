"""What prediction reads of a `CohortModel`, in the words of `language`.

The model inside is of any kind that `recipes` makes; what it reads is a table, which the layout makes of X.
"""

from __future__ import annotations

import numpy as np

from ...estimators import MKLClassifier, MKLRegressor
from ...recipes import CohortModel
from ...recipes.baselines import ColumnModel, StackedViews
from ...recipes.drift import GRID, CohortSummary, PairStructure
from ...recipes.kinds import CATEGORY, NUMBER, SIMILARITY, TEXT
from ...recipes.layout import TableLayout, ViewColumns
from ...recipes.search import Calibration
from . import rules
from .language import (
    Schema,
    Sizes,
    agree,
    array,
    count,
    flag,
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


def _view_rule(value: ViewColumns, sizes: Sizes, path: str) -> None:
    """A similarity matrix is one column, a sparse view has numbers only, and no column is there twice."""
    if SIMILARITY in value.kinds and not value.is_matrix:
        refuse(f"{path}.kinds", "has ids beside columns")
    if value.is_sparse and set(value.kinds) != {NUMBER}:
        refuse(f"{path}.kinds", "has a sparse view that is not of numbers")
    if len(set(value.names)) < len(value.names) or len(set(value.positions.tolist())) < len(value.positions):
        refuse(path, "has a column twice")


def _layout_rule(value: TableLayout, sizes: Sizes, path: str) -> None:
    """Each view, and each column of the table, is there once."""
    names = [name for view in value.views for name in ([view.name] if view.is_sparse else view.names)]
    if not value.views or len(set(value.names)) < len(value.views) or len(set(names)) < len(names):
        refuse(f"{path}.views", "are not there, or one of them is there twice")


def _summary_rule(value: CohortSummary, sizes: Sizes, path: str) -> None:
    """Columns of categories are columns, and shares are at most 1."""
    if not set(value.categories) <= set(value.columns):
        refuse(f"{path}.categories", "are not among the columns")
    if len(value.shares) and value.shares.max() > 1.0:
        refuse(f"{path}.shares", "are above 1")


def _cohort_rule(value: CohortModel, sizes: Sizes, path: str) -> None:
    """The model inside is of the task, knows no other classes, and reads the columns of the table."""
    inside = vars(value)
    classifies = inside["task_"] == "classification"
    if classifies != ("classes_" in inside) or classifies == ("target_mean_" in inside and "target_scale_" in inside):
        refuse(f"{path}.task_", "is not that of the other attributes")
    if classifies:
        rules.classes_rule(value, sizes, path)
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
    agree({"table columns": width}, "table columns", value.model_.n_features_in_, f"{path}.model_.n_features_in_")
    expected = np.array([name for view in layout.views for name in _table_names(view)], dtype=object)
    names = vars(value.model_).get("feature_names_in_")
    if names is None or not np.array_equal(names, expected):
        refuse(f"{path}.model_.feature_names_in_", "are not the columns of the layout")


def _table_names(view: ViewColumns) -> list[str]:
    return [f"{view.name}__{name}" for name in view.names] if view.is_sparse else view.names


RECIPE_SCHEMAS: dict[type, Schema] = {
    ViewColumns: Schema(
        {
            "name": text,
            "positions": positions("own", below="columns", filled=True),
            "names": several(text, "own"),
            "kinds": several(one_of(NUMBER, CATEGORY, TEXT, SIMILARITY), "own"),
            "is_sparse": flag,
            "means": maybe(numbers("own")),
        },
        _view_rule,
    ),
    TableLayout: Schema({"views": several(part(ViewColumns, "columns")), "joined": flag}, _layout_rule),
    PairStructure: Schema(
        {
            "first": positions("pairs", below="measures", filled=True),
            "second": positions("pairs", below="measures"),
            "sign": numbers("pairs"),
            "mean": number(),
            "scale": number(positive=True),
            "n_samples": count(1),
        }
    ),
    CohortSummary: Schema(
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
    ),
    Calibration: Schema({"slope": numbers(1, low=np.finfo(float).tiny), "intercept": numbers(1)}),
    CohortModel: Schema(
        {
            "n_features_in_": size("columns"),
            "feature_names_in_": optional(array("O", "columns")),
            "task_": one_of("classification", "regression"),
            "classes_": optional(array("biufUSO", "classes")),
            "target_mean_": optional(number()),
            "target_scale_": optional(number(positive=True)),
            "_prior": numbers("prior", low=0.0),
            "_layout": part(TableLayout, "columns"),
            "_needs": several(text),
            "model_": part(_MODELS),
            "calibration_": maybe(part(Calibration)),
            "cohort_": optional(part(CohortSummary)),
        },
        rules.feature_names_rule,
    )
    | Schema(rule=_cohort_rule),
}
