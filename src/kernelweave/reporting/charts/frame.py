"""What charts share: the frame with title and description, axes, marks with texts on hover, and keys of the legend.

A chart is drawn for a wide and for a narrow place (`WIDE`, `NARROW`, in units of its font's size), and the style shows
the one that fits. Marks that belong together stand in a group of the class "row", among which the arrow keys move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from markupsafe import Markup

from ..blocks import Chart
from ..formatting import DASH, one_line
from .scales import Scale
from .svg import Element, element, fitted, markup, text_width
from .symbols import colour, dashes, hatching, symbol

WIDE, NARROW = 720.0, 340.0
FONT = 13.0


@dataclass(frozen=True)
class Key:
    """An entry of the legend: the number of the group, its name and its sign."""

    number: int
    label: str
    sign: Markup


@dataclass(frozen=True)
class Drawing:
    """A chart as SVG.

    Attributes
    ----------
    pictures : dict
        SVG by the place it is for: "wide" and "narrow", or "any"; empty where there is nothing to draw.
    keys : list of Key
        The legend; empty where there is one group only.
    scale : Markup or None
        The scale of colours of a heatmap.
    notes : list of str
        What is left out of the picture.
    """

    pictures: dict[str, Markup]
    keys: list[Key] = field(default_factory=list)
    scale: Markup | None = None
    notes: list[str] = field(default_factory=list)


def for_both(draw: Callable[[float], Element]) -> dict[str, Markup]:
    """A chart drawn for a wide and for a narrow place."""
    return {"wide": markup(draw(WIDE)), "narrow": markup(draw(NARROW))}


def begin(chart: Chart, name: str, width: float, height: float) -> Element:
    """The outer element of a chart; `name` is unique on the page."""
    root = element(
        "svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        class_=f"chart {chart.type}",
        role="img",
        aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc",
    )
    element("title", root, one_line(chart.title) or "Chart", id=f"{name}-title")
    element("desc", root, one_line(chart.description) or one_line(chart.title) or "Chart", id=f"{name}-desc")
    return root


def tip(*lines: str, longest: int) -> str:
    """The text that is shown for a mark: a heading and further lines."""
    return "\n".join(filter(None, (one_line(line, longest) for line in lines)))


def mark(parent: Element, path: str, text: str, *, kind: str = "") -> Element:
    """A mark that shows a text on hover and focus."""
    return element("path", parent, class_=f"m {kind}".strip(), d=path, data_tip=text)


def rectangle(x: float, y: float, width: float, height: float) -> str:
    """The path of a rectangle."""
    return f"M{x:.2f} {y:.2f}h{width:.2f}v{height:.2f}h{-width:.2f}z"


def point(x: float, y: float, number: int, radius: float) -> str:
    """The path of a group's symbol at a place."""
    return f"M{x:.1f} {y:.1f}{symbol(number, radius)}"


def ticks_that_fit(scale: Scale, kind: str, size: float) -> int:
    """How many ticks a horizontal axis has room for, in a font of some size."""
    for most in (8, 6, 5, 4, 3, 2):
        labels = [scale.label(value, most, kind) for value in scale.ticks(most)]
        places = [scale(value) for value in scale.ticks(most)]
        needed = max((text_width(label, size) for label in labels), default=0) + 1.2 * size
        if all(b - a >= needed for a, b in pairwise(places)):
            return most
    return 1


def x_axis(
    root: Element, scale: Scale, top: float, bottom: float, *, title: str, kind: str = "number", size: float = FONT
) -> None:
    """Grid lines, numbers below them and the axis' title, centred; there is room for a font of `size`."""
    most = ticks_that_fit(scale, kind, size)
    spacing = (size + FONT) / (2 * FONT)
    axis = element("g", root, class_="axis", aria_hidden="true")
    for value in scale.ticks(most):
        x = scale(value)
        element("path", axis, class_="grid", d=f"M{x:.2f} {top:.2f}V{bottom:.2f}")
        element("text", axis, scale.label(value, most, kind), x=x, y=bottom + 17 * spacing, text_anchor="middle")
    length = 1.2 * abs(scale.end - scale.start)
    middle = (scale.start + scale.end) / 2
    text = fitted(title, length, FONT)
    element("text", axis, text, class_="title", x=middle, y=bottom + 38 * spacing, text_anchor="middle")


def y_axis(root: Element, scale: Scale, left: float, right: float, *, title: str) -> None:
    """Grid lines and numbers at their left; the axis' title stands above them."""
    most = 5
    axis = element("g", root, class_="axis", aria_hidden="true")
    for value in scale.ticks(most):
        y = scale(value)
        element("path", axis, class_="grid", d=f"M{left:.2f} {y:.2f}H{right:.2f}")
        element("text", axis, scale.label(value, most), x=left - 8, y=y + 0.35 * FONT, text_anchor="end")
    top = min(scale.start, scale.end)
    element("text", axis, fitted(title, right, FONT), class_="title", x=4.0, y=top - 14)


def key_of_points(number: int, label: str) -> Key:
    """A legend's entry with a symbol."""
    return _key(number, label, [element("path", class_=f"mark {colour(number)}", d=point(9, 9, number, 4.5))])


def key_of_bars(number: int, label: str) -> Key:
    """A legend's entry with a hatched square."""
    square = element("path", class_=f"mark {colour(number)}", d=rectangle(1, 2, 16, 14))
    return _key(number, label, [square, element("path", class_="hatch", d=hatching(number, 1, 2, 16, 14))])


def key_of_lines(number: int, label: str) -> Key:
    """A legend's entry with a dashed line and a symbol."""
    line = element("path", class_=f"line {colour(number)}", d="M0 9H34", stroke_dasharray=dashes(number))
    sign = element("path", class_=f"mark {colour(number)}", d=point(17, 9, number, 3.5))
    return _key(number, label, [line, sign], width=34)


def _key(number: int, label: str, parts: list[Element], width: int = 18) -> Key:
    root = element("svg", viewBox=f"0 0 {width} 18", width=width, height=18, aria_hidden="true", focusable="false")
    root.extend(parts)
    return Key(number, one_line(label, 120) or DASH, markup(root))
