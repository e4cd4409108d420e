"""Check the built site: every inner link leads to a page and an anchor that exist, and no page fetches anything.

python tools/check_site.py build/site

Links to other sites are not followed. Scripts, styles, fonts and pictures have to be part of the site: it works without
a network.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}


class Links(HTMLParser):
    """The anchors of one page, its links, and what a browser fetches to show it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what one element defines or needs."""
        given = {name: value for name, value in attributes if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and not {"canonical", "search", "alternate"} & set(given.get("rel", "").split()):
            (self.links if given.get("rel") in ("next", "prev", "index") else self.fetched).append(given["href"])
        if FETCHED.get(tag) in given:
            self.fetched.append(given[FETCHED[tag]])


def is_outside(address: str) -> bool:
    """Whether an address leads to another site, or to no page at all (mail)."""
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc)


def complaints(folder: Path) -> list[str]:
    """What is wrong with the pages below a folder, a line each."""
    folder, wrong = folder.resolve(), []
    files = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]  # templates of the theme
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in files}
    for path, page in pages.items():
        where = path.relative_to(folder)
        for address in page.fetched:
            if is_outside(address) and not address.startswith("data:"):
                wrong.append(f"{where}: fetches {address}")
        for address in [*page.links, *page.fetched]:
            if not is_outside(address) and (reason := missing(address, path, pages)):
                wrong.append(f"{where}: {address}: {reason}")
    for style in sorted(folder.rglob("*.css")):
        for part in style.read_text(encoding="utf-8").split("url(")[1:]:
            if part.strip("'\" ").startswith(("http:", "https:", "//")):
                wrong.append(f"{style.relative_to(folder)}: fetches {part.split(')')[0]}")
    return wrong


def missing(address: str, path: Path, pages: dict[Path, Links]) -> str:
    """Why an inner address leads nowhere; nothing where it leads somewhere."""
    parts = urlsplit(address)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "no such page"
    anchor = unquote(parts.fragment)
    known = pages.get(target) if anchor else None
    return "" if known is None or anchor in known.anchors else "no such anchor"


def main(arguments: list[str]) -> int:
    """Print the complaints about a built site; status 1 where there are any."""
    if len(arguments) != 1 or not Path(arguments[0], "index.html").exists():
        print("usage: check_site.py FOLDER, with a built site", file=sys.stderr)
        return 2
    wrong = complaints(Path(arguments[0]))
    print(*wrong, f"{len(wrong)} dead links or foreign parts", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
