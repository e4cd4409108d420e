"""`Rows`: a block of samples as given, and the reservoir drawn from all of them.

The reservoir is the k samples with the smallest keys, where the key of the sample at position i of the whole data is a
hash of i and a seed. So it is a uniform sample that does not depend on how samples are divided into blocks, takes one
pass, and adds up: the reservoir of two blocks is made of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from ..views import Views

TARGET_BYTES = 2**23  # of X, that a block in memory takes about


@dataclass(frozen=True)
class Rows:
    """Samples as given.

    Attributes
    ----------
    first : int
        Position of the first of them in the whole data.
    views : Views
    y : ndarray or None
        Targets as the user gave them, checked.
    weight : ndarray of shape (n_samples,)
        Positive.
    """

    first: int
    views: Views
    y: np.ndarray | None
    weight: np.ndarray

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.views.n_samples


def keys_of(first: int, count: int, seed: int) -> np.ndarray:
    """A pseudo-random key of each position from `first` on (splitmix64), as unsigned integers."""
    with np.errstate(over="ignore"):
        z = np.arange(first + 1, first + count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


@dataclass(frozen=True)
class Reservoir:
    """The samples with the smallest keys, in the order of their positions.

    Attributes
    ----------
    size : int
        Most samples.
    keys : ndarray of uint64
    positions : ndarray of int
        In the whole data.
    views, y, weight
        As in `Rows`.
    """

    size: int
    keys: np.ndarray
    positions: np.ndarray
    views: Views
    y: Any
    weight: np.ndarray

    def __add__(self, other: Reservoir) -> Reservoir:
        """The smallest keys of both."""
        keys = np.concatenate([self.keys, other.keys])
        both = Reservoir(
            self.size,
            keys,
            np.concatenate([self.positions, other.positions]),
            self.views.followed_by(other.views),
            None if self.y is None else np.concatenate([self.y, other.y]),
            np.concatenate([self.weight, other.weight]),
        )
        return both if len(keys) <= self.size else both.some(smallest(keys, self.size))

    def some(self, index: np.ndarray) -> Reservoir:
        """Some of the samples."""
        return Reservoir(
            self.size,
            self.keys[index],
            self.positions[index],
            self.views.rows(index),
            None if self.y is None else _safe_indexing(self.y, index),
            self.weight[index],
        )


def smallest(keys: np.ndarray, count: int) -> np.ndarray:
    """Positions of the smallest keys, in ascending order of position."""
    return np.sort(np.argpartition(keys, count - 1)[:count])


def reservoir_of(rows: Rows, size: int, seed: int) -> Reservoir:
    """The reservoir of one block."""
    keys, positions = keys_of(rows.first, rows.n_samples, seed), np.arange(rows.first, rows.first + rows.n_samples)
    whole = Reservoir(size, keys, positions, rows.views, rows.y, rows.weight)
    return whole.some(smallest(keys, size) if len(keys) > size else np.arange(len(keys)))
