"""The section `weights`: how much each kernel counts, overall and by class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...estimators.explanations import terms_of
from ..content import Bars, Block, Cell, Column, Heatmap, Section, Table, Text
from .naming import kernel_in_words
from .subject import Subject, overall_weights
from .wording import MOST, counted, listed, only_some, written

_MOST_ROWS = 40


def weights_section(subject: Subject) -> Section | None:
    """Kernel weights; None for a model without kernels."""
    if subject.model is None:
        return None
    model = subject.model
    weights = overall_weights(model)
    blocks: list[Block] = [Text(text=sentence) for sentence in _sentences(subject, weights)]
    if not are_equal(weights):
        blocks.append(_chart(weights))
    by_class = weights_by_class(subject)
    if by_class is not None:
        blocks += [Text(text=_about_classes(subject)), _heatmap(subject, by_class)]
    blocks.append(_table(subject, weights))
    return Section(id="weights", title="Weights of the kernels", blocks=blocks)


def weights_by_class(subject: Subject) -> pd.DataFrame | None:
    """The weights of each class (rows); None where all classes share them.

    Where each class or pair of classes has weights of its own, these; with gates, the mean over its samples.
    """
    model = subject.model
    if isinstance(model.kernel_weights_, pd.DataFrame):
        return model.kernel_weights_
    if subject.task != "classification" or not subject.is_gated:
        return None
    of_samples, names = subject.groups
    means = subject.sample_weights.groupby(of_samples).mean()
    return means.set_axis([names[group] for group in means.index], axis=0)


def _sentences(subject: Subject, weights: pd.Series) -> list[str]:
    model = subject.model
    sentences = [
        "A kernel compares two samples by one view: it is a number that is large where they are alike. The model adds "
        "the kernels up with weights; a kernel with a larger weight counts more."
        if is_weighted_sum(model)
        else f"The combination {type(model.combiner_).__name__} is not a plain weighted sum of kernels, so that its "
        "weights cannot be read as shares; the documentation of that class defines them."
    ]
    if subject.is_gated:
        sentences.append("Weights differ from sample to sample here; those below are means over the training samples.")
    zero = [name for name in weights.index if name not in model.active_kernels_]
    if zero:
        sentences.append(
            f"{counted(len(zero), 'kernel')} of {len(weights)} got no weight and need not be computed for new samples: "
            f"{listed(zero)}."
        )
    if len(weights) > 1 and are_equal(weights):
        sentences.append("All kernels have the same weight.")
    if model.normalize is None:
        sentences.append(
            "Kernels were not normalised, so that weights of kernels of different size cannot be compared."
        )
    return sentences


def are_equal(weights: pd.Series) -> bool:
    """Whether all weights are the same, up to rounding."""
    values = weights.to_numpy()
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def is_weighted_sum(model: Any) -> bool:
    """Whether weights multiply kernels that are added up."""
    return terms_of(model) == list(model.kernel_names_)


def _chart(weights: pd.Series) -> Bars:
    largest = weights.abs().sort_values(ascending=False, kind="stable").index[:MOST]
    shown = weights[largest]
    return Bars(
        title="Weight of each kernel",
        description=f"The largest weight is that of {shown.index[0]} ({written(float(shown.iloc[0]))}).",
        note=only_some(len(shown), len(weights), "kernels with the largest weights"),
        axis="weight",
        labels=[str(name) for name in shown.index],
        parts=["weight"],
        values=[[float(value)] for value in shown],
    )


def _about_classes(subject: Subject) -> str:
    if isinstance(subject.model.kernel_weights_, pd.DataFrame):
        what = "target" if subject.task == "regression" else "class"
        return f"Each {what} has weights of its own, learned as if it were the only one."
    return (
        f"Gates give each sample weights of its own. The means over the samples of each {subject.group_word} show "
        "whether classes are recognised by different views."
    )


def _heatmap(subject: Subject, by_class: pd.DataFrame) -> Heatmap:
    columns = by_class.abs().mean().sort_values(ascending=False, kind="stable").index[:MOST]
    columns = [name for name in by_class.columns if name in columns]
    shown = by_class[columns].iloc[:_MOST_ROWS]
    what = "target" if subject.task == "regression" else "class"
    notes = []
    if len(columns) < by_class.shape[1]:
        notes.append(f"Drawn are the {len(columns)} kernels with the largest weights, of {by_class.shape[1]}.")
    if len(shown) < len(by_class):
        notes.append(f"Drawn are the first {len(shown)} of {len(by_class)} rows.")
    return Heatmap(
        title=f"Weights by {what}",
        description=f"A row for each {what}, a column for each kernel; cells of a stronger colour are larger weights.",
        note=" ".join(notes),
        rows=[str(name) for name in shown.index],
        columns=[str(name) for name in shown.columns],
        values=[[float(value) for value in row] for row in shown.to_numpy()],
        signed=bool((shown.to_numpy() < 0.0).any()),
        row_axis=what,
        column_axis="kernel",
    )


def _table(subject: Subject, weights: pd.Series) -> Table:
    model = subject.model
    columns = [Column("kernel"), Column("view"), Column("what it is"), Column("weight", "number")]
    columns.append(Column("used for new samples", "text"))
    rows: list[list[Cell]] = [
        [
            str(name),
            subject.view_of[name],
            kernel_in_words(kernel),
            float(weights[name]),
            "yes" if name in model.active_kernels_ else "no",
        ]
        for name, kernel in zip(model.kernel_names_, model.kernels_, strict=True)
    ]
    return Table(title="Kernels and their weights", columns=columns, rows=rows)
