"""`tools/both_sides.py` runs the blocks that `tools/run_pages.py` only shows."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "both_sides.py"
PAGE = """# Coming from elsewhere

<!-- not run -->
```python
theirs = 2
print(theirs)
```

```text
{}
```

```python
print("ours", 1 + 1)
```

```text
ours 2
```
"""


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "elsewhere.md"
    path.write_text(PAGE.format(3))
    return path


def run(*arguments):
    return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, timeout=60)


def test_output_that_differs_is_reported_and_the_page_stays(page):
    done = run(page)
    assert done.returncode == 1
    assert "-3\n+2\n" in done.stdout and "ours" not in done.stdout
    assert page.read_text() == PAGE.format(3)


def test_output_is_written_and_blocks_stay_marked(page):
    assert run(page, "--write").returncode == 0
    assert page.read_text() == PAGE.format(2)
    assert run(page).returncode == 0
