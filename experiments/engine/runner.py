"""`run_experiment`: fold by fold and method by method, resumable, in parallel over folds.

Each fold computes its Gram matrices once, and once more for each further point of a response surface: the next point is
known only when all folds have measured the last one, and keeping the matrices of all folds would cost more. Threads
share the data, the solvers release the interpreter lock, and BLAS uses one thread, so results depend neither on
`n_jobs` nor on where a run was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from ...datasets import load_dataset
from ...datasets.loading import data_folder
from ...machines import BinaryMachine
from ...model_selection import Split
from .cells import Cells, CellStore, Progress, Records, data_digest, fingerprint, measure_cells
from .cluster import FoldsOnCluster, FoldSource
from .collection import Collection
from .comparison import Comparison
from .comparison_run import ComparisonOutcome, run_comparison
from .declaration import Experiment, Method
from .discovery import AnyExperiment, find_experiment
from .fold import Fold
from .outcome import CollectionOutcome, Outcome, gather_outcome
from .search import search_surface

_Data = tuple[Any, np.ndarray, list[Split], str]


def run_experiment(
    experiment: str | AnyExperiment,
    output: Any = "kernelweave-results",
    *,
    quick: bool = False,
    data_home: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    client: Any = None,
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
    client : distributed.Client, optional
        Folds run on the workers of this Dask cluster, which read the data themselves; results are the same.

    Returns
    -------
    Outcome, CollectionOutcome or ComparisonOutcome
        By the kind of the experiment.
    """
    experiment = find_experiment(experiment) if isinstance(experiment, str) else experiment
    if isinstance(experiment, Collection):
        return _run_collection(experiment, output, quick, data_home, n_jobs, progress, client)
    if isinstance(experiment, Comparison):
        return run_comparison(
            experiment, output, quick=quick, data_home=data_home, n_jobs=n_jobs, progress=progress, client=client
        )
    folder = f"table-{experiment.name}" + ("-quick" if quick else "")
    experiment = experiment.quickened() if quick else experiment
    data = _prepare(experiment, data_home)
    splits = data[2]
    store = CellStore(Path(output) / "cells" / folder)
    measurement = _Measurement(experiment, data, store, n_jobs, progress, data_home=data_home, client=client)
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
    collection: Collection,
    output: Any,
    quick: bool,
    data_home: Any,
    n_jobs: int | None,
    progress: Progress | None,
    client: Any,
) -> CollectionOutcome:
    def told(member: Experiment) -> Progress | None:
        if progress is None:
            return None
        return lambda done, total, method: progress(done, total, f"{member.title} {method}")

    parts: list[Any] = [
        run_experiment(
            member, output, quick=quick, data_home=data_home, n_jobs=n_jobs, progress=told(member), client=client
        )
        for member in collection.members
    ]
    return CollectionOutcome(collection, parts, quick=quick)


def _load_compiled_code() -> None:
    """Let the solver compile, or load its compiled code, before any clock runs."""
    BinaryMachine(np.array([1.0, -1.0]), 1.0).solve(np.eye(2))


class ExperimentFolds(FoldSource):
    """The folds of an experiment, for methods by name.

    Parameters
    ----------
    experiment : Experiment
    data_home : Path or None
        Of this process.
    methods : mapping from name to Method
    """

    def __init__(self, experiment: Experiment, data_home: Any, methods: Mapping[str, Method]):
        self.experiment, self.data_home, self.methods = experiment, data_home, dict(methods)
        self.data = f"{experiment.dataset!r}"

    def load(self) -> _Data:
        """Data, targets, folds and digest."""
        _load_compiled_code()
        return _prepare(self.experiment, self.data_home)

    def digest(self, loaded: _Data) -> str:
        """Of data, targets and folds."""
        return f"{loaded[3]} {self.experiment.protocol!r}"

    def prepare(self, loaded: _Data, fold: int) -> Callable[[str], Records]:
        """A function that measures a method on a fold."""
        X, y, splits, _ = loaded
        found = Fold(self.experiment, X, y, splits[fold])
        return lambda name: found.measure(self.methods[name])


class _Measurement:
    """The methods of an experiment on its folds."""

    def __init__(
        self,
        experiment: Experiment,
        data: _Data,
        store: CellStore,
        n_jobs: int | None,
        progress: Progress | None,
        *,
        data_home: Any,
        client: Any,
    ):
        self.experiment, self.data, self.digest = experiment, data, data[3]
        self.store, self.n_jobs, self.progress = store, n_jobs, progress
        self.data_home, self.client = data_home, client
        self.n_before = 0  # cells of earlier calls

    def measure(self, methods: Sequence[Method], folds: Sequence[int]) -> Cells:
        """The records of each method in each fold."""
        named = {method.name: method for method in methods}
        marks = {name: fingerprint(self.experiment, method, self.digest) for name, method in named.items()}
        n_before = self.n_before

        def tell(done: int, total: int, method: str) -> None:
            if self.progress is not None:
                self.progress(n_before + done, n_before + total, method)

        source = ExperimentFolds(self.experiment, data_folder(self.data_home), named)
        cells = measure_cells(
            self.store,
            marks,
            folds=folds,
            prepare=partial(source.prepare, self.data),
            n_jobs=self.n_jobs,
            progress=tell,
            elsewhere=None if self.client is None else FoldsOnCluster(self.client, source, source.digest(self.data)),
        )
        self.n_before += len(cells)
        return cells


def _prepare(experiment: Experiment, data_home: Any) -> _Data:
    """Data, targets, folds, and a digest of all that the folds depend on."""
    made = experiment.make
    bunch = made() if made else load_dataset(experiment.dataset, experiment.variant, data_home=data_home)
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
