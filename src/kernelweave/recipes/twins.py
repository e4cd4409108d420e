"""Samples that are equal in all views: the same one twice, under two ids, or a coincidence?

Where one of them trains and the other one is tested the answer is known, so that equal samples have to stay together in
folds. But of samples with three yes/no columns many are equal by chance, and as one group each they would make folds
uneven for nothing. So equal samples are taken for the same one only where chance twins are unlikely. Samples that have
the same views are looked at together, and two things must hold:

- The expected number of chance twins is at most `MOST_EXPECTED`. Columns often depend on each other: a healthy sample
  has no symptom at all. So samples are divided into parts of at least `FEWEST_DIFFERENT` different ones, by the number
  of columns in which they do not have the most frequent value. In a part of n samples ``n (n - 1) / 2 prod_c s_c`` are
  expected, as if columns were independent there, where s_c is the share of the pairs of different samples that agree in
  column c, with one pair more that agrees.
- There are fewer pairs that differ in a single column than pairs that differ in none: where chance makes samples equal
  it makes many nearly equal. The column in which most of these differ does not count, for it may be the number of a
  batch.

``python -m benchmarks.twins`` simulates the rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..views.frames import SparseRows
from .kinds import LEFT_OUT, SIMILARITY

MOST_EXPECTED = 0.05  # chance twins
FEWEST_DIFFERENT = 10  # samples of a part, so that there are 45 pairs by which shares are known
_MOST_PARTS = 8
_CHUNK = 256  # columns that are looked at together
_DIGITS = 6  # of a similarity: those of two equal samples differ by rounding, which is far less


@dataclass(frozen=True)
class Twins:
    """Samples that are equal in all views.

    Attributes
    ----------
    sets : ndarray of int, shape (n_samples,)
        The same number for samples that are equal.
    n_samples : int
        How many samples are equal to another one.
    n_sets : int
        How many different ones these are.
    """

    sets: np.ndarray
    n_samples: int
    n_sets: int

    @property
    def sentence(self) -> str:
        """What people should know."""
        same = "one and the same" if self.n_sets == 1 else f"{self.n_sets} different ones"
        return (
            f"{self.n_samples} samples are equal to another one in all views ({same}): they are kept together, so that "
            "no sample is tested by a model that was fitted to its double."
        )


def find_twins(
    X: pd.DataFrame, kinds: pd.DataFrame, matrices: Mapping[str, pd.DataFrame] | None = None
) -> Twins | None:
    """The samples that are equal in all views; None where there are none, or where they may be equal by chance.

    Parameters
    ----------
    X : DataFrame
    kinds : DataFrame
        As `column_kinds` returns; columns that are left out do not count.
    matrices : mapping from name to DataFrame, optional
        Similarities; two samples are equal in one where they are equally similar to all samples.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.recipes.kinds import as_frame, column_kinds
    >>> from kernelweave.recipes.twins import find_twins
    >>> X = as_frame(np.random.default_rng(0).normal(size=(10, 3))[[0, 1, 2, 3, 4, 5, 6, 7, 0, 1]])
    >>> find_twins(X, column_kinds(X)).sentence
    '4 samples are equal to another one in all views (2 different ones): they are kept together, ...
    """
    views = _views(X, kinds, matrices or {})
    if not views or len(X) < 2:
        return None
    present = np.column_stack([view.present for view in views])
    patterns = np.unique(present, axis=0, return_inverse=True)[1].reshape(-1)
    sets = patterns.copy()
    for pattern in np.unique(patterns):
        rows = np.flatnonzero(patterns == pattern)
        own = [view for view, is_there in zip(views, present[rows[0]], strict=True) if is_there]
        equal = _equal(own, rows)
        is_single = len(np.unique(equal)) == len(rows)
        sets[rows] = np.arange(len(rows)) if is_single or _may_be_chance(own, rows, equal) else equal
    _, sets, counts = np.unique(np.stack([patterns, sets]), axis=1, return_inverse=True, return_counts=True)
    sets = sets.reshape(-1)
    several = counts[counts > 1]
    return Twins(sets, int(several.sum()), len(several)) if len(several) else None


def merged_groups(groups: Any, twins: Twins | None) -> np.ndarray | None:
    """Groups in which the samples of a group, and equal ones, are together; None where there are neither.

    Parameters
    ----------
    groups : array of shape (n_samples,) or None
    twins : Twins or None

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.recipes.twins import Twins, merged_groups
    >>> merged_groups(["a", "a", "b", "c", "d"], Twins(np.array([0, 1, 1, 2, 3]), 2, 1)).tolist()
    [0, 0, 0, 1, 2]
    """
    given = None if groups is None else np.unique(np.asarray(groups).astype(str), return_inverse=True)[1].reshape(-1)
    if given is None or twins is None:
        return given if twins is None else twins.sets
    edges = coo_array((np.ones(len(given)), (given, twins.sets)))
    n_given, n_sets = edges.shape
    graph = coo_array((edges.data, (edges.row, edges.col + n_given)), shape=(n_given + n_sets,) * 2)
    return connected_components(graph, directed=False)[1][given]


@dataclass(frozen=True)
class _View:
    """Columns of a view, or a similarity matrix, as numbers that are equal where the values are."""

    present: np.ndarray
    values: Any  # of some samples: from positions to blocks of columns, uint64

    def blocks(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        return self.values(rows)


def _views(X: pd.DataFrame, kinds: pd.DataFrame, matrices: Mapping[str, pd.DataFrame]) -> list[_View]:
    found = []
    used = kinds["kind"].to_numpy() != LEFT_OUT
    for view in dict.fromkeys(kinds["view"]):
        places = np.flatnonzero(used & (kinds["view"] == view).to_numpy())
        if not len(places):
            continue
        if kinds["kind"].iloc[places[0]] == SIMILARITY:
            found.append(_matrix_view(X.iloc[:, places[0]], matrices[str(view)]))
            continue
        found.append(_View(_presence(X, places), lambda rows, places=places: _blocks(X, places, rows)))
    return found


def _presence(X: pd.DataFrame, places: np.ndarray) -> np.ndarray:
    sparse = [place for place in places if isinstance(X.iloc[:, place].array, SparseRows)] if len(places) == 1 else []
    return X.iloc[:, sparse[0]].array.present if sparse else X.iloc[:, places].notna().to_numpy().any(axis=1)


def _matrix_view(ids: pd.Series, matrix: pd.DataFrame) -> _View:
    values = matrix.to_numpy(dtype=np.float64)
    scale = np.abs(values).max(initial=0.0) or 1.0
    place = matrix.index.get_indexer(ids)

    def blocks(rows: np.ndarray) -> Iterator[np.ndarray]:
        for start in range(0, values.shape[1], _CHUNK):
            yield _bits(np.round(values[place[rows], start : start + _CHUNK] / scale, _DIGITS))

    return _View(ids.notna().to_numpy() & (place >= 0), blocks)


def _blocks(X: pd.DataFrame, places: np.ndarray, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Columns of some samples, a few at a time."""
    for start in range(0, len(places), _CHUNK):
        part = X.iloc[rows, places[start : start + _CHUNK]]
        if all(isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in part.dtypes):
            yield _bits(part.to_numpy(dtype=np.float64))
            continue
        for place in range(part.shape[1]):
            yield from _column(part.iloc[:, place])


