"""What a saved model reads of new samples, and what it predicts, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...estimators import MKLClassifier, MKLOneClass, MKLRegressor
from ...estimators.fitted import presence_of
from ...recipes import CohortModel
from ...recipes.kinds import LEFT_OUT, NUMBER, SIMILARITY, column_views

PREDICTS = (CohortModel, MKLClassifier, MKLRegressor, MKLOneClass)


@dataclass(frozen=True)
class ModelColumns:
    """The columns of a fitted model.

    Attributes
    ----------
    views : dict from view to list of str
        The columns that the training samples had in files, without the view's name.
    matrices : list of str
        Views that are similarity matrices.
    read : list of str
        The views that the model reads, matrices included.
    columns : list of str
        The columns that the model reads, named as in X, without those of ids in matrices.
    types : dict from column to "number" or "text", or None
        What these columns hold; None where the model does not have it.
    """

    views: dict[str, list[str]]
    matrices: list[str]
    read: list[str]
    columns: list[str]
    types: dict[str, str] | None


def columns_of(model: Any) -> ModelColumns:
    """The columns of a model that was fitted to a data frame.

    Parameters
    ----------
    model : CohortModel, MKLClassifier, MKLRegressor or MKLOneClass
    """
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if not names:
        raise ValueError(
            f"the {type(model).__name__} was fitted to columns without names; fit it to a data frame, such as "
            "read_views returns"
        )
    if isinstance(model, CohortModel):
        kinds = dict(zip(map(str, model.kinds_.index), model.kinds_["kind"], strict=True))
        own = dict(zip(map(str, model.kinds_.index), model.kinds_["view"], strict=True))
        matrices = [name for name in names if kinds.get(name) == SIMILARITY]
        # The columns of a sparse view have no rows of their own among the kinds.
        views = [own.get(name, name.partition("__")[0]) for name in names]
        used = [
            (name, kinds.get(name, NUMBER))
            for name, view in zip(names, views, strict=True)
            if view in model.views and kinds.get(name) not in (LEFT_OUT, SIMILARITY)
        ]
        types = {name: "number" if kind == NUMBER else "text" for name, kind in used}
        return ModelColumns(_grouped(names, views, matrices), matrices, model.views, list(types), types)
    matrices = [kernel.view for kernel in getattr(model, "kernels_", []) if kernel.reads_ids]
    grouped = _grouped(names, column_views(pd.DataFrame(columns=names)), matrices)
    columns = [name for name in names if name not in matrices]
    return ModelColumns(grouped, matrices, [*grouped, *matrices], columns, None)


def _grouped(names: list[str], views: list[str], matrices: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, view in zip(names, views, strict=True):
        if name not in matrices:
            found.setdefault(view, []).append(name.removeprefix(f"{view}__"))
    return found


def has_classes(model: Any) -> bool:
    """Whether a model predicts labels."""
    return model.task_ == "classification" if isinstance(model, CohortModel) else not isinstance(model, MKLRegressor)


def decided(model: Any, X: pd.DataFrame) -> np.ndarray:
    """Which samples have a view that the model needs.

    Parameters
    ----------
    model : CohortModel, MKLClassifier, MKLRegressor or MKLOneClass
    X : DataFrame
    """
    able = X.notna().to_numpy().any(axis=1)
    if not able.any():
        return able
    if isinstance(model, CohortModel):
        return able & model.has_needed_views(X)
    able[able] = presence_of(model, X[able]).any(axis=1)
    return able


def predictions(model: Any, X: pd.DataFrame) -> pd.DataFrame:
    """Labels, decision values and probabilities of samples, or predicted numbers.

    Parameters
    ----------
    model : CohortModel, MKLClassifier, MKLRegressor or MKLOneClass
    X : DataFrame
        The samples, with their ids as index.

    Returns
    -------
    DataFrame
        With the index of X; empty for samples that have no view that the model needs.
    """
    able = decided(model, X)
    known = X[able]
    parts = _labelled(model, known) if has_classes(model) else _numbers(model, known)
    table = pd.DataFrame(parts, index=known.index)
    return table if able.all() else table.reindex(X.index)


def _numbers(model: Any, X: pd.DataFrame) -> dict[str, Any]:
    predicted = np.asarray(model.predict(X)) if len(X) else np.zeros(0)
    if predicted.ndim == 1:
        return {"prediction": predicted}
    return {f"prediction_{place}": column for place, column in enumerate(predicted.T)}


def _labelled(model: Any, X: pd.DataFrame) -> dict[str, Any]:
    classes = getattr(model, "classes_", np.zeros(0)).tolist()
    several = len(classes) > 2
    width = len(classes) if several else 1
    labels = model.predict(X).tolist() if len(X) else []
    values = np.reshape(model.decision_function(X), (len(X), -1)) if len(X) else np.zeros((0, width))
    names = [f"decision_{label}" for label in classes] if several and values.shape[1] == len(classes) else None
    if names is None:
        names = ["decision"] if values.shape[1] == 1 else [f"decision_{place}" for place in range(values.shape[1])]
    table: dict[str, Any] = {"label": np.array([*labels, None], dtype=object)[:-1]}
    table |= dict(zip(names, values.T, strict=True))
    if isinstance(model, CohortModel) and model.calibration_ is not None:
        shares = model.predict_proba(X) if len(X) else np.zeros((0, len(classes)))
        table |= {f"probability_{label}": column for label, column in zip(classes, shares.T, strict=True)}
    return table
