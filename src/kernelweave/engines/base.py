"""The protocol of an engine: training samples in blocks, functions of each block, and sums over them.

An engine holds blocks of samples, or where to find them. Two operations do all the work of a fit:

- ``engine.sum(function, *arguments)`` applies a function to each block and adds the results up, by ``+``;
- ``engine.replace(function, *arguments)`` gives an engine over the results, which stay where the blocks are.

Functions are pure and can be pickled: functions of a module, or methods of small objects. What a sum returns is small;
blocks themselves never move. Results are added in the order of the blocks, so that they do not depend on how many
threads there are; where workers have blocks in turns, those of each worker are added first, so that a sum must not
depend on the order but for rounding.

A fit goes through three kinds of blocks: `Rows` (X, y and weights as given), `memory.Block` (targets, features and
gating inputs), and blocks with the scores of a solution, from which biases and quantiles are found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..kernels.resources import available_memory
from ..views import Views


def ranges(n: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` samples that together are all n."""
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))


def spans_of(offsets: np.ndarray) -> list[slice]:
    return [slice(first, last) for first, last in pairwise(offsets.tolist())]


TARGET_BYTES = 2**23  # about how many bytes of X a block in memory takes


@dataclass(frozen=True)
class Rows:
    """Samples as given: `first` is the position of the first of them in the whole data; weights are positive."""

    first: int
    views: Views
    y: np.ndarray | None
    weight: np.ndarray

    @property
    def n_samples(self) -> int:
        return self.views.n_samples

    def some(self, rows: slice) -> Rows:
        if rows == slice(0, self.n_samples):
            return self
        y = None if self.y is None else self.y[rows]
        return Rows(self.first + rows.start, self.views.rows(rows), y, self.weight[rows])

    def followed_by(self, other: Rows) -> Rows:
        y = None if self.y is None else np.concatenate([self.y, other.y])
        weight = np.concatenate([self.weight, other.weight])
        return Rows(self.first, self.views.followed_by(other.views), y, weight)


class Engine(ABC):
    """Blocks of samples, and sums over them.

    Attributes
    ----------
    rounding : float
        By how much the value of a pass may be wrong, relative to it, beyond what sums in float64 are.
    takes_products : bool
        Whether products of features, of which Hessians are made, are computed where the features are.
    """

    rounding: float = 0.0
    takes_products: bool = True

    @abstractmethod
    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The sum of ``function(block, *arguments)`` over all blocks."""

    @abstractmethod
    def replace(self, function: Callable[..., Any], *arguments: Any, keep: bool = True) -> Engine:
        """An engine over ``function(block, *arguments)`` of each block, made at each use unless `keep`."""

    def free_memory(self) -> float | None:
        """Bytes that are free where the blocks are; None where that is not known."""
        return available_memory()

    def close(self) -> None:  # noqa: B027
        """Drop all blocks, also those of engines that were made of this one; nothing to do in memory."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def added(results: Any) -> Any:
    """The sum of results, in order: numbers, arrays, or tuples of them (each entry on its own)."""
    total: Any = None
    for result in results:
        if total is None:
            total = result
        elif isinstance(result, tuple) and not hasattr(result, "__radd__"):
            total = tuple(a + b for a, b in zip(total, result, strict=True))
        else:
            total = total + result
    return total


def on_device(form: Callable[..., Any]) -> Callable[[Any], Any]:
    """Give a function of blocks a form for blocks whose arrays are on a device (`device.engine.DeviceBlock`)."""

    def marked(function: Any) -> Any:
        function.on_device = form
        return function

    return marked


def in_any_place(function: Any) -> Any:
    """Mark a function of blocks that also takes arrays of a device, and so needs no second form."""
    return on_device(function)(function)
