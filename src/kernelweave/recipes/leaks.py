"""Leaks, which make scores too good: columns that equal the target, and equal samples in training and test folds.

**Copies of the target** equal it one to one under another name: a leak, or a perfect biomarker.

=========  ============================================================================================================
target     a column is named where, in at least `NEARLY_ALL` of the samples that have it,
=========  ============================================================================================================
classes    each class has one value, and each value belongs to one class
numbers    it has the same numbers; or it grows (or falls) with each step of the target and with no other, so that it is
           the target in another unit, or its logarithm
=========  ============================================================================================================

Columns with a value of their own for each sample, such as ids, have no value that belongs to a class. Where few samples
have a column, or a class has few samples, some of many columns equal the target by chance: a column is named only where
less than one in `CHANCE` such tables would have one.

**Twins** are samples that are equal in all views: the same one twice, under two ids, or a coincidence? Where one of
them trains and the other one is tested the answer is known, so that equal samples have to stay together in folds. But
of samples with three yes/no columns many are equal by chance, and as one group each they would make folds uneven for
nothing. So equal samples are taken for the same one only where chance twins are unlikely. Samples that have the same
views are looked at together, and two things must hold:

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
from scipy.special import gammaln

from ..survival import times_and_events
from ..validation.inputs import as_pandas
from ..views.frames import SparseRows, SparseRowsDtype, adjacent, take_columns
from .kinds import LEFT_OUT, SIMILARITY, named_columns
from .tasks import CLASSES, NUMBERS, SURVIVAL

NEARLY_ALL = 0.99
CHANCE = 100
_SAME = 1e-9  # numbers that differ by less, relative to the largest, are the same: files may hold fewer digits
_PROBES = 40  # pairs of samples by which most columns are seen to be no copies
_CHUNK = 256  # columns that are probed together


def copies_of_target(X: pd.DataFrame, y: Any, kinds: pd.DataFrame, task: str) -> list[str]:
    """The columns that equal the target one to one; of times and events, either of them."""
    if task == SURVIVAL:
        time, event = times_and_events(y)
        found = [*copies_of_target(X, time, kinds, NUMBERS), *copies_of_target(X, event, kinds, CLASSES)]
        return list(dict.fromkeys(found))
    y = np.ravel(np.asarray(y))
    labels = np.unique(y.astype(str) if y.dtype == object else y, return_inverse=True)[1].reshape(-1)
    numbers = y.astype(np.float64) if task == "regression" else None
    n_columns = sum(column.shape[1] for column in _sparse(X)) + X.shape[1]
    found = []
    for name, values, present in _columns(X, kinds, labels, numbers):
        if _is_bijection(values[present], labels[present], n_columns) or (
            numbers is not None and values.dtype.kind == "f" and _is_function(values[present], numbers[present])
        ):
            found.append(name)
    return found


def copies_sentence(names: list[str]) -> str:
    one = len(names) == 1
    return (
        f"the {'column' if one else 'columns'} {named_columns(names)} {'equals' if one else 'equal'} the target one to "
        f"one in nearly all samples: if {'it is' if one else 'they are'} not known before the target is, remove "
        f"{'it' if one else 'them'} from the files, or all scores are too good"
    )


def _sparse(X: pd.DataFrame) -> list[Any]:
    columns = (X.iloc[:, place] for place, dtype in enumerate(X.dtypes) if isinstance(dtype, SparseRowsDtype))
    return [column.array.matrix for column in columns]


def _columns(
    X: pd.DataFrame, kinds: pd.DataFrame, labels: np.ndarray, numbers: np.ndarray | None
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    used = np.flatnonzero(~kinds["kind"].isin([LEFT_OUT, SIMILARITY]).to_numpy())
    for names, block, present in _blocks(X, used):
        is_codes = present is None and block.dtype.kind == "i"
        for place in [0] if is_codes else np.flatnonzero(_probed(block, labels, numbers)):
            values = block[:, place]
            there = present if present is not None else values >= 0 if is_codes else ~np.isnan(values)
            yield names[place], values, there


def _blocks(
    X: pd.DataFrame, places: np.ndarray, rows: Any = slice(None)
) -> Iterator[tuple[list[str], np.ndarray, np.ndarray | None]]:
    """Columns, a few at a time: names, numbers (or codes of other values, -1 where missing), and presence if sparse."""
    is_plain = np.array([isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in X.dtypes], dtype=bool)
    plain = places[is_plain[places]]
    names = [str(name) for name in X.columns[plain].tolist()]
    for start in range(0, len(plain), _CHUNK):
        chunk = plain[start : start + _CHUNK]
        values = take_columns(X, chunk)[rows].astype(np.float64, copy=False)
        yield names[start : start + _CHUNK], values, None
    for place in places[~is_plain[places]]:
        name, column = X.columns[place], X.iloc[rows, place]
        if not isinstance(column.array, SparseRows):
            yield [str(name)], pd.factorize(column.astype(object))[0][:, None], None
            continue
        matrix, features = column.array.matrix.tocsc(), column.array.dtype.features
        for start in range(0, matrix.shape[1], _CHUNK):
            names = [f"{name}, {feature}" for feature in features[start : start + _CHUNK]]
            yield names, matrix[:, start : start + _CHUNK].toarray(), column.array.present


def _probed(block: np.ndarray, labels: np.ndarray, numbers: np.ndarray | None) -> np.ndarray:
    """Which columns may be copies: those right in nearly all of some pairs of samples with neighbouring targets."""
    order = np.argsort(labels, kind="stable")
    chosen = np.unique(np.linspace(0, len(order) - 2, min(_PROBES, len(order) - 1)).astype(int))
    first, second = order[chosen], order[chosen + 1]
    change = block[second] - block[first]
    known = np.isfinite(change)
    is_same = (labels[first] == labels[second])[:, None]
    right = (change == 0.0) == is_same
    if numbers is None or 2 * labels.max() < len(labels):
        return (right | ~known).mean(axis=0) >= 0.5
    # Numbers that differ from sample to sample: nearly all neighbours rise, or nearly all fall.
    return np.maximum(*(((part | ~known).mean(axis=0)) for part in (change > 0.0, change < 0.0))) >= 0.8


def _is_bijection(values: np.ndarray, labels: np.ndarray, n_columns: int) -> bool:
    """Whether values and classes belong together one to one, in nearly all samples and not by chance."""
    n_samples = len(values)
    if n_samples < 2:
        return False
    codes, classes = (np.unique(part, return_inverse=True)[1].reshape(-1) for part in (values, labels))
    if 2 * min(codes.max(), classes.max()) >= n_samples:  # ids, or numbers that differ from sample to sample
        return False
    pairs, counts = np.unique(np.stack([codes, classes]), axis=1, return_counts=True)
    of_value, of_class = np.zeros(codes.max() + 1), np.zeros(classes.max() + 1)
    np.maximum.at(of_value, pairs[0], counts)
    np.maximum.at(of_class, pairs[1], counts)
    is_own = (counts == of_value[pairs[0]]) & (counts == of_class[pairs[1]])
    own = counts[is_own]
    if len(own) < 2 or any(len(np.unique(part[is_own])) < len(own) for part in pairs):
        return False
    wrong = n_samples - own.sum()
    if wrong > (1.0 - NEARLY_ALL) * n_samples + _SAME:
        return False
    # One of n! / (n_1! n_2! ...) orders of the values is that of the classes; some samples of it may be wrong.
    log_orders = gammaln(own.sum() + 1.0) - gammaln(own + 1.0).sum()
    log_wrong = gammaln(n_samples + 1.0) - gammaln(wrong + 1.0) - gammaln(n_samples - wrong + 1.0)
    return bool(log_orders - log_wrong > np.log(CHANCE * n_columns))


def _is_function(values: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether a column has the numbers of the target, or others in the same or the opposite order."""
    if len(values) < 10 or np.ptp(numbers) == 0.0 or np.ptp(values) == 0.0:
        return False
    scale = np.abs(numbers).max()
    if (np.abs(values - numbers) <= _SAME * scale).mean() >= NEARLY_ALL:
        return True
    order = np.lexsort((values, numbers))
    steps, others = np.sign(np.diff(numbers[order])), np.sign(np.diff(values[order]))
    # A wrong sample makes two steps wrong.
    return bool(max((others == steps).mean(), (others == -steps).mean()) >= 1.0 - 2.0 * (1.0 - NEARLY_ALL))


