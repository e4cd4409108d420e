"""The section on what the recommended method predicted of samples that it was not fitted to.

Of classes: the confusion matrix, recall and precision of each, ROC and precision-recall curves, calibration, and the
samples that are wrong although the method was sure. Of numbers: predictions against targets, and the largest errors.
Of times to an event: see `survival`.
All from the out-of-fold predictions. A sample that is tested in several repeats counts once in each.

Curves are those of each fold, averaged, because the probabilities of different models are not on one scale: the area
under the mean curve is the mean of the areas. Between the points of a fold the ROC curve is a line, and precision is
that of the next point of larger recall.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy.integrate import trapezoid

from ..recipes.tasks import CLASSES, NUMBERS, SURVIVAL
from ..reporting.content import Block, Cell, Column, Heatmap, Line, Lines, Scatter, Section, Table, Text
from ..reporting.samples import OutOfFoldValues
from ..reporting.words import counted, sample_labels, written
from .out_of_fold import OutOfFold
from .outcome import CompareOutcome
from .survival import survival_blocks

_MOST_CLASSES = 12  # with curves of their own
_MOST_WRONG = 20  # samples that a table lists
_BINS, _FEWEST_IN_BIN = 10, 10  # of the calibration curve: at most, samples in each
_POINTS = 200  # of a curve
_MOST_DRAWN = 2000


def out_of_fold_values(outcome: CompareOutcome, kept: np.ndarray) -> OutOfFoldValues | None:
    """How sure the method was of samples it was not fitted to, means over repeats, by position in `kept`; or None."""
    found = outcome.winner.predictions
    place = np.cumsum(kept) - 1
    rows = kept[found.rows]
    index = place[found.rows[rows]]
    if not outcome.is_classification:
        predicted = pd.Series(found.predicted[rows], index).groupby(level=0).mean()
        return OutOfFoldValues(predicted * (1.0 if outcome.problem.task == SURVIVAL else 0.0), predicted)
    if found.probabilities is None:
        return None
    shares = pd.DataFrame(found.probabilities[rows], index).groupby(level=0).mean()
    ordered = np.sort(shares.to_numpy(), axis=1)
    labels = pd.Series(outcome.problem.classes[shares.to_numpy().argmax(axis=1)], shares.index)
    return OutOfFoldValues(pd.Series(ordered[:, -1] - ordered[:, -2], shares.index), labels)


def held_out_section(outcome: CompareOutcome) -> Section:
    label = outcome.winner.label
    blocks = {CLASSES: _of_classes, NUMBERS: _of_numbers, SURVIVAL: survival_blocks}[outcome.problem.task](outcome)
    return Section(id="held-out", title=f"What {label} predicts of samples that it was not fitted to", blocks=blocks)


def _of_classes(outcome: CompareOutcome) -> list[Block]:
    found, names = outcome.winner.predictions, [str(name) for name in outcome.problem.classes]
    true = outcome.judge.targets[found.rows]
    counts = confusion(true, found.predicted, len(names))
    right = int(np.trace(counts))
    text = (
        f"{right} of {counts.sum()} predictions are right. The table counts the samples of each class (rows) by the "
        "class that was predicted (columns); recall is the share of a class that is found, precision the share of the "
        "predictions of a class that are right."
    )
    blocks: list[Block] = [Text(text=text), _confusion_chart(counts, names), _class_table(counts, names)]
    if found.probabilities is not None:
        blocks += [*_curves(outcome, found, names), _calibration(outcome, found)]
        blocks.append(_wrong_table(outcome, found, names))
    return blocks


def confusion(true: np.ndarray, predicted: np.ndarray, n_classes: int) -> np.ndarray:
    """How many samples of each class (rows) were predicted to be of each (columns)."""
    return np.bincount(true * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)


def _confusion_chart(counts: np.ndarray, names: list[str]) -> Heatmap:
    return Heatmap(
        title="True and predicted classes",
        description="Rows are true classes, columns predicted ones; right predictions lie on the diagonal.",
        rows=names,
        columns=names,
        values=[[float(count) for count in row] for row in counts],
        row_axis="true class",
        column_axis="predicted class",
        kind="count",
    )


def _class_table(counts: np.ndarray, names: list[str]) -> Table:
    of_class, predicted, right = counts.sum(axis=1), counts.sum(axis=0), np.diagonal(counts)
    rows: list[list[Cell]] = [
        [name, int(n), int(p), float(r / n) if n else None, float(r / p) if p else None]
        for name, n, p, r in zip(names, of_class, predicted, right, strict=True)
    ]
    columns = [Column("class"), Column("samples", "count"), Column("predicted", "count")]
    columns += [
        Column("recall", "percent", "share of its samples that are predicted right"),
        Column("precision", "percent", "share of its predictions that are right"),
    ]
    return Table(title="Recall and precision of each class", columns=columns, rows=rows)


def _curves(outcome: CompareOutcome, found: OutOfFold, names: list[str]) -> list[Block]:
    """ROC and precision-recall curves: of the positive one of two classes, else of each class against the others."""
    positive = outcome.scoring.positive
    chosen = [positive] if len(names) == 2 else list(range(min(len(names), _MOST_CLASSES)))
    roc, recalled = [], []
    for place in chosen:
        folds = _ranked(outcome, found, place)
        if folds:
            x, y = mean_curve([roc_points(*fold) for fold in folds], steps=False)
            roc.append(Line(_with_area(names[place], trapezoid(y, x), "AUC"), *_thinned(x, y)))
            x, y = mean_curve([precision_points(*fold) for fold in folds], steps=True)
            area = float(np.sum(np.diff(x) * y[1:]))
            recalled.append(Line(_with_area(names[place], area, "average precision"), *_thinned(x, y)))
    if not roc:
        return []
    whose = f"the class {names[positive]}" if len(names) == 2 else "each class against all others"
    left_out = "" if len(chosen) >= len(names) - 1 else f" Drawn are the first {len(chosen)} of {len(names)} classes."
    about = f"Curves of {whose}, by its probability; the mean over the folds.{left_out}"
    return [
        Lines(
            title="ROC curve",
            description=f"{about} Chance is the diagonal.",
            x_axis="false positive rate",
            y_axis="recall",
            lines=[*roc, Line("chance", [0.0, 1.0], [0.0, 1.0])],
        ),
        Lines(
            title="Precision and recall",
            description=about,
            x_axis="recall",
            y_axis="precision",
            lines=recalled,
        ),
    ]


def _with_area(name: str, area: float, word: str) -> str:
    return f"{name} ({word} {area:.3f})"


def _ranked(outcome: CompareOutcome, found: OutOfFold, place: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each fold that has the class and others, which samples are of it, and their probabilities of it."""
    folds = []
    for part in found.by(found.fold):
        assert part.probabilities is not None
        own = outcome.judge.targets[part.rows] == place
        if own.any() and not own.all():
            folds.append((own, part.probabilities[:, place]))
    return folds


