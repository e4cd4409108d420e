"""Formulas as MathML, which browsers draw without a script: docutils translates the LaTeX of the pages."""

from __future__ import annotations

import re

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

LOGGER = logging.getLogger(__name__)

# LaTeX that docutils does not read, and the same as it reads it.
SPELLINGS = [
    (r"\\([td]?frac)\s*(\d)\s*(\d)", r"\\\1{\2}{\3}"),
    (r"\\dots\b", r"\\ldots "),
    (r"\\([Bb]igg?)(?=[(\[]|\\\{)", r"\\\1l"),
    (r"\\([Bb]igg?)(?=[)\]]|\\\})", r"\\\1r"),
]
BARS = re.compile(r'<mo( class="\w+")?>([‖|∥])</mo>')  # of a norm: browsers stretch each by itself
# An index of a letter with an accent, which docutils puts below the letter.
ACCENTS = re.compile(r'<munderover>\s*(<mi>\w+</mi>)\s*(<mi>\w+</mi>)\s*(<mo stretchy="false">.</mo>)\s*</munderover>')


def translated(latex: str, node: nodes.Node, as_block: bool) -> str:
    """A formula as MathML; one that docutils cannot read is a warning."""
    for pattern, spelling in SPELLINGS:
        latex = re.sub(pattern, spelling, latex)
    try:
        written = latex2mathml.tex2mathml(latex, as_block=as_block)
    except MathError as error:
        LOGGER.warning("formula %r: %s", latex, error, location=node)
        return f"<code>{latex}</code>"
    written = ACCENTS.sub(r"<msub><mover>\1\3</mover>\2</msub>", written)
    return BARS.sub(r'<mo\1 stretchy="false">\2</mo>', written)


def visit_math(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(f'<span class="math">{translated(node.astext(), node, as_block=False)}</span>')
    raise nodes.SkipNode


def visit_displaymath(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own line, in a box that scrolls where it is wider than the page."""
    identity = f' id="{node["ids"][0]}"' if node["ids"] else ""
    translator.body.append(f'<div class="math"{identity}>{translated(node.astext(), node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
