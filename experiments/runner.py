"""`run_experiment`: fold by fold and method by method, resumable, in parallel over folds.

Each fold computes its Gram matrices once, and once more for each further point of a response surface: the next point is
known only when all folds have measured the last one, and keeping the matrices of all folds would cost more. Threads
share the data, the solvers release the interpreter lock, and BLAS uses one thread, so results depend neither on
`n_jobs` nor on where a run was interrupted.

Methods with hyper-parameters that a response surface finds are RMKL and RWKL, thesis 2.7 and Figure 2.3. A point of the
search is an ordinary method with an ordinary cell in each fold, so an interrupted search reads the points that it has
measured and continues. ``TrainMKLSVM(d)`` of the figure is `measure` over all folds of a run; its "average error on
validation sets" is taken at the best setting of the grid.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline

from experiments.declaration import Collection, Experiment, Method
from experiments.discovery import AnyExperiment, find_experiment
from experiments.fold import Fold
from experiments.outcome import CollectionOutcome, Outcome, gather_outcome, mean_validation
from kernelweave import __version__
from kernelweave.compare import Comparison, ComparisonOutcome, run_comparison
from kernelweave.compare.cells import Cells, CellStore, Progress, measure_cells
from kernelweave.compare.workers import FoldsOnCluster, FoldSource, Records
from kernelweave.datasets import load_dataset
from kernelweave.datasets.loading import data_folder
from kernelweave.machines import BinaryMachine
from kernelweave.model_selection import Split
from kernelweave.model_selection.response_surfaces import check_factors, minimize_response
from kernelweave.views.digests import data_digest


def search_surface(
    experiment: Experiment,
    method: Method,
    folds: Sequence[int],
    measure: Callable[[Sequence[Method], Sequence[int]], Cells],
) -> Cells:
    """Search the factors of a method over the folds of one run.

    Parameters
    ----------
    experiment : Experiment
    method : Method
        With a `search`.
    folds : sequence of int
    measure : callable
        From methods and folds to the records of each method in each fold.

    Returns
    -------
    dict from (method, fold) to records
        The records of every setting at every point that was tried.
    """
    search: Any = method.search
    kernels = [(name, experiment.kernels[name]) for name in method.kernels]
    factors = check_factors(experiment.estimator(method, kernels), list(search.factors), search.bounds)
    tried: Cells = {(method.name, fold): [] for fold in folds}

    def errors(points: np.ndarray) -> np.ndarray:
        places = [experiment.at(method, factors.parameters(point)) for point in points]
        cells = measure(places, folds)
        for place in places:
            for fold in folds:
                tried[method.name, fold] += cells[place.name, fold]
        scores = [mean_validation(experiment, place, [cells[place.name, fold] for fold in folds]) for place in places]
        if experiment.is_classification:
            return np.array([1.0 - score.max() / 100.0 for score in scores])
        return np.array([score.min() for score in scores])

    trace = minimize_response(
        errors,
        factors.centre,
        low=factors.low,
        high=factors.high,
        delta=search.delta,
        order=search.order,
        tol=search.tol,
        max_iter=search.max_iter,
    )
    if not trace.converged:
        warnings.warn(
            f"the response surface of {method.name!r} in experiment {experiment.name!r} stopped after "
            f"max_iter={search.max_iter} points beyond its design, and the point still moves",
            ConvergenceWarning,
            stacklevel=2,
        )
    return tried


_FORMAT = 2  # of the records: a cell that lacks what is measured today is computed again
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
    settings: dict[str, Any] = {"quick": quick, "data_home": data_home, "n_jobs": n_jobs, "client": client}
    if isinstance(experiment, Collection):
        parts: list[Any] = [
            run_experiment(member, output, progress=_titled(progress, member.title), **settings)
            for member in experiment.members
        ]
        return CollectionOutcome(experiment, parts, quick=quick)
    if isinstance(experiment, Comparison):
        return run_comparison(experiment, output, progress=progress, **settings)
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


def _titled(progress: Progress | None, title: str) -> Progress | None:
    """Progress on one data set of a collection, with its title before the method."""
    if progress is None:
        return None
    return lambda done, total, method: progress(done, total, f"{title} {method}")


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


def fingerprint(experiment: Experiment, method: Method, data: str) -> str:
    """A digest of everything that a method's cells depend on; `data` is the digest of the data."""
    settings = {
        "version": __version__,
        "format": _FORMAT,
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
    if method.estimator is not None:
        settings["estimator"] = _described(method.estimator)
    if method.from_features:
        settings["from_features"] = True
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _described(value: Any) -> Any:
    """Class and parameters of a kernel, combiner or estimator, all of them."""
    if isinstance(value, Pipeline):
        return [_described(step) for _, step in value.steps]
    if not hasattr(value, "get_params"):
        return repr(value)
    return [type(value).__name__, {name: _described(v) for name, v in sorted(value.get_params(deep=False).items())}]
