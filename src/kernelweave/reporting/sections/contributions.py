"""The section `contributions`: which view decided the samples that the model is least sure of.

For two classes the value is the decision value f(x). For several it is that of the predicted class less that of the
runner-up, so that its size is what decides between them; with one machine for each pair of classes it is that pair's
own value, in favour of the predicted class. For a regression it is the prediction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...estimators.explanations import part_names, terms_of
from ..content import Bars, Block, Section, Text
from .drawing import true_and_predicted
from .subject import Subject

_MOST_PARTS = 9
_OTHERS = "other views"
_OPTIMISTIC = (
    "Values of samples to which the model was fitted are optimistic: those of new samples tend to lie nearer to 0."
)
_EXACT = ("stacking", "linear")  # methods without kernels whose parts are sums over the views


@dataclass(frozen=True)
class Explained:
    """Samples, and what adds up to a value of each.

    Attributes
    ----------
    rows : ndarray of int
        Their positions.
    parts : DataFrame of shape (n_rows, n_parts)
        By view, and the intercept; rows add up to `values`.
    values : ndarray of shape (n_rows,)
    labels, notes : list of str
    """

    rows: np.ndarray
    parts: pd.DataFrame
    values: np.ndarray
    labels: list[str]
    notes: list[str]


def contributions_section(subject: Subject, *, n_shown: int) -> Section | None:
    """The contributions of views to the least certain predictions; None where nothing is to be shown."""
    title = _TITLES[subject.task]
    if n_shown == 0 or (subject.task == "regression" and subject.y is None):
        return None
    if subject.model is not None and terms_of(subject.model) is None:
        text = (
            "This model multiplies kernels, so that no part of a decision belongs to one view; see what each view "
            "gives, above."
        )
        return Section(id="contributions", title=title, blocks=[Text(text=text)])
    found = explained(subject, n_shown)
    blocks: list[Block] = [Text(text=_explanation(subject)), *_units(subject), _chart(subject, found)]
    return Section(id="contributions", title=title, blocks=blocks)


def explained(subject: Subject, n_shown: int) -> Explained:
    """The samples that the model is least sure of, and what each view adds."""
    if subject.task == "regression":
        return _of_regression(subject, n_shown)
    values = subject.decision[subject.decided]
    if values.ndim == 1:
        rows = subject.decided[np.argsort(np.abs(values), kind="stable")[:n_shown]]
        parts = subject.contributions(rows)
        return _explained(subject, rows, parts, subject.decision[rows])
    ordered = np.sort(values, axis=1)
    rows = subject.decided[np.argsort(ordered[:, -1] - ordered[:, -2], kind="stable")[:n_shown]]
    return _of_classes(subject, rows)


def _of_classes(subject: Subject, rows: np.ndarray) -> Explained:
    """Several classes: the predicted one against the runner-up."""
    table, order = subject.contributions(rows), np.argsort(-subject.decision[rows], axis=1, kind="stable")
    classes = list(subject.estimator.classes_)
    parts, notes = [], []
    for place, (first, second) in enumerate(order[:, :2].tolist()):
        notes.append(f"{true_and_predicted(subject, int(rows[place]))}, next {classes[second]}")
        parts.append(_against(subject, table.iloc[place], classes[first], classes[second]))
    frame = pd.DataFrame(parts).reset_index(drop=True)
    found = _explained(subject, rows, frame, frame.sum(axis=1).to_numpy())
    return Explained(found.rows, found.parts, found.values, found.labels, notes)


def _against(subject: Subject, row: pd.Series, first: Any, second: Any) -> pd.Series:
    """What speaks for one class and against another, by kernel or view."""
    if getattr(subject.model, "multiclass", None) != "one-vs-one":
        return row[first] - row[second]
    known = list(subject.model.classes_)
    a, b = sorted((known.index(first), known.index(second)))
    return row[f"{known[a]} vs {known[b]}"] * (1.0 if first == known[b] else -1.0)  # positive for the later class


def _of_regression(subject: Subject, n_shown: int) -> Explained:
    """The largest errors; several targets each on its own scale."""
    y, predicted = (values.reshape(subject.n_samples, -1) for values in (subject.y, subject.predicted))
    spread = y.std(axis=0)
    errors = (np.abs(y - predicted) / np.where(spread > 0.0, spread, 1.0))[subject.decided]
    rows, targets = np.unravel_index(np.argsort(-errors, axis=None, kind="stable")[:n_shown], errors.shape)
    rows = subject.decided[rows]
    table = subject.contributions(rows)
    values = subject.decision.reshape(subject.n_samples, -1)[rows, targets]
    if table.columns.nlevels == 1:
        return _explained(subject, rows, table, values)
    outputs = list(table.columns.unique(0))
    parts = pd.DataFrame([table[outputs[t]].iloc[k] for k, t in enumerate(targets.tolist())]).reset_index(drop=True)
    found = _explained(subject, rows, parts, values)
    labels = [f"{label}, {subject.targets[t]}" for label, t in zip(found.labels, targets.tolist(), strict=True)]
    notes = [true_and_predicted(subject, int(row), int(t)) for row, t in zip(rows, targets, strict=True)]
    return Explained(rows, found.parts, values, labels, notes)


def _explained(subject: Subject, rows: np.ndarray, table: pd.DataFrame, values: np.ndarray) -> Explained:
    """Contributions of kernels summed by view; terms that are products keep their names."""
    views = part_names([subject.view_of.get(str(name), str(name)) for name in table.columns[:-1]])
    parts = table.T.groupby(np.array(views, dtype=object), sort=False).sum().T
    labels = [subject.labels[row] for row in rows.tolist()]
    return Explained(rows, parts, values, labels, [true_and_predicted(subject, int(row)) for row in rows])


def limited(parts: pd.DataFrame) -> pd.DataFrame:
    """The views that add most, the others together, and the intercept last."""
    found, views = parts.iloc[:, :-1], list(parts.columns[:-1])
    if len(views) > _MOST_PARTS:
        kept = found.abs().sum().nlargest(_MOST_PARTS - 1).index
        others = found.drop(columns=kept).sum(axis=1).rename(_OTHERS)
        found = pd.concat([found[[name for name in views if name in kept]], others], axis=1)
    return found.join(parts.iloc[:, -1:])


def _chart(subject: Subject, found: Explained) -> Bars:
    shown = limited(found.parts)
    return Bars(
        title=f"What each view adds, {len(found.rows)} of {subject.n_samples} samples",
        description=(
            "A bar for each sample; its parts are what each view adds (to the right) or takes away (to the left). The "
            f"mark is their sum, the {_VALUES[subject.task]}."
        ),
        note=_note(found.parts, shown),
        axis=_VALUES[subject.task],
        labels=found.labels,
        parts=[str(name) for name in shown.columns],
        values=[[float(value) for value in row] for row in shown.to_numpy()],
        totals=[float(value) for value in found.values],
        total_label=_VALUES[subject.task],
        notes=found.notes,
    )


def _explanation(subject: Subject) -> str:
    intercept = "The intercept is the part that is the same for all samples."
    if subject.model is None and subject.cohort.method not in _EXACT:
        intercept = "The intercept is the rest: what all samples share, and what views do only together."
    if subject.task == "regression":
        return (
            "A prediction is a sum over the views. These are the samples whose prediction is furthest off; errors of "
            f"samples to which the model was fitted are smaller than those of new ones. {intercept}"
        )
    if subject.task == "novelty":
        return (
            "A decision value is a sum over the views; below 0 a sample counts as unlike those of the fit. These are "
            f"the samples with values nearest to 0. {intercept}"
        )
    classes = list(subject.estimator.classes_)
    sides = (
        f"Parts to the right speak for {classes[1]}, parts to the left for {classes[0]}."
        if len(classes) == 2
        else "Parts to the right speak for the predicted class, parts to the left for the one that came second."
    )
    return (
        "A decision value is a sum over the views. Where it is near 0 the views disagree or say little, and the "
        f"prediction is a close call. {sides} {_OPTIMISTIC} {intercept}"
    )


def _note(parts: pd.DataFrame, shown: pd.DataFrame) -> str:
    return f"{_OTHERS.capitalize()} are {parts.shape[1] - shown.shape[1] + 1} views." if _OTHERS in shown else ""


def _units(subject: Subject) -> list[Block]:
    """What the numbers are, where they are not those of the targets."""
    if subject.task != "regression" or subject.cohort is not None or np.allclose(subject.decision, subject.predicted):
        return []
    return [Text(text="The numbers are on the scale on which the model learned, after the target was transformed.")]


_TITLES = {
    "classification": "Samples the model is least sure of",
    "regression": "Samples with the largest errors",
    "novelty": "Samples near the border between normal and unusual",
}
_VALUES = {"classification": "decision value", "regression": "prediction", "novelty": "decision value"}
