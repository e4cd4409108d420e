"""How a comparison is run and summed up.

Cells are stored as those of other experiments (`cells`), one for each data set, method and fold, so that a run goes on
where an earlier one stopped.
"""

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

from ..._version import __version__
from ...datasets import load_dataset
from ...datasets.loading import data_folder
from ...model_selection import Split
from .cells import Cells, CellStore, Progress, Records, data_digest, described, frame_digest, measure_cells
from .cluster import FoldsOnCluster, FoldSource
from .comparison import Comparison, Measure, Problem
from .comparison_results import ContenderResult, results_of
from .processes import FoldsInProcesses
from .troubles import heard, warnings_by_thread


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
    """

    experiment: Comparison
    results: dict[tuple[str, str], ContenderResult]
    _: KW_ONLY
    n_folds: int
    quick: bool
    first: dict[tuple[str, str], ContenderResult] = field(default_factory=dict)
    absent: tuple[str, ...] = ()

    @property
    def rows(self) -> list[str]:
        """The data sets that were there."""
        return [row for row in self.experiment.datasets if row not in self.absent]


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
    """Run a comparison, or continue it where an earlier run stopped; parameters as for `run_experiment`."""
    folder = Path(output) / "cells" / (f"table-{comparison.name}" + ("-quick" if quick else ""))
    comparison = comparison.quickened() if quick else comparison
    results: dict[Any, Any] = {}
    first: dict[Any, Any] = {}
    absent, n_folds = [], 0
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
        groups = measured.problem.groups
        results |= {(row, name): one for name, one in results_of(comparison, cells, splits, groups).items()}
        cells = {key: records[:1] for key, records in cells.items()}
        first |= {(row, name): one for name, one in results_of(comparison, cells, splits, groups).items()}
    if not results:
        raise FileNotFoundError(
            f"none of the data sets of {comparison.name!r} is in the data home: {', '.join(comparison.datasets)}"
        )
    return ComparisonOutcome(comparison, results, n_folds=n_folds, quick=quick, first=first, absent=tuple(absent))


@dataclass(frozen=True)
class MeasuredRow:
    """The cells of one data set.

    Attributes
    ----------
    problem : Problem
    splits : list of Split
    cells : dict from (contender, fold) to records
        One record for each candidate, with errors in per cent, and `losses` of the test samples where the protocol
        compares samples; `failed` alone where it could not be fitted.
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

    Parameters
    ----------
    comparison : Comparison
    row : str
        One of its data sets.
    folder : Path
        Where cells are stored, in a folder of the row's name.
    data_home, n_jobs, progress, client
        As for `run_experiment`.
    until : float, optional
        When no further cell begins, by `time.monotonic`; the result then lacks some.
    reread : callable, optional
        What declares the same comparison on a worker of `client`, from files; otherwise data at hand are sent there.
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
    """The fingerprint that cells of one data set must have to be those of the comparison as it is declared.

    Parameters
    ----------
    comparison : Comparison
    row : str
        One of its data sets.
    data_home : path, optional
        As in `datasets.load_dataset`.

    Returns
    -------
    mapping from contender to str
    """
    return _load(comparison, row, data_home).marks


@dataclass(frozen=True)
class _Row:
    """The data set of a row, its folds, and the candidates of each contender with their fingerprint."""

    problem: Problem
    splits: list[Split]
    scaling: BaseEstimator | None
    tried: Mapping[str, Mapping[str, BaseEstimator]]
    marks: Mapping[str, str]
    is_tolerant: bool
    measure: Measure
    keeps_losses: bool

    def prepare(self, number: int) -> Callable[[str], Records]:
        """A function that measures a contender on a fold."""
        split = self.splits[number]
        parts = [_rows(self.problem.X, part) for part in (split.train, split.validation, split.test)]
        if self.scaling is not None:
            scaler = clone(self.scaling).fit(parts[0])
            parts = [scaler.transform(part) if part.shape[0] else part for part in parts]

        def measure(contender: str) -> Records:
            measure = partial(_tolerated, self.measure) if self.is_tolerant else self.measure
            tried = self.tried[contender].items()
            records = [measure(label, model, self.problem, split, parts) for label, model in tried]
            if not self.keeps_losses:
                records = [{name: one[name] for name in one if name != "losses"} for one in records]
            return records

        return measure