def _column(column: pd.Series) -> Iterator[np.ndarray]:
    if isinstance(column.array, SparseRows):
        matrix = column.array.matrix
        for start in range(0, matrix.shape[1], _CHUNK):
            yield _bits(matrix[:, start : start + _CHUNK].toarray())
    elif isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        yield _bits(column.to_numpy(dtype=np.float64))[:, None]
    else:
        yield pd.factorize(column.astype(object))[0].astype(np.int64).view(np.uint64)[:, None]


def _bits(values: np.ndarray) -> np.ndarray:
    """Numbers as whole ones: 0 and -0 are the same, and so are missing ones."""
    values = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    values[np.isnan(values)] = np.nan
    return values.view(np.uint64)


def _hashed(block: np.ndarray, first: int) -> np.ndarray:
    """A number for each entry and its column, by the mixing of SplitMix64: their sums tell rows apart."""
    salt = (np.arange(first + 1, first + 1 + block.shape[1], dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = block + salt
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _equal(views: list[_View], rows: np.ndarray) -> np.ndarray:
    """The same number for samples, of those at some positions, that are equal in all views.

    Those that differ from all others are left out of the next view, so that there is mostly little to do.
    """
    found = np.arange(len(rows))
    left = np.zeros(len(rows), dtype=np.int64)  # numbers of those that are not single, `open_`
    open_, first = found, 0
    for view in views:
        for block in view.blocks(rows[open_]):
            sums = _hashed(block, first).sum(axis=1)
            first += block.shape[1]
            left = np.unique(np.stack([left.view(np.uint64), sums]), axis=1, return_inverse=True)[1].reshape(-1)
            if left.max() + 1 == len(left):
                return found
        several = np.bincount(left)[left] > 1
        open_, left = open_[several], left[several]
    found[open_] = len(rows) + left
    return found


def _may_be_chance(views: list[_View], rows: np.ndarray, equal: np.ndarray) -> bool:
    """Whether equal samples are likely by chance: by the columns' frequencies, or by how many are nearly equal."""
    _, distinct, sizes = np.unique(equal, return_index=True, return_counts=True)
    unusual, sums, differ = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.uint64), 0
    for first, block in _every(views, rows):
        sums += _hashed(block, first).sum(axis=1)
        for column in block.T:
            values, counts = np.unique(column, return_counts=True)
            unusual += column != values[counts.argmax()]
            differ += len(values) == len(distinct)  # all different samples differ in it
        if differ > 1:
            return False  # nearly equal ones would agree in one of two such columns, and so would chance twins
    if _n_expected(views, rows, distinct, sizes, unusual[distinct]) > MOST_EXPECTED:
        return True
    n_twins = _pairs(sizes)
    near = [
        _pairs(np.unique(column, return_counts=True)[1]) - n_twins
        for first, block in _every(views, rows)
        for column in (sums[:, None] - _hashed(block, first)).T
    ]
    return sum(near) - max(near) >= n_twins


def _n_expected(
    views: list[_View], rows: np.ndarray, distinct: np.ndarray, sizes: np.ndarray, unusual: np.ndarray
) -> float:
    """The expected number of chance twins."""
    parts = _parts(unusual)
    n_samples = np.bincount(parts, sizes)
    n_pairs = np.bincount(parts) * (np.bincount(parts) - 1.0) / 2.0
    logs = np.log(np.maximum(n_samples * (n_samples - 1.0) / 2.0, 1e-300))
    for _, block in _every(views, rows[distinct]):
        for column in block.T:
            codes = np.unique(column, return_inverse=True)[1].reshape(-1)
            counts = np.zeros((len(n_pairs), codes.max() + 1))
            np.add.at(counts, (parts, codes), 1.0)
            agreeing = (counts * (counts - 1.0) / 2.0).sum(axis=1)
            logs += np.log((agreeing + 1.0) / (n_pairs + 1.0))
    return float(np.exp(logs).sum())


def _parts(unusual: np.ndarray) -> np.ndarray:
    """Parts of different samples, by ascending numbers; those with the same number are in one part."""
    values, place, counts = np.unique(unusual, return_inverse=True, return_counts=True)
    fewest = max(FEWEST_DIFFERENT, len(unusual) / _MOST_PARTS)
    part = np.zeros(len(values), dtype=int)
    held = 0
    for j, count in enumerate(counts):
        part[j] = part[j - 1] + (held >= fewest) if j else 0
        held = count if held >= fewest else held + count
    if held < FEWEST_DIFFERENT and part[-1] > 0:
        part[part == part[-1]] -= 1
    return part[place.reshape(-1)]


def _every(views: list[_View], rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The blocks of all views, each with the number of columns before it."""
    first = 0
    for view in views:
        for block in view.blocks(rows):
            yield first, block
            first += block.shape[1]


def _pairs(counts: np.ndarray) -> float:
    return float((counts * (counts - 1.0) / 2.0).sum())
