"""The width of a kernel that falls off with a distance: a number, or learned from the training samples by a rule.

The thesis is Gönen (2010, PhD thesis, Boğaziçi University).

===========  =========================================================================================
rule         width
===========  =========================================================================================
"scale"      how far the samples are spread; for Euclidean distances the root of the columns' summed
             variances, which is the root of half the mean squared distance of two samples
"nearest"    the mean distance of a sample to its nearest neighbour, thesis (2.10)
"median"     the median distance of two samples
===========  =========================================================================================

Copies of a sample are not its neighbours and samples count by their weight, so that repeating samples changes nothing.
Where all samples coincide the width is 1.

Where there are more than `MOST_SAMPLES` samples, pairs are not all looked at: some of the samples, always the same
random choice, are compared with all samples ("nearest") or with another choice ("scale", "median"). That changes the
width by about 2 % at most, "nearest" more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..validation import Choice, Number, check

Samples = slice | np.ndarray
Distances = Callable[[Samples, Samples], np.ndarray]

RULES = ("scale", "nearest", "median")
# Sums of weights this close to a half are a half.
_SAME_SHARE = 1e-10
_BLOCK_ROWS = 512
#: Pairs of more samples are not all looked at.
MOST_SAMPLES = 10_000
_CHOSEN_ROWS, _CHOSEN_COLUMNS = 4000, 5000
_SCALE = Number(above=0) | Choice(*RULES) | None


def chosen_scale(kernel: Any, learn: Callable[[str], float]) -> float:
    """The `scale` of a kernel, checked, or what `learn` finds by the rule of that name; None means "scale"."""
    rule = check(f"the kernel {kernel.label_!r}", "scale", kernel.scale, _SCALE)
    if isinstance(rule, float):
        return rule
    return learn("scale" if rule is None else rule)


def distance_scale(distances_of: Distances, sample_weight: np.ndarray, rule: str, power: int) -> float:
    """The width by a rule, for any distances.

    Parameters
    ----------
    distances_of : callable
        ``distances_of(rows, columns)`` gives the distances of some samples (rows) to others (columns), infinite between
        copies; samples are slices or positions.
    sample_weight : ndarray of shape (n_samples,)
    rule : {"scale", "nearest", "median"}
    power : {1, 2}
        For "scale": 1 takes the mean distance of two samples that differ, 2 the root of half the mean squared distance
        of any two, as kernels of the distance and of its square have it.
    """
    if rule == "scale":
        return (_mean_distance if power == 1 else _half_mean_square)(distances_of, sample_weight) or 1.0
    return PAIR_RULES[rule](distances_of, sample_weight) or 1.0


def _blocks(n_samples: int, *, all_columns: bool = False) -> Iterator[tuple[Samples, Samples]]:
    """Rows and columns of blocks of pairs, so that a pass over pairs needs no n x n matrix."""
    if n_samples <= MOST_SAMPLES:
        for start in range(0, n_samples, _BLOCK_ROWS):
            yield slice(start, min(start + _BLOCK_ROWS, n_samples)), slice(None)
        return
    order = np.random.RandomState(0).permutation(n_samples)
    rows, columns = np.sort(order[:_CHOSEN_ROWS]), np.sort(order[_CHOSEN_ROWS : _CHOSEN_ROWS + _CHOSEN_COLUMNS])
    for start in range(0, len(rows), _BLOCK_ROWS):
        yield rows[start : start + _BLOCK_ROWS], slice(None) if all_columns else columns


def _nearest(distances_of: Distances, sample_weight: np.ndarray) -> float:
    """Thesis (2.10): the mean distance to the nearest neighbour; 0 where all samples coincide."""
    nearest, weights = [], []
    for rows, columns in _blocks(len(sample_weight), all_columns=True):
        nearest.append(distances_of(rows, columns).min(axis=1))
        weights.append(sample_weight[rows])
    closest, weight = np.concatenate(nearest or [np.zeros(0)]), np.concatenate(weights or [np.zeros(0)])
    found = np.isfinite(closest)
    return float(np.average(closest[found], weights=weight[found])) if found.any() else 0.0  # thesis (2.10)


def _median(distances_of: Distances, sample_weight: np.ndarray) -> float:
    """The median distance of two samples that differ; 0 where all samples coincide."""
    distances, weights = [], []
    for rows, columns in _blocks(len(sample_weight)):
        block = distances_of(rows, columns)
        counted = np.isfinite(block)
        if isinstance(rows, slice):
            counted &= np.arange(len(sample_weight)) > np.arange(rows.start, rows.stop)[:, None]  # each pair once
        distances.append(block[counted])
        weights.append((sample_weight[rows, None] * sample_weight[columns])[counted])
    found, weight = np.concatenate(distances or [np.zeros(0)]), np.concatenate(weights or [np.zeros(0)])
    if not len(found):
        return 0.0
    if (weight == weight[0]).all():
        return float(np.median(found))
    order = np.argsort(found)
    share = np.cumsum(weight[order])
    share /= share[-1]
    middle = np.searchsorted(share, [0.5 - _SAME_SHARE, 0.5 + _SAME_SHARE])  # two pairs where the first ends at a half
    return float(found[order[np.minimum(middle, len(order) - 1)]].mean())


def _mean_distance(distances_of: Distances, sample_weight: np.ndarray) -> float:
    """The mean distance of two samples that differ; 0 where all samples coincide."""
    total = weight = 0.0
    for rows, columns in _blocks(len(sample_weight)):
        block = distances_of(rows, columns)
        pairs = np.where(np.isfinite(block), sample_weight[rows, None] * sample_weight[columns], 0.0)
        block[np.isinf(block)] = 0.0
        total += float(np.vdot(pairs, block))
        weight += float(pairs.sum())
    return total / weight if weight > 0.0 else 0.0


def _half_mean_square(distances_of: Distances, sample_weight: np.ndarray) -> float:
    """The root of half the mean squared distance of any two samples, a sample and itself among them."""
    root = total = 0.0
    for rows, columns in _blocks(len(sample_weight)):
        block = distances_of(rows, columns)
        block[np.isinf(block)] = 0.0
        unit = binary_unit(largest_entry(block))
        block /= unit
        left, right = sample_weight[rows], sample_weight[columns]
        root = float(np.hypot(root, unit * np.sqrt(left @ (block**2 @ right))))
        total += float(left.sum()) * float(right.sum())
    return root / np.sqrt(2.0 * total) if total > 0.0 else 0.0


def largest_entry(A: Any) -> float:
    """The largest absolute value of an array's or a CSR matrix' entries."""
    values = A.data if sp.issparse(A) else A
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


def binary_unit(size: float) -> float:
    """The power of two at or below a size, by which numbers are divided without rounding; 1 for size 0."""
    return float(np.ldexp(1.0, np.frexp(size)[1] - 1)) if size > 0.0 else 1.0


PAIR_RULES = {"nearest": _nearest, "median": _median}
