"""The tool that runs pages writes what their code prints and notices what differs; the pages' code can be read.

Takes some seconds: the tool and its commands start processes of their own, and two pages fit models.
"""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("run_pages", ROOT / "tools" / "run_pages.py")
run_pages = sys.modules["run_pages"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_pages)

PAGE = """# A page

```python
x = 0.5
print("x is", x)
```

```text
x is {shown}
```

Words.

```python
x += 1
print(x)
```
"""


@pytest.fixture
def page(tmp_path):
    def write(text):
        path = tmp_path / "page.md"
        path.write_text(text)
        return path

    return write


def status(path, *options):
    """The exit status of the tool, in a process of its own."""
    command = [sys.executable, str(ROOT / "tools" / "run_pages.py"), str(path), *options]
    return subprocess.run(command, capture_output=True, text=True).returncode


def outcome(path):
    before = sys.modules["__main__"]
    try:
        return run_pages.run_page(path)
    finally:
        sys.modules["__main__"] = before


def test_output_is_written_and_then_agrees(page):
    path = page(PAGE.format(shown=0.7))
    assert status(path) == 1
    assert status(path, "--write") == 0
    text = path.read_text()
    assert "x is 0.5" in text and text.endswith("print(x)\n```\n\n```text\n1.5\n```\n")
    assert status(path, "--check") == 0


def test_a_difference_is_shown_with_its_line(page):
    problems = outcome(page(PAGE.format(shown=0.7))).problems
    assert "page.md:3: prints something else" in problems[0]
    assert "-x is 0.7\n+x is 0.5" in problems[0]
    assert "page.md:14: prints what the page does not show:\n1.5" in problems[1]


@pytest.mark.parametrize(("tolerance", "right"), [(0.1, False), (0.2, True)])
@pytest.mark.parametrize("whole", [True, False])
def test_numbers_agree_within_the_tolerance_of_page_or_block(page, tolerance, right, whole):
    comment = f"<!-- tolerance: {tolerance} -->\n" + "\n" * whole
    text = PAGE.format(shown=0.65).replace("print(x)", "")
    text = comment + text if whole else text.replace("```text", f"{comment}```text")
    assert (not outcome(page(text)).problems) == right


def test_what_varies_is_run_and_not_compared(page):
    text = (
        PAGE.format(shown="something")
        .replace("```text", "<!-- varies -->\n```text")
        .replace("print(x)", "assert x == 1.5")
    )
    assert outcome(page(text)).problems == []


@pytest.mark.parametrize("fence", ["<!-- not run -->\n```python", "```python mklpy", "```{code-block} python", "```sh"])
def test_other_blocks_are_not_run(page, fence):
    assert outcome(page(f"{fence}\n1 / 0\n```\n")).problems == []


def test_an_error_names_page_and_line_and_nothing_is_written(page):
    path = page("Words.\n\n```python\nx = 1\nx / 0\n```\n")
    result = outcome(path)
    assert result.failed and "ZeroDivisionError" in result.problems[0] and 'page.md", line 5' in result.problems[0]
    assert status(path, "--write") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="commands of a shell")
def test_commands_are_run_in_the_folder_of_the_page(page):
    python = "```python\nopen('a.txt', 'w').write('seven')\n```\n\n"
    path = page(f"{python}```console\n$ cat a.txt\n$ kernelweave \\\n  --version\n```\n")
    text = outcome(path).text
    assert "$ cat a.txt\nseven\n$ kernelweave \\\n  --version\nkernelweave 0." in text
    assert not (path.parent / "a.txt").exists()


def test_a_command_that_fails_is_an_error(page):
    assert outcome(page("```console\n$ kernelweave nonsense\n```\n")).failed


def test_pictures_that_the_page_shows_are_put_beside_it(page):
    path = page("```python\nfor name in 'ab':\n    open(f'{name}.png', 'wb').write(b'1')\n```\n\n![a](a.png)\n")
    assert "a.png is missing" in outcome(path).problems[0]
    assert status(path, "--write") == 0
    assert sorted(file.name for file in path.parent.glob("*.png")) == ["a.png"]


def test_three_dots_stand_for_lines():
    assert run_pages.agree("a\n...\nc\n", "a\nb\nb\nc")
    assert not run_pages.agree("a\n...\nc\n", "a\nb\nb\nd")
    assert run_pages.agree("a\n...\n", "a\nb\n")
    assert not run_pages.agree("a\n", "a\nb\n")


PAGES = sorted(ROOT.glob("docs/**/*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_of_pages_can_be_read(path):
    for block in run_pages.blocks_of(path.read_text(encoding="utf-8")):
        if block.info == "python":
            ast.parse(block.text)
        if block.info == "console":
            assert run_pages.commands_of(block.text)


def test_the_start_page_has_the_code_of_the_readme():
    start, readme = (run_pages.blocks_of((ROOT / name).read_text()) for name in ("docs/index.md", "README.md"))
    code = [[block.text for block in blocks if block.info == "python"] for blocks in (start, readme)]
    assert code[0] == code[1][:1]


@pytest.mark.parametrize("name", ["coming_from/mklpy", "coming_from/simplemkl"])  # others: `make docs-output`
def test_pages_show_what_their_code_prints(name):
    assert outcome(ROOT / "docs" / f"{name}.md").problems == []
