"""The section `projections`: samples in the low-dimensional spaces that a model with projections learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing

from ..content import Block, Cell, Column, Scatter, Section, Table, Text
from .drawing import about_samples, drawn_note, drawn_rows
from .subject import Subject
from .wording import counted, written

_MOST_PANELS = 6
_MOST_FEATURES = 15


def projections_section(subject: Subject, *, max_points: int, random_state: Any) -> Section | None:
    """Samples in the learned planes; None for models without projections."""
    if "project" not in subject.methods:
        return None
    model = subject.model
    projected: dict[str, pd.DataFrame] = {
        name: points.set_axis(subject.decided, axis=0).reindex(range(subject.n_samples))
        for name, points in model.project(_safe_indexing(subject.inner, subject.decided), by_kernel=True).items()
    }
    weights = subject.sample_weights
    is_local = model.combiner_.gating is not None
    strongest = weights.to_numpy().argmax(axis=1)
    panels = []
    for name, points in projected.items():
        there = points.notna().all(axis=1).to_numpy() & (weights[name].to_numpy() > 0.0)
        rows = np.flatnonzero(there & (strongest == model.kernel_names_.index(name)) if is_local else there)
        if len(rows):
            panels.append((name, points.to_numpy(), rows))
    panels.sort(key=lambda panel: -float(weights[panel[0]].mean()))
    shown = panels[:_MOST_PANELS]
    blocks: list[Block] = [Text(text=_explanation(subject, projected, is_local=is_local))]
    if len(shown) < len(panels):
        blocks.append(Text(text=f"Drawn are the {len(shown)} kernels with the largest weights, of {len(panels)}."))
    each = max(max_points // max(len(shown), 1), 1)
    blocks += [
        _chart(subject, name, points, rows, is_local=is_local, most=each, random_state=random_state)
        for name, points, rows in shown
    ]
    blocks.append(_features(subject))
    return Section(id="projections", title="Samples in the learned projections", blocks=blocks)


def _explanation(subject: Subject, projected: dict[str, pd.DataFrame], *, is_local: bool) -> str:
    counts = {points.shape[1] for points in projected.values()}
    numbers = f"{min(counts)} to {max(counts)} numbers" if len(counts) > 1 else counted(max(counts), "number")
    text = (
        f"The model reduces each view to {numbers} per sample and decides by these alone. The pictures show the first "
        "two of them, so that classes which lie apart here are told apart by that view."
    )
    return text + (" Each picture has the samples for which its kernel has the largest gate." if is_local else "")


def _chart(
    subject: Subject,
    name: str,
    points: np.ndarray,
    rows: np.ndarray,
    *,
    is_local: bool,
    most: int,
    random_state: Any,
) -> Scatter:
    of_samples, groups = subject.groups
    drawn = drawn_rows(rows, of_samples[rows], most, random_state)
    heights, y_axis = _heights(subject, points, drawn)
    what = "in its region" if is_local else ""
    return Scatter(
        title=f"{name}: {counted(len(rows), 'sample')} {what}".strip(),
        description=(
            f"Each point is a sample, by what the model reduces {subject.view_of[name]} to. Colours and shapes are the "
            f"{subject.group_word}."
        ),
        note=drawn_note(len(drawn), len(rows)),
        x=points[drawn, 0].tolist(),
        y=heights.tolist(),
        group=of_samples[drawn].tolist(),
        groups=groups,
        label=[subject.labels[row] for row in drawn.tolist()],
        about=about_samples(subject, drawn),
        x_axis="component 1",
        y_axis=y_axis,
    )


def _heights(subject: Subject, points: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, str]:
    """The second component; where there is one only, the decision value, or the class in rows."""
    if points.shape[1] > 1:
        return points[drawn, 1], "component 2"
    if subject.decision.ndim == 1:
        return subject.decision[drawn], "predicted value" if subject.task == "regression" else "decision value"
    return subject.groups[0][drawn].astype(float), f"number of the {subject.group_word}"


def _features(subject: Subject) -> Table:
    """The features that count most in each projection."""
    rows: list[list[Cell]] = []
    for name, importance in subject.model.feature_importance_.items():
        top = importance.nlargest(_MOST_FEATURES)
        total = float(np.sqrt((importance**2).sum()))
        rows += [
            [str(name), str(feature), float(value), float(value / total) ** 2 if total > 0.0 else None]
            for feature, value in top.items()
        ]
    columns = [
        Column("kernel"),
        Column("feature"),
        Column("importance", "number", "length of its row of the projection"),
    ]
    columns.append(Column("share", "percent", "of the squared importances of all features of the kernel"))
    return Table(
        title="Features that count most in the projections",
        columns=columns,
        rows=rows,
        note=f"At most {written(_MOST_FEATURES)} features of each kernel.",
    )
