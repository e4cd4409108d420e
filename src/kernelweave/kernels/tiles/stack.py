"""`TileStack`: all base kernels of a stack over the training samples, in tiles and in one place.

Everything that machines and outer loops need of the kernels comes from one product,

    images[i, m, r] = sum_j k_m(x_i, x_j) V[j, m, r]        (i among some samples, j among others)

computed for all kernels in one pass, without a matrix of the size of both sets. `source_of` makes the source of a
kernel of a fitted stack, and `cross_values` predicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ...arrays import Place
from ...views import Views
from ..normalization import Normalizer, finite, warn_if_lost
from ..precomputed import check_symmetric
from . import host
from .device import DeviceImages
from .functions import drowns
from .sources import NoSource, Source, raw_source

if TYPE_CHECKING:
    from ..stack import KernelStack


class TileStack:
    """The base kernels in tiles, a source for each, all over the same samples and in the same place.

    Memory: the features of the samples and a tile of kernel values; sums of these kernels may take `cache_bytes` for
    rows that they keep.
    """

    def __init__(self, sources: Sequence[Source], place: Place, *, cache_bytes: float = 0.0):
        self.sources, self.place, self.cache_bytes = list(sources), place, cache_bytes

    @cached_property
    def device(self) -> DeviceImages:
        return DeviceImages(self.sources, self.place)

    @property
    def n_kernels(self) -> int:
        return len(self.sources)

    @property
    def n_samples(self) -> int:
        return self.sources[0].n_rows

    @property
    def n_features(self) -> int:
        """Numbers that the feature vectors of a sample take in all kernels together; 1 for a kernel without them."""
        return sum(getattr(source.columns.features, "shape", (0, 1))[-1] for source in self.sources)

    @property
    def is_narrow(self) -> bool:
        """Whether values of any kernel are computed in float32."""
        first = np.arange(1)
        return any("32" in str(source.block(first, first).dtype) for source in self.sources)

    def block(self, m: int, rows: np.ndarray | None, columns: np.ndarray | None) -> Any:
        return self.sources[m].block(rows, columns)

    def images(
        self, rows: np.ndarray | None, columns: np.ndarray | None, V: Any, kernels: Sequence[int] | None = None
    ) -> Any:
        """k_m between some rows and columns (None: all), times V[:, m], for each kernel, in float64.

        V is of shape (n_columns, n_kernels, n_outputs), the result of shape (n_rows, n_kernels, n_outputs), and 0 for
        kernels that are not among `kernels`.
        """
        chosen = range(self.n_kernels) if kernels is None else kernels
        if self.place.is_host:
            return host.images(self.sources, rows, columns, V, chosen)
        return self.device.images(rows, columns, V, chosen)

    def sum_block(
        self, rows: np.ndarray, left: np.ndarray, weights: np.ndarray, kernels: Sequence[int] | None = None
    ) -> np.ndarray:
        """sum_m weights[m] left[i, m] k_m(x_i, x_j) left[j, m] among some samples, exactly symmetric, in float64."""
        chosen = range(self.n_kernels) if kernels is None else kernels
        if self.place.is_host:
            return host.block(self.sources, rows, left, weights, chosen)
        return self.device.block(rows, left, weights, chosen)

    def diagonals(self) -> np.ndarray:
        return np.column_stack([source.rows.diagonal for source in self.sources])

    def only(self, m: int) -> TileStack:
        return TileStack([self.sources[m]], self.place, cache_bytes=self.cache_bytes)

    def subset(self, index: np.ndarray) -> TileStack:
        chosen = [source.subset(index) for source in self.sources]
        return TileStack(chosen, self.place, cache_bytes=self.cache_bytes)

    def against(self, views: Views) -> TileStack:
        new = [source.against(views) for source in self.sources]
        return TileStack(new, self.place, cache_bytes=self.cache_bytes)


class RepeatedTiles(TileStack):
    """Each kernel several times, the copies of one beside each other; its values are computed once for all copies."""

    def __init__(self, tiles: TileStack, n_copies: int):
        sources = [source for source in tiles.sources for _ in range(n_copies)]
        super().__init__(sources, tiles.place, cache_bytes=tiles.cache_bytes)
        self.once, self.n_copies = tiles, n_copies

    @property
    def n_features(self) -> int:
        return self.once.n_features

    def images(
        self, rows: np.ndarray | None, columns: np.ndarray | None, V: Any, kernels: Sequence[int] | None = None
    ) -> Any:
        """The copies of a kernel are further outputs of it."""
        xp, (n, _, q), k = self.place.xp, V.shape, self.n_copies
        chosen = None if kernels is None else sorted({m // k for m in kernels})
        wide = xp.reshape(V, (n, self.once.n_kernels, k * q))
        found = self.once.images(rows, columns, wide, chosen)
        found = xp.reshape(found, (found.shape[0], self.n_kernels, q))
        if kernels is None:
            return found
        among = np.isin(np.arange(self.n_kernels), kernels).astype(float)
        return found * self.place.asarray(among)[None, :, None]

    def subset(self, index: np.ndarray) -> RepeatedTiles:
        return RepeatedTiles(self.once.subset(index), self.n_copies)


# Sources of a fitted stack

#: A kernel that is not known to be positive semidefinite is checked on so many samples: a principal submatrix of a
#: positive semidefinite matrix is one, too.
CHECKED_SAMPLES = 1000


def source_of(stack: KernelStack, m: int) -> Source:
    """The source of kernel m of a fitted stack, over its training samples (those that `restrict` or `subset` kept).

    The constants of normalisation and the check of definiteness, where they are not there yet, are learned from all
    training samples, and are the stack's own from then on.
    """
    normalizer, present = stack.normalizers[m], stack.present[:, m]
    if not stack.active[m]:
        return NoSource(stack.n_samples, stack.place)
    raw = _raw(stack, m, stack.dtype.name)
    finite(lambda: raw.rows.diagonal, stack.names[m])  # all other values are smaller
    learn_repair(stack, m)
    is_new = not normalizer.is_learned  # so that the stack is over all its samples
    if is_new:
        _learn(normalizer, raw, present, stack.weight)
    source = raw.normalized(normalizer)
    if (
        normalizer.needs_all_samples
        and stack.dtype.name == "float32"
        and drowns(raw.rows.diagonal, source.rows.diagonal)
    ):
        raw = _raw(stack, m, "float64")
        if stack.n_samples == stack.reference.n_samples:
            _learn(normalizer, raw, present, stack.weight)
        source = raw.normalized(normalizer)
    if is_new and normalizer.needs_all_samples:
        warn_if_lost(raw.rows.diagonal[present], source.rows.diagonal[present], stack.names[m])
    if np.array_equal(stack.rows, np.arange(stack.reference.n_samples)):
        return source
    return source.subset(stack.rows)


def _raw(stack: KernelStack, m: int, dtype: str) -> Source:
    with np.errstate(over="ignore", invalid="ignore"):
        return raw_source(stack.measured(m), stack.reference, stack.place, dtype)


def _learn(normalizer: Normalizer, raw: Source, present: np.ndarray, weight: np.ndarray) -> None:
    place = raw.place

    def times(shares: np.ndarray) -> np.ndarray:  # 0 for absent samples
        V = place.asarray(shares)[:, None, None]
        return np.asarray(place.numpy(TileStack([raw], place).images(None, None, V))[:, 0, 0])

    if normalizer.needs_all_samples:
        normalizer.learn_means(times, present, weight)
    else:
        normalizer.learn(raw.rows.diagonal, present, weight)


def learn_repair(stack: KernelStack, m: int) -> None:
    """Check that a kernel is symmetric and positive semidefinite, where that is not known, on some of its samples.

    In double precision: parts of a sum in float32 would be symmetric but for their rounding.
    """
    repair, present = stack.repairs[m], np.flatnonzero(stack.kernels[m].present(stack.reference))
    if repair.trusted or (repair.is_learned and repair.smallest_ is None):
        return
    repair.check_parts(stack.reference.n_samples)
    if repair.is_learned or not len(present):
        return
    chosen = present
    if len(present) > CHECKED_SAMPLES:
        chosen = np.sort(np.random.RandomState(0).choice(present, CHECKED_SAMPLES, replace=False))
    raw = raw_source(stack.kernels[m], stack.reference.rows(chosen), stack.place, "float64")
    K = np.asarray(raw.place.numpy(raw.block(None, None)))
    check_symmetric(K, f"the values of the kernel {stack.names[m]!r}")
    repair.gram(K.astype(np.float64), np.ones(len(chosen), dtype=bool), np.ones(len(chosen)))


# Prediction

#: Numbers of new samples (features and images) that are in the place at once.
BLOCK_NUMBERS = 2**25
#: Blocks whose values are waited for at once.
PENDING = 8

# The tiles of each stack at the last place, and for which kernels; they are no part of the stack's state, so that a
# copy of it, or a saved model, is without them.
_PLACED: WeakKeyDictionary[Any, tuple[Place, list[Any], TileStack]] = WeakKeyDictionary()


def tiles_at(stack: KernelStack, place: Place) -> TileStack:
    """The kernels of a stack over the samples that prediction keeps, in tiles in a place; the last ones are kept."""
    known = _PLACED.get(stack)
    if known is None or known[0] != place or any(a is not b for a, b in zip(known[1], stack.kernels, strict=True)):
        known = _PLACED[stack] = place, list(stack.kernels), stack.at(place).in_parts()
    return known[2]


def cross_values(
    tiles: TileStack,
    views: Views,
    left_new: np.ndarray,
    left_train: np.ndarray,
    weights: np.ndarray,
    coef: np.ndarray,
) -> np.ndarray:
    """sum_m weights[m] left_new[i, m] sum_j k_m(x_i, z_j) left_train[j, m] coef[j, r] for new samples x_i.

    `coef` may have another value for each kernel, coef[j, m, r].
    The tiles are over the training samples z_j (support vectors). `left_new` and `left_train`, with a column for each
    kernel or one for all, are gates, or a factor of the sample. Kernels of weight 0 are not computed, and their views
    are not read. No matrix of new samples x support vectors is made.
    """
    used = np.flatnonzero((weights != 0.0) & (left_train != 0.0).any(axis=0))
    n_outputs = coef.shape[-1]
    values = np.zeros((views.n_samples, n_outputs))
    if not len(used) or not len(coef) or not views.n_samples:
        return values
    place, chosen = tiles.place, TileStack([tiles.sources[m] for m in used.tolist()], tiles.place)
    new, train = (left if left.shape[1] == 1 else left[:, used] for left in (left_new, left_train))
    own = coef[:, None, :] if coef.ndim == 2 else coef[:, used]
    V = place.asarray((weights[used] * train)[:, :, None] * own, "float64")
    width = chosen.n_features + len(used) * (2 + n_outputs)
    free = place.free_memory()
    n_rows = max(1, (BLOCK_NUMBERS if free is None else min(BLOCK_NUMBERS, free // 64)) // width)
    pending: list[tuple[slice, Any]] = []  # the host prepares the next block while a device is at work
    for first in range(0, views.n_samples, n_rows):
        block = slice(first, min(first + n_rows, views.n_samples))
        part = views if n_rows >= views.n_samples else views.rows(block)
        images = chosen.against(part).images(None, None, V)
        gates = place.asarray(new[block], "float64")
        pending.append((block, place.xp.sum(images * gates[:, :, None], axis=1)))
        if len(pending) == PENDING or block.stop == views.n_samples:
            for done, found in pending:
                values[done] = place.numpy(found)
            pending.clear()
    return values
