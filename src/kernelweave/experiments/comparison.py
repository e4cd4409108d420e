"""A table of errors, data sets by methods: how it is declared, run, and summed up.

Papers that compare ways to learn features print such tables (SKFE, Tables 2 and 3; MKL-DR, Table 1): a row a data set,
a column a method, each with its mean error over repeats. A method is a few candidate estimators, the best of which
counts. Cells are stored as those of other experiments (`cells`), one for each data set, method and fold.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._version import __version__
from ..datasets import load_dataset
from ..model_selection import Protocol, Split
from .cells import Cells, CellStore, Progress, Records, data_digest, measure_cells

Candidates = Callable[[Any, np.ndarray], Mapping[str, BaseEstimator]]


@dataclass(frozen=True)
class Contender:
    """One column of the table.

    Attributes
    ----------
    name : str
    candidates : callable
        From data and targets to named estimators, unfitted: the settings that are tried. It may look at sizes and
        scales.
    """

    name: str
    candidates: Candidates


@dataclass(frozen=True)
class Comparison:
    """A table of test errors in per cent.

    Where a protocol has validation samples, the candidate with the smallest mean error on them counts, for each run of
    the protocol; otherwise the one with the smallest mean test error over all repeats, as papers that report the best
    of several settings do.

    Attributes
    ----------
    name : str
        Such as "skfe-3".
    title, source : str
    datasets : mapping from label to (name, variant)
        Rows, as in `datasets.load_dataset`.
    contenders : tuple of Contender
        Columns.
    protocol : Protocol
    paper : mapping from label to (mean, standard deviation) by contender
        The paper's figures.
    prepare : callable or None
        What is done to the data before they are split; without labels.
    level : float
        Of the tests that mark the best contenders.
    quick : mapping
        Fields to replace in a quick run.
    note : str
        What the paper leaves open, and how it is settled here.
    """

    name: str
    title: str
    source: str
    datasets: Mapping[str, tuple[str, str | None]]
    contenders: tuple[Contender, ...]
    protocol: Protocol
    paper: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    prepare: Callable[[Any], Any] | None = None
    level: float = 0.01
    quick: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self):
        names = [contender.name for contender in self.contenders]
        if len(set(names)) < len(names):
            raise ValueError(f"contenders of comparison {self.name!r} must have unique names")
        columns = {name for figures in self.paper.values() for name in figures}
        unknown = (set(self.paper) - set(self.datasets)) | (columns - set(names))
        if unknown:
            raise ValueError(f"comparison {self.name!r} has figures of the paper for unknown entries {sorted(unknown)}")

    @property
    def members(self) -> tuple[Comparison, ...]:
        """The comparison itself; a collection has several."""
        return (self,)

    @property
    def dataset_names(self) -> list[str]:
        """The data sets, as `load_dataset` names them."""
        return [name for name, _ in self.datasets.values()]

    @property
    def data_label(self) -> str:
        """The rows in words."""
        return ", ".join(self.datasets)

    @property
    def n_methods(self) -> int:
        """How many methods are compared."""
        return len(self.contenders)

    def quickened(self) -> Comparison:
        """The same comparison with the fields of `quick` replaced."""
        rows = self.quick.get("datasets", self.datasets)
        paper = {row: figures for row, figures in self.paper.items() if row in rows}
        return dataclasses.replace(self, **{"paper": paper, **self.quick})


@dataclass(frozen=True)
class Result:
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
    """

    errors: np.ndarray
    chosen: list[str]
    seconds: float
    best: bool = False

    @property
    def mean(self) -> float:
        """Mean error."""
        return float(self.errors.mean())

    @property
    def std(self) -> float:
        """Standard deviation of the error (divisor n - 1)."""
        return float(self.errors.std(ddof=1)) if len(self.errors) > 1 else 0.0


@dataclass(frozen=True)
class ComparisonSummary:
    """The finished table: a `Result` for each (data set, contender)."""

    experiment: Comparison
    results: dict[tuple[str, str], Result]
    n_folds: int
    quick: bool


