"""Pages of the site that are files in the root of the repository, with links that work in both places."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
PAGES = {
    "changelog": "CHANGELOG.md",
    "code_of_conduct": "CODE_OF_CONDUCT.md",
    "contributing": "CONTRIBUTING.md",
    "security": "SECURITY.md",
}
LINK = re.compile(r"\]\((?!\w+:|#)([^)\s]+)\)")


def from_docs(link: str) -> str:
    """A link of a file in the root, as a page in docs writes it.

    >>> [from_docs(link) for link in ("docs/scale.md", "CHANGELOG.md", "LICENSE")]
    ['scale.md', 'changelog.md', '../LICENSE']
    """
    pages = {file: f"{page}.md" for page, file in PAGES.items()}
    return pages.get(link) or (link.removeprefix("docs/") if link.startswith("docs/") else f"../{link}")


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the file in the place of the page that stands for it."""
    if page in PAGES:
        file = ROOT / PAGES[page]
        source[0] = LINK.sub(lambda found: f"]({from_docs(found[1])})", file.read_text(encoding="utf-8"))
        app.env.note_dependency(str(file))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx' events."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
