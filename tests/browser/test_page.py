"""The saved page in a browser: drawn at every width and in dark mode, sortable, reachable by keyboard, printable.

It takes half a minute because each test opens a page in a browser.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from kernelweave.reporting.page import Report
from reporting.pages import NASTY, large, nasty, usual

WIDTHS = (360, 820, 1400)
SECTIONS = ["methods", "views", "weights", "gates", "contributions", "certificates", "data", "cite", "how-it-was-made"]


@pytest.fixture(scope="module")
def html():
    return {make.__name__: Report(make()).to_html() for make in (usual, nasty, large)}


def channels(colour: str) -> list[int]:
    """Red, green and blue of a colour as the browser computes it, ``rgb(0, 114, 178)``."""
    return [int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")[:3]]


def luminance(colour: str) -> float:
    parts = [part / 255 for part in channels(colour)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def computed(locator, name: str) -> str:
    return locator.evaluate(f"element => getComputedStyle(element).getPropertyValue('{name}')")


def column(page, number: int) -> list[str]:
    """The cells of a column of the first table, from top to bottom."""
    return page.locator("table").first.locator(f"tbody tr > :nth-child({number})").all_inner_texts()


# Of each chart that is shown: its size, the number of marks, and the least height of its texts.
ROOT = "document.querySelector('[data-kernelweave-report]').shadowRoot"
CHARTS = f"""() => Array.from({ROOT}.querySelectorAll("svg.chart"), chart => [chart.getBoundingClientRect(), chart])
  .filter(([box]) => box.width).map(([box, chart]) => [box.width, box.height, chart.querySelectorAll(".m").length,
    Math.min(...Array.from(chart.querySelectorAll("text:not([transform])"), one => one.getBoundingClientRect().height))
  ])"""
SHOWN = f"""() => Array.from({ROOT}.querySelectorAll("section"),
  section => [section.dataset.section, section.getBoundingClientRect().height > 80])"""
FOCUSED = f"""() => {{ const one = {ROOT}.activeElement;
  return one ? one.tagName.toLowerCase() + "." + (one.getAttribute("class") || "").split(" ")[0] : "" }}"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name, scheme", [("usual", "light"), ("usual", "dark"), ("nasty", "light")])
def test_every_section_is_drawn_at_every_width(visit, html, name, width, scheme):
    page = visit(html[name], width=width, color_scheme=scheme).page
    assert page.evaluate(SHOWN) == [[section, True] for section in SECTIONS]
    charts = page.evaluate(CHARTS)
    assert len(charts) == 7
    for wide, high, marks, smallest in charts:
        assert min(width - 40, 560) <= wide <= width
        assert high > 100
        assert marks > 3
        assert smallest >= 10  # pixels, of a line of text
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_contrast(visit, html, scheme):
    page = visit(html["usual"], color_scheme=scheme).page
    back = computed(page.locator(".report"), "background-color")
    assert (luminance(back) < 0.05) == (scheme == "dark")
    for selector in (".lead", ".text", "td", ".note", "nav a", "figcaption p", "footer p", ".quiet td", ".quiet pre"):
        assert contrast(computed(page.locator(selector).first, "color"), back) >= 4.5, selector
    for number in range(5):
        mark = page.locator(f".bars .c{number} .m").first
        assert contrast(computed(mark, "fill"), back) >= 3, number
    assert contrast(computed(page.locator(".scatter .axis text").first, "fill"), back) >= 4.5


