"""The reservoir: a uniform sample of the training samples, on which kernels and feature maps are fitted.

The reservoir is the k samples with the smallest keys, where the key of the sample at position i of the whole data is a
hash of i and a seed. So it is a uniform sample that does not depend on how samples are divided into blocks, takes one
pass, and adds up: the reservoir of two blocks is made of theirs.

Where samples lack views, each kernel has a reservoir of its own, the k samples with the smallest keys among those that
have its view, so that a view which few samples have is learned from as many as there are. Where all views are complete,
and where there are no more than k samples, that is the same for all kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from .._warnings import warn
from ..features import FeatureMap, approximations_of, reservoir_size
from ..features.base import float32_holds
from ..kernels import Kernel, KernelStack, named_kernels
from ..kernels.stack import default_kernels, joint_stack
from ..views import Views
from .base import Engine, Rows


def keys_of(first: int, count: int, seed: int) -> np.ndarray:
    """A pseudo-random key of each position from `first` on (splitmix64), as unsigned integers."""
    with np.errstate(over="ignore"):
        z = np.arange(first + 1, first + count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform_keys(first: int, count: int, seed: int) -> np.ndarray:
    """`keys_of` as numbers from 0 to 1, by which samples are divided without a list of their positions."""
    return keys_of(first, count, seed) / 2.0**64


@dataclass(frozen=True)
class Reservoir:
    """The samples with the smallest keys, of all samples and of those that have each kernel's view.

    `positions` are those in the whole data; `has`, of shape (n_samples, n_kernels), says who has which kernel's view.
    """

    size: int
    keys: np.ndarray
    positions: np.ndarray
    views: Views
    y: Any
    weight: np.ndarray
    has: np.ndarray

    def __add__(self, other: Reservoir) -> Reservoir:
        if len(self.keys) and len(other.keys) and self.positions[-1] > other.positions[0]:
            whole = self._followed_by(other)
            return whole.some(np.argsort(whole.positions)).trimmed()
        return self._followed_by(other).trimmed()

    def _followed_by(self, other: Reservoir) -> Reservoir:
        return Reservoir(
            self.size,
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.positions, other.positions]),
            self.views.followed_by(other.views),
            None if self.y is None else np.concatenate([self.y, other.y]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.has, other.has]),
        )

    def some(self, index: np.ndarray) -> Reservoir:
        return replace(
            self,
            keys=self.keys[index],
            positions=self.positions[index],
            views=self.views.rows(index),
            y=None if self.y is None else _safe_indexing(self.y, index),
            weight=self.weight[index],
            has=self.has[index],
        )

    def common(self) -> np.ndarray:
        return _smallest(self.keys, np.arange(len(self.keys)), self.size)

    def of_kernel(self, m: int) -> np.ndarray:
        return _smallest(self.keys, np.flatnonzero(self.has[:, m]), self.size)

    def trimmed(self) -> Reservoir:
        """Without the samples that belong to none of the reservoirs."""
        needed = np.zeros(len(self.keys), dtype=bool)
        for places in (self.common(), *(self.of_kernel(m) for m in range(self.has.shape[1]))):
            needed[places] = True
        return self if needed.all() else self.some(np.flatnonzero(needed))

    def stacks(self, kernels: Any, normalize: str | None) -> tuple[KernelStack, list[tuple[KernelStack, int]]]:
        """The fitted kernels over the common reservoir; for each kernel its own stack, and the kernel's place in it."""
        pairs = named_kernels(kernels)
        common = self.common()
        if len(common) == len(self.keys):
            stack = _fitted(pairs, normalize, self)
            return stack, [(stack, m) for m in range(len(pairs))]
        stacks = []
        for m, pair in enumerate(pairs):
            part = self.some(self.of_kernel(m))
            if not len(part.keys):
                raise ValueError(f"no training sample has the view of the kernel {pair[0]!r}; remove that kernel")
            stacks.append(_fitted([pair], normalize, part))
        part = self.some(common)
        return joint_stack(stacks, part.views, part.weight, part.y), [(stack, 0) for stack in stacks]


