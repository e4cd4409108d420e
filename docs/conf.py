"""Sphinx' configuration of the site: `make docs`, or `make docs-quick` without running the gallery.

Nothing is fetched: neither while the site is built (other projects are not linked by intersphinx) nor by a page, whose
formulas are MathML, which browsers draw themselves, and whose theme has its fonts with it.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

import kernelweave

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / "_extensions"), str(DOCS.parent)]  # beside the extensions, the package `experiments`
os.environ["MPLBACKEND"] = "Agg"


class PatternsMayBeEmpty(logging.Filter):
    """No warning where a pattern of a table of contents matches nothing.

    Contents name the pages that have a place in the order first, and then all others of a folder, which may be none.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a message is shown."""
        return "didn't match any documents" not in record.getMessage()


logging.getLogger("sphinx.sphinx.directives.other").addFilter(PatternsMayBeEmpty())

project = "Kernelweave"
author = "Kernelweave developers"
copyright = author
version = release = kernelweave.__version__

extensions = [
    "api_names",
    "mathml",
    "moved_pages",
    "root_pages",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_extensions"]
templates_path = ["_templates"]

# Pages: Markdown, whose headings can be linked to.
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
myst_update_mathjax = False
html_math_renderer = "mathml"

# API reference.
autosummary_generate = True
autosummary_imported_members = False
autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_validation_checks: set[str] = set()
add_module_names = False
toc_object_entries_show_parents = "hide"
default_role = "py:obj"  # names in docstrings
python_use_unqualified_type_names = True

# Gallery.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "subsection_order": [
        f"../examples/{section}" for section in ("first_steps", "weights", "localized", "projections", "tasks", "scale")
    ],
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "backreferences_dir": "api/generated/backreferences",
    "doc_module": ("kernelweave",),
    "min_reported_time": 5,
    "write_computation_times": False,
}

# Look.
html_theme = "pydata_sphinx_theme"
html_title = "Kernelweave"
html_static_path = ["_static"]
html_css_files = ["kernelweave.css", "which_method.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Kernelweave"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navigation_depth": 3,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": []}


def keep_together(app: Sphinx, page: str, source: list[str]) -> None:
    """A mean and its deviation, `97.2 ± 0.3`, stay on one line of a table's cell."""
    source[0] = re.sub(
        r"^\|.*", lambda row: row[0].replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"), source[0], flags=re.M
    )


def setup(app: Sphinx) -> None:
    """Connect to Sphinx' events."""
    app.connect("source-read", keep_together)
