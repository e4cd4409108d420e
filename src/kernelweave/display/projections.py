"""Learned projections: the low-dimensional spaces of a `Projected` model, and its projections of images.

See Figures 1, 3 and 4 of SLDR, and Figures 4.3 and 5.14 to 5.18 of Gönen's PhD thesis (2010). `ProjectionImagesDisplay`
draws projections of images as images (Figure 5.18).

==============================  =================================================================
SLDR                            here
==============================  =================================================================
projected gating space T' x^G   `gating_space`, with gates on the grid
projection space of region m    `region_spaces`, with f(z) = sum_i c_i eta_m(x_i) k_m(z_i, z) + b
thesis Figures 4.3(b), 5.14     `joint_space`, eta_m(x) W_m' x of two regions, with f
==============================  =================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.ndimage import distance_transform_edt
from sklearn.base import is_classifier, is_regressor

from ..estimators.explanations import decision_at, gates_at, is_linear_in_projections
from ..validation import Choice, check
from .base import (
    DARK,
    check_length,
    check_support,
    colour,
    differences,
    grid_around,
    is_quantity,
    legend_below,
    legend_entry,
    locate_projected,
    marker,
    new_axes,
    options,
    panel_grid,
    quantity_colours,
    ring,
    ring_entry,
    without_frame,
)

_KINDS = Choice("spaces", "joint")
_JITTER = 0.3
_DECISION, _MARGINS, _GATES, _FIT = "decision boundary", "margins", "equal gates", "fitted function"
_STYLES = {
    _DECISION: {"linestyle": "-", "linewidth": 1.6},
    _MARGINS: {"linestyle": "--", "linewidth": 0.9},
    _GATES: {"linestyle": "-.", "linewidth": 1.2},
    _FIT: {"linestyle": "-", "linewidth": 1.6},
}
_MARGIN = 0.08  # of the range of the samples, on both sides


class ProjectionDisplay:
    """Samples in the spaces of learned projections, with the decision boundaries there.

    The first panel is the projected gating space (where the model has one): dash-dotted lines are where the two largest
    gates are equal, and the name of a region is that of its kernel. Each further panel is the projection space of a
    region, with the samples whose gate is largest there. Solid lines are where the region's own decision function, with
    gate 1, is 0 (where its largest value changes, for several classes), dashed ones are margins, rings mark support
    vectors. One dimension is drawn as strips in which samples are spread vertically at random (a regression target as
    the vertical axis, with the fitted curve), of more than two dimensions the first two principal axes without lines
    (Gönen and Alpaydın, 2010). Made by `from_estimator`.

    Parameters
    ----------
    spaces : list of DrawnSpace
        The panels beside the gating space. A `DrawnSpace` has ``title``, ``rows`` (the samples in it), ``points``,
        ``names`` (of its axes), ``grid`` and ``values`` (decision values on that grid).
    gating : DrawnSpace or None
        The projected gating space, with gates as values.
    kernels : list of str
        What the gates are called.
    y : ndarray of shape (n_samples,) or None
        Classes, or numbers.
    marks : ndarray of shape (n_samples,) or None
        The values that marker shapes stand for; classes by default.
    support : ndarray of int or None
        Which samples are support vectors.
    strongest : ndarray of int, shape (n_samples,)
        Position of the kernel with the largest gate.
    regression : bool
        Whether values of the spaces are predictions of y.
    margins : bool
        Whether decision values -1 and +1 are margins.

    Attributes
    ----------
    handles_ : list of matplotlib artists
        What a legend of the picture explains, for one legend of several pictures.
    classes : list
        The classes in the order of their colours; empty for a quantity, which has a colour map, and without y.
    axes_, ax_, figure_ : list of matplotlib Axes, the first of them, and their Figure
        One axes for the gating space, if there is one, and one for each of the other spaces.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import Projected, Softmax
    >>> from kernelweave.display import ProjectionDisplay
    >>> from kernelweave.kernels import Linear
    >>> X, y, _ = datasets.make_local_projection_toy(random_state=0)
    >>> combiner = Projected(1, Softmax(), gating_components=1, n_init=5)
    >>> model = MKLClassifier([Linear(), Linear()], combiner, C=10.0, normalize=None, random_state=0).fit(X, y)
    >>> display = ProjectionDisplay.from_estimator(model, X, y)
    >>> [(space.title, space.points.shape[1]) for space in display.spaces]
    [('linear', 1), ('linear-2', 1)]
    """

    def __init__(
        self,
        *,
        spaces: list[DrawnSpace],
        strongest: np.ndarray,
        gating: DrawnSpace | None = None,
        kernels: Sequence[str] = (),
        y: Any = None,
        marks: np.ndarray | None = None,
        support: np.ndarray | None = None,
        regression: bool = False,
        margins: bool = False,
    ):
        self.spaces = spaces
        self.gating = gating
        self.kernels = list(kernels)
        self.y = y
        self.marks = marks
        self.support = support
        self.strongest = strongest
        self.regression = regression
        self.margins = margins
        self.quantity = y is not None and (regression or is_quantity(y))
        self.classes = [] if y is None or self.quantity else np.unique(y).tolist()

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        kind: str = "spaces",
        components: Sequence[str] | None = None,
        marks: Any = None,
        support: bool = True,
        grid_resolution: int = 200,
        **plot_kw: Any,
    ) -> ProjectionDisplay:
        """Draw what a fitted model projects samples to.

        Parameters
        ----------
        estimator : object
            Fitted, with the combiner `Projected`; or a pipeline or search around such a model.
        X : array or DataFrame of shape (n_samples, n_features)
            The samples of the fit; any samples with ``support=False``.
        y : array of shape (n_samples,), optional
            Classes or targets; of a regression, what it predicts by default.
        kind : {"spaces", "joint"}
            The gating space and the space of each region; or two columns of ``project(X)`` against each other, with the
            decision boundary where all kernels are linear and these are all columns.
        components : sequence of two str, optional
            These two columns; only needed where active kernels have more.
        marks : array of shape (n_samples,), optional
            Labels for marker shapes, such as original classes that y merges.
        support : bool
            Whether to ring support vectors.
        grid_resolution : int
            Number of values along each axis at which gates and decision values are computed (ten times as many where
            there is one axis).
        **plot_kw
            Arguments of `plot`.
        """
        _check_kind(kind, components)
        model, prepare = locate_projected(estimator)
        if is_regressor(model) and len(model.intercept_) > 1:
            raise ValueError("ProjectionDisplay draws a model of one target; fit one to the target to be drawn")
        X = prepare(X)
        gates = model.kernel_weights(X)
        y = model.predict(X) if y is None and is_regressor(model) else y
        y, marks = check_length(y, len(gates), "y", "X"), check_length(marks, len(gates), "marks", "X")
        found = {"kernels": list(gates.columns), "y": y, "marks": marks}
        found["strongest"] = gates.to_numpy().argmax(axis=1)
        found["support"] = check_support(model, len(gates)) if support else None
        found["regression"] = is_regressor(model)
        found["margins"] = _has_margins(model)
        if kind == "joint":
            spaces, gating = [joint_space(model, X, components, grid_resolution)], None
        else:
            spaces = region_spaces(model, X, gates, grid_resolution)
            gating = gating_space(model, X, grid_resolution)
        return cls(spaces=spaces, gating=gating, **found).plot(**plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        legend: bool = True,
        scatter_kw: Mapping[str, Any] | None = None,
        support_kw: Mapping[str, Any] | None = None,
        boundary_kw: Mapping[str, Any] | None = None,
        decision_kw: Mapping[str, Any] | None = None,
        cmap: str = "viridis",
    ) -> ProjectionDisplay:
        """Draw on the given axes, or in a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Where to draw: one for the gating space, if there is one, and one for each other space; a new figure by
            default.
        legend : bool
            Whether to explain colours, markers and lines below the picture.
        scatter_kw, support_kw : mapping, optional
            Further arguments of ``scatter`` for samples and for the rings of support vectors.
        boundary_kw, decision_kw : mapping, optional
            Further arguments (``color``, ``linestyle``, ``linewidth``) of the lines between regions, and of decision
            boundaries and margins.
        cmap : str
            Colour map of a quantity.
        """
        panels = [*([] if self.gating is None else [self.gating]), *self.spaces]
        axes = self._axes(ax, panels)
        colours, drawn = quantity_colours(cmap, self.y) if self.quantity else None, set()
        for panel, space in zip(axes, panels, strict=True):
            positions = self._positions(space)
            self._draw_samples(panel, space, positions, colours, scatter_kw)
            if self.support is not None:
                ring(panel, positions[np.isin(space.rows, self.support)], support_kw, zorder=3)
            for label, level in self._levels(space):
                style = _STYLES[label] | {"color": DARK, "zorder": 2.5}
                style = options(style, boundary_kw if space is self.gating else decision_kw)
                if self._draw_line(panel, space, level, colours, style):
                    drawn.add(label)
            if space is self.gating:
                self._name_regions(panel, space, positions)
            self._label_axes(panel, space)
        if colours is not None:
            axes[0].figure.colorbar(colours, ax=axes, label="y")
        self.handles_ = self._handles(drawn)
        if legend and self.handles_:
            legend_below(axes, self.handles_)
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _axes(self, given: Any, panels: list[DrawnSpace]) -> list[Any]:
        height = 2.2 if all(space.points.shape[1] == 1 for space in panels) else 3.0
        wider, higher = (2.2, 1.6) if len(panels) == 1 else (0.0, 0.0)
        return new_axes(len(panels), given, **panel_grid(len(panels), 3, 3.4, height + higher, right=wider, below=0.5))

    def _is_curve(self, space: DrawnSpace) -> bool:
        return self.regression and space.points.shape[1] == 1 and space is not self.gating

    def _positions(self, space: DrawnSpace) -> np.ndarray:
        """Where samples are drawn: of one dimension, in the strip of their class or at the height of their target."""
        if space.points.shape[1] == 2:
            return space.points
        if self._is_curve(space):
            return np.column_stack([space.points[:, 0], self.y[space.rows]])
        strip = np.searchsorted(self.classes, self.y[space.rows]) if self.classes else np.zeros(len(space.rows))
        jitter = np.random.default_rng(0).uniform(-_JITTER, _JITTER, len(strip))
        return np.column_stack([space.points[:, 0], strip + jitter])

    def _groups(self) -> Iterator[tuple[np.ndarray, dict[str, Any], str]]:
        n_samples = len(self.strongest)
        marks = [] if self.marks is None else np.unique(self.marks).tolist()
        for c, of_class in enumerate([self.y == name for name in self.classes] or [np.ones(n_samples, dtype=bool)]):
            ink = {"color": colour(c), "marker": marker(c if self.classes else 0)}
            label = f"class {self.classes[c]}" if self.classes else ""
            if not marks:
                yield of_class, ink, label
            for place, mark in enumerate(marks):
                chosen = self.marks == mark
                if (chosen & of_class).any():
                    nested = not self.classes or not (chosen & ~of_class).any()
                    yield (
                        chosen & of_class,
                        ink | {"marker": marker(place)},
                        str(mark) if nested else f"{label}, {mark}",
                    )

    def _draw_samples(self, ax: Any, space: DrawnSpace, positions: np.ndarray, colours: Any, given: Any) -> None:
        for chosen, ink, _ in self._groups():
            here = chosen[space.rows]
            style = {"s": 20, "linewidth": 0.3, "edgecolor": "white", "zorder": 2, "marker": ink["marker"]}
            shade = None if colours is None else colours.to_rgba(self.y[space.rows][here].astype(float))
            style["facecolor"] = ink["color"] if shade is None else shade
            ax.scatter(*positions[here].T, **options(style, given))

    def _levels(self, space: DrawnSpace) -> Iterator[tuple[str, float | None]]:
        if space.values is None:
            return
        if space is self.gating:
            yield _GATES, None
        elif self.regression:
            yield _FIT, None
        elif space.values.ndim > len(space.grid):
            yield _DECISION, None
        else:
            yield _DECISION, 0.0
            if self.margins:
                yield _MARGINS, -1.0
                yield _MARGINS, 1.0

    def _draw_line(self, ax: Any, space: DrawnSpace, level: float | None, colours: Any, style: dict[str, Any]) -> bool:
        if self.regression and space is not self.gating:
            self._draw_fit(ax, space, colours, style)
            return True
        if len(space.grid) == 1:
            places = crossings(space.grid[0], space.values, 0.0 if level is None else level)
            for place in places:
                ax.axvline(place, **style)
            return len(places) > 0
        if level is None:
            fields, level = list(differences(space.values)), 0.0
        else:
            fields = [space.values] if space.values.min() < level < space.values.max() else []
        for field in fields:
            ax.contour(*space.grid, field, levels=[level], **_contour(style))
        return bool(fields)

    def _draw_fit(self, ax: Any, space: DrawnSpace, colours: Any, style: dict[str, Any]) -> None:
        if len(space.grid) == 1:
            ax.plot(space.grid[0], space.values, **style)
        elif np.ptp(space.values) > 0.0:
            lines = {"cmap": colours.cmap, "norm": colours.norm, "zorder": style["zorder"]}
            ax.contour(*space.grid, space.values, levels=7, linewidths=style["linewidth"], **lines)

    def _name_regions(self, ax: Any, space: DrawnSpace, positions: np.ndarray) -> None:
        """Names of kernels: in the emptiest place of their region, or amid their samples where no lines are drawn."""
        box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
        text = {"ha": "center", "va": "center", "fontsize": 9, "fontweight": "bold", "bbox": box, "zorder": 4}
        for m, place in label_places(space, positions, self.strongest):
            ax.text(*place, self.kernels[m], **text)

    def _label_axes(self, ax: Any, space: DrawnSpace) -> None:
        ax.set_title(f"{space.title}: {len(space.rows)} samples", fontsize=10)
        ax.set_xlabel(space.names[0], fontsize=9)
        ax.tick_params(labelsize=8)
        if len(space.names) == 2:
            ax.set_ylabel(space.names[1], fontsize=9)
        elif self._is_curve(space):
            ax.set_ylabel("y", fontsize=9)
        else:
            room = 0.75 if space is self.gating else 0.0  # above the strips, for the names of regions
            ax.set_ylim(-0.5, max(len(self.classes), 1) - 0.5 + room)
            ax.set_yticks(range(len(self.classes)), [str(name) for name in self.classes])
        if space.grid:
            ax.set_xlim(space.grid[0][0], space.grid[0][-1])
        if len(space.grid) == 2:
            ax.set_ylim(space.grid[1][0], space.grid[1][-1])
        without_frame(ax)

    def _handles(self, drawn: set[str]) -> list[Any]:
        handles = []
        for _, ink, label in self._groups():
            if label:
                shade = ink if not self.quantity else ink | {"color": "#8c8c8c"}
                handles.append(legend_entry(label, linestyle="none", markersize=5, **shade))
        if self.support is not None:
            handles.append(ring_entry())
        for label, style in _STYLES.items():
            if label in drawn:
                handles.append(legend_entry(label, color=DARK, **style))
        return handles


def _check_kind(kind: str, components: Any) -> None:
    check(None, "kind", kind, _KINDS)
    if kind == "spaces" and components is not None:
        raise ValueError("components chooses two columns for kind='joint'; leave it out with kind='spaces'")


def _has_margins(model: Any) -> bool:
    return is_classifier(model) and len(model.classes_) == 2 and model.machine_ in ("svm", "squared-hinge")


def _contour(style: Mapping[str, Any]) -> dict[str, Any]:
    plural = {"color": "colors", "linestyle": "linestyles", "linewidth": "linewidths"}
    return {plural.get(key, key): value for key, value in style.items()}


@dataclass(frozen=True)
class DrawnSpace:
    title: str  # what the space is; for that of a region, the name of its kernel
    rows: np.ndarray  # which of the given samples lie here
    points: np.ndarray  # where they lie, of shape (n_rows, 1) or (n_rows, 2)
    names: tuple[str, ...]  # of the axes
    grid: tuple[np.ndarray, ...] = ()  # coordinates along each axis; empty where no values are known
    values: Any = None  # gates or decision values, of shape (len(grid[1]), len(grid[0]), ...) or (len(grid[0]), ...)


def gating_space(model: Any, X: Any, resolution: int) -> DrawnSpace | None:
    if not hasattr(model, "gating_space"):
        return None
    codes = model.gating_space(X).to_numpy()
    return _space(
        "gating space", np.arange(len(codes)), codes, "gating component", partial(gates_at, model), resolution
    )


def region_spaces(model: Any, X: Any, gates: pd.DataFrame, resolution: int) -> list[DrawnSpace]:
    """The projection space of every kernel that has the largest gate of some sample, with those samples.

    Only a kernel whose gate is 1 has decision values that depend on its space alone.
    """
    projected = model.project(X, by_kernel=True)
    values, names = gates.to_numpy(), list(gates.columns)
    shared = model.combiner_.gating is None
    spaces = []
    for name, points in projected.items():
        m = names.index(name)
        chosen = (values[:, m] > 0.0) & (shared | (values.argmax(axis=1) == m))
        rows = np.flatnonzero(chosen)
        if len(rows):
            decide = None if shared and len(names) > 1 else partial(_decision_in, model, name)
            spaces.append(_space(name, rows, points.to_numpy()[rows], "component", decide, resolution))
    return spaces


def joint_space(model: Any, X: Any, components: Sequence[str] | None, resolution: int) -> DrawnSpace:
    """Two gated components against each other; decision values where linear kernels depend on nothing else."""
    gated = model.project(X)
    by_kernel = {name: list(model.projections_[name].columns) for name in model.active_kernels_}
    columns = [column for names in by_kernel.values() for column in names]
    chosen = columns if components is None else list(components)
    if len(chosen) != 2 or not set(chosen) <= set(columns):
        raise ValueError(f"components must be two of {columns} for kind='joint', not {components!r}")
    points = gated[chosen].to_numpy()

    def decide(grid: np.ndarray) -> np.ndarray:
        places = {name: grid[:, [chosen.index(column) for column in names]] for name, names in by_kernel.items()}
        return decision_at(model, places)

    shows_all = len(columns) == 2 and is_linear_in_projections(model)
    space = _space("", np.arange(len(points)), points, "", decide if shows_all else None, resolution)
    of = {column: name if len(names) == 1 else column for name, names in by_kernel.items() for column in names}
    names = tuple(f"gated projection of {of[column]}" for column in chosen)
    return DrawnSpace("gated projections", space.rows, space.points, names, space.grid, space.values)


def _decision_in(model: Any, name: str, points: np.ndarray) -> np.ndarray:
    return decision_at(model, {name: points})


def crossings(grid: np.ndarray, values: np.ndarray, level: float = 0.0) -> np.ndarray:
    """Where the broken line through values on a grid meets a level; several values: where the largest one changes."""
    if values.ndim == 2:
        largest = values.argmax(axis=1)
        at = np.flatnonzero(np.diff(largest))
        left = values[at, largest[at]] - values[at, largest[at + 1]]
        right = values[at + 1, largest[at]] - values[at + 1, largest[at + 1]]
    else:
        above = values > level
        at = np.flatnonzero(above[1:] != above[:-1])
        left, right = values[at] - level, values[at + 1] - level
    step = left - right
    share = np.divide(left, step, out=np.zeros(len(at)), where=step != 0.0)
    return grid[at] + share * (grid[at + 1] - grid[at])


def label_places(space: DrawnSpace, positions: np.ndarray, strongest: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Where the name of each region fits: far from its border and from samples, and more so sideways."""
    if space.values is None:
        for m in np.unique(strongest):
            yield m, np.median(positions[strongest == m], axis=0)
        return
    regions = space.values.argmax(axis=-1)
    if len(space.grid) == 1:
        top = positions[:, 1].max() + 0.3
        for part in np.split(np.arange(len(regions)), np.flatnonzero(np.diff(regions)) + 1):
            yield regions[part[0]], np.array([space.grid[0][part].mean(), top])
        return
    taken = np.zeros(regions.shape, dtype=bool)
    cells = [np.searchsorted(axis, positions[:, k]) for k, axis in enumerate(space.grid)]
    taken[cells[1], cells[0]] = True
    for m in np.unique(regions):
        free = np.pad((regions == m) & ~taken, 1)
        room = distance_transform_edt(free, sampling=(3.0, 1.0))[1:-1, 1:-1]
        row, column = np.unravel_index(room.argmax(), room.shape)
        yield m, np.array([space.grid[0][column], space.grid[1][row]])