def _fitted(kernels: Any, normalize: str | None, samples: Reservoir) -> KernelStack:
    return KernelStack(kernels, normalize).fit(samples.views, samples.weight, samples.y, checks_means=False)


def fitted_maps(
    engine: Engine,
    kernels: Any,
    normalize: str | None,
    approximation: Any,
    rng: np.random.RandomState,
    dtype: np.dtype | str | None = None,
) -> tuple[Reservoir, KernelStack, list[FeatureMap], np.dtype]:
    """Draw the reservoir, and fit kernels and feature maps on it.

    None for `kernels` means one linear kernel of each view, and for `dtype` float32 where that holds the features.
    Returns the common reservoir, the fitted kernels over it, the maps, and what features are to be held in.
    """
    size, seed = reservoir_size(approximation), int(rng.randint(2**31))
    if kernels is None:
        reservoir: Reservoir = engine.sum(reservoir_of, size, seed)
        kernels = default_kernels(reservoir.views)
        approximations = approximations_of(approximation, kernels)
    else:
        approximations = approximations_of(approximation, kernels)
        reservoir = engine.sum(reservoir_of, size, seed, selectors_of(kernels))
    stack, own = reservoir.stacks(kernels, normalize)
    wanted = np.dtype(dtype or "float32")
    maps = [each.fit_map(*place, rng, dtype=wanted) for each, place in zip(approximations, own, strict=True)]
    return reservoir.some(reservoir.common()), stack, maps, _held_in(maps, own, dtype)


def _held_in(maps: list[FeatureMap], own: list[tuple[KernelStack, int]], dtype: Any) -> np.dtype:
    """The type of features: that which is asked for; else float32, or float64 where float32 would round too much."""
    if dtype == "float64":
        return np.dtype(dtype)
    places = zip(maps, own, strict=True)
    drowned = [stack.names[m] for found, (stack, m) in places if not float32_holds(found, stack, m)]
    if drowned and dtype is not None:
        warn(
            f"explicit features of the kernel{'s' * (len(drowned) > 1)} {', '.join(map(repr, drowned))} have means "
            "that are so large beside their spread that float32 rounds off what differs between samples: use "
            'dtype=None, which chooses, or "float64", or standardise the columns (transformer=StandardScaler() of the '
            "kernel)"
        )
    return np.dtype("float64" if drowned and dtype is None else "float32")


def reservoir_of(rows: Rows, size: int, seed: int, selectors: Sequence[Sequence[Any]] | None = None) -> Reservoir:
    """The reservoir of one block; by default with the selectors of one kernel for each view."""
    if selectors is None:
        selectors = selectors_of(default_kernels(rows.views))
    keys, positions = keys_of(rows.first, rows.n_samples, seed), np.arange(rows.first, rows.first + rows.n_samples)
    has = np.ones((rows.n_samples, len(selectors)), dtype=bool)
    read = rows.views.rows(slice(None))  # what it keeps of the columns goes with it
    for m, own in enumerate(selectors):
        for selector in own:
            has[:, m] &= read.read(read.columns(selector), str(selector), text=True, partly=True)[1]
    return Reservoir(size, keys, positions, rows.views, rows.y, rows.weight, has).trimmed()


def selectors_of(kernels: Any) -> list[list[Any]]:
    """The views that each kernel reads, as selectors of columns: a sample that lacks one of them lacks the kernel."""
    return [_selectors(kernel) for _, kernel in named_kernels(kernels)]


def _selectors(kernel: Kernel) -> list[Any]:
    parts = [getattr(kernel, name) for name in ("first", "second") if hasattr(kernel, name)]
    if not parts:
        return [kernel.view] if hasattr(kernel, "view") else []
    return [each for part in parts for each in (_selectors(part) if isinstance(part, Kernel) else [part])]


def _smallest(keys: np.ndarray, among: np.ndarray, count: int) -> np.ndarray:
    return among if len(among) <= count else np.sort(among[np.argpartition(keys[among], count - 1)[:count]])
