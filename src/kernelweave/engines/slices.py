"""Slices: of samples, a few at a time, and of the columns of each kernel."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np


def ranges(n: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` samples that together are all n.

    Examples
    --------
    >>> list(ranges(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))


def spans_of(offsets: np.ndarray) -> list[slice]:
    """The columns of each kernel, which begin at these offsets; the last offset is the number of all columns."""
    return [slice(first, last) for first, last in pairwise(offsets.tolist())]
