"""From the contents of a report to HTML, by the templates in `templates`.

Jinja2 escapes every text; pictures come from `charts`, which escapes by itself. The saved page forbids all requests and
all scripts and styles but its own, by a Content-Security-Policy with their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from .content import Contents
from .detail import LEVELS
from .layout import Page, lay_out

LARGEST = 950_000  # bytes of a page


def render_document(contents: Contents) -> str:
    """The page as a file of its own, in the greatest detail with which it is smaller than a megabyte."""
    return _in_detail("document.html", contents)


def render_fragment(contents: Contents) -> str:
    """The page as the output of a notebook's cell."""
    return _in_detail("notebook.html", contents)


def _in_detail(template: str, contents: Contents) -> str:
    for detail in LEVELS:
        text = _render(template, lay_out(contents, detail))
        if len(text.encode()) <= LARGEST:
            break
    return text


def _render(template: str, page: Page) -> str:
    style, outer, script = (_source(name) for name in ("style.css", "outer.css", "script.js"))
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)} {_hash(outer)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    text = (
        _environment()
        .get_template(template)
        .render(page=page, style=Markup(style), outer_style=Markup(outer), script=Markup(script), policy=policy)
    )
    return _without_empty_lines(text)


def _without_empty_lines(text: str) -> str:
    """The text without empty lines, except in <pre>, in styles and in scripts, where they mean something."""
    parts = re.split(r"(<(pre|style|script)\b.*?</\2>)", text, flags=re.DOTALL)
    kept = [part if place % 3 == 1 else re.sub(r"\n\s*\n+", "\n", part) for place, part in enumerate(parts)]
    return "".join(part for place, part in enumerate(kept) if place % 3 != 2)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


@cache
def _source(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8").strip() + "\n"


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
