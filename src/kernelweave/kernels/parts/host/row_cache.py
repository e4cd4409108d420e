"""`RowCache`: rows of a kernel in parts that are kept on the host, to be used again.

Half of a working set stays from one round to the next, and machines that are solved one after the other on the same
kernel choose many of the same samples. A row that is kept is read (4 bytes for each value in float32), where one that
is not is computed from all base kernels.

A row takes the place of the one that was used longest ago, so that what is kept depends on the calls alone.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np

from ....solvers.tiles import add_rows
from ...resources import Scratch, in_threads

FEWEST = 1024  # rows that must fit: as many as a working set has
WIDTH = 2048  # columns whose sums stay in the first cache of a core
SHARE = 0.5  # of all columns: a row is computed whole where at least so many are wanted

#: ``fill(rows, slots, positions)`` writes the rows of K of some samples to these positions of the slots.
Fill = Callable[[np.ndarray, np.ndarray, np.ndarray], None]


class RowCache:
    """Rows of a symmetric matrix of n samples, as many as fit into the memory given.

    Parameters
    ----------
    n_samples : int
    n_rows : int
        The most rows that are kept.
    dtype : dtype
    fill : callable
        ``fill(rows, slots, positions)`` computes rows of the matrix and writes them to ``slots[positions]``.

    Attributes
    ----------
    slots : ndarray of shape (n_rows, n_samples)
    position : ndarray of shape (n_samples,)
        The slot of the row of each sample; -1 where it is not kept.
    hits, misses : int
        How many rows were there when they were asked for, and how many were not.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels.parts.host.row_cache import RowCache
    >>> K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> def fill(rows, slots, positions):
    ...     slots[positions] = K[rows]
    >>> cache = RowCache(3, 2, np.float64, fill)
    >>> cache.times(np.array([0, 2]), np.array([1.0, -1.0]))
    array([ 2.,  0., -2.])
    >>> cache.position
    array([ 0, -1,  1])
    """

    def __init__(self, n_samples: int, n_rows: int, dtype: np.dtype | type, fill: Fill):
        self.slots = np.empty((n_rows, n_samples), dtype=dtype)  # takes memory only as rows are written
        self.position = np.full(n_samples, -1)
        self.sample = np.full(n_rows, -1)
        self.used = np.zeros(n_rows, dtype=np.int64)  # when a slot was used last; 0 for free ones
        self.fill, self.time, self.hits, self.misses = fill, 0, 0, 0
        self.lock = Lock()

    def serves(self, n_rows: int, n_columns: int) -> bool:
        """Whether a product of so many rows at so many columns is taken of whole rows that are kept."""
        return n_rows <= self.n_rows and n_columns >= SHARE * len(self.position)

    @property
    def n_rows(self) -> int:
        """The most rows that are kept."""
        return len(self.slots)

    def keep(self, rows: np.ndarray) -> None:
        """Compute those of some rows (at most `n_rows`) that are not kept, in place of the rows used longest ago."""
        known = self.position[rows] >= 0
        missing = rows[~known]
        self.hits, self.misses = self.hits + len(rows) - len(missing), self.misses + len(missing)
        self.time += 1
        self.used[self.position[rows[known]]] = self.time
        if not len(missing):
            return
        free = np.argsort(self.used, kind="stable")[: len(missing)]
        before = self.sample[free]
        self.position[before[before >= 0]] = -1
        self.sample[free], self.used[free] = -1, 0  # until they are written, should that be interrupted
        self.fill(missing, self.slots, free)
        self.sample[free], self.used[free] = missing, self.time
        self.position[missing] = free

    def times(self, rows: np.ndarray, change: np.ndarray) -> np.ndarray:
        """K[:, rows] change, of shape (n_samples,), summed in float64; rows that are not kept are computed."""
        found = np.zeros(len(self.position))
        change = np.ascontiguousarray(change, dtype=np.float64)
        with self.lock:
            self.keep(rows)
            positions = self.position[rows]

            def work(task: int, scratch: Scratch) -> None:
                first = task * WIDTH
                add_rows(self.slots, positions, change, found[first : first + WIDTH], first)

            in_threads(work, -(-len(found) // WIDTH))
        return found


def rows_that_fit(cache_bytes: float, n_samples: int, dtype: np.dtype | type) -> int:
    """How many rows are kept in so many bytes; 0 where a working set does not fit, and none is kept.

    Examples
    --------
    >>> from kernelweave.kernels.parts.host.row_cache import rows_that_fit
    >>> [rows_that_fit(2.56e8, n, "float32") for n in (5000, 20_000, 50_000, 200_000)]
    [5000, 3200, 1280, 0]
    """
    if n_samples == 0:
        return 0
    size = np.dtype(dtype).itemsize * n_samples
    fitting = n_samples if cache_bytes >= size * n_samples else int(cache_bytes // size)
    return fitting if fitting >= min(FEWEST, n_samples) else 0
