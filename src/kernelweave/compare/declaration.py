"""From tables to a declared comparison: the task, the checks, the folds, the methods and how each is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from .._warnings import warn
from ..kernels import Precomputed
from ..model_selection import NestedFolds, Split
from ..recipes import CohortModel, column_kinds, guess_task, method_names, unavailable
from ..recipes.kinds import given_kinds, with_log
from ..recipes.layout import TableLayout
from ..recipes.leaks import copies_of_target, copies_sentence, find_twins, merged_groups
from ..recipes.methods import ALONE, NEEDLESS
from ..recipes.metrics import has_pairs
from ..recipes.scoring import Scoring, positive_place, scoring_named
from ..recipes.tasks import SURVIVAL, TASKS, outcomes_of
from ..survival import check_for_fit
from ..validation import counted
from .comparison import Comparison, Contender, Problem
from .outcome import place_in

ROW = "methods"  # the one row of the comparison, and the folder of its cells
FOLDS, QUICK_FOLDS = 5, 3
QUICK_SAMPLES = 1000  # that train in a fold of a quick comparison, at most
# The order of work, what takes least first, so that a run that is stopped early has most methods.
_BY_COST = (
    *(ALONE, "linear", "coxnet", "concatenation", "mean", "least-squares", "stacking", "lp", "lp-least-squares"),
    *("lp-scales", "completed", "lp-completed", "convex", "boosting", "forest", "auto", "localized"),
)
_NAMED = 5
_FEW_EVENTS = 30


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A comparison that is ready to run, and what was decided on the way.

    `labels` are what tables call the methods, in order; `why` is the reason for a guessed task; `positive` is that of
    two classes, or None; `options` are parameters of `CohortModel` that all methods share; `notes` are sentences.
    """

    problem: Problem
    comparison: Comparison
    labels: dict[str, str]
    task: str
    why: str
    scoring: str
    margin: float | None
    positive: Any
    options: dict[str, Any]
    kinds: pd.DataFrame
    notes: list[str] = field(default_factory=list)

    @property
    def protocol(self) -> NestedFolds:
        protocol: Any = self.comparison.protocol
        return protocol

    @property
    def max_train(self) -> int | None:
        """How many samples train in a fold at most, where that leaves some out."""
        limit, n_samples = self.protocol.max_train, len(self.problem.y)
        return limit if limit is not None and n_samples - -(-n_samples // self.protocol.n_folds) > limit else None

    def model(self, method: str, **options: Any) -> CohortModel:
        return CohortModel(method, **{**self.options, **options})


def declare(
    X: pd.DataFrame,
    y: pd.Series | pd.DataFrame,
    *,
    matrices: Mapping[str, pd.DataFrame] | None = None,
    groups: pd.Series | None = None,
    kinds: Mapping[str, str] | None = None,
    log: Sequence[str] = (),
    na_values: Sequence[str] = (),
    task: str | None = None,
    methods: Sequence[str] | None = None,
    folds: int | None = None,
    repeats: int = 1,
    seed: int = 0,
    quick: bool = False,
    scoring: str | None = None,
    positive: Any = None,
    margin: float | None = None,
    class_weight: str | None = "auto",
) -> Declared:
    """Declare the comparison of methods on given samples; a ValueError says why there can be none.

    X is as `files.read.read_cohort` makes it; matrices have ids as labels. Of survival y has two columns, times and
    events. The task is guessed where None. Of methods,
    "alone" means all that use one view, and None all that the data allow. `kinds`, `log`, `na_values`, `scoring`,
    `positive` and `class_weight` are as in `CohortModel`, `margin` as in `gather`.
    """
    matrices = dict(matrices or {})
    for name, matrix in matrices.items():
        Precomputed(matrix, name)  # symmetric, or an error that names it
    y, n_missing = _without_missing(y)
    if n_missing:
        X, groups = X.loc[y.index], groups if groups is None else groups.loc[y.index]
    aim = _Aim.of(y, n_missing, task, scoring, positive)
    protocol = _protocol(folds, repeats, quick, seed)
    found = _kinds(X, tuple(matrices), kinds or {}, log)
    problem, equal, copies = _problem(X, aim.targets, aim.task, matrices, found, groups)
    notes = [*aim.notes, *equal, *_checked_folds(problem, protocol, target_name(y)), *copies]
    labels, absent = _methods(aim.task, X, matrices, found, methods)
    notes += [f"{label} is left out: {reason}." for label, reason in absent.items()]
    options = {
        "matrices": matrices or None,
        "kinds": found["kind"],
        "log": list(log) or None,
        "na_values": list(na_values) or None,
        "task": aim.task,
        "effort": "quick" if quick else "full",
        "scoring": aim.score.name,
        "positive": positive,
        "class_weight": class_weight,
        "n_jobs": 1,
        "random_state": seed,
    }
    return Declared(
        problem=problem,
        comparison=_comparison(problem, protocol, labels, options),
        labels=labels,
        task=aim.task,
        why=aim.why,
        scoring=aim.score.name,
        margin=margin,
        positive=aim.positive,
        options=options,
        kinds=found,
        notes=notes,
    )


def _protocol(folds: int | None, repeats: int, quick: bool, seed: int) -> NestedFolds:
    """A quick comparison has 3 folds unless others are asked for, and at most 1000 samples that train in one."""
    n_folds = folds if folds is not None else QUICK_FOLDS if quick else FOLDS
    return NestedFolds(n_folds, repeats, max_train=QUICK_SAMPLES if quick else None, random_state=seed)


@dataclass(frozen=True)
class _Aim:
    task: str
    why: str
    targets: np.ndarray
    score: Scoring
    positive: Any  # of two classes
    notes: list[str]

    @classmethod
    def of(cls, y: pd.Series, n_missing: int, task: str | None, scoring: str | None, positive: Any) -> _Aim:
        chosen, why = (task, "as given") if task is not None else guess_task(y)
        if chosen == SURVIVAL:
            targets = outcomes_of(y.infer_objects(), "the target")
            check_for_fit(targets["event"], f"the target {target_name(y)!r}")
        else:
            targets = _checked_targets(y, chosen)
        classes = np.unique(targets) if chosen == "classification" else np.zeros(0)
        place = positive_place(positive, classes)
        score = scoring_named(scoring, chosen, targets, place)
        absent = f"{counted(n_missing, 'sample')} without a target {'is' if n_missing == 1 else 'are'} left out."
        notes = [absent] if n_missing else []
        if scoring is None and score.name == "balanced_accuracy":
            shares = np.unique(targets, return_counts=True)[1] / len(targets)
            notes.append(
                "Balanced accuracy, the mean recall of the classes, decides: the smallest class has "
                f"{100 * shares.min():.0f} % of the samples (--scoring takes another score)."
            )
        if positive is not None or score.is_of_one_class:
            of = "as given" if positive is not None else "the second in sorted order (--positive takes the other one)"
            notes.append(f"The positive class is {str(classes[place])!r}, {of}.")
        return cls(chosen, why, targets, score, classes[place] if len(classes) == 2 else None, notes)


def _problem(
    X: pd.DataFrame,
    targets: np.ndarray,
    task: str,
    matrices: Mapping[str, pd.DataFrame],
    kinds: pd.DataFrame,
    groups: pd.Series | None,
) -> tuple[Problem, list[str], list[str]]:
    """The samples, and sentences on equal ones and on copies of the target."""
    twins = find_twins(X, kinds, matrices)
    copies = copies_of_target(X, targets, kinds, task)
    if copies:
        warn(copies_sentence(copies))
    problem = Problem(
        X,
        targets,
        is_classification=task == "classification",
        groups=merged_groups(None if groups is None else groups.to_numpy(dtype=object), twins),
    )
    equal = [] if twins is None else [twins.sentence]
    return problem, equal, [f"Warning: {copies_sentence(copies)}."] if copies else []


def _comparison(
    problem: Problem, protocol: NestedFolds, labels: Mapping[str, str], options: Mapping[str, Any]
) -> Comparison:
    return Comparison(
        name=_folder(protocol, options["effort"] == "quick"),
        title="Methods on given data",
        source="",
        datasets={ROW: problem},
        contenders=tuple(
            Contender(method, partial(_candidate, CohortModel(method, **options)))
            for method in sorted(labels, key=partial(place_in, _BY_COST))
        ),
        protocol=protocol,
        is_tolerant=True,
    )


def _kinds(X: pd.DataFrame, matrices: Sequence[str], given: Mapping[str, str], log: Sequence[str]) -> pd.DataFrame:
    """What columns hold, where `given` says so for some; those of which it says so can be read in that way."""
    kinds = with_log(given_kinds(column_kinds(X, matrices=matrices), given), log)
    doubtful = {*log, *(kinds["view"][name] for name in given)}
    TableLayout.of(X, kinds, log).only(doubtful).table(X)
    return kinds


def _candidate(model: CohortModel, problem: Problem) -> dict[str, CohortModel]:
    return {"": model}


def _folder(protocol: NestedFolds, quick: bool) -> str:
    """The folder of the cells: runs with other folds are kept apart, so that going back to them costs nothing."""
    name = f"{protocol.n_folds}-folds"
    name += f"-{protocol.n_repeats}-times" if protocol.n_repeats > 1 else ""
    return f"{name}-seed-{protocol.random_state}" + ("-quick" if quick else "")


def target_name(y: pd.Series | pd.DataFrame) -> str:
    """What a target is called: its column, of survival that of the times."""
    return str(y.columns[0] if isinstance(y, pd.DataFrame) else y.name)


def _without_missing(y: Any) -> tuple[Any, int]:
    is_there = y.notna().to_numpy()
    is_there = is_there.all(axis=1) if is_there.ndim > 1 else is_there
    if not is_there.any():
        raise ValueError(f"no sample has a target: every cell of {target_name(y)!r} is empty")
    return (y, 0) if is_there.all() else (y[is_there], int((~is_there).sum()))


def _checked_targets(y: pd.Series, task: str) -> np.ndarray:
    if task == "classification":
        is_plain = isinstance(y.dtype, np.dtype) and y.dtype.kind in "biuf"
        values = y.to_numpy() if is_plain else y.map(str).to_numpy(dtype=object)
        classes, counts = np.unique(values, return_counts=True)
        if len(classes) == 1:
            raise ValueError(
                f"the target {y.name!r} has one class only, {str(classes[0])!r}, for all {len(y)} samples; there is "
                "nothing to tell apart"
            )
        if (counts > 1).sum() < 2:
            raise ValueError(
                f"the target {y.name!r} has {len(classes)} classes for {len(y)} samples, and fewer than two of them "
                "have two samples or more: nothing can be learned; is this the column of the labels?"
            )
        return values
    try:
        numbers = y.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"the target {y.name!r} must hold numbers for a regression, but has {y.iloc[0]!r}; use --task "
            "classification"
        ) from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"the target {y.name!r} must hold finite numbers for a regression")
    if np.ptp(numbers) == 0.0:
        raise ValueError(
            f"the target {y.name!r} is {numbers[0]:g} for all {len(y)} samples; there is nothing to predict"
        )
    return numbers


