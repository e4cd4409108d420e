"""Targets of blocks: their counts before a fit, and the machine of some samples from their y.

`count_samples`, `count_labels`, `count_numbers` and `count_outcomes` are functions of a block (`base.Rows`) that check
its targets where they are and whose results add up. From their sum an estimator makes a `ClassTargets`,
`NumberTargets`, `NoveltyTargets` or `OutcomeTargets`, ``(y, weight, posterior=None) -> (machine, targets)``: small, so
that it can be sent to the samples on a cluster, and the same for blocks and for samples that are whole in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.class_weight import compute_class_weight

from .._warnings import warn
from ..machines import (
    BinaryLoss,
    DualTerms,
    Machine,
    OneClassMachine,
    RegressionLoss,
    SquaredOneClassMachine,
    SurvivalMachine,
)
from ..solvers.coupled import CoxLoss
from ..validation import shown
from .base import Rows

# Counts


@dataclass(frozen=True)
class Counts:
    """What is known of all samples before a fit; counts of blocks add up."""

    n_samples: int
    weight: float
    lightest: float
    heaviest: float

    def _sums(self, other: Counts) -> tuple[int, float, float, float]:
        return (
            self.n_samples + other.n_samples,
            self.weight + other.weight,
            min(self.lightest, other.lightest),
            max(self.heaviest, other.heaviest),
        )

    def __add__(self, other: Any) -> Counts:
        return Counts(*self._sums(other))


@dataclass(frozen=True)
class LabelCounts(Counts):
    """`Counts` with the labels, sorted, and the samples and sample weights of each."""

    classes: np.ndarray
    counts: np.ndarray
    class_weight: np.ndarray

    def __add__(self, other: Any) -> LabelCounts:
        if not len(self.classes) or not len(other.classes):
            found = self if len(self.classes) else other
            return LabelCounts(*self._sums(other), found.classes, found.counts, found.class_weight)
        classes, places = _sorted_labels(np.concatenate([self.classes, other.classes]))
        counts = np.bincount(places, weights=np.concatenate([self.counts, other.counts])).astype(np.int64)
        weight = np.bincount(places, weights=np.concatenate([self.class_weight, other.class_weight]))
        return LabelCounts(*self._sums(other), classes, counts, weight)

    def class_weights(self, class_weight: Any) -> np.ndarray:
        if class_weight is None:
            return np.ones(len(self.classes))
        if isinstance(class_weight, str) and class_weight == "balanced":
            return self.n_samples / (len(self.classes) * self.counts)
        return compute_class_weight(class_weight, classes=self.classes, y=self.classes)


@dataclass(frozen=True)
class NumberCounts(Counts):
    low: np.ndarray
    high: np.ndarray

    def __add__(self, other: Any) -> NumberCounts:
        return NumberCounts(*self._sums(other), np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def count_samples(rows: Rows) -> Counts:
    return Counts(*_of_weights(rows))


def _of_weights(rows: Rows) -> tuple[int, float, float, float]:
    weight = rows.weight
    least, most = float(weight.min(initial=np.inf)), float(weight.max(initial=0.0))
    return rows.n_samples, float(weight.sum()), least, most


def count_labels(rows: Rows) -> LabelCounts:
    y = _targets_of(rows)
    wrong = np.flatnonzero(pd.isna(y))
    if len(wrong):
        raise ValueError(f"Input y contains NaN: sample {rows.first + wrong[0]}; leave such samples out")
    if y.dtype.kind == "f":
        wrong = np.flatnonzero(y != np.floor(y))
        if len(wrong):
            raise ValueError(
                f"Unknown label type: continuous. y of sample {rows.first + wrong[0]} is {y[wrong[0]]!r}: a classifier "
                "needs classes, numbers without a fraction or text; for numbers to predict use MKLRegressor"
            )
    classes, places = _sorted_labels(y)
    counts = (np.bincount(places, weights=each, minlength=len(classes)) for each in (None, rows.weight))
    return LabelCounts(*_of_weights(rows), classes, *counts)


def count_numbers(rows: Rows) -> NumberCounts:
    y = _targets_of(rows).reshape(rows.n_samples, -1)
    wrong = np.flatnonzero(~np.isfinite(y).all(axis=1))
    if len(wrong):
        what = "NaN" if np.isnan(y[wrong[0]]).any() else "infinity"
        raise ValueError(f"Input y contains {what}: sample {rows.first + wrong[0]}; leave such samples out")
    low, high = y.min(axis=0, initial=np.inf), y.max(axis=0, initial=-np.inf)
    return NumberCounts(*_of_weights(rows), low, high)


def _targets_of(rows: Rows) -> np.ndarray:
    y = np.asarray(rows.y)
    if len(y) != rows.n_samples:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: in the block from sample {rows.first} on, {rows.n_samples} "
            f"and {len(y)}"
        )
    return y


def _sorted_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    try:
        return np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError("y mixes labels of types that cannot be sorted, such as numbers and text") from None


# Machines


@dataclass(frozen=True)
class ClassTargets:
    loss: BinaryLoss
    classes: np.ndarray
    C: float
    by_class: np.ndarray
    multiclass: str = "one-vs-all"
    n_jobs: int | None = None

    def __call__(self, y: Any, weight: np.ndarray, posterior: np.ndarray | None = None) -> tuple[Machine, np.ndarray]:
        """The machine of some samples, and their labels as numbers from 0; posteriors have a column for each class."""
        labels = np.searchsorted(self.classes, y)
        return self._machine(labels, self.C * weight * self.by_class[labels], posterior), labels

    def _machine(self, labels: np.ndarray, bound: np.ndarray, posterior: np.ndarray | None) -> Machine:
        if len(self.classes) == 2:
            signs = 2.0 * labels - 1.0
            return self.loss.for_targets(signs, bound) if posterior is None else self._soft(posterior, bound, signs)
        if self.multiclass == "joint":
            return self.loss.joint(labels, bound, posterior)
        if posterior is not None:
            raise ValueError(
                f'soft labels of more than two classes need multiclass="joint", not {shown(self.multiclass)}: the '
                "posterior-probability machine is defined for two classes and for all classes at once"
            )
        if self.multiclass == "one-vs-one":
            return self.loss.one_vs_one(labels, bound, n_jobs=self.n_jobs)
        return self.loss.one_vs_all(labels, bound, n_jobs=self.n_jobs, n_classes=len(self.classes))

    def _soft(self, posterior: np.ndarray, bound: np.ndarray, signs: np.ndarray) -> Machine:
        machine = self.loss.for_posteriors(posterior[:, 1], bound, signs)
        sides = np.sign(posterior[~machine.dropped, 1] - 0.5)
        if not ((sides > 0).any() and (sides < 0).any()):
            raise ValueError(
                "the posteriors are on the side of one class only (after samples near 1/2 are left out); soft labels "
                "need samples on both sides"
            )
        if machine.dropped.any():
            warn(
                f"{machine.dropped.sum()} of {len(signs)} samples have a posterior within {machine.threshold / 2:g} "
                "of 1/2 and are left out of the fit",
            )
        return machine


@dataclass(frozen=True)
class NumberTargets:
    loss: RegressionLoss
    C: float
    n_jobs: int | None = None

    def __call__(self, y: Any, weight: np.ndarray, posterior: None = None) -> tuple[Machine, np.ndarray]:
        bound = self.C * weight
        if y.ndim == 2 and y.shape[1] > 1:
            return self.loss.several_targets(y, bound, n_jobs=self.n_jobs), y
        y = y.reshape(-1)
        return self.loss.for_targets(y, bound), y


@dataclass(frozen=True)
class NoveltyTargets:
    """Machines of samples without targets; the share `nu` is rejected."""

    C: float
    nu: float
    squared: bool = True

    def __call__(self, y: Any, weight: np.ndarray, posterior: None = None) -> tuple[Machine, None]:
        bound = self.C * weight
        return (SquaredOneClassMachine(bound, nu=self.nu) if self.squared else OneClassMachine(bound)), None


# Times with censoring


@dataclass(frozen=True)
class OutcomeCounts(Counts):
    """`Counts` with all outcomes and sample weights, by the position of the first sample of each block."""

    parts: dict[int, tuple[np.ndarray, np.ndarray]]

    def __add__(self, other: Any) -> OutcomeCounts:
        return OutcomeCounts(*self._sums(other), self.parts | other.parts)

    def joined(self) -> tuple[np.ndarray, np.ndarray]:
        """Outcomes, of shape (n_samples, 3), and weights, in the order of the samples."""
        outcomes, weights = zip(*(self.parts[first] for first in sorted(self.parts)), strict=True)
        return np.concatenate(outcomes), np.concatenate(weights)


def count_outcomes(rows: Rows) -> OutcomeCounts:
    """Outcomes are columns of numbers: time, event (0 or 1) and stratum."""
    parts = {rows.first: (np.asarray(rows.y), rows.weight)} if rows.n_samples else {}
    return OutcomeCounts(*_of_weights(rows), parts)


@dataclass(frozen=True)
class OutcomeTargets:
    """Machines of times with censoring, `SurvivalMachine`."""

    loss: str
    C: float
    outcomes: np.ndarray
    weights: np.ndarray

    def whole(self) -> tuple[Machine, np.ndarray]:
        """The machine of all samples, and their targets."""
        return self(self.outcomes, self.weights)

    def __call__(self, y: Any, weight: np.ndarray, posterior: None = None) -> tuple[Machine, np.ndarray]:
        """The machine, and as targets what Cox's model without kernels leaves of the events: numbers of sum 0."""
        time, event, stratum = y[:, 0], y[:, 1] > 0.0, y[:, 2]
        machine = SurvivalMachine(time, event, self.C, weight, stratum, loss=self.loss)
        return machine, -CoxLoss(time, event, weight, stratum).at(np.zeros(len(y))).slope


def with_targets(rows: Rows, targets: np.ndarray) -> Rows:
    """The same samples with targets out of those of all samples."""
    return Rows(rows.first, rows.views, targets[rows.first : rows.first + rows.n_samples], rows.weight)


@dataclass(frozen=True)
class NoLoss:
    """Samples in blocks of a machine that couples them: a block has none of the loss."""

    terms: DualTerms

    @classmethod
    def of(cls, y: Any, weight: np.ndarray) -> tuple[Any, Any]:
        zeros = np.zeros((len(weight), 1))
        return cls(DualTerms(zeros, zeros, zeros)), y
