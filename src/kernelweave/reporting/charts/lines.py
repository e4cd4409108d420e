"""`Lines`: lines over a common axis, with a dash pattern, a symbol and a colour for each."""

from __future__ import annotations

from ..blocks import Line, Lines
from ..detail import Detail, evenly
from ..formatting import write_cell
from .frame import FONT, WIDE, Drawing, begin, for_both, key_of_lines, mark, point, tip, x_axis, y_axis
from .scales import LogScale, Scale, can_draw
from .svg import Element, element, text_width
from .symbols import colour, dashes

_TOP, _SYMBOLS = 34.0, 12  # symbols along a line, at most


def draw_lines(chart: Lines, detail: Detail, name: str) -> Drawing:
    """The chart for both places; of each line at most ``detail.marks`` points are drawn."""
    if not any(_can_draw(chart, x, y) for line in chart.lines for x, y in zip(line.x, line.y, strict=True)):
        return Drawing({})
    several = len(chart.lines) > 1
    keys = [key_of_lines(number, line.label) for number, line in enumerate(chart.lines)] if several else []
    longest = max(len(line.x) for line in chart.lines)
    notes = [f"Of each line at most {detail.marks} points are drawn."] if longest > detail.marks else []
    if chart.log and any(can_draw(y) and y <= 0 for line in chart.lines for y in line.y):
        notes.append("Numbers that are not positive have no place on the logarithmic axis.")
    return Drawing(for_both(lambda width: _draw(chart, width, f"{name}-{width:.0f}", detail)), keys, notes=notes)


def _can_draw(chart: Lines, x: float, y: float) -> bool:
    return can_draw(x) and can_draw(y) and (y > 0 or not chart.log)


def _draw(chart: Lines, width: float, name: str, detail: Detail) -> Element:
    base = 380.0 if width == WIDE else 260.0
    points = [(x, y) for line in chart.lines for x, y in zip(line.x, line.y, strict=True) if _can_draw(chart, x, y)]
    ys = (LogScale if chart.log else Scale)([y for _, y in points], base, _TOP)
    left = max(text_width(ys.label(value, 5), FONT) for value in [*ys.ticks(5), points[0][1]][:20]) + 18
    finest = 1.0 if all(x == round(x) for x, _ in points) else 0.0  # counts, such as steps
    xs = Scale([x for x, _ in points], left, width - 16, room=0.02, finest=finest)
    root = begin(chart, name, width, base + 48)
    y_axis(root, ys, left, width - 10, title=chart.y_axis)
    x_axis(root, xs, _TOP, base, title=chart.x_axis)
    for number, line in enumerate(chart.lines):
        group = element("g", root, class_=f"row group {colour(number)}", data_group=number)
        _draw_line(group, chart, line, number, xs, ys, detail)
    return root


def _draw_line(group: Element, chart: Lines, line: Line, number: int, xs: Scale, ys: Scale, detail: Detail) -> None:
    shown = evenly(range(len(line.x)), detail.marks)
    path, is_open = [], False
    for i in shown:
        if _can_draw(chart, line.x[i], line.y[i]):
            path.append(f"{'L' if is_open else 'M'}{xs(line.x[i]):.1f} {ys(line.y[i]):.1f}")
            is_open = True
        else:
            is_open = False  # a gap
    element("path", group, class_="line", d="".join(path), stroke_dasharray=dashes(number))
    drawn = [i for i in shown if _can_draw(chart, line.x[i], line.y[i])]
    with_symbol = set(evenly(drawn, _SYMBOLS))
    for i in drawn:
        where = f"{chart.x_axis}: {write_cell(line.x[i], 'number')}"
        text = tip(line.label, where, f"{chart.y_axis}: {write_cell(line.y[i], 'number')}", longest=detail.text)
        kind = "mark" if i in with_symbol else "mark ghost"
        mark(group, point(xs(line.x[i]), ys(line.y[i]), number, 3.8), text, kind=kind)
