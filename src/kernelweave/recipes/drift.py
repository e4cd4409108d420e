"""Drift: whether new samples look like those that a model was fitted to.

`CohortSummary` keeps of the training samples, for each column of numbers (and for the size of sparse rows and the usual
similarity of a matrix), a grid of quantiles, mean, standard deviation, range and share of missing cells, for each
column of text its categories, and which share of the samples has each view. `NewCohort` adds up blocks of new samples
and compares.

A value x of a column has the rank u = (share of the grid below x + share not above x) / 2. For new samples of the same
distribution the mean of u over n samples is 1/2 with a variance of at most (1/n + 1/N) / 12 (Mann and Whitney; N
training samples), whatever the distribution and its tails. So

    shift  = sqrt(12) (mean of u - 1/2)
    spread = sqrt(12) (mean of |2 u - 1| - its mean over the training samples)

have a variance of at most 1/n + 1/N (but for the rounding of u by the grid, which is far below the effects that are
reported), and so does the loss of correlation between pairs of columns that go together in the training samples, in
units of its standard deviation over samples. A cell is far out where it is outside the training range by more than the
width of that range, which has a probability below 2 / (N + 1).

Columns of one view depend on each other, in the worst case all on one hidden number. The mean over columns of
shift^2 / (1/n + 1/N) then has the upper tail of chi squared with one degree of freedom, and a lighter one otherwise:
that is the bound of the test of a view. Columns are also tested one by one, with a bound that takes their number into
account. What is significant in large cohorts and small is not reported (`_LEAST`).

``python -m benchmarks.drift --quick`` counts sentences about new cohorts of 33 data sets: 1 false alarm in 990 random
splits, and from 10 new samples on most changes of unit, scale, order of columns or spelling are noticed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom, chi2, norm

from ..validation import counted
from ..validation.schemas import (
    Schema,
    Sizes,
    count,
    indices,
    number,
    numbers,
    object_of,
    refuse,
    several,
    text,
)
from ..views.frames import SparseRowsDtype, adjacent, take_columns
from .kinds import CATEGORY, LEFT_OUT, NUMBER, SIMILARITY, as_frame, number_as_text

# How often, at most, each kind of sentence may be said about new samples of the same distribution.
_RISK = {"views": 0.004, "columns": 0.002, "cells": 0.001, "missing": 0.001, "categories": 0.002}
_LEAST = {"view": 0.5, "column": 0.8, "far": 0.1, "missing": 0.2, "categories": 0.05}
_NAMED = 3  # columns or categories that a sentence names
GRID = 21  # quantiles that are kept of each column
_CHUNK = 512  # columns that are gone through together


@dataclass(frozen=True, eq=False)
class CohortSummary:
    n_samples: int
    views: list[str]
    shares: np.ndarray  # (n_views,): which share of the samples has each view
    columns: list[str]  # the columns of X that are not left out
    column_views: np.ndarray  # (n_columns,): positions of their views
    # what numbers are taken of a sample: columns of numbers, and of a sparse view or a matrix its name
    measures: list[str]
    measure_views: np.ndarray  # (n_measures,)
    grid: np.ndarray  # (n_quantiles, n_measures)
    # (6, n_measures): how many samples have the number, its mean, standard deviation, smallest and largest value, and
    # the mean of ``|2 u - 1|``
    moments: np.ndarray
    categories: list[str]  # columns of categories
    values: list[list[str]]  # the categories of each, and how many of them one sample only has, as `singles`
    singles: np.ndarray  # (n_categories,)
    pairs: list[PairStructure]  # for each view that has several columns which go together

    _saved = Schema(
        {
            "n_samples": count(1),
            "views": several(text, "views"),
            "shares": numbers("views", low=0.0),
            "columns": several(text, "columns"),
            "column_views": indices("columns", below="views"),
            "measures": several(text, "measures"),
            "measure_views": indices("measures", below="views"),
            "grid": numbers(GRID, "measures"),
            "moments": numbers(6, "measures"),
            "categories": several(text, "categories"),
            "values": several(several(text), "categories"),
            "singles": numbers("categories", low=0.0),
            "pairs": several(object_of("PairStructure", "measures")),
        }
    )

    @classmethod
    def of(cls, X: Any, kinds: pd.DataFrame, matrices: Mapping[str, pd.DataFrame] | None = None) -> CohortSummary:
        X = as_frame(X)
        names = [str(name) for name in X.columns.tolist()]
        found, labels = kinds["kind"].to_numpy(dtype=object), kinds["view"].astype(str).to_numpy(dtype=object)
        places = {name: place for place, name in enumerate(names)}
        own = np.flatnonzero(found != LEFT_OUT)
        views = list(dict.fromkeys(labels[own].tolist()))
        view_of = np.full(len(names), -1)
        for place, view in enumerate(views):
            view_of[labels == view] = place
        columns, column_views = [names[place] for place in own.tolist()], view_of[own]
        measured = own[np.isin(found[own], (NUMBER, SIMILARITY))]
        measures, measure_views = [names[place] for place in measured.tolist()], view_of[measured]
        similar = {
            names[place]: usual_similarity(matrices[names[place]], X.iloc[:, place])
            for place in np.flatnonzero(found == SIMILARITY).tolist()
            if matrices is not None and names[place] in matrices
        }
        table = numbers_of(X, places, measures, similar)
        grid, moments = moments_of(table)
        present = presence(X, places, columns, column_views, len(views))
        categories = [names[place] for place in np.flatnonzero(found == CATEGORY).tolist()]
        counts = [Counter(map(number_as_text, X.iloc[:, places[name]].dropna())) for name in categories]
        owns = [np.flatnonzero(measure_views == place) for place in range(len(views))]
        pairs = [PairStructure.of(table, grid, own, present[:, place]) for place, own in enumerate(owns)]
        return cls(
            n_samples=len(X),
            views=views,
            shares=present.mean(axis=0),
            columns=columns,
            column_views=column_views,
            measures=measures,
            measure_views=measure_views,
            grid=grid,
            moments=moments,
            categories=categories,
            values=[list(count) for count in counts],
            singles=np.array([sum(times == 1 for times in count.values()) for count in counts], dtype=float),
            pairs=[pair for pair in pairs if pair is not None],
        )

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if not set(self.categories) <= set(self.columns):
            refuse(f"{path}.categories", "are not among the columns")
        if len(self.shares) and self.shares.max() > 1.0:
            refuse(f"{path}.shares", "are above 1")


class NewCohort:
    def __init__(self, summary: CohortSummary):
        self.summary = summary
        n_views, n_measures = len(summary.views), len(summary.measures)
        self._rows = np.zeros(n_views)  # samples of blocks that have columns of the view
        self._present = np.zeros(n_views)
        self._sums = np.zeros((5, n_measures))  # number, sum of x, of u, of |2 u - 1|, cells far out
        self._own = np.zeros(n_measures)  # samples that have the view of a column
        self._unknown: list[Counter[str]] = [Counter() for _ in summary.categories]
        self._known = np.zeros(len(summary.categories))
        self._pairs = np.zeros((2, len(summary.pairs)))

    def add(self, X: Any, similarities: Mapping[str, pd.DataFrame] | None = None) -> None:
        summary = self.summary
        X = as_frame(X)
        places = {str(name): place for place, name in enumerate(X.columns.tolist())}
        there = np.zeros(len(summary.views), dtype=bool)
        there[[view for name, view in zip(summary.columns, summary.column_views, strict=True) if name in places]] = True
        present = presence(X, places, summary.columns, summary.column_views, len(summary.views))
        self._rows += there * len(X)
        self._present += present.sum(axis=0)
        blocks = {name: block for name, block in (similarities or {}).items() if name in places}
        similar = {name: mean_rows(block, X.iloc[:, places[name]]) for name, block in blocks.items()}
        table = numbers_of(X, places, summary.measures, similar)
        u = ranks(table, summary.grid)
        known = ~np.isnan(table)
        low, high = summary.moments[3:5]
        with np.errstate(invalid="ignore"):
            far = (table < low - (high - low)) | (table > high + (high - low))
        parts = (known, np.where(known, table, 0.0), np.where(known, u, 0.0), np.where(known, abs(2 * u - 1), 0.0), far)
        self._sums += np.array([part.sum(axis=0) for part in parts], dtype=float)
        self._own += present[:, summary.measure_views].sum(axis=0)
        for place, pairs in enumerate(summary.pairs):
            together = pairs.values(u)
            together = together[~np.isnan(together)]
            self._pairs[:, place] += len(together), together.sum()
        for place, (name, values) in enumerate(zip(summary.categories, summary.values, strict=True)):
            if name in places:
                cells = Counter(map(number_as_text, X.iloc[:, places[name]].dropna()))
                self._known[place] += sum(cells.values())
                kept = set(values)
                self._unknown[place] += Counter({cell: n for cell, n in cells.items() if cell not in kept})

    def sentences(self) -> list[str]:
        return [*self._about_numbers(), *self._about_categories(), *self._about_missing()]

    def _about_numbers(self) -> list[str]:
        summary = self.summary
        n_train, mean, scale = summary.moments[:3]
        n = self._sums[0]
        compared = (n > 0) & (n_train > 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = 1.0 / n + 1.0 / n_train
            shift = np.sqrt(12.0) * (self._sums[2] / n - 0.5)
            spread = np.sqrt(12.0) * (self._sums[3] / n - summary.moments[5])
            effects = np.where(compared, [shift, spread], 0.0)
            scores = np.where(compared, effects**2 / variance, 0.0)
            far = np.where(compared, self._sums[4] / n, 0.0)
            distance = np.where(compared & (scale > 0), abs(self._sums[1] / n - mean) / scale, 0.0)
        differs = self._differing_columns(compared, effects, scores, far)
        found = []
        for place, view in enumerate(summary.views):
            own = np.flatnonzero((summary.measure_views == place) & compared)
            if not len(own):
                continue
            if self._is_shifted(own, effects, scores, far):
                alike = (np.abs(effects[:, own]) >= _LEAST["column"]).any(axis=0) | (far[own] > 0.5)
                found.append(self._described(view, own, own[alike | differs[own]], distance, len(own) > 1))
            elif differs[own].any():
                found.append(self._described(view, own, own[differs[own]], distance, False))
            elif self._lost_pairs(place):
                found.append(
                    f"view {view!r}: columns that go together in the training samples do not in the new ones; are the "
                    "columns in another order, or is it another kind of measurement?"
                )
        return found

    def _differing_columns(
        self, compared: np.ndarray, effects: np.ndarray, scores: np.ndarray, far: np.ndarray
    ) -> np.ndarray:
        n_tests = max(1, int(compared.sum()))
        bound = chi2.isf(_RISK["columns"] / (2 * n_tests), 1)
        differs = ((scores > bound) & (np.abs(effects) >= _LEAST["column"])).any(axis=0)
        n, n_train = self._sums[0], self.summary.moments[0]
        chance = binom.sf(self._sums[4] - 1, n, 2.0 / (n_train + 1.0))
        return (differs | ((chance < _RISK["cells"] / n_tests) & (far >= _LEAST["far"]))) & compared

    def _is_shifted(self, own: np.ndarray, effects: np.ndarray, scores: np.ndarray, far: np.ndarray) -> bool:
        n_tests = 3 * len(self.summary.views)
        bound = chi2.isf(_RISK["views"] / n_tests, 1)
        sizes = np.sqrt((effects[:, own] ** 2).mean(axis=1))
        if ((scores[:, own].mean(axis=1) > bound) & (sizes >= _LEAST["view"])).any():
            return True
        # As if one hidden number made all cells of a sample far out.
        n, share = self._sums[0][own].mean(), far[own].mean()
        chance = binom.sf(np.floor(n * share) - 1, np.ceil(n), 2.0 / (self.summary.moments[0][own].mean() + 1.0))
        return bool(share >= _LEAST["far"] and n * share >= 1 and chance < _RISK["views"] / n_tests)

    def _lost_pairs(self, view: int) -> bool:
        for place, pairs in enumerate(self.summary.pairs):
            n = self._pairs[0, place]
            if self.summary.measure_views[pairs.first[0]] != view or n < 2:
                continue
            mean = self._pairs[1, place] / n
            bound = norm.isf(_RISK["views"] / (3 * len(self.summary.views)))
            lost = (pairs.mean - mean) / (pairs.scale * np.sqrt(1.0 / n + 1.0 / pairs.n_samples))
            return bool(lost > bound and mean < 0.5 * pairs.mean)
        return False

    def _described(self, view: str, own: np.ndarray, columns: np.ndarray, distance: np.ndarray, is_view: bool) -> str:
        measures = self.summary.measures
        if len(own) == 1 and measures[own[0]] == view:
            return (
                f"view {view!r}: the values differ from those of the training samples (by "
                f"{_amount(distance[own[0]])} standard deviations in the mean); is it another scale or batch?"
            )
        largest = columns[np.argsort(-distance[columns], kind="stable")]
        named = _few(
            [f"{measures[place].removeprefix(view + '__')} by {_amount(distance[place])}" for place in largest]
        )
        count = f"{len(columns)} of {counted(len(own), 'column')} {'differs' if len(columns) == 1 else 'differ'}"
        if not len(columns):
            return f"view {view!r}: most columns differ a little from the training samples; is it another batch?"
        cause = "another scale, unit or batch" if is_view else "another unit or scale"
        return f"view {view!r}: {count} from the training samples ({named} standard deviations); is it {cause}?"

    def _about_categories(self) -> list[str]:
        """Sentences about unknown categories; single ones among the training samples show how many are usual."""
        summary = self.summary
        found = []
        for place, (name, unknown) in enumerate(zip(summary.categories, self._unknown, strict=True)):
            n, n_unknown = self._known[place], sum(unknown.values())
            usual = min(1.0, (summary.singles[place] + 1.0) / (summary.n_samples + 1.0))
            risk = _RISK["categories"] / len(summary.categories)
            if n and n_unknown >= _LEAST["categories"] * n and binom.sf(n_unknown - 1, n, usual) < risk:
                view = summary.views[summary.column_views[summary.columns.index(name)]]
                named = _few([repr(value) for value, _ in unknown.most_common()])
                found.append(
                    f"view {view!r}, column {name.removeprefix(view + '__')!r}: {n_unknown} of "
                    f"{counted(round(n), 'sample')} {'has' if n_unknown == 1 else 'have'} a category that no training "
                    f"sample has ({named}); the model ignores it"
                )
        return found

    def _about_missing(self) -> list[str]:
        summary = self.summary
        found = []
        for place, view in enumerate(summary.views):
            n, lacking = self._rows[place], self._rows[place] - self._present[place]
            usual = (summary.n_samples * (1.0 - summary.shares[place]) + 1.0) / (summary.n_samples + 2.0)
            risk = _RISK["missing"] / len(summary.views)
            if n and lacking / n >= usual + _LEAST["missing"] and binom.sf(lacking - 1, n, usual) < risk:
                found.append(
                    f"view {view!r}: {lacking:.0f} of {counted(round(n), 'sample')} "
                    f"{'lacks' if lacking == 1 else 'lack'} it ({lacking / n:.0%}); of the training samples "
                    f"{1.0 - summary.shares[place]:.0%} do"
                )
        found += self._about_gaps()
        return found

    def _about_gaps(self) -> list[str]:
        summary = self.summary
        had = summary.shares[summary.measure_views] * summary.n_samples
        usual = (had - summary.moments[0] + 1.0) / (had + 2.0)
        lacking = self._own - self._sums[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(self._own > 0, lacking / self._own, 0.0)
        risk = _RISK["missing"] / max(1, len(summary.measures))
        gaps = (share >= usual + _LEAST["missing"]) & (binom.sf(lacking - 1, self._own, usual) < risk)
        found = []
        for place, view in enumerate(summary.views):
            own = np.flatnonzero((summary.measure_views == place) & gaps)
            if len(own) and view not in [summary.measures[one] for one in own]:
                worst = own[np.argsort(-share[own], kind="stable")]
                named = _few([f"{summary.measures[one].removeprefix(view + '__')} {share[one]:.0%}" for one in worst])
                found.append(
                    f"view {view!r}: {counted(len(own), 'column')} {'is' if len(own) == 1 else 'are'} empty far more "
                    f"often than in the training samples ({named})"
                )
        return found


def _few(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def _amount(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}"


def presence(
    X: pd.DataFrame, places: Mapping[str, int], columns: list[str], views: np.ndarray, n_views: int
) -> np.ndarray:
    """Which sample has which view; `places` are the positions of the columns of X."""
    present = np.zeros((len(X), n_views), dtype=bool)
    found = np.array([places.get(name, -1) for name in columns], dtype=int)
    for view in range(n_views):
        own = found[(views == view) & (found >= 0)]
        if len(own):
            present[:, view] = X.iloc[:, adjacent(own)].notna().to_numpy().any(axis=1)
    return present


def numbers_of(
    X: pd.DataFrame, places: Mapping[str, int], measures: list[str], similar: Mapping[str, np.ndarray]
) -> np.ndarray:
    found = np.array([-1 if name in similar else places.get(name, -1) for name in measures], dtype=int)
    is_plain = np.array([isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in X.dtypes], dtype=bool)
    plain = (found >= 0) & is_plain[found]
    if plain.all():
        table = take_columns(X, found).astype(np.float64, copy=False)
    else:
        table = np.full((len(X), len(measures)), np.nan)
        table[:, plain] = take_columns(X, found[plain])
        for measure in np.flatnonzero(~plain):
            name = measures[measure]
            if name in similar:
                table[:, measure] = similar[name]
            elif name in places:
                table[:, measure] = _column_numbers(X.iloc[:, places[name]])
    known = np.isfinite(table)
    return table if known.all() else np.where(known, table, np.nan)


def _column_numbers(column: pd.Series) -> np.ndarray:
    """Numbers of a column of another type; the sum of the entries of a sparse row."""
    if isinstance(column.dtype, SparseRowsDtype):
        rows = column.array
        return np.where(rows.present, np.asarray(abs(rows.matrix).sum(axis=1)).ravel(), np.nan)
    return pd.to_numeric(column.astype(object), errors="coerce").to_numpy(dtype=np.float64)


def usual_similarity(matrix: Any, ids: pd.Series) -> np.ndarray:
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


def moments_of(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Grid of quantiles; number, mean, standard deviation, range and usual distance from the middle."""
    grid, moments = np.zeros((GRID, table.shape[1])), np.zeros((6, table.shape[1]))
    for first in range(0, table.shape[1], _CHUNK):
        own = slice(first, first + _CHUNK)
        grid[:, own], moments[:, own] = _moments(np.array(table[:, own].T, order="C"))
    return grid, moments


