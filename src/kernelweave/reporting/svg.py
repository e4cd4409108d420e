"""Parts of charts: elements of SVG, axes, signs of groups, marks with texts on hover, keys of the legend.

A chart is drawn for a wide and for a narrow place (`WIDE`, `NARROW`, in units of its font's size), and the style shows
the one that fits. Marks that belong together stand in a group of the class "row", among which the arrow keys move.
Elements are made by `xml.etree`, which escapes every text and attribute.

Groups differ by more than their colour: by symbols of points, hatching of bars, dashes of lines. There are seven
colours (`style.css`), eight symbols, six hatchings and six kinds of dashes; the pairs of the first 56 groups (42 of
bars and lines) differ.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from xml.etree import ElementTree

from markupsafe import Markup

from .content import Chart
from .formatting import DASH, SUPERSCRIPTS, clean, in_powers, one_line, unbroken, without_minus_zero

Element = ElementTree.Element
Attribute = str | float | int
_ROUNDING = 1e-6  # of widths: a text fits into a place of just its width


def element(tag: str, parent: Element | None = None, text: str = "", **attributes: Attribute) -> Element:
    """An element, the last child of `parent`; underscores in names of attributes stand for hyphens (``class_``: class).

    >>> markup(element("text", None, "<b>", x=1.256, text_anchor="end"))
    Markup('<text x="1.26" text-anchor="end">&lt;b&gt;</text>')
    """
    named = {name.rstrip("_").replace("_", "-"): write(value) for name, value in attributes.items()}
    made = Element(tag, named) if parent is None else ElementTree.SubElement(parent, tag, named)
    if text:
        made.text = unbroken(clean(text))
    return made


def write(value: Attribute) -> str:
    """An attribute's value; coordinates have two decimals at most."""
    if isinstance(value, str):
        return unbroken(clean(value))
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def markup(root: Element) -> Markup:
    return Markup(ElementTree.tostring(root, encoding="unicode", method="xml"))


def text_width(text: str, size: float) -> float:
    """About how wide a text is, in the unit of the font size."""
    return size * sum(1.0 if unicodedata.east_asian_width(one) in "WF" else 0.6 for one in text)


def wrapped(text: str, width: float, size: float, most: int) -> list[str]:
    """The text in at most `most` lines that are broken at blanks; none where it does not fit.

    >>> wrapped("gradient boosting", 60, 12, 2)
    ['gradient', 'boosting']
    """
    lines: list[str] = []
    for word in one_line(text).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    fits = len(lines) <= most and all(text_width(line, size) <= width for line in lines)
    return (lines or [""]) if fits else []


def fitted(text: str, width: float, size: float) -> str:
    """The text in one line, cut where it is wider than `width`.

    >>> fitted("gradient boosting", 60, 12)
    'gradie…'
    """
    text = one_line(text)
    if text_width(text, size) <= width + _ROUNDING:
        return text
    while text and text_width(text, size) + size > width:
        text = text[:-1]
    return text.rstrip() + "…"


_LARGEST = 1e290  # beyond it a range overflows; such numbers are drawn at the edge


def finite(values: Iterable[float | None]) -> list[float]:
    """The numbers that can be drawn."""
    return [min(max(float(v), -_LARGEST), _LARGEST) for v in values if v is not None and math.isfinite(v)]


