"""`Dots`: numbers with spreads, one line for each label."""

from __future__ import annotations

from ..blocks import Dot, Dots
from ..detail import Detail
from ..formatting import DASH, write_cell, write_column
from .frame import FONT, WIDE, Drawing, begin, for_both, key_of_points, mark, point, tip, x_axis
from .scales import Scale, can_draw
from .svg import Element, element, fitted, text_width
from .symbols import colour

_TOP, _BOTTOM = 26.0, 48.0


def draw_dots(chart: Dots, detail: Detail, name: str) -> Drawing:
    """The chart for both places; labels beyond ``detail.marks`` are left out."""
    rows: dict[str, list[Dot]] = {}
    for dot in chart.dots:
        rows.setdefault(dot.label, []).append(dot)
    labels = list(rows)[: detail.marks]
    if not any(can_draw(dot.value) for label in labels for dot in rows[label]):
        return Drawing({})
    series = list(dict.fromkeys(dot.series for dot in chart.dots))
    keys = [key_of_points(number, label) for number, label in enumerate(series)] if len(series) > 1 else []
    notes = [f"The first {len(labels)} of {len(rows)} lines are drawn."] if len(labels) < len(rows) else []
    shown = {label: rows[label] for label in labels}
    pictures = for_both(lambda width: _draw(chart, shown, series, width, f"{name}-{width:.0f}", detail.text))
    return Drawing(pictures, keys, notes=notes)


def _draw(chart: Dots, rows: dict[str, list[Dot]], series: list[str], width: float, name: str, longest: int) -> Element:
    above = width < WIDE  # labels above their line
    values = write_column([dots[0].value for dots in rows.values()], chart.kind)
    written = dict(zip(rows, values, strict=True)) if len(series) < 2 else {}
    beside = max((text_width(text, FONT) for text in written.values()), default=0.0) + (14 if written else 10)
    left = 10.0 if above else min(max(text_width(label, FONT) for label in rows) + 18, 230.0)
    height = max(26.0, 11.0 * len(series) + 8) + (18 if above else 0)
    bottom = _TOP + height * len(rows)
    dots = [dot for one in rows.values() for dot in one]
    numbers = [value for dot in dots for value in (dot.value, dot.low, dot.high)]
    scale = Scale([*numbers, chart.reference], left + 4, width - beside, room=0.05)
    root = begin(chart, name, width, bottom + _BOTTOM)
    x_axis(root, scale, _TOP, bottom, title=chart.axis, kind=chart.kind)
    for place, (label, own) in enumerate(rows.items()):
        y = _TOP + height * place
        row = element("g", root, class_="row marked" if label in chart.marked else "row")
        if place:
            element("path", row, class_="grid", d=f"M0 {y:.2f}H{width:.0f}")
        if label in chart.marked:
            element("rect", row, class_="band", x=0, y=y + 1, width=width, height=height - 2, rx=4)
        middle = y + (18 + (height - 18) / 2 if above else height / 2)
        _write_names(row, label, written.get(label, ""), width, left, y + 15 if above else middle + 0.35 * FONT, above)
        for dot in own:
            number = series.index(dot.series)
            offset = 11.0 * (number - (len(series) - 1) / 2)
            _draw_dot(row, chart, dot, number, scale, middle + offset, longest)
    if can_draw(chart.reference):
        _draw_reference(root, chart, scale, bottom, width)
    return root


def _write_names(row: Element, label: str, value: str, width: float, left: float, y: float, above: bool) -> None:
    room = width - 90 if above else left - 18
    at, anchor = (4.0, "start") if above else (left - 10, "end")
    element("text", row, fitted(label, room, FONT) or DASH, class_="label", x=at, y=y, text_anchor=anchor)
    if value:
        element("text", row, value, class_="value", x=width - 4, y=y, text_anchor="end")


def _draw_dot(row: Element, chart: Dots, dot: Dot, number: int, scale: Scale, y: float, longest: int) -> None:
    if not can_draw(dot.value):
        return
    group = element("g", row, class_=f"group {colour(number)}", data_group=number)
    spread = ""
    if dot.low is not None and dot.high is not None and can_draw(dot.low) and can_draw(dot.high):
        low, high = scale(dot.low), scale(dot.high)
        ends = "".join(f"M{end:.2f} {y - 3:.2f}v6" for end in (low, high))
        element("path", group, class_="line", d=f"M{low:.2f} {y:.2f}H{high:.2f}{ends}")
        spread = f"from {write_cell(dot.low, chart.kind)} to {write_cell(dot.high, chart.kind)}"
    text = tip(dot.label, f"{chart.axis}: {write_cell(dot.value, chart.kind)}", spread, dot.series, longest=longest)
    mark(group, point(scale(dot.value), y, number, 5.0), text, kind="mark")


def _draw_reference(root: Element, chart: Dots, scale: Scale, bottom: float, width: float) -> None:
    assert chart.reference is not None
    x = scale(chart.reference)
    group = element("g", root, class_="reference")
    element("path", group, class_="line", d=f"M{x:.2f} {_TOP - 6:.2f}V{bottom:.2f}", stroke_dasharray="4 3")
    text = fitted(chart.reference_label, width * 0.9, FONT)
    half = text_width(text, FONT) / 2
    at = min(max(x, half + 2), width - half - 2)
    element("text", group, text, x=at, y=_TOP - 11, text_anchor="middle")
