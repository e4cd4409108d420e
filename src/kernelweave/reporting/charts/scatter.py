"""`Scatter`: points in a plane, with a symbol and a colour for each group."""

from __future__ import annotations

from ..blocks import Scatter
from ..detail import Detail, evenly
from .frame import WIDE, Drawing, begin, key_of_points, mark, point, tip, x_axis, y_axis
from .scales import Scale, can_draw
from .svg import element, markup
from .symbols import colour

_LEFT, _TOP, _RIGHT, _BASE, _HEIGHT = 80.0, 44.0, 706.0, 500.0, 562.0
_LARGE = 25.0  # the font in narrow places (`style.css`), where the picture is scaled down


def draw_scatter(chart: Scatter, detail: Detail, name: str) -> Drawing:
    """The chart for all places (its points would be too many to be drawn twice)."""
    there = [i for i in range(len(chart.x)) if can_draw(chart.x[i]) and can_draw(chart.y[i])]
    shown = evenly(there, detail.points)
    if not shown:
        return Drawing({})
    xs = Scale([chart.x[i] for i in shown], _LEFT, _RIGHT)
    ys = Scale([chart.y[i] for i in shown], _BASE, _TOP)
    root = begin(chart, name, WIDE, _HEIGHT)
    y_axis(root, ys, _LEFT, _RIGHT, title=chart.y_axis)
    x_axis(root, xs, _TOP, _BASE, title=chart.x_axis, size=_LARGE)
    radius = 5.0 if len(shown) <= 150 else 4.2 if len(shown) <= 600 else 3.4
    used = sorted({chart.group[i] for i in shown})
    for number in used:
        group = element("g", root, class_=f"row group {colour(number)}", data_group=number)
        for i in sorted((i for i in shown if chart.group[i] == number), key=lambda i: chart.x[i]):
            about = chart.about[i] if chart.about else ""
            text = tip(chart.label[i], chart.groups[number], about, longest=detail.text)
            mark(group, point(xs(chart.x[i]), ys(chart.y[i]), number, radius), text)
    keys = [key_of_points(number, chart.groups[number]) for number in used] if len(chart.groups) > 1 else []
    count = f"{len(shown):,} of {len(chart.x):,} points are drawn, evenly spread over the list."
    return Drawing({"any": markup(root)}, keys, notes=[count] if len(shown) < len(chart.x) else [])
