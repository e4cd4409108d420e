"""The page of `benchmarks.peers`: tables and sentences, all of them computed from the cells."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.tasks import TASKS

Cell = dict[str, Any]
HOME = Path(__file__).parent
OURS = "kernelweave"
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
TIE = 5e-4  # scores that differ by less count as equal


@dataclass(frozen=True)
class Library:
    """How a library is called on the page, its module and its distribution."""

    title: str
    names: tuple[str, str]


LIBRARIES = {
    OURS: Library("Kernelweave", ("kernelweave", "kernelweave")),
    "mklpy": Library("MKLpy", ("MKLpy", "MKLpy")),
    "himalaya": Library("himalaya", ("himalaya", "himalaya")),
    "mvlearn": Library("mvlearn", ("mvlearn", "mvlearn")),
    "stacking": Library("scikit-learn", ("sklearn", "scikit-learn")),
}


def script_of(task: str, library: str) -> Path:
    """The script of a library for a task."""
    return HOME / task / f"{library}.py"


def lines_of_code(script: Path) -> int:
    """Lines that hold code: no comments, no empty lines, and not the docstring of the module."""
    source = script.read_text(encoding="utf-8")
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            used.update(range(token.start[0], token.end[0] + 1))
    first = ast.parse(source).body[0]
    return len(used - set(range(first.lineno, (first.end_lineno or 0) + 1)))


def note_of(task: str, library: str) -> str:
    """The docstring of a script: what the library lacks, or why it has none."""
    return " ".join((ast.get_docstring(ast.parse(script_of(task, library).read_text(encoding="utf-8"))) or "").split())


def page(cells: list[Cell]) -> str:
    """The whole page."""
    there = [cell for cell in cells if cell["scores"] is not None]
    parts = ["---\nhtml_theme.sidebar_secondary.remove: true\n---", "# Six tasks in five libraries", _verdict(there)]
    absent = [one.title for name, one in LIBRARIES.items() if not any(cell["library"] == name for cell in there)]
    if absent:
        were = "were" if len(absent) > 1 else "was"
        parts.append(f"{_listed(absent)} {were} not installed where this was run: the rows are missing.")
    parts += [INTRODUCTION.format(**{task: _link(task) for task in TASKS}), _overview(there), _versions(there)]
    parts += [_section(name, [cell for cell in there if cell["task"] == name], absent) for name in TASKS]
    return "\n\n".join([*parts, END]) + "\n"


INTRODUCTION = """\
Each task is solved by a short script, written as the library's documentation recommends. The tasks were chosen before
any score was known (later only the number of targets was halved, to save time), and each library is at home in one:
MKLpy in {similarities}, himalaya in {targets}, mvlearn in {clusters}, stacking of scikit-learn in {mixed}. All scripts
get the same samples and choose their settings from a small grid by folds of the training samples. One script beside the
other with comments, and which names correspond, is in [coming from another library](coming_from.md); [the
benchmark](benchmark.md) has more methods and data.

    python -m benchmarks.peers --page docs/peers.md

runs the scripts of the libraries that are installed and writes this page; `--python mvlearn=PATH` names another
interpreter for a library that needs older packages. Cells are *score · lines of code · processor seconds*, the best of
each row bold."""

END = """\
## How it was measured

