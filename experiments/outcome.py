"""From finished cells to a table: hyper-parameters by validation, test results by fold, and tests between methods."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from experiments.declaration import Collection, Experiment, Method
from kernelweave.model_selection import Split, TestResult, WinTieLoss, win_tie_loss

MEASURES = ("test", "support", "active_kernels", "cost", "total_cost", "seconds", "solves")
COMPARED = ("test", "support", "total_cost")  # measures that are tested against the baseline's


@dataclass(frozen=True)
class Row:
    """What one method achieved.

    Attributes
    ----------
    method : Method
    parameters : list of dict
        The chosen hyper-parameters of each run.
    values : dict from measure to ndarray
        One number for each fold (or run) of: ``test`` (accuracy in per cent, or mean squared error), ``support`` (per
        cent of training samples), ``active_kernels``, ``cost`` (weighted kernel evaluations for a new sample),
        ``total_cost`` (thesis (Gönen 2010), 2.8, per cent), ``seconds`` (of the fit with the chosen setting, Gram
        matrices excluded) and ``solves``.
    weights : ndarray of shape (n_results, n_kernels)
        Weight of each kernel of the method, averaged over test samples; of sum 1 with `normalize_weights`.
    costs : ndarray of shape (n_results, n_kernels), or None
        The d_m that the method learned with.
    n_settings : int
        Settings tried in each fold.
    path_seconds : float
        Seconds for all settings, averaged over folds.
    against_baseline : dict from measure to TestResult
        Tests of ``test``, ``support`` and ``total_cost`` against the baseline's; empty for the baseline itself.
    """

    method: Method
    parameters: list[dict[str, Any]]
    _: KW_ONLY
    values: dict[str, np.ndarray]
    weights: np.ndarray
    costs: np.ndarray | None
    n_settings: int
    path_seconds: float
    against_baseline: dict[str, TestResult] = field(default_factory=dict)

    def mean(self, measure: str) -> float:
        """Mean of a measure."""
        return float(self.values[measure].mean())

    def std(self, measure: str) -> float:
        """Standard deviation of a measure (divisor n - 1)."""
        values = self.values[measure]
        return float(values.std(ddof=1)) if len(values) > 1 else 0.0


@dataclass(frozen=True)
class Outcome:
    """The table of an experiment."""

    experiment: Experiment
    rows: list[Row]
    _: KW_ONLY
    n_folds: int
    quick: bool

    @property
    def parts(self) -> list[Outcome]:
        """The outcome itself; that of a collection has several."""
        return [self]

    def row(self, name: str) -> Row:
        """The row of a method."""
        return next(row for row in self.rows if row.method.name == name)


@dataclass(frozen=True)
class CollectionOutcome:
    """The table of a collection: the outcomes of its data sets, in order."""

    experiment: Collection
    parts: list[Outcome]
    _: KW_ONLY
    quick: bool

    def counts(self, method: str, measure: str) -> WinTieLoss:
        """Wins, ties and losses of a method against the baseline over the data sets, by one of `COMPARED`."""
        first = self.experiment.members[0]
        base, other = (
            {part.experiment.name: part.row(name).values[measure] for part in self.parts}
            for name in (first.baseline, method)
        )
        return win_tie_loss(base, other, higher_is_better=measure == "test" and first.is_classification)


def gather_outcome(
    experiment: Experiment, cells: dict[tuple[str, int], list[dict[str, Any]]], splits: list[Split], quick: bool
) -> Outcome:
    """Choose hyper-parameters, gather the test results and test every method against the baseline.

    Parameters
    ----------
    experiment : Experiment
    cells : dict from (method, fold) to records
    splits : list of Split
    quick : bool
    """
    runs = np.array([split.run for split in splits])
    rows = {
        method.name: _row(experiment, method, [cells[method.name, fold] for fold in range(len(splits))], runs)
        for method in experiment.methods
    }
    base = rows[experiment.baseline]
    tested = [replace(row, against_baseline=_against(experiment, base, row)) for row in rows.values()]
    return Outcome(experiment, tested, n_folds=len(splits), quick=quick)


def _against(experiment: Experiment, base: Row, row: Row) -> dict[str, TestResult]:
    if row is base or len(base.values["test"]) < 2:
        return {}
    compare = experiment.protocol.compare
    return {measure: compare(base.values[measure], row.values[measure]) for measure in COMPARED}


def _row(experiment: Experiment, method: Method, folds: list[list[dict[str, Any]]], runs: np.ndarray) -> Row:
    chosen = np.zeros(len(folds), dtype=int)
    parameters = []
    for run in np.unique(runs):
        members = np.flatnonzero(runs == run)
        best = _best(experiment, method, [folds[fold] for fold in members])
        chosen[members] = best
        parameters.append(folds[members[0]][best]["parameters"])
    best_records = [records[best] for records, best in zip(folds, chosen, strict=True)]
    values = {measure: np.array([record[measure] for record in best_records], dtype=float) for measure in MEASURES}
    weights = _by_kernel(method, best_records, "weights")
    if experiment.normalize_weights:
        weights = weights / weights.sum(axis=1, keepdims=True)
    costs = None if best_records[0]["costs"] is None else _by_kernel(method, best_records, "costs")
    if experiment.protocol.one_result_per_run:
        values = {measure: _by_run(part, runs) for measure, part in values.items()}
        weights, costs = _by_run(weights, runs), None if costs is None else _by_run(costs, runs)
    path_seconds = float(np.mean([sum(record["seconds"] for record in records) for records in folds]))
    n_settings = round(np.mean([len(records) for records in folds]))
    return Row(
        method,
        parameters,
        values=values,
        weights=weights,
        costs=costs,
        n_settings=n_settings,
        path_seconds=path_seconds,
    )


def _by_kernel(method: Method, records: list[dict[str, Any]], key: str) -> np.ndarray:
    return np.array([[record[key][name] for name in method.kernels] for record in records])


def _by_run(values: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """The means of the folds of each run."""
    return np.array([values[runs == run].mean(axis=0) for run in np.unique(runs)])


def _best(experiment: Experiment, method: Method, folds: list[list[dict[str, Any]]]) -> int:
    """Position of the setting with the best mean validation score; the first of several equal ones."""
    if len(folds[0]) == 1:
        return 0
    mean = mean_validation(experiment, method, folds)
    return int(mean.argmax() if experiment.is_classification else mean.argmin())


def mean_validation(experiment: Experiment, method: Method, folds: list[list[dict[str, Any]]]) -> np.ndarray:
    """The mean validation score of each setting over folds.

    Parameters
    ----------
    experiment : Experiment
    method : Method
    folds : list of list of records
        The same settings in each fold.
    """
    scores = [[record["validation"] for record in records] for records in folds]
    if any(score is None for records in scores for score in records):
        raise ValueError(
            f"method {method.name!r} of experiment {experiment.name!r} has several settings, but the protocol has no "
            "validation samples to choose between them"
        )
    return np.mean(scores, axis=0)
