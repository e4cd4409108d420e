"""How good the predictions of a labelled cohort are, which had no part in the fit: scores, intervals, confusion matrix.

Scores are those of `recipes.metrics`, intervals those of `Judge` for a given model: with no training set that varies,
1 / n_train is 0. That of the RMSE is the root of the interval of the mean squared error. The area under the ROC curve
has one of up to `MOST_RESAMPLED` samples. A label that the model does not know is one more class, whose samples are all
predicted wrong and have the probability 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..files.matching import as_text
from ..recipes.metrics import SHARES, SHOWN_AS, SMALLER_IS_BETTER, scores
from ..recipes.scoring import CLASSES, NUMBERS, Scoring
from ..reporting.content import Block, Cell, Column, Section, Table, Text
from ..reporting.words import counted, listed, written
from .comparison import Problem
from .out_of_fold import Judge, OutOfFold

MOST_RESAMPLED = 50_000
_FIXED = float(np.finfo(float).max)  # training samples, of which no other set is drawn
_SCORINGS = {
    "accuracy": "accuracy",
    "balanced accuracy": "balanced_accuracy",
    "ROC AUC": "roc_auc",
    "log loss": "neg_log_loss",
    "Brier score": "neg_brier_score",
    "R2": "r2",
    "MAE": "neg_mean_absolute_error",
    "RMSE": "neg_mean_squared_error",
}


@dataclass(frozen=True, eq=False)
class _CohortJudge(Judge):
    """The targets of the problem are positions of classes already, or numbers; `n_known` classes have probabilities."""

    n_known: int = 0

    @cached_property
    def targets(self) -> np.ndarray:
        return self.problem.y

    @property
    def n_classes(self) -> int:
        return self.n_known


class LabelledCohort:
    """The samples that have a target and a prediction; they are added block by block.

    `classes` are those of the model, None of a regression. `n_unlabelled` samples have no target, `n_unpredicted` have
    one and no prediction, and `unknown` counts the labels that the model does not know.
    """

    def __init__(self, classes: Sequence[Any] | None, target: str):
        self.target, self.classes = target, None if classes is None else np.asarray(classes).tolist()
        self.n_unlabelled = self.n_unpredicted = 0
        self.unknown: Counter[Any] = Counter()
        self._places = dict(zip(as_text(self.classes or []), range(len(self.classes or [])), strict=True))
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def add(self, y: pd.Series, table: pd.DataFrame) -> pd.Series:
        """Add samples by targets, NaN for none, and predictions; returns targets, classes as the model has them."""
        predicted = table.iloc[:, 0]
        there, known = y.notna().to_numpy(), predicted.notna().to_numpy()
        self.n_unlabelled += int((~there).sum())
        self.n_unpredicted += int((there & ~known).sum())
        scored = there & known
        shares = table.loc[scored, [name for name in table if str(name).startswith("probability_")]]
        if self.classes is None:
            numbers = self._numbers(y)
            self._parts.append((numbers[scored], predicted[scored].to_numpy(dtype=float), shares.to_numpy()))
            return pd.Series(numbers, y.index)
        texts, labels = as_text(y), np.full(len(y), None, dtype=object)
        for place in np.flatnonzero(there):
            own = self._places.setdefault(texts[place], len(self._places))
            labels[place] = self.classes[own] if own < len(self.classes) else y.iloc[place]
            self.unknown.update([texts[place]] if own >= len(self.classes) else [])
        places = np.array([self._places[texts[place]] for place in np.flatnonzero(scored)], dtype=int)
        answers = [self._places[text] for text in as_text(predicted[scored])]
        self._parts.append((places, np.array(answers, dtype=int), shares.to_numpy(dtype=float)))
        return pd.Series(labels, y.index, dtype=object)

    def _numbers(self, y: pd.Series) -> np.ndarray:
        numbers = pd.to_numeric(y, errors="coerce")
        wrong = y[numbers.isna() & y.notna()]
        if len(wrong):
            raise ValueError(
                f"the model predicts numbers, and the target {self.target!r} of {wrong.index[0]!r} is {wrong.iloc[0]!r}"
            )
        return numbers.to_numpy(dtype=float)

    @property
    def n_samples(self) -> int:
        return sum(len(part[0]) for part in self._parts)

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        y, predicted, shares = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        return y, predicted, shares if shares.shape[1] else None

    @cached_property
    def scores(self) -> dict[str, float]:
        y, predicted, shares = self._columns
        if self.classes is None:
            return scores(NUMBERS, y, predicted)
        return scores(CLASSES, y, predicted, shares, np.arange(len(self.classes)))

    @cached_property
    def chance(self) -> dict[str, float]:
        """The scores of always predicting the most frequent class of these samples, with its share, or their mean."""
        y, _, shares = self._columns
        if self.classes is None:
            return scores(NUMBERS, y, np.full(len(y), y.mean()))
        counts = np.bincount(y, minlength=len(self.classes))
        constant = None if shares is None else np.tile(counts[: len(self.classes)] / len(y), (len(y), 1))
        return scores(CLASSES, y, np.full(len(y), counts.argmax()), constant, np.arange(len(self.classes)))

    @property
    def constant(self) -> str:
        """The most frequent class, or the mean of the target."""
        y = self._columns[0]
        return written(float(y.mean())) if self.classes is None else self._labels[int(np.bincount(y).argmax())]

    @property
    def _labels(self) -> list[str]:
        known = [str(label) for label in self.classes or []]
        return [*known, *map(str, list(self._places)[len(known) :])]

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """The 95 % interval of each score; NaN where there is none."""
        return {name: self._interval(name) for name in self.scores}

    def _interval(self, name: str) -> tuple[float, float]:
        y, predicted, shares = self._columns
        if len(y) < 2 or not np.isfinite(self.scores[name]) or (name == "ROC AUC" and len(y) > MOST_RESAMPLED):
            return np.nan, np.nan
        n_known = len(self.classes or [])
        if name == "log loss" and shares is not None and len(self._places) > n_known:
            shares = np.pad(shares, ((0, 0), (0, len(self._places) - n_known)))
        zeros = np.zeros(len(y), dtype=int)
        problem = Problem(None, y, is_classification=self.classes is not None)
        judge = _CohortJudge(problem, Scoring(_SCORINGS[name]), _FIXED, n_known)
        low, high = judge.interval(OutOfFold(np.arange(len(y)), zeros, zeros, predicted, shares))
        if judge.scoring.is_error:
            low, high = max(0.0, -high), max(0.0, -low)
        return (float(np.sqrt(low)), float(np.sqrt(high))) if name == "RMSE" else (float(low), float(high))

    def tables(self, most_classes: int | None = None) -> list[Table]:
        """The scores and, of classes, the confusion matrix; of more than `most_classes` recall and precision alone."""
        names = list(self.scores)
        ends = np.array(list(self.intervals.values())).T.tolist()
        kinds = {name: "percent" if name in SHARES else "number" for name in names}
        errors = [name for name in names if name in SMALLER_IS_BETTER]
        smaller = f" Of {listed(errors)} smaller values are better." if errors else ""
        found = Table(
            title=f"Scores of {counted(self.n_samples, 'labelled sample')}",
            columns=[Column("predictions"), *(Column(SHOWN_AS.get(name, name), kinds[name]) for name in names)],
            rows=[
                ["the model", *self.scores.values()],
                ["95 % from", *ends[0]],
                ["95 % to", *ends[1]],
                [f"always {self.constant}", *(self.chance[name] for name in names)],
            ],
            note=f"From and to are the ends of 95 % intervals.{smaller}",
        )
        if self.classes is None:
            return [found]
        return [found, self._confusion(most_classes is None or len(self.classes) <= most_classes)]

    def _confusion(self, has_matrix: bool) -> Table:
        y, predicted, _ = self._columns
        labels, n_known = self._labels, len(self.classes or [])
        counts = np.zeros((len(labels), n_known), dtype=int)
        np.add.at(counts, (y, predicted), 1)
        rows: list[list[Cell]] = []
        for place, (label, own) in enumerate(zip(labels, counts, strict=True)):
            right, n_true = int(own[place]) if place < n_known else 0, int(own.sum())
            n_predicted = int(counts[:, place].sum()) if place < n_known else 0
            shares = [right / n if n else None for n in (n_true, n_predicted)]
            rows.append([label, n_true, *(own.tolist() if has_matrix else []), *shares])
        columns = [Column("class"), Column("samples", "count")]
        columns += [Column(f"predicted {label}", "count") for label in labels[:n_known] if has_matrix]
        columns += [
            Column("recall", "percent", "of the samples of the class, the share that is predicted as it"),
            Column("precision", "percent", "of the samples predicted as the class, the share that is of it"),
        ]
        note = "" if has_matrix else "What is predicted for each class: see the report of kernelweave explain."
        return Table(title="Classes, and what is predicted for them", columns=columns, rows=rows, note=note)

    def sentences(self) -> list[str]:
        """How good the predictions are, and which samples are not scored."""
        name = "accuracy" if self.classes is not None else "R2"
        kind = "percent" if name in SHARES else "number"
        low, high = (written(end, kind) for end in self.intervals[name])
        interval = "" if low == "unknown" else f" (95 % interval {low.removesuffix(' %')} to {high})"
        value, chance = (written(found[name], kind) for found in (self.scores, self.chance))
        samples = counted(self.n_samples, "labelled sample")
        if name == "accuracy":
            text = f"The model predicts the right class for {value} of {samples}{interval}; always predicting "
            text += f"their most frequent class, {self.constant}, is right for {chance}."
        else:
            text = f"On {samples} the model has an R² of {value}{interval}; always predicting their mean, "
            text += f"{self.constant}, has {chance}."
        return [text, *self.left_out()]

    def left_out(self) -> list[str]:
        found = []
        for count, why in ((self.n_unlabelled, "without a label"), (self.n_unpredicted, "without a prediction")):
            if count:
                found.append(f"{counted(count, 'sample')} {why} {'is' if count == 1 else 'are'} not scored.")
        return found

    def warning(self) -> str:
        """What is said of labels that the model does not know; empty where there are none."""
        if not self.unknown:
            return ""
        count = sum(self.unknown.values())
        labels = listed([f"{label!r} ({number})" for label, number in self.unknown.most_common()])
        has, counts = ("has a label", "counts") if count == 1 else ("have labels", "count")
        return (
            f"{counted(count, 'sample')} {has} that the model does not know, and {counts} as wrong: {labels}; its "
            f"classes are {listed(self.classes or [])}"
        )

    def section(self) -> Section:
        text = (
            "These samples had no part in the fit where they are new. Intervals of 95 % take into account that other "
            "samples would give other scores, not that other training samples would give another model."
        )
        warning = self.warning()
        blocks: list[Block] = [Text(text=text), *([Text(text=f"{warning}.")] if warning else []), *self.tables()]
        return Section(id="scores", title="How good the predictions of these samples are", blocks=blocks)