# Of each number in a cell of a heatmap: its colour, the cell's, and how much of that covers the background.
CELLS = f"""() => Array.from({ROOT}.querySelectorAll(".heatmap .number"), text => {{
  const cell = getComputedStyle(text.previousElementSibling);
  return [getComputedStyle(text).fill, cell.fill, Number(cell.fillOpacity)] }})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_in_cells_have_contrast(visit, html, scheme):
    page = visit(html["usual"], color_scheme=scheme).page
    back = channels(computed(page.locator(".report"), "background-color"))
    cells = page.evaluate(CELLS)
    assert len(cells) > 40
    for text, fill, share in cells:
        mixed = [share * own + (1 - share) * below for own, below in zip(channels(fill), back, strict=True)]
        assert contrast(text, f"rgb({', '.join(str(round(part)) for part in mixed)})") >= 4.5, (fill, share)


def test_a_page_with_thousands_of_points_is_drawn(visit, html):
    page = visit(html["large"], width=1400).page
    assert page.locator(".scatter .m").count() >= 1000
    assert len(html["large"].encode()) < 1_000_000


def test_tables_are_sorted_by_click(visit, html):
    page = visit(html["usual"]).page
    heading = page.locator("table").first.locator("th[scope=col]").nth(3)
    assert heading.get_attribute("aria-sort") is None
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert column(page, 4) == ["1,630", "1,210", "498", "455", "402", "312", "–", "–", "–"]
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column(page, 4) == ["312", "402", "455", "498", "1,210", "1,630", "–", "–", "–"]
    first = page.locator("table").first.locator("th[scope=col]").first
    first.locator("button").click()
    assert first.get_attribute("aria-sort") == "ascending"
    assert heading.get_attribute("aria-sort") is None
    assert column(page, 1) == sorted(column(page, 1))
    assert "ascending" in page.locator("#said").inner_text()


def test_tables_are_sorted_by_keyboard(visit, html):
    page = visit(html["usual"]).page
    times = page.locator("table").first.locator("th[scope=col] button").nth(4)
    times.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert column(page, 5) == ["90 ms", "0.4 s", "0.5 s", "0.8 s", "1.9 s", "3.4 s", "6.1 s", "8.8 s", "41 s"]
    p_values = page.locator("table").first.locator("th[scope=col] button").nth(5)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert p_values.evaluate("button => button.getRootNode().activeElement === button")
    assert column(page, 6)[-3:] == ["< 0.001", "< 0.001", "–"]


@pytest.mark.parametrize("width", [360, 1400])
def test_hovering_shows_the_text_of_a_mark(visit, html, width):
    page = visit(html["usual"], width=width).page
    tip = page.locator("#tip")
    assert tip.is_hidden()
    for kind in ("dots", "bars", "scatter", "lines", "heatmap"):
        mark = page.locator(f"svg.{kind}:visible .m").nth(1)
        mark.scroll_into_view_if_needed()
        mark.dispatch_event("pointerover")
        assert tip.is_visible()
        assert tip.inner_text() == mark.get_attribute("data-tip")
        box = tip.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_the_mouse_over_a_point_shows_the_sample(visit, html):
    page = visit(html["usual"]).page
    mark = page.locator(".scatter .m").last  # drawn above the others
    mark.hover()
    tip = page.locator("#tip")
    assert tip.locator("b").inner_text().startswith("sample ")
    assert "digit 5" in tip.inner_text() and "gate" in tip.inner_text()
    page.mouse.move(2, 2)
    assert tip.is_hidden()


def test_a_chart_is_one_tab_stop_and_arrows_move_inside(visit, html):
    page = visit(html["usual"]).page
    chart = page.locator("svg.scatter")
    assert chart.locator("[tabindex='0']").count() == 1
    chart.locator("[tabindex='0']").focus()
    tip = page.locator("#tip")
    assert tip.is_visible()
    focused = "chart => Array.from(chart.querySelectorAll('.m')).indexOf(chart.getRootNode().activeElement)"
    assert chart.evaluate(focused) == 0
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert chart.evaluate(focused) == 2
    page.keyboard.press("ArrowLeft")
    assert chart.evaluate(focused) == 1
    assert tip.inner_text() == chart.locator(".m").nth(1).get_attribute("data-tip")
    assert chart.locator(".m").nth(1).get_attribute("aria-label")
    assert chart.locator("[tabindex='0']").count() == 1
    page.keyboard.press("ArrowDown")
    assert chart.evaluate("chart => chart.getRootNode().activeElement.closest('.row').dataset.group") == "1"
    page.keyboard.press("ArrowUp")
    assert chart.evaluate("chart => chart.getRootNode().activeElement.closest('.row').dataset.group") == "0"
    page.keyboard.press("End")
    assert chart.evaluate(focused) == chart.locator(".m").count() - 1
    page.keyboard.press("Home")
    assert chart.evaluate(focused) == 0
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    page.keyboard.press("Tab")
    assert chart.evaluate(focused) == -1


def test_everything_is_reached_by_the_tab_key(visit, html):
    page = visit(html["usual"]).page
    seen = []
    for _ in range(120):
        page.keyboard.press("Tab")
        name = page.evaluate(FOCUSED)
        if not name and seen:
            break
        seen.append(name)
    assert seen[0] == "a.skip"
    assert seen.count("path.m") == 7
    assert seen.count("summary.") == 7
    assert seen.count("button.key") == 2 + 6 + 5 + 4
    assert seen.count("a.") == len(SECTIONS)
    assert len(seen) < 100


def test_focus_is_visible(visit, html):
    page = visit(html["usual"]).page
    page.keyboard.press("Tab")
    skip = page.locator("a.skip")
    assert skip.bounding_box()["x"] >= 0
    page.keyboard.press("Tab")
    assert computed(page.locator("nav a").first, "outline-style") == "solid"


def test_the_legend_lights_a_group(visit, html):
    page = visit(html["usual"]).page
    figure = page.locator("figure", has=page.locator("svg.scatter"))
    chart, key = figure.locator("svg.scatter"), figure.locator(".key").nth(2)
    key.hover()
    assert chart.locator(".group.lit").count() == 1
    assert chart.locator(".group.lit").get_attribute("data-group") == "2"
    page.wait_for_timeout(200)
    assert float(computed(chart.locator(".group").first, "opacity")) < 0.3
    page.mouse.move(2, 2)
    assert chart.locator(".group.lit").count() == 0
    key.focus()
    assert chart.locator(".group.lit").count() == 1
    page.keyboard.press("Enter")
    assert key.get_attribute("aria-pressed") == "true"
    key.evaluate("key => key.blur()")
    assert chart.locator(".group.lit").count() == 1
    key.click()
    assert key.get_attribute("aria-pressed") == "false"


def test_links_lead_to_their_sections(visit, html):
    page = visit(html["usual"]).page
    page.locator("nav a", has_text="Certificates").click()
    heading = page.locator("h2#h-certificates")
    assert heading.evaluate("heading => heading.getRootNode().activeElement === heading")
    assert 0 <= heading.bounding_box()["y"] < 200
    page.locator("a.skip").focus()
    page.keyboard.press("Enter")
    assert 0 <= page.locator("h2#h-methods").bounding_box()["y"] < 200


def test_an_address_with_a_section_opens_there(visit, html):
    page = visit(html["usual"], fragment="#gates").page
    page.wait_for_timeout(100)
    assert 0 <= page.locator("h2#h-gates").bounding_box()["y"] < 200


def test_numbers_behind_a_chart_can_be_opened_by_keyboard(visit, html):
    page = visit(html["usual"]).page
    figure = page.locator("figure").first
    assert figure.locator("table").is_hidden()
    figure.locator("summary").focus()
    page.keyboard.press("Enter")
    assert figure.locator("table").is_visible()
    assert figure.locator("tbody tr").count() == 9
    assert "97.1\xa0%" in figure.locator("tbody tr").first.inner_text()
    figure.locator("thead button").nth(2).click()
    assert figure.locator("thead th").nth(2).get_attribute("aria-sort") == "descending"


def test_headings_landmarks_and_names(visit, html):
    page = visit(html["usual"]).page
    levels = [int(h.evaluate("h => h.tagName")[1]) for h in page.locator("h1, h2, h3").all()]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for landmark in ("header", "nav", "main", "footer"):
        assert page.locator(landmark).count() == 1
    for chart in page.locator("svg.chart").all():
        assert chart.get_attribute("role") == "group"
        assert chart.get_attribute("aria-label")
        assert page.locator(f"#{chart.get_attribute('aria-describedby')}").count() == 1
    ids = page.evaluate(f"Array.from({ROOT}.querySelectorAll('[id]'), element => element.id)")
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_print_is_black_on_white_and_whole(visit, html, scheme):
    page = visit(html["usual"], color_scheme=scheme).page
    page.locator("figure").first.locator("summary").click()
    page.emulate_media(media="print", color_scheme=scheme)
    assert computed(page.locator(".report"), "background-color") == "rgb(255, 255, 255)"
    assert computed(page.locator(".lead"), "color") == "rgb(0, 0, 0)"
    assert page.locator("nav").is_hidden()
    assert page.locator("figure").first.locator("table").is_visible()
    assert page.locator("figure").nth(1).locator("table").is_hidden()
    for chart in page.locator("svg.chart:visible").all():
        assert chart.bounding_box()["height"] < 900  # of a page
    assert len(page.pdf(format="A4")) > 20_000


def test_without_scripts_everything_but_sorting_and_hovering_is_there(visit, html):
    page = visit(html["usual"], java_script_enabled=False).page
    notice = page.locator("noscript .notice")
    assert notice.is_visible()
    assert "sorting and hovering need scripts; everything else is here" in notice.inner_text()
    assert page.locator("section").count() == len(SECTIONS)
    assert page.locator("svg.chart:visible").count() == 7
    assert page.locator("svg.chart").first.get_attribute("role") == "img"
    page.locator("summary").first.click()
    assert page.locator("figure table").first.is_visible()
    page.locator("nav a", has_text="Data").click()
    page.wait_for_timeout(100)
    assert 0 <= page.locator("h2#h-data").bounding_box()["y"] < 200


def test_the_message_about_scripts_is_not_shown_where_they_run(visit, html):
    page = visit(html["usual"]).page
    assert page.locator(".notice").count() == 0


def test_names_that_look_like_markup_are_only_text(visit, html):
    visited = visit(html["nasty"])
    page = visited.page
    page.wait_for_timeout(200)
    for selector in ("#injected", "img", "main script", "svg script", "[onerror]", "template"):
        assert page.locator(selector).count() == 0, selector
    assert page.locator("h1").inner_text() == NASTY[0] + NASTY[4]
    assert page.title() == NASTY[0] + NASTY[4]
    assert NASTY[1] in column(page, 1)
    mark = page.locator(".dots .m").nth(1)
    mark.dispatch_event("pointerover")
    assert page.locator("#tip b").inner_text() == NASTY[1]
    assert page.locator("#tip").evaluate("tip => Array.from(tip.children, one => one.tagName)")[0] == "B"


def test_the_policy_forbids_scripts_and_requests(visit, html):
    page = visit(html["usual"], quiet=False).page
    page.evaluate("""() => { const one = document.createElement('script'); one.textContent = 'window.bad = 1';
        document.body.append(one); }""")
    assert page.evaluate("window.bad") is None
    assert page.evaluate("fetch('data:text/plain,x').then(() => 'sent', () => 'refused')") == "refused"
