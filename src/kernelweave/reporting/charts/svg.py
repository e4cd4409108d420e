"""Elements of SVG by `xml.etree`, which escapes every text and attribute."""

from __future__ import annotations

import unicodedata
from xml.etree import ElementTree

from markupsafe import Markup

from ..formatting import clean, one_line

Element = ElementTree.Element
Attribute = str | float | int
_ROUNDING = 1e-6  # of widths: a text fits into a place of just its width


def element(tag: str, parent: Element | None = None, text: str = "", **attributes: Attribute) -> Element:
    """An element, the last child of `parent`; underscores in names of attributes stand for hyphens (``class_``: class).

    >>> markup(element("text", None, "<b>", x=1.256, text_anchor="end"))
    Markup('<text x="1.26" text-anchor="end">&lt;b&gt;</text>')
    """
    named = {name.rstrip("_").replace("_", "-"): write(value) for name, value in attributes.items()}
    made = Element(tag, named) if parent is None else ElementTree.SubElement(parent, tag, named)
    if text:
        made.text = clean(text)
    return made


def write(value: Attribute) -> str:
    """An attribute's value; coordinates have two decimals at most."""
    if isinstance(value, str):
        return clean(value)
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def markup(root: Element) -> Markup:
    """The element as text for a template."""
    return Markup(ElementTree.tostring(root, encoding="unicode", method="xml"))


def text_width(text: str, size: float) -> float:
    """About how wide a text is, in the units of the font's size."""
    return size * sum(1.0 if unicodedata.east_asian_width(one) in "WF" else 0.6 for one in text)


def wrapped(text: str, width: float, size: float, most: int) -> list[str]:
    """The text in at most `most` lines that are broken at blanks; none where it does not fit.

    >>> wrapped("gradient boosting", 60, 12, 2)
    ['gradient', 'boosting']
    """
    lines: list[str] = []
    for word in one_line(text).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    fits = len(lines) <= most and all(text_width(line, size) <= width for line in lines)
    return (lines or [""]) if fits else []


def fitted(text: str, width: float, size: float) -> str:
    """The text in one line, cut where it is wider than `width`.

    >>> fitted("gradient boosting", 60, 12)
    'gradie…'
    """
    text = one_line(text)
    if text_width(text, size) <= width + _ROUNDING:
        return text
    while text and text_width(text, size) + size > width:
        text = text[:-1]
    return text.rstrip() + "…"
