"""Run the pages of docs/coming_from together with the code of the other libraries, which must be installed.

python tools/both_sides.py docs/coming_from/mklpy.md           # compare what is printed with what the page shows
python tools/both_sides.py docs/coming_from/mklpy.md --write   # put it into the page

`tools/run_pages.py` runs only Kernelweave's side: blocks of other libraries are marked ``<!-- not run -->``. Here they
run too, in order and in the same namespace, so that the agreement that a page states is that of the code on the page.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from run_pages import finish, run_page

MARKED = "<!-- not run -->\n```python\n"
OPEN = "<!-- both sides -->\n```python\n"  # a comment that run_pages takes no notice of


def run_both(path: Path, write: bool) -> bool:
    """Run a copy of the page whose blocks are no longer marked; whether it shows what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_text(path.read_text(encoding="utf-8").replace(MARKED, OPEN), encoding="utf-8")
        page = run_page(copy)
    page.path, page.text = path, page.text.replace(OPEN, MARKED)
    return finish(page, write)


def main() -> int:
    """Run pages one after the other: status 0 where all agree, or were written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help="write the real output into the pages")
    given = parser.parse_args()
    return 0 if all([run_both(path.resolve(), given.write) for path in given.pages]) else 1


if __name__ == "__main__":
    sys.exit(main())
