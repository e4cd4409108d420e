"""`benchmarks.peers`: scripts and their lines, a run of two libraries, and the page, which follows from its cells."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.peers import __main__ as command
from benchmarks.peers import page as pages
from benchmarks.peers.page import LIBRARIES, lines_of_code, note_of, page, script_of
from benchmarks.peers.tasks import TASKS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("task", TASKS)
def test_a_script_solves_the_task_or_says_why_not(task):
    for library in LIBRARIES:
        body = ast.parse(script_of(task, library).read_text(encoding="utf-8")).body
        assert note_of(task, library)
        solves = [node.name for node in body if isinstance(node, ast.FunctionDef)] == ["solve"]
        assert solves != (len(body) == 1)
        compile(ast.Module(body, []), library, "exec")


def test_lines_hold_code(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        '"""One.\n\nTwo."""\n\nimport os  # 1\n\n\n# no\ndef f(\n    x,\n):\n    """Own."""\n\n    return x\n'
    )
    assert lines_of_code(script) == 6
    script.write_text('"""Cannot."""\n')
    assert lines_of_code(script) == 0


@pytest.mark.parametrize("task", TASKS)
def test_samples_of_a_split_are_fixed_and_apart(task):
    first, again, other = (TASKS[task].make(split) for split in (0, 0, 1))
    for view, table in first.train.items():
        assert table.equals(again.train[view]) and not table.equals(other.train[view])
        if first.test is not None:
            assert not set(table.index) & set(first.test[view].index)
            assert len(table) == len(first.y) and len(first.test[view]) == len(first.truth)


def test_a_run_scores_answers_and_leaves_out_what_is_absent(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(LIBRARIES, "mvlearn", pages.Library("mvlearn", ("no_such_module", "mvlearn")))
    cells, written = tmp_path / "cells.json", tmp_path / "page.md"
    own = ["--cells", str(cells), "--page", str(written)]
    command.main([*own, "--tasks", "clusters", "--splits", "2", "--libraries", "mvlearn", "stacking"])
    absent, found = json.loads(cells.read_text())
    assert absent == {"task": "clusters", "library": "mvlearn", "scores": None}
    assert "is not installed" in capsys.readouterr().out
    assert len(found["scores"]) == len(found["cpu"]) == 2 and 0.4 < np.mean(found["scores"]) < 1.0
    assert found["lines"] == lines_of_code(script_of("clusters", "stacking"))
    assert found["first"] > found["cpu"][0] > 0.0
    text = written.read_text()
    assert "Kernelweave, MKLpy, himalaya and mvlearn were not installed" in text
    command.main([*own, "--stored"])
    assert written.read_text() == text


def cell(library, task="digits", scores=(0.9, 0.9), lines=10, cpu=2.0):
    own = {"versions": {"Python": "3", LIBRARIES[library].names[1]: "7.8"}, "wall": [cpu], "first": 9.0}
    return {"task": task, "library": library, "scores": list(scores), "lines": lines, "cpu": [cpu]} | own


def test_the_page_says_first_where_others_are_ahead():
    cells = [
        cell("kernelweave"),
        cell("himalaya", scores=(0.95, 0.9), lines=9, cpu=1.0),
        cell("mklpy", scores=(0.91, 0.9)),
        cell("kernelweave", "clusters"),
        cell("stacking", "clusters", scores=(0.9, 0.9004), lines=12, cpu=4.0),
        cell("kernelweave", "mixed"),
    ]
    text = page(cells)
    led, score, lines, seconds = text.split("\n\n")[2].splitlines()
    assert led.startswith("Kernelweave has the highest score on 2 of 3 tasks, the shortest script on 2 of 3 tasks and")
    assert "digits" in score and "(himalaya, 0.925 against 0.900, ahead on 1 of 2 splits, and 1 more)" in score
    assert "(himalaya, 9 lines against 10)" in lines and "(himalaya, 2.0 times less)" in seconds
    assert not any("clusters" in line for line in (score, lines, seconds))
    assert "mvlearn was not installed" in text
    assert "**0.925** · **9** · **1 s**" in text and "0.900 · 10 · 2 s" in text
    assert f"| himalaya | - | - | - | - | - | **Cannot.** {note_of('clusters', 'himalaya')} |" in text


def test_the_page_of_the_site_is_that_of_its_cells_and_scripts():
    cells = json.loads((DOCS / "peers.json").read_text())
    assert (DOCS / "peers.md").read_text(encoding="utf-8") == page(cells)
    for one in cells:
        assert one["lines"] == lines_of_code(script_of(one["task"], one["library"]))
