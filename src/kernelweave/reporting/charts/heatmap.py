"""`Heatmap`: a matrix of numbers as shades of one colour, or of two where the sign matters."""

from __future__ import annotations

from markupsafe import Markup

from ..blocks import Heatmap
from ..detail import Detail
from ..formatting import DASH, write_cell
from .frame import FONT, WIDE, Drawing, begin, for_both, mark, rectangle, tip
from .scales import can_draw, finite
from .svg import Element, element, fitted, markup, text_width, wrapped

_SMALL = 11.5  # font of the numbers in cells
_MIDDLE, _STRONG = 0.604, 0.823  # shares of the largest number beyond which dark mode and light mode change ink
_TALLEST, _LINES = 150.0, 3  # room for names of columns: turned, and not turned
_LARGE = 400  # cells, of which there are too many to be drawn twice


def draw_heatmap(chart: Heatmap, detail: Detail, name: str) -> Drawing:
    """The chart for both places; rows and columns beyond ``detail.cells`` are left out."""
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
        return _draw(chart, rows, columns, largest, width, f"{name}-{width:.0f}", detail.text)

    is_large = len(rows) * len(columns) > _LARGE
    pictures = {"any": markup(picture(WIDE))} if is_large else for_both(picture)
    return Drawing(pictures, scale=_colour_scale(low, largest, chart.kind), notes=notes)


def _draw(
    chart: Heatmap, rows: list[str], columns: list[str], largest: float, width: float, name: str, longest: int
) -> Element:
    left = min(max(text_width(name, FONT) for name in (*rows, chart.row_axis)) + 16, 0.3 * width)
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
    """A number for a cell, where there is little room."""
    if value is None or not can_draw(value):
        return ""
    if kind == "percent":
        return f"{100 * value:.0f}"
    if kind in ("count", "seconds", "p-value"):
        return write_cell(value, kind)
    size = abs(value)
    if size == 0:
        return "0"
    return f"{value:.2f}" if 0.005 <= size < 10 else f"{value:.0f}" if 10 <= size < 1e4 else f"{value:.0e}"


def _colour_scale(low: float, high: float, kind: str) -> Markup:
    """The colours from the least to the largest number, with both written beside them."""
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
