"""`CohortModel` on samples in files: some of them decide on settings, and the model is fitted to the others by blocks.

A fifth of the samples, at most 5000, are drawn and read into memory. `CohortModel.fit` decides with them what columns
hold, how views are prepared and which setting is best. The model with this setting is fitted to all other samples on
explicit features, and probabilities are calibrated by its decision values of the drawn samples, which are new to it.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from ..estimators.samples import check_fits, targets_given
from ..views import TableInBlocks
from .search import Calibration
from .tasks import SURVIVAL, is_outcome

SHARE, MOST = 5, 5000  # of the samples, one in so many is drawn, and at most so many
FITTED = "fitted"  # the weights of samples: 0 for those that the fit leaves out


def in_memory(model: Any, table: TableInBlocks, y: Any) -> tuple[pd.DataFrame, Any]:
    check_fits(table)
    y = targets_given(model, table, y)
    return table.rows(0, table.n_samples), table.targets(0, table.n_samples) if y is None else y


def fit_in_blocks(model: Any, table: TableInBlocks, y: Any, groups: Any) -> Any:
    if model.task == SURVIVAL or is_outcome(y):
        raise ValueError("CohortModel takes times to an event of samples in memory; read the files by read_views")
    if model.method in ("stacking", "linear", "forest", "boosting"):
        raise ValueError(
            f"the method {model.method!r} is fitted to samples in memory; methods that read files block by block are "
            "those of kernels: auto, alone:VIEW, concatenation, mean, least-squares, lp, lp-least-squares, lp-scales, "
            "convex and localized"
        )
    y = targets_given(model, table, y)
    y = None if y is None else np.asarray(y)
    if table.target_names is not None or (y is not None and y.ndim > 1):
        raise ValueError("CohortModel predicts one target; name one column as target, or use MKLRegressor for several")
    if y is not None and len(y) != table.n_samples:
        raise ValueError(f"X and y have inconsistent numbers of samples: {table.n_samples} and {len(y)}")
    rng = check_random_state(model.random_state)
    size = min(MOST, max(2, table.n_samples // SHARE))
    drawn = np.sort(sample_without_replacement(table.n_samples, size, random_state=rng))
    X, labels = _at(table, y, drawn)
    model.fit(X, labels, None if groups is None else np.asarray(groups)[drawn])
    prepared = PreparedTable(table, y, model, drawn)
    final = clone(model.model_).fit(prepared, sample_weight=FITTED)
    rest = table.n_samples - size
    model.decisions_.append(
        f"What columns hold, and the setting, are decided by {size} samples that were drawn from {table.n_samples}; "
        f"the model is fitted to the other {rest}, on explicit features."
    )
    if model.task_ == "classification":
        _count_classes(model, table, y)
    model.model_ = final
    model._store_use()
    prepared_rows, decided = model._table(X)
    model._store_means(prepared_rows[decided])
    model.n_samples_ = table.n_samples
    if model.calibration_ is not None:
        values, decided = model._values(X)
        model.calibration_ = Calibration.fit(values[decided], np.searchsorted(model.classes_, labels)[decided])
    return model


def _at(table: TableInBlocks, y: np.ndarray | None, rows: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    frames, targets = [], []
    for number in np.unique(rows // table.block_size).tolist():
        first, last = table.limits(number)
        own = rows[(rows >= first) & (rows < last)] - first
        frames.append(table.rows(first, last).iloc[own])
        if y is None:
            targets.append(np.asarray(table.targets(first, last))[own])
    return pd.concat(frames), np.concatenate(targets) if y is None else y[rows]


def _count_classes(model: Any, table: TableInBlocks, y: np.ndarray | None) -> None:
    """Store the classes of all samples and their shares: those that were drawn may lack a class."""
    counts: dict[Any, int] = {}
    for number in range(table.n_blocks):
        first, last = table.limits(number)
        own = np.asarray(table.targets(first, last) if y is None else y[first:last])
        for label, count in zip(*np.unique(own, return_counts=True), strict=True):
            counts[label] = counts.get(label, 0) + int(count)
    model.classes_ = np.array(sorted(counts), dtype=model.classes_.dtype)
    model._prior = np.array([counts[label] for label in model.classes_]) / table.n_samples


class PreparedTable(TableInBlocks):
    """The samples of a table as the model inside a `CohortModel` takes them."""

    has_ids = False
    target_names = None

    def __init__(self, table: TableInBlocks, y: np.ndarray | None, model: Any, drawn: np.ndarray):
        self._table, self._y, self._model, self._drawn = table, y, model, drawn
        self.n_samples, self.block_size = table.n_samples, table.block_size
        self.columns = model.table(table.rows(0, 1)).columns
        self._decided: dict[int, np.ndarray] = {}  # by the first sample of a block, as bits

    @property
    def nbytes(self) -> int:
        return self._table.nbytes

    @property
    def files(self) -> list[Any]:
        return self._table.files

    @property
    def target(self) -> str | None:
        return self._table.target or "y"

    def rows(self, first: int, last: int, *, with_ids: bool = True) -> pd.DataFrame:
        return self._prepared(first, last)[0]

    def _prepared(self, first: int, last: int) -> tuple[pd.DataFrame, np.ndarray]:
        return self._model._table(self._table.rows(first, last, with_ids=False))

    def targets(self, first: int, last: int) -> np.ndarray:
        y = np.asarray(self._table.targets(first, last) if self._y is None else self._y[first:last])
        if self._model.task_ == "classification":
            return y
        try:
            return (y.astype(np.float64) - self._model.target_mean_) / self._model.target_scale_
        except (TypeError, ValueError):
            raise ValueError(f"y of a regression must be numbers, but {self.target!r} has others") from None

    def column(self, name: str, role: str) -> Any:
        """The weights of the samples, for ``sample_weight=FITTED``: 1, or 0 for those that the fit leaves out."""
        return SimpleNamespace(read=self.fitted, shown="the table")

    def without(self, name: str) -> PreparedTable:
        """The table itself: weights are no column of it."""
        return self

    def fitted(self, first: int, last: int) -> np.ndarray:
        """Which samples the fit takes: those that were not drawn and have a view that the method needs."""
        if first not in self._decided:
            kept = self._prepared(first, last)[1]
            low, high = np.searchsorted(self._drawn, [first, last])
            kept[self._drawn[low:high] - first] = False
            self._decided[first] = np.packbits(kept)
        return np.unpackbits(self._decided[first], count=last - first).astype(np.float64)
