"""The outcome of a comparison: the methods ranked, the winner, and the nested score of choosing it.

===============  ====================================================================================================
score            accuracy, or R2, of a method on the test samples of each fold; its settings were chosen inside the
                 training samples
winner           the method with the highest mean score; of equal ones the simplest
baseline         the simple method with the highest mean score
p-value          of the test of held-out losses (`paired_loss_test`) between a method and the baseline
nested choice    in each fold the method with the best validation score inside the training samples counts with its
                 test score: what to expect of the whole procedure, the choice of a method included
chance           the most frequent class (or the mean target) of the training samples as prediction
===============  ====================================================================================================

A run that was stopped early counts the folds in which all methods are finished, if there are two; otherwise the
methods that are finished in the two folds that are furthest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from ..model_selection import Split, paired_loss_test
from ..model_selection.statistics import mean_by_sample
from ..recipes.methods import ALONE, is_simple
from .comparison import Problem
from .run import MeasuredRow

# From the simplest on: by what there is to collect, then by what there is to learn, tune and explain.
_BY_SIMPLICITY = (
    *(ALONE, "linear", "concatenation", "mean", "least-squares", "lp", "convex", "stacking"),
    *("forest", "boosting", "localized", "projected"),
)
_DIGITS = 10  # of scores that are compared: what differs by rounding is equal
LEVEL = 0.05


@dataclass(frozen=True, kw_only=True)
class MethodResult:
    """One method on the folds that count.

    `scores` are those on the test samples of each fold: shares of right labels, or R2. `losses`, of each tested sample,
    are means over the repeats that tested it: 1 for a wrong label, or the squared error relative to the variance of the
    fold's targets. `validations` are scores of the chosen setting inside the training samples of each fold, and
    `seconds` the time to choose it, fit and predict. `stored` are the samples that the model stores, None where it
    stores none by design. `failed` says why it could not be fitted; scores are empty then. `difference` and `pvalue`
    are against the best simple method.
    """

    method: str
    label: str
    scores: np.ndarray = field(default_factory=lambda: np.empty(0))
    losses: np.ndarray = field(default_factory=lambda: np.empty(0))
    validations: np.ndarray = field(default_factory=lambda: np.empty(0))
    stored: list[int | None] = field(default_factory=list)
    seconds: np.ndarray = field(default_factory=lambda: np.empty(0))
    settings: list[dict[str, Any]] = field(default_factory=list)
    failed: str | None = None
    n_warnings: int = 0
    warning: str | None = None
    difference: float | None = None
    pvalue: float | None = None

    @property
    def mean(self) -> float:
        return float(self.scores.mean())

    @property
    def std(self) -> float:
        """Standard deviation of the scores over the folds (divisor n - 1)."""
        return float(self.scores.std(ddof=1))

    @property
    def is_simple(self) -> bool:
        """Whether it is one of the simple methods that others are tested against."""
        return is_simple(self.method)

    @property
    def mean_stored(self) -> float | None:
        numbers = [number for number in self.stored if number is not None]
        return float(np.mean(numbers)) if numbers else None


@dataclass(frozen=True, kw_only=True)
class CompareOutcome:
    """The finished comparison.

    `results` are best first, without those that `failed` in some fold. `n_train`, the training samples of a fold, and
    `groups`, that of each tested sample, are for the tests. `n_tested` counts the samples that were tested in at least
    one fold, fewer where samples of a group have like targets; `largest_share` is that of the most frequent class among
    them, 0 for a regression. `nested` is the score, in each fold, of the method that validation chooses
    (`nested_methods`), and `chance` that of the most frequent class, or the mean, of the training samples. `folds` are
    those that count, of the `n_folds` of the whole comparison, and `unfinished` the labels of methods that are left out
    for that reason.
    """

    results: list[MethodResult]
    failed: list[MethodResult]
    is_classification: bool
    n_train: float
    groups: np.ndarray | None
    n_tested: float
    largest_share: float
    nested: np.ndarray
    nested_methods: list[str]
    chance: np.ndarray
    folds: list[int]
    n_folds: int
    n_cells: int
    n_done: int
    unfinished: list[str]

    @property
    def winner(self) -> MethodResult:
        return self.results[0]

    @property
    def baseline(self) -> MethodResult | None:
        return next((result for result in self.results if result.is_simple), None)

    @property
    def is_complete(self) -> bool:
        return self.n_done == self.n_cells

    def pvalue(self, first: MethodResult, second: MethodResult) -> float:
        return paired_loss_test(first.losses, second.losses, n_train=self.n_train, groups=self.groups).pvalue

    @property
    def beats_chance(self) -> bool:
        """Whether the winner is better than chance, by more than the best of as many methods is by luck.

        The share of right labels of all tested samples is compared with a binomial distribution, and R2, as a squared
        correlation, with Student's t; a test over a few folds would find too little. Where groups make the most
        frequent class of the training samples rare among the test samples, its share of all samples is chance.
        """
        score, n_tested = self.winner.mean, self.n_tested
        chance = max(float(self.chance.mean()), self.largest_share)
        if score <= chance:
            return False
        if self.is_classification:
            pvalue = stats.norm.sf((score - chance) / np.sqrt(max(chance * (1.0 - chance), 1e-12) / n_tested))
        elif score <= 0.0 or n_tested < 3:
            return False
        else:
            pvalue = stats.t.sf(np.sqrt(score * (n_tested - 2) / max(1.0 - score, 1e-12)), n_tested - 2)
        return bool(pvalue * len(self.results) < LEVEL)

    def within_noise(self, first: MethodResult, second: MethodResult) -> bool:
        return self.pvalue(first, second) >= LEVEL

    @property
    def measure(self) -> str:
        return "accuracy" if self.is_classification else "R²"

    def score_text(self, value: float) -> str:
        return f"{100.0 * value:.1f} %" if self.is_classification else f"{value:.3f}"


def gather(measured: MeasuredRow, labels: Mapping[str, str]) -> CompareOutcome:
    """Sum the cells of a comparison up, of which some may be missing; `labels` are those of all its methods.

    Where no method is finished in two folds, or none could be fitted, there is a ValueError.
    """
    cells, n_folds = measured.cells, len(measured.splits)
    methods, folds = _finished_part(list(labels), cells, n_folds)
    splits = [measured.splits[fold] for fold in folds]
    found = [_result(method, labels[method], [cells[method, fold][0] for fold in folds], splits) for method in methods]
    failed = [result for result in found if result.failed is not None]
    results = sorted(
        (result for result in found if result.failed is None),
        key=lambda result: (-round(result.mean, _DIGITS), simplicity(result.method)),
    )
    if not results:
        raise ValueError(f"no method could be fitted; {failed[0].label}: {failed[0].failed}")
    tested = np.unique(np.concatenate([split.test for split in splits]))
    problem = measured.problem
    nested = [_chosen(results, place) for place in range(len(folds))]
    outcome = CompareOutcome(
        results=results,
        failed=failed,
        is_classification=problem.is_classification,
        n_train=float(np.mean([len(split.train) for split in splits])),
        groups=None if problem.groups is None else problem.groups[tested].astype(str),
        n_tested=_independent(problem, tested),
        largest_share=float(_indicators(problem, tested).mean(axis=0).max()) if problem.is_classification else 0.0,
        nested=np.array([result.scores[place] for place, result in enumerate(nested)]),
        nested_methods=[result.method for result in nested],
        chance=np.array([_chance(problem, split) for split in splits]),
        folds=folds,
        n_folds=n_folds,
        n_cells=len(labels) * n_folds,
        n_done=len(cells),
        unfinished=[label for method, label in labels.items() if method not in methods],
    )
    return dataclasses.replace(outcome, results=_with_tests(outcome))


def simplicity(method: str) -> int:
    return place_in(_BY_SIMPLICITY, method)


def place_in(order: Sequence[str], method: str) -> int:
    """The place of a method in an order that has one entry for all single views; unknown ones come last."""
    key = ALONE if method.startswith(ALONE) else method
    return order.index(key) if key in order else len(order)


def _finished_part(methods: list[str], cells: Mapping[Any, Any], n_folds: int) -> tuple[list[str], list[int]]:
    whole = [fold for fold in range(n_folds) if all((method, fold) in cells for method in methods)]
    if len(whole) >= 2:
        return methods, whole
    finished = {fold: [method for method in methods if (method, fold) in cells] for fold in range(n_folds)}
    furthest = sorted(sorted(finished, key=lambda fold: -len(finished[fold]))[:2])
    both = [method for method in methods if all(method in finished[fold] for fold in furthest)]
    if len(furthest) < 2 or not both:
        raise ValueError(
            f"{len(cells)} of {len(methods) * n_folds} results are there, and no method is finished in two folds, "
            "which a comparison needs; the same command goes on: give it more time"
        )
    return both, furthest


def _result(method: str, label: str, records: Sequence[Mapping[str, Any]], splits: Sequence[Split]) -> MethodResult:
    reason = next((record["failed"] for record in records if "failed" in record), None)
    if reason is not None:
        return MethodResult(method=method, label=label, failed=reason)
    texts = [record["warning"] for record in records if record["warning"] is not None]
    return MethodResult(
        method=method,
        label=label,
        scores=np.array([1.0 - record["test"] / 100.0 for record in records]),
        losses=mean_by_sample([split.test for split in splits], [record["losses"] for record in records])[1],
        validations=np.array([1.0 - record["validation"] / 100.0 for record in records]),
        stored=[record["stored"] for record in records],
        seconds=np.array([record["seconds"] for record in records]),
        settings=[record["setting"] for record in records],
        n_warnings=sum(record["n_warnings"] for record in records),
        warning=texts[0] if texts else None,
    )


def _chosen(results: Sequence[MethodResult], place: int) -> MethodResult:
    return min(
        results, key=lambda result: (-round(float(result.validations[place]), _DIGITS), simplicity(result.method))
    )


def _with_tests(outcome: CompareOutcome) -> list[MethodResult]:
    base = outcome.baseline
    if base is None:
        return outcome.results
    return [
        result
        if result is base
        else dataclasses.replace(result, difference=result.mean - base.mean, pvalue=outcome.pvalue(base, result))
        for result in outcome.results
    ]


def _chance(problem: Problem, split: Split) -> float:
    known, true = problem.y[split.train], problem.y[split.test]
    if problem.is_classification:
        classes, counts = np.unique(known, return_counts=True)
        return float(np.mean(true == classes[counts.argmax()]))
    variance = np.var(true)
    return 0.0 if variance == 0.0 else float(1.0 - np.mean((true - known.mean()) ** 2) / variance)


def _indicators(problem: Problem, rows: np.ndarray) -> np.ndarray:
    y = problem.y[rows]
    return y[:, None] == np.unique(y) if problem.is_classification else y[:, None].astype(np.float64)


def _independent(problem: Problem, rows: np.ndarray) -> float:
    """How many independent samples some are worth: ``n / (1 + (m - 1) r)`` for groups of about m samples.

    The correlation r of targets within groups is that of an analysis of variance; m is ``sum n_g^2 / n``.
    """
    n_samples = len(rows)
    if problem.groups is None:
        return float(n_samples)
    _, group_of, counts = np.unique(problem.groups[rows].astype(str), return_inverse=True, return_counts=True)
    n_groups = len(counts)
    if n_groups in (1, n_samples):
        return float(n_groups)
    values = _indicators(problem, rows) - _indicators(problem, rows).mean(axis=0)
    means = np.array([np.bincount(group_of, column) for column in values.T]) / counts
    between = float((counts * means**2).sum())
    within = float((values**2).sum()) - between
    between, within = between / (n_groups - 1), within / (n_samples - n_groups)
    size = float((counts**2).sum()) / n_samples
    usual = (n_samples - size) / (n_groups - 1)  # samples of a group, as the mean squares count them
    correlation = (between - within) / (between + (usual - 1.0) * within)
    return n_samples / (1.0 + (size - 1.0) * min(max(correlation, 0.0), 1.0))
