"""Names at the marks of a picture, placed so that neither names nor marks cover each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

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
