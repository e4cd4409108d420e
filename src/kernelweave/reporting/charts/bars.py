"""`Bars`: horizontal bars of stacked parts, to both sides of 0."""

from __future__ import annotations

from ..blocks import Bars
from ..detail import Detail
from ..formatting import DASH, write_cell
from .frame import FONT, WIDE, Drawing, begin, for_both, key_of_bars, mark, rectangle, tip, x_axis
from .scales import Scale, can_draw
from .svg import Element, element, fitted, text_width
from .symbols import colour, hatching

_TOP, _BOTTOM, _THICK = 10.0, 48.0, 18.0


def draw_bars(chart: Bars, detail: Detail, name: str) -> Drawing:
    """The chart for both places; bars beyond ``detail.marks`` are left out."""
    count = min(len(chart.labels), detail.marks)
    numbers = [value for row in chart.values[:count] for value in row] + list(chart.totals or [])
    if not any(can_draw(value) for value in numbers):
        return Drawing({})
    keys = [key_of_bars(number, label) for number, label in enumerate(chart.parts)] if len(chart.parts) > 1 else []
    notes = [f"The first {count} of {len(chart.labels)} bars are drawn."] if count < len(chart.labels) else []
    if chart.totals is not None:
        notes.append(f"The line across each bar marks: {chart.total_label or 'total'}.")
    pictures = for_both(lambda width: _draw(chart, count, width, f"{name}-{width:.0f}", detail.text))
    return Drawing(pictures, keys, notes=notes)


def _draw(chart: Bars, count: int, width: float, name: str, longest: int) -> Element:
    above = width < WIDE
    labels = chart.labels[:count]
    left = 10.0 if above else min(max(text_width(label, FONT) for label in labels) + 18, 230.0)
    height = 28.0 + (16 if above else 0)
    bottom = _TOP + height * count
    root = begin(chart, name, width, bottom + _BOTTOM)
    scale = Scale([0.0, *_ends(chart, count)], left + 4, width - 14, room=0.02)
    x_axis(root, scale, _TOP, bottom, title=chart.axis, kind=chart.kind)
    element("path", root, class_="zero", d=f"M{scale(0.0):.2f} {_TOP:.2f}V{bottom:.2f}")
    for place, label in enumerate(labels):
        row = element("g", root, class_="row")
        y = _TOP + height * place
        middle = y + (16 + (height - 16) / 2 if above else height / 2)
        at, anchor, room = (4.0, "start", width - 10) if above else (left - 10, "end", left - 18)
        base = y + 13 if above else middle + 0.35 * FONT
        element("text", row, fitted(label, room, FONT) or DASH, class_="label", x=at, y=base, text_anchor=anchor)
        _draw_parts(row, chart, place, scale, middle - _THICK / 2, longest)
    return root


def _ends(chart: Bars, count: int) -> list[float]:
    """How far the bars reach to both sides, and the totals."""
    ends = list(chart.totals or [])[:count]
    for row in chart.values[:count]:
        drawn = [value for value in row if can_draw(value)]
        ends += [sum(value for value in drawn if value > 0), sum(value for value in drawn if value < 0)]
    return ends


def _draw_parts(row: Element, chart: Bars, place: int, scale: Scale, y: float, longest: int) -> None:
    about = chart.notes[place] if chart.notes else ""
    total = chart.totals[place] if chart.totals is not None else None
    last = f"{chart.total_label or 'total'}: {write_cell(total, chart.kind)}" if total is not None else ""
    sums = [0.0, 0.0]  # of the negative parts, of the positive parts
    for number, value in enumerate(chart.values[place]):
        if not can_draw(value) or value == 0:
            continue
        side = int(value > 0)
        ends = sorted((scale(sums[side]), scale(sums[side] + value)))
        sums[side] += value
        width = max(ends[1] - ends[0] - 1, 0.5)  # a gap between parts
        group = element("g", row, class_=f"group {colour(number)}", data_group=number)
        own = f"{chart.parts[number]}: {write_cell(value, chart.kind)}"
        text = tip(chart.labels[place], own, last, about, longest=longest)
        mark(group, rectangle(ends[0], y, width, _THICK), text, kind="mark")
        lines = hatching(number, ends[0], y, width, _THICK)
        if lines:
            element("path", group, class_="hatch", d=lines)
    if total is not None and can_draw(total):
        element("path", row, class_="total", d=f"M{scale(total):.2f} {y - 3:.2f}v{_THICK + 6:.2f}")
