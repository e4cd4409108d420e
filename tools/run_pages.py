"""Run the code of Markdown pages, and write or check the output that they show.

python tools/run_pages.py docs/guide/missing_view.md --write   # put the real output into the page
python tools/run_pages.py --check                              # all pages, as `make docs` does

The ``python`` blocks of a page run in order in one namespace, in an empty folder; a ``text`` block right after one
holds what it prints. In a ``console`` block lines that begin with ``$ `` are commands, and the lines below each are its
output. A picture that the code saves (``figure.savefig("name.png")``) and that the page shows (``![...](name.png)``) is
put beside the page.

Comments on the line above a block:

``<!-- not run -->``         the block is shown only; so is one whose fence has a second word, such as ``python mklpy``
``<!-- varies -->``          the block runs, but what it prints is not compared: seconds, versions, folders
``<!-- tolerance: 0.02 -->`` numbers may differ by 0.02, or by that share of them where they exceed 1; above the first
                             block of the page, with an empty line below: in all blocks of the page

A line ``...`` in shown output stands for any lines.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import difflib
import io
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (
    *("docs/index.md", "docs/which_method.md", "docs/clustering.md", "docs/saving.md"),
    *("docs/guide/*.md", "docs/methods/*.md", "docs/coming_from/*.md"),
)
FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
MARK = re.compile(r"^<!--\s*(not run|varies|tolerance:\s*([\d.e-]+))\s*-->$")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
WIDTH = "100"
LONG = 20.0  # seconds


@dataclasses.dataclass
class Block:
    """One fenced block: the words of its fence, its text, and which lines of the page it takes (from 0)."""

    info: str
    text: str
    first: int
    end: int
    marks: list[str]

    @property
    def runs(self) -> bool:
        """Whether its code is run."""
        return self.info in ("python", "console") and "not run" not in self.marks

    @property
    def varies(self) -> bool:
        """Whether its output differs from run to run."""
        return "varies" in self.marks


@dataclasses.dataclass
class Page:
    """What running a page gave: its text with the real output, what differs, pictures by name, and seconds."""

    path: Path
    text: str
    problems: list[str]
    pictures: dict[str, bytes]
    seconds: float
    failed: bool = False


class BlockFailedError(Exception):
    """A block of a page raised an error or a command failed."""


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page, in order; an open one is an error."""
    lines, blocks, number = text.splitlines(), [], 0
    while number < len(lines):
        opened = FENCE.match(lines[number])
        if opened is None:
            number += 1
            continue
        first, end = number, number + 1
        closing = re.compile(rf"{re.escape(opened['fence'][0])}{{{len(opened['fence'])},}}\s*")
        while end < len(lines) and not closing.fullmatch(lines[end]):
            end += 1
        if end == len(lines):
            raise ValueError(f"the block that begins in line {first + 1} has no end")
        inner = "".join(line + "\n" for line in lines[first + 1 : end])
        blocks.append(Block(opened["info"].strip(), inner, first, end + 1, marks_above(lines, first)))
        number = end + 1
    return blocks


def marks_above(lines: list[str], first: int) -> list[str]:
    """The comments right above a block that concern its running."""
    marks = []
    while first and (mark := MARK.match(lines[first - 1].strip())):
        marks.append(mark[1])
        first -= 1
    return marks


def tolerance_of(marks: list[str]) -> float | None:
    """The tolerance that comments give, if any."""
    return next((float(mark.split(":")[1]) for mark in marks if mark.startswith("tolerance")), None)


def page_tolerance(text: str, blocks: list[Block]) -> float:
    """The tolerance for all blocks: a comment above the first of them, not right above."""
    lines = text.splitlines()[: blocks[0].first if blocks else 0]
    if lines and MARK.match(lines[-1].strip()):
        lines = lines[:-1]
    return tolerance_of([mark[1] for line in lines if (mark := MARK.match(line.strip()))]) or 0.0


def agree(shown: str, printed: str, tolerance: float = 0.0) -> bool:
    """Whether a page's output is that of its code: ``...`` lines match any, numbers may differ by the tolerance.

    >>> agree("accuracy 0.97", "accuracy 0.98"), agree("accuracy 0.97", "accuracy 0.98", 0.02)
    (False, True)
    >>> agree("a\\n...\\nd\\n", "a\\nb\\nc\\nd\\n")
    True
    """
    parts = [part.strip("\n") for part in re.split(r"^\s*\.\.\.\s*$", tidy(shown), flags=re.MULTILINE)]
    lines, spans = tidy(printed).splitlines(), [part.splitlines() for part in parts]
    return _match(spans, lines, tolerance, anchored=True)


