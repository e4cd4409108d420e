"""How well a model predicts, by cross-validation, and the section `views`: what each view gives it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, check_scoring, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from ..model_selection import view_importance, view_report
from ..model_selection.statistics import holm
from ..recipes.metrics import survival_scores
from ..recipes.tasks import SURVIVAL
from .content import Block, Cell, Column, Dot, Dots, Section, Table, Text
from .formatting import without_minus_zero
from .subject import Subject
from .words import MOST, counted, listed, only_some, reach, written

_ROUNDING = 1e-12  # differences of scores that are none
_LEVEL = 0.05  # of p-values that sentences speak of
_MARGINS = {"accuracy": 0.02, "balanced accuracy": 0.02, "R²": 0.05, "C index": 0.02}  # as those of `compare.outcome`
COLUMNS = (
    *("alone", "alone low", "alone high", "without", "without low", "without high"),
    *("loss", "loss low", "loss high", "p", "permuted", "permuted low", "permuted high"),
)
_CROSS_VALIDATED = (
    "The model was fitted again to {n_folds} different parts of the samples and scored on the rest (cross-validation): "
    "with all views, with each view alone, and with all views but one. A view that scores high alone is informative; "
    "one whose absence costs much has something that no other view has. Views that say the same score high alone and "
    "cost little to leave out."
)
_SETTING = (
    " The setting stayed the one that was chosen by all samples, which makes all these scores a little too good; "
    "compare them with each other."
)


@dataclass(frozen=True)
class Score:
    name: str
    kind: str  # as in `content.Column`
    is_error: bool = False  # whether smaller values are better


@dataclass(frozen=True)
class ViewScores:
    """What each view gives a model, scores as they are shown.

    `table` has a row for each view and these columns, NaN where something was not measured:

    ===================  =============================================================================================
    alone, without       the score with this view only, and with all others
    ... low, ... high    ends of the line of that score in the chart
    loss                 how much worse it is without the view, with ``loss low`` and ``loss high``, its 95 % interval
    p                    of that loss, corrected for the number of views
    permuted             how much worse it is where samples exchange the view, with its interval, as that of the loss
    ===================  =============================================================================================
    """

    table: pd.DataFrame
    score: Score
    together: float
    where: str  # such as "5 folds of 60 samples"
    about: str  # how it was measured, in sentences
    spread: str  # what the lines of the chart are
    test: str
    margin: float | None = None  # a loss below which a view may be left out


def views_section(subject: Subject, evaluation: Evaluation) -> Section:
    found = evaluation.scores
    blocks: list[Block] = [Text(text=_explanation(subject, evaluation))]
    if found is not None and len(found.table) > 1:
        blocks += [Text(text=sentence) for sentence in findings(found)[1:]]  # the headline has the first
        blocks.append(_chart(found))
    if subject.model is not None or found is not None:
        blocks.append(_table(subject, found))
    elif evaluation.permuted is not None:
        blocks += _permuted_blocks(evaluation.permuted, evaluation.score)
    return Section(id="views", title="What each view gives", blocks=blocks)


def findings(found: ViewScores) -> list[str]:
    """What the scores of views say, in sentences that name the interval of what they claim."""
    table, score = found.table, found.score
    if len(table) < 2:
        return []
    sentences = [] if table["loss"].isna().all() else [_largest_loss(found)]
    if table["alone"].notna().any():
        best = str((table["alone"] * (-1.0 if score.is_error else 1.0)).idxmax())
        sentences.append(
            f"The best view alone is {best}, with {_named(score)} of {written(table.loc[best, 'alone'], score.kind)}."
        )
    spare = [] if found.margin is None else table.index[(table["loss high"] < found.margin).to_numpy()]
    if 0 < len(spare) < len(table) and found.margin is not None:
        which = spare[0] if len(spare) == 1 else f"any one of {listed(spare, 5)}"
        sentences.append(
            f"Without {which} the loss is, with 95 % confidence, less than {_points(found.margin, score.kind)}: "
            "measuring it may not be worth its cost."
        )
    return sentences


def _largest_loss(found: ViewScores) -> str:
    table, score = found.table, found.score
    top = str(table["loss"].idxmax())
    loss, low, high, pvalue = (float(table.loc[top, name]) for name in ("loss", "loss low", "loss high", "p"))
    worse = "rises" if score.is_error else "falls"
    ends = f"95 % interval {_end(low, score.kind)} to {_end(high, score.kind)}"
    if loss > 0.0 and pvalue < _LEVEL:
        return (
            f"The view that matters most is {top}: without it the {score.name} {worse} by {_points(loss, score.kind)} "
            f"({ends}), so it has something that the other views do not have."
        )
    if found.margin is not None and (table["loss high"] < found.margin).all():
        return (
            f"Any one view can be left out: without it the {score.name} is, with 95 % confidence, less than "
            f"{_points(found.margin, score.kind)} worse, because the others make up for it."
        )
    if loss > _ROUNDING:
        return (
            f"{found.where[:1].upper()}{found.where[1:]} cannot tell whether any single view is needed: the largest "
            f"loss is {_points(loss, score.kind)} without {top} ({ends})."
        )
    return (
        f"No view was missed where it was left out, in {found.where}: the others make up for it, as far as that can be "
        f"told ({ends} for the loss without {top})."
    )


def _explanation(subject: Subject, evaluation: Evaluation) -> str:
    if evaluation.scores is not None and len(evaluation.scores.table) > 1:
        return evaluation.scores.about
    if len(subject.views) == 1:
        return "The model has a single view, so that there are no views to compare."
    return (
        "A view is one description of the samples. Which views are needed is best seen by fitting the model "
        f"without them; that was not done here. {evaluation.why_not}"
    )


def _chart(found: ViewScores) -> Dots:
    table, score = found.table, found.score
    shown = table.assign(rank=table["alone"].fillna(-np.inf)).nlargest(MOST, "rank") if len(table) > MOST else table
    dots = []
    for view, row in shown.iterrows():
        for part, series in (("alone", "this view alone"), ("without", "all views but this one")):
            if np.isfinite(row[part]):
                dots.append(
                    Dot(str(view), float(row[part]), _known(row[f"{part} low"]), _known(row[f"{part} high"]), series)
                )
    side = "right" if score.is_error else "left"
    return Dots(
        title="Each view alone, and all views without it",
        description=(
            f"The {score.name} on samples that were held out. The line is the model with all views "
            f"({written(found.together, score.kind)}). A dot for all views but one that lies {side} of the line shows "
            "what is lost without that view."
        ),
        note=f"{found.spread} {only_some(len(shown), len(table), 'views that score highest alone')}".strip(),
        axis=score.name,
        kind=score.kind,
        dots=dots,
        reference=found.together,
        reference_label="all views together",
    )


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _permuted_blocks(importance: pd.DataFrame, score: Score) -> list[Block]:
    text = (
        "Instead, the values of each view were exchanged between the samples given here, five times: the more the "
        f"{score.name} falls, the more the model relies on that view. Where the model was fitted to these samples, "
        "that shows what it uses rather than what new samples need."
    )
    dots = [
        Dot(
            str(view),
            float(row["importance"]),
            float(row["importance"] - row["std"]),
            float(row["importance"] + row["std"]),
        )
        for view, row in importance.nlargest(MOST, "importance").iterrows()
    ]
    score_here = written(importance.attrs["score"], score.kind)
    chart = Dots(
        title="What is lost where a view is exchanged between samples",
        description=f"The fall of the {score.name}, from {score_here} with all views as they are.",
        note=only_some(len(dots), len(importance), "views on which the model relies most"),
        axis=f"fall of the {score.name}",
        kind=score.kind,
        dots=dots,
        reference=0.0,
        reference_label="nothing is lost",
    )
    rows: list[list[Cell]] = [
        [str(view), float(row["importance"]), float(row["std"]), int(row["samples"])]
        for view, row in importance.iterrows()
    ]
    columns = [
        Column("view"),
        Column("lost", score.kind),
        Column("standard deviation", score.kind),
        Column("samples", "count"),
    ]
    return [Text(text=text), chart, Table(title="Views", columns=columns, rows=rows)]


def _table(subject: Subject, found: ViewScores | None) -> Table:
    weights, present = subject.view_weights, subject.present
    views = list(subject.views if found is None else found.table.index)
    has_kernels = set(views) <= set(subject.views)  # those over all columns belong to no view
    several = has_kernels and any(len(subject.views[view]) > 1 for view in views)
    lacking = has_kernels and present is not None and not present[views].to_numpy().all()
    columns: list[Column] = [Column("view")]
    values: list[list[Cell]] = [[view for view in views]]

    def add(column: Column, cells: Iterable[Any]) -> None:
        columns.append(column)
        values.append(list(cells))

    if several:
        add(Column("kernels", "count"), [len(subject.views[view]) for view in views])
    if weights is not None and has_kernels:
        note = "the sum over the kernels of the view" if several else ""
        add(Column("weight", "number", note), [float(weights[view]) for view in views])
    for column, name in _score_columns(found):
        add(column, [float(value) for value in found.table[name]] if found is not None else [])
    if lacking and present is not None:
        add(Column("samples", "count", "samples that have the view"), [int(present[view].sum()) for view in views])
    compared = found is not None and found.table["loss"].notna().any()
    note = (
        f"The p-values are those of the {found.test}, corrected for the number of views." if compared and found else ""
    )
    return Table(title="Views", columns=columns, rows=[list(row) for row in zip(*values, strict=True)], note=note)


def _score_columns(found: ViewScores | None) -> list[tuple[Column, str]]:
    if found is None:
        return []
    name, kind, table = found.score.name, found.score.kind, found.table
    candidates = [
        (Column(f"{name} alone", kind, "of a model with this view only"), "alone"),
        (Column(f"{name} without it", kind, "of a model with all other views"), "without"),
        (Column("lost without it", kind, "how much worse that is than with all views, on the same samples"), "loss"),
        (Column("from", kind, "lower end of the 95 % interval of the loss"), "loss low"),
        (Column("to", kind, "upper end of the 95 % interval of the loss"), "loss high"),
        (Column("p-value", "p-value", "how likely so large a loss is by chance"), "p"),
        (Column("lost where exchanged", kind, "what the model loses where samples exchange the view"), "permuted"),
    ]
    return [(column, key) for column, key in candidates if table[key].notna().any()]


def _points(loss: float, kind: str) -> str:
    return f"{100.0 * loss:.1f} percentage points" if kind == "percent" else written(loss)


def _end(value: float, kind: str) -> str:
    return without_minus_zero(f"{100.0 * value:.1f}" if kind == "percent" else written(value)).replace("-", "\u2212")


def _named(score: Score) -> str:
    return f"{'an' if score.name[0] in 'aeiouR' else 'a'} {score.name}"


_FOLDS = 5
_REPEATS = 5  # of permutations
_SHARES = ("accuracy", "balanced_accuracy", "top_k_accuracy")  # scores that are shares of samples
_TOGETHER = ("all views", "together")


@dataclass(frozen=True)
class Evaluation:
    score: Score
    scores: ViewScores | None = None  # what each view gives; None where that was not measured
    views: pd.DataFrame | None = None  # what `model_selection.view_report` returns, where that was run
    folds: pd.DataFrame | None = None  # its results by fold
    n_folds: int = 0
    here: float = np.nan  # the score on the samples of the report themselves; NaN where there are no targets
    why_not: str = ""  # why there is no cross-validation; empty where there is one
    permuted: pd.DataFrame | None = None  # for a model without kernels, what `model_selection.view_importance` returns

    @property
    def together(self) -> pd.Series | None:
        return None if self.views is None else self.views.loc[_TOGETHER]

    @property
    def fold_scores(self) -> np.ndarray:
        """The scores of the model with all views, by fold."""
        if self.folds is None:
            return np.empty(0)
        return self.folds.loc[self.folds["kernels"] == "together", "score"].to_numpy()


def score_of(subject: Subject, scoring: Any) -> Score:
    if scoring is None and hasattr(subject.estimator, "best_estimator_"):
        scoring = subject.estimator.scoring
    if scoring is None:
        if subject.task == "classification":
            return Score("accuracy", "percent")
        return Score("C index" if subject.task == SURVIVAL else "R²", "number")
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    return Score(name.replace("_", " "), "percent" if name in _SHARES else "number")


def evaluated(
    subject: Subject, cv: Any, scoring: Any, groups: Any = None, *, n_jobs: int | None, random_state: Any, verbose: int
) -> Evaluation:
    if scoring is None and subject.cohort is not None and subject.scoring.is_balanced:
        scoring = subject.scoring.name
    score = score_of(subject, scoring)
    here = _score_here(subject, scoring)
    why_not = _why_not(subject, cv, scoring)
    if why_not:
        return Evaluation(score, here=here, why_not=why_not, permuted=_permuted(subject, scoring, random_state))
    folds = _folds(subject, random_state) if cv is None else cv
    whole, X, y = (subject.estimator, subject.X, subject.y)
    if subject.cohort is not None:
        rows = subject.decided
        whole, X, y = subject.model, _safe_indexing(subject.inner, rows), subject.inner_targets[rows]
        groups = None if groups is None else _safe_indexing(groups, rows)
    options = {"scoring": scoring, "groups": groups, "n_jobs": n_jobs, "random_state": random_state, "verbose": verbose}
    try:
        with warnings.catch_warnings():
            if cv is None:  # the report itself says that a class has few samples
                warnings.filterwarnings("ignore", message="The least populated class")
            views, by_fold = view_report(whole, X, y, cv=folds, return_folds=True, **options)
    except ValueError as error:
        if cv is not None:
            raise
        return Evaluation(score, here=here, why_not=f"The model could not be fitted to parts of these samples: {error}")
    found = Evaluation(score, None, views, by_fold, by_fold["fold"].nunique(), here)
    if not np.isfinite(found.fold_scores).any():
        return Evaluation(score, here=here, why_not=f"The {score.name} is not defined on parts of these samples.")
    return replace(found, scores=_scores_of(subject, found))


def _scores_of(subject: Subject, evaluation: Evaluation) -> ViewScores:
    """The scores of `view_report` by view; its p-values corrected for the number of views."""
    views, score = evaluation.views, evaluation.score
    assert views is not None and evaluation.together is not None
    table = pd.DataFrame(index=list(subject.views), columns=COLUMNS, dtype=np.float64)
    for part in ("alone", "without"):
        there = part in views.index.get_level_values("kernels")
        own = views.xs(part, level="kernels").reindex(table.index) if there else None
        if own is None:
            continue
        table[part] = own["score"]
        spread = own["std"].fillna(0.0)
        reached = [reach(value, error, score.kind) for value, error in zip(own["score"], spread, strict=True)]
        table[[f"{part} low", f"{part} high"]] = np.array(reached)
        if part == "without":
            loss = -own["difference"]
            table["loss"] = loss.where(loss.abs() > _ROUNDING, loss * 0.0 + 0.0)
            table["loss low"], table["loss high"] = -own["high"], -own["low"]
            table["p"] = np.where(loss.notna(), holm(own["p_value"].fillna(1.0)), np.nan)
    setting = _SETTING if subject.cohort is not None else ""
    return ViewScores(
        table,
        score,
        float(evaluation.together["score"]),
        where=f"{counted(evaluation.n_folds, 'fold')} of {counted(len(subject.decided), 'sample')}",
        about=_CROSS_VALIDATED.format(n_folds=evaluation.n_folds) + setting,
        spread=f"Bars reach one standard deviation over {counted(evaluation.n_folds, 'fold')} to both sides.",
        test=views.attrs["test"],
        margin=_MARGINS.get(score.name),
    )


def _permuted(subject: Subject, scoring: Any, random_state: Any) -> pd.DataFrame | None:
    """What a model without kernels loses where a view is permuted; None for others, and without targets."""
    if subject.model is not None or subject.y is None or not isinstance(subject.X, pd.DataFrame):
        return None
    kinds = subject.cohort.kinds_
    groups = {
        view: [name for name in kinds.index[kinds["view"] == view] if name in subject.X] for view in subject.views
    }
    groups = {view: columns for view, columns in groups.items() if columns}
    options = {"groups": groups, "scoring": scoring, "n_repeats": _REPEATS, "random_state": random_state}
    return view_importance(subject.estimator, subject.X, subject.y, **options) if len(groups) > 1 else None


def _score_here(subject: Subject, scoring: Any) -> float:
    if subject.y is None or (subject.task == "novelty" and scoring is None):
        return np.nan
    if scoring is not None or hasattr(subject.estimator, "best_estimator_"):
        return float(check_scoring(subject.estimator, scoring=scoring)(subject.estimator, subject.X, subject.y))
    if subject.task == SURVIVAL:
        return survival_scores(subject.y, subject.predicted)["C index"]
    measure = accuracy_score if subject.task == "classification" else r2_score
    return float(measure(subject.y, subject.predicted)) if subject.n_samples > 1 else np.nan


def _why_not(subject: Subject, cv: Any, scoring: Any) -> str:
    if cv is False or (isinstance(cv, int) and cv == 0):
        return "Cross-validation was not asked for."
    if subject.y is None:
        return "Cross-validation needs the targets y, which were not given."
    if subject.task == "novelty" and scoring is None:
        return "Cross-validation of novelty detection needs y and a scoring."
    if subject.model is None:
        return "The model has no kernels, so its views cannot be left out one by one."
    if subject.task == SURVIVAL and subject.y["event"][subject.decided].sum() < 2:
        return "With fewer than two events there is nothing to validate by."
    if cv is None and subject.n_samples < 4:
        return f"{subject.n_samples} samples are too few for cross-validation."
    return ""


def _folds(subject: Subject, random_state: Any) -> Any:
    """Five folds, or as many as the smallest class has samples, or there are events or pairs; at least two."""
    if subject.task == SURVIVAL:
        event = subject.y["event"][subject.decided]
        n_folds = int(np.clip(min(event.sum(), len(event) // 2), 2, _FOLDS))
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
        return list(splitter.split(np.zeros(len(event)), event))
    if subject.task != "classification":
        n_folds = int(np.clip(subject.n_samples // 2, 2, _FOLDS))  # R² takes two samples to be defined
        return KFold(n_folds, shuffle=True, random_state=random_state)
    smallest = np.unique(subject.y, return_counts=True)[1].min()
    return StratifiedKFold(int(np.clip(smallest, 2, _FOLDS)), shuffle=True, random_state=random_state)
