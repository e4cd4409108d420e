"""The section `views`: what each view gives, alone, by what is lost without it, and by its weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..content import Block, Cell, Column, Dot, Dots, Section, Table, Text
from .scores import Evaluation, Score
from .subject import Subject
from .wording import MOST, counted, listed, only_some, p_text, reach, written

_ROUNDING = 1e-12  # differences of scores that are none
_LEVEL = 0.05  # of p-values that sentences speak of
_SETTING = (
    " The setting stayed the one that was chosen by all samples, which makes all these scores a little too good; "
    "compare them with each other."
)


def views_section(subject: Subject, evaluation: Evaluation) -> Section:
    """What each view gives the model."""
    blocks: list[Block] = [Text(text=_explanation(subject, evaluation))]
    found = view_scores(subject, evaluation)
    if evaluation.views is not None and len(found) > 1:
        blocks += [Text(text=sentence) for sentence in findings(subject, evaluation)[1:]]  # the headline has the first
        blocks.append(_chart(subject, evaluation, found))
    if subject.model is not None:
        blocks.append(_table(subject, evaluation, found))
    elif evaluation.permuted is not None:
        blocks += _permuted(evaluation.permuted, evaluation.score)
    return Section(id="views", title="What each view gives", blocks=blocks)


def view_scores(subject: Subject, evaluation: Evaluation) -> pd.DataFrame:
    """One row for each view: weight, scores alone and without it, what leaving it out costs, and its p-value."""
    weights = subject.view_weights
    table = pd.DataFrame(index=list(subject.views))
    table["weight"] = np.nan if weights is None else weights
    for part in ("alone", "without"):
        for name, column in (("", "score"), (" std", "std"), (" p", "p_value"), (" difference", "difference")):
            table[part + name] = np.nan
            if evaluation.views is not None:
                rows = evaluation.views[column].xs(part, level="kernels") if _has(evaluation, part) else {}
                table[part + name] = [float(rows[view]) if view in rows else np.nan for view in table.index]
    loss = -table["without difference"]
    table["loss"] = loss.where(loss.abs() > _ROUNDING, loss * 0.0 + 0.0)
    return table


def findings(subject: Subject, evaluation: Evaluation) -> list[str]:
    """What the cross-validation shows about the views, in sentences."""
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


def _permuted(importance: pd.DataFrame, score: Score) -> list[Block]:
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


def _has(evaluation: Evaluation, part: str) -> bool:
    return evaluation.views is not None and part in evaluation.views.index.get_level_values("kernels")


def _points(loss: float, kind: str) -> str:
    return f"{100.0 * loss:.1f} percentage points" if kind == "percent" else written(loss)


def _named(score: Score) -> str:
    return f"{'an' if score.name[0] in 'aeiouR' else 'a'} {score.name}"
