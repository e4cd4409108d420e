"""Every chart is well-formed SVG with escaped texts and finite coordinates, whatever the numbers are."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from cases import each
from kernelweave.reporting.charts import draw
from kernelweave.reporting.content import Bars, Chart, Dot, Dots, Heatmap, Line, Lines, Scatter
from kernelweave.reporting.formatting import LEVELS, evenly
from kernelweave.reporting.svg import COLOURS, HATCHES, NARROW, WIDE, LogScale, Scale, hatching, symbol
from reporting.pages import NASTY, nasty, usual

DETAIL = LEVELS[0]
ABOUT = {"title": "Title", "description": "What is to be seen."}


def dots(values, labels=None) -> Dots:
    labels = labels or [f"row {place}" for place in range(len(values))]
    return Dots(**ABOUT, axis="score", dots=[Dot(n, v, v, v) for n, v in zip(labels, values, strict=True)])


def bars(values, labels=None) -> Bars:
    labels = labels or [f"row {place}" for place in range(len(values))]
    return Bars(**ABOUT, axis="part", labels=labels, parts=["a", "b"], values=[[v, -v] for v in values], totals=values)


def bars_with_truths(values, labels=None) -> Bars:
    truths = {"truths": values[::-1], "truth_label": "true value", "starts": values, "start_label": "mean"}
    return replace(bars(values, labels), **truths)


def scatter(values, labels=None) -> Scatter:
    labels = labels or [f"row {place}" for place in range(len(values))]
    group = [place % 2 for place in range(len(values))]
    return Scatter(**ABOUT, x=values, y=values, group=group, groups=["a", "b"], label=labels)


def lines(values, labels=None) -> Lines:
    steps = [float(place) for place in range(len(values))]
    return Lines(**ABOUT, x_axis="step", y_axis="gap", lines=[Line(n, steps, values) for n in labels or ["a"]])


def log_lines(values, labels=None) -> Lines:
    return replace(lines(values, labels), log=True)


def heatmap(values, labels=None) -> Heatmap:
    labels = labels or [f"row {place}" for place in range(len(values))]
    return Heatmap(**ABOUT, rows=labels, columns=["a", "b"], values=[[v, None] for v in values])


MAKERS = [dots, bars, bars_with_truths, scatter, lines, log_lines, heatmap]
SERIES = {
    "empty": [],
    "one": [0.5],
    "zero": [0.0, 0.0],
    "equal": [0.7, 0.7, 0.7],
    "negative": [-3.0, -1.0, -2.0],
    "not finite": [math.nan, 1.0, math.inf, -math.inf, 2.0],
    "only nan": [math.nan, math.nan],
    "huge": [1e308, -1e308, 1e300],
    "tiny": [5e-324, 1e-310, 2e-308],
    "tiniest": [0.0, 5e-324],
    "both": [1e-300, 1e300, 1.0],
    "close": [1e9, 1e9 + 1e-3],
    "whole": [1, 2, 3],
    "usual": [0.2, 0.5, 0.91],
}


def check(chart: Chart) -> list[ElementTree.Element]:
    """Parse all pictures of a chart; coordinates are numbers within the picture."""
    drawing = draw(chart, DETAIL, "b1-1")
    roots = [ElementTree.fromstring(str(picture)) for picture in drawing.pictures.values()]
    for root in roots:
        _, _, width, height = map(float, root.get("viewBox").split())
        assert width in (WIDE, NARROW) and height > 0
        assert root.get("role") == "img"
        ids = {root.get("aria-labelledby"): "title", root.get("aria-describedby"): "desc"}
        assert {one.get("id"): one.tag for one in root if one.get("id")} == ids
        for one in root.iter():
            text = " ".join(
                one.get(name, "") for name in ("d", "x", "y", "width", "height", "transform", "fill-opacity")
            )
            assert not re.search("nan|inf", text), text
        for mark in (one for one in root.iter() if "m" in one.get("class", "").split()):
            assert mark.get("data-tip")
            x, y = map(float, re.match(r"M(-?[\d.]+) (-?[\d.]+)", mark.get("d")).groups())
            assert -1 <= x <= width + 1 and -1 <= y <= height + 1
    return roots


def marks(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [one for one in root.iter() if "m" in one.get("class", "").split()]


@each("make", MAKERS)
@each("name", SERIES)
def test_any_numbers_can_be_drawn(make, name):
    roots = check(make(SERIES[name]))
    can = any(math.isfinite(v) and (v > 0 or make is not log_lines) for v in SERIES[name])
    assert bool(roots) == can


@pytest.mark.parametrize("make", MAKERS)
def test_any_names_can_be_drawn_and_stay_text(make):
    chart = replace(make([0.5] * len(NASTY), NASTY), title=NASTY[0], description=NASTY[3])
    drawing = draw(chart, DETAIL, "b1-1")
    for root in check(chart):
        assert {one.tag for one in root.iter()} <= {"svg", "title", "desc", "g", "path", "text", "rect", "circle"}
        assert next(iter(root)).text == NASTY[0]
        assert any("<script>alert(1)</script>" in mark.get("data-tip") for mark in marks(root))
    for picture in drawing.pictures.values():
        assert "<script" not in picture and "<img" not in picture and "]]>" not in picture
        assert "\ud800" not in picture and "\x00" not in picture
        assert len(picture) < 40_000


@pytest.mark.parametrize("make", MAKERS)
def test_marks_tell_label_and_number(make):
    root = check(make([0.25, 0.5, 0.75], None))[0]
    assert "0.25" in marks(root)[0].get("data-tip") or make is scatter
    expected = {dots: 3, bars: 6, bars_with_truths: 6, scatter: 3, lines: 3, log_lines: 3, heatmap: 6}[make]
    assert len(marks(root)) == expected


def test_places_are_in_proportion_to_the_numbers():
    root = check(dots([0.0, 0.25, 1.0]))[0]
    xs = [float(mark.get("d").split()[0][1:]) for mark in marks(root)]
    assert (xs[1] - xs[0]) / (xs[2] - xs[0]) == pytest.approx(0.25, abs=0.001)
    root = check(log_lines([1.0, 0.1, 1e-4]))[0]
    ys = [float(re.match(r"M\S+ ([\d.]+)", mark.get("d"))[1]) for mark in marks(root)]
    assert (ys[1] - ys[0]) / (ys[2] - ys[0]) == pytest.approx(0.25, abs=0.002)


def test_bars_are_stacked_to_both_sides_of_zero():
    chart = Bars(**ABOUT, axis="", labels=["a"], parts=["p", "q", "r"], values=[[2.0, -1.0, 1.0]])
    spans = []
    for mark in marks(check(chart)[0]):
        x, width = map(float, re.match(r"M(\S+) \S+?h([\d.]+)v", mark.get("d")).groups())
        spans.append((x, x + width))
    (p, q, r) = spans
    assert q[1] <= p[0] and p[1] <= r[0]  # the negative part left of 0, the positive ones after each other
    assert (p[1] - p[0] + 1) / (r[1] - r[0] + 1) == pytest.approx(2, rel=0.01)


def test_groups_differ_in_more_than_colour():
    signs = {(number % COLOURS, symbol(number, 4.0)) for number in range(56)}
    assert len(signs) == 56
    assert len({symbol(number, 4.0) for number in range(8)}) == 8
    assert len({hatching(number, 0, 0, 30, 18) for number in range(len(HATCHES))}) == len(HATCHES)


@pytest.mark.parametrize("number", range(len(HATCHES)))
def test_hatching_stays_inside_its_rectangle(number):
    places = re.findall(r"[ML](\S+?) ([^ML]+)", hatching(number, 10, 20, 33, 18))
    assert bool(places) == (number > 0)
    assert all(10 <= float(x) <= 43 and 20 <= float(y) <= 38 for x, y in places)


def test_thirty_classes_have_thirty_entries_in_the_legend():
    names = [f"class {number}" for number in range(30)]
    values = [float(number) for number in range(60)]
    group = [number % 30 for number in range(60)]
    chart = Scatter(**ABOUT, x=values, y=values, group=group, groups=names, label=names * 2)
    drawing = draw(chart, DETAIL, "n")
    assert [key.label for key in drawing.keys] == names
    assert len({key.sign for key in drawing.keys}) == 30
    heat = Heatmap(**ABOUT, rows=names, columns=names, values=[[1.0] * 30] * 30)
    assert len(marks(check(heat)[0])) == 900


def test_what_is_not_drawn_is_said():
    many = [float(number) for number in range(5000)]
    assert "of 5,000 points are drawn" in draw(scatter(many), DETAIL, "n").notes[0]
    assert "of 5000 lines are drawn" in draw(dots(many), DETAIL, "n").notes[0]
    assert "of 5000 bars are drawn" in draw(bars(many), DETAIL, "n").notes[0]
    assert "of 5000 rows" in draw(heatmap(many), DETAIL, "n").notes[0]
    assert "points are drawn" in draw(lines(many), DETAIL, "n").notes[0]
    assert "not positive" in draw(log_lines([1.0, -1.0]), DETAIL, "n").notes[0]
    assert not draw(scatter(many[:100]), DETAIL, "n").notes


def test_ticks_are_round_and_within_the_axis():
    scale = Scale([0.91, 0.97], 0, 100)
    assert [scale.label(tick, 5, "percent") for tick in scale.ticks(5)] == ["92 %", "94 %", "96 %"]
    assert Scale([-2.2, 3.1], 0, 100).ticks(5)[0] == pytest.approx(-2)
    assert [LogScale([1e-6, 1.0], 0, 1).label(tick, 5) for tick in LogScale([1e-6, 1.0], 0, 1).ticks(5)] == [
        "10⁻⁶",
        "10⁻⁴",
        "0.01",
        "1",
    ]
    assert Scale([1, 3], 0, 100, finest=1).ticks(8) == [1, 2, 3]
    for values in SERIES.values():
        axis = Scale(values, 10, 90)
        assert axis.low < axis.high
        for tick in axis.ticks(5):
            assert 10 <= axis(tick) <= 90
            assert len(axis.label(tick, 5)) <= 14


def test_evenly_spread_items_keep_the_ends():
    assert evenly([1, 2, 3], 5) == [1, 2, 3]
    chosen = evenly(list(range(1000)), 100)
    assert chosen[0] == 0 and chosen[-1] == 999 and len(set(chosen)) == 100


@pytest.mark.parametrize("make", [usual, nasty])
def test_the_charts_of_whole_reports(make):
    for section in make().sections:
        for block in section.blocks:
            if isinstance(block, Chart):
                assert check(block)


@pytest.mark.parametrize("label", ["protein", "protein-gaussian", "gradient boosting", "x" * 25])
def test_labels_that_decide_the_width_of_their_column_are_not_cut(label):
    for chart in (dots([1.0, 2.0], [label, "rna"]), bars([1.0, 2.0], [label, "rna"])):
        assert f">{label}</text>" in draw(chart, DETAIL, "c").pictures["wide"]


def test_numbers_beside_dots_have_the_same_decimals():
    picture = draw(dots([0.8508, 0.746, -0.008376]), DETAIL, "c").pictures["wide"]
    assert re.findall(r'class="value"[^>]*>([^<]*)<', picture) == ["0.8508", "0.7460", "-0.0084"]


def test_true_values_are_marked_beside_predictions_and_bars_begin_where_they_say():
    chart = Bars(
        **ABOUT,
        axis="prediction",
        labels=["a", "b"],
        parts=["x", "y"],
        values=[[2.0, -1.0], [3.0, 1.0]],
        totals=[11.0, 14.0],
        total_label="prediction",
        truths=[12.0, 9.0],
        truth_label="true value",
        starts=[10.0, 10.0],
        start_label="mean prediction",
    )
    drawing = draw(chart, DETAIL, "c")
    for picture in drawing.pictures.values():
        root = ElementTree.fromstring(picture)
        rings = [float(one.get("cx")) for one in root.iter() if one.get("class") == "truth"]
        lines_across = [float(one.get("d")[1:].split()[0]) for one in root.iter() if one.get("class") == "total"]
        zeros = [float(one.get("d")[1:].split()[0]) for one in root.iter() if one.get("class") == "zero"]
        assert zeros[0] == zeros[1]
        unit = (lines_across[1] - zeros[1]) / 4.0  # of 1 on the axis
        assert lines_across[0] - zeros[0] == pytest.approx(unit, abs=0.05)
        assert [ring - zeros[0] for ring in rings] == pytest.approx([2 * unit, -unit], abs=0.05)
    assert "The ring marks: true value." in drawing.notes and "Each bar begins at: mean prediction." in drawing.notes
    names = [column.name for column in chart.table().columns]
    assert names == ["name", "mean prediction", "x", "y", "prediction", "true value"]
    assert chart.table().rows[1] == ["b", 10.0, 3.0, 1.0, 14.0, 9.0]


def texts_of(picture, kind):
    return [one.text for one in ElementTree.fromstring(picture).iter() if one.get("class") == kind]


@pytest.mark.parametrize("make", [dots, bars, lines])
def test_long_titles_of_axes_are_whole_in_narrow_places(make):
    title = "fall of the balanced accuracy where a view is exchanged"
    chart = replace(make([0.1, 0.5]), **{"x_axis" if make is lines else "axis": title})
    for picture in draw(chart, DETAIL, "c").pictures.values():
        assert " ".join(texts_of(picture, "title")[-2:]).endswith(title)
        root = ElementTree.fromstring(picture)
        height = float(root.get("viewBox").split()[3])
        assert all(float(one.get("y")) < height - 4 for one in root.iter() if one.get("class") == "title")


def test_names_of_views_are_whole_in_narrow_places():
    names = ["morphological features", "gene expression (RNA)", "clinical"]
    chart = Heatmap(**ABOUT, rows=names, columns=names, values=[[0.1, 0.2, 0.3]] * 3)
    for picture in draw(chart, DETAIL, "c").pictures.values():
        assert "\u2026" not in picture
    for picture in draw(
        dots([0.1, 0.2, 0.3], [*names[:2], "morphological features alone"]), DETAIL, "c"
    ).pictures.values():
        assert "\u2026" not in picture
