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
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..validation import Choice, Number, check
from .base import binary_unit

RULES = ("scale", "nearest", "median")
# Sums of weights this close to a half are a half.
_SAME_SHARE = 1e-10
_BLOCK_ROWS = 512
_SCALE = Number(above=0) | Choice(*RULES) | None


def chosen_scale(kernel: Any, learn: Callable[[str], float]) -> float:
    """The `scale` of a kernel, checked, or what `learn` finds by the rule of that name; None means "scale"."""
    rule = check(f"the kernel {kernel.label_!r}", "scale", kernel.scale, _SCALE)
    if isinstance(rule, float):
        return rule
    return learn("scale" if rule is None else rule)


def distance_scale(
    distances_of: Callable[[slice], np.ndarray], sample_weight: np.ndarray, rule: str, power: int
) -> float:
    """The width by a rule, for any distances.

    Parameters
    ----------
    distances_of : callable
        Gives the distances of a block of samples (rows) to all samples (columns), infinite between copies.
    sample_weight : ndarray of shape (n_samples,)
    rule : {"scale", "nearest", "median"}
    power : {1, 2}
        For "scale": 1 takes the mean distance of two samples that differ, 2 the root of half the mean squared distance
        of any two, as kernels of the distance and of its square have it.
    """
    if rule == "scale":
        return (_mean_distance if power == 1 else _half_mean_square)(distances_of, sample_weight) or 1.0
    return PAIR_RULES[rule](distances_of, sample_weight) or 1.0


def _row_blocks(n_rows: int) -> Iterator[slice]:
    """Slices that cut so many rows into blocks, so that a pass over all pairs needs no n x n matrix."""
    return (slice(start, min(start + _BLOCK_ROWS, n_rows)) for start in range(0, n_rows, _BLOCK_ROWS))


def _nearest(distances_of: Callable[[slice], np.ndarray], sample_weight: np.ndarray) -> float:
    """Thesis (2.10): the mean distance to the nearest neighbour; 0 where all samples coincide."""
    nearest = np.empty(len(sample_weight))
    for rows in _row_blocks(len(nearest)):
        nearest[rows] = distances_of(rows).min(axis=1)
    found = np.isfinite(nearest)
    return float(np.average(nearest[found], weights=sample_weight[found])) if found.any() else 0.0  # thesis (2.10)


def _median(distances_of: Callable[[slice], np.ndarray], sample_weight: np.ndarray) -> float:
    """The median distance of two samples that differ; 0 where all samples coincide."""
    distances, weights = [], []
    for rows in _row_blocks(len(sample_weight)):
        block = distances_of(rows)
        later = np.arange(len(sample_weight)) > np.arange(rows.start, rows.stop)[:, None]  # each pair once
        later &= np.isfinite(block)
        distances.append(block[later])
        weights.append((sample_weight[rows, None] * sample_weight)[later])
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


def _mean_distance(distances_of: Callable[[slice], np.ndarray], sample_weight: np.ndarray) -> float:
    """The mean distance of two samples that differ; 0 where all samples coincide."""
    total = weight = 0.0
    for rows in _row_blocks(len(sample_weight)):
        block = distances_of(rows)
        pairs = np.where(np.isfinite(block), sample_weight[rows, None] * sample_weight, 0.0)
        block[np.isinf(block)] = 0.0
        total += float(np.vdot(pairs, block))
        weight += float(pairs.sum())
    return total / weight if weight > 0.0 else 0.0


def _half_mean_square(distances_of: Callable[[slice], np.ndarray], sample_weight: np.ndarray) -> float:
    """The root of half the mean squared distance of any two samples, a sample and itself among them."""
    share = sample_weight / sample_weight.sum() if len(sample_weight) else sample_weight
    root = 0.0
    for rows in _row_blocks(len(share)):
        block = distances_of(rows)
        block[np.isinf(block)] = 0.0
        unit = binary_unit(largest_entry(block))
        block /= unit
        root = float(np.hypot(root, unit * np.sqrt(share[rows] @ (block**2 @ share))))
    return root / np.sqrt(2.0)


def largest_entry(A: Any) -> float:
    """The largest absolute value of an array's or a CSR matrix' entries."""
    values = A.data if sp.issparse(A) else A
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


PAIR_RULES = {"nearest": _nearest, "median": _median}