def can_draw(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


class Scale:
    """A linear axis from a least to a largest number, with some room on both sides."""

    def __init__(
        self, values: Iterable[float | None], start: float, end: float, *, room: float = 0.04, finest: float = 0.0
    ):
        numbers = finite(values) or [0.0, 1.0]
        low, high = min(numbers), max(numbers)
        if high - low <= 1e-9 * max(abs(low), abs(high)) or high - low < 1e-280:  # all the same
            around = abs(low) / 10 if abs(low) > 1e-280 else 1.0
            low, high = low - around, high + around
        else:
            low, high = low - room * (high - low), high + room * (high - low)
        self.low, self.high, self.start, self.end = low, high, start, end
        self.finest = finest

    def __call__(self, value: float) -> float:
        """The place of a number; numbers beyond the axis are at its end."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def step(self, most: int) -> float:
        """The distance of at most `most` + 1 ticks: 1, 2 or 5 times a power of ten."""
        rough = max((self.high - self.low) / max(most, 1), self.finest)
        power = 10.0 ** math.floor(math.log10(rough))
        return next((factor * power for factor in (1, 2, 5) if factor * power >= rough * (1 - 1e-9)), 10 * power)

    def ticks(self, most: int) -> list[float]:
        """Round numbers within the axis."""
        step = self.step(most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)] if last - first < 100 else [self.low, self.high]

    def label(self, value: float, most: int, kind: str = "number") -> str:
        """A tick's number with as many decimals as the distance of ticks needs.

        >>> Scale([0.9, 0.95], 0, 100).label(0.92, 5, "percent")
        '92 %'
        """
        factor = 100.0 if kind == "percent" else 1.0
        step, value = factor * self.step(most), factor * value
        unit = {"percent": " %", "seconds": " s"}.get(kind, "")
        size = max(abs(self.low), abs(self.high)) * factor
        if size >= 1e6 or step < 1e-5:
            return ("0" if value == 0 else in_powers(value, 2, "×")) + unit
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        return without_minus_zero(f"{value:.{decimals}f}") + unit


class LogScale(Scale):
    """A logarithmic axis; numbers that are not positive are left out."""

    def __init__(self, values: Iterable[float | None], start: float, end: float, *, room: float = 0.04):
        logarithms = [math.log10(value) for value in finite(values) if value > 0]
        super().__init__(logarithms, start, end, room=room)
        if self.high - self.low < 1:  # at least one power of ten, so that there are ticks
            self.low, self.high = math.floor(self.low), math.ceil(self.high)

    def __call__(self, value: float) -> float:
        return super().__call__(math.log10(value))

    def ticks(self, most: int) -> list[float]:
        first, last = math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9)
        apart = max(1, math.ceil((last - first) / max(most, 1)))
        return [10.0**power for power in range(first, last + 1, apart) if -300 < power < 300]

    def label(self, value: float, most: int, kind: str = "number") -> str:
        power = round(math.log10(value))
        return f"{value:g}" if -3 <= power <= 4 else f"10{str(power).translate(SUPERSCRIPTS)}"


COLOURS = 7
_SYMBOLS = (
    "m-{r} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0-{d} 0z",  # disc
    "m-{s}-{s}h{q}v{q}h-{q}z",  # square
    "m0-{t}l{t} {u}h-{v}z",  # triangle
    "m0-{t}l{t} {t}l-{t} {t}l-{t}-{t}z",  # diamond
    "m0 {t}l{t}-{u}h-{v}z",  # triangle on its tip
    "m-{b}-{t}h{w}v{e}h{e}v{w}h-{e}v{e}h-{w}v-{e}h-{e}v-{w}h{e}z",  # plus
    "m-{t}-{b}h{v}v{w}h-{v}z",  # lying bar
    "m-{b}-{t}h{w}v{v}h-{w}z",  # standing bar
)
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "5 2 1 2 1 2")
HATCHES = ("", "/", "-", "\\", "|", "x")


def colour(number: int) -> str:
    return f"c{number % COLOURS}"


def symbol(number: int, radius: float) -> str:
    r = radius
    sizes = {"r": r, "d": 2 * r, "s": 0.9 * r, "q": 1.8 * r, "t": 1.2 * r, "u": 2.1 * r, "v": 2.4 * r}
    sizes |= {"b": 0.45 * r, "w": 0.9 * r, "e": 0.75 * r}
    return _SYMBOLS[number % len(_SYMBOLS)].format(**{name: f"{size:.3g}" for name, size in sizes.items()})


def dashes(number: int) -> str:
    return _DASHES[number % len(_DASHES)]


def hatching(number: int, x: float, y: float, width: float, height: float, gap: float = 6.0) -> str:
    """The path of the lines that hatch a rectangle, cut at its edges; empty where it has none."""
    style, lines = HATCHES[number % len(HATCHES)], []
    if width < 1:
        return ""
    if style == "-":
        lines = [(x, y + at, x + width, y + at) for at in _steps(height, gap)]
    if style == "|":
        lines = [(x + at, y, x + at, y + height) for at in _steps(width, gap)]
    if style in ("/", "x"):
        lines += [(x + a, y + b, x + c, y + d) for a, b, c, d in _diagonals(width, height, gap)]
    if style in ("\\", "x"):
        lines += [(x + width - a, y + b, x + width - c, y + d) for a, b, c, d in _diagonals(width, height, gap)]
    return "".join(f"M{a:.4g} {b:.4g}L{c:.4g} {d:.4g}" for a, b, c, d in lines)


def _steps(length: float, gap: float) -> list[float]:
    count = int(length / gap)
    return [gap * (place + 0.5) for place in range(count)] or [length / 2]


def _diagonals(width: float, height: float, gap: float) -> list[tuple[float, float, float, float]]:
    """Lines that rise to the right: x + y = constant, within a rectangle at (0, 0)."""
    lines, total = [], gap
    while total < width + height:
        lines.append((max(0.0, total - height), min(total, height), min(total, width), max(0.0, total - width)))
        total += gap
    return lines


WIDE, NARROW = 720.0, 340.0
FONT = 13.0


@dataclass(frozen=True)
class Key:
    number: int
    label: str
    sign: Markup


@dataclass(frozen=True)
class Drawing:
    # SVG by the place it is for: "wide" and "narrow", or "any"; empty where there is nothing to draw
    pictures: dict[str, Markup]
    keys: list[Key] = field(default_factory=list)  # the legend; empty where there is one group only
    scale: Markup | None = None  # the scale of colours of a heatmap
    notes: list[str] = field(default_factory=list)  # what is left out of the picture


def for_both(draw: Callable[[float], Element]) -> dict[str, Markup]:
    return {"wide": markup(draw(WIDE)), "narrow": markup(draw(NARROW))}


def begin(chart: Chart, name: str, width: float, height: float) -> Element:
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
    return element("path", parent, class_=f"m {kind}".strip(), d=path, data_tip=text)


def rectangle(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:.2f} {y:.2f}h{width:.2f}v{height:.2f}h{-width:.2f}z"


def point(x: float, y: float, number: int, radius: float) -> str:
    return f"M{x:.1f} {y:.1f}{symbol(number, radius)}"


def ticks_that_fit(scale: Scale, kind: str, size: float) -> int:
    for most in (8, 6, 5, 4, 3, 2):
        labels = [scale.label(value, most, kind) for value in scale.ticks(most)]
        places = [scale(value) for value in scale.ticks(most)]
        needed = max((text_width(label, size) for label in labels), default=0) + 1.2 * size
        if all(b - a >= needed for a, b in pairwise(places)):
            return most
    return 1


def title_lines(title: str, length: float, size: float = FONT) -> list[str]:
    """The title of an axis in a line, or in two where it is longer than the axis.

    >>> title_lines("share of the samples that are predicted right", 260)
    ['share of the samples that are', 'predicted right']
    """
    return wrapped(title, length, size, 2) or [fitted(title, length, size)]


def room_below(title: str, length: float) -> float:
    """How much room an axis needs below it, for its numbers and its title."""
    return 31.0 + 17.0 * len(title_lines(title, length))


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
    middle = (scale.start + scale.end) / 2
    for place, line in enumerate(title_lines(title, abs(scale.end - scale.start), size)):
        y = bottom + (38 + 17 * place) * spacing
        element("text", axis, line, class_="title", x=middle, y=y, text_anchor="middle")


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
    return _key(number, label, [element("path", class_=f"mark {colour(number)}", d=point(9, 9, number, 4.5))])


def key_of_bars(number: int, label: str) -> Key:
    square = element("path", class_=f"mark {colour(number)}", d=rectangle(1, 2, 16, 14))
    return _key(number, label, [square, element("path", class_="hatch", d=hatching(number, 1, 2, 16, 14))])


def key_of_lines(number: int, label: str) -> Key:
    line = element("path", class_=f"line {colour(number)}", d="M0 9H34", stroke_dasharray=dashes(number))
    sign = element("path", class_=f"mark {colour(number)}", d=point(17, 9, number, 3.5))
    return _key(number, label, [line, sign], width=34)


def _key(number: int, label: str, parts: list[Element], width: int = 18) -> Key:
    root = element("svg", viewBox=f"0 0 {width} 18", width=width, height=18, aria_hidden="true", focusable="false")
    root.extend(parts)
    return Key(number, one_line(label, 120) or DASH, markup(root))
