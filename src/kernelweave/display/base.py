"""Helpers of displays: fitted models inside pipelines and searches, colours, markers and axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._extras import pyplot

DARK = "#1f1f1f"
# Okabe and Ito's palette, which colour-blind readers can distinguish, and three more that stay clear of it.
_COLOURS = [
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B8A900"),
    *("#7A1F5C", "#8C8C8C", "#1f1f1f"),
]
_MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
_MOST_CLASSES = 20


def locate(estimator: Any, attribute: str) -> tuple[Any, Callable[[Any], Any]]:
    """The model with an attribute inside searches and pipelines, and a function that makes its input of theirs."""
    found = _locate(estimator, attribute)
    if found is None:
        if hasattr(estimator, "fit"):
            check_is_fitted(estimator)
        raise ValueError(f"{type(estimator).__name__} has no {attribute}, and no model inside it has one")
    return found


def offers(estimator: Any, attribute: str) -> bool:
    return _locate(estimator, attribute) is not None


def locate_projected(estimator: Any) -> tuple[Any, Callable[[Any], Any]]:
    if not offers(estimator, "project"):
        raise ValueError(
            f"{type(estimator).__name__} has no projections; fit a model with the combiner Projected (and with "
            'weights="shared", where there are several classes or targets)'
        )
    model, prepare = locate(estimator, "project")
    check_is_fitted(model)
    return model, prepare


def _locate(estimator: Any, attribute: str) -> tuple[Any, Callable[[Any], Any]] | None:
    if hasattr(estimator, "best_estimator_"):
        return _locate(estimator.best_estimator_, attribute)
    if isinstance(estimator, Pipeline):
        for place in reversed(range(len(estimator))):
            found = _locate(estimator[place], attribute)
            if found is not None and place:
                return found[0], _after(estimator[:place].transform, found[1])
            if found is not None:
                return found
        return None
    return (estimator, lambda X: X) if hasattr(estimator, attribute) else None


def _after(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda X: second(first(X))


def weights_of(estimator: Any, X: Any, output: Any = None) -> pd.DataFrame:
    model, prepare = locate(estimator, "kernel_weights")
    weights = model.kernel_weights(prepare(X))
    several = isinstance(weights.columns, pd.MultiIndex)
    outputs = list(weights.columns.unique(0)) if several else []
    if several and output not in outputs:
        raise ValueError(
            f"output must be one of {outputs}, each of which has kernel weights of its own, not {output!r}"
        )
    if not several and output is not None:
        raise ValueError(f"output must be None: the model has one set of kernel weights, not one for {output!r}")
    return weights[output] if several else weights


def chosen_target(estimator: Any, y: Any, target: Any) -> tuple[int, Any] | None:
    """Position and name of the target to draw; None where the model was fitted to y of one dimension."""
    names = list(getattr(y, "columns", range(np.shape(y)[1]))) if np.ndim(y) == 2 else None
    if offers(estimator, "target_names_"):
        names = locate(estimator, "target_names_")[0].target_names_
    if names is None:
        if target is not None:
            raise ValueError(f"target must be None where there is one target, not {target!r}")
        return None
    chosen = names[0] if target is None and len(names) == 1 else target
    if chosen is None or chosen not in names:
        raise ValueError(f"target must be one of {names}, since one target is drawn, not {target!r}")
    return names.index(chosen), chosen


def like(X: Any, values: np.ndarray) -> Any:
    return pd.DataFrame(values, columns=X.columns) if isinstance(X, pd.DataFrame) else values


def check_samples(X: Any, y: Any, name: str = "") -> tuple[np.ndarray, np.ndarray | None]:
    values = np.asarray(X, dtype=float)
    if values.ndim != 2:
        raise ValueError(f"X{name} must have two dimensions (samples and features), not {values.ndim}")
    return values, check_length(y, len(values), f"y{name}", f"X{name}")


def check_length(y: Any, n_samples: int, name: str, of: str) -> np.ndarray | None:
    if y is None:
        return None
    y = np.asarray(y)
    if y.shape != (n_samples,):
        raise ValueError(f"{name} must have one value for each of the {n_samples} samples of {of}, not shape {y.shape}")
    return y


def check_support(estimator: Any, n_samples: int) -> np.ndarray | None:
    """Rows of X that are support vectors; None for a model on explicit features."""
    if offers(estimator, "feature_coef_"):
        return None
    model, _ = locate(estimator, "support_")
    support = np.asarray(model.support_)
    if len(support) and support.max() >= n_samples:
        raise ValueError(
            f"X has {n_samples} samples, but sample {support.max()} of the fit is a support vector: pass the X of the "
            "fit, or support=False"
        )
    return support


def grid_around(points: np.ndarray, margin: float, resolution: int) -> tuple[np.ndarray, ...]:
    low, high = points.min(axis=0), points.max(axis=0)
    margins = margin * np.where(high > low, high - low, 1.0)
    return tuple(np.linspace(a, b, resolution) for a, b in zip(low - margins, high + margins, strict=True))


def is_quantity(values: np.ndarray) -> bool:
    if values.dtype.kind not in "fiu":
        return False
    return bool((values != np.round(values)).any()) or len(np.unique(values)) > _MOST_CLASSES


def quantity_colours(cmap: str, *values: np.ndarray | None) -> Any:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    known = np.concatenate([part for part in values if part is not None]).astype(float)
    return ScalarMappable(Normalize(known.min(), known.max()), cmap)


def ring(ax: Any, points: np.ndarray, given: Mapping[str, Any] | None = None, **style: Any) -> None:
    rings = {"s": 52, "facecolor": "none", "edgecolor": DARK, "linewidth": 0.8, **style}
    ax.scatter(*points.T, **options(rings, given))


def legend_entry(label: str, **style: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)


def ring_entry() -> Any:
    hollow = {"marker": "o", "markerfacecolor": "none", "markeredgecolor": DARK, "linestyle": "none"}
    return legend_entry("support vector", markersize=8, **hollow)


def panel_grid(
    n_panels: int, most: int, width: float, height: float, *, right: float = 0.0, below: float = 0.0
) -> dict[str, Any]:
    columns = min(most, n_panels)
    rows = -(-n_panels // columns)
    return {"nrows": rows, "ncols": columns, "figsize": (width * columns + right, height * rows + below)}


def without_frame(*axes: Any) -> None:
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)


def differences(values: np.ndarray) -> Iterator[np.ndarray]:
    """For each m, value m less the largest of those after it, where none before it is larger than both.

    Together the zeros are all points at which the two largest values are equal, each of them once.
    """
    for m in range(values.shape[2] - 1):
        after = values[:, :, m + 1 :].max(axis=2)
        difference = values[:, :, m] - after
        if m:
            difference = np.where(values[:, :, :m].max(axis=2) > np.maximum(values[:, :, m], after), np.nan, difference)
        if np.nanmin(difference, initial=0.0) < 0.0 < np.nanmax(difference, initial=0.0):
            yield difference


def colour(place: int) -> str:
    return _COLOURS[place % len(_COLOURS)]


def marker(place: int) -> str:
    return _MARKERS[place % len(_MARKERS)]


def options(defaults: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**defaults, **(given or {})}


def new_axes(n: int, given: Any, **subplots_kw: Any) -> list[Any]:
    """A list of n axes: the user's, checked, or the first n of a new figure."""
    plt = pyplot()
    if given is None:
        _, made = plt.subplots(layout="constrained", **subplots_kw)
        for surplus in np.ravel(made)[n:]:
            surplus.remove()
        return list(np.ravel(made)[:n])
    axes = list(np.ravel(given))
    if len(axes) != n:
        raise ValueError(f"ax must be {n} matplotlib axes for this picture, not {len(axes)}")
    return axes


def legend_beside(ax: Any, handles: Sequence[Any]) -> None:
    place = {"loc": "best"} if len(handles) <= 6 else {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
    ax.legend(handles=list(handles), fontsize=8, framealpha=0.9, **place)


def legend_below(axes: list[Any], handles: list[Any]) -> None:
    """A legend below one axes and its labels, or below all axes of a figure that makes room for it."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.transforms import ScaledTranslation

    figure = axes[0].figure
    style = {"handles": handles, "fontsize": 8, "frameon": False}
    style |= {"handlelength": 1.7, "handletextpad": 0.5, "columnspacing": 1.0}
    if len(axes) == 1:
        labels = 6.0 + (16.0 if len(axes[0].get_xticks()) else 0.0) + (14.0 if axes[0].get_xlabel() else 0.0)
        below = axes[0].transAxes + ScaledTranslation(0.0, -labels / 72.0, figure.dpi_scale_trans)
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": below, "borderaxespad": 0.0}
        axes[0].legend(ncols=min(3, len(handles)), **place, **style)
    elif isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
        figure.legend(loc="outside lower center", ncols=min(4, len(handles)), **style)
    else:
        axes[0].legend(loc="best", **style)