def run_comparison(
    comparison: Comparison,
    output: Any,
    quick: bool = False,
    data_home: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> ComparisonSummary:
    """Run a comparison, or continue it where an earlier run stopped; parameters as for `run_experiment`."""
    folder = Path(output) / "cells" / (f"table-{comparison.name}" + ("-quick" if quick else ""))
    comparison = comparison.quickened() if quick else comparison
    results, n_folds = {}, 0
    for row, (name, variant) in comparison.datasets.items():
        bunch = load_dataset(name, variant, data_home=data_home)
        X, y = bunch.data if comparison.prepare is None else comparison.prepare(bunch.data), bunch.target
        splits = comparison.protocol.split(y, True, groups=bunch.original_target, is_train=bunch.get("is_train"))
        tried = {contender.name: contender.candidates(X, y) for contender in comparison.contenders}
        digest = data_digest(X, y, bunch.original_target, bunch.get("is_train"))
        marks = {contender: _fingerprint(comparison, models, digest) for contender, models in tried.items()}

        def tell(done: int, total: int, contender: str, row: str = row) -> None:
            if progress is not None:
                progress(done, total, f"{row} {contender}")

        data = _Row(X, y, splits, tried)
        cells = measure_cells(CellStore(folder / row), marks, range(len(splits)), data.prepare, n_jobs, tell)
        results |= {(row, contender): result for contender, result in _results(comparison, cells, splits).items()}
        n_folds = len(splits)
    return ComparisonSummary(comparison, results, n_folds, quick)


def _fingerprint(comparison: Comparison, models: Mapping[str, BaseEstimator], data: str) -> str:
    """A digest of everything that the cells of a contender on a data set depend on."""
    described = {
        label: {name: repr(value) for name, value in model.get_params(deep=True).items()}
        for label, model in models.items()
    }
    settings = {
        "version": __version__,
        "data": data,
        "protocol": repr(comparison.protocol),
        "models": {label: [type(models[label]).__name__, described[label]] for label in models},
    }
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class _Row:
    """The data set of a row, its folds, and the candidates of each contender."""

    X: Any
    y: np.ndarray
    splits: list[Split]
    tried: Mapping[str, Mapping[str, BaseEstimator]]

    def prepare(self, number: int) -> Callable[[str], Records]:
        """A function that measures a contender on a fold."""
        split = self.splits[number]

        def measure(contender: str) -> Records:
            return [_measure(label, model, self.X, self.y, split) for label, model in self.tried[contender].items()]

        return measure


def _measure(label: str, model: BaseEstimator, X: Any, y: np.ndarray, split: Split) -> dict[str, Any]:
    """Errors in per cent of one candidate on one fold."""
    start = time.perf_counter()
    fitted = clone(model).fit(_rows(X, split.train), y[split.train])
    test = _error(fitted, X, y, split.test)
    if len(split.validation) == 0:
        validation = None
    else:
        same = np.array_equal(split.validation, split.test)
        validation = test if same else _error(fitted, X, y, split.validation)
    return {"candidate": label, "validation": validation, "test": test, "seconds": time.perf_counter() - start}


def _error(model: BaseEstimator, X: Any, y: np.ndarray, part: np.ndarray) -> float:
    return float(100.0 * np.mean(model.predict(_rows(X, part)) != y[part]))


def _rows(X: Any, index: np.ndarray) -> Any:
    return X.iloc[index] if hasattr(X, "iloc") else X[index]


def _results(comparison: Comparison, cells: Cells, splits: list[Split]) -> dict[str, Result]:
    """Results on one data set, those that no contender beats significantly marked."""
    runs = np.array([split.run for split in splits])
    names = [contender.name for contender in comparison.contenders]
    found = {name: _result(comparison, [cells[name, fold] for fold in range(len(splits))], runs) for name in names}
    first = min(found.values(), key=lambda result: result.mean)

    def tied(result: Result) -> bool:
        if result is first or len(first.errors) < 2:
            return result.mean == first.mean
        return not comparison.protocol.compare(first.errors, result.errors).significant(comparison.level)

    return {name: dataclasses.replace(result, best=tied(result)) for name, result in found.items()}


def _result(comparison: Comparison, folds: list[list[dict[str, Any]]], runs: np.ndarray) -> Result:
    test = np.array([[record["test"] for record in records] for records in folds])
    validated = folds[0][0]["validation"] is not None
    judged = np.array([[record["validation"] for record in records] for records in folds]) if validated else test
    # Without validation samples every fold is a run of its own, and one candidate must serve them all.
    groups = runs if validated else np.zeros(len(folds), dtype=int)
    labels = [record["candidate"] for record in folds[0]]
    errors, chosen = np.empty(len(folds)), []
    for group in np.unique(groups):
        best = int(judged[groups == group].mean(axis=0).argmin())
        errors[groups == group] = test[groups == group, best]
        chosen.append(labels[best])
    if comparison.protocol.one_result_per_run:
        errors = np.array([errors[runs == run].mean() for run in np.unique(runs)])
    seconds = float(np.mean([sum(record["seconds"] for record in records) for records in folds]))
    return Result(errors, chosen, seconds)
