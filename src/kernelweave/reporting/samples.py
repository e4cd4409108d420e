"""The sections on samples: `gates`, `projections` and `contributions`.

Gates show which samples are recognised by which view, projections where samples lie in the spaces that were learned,
and contributions which view decided the samples that the model is least sure of. For two classes the value is the
decision value f(x). For several it is that of the predicted class less that of the runner-up, so that its size is what
decides between them; with one machine for each pair of classes it is that pair's own value, in favour of the predicted
class. For a regression it is the prediction, and parts are measured from their means (`recipes.importance.mean_parts`);
of survival it is the risk, in the same way, and the samples are those with the highest ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import eigh
from sklearn.utils import _safe_indexing

from ..estimators.explanations import part_names, terms_of
from ..estimators.fitted import similarities_of
from ..recipes.importance import MOST_AVERAGED, mean_parts, measured_from
from ..recipes.tasks import SURVIVAL
from .content import Bars, Block, Cell, Column, Scatter, Section, Table, Text
from .subject import Subject
from .words import MOST, counted, listed, written

_NONE = "no view"
_MOSTLY = 0.9  # share of the weight with which one kernel decides almost alone


def gates_section(subject: Subject, *, max_points: int, random_state: Any) -> Section | None:
    if not subject.is_gated:
        return None
    title = f"Which samples are recognised by which {_region_word(subject)}"
    if subject.has_even_gates:
        text = (
            "The gates came out the same for all samples: the model learned no regions, because the data gave no "
            "reason to treat samples differently. It is as good as a model with one weight for each kernel."
        )
        return Section(id="gates", title=title, blocks=[Text(text=text)])
    regions, names = regions_of(subject)
    blocks: list[Block] = [Text(text=sentence) for sentence in _gate_sentences(subject, regions, names)]
    blocks.append(_gate_chart(subject, regions, names, max_points=max_points, random_state=random_state))
    blocks.append(_region_table(subject, regions, names))
    return Section(id="gates", title=title, blocks=blocks)


def _region_word(subject: Subject) -> str:
    return "kernel" if len(subject.views) == 1 else "view"


def gate_weights(subject: Subject) -> pd.DataFrame:
    """The weight of each view for each sample, the sum over its kernels; of each kernel where all read one view."""
    weights = subject.sample_weights
    if _region_word(subject) == "kernel":
        return weights
    return pd.DataFrame({view: weights[kernels].sum(axis=1) for view, kernels in subject.views.items()})


def regions_of(subject: Subject) -> tuple[np.ndarray, list[str]]:
    """For each sample the view (or kernel) with the largest weight, as a position among the names; a name for none."""
    weights = gate_weights(subject)
    values, names = weights.to_numpy(), [*weights.columns, _NONE]
    regions = np.where(values.max(axis=1) > 0.0, values.argmax(axis=1), len(names) - 1)
    used = np.unique(regions)
    return np.searchsorted(used, regions), [str(names[place]) for place in used]


def _gate_sentences(subject: Subject, regions: np.ndarray, names: list[str]) -> list[str]:
    weights = gate_weights(subject)
    counts = np.bincount(regions, minlength=len(names))
    top = int(counts.argmax())
    word = _region_word(subject)
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
    """The first two principal components of the rows, signs made unique; zeros where there are fewer."""
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


def _gate_chart(
    subject: Subject, regions: np.ndarray, names: list[str], *, max_points: int, random_state: Any
) -> Scatter:
    of_samples, _ = subject.groups
    strata = regions * (int(of_samples.max()) + 1) + of_samples
    rows = drawn_rows(subject.decided, strata[subject.decided], max_points, random_state)
    points, axes, plane = plane_of(subject, rows)
    weights = gate_weights(subject)
    shown, groups = _largest_regions(regions, names)
    return Scatter(
        title=f"Samples by the {_region_word(subject)} with the largest weight",
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


def _largest_regions(regions: np.ndarray, names: list[str]) -> tuple[np.ndarray, list[str]]:
    if len(names) <= MOST:
        return regions, names
    kept = np.argsort(-np.bincount(regions, minlength=len(names)), kind="stable")[: MOST - 1]
    place = np.full(len(names), MOST - 1)
    place[kept] = np.arange(len(kept))
    return place[regions], [*(names[k] for k in kept), "others"]


def _region_table(subject: Subject, regions: np.ndarray, names: list[str]) -> Table:
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


_MOST_PANELS = 6
_MOST_FEATURES = 15


def projections_section(subject: Subject, *, max_points: int, random_state: Any) -> Section | None:
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
    blocks: list[Block] = [Text(text=_about_projections(subject, projected, is_local=is_local))]
    if len(shown) < len(panels):
        blocks.append(Text(text=f"Drawn are the {len(shown)} kernels with the largest weights, of {len(panels)}."))
    each = max(max_points // max(len(shown), 1), 1)
    blocks += [
        _projection_chart(subject, name, points, rows, is_local=is_local, most=each, random_state=random_state)
        for name, points, rows in shown
    ]
    blocks.append(_feature_table(subject))
    return Section(id="projections", title="Samples in the learned projections", blocks=blocks)


def _about_projections(subject: Subject, projected: dict[str, pd.DataFrame], *, is_local: bool) -> str:
    counts = {points.shape[1] for points in projected.values()}
    numbers = f"{min(counts)} to {max(counts)} numbers" if len(counts) > 1 else counted(max(counts), "number")
    text = (
        f"The model reduces each view to {numbers} per sample and decides by these alone. The pictures show the first "
        "two of them, so that classes which lie apart here are told apart by that view."
    )
    return text + (" Each picture has the samples for which its kernel has the largest gate." if is_local else "")


def _projection_chart(
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
        word = {"regression": "predicted value", SURVIVAL: "risk"}.get(subject.task, "decision value")
        return subject.decision[drawn], word
    return subject.groups[0][drawn].astype(float), f"number of the {subject.group_word}"


def _feature_table(subject: Subject) -> Table:
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


_MOST_PARTS = 9
_OTHERS = "other views"
_OPTIMISTIC = (
    "Values of samples to which the model was fitted are optimistic: those of new samples tend to lie nearer to 0."
)
_OUT_OF_FOLD = (
    "These samples have the smallest values out of fold, of models that were not fitted to them; the parts are those "
    "of the model itself, whose values of these samples tend to lie further from 0."
)
_NOTHING = 1e-9  # share of the largest part that is rounding
_EXACT = ("stacking", "linear", "coxnet")  # methods without kernels whose parts are sums over the views


@dataclass(frozen=True)
class Explained:
    """Samples, and what adds up to a value of each."""

    rows: np.ndarray  # their positions
    parts: pd.DataFrame  # (n_rows, n_parts): by view, and the intercept; rows add up to `values`
    values: np.ndarray  # (n_rows,)
    labels: list[str]
    notes: list[str]
    truths: list[float] | None = None  # of a regression: true values
    starts: list[float] | None = None  # of a regression: mean predictions, from which the parts add up to `values`


@dataclass(frozen=True)
class OutOfFoldValues:
    """Out-of-fold predictions by position; `margins` are decision values, or the leads of predicted classes."""

    margins: pd.Series
    predicted: pd.Series


def contributions_section(
    subject: Subject, *, n_shown: int, out_of_fold: OutOfFoldValues | None = None
) -> Section | None:
    """The section on samples that are least sure, or of the largest errors or risks: by out-of-fold values if given."""
    title = _TITLES[subject.task]
    if n_shown == 0 or (subject.task == "regression" and subject.y is None):
        return None
    if subject.model is not None and terms_of(subject.model) is None:
        text = (
            "This model multiplies kernels, so that no part of a decision belongs to one view; see what each view "
            "gives, above."
        )
        return Section(id="contributions", title=title, blocks=[Text(text=text)])
    found = explained(subject, n_shown, out_of_fold)
    blocks: list[Block] = [
        Text(text=_about_contributions(subject, out_of_fold is not None)),
        *_units(subject),
        _contribution_chart(subject, found),
    ]
    return Section(id="contributions", title=title, blocks=blocks)


def explained(subject: Subject, n_shown: int, out_of_fold: OutOfFoldValues | None = None) -> Explained:
    """The samples that the model is least sure of, is furthest off, or finds at risk, and what each view adds."""
    if subject.task == "regression":
        return _of_regression(subject, n_shown, out_of_fold)
    if subject.task == SURVIVAL:
        return _of_survival(subject, n_shown)
    values = subject.decision[subject.decided]
    if values.ndim > 1:
        ordered = np.sort(values, axis=1)
        values = ordered[:, -1] - ordered[:, -2]
    rows = subject.decided
    if out_of_fold is not None:
        margins = out_of_fold.margins.reindex(rows).dropna()
        rows, values = margins.index.to_numpy(), margins.to_numpy()
    rows = rows[np.argsort(np.abs(values), kind="stable")[:n_shown]]
    if subject.decision.ndim > 1:
        return _of_classes(subject, rows, out_of_fold)
    return _explained(subject, rows, subject.contributions(rows), subject.decision[rows], out_of_fold)


def _of_classes(subject: Subject, rows: np.ndarray, out_of_fold: OutOfFoldValues | None) -> Explained:
    table, order = subject.contributions(rows), np.argsort(-subject.decision[rows], axis=1, kind="stable")
    classes = list(subject.estimator.classes_)
    parts, notes = [], []
    for place, (first, second) in enumerate(order[:, :2].tolist()):
        notes.append(f"{_note(subject, int(rows[place]), out_of_fold)}, next {classes[second]}")
        parts.append(_against(subject, table.iloc[place], classes[first], classes[second]))
    frame = pd.DataFrame(parts).reset_index(drop=True)
    found = _explained(subject, rows, frame, frame.sum(axis=1).to_numpy(), out_of_fold)
    return replace(found, notes=notes)


def _note(subject: Subject, row: int, out_of_fold: OutOfFoldValues | None, target: int | None = None) -> str:
    text = true_and_predicted(subject, row, target)
    if out_of_fold is None or row not in out_of_fold.predicted.index:
        return text
    return f"{text}, out of fold {_one(subject, out_of_fold.predicted[row], target)}"


def _against(subject: Subject, row: pd.Series, first: Any, second: Any) -> pd.Series:
    if getattr(subject.model, "multiclass", None) != "one-vs-one":
        return row[first] - row[second]
    known = list(subject.model.classes_)
    a, b = sorted((known.index(first), known.index(second)))
    return row[f"{known[a]} vs {known[b]}"] * (1.0 if first == known[b] else -1.0)  # positive for the later class


def _of_regression(subject: Subject, n_shown: int, out_of_fold: OutOfFoldValues | None) -> Explained:
    """The largest errors; several targets each on its own scale."""
    y, predicted = (values.reshape(subject.n_samples, -1) for values in (subject.y, subject.predicted))
    if out_of_fold is not None:
        predicted = out_of_fold.predicted.reindex(range(subject.n_samples)).to_numpy(dtype=float)[:, None]
    spread = y.std(axis=0)
    errors = (np.abs(y - predicted) / np.where(spread > 0.0, spread, 1.0))[subject.decided]
    known = int(np.isfinite(errors).sum())  # others come last
    order = np.argsort(-errors, axis=None, kind="stable")[: min(n_shown, known)]
    rows, targets = np.unravel_index(order, errors.shape)
    rows = subject.decided[rows]
    table, means = _from_means(subject, rows)
    values = subject.decision.reshape(subject.n_samples, -1)[rows, targets]
    starts = means.sum(axis=1)[targets].tolist()
    truths = None if _is_transformed(subject) else y[rows, targets].astype(float).tolist()
    if table.columns.nlevels == 1:
        return replace(_explained(subject, rows, table, values, out_of_fold), truths=truths, starts=starts)
    outputs = list(table.columns.unique(0))
    parts = pd.DataFrame([table[outputs[t]].iloc[k] for k, t in enumerate(targets.tolist())]).reset_index(drop=True)
    found = _explained(subject, rows, parts, values, None)
    labels = [f"{label}, {subject.targets[t]}" for label, t in zip(found.labels, targets.tolist(), strict=True)]
    notes = [_note(subject, int(row), out_of_fold, int(t)) for row, t in zip(rows, targets, strict=True)]
    return replace(found, labels=labels, notes=notes, truths=truths, starts=starts)


def _of_survival(subject: Subject, n_shown: int) -> Explained:
    """The highest risks; the intercept is 0 where parts are measured from their means, and left out."""
    rows = subject.decided[np.argsort(-subject.decision[subject.decided], kind="stable")[:n_shown]]
    table, means = _from_means(subject, rows)
    found = _explained(subject, rows, table, subject.decision[rows], None)
    return replace(found, starts=[float(means.sum())] * len(rows))


def _from_means(subject: Subject, rows: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """What is added to predictions, less its means, and the means, (n_targets, n_parts)."""
    several = subject.decided[np.unique(np.linspace(0, len(subject.decided) - 1, MOST_AVERAGED).round().astype(int))]
    has_means = hasattr(subject.estimator, "mean_contributions_")
    table = subject.contributions(rows)
    means = mean_parts(subject.estimator, table if has_means else subject.contributions(several))
    return table - means, means.reshape(max(len(subject.targets), 1), -1)


def _explained(
    subject: Subject,
    rows: np.ndarray,
    table: pd.DataFrame,
    values: np.ndarray,
    out_of_fold: OutOfFoldValues | None,
) -> Explained:
    """Contributions of kernels summed by view; terms that are products keep their names."""
    views = part_names([subject.view_of.get(str(name), str(name)) for name in table.columns[:-1]])
    parts = table.T.groupby(np.array(views, dtype=object), sort=False).sum().T
    labels = [subject.labels[row] for row in rows.tolist()]
    return Explained(rows, parts, values, labels, [_note(subject, int(row), out_of_fold) for row in rows])


def largest_parts(parts: pd.DataFrame) -> pd.DataFrame:
    found, views = parts.iloc[:, :-1], list(parts.columns[:-1])
    if len(views) > _MOST_PARTS:
        kept = found.abs().sum().nlargest(_MOST_PARTS - 1).index
        others = found.drop(columns=kept).sum(axis=1).rename(_OTHERS)
        found = pd.concat([found[[name for name in views if name in kept]], others], axis=1)
    return found.join(parts.iloc[:, -1:])


def _contribution_chart(subject: Subject, found: Explained) -> Bars:
    shown = largest_parts(found.parts)
    note = _others_note(found.parts, shown)
    sum_of = "their sum"
    start = "average risk" if subject.task == SURVIVAL else "mean prediction"
    if found.starts is not None:
        sum_of = "where they end"
        rest = shown.iloc[:, -1].abs().max()
        if rest <= _NOTHING * np.abs(found.parts.to_numpy()).max():  # the intercept is the same for all samples
            shown = shown.iloc[:, :-1]
    return Bars(
        title=f"What each view adds, {len(found.rows)} of {subject.n_samples} samples",
        description=(
            "A bar for each sample; its parts are what each view adds (to the right) or takes away (to the left). The "
            f"line across is {sum_of}, the {_VALUES[subject.task]}"
            + ("; the ring is the true value." if found.truths is not None else ".")
        ),
        note=note,
        axis=_VALUES[subject.task],
        labels=found.labels,
        parts=[str(name) for name in shown.columns],
        values=[[float(value) for value in row] for row in shown.to_numpy()],
        totals=[float(value) for value in found.values],
        total_label=_VALUES[subject.task],
        truths=found.truths,
        truth_label="true value" if found.truths is not None else "",
        starts=found.starts,
        start_label=start if found.starts is not None else "",
        notes=found.notes,
    )


def _about_contributions(subject: Subject, is_out_of_fold: bool) -> str:
    intercept = "The intercept is the part that is the same for all samples."
    if subject.model is None and subject.cohort.method_ not in _EXACT:
        intercept = "The intercept is the rest: what all samples share, and what views do only together."
    if subject.task == "regression":
        off = "; errors of samples to which the model was fitted are smaller than those of new ones"
        if is_out_of_fold:
            off = ", by models that were not fitted to them, while the parts are those of the model itself"
        means = measured_from(subject.estimator, subject.n_samples)
        return (
            f"A prediction is a sum over the views, whose parts are measured from {means}: each bar begins at the mean "
            f"prediction. These are the samples whose prediction is furthest off{off}."
            + ("" if subject.model is not None or subject.cohort.method_ in _EXACT else f" {intercept}")
        )
    if subject.task == SURVIVAL:
        means = measured_from(subject.estimator, subject.n_samples)
        return (
            f"A risk is a sum over the views, whose parts are measured from {means}: each bar begins at the average "
            "risk, and parts to the right raise it. Of a Cox model a risk that is larger by 0.7 doubles the chance of "
            "the event at any time. These are the samples with the highest risks; those of samples to which the model "
            "was fitted are a little too far from the average."
            + ("" if subject.model is not None or subject.cohort.method_ in _EXACT else f" {intercept}")
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
    optimistic = _OUT_OF_FOLD if is_out_of_fold else _OPTIMISTIC
    return (
        "A decision value is a sum over the views. Where it is near 0 the views disagree or say little, and the "
        f"prediction is a close call. {sides} {optimistic} {intercept}"
    )


def _others_note(parts: pd.DataFrame, shown: pd.DataFrame) -> str:
    return f"{_OTHERS.capitalize()} are {parts.shape[1] - shown.shape[1] + 1} views." if _OTHERS in shown else ""


def _is_transformed(subject: Subject) -> bool:
    return subject.cohort is None and not np.allclose(subject.decision, subject.predicted)


def _units(subject: Subject) -> list[Block]:
    if subject.task != "regression" or not _is_transformed(subject):
        return []
    return [Text(text="The numbers are on the scale on which the model learned, after the target was transformed.")]


_TITLES = {
    "classification": "Samples the model is least sure of",
    "regression": "Samples with the largest errors",
    "novelty": "Samples near the border between normal and unusual",
    SURVIVAL: "The highest risks, and what drives them",
}
_VALUES = {
    "classification": "decision value",
    "regression": "prediction",
    "novelty": "decision value",
    SURVIVAL: "risk",
}


_MOST_WEIGHTS = 3  # of a sample, on hover


def drawn_rows(rows: np.ndarray, strata: np.ndarray, most: int, random_state: Any) -> np.ndarray:
    """At most some of the rows, at random, with the share that each stratum has."""
    if len(rows) <= most:
        return rows
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(rows))
    order = order[np.argsort(strata[order], kind="stable")]  # strata one after the other, each in random order
    return np.sort(rows[order[((np.arange(most) + rng.uniform()) * len(rows) / most).astype(int)]])


def drawn_note(n_drawn: int, n_there: int) -> str:
    if n_drawn >= n_there:
        return f"All {n_there} samples are drawn."
    return f"{n_drawn} of {n_there} samples are drawn, chosen at random in proportion to the groups."


def about_samples(subject: Subject, rows: np.ndarray, weights: pd.DataFrame | None = None) -> list[str]:
    texts = [true_and_predicted(subject, row) for row in rows.tolist()]
    if weights is None:
        return texts
    names, values = [str(name) for name in weights.columns], weights.to_numpy()[rows]
    largest = np.argsort(-values, axis=1, kind="stable")[:, :_MOST_WEIGHTS]
    found = []
    for text, own, order in zip(texts, values, largest.tolist(), strict=True):
        parts = [f"{names[place]} {own[place]:.2f}" for place in order if own[place] > 0.0]
        found.append("; ".join(part for part in (text, ", ".join(parts)) if part))
    return found


def true_and_predicted(subject: Subject, row: int, target: int | None = None) -> str:
    predicted = _one(subject, subject.predicted[row], target)
    if subject.task == "novelty":
        return "normal" if subject.predicted[row] > 0 else "novelty"
    if subject.task == SURVIVAL:
        risk = f"risk {written(float(subject.predicted[row]))}"
        if subject.y is None:
            return risk
        time, event = written(float(subject.y["time"][row])), subject.y["event"][row]
        return f"{risk}; {'the event' if event else 'censored'} at {time}"
    if subject.y is None:
        return f"predicted {predicted}"
    return f"true {_one(subject, subject.y[row], target)}, predicted {predicted}"


def _one(subject: Subject, value: Any, target: int | None) -> str:
    if subject.task == "classification":
        return str(value)
    values = np.ravel(value)
    chosen = values if target is None else values[[target]]
    return ", ".join(written(float(number)) for number in chosen[:3])
