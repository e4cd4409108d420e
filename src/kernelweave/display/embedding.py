"""`EmbeddingDisplay`: samples in one or two dimensions, as a transformer embeds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .base import (
    DARK,
    check_samples,
    colour,
    is_quantity,
    legend_beside,
    legend_entry,
    marker,
    new_axes,
    options,
    quantity_colours,
    without_frame,
)

_JITTER = 0.3


class EmbeddingDisplay:
    """Samples in the space that a transformer found, coloured by class or by a number.

    Two components span the plane; one component is drawn as strips, one for each class, in which samples are spread
    vertically at random. Filled markers are the samples of the fit, open ones new samples (crosses without y). Made by
    `from_estimator`, for any fitted transformer, or by `from_embedding`, for coordinates that exist already.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_components)
        Coordinates, of one or two components.
    y : ndarray of shape (n_samples,) or None
        Classes; or, if floats with fractions or more than 20 different numbers, a quantity for a colour bar.
    new_points : ndarray of shape (n_new, n_components) or None
    new_y : ndarray of shape (n_new,) or None
    names : list of str
        Names of the components.

    Attributes
    ----------
    classes : list or None
        The classes in the order of their colours; None for a quantity, and without y.
    collections_ : list of matplotlib PathCollection
        What was drawn: samples (by class), then new samples (by class).
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from kernelweave.display import EmbeddingDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> pca = PCA(n_components=2).fit(X[::2])
    >>> display = EmbeddingDisplay.from_estimator(pca, X[::2], y[::2], X_new=X[1::2], y_new=y[1::2])
    >>> display.points.shape, display.names
    ((75, 2), ['component 1', 'component 2'])
    """

    def __init__(
        self,
        *,
        points: np.ndarray,
        y: np.ndarray | None = None,
        new_points: np.ndarray | None = None,
        new_y: np.ndarray | None = None,
        names: Sequence[str] = ("component 1", "component 2"),
    ):
        self.points = points
        self.y = y
        self.new_points = new_points
        self.new_y = new_y
        self.names = list(names)
        known = [np.asarray(values) for values in (y, new_y) if values is not None]
        values = np.concatenate(known) if known else None
        self.classes = None if values is None or is_quantity(values) else np.unique(values).tolist()

    @classmethod
    def from_estimator(
        cls,
        transformer: Any,
        X: Any,
        y: Any = None,
        *,
        X_new: Any = None,
        y_new: Any = None,
        components: Sequence[int] = (0, 1),
        **plot_kw: Any,
    ) -> EmbeddingDisplay:
        """Draw what a fitted transformer makes of samples.

        Parameters
        ----------
        transformer : object
            Fitted, with `transform`.
        X : array or DataFrame of shape (n_samples, n_features)
        y : array of shape (n_samples,), optional
            Classes or numbers.
        X_new, y_new : optional
            Further samples, drawn with open markers.
        components : sequence of int
            The one or two components to draw; a transformer with a single component is drawn along that one.
        **plot_kw
            Arguments of `plot`.
        """
        if not hasattr(transformer, "transform"):
            raise ValueError(
                f"{type(transformer).__name__} has no transform; pass the coordinates it found to from_embedding"
            )
        check_is_fitted(transformer)
        embedded = transformer.transform(X)
        new = None if X_new is None else transformer.transform(X_new)
        return cls.from_embedding(embedded, y, new=new, y_new=y_new, components=components, **plot_kw)

    @classmethod
    def from_embedding(
        cls,
        embedding: Any,
        y: Any = None,
        *,
        new: Any = None,
        y_new: Any = None,
        components: Sequence[int] = (0, 1),
        **plot_kw: Any,
    ) -> EmbeddingDisplay:
        """Draw coordinates.

        Parameters
        ----------
        embedding : array or DataFrame of shape (n_samples, n_components)
        new : array or DataFrame of shape (n_new, n_components), optional
            Coordinates of further samples, drawn with open markers.
        y, y_new, components, **plot_kw
            As in `from_estimator`.
        """
        points, y = check_samples(_dense(embedding), y, " (embedded)")
        names = _component_names(embedding, points.shape[1])
        chosen = list(components)[:1] if points.shape[1] == 1 else list(components)
        if len(chosen) not in (1, 2) or not all(0 <= place < points.shape[1] for place in chosen):
            raise ValueError(f"components must be one or two of 0 ... {points.shape[1] - 1}, not {components!r}")
        new_points = None
        if new is not None:
            new_points, y_new = check_samples(_dense(new), y_new, "_new (embedded)")
            if new_points.shape[1] != points.shape[1]:
                raise ValueError(f"X and X_new have {points.shape[1]} and {new_points.shape[1]} components")
            new_points = new_points[:, chosen]
        elif y_new is not None:
            raise ValueError("y_new needs X_new")
        display = cls(
            points=points[:, chosen], y=y, new_points=new_points, new_y=y_new, names=[names[place] for place in chosen]
        )
        return display.plot(**plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        legend: bool = True,
        scatter_kw: Mapping[str, Any] | None = None,
        new_kw: Mapping[str, Any] | None = None,
        cmap: str = "viridis",
    ) -> EmbeddingDisplay:
        """Draw on the given axes, or in a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        legend : bool
            Whether to explain colours and markers.
        scatter_kw, new_kw : mapping, optional
            Further arguments of ``scatter`` for samples and for new samples.
        cmap : str
            Colour map of a quantity.
        """
        flat = self.points.shape[1] == 1
        (ax,) = new_axes(1, ax, figsize=(6.0, 3.4 if flat else 4.6))
        self.collections_: list[Any] = []
        known = [values for values in (self.y, self.new_y) if values is not None]
        colours = quantity_colours(cmap, *known) if known and self.classes is None else None
        self._draw(ax, self.points, self.y, colours, False, scatter_kw)
        if self.new_points is not None:
            self._draw(ax, self.new_points, self.new_y, colours, True, new_kw)
        ax.set_xlabel(self.names[0])
        if not flat:
            ax.set_ylabel(self.names[1])
        elif self.classes is None:
            ax.set_yticks([])
        else:
            ax.set_yticks(range(len(self.classes)), [str(name) for name in self.classes])
        without_frame(ax)
        if legend:
            self._explain(ax, colours)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any, points: np.ndarray, y: Any, colours: Any, new: bool, given: Any) -> None:
        positions = self._positions(points, y, new)
        groups: list[tuple[Any, dict[str, Any]]]
        ink: dict[str, Any]
        if y is None:
            ink = {"marker": "x", "color": DARK} if new else {"color": colour(0), "edgecolor": "white"}
            groups = [(slice(None), {**ink, "label": "new" if new else None})]
        elif colours is not None:
            shade = colours.to_rgba(np.asarray(y, dtype=float))
            ink = {"facecolor": "none", "edgecolor": shade} if new else {"facecolor": shade, "edgecolor": "white"}
            groups = [(slice(None), ink)]
        else:
            groups = []
            for place, name in enumerate(self.classes or []):
                ink = {"marker": marker(place), "edgecolor": colour(place) if new else "white"}
                ink["facecolor"] = "none" if new else colour(place)
                groups.append((np.asarray(y) == name, {**ink, "label": None if new else str(name)}))
        for rows, ink in groups:
            size = {"s": 26, "linewidth": 1.0, "zorder": 3} if new else {"s": 28, "linewidth": 0.3, "zorder": 2}
            self.collections_.append(ax.scatter(*positions[rows].T, **options({**size, **ink}, given)))

    def _positions(self, points: np.ndarray, y: Any, new: bool) -> np.ndarray:
        """Where samples are drawn: of one component, in the strip of their class."""
        if points.shape[1] == 2:
            return points
        strip = np.zeros(len(points))
        if self.classes is not None:
            middle = (len(self.classes) - 1) / 2
            strip = np.full(len(points), middle) if y is None else np.searchsorted(self.classes, y).astype(float)
        jitter = np.random.default_rng(int(new)).uniform(-_JITTER, _JITTER, len(points))
        return np.column_stack([points[:, 0], strip + jitter])

    def _explain(self, ax: Any, colours: Any) -> None:
        if colours is not None:
            ax.figure.colorbar(colours, ax=ax, label="y")
        handles = []
        if self.classes is not None:
            for place, name in enumerate(self.classes):
                style = {"marker": marker(place), "color": colour(place), "linestyle": "none", "markersize": 5}
                handles.append(legend_entry(str(name), **style))
        if self.new_points is not None:
            style = {"linestyle": "none", "markersize": 5, "color": DARK}
            shape = {"marker": "x"} if self.new_y is None else {"marker": "o", "markerfacecolor": "none"}
            handles.append(legend_entry("new", **style, **shape))
        if handles:
            legend_beside(ax, handles)


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else values


def _component_names(embedding: Any, n_components: int) -> list[str]:
    if isinstance(embedding, pd.DataFrame):
        return [str(name) for name in embedding.columns]
    return [f"component {place + 1}" for place in range(n_components)]
