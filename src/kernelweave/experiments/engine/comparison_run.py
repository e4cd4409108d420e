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
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..._version import __version__
from ...datasets import load_dataset
from ...model_selection import Split
from .cells import Cells, CellStore, Progress, Records, data_digest, measure_cells
from .comparison import Comparison, Problem


@dataclass(frozen=True)
class ContenderResult:
    """What one contender achieved on one data set.

    Attributes
    ----------
    errors : ndarray
        Test error in per cent of each repeat.
    chosen : list of str
        The candidate that counts, of each run (or once).
    seconds : float
        For all candidates on one fold, fit and prediction, on average.
    best : bool
        Whether no contender is significantly better.
    candidates : tuple of str
        Those that were tried.
    validation : float
        Mean error of the candidates that count on the validation samples; NaN where there are none.
    """

    errors: np.ndarray
    chosen: list[str]
    seconds: float
    best: bool = False
    candidates: tuple[str, ...] = ()
    validation: float = np.nan

    @property
    def mean(self) -> float:
        """Mean error."""
        return float(self.errors.mean())

    @property
    def std(self) -> float:
        """Standard deviation of the error (divisor n - 1)."""
        return float(self.errors.std(ddof=1)) if len(self.errors) > 1 else 0.0


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
) -> ComparisonOutcome:
    """Run a comparison, or continue it where an earlier run stopped; parameters as for `run_experiment`."""
    folder = Path(output) / "cells" / (f"table-{comparison.name}" + ("-quick" if quick else ""))
    comparison = comparison.quickened() if quick else comparison
    results: dict[Any, Any] = {}
    first: dict[Any, Any] = {}
    absent, n_folds = [], 0
    for row in comparison.datasets:
        try:
            data = _load(comparison, row, data_home)
        except FileNotFoundError:
            if not comparison.skip_absent:
                raise
            absent.append(row)
            continue

        def tell(done: int, total: int, contender: str, row: str = row) -> None:
            if progress is not None:
                progress(done, total, f"{row} {contender}")

        n_folds = len(data.splits)
        cells = measure_cells(
            CellStore(folder / row),
            data.marks,
            folds=range(n_folds),
            prepare=data.prepare,
            n_jobs=n_jobs,
            progress=tell,
        )
        results |= {(row, name): result for name, result in _results(comparison, cells, data.splits).items()}
        cells = {key: records[:1] for key, records in cells.items()}
        first |= {(row, name): result for name, result in _results(comparison, cells, data.splits).items()}
    if not results:
        raise FileNotFoundError(
            f"none of the data sets of {comparison.name!r} is in the data home: {', '.join(comparison.datasets)}"
        )
    return ComparisonOutcome(comparison, results, n_folds=n_folds, quick=quick, first=first, absent=tuple(absent))


@dataclass(frozen=True)
class _Row:
    """The data set of a row, its folds, and the candidates of each contender with their fingerprint."""

    problem: Problem
    splits: list[Split]
    scaling: BaseEstimator | None
    tried: Mapping[str, Mapping[str, BaseEstimator]]
    marks: Mapping[str, str]

    def prepare(self, number: int) -> Callable[[str], Records]:
        """A function that measures a contender on a fold."""
        split = self.splits[number]
        parts = [_rows(self.problem.X, part) for part in (split.train, split.validation, split.test)]
        if self.scaling is not None:
            scaler = clone(self.scaling).fit(parts[0])
            parts = [scaler.transform(part) if part.shape[0] else part for part in parts]

        def measure(contender: str) -> Records:
            return [
                _measure(label, model, self.problem, split, parts) for label, model in self.tried[contender].items()
            ]

        return measure