Scores are means and standard deviations over fixed splits. *Lines*: of code, imports included, without comments and
docstrings, all formatted by one formatter with lines of 120 columns. *Seconds*: search, fits and predictions of one
split, mean over the splits, in a process of its own with one thread; *CPU* is processor time, *wall* what passed.
*First run*: processor seconds of the imports and of the first split, before the others; machine code that an earlier
process compiled and kept on disk is loaded then."""


def _link(task: str) -> str:
    anchor = re.sub(r"[^a-z -]", "", TASKS[task].title.lower()).replace(" ", "-")
    return f"[{task}](#{anchor})"


def _verdict(cells: list[Cell]) -> str:
    """The first paragraph: what Kernelweave leads in, and every task in which another library is ahead."""
    kinds: list[tuple[str, str, Callable[[Cell], float], float]] = [
        ("the highest score", "A better score", lambda cell: -float(np.mean(cell["scores"])), TIE),
        ("the shortest script", "A shorter script", lambda cell: cell["lines"], 0.5),
        ("the least processor time", "Less processor time", lambda cell: float(np.mean(cell["cpu"])), 0.0),
    ]
    ours = {cell["task"]: cell for cell in cells if cell["library"] == OURS}
    if not ours:
        return "Kernelweave was not run."
    led, behind = [], []
    for leads, loses, cost, tie in kinds:
        lost = []
        for task, own in ours.items():
            ahead = [cell for cell in cells if cell["task"] == task and cost(cell) < cost(own) - tie]
            if ahead:
                best = min(ahead, key=cost)
                more = f", and {len(ahead) - 1} more" if len(ahead) > 1 else ""
                lost.append(f"{_link(task)} ({LIBRARIES[best['library']].title}, {_lead(best, own, leads)}{more})")
        led.append(f"{leads} on {len(ours) - len(lost)} of {len(ours)} tasks")
        if lost:
            behind.append(f"{loses} than Kernelweave's: {'; '.join(lost)}.")
    return "\n".join([f"Kernelweave has {_listed(led)}, alone or with others.", *behind])


def _lead(best: Cell, own: Cell, kind: str) -> str:
    if "score" in kind:
        ahead = sum(a > b for a, b in zip(best["scores"], own["scores"], strict=True))
        figures = f"{np.mean(best['scores']):.3f} against {np.mean(own['scores']):.3f}"
        return f"{figures}, ahead on {ahead} of {len(own['scores'])} splits"
    if "script" in kind:
        return f"{best['lines']} lines against {own['lines']}"
    ratio = np.mean(own["cpu"]) / np.mean(best["cpu"])
    return f"{ratio:.{0 if ratio >= 10 else 1}f} times less"


def _overview(cells: list[Cell]) -> str:
    rows = [["task", *(one.title for one in LIBRARIES.values())], ["---"] * (len(LIBRARIES) + 1)]
    for task in TASKS:
        row = {cell["library"]: cell for cell in cells if cell["task"] == task}
        best = [min(map(kind, row.values()), default="") for kind in (_score, _lines, _seconds)]
        texts = [" · ".join(_bold(cell, best)) if (cell := row.get(name)) else "-" for name in LIBRARIES]
        rows.append([_link(task), *texts])
    return _table(rows)


def _score(cell: Cell) -> float:
    return -round(float(np.mean(cell["scores"])), 3)


def _lines(cell: Cell) -> float:
    return cell["lines"]


def _seconds(cell: Cell) -> float:
    return float(f"{np.mean(cell['cpu']):.2g}")


def _bold(cell: Cell, best: list[Any]) -> list[str]:
    values = [_score(cell), _lines(cell), _seconds(cell)]
    texts = [f"{-values[0]:.3f}", f"{values[1]}", f"{values[2]:g} s"]
    return [f"**{text}**" if value == top else text for text, value, top in zip(texts, values, best, strict=True)]


def _section(task: str, cells: list[Cell], absent: list[str]) -> str:
    """The statement of a task, its table with what each library lacks, and the scripts."""
    rows = [
        ["library", TASKS[task].score_name, "lines", "CPU s", "wall s", "first run s", "note"],
        ["---", *["---:"] * 5, "---"],
    ]
    found = {cell["library"]: cell for cell in cells}
    for name, one in LIBRARIES.items():
        if one.title in absent:
            continue
        if cell := found.get(name):
            spread = f" ± {np.std(cell['scores'], ddof=1):.3f}" if len(cell["scores"]) > 1 else ""
            scores = f"{np.mean(cell['scores']):.3f}{spread}"
            times = [f"{np.mean(cell[kind]):.2g}" for kind in ("cpu", "wall")]
            rows.append([one.title, scores, str(cell["lines"]), *times, f"{cell['first']:.2g}", note_of(task, name)])
        else:
            rows.append([one.title, *["-"] * 5, f"**Cannot.** {note_of(task, name)}"])
    tab = ":::{{tab-item}} {}\n```{{literalinclude}} ../benchmarks/peers/{}/{}.py\n:language: python\n```\n:::"
    tabs = [
        tab.format(one.title, task, name) for name, one in LIBRARIES.items() if lines_of_code(script_of(task, name))
    ]
    title = f"## {TASKS[task].title}\n\n{TASKS[task].statement}"
    return "\n\n".join([title, _table(rows), "\n".join(["::::{tab-set}", *tabs, "::::"])])


def _versions(cells: list[Cell]) -> str:
    rows = [["library", "version", "scikit-learn", "numpy", "Python"], ["---"] * 5]
    for name, one in LIBRARIES.items():
        for found in [cell["versions"] for cell in cells if cell["library"] == name][:1]:
            rows.append(
                [one.title, *(found.get(key, "-") for key in (one.names[1], "scikit-learn", "numpy", "Python"))]
            )
    return _table(rows)


def _table(rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