def _match(spans: list[list[str]], lines: list[str], tolerance: float, anchored: bool) -> bool:
    """Whether spans of lines follow each other, with any lines between them."""
    head, *rest = spans
    starts = range(1) if anchored else range(len(lines) - len(head) + 1)
    for start in starts:
        end = start + len(head)
        if not rest and end != len(lines):
            continue
        same = end <= len(lines) and all(
            agree_line(a, b, tolerance) for a, b in zip(head, lines[start:end], strict=True)
        )
        if same and (not rest or _match(rest, lines[end:], tolerance, anchored=False)):
            return True
    return False


def agree_line(shown: str, printed: str, tolerance: float) -> bool:
    """Whether two lines are the same, but for numbers within the tolerance and the spaces that align them."""
    if shown == printed:
        return True
    if not tolerance:
        return False
    if [word.split() for word in NUMBER.split(shown)] != [word.split() for word in NUMBER.split(printed)]:
        return False
    pairs = zip(map(float, NUMBER.findall(shown)), map(float, NUMBER.findall(printed)), strict=True)
    return all(abs(a - b) <= tolerance * max(1.0, abs(a)) * (1 + 1e-9) for a, b in pairs)


def tidy(text: str) -> str:
    """Text without spaces at the ends of lines and without empty lines around it."""
    return "".join(line.rstrip() + "\n" for line in text.splitlines()).strip("\n")


