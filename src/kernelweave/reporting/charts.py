"""Charts as SVG: dots with spreads, stacked bars, points, lines and matrices; every text in them is escaped."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from .content import Bars, Chart, Dot, Dots, Heatmap, Line, Lines, Scatter
from .formatting import DASH, Detail, evenly, without_minus_zero, write_cell, write_column
from .svg import (
    FONT,
    WIDE,
    Drawing,
    Element,
    LogScale,
    Scale,
    begin,
    can_draw,
    colour,
    dashes,
    element,
    finite,
    fitted,
    for_both,
    hatching,
    key_of_bars,
    key_of_lines,
    key_of_points,
    mark,
    markup,
    point,
    rectangle,
    room_below,
    text_width,
    tip,
    wrapped,
    x_axis,
    y_axis,
)


def draw(chart: Chart, detail: Detail, name: str) -> Drawing:
    match chart:
        case Dots():
            return draw_dots(chart, detail, name)
        case Bars():
            return draw_bars(chart, detail, name)
        case Scatter():
            return draw_scatter(chart, detail, name)
        case Lines():
            return draw_lines(chart, detail, name)
        case Heatmap():
            return draw_heatmap(chart, detail, name)
    raise TypeError(f"there is no picture for {type(chart).__name__}")


def _place_of_labels(labels: Iterable[str], width: float) -> tuple[bool, float]:
    """Whether labels stand above their lines, as in narrow places, and how much room is left of the numbers."""
    if width < WIDE:
        return True, 10.0
    return False, min(max(text_width(label, FONT) for label in labels) + 18, 300.0)


def _write_label(row: Element, label: str, left: float, y: float, room: float | None) -> None:
    at, anchor, most = (left - 10, "end", left - 18) if room is None else (4.0, "start", room)
    element("text", row, fitted(label, most, FONT) or DASH, class_="label", x=at, y=y, text_anchor=anchor)


_DOTS_TOP = 26.0


def draw_dots(chart: Dots, detail: Detail, name: str) -> Drawing:
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
    pictures = for_both(lambda width: _dots(chart, shown, series, width, f"{name}-{width:.0f}", detail.text))
    return Drawing(pictures, keys, notes=notes)


def _dots(chart: Dots, rows: dict[str, list[Dot]], series: list[str], width: float, name: str, longest: int) -> Element:
    above, left = _place_of_labels(rows, width)
    values = write_column([dots[0].value for dots in rows.values()], chart.kind)
    written = dict(zip(rows, values, strict=True)) if len(series) < 2 else {}
    beside = max((text_width(text, FONT) for text in written.values()), default=0.0) + (14 if written else 10)
    height = max(26.0, 11.0 * len(series) + 8) + (18 if above else 0)
    bottom = _DOTS_TOP + height * len(rows)
    dots = [dot for one in rows.values() for dot in one]
    numbers = [value for dot in dots for value in (dot.value, dot.low, dot.high)]
    scale = Scale([*numbers, chart.reference], left + 4, width - beside, room=0.05)
    root = begin(chart, name, width, bottom + room_below(chart.axis, scale.end - scale.start))
    x_axis(root, scale, _DOTS_TOP, bottom, title=chart.axis, kind=chart.kind)
    for place, (label, own) in enumerate(rows.items()):
        y = _DOTS_TOP + height * place
        row = element("g", root, class_="row marked" if label in chart.marked else "row")
        if place:
            element("path", row, class_="grid", d=f"M0 {y:.2f}H{width:.0f}")
        if label in chart.marked:
            element("rect", row, class_="band", x=0, y=y + 1, width=width, height=height - 2, rx=4)
        middle = y + (18 + (height - 18) / 2 if above else height / 2)
        base = y + 15 if above else middle + 0.35 * FONT
        _write_label(row, label, left, base, width - 90 if above else None)
        if label in written:
            element("text", row, written[label], class_="value", x=width - 4, y=base, text_anchor="end")
        for dot in own:
            number = series.index(dot.series)
            offset = 11.0 * (number - (len(series) - 1) / 2)
            _draw_dot(row, chart, dot, number, scale, middle + offset, longest)
    if can_draw(chart.reference):
        _draw_reference(root, chart, scale, bottom, width)
    return root


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
    element("path", group, class_="line", d=f"M{x:.2f} {_DOTS_TOP - 6:.2f}V{bottom:.2f}", stroke_dasharray="4 3")
    text = fitted(chart.reference_label, width * 0.9, FONT)
    half = text_width(text, FONT) / 2
    at = min(max(x, half + 2), width - half - 2)
    element("text", group, text, x=at, y=_DOTS_TOP - 11, text_anchor="middle")


_BARS_TOP, _THICK = 10.0, 18.0


def draw_bars(chart: Bars, detail: Detail, name: str) -> Drawing:
    count = min(len(chart.labels), detail.marks)
    numbers = [value for row in chart.values[:count] for value in row] + [*(chart.totals or []), *(chart.truths or [])]
    if not any(can_draw(value) for value in numbers):
        return Drawing({})
    keys = [key_of_bars(number, label) for number, label in enumerate(chart.parts)] if len(chart.parts) > 1 else []
    notes = [f"The first {count} of {len(chart.labels)} bars are drawn."] if count < len(chart.labels) else []
    if chart.totals is not None:
        notes.append(f"The line across each bar marks: {chart.total_label or 'total'}.")
    if chart.truths is not None:
        notes.append(f"The ring marks: {chart.truth_label}.")
    if chart.starts is not None:
        notes.append(f"Each bar begins at: {chart.start_label}.")
    pictures = for_both(lambda width: _bars(chart, count, width, f"{name}-{width:.0f}", detail.text))
    return Drawing(pictures, keys, notes=notes)


def _bars(chart: Bars, count: int, width: float, name: str, longest: int) -> Element:
    labels = chart.labels[:count]
    above, left = _place_of_labels(labels, width)
    height = 28.0 + (16 if above else 0)
    bottom = _BARS_TOP + height * count
    scale = Scale(_ends(chart, count), left + 4, width - 14, room=0.02)
    root = begin(chart, name, width, bottom + room_below(chart.axis, scale.end - scale.start))
    x_axis(root, scale, _BARS_TOP, bottom, title=chart.axis, kind=chart.kind)
    for place, label in enumerate(labels):
        row = element("g", root, class_="row")
        y = _BARS_TOP + height * place
        middle = y + (16 + (height - 16) / 2 if above else height / 2)
        base = y + 13 if above else middle + 0.35 * FONT
        element("path", row, class_="zero", d=f"M{scale(_start(chart, place)):.2f} {y:.2f}v{height:.2f}")
        _write_label(row, label, left, base, width - 10 if above else None)
        _draw_parts(row, chart, place, scale, middle - _THICK / 2, longest)
    return root


def _start(chart: Bars, place: int) -> float:
    return chart.starts[place] if chart.starts is not None and can_draw(chart.starts[place]) else 0.0


def _ends(chart: Bars, count: int) -> list[float]:
    ends = [*(chart.totals or [])[:count], *(chart.truths or [])[:count]]
    for place, row in enumerate(chart.values[:count]):
        start, drawn = _start(chart, place), [value for value in row if can_draw(value)]
        ends += [start, start + sum(value for value in drawn if value > 0)]
        ends.append(start + sum(value for value in drawn if value < 0))
    return ends


def _draw_parts(row: Element, chart: Bars, place: int, scale: Scale, y: float, longest: int) -> None:
    about = chart.notes[place] if chart.notes else ""
    total = chart.totals[place] if chart.totals is not None else None
    truth = chart.truths[place] if chart.truths is not None else None
    last = f"{chart.total_label or 'total'}: {write_cell(total, chart.kind)}" if total is not None else ""
    sums = [_start(chart, place)] * 2  # where the negative parts end, and the positive ones
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
    if truth is not None and can_draw(truth):
        element("circle", row, class_="truth", cx=scale(truth), cy=y + _THICK / 2, r=5.5)


_LEFT, _SCATTER_TOP, _RIGHT, _BASE, _HEIGHT = 80.0, 44.0, 706.0, 500.0, 562.0
_NARROW_FONT = 25.0  # the font in narrow places (`style.css`), where the picture is scaled down


def draw_scatter(chart: Scatter, detail: Detail, name: str) -> Drawing:
    """The chart for all places (its points would be too many to be drawn twice)."""
    there = [i for i in range(len(chart.x)) if can_draw(chart.x[i]) and can_draw(chart.y[i])]
    shown = evenly(there, detail.points)
    if not shown:
        return Drawing({})
    xs = Scale([chart.x[i] for i in shown], _LEFT, _RIGHT)
    ys = Scale([chart.y[i] for i in shown], _BASE, _SCATTER_TOP)
    root = begin(chart, name, WIDE, _HEIGHT)
    y_axis(root, ys, _LEFT, _RIGHT, title=chart.y_axis)
    x_axis(root, xs, _SCATTER_TOP, _BASE, title=chart.x_axis, size=_NARROW_FONT)
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


_LINES_TOP, _SYMBOLS = 34.0, 12  # symbols along a line, at most


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
    return Drawing(for_both(lambda width: _lines(chart, width, f"{name}-{width:.0f}", detail)), keys, notes=notes)


def _can_draw(chart: Lines, x: float, y: float) -> bool:
    return can_draw(x) and can_draw(y) and (y > 0 or not chart.log)


def _lines(chart: Lines, width: float, name: str, detail: Detail) -> Element:
    base = 380.0 if width == WIDE else 260.0
    points = [(x, y) for line in chart.lines for x, y in zip(line.x, line.y, strict=True) if _can_draw(chart, x, y)]
    ys = (LogScale if chart.log else Scale)([y for _, y in points], base, _LINES_TOP)
    left = max(text_width(ys.label(value, 5), FONT) for value in [*ys.ticks(5), points[0][1]][:20]) + 18
    finest = 1.0 if all(x == round(x) for x, _ in points) else 0.0  # counts, such as steps
    xs = Scale([x for x, _ in points], left, width - 16, room=0.02, finest=finest)
    root = begin(chart, name, width, base + room_below(chart.x_axis, xs.end - xs.start))
    y_axis(root, ys, left, width - 10, title=chart.y_axis)
    x_axis(root, xs, _LINES_TOP, base, title=chart.x_axis)
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


_SMALL = 11.5  # font of the numbers in cells
_MIDDLE, _STRONG = 0.604, 0.823  # shares of the largest number beyond which dark mode and light mode change ink
_TALLEST, _LINES = 230.0, 3  # room for names of columns: turned, and not turned
_ROOM = 44.0  # of a column, before names of rows take it
_MANY_CELLS = 400  # cells, of which there are too many to be drawn twice


def draw_heatmap(chart: Heatmap, detail: Detail, name: str) -> Drawing:
    rows, columns = chart.rows[: detail.cells], chart.columns[: detail.cells]
    numbers = finite(value for row in chart.values[: len(rows)] for value in row[: len(columns)])
    if not numbers:
        return Drawing({})
    largest = max(abs(number) for number in numbers) or 1.0
    low = -largest if chart.signed or min(numbers) < 0 else 0.0
    notes = []
    if len(rows) < len(chart.rows) or len(columns) < len(chart.columns):
        of = f"{len(chart.rows)} rows and {len(chart.columns)} columns"
        notes.append(f"The first {len(rows)} rows and {len(columns)} columns of {of} are drawn.")
    if any(not can_draw(value) for row in chart.values[: len(rows)] for value in row[: len(columns)]):
        notes.append("Crossed cells are empty.")

    def picture(width: float) -> Element:
        return _heatmap(chart, rows, columns, largest, width, f"{name}-{width:.0f}", detail.text)

    is_large = len(rows) * len(columns) > _MANY_CELLS
    pictures = {"any": markup(picture(WIDE))} if is_large else for_both(picture)
    return Drawing(pictures, scale=_colour_scale(low, largest, chart.kind), notes=notes)


def _heatmap(
    chart: Heatmap, rows: list[str], columns: list[str], largest: float, width: float, name: str, longest: int
) -> Element:
    widest_row = max(text_width(name, FONT) for name in (*rows, chart.row_axis))
    left = min(widest_row + 16, max(0.3 * width, min(0.56 * width, width - 8 - _ROOM * len(columns))))
    widest = max(text_width(column, FONT) for column in columns)
    cell = min((width - left - 8) / len(columns), min(max(widest + 12, 84.0), 120.0))
    lines = [wrapped(column, cell - 6, FONT, _LINES) for column in columns]
    turned = not all(lines)
    room = min(widest + 6, _TALLEST) if turned else 16.0 * max(len(one) for one in lines)
    top = room + 8 + (FONT + 8 if chart.column_axis else 0)
    height = min(max(cell, 20.0), 28.0)
    drawn = finite(value for row in chart.values[: len(rows)] for value in row[: len(columns)])
    written = all(text_width(_short(value, chart.kind), _SMALL) <= cell - 3 for value in drawn)
    root = begin(chart, name, width, top + height * len(rows) + 8)
    head = element("g", root, class_="axis", aria_hidden="true")
    if chart.column_axis:
        text = fitted(chart.column_axis, width - left, FONT)
        element("text", head, text, class_="title", x=left, y=FONT)
    if chart.row_axis:
        element("text", head, fitted(chart.row_axis, left - 8, FONT), class_="title", x=2, y=top - 9)
    for place, column in enumerate(columns):
        x = left + cell * (place + 0.5)
        if turned:
            text = fitted(column, _TALLEST, FONT) or DASH
            element("text", head, text, transform=f"translate({x + 0.35 * FONT:.2f} {top - 8:.2f}) rotate(-90)")
            continue
        for number, line in enumerate(reversed(lines[place])):
            element("text", head, line, x=x, y=top - 9 - 16 * number, text_anchor="middle")
    for place, label in enumerate(rows):
        y = top + height * place
        row = element("g", root, class_="row")
        text = fitted(label, left - 12, FONT) or DASH
        element("text", row, text, class_="label", x=left - 8, y=y + height / 2 + 0.35 * FONT, text_anchor="end")
        for number, value in enumerate(chart.values[place][: len(columns)]):
            about = tip(label, columns[number], write_cell(value, chart.kind), longest=longest)
            text = _short(value, chart.kind) if written else ""
            _draw_cell(row, value, text, largest, (left + cell * number, y, cell, height), about)
    return root


def _draw_cell(
    row: Element, value: float | None, text: str, largest: float, place: tuple[float, float, float, float], about: str
) -> None:
    x, y, width, height = place
    path = rectangle(x + 0.75, y + 0.75, width - 1.5, height - 1.5)
    if value is None or not can_draw(value):
        mark(row, path, about, kind="cell empty")
        element("path", row, class_="cross", d=f"M{x + 3:.2f} {y + 3:.2f}L{x + width - 3:.2f} {y + height - 3:.2f}")
        return
    share = min(abs(value) / largest, 1.0)
    made = mark(row, path, about, kind="cell minus" if value < 0 else "cell plus")
    made.set("fill-opacity", f"{0.04 + 0.96 * share:.2f}")
    if text:
        look = "number strong" if share > _STRONG else "number middle" if share > _MIDDLE else "number"
        middle = y + height / 2 + 0.35 * _SMALL
        element("text", row, text, class_=look, x=x + width / 2, y=middle, text_anchor="middle")


def _short(value: float | None, kind: str) -> str:
    if value is None or not can_draw(value):
        return ""
    if kind == "percent":
        return without_minus_zero(f"{100 * value:.0f}")
    if kind in ("count", "seconds", "p-value"):
        return write_cell(value, kind)
    size = abs(value)
    if size == 0:
        return "0"
    return f"{value:.2f}" if 0.005 <= size < 10 else f"{value:.0f}" if 10 <= size < 1e4 else f"{value:.0e}"


def _colour_scale(low: float, high: float, kind: str) -> Markup:
    steps, size = 9, 16.0
    ends = [write_cell(low, kind), write_cell(high, kind)]
    before, after = (text_width(end, FONT) + 10 for end in ends)
    root = element("svg", viewBox=f"0 0 {before + steps * size + after:.0f} 18", height=18, class_="scale", role="img")
    element("title", root, f"Colours from {ends[0]} to {ends[1]}")
    element("text", root, ends[0], x=before - 6, y=13.5, text_anchor="end")
    for step in range(steps):
        value = low + (high - low) * step / (steps - 1)
        kind_of_cell = "cell minus" if value < -1e-12 * high else "cell plus"
        path = rectangle(before + step * size, 1.0, size, 16.0)
        element("path", root, class_=kind_of_cell, d=path, fill_opacity=f"{0.04 + 0.96 * abs(value) / high:.2f}")
    element("text", root, ends[1], x=before + steps * size + 6, y=13.5)
    return markup(root)
