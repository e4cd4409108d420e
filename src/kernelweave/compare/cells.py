"""The store of finished cells: one small JSON file for each method and fold, written at once and atomically.

A cell carries a fingerprint of all that its numbers depend on (data, protocol, method, settings, version), so that a
cell of other settings is computed again. Fingerprints do not depend on the other methods of the table: adding a method
leaves the cells of the others valid. A damaged or changed cell is found by its checksum and is computed again too, with
a line in the log.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from ..saving.atomic import replace_file
from ..views.digests import frame_digest
from .workers import FoldsInProcesses, FoldsOnCluster, Records

Progress = Callable[[int, int, str], None]
Cells = dict[tuple[str, int], Records]  # of methods and folds

_LONGEST = 80  # characters of a readable folder name
_LOG = logging.getLogger(__name__)


class CellStore:
    def __init__(self, folder: Path):
        self.folder = Path(folder)

    def path(self, method: str, fold: int) -> Path:
        return self.folder / _slug(method) / f"fold-{fold:03d}.json"

    def read(self, method: str, fold: int, mark: str) -> Records | None:
        path = self.path(method, fold)
        try:
            cell = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            cell = None
        if not isinstance(cell, dict) or cell.get("sha256") != _checksum(cell):
            _LOG.warning("the stored result %s is damaged or was changed; it is computed again", path)
            return None
        return cell["records"] if cell.get("fingerprint") == mark else None

    def write(self, method: str, fold: int, mark: str, records: Records) -> None:
        content = {"method": method, "fold": fold, "fingerprint": mark, "records": records}
        content = json.loads(json.dumps(content, allow_nan=False))  # as it will be read
        content["sha256"] = _checksum(content)
        write_atomically(self.path(method, fold), json.dumps(content, indent=1, allow_nan=False) + "\n")


def measure_cells(
    store: CellStore,
    marks: Mapping[str, str],
    *,
    folds: Sequence[int],
    prepare: Callable[[int], Callable[[str], Records]],
    n_jobs: int | None = None,
    progress: Progress | None = None,
    until: float | None = None,
    elsewhere: FoldsOnCluster | FoldsInProcesses | None = None,
) -> Cells:
    """Cells by method and fold: finished ones are read, the others computed fold by fold and stored at once.

    `prepare` makes of a fold, one of whose cells is missing, a function that measures a method on it. Folds run in
    threads with one BLAS thread each, `n_jobs` at a time, or `elsewhere`. `progress` is called with the numbers of
    finished and of all cells and the name of the method just finished. After `until`, by `time.monotonic`, no further
    cell begins; those that were not measured are absent from the result.
    """
    stored = {(method, fold): store.read(method, fold, mark) for method, mark in marks.items() for fold in folds}
    cells = {key: records for key, records in stored.items() if records is not None}

    def tell(method: str) -> None:
        if progress is not None:
            progress(len(cells), len(stored), method)

    tell("")
    if elsewhere is not None:
        missing = {fold: [method for method in marks if (method, fold) not in cells] for fold in folds}
        for fold, found in elsewhere.measured({fold: names for fold, names in missing.items() if names}, until):
            for method, records in found.items():
                store.write(method, fold, marks[method], records)
                cells[method, fold] = records
                tell(method)
        return cells
    is_over = threading.Event()  # where one thread fails or the user interrupts, the others begin no further cell

    def run(fold: int) -> None:
        measure = None
        for method in [method for method in marks if (method, fold) not in cells]:
            if is_over.is_set() or (until is not None and time.monotonic() >= until):
                return
            measure = measure or prepare(fold)
            records = measure(method)
            store.write(method, fold, marks[method], records)
            cells[method, fold] = records
            tell(method)

    def stopping(fold: int) -> None:
        try:
            with threadpool_limits(1):  # OpenMP has a limit for each thread
                run(fold)
        except BaseException:
            is_over.set()
            raise

    try:
        with threadpool_limits(1):
            Parallel(n_jobs=n_jobs, backend="threading")(delayed(stopping)(fold) for fold in folds)
    finally:
        is_over.set()
    return cells


def write_atomically(path: Path, text: str) -> None:
    """Write a text file such that an interruption leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, lambda file: file.write(text.encode("utf-8")))


def _checksum(cell: dict[str, Any]) -> str:
    rest = {name: value for name, value in cell.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def described(value: Any) -> Any:
    """A parameter as text that differs where the parameter does; `repr` alone would cut frames short."""
    if isinstance(value, pd.DataFrame | pd.Series):
        return [type(value).__name__, frame_digest(pd.DataFrame(value))]
    if isinstance(value, Mapping) and any(isinstance(part, pd.DataFrame | pd.Series) for part in value.values()):
        return {str(name): described(part) for name, part in value.items()}
    if isinstance(value, Mapping) and any(hasattr(part, "get_params") for part in value.values()):
        return in_full(value)
    return repr(value)


def in_full(value: Any) -> Any:
    if hasattr(value, "get_params") and not isinstance(value, type):
        return [type(value).__name__, {name: in_full(v) for name, v in sorted(value.get_params(deep=False).items())}]
    if isinstance(value, Mapping):
        return {str(name): in_full(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [in_full(part) for part in value]
    return repr(value)


def _slug(name: str) -> str:
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_LONGEST]
    return readable if readable == name else f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"
