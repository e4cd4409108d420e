"""Kernel weights as bars or a heat map (`KernelWeightsDisplay`), and over the samples (`GatingDisplay`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from ..validation import Choice, check
from .base import (
    DARK,
    check_length,
    check_samples,
    check_support,
    colour,
    differences,
    grid_around,
    is_quantity,
    legend_below,
    legend_beside,
    legend_entry,
    like,
    locate,
    marker,
    new_axes,
    options,
    panel_grid,
    ring,
    ring_entry,
    weights_of,
    without_frame,
)

_NO_SPREAD = 1e-9  # what rounding leaves of equal weights
_GATING_KINDS = Choice("auto", "regions", "strongest", "panels")
_FILLS = ["white", "#4d4d4d", "#a6a6a6"]
_MOST_BARS = 4  # groups that are still legible side by side


class KernelWeightsDisplay:
    """Kernel weights by kernel name, as bars with their spread or as a heat map.

    Bars are means over the rows of `weights` with the same label, error bars one standard deviation to either side.
    Rows are folds, samples, or single models; labels are methods or, where the weights differ between classes, classes.
    Made by `from_estimator`, `from_estimators` or `from_cv_results`.

    Parameters
    ----------
    weights : DataFrame of shape (n_rows, n_kernels)
        Columns are kernel names. The index holds the label of each row's group; rows of a group have the same label.

    Attributes
    ----------
    mean, spread : DataFrame of shape (n_groups, n_kernels)
        Mean and standard deviation of each group; the latter is NaN where a group has one row only.
    bars_ : list of matplotlib BarContainer
        One for each group (bars only).
    image_ : matplotlib AxesImage
        The heat map (heat map only).
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from sklearn.model_selection import cross_validate
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import ConvexMKL
    >>> from kernelweave.display import KernelWeightsDisplay
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> X, y = datasets.make_gauss(4, 90, random_state=0)
    >>> model = MKLClassifier([Linear(), Gaussian(scale=2.0)], ConvexMKL())
    >>> results = cross_validate(model, X, y, cv=3, return_estimator=True)
    >>> display = KernelWeightsDisplay.from_cv_results(results)
    >>> display.weights.shape, list(display.mean)
    ((3, 2), ['linear', 'gaussian'])
    """

    def __init__(self, *, weights: pd.DataFrame):
        self.weights = weights
        groups = weights.groupby(level=0, sort=False)
        self.mean = groups.mean()
        self.spread = groups.std()

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, **plot_kw: Any) -> KernelWeightsDisplay:
        """Draw the weights of one fitted model.

        Parameters
        ----------
        estimator : object
            Fitted, with labelled `kernel_weights_`: an estimator or transformer, or a pipeline or search around one.
        X : array or DataFrame of shape (n_samples, n_features), optional
            Draw the weights that the model gives these samples, with their spread, instead of `kernel_weights_`.
        **plot_kw
            Arguments of `plot`.
        """
        return cls.from_estimators([estimator], X, **plot_kw)

    @classmethod
    def from_estimators(cls, estimators: Any, X: Any = None, **plot_kw: Any) -> KernelWeightsDisplay:
        """Draw the weights of several fitted models.

        Parameters
        ----------
        estimators : sequence or mapping
            Models with the same kernels, such as those of the folds of a cross-validation; or a mapping from labels to
            models or to sequences of models, whose groups of bars then stand side by side.
        X, **plot_kw
            As in `from_estimator`.
        """
        groups = estimators if isinstance(estimators, Mapping) else {"": estimators}
        frames = [
            _labelled_weights(model, X, label)
            for label, models in groups.items()
            for model in (models if isinstance(models, list | tuple | np.ndarray) else [models])
        ]
        if not frames:
            raise ValueError("estimators must hold at least one fitted model")
        names = list(frames[0].columns)
        for frame in frames:
            if list(frame.columns) != names:
                raise ValueError(f"estimators must have the same kernels, but have {names} and {list(frame.columns)}")
        return cls(weights=pd.concat(frames)).plot(**plot_kw)

    @classmethod
    def from_cv_results(cls, cv_results: Mapping[str, Any], X: Any = None, **plot_kw: Any) -> KernelWeightsDisplay:
        """Draw the weights over the folds of ``cross_validate(..., return_estimator=True)``.

        Parameters
        ----------
        cv_results : mapping
            What `cross_validate` returned; or a mapping from labels to such results.
        X, **plot_kw
            As in `from_estimator`.
        """
        several = all(isinstance(result, Mapping) for result in cv_results.values())
        results = dict(cv_results) if several else {"": cv_results}
        for result in results.values():
            if "estimator" not in result:
                raise ValueError("cv_results has no fitted models: call cross_validate with return_estimator=True")
        return cls.from_estimators(
            {label: list(result["estimator"]) for label, result in results.items()}, X, **plot_kw
        )

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "auto",
        largest: int | None = None,
        bar_kw: Mapping[str, Any] | None = None,
        error_kw: Mapping[str, Any] | None = None,
        image_kw: Mapping[str, Any] | None = None,
    ) -> KernelWeightsDisplay:
        """Draw on the given axes, or in a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        kind : {"auto", "bar", "heatmap"}
            Bars, or one shaded row for each group; "auto" takes bars for up to four groups.
        largest : int, optional
            Draw only so many kernels, those of largest weight averaged over the groups, in that order.
        bar_kw, error_kw, image_kw : mapping, optional
            Further arguments of ``bar``, ``errorbar`` and ``imshow``.
        """
        check(None, "kind", kind, Choice("auto", "bar", "heatmap"))
        mean, spread = self.mean, self.spread
        if largest is not None:
            order = mean.mean().sort_values(ascending=False, kind="stable").index[:largest]
            mean, spread = mean[order], spread[order]
        bars = len(mean) <= _MOST_BARS if kind == "auto" else kind == "bar"
        n_groups, n_kernels = mean.shape
        width = np.clip(2.0 + n_kernels * (0.25 + 0.25 * n_groups), 4.5, 10.0) if bars else 2.0 + 0.65 * n_kernels
        height = 3.4 if bars else 1.2 + 0.32 * n_groups
        (ax,) = new_axes(1, ax, figsize=(max(width, 4.5), max(height, 2.6)))
        if bars:
            self._draw_bars(ax, mean, spread, bar_kw, error_kw)
        else:
            self._draw_heatmap(ax, mean, image_kw)
        self._name_kernels(ax, list(mean.columns))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_bars(self, ax: Any, mean: pd.DataFrame, spread: pd.DataFrame, bar_kw: Any, error_kw: Any) -> None:
        width = 0.8 / len(mean)
        error = options({"fmt": "none", "ecolor": DARK, "elinewidth": 1.0, "capsize": 2.5}, error_kw)
        self.bars_ = []
        for group, label in enumerate(mean.index):
            places = np.arange(mean.shape[1]) + (group - (len(mean) - 1) / 2) * width
            bar = options({"width": 0.92 * width, "color": colour(group), "label": str(label)}, bar_kw)
            self.bars_.append(ax.bar(places, mean.iloc[group], **bar))
            if (spread.iloc[group] > _NO_SPREAD).any():
                ax.errorbar(places, mean.iloc[group], yerr=spread.iloc[group], **error)
        ax.axhline(0.0, color=DARK, linewidth=0.8)
        ax.set_ylabel("kernel weight")
        without_frame(ax)
        if len(mean) > 1:
            legend_beside(ax, self.bars_)

    def _draw_heatmap(self, ax: Any, mean: pd.DataFrame, image_kw: Any) -> None:
        values = mean.to_numpy()
        chosen = options({"cmap": "Blues", "aspect": "auto", "vmin": min(0.0, values.min())}, image_kw)
        self.image_ = ax.imshow(values, **chosen)
        ax.figure.colorbar(self.image_, ax=ax, label="kernel weight")
        ax.set_yticks(range(len(mean)), [str(label) for label in mean.index])
        if values.size > 150:  # numbers in more cells could not be read
            return
        for (row, column), value in np.ndenumerate(values):
            red, green, blue, _ = self.image_.cmap(self.image_.norm(value))
            light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.55
            ink = {"color": DARK if light else "white", "fontsize": 8}
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", **ink)

    def _name_kernels(self, ax: Any, names: list[Any]) -> None:
        texts = [str(name) for name in names]
        crowded = sum(len(text) + 2 for text in texts) > 10 * ax.figure.get_figwidth() * ax.get_position().width
        ax.set_xticks(range(len(texts)), texts)
        if crowded:
            ax.tick_params(axis="x", rotation=40)
            for tick in ax.get_xticklabels():
                tick.set(ha="right", rotation_mode="anchor")


def _labelled_weights(estimator: Any, X: Any, label: Any) -> pd.DataFrame:
    if X is None:
        weights = locate(estimator, "kernel_weights_")[0].kernel_weights_
        if isinstance(weights, pd.Series):
            return weights.to_frame().T.set_axis([label], axis=0)
        if not isinstance(weights, pd.DataFrame):
            raise ValueError("kernel_weights_ must be a Series or DataFrame, labelled by kernel name")
        return weights.set_axis([_joined(label, output) for output in weights.index], axis=0)
    model, prepare = locate(estimator, "kernel_weights")
    weights = model.kernel_weights(prepare(X))
    if isinstance(weights.columns, pd.MultiIndex):
        outputs = weights.columns.unique(0)
        return pd.concat([weights[name].set_axis([_joined(label, name)] * len(weights), axis=0) for name in outputs])
    return weights.set_axis([label] * len(weights), axis=0)


def _joined(label: Any, output: Any) -> Any:
    return f"{label}, {output}" if label else output


class GatingDisplay:
    """Kernel weights over the samples: regions of the plane, or samples in an embedding.

    Regions (two features): each point of the plane is tinted in the colour of its strongest kernel, the more so the
    larger that kernel's share of all gates. Dash-dotted lines are where the two strongest gates are equal; the solid
    line is the decision boundary, dashed ones are the margins, and rings mark support vectors: thesis Figure 3.2
    (Gönen, 2010). Other inputs: samples in an embedding, in the colour of their strongest kernel, or in one panel
    for each kernel shaded by its gate. Marker shapes are classes. Made by `from_estimator`.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        Where samples are drawn.
    gates : DataFrame of shape (n_samples, n_kernels)
        Weight of each kernel for each sample.
    y : ndarray of shape (n_samples,) or None
        Classes.
    support : ndarray of int or None
        Which samples are support vectors.
    first, second : ndarray or None
        Coordinates of the grid over the plane (regions only).
    grid_gates : ndarray of shape (len(second), len(first), n_kernels) or None
        Gates there.
    decision : ndarray of shape (len(second), len(first)) or (len(second), len(first), n_classes) or None
        Decision values there.
    margins : bool
        Whether decision values -1 and +1 are margins.
    names : (str, str)
        Names of the two axes.

    Attributes
    ----------
    regions : ndarray of shape (len(second), len(first)) or None
        Position of the strongest kernel on the grid.
    strongest : ndarray of shape (n_samples,)
        Position of the strongest kernel of each sample.
    kind_ : {"regions", "strongest", "panels"}
        What was drawn.
    handles_ : list of matplotlib artists
        What a legend of the picture explains, for one legend of several pictures.
    axes_, ax_, figure_ : list of matplotlib Axes, the first of them, and their Figure

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import ConvexMKL
    >>> from kernelweave.display import GatingDisplay
    >>> from kernelweave.kernels import Linear, Polynomial
    >>> X, y = datasets.make_gauss(4, 100, random_state=0)
    >>> model = MKLClassifier([Linear(), Polynomial(degree=2)], ConvexMKL()).fit(X, y)
    >>> display = GatingDisplay.from_estimator(model, X, y, grid_resolution=50)
    >>> display.grid_gates.shape, display.regions.shape
    ((50, 50, 2), (50, 50))
    """

    def __init__(
        self,
        *,
        points: np.ndarray,
        gates: pd.DataFrame,
        y: np.ndarray | None = None,
        support: np.ndarray | None = None,
        first: np.ndarray | None = None,
        second: np.ndarray | None = None,
        grid_gates: np.ndarray | None = None,
        decision: np.ndarray | None = None,
        margins: bool = False,
        names: tuple[str, str] = ("first feature", "second feature"),
    ):
        self.points = points
        self.gates = gates
        self.y = y
        self.support = support
        self.first = first
        self.second = second
        self.grid_gates = grid_gates
        self.decision = decision
        self.margins = margins
        self.names = names
        self.strongest = gates.to_numpy().argmax(axis=1)
        self.regions = None if grid_gates is None else grid_gates.argmax(axis=2)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        kind: str = "auto",
        embedding: Any = None,
        output: Any = None,
        support: bool = True,
        grid_resolution: int = 200,
        **plot_kw: Any,
    ) -> GatingDisplay:
        """Draw the gates of a fitted model.

        Parameters
        ----------
        estimator : object
            Fitted, with `kernel_weights`; or a pipeline or search around such a model.
        X : array or DataFrame of shape (n_samples, n_features)
            The samples of the fit; any samples with ``support=False``.
        y : array of shape (n_samples,), optional
            Classes.
        kind : {"auto", "regions", "strongest", "panels"}
            Regions of the plane; samples by their strongest kernel; or one panel for each kernel. "auto" draws regions
            where X has two columns and no embedding is given, and samples by their strongest kernel otherwise.
        embedding : array of shape (n_samples, 2), optional
            Where to draw the samples. By default the first two principal components of the features read, standardised.
        output : object, optional
            Where each class or pair of classes has kernel weights of its own, the one to draw.
        support : bool
            Whether to ring support vectors.
        grid_resolution : int
            Number of values of each feature at which gates and decision values are computed.
        **plot_kw
            Arguments of `plot`.
        """
        kind = _kind(kind, np.shape(X)[1], embedding is not None)
        gates = weights_of(estimator, X, output)
        found = {"gates": gates, "y": check_length(y, len(gates), "y", "X")}
        found["support"] = check_support(estimator, len(gates)) if support else None
        if kind == "regions":
            found |= _plane(estimator, X, output, grid_resolution)
        else:
            found["points"] = _embed(estimator, X) if embedding is None else _check_embedding(embedding, len(gates))
            found["names"] = ("component 1", "component 2")
        return cls(**found).plot(kind=kind, **plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "auto",
        legend: bool = True,
        colors: Mapping[str, Any] | None = None,
        scatter_kw: Mapping[str, Any] | None = None,
        support_kw: Mapping[str, Any] | None = None,
        boundary_kw: Mapping[str, Any] | None = None,
        decision_kw: Mapping[str, Any] | None = None,
    ) -> GatingDisplay:
        """Draw on the given axes, or in a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Where to draw: one, or one for each kernel with ``kind="panels"``; a new figure by default.
        kind : {"auto", "regions", "strongest", "panels"}
            "auto" draws regions where there is a grid.
        legend : bool
            Whether to explain colours, markers and lines below the picture.
        colors : mapping from str to matplotlib colour, optional
            Colours of kernels by name, the same in several pictures; by default in the order of kernels.
        scatter_kw, support_kw : mapping, optional
            Further arguments of ``scatter`` for samples and for the rings of support vectors.
        boundary_kw, decision_kw : mapping, optional
            Further arguments of ``contour`` for the lines between regions and for decision boundaries.
        """
        check(None, "kind", kind, _GATING_KINDS)
        if kind == "auto":
            kind = "strongest" if self.grid_gates is None else "regions"
        if kind == "regions" and self.grid_gates is None:
            raise ValueError("kind='regions' needs gates on a grid")
        self._inks = _colours(self.gates.columns, colors)
        self.kind_, axes = kind, self._axes(ax, kind)
        for place, panel in enumerate(axes):
            if kind == "regions" and self.grid_gates is not None:
                self._tint(panel, self.grid_gates)
                self._draw_lines(panel, self.grid_gates, boundary_kw, decision_kw)
            self._draw_samples(panel, kind, place, scatter_kw)
            if self.support is not None:
                ring(panel, self.points[self.support], support_kw, zorder=4)
            panel.set(xlabel=self.names[0], ylabel=self.names[1])
        if kind == "panels":
            for panel in axes:
                panel.label_outer()
            axes[0].figure.colorbar(axes[0].collections[0], ax=axes, label="kernel weight")
        self.handles_ = self._handles(kind)
        if legend and self.handles_:
            legend_below(axes, self.handles_)
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _axes(self, given: Any, kind: str) -> list[Any]:
        if kind != "panels":
            return new_axes(1, given, figsize=(5.6, 5.2))
        shape = panel_grid(self.gates.shape[1], 3, 2.5, 2.3, right=1.0, below=0.7)
        return new_axes(self.gates.shape[1], given, sharex=True, sharey=True, **shape)

    def _tint(self, ax: Any, gates: np.ndarray) -> None:
        """The colour of the strongest kernel, more opaque the larger its lead over an even share."""
        from matplotlib.colors import to_rgb

        n_kernels = gates.shape[2]
        total = gates.sum(axis=2)
        share = np.divide(gates.max(axis=2), total, out=np.full(total.shape, 1.0 / n_kernels), where=total > 0)
        lead = (share - 1.0 / n_kernels) / (1.0 - 1.0 / n_kernels) if n_kernels > 1 else share
        colours = np.array([to_rgb(ink) for ink in self._inks])
        image = np.concatenate([colours[gates.argmax(axis=2)], (0.06 + 0.34 * lead)[:, :, None]], axis=2)
        extent = [
            edge
            for axis in (np.asarray(self.first), np.asarray(self.second))
            for edge in (axis[0] - 0.5 * (axis[1] - axis[0]), axis[-1] + 0.5 * (axis[1] - axis[0]))
        ]
        ax.imshow(image, origin="lower", extent=extent, aspect="auto", interpolation="bilinear", zorder=0)

    def _draw_lines(self, ax: Any, gates: np.ndarray, boundary_kw: Any, decision_kw: Any) -> None:
        equal = [(gates, options({"colors": DARK, "linestyles": "-.", "linewidths": 1.3, "zorder": 1.5}, boundary_kw))]
        if self.decision is not None and self.decision.ndim == 3:
            equal.append((self.decision, options({"colors": DARK, "linewidths": 1.8, "zorder": 2}, decision_kw)))
        for values, line in equal:
            for difference in differences(values):
                ax.contour(self.first, self.second, difference, levels=[0.0], **line)
        if self.decision is None or self.decision.ndim == 3:
            return
        styles = {-1.0: ("--", 0.9), 0.0: ("-", 1.8), 1.0: ("--", 0.9)}
        low, high = self.decision.min(), self.decision.max()
        levels = [level for level in styles if low < level < high and (self.margins or level == 0.0)]
        if levels:
            dashes, widths = zip(*(styles[level] for level in levels), strict=True)
            line = {"colors": DARK, "linestyles": dashes, "linewidths": widths, "zorder": 2}
            ax.contour(self.first, self.second, self.decision, levels=levels, **options(line, decision_kw))

    def _draw_samples(self, ax: Any, kind: str, place: int, given: Any) -> None:
        gates = self.gates.to_numpy()
        total = gates.sum(axis=1)
        share = np.divide(gates.max(axis=1), total, out=np.zeros(len(gates)), where=total > 0)
        for label, rows in self._classes():
            ink = {"s": 18, "marker": marker(label), "linewidth": 0.6, "edgecolor": DARK, "zorder": 3}
            if kind == "panels":
                ink |= {"c": gates[rows, place], "cmap": "Blues", "vmin": 0.0, "vmax": max(gates.max(), 1e-300)}
            elif kind == "strongest":
                ink |= {"c": [self._inks[m] for m in self.strongest[rows]], "alpha": 0.3 + 0.7 * share[rows]}
            else:
                ink["c"] = _FILLS[label % len(_FILLS)]
            ax.scatter(*self.points[rows].T, **options(ink, given))
        if kind == "panels":
            ax.set_title(str(self.gates.columns[place]), fontsize=10)

    def _classes(self) -> Iterator[tuple[int, np.ndarray]]:
        """Places of the classes and their samples; all samples as one where y is a quantity."""
        names = self._class_names()
        if not names:
            yield 0, np.arange(len(self.points))
        for place, name in enumerate(names):
            yield place, np.flatnonzero(self.y == name)

    def _class_names(self) -> list[Any]:
        return [] if self.y is None or is_quantity(self.y) else np.unique(self.y).tolist()

    def _handles(self, kind: str) -> list[Any]:
        from matplotlib.patches import Patch

        handles: list[Any] = []
        if kind != "panels":
            opacity = 0.4 if kind == "regions" else 1.0
            for ink, name in zip(self._inks, self.gates.columns, strict=True):
                handles.append(Patch(facecolor=ink, alpha=opacity, label=str(name)))
        for place, name in enumerate(self._class_names()):
            fill = _FILLS[place % len(_FILLS)] if kind == "regions" else "white"
            style = {"marker": marker(place), "markerfacecolor": fill, "markeredgecolor": DARK, "linestyle": "none"}
            handles.append(legend_entry(f"class {name}", markersize=5, **style))
        if self.support is not None:
            handles.append(ring_entry())
        if kind == "regions":
            if self.regions is not None and len(np.unique(self.regions)) > 1:
                handles.append(legend_entry("equal gates", color=DARK, linestyle="-.", linewidth=1.3))
            if self.decision is not None:
                handles.append(legend_entry("decision boundary", color=DARK, linewidth=1.8))
            if self.margins:
                handles.append(legend_entry("margins", color=DARK, linestyle="--", linewidth=0.9))
        return handles


def _colours(kernels: Any, given: Mapping[str, Any] | None) -> list[Any]:
    chosen = dict(given or {})
    unknown = [name for name in chosen if name not in kernels]
    if unknown:
        raise ValueError(f"colors names {unknown[0]!r}, but the kernels are {list(kernels)}")
    return [chosen.get(name, colour(m)) for m, name in enumerate(kernels)]


def _kind(kind: str, n_columns: int, embedded: bool) -> str:
    check(None, "kind", kind, _GATING_KINDS)
    if kind == "auto":
        return "regions" if n_columns == 2 and not embedded else "strongest"
    if kind == "regions" and (n_columns != 2 or embedded):
        raise ValueError(
            f"kind='regions' needs an X of two columns and no embedding, but X has {n_columns}; kind='strongest' "
            "and kind='panels' draw samples in an embedding"
        )
    return kind


def _plane(estimator: Any, X: Any, output: Any, resolution: int) -> dict[str, Any]:
    points, _ = check_samples(X, None)
    first, second = grid_around(points, 0.06, resolution)
    grid = like(X, np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2))
    gates = weights_of(estimator, grid, output).to_numpy()
    found: dict[str, Any] = {"points": points, "first": first, "second": second}
    found["grid_gates"] = gates.reshape(resolution, resolution, -1)
    if hasattr(estimator, "decision_function"):
        values = estimator.decision_function(grid)
        found["decision"] = values.reshape(resolution, resolution, *values.shape[1:])
        found["margins"] = values.ndim == 1 and is_classifier(estimator)
    if isinstance(X, pd.DataFrame):
        found["names"] = tuple(str(name) for name in X.columns)
    return found


def _embed(estimator: Any, X: Any) -> np.ndarray:
    _, prepare = locate(estimator, "kernel_weights")
    try:
        features = np.asarray(prepare(X), dtype=float)
    except (TypeError, ValueError):
        features = np.full((1, 1), np.nan)
    if not np.isfinite(features).all() or features.shape[1] < 2:
        raise ValueError("principal components need two or more features, numeric and none missing: pass an embedding")
    return PCA(n_components=2).fit_transform(StandardScaler().fit_transform(features))


def _check_embedding(embedding: Any, n_samples: int) -> np.ndarray:
    points = np.asarray(embedding, dtype=float)
    if points.shape != (n_samples, 2):
        raise ValueError(f"embedding must have shape ({n_samples}, 2), not {points.shape}")
    return points
