"""`run_experiment`: fold by fold and method by method, resumable, in parallel over folds.

Each fold computes its Gram matrices once, and once more for each further point of a response surface: the next point is
known only when all folds have measured the last one, and keeping the matrices of all folds would cost more. Threads
share the data, the solvers release the interpreter lock, and BLAS uses one thread, so results depend neither on
`n_jobs` nor on where a run was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from ...datasets import load_dataset
from ...machines import BinaryMachine
from ...model_selection import Split
from .cells import Cells, CellStore, Progress, Records, data_digest, fingerprint, measure_cells
from .collection import Collection
from .comparison import Comparison
from .comparison_run import ComparisonOutcome, run_comparison
from .declaration import Experiment, Method
from .discovery import AnyExperiment, find_experiment
from .fold import Fold
from .outcome import CollectionOutcome, Outcome, gather_outcome
from .search import search_surface


def run_experiment(
    experiment: str | AnyExperiment,
    output: Any = "kernelweave-results",
    *,
    quick: bool = False,
    data_home: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Outcome | CollectionOutcome | ComparisonOutcome:
    """Run an experiment, or continue it where an earlier run stopped.

    Parameters
    ----------
    experiment : str, Experiment, Collection or Comparison
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
    Outcome, CollectionOutcome or ComparisonOutcome
        By the kind of the experiment.
    """
    experiment = find_experiment(experiment) if isinstance(experiment, str) else experiment
    if isinstance(experiment, Collection):
        return _run_collection(experiment, output, quick, data_home, n_jobs, progress)
    if isinstance(experiment, Comparison):
        return run_comparison(experiment, output, quick=quick, data_home=data_home, n_jobs=n_jobs, progress=progress)
    folder = f"table-{experiment.name}" + ("-quick" if quick else "")
    experiment = experiment.quickened() if quick else experiment
    X, y, splits, digest = _prepare(experiment, data_home)
    store = CellStore(Path(output) / "cells" / folder)
    measurement = _Measurement(experiment, X, y, splits, digest, store, n_jobs, progress)
    _load_compiled_code()
    plain = [method for method in experiment.methods if method.search is None]
    cells = measurement.measure(plain, range(len(splits)))
    runs = np.array([split.run for split in splits])
    for method in experiment.methods:
        for run in np.unique(runs) if method.search is not None else ():
            folds = np.flatnonzero(runs == run).tolist()
            cells |= search_surface(experiment, method, folds, measurement.measure)
    return gather_outcome(experiment, cells, splits, quick)


def _run_collection(
    collection: Collection, output: Any, quick: bool, data_home: Any, n_jobs: int | None, progress: Progress | None
) -> CollectionOutcome:
    def told(member: Experiment) -> Progress | None:
        if progress is None:
            return None
        return lambda done, total, method: progress(done, total, f"{member.title} {method}")

    parts: list[Any] = [
        run_experiment(member, output, quick=quick, data_home=data_home, n_jobs=n_jobs, progress=told(member))
        for member in collection.members
    ]
    return CollectionOutcome(collection, parts, quick=quick)


def _load_compiled_code() -> None:
    """Let the solver compile, or load its compiled code, before any clock runs."""
    BinaryMachine(np.array([1.0, -1.0]), 1.0).solve(np.eye(2))


class _Measurement:
    """The methods of an experiment on its folds."""

    def __init__(
        self,
        experiment: Experiment,
        X: Any,
        y: np.ndarray,
        splits: list[Split],
        digest: str,
        store: CellStore,
        n_jobs: int | None,
        progress: Progress | None,
    ):
        self.experiment, self.X, self.y, self.splits, self.digest = experiment, X, y, splits, digest
        self.store, self.n_jobs, self.progress = store, n_jobs, progress
        self.n_before = 0  # cells of earlier calls

    def measure(self, methods: Sequence[Method], folds: Sequence[int]) -> Cells:
        """The records of each method in each fold."""
        named = {method.name: method for method in methods}
        marks = {name: fingerprint(self.experiment, method, self.digest) for name, method in named.items()}
        n_before = self.n_before

        def tell(done: int, total: int, method: str) -> None:
            if self.progress is not None:
                self.progress(n_before + done, n_before + total, method)

        def prepare(number: int) -> Callable[[str], Records]:
            fold = Fold(self.experiment, self.X, self.y, self.splits[number])
            return lambda name: fold.measure(named[name])

        cells = measure_cells(self.store, marks, folds=folds, prepare=prepare, n_jobs=self.n_jobs, progress=tell)
        self.n_before += len(cells)
        return cells


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
