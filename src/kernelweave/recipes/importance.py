"""What counts in a fitted `CohortModel`: features, whatever its method, and what parts of numbers are measured from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..estimators.explanations import weights_in_typical_samples
from ..views import Views
from .baselines import ColumnModel
from .design import views_and_features
from .kinds import TEXT
from .trees import LinearScores

MOST_AVERAGED = 1000  # training samples over which parts of predictions are averaged


def feature_importance(model: Any) -> pd.DataFrame | None:
    inner = model.model_
    found = [_of_column_model(inner)] if isinstance(inner, ColumnModel) else _of_linear_kernels(model)
    parts = [part for part in found if part is not None]
    if not parts:
        return None
    table = pd.concat(parts, ignore_index=True)
    if model.task_ == "regression" and "weight" in table:  # of the standardised target
        table[["importance", "weight"]] *= model.target_scale_
    return table.iloc[np.argsort(-table["importance"].to_numpy(), kind="stable")].reset_index(drop=True)


def part_terms(model: Any) -> list[str]:
    """What the parts of a `CohortModel` are of: kernels, or views."""
    if _is_one_linear_kernel(model):
        return model.views
    return list(model.model_.kernel_names_ if hasattr(model.model_, "kernel_names_") else model.model_.views)


def inner_parts(model: Any, table: pd.DataFrame) -> np.ndarray:
    """The parts of the values of `model_`, of shape (n_samples, n_outputs, n_terms + 1), the last of the intercept.

    Of one linear kernel over all columns, which is not cut to length, the part of a view is that of its features,
    ``sum_j w_j x_j``.
    """
    inner, terms = model.model_, part_terms(model)
    if not _is_one_linear_kernel(model):
        found = inner.contributions(table)
        return found.to_numpy().reshape(len(found), -1, len(terms) + 1)
    kernel, weights = inner.kernels_[0], inner.feature_weights(inner.kernel_names_[0])
    views = np.array([view for view, _ in _pairs(model, kernel, list(weights.index))], dtype=object)
    features = kernel.read(Views(table))[0]
    columns = [features @ np.where(views == view, weights.to_numpy(), 0.0) for view in terms]
    parts = np.column_stack([*columns, np.zeros(len(table))])
    parts[:, -1] = inner.predict(table) - parts.sum(axis=1)  # of a model without intercept what is rounded
    return parts[:, None, :]


def _is_one_linear_kernel(model: Any) -> bool:
    return model.method_ == "linear" and hasattr(model.model_, "kernels_")


def _table(pairs: list[tuple[str, str]], weights: np.ndarray) -> pd.DataFrame:
    """Weights of shape (n_features, n_outputs)."""
    table = pd.DataFrame(pairs, columns=["view", "feature"]).assign(importance=np.abs(weights).mean(axis=1))
    return table.assign(weight=weights[:, 0]) if weights.shape[1] == 1 else table


def _of_column_model(inner: ColumnModel) -> pd.DataFrame | None:
    index, origin = inner.design_.origin(getattr(inner, "feature_names_in_", None))
    pairs = index.to_list()
    if isinstance(inner.scores_, LinearScores):
        return _table(pairs, origin.carried(inner.scores_.coef.T))
    if inner.scores_.importance is None:
        return None
    return _table(pairs, origin.shared(inner.scores_.importance)[:, None])[["view", "feature", "importance"]]


def _of_linear_kernels(model: Any) -> list[pd.DataFrame]:
    inner = model.model_
    scaled: dict[tuple, Any] = {}
    parts: dict[tuple, np.ndarray] = {}
    for m, kernel in enumerate(getattr(inner, "kernels_", [])):
        found = weights_in_typical_samples(inner, m) if kernel.is_linear else None
        if found is None:
            continue
        names, weights = found
        pairs = _pairs(model, kernel, names)
        if tuple(pairs) in parts:  # the same numbers unscaled, whose weights are brought to standard deviations
            parts[tuple(pairs)] += weights * _deviations(scaled[tuple(pairs)], len(pairs))[:, None]
        else:
            scaled[tuple(pairs)], parts[tuple(pairs)] = kernel, weights
    return [_table(list(pairs), weights) for pairs, weights in parts.items()]


def _deviations(kernel: Any, width: int) -> np.ndarray:
    """By what the transformer of a kernel divides each column."""
    ends = kernel.transformer_.transform(np.array([np.zeros(width), np.ones(width)]))
    return 1.0 / (ends[1] - ends[0])


def _pairs(model: Any, kernel: Any, names: list[Any]) -> list[tuple[str, str]]:
    """Views and features of a kernel of one view, or of all columns together."""
    layout, own = model._layout, kernel.view if isinstance(kernel.view, str) else None
    views = [view for view in layout.views if own in (None, view.name)]
    columns = [(view, name, kind) for view in views for name, kind in zip(view.names, view.kinds, strict=True)]
    called = [name if own is None else name.removeprefix(f"{own}__") for _, name, _ in columns]
    texts = [name for name, (_, _, kind) in zip(called, columns, strict=True) if kind == TEXT]
    documents = {f"text{number}__": name for number, name in enumerate(texts)} if len(columns) > 1 else {}
    return views_and_features([str(name) for name in names], called, documents, own)


def mean_parts(model: Any, parts: pd.DataFrame) -> np.ndarray:
    """What parts of predicted numbers are measured from, a number for each column; see `measured_from`."""
    stored = getattr(model, "mean_contributions_", None)
    if stored is not None:
        return stored
    return parts.mean().to_numpy() if len(parts) > 1 else np.zeros(parts.shape[1])


def measured_from(model: Any, n_samples: int) -> str:
    """What `mean_parts` is, in words: a `CohortModel` has means over its training samples since version 0.3."""
    if getattr(model, "mean_contributions_", None) is not None:
        return "their means over the training samples"
    return "their means over these samples" if n_samples > 1 else "0"
