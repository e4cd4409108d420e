"""The methods by name: the views that each reads, the settings that it tries, and its unfitted model.

==================  ===========================================================================================
method              model
==================  ===========================================================================================
auto                the one of `PORTFOLIO` whose inner score is best, the first of equal ones
alone:VIEW          the mean of the kernels of one view
concatenation       the mean of the kernels over the columns of all views
mean                the mean of the kernels of all views (see `preparation`), and of similarity matrices
least-squares       the same kernel with the least-squares machine: kernel ridge regression, or its classifier
lp, convex          the same kernels with learned weights (`LpMKL`, `ConvexMKL`)
lp-least-squares    `LpMKL` with the least-squares machine
lp-scales           the same, with kernels of numbers that are centred but not scaled beside those of scaled ones
completed           "least-squares" where views that samples lack are completed from their others (``missing=``)
lp-completed        "lp-least-squares", in the same way
localized           the same kernels as of "mean" with weights that depend on the sample (`Localized`)
projected           a learned projection of each view (`Projected`)
stacking            a regression on the decision values of each view's own model
linear              logistic or ridge regression on all columns; of survival Cox regression with a ridge
coxnet              Cox regression with an elastic net on all columns, of scikit-survival
forest              random forest on all columns; of survival that of scikit-survival
boosting            gradient boosting on all columns
==================  ===========================================================================================

Every method has settings for each effort: the options of its model, which are fixed, and a grid of parameters, of
which inner validation chooses. Values stand in the order in which they win where scores are equal: the simplest first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from ..combiners import KernelMap, Mean
from ..combiners.named import NAMED, combiner_named
from ..estimators import MKLClassifier, MKLRegressor, MKLSurvival
from ..kernels import Gaussian, Kernel, Linear, Precomputed
from ..validation import shown
from .kinds import as_frame, column_kinds, given_kinds
from .layout import TableLayout, ViewColumns
from .preparation import (
    has_scales,
    has_unit_rows,
    joined_transformer,
    may_have_scales,
    reduced,
    unscaled_kernels,
    view_kernels,
    view_transformer,
)
from .tasks import CLASSES, NUMBERS, SURVIVAL, TASKS

_OTHER_COSTS: dict[str, dict[str, Sequence[float]]] = {
    "stacking": {"full": (0.1, 1.0), "quick": (1.0,)},  # of the regression on decision values
    "coxnet": {"full": (2.0, 4.0, 8.0, 16.0, 32.0, 64.0), "quick": (4.0, 16.0)},  # penalties, as shares of the largest
}

# Options of models beyond `combiners.named`, and those of quick efforts in their place.
_OPTIONS: dict[str, dict[str, Any]] = {
    "stacking": {"machine_C": 3.0},
    "forest": {"n_trees": 300},
    "boosting": {"learning_rate": 0.1},
}
_QUICK_OPTIONS: dict[str, dict[str, Any]] = {"localized": {"l2": 0.03}, "forest": {"n_trees": 100}}

EPSILON = 0.1  # of a regression whose target has variance 1

# One hold-out, of `effort="quick"`, has this share of the samples (1 / QUICK_PARTS).
QUICK_PARTS = 4

# Views of more prepared features are reduced to leading principal components (singular directions of sparse ones).
WIDEST = {"localized": 1000, "projected": 50}
COMPONENTS = {"localized": 200, "projected": 50}


def grid_of(method: str, effort: str, task: str, tries_weights: bool = False) -> Mapping[str, Sequence[Any]]:
    grid: dict[str, Sequence[Any]] = {"class_weight": (None, "balanced")} if tries_weights else {}
    if method in ("forest", "boosting"):
        return grid
    if method in _OTHER_COSTS:
        return grid | {"C": _OTHER_COSTS[method][effort]}
    aim = TASKS[task]
    grid["C"] = (aim.linear_costs if method == "linear" else aim.costs)[effort]
    if (method, effort) == ("localized", "full"):
        grid["combiner__l2"] = (0.1, 0.01)
    return grid


def model_options(method: str, effort: str) -> dict[str, Any]:
    return _OPTIONS.get(method, {}) | (_QUICK_OPTIONS.get(method, {}) if effort == "quick" else {})


ALONE = "alone:"
AUTO = "auto"
# A member that takes the setting of another one, which is found first: with three values of C of its own it was better
# by 0.1 points on one of 38 data sets, and on the others the same.
FOLLOWS = {"lp-scales": "lp-least-squares", "lp-completed": "completed"}
TRIAL_TREES = 40  # of a forest while it is a member; chosen, it has as many as by itself
_JOINED = ("concatenation", "linear", "coxnet", "forest", "boosting")
_COMPLETED = ("completed", "lp-completed")
NEEDLESS = ("lp-scales", *_COMPLETED)  # methods that cannot be had where they would be the same as others
_LEAST_SQUARES = ("least-squares", "lp-least-squares", "lp-scales", *_COMPLETED)
# Of other methods it is that of their own name or the mean.
_COMBINERS = {"lp-least-squares": "lp", "lp-scales": "lp", "lp-completed": "lp"}
_LABELS = {
    "concatenation": "concatenation",
    "mean": "mean of kernels",
    "least-squares": "mean, least squares",
    "lp": "lp MKL",
    "lp-least-squares": "lp MKL, least squares",
    "lp-scales": "lp MKL, two scales",
    "completed": "mean, views completed",
    "lp-completed": "lp MKL, views completed",
    "convex": "convex MKL",
    "localized": "localized MKL",
    "projected": "projected MKL",
    "stacking": "stacking",
    "linear": "",  # as the task calls it
    "coxnet": "Coxnet (elastic net)",
    "forest": "random forest",
    "boosting": "gradient boosting",
    AUTO: "automatic choice",
}
# Methods that people would otherwise take; a key that ends in a colon stands for those that begin with it.
SIMPLE = (ALONE, "concatenation", "linear", "coxnet", "forest", "boosting")
_MOST_DENSE = 50_000_000  # cells of sparse views that may become dense beside others


def method_names(task: str, views: Sequence[str], *, without: Collection[str] = ()) -> dict[str, str]:
    """The methods that `CohortModel` has for some views, in order, with what tables call them.

    Parameters
    ----------
    task : {"classification", "regression", "survival"}
    views : sequence of str
        Names of views, similarity matrices among them.
    without : collection of str
        Methods to leave out, such as the keys of `unavailable`.

    Returns
    -------
    dict from method to label

    Examples
    --------
    >>> from kernelweave.recipes import method_names
    >>> names = method_names("regression", ["rna", "protein"])
    >>> names["alone:rna"], names["linear"]
    ('rna alone', 'ridge regression')
    """
    labels = {f"{ALONE}{view}": f"{view} alone" for view in views} | {**_LABELS, **TASKS[task].labels}
    left_out = {*without, *TASKS[task].lacks}
    return {method: label for method, label in labels.items() if method not in left_out}


def joins_columns(method: str) -> bool:
    """Whether a method reads columns only, no similarity matrices."""
    return method in (*_JOINED, "projected")


def is_simple(method: str) -> bool:
    return any(method == key or (key.endswith(":") and method.startswith(key)) for key in SIMPLE)


def unavailable(task: str, X: Any, *, matrices: Mapping[str, Any] | None = None, kinds: Any = None) -> dict[str, str]:
    """The methods that cannot be had for a table, each with the reason in words.

    Parameters
    ----------
    task : {"classification", "regression", "survival"}
    X : DataFrame, array or sparse matrix
    matrices : mapping from name to similarity matrix, optional
    kinds : Series, optional
        As in `CohortModel`.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelweave.recipes import unavailable
    >>> X = pd.DataFrame({"lab__crp": [1.0, 7.5, 2.0], "lab__ldh": [240, 180, 310], "id__code": ["u1", "u2", "u3"]})
    >>> unavailable("classification", X)["alone:id"]
    "no column of the view 'id' can be used"
    """
    X = as_frame(X)
    found = column_kinds(X, matrices=() if matrices is None else tuple(matrices))
    found = found if kinds is None else given_kinds(found, kinds)
    layout = TableLayout.of(X, found)
    left_out = [view for view in dict.fromkeys(found["view"]) if view not in layout.names]
    present = layout.table(X)[1]
    reasons = {f"{ALONE}{view}": f"no column of the view {view!r} can be used" for view in left_out}
    for method in method_names(task, layout.names):
        reason = reason_against(method, layout, len(X), task) or _needless(method, layout, present)
        if reason:
            reasons[method] = reason
    return reasons


def portfolio(
    layout: TableLayout, table: pd.DataFrame, present: np.ndarray, approximation: Any, task: str = CLASSES
) -> list[str]:
    """The members of the portfolio of a task that differ for some data.

    Numbers on two scales are of use where they have scales, views are completed where some are missing and kernels are
    exact, and a forest reads columns in memory, best those that are not sparse.
    """
    left_out = [] if any(has_scales(view, table) for view in layout.views) else ["lp-scales"]
    left_out += _COMPLETED if present.all() or approximation is not None else ()
    if approximation is not None or any(view.is_matrix or has_unit_rows(view, table) for view in layout.views):
        left_out.append("forest")
    return [method for method in TASKS[task].portfolio if method not in left_out]


def _needless(method: str, layout: TableLayout, present: np.ndarray) -> str | None:
    if method in _COMPLETED and present.all():
        return "no sample lacks a view"
    if method == "lp-scales" and not any(may_have_scales(view) for view in layout.views):
        return "no view has several columns of numbers, and so no scales"
    return None


def reason_against(method: str, layout: TableLayout, n_samples: int, task: str) -> str | None:
    if not layout.views:
        return "no column can be used"
    if method in TASKS[task].lacks:
        return TASKS[task].lacks[method]
    if task == SURVIVAL and method in ("forest", "coxnet") and find_spec("sksurv") is None:
        return "it needs scikit-survival, which is not installed (pip install kernelweave[survival])"
    columns = [view for view in layout.views if not view.is_matrix]
    if joins_columns(method) and not columns:
        return "it needs columns, and there are only similarity matrices"
    if method in _JOINED and any(view.is_sparse for view in columns) and not all(view.is_sparse for view in columns):
        cells = n_samples * sum(len(view.names) for view in columns if view.is_sparse)
        if cells > _MOST_DENSE:
            return f"sparse views beside others become dense, and these have {cells:.1e} cells"
    return None


def method_layout(method: str, layout: TableLayout, task: str = CLASSES) -> TableLayout:
    known = method_names(task, layout.names)
    if not isinstance(method, str) or method not in {*known, *TASKS[task].lacks}:
        there = ", ".join(known)
        raise ValueError(f"there is no method {shown(method)} for these data; the methods are {there}")
    if method.startswith(ALONE):
        return layout.only([method.removeprefix(ALONE)])
    if joins_columns(method):
        names = [view.name for view in layout.views if not view.is_matrix]
        return layout.only(names, joined=method in _JOINED)
    return layout


@dataclass
class ModelMaker:
    method: str
    task: str
    effort: str
    layout: TableLayout  # of the views that the method reads
    matrices: Mapping[str, Precomputed]
    needs: list[str]  # views of which each sample has one, see `needed_views`
    options: dict[str, Any]  # parameters of the model: n_jobs, random_state
    approximation: Any = None  # as that of `MKLClassifier`: None for exact kernels
    class_weight: Any = None
    notes: list[str] = field(default_factory=list)  # what was decided for the last model, in words

    def model(self, table: pd.DataFrame, present: np.ndarray) -> Any:
        self.notes.clear()
        model = self._model(table, present)
        return model if self.class_weight is None else model.set_params(class_weight=self.class_weight)

    def _model(self, table: pd.DataFrame, present: np.ndarray) -> Any:
        if self.method == "stacking":
            return self._stacking(table, present)
        if self.method == "linear" and self.task == SURVIVAL:
            # By the trace, not sample by sample: a ridge on the columns as they are prepared.
            return self._machine(self._joined_kernels(table)[:1], Mean()).set_params(normalize="unit-trace")
        if self.method in ("linear", "coxnet", "forest", "boosting"):
            return self._column_model(table)
        if self.method == "concatenation":
            return self._machine(self._joined_kernels(table), Mean())
        kernels = self._kernels(self._there(present), table)
        return self._machine(kernels, self._combiner(present))

    def decidable(self, training: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Which samples a model that is fitted to training samples can decide on."""
        read = {view.name for view in (self.layout.views if self.layout.joined else self._there(training))}
        places = [place for place, name in enumerate(self.layout.names) if name in self.needs and name in read]
        return np.asarray(present[:, places].any(axis=1))

    def _there(self, present: np.ndarray) -> list[ViewColumns]:
        """The views that at least two of the samples have."""
        return [view for view, count in zip(self.layout.views, present.sum(axis=0), strict=True) if count > 1]

    def _combiner(self, present: np.ndarray) -> Any:
        name = _COMBINERS.get(self.method, self.method)
        if name not in NAMED:
            return Mean()
        combiner = combiner_named(name).set_params(**model_options(self.method, self.effort))
        return combiner.set_params(inputs=self._gating_inputs(present)) if self.method == "localized" else combiner

    def _gating_inputs(self, present: np.ndarray) -> Any:
        """The views with columns or, without any, the values of the similarity matrix that most samples have."""
        there = self._there(present)
        columns = [view.name for view in there if not view.is_matrix]
        if columns:
            return None if len(columns) == len(there) else columns
        return KernelMap(self.matrices[self.needs[0]])

    def _kernels(self, views: Sequence[ViewColumns], table: pd.DataFrame) -> list[tuple[str, Kernel]]:
        found: list[tuple[str, Kernel]] = []
        for view in views:
            if view.is_matrix:
                found.append((view.name, self.matrices[view.name]))
                continue
            transformer = self._transformer(view, table)
            kernels = view_kernels(view, table, transformer)
            found += kernels[:1] if self.method == "projected" else kernels
            if self.method == "lp-scales" and has_scales(view, table):
                found += unscaled_kernels(view, table)
        return found

    def _transformer(self, view: ViewColumns, table: pd.DataFrame) -> Any:
        transformer = view_transformer(view, table)
        if self.method not in WIDEST:
            return transformer
        limits = {"widest": WIDEST[self.method], "components": COMPONENTS[self.method]}
        lean = reduced(transformer, view, table, **limits)
        if lean is not transformer:
            number = lean.steps[-1][1].n_components
            self.notes.append(f"The view {view.name!r} is reduced to its {number} leading components for this method.")
        return lean

    def _joined_kernels(self, table: pd.DataFrame) -> list[tuple[str, Kernel]]:
        transformer = joined_transformer(self.layout, table)
        linear: list[tuple[str, Kernel]] = [("linear", Linear(transformer=transformer))]
        if all(has_unit_rows(view, table) for view in self.layout.views):
            return linear
        return [*linear, ("gaussian", Gaussian(transformer=transformer))]

    def _machine(self, kernels: list[tuple[str, Kernel]], combiner: Any) -> Any:
        if not kernels:
            raise ValueError(f"the method {self.method!r} finds no view that at least two training samples have")
        options = {**self.options, "approximation": self.approximation}
        if self.method in _LEAST_SQUARES:
            options["machine"] = "least-squares"
        if self.method in _COMPLETED:
            options["missing"] = "complete"
        if self.task != NUMBERS:
            return (MKLSurvival if self.task == SURVIVAL else MKLClassifier)(kernels, combiner, **options)
        return MKLRegressor(kernels, combiner, epsilon=EPSILON, **options)

    def _stacking(self, table: pd.DataFrame, present: np.ndarray) -> Any:
        from .baselines import StackedViews

        options = model_options(self.method, self.effort)
        cost = options.pop("machine_C")
        machines = []
        for view in self._there(present):
            machine = self._machine(self._kernels([view], table), Mean()).set_params(C=cost)
            machines.append((view.name, machine))
        return StackedViews(machines, random_state=self.options["random_state"], **options)

    def _column_model(self, table: pd.DataFrame) -> Any:
        from .baselines import ColumnModel

        transformer = joined_transformer(self.layout, table)
        options = self.options | model_options(self.method, self.effort)
        return ColumnModel(self.method, transformer, task=self.task, **options)


def needed_views(method: str, layout: TableLayout, present: np.ndarray) -> list[str]:
    """The views of which a sample must have one: those that the method reads or, of gates, those that gates read."""
    if method != "localized":
        return layout.names
    columns = [view.name for view in layout.views if not view.is_matrix]
    return columns or [layout.views[int(present.sum(axis=0).argmax())].name]