def _space(
    title: str, rows: np.ndarray, points: np.ndarray, axis: str, evaluate: Callable | None, resolution: int
) -> DrawnSpace:
    n_components = points.shape[1]
    if n_components > 2:
        names = tuple(f"principal axis {k + 1} of {n_components} {axis}s" for k in range(2))
        return DrawnSpace(title, rows, _principal(points), names)
    names = tuple(f"{axis} {k + 1}" for k in range(n_components))
    if evaluate is None:
        return DrawnSpace(title, rows, points, names)
    count = resolution if n_components == 2 else 10 * resolution
    grid = grid_around(points, _MARGIN, count)
    places = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, n_components)
    values = evaluate(places)
    shape = (count,) if n_components == 1 else (count, count)
    return DrawnSpace(title, rows, points, names, grid, values.reshape(*shape, *values.shape[1:]))


def _principal(points: np.ndarray) -> np.ndarray:
    centered = points - points.mean(axis=0)
    return centered @ np.linalg.eigh(centered.T @ centered)[1][:, :-3:-1]


class ProjectionImagesDisplay:
    """Columns of projections W_m and slopes v_m of gates as images, where features are pixels.

    A bright pixel of W_m moves a sample up in the projection space of region m, a dark one down; a bright pixel of v_m
    increases the gate of region m. Grey means 0, and every image is scaled separately. Where gating inputs are
    projected, T v_m is drawn: thesis Figure 5.18 (Gönen, 2010). Made by `from_estimator`.

    Parameters
    ----------
    images : dict of str to ndarray of shape (height, width)
        By title.

    Attributes
    ----------
    axes_, ax_, figure_ : list of matplotlib Axes, the first of them, and their Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Projected, Softmax
    >>> from kernelweave.display import ProjectionImagesDisplay
    >>> from kernelweave.kernels import Linear
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> model = MKLClassifier([Linear(), Linear()], Projected(1, Softmax()), random_state=0).fit(X[:200], y[:200] > 1)
    >>> display = ProjectionImagesDisplay.from_estimator(model, image_shape=(8, 8))
    >>> list(display.images)
    ['projection of linear', 'projection of linear-2', 'gate of linear', 'gate of linear-2']
    """

    def __init__(self, *, images: Mapping[str, np.ndarray]):
        self.images = dict(images)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, image_shape: tuple[int, int], gates: bool = True, **plot_kw: Any
    ) -> ProjectionImagesDisplay:
        """Draw what a fitted model has learned of images.

        Parameters
        ----------
        estimator : object
            Fitted, with the combiner `Projected`; or a pipeline or search around such a model.
        image_shape : (int, int)
            Height and width of the images, whose pixels are the features row by row.
        gates : bool
            Whether to draw slopes of gates too, where scores are linear in the gating inputs.
        **plot_kw
            Arguments of `plot`.
        """
        model, _ = locate_projected(estimator)
        images: dict[str, Any] = {}
        for name in model.active_kernels_:
            hint = f"the kernel {name!r}"
            directions = model.projections_[name]
            single = directions.set_axis([name], axis=1) if directions.shape[1] == 1 else directions
            images |= _images("projection", single, image_shape, hint)
        if gates and hasattr(model, "gating_coef_"):
            images |= _images(
                "gate", model.gating_coef_[model.active_kernels_], image_shape, "the gating model (see gates=False)"
            )
        return cls(images=images).plot(**plot_kw)

    def plot(self, ax: Any = None, *, image_kw: Mapping[str, Any] | None = None) -> ProjectionImagesDisplay:
        """Draw on the given axes, or in a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Where to draw, one for each image; a new figure by default.
        image_kw : mapping, optional
            Further arguments of ``imshow``.
        """
        axes = new_axes(len(self.images), ax, **panel_grid(len(self.images), 4, 2.2, 2.4))
        for panel, (title, image) in zip(axes, self.images.items(), strict=True):
            largest = max(np.abs(image).max(), np.finfo(float).tiny)
            panel.imshow(image, **options({"cmap": "gray", "vmin": -largest, "vmax": largest}, image_kw))
            panel.set_title(title, fontsize=9)
            panel.set(xticks=[], yticks=[])
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self


def _images(what: str, columns: pd.DataFrame, shape: tuple[int, int], owner: str) -> dict[str, np.ndarray]:
    if len(columns) != np.prod(shape):
        raise ValueError(f"image_shape {tuple(shape)} has {np.prod(shape)} pixels, but {owner} reads {len(columns)}")
    return {f"{what} of {name}": columns[name].to_numpy().reshape(shape) for name in columns}