MOST_EXPECTED = 0.05  # chance twins
FEWEST_DIFFERENT = 10  # samples of a part, so that there are 45 pairs by which shares are known
_MOST_PARTS = 8
_DIGITS = 6  # of similarities: those of two equal samples differ by rounding, which is far less


@dataclass(frozen=True)
class Twins:
    sets: np.ndarray  # (n_samples,): the same number for samples that are equal
    n_samples: int  # how many samples are equal to another one
    n_sets: int  # how many different ones these are

    @property
    def sentence(self) -> str:
        same = "one and the same" if self.n_sets == 1 else f"{self.n_sets} different ones"
        return (
            f"{self.n_samples} samples are equal to another one in all views ({same}): they are kept together, so that "
            "no sample is tested by a model that was fitted to its double."
        )


def find_twins(
    X: pd.DataFrame, kinds: pd.DataFrame, matrices: Mapping[str, pd.DataFrame] | None = None
) -> Twins | None:
    """The samples that are equal in all views; None where there are none, or where they may be equal by chance."""
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


def checked_groups(groups: Any, n_samples: int) -> np.ndarray:
    groups = np.ravel(as_pandas(groups))
    if len(groups) != n_samples:
        raise ValueError(f"groups has {len(groups)} entries, but X has {n_samples} samples")
    if pd.isna(groups).any():
        raise ValueError(f"groups is missing for sample {int(np.flatnonzero(pd.isna(groups))[0])}")
    return np.unique(groups.astype(str), return_inverse=True)[1]


