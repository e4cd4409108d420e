"""How well a model predicts, by cross-validation, and the section `views`: what each view gives it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, check_scoring, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from ..model_selection import view_importance, view_report
from .content import Block, Cell, Column, Dot, Dots, Section, Table, Text
from .subject import Subject
from .words import MOST, counted, listed, only_some, p_text, reach, written

_ROUNDING = 1e-12  # differences of scores that are none
_LEVEL = 0.05  # of p-values that sentences speak of
_SETTING = (
    " The setting stayed the one that was chosen by all samples, which makes all these scores a little too good; "
    "compare them with each other."
)


def views_section(subject: Subject, evaluation: Evaluation) -> Section:
    blocks: list[Block] = [Text(text=_explanation(subject, evaluation))]
    found = view_scores(subject, evaluation)
    if evaluation.views is not None and len(found) > 1:
        blocks += [Text(text=sentence) for sentence in findings(subject, evaluation)[1:]]  # the headline has the first
        blocks.append(_chart(subject, evaluation, found))
    if subject.model is not None:
        blocks.append(_table(subject, evaluation, found))
    elif evaluation.permuted is not None:
        blocks += _permuted_blocks(evaluation.permuted, evaluation.score)
    return Section(id="views", title="What each view gives", blocks=blocks)


def view_scores(subject: Subject, evaluation: Evaluation) -> pd.DataFrame:
    weights = subject.view_weights
    table = pd.DataFrame(index=list(subject.views))
    table["weight"] = np.nan if weights is None else weights
    for part in ("alone", "without"):
        for name, column in (("", "score"), (" std", "std"), (" p", "p_value"), (" difference", "difference")):
            table[part + name] = np.nan
            if evaluation.views is not None:
                there = part in evaluation.views.index.get_level_values("kernels")
                rows = evaluation.views[column].xs(part, level="kernels") if there else {}
                table[part + name] = [float(rows[view]) if view in rows else np.nan for view in table.index]
    loss = -table["without difference"]
    table["loss"] = loss.where(loss.abs() > _ROUNDING, loss * 0.0 + 0.0)
    return table


def findings(subject: Subject, evaluation: Evaluation) -> list[str]:
    found, score = view_scores(subject, evaluation), evaluation.score
    if len(found) < 2 or found["loss"].isna().all():
        return []
    top, loss = str(found["loss"].idxmax()), float(found["loss"].max())
    p_value, fall = found.loc[top, "without p"], _points(loss, score.kind)
    best = str(found["alone"].idxmax()) if found["alone"].notna().any() else ""
    alone = f"the best view alone is {best}, with {_named(score)} of {written(found.loc[best, 'alone'], score.kind)}"
    if loss > 0.0 and p_value < _LEVEL:
        first = (
            f"The view that matters most is {top}: without it the {score.name} falls by {fall} ({p_text(p_value)}), so "
            "it has something that the other views do not have."
        )
    elif loss > 0.0:
        chance = f"may be chance ({p_text(p_value)})" if np.isfinite(p_value) else "may be chance"
        first = f"No view is certain to be needed: the largest loss, {fall} without {top}, {chance}."
    else:
        first = "Any one view can be left out without a loss: the others make up for it."
    sentences = [first, *([f"{alone[0].upper()}{alone[1:]}."] if best else [])]
    spare = found.index[(found["loss"] <= 0.0).to_numpy()]
    if len(spare) and len(spare) < len(found):
        which = spare[0] if len(spare) == 1 else f"any one of {listed(spare, 5)}"
        sentences.append(
            f"Without {which} the {score.name} was no lower, so that measuring it may not be worth its cost; check "
            "that on new samples before you leave it out."
        )
    return sentences


def _explanation(subject: Subject, evaluation: Evaluation) -> str:
    if len(subject.views) == 1:
        return "The model has a single view, so that there are no views to compare."
    if evaluation.views is None:
        return (
            "A view is one description of the samples. Which views are needed is best seen by fitting the model "
            f"without them; that was not done here. {evaluation.why_not}"
        )
    return (
        f"The model was fitted again to {evaluation.n_folds} different parts of the samples and scored on the rest "
        "(cross-validation): with all views, with each view alone, and with all views but one. A view that scores high "
        "alone is informative; one whose absence costs much has something that no other view has. Views that say the "
        "same score high alone and cost little to leave out." + (_SETTING if subject.cohort is not None else "")
    )


def _chart(subject: Subject, evaluation: Evaluation, found: pd.DataFrame) -> Dots:
    together: Any = evaluation.together
    shown = found.assign(rank=found["alone"].fillna(-np.inf)).nlargest(MOST, "rank") if len(found) > MOST else found
    dots = []
    for view, row in shown.iterrows():
        for part, series in (("alone", "this view alone"), ("without", "all views but this one")):
            if np.isfinite(row[part]):
                spread = row[f"{part} std"] if np.isfinite(row[f"{part} std"]) else 0.0
                low, high = reach(float(row[part]), float(spread), evaluation.score.kind)
                dots.append(Dot(str(view), float(row[part]), low, high, series))
    return Dots(
        title="Each view alone, and all views without it",
        description=(
            f"The {evaluation.score.name} in cross-validation. The line is the model with all views "
            f"({written(together['score'], evaluation.score.kind)}). A dot for all views but one that lies left of the "
            "line shows what is lost without that view."
        ),
        note=" ".join(
            [
                f"Bars reach one standard deviation over {counted(evaluation.n_folds, 'fold')} to both sides.",
                only_some(len(shown), len(found), "views that score highest alone"),
            ]
        ).strip(),
        axis=evaluation.score.name,
        kind=evaluation.score.kind,
        dots=dots,
        reference=float(together["score"]),
        reference_label="all views together",
    )


def _permuted_blocks(importance: pd.DataFrame, score: Score) -> list[Block]:
    """What a model without kernels loses where the values of a view are exchanged between samples."""
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


def _table(subject: Subject, evaluation: Evaluation, found: pd.DataFrame) -> Table:
    name, kind, scored = evaluation.score.name, evaluation.score.kind, evaluation.views is not None
    compared = scored and len(found) > 1
    columns = [Column("view")]
    several = any(len(kernels) > 1 for kernels in subject.views.values())
    if several:
        columns.append(Column("kernels", "count"))
    if subject.model is not None:
        columns.append(Column("weight", "number", "the sum over the kernels of the view" if several else ""))
    if scored:
        columns += [
            Column(f"{name} alone", kind, "mean over the folds, of a model with this view only"),
        ]
    if compared:
        columns += [
            Column(f"{name} without it", kind, "mean over the folds, of a model with all other views"),
            Column("lost without it", kind, "score of all views less that without this view, on the same samples"),
            Column("p-value", "p-value", "how likely so large a difference is by chance"),
        ]
    present = subject.present
    lacking = present is not None and not present.to_numpy().all()
    if lacking:
        columns.append(Column("samples", "count", "samples that have the view"))
    rows: list[list[Cell]] = []
    for view, row in found.iterrows():
        cells: list[Cell] = [str(view)]
        cells += [len(subject.views[str(view)])] if several else []
        cells += [float(row["weight"])] if subject.model is not None else []
        if scored:
            cells.append(float(row["alone"]))
        if compared:
            cells += [float(row[part]) for part in ("without", "loss", "without p")]
        rows.append([*cells, *([int(present[view].sum())] if lacking else [])])
    test = evaluation.views.attrs["test"] if evaluation.views is not None else ""
    note = f"The p-values are those of the {test}, not corrected for the number of views." if compared else ""
    return Table(title="Views", columns=columns, rows=rows, note=note)


def _points(loss: float, kind: str) -> str:
    return f"{100.0 * loss:.1f} percentage points" if kind == "percent" else written(loss)


def _named(score: Score) -> str:
    return f"{'an' if score.name[0] in 'aeiouR' else 'a'} {score.name}"


_FOLDS = 5
_REPEATS = 5  # of permutations
_SHARES = ("accuracy", "balanced_accuracy", "top_k_accuracy")  # scores that are shares of samples
_TOGETHER = ("all views", "together")


@dataclass(frozen=True)
class Score:
    name: str
    kind: str  # as in `content.Column`


@dataclass(frozen=True)
class Evaluation:
    score: Score
    views: pd.DataFrame | None = None  # what `model_selection.view_report` returns
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
        return Score("accuracy", "percent") if subject.task == "classification" else Score("R²", "number")
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    return Score(name.replace("_", " "), "percent" if name in _SHARES else "number")


def evaluated(
    subject: Subject, cv: Any, scoring: Any, groups: Any = None, *, n_jobs: int | None, random_state: Any, verbose: int
) -> Evaluation:
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
    found = Evaluation(score, views, by_fold, by_fold["fold"].nunique(), here)
    if not np.isfinite(found.fold_scores).any():
        return Evaluation(score, here=here, why_not=f"The {score.name} is not defined on parts of these samples.")
    return found


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
    if cv is None and subject.n_samples < 4:
        return f"{subject.n_samples} samples are too few for cross-validation."
    return ""


def _folds(subject: Subject, random_state: Any) -> Any:
    """Five folds, or as many as the smallest class has samples (of a regression, as there are pairs); at least two."""
    if subject.task != "classification":
        n_folds = int(np.clip(subject.n_samples // 2, 2, _FOLDS))  # R² takes two samples to be defined
        return KFold(n_folds, shuffle=True, random_state=random_state)
    smallest = np.unique(subject.y, return_counts=True)[1].min()
    return StratifiedKFold(int(np.clip(smallest, 2, _FOLDS)), shuffle=True, random_state=random_state)