def commands_of(console: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output shown below it; a backslash continues a command."""
    commands: list[tuple[str, str]] = []
    goes_on = False
    for line in console.splitlines():
        if goes_on:
            command, _ = commands.pop()
            commands.append((f"{command}\n{line}", ""))
        elif line.startswith("$ "):
            commands.append((line[2:], ""))
        elif not commands:
            raise ValueError("a console block begins with a command, '$ ...'")
        else:
            commands[-1] = (commands[-1][0], commands[-1][1] + line + "\n")
        goes_on = (goes_on or line.startswith("$ ")) and line.endswith("\\")
    return commands


def run_python(block: Block, path: Path, namespace: dict) -> str:
    """What a Python block prints. Tracebacks and warnings name the page and its line."""
    printed = io.StringIO()
    try:
        code = compile("\n" * (block.first + 1) + block.text, str(path), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
    except (Exception, SystemExit) as error:
        raise BlockFailedError(f"{printed.getvalue()}{traceback.format_exc()}") from error
    return printed.getvalue()


def run_console(block: Block, folder: Path) -> str:
    """The text of a console block with the real output of its commands, errors included."""
    written = ""
    for command, _ in commands_of(block.text):
        done = subprocess.run(
            command, shell=True, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode:
            raise BlockFailedError(f"$ {command}\n{done.stdout}\nended with status {done.returncode}")
        output = tidy(done.stdout)
        written += f"$ {command}\n" + (f"{output}\n" if output else "")
    return written


def outcomes(text: str, path: Path, folder: Path) -> Iterator[tuple[Block, Block | None, str, float]]:
    """For each block that runs: the block, the one that shows its output, the real output and the tolerance."""
    blocks = blocks_of(text)
    lines, overall = text.splitlines(), page_tolerance(text, blocks)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module  # what the page defines can be pickled, as in a script
    for number, block in enumerate(blocks):
        if not block.runs:
            continue
        shows: Block | None = block
        if block.info == "python":
            following = blocks[number + 1] if number + 1 < len(blocks) else None
            between = lines[block.end : following.first] if following else []
            right_after = all(not line.strip() or MARK.match(line.strip()) for line in between)
            shows = following if following and following.info == "text" and right_after else None
            printed = run_python(block, path, module.__dict__)
        else:
            printed = run_console(block, folder)
        marked = tolerance_of(block.marks + (shows.marks if shows else []))
        yield block, shows, printed, overall if marked is None else marked


def run_page(path: Path) -> Page:
    """Run a page in an empty folder, with `kernelweave` on the path."""
    begun, text, name = time.perf_counter(), path.read_text(encoding="utf-8"), shortly(path)
    lines, problems = text.splitlines(), []
    pictures: dict[str, bytes] = {}
    replaced: list[tuple[int, int, list[str]]] = []
    with tempfile.TemporaryDirectory() as home:
        folder, programs = Path(home) / "page", Path(home) / "bin"
        folder.mkdir()
        provide_command(programs)
        with contextlib.chdir(folder), environment(PATH=f"{programs}{os.pathsep}{os.environ['PATH']}"):
            try:
                for block, shows, printed, tolerance in outcomes(text, path, folder):
                    problem, change = compared(block, shows, printed, tolerance)
                    problems += [f"{name}:{block.first + 1}: {problem}"] if problem else []
                    replaced += [change] if change else []
            except (BlockFailedError, ValueError) as error:
                return Page(path, text, [f"{name}: {error}"], {}, time.perf_counter() - begun, failed=True)
            pictures = {file.name: file.read_bytes() for file in folder.iterdir() if f"({file.name})" in text}
    for first, end, new in reversed(replaced):
        lines[first:end] = new
    absent = [picture for picture in pictures if not (path.parent / picture).exists()]
    problems += [f"{name}: {picture} is missing beside the page" for picture in absent]
    return Page(path, "\n".join(lines) + "\n", problems, pictures, time.perf_counter() - begun)


def shortly(path: Path) -> str:
    """A page's path from the root of the repository, where it is below that."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def compared(block: Block, shows: Block | None, printed: str, tolerance: float) -> tuple[str, tuple | None]:
    """What is wrong with the output that a page shows, and how to replace it: first line, end and new lines."""
    new, varies = tidy(printed), block.varies or (shows is not None and shows.varies)
    if shows is None:
        change = (block.end, block.end, ["", "```text", *new.split("\n"), "```"])
        return (f"prints what the page does not show:\n{new}", change) if new else ("", None)
    if not varies and agree(shows.text, printed, tolerance):
        return "", None
    change = (shows.first + 1, shows.end - 1, new.split("\n"))
    if varies:
        return "", change
    difference = difflib.unified_diff(tidy(shows.text).split("\n"), new.split("\n"), "shown", "printed", lineterm="")
    return "\n".join(["prints something else:", *difference]), change


def provide_command(programs: Path) -> None:
    """Put the command `kernelweave` of this Python into a folder, and `python` beside it."""
    programs.mkdir()
    scripts = {"kernelweave": ' -c "import sys; from kernelweave.cli import main; sys.exit(main())"', "python": ""}
    for name, arguments in scripts.items():
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Environment variables for a while."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def finish(page: Page, write: bool) -> bool:
    """Write a page that has run, or say what is wrong with it; whether it is right now."""
    state = "failed" if page.failed else "differs" if page.problems else "ok"
    if write and not page.failed:
        if page.text != page.path.read_text(encoding="utf-8"):
            page.path.write_text(page.text, encoding="utf-8")
            state = "written"
        for name, content in page.pictures.items():
            (page.path.parent / name).write_bytes(content)
        page.problems = []
    slow = f", over {LONG:.0f} s" if page.seconds > LONG else ""
    print(f"{shortly(page.path)}: {state}, {page.seconds:.1f} s{slow}", flush=True)
    print("".join(f"{problem}\n" for problem in page.problems), end="", flush=True)
    return not page.problems


def main(arguments: list[str] | None = None) -> int:
    """Run pages: status 0 where all agree, or were written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, help="Markdown pages (all that are checked, by default)")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help="write the real output into the pages, and their pictures")
    action.add_argument("--check", action="store_true", help="compare only, which is the default")
    parser.add_argument("--jobs", type=int, default=1, help="pages that run at the same time")
    given = parser.parse_args(arguments)
    pages = [path.resolve() for path in given.pages] or [path for name in PAGES for path in sorted(ROOT.glob(name))]
    if absent := [str(path) for path in pages if not path.is_file()]:
        parser.error(f"no such page: {', '.join(absent)}")
    settled = environment(MPLBACKEND="Agg", COLUMNS=WIDTH, NO_COLOR="1", TERM="dumb")
    with settled, ProcessPoolExecutor(given.jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        right = [finish(page, given.write) for page in pool.map(run_page, pages)]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
