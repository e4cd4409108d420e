"""Names in the API reference: which members are shown, and what a name in backticks leads to."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

# scikit-learn adds these to every estimator; they have nothing to do with kernels.
HIDDEN = re.compile(r"get_metadata_routing|set_\w+_request")


def hide(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Whether a member is left out: True, or None where Sphinx decides."""
    return True if HIDDEN.fullmatch(name.rpartition(".")[2]) else None


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Element | None:
    """Link a name without its package, such as `MKLClassifier`, where one class or function has that name."""
    if node.get("refdomain") != "py" or "." in node["reftarget"]:
        return None
    ending = f".{node['reftarget']}"
    kinds = ("class", "function", "exception")
    found = [
        (name, entry)
        for name, entry in env.domains.python_domain.objects.items()
        if name.endswith(ending) and entry.objtype in kinds and not entry.aliased
    ]
    if len(found) != 1:
        return None
    name, entry = found[0]
    uri = app.builder.get_relative_uri(node["refdoc"], entry.docname)
    return nodes.reference("", "", content, internal=True, refuri=f"{uri}#{entry.node_id}", reftitle=name)


def without_foreign_links(app: Sphinx, what: str, name: str, member: object, options: object, lines: list[str]) -> None:
    """Keep the words of inherited docstrings and drop the links to labels and terms of scikit-learn's own site."""
    text = "\n".join(lines)
    text = re.sub(r":term:`([^`<]+)`", r"``\1``", text)
    text = re.sub(r":(?:ref|term):`([^`<]+?)\s*(?:<[^`>]*>)?`", r"\1", text)
    lines[:] = text.split("\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx' events."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-skip-member", hide)
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", without_foreign_links, priority=900)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
