"""Samples in memory, in files or on Dask: those of a fit become an engine over blocks, new ones are X of a method.

A fit begins with `samples_of`, which makes of any X an engine over `engines.base.Rows`:

==================================  =======================================================================
X                                   blocks
==================================  =======================================================================
array, data frame, sparse matrix    slices of it, in memory; one block of all samples for exact kernels
`files.OpenViews`                   those of its files, read in each pass; exact kernels read it whole
Dask array or data frame            its chunks, on the workers; not for exact kernels
==================================  =======================================================================

An engine over rows must provide the following, so that the rest of a fit is the same for all kinds of X:

- `Rows.views` has the same columns, and the same names, in every block.
- `Rows.weight` is checked and positive. Samples of weight 0 are left out of the blocks, and `Rows.first` counts the
  samples that are left, so that they have the positions 0 to n - 1 in the order of the blocks: landmarks are then the
  same as those of a fit without the others. A block may be empty.
- `Rows.y` holds the targets of these samples as the user gave them, inside the block (None for `MKLOneClass`): labels
  of one type, or float64 numbers of shape (n,) or (n, n_targets). Targets in memory are checked here, others by the
  functions that count them where they are (`engines.targets`), whose errors name the sample by its position.
- The estimator has `n_features_in_` and, where columns have names, `feature_names_in_`; a regressor has
  `target_names_` where y has two dimensions (`set_target_names`).

Methods that take new samples are written for X in memory; `by_blocks` calls them for each block of other X and puts
the results together as that X would have them: lazily for Dask, in memory for files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from ..arrays import chosen_place
from ..engines import Engine, InMemory
from ..engines.base import TARGET_BYTES, Rows, ranges
from ..engines.dask_collections import is_dask, lazily, rows_on_dask
from ..engines.device.engine import MOST_ROWS as ON_DEVICE
from ..engines.files import FromFiles
from ..kernels.resources import available_memory
from ..validation.inputs import check_posterior, check_row_labels, check_sample_weight
from ..views import TableInBlocks, Views
from ..views.given import training_views
from ..views.table import ColumnInBlocks
from .progress import bars_of

LEAST_ROWS, MOST_ROWS = 1024, 8192  # samples of a block in memory
WHOLE_SHARE = 0.5  # share of the free memory that X of an exact fit may take

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class Samples:
    engine: Engine
    kept: np.ndarray | None = None
    posterior: Any = None

    @property
    def whole(self) -> Rows:
        engine: Any = self.engine
        (rows,) = engine.blocks
        return rows


def samples_of(estimator: Any, X: Any, y: Any, sample_weight: Any, posterior: Any = None) -> Samples:
    """The training samples of a fit, checked; sets the estimator's attributes of columns and targets."""
    exact = estimator.approximation is None
    if isinstance(X, TableInBlocks):
        if not exact:
            return Samples(_rows_in_files(estimator, X, y, sample_weight))
        X, y, sample_weight = _read_whole(estimator, X, y, sample_weight)
    elif is_dask(X):
        if _kind_of_targets(estimator) == "outcomes":
            raise ValueError(
                f"{type(estimator).__name__} compares the scores of all samples in each step, so that they are not "
                "divided among the workers of Dask: pass X.compute(), or files by open_views with an approximation"
            )
        if not exact:
            return Samples(_rows_on_dask(estimator, X, y, sample_weight))
        remedy = 'set approximation="nystroem" (explicit features), or ' if has_approximation(estimator) else ""
        raise ValueError(
            f"{type(estimator).__name__} with exact kernels compares all pairs of samples, for which the chunks of a "
            f"Dask collection would have to be gathered; {remedy}pass X.compute() where it fits into memory"
        )
    return _rows_of_arrays(estimator, X, y, sample_weight, posterior)


def has_approximation(estimator: Any) -> bool:
    """Whether an estimator has the parameter `approximation`, so that messages may name it."""
    return "approximation" in estimator.get_params(deep=False)


