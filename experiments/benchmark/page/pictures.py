"""Pictures of the benchmark: Demšar's critical difference diagram, and accuracy against a cost.

They are drawn for 700 pixels of width and stored with twice as many. A family has one colour and one marker. Names at
the marks of a picture are placed so that neither names nor marks cover each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.benchmark.page.ranks import Ranking
from kernelweave._extras import optional
from kernelweave.saving.atomic import replace_file

_DIRECTIONS = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)]
_DISTANCES = (7.0, 14.0, 22.0, 32.0, 44.0, 58.0, 74.0, 92.0)  # of a name from its mark, in points
_MARK = 5.0  # half the width of a mark with some room, in points
_FAR = 12.0  # beyond this distance a line leads from the mark to the name


def name_marks(
    ax: Any,
    points: Mapping[str, tuple[float, float]],
    *,
    colours: Mapping[str, str],
    size: float,
    line: Sequence[tuple[float, float]] = (),
) -> None:
    """Write a name beside each mark, farther away and with a line to it where there is no room.

    The figure must have its final layout: limits, scales and the places of axes.

    Parameters
    ----------
    ax : matplotlib axes
    points : mapping from name to (x, y)
    colours : mapping from name to colour
    size : float
        Of the letters, in points.
    line : sequence of (x, y)
        Corners of a line of horizontal and vertical pieces, which names should not cover either.
    """
    figure = ax.figure
    renderer = figure.canvas.get_renderer()
    unit = figure.dpi / 72.0  # pixels of a point
    frame = ax.get_window_extent(renderer)
    marks = {name: ax.transData.transform(point) for name, point in points.items()}
    taken = [_box(mark, (_MARK * unit, _MARK * unit)) for mark in marks.values()]
    taken += _pieces([ax.transData.transform(corner) for corner in line], unit)
    around = import_module("matplotlib.patheffects").withStroke(linewidth=2.0, foreground="white")
    # Names of crowded marks first: they have the fewest places.
    crowd = {
        name: sum(np.hypot(*(mark - other)) < 60 * unit for other in marks.values()) for name, mark in marks.items()
    }
    for name in sorted(points, key=lambda one: (-crowd[one], -marks[one][1])):
        text = ax.annotate(name, points[name], xytext=(0, 0), textcoords="offset points", size=size)
        text.set(color=colours[name], path_effects=[around], zorder=4)
        extent = text.get_window_extent(renderer)
        half = extent.width / 2.0, extent.height / 2.0
        offset = _best_offset(marks[name], half, frame, taken, unit)
        text.set(position=tuple(offset / unit), ha="center", va="center")
        centre = marks[name] + offset
        taken.append(_box(centre, half))
        _lead(ax, points[name], offset / unit, (half[0] / unit, half[1] / unit), colours[name])


def _best_offset(mark: np.ndarray, half: tuple[float, float], frame: Any, taken: list[Any], unit: float) -> np.ndarray:
    """The nearest place of the centre of a name, relative to its mark, that covers least of what is there."""
    best, cost = np.zeros(2), np.inf
    for distance in _DISTANCES:
        for place, (right, up) in enumerate(_DIRECTIONS):
            gap = distance * unit * (1.0 if not (right and up) else 0.7)
            offset = np.array([right * (gap + half[0]), up * (gap + half[1])])
            if distance > _DISTANCES[1] and not right:
                offset[0] = 0.0
            box = _box(mark + offset, half)
            outside = max(0.0, frame.x0 - box[0], box[2] - frame.x1, frame.y0 - box[1], box[3] - frame.y1)
            covered = sum(_overlap(box, other) for other in taken)
            own = 50.0 * covered + 1e4 * outside + distance * unit**2 + 0.1 * place
            if own < cost:
                best, cost = offset, own
    return best


def _lead(ax: Any, point: tuple[float, float], offset: np.ndarray, half: tuple[float, float], colour: str) -> None:
    """A thin line from a mark to the nearest edge of its name, where that is far."""
    edge = np.sign(offset) * np.maximum(np.abs(offset) - np.array(half), 0.0)
    if np.hypot(*edge) > _FAR:
        arrow = {"arrowstyle": "-", "color": colour, "lw": 0.6, "alpha": 0.7, "shrinkA": 0, "shrinkB": 3}
        ax.annotate("", point, xytext=tuple(edge), textcoords="offset points", arrowprops=arrow)


def _pieces(corners: Sequence[np.ndarray], unit: float) -> list[tuple[float, float, float, float]]:
    """The pieces of a line as boxes of one point in width."""
    return [(*(np.minimum(a, b) - unit), *(np.maximum(a, b) + unit)) for a, b in pairwise(corners)]


def _box(centre: np.ndarray, half: tuple[float, float]) -> tuple[float, float, float, float]:
    x, y = float(centre[0]), float(centre[1])
    return x - half[0], y - half[1], x + half[0], y + half[1]


def _overlap(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return max(width, 0.0) * max(height, 0.0)


# Okabe and Ito's palette, which colour-blind readers can distinguish.
FAMILIES = {
    "kernelweave": ("#0072B2", "o", "Kernelweave"),
    "rival": ("#D55E00", "s", "rival"),
    "entry": ("#009E73", "^", "entry"),
}
_WIDTH, _RESOLUTION = 7.0, 200  # inches, and pixels of an inch: 700 pixels at 100 of an inch, stored with twice as many
_SIZE = 9.0  # of letters, in points
_ROW = 0.21  # height of a row of names, in inches


def draw_critical_differences(
    ranking: Ranking, path: Any, *, families: Mapping[str, str], title: str | None = None
) -> None:
    """Draw mean ranks on one axis, with bars over methods that Nemenyi's test does not tell apart.

    Parameters
    ----------
    ranking : Ranking
        Of at least two methods and two data sets.
    path : path
        A PNG file.
    families : mapping from method to family
    title : str, optional
    """
    mean, k = ranking.mean, len(ranking.mean)
    levels = _levels(ranking)
    n_rows, n_bars = (k + 1) // 2, max(levels, default=-1) + 1
    top, under = 0.98, 0.30 + 0.11 * n_bars  # inches above the axis, and between it and the first name
    height = top + under + _ROW * n_rows
    ax = _empty_axes(height)
    low, high = 1.0, float(k)
    beside = 0.35 + _longest(ax, [f"{name}  {rank:.2f}" for name, rank in mean.items()])
    left, right = beside, _WIDTH - beside  # inches

    def x(rank: float) -> float:
        return left + (rank - low) / (high - low) * (right - left)

    y = height - top
    ax.plot([left, right], [y, y], color="black", lw=1.2)
    step = 1 if k <= 12 else 2
    for rank in range(1, k + 1):
        is_long = (rank - 1) % step == 0
        ax.plot([x(rank)] * 2, [y, y + (0.08 if is_long else 0.04)], color="black", lw=1.0)
        if is_long:
            ax.text(x(rank), y + 0.11, str(rank), ha="center", va="bottom", size=_SIZE)
    _ruler(ax, (left, right), y + 0.42, ranking.critical_difference / (high - low))
    for (start, stop), level in zip(_spans(ranking), levels, strict=True):
        at = y - 0.14 - 0.11 * level
        ax.plot([x(start) - 0.04, x(stop) + 0.04], [at, at], color="black", lw=3.0, solid_capstyle="butt")
    for place, (name, rank) in enumerate(mean.items()):
        is_left = place < n_rows
        row = place if is_left else k - 1 - place
        at, end = y - under - _ROW * row, left - 0.12 if is_left else right + 0.12
        colour, marker, _ = FAMILIES[families[str(name)]]
        ax.plot([x(rank), x(rank), end], [y, at, at], color=colour, lw=0.9)
        ax.plot([end], [at], color=colour, marker=marker, ms=4.0)
        beyond, align = (end - 0.09, "right") if is_left else (end + 0.09, "left")
        ax.text(beyond, at, f"{name}  {rank:.2f}", ha=align, va="center", size=_SIZE, color=colour)
    if title:
        ax.text(0.1, height - 0.08, title, ha="left", va="top", size=_SIZE + 1)
    handles = _handles([families[str(name)] for name in mean.index])
    ax.legend(handles=handles, loc="upper right", ncols=len(handles), fontsize=_SIZE, frameon=False, borderpad=0.0)
    _save(ax.figure, path)


def draw_accuracy_against(
    accuracy: pd.Series, cost: pd.Series, path: Any, *, families: Mapping[str, str], cost_label: str, none: str = ""
) -> None:
    """Draw accuracy against a cost on a logarithmic axis, one mark for each method with its name beside it.

    Parameters
    ----------
    accuracy : Series
        Relative to the best method of each data set, in per cent, by method.
    cost : Series
        By method; NaN or 0 where a method has none of it.
    path : path
        A PNG file.
    families : mapping from method to family
    cost_label : str
    none : str
        What the axis says where methods without cost are drawn, at its left end.
    """
    shown = accuracy.dropna()
    given = cost.reindex(shown.index)
    has_cost = (given > 0) & given.notna()
    lowest, highest = (float(given[has_cost].min()), float(given[has_cost].max())) if has_cost.any() else (1.0, 10.0)
    aside = lowest / max(1.05, (highest / lowest) ** 0.4)
    x = given.where(has_cost, aside)
    figure = _figure(5.4)
    ax = figure.add_axes((0.105, 0.105, 0.875, 0.83))
    ax.set_xscale("log")
    span = np.log10(float(x.max()) / float(x.min())) or 1.0
    ax.set_xlim(float(x.min()) * 10 ** (-0.22 * span), float(x.max()) * 10 ** (0.22 * span))
    _scale_accuracy(ax, float(shown.min()), float(shown.max()))
    ax.set_xlabel(cost_label, size=_SIZE + 1)
    ax.set_ylabel("accuracy, per cent of the best method of each data set", size=_SIZE + 1)
    ax.tick_params(labelsize=_SIZE)
    ax.grid(color="#e4e4e4", lw=0.6)
    ax.set_axisbelow(True)
    _ticks(ax, aside if not has_cost.all() else None, lowest, none)
    front = _front(ax, x, shown)
    for name in shown.index:
        colour, marker, _ = FAMILIES[families[str(name)]]
        ax.plot([x[name]], [shown[name]], color=colour, marker=marker, ms=6.0, ls="", mec="white", mew=0.6, zorder=3)
    handles = _handles([families[str(name)] for name in shown.index], front=True)
    figure.legend(
        handles=handles,
        loc="upper center",
        ncols=len(handles),
        fontsize=_SIZE,
        frameon=False,
        bbox_to_anchor=(0.54, 1.0),
    )
    points = {str(name): (float(x[name]), float(shown[name])) for name in shown.index}
    colours = {name: FAMILIES[families[name]][0] for name in points}
    name_marks(ax, points, colours=colours, size=_SIZE - 0.5, line=front)
    _save(figure, path)


def _figure(height: float) -> Any:
    """A figure that pyplot does not hold."""
    optional("matplotlib", "to draw", "plot")
    figure = import_module("matplotlib.figure").Figure(figsize=(_WIDTH, height), dpi=_RESOLUTION, facecolor="white")
    import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    return figure


def _empty_axes(height: float) -> Any:
    """Axes without a frame over a whole figure, in inches."""
    ax = _figure(height).add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(0.0, _WIDTH), ylim=(0.0, height))
    ax.axis("off")
    return ax


def _longest(ax: Any, texts: list[str]) -> float:
    """Width of the longest of some texts, in inches."""
    made = [ax.text(0.0, 0.0, text, size=_SIZE) for text in texts]
    widths = [text.get_window_extent(ax.figure.canvas.get_renderer()).width for text in made]
    for text in made:
        text.remove()
    return float(max(widths)) / _RESOLUTION


def _save(figure: Any, path: Any) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    options = {"dpi": _RESOLUTION, "metadata": {"Software": None}}  # the same file from the same cells
    replace_file(path, lambda file: figure.savefig(file, format=Path(path).suffix.lstrip(".") or None, **options))


def _spans(ranking: Ranking) -> list[tuple[float, float]]:
    return [(float(ranking.mean[group[0]]), float(ranking.mean[group[-1]])) for group in ranking.groups]


def _levels(ranking: Ranking) -> list[int]:
    """For each bar the row that it is drawn in: the first whose bars all end before it begins."""
    ends: list[float] = []
    found = []
    for start, stop in _spans(ranking):
        gap = 0.012 * len(ranking.mean)
        level = next((place for place, end in enumerate(ends) if end + gap < start), len(ends))
        ends[level : level + 1] = [stop]
        found.append(level)
    return found


def _ruler(ax: Any, ends: tuple[float, float], y: float, share: float) -> None:
    """The length of the critical difference, a share of that of the axis, above the axis."""
    left, right = ends
    if share > 1.0:
        ax.text(left, y, "critical difference: longer than the axis", ha="left", va="center", size=_SIZE)
        return
    stop = left + share * (right - left)
    ax.plot([left, stop], [y, y], color="black", lw=1.2)
    for end in (left, stop):
        ax.plot([end, end], [y - 0.04, y + 0.04], color="black", lw=1.2)
    ax.text(left, y + 0.06, "critical difference", ha="left", va="bottom", size=_SIZE)


def _handles(families: list[str], front: bool = False) -> list[Any]:
    line = import_module("matplotlib.lines").Line2D
    handles = [
        line([], [], color=colour, marker=marker, ls="", ms=5.0, label=label)
        for family, (colour, marker, label) in FAMILIES.items()
        if family in families
    ]
    if front:
        handles.append(
            line([], [], color="#9a9a9a", lw=1.0, ls="--", label="nothing is both cheaper and more accurate")
        )
    return handles


def _ticks(ax: Any, aside: float | None, lowest: float, none: str) -> None:
    """Plain numbers at 1, 2 and 5 times powers of ten, and a place for methods without cost."""
    ticker = import_module("matplotlib.ticker")
    low, high = ax.get_xlim()
    start = low if aside is None else (aside * lowest) ** 0.5
    steps = (1.0, 2.0, 5.0) if high / start < 200 else (1.0,)
    powers = range(int(np.floor(np.log10(low))) - 1, int(np.ceil(np.log10(high))) + 1)
    places = [step * 10.0**power for power in powers for step in steps if start < step * 10.0**power < high]
    if len(places) < 3:  # the axis has no more than a power of two or so
        places = [place for place in ticker.MaxNLocator(5).tick_values(start, high) if start < place < high]
    names = [f"{place:g}" for place in places]
    if aside is not None:
        places, names = [aside, *places], [none, *names]
        ax.axvspan(low, start, color="#f4f4f4", zorder=0)
    ax.xaxis.set_major_locator(ticker.FixedLocator(places))
    ax.xaxis.set_major_formatter(ticker.FixedFormatter(names))
    ax.xaxis.set_minor_locator(ticker.NullLocator())


def _scale_accuracy(ax: Any, low: float, high: float) -> None:
    """A logarithmic axis of what is missing to 100 per cent: the best methods are close to each other."""
    end = 100.5  # a method that is the best on every data set has 100

    def up(accuracy: Any) -> Any:
        return -np.log10(np.maximum(end - np.asarray(accuracy, dtype=float), 1e-3))

    def back(value: Any) -> Any:
        return end - 10.0 ** -np.asarray(value, dtype=float)

    ticker = import_module("matplotlib.ticker")
    ax.set_yscale("function", functions=(up, back))
    room = 0.10 * (float(up(high) - up(low)) or 0.2)
    limits = float(back(up(low) - room)), float(back(up(high) + room))
    ax.set_ylim(*limits)
    round_places = (0, 20, 40, 60, 70, 80, 85, 90, 95, 96, 97, 98, 99, 100)
    places = [place for place in round_places if limits[0] < place < limits[1]]
    ax.yaxis.set_major_locator(ticker.FixedLocator(places) if len(places) > 2 else ticker.MaxNLocator(5))
    ax.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))


def _front(ax: Any, x: pd.Series, y: pd.Series) -> list[tuple[float, float]]:
    """A stepped line through the methods that no other beats in both cost and accuracy; returns its corners."""
    order = pd.DataFrame({"x": x, "y": y}).sort_values(["x", "y"], ascending=[True, False])
    best = order[order["y"] > order["y"].cummax().shift(fill_value=-np.inf)]
    corners = [(float(best["x"].iloc[0]), float(best["y"].iloc[0]))]
    for right, up in best.iloc[1:].itertuples(index=False):
        corners += [(right, corners[-1][1]), (right, up)]
    corners.append((ax.get_xlim()[1], corners[-1][1]))
    ax.plot(*zip(*corners, strict=True), color="#9a9a9a", lw=1.0, ls="--", zorder=1)
    return corners
