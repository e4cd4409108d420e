"""The outcome of a comparison: the methods ranked, which of them to use, and how sure that is.

===============  ====================================================================================================
score            of a method, from its out-of-fold predictions (`out_of_fold`); its settings were chosen inside the
                 training samples of each fold
highest          the method with the highest score; of equal ones the simplest
rival            what others are tested against: the best simple method or, where that is the highest itself, the best
                 of those that are simpler still; without any, the next one
p-value          of the test of held-out losses between a method and the rival, corrected for the number of methods
                 (Holm 1979)
verdict          what the highest score says, see `Verdict`
chance           the most frequent class, or the mean target of the training samples, as prediction; of survival the
                 same risk for all, and the curve of Kaplan and Meier
nested choice    in each fold the method with the best validation score inside the training samples
===============  ====================================================================================================

A run that was stopped early counts the folds in which all methods are finished, if there are two; otherwise the
methods that are finished in the two folds that are furthest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..model_selection import LossTestResult, Split
from ..model_selection.statistics import holm
from ..recipes.methods import ALONE, is_simple
from ..recipes.scoring import Scoring, positive_place, scoring_named
from ..recipes.tasks import SURVIVAL, TASKS, Task
from ..reporting.formatting import without_minus_zero
from ..reporting.words import written
from ..survival import kaplan_meier
from .comparison import Problem
from .out_of_fold import Corrected, Judge, OutOfFold
from .run import MeasuredRow

# From the simplest on: by what there is to collect, then by what there is to learn, tune and explain.
_BY_SIMPLICITY = (
    *(ALONE, "linear", "coxnet", "concatenation", "mean", "least-squares", "lp", "lp-least-squares", "lp-scales"),
    *("completed", "lp-completed", "convex", "stacking", "forest", "boosting", "localized", "projected", "auto"),
)
_DIGITS = 10  # of scores that are compared: what differs by rounding is equal
LEVEL = 0.05
MARGIN, RELATIVE_MARGIN = 0.02, 0.05  # of a share or an area, and of what chance loses by other scores
_Z = 1.645  # one-sided 95 per cent

BETTER, AS_GOOD, CANNOT_TELL, SIMPLEST = "better", "as good", "cannot tell", "simplest"


@dataclass(frozen=True, kw_only=True)
class MethodResult:
    """One method on the folds that count.

    `score` is that of its out-of-fold predictions `found`, `interval` its 95 % confidence interval, and `all_scores`
    those of `recipes.metrics` by name. `scores` are those of each fold, `validations` those of the chosen setting
    inside the training samples of each fold, and `seconds` the time to choose it, fit and predict. `stored` are the
    samples that the model stores, None where it stores none by design. `failed` says why it could not be fitted; there
    are no scores then. `difference` and `pvalue` are against the reference, `pvalue` corrected for all methods.
    """

    method: str
    label: str
    found: OutOfFold | None = None
    score: float = np.nan
    interval: tuple[float, float] = (np.nan, np.nan)
    all_scores: dict[str, float] = field(default_factory=dict)
    scores: np.ndarray = field(default_factory=lambda: np.empty(0))
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
    def is_simple(self) -> bool:
        """Whether it is one of the simple methods that others are tested against."""
        return is_simple(self.method)

    @property
    def predictions(self) -> OutOfFold:
        assert self.found is not None
        return self.found

    @property
    def mean_stored(self) -> float | None:
        numbers = [number for number in self.stored if number is not None]
        return float(np.mean(numbers)) if numbers else None


@dataclass(frozen=True)
class Verdict:
    """What the highest score says.

    ===========  =====================================================================================================
    better       the test rejects that the rival is equal, at 0.05, p corrected for the number of methods
    as good      with 95 % confidence the best simple method that is simpler loses less than the margin: it is
                 recommended; where there is none, the highest is, and the rival loses less than the margin
    cannot tell  neither; the highest is recommended
    simplest     there is no simple method that is simpler, and the rival may lose more than the margin
    ===========  =====================================================================================================

    `other` is the method that the verdict is about (None where there is one method only), `difference` how much higher
    the highest is, with its 95 % interval and corrected p-value. `needed` is about how many samples would tell; None
    where that is not more than there are.
    """

    kind: str
    other: MethodResult | None = None
    difference: float = 0.0
    interval: tuple[float, float] = (0.0, 0.0)
    pvalue: float = 1.0
    needed: int | None = None


@dataclass(frozen=True, kw_only=True)
class CompareOutcome:
    """The finished comparison.

    `results` are best first, without those that `failed` in some fold. `chance` are the predictions of the most
    frequent class, or of the mean, and `nested` those of the method that validation chooses in each fold
    (`nested_methods`). `corrected` is the highest score corrected for its choice, None where that is not a mean over
    samples, or of one method. `folds` are those that count, of the `n_folds` of the whole comparison, and `unfinished`
    the labels of methods that are left out for that reason.
    """

    results: list[MethodResult]
    failed: list[MethodResult]
    judge: Judge
    margin: float
    chance: OutOfFold
    nested: OutOfFold
    nested_methods: list[str]
    folds: list[int]
    n_folds: int
    folds_of_repeat: int
    n_cells: int
    n_done: int
    unfinished: list[str]

    @property
    def problem(self) -> Problem:
        return self.judge.problem

    @property
    def scoring(self) -> Scoring:
        return self.judge.scoring

    @property
    def is_classification(self) -> bool:
        return self.problem.is_classification

    @property
    def task(self) -> Task:
        return TASKS[self.problem.task]

    @property
    def highest(self) -> MethodResult:
        return self.results[0]

    @property
    def winner(self) -> MethodResult:
        """The method that is recommended: the highest, or a simpler one that is as good."""
        verdict, simpler = self.verdict, self.simpler
        return simpler if verdict.kind == AS_GOOD and simpler is not None else self.highest

    @property
    def baseline(self) -> MethodResult | None:
        """The best simple method."""
        return next((one for one in self.results if one.is_simple), None)

    @property
    def simpler(self) -> MethodResult | None:
        """The best simple method that is simpler than the highest."""
        limit = simplicity(self.highest.method)
        return next((one for one in self.results if one.is_simple and simplicity(one.method) < limit), None)

    @property
    def rival(self) -> MethodResult | None:
        if self.highest.is_simple and self.simpler is not None:
            return self.simpler
        others = self.results[1:]
        return next(iter([*(one for one in others if one.is_simple), *others]), None)

    @property
    def is_complete(self) -> bool:
        return self.n_done == self.n_cells

    @cached_property
    def corrected(self) -> Corrected | None:
        if len(self.results) < 2 or not self.scoring.is_mean:
            return None
        return self.judge.corrected([result.predictions for result in self.results])

    @cached_property
    def chance_score(self) -> float:
        return self.judge.score(self.chance)

    @cached_property
    def nested_score(self) -> float:
        return self.judge.score(self.nested)

    @property
    def n_tested(self) -> int:
        return len(np.unique(self.chance.rows))

    def test(self, other: MethodResult) -> LossTestResult:
        """Of the highest against another method; positive differences are for the highest."""
        return self.judge.test(self.highest.predictions, other.predictions)

    @cached_property
    def verdict(self) -> Verdict:
        rival, simpler = self.rival, self.simpler
        if rival is None:
            return Verdict(SIMPLEST)
        test = self.test(rival)
        pvalue = 1.0 if self.highest.pvalue is None else self.highest.pvalue
        own = Verdict(SIMPLEST, rival, test.difference, test.interval(), pvalue)
        if self.highest.is_simple and simpler is None:
            return dataclasses.replace(own, kind=AS_GOOD) if self._loses_less_than_margin(rival) else own
        if pvalue < LEVEL and test.difference > 0.0:
            return dataclasses.replace(own, kind=BETTER)
        if simpler is not None and self._loses_less_than_margin(simpler):
            test = self.test(simpler)
            return Verdict(AS_GOOD, simpler, test.difference, test.interval(), pvalue)
        return dataclasses.replace(own, kind=CANNOT_TELL, needed=self._needed(test))

    def _loses_less_than_margin(self, other: MethodResult) -> bool:
        return self.test(other).upper() < self.margin

    def _needed(self, test: LossTestResult) -> int | None:
        """About how many samples make 1.645 standard errors of the difference as small as the margin."""
        n_folds = self.folds_of_repeat
        share = (test.error**2) * self.n_tested / (1.0 + self.n_tested / self.judge.n_train)  # Var(d)
        needed = (1.0 + n_folds / (n_folds - 1.0)) * (_Z / self.margin) ** 2 * share
        return round_up(needed) if np.isfinite(needed) and needed > self.n_tested else None

    @cached_property
    def beats_chance(self) -> bool:
        """Whether the highest score is better than that of chance, by more than the best of as many is by luck."""
        test = self.judge.chance_test(self.highest.predictions, self.chance)
        return bool(test.difference > 0.0 and 0.5 * test.pvalue * len(self.results) < LEVEL)

    @cached_property
    def ranked(self) -> tuple[MethodResult, tuple[float, float]] | None:
        """The method that ranks samples best, its area under the ROC curve, the interval; None if not above chance."""
        known = [one for one in self.results if np.isfinite(one.all_scores.get("ROC AUC", np.nan))]
        if not known:
            return None
        best = max(known, key=lambda one: one.all_scores["ROC AUC"])
        test = self.judge.area_test(best.predictions)
        if not (test.difference > 0.0 and 0.5 * test.pvalue * len(known) < LEVEL):
            return None
        low, high = test.interval()
        return best, (max(0.5 + low, 0.0), min(0.5 + high, 1.0))

    def written(self, value: float) -> str:
        """A score as texts write it; of an error, its size."""
        value = -value if self.scoring.is_error else value
        return written(value, "percent") if self.scoring.is_share else without_minus_zero(f"{value:.3f}")

    def written_difference(self, value: float) -> str:
        return without_minus_zero(f"{100.0 * value:.1f} points" if self.scoring.is_share else f"{value:.3f}")


def round_up(value: float) -> int:
    """A number of samples to two digits.

    >>> round_up(2341.2), round_up(87.5)
    (2400, 88)
    """
    unit = 10 ** max(len(str(int(value))) - 2, 0)
    return int(-(-value // unit) * unit)


def gather(
    measured: MeasuredRow,
    labels: Mapping[str, str],
    *,
    scoring: str | None = None,
    margin: float | None = None,
    positive: Any = None,
) -> CompareOutcome:
    """Sum the cells of a comparison up, of which some may be missing; `labels` are those of all its methods.

    `scoring` and `positive` are as in `CohortModel`. There is a ValueError where no method is finished in two folds, or
    none could be fitted.
    """
    cells, n_folds, problem = measured.cells, len(measured.splits), measured.problem
    methods, folds = _finished_part(list(labels), cells, n_folds)
    splits = [measured.splits[fold] for fold in folds]
    place = positive_place(positive, problem.classes) if problem.is_classification else 1
    score = scoring_named(scoring, problem.task, problem.y, place)
    judge = Judge(problem, score, float(np.mean([len(s.train) for s in splits])))
    found = [
        _result(method, labels[method], [cells[method, f][0] for f in folds], splits, folds, judge)
        for method in methods
    ]
    failed = [result for result in found if result.failed is not None]
    results = [result for result in found if result.failed is None]
    if not results:
        raise ValueError(f"no method could be fitted; {failed[0].label}: {failed[0].failed}")
    results.sort(key=lambda result: (-round(result.score, _DIGITS), simplicity(result.method)))
    rows = np.concatenate([split.test for split in splits])
    majority = int(np.bincount(judge.targets[rows]).argmax()) if problem.is_classification else 0
    chance = OutOfFold.of(splits, [_chance(problem, split, majority) for split in splits], folds)
    nested = [_chosen(results, place) for place in range(len(folds))]
    outcome = CompareOutcome(
        results=results,
        failed=failed,
        judge=judge,
        margin=_margin(judge, chance) if margin is None else margin,
        chance=chance,
        nested=_joined([one.predictions.part(one.predictions.fold == f) for one, f in zip(nested, folds, strict=True)]),
        nested_methods=[result.method for result in nested],
        folds=folds,
        n_folds=n_folds,
        folds_of_repeat=n_folds // (1 + max(split.run for split in measured.splits)),
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


def _margin(judge: Judge, chance: OutOfFold) -> float:
    if judge.scoring.is_share or judge.scoring.within_folds or not judge.scoring.is_mean:
        return MARGIN
    if judge.scoring.name == "r2":
        return RELATIVE_MARGIN
    return RELATIVE_MARGIN * float(judge.losses(chance).mean())


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


def _result(
    method: str,
    label: str,
    records: Sequence[Mapping[str, Any]],
    splits: Sequence[Split],
    folds: Sequence[int],
    judge: Judge,
) -> MethodResult:
    reason = next((record["failed"] for record in records if "failed" in record), None)
    if reason is not None:
        return MethodResult(method=method, label=label, failed=reason)
    texts = [record["warning"] for record in records if record["warning"] is not None]
    found = OutOfFold.of(splits, records, folds)
    return MethodResult(
        method=method,
        label=label,
        found=found,
        score=judge.score(found),
        interval=judge.interval(found),
        all_scores=judge.all_scores(found),
        scores=judge.fold_scores(found),
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


def _joined(parts: Sequence[OutOfFold]) -> OutOfFold:
    shares = [part.probabilities for part in parts]
    known = [part for part in shares if part is not None]
    return OutOfFold(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "repeat", "fold")},
        predicted=np.concatenate([part.predicted for part in parts]),
        probabilities=np.concatenate(known) if len(known) == len(shares) else None,
    )


def _with_tests(outcome: CompareOutcome) -> list[MethodResult]:
    rival = outcome.rival
    if rival is None:
        return outcome.results
    others = [result for result in outcome.results if result is not rival]
    tests = [outcome.judge.test(result.predictions, rival.predictions) for result in others]
    # A score that is not defined in the resamples, for want of a class, tells nothing.
    pvalues = holm(np.nan_to_num([test.pvalue for test in tests], nan=1.0)).tolist()
    tested = {
        result.method: dataclasses.replace(result, difference=test.difference, pvalue=pvalue)
        for result, test, pvalue in zip(others, tests, pvalues, strict=True)
    }
    return [tested.get(result.method, result) for result in outcome.results]


def _chance(problem: Problem, split: Split, majority: int) -> dict[str, Any]:
    """What training samples predict without views: the most frequent class, the mean, or survival by Kaplan-Meier."""
    known, n_tested = problem.y[split.train], len(split.test)
    if problem.task == SURVIVAL:
        curve = kaplan_meier(known)
        chances = curve(np.minimum(problem.times, curve.end))
        return {"predicted": np.zeros(n_tested), "probabilities": np.tile(chances, (n_tested, 1))}
    if not problem.is_classification:
        return {"predicted": np.full(n_tested, known.mean())}
    shares = np.bincount(np.searchsorted(problem.classes, known), minlength=len(problem.classes)) / len(known)
    return {"predicted": np.full(n_tested, majority), "probabilities": np.tile(shares, (n_tested, 1))}