def merged_groups(groups: Any, twins: Twins | None) -> np.ndarray | None:
    """Groups in which the samples of a group, and equal ones, are together; None where there are neither."""
    given = None if groups is None else np.unique(np.asarray(groups).astype(str), return_inverse=True)[1].reshape(-1)
    if given is None or twins is None:
        return given if twins is None else twins.sets
    n_given, n_sets = given.max() + 1, twins.sets.max() + 1
    ends = given.astype(np.int32), (twins.sets + n_given).astype(np.int32)  # SciPy 1.11 reads no larger integers
    graph = coo_array((np.ones(len(given)), ends), shape=(n_given + n_sets,) * 2)
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
        present = X.iloc[:, adjacent(places)].notna().to_numpy().any(axis=1)
        found.append(_View(present, lambda rows, places=places: _column_bits(X, places, rows)))
    return found


def _column_bits(X: pd.DataFrame, places: np.ndarray, rows: np.ndarray) -> Iterator[np.ndarray]:
    for _, block, _ in _blocks(X, places, rows):
        yield _bits(block)


def _matrix_view(ids: pd.Series, matrix: pd.DataFrame) -> _View:
    values = matrix.to_numpy(dtype=np.float64)
    scale = np.abs(values).max(initial=0.0) or 1.0
    place = matrix.index.get_indexer(ids)

    def blocks(rows: np.ndarray) -> Iterator[np.ndarray]:
        for start in range(0, values.shape[1], _CHUNK):
            yield _bits(np.round(values[place[rows], start : start + _CHUNK] / scale, _DIGITS))

    return _View(ids.notna().to_numpy() & (place >= 0), blocks)


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
    """Numbers that are the same for samples equal in all views; one that differs from all is looked at no more."""
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
    first = 0
    for view in views:
        for block in view.blocks(rows):
            yield first, block
            first += block.shape[1]


def _pairs(counts: np.ndarray) -> float:
    return float((counts * (counts - 1.0) / 2.0).sum())
