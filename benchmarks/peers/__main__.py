"""Kernelweave, MKLpy, himalaya, mvlearn and stacking on six tasks: ``python -m benchmarks.peers``.

    python -m benchmarks.peers --page docs/peers.md
    python -m benchmarks.peers --page docs/peers.md --python mvlearn=ENVIRONMENT/bin/python
    python -m benchmarks.peers --tasks digits --libraries himalaya stacking
    python -m benchmarks.peers --stored --page docs/peers.md

Each script runs in a process of its own with one thread, by the interpreter that `--python` gives for its library, else
by the current one. mvlearn 0.5.0 needs one with older packages, such as Python 3.9 with ``pip install mvlearn
multiviewica "scikit-learn==1.2.2" "numpy<1.25" "scipy<1.11" "pandas<2.1"``. A library that its interpreter lacks is
left out, and the page says so. Results are kept in the file `--cells`, where those of the tasks and libraries that run
are replaced. `--stored` runs nothing: the page is written from this file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.page import LIBRARIES, lines_of_code, page, script_of
from benchmarks.peers.tasks import TASKS, Samples, Task

CELL = Path(__file__).with_name("cell.py")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def write_samples(samples: Samples, folder: Path) -> None:
    """The files that `cell.py` reads."""
    for part, tables in (("train", samples.train), ("test", samples.test)):
        for view, table in (tables or {}).items():
            (folder / part).mkdir(parents=True, exist_ok=True)
            table.to_csv(folder / part / f"{view}.csv")
    if samples.test is None:
        (folder / "n_clusters").write_text(str(samples.n_clusters))
    else:
        samples.y.to_csv(folder / "y.csv")


def measured(name: str, library: str, python: str, folders: list[Path], truths: list[np.ndarray]) -> dict[str, Any]:
    """The cell of a library on a task; None in the place of scores where its interpreter lacks the library."""
    script, task = script_of(name, library), TASKS[name]
    output = folders[0].parent / f"{library}.json"
    command = [python, CELL, output, script, *LIBRARIES[library].names, *folders]
    environment = os.environ | dict.fromkeys(THREADS, "1")
    done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{script} failed:\n{done.stderr}")
    found = json.loads(output.read_text())
    if "absent" in found:
        return {"task": name, "library": library, "scores": None}
    scores = [_score(task, truth, answer) for truth, answer in zip(truths, found.pop("answers"), strict=True)]
    return {"task": name, "library": library, "lines": lines_of_code(script), "scores": scores, **found}


def _score(task: Task, truth: np.ndarray, answer: list[list[float]]) -> float:
    return float(task.score(truth, np.array(answer).reshape(truth.shape)))


def of_task(name: str, libraries: list[str], given: argparse.Namespace) -> list[dict[str, Any]]:
    """The cells of a task."""
    interpreters = dict(pair.split("=", 1) for pair in given.python)
    with tempfile.TemporaryDirectory() as home:
        folders = [Path(home) / str(split) for split in range(given.splits)]
        truths = []
        for split, folder in enumerate(folders):
            samples = TASKS[name].make(split)
            write_samples(samples, folder)
            truths.append(samples.truth)
        cells = []
        for library in libraries:
            if lines_of_code(script_of(name, library)):
                cells.append(measured(name, library, interpreters.get(library, sys.executable), folders, truths))
                print(_line(cells[-1]), flush=True)
        return cells


def _line(cell: dict[str, Any]) -> str:
    if cell["scores"] is None:
        return f"{cell['task']:12} {cell['library']:12} is not installed"
    figures = f"{np.mean(cell['scores']):.3f} {cell['lines']:3} lines {np.mean(cell['cpu']):8.2f} s"
    return f"{cell['task']:12} {cell['library']:12} {figures}, {cell['first']:.1f} s at first"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="write the page to this file")
    parser.add_argument("--cells", type=Path, default=Path("docs/peers.json"), help="where results are kept")
    parser.add_argument("--stored", action="store_true", help="run nothing")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--libraries", nargs="+", choices=list(LIBRARIES), default=list(LIBRARIES))
    parser.add_argument("--python", nargs="+", default=[], metavar="LIBRARY=PATH", help="interpreters of libraries")
    parser.add_argument("--splits", type=int, default=3)
    given = parser.parse_args(arguments)
    cells = json.loads(given.cells.read_text()) if given.cells.exists() else []
    for name in () if given.stored else given.tasks:
        found = of_task(name, given.libraries, given)
        kept = [cell for cell in cells if cell["task"] != name or cell["library"] not in given.libraries]
        order = [(task, library) for task in TASKS for library in LIBRARIES]
        cells = sorted(kept + found, key=lambda cell: order.index((cell["task"], cell["library"])))
        given.cells.write_text(json.dumps(cells, indent=1) + "\n")
    if given.page:
        given.page.write_text(page(cells), encoding="utf-8")


if __name__ == "__main__":
    main()
