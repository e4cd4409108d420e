"""What the contenders of a comparison achieved on one data set, from the records of its cells."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model_selection import Split, paired_loss_test
from ...model_selection.paired_losses import mean_by_sample
from .cells import Cells
from .comparison import Comparison


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
    losses : ndarray or None
        Of each sample that was tested, where the protocol compares samples.
    """

    errors: np.ndarray
    chosen: list[str]
    seconds: float
    best: bool = False
    candidates: tuple[str, ...] = ()
    validation: float = np.nan
    losses: np.ndarray | None = None

    @property
    def mean(self) -> float:
        """Mean error."""
        return float(self.errors.mean())

    @property
    def std(self) -> float:
        """Standard deviation of the error (divisor n - 1)."""
        return float(self.errors.std(ddof=1)) if len(self.errors) > 1 else 0.0


def results_of(
    comparison: Comparison, cells: Cells, splits: list[Split], groups: np.ndarray | None = None
) -> dict[str, ContenderResult]:
    """Results of all contenders on one data set, those that no contender beats significantly marked.

    Parameters
    ----------
    comparison : Comparison
    cells : dict from (contender, fold) to records
    splits : list of Split
    groups : ndarray, optional
        The group of each sample.
    """
    names = [contender.name for contender in comparison.contenders]
    found = {name: _result(comparison, [cells[name, fold] for fold in range(len(splits))], splits) for name in names}
    first = min(found.values(), key=lambda result: result.mean)

    def tied(result: ContenderResult) -> bool:
        if result is first or len(first.errors) < 2:
            return result.mean == first.mean
        if not comparison.protocol.compares_samples:
            return not comparison.protocol.compare(first.errors, result.errors).significant(comparison.level)
        n_train = float(np.mean([len(split.train) for split in splits]))
        test = paired_loss_test(first.losses, result.losses, n_train=n_train, groups=own)
        return not test.significant(comparison.level)

    tested = np.unique(np.concatenate([split.test for split in splits]))
    own = None if groups is None else groups[tested]
    return {name: dataclasses.replace(result, best=tied(result)) for name, result in found.items()}


def _result(comparison: Comparison, folds: list[list[dict[str, Any]]], splits: list[Split]) -> ContenderResult:
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
    losses = None
    if comparison.protocol.compares_samples:
        own = [records[best]["losses"] for records, best in zip(folds, counts, strict=True)]
        losses = mean_by_sample([split.test for split in splits], own)[1]
    return ContenderResult(
        errors, chosen, seconds, candidates=tuple(labels), validation=float(held_out.mean()), losses=losses
    )
