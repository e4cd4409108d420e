"""Run a script of one library in a process of its own: ``python cell.py OUTPUT SCRIPT MODULE DISTRIBUTION FOLDER...``.

Each folder has the samples of a split, as CSV files. The first split is solved twice: what the first time takes, with
the imports and whatever is compiled, is kept apart. The answers and seconds go to the file OUTPUT. This file runs in
the environments of all libraries, also of old ones: it needs pandas only, and nothing of Kernelweave.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """The tables in a folder, by name."""
    return {path.stem: read(path) for path in sorted(folder.glob("*.csv"))}


def read(path: Path) -> pd.DataFrame:
    """A table whose first column is the name of the sample; numbers are read as they were written."""
    return pd.read_csv(path, index_col=0, float_precision="round_trip")


def arguments(folder: Path) -> tuple[Any, ...]:
    """What `solve` is given: training tables, labels and test tables, or tables and the number of clusters."""
    train = tables(folder / "train")
    if not (folder / "test").exists():
        return train, int((folder / "n_clusters").read_text())
    y = read(folder / "y.csv").to_numpy()
    return train, y[:, 0] if y.shape[1] == 1 else y, tables(folder / "test")


def solved(solve: Any, folder: Path) -> tuple[Any, float, float]:
    """The answer for a split, processor seconds and seconds."""
    given = arguments(folder)
    cpu, wall = time.process_time(), time.perf_counter()
    answer = solve(*given)
    return answer, time.process_time() - cpu, time.perf_counter() - wall


def versions(names: list[str]) -> dict[str, str]:
    """Of Python and of packages that are installed."""
    found = {"Python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    output, script, module_name, distribution, *folders = sys.argv[1:]
    warnings.simplefilter("ignore")
    if importlib.util.find_spec(module_name) is None:
        Path(output).write_text(json.dumps({"absent": True}))
        return
    spec = importlib.util.spec_from_file_location("script", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    begun = time.process_time()
    spec.loader.exec_module(module)
    imported = time.process_time() - begun
    first = imported + solved(module.solve, Path(folders[0]))[1]
    runs = [solved(module.solve, Path(folder)) for folder in folders]
    found = {
        "answers": [pd.DataFrame(answer).to_numpy().tolist() for answer, _, _ in runs],
        "cpu": [cpu for _, cpu, _ in runs],
        "wall": [wall for _, _, wall in runs],
        "first": first,
        "versions": versions([distribution, "scikit-learn", "numpy"]),
    }
    Path(output).write_text(json.dumps(found))


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file, whose folders have names of their own
    main()
