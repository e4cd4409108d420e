"""Pages of the site that have another address now: the old one leads there."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

# Pages of the guide: the old address, and the new one.
GUIDE = {"cluster.html": "dask.html"}
# What left the library's API: the beginning of its pages, and where they are now.
GENERATED = "api/generated"
COMPARE = ("Comparison", "ComparisonOutcome", "Contender", "Problem")
LEADS = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Moved</title><meta http-equiv="refresh" content="0; url={page}"></head>
<body><p>This page is now <a href="{page}">{page}</a>.</p></body>
</html>
"""


def moved(folder: Path) -> dict[Path, str]:
    """For each old page in the folder of a built site the page that takes its place, seen from there."""
    generated = folder / GENERATED
    pages = {generated / f"kernelweave.{page.name}": page.name for page in generated.glob("experiments.*.html")}
    homes = {f"kernelweave.experiments.{name}.html": f"kernelweave.compare.{name}.html" for name in COMPARE}
    pages |= {folder / old: new for old, new in GUIDE.items() if (folder / new).exists()}
    return pages | {generated / old: new for old, new in homes.items() if (generated / new).exists()}


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the old pages where the site was built."""
    if error is None and app.builder.format == "html":
        for page, new in moved(Path(app.outdir)).items():
            page.write_text(LEADS.format(page=new), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx' events."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
