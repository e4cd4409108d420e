"""The store of finished cells: one small JSON file for each method and fold, written at once and atomically.

A cell carries a fingerprint of all that its numbers depend on (data, protocol, kernels, method, grid, version), so that
a cell of other settings is computed again instead of being believed. Fingerprints do not depend on the other methods of
the table: adding a method leaves the cells of the others valid.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .._version import __version__
from .declaration import Experiment, Method


class CellStore:
    """Finished cells below one folder.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path):
        self.folder = Path(folder)

    def path(self, method: str, fold: int) -> Path:
        """The file of a cell."""
        return self.folder / _slug(method) / f"fold-{fold:03d}.json"

    def read(self, method: str, fold: int, mark: str) -> list[dict[str, Any]] | None:
        """The records of a finished cell, or None where there is none with this fingerprint."""
        try:
            cell = json.loads(self.path(method, fold).read_text())
        except (OSError, ValueError):
            return None
        if not isinstance(cell, dict) or cell.get("fingerprint") != mark or not isinstance(cell.get("records"), list):
            return None
        return cell["records"]

    def write(self, method: str, fold: int, mark: str, records: list[dict[str, Any]]) -> None:
        """Store a finished cell; whoever reads sees all of it or nothing."""
        content = {"method": method, "fold": fold, "fingerprint": mark, "records": records}
        write_atomically(self.path(method, fold), json.dumps(content, indent=1, allow_nan=False) + "\n")


def write_atomically(path: Path, text: str) -> None:
    """Write a text file by way of a temporary one, so that an interruption leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def fingerprint(experiment: Experiment, method: Method, data: str) -> str:
    """A digest of everything that a method's cells depend on; `data` is the digest of the data."""
    settings = {
        "version": __version__,
        "data": data,
        "task": experiment.task,
        "protocol": repr(experiment.protocol),
        "standardize": experiment.standardize,
        "normalize": experiment.normalize,
        "max_samples": experiment.max_samples,
        "features": list(experiment.features),
        "kernels": {name: _described(experiment.kernels[name]) for name in method.kernels},
        "costs": {name: experiment.costs.get(name, 1.0) for name in method.kernels},
        "combiner": _described(method.combiner),
        "options": {name: repr(value) for name, value in sorted(method.options.items())},
        "grid": repr(experiment.paths(method)),
    }
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def data_digest(X: Any, y: np.ndarray, *others: Any) -> str:
    """A digest of the data and of anything else that decides the splits."""
    digest = hashlib.sha256()
    parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [_numbers(X)]
    for part in [*parts, y, *others]:
        if part is not None:
            digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _numbers(X: pd.DataFrame) -> np.ndarray:
    """The values of a data frame, rows with text in them as hashes."""
    values = X.to_numpy()
    return values if values.dtype.kind in "fiub" else pd.util.hash_pandas_object(X, index=False).to_numpy()


def _described(value: Any) -> Any:
    """Class and parameters of a kernel or combiner, all of them."""
    if not hasattr(value, "get_params"):
        return repr(value)
    return [type(value).__name__, {name: _described(v) for name, v in sorted(value.get_params(deep=False).items())}]


def _slug(name: str) -> str:
    """A folder's name: readable, and different for different names."""
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return readable if readable == name else f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"
