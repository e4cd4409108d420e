"""What numbers are taken of samples, by which cohorts are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...views.frames import SparseRowsDtype
from ..kinds import number_as_text
from .ranks import rank_grid, ranks


def presence(X: pd.DataFrame, columns: list[str], views: np.ndarray, n_views: int) -> np.ndarray:
    """Which sample has which view: a value in any of its columns."""
    present = np.zeros((len(X), n_views), dtype=bool)
    for place in range(n_views):
        own = [name for name, view in zip(columns, views, strict=True) if view == place and name in X]
        if own:
            present[:, place] = X[own].notna().to_numpy().any(axis=1)
    return present


def numbers_of(X: pd.DataFrame, measures: list[str], similar: Mapping[str, np.ndarray]) -> np.ndarray:
    """The number of each sample for each measure, NaN where it has none."""
    table = np.full((len(X), len(measures)), np.nan)
    dtypes = dict(zip(X.columns, X.dtypes, strict=True))
    plain = []
    for place, name in enumerate(measures):
        if name in similar:
            table[:, place] = similar[name]
        elif name in dtypes and isinstance(dtypes[name], np.dtype) and dtypes[name].kind in "fiub":
            plain.append(place)
        elif name in dtypes:
            table[:, place] = _column_numbers(X[name])
    table[:, plain] = X[[measures[place] for place in plain]].to_numpy(dtype=np.float64)
    table[~np.isfinite(table)] = np.nan
    return table


def _column_numbers(column: pd.Series) -> np.ndarray:
    """Numbers of a column of another type; the sum of the entries of a sparse row."""
    if isinstance(column.dtype, SparseRowsDtype):
        rows = column.array
        return np.where(rows.present, np.asarray(abs(rows.matrix).sum(axis=1)).ravel(), np.nan)
    return pd.to_numeric(column.astype(object), errors="coerce").to_numpy(dtype=np.float64)


def usual_similarity(matrix: Any, ids: pd.Series) -> np.ndarray:
    """The mean similarity of each sample to the others."""
    frame = matrix if isinstance(matrix, pd.DataFrame) else pd.DataFrame(matrix)
    frame = frame.set_axis(frame.index.map(str), axis=0).set_axis(frame.columns.map(str), axis=1)
    labels = [number_as_text(one) for one in ids]
    known = [one for one in labels if one in frame.index and one in frame.columns]
    if len(known) < 2:
        return np.full(len(ids), np.nan)
    values = frame.loc[known, known].to_numpy(dtype=np.float64, copy=True)
    np.fill_diagonal(values, np.nan)
    means = dict(zip(known, np.nanmean(values, axis=1), strict=True))
    return np.array([means.get(one, np.nan) for one in labels])


def mean_rows(block: pd.DataFrame, ids: pd.Series) -> np.ndarray:
    """The mean similarity of new samples to the training samples, which are not among the rows."""
    rows = block.index.map(str)
    others = np.flatnonzero(~block.columns.map(str).isin(rows))
    means = (
        dict(zip(rows, block.iloc[:, others].to_numpy(dtype=np.float64).mean(axis=1), strict=True))
        if len(others)
        else {}
    )
    return np.array([means.get(number_as_text(one), np.nan) for one in ids])


def moments_of(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grid of quantiles; number, mean, standard deviation, range and usual distance from the middle; ranks."""
    known = ~np.isnan(table)
    n = known.sum(axis=0)
    filled = np.where(known, table, 0.0)
    safe = np.maximum(n, 1)
    mean = filled.sum(axis=0) / safe
    scale = np.sqrt((np.where(known, table - mean, 0.0) ** 2).sum(axis=0) / safe)
    low = np.where(n > 0, np.where(known, table, np.inf).min(axis=0, initial=np.inf), 0.0)
    high = np.where(n > 0, np.where(known, table, -np.inf).max(axis=0, initial=-np.inf), 0.0)
    grid = rank_grid(table)
    u = ranks(table, grid)
    middle = np.where(known, abs(2 * u - 1), 0.0).sum(axis=0) / safe
    return grid, np.array([n, mean, scale, low, high, middle], dtype=np.float64), u
