"""A headless Chromium for the tests of pages; they are skipped where Playwright or the browser is absent.

KERNELWEAVE_CHROMIUM is the path of the browser (otherwise Debian's); with KERNELWEAVE_BROWSER=required what would be
skipped fails.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CHROMIUM = Path(os.environ.get("KERNELWEAVE_CHROMIUM", "/usr/bin/chromium"))
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"]


def unavailable(reason: str):
    if os.environ.get("KERNELWEAVE_BROWSER") == "required":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("Playwright is not installed: make test-browser, or pip install kernelweave[dev]")
    if not CHROMIUM.is_file():
        unavailable(f"there is no browser at {CHROMIUM}: install chromium, or set KERNELWEAVE_CHROMIUM to its path")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield chromium
        chromium.close()


class Visit:
    """A page and everything that happened on it."""

    def __init__(self, page, url):
        self.page, self.url = page, url
        self.messages, self.errors, self.requests, self.dialogs = [], [], [], []
        page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", self._dismiss)
        page.goto(url)

    def _dismiss(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def check_quiet(self):
        assert not self.messages
        assert not self.errors
        assert not self.dialogs
        assert {request.split("#")[0] for request in self.requests} == {self.url.split("#")[0]}


@pytest.fixture
def visit(browser, tmp_path):
    """A function that opens HTML in a browser; at the end nothing must have been printed, requested or asked."""
    contexts, visits = [], []

    def open_page(html: str, *, width: int = 820, fragment: str = "", quiet: bool = True, **options) -> Visit:
        path = tmp_path / f"page-{len(visits)}.html"
        path.write_text(html, encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, offline=True, **options))
        contexts[-1].set_default_timeout(10_000)
        made = Visit(contexts[-1].new_page(), path.as_uri() + fragment)
        if quiet:
            visits.append(made)
        return made

    yield open_page
    try:
        for one in visits:
            one.check_quiet()
    finally:
        for context in contexts:
            context.close()
