"""Ranks of values among the training samples, and columns that go together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GRID = 21  # quantiles that are kept of each column
_N_COLUMNS = 300  # of a view, among which pairs are looked for
_N_PAIRS = 100
_FEWEST_SAMPLES = 20
_LEAST_CORRELATION = 0.25


def rank_grid(table: np.ndarray) -> np.ndarray:
    """Quantiles (k + 1/2) / GRID of each column, without missing values; 0 where there are none.

    The k-th smallest of N values is the quantile k / (N + 1): the chance that a new value is below it.
    """
    levels = (np.arange(GRID) + 0.5) / GRID
    ordered = np.sort(table, axis=0)  # NaN last
    n = (~np.isnan(table)).sum(axis=0)
    if not len(table):
        return np.zeros((GRID, table.shape[1]))
    places = np.clip(levels[:, None] * (n + 1) - 1, 0, np.maximum(n - 1, 0))
    below = np.floor(places).astype(int)
    above = np.minimum(below + 1, np.maximum(n - 1, 0))
    columns = np.arange(table.shape[1])
    part = places - below
    grid = ordered[below, columns] * (1 - part) + ordered[above, columns] * part
    return np.where(n > 0, grid, 0.0)


def ranks(table: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Ranks between 0 and 1 of values among the training samples; 1/2 where a value is missing."""
    twice = np.zeros(table.shape, dtype=np.int8)  # at most 2 GRID
    with np.errstate(invalid="ignore"):
        for quantile in grid:
            twice += table > quantile
            twice += table >= quantile
    return np.where(np.isnan(table), 0.5, twice / (2 * len(grid)))


@dataclass(frozen=True, eq=False)
class PairStructure:
    """Pairs of columns of a view that go together in the training samples.

    Pairs are chosen by half of the samples, and their rank correlation is that of the other half, so that it is the one
    to be expected in new samples.

    Attributes
    ----------
    first, second : ndarray of int, shape (n_pairs,)
        Positions of the columns.
    sign : ndarray of float, shape (n_pairs,)
        1 for columns that grow together, -1 for others.
    mean, scale : float
        Of the pairs' mean rank correlation over samples.
    n_samples : int
        Samples of the second half.
    """

    first: np.ndarray
    second: np.ndarray
    sign: np.ndarray
    mean: float
    scale: float
    n_samples: int

    @classmethod
    def of(cls, u: np.ndarray, places: np.ndarray) -> PairStructure | None:
        """The pairs of some columns of a table of ranks; None where there are none.

        Parameters
        ----------
        u : ndarray of shape (n_samples, n_measures)
        places : ndarray of int
        """
        u = u[(u[:, places] != 0.5).any(axis=1)]  # samples that have the view
        if len(places) < 4 or len(u) < _FEWEST_SAMPLES:
            return None
        if len(places) > _N_COLUMNS:
            places = places[np.linspace(0, len(places) - 1, _N_COLUMNS).astype(int)]
        half = 2 * u[::2, places] - 1
        spread = half.std(axis=0)
        places, half = places[spread > 0], half[:, spread > 0] - half[:, spread > 0].mean(axis=0)
        if len(places) < 4:
            return None
        half /= np.linalg.norm(half, axis=0)
        correlation = half.T @ half
        np.fill_diagonal(correlation, 0.0)
        partner = np.abs(correlation).argmax(axis=1)
        own = np.arange(len(places))
        strength = np.abs(correlation[own, partner])
        chosen = np.argsort(-strength, kind="stable")[:_N_PAIRS]
        first, second = places[chosen], places[partner[chosen]]
        pairs = cls(first, second, np.sign(correlation[chosen, partner[chosen]]), 0.0, 1.0, 1)
        values = pairs.values(u[1::2])
        values = values[~np.isnan(values)]
        if len(values) < _FEWEST_SAMPLES // 4:
            return None
        mean, scale = float(values.mean()), float(values.std())
        if mean < _LEAST_CORRELATION or scale == 0.0:
            return None
        return cls(first, second, pairs.sign, mean, scale, len(values))

    def values(self, u: np.ndarray) -> np.ndarray:
        """The pairs' mean rank correlation in each sample, NaN where it has no value in any of them."""
        v = 2 * u - 1
        values = 3.0 * (self.sign * v[:, self.first] * v[:, self.second]).mean(axis=1)
        return np.where((v[:, self.first] == 0).all(axis=1), np.nan, values)
