"""`samples_of`: training samples in blocks, and what is counted in them before a fit.

A fit on explicit features begins with an engine over `engines.rows.Rows`, whatever X is:

==================================  ===============================================================
X                                   blocks
==================================  ===============================================================
array, data frame, sparse matrix    slices of it, in memory
`files.OpenViews`                   those of its files, read in each pass (`stored`)
Dask array or data frame            its chunks, on the workers
==================================  ===============================================================

What an engine over rows must provide, so that everything after it is the same for all kinds of X:

- `Rows.views` has the same columns, and the same names, in every block.
- `Rows.weight` is checked and positive. Samples of weight 0 are left out of the blocks, and `Rows.first` counts the
  samples that are left, so that they have the positions 0 to n - 1 in the order of the blocks: landmarks are then the
  same as those of a fit without the others. A block may be empty.
- `Rows.y` holds the targets of these samples as the user gave them, inside the block (None for `MKLOneClass`): labels
  of one type, or float64 numbers of shape (n,) or (n, n_targets). Blocks are checked where they are, by the functions
  below, whose errors name the sample by its position.
- The estimator has `n_features_in_` and, where columns have names, `feature_names_in_` (`set_columns`); a regressor
  has `target_names_` where y has two dimensions (`set_target_names`).

Neither the number of samples nor the labels have to be known beforehand: `count_labels`, `count_numbers` and
`count_samples` are functions of a block, and their results add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.class_weight import compute_class_weight

from ...arrays import chosen_place
from ...engines import Engine, InMemory
from ...engines.cluster import is_dask, rows_on_dask
from ...engines.device.making import MOST_ROWS as ON_DEVICE
from ...engines.rows import TARGET_BYTES, Rows
from ...engines.slices import ranges
from ...validation.inputs import check_row_labels, check_sample_weight, check_training_data
from ...views import TableInBlocks, Views
from .stored import samples_in_files

LEAST_ROWS, MOST_ROWS = 1024, 8192  # samples of a block in memory


def samples_of(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Engine:
    """An engine over the `Rows` of training samples; X, y and weights are checked.

    Parameters
    ----------
    estimator : MKLClassifier, MKLRegressor or MKLOneClass
        Gets `n_features_in_`, `feature_names_in_` and `target_names_`.
    X, y, sample_weight
        As given to `fit`.
    """
    if isinstance(X, TableInBlocks):
        engine, names = samples_in_files(estimator, X, y, sample_weight)
        set_columns(estimator, len(names), names)
        if y is None and is_regressor(estimator):
            set_target_names(estimator, X.target_names)
        return engine
    if is_dask(X):
        return samples_on_dask(estimator, X, y, sample_weight)
    return _samples_in_memory(estimator, X, y, sample_weight)


def samples_on_dask(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Engine:
    """An engine over the chunks of Dask collections; y and weights may be in memory, too."""
    target = "labels" if is_classifier(estimator) else "numbers" if is_regressor(estimator) else None
    if target is not None and y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    engine, chunks = rows_on_dask(X, y, sample_weight, target)
    named = chunks.columns is not None and all(isinstance(name, str) for name in chunks.columns)
    set_columns(estimator, chunks.n_columns, chunks.columns if named else None)
    if target == "numbers":
        set_target_names(estimator, chunks.targets)
    return engine


def _samples_in_memory(estimator: Any, X: Any, y: Any, sample_weight: Any) -> InMemory:
    check_row_labels(X, y=y, sample_weight=sample_weight)
    views = Views(*check_training_data(estimator, X))
    weight = check_sample_weight(sample_weight, views.n_samples)
    y = estimator._check_target(y, views.n_samples)
    kept = np.flatnonzero(weight)
    if len(kept) < len(weight):
        views, weight, y = views.rows(kept), weight[kept], None if y is None else y[kept]
    n_rows = None if chosen_place(estimator.device).is_host else ON_DEVICE
    return rows_in_memory(views, y, weight, n_rows)


def rows_in_memory(views: Views, y: Any, weight: np.ndarray, n_rows: int | None = None) -> InMemory:
    """Samples in memory as blocks.

    Parameters
    ----------
    views : Views
    y : ndarray or None
    weight : ndarray of shape (n_samples,)
        Positive.
    n_rows : int, optional
        Samples of a block; by default as many as take `TARGET_BYTES`, from 1024 to 8192.
    """
    n = views.n_samples
    if n_rows is None:
        n_rows = int(np.clip(TARGET_BYTES // (8 * max(1, views.X.shape[1])), LEAST_ROWS, MOST_ROWS))
    parts = ranges(n, n_rows)
    return InMemory([Rows(p.start, views.rows(p), None if y is None else y[p], weight[p]) for p in parts])


def set_columns(estimator: Any, n_features: int, names: Any = None) -> None:
    """Store the number of columns and their names (None where they have none) in an estimator."""
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = int(n_features)
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)


def set_target_names(estimator: Any, names: list[Any] | None) -> None:
    """Store the names of the targets of a regressor where y has two dimensions; None where it has one."""
    estimator.__dict__.pop("target_names_", None)
    if names is not None:
        estimator.target_names_ = list(names)


@dataclass(frozen=True)
class Counts:
    """What is known of all samples before a fit; counts of blocks add up.

    Attributes
    ----------
    n_samples : int
    weight : float
        The sum of the sample weights.
    lightest, heaviest : float
        The smallest and the largest sample weight.
    """

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
    """The same with the labels.

    Attributes
    ----------
    classes : ndarray
        Sorted.
    counts : ndarray of int
        Samples of each.
    class_weight : ndarray
        The sum of the sample weights of each.
    """

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
        """Factors of C by class, as scikit-learn's `compute_class_weight` gives them for all labels."""
        if isinstance(class_weight, str) and class_weight == "balanced":
            return self.n_samples / (len(self.classes) * self.counts)
        return compute_class_weight(class_weight, classes=self.classes, y=self.classes)


@dataclass(frozen=True)
class NumberCounts(Counts):
    """The same with the ranges of the targets.

    Attributes
    ----------
    low, high : ndarray of shape (n_targets,)
        The smallest and the largest number of each target.
    """

    low: np.ndarray
    high: np.ndarray

    def __add__(self, other: Any) -> NumberCounts:
        return NumberCounts(*self._sums(other), np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def count_samples(rows: Rows) -> Counts:
    """Counts of a block without targets."""
    return Counts(*_of_weights(rows))


def _of_weights(rows: Rows) -> tuple[int, float, float, float]:
    weight = rows.weight
    least, most = float(weight.min(initial=np.inf)), float(weight.max(initial=0.0))
    return rows.n_samples, float(weight.sum()), least, most


def count_labels(rows: Rows) -> LabelCounts:
    """Counts of a block of labels; a `ValueError` where there are other targets, which names the first such sample."""
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
    """Counts of a block of numbers; a `ValueError` where one is missing or infinite, which names the first sample."""
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
