"""The page as the output of cells: several in one document, and where the notebook is not trusted."""

from __future__ import annotations

import json

import pytest

from kernelweave.reporting.page import Report
from reporting.pages import nasty, usual

# As Jupyter does: the output becomes innerHTML, then every script is made anew so that it runs.
NOTEBOOK = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Notebook</title>
<link rel="icon" href="data:,">
<style>p { color: red; } table { display: none; } .page { width: 5px; } h1 { font-size: 99px; }</style>
<body><div class="cell"></div><div class="cell"></div>
<script type="application/json" id="outputs">OUTPUTS</script>
<script>
JSON.parse(document.getElementById("outputs").textContent).forEach((html, number) => {
  const cell = document.querySelectorAll(".cell")[number];
  cell.innerHTML = html;
  if (!TRUSTED) return;
  for (const old of cell.querySelectorAll("script")) {
    const script = document.createElement("script");
    script.textContent = old.textContent;
    old.replaceWith(script);
  }
});
</script></body></html>"""


def notebook(*reports: Report, trusted: bool = True) -> str:
    outputs = json.dumps([report._repr_html_() for report in reports]).replace("<", "\\u003c")
    return NOTEBOOK.replace("OUTPUTS", outputs).replace("TRUSTED", str(trusted).lower())


@pytest.mark.parametrize("width", [360, 1400])
def test_two_reports_in_one_notebook(visit, width):
    page = visit(notebook(Report(usual()), Report(nasty())), width=width).page
    hosts = page.locator("[data-kernelweave-report]")
    assert hosts.count() == 2
    for host in hosts.all():
        assert host.locator("section").count() == 9
        assert host.locator("svg.chart:visible").count() == 7
        assert host.locator("table").first.is_visible()  # styles of the notebook stay outside
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    button = hosts.nth(1).locator("thead button").nth(1)
    button.click()
    assert hosts.nth(1).locator("th[aria-sort]").count() == 1
    assert hosts.nth(0).locator("th[aria-sort]").count() == 0
    mark = hosts.nth(0).locator("svg.chart:visible .m").first
    mark.dispatch_event("pointerover")
    assert hosts.nth(0).locator("#tip").is_visible()
    assert hosts.nth(1).locator("#tip").is_hidden()


def test_a_link_moves_inside_its_own_report(visit):
    visited = visit(notebook(Report(usual()), Report(usual())))
    host = visited.page.locator("[data-kernelweave-report]").nth(1)
    host.locator("nav a", has_text="Gates").click()
    assert 0 <= host.locator("h2#h-gates").bounding_box()["y"] < 200
    assert visited.page.url == visited.url  # the notebook's address stays


def test_the_same_cell_run_again(visit):
    html = notebook(Report(usual()), Report(usual()))
    page = visit(html).page
    page.evaluate("""() => { const cell = document.querySelector('.cell');
        cell.innerHTML = JSON.parse(document.getElementById('outputs').textContent)[0];
        const script = document.createElement('script');
        script.textContent = cell.querySelector('script').textContent;
        cell.querySelector('script').replaceWith(script); }""")
    assert page.locator(".cell").first.locator("section").count() == 9
    page.locator(".cell").nth(1).locator("thead button").first.click()
    assert page.locator(".cell").nth(1).locator("th[aria-sort=ascending]").count() == 1


def test_a_notebook_that_is_not_trusted_shows_a_message(visit):
    page = visit(notebook(Report(nasty()), Report(usual()), trusted=False)).page
    host = page.locator("[data-kernelweave-report]").first
    assert host.get_by_text("where the notebook is trusted").is_visible()
    assert host.locator("section").count() == 0
    assert page.locator("#injected, img").count() == 0
