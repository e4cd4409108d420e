"""Samples in files: what an estimator trains on and predicts where X is an `OpenViews`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_regressor

from ...engines.from_files import FromFiles
from ...engines.rows import Rows
from ...kernels.stacking.memory import available_memory
from ...validation.inputs import check_sample_weight
from ...views import TableInBlocks, Views
from ...views.in_blocks import ColumnInBlocks
from ..progress import progress_bar

WHOLE_SHARE = 0.5  # of the free memory, that X of an exact fit may take


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
        counts = [int(np.count_nonzero(part)) for part in self._weights()] if weight is not None else None
        if counts is not None and not sum(counts):
            raise ValueError("sample_weight is zero for every sample, so there is nothing to learn from")
        self._starts = None if counts is None else np.cumsum([0, *counts]).tolist()

    def _weights(self) -> Iterator[np.ndarray]:
        for number in range(self.n_blocks):
            yield self._weight_of(*self.table.limits(number))

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


def samples_in_files(estimator: Any, table: TableInBlocks, y: Any, sample_weight: Any) -> tuple[FromFiles, np.ndarray]:
    """An engine over the samples of an open table, and the names of the columns of X.

    Parameters
    ----------
    estimator : MKLClassifier, MKLRegressor or MKLOneClass
    table : TableInBlocks
    y : array or None
        Only where the table has no target.
    sample_weight : array, str or None
        An array, or the name of a column of the table, which is no part of X then.
    """
    targets = "labels" if is_classifier(estimator) else "numbers" if is_regressor(estimator) else None
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
    return FromFiles(samples, watch=_bars(estimator, "Reading files")), samples.names


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


def read_whole(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights in memory, for exact kernels; an error where X would take too much of it.

    Parameters
    ----------
    estimator : MKLClassifier, MKLRegressor or MKLOneClass
    X, y, sample_weight
        As given to `fit`; what is no `TableInBlocks` stays as it is.
    """
    if not isinstance(X, TableInBlocks):
        return X, y, sample_weight
    check_fits(X)
    table = X
    if is_classifier(estimator) or is_regressor(estimator):
        y = _checked_targets(estimator, table, y)
        y = whole_targets(table) if y is None else y
    if isinstance(sample_weight, str):
        column, table = table.column(sample_weight, "sample_weight"), table.without(sample_weight)
        sample_weight = column.read(0, table.n_samples)
    return table.rows(0, table.n_samples), y, sample_weight


def in_files(estimator: Any, name: str, X: TableInBlocks, *arguments: Any, **options: Any) -> Any:
    """What a method of an estimator returns for all samples of an open table, found block by block.

    Parameters
    ----------
    estimator : estimator
    name : str
        The method.
    X : TableInBlocks
    *arguments, **options
        Those of the method behind X.
    """
    _check_fetch(name, arguments, options)
    engine = FromFiles(StoredFrames(X), watch=_bars(estimator, f"{type(estimator).__name__}.{name}"))
    return _joined(list(engine.results(_called, estimator, name, arguments, options)))


def _bars(estimator: Any, description: str) -> Any:
    """What shows how far each pass over the files is; None where the estimator is not verbose."""
    return partial(progress_bar, description, transient=True) if estimator.verbose else None


def _check_fetch(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    given = [options.get("fetch"), *(arguments[:1] if name != "project" else ())]
    if any(one is not None for one in given):
        raise ValueError("fetch is for X in memory; a view that is missing from a file stays missing")


class StoredFrames:
    """Blocks of X of an open table.

    Parameters
    ----------
    table : TableInBlocks
    """

    def __init__(self, table: TableInBlocks):
        self.table, self.n_blocks = table, table.n_blocks

    def block(self, number: int) -> pd.DataFrame:
        """A block, with the sample ids as index."""
        return self.table.rows(*self.table.limits(number))


def _called(X: pd.DataFrame, estimator: Any, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return getattr(estimator, name)(X, *arguments, **options)


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], dict):
        return {key: _joined([part[key] for part in parts]) for key in parts[0]}
    return pd.concat(parts) if isinstance(parts[0], pd.DataFrame | pd.Series) else np.concatenate(parts)