def _load(comparison: Comparison, row: str, data_home: Any) -> _Row:
    name, variant = comparison.datasets[row]
    bunch = load_dataset(name, variant, data_home=data_home)
    X = bunch.data if comparison.prepare is None else comparison.prepare(bunch.data)
    problem = Problem(X, bunch.target, views=bunch.views, is_classification=bool(bunch.target_names))
    published = bunch.get("is_train")
    splits = comparison.protocol.split(
        problem.y, problem.is_classification, groups=bunch.original_target, is_train=published
    )
    scaling = None if comparison.scaling is None else comparison.scaling(problem)
    tried = {contender.name: contender.candidates(problem) for contender in comparison.contenders}
    data = data_digest(X, problem.y, bunch.original_target, published)
    marks = {contender: _fingerprint(comparison, scaling, models, data) for contender, models in tried.items()}
    return _Row(problem, splits, scaling, tried, marks)


def _fingerprint(
    comparison: Comparison, scaling: BaseEstimator | None, models: Mapping[str, BaseEstimator], data: str
) -> str:
    """A digest of everything that the cells of a contender on a data set depend on."""
    settings = {
        "version": __version__,
        "data": data,
        "protocol": repr(comparison.protocol),
        "models": {label: _described(model) for label, model in models.items()},
    }
    if scaling is not None:
        settings["scaling"] = _described(scaling)
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _described(model: BaseEstimator) -> list[Any]:
    """Class and parameters of an estimator, those of its parts too."""
    return [type(model).__name__, {name: repr(value) for name, value in model.get_params(deep=True).items()}]


def _measure(label: str, model: BaseEstimator, problem: Problem, split: Split, parts: list[Any]) -> dict[str, Any]:
    """Errors in per cent of one candidate on the parts of one fold."""
    start = time.perf_counter()
    fitted = clone(model).fit(parts[0], problem.y[split.train])
    test = problem.error(fitted, parts[2], split.test)
    if len(split.validation) == 0:
        validation = None
    else:
        same = np.array_equal(split.validation, split.test)
        validation = test if same else problem.error(fitted, parts[1], split.validation)
    return {"candidate": label, "validation": validation, "test": test, "seconds": time.perf_counter() - start}


def _rows(X: Any, index: np.ndarray) -> Any:
    return X.iloc[index] if hasattr(X, "iloc") else X[index]


def _results(comparison: Comparison, cells: Cells, splits: list[Split]) -> dict[str, ContenderResult]:
    """Results on one data set, those that no contender beats significantly marked."""
    runs = np.array([split.run for split in splits])
    names = [contender.name for contender in comparison.contenders]
    found = {name: _result(comparison, [cells[name, fold] for fold in range(len(splits))], runs) for name in names}
    first = min(found.values(), key=lambda result: result.mean)

    def tied(result: ContenderResult) -> bool:
        if result is first or len(first.errors) < 2:
            return result.mean == first.mean
        return not comparison.protocol.compare(first.errors, result.errors).significant(comparison.level)

    return {name: dataclasses.replace(result, best=tied(result)) for name, result in found.items()}


def _result(comparison: Comparison, folds: list[list[dict[str, Any]]], runs: np.ndarray) -> ContenderResult:
    test = np.array([[record["test"] for record in records] for records in folds])
    validated = folds[0][0]["validation"] is not None
    judged = np.array([[record["validation"] for record in records] for records in folds]) if validated else test
    # Without validation samples every fold is a run of its own, and one candidate must serve them all.
    groups = runs if validated else np.zeros(len(folds), dtype=int)
    labels = [record["candidate"] for record in folds[0]]
    errors, held_out, chosen = np.empty(len(folds)), np.full(len(folds), np.nan), []
    for group in np.unique(groups):
        best = int(judged[groups == group].mean(axis=0).argmin())
        errors[groups == group] = test[groups == group, best]
        if validated:
            held_out[groups == group] = judged[groups == group, best]
        chosen.append(labels[best])
    if comparison.protocol.one_result_per_run:
        errors = np.array([errors[runs == run].mean() for run in np.unique(runs)])
    seconds = float(np.mean([sum(record["seconds"] for record in records) for records in folds]))
    return ContenderResult(errors, chosen, seconds, candidates=tuple(labels), validation=float(held_out.mean()))
