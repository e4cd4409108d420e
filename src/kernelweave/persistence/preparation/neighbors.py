"""`NeighborsFillOperation`: missing cells filled with means over the nearest samples of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import nan_euclidean_distances

from .base import FLOATS, Operation
from .filling import chosen_columns, names_with_flags

_BLOCK_VALUES = 2**24  # distances that are in memory at a time


@dataclass(frozen=True, eq=False, repr=False)
class NeighborsFillOperation(Operation):
    """A missing cell is the mean of its column over the nearest samples of the fit that have it.

    Distances are Euclidean over the columns that both samples have, scaled to all columns. Where a sample shares no
    column with any of them, the mean of the column takes its place. Behind the filled columns come those that flag
    missing cells.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_in)
        Those of the fit, with NaN for missing cells.
    n_neighbors : int
    by_distance : bool
        Whether samples count by the inverse of their distance.
    kept : ndarray of int
        Positions of the columns that are kept; one that no sample of the fit has is 0.
    flagged : ndarray of int or None
        Positions of the columns whose missing cells are flagged.
    """

    samples: np.ndarray
    n_neighbors: int
    by_distance: bool
    kept: np.ndarray
    flagged: np.ndarray | None

    @property
    def n_in(self) -> int:
        """Number of columns of the table."""
        return self.samples.shape[1]

    @property
    def n_out(self) -> int:
        """Columns that are kept, and flags."""
        return len(self.kept) + (0 if self.flagged is None else len(self.flagged))

    def transform(self, X: Any) -> np.ndarray:
        """The filled table and the flags."""
        values = self._table(X, dtype=[*FLOATS, np.float16], nan=True)
        missing, donors = np.isnan(values), ~np.isnan(self.samples)
        filled = values.copy()
        filled[:, ~donors.any(axis=0)] = 0.0
        columns = np.flatnonzero(donors.any(axis=0))
        rows = np.flatnonzero(missing[:, columns].any(axis=1))
        n_rows = max(1, _BLOCK_VALUES // max(1, len(self.samples)))
        for start in range(0, len(rows), n_rows):
            block = rows[start : start + n_rows]
            distances = nan_euclidean_distances(values[block], self.samples)
            for column in columns:
                gaps = missing[block, column]
                if gaps.any():
                    among, known = distances[gaps][:, donors[:, column]], self.samples[donors[:, column], column]
                    filled[block[gaps], column] = self._means(among, known)
        is_whole = not donors.any(axis=0)[self.kept].all()  # empty columns are among those that are kept: all of them
        result = chosen_columns(filled, self.kept) if is_whole else filled[:, self.kept]
        return result if self.flagged is None else np.hstack([result, chosen_columns(missing, self.flagged)])

    def _means(self, distances: np.ndarray, known: np.ndarray) -> np.ndarray:
        """The mean over the nearest donors of each row, or over all of them where no distance is known."""
        found = np.full(len(distances), known.mean())
        near = ~np.isnan(distances).all(axis=1)
        distances = distances[near]
        if len(distances):
            n_neighbors = min(self.n_neighbors, len(known))
            chosen = np.argpartition(distances, n_neighbors - 1, axis=1)[:, :n_neighbors]
            weights = self._weights(np.take_along_axis(distances, chosen, axis=1))
            found[near] = np.average(known.take(chosen), axis=1, weights=weights)
        return found

    def _weights(self, distances: np.ndarray) -> np.ndarray:
        """What each donor counts: 0 where the distance is not known; only equal samples where there are some."""
        if not self.by_distance:
            return (~np.isnan(distances)).astype(float)
        with np.errstate(divide="ignore"):
            weights = 1.0 / distances
        equal = np.isinf(weights)
        weights = np.where(equal.any(axis=1, keepdims=True), equal.astype(float), weights)
        return np.nan_to_num(weights, nan=0.0)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Names of the kept columns, and those of flagged ones behind ``missingindicator_``."""
        return names_with_flags(self._names_in(input_features), self.kept, self.flagged)
