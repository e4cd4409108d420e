"""Colours, markers and the few habits that all displays share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._extras import pyplot

DARK = "#1f1f1f"
# Okabe and Ito's palette, which colour-blind readers can distinguish, and three more that stay clear of it.
_COLOURS = [
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B8A900"),
    *("#7A1F5C", "#8C8C8C", "#1f1f1f"),
]
_MARKERS = ["o", "s", "^", "D", "v", "P", "X"]


def colour(place: int) -> str:
    """The colour of a kernel, class or model, by its place."""
    return _COLOURS[place % len(_COLOURS)]


def marker(place: int) -> str:
    """The marker of a class, by its place; with its colour it differs from those of 69 other classes."""
    return _MARKERS[place % len(_MARKERS)]


def options(defaults: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keyword arguments of an artist: the display's own, overridden by the user's."""
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


def legend_beside(ax: Any, n_entries: int, handles: Sequence[Any] | None = None, title: str | None = None) -> None:
    """A legend inside the axes while it is short, and to the right of them otherwise."""
    place = {"loc": "best"} if n_entries <= 6 else {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
    chosen = {} if handles is None else {"handles": list(handles)}
    ax.legend(fontsize=8, framealpha=0.9, title=title, title_fontsize=8, **place, **chosen)


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
