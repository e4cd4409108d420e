"""`run_experiment`: fold by fold and method by method, resumable, in parallel over folds.

Each fold computes its Gram matrices once. Threads share the data, the solvers release the interpreter lock, and BLAS
uses one thread, so results depend neither on `n_jobs` nor on where a run was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from ..datasets import load_dataset
from ..machines import BinaryMachine
from ..model_selection import Split
from .cells import CellStore, data_digest, fingerprint
from .declaration import Experiment
from .fold import Fold
from .registry import find_experiment
from .summary import Summary, summarize

Progress = Callable[[int, int, str], None]


def run_experiment(
    experiment: str | Experiment,
    output: Any = "kernelweave-results",
    quick: bool = False,
    data_home: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Run an experiment, or continue it where an earlier run stopped.

    Parameters
    ----------
    experiment : str or Experiment
        Number of a registered table, or a declaration.
    output : path
        Folder for finished cells; a cell that is there is not computed again.
    quick : bool
        Fewer folds (and samples), as the experiment declares.
    data_home : path, optional
        As in `datasets.load_dataset`.
    n_jobs : int, optional
        Folds to run at the same time, as in joblib; the results do not depend on it.
    progress : callable, optional
        Called with the numbers of finished and of all cells and the name of the method just finished.

    Returns
    -------
    Summary
    """
    experiment = find_experiment(experiment) if isinstance(experiment, str) else experiment
    folder = f"table-{experiment.name}" + ("-quick" if quick else "")
    experiment = experiment.quickened() if quick else experiment
    X, y, splits, digest = _prepare(experiment, data_home)
    store = CellStore(Path(output) / "cells" / folder)
    marks = {method.name: fingerprint(experiment, method, digest) for method in experiment.methods}
    cells = _Cells(experiment, store, marks, len(splits), progress)
    _load_compiled_code()
    with threadpool_limits(1):
        jobs = (delayed(_run_fold)(experiment, X, y, split, fold, cells) for fold, split in enumerate(splits))
        Parallel(n_jobs=n_jobs, backend="threading")(jobs)
    return summarize(experiment, cells.finished, splits, quick)


def _load_compiled_code() -> None:
    """Let the solver compile, or load its compiled code, before any clock runs."""
    BinaryMachine(np.array([1.0, -1.0]), 1.0).solve(np.eye(2))


class _Cells:
    """The cells of one run: what is finished, and who wants to know."""

    def __init__(self, experiment: Experiment, store: CellStore, marks: dict, n_folds: int, progress: Progress | None):
        self.store, self.marks, self.progress = store, marks, progress
        self.total = len(experiment.methods) * n_folds
        self.finished: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for method in marks:
            for fold in range(n_folds):
                records = store.read(method, fold, marks[method])
                if records is not None:
                    self.finished[method, fold] = records
        self._tell("")

    def add(self, method: str, fold: int, records: list[dict[str, Any]]) -> None:
        self.store.write(method, fold, self.marks[method], records)
        self.finished[method, fold] = records
        self._tell(method)

    def _tell(self, method: str) -> None:
        if self.progress is not None:
            self.progress(len(self.finished), self.total, method)


def _run_fold(experiment: Experiment, X: Any, y: np.ndarray, split: Split, number: int, cells: _Cells) -> None:
    missing = [method for method in experiment.methods if (method.name, number) not in cells.finished]
    if not missing:
        return
    fold = Fold(experiment, X, y, split)
    for method in missing:
        cells.add(method.name, number, fold.measure(method))


def _prepare(experiment: Experiment, data_home: Any) -> tuple[Any, np.ndarray, list[Split], str]:
    """Data, targets, folds, and a digest of all that the folds depend on."""
    bunch = load_dataset(experiment.dataset, experiment.variant, data_home=data_home)
    X, y, groups, is_train = bunch.data, bunch.target, bunch.original_target, bunch.get("is_train")
    stratify = experiment.is_classification
    if experiment.max_samples is not None and experiment.max_samples < len(y):
        chosen, _ = train_test_split(
            np.arange(len(y)), train_size=experiment.max_samples, stratify=y if stratify else None, random_state=0
        )
        X = X.iloc[chosen].reset_index(drop=True) if hasattr(X, "iloc") else X[chosen]
        y, groups, is_train = y[chosen], groups[chosen], None if is_train is None else is_train[chosen]
    splits = experiment.protocol.split(y, stratify, groups=groups, is_train=is_train)
    return X, y, splits, data_digest(X, y, groups, is_train)
