"""`samples_of`: the training samples of a fit, checked, in blocks, wherever they are.

A fit begins with an engine over `engines.base.Rows`, whatever X is:

==================================  =======================================================================
X                                   blocks
==================================  =======================================================================
array, data frame, sparse matrix    slices of it, in memory; one block of all samples for exact kernels
`files.OpenViews`                   those of its files, read in each pass; exact kernels read it whole
Dask array or data frame            its chunks, on the workers; not for exact kernels
==================================  =======================================================================

What an engine over rows must provide, so that everything after it is the same for all kinds of X:

- `Rows.views` has the same columns, and the same names, in every block.
- `Rows.weight` is checked and positive. Samples of weight 0 are left out of the blocks, and `Rows.first` counts the
  samples that are left, so that they have the positions 0 to n - 1 in the order of the blocks: landmarks are then the
  same as those of a fit without the others. A block may be empty.
- `Rows.y` holds the targets of these samples as the user gave them, inside the block (None for `MKLOneClass`): labels
  of one type, or float64 numbers of shape (n,) or (n, n_targets). Targets in memory are checked here, others by the
  functions that count them where they are (`engines.targets`), whose errors name the sample by its position.
- The estimator has `n_features_in_` and, where columns have names, `feature_names_in_`; a regressor has
  `target_names_` where y has two dimensions (`set_target_names`).

Neither the number of samples nor the labels have to be known beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import _safe_indexing

from ..arrays import chosen_place
from ..engines import Engine, InMemory
from ..engines.base import TARGET_BYTES, Rows, ranges
from ..engines.dask_collections import is_dask, rows_on_dask
from ..engines.device.engine import MOST_ROWS as ON_DEVICE
from ..engines.files import FromFiles
from ..kernels.stacking.memory import available_memory
from ..validation.inputs import check_posterior, check_row_labels, check_sample_weight, check_training_data
from ..views import TableInBlocks, Views
from ..views.in_blocks import ColumnInBlocks
from .progress import bars_of

LEAST_ROWS, MOST_ROWS = 1024, 8192  # samples of a block in memory
WHOLE_SHARE = 0.5  # of the free memory, that X of an exact fit may take


@dataclass(frozen=True)
class Samples:
    """Training samples in blocks.

    Attributes
    ----------
    engine : Engine
        Over `Rows`.
    kept : ndarray of int or None
        Positions in X of the samples with a positive weight; None where X is not in memory.
    posterior : ndarray, Series, DataFrame or None
        Soft labels of these samples, as given.
    """

    engine: Engine
    kept: np.ndarray | None = None
    posterior: Any = None

    @property
    def whole(self) -> Rows:
        """All samples in one block, as exact kernels have them."""
        engine: Any = self.engine
        (rows,) = engine.blocks
        return rows


def samples_of(estimator: Any, X: Any, y: Any, sample_weight: Any, posterior: Any = None) -> Samples:
    """The training samples of a fit; X, y and weights are checked.

    Parameters
    ----------
    estimator : MKLClassifier, MKLRegressor or MKLOneClass
        Gets `n_features_in_`, `feature_names_in_` and `target_names_`.
    X, y, sample_weight, posterior
        As given to `fit`.
    """
    exact = estimator.approximation is None
    if isinstance(X, TableInBlocks):
        if not exact:
            return Samples(_in_files(estimator, X, y, sample_weight))
        X, y, sample_weight = _read_whole(estimator, X, y, sample_weight)
    elif is_dask(X):
        if not exact:
            return Samples(_on_dask(estimator, X, y, sample_weight))
        raise ValueError(
            f"{type(estimator).__name__} with exact kernels compares all pairs of samples, for which the chunks of a "
            'Dask collection would have to be gathered; set approximation="nystroem" (explicit features), or pass '
            "X.compute() where it fits into memory"
        )
    return _in_memory(estimator, X, y, sample_weight, posterior)


def set_target_names(estimator: Any, names: list[Any] | None) -> None:
    """Store the names of the targets of a regressor where y has two dimensions; None where it has one."""
    estimator.__dict__.pop("target_names_", None)
    if names is not None:
        estimator.target_names_ = list(names)


def _set_columns(estimator: Any, n_features: int, names: Any = None) -> None:
    """Store the number of columns and their names (None where they have none) in an estimator."""
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = int(n_features)
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)


def _kind_of_targets(estimator: Any) -> str | None:
    return "labels" if is_classifier(estimator) else "numbers" if is_regressor(estimator) else None


# In memory


def _in_memory(estimator: Any, X: Any, y: Any, sample_weight: Any, posterior: Any) -> Samples:
    check_row_labels(X, y=y, sample_weight=sample_weight, posterior=posterior)
    views = Views(*check_training_data(estimator, X))
    weight = check_sample_weight(sample_weight, views.n_samples)
    y = estimator._check_target(y, views.n_samples)
    posterior = None if posterior is None else check_posterior(posterior, views.n_samples)
    # A sample of weight 0 is left out: it must not enter any constant.
    kept = np.flatnonzero(weight)
    if len(kept) < len(weight):
        views, weight, y = views.rows(kept), weight[kept], None if y is None else y[kept]
        posterior = None if posterior is None else _safe_indexing(posterior, kept)
    if estimator.approximation is None:
        return Samples(InMemory([Rows(0, views, y, weight)]), kept, posterior)
    n_rows = None if chosen_place(estimator.device).is_host else ON_DEVICE
    return Samples(rows_in_memory(views, y, weight, n_rows), kept)


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


# On Dask


def _on_dask(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Engine:
    """An engine over the chunks of Dask collections; y and weights may be in memory, too."""
    targets = _kind_of_targets(estimator)
    if targets is not None and y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    engine, chunks = rows_on_dask(X, y, sample_weight, targets)
    named = chunks.columns is not None and all(isinstance(name, str) for name in chunks.columns)
    _set_columns(estimator, chunks.n_columns, chunks.columns if named else None)
    if targets == "numbers":
        set_target_names(estimator, chunks.targets)
    return engine


# In files


def _in_files(estimator: Any, table: TableInBlocks, y: Any, sample_weight: Any) -> FromFiles:
    """An engine over the samples of an open table; `sample_weight` may be the name of a column, which leaves X."""
    targets, target_names = _kind_of_targets(estimator), table.target_names
    if table.n_samples < 2:
        raise ValueError(f"{table!r}: {type(estimator).__name__} needs at least 2 samples")
    if targets is not None:
        y = _checked_targets(estimator, table, y)
    weight: np.ndarray | ColumnInBlocks | None = None
    if isinstance(sample_weight, str):
        weight, table = table.column(sample_weight, "sample_weight"), table.without(sample_weight)
    elif sample_weight is not None:
        weight = check_sample_weight(sample_weight, table.n_samples)
    samples = StoredSamples(table, y, weight, targets)
    _set_columns(estimator, len(samples.names), samples.names)
    if y is None and targets == "numbers":
        set_target_names(estimator, target_names)
    return FromFiles(samples, watch=bars_of(estimator, "Reading files"))


class StoredSamples:
    """Blocks of `Rows` of an open table.

    Parameters
    ----------
    table : TableInBlocks
    y : ndarray or None
        Targets of all samples, where they are in memory; else those of the table are read.
    weight : ndarray, ColumnInBlocks or None
        Sample weights; samples of weight 0 are left out.
    targets : "labels", "numbers" or None
        What y holds; None where there are no targets.
    """

    def __init__(
        self,
        table: TableInBlocks,
        y: np.ndarray | None,
        weight: np.ndarray | ColumnInBlocks | None,
        targets: str | None,
    ):
        self.table, self.y, self.weight, self.targets = table, y, weight, targets
        self.n_blocks, self.names = table.n_blocks, np.asarray(table.columns, dtype=object)
        self._starts: list[int] | None = None
        if weight is not None:
            limits = (table.limits(number) for number in range(self.n_blocks))
            self._starts = np.cumsum([0, *(np.count_nonzero(self._weight_of(*both)) for both in limits)]).tolist()
            if self._starts[-1] == 0:
                raise ValueError("sample_weight is zero for every sample, so there is nothing to learn from")

    def _weight_of(self, first: int, last: int) -> np.ndarray:
        if self.weight is None:
            return np.ones(last - first)
        if isinstance(self.weight, np.ndarray):
            return self.weight[first:last]
        try:
            weight = np.asarray(self.weight.read(first, last), dtype=np.float64)
        except ValueError as error:
            raise ValueError(f"sample_weight must be a column of numbers: {error}") from error
        wrong = ~np.isfinite(weight) | (weight < 0)
        if wrong.any():
            raise ValueError(
                f"{self.weight.shown}, row {first + int(wrong.argmax()) + 1}: sample_weight must be finite and at "
                "least 0"
            )
        return weight

    def block(self, number: int) -> Rows:
        """The samples of a block that have a positive weight."""
        first, last = self.table.limits(number)
        X, weight, y = self.table.rows(first, last, with_ids=False), self._weight_of(first, last), None
        if self.targets is not None:
            y = self.table.targets(first, last) if self.y is None else self.y[first:last]
            y = self._as_numbers(y, first) if self.targets == "numbers" else y
        positions = np.arange(first, last)
        if self._starts is not None:
            kept = np.flatnonzero(weight)
            X, weight, y, positions = X.iloc[kept], weight[kept], None if y is None else y[kept], positions[kept]
            first = self._starts[number]
        views = Views(X, self.names)
        views.positions, views.labels = positions, None  # messages name samples by their rows in the files
        return Rows(first, views, y, weight)

    def _as_numbers(self, y: Any, first: int) -> np.ndarray:
        try:
            return np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"y of a regression must be numbers, but those of the samples from {first} on are not: the target is "
                f"{self.table.target!r}"
            ) from None


def targets_given(estimator: Any, table: TableInBlocks, y: Any) -> Any:
    """The targets that are given beside a table, None where it has its own; both, and none, are errors.

    Parameters
    ----------
    estimator : estimator
    table : TableInBlocks
    y : array or None
    """
    if y is not None and table.target is not None:
        raise ValueError(
            f"the table has the target {table.target!r}, and y is given as well; leave y out, or open the views "
            "without target"
        )
    if y is None and table.target is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: name it when the files are "
            "opened, open_views(paths, target=...), or pass y"
        )
    return y


def _checked_targets(estimator: Any, table: TableInBlocks, y: Any) -> np.ndarray | None:
    y = targets_given(estimator, table, y)
    return None if y is None else estimator._check_target(y, table.n_samples)


def check_fits(table: TableInBlocks) -> None:
    """Refuse a table that would take too much memory for exact kernels; the message names the remedy.

    Parameters
    ----------
    table : TableInBlocks
    """
    free = available_memory()
    if free is not None and table.nbytes > WHOLE_SHARE * free:
        raise ValueError(
            f'{table!r} does not fit into memory, which exact kernels need; use approximation="nystroem", which reads '
            "it block by block"
        )


def whole_targets(table: TableInBlocks) -> Any:
    """The targets of all samples of a table that has some; several are a data frame, with their names."""
    limits = (table.limits(number) for number in range(table.n_blocks))
    y = np.concatenate([np.asarray(table.targets(*both)) for both in limits])
    return y if table.target_names is None else pd.DataFrame(y, columns=table.target_names)


def _read_whole(estimator: Any, table: TableInBlocks, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights of a table in memory, for exact kernels; an error where X would take too much of it."""
    check_fits(table)
    if _kind_of_targets(estimator) is not None:
        y = _checked_targets(estimator, table, y)
        y = whole_targets(table) if y is None else y
    if isinstance(sample_weight, str):
        column, table = table.column(sample_weight, "sample_weight"), table.without(sample_weight)
        sample_weight = column.read(0, table.n_samples)
    return table.rows(0, table.n_samples), y, sample_weight