def _checked_folds(problem: Problem, protocol: NestedFolds, target: str) -> list[str]:
    n_samples, n_folds = len(problem.y), protocol.n_folds
    needed = n_folds if problem.is_classification else 2 * n_folds
    n_events = int(problem.y["event"].sum()) if problem.task == SURVIVAL else n_folds
    if n_events < n_folds:
        raise ValueError(
            f"{n_folds} folds need at least {n_folds} samples with the event, but {n_events} of {n_samples} have it"
            + ("; use fewer --folds" if n_events >= 2 else "")
        )
    if n_samples < max(needed, 4):
        raise ValueError(
            f"{n_folds} folds need at least {max(needed, 4)} samples with a target, but there are {n_samples}"
            + ("; use fewer --folds" if n_folds > 2 else "")
        )
    splits = problem.split(protocol)
    if problem.task == SURVIVAL:
        return _checked_events(problem, splits)
    if not problem.is_classification:
        if any(np.ptp(problem.y[split.train]) == 0.0 for split in splits):
            raise ValueError(
                f"the target {target!r} is the same for all training samples of a fold; use other --folds or --groups"
            )
        return []
    if any(len(np.unique(problem.y[split.train])) < 2 for split in splits):
        raise ValueError(
            f"the training samples of a fold have one class of {target!r} only, because the other classes are in one "
            "group, or have one sample; use fewer --folds, or other --groups"
        )
    classes, counts = np.unique(problem.y, return_counts=True)
    rare = [f"{label} ({count})" for label, count in zip(classes, counts, strict=True) if count < n_folds]
    if not rare:
        return []
    listed = ", ".join(rare[:_NAMED]) + (f" and {len(rare) - _NAMED} more" if len(rare) > _NAMED else "")
    return [
        f"Classes with fewer samples than the {n_folds} folds are spread over some of them, and are hard to learn and "
        f"to judge: {listed}."
    ]