class ComparisonFolds(FoldSource):
    """The folds of one data set of a comparison.

    Parameters
    ----------
    comparison : Comparison, or callable that returns it
    row : str
    data_home : Path or None
        Of this process.
    is_tolerant : bool
        As of the comparison.
    """

    def __init__(self, comparison: Comparison | Callable[[], Comparison], row: str, data_home: Any, is_tolerant: bool):
        self.comparison, self.row, self.data_home = comparison, row, data_home
        self.is_tolerant, self.data = is_tolerant, row

    def load(self) -> _Row:
        """The data set and its folds."""
        found = self.comparison if isinstance(self.comparison, Comparison) else self.comparison()
        return _load(found, self.row, self.data_home)

    def digest(self, loaded: _Row) -> dict[str, str]:
        """The fingerprint of each contender, which depends on data, folds and candidates."""
        return dict(loaded.marks)

    def prepare(self, loaded: _Row, fold: int) -> Callable[[str], Records]:
        """A function that measures a contender on a fold."""
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
    splits = comparison.protocol.split(problem.y, problem.is_classification, groups=groups, is_train=published)
    scaling = None if comparison.scaling is None else comparison.scaling(problem)
    tried = {contender.name: contender.candidates(problem) for contender in comparison.contenders}
    marks = {contender: _fingerprint(comparison, scaling, models, data) for contender, models in tried.items()}
    measure, keeps_losses = comparison.measure or _measure, comparison.protocol.compares_samples
    return _Row(problem, splits, scaling, tried, marks, comparison.is_tolerant, measure, keeps_losses)


def _problem_digest(problem: Problem) -> str:
    X = frame_digest(problem.X) if isinstance(problem.X, pd.DataFrame) else data_digest(problem.X, problem.y)
    return data_digest(np.array([X]), problem.y, np.array(problem.is_classification), problem.groups)


def _fingerprint(
    comparison: Comparison, scaling: BaseEstimator | None, models: Mapping[str, BaseEstimator], data: str
) -> str:
    """A digest of everything that the cells of a contender on a data set depend on."""
    settings: dict[str, Any] = {
        "version": __version__,
        "data": data,
        "protocol": repr(comparison.protocol),
        "models": {label: _described(model) for label, model in models.items()},
    }
    if scaling is not None:
        settings["scaling"] = _described(scaling)
    if comparison.measure is None and comparison.protocol.compares_samples:
        settings["losses"] = True  # cells of earlier versions have none
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _described(model: BaseEstimator) -> list[Any]:
    """Class and parameters of an estimator, those of its parts too."""
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


def _measure(label: str, model: BaseEstimator, problem: Problem, split: Split, parts: list[Any]) -> dict[str, Any]:
    """Errors in per cent of one candidate on the parts of one fold, and what it loses on each test sample."""
    start = time.perf_counter()
    groups = {} if problem.groups is None else {"groups": problem.groups[split.train]}
    fitted = clone(model).fit(parts[0], problem.y[split.train], **groups)
    losses = problem.losses(fitted, parts[2], split.test)
    test = float(100.0 * np.mean(losses))
    chosen: dict[str, Any] = {}
    if hasattr(fitted, "setting_"):  # it chose its setting by itself
        validation: float | None = 100.0 * (1.0 - float(fitted.validation_score_))
        chosen = {"stored": plain(fitted.n_stored_), "setting": plain(fitted.setting_)}
    elif len(split.validation) == 0:
        validation = None
    else:
        same = np.array_equal(split.validation, split.test)
        validation = test if same else problem.error(fitted, parts[1], split.validation)
    seconds = time.perf_counter() - start
    found = {"candidate": label, "validation": validation, "test": test, "seconds": seconds, "losses": losses.tolist()}
    return found | chosen


def plain(value: Any) -> Any:
    """A setting as JSON holds it.

    Parameters
    ----------
    value : object
        What is no number, text, list or mapping becomes its text.
    """
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _rows(X: Any, index: np.ndarray) -> Any:
    return X.iloc[index] if hasattr(X, "iloc") else X[index]
