"""From finished cells to a table: hyper-parameters by validation, test results by fold, and tests between methods."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..model_selection import Split, TestResult
from .declaration import Experiment, Method

MEASURES = ("test", "support", "active_kernels", "cost", "seconds", "solves")


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
        ``seconds`` (of the fit with the chosen setting, Gram matrices excluded) and ``solves``.
    path_seconds : float
        Seconds for all settings of the grid, averaged over folds.
    against_baseline : dict from measure to TestResult
        Tests of ``test`` and ``support`` against the baseline's; empty for the baseline itself.
    """

    method: Method
    parameters: list[dict[str, Any]]
    values: dict[str, np.ndarray]
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
class Summary:
    """The table of an experiment."""

    experiment: Experiment
    rows: list[Row]
    n_folds: int
    quick: bool

    def row(self, name: str) -> Row:
        """The row of a method."""
        return next(row for row in self.rows if row.method.name == name)


def summarize(
    experiment: Experiment, cells: dict[tuple[str, int], list[dict[str, Any]]], splits: list[Split], quick: bool
) -> Summary:
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
    return Summary(experiment, tested, len(splits), quick)


def _against(experiment: Experiment, base: Row, row: Row) -> dict[str, TestResult]:
    if row is base or len(base.values["test"]) < 2:
        return {}
    compare = experiment.protocol.compare
    return {measure: compare(base.values[measure], row.values[measure]) for measure in ("test", "support")}


def _row(experiment: Experiment, method: Method, folds: list[list[dict[str, Any]]], runs: np.ndarray) -> Row:
    chosen = np.zeros(len(folds), dtype=int)
    parameters = []
    for run in np.unique(runs):
        members = np.flatnonzero(runs == run)
        best = _best(experiment, method, [folds[fold] for fold in members])
        chosen[members] = best
        parameters.append(folds[members[0]][best]["parameters"])
    values = {
        measure: np.array([records[best][measure] for records, best in zip(folds, chosen, strict=True)], dtype=float)
        for measure in MEASURES
    }
    if experiment.protocol.one_result_per_run:
        values = {key: np.array([part[runs == run].mean() for run in np.unique(runs)]) for key, part in values.items()}
    path_seconds = float(np.mean([sum(record["seconds"] for record in records) for records in folds]))
    return Row(method, parameters, values, path_seconds)


def _best(experiment: Experiment, method: Method, folds: list[list[dict[str, Any]]]) -> int:
    """Position of the setting with the best mean validation score; the first of several equal ones."""
    if len(folds[0]) == 1:
        return 0
    scores = [[record["validation"] for record in records] for records in folds]
    if any(score is None for records in scores for score in records):
        raise ValueError(
            f"method {method.name!r} of experiment {experiment.name!r} has several settings, but the protocol has no "
            "validation samples to choose between them"
        )
    mean = np.mean(scores, axis=0)
    return int(mean.argmax() if experiment.is_classification else mean.argmin())