def _cumulated(own: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many samples of the class, and how many others, have at least a value, for each value from the largest on."""
    order = np.argsort(-values, kind="stable")
    last = np.r_[np.flatnonzero(np.diff(values[order])), len(values) - 1]
    return np.cumsum(own[order])[last], np.cumsum(~own[order])[last]


def roc_points(own: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """False positive rates and recalls of a fold."""
    right, wrong = _cumulated(own, values)
    return np.r_[0.0, wrong / (~own).sum()], np.r_[0.0, right / own.sum()]


def precision_points(own: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Recalls and precisions of a fold; each precision is that of all recalls down to the next smaller one."""
    right, wrong = _cumulated(own, values)
    found = np.r_[True, np.diff(right) > 0]  # further samples of the class
    recall, precision = right[found] / own.sum(), (right / (right + wrong))[found]
    return np.r_[0.0, recall], np.r_[precision[0], precision]


def mean_curve(curves: Sequence[tuple[np.ndarray, np.ndarray]], *, steps: bool) -> tuple[np.ndarray, np.ndarray]:
    """The mean of curves over all their x; vertical parts of one stay vertical, so that areas are averaged too."""
    x = np.unique(np.concatenate([own for own, _ in curves]))
    at: Callable[..., np.ndarray] = _steps_at if steps else _lines_at
    if steps:
        return x, np.mean([at(x, *curve) for curve in curves], axis=0)
    ends = [np.mean([at(x, *curve, side) for curve in curves], axis=0) for side in ("left", "right")]
    return np.repeat(x, 2), np.ravel(np.column_stack(ends))


def _steps_at(x: np.ndarray, own: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y[np.minimum(np.searchsorted(own, x, side="left"), len(own) - 1)]


def _lines_at(x: np.ndarray, own: np.ndarray, y: np.ndarray, side: str) -> np.ndarray:
    """The value of a line at x, from the left or from the right where it is vertical there."""
    first, last = np.searchsorted(own, x, side="left"), np.searchsorted(own, x, side="right") - 1
    exact = own[np.minimum(first, len(own) - 1)] == x
    return np.where(exact, y[np.minimum(first, len(own) - 1) if side == "left" else last], np.interp(x, own, y))


def _thinned(x: np.ndarray, y: np.ndarray) -> tuple[list[float], list[float]]:
    kept = np.unique(np.linspace(0, len(x) - 1, _POINTS).round().astype(int))
    return x[kept].tolist(), y[kept].tolist()


def _calibration(outcome: CompareOutcome, found: OutOfFold) -> Block:
    """How often samples are of a class, by its probability: the positive one of two, else the predicted one."""
    probabilities = found.probabilities
    assert probabilities is not None
    true, names = outcome.judge.targets[found.rows], outcome.problem.classes
    two = len(names) == 2
    positive = outcome.scoring.positive
    values = probabilities[:, positive] if two else probabilities[np.arange(len(true)), found.predicted]
    hits = true == positive if two else true == found.predicted
    mean, share, sizes = calibration_bins(values, hits)
    what = f"of the class {names[positive]}" if two else "of the predicted class"
    if len(mean) < 2:
        return Text(text=f"For a calibration curve there are too few samples, or all have one probability {what}.")
    return Lines(
        title="Calibration",
        description=(
            f"Predictions in {len(mean)} groups by the probability {what} ({_range(sizes)} in a group), "
            "and how often it is the true one. Probabilities that say how often they are right lie on the diagonal."
        ),
        x_axis=f"mean probability {what}",
        y_axis="share that is of it",
        lines=[Line(outcome.winner.label, mean.tolist(), share.tolist()), Line("as stated", [0.0, 1.0], [0.0, 1.0])],
    )


def _range(sizes: np.ndarray) -> str:
    low, high = int(sizes.min()), int(sizes.max())
    return str(low) if low == high else f"{low} to {high}"


def calibration_bins(values: np.ndarray, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean probability, share of hits and size of groups of about equal size; equal probabilities are in one group."""
    n_bins = int(np.clip(len(values) // _FEWEST_IN_BIN, 1, _BINS))
    limits = np.unique(np.quantile(values, np.arange(1, n_bins) / n_bins, method="inverted_cdf"))
    group = np.searchsorted(limits, values, side="left")
    table = pd.DataFrame({"value": values, "hit": hits.astype(np.float64)}).groupby(group)
    return table["value"].mean().to_numpy(), table["hit"].mean().to_numpy(), table.size().to_numpy()


def _wrong_table(outcome: CompareOutcome, found: OutOfFold, names: list[str]) -> Table:
    """Wrong predictions, the surest first."""
    assert found.probabilities is not None
    true = outcome.judge.targets[found.rows]
    rows = np.arange(len(true))
    sure = found.probabilities[rows, found.predicted]
    wrong = np.flatnonzero(true != found.predicted)
    shown = wrong[np.argsort(-sure[wrong], kind="stable")][:_MOST_WRONG]
    labels = sample_labels(getattr(outcome.problem.X, "index", None), len(outcome.problem.y))
    n_folds = outcome.folds_of_repeat
    repeated = int(found.repeat.max()) > 0
    columns = [Column("sample"), Column("true class"), Column("predicted class")]
    columns += [Column("probability of it", "percent"), Column("probability of the true class", "percent")]
    columns += [Column("repeat", "count")] if repeated else []
    columns.append(Column("fold", "count"))
    cells: list[list[Cell]] = []
    for i in shown.tolist():
        row: list[Cell] = [labels[found.rows[i]], names[true[i]], names[found.predicted[i]]]
        row += [float(sure[i]), float(found.probabilities[i, true[i]])]
        row += [int(found.repeat[i]) + 1] if repeated else []
        cells.append([*row, int(found.fold[i]) % n_folds + 1])
    note = f"{len(shown)} of {counted(len(wrong), 'wrong prediction')}; out_of_fold.csv has all."
    return Table(title="Wrong predictions, the surest first", columns=columns, rows=cells, note=note)


def _of_numbers(outcome: CompareOutcome) -> list[Block]:
    found = outcome.winner.predictions
    true = outcome.judge.targets[found.rows]
    errors = found.predicted - true
    labels = sample_labels(getattr(outcome.problem.X, "index", None), len(outcome.problem.y))
    of_prediction = [labels[row] for row in found.rows]
    half = float(np.median(np.abs(errors)))
    text = (
        f"Half of the {len(errors)} predictions are off by at most {written(half)}; the target lies between "
        f"{written(float(true.min()))} and {written(float(true.max()))}."
    )
    drawn = np.linspace(0, len(true) - 1, min(len(true), _MOST_DRAWN)).round().astype(int)
    chart = Scatter(
        title="Target and prediction",
        description="Each point is a sample; one whose prediction is right has the same number on both axes.",
        note="" if len(drawn) == len(true) else f"{len(drawn)} of {len(true)} predictions are drawn.",
        x=true[drawn].tolist(),
        y=found.predicted[drawn].tolist(),
        group=[0] * len(drawn),
        groups=["predictions"],
        label=[of_prediction[i] for i in drawn],
        x_axis="target",
        y_axis="prediction",
    )
    worst = np.argsort(-np.abs(errors), kind="stable")[:_MOST_WRONG]
    rows: list[list[Cell]] = [
        [of_prediction[i], float(true[i]), float(found.predicted[i]), float(errors[i])] for i in worst.tolist()
    ]
    columns = [Column("sample"), *(Column(name, "number") for name in ("target", "prediction", "error"))]
    note = f"{len(worst)} of {len(errors)} predictions; out_of_fold.csv has all."
    return [Text(text=text), chart, Table(title="Largest errors", columns=columns, rows=rows, note=note)]