def _checked_events(problem: Problem, splits: Sequence[Split]) -> list[str]:
    if not all(problem.y["event"][split.train].any() for split in splits):
        raise ValueError(
            "the training samples of a fold have no event, because all events are in one group; use other --groups"
        )
    if np.ptp(problem.y["time"]) == 0.0 or not any(has_pairs(problem.y[split.test]) for split in splits):
        raise ValueError(
            "in no fold are there two samples at different times of which one is known to have the event first, as "
            "where all times are the same: there is no order of risks to be learned"
        )
    n_events = int(problem.y["event"].sum())
    if n_events >= _FEW_EVENTS:
        return []
    return [f"With {counted(n_events, 'event')} little can be learned, and what is said of it is uncertain."]


def _methods(
    task: str, X: pd.DataFrame, matrices: Mapping[str, pd.DataFrame], kinds: pd.DataFrame, wanted: Sequence[str] | None
) -> tuple[dict[str, str], dict[str, str]]:
    views = list(dict.fromkeys(kinds["view"]))
    reasons = unavailable(task, X, matrices=matrices or None, kinds=kinds["kind"])
    every = method_names(task, views)
    labels = {method: label for method, label in every.items() if method not in reasons}
    if wanted is None:
        if not labels:
            raise ValueError(f"no method can be had for these data: {next(iter(reasons.values()))}")
        told = {method: reason for method, reason in reasons.items() if method not in NEEDLESS}
        return labels, {every.get(method, method): reason for method, reason in told.items()}
    chosen: dict[str, str] = {}
    for name in wanted:
        found = [method for method in every if method == name or (name == ALONE[:-1] and method.startswith(ALONE))]
        if not found and name in TASKS[task].lacks:
            raise ValueError(f"the method {name!r} cannot be had for a {task}: {TASKS[task].lacks[name]}")
        if not found:
            close = get_close_matches(name, every, n=1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            raise ValueError(f"there is no method {name!r}; {meant}the methods are {', '.join(every)}")
        if all(method in reasons for method in found):
            raise ValueError(f"the method {name!r} cannot be had for these data: {reasons[found[0]]}")
        chosen |= {method: labels[method] for method in found if method in labels}
    return {method: label for method, label in labels.items() if method in chosen}, {}