def _moments(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of columns that are rows here, which are overwritten."""
    columns.sort(axis=1)  # NaN last
    n_samples = columns.shape[1]
    n = n_samples - np.isnan(columns).sum(axis=1)
    grid, safe = _grid(columns, n), np.maximum(n, 1)
    if not n_samples:
        return grid, np.zeros((6, len(columns)))
    low, high = (np.where(n > 0, columns[np.arange(len(columns)), place], 0.0) for place in (0, safe - 1))
    # Numbers that all differ are as far from the middle as others that do.
    differ = (columns[:, 1:] > columns[:, :-1]).all(axis=1)
    untied = np.arange(n_samples, dtype=float)[:, None]
    middle = np.full(len(columns), abs(2 * ranks(untied, rank_grid(untied)) - 1).mean())
    rest = ranks(columns[~differ].T, grid[:, ~differ])  # 1/2 where a value is missing
    middle[~differ] = abs(2 * rest - 1).sum(axis=0) / safe[~differ]
    if (n < n_samples).any():
        columns[np.isnan(columns)] = 0.0
    mean = columns.sum(axis=1) / safe
    columns -= mean[:, None]
    columns[np.arange(n_samples) >= n[:, None]] = 0.0
    scale = np.sqrt(np.einsum("ij,ij->i", columns, columns) / safe)
    return grid, np.array([n, mean, scale, low, high, middle], dtype=np.float64)


_N_COLUMNS = 300  # of a view, among which pairs are looked for
_N_PAIRS = 100
_FEWEST_SAMPLES = 20
_LEAST_CORRELATION = 0.25


def rank_grid(table: np.ndarray) -> np.ndarray:
    """Quantiles (k + 1/2) / GRID of each column, without missing values; 0 where there are none.

    The k-th smallest of N values is the quantile k / (N + 1): the chance that a new value is below it.
    """
    return _grid(np.sort(table, axis=0).T, (~np.isnan(table)).sum(axis=0))


def _grid(ordered: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The same of columns that are rows here, sorted, of which the first `n` values are known."""
    if not ordered.shape[1]:
        return np.zeros((GRID, len(ordered)))
    levels = (np.arange(GRID) + 0.5) / GRID
    places = np.clip(levels[:, None] * (n + 1) - 1, 0, np.maximum(n - 1, 0))
    below = np.floor(places).astype(int)
    above = np.minimum(below + 1, np.maximum(n - 1, 0))
    columns = np.arange(len(ordered))
    part = places - below
    grid = ordered[columns, below] * (1 - part) + ordered[columns, above] * part
    return np.where(n > 0, grid, 0.0)


def ranks(table: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Ranks between 0 and 1 of values among the training samples; 1/2 where a value is missing."""
    twice = np.zeros(table.shape, dtype=np.int8)  # at most 2 GRID
    is_above = np.empty(table.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        for quantile in grid:
            for compare in (np.greater, np.greater_equal):
                twice += compare(table, quantile, out=is_above).view(np.int8)
    return np.where(np.isnan(table), 0.5, twice / (2 * len(grid)))


@dataclass(frozen=True, eq=False)
class PairStructure:
    """Pairs of columns that go together: chosen by half of the samples, rank correlations from the other half."""

    first: np.ndarray  # (n_pairs,), as `second`: positions of the columns
    second: np.ndarray
    sign: np.ndarray  # 1 for columns that grow together, -1 for others
    mean: float  # with `scale`: of the pairs' mean rank correlation over samples
    scale: float
    n_samples: int  # samples of the second half

    _saved = Schema(
        {
            "first": indices("pairs", below="measures", filled=True),
            "second": indices("pairs", below="measures"),
            "sign": numbers("pairs"),
            "mean": number(),
            "scale": number(positive=True),
            "n_samples": count(1),
        }
    )

    @classmethod
    def of(cls, table: np.ndarray, grid: np.ndarray, places: np.ndarray, present: np.ndarray) -> PairStructure | None:
        """Of columns at some places, a view that some samples have; `grid` is that of all columns."""
        if len(places) < 4 or present.sum() < _FEWEST_SAMPLES:
            return None
        if len(places) > _N_COLUMNS:
            places = places[np.linspace(0, len(places) - 1, _N_COLUMNS).astype(int)]
        v = 2 * ranks(table[:, places][present], grid[:, places]) - 1
        half = v[::2]
        varies = half.std(axis=0) > 0
        places, v, half = places[varies], v[:, varies], half[:, varies] - half[:, varies].mean(axis=0)
        if len(places) < 4:
            return None
        half /= np.linalg.norm(half, axis=0)
        correlation = half.T @ half
        np.fill_diagonal(correlation, 0.0)
        partner = np.abs(correlation).argmax(axis=1)
        own = np.arange(len(places))
        strength = np.abs(correlation[own, partner])
        chosen = np.argsort(-strength, kind="stable")[:_N_PAIRS]
        sign = np.sign(correlation[chosen, partner[chosen]])
        values = _products(v[1::2, chosen], v[1::2, partner[chosen]], sign)
        values = values[~np.isnan(values)]
        if len(values) < _FEWEST_SAMPLES // 4:
            return None
        mean, scale = float(values.mean()), float(values.std())
        if mean < _LEAST_CORRELATION or scale == 0.0:
            return None
        return cls(places[chosen], places[partner[chosen]], sign, mean, scale, len(values))

    def values(self, u: np.ndarray) -> np.ndarray:
        v = 2 * u - 1
        return _products(v[:, self.first], v[:, self.second], self.sign)


def _products(first: np.ndarray, second: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """The mean product of pairs for each sample, of which 1 is expected where they are equal; NaN without any."""
    values = 3.0 * (sign * first * second).mean(axis=1)
    return np.where((first == 0).all(axis=1), np.nan, values)