def set_target_names(estimator: Any, names: list[Any] | None) -> None:
    estimator.__dict__.pop("target_names_", None)
    if names is not None:
        estimator.target_names_ = list(names)


def _set_columns(estimator: Any, n_features: int, names: Any = None) -> None:
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = int(n_features)
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)


def _kind_of_targets(estimator: Any) -> str | None:
    if getattr(estimator, "has_outcomes", False):
        return "outcomes"
    return "labels" if is_classifier(estimator) else "numbers" if is_regressor(estimator) else None


def _target_is_missing(estimator: Any, advice: str = "") -> ValueError:
    return ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None{advice}")


# Training samples in memory and on Dask


def _rows_of_arrays(estimator: Any, X: Any, y: Any, sample_weight: Any, posterior: Any) -> Samples:
    check_row_labels(X, y=y, sample_weight=sample_weight, posterior=posterior)
    views = training_views(estimator, X)
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
    """Samples in memory as blocks of `n_rows`, by default as many as take `TARGET_BYTES`, from 1024 to 8192."""
    if n_rows is None:
        n_rows = int(np.clip(TARGET_BYTES // (8 * max(1, views.X.shape[1])), LEAST_ROWS, MOST_ROWS))
    slices = ranges(views.n_samples, n_rows)
    return InMemory([Rows(s.start, views.rows(s), None if y is None else y[s], weight[s]) for s in slices])


def _rows_on_dask(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Engine:
    targets = _kind_of_targets(estimator)
    if targets is not None and y is None:
        raise _target_is_missing(estimator)
    engine, chunks = rows_on_dask(X, y, sample_weight, targets)
    named = chunks.columns is not None and all(isinstance(name, str) for name in chunks.columns)
    _set_columns(estimator, chunks.n_columns, chunks.columns if named else None)
    if targets == "numbers":
        set_target_names(estimator, chunks.targets)
    return engine


# Training samples in files


def _rows_in_files(estimator: Any, table: TableInBlocks, y: Any, sample_weight: Any) -> FromFiles:
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
    """Blocks of `Rows` of an open table, without samples of weight 0.

    Where y is None the targets are those of the table: "labels", "numbers", or None where there are none.
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
    """The targets that are given beside a table, None where it has its own; both, and none, are errors."""
    if y is not None and table.target is not None:
        raise ValueError(
            f"the table has the target {table.target!r}, and y is given as well; leave y out, or open the views "
            "without target"
        )
    if y is None and table.target is None:
        raise _target_is_missing(
            estimator, ": name it when the files are opened, open_views(paths, target=...), or pass y"
        )
    return y


def _checked_targets(estimator: Any, table: TableInBlocks, y: Any) -> np.ndarray | None:
    y = targets_given(estimator, table, y)
    return None if y is None else estimator._check_target(y, table.n_samples)


def check_fits(table: TableInBlocks, remedy: str = 'approximation="nystroem", which reads it block by block') -> None:
    free = available_memory()
    if free is not None and table.nbytes > WHOLE_SHARE * free:
        raise ValueError(f"{table!r} does not fit into memory, which exact kernels need; use {remedy}")


def whole_targets(table: TableInBlocks) -> Any:
    limits = (table.limits(number) for number in range(table.n_blocks))
    y = np.concatenate([np.asarray(table.targets(*both)) for both in limits])
    return y if table.target_names is None else pd.DataFrame(y, columns=table.target_names)


def _read_whole(estimator: Any, table: TableInBlocks, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    check_fits(table, *(() if has_approximation(estimator) else ("fewer samples or columns",)))
    if _kind_of_targets(estimator) is not None:
        y = _checked_targets(estimator, table, y)
        y = whole_targets(table) if y is None else y
    if isinstance(sample_weight, str):
        column, table = table.column(sample_weight, "sample_weight"), table.without(sample_weight)
        sample_weight = column.read(0, table.n_samples)
    return table.rows(0, table.n_samples), y, sample_weight


# New samples


def by_blocks(*, dask: bool) -> Callable[[Method], Method]:
    """Let a method of an estimator, ``method(self, X, ...)``, take X in files and, with `dask`, Dask collections."""

    def decorated(method: Method) -> Method:
        @wraps(method)
        def called(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
            if isinstance(X, TableInBlocks):
                return _results_in_files(self, method.__name__, X, *arguments, **options)
            if dask and is_dask(X):
                return _results_on_dask(self, method.__name__, X, *arguments, **options)
            return method(self, X, *arguments, **options)

        return cast(Method, called)

    return decorated


def _results_on_dask(estimator: Any, method: str, X: Any, fetch: Any = None) -> Any:
    """A method of a fitted estimator for the chunks of X, lazily: a Dask array, or a data frame of weights."""
    check_is_fitted(estimator)
    if fetch is not None:
        raise ValueError("fetch is for samples in memory: its positions are those of all of X, not of a chunk")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (samples, columns), not {X.ndim}")
    if hasattr(X, "chunks") and X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input"
        )
    return lazily(estimator, method, X, _empty_result(estimator, method))


def _empty_result(estimator: Any, method: str) -> Any:
    if method in ("kernel_weights", "gates"):
        return estimator._labelled(np.empty((0, *estimator.kernel_weights_.shape)))
    if method == "predict" and is_classifier(estimator):
        return np.empty(0, dtype=estimator.classes_.dtype)
    if method == "predict" and is_outlier_detector(estimator):
        return np.empty(0, dtype=int)
    values = estimator._rule.decision(np.zeros((1, len(estimator.intercept_))))
    return (values.reshape(1, -1) if hasattr(estimator, "target_names_") else values)[:0]


class StoredFrames:
    """Blocks of X of an open table, with the sample ids as index."""

    def __init__(self, table: TableInBlocks):
        self.table, self.n_blocks = table, table.n_blocks

    def block(self, number: int) -> pd.DataFrame:
        return self.table.rows(*self.table.limits(number))


def _results_in_files(estimator: Any, name: str, X: TableInBlocks, *arguments: Any, **options: Any) -> Any:
    """What a method of an estimator returns for all samples of an open table, found block by block."""
    given = [options.get("fetch"), *(arguments[:1] if name != "project" else ())]
    if any(one is not None for one in given):
        raise ValueError("fetch is for X in memory; a view that is missing from a file stays missing")
    engine = FromFiles(StoredFrames(X), watch=bars_of(estimator, f"{type(estimator).__name__}.{name}"))
    return _joined(list(engine.results(_called, estimator, name, arguments, options)))


def _called(X: pd.DataFrame, estimator: Any, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return getattr(estimator, name)(X, *arguments, **options)


def _joined(results: list[Any]) -> Any:
    if isinstance(results[0], dict):
        return {key: _joined([result[key] for result in results]) for key in results[0]}
    return pd.concat(results) if isinstance(results[0], pd.DataFrame | pd.Series) else np.concatenate(results)


class ScoreMixin:
    """`score` for X in memory, with y, and for a table in files, which has its own targets."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of labels that are predicted rightly (accuracy), or of the variance of numbers explained (R2).

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features), or OpenViews
        y : array of shape (n_samples,) or (n_samples, n_targets)
            None where X is an `OpenViews` with a target, which is compared then.
        sample_weight : array of shape (n_samples,) or str, optional
            Of an `OpenViews` also the name of a column.
        """
        if isinstance(X, TableInBlocks):
            if y is None:
                targets_given(self, X, y)
                y = whole_targets(X)
            if isinstance(sample_weight, str):
                column = X.column(sample_weight, "sample_weight")
                sample_weight = np.asarray(column.read(0, X.n_samples), dtype=np.float64)
        elif y is None:
            raise _target_is_missing(self)
        return super().score(X, y, sample_weight)  # type: ignore[misc]  # of the mixin of scikit-learn behind this one
