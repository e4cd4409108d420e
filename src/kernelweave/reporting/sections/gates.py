"""The section `gates`: which samples are recognised by which view, over a plane of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import eigh
from sklearn.utils import _safe_indexing

from ...estimators.fitted import similarities_of
from ..content import Block, Cell, Column, Scatter, Section, Table, Text
from .drawing import about_samples, drawn_note, drawn_rows
from .subject import Subject
from .wording import MOST, listed, written

_NONE = "no view"
_MOSTLY = 0.9  # share of the weight with which one kernel decides almost alone


def gates_section(subject: Subject, *, max_points: int, random_state: Any) -> Section | None:
    """Gates over the samples; None where all samples have the same weights."""
    if not subject.is_gated:
        return None
    title = f"Which samples are recognised by which {_word(subject)}"
    if subject.has_even_gates:
        text = (
            "The gates came out the same for all samples: the model learned no regions, because the data gave no "
            "reason to treat samples differently. It is as good as a model with one weight for each kernel."
        )
        return Section(id="gates", title=title, blocks=[Text(text=text)])
    regions, names = regions_of(subject)
    blocks: list[Block] = [Text(text=sentence) for sentence in _sentences(subject, regions, names)]
    blocks.append(_chart(subject, regions, names, max_points=max_points, random_state=random_state))
    blocks.append(_table(subject, regions, names))
    return Section(id="gates", title=title, blocks=blocks)


def _word(subject: Subject) -> str:
    """What regions are named after."""
    return "kernel" if len(subject.views) == 1 else "view"


def gate_weights(subject: Subject) -> pd.DataFrame:
    """The weight of each view for each sample, the sum over its kernels; of each kernel where all read one view."""
    weights = subject.sample_weights
    if _word(subject) == "kernel":
        return weights
    return pd.DataFrame({view: weights[kernels].sum(axis=1) for view, kernels in subject.views.items()})


def regions_of(subject: Subject) -> tuple[np.ndarray, list[str]]:
    """For each sample the view (or kernel) with the largest weight, as a position among the names; a name for none."""
    weights = gate_weights(subject)
    values, names = weights.to_numpy(), [*weights.columns, _NONE]
    regions = np.where(values.max(axis=1) > 0.0, values.argmax(axis=1), len(names) - 1)
    used = np.unique(regions)
    return np.searchsorted(used, regions), [str(names[place]) for place in used]


def _sentences(subject: Subject, regions: np.ndarray, names: list[str]) -> list[str]:
    weights = gate_weights(subject)
    counts = np.bincount(regions, minlength=len(names))
    top = int(counts.argmax())
    word = _word(subject)
    sentences = [
        f"The model gives each sample weights of its own, by gates that look at the sample. The region of a {word} is "
        f"made up of the samples for which that {word} has the largest weight.",
        f"The largest region is that of {names[top]}: {counts[top]} of {len(regions)} samples "
        f"({written(counts[top] / len(regions), 'percent')}).",
    ]
    sure = int((weights.max(axis=1) > _MOSTLY * weights.sum(axis=1)).sum())
    sentences.append(
        f"For {sure} of {len(weights)} samples a single {word} has over nine tenths of the weight; the others are "
        f"recognised by several {word}s together."
        if sure
        else f"No sample is left to a single {word}: each is recognised by several together."
    )
    never = [name for name in weights.columns if str(name) not in names]
    if never:
        sentences.append(f"For no sample is {listed(never, conjunction='or')} the {word} with the largest weight.")
    return sentences


def plane_of(subject: Subject, rows: np.ndarray) -> tuple[np.ndarray, tuple[str, str], str]:
    """Points of some samples in a plane, the names of its axes, and what the plane is."""
    X = _safe_indexing(subject.inner, rows)
    if "gating_space" in subject.methods:
        codes = subject.model.gating_space(X).to_numpy()
        if codes.shape[1] == 2:
            return codes, ("gating component 1", "gating component 2"), "the plane that the gates read"
        if codes.shape[1] == 1:
            largest = gate_weights(subject).to_numpy()[rows].max(axis=1)
            points = np.column_stack([codes[:, 0], largest])
            return points, ("gating component", "largest weight"), "the one number that the gates read, and the weight"
        axes = ("principal axis 1 of the gating space", "principal axis 2 of the gating space")
        return principal(codes), axes, "the space that the gates read, from the side where it is widest"
    axes = ("principal axis 1 of the similarities", "principal axis 2 of the similarities")
    return principal(similarities_of(subject.model, X)), axes, "the plane in which the samples' similarities vary most"


def principal(values: np.ndarray) -> np.ndarray:
    """The first two principal components of the rows, signs made unique; zeros where there are fewer.

    Examples
    --------
    >>> import numpy as np
    >>> principal(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5]])).round(2) + 0.0
    array([[ 1. ,  0. ],
           [-1. ,  0. ],
           [ 0. ,  0.5],
           [ 0. , -0.5]])
    """
    centred = values - values.mean(axis=0)
    if centred.size == 0:
        return np.zeros((len(values), 2))
    is_wide = centred.shape[0] < centred.shape[1]
    scatter = centred @ centred.T if is_wide else centred.T @ centred
    last = len(scatter) - 1
    squares, vectors = eigh(scatter, subset_by_index=[max(last - 1, 0), last])
    points = (vectors * np.sqrt(np.maximum(squares, 0.0)) if is_wide else centred @ vectors)[:, ::-1]
    points = points * np.where(points[np.abs(points).argmax(axis=0), range(points.shape[1])] < 0.0, -1.0, 1.0)
    return np.column_stack([points, np.zeros((len(points), 2 - points.shape[1]))])


def _chart(subject: Subject, regions: np.ndarray, names: list[str], *, max_points: int, random_state: Any) -> Scatter:
    of_samples, _ = subject.groups
    strata = regions * (int(of_samples.max()) + 1) + of_samples
    rows = drawn_rows(subject.decided, strata[subject.decided], max_points, random_state)
    points, axes, plane = plane_of(subject, rows)
    weights = gate_weights(subject)
    shown, groups = _limited(regions, names)
    return Scatter(
        title=f"Samples by the {_word(subject)} with the largest weight",
        description=(
            f"Each point is a sample in {plane}: samples that the model finds alike lie close together. Colours and "
            "shapes are regions."
        ),
        note=drawn_note(len(rows), subject.n_samples),
        x=points[:, 0].tolist(),
        y=points[:, 1].tolist(),
        group=shown[rows].tolist(),
        groups=groups,
        label=[subject.labels[row] for row in rows.tolist()],
        about=about_samples(subject, rows, weights),
        x_axis=axes[0],
        y_axis=axes[1],
    )


def _limited(regions: np.ndarray, names: list[str]) -> tuple[np.ndarray, list[str]]:
    """The largest regions, and one group for the others where there are many."""
    if len(names) <= MOST:
        return regions, names
    kept = np.argsort(-np.bincount(regions, minlength=len(names)), kind="stable")[: MOST - 1]
    place = np.full(len(names), MOST - 1)
    place[kept] = np.arange(len(kept))
    return place[regions], [*(names[k] for k in kept), "others"]


def _table(subject: Subject, regions: np.ndarray, names: list[str]) -> Table:
    of_samples, groups = subject.groups
    counts = pd.crosstab(regions, of_samples).reindex(index=range(len(names)), columns=range(len(groups)), fill_value=0)
    columns = [Column("region"), Column("samples", "count"), Column("share", "percent")]
    shown = min(len(groups), MOST)
    columns += [Column(group, "count") for group in groups[:shown]]
    rows: list[list[Cell]] = []
    for place, name in enumerate(names):
        own = counts.loc[place].to_numpy()
        rows.append([name, int(own.sum()), float(own.sum() / subject.n_samples), *own[:shown].tolist()])
    note = "" if shown == len(groups) else f"The first {shown} of {len(groups)} classes have a column."
    return Table(title=f"Samples of each region, by {subject.group_word}", columns=columns, rows=rows, note=note)
