"""How a comparison is run and summed up; cells are stored (`cells`), so that a run goes on where one stopped."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone

from .._version import __version__
from ..datasets import load_dataset
from ..datasets.loading import data_folder
from ..model_selection import Split
from ..recipes.scoring import Scoring
from ..recipes.search import remembering
from ..recipes.tasks import CLASSES, NUMBERS, SURVIVAL
from ..views.digests import data_digest, frame_digest
from .cells import Cells, CellStore, Progress, described, measure_cells
from .comparison import Comparison, Measure, Problem
from .out_of_fold import Judge, OutOfFold, out_of_fold_table
from .workers import FoldsInProcesses, FoldsOnCluster, FoldSource, Records, heard, warnings_by_thread


@dataclass(frozen=True)
class ContenderResult:
    """What one contender achieved on one data set.

    `errors` are test errors in per cent of each repeat, and `validation` the mean error on the validation samples, NaN
    where there are none, of the candidates that count, which `chosen` names for each run (or once). `seconds` are those
    of all candidates on one fold, fit and prediction, on average. `best` says whether no contender is significantly
    better; `out_of_fold` are the predictions for the test samples, where the protocol compares samples.
    """

    errors: np.ndarray
    chosen: list[str]
    seconds: float
    best: bool = False
    candidates: tuple[str, ...] = ()
    validation: float = np.nan
    out_of_fold: OutOfFold | None = None

    @property
    def mean(self) -> float:
        return float(self.errors.mean())

    @property
    def std(self) -> float:
        return float(self.errors.std(ddof=1)) if len(self.errors) > 1 else 0.0


def results_of(
    comparison: Comparison, cells: Cells, splits: list[Split], problem: Problem
) -> dict[str, ContenderResult]:
    names = [contender.name for contender in comparison.contenders]
    found = {name: _result(comparison, [cells[name, fold] for fold in range(len(splits))], splits) for name in names}
    first = min(found.values(), key=lambda result: result.mean)

    def tied(result: ContenderResult) -> bool:
        if result is first or len(first.errors) < 2:
            return result.mean == first.mean
        if not comparison.protocol.compares_samples:
            return not comparison.protocol.compare(first.errors, result.errors).significant(comparison.level)
        assert first.out_of_fold is not None and result.out_of_fold is not None
        return not judge.test(first.out_of_fold, result.out_of_fold).significant(comparison.level)

    n_train = float(np.mean([len(split.train) for split in splits]))
    usual = {CLASSES: "accuracy", NUMBERS: "r2", SURVIVAL: "concordance"}[problem.task]
    judge = Judge(problem, Scoring(usual), n_train)
    return {name: dataclasses.replace(result, best=tied(result)) for name, result in found.items()}


def _result(comparison: Comparison, folds: list[Records], splits: list[Split]) -> ContenderResult:
    runs = np.array([split.run for split in splits])
    test = np.array([[record["test"] for record in records] for records in folds])
    validated = folds[0][0]["validation"] is not None
    judged = np.array([[record["validation"] for record in records] for records in folds]) if validated else test
    # Without validation samples every fold is a run of its own, and one candidate must serve them all.
    groups = runs if validated else np.zeros(len(folds), dtype=int)
    labels = [record["candidate"] for record in folds[0]]
    errors, held_out, chosen = np.empty(len(folds)), np.full(len(folds), np.nan), []
    counts = np.empty(len(folds), dtype=int)  # which candidate counts in each fold
    for group in np.unique(groups):
        best = int(judged[groups == group].mean(axis=0).argmin())
        counts[groups == group] = best
        errors[groups == group] = test[groups == group, best]
        if validated:
            held_out[groups == group] = judged[groups == group, best]
        chosen.append(labels[best])
    if comparison.protocol.one_result_per_run:
        errors = np.array([errors[runs == run].mean() for run in np.unique(runs)])
    seconds = float(np.mean([sum(record["seconds"] for record in records) for records in folds]))
    found = None
    if comparison.protocol.compares_samples:
        own = [records[best] for records, best in zip(folds, counts, strict=True)]
        found = OutOfFold.of(splits, own, range(len(splits)))
    return ContenderResult(
        errors, chosen, seconds, candidates=tuple(labels), validation=float(held_out.mean()), out_of_fold=found
    )


@dataclass(frozen=True)
class ComparisonOutcome:
    """The finished table.

    Attributes
    ----------
    experiment : Comparison
    results : dict from (data set, contender) to ContenderResult
        Of the candidates that count.
    n_folds : int
        Of each data set.
    quick : bool
    first : dict from (data set, contender) to ContenderResult
        Of the first candidate of each contender, chosen or not.
    absent : tuple of str
        Data sets that were not there.
    problems : dict from data set to Problem
    """

    experiment: Comparison
    results: dict[tuple[str, str], ContenderResult]
    _: KW_ONLY
    n_folds: int
    quick: bool
    first: dict[tuple[str, str], ContenderResult] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    problems: dict[str, Problem] = field(default_factory=dict)

    @property
    def rows(self) -> list[str]:
        """The data sets that were there."""
        return [row for row in self.experiment.datasets if row not in self.absent]

    def out_of_fold(self, row: str) -> pd.DataFrame:
        """What each contender predicts of the test samples of each fold of a data set, where the protocol has them.

        Parameters
        ----------
        row : str
            One of `rows`.

        Returns
        -------
        DataFrame
            Columns ``sample`` (its label in a data frame, or position), ``repeat``, ``fold``, ``method``, ``target``,
            and of a classification ``label`` and ``probability_CLASS`` for each class, of a regression ``prediction``,
            of survival (without ``target``) ``time``, ``event``, ``risk`` and ``survival_TIME`` for some times.
        """
        if row not in self.problems:
            raise ValueError(f"there is no data set {row!r}; those of this comparison are {', '.join(self.problems)}")
        if not self.experiment.protocol.compares_samples:
            raise ValueError("predictions are kept where the protocol is NestedFolds, and this comparison has another")
        results = {name: self.results[row, name].out_of_fold for name in self._names}
        found = {name: own for name, own in results.items() if own is not None}
        problem = self.problems[row]
        labels = getattr(problem.X, "index", np.arange(len(problem.y)))
        return out_of_fold_table(problem, labels, found)

    @property
    def _names(self) -> list[str]:
        return [contender.name for contender in self.experiment.contenders]


def run_comparison(
    comparison: Comparison,
    output: Any,
    *,
    quick: bool = False,
    data_home: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    client: Any = None,
) -> ComparisonOutcome:
    """Run a comparison, or continue it where an earlier run stopped.

    Parameters
    ----------
    comparison : Comparison
    output : path
        Folder for finished cells; a cell that is there is not computed again.
    quick : bool
        With the fields that the comparison declares for a quick run.
    data_home : path, optional
        As in `datasets.load_dataset`.
    n_jobs : int, optional
        Folds to run at the same time, as in joblib; the results do not depend on it.
    progress : callable, optional
        Called with the numbers of finished and of all cells of a data set, and the data set and the contender just
        finished.
    client : distributed.Client, optional
        Folds run on the workers of this Dask cluster, which read the data themselves; results are the same.

    Returns
    -------
    ComparisonOutcome

    Raises
    ------
    FileNotFoundError
        Where a data set is not in the data home, or none is, with `skip_absent`.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from kernelweave.compare import Comparison, Contender, Problem, run_comparison
    >>> from kernelweave.model_selection import RepeatedHalves
    >>> neighbours = [Contender(f"k = {k}", lambda problem, k=k: {"": KNeighborsClassifier(k)}) for k in (1, 60)]
    >>> comparison = Comparison(
    ...     "iris",
    ...     "Neighbours",
    ...     source="",
    ...     datasets={"iris": Problem(*load_iris(return_X_y=True))},
    ...     contenders=tuple(neighbours),
    ...     protocol=RepeatedHalves(n_repeats=2),
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run_comparison(comparison, folder)
    >>> outcome.results["iris", "k = 1"].mean < outcome.results["iris", "k = 60"].mean
    True
    """
    folder = Path(output) / "cells" / (f"table-{comparison.name}" + ("-quick" if quick else ""))
    comparison = comparison.quickened() if quick else comparison
    results: dict[Any, Any] = {}
    first: dict[Any, Any] = {}
    absent, n_folds, problems = [], 0, {}
    for row in comparison.datasets:

        def tell(done: int, total: int, contender: str, row: str = row) -> None:
            if progress is not None:
                progress(done, total, f"{row} {contender}")

        try:
            measured = measure_row(
                comparison, row, folder, data_home=data_home, n_jobs=n_jobs, progress=tell, client=client
            )
        except FileNotFoundError:
            if not comparison.skip_absent:
                raise
            absent.append(row)
            continue
        cells, splits = measured.cells, measured.splits
        n_folds = len(splits)
        problems[row] = problem = measured.problem
        results |= {(row, name): one for name, one in results_of(comparison, cells, splits, problem).items()}
        cells = {key: records[:1] for key, records in cells.items()}
        first |= {(row, name): one for name, one in results_of(comparison, cells, splits, problem).items()}
    if not results:
        raise FileNotFoundError(
            f"none of the data sets of {comparison.name!r} is in the data home: {', '.join(comparison.datasets)}"
        )
    return ComparisonOutcome(
        comparison, results, n_folds=n_folds, quick=quick, first=first, absent=tuple(absent), problems=problems
    )


@dataclass(frozen=True)
class MeasuredRow:
    """The cells of one data set, by contender and fold.

    A cell has a record for each candidate: errors in per cent and, at need, `Problem.predictions`; or `failed` alone.
    """

    problem: Problem
    splits: list[Split]
    cells: Cells


def measure_row(
    comparison: Comparison,
    row: str,
    folder: Path,
    *,
    data_home: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    until: float | None = None,
    client: Any = None,
    reread: Callable[[], Comparison] | None = None,
) -> MeasuredRow:
    """Measure all contenders on the folds of one data set, or read what an earlier run has measured.

    Cells are stored in a folder of the row's name below `folder`. After `until`, by `time.monotonic`, no further cell
    begins; the result then lacks some. `reread` declares the same comparison on a worker of `client`, from files;
    otherwise data at hand are sent there. Other parameters are those of `run_comparison`.
    """
    data = _load(comparison, row, data_home)
    elsewhere: FoldsOnCluster | FoldsInProcesses | None = None
    if client is not None or comparison.in_processes:
        source = ComparisonFolds(reread or comparison, row, data_folder(data_home), comparison.is_tolerant)
        digest = source.digest(data)
        if client is not None:
            elsewhere = FoldsOnCluster(client, source, digest)
        else:
            elsewhere = FoldsInProcesses(source, digest, n_jobs=n_jobs)
    with warnings_by_thread() if comparison.is_tolerant else nullcontext():
        cells = measure_cells(
            CellStore(folder / row),
            data.marks,
            folds=range(len(data.splits)),
            prepare=data.prepare,
            n_jobs=n_jobs,
            progress=progress,
            until=until,
            elsewhere=elsewhere,
        )
    return MeasuredRow(data.problem, data.splits, cells)


def fingerprints(comparison: Comparison, row: str, *, data_home: Any = None) -> Mapping[str, str]:
    return _load(comparison, row, data_home).marks


@dataclass(frozen=True)
class _Row:
    comparison: Comparison
    problem: Problem
    splits: list[Split]
    scaling: BaseEstimator | None
    tried: Mapping[str, Mapping[str, BaseEstimator]]
    marks: Mapping[str, str]

    def prepare(self, number: int) -> Callable[[str], Records]:
        split = self.splits[number]
        parts = [_rows(self.problem.X, part) for part in (split.train, split.validation, split.test)]
        if self.scaling is not None:
            scaler = clone(self.scaling).fit(parts[0])
            parts = [scaler.transform(part) if part.shape[0] else part for part in parts]

        measure = self.comparison.measure or partial(measure_candidate, keeps=self.comparison.protocol.compares_samples)
        if self.comparison.is_tolerant:
            measure = partial(_tolerated, measure)

        known: list[Any] = []  # what "auto" chooses from has been fitted for other rows of the table

        def records(contender: str) -> Records:
            with remembering(known):
                tried = self.tried[contender].items()
                return [measure(label, model, self.problem, split, parts) for label, model in tried]

        return records


class ComparisonFolds(FoldSource):
    """The folds of one data set of a comparison, or of what a callable declares where it is called."""

    def __init__(self, comparison: Comparison | Callable[[], Comparison], row: str, data_home: Any, is_tolerant: bool):
        self.comparison, self.row, self.data_home = comparison, row, data_home
        self.is_tolerant, self.data = is_tolerant, row

    def load(self) -> _Row:
        found = self.comparison if isinstance(self.comparison, Comparison) else self.comparison()
        return _load(found, self.row, self.data_home)

    def digest(self, loaded: _Row) -> dict[str, Any]:
        return {**loaded.marks, "number of folds": len(loaded.splits)}  # fingerprints serve any number of draws

    def prepare(self, loaded: _Row, fold: int) -> Callable[[str], Records]:
        return loaded.prepare(fold)


def _load(comparison: Comparison, row: str, data_home: Any) -> _Row:
    place = comparison.datasets[row]
    if not isinstance(place, tuple):
        place = place if isinstance(place, Problem) else place(data_home)
        problem = place if comparison.prepare is None else dataclasses.replace(place, X=comparison.prepare(place.X))
        groups, published, data = problem.groups, None, _problem_digest(problem)
    else:
        bunch = load_dataset(place[0], place[1], data_home=data_home)
        X = bunch.data if comparison.prepare is None else comparison.prepare(bunch.data)
        problem = Problem(X, bunch.target, views=bunch.views, is_classification=bool(bunch.target_names))
        groups, published = bunch.original_target, bunch.get("is_train")
        data = data_digest(X, problem.y, groups, published)
    splits = dataclasses.replace(problem, groups=groups).split(comparison.protocol, is_train=published)
    scaling = None if comparison.scaling is None else comparison.scaling(problem)
    tried = {contender.name: contender.candidates(problem) for contender in comparison.contenders}
    marks = {contender: _fingerprint(comparison, scaling, models, data) for contender, models in tried.items()}
    return _Row(comparison, problem, splits, scaling, tried, marks)


def _problem_digest(problem: Problem) -> str:
    X = frame_digest(problem.X) if isinstance(problem.X, pd.DataFrame) else data_digest(problem.X, problem.y)
    return data_digest(np.array([X]), problem.y, np.array(problem.is_classification), problem.groups)


def _fingerprint(
    comparison: Comparison, scaling: BaseEstimator | None, models: Mapping[str, BaseEstimator], data: str
) -> str:
    settings: dict[str, Any] = {
        "version": __version__,
        "data": data,
        "protocol": repr(comparison.protocol),
        "models": {label: _described(model) for label, model in models.items()},
    }
    if scaling is not None:
        settings["scaling"] = _described(scaling)
    if comparison.measure is None and comparison.protocol.compares_samples:
        settings["predictions"] = True  # cells of earlier versions have none
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _described(model: BaseEstimator) -> list[Any]:
    return [type(model).__name__, {name: described(value) for name, value in model.get_params(deep=True).items()}]


def _tolerated(
    measure: Measure, label: str, model: BaseEstimator, problem: Problem, split: Split, parts: list[Any]
) -> dict[str, Any]:
    """What `measure` returns, with the number of warnings and the first of them; the reason where it fails."""
    with heard() as texts:
        try:
            record = measure(label, model, problem, split, parts)
        except MemoryError:  # of this machine at this time, not of the method
            raise
        except Exception as error:
            reason = str(error) if isinstance(error, ValueError) and str(error) else f"{type(error).__name__}: {error}"
            return {"candidate": label, "failed": " ".join(reason.split())}
    return record | {"n_warnings": len(texts), "warning": texts[0] if texts else None}


def measure_candidate(
    label: str, model: BaseEstimator, problem: Problem, split: Split, parts: list[Any], *, keeps: bool = False
) -> dict[str, Any]:
    start = time.perf_counter()
    groups = {} if problem.groups is None else {"groups": problem.groups[split.train]}
    fitted = clone(model).fit(parts[0], problem.y[split.train], **groups)
    predictions = problem.predictions(fitted, parts[2]) if keeps else {}
    test = problem.record_error(predictions, split.test) if keeps else problem.error(fitted, parts[2], split.test)
    chosen: dict[str, Any] = {}
    if hasattr(fitted, "setting_"):  # it chose its setting by itself
        inner = float(fitted.validation_score_)  # one that is not defined, for want of samples, counts as none
        validation: float | None = 100.0 * (1.0 - (inner if np.isfinite(inner) else 0.0))
        chosen = {"stored": plain(fitted.n_stored_), "setting": plain(fitted.setting_)}
    elif len(split.validation) == 0:
        validation = None
    else:
        same = np.array_equal(split.validation, split.test)
        validation = test if same else problem.error(fitted, parts[1], split.validation)
    seconds = time.perf_counter() - start + getattr(fitted, "spared_seconds_", 0.0)
    return {"candidate": label, "validation": validation, "test": test, "seconds": seconds} | predictions | chosen


def plain(value: Any) -> Any:
    """A setting as JSON holds it; what is no number, text, list or mapping becomes its text."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _rows(X: Any, index: np.ndarray) -> Any:
    return X.iloc[index] if hasattr(X, "iloc") else X[index]
