"""Blocks of samples on a device: the engine over them, how they are made, and prediction with the same feature maps.

A `DeviceBlock` has the attributes of `engines.memory.Block`, with arrays of a place: losses, gating inputs, presence,
and features (`features`). Functions of blocks that serve any place (`base.in_any_place`), or have a form for devices
(`base.on_device`), are given it as it is, and what they return stays there until the sums over all blocks are made. All
others are given `DeviceBlock.on_host`, whose arrays are NumPy's and whose features stay on the device.

What a device has to hold, for n samples, P kernels and numbers of `dtype`:

==========  =====================================================================================
held        n x the numbers of a row (`features.aligned`)
computed    n x the numbers that each kernel compares, and a factor
both        n x targets and bounds, gating inputs, gates; work on the samples of one block
==========  =====================================================================================
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...arrays import Place
from ...features import FeatureMap
from ...features.base import raw_dtype
from ...features.exact import ExactMap
from ...kernels import KernelMemoryError
from ...kernels.resources import in_blas_threads
from ...kernels.tiles.device import warn_of_host_kernels
from ...kernels.tiles.sources import PointSource, Source
from ...kernels.tiles.stack import source_of
from ...machines import DualTerms
from ...views import Views
from ..base import Engine, Rows, added, ranges
from ..memory import TILE, Block, FeatureBlock, Respond, Sums, offsets_of
from .features import (
    ComputedFeatures,
    DeviceFeatures,
    HeldFeatures,
    HeldPart,
    Part,
    aligned,
    computed_features,
    gate_kind,
    gates_of,
    gates_pullback,
    held_pass,
    joined_sides,
    serves_pass,
)

PIECE = 2**17  # samples that are sent to the device at once
ROUNDING = 1e-8  # relative error of a pass in float32, in which weights and scores are rounded


@dataclass(frozen=True)
class DeviceBlock:
    """Samples ready for training in a place, with the attributes of `engines.memory.Block` as arrays of that place.

    y stays a NumPy array, since no pass reads it. `known` are the amplitudes of the last solve, where they have no
    parameters.
    """

    first: int
    features: DeviceFeatures
    losses: DualTerms
    y: Any
    weight: Any
    present: Any = None
    codes: Any = None
    views: Any = None
    host: Block | None = None
    known: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def place(self) -> Place:
        return self.features.place

    @property
    def precision(self) -> str:
        return self.features.dtype

    @property
    def n_samples(self) -> int:
        return self.features.n_samples

    def with_codes(self, codes: Any) -> DeviceBlock:
        found = in_blas_threads(lambda piece: self._placed(codes[piece]), list(ranges(self.n_samples, PIECE)))
        return replace(self, codes=self.place.xp.concat(found), views=None, known={})

    def _placed(self, codes: np.ndarray) -> Any:
        floats = codes.dtype.kind == "f"
        return self.place.asarray(np.ascontiguousarray(codes), self.features.dtype if floats else None)

    def amplitudes_of(self, amplitudes: Any, theta: np.ndarray, rows: slice) -> tuple[Any, Any]:
        """Parameters and amplitudes of some samples; amplitudes without parameters are kept from pass to pass."""
        parameters: Any = self.place.asarray(theta, self.precision)
        found = self._amplitudes(amplitudes, parameters)
        return parameters, found if rows == slice(0, self.n_samples) else found[rows, :]

    def _amplitudes(self, amplitudes: Any, parameters: Any) -> Any:
        known = self.known.get("amplitudes")
        if known is not None and known[0]() is amplitudes:
            return known[1]
        kind = gate_kind(self, amplitudes) if amplitudes.n_parameters else None
        if kind is not None:
            return gates_of(self, kind, parameters)
        found = amplitudes.values(parameters, self, slice(0, self.n_samples))
        found = self.place.xp.astype(found, getattr(self.place.xp, self.precision), copy=False)
        if not amplitudes.n_parameters:
            self.known["amplitudes"] = weakref.ref(amplitudes), found
        return found

    def theta_slopes(self, amplitudes: Any, theta: Any, rows: slice, a: Any, slopes: Any) -> Any:
        kind, xp = gate_kind(self, amplitudes), self.place.xp
        if kind is not None:
            return gates_pullback(self, kind, theta, a, slopes)
        return xp.astype(amplitudes.pullback(theta, self, rows, a, slopes), xp.float64, copy=False)

    def fused_pass(self, amplitudes: Any, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray) -> Sums | None:
        if not serves_pass(self, weights.shape[1]):
            return None
        rows, learns = slice(0, self.n_samples), amplitudes.n_parameters > 0
        parameters, a = self.amplitudes_of(amplitudes, theta, rows)
        loss, pulled, totals, by_amplitude = held_pass(self, a, weights, intercept, learns)
        slopes = self.theta_slopes(amplitudes, parameters, rows, a, by_amplitude) if learns else self.place.zeros(0)
        return loss, pulled, totals, slopes

    def on_host(self) -> Block:
        if self.host is not None:
            return self.host
        numpy = self.place.numpy
        losses = self.losses.mapped(lambda term: numpy(term).astype(np.float64))
        present, codes = (None if each is None else numpy(each) for each in (self.present, self.codes))
        weight = numpy(self.weight).astype(np.float64)
        return Block(self.first, FeaturesFromHost(self.features), losses, self.y, weight, present, codes, self.views)


class FeaturesFromHost(FeatureBlock):
    """Features on a device for functions of the host: only scores and their answers are transferred."""

    def __init__(self, placed: DeviceFeatures):
        self.placed, self.n_samples, self.offsets = placed, placed.n_samples, placed.offsets

    def sweep(self, weights: np.ndarray, respond: Respond) -> np.ndarray:
        place = self.placed.place
        scores = place.numpy(self.placed.scores(weights)).astype(np.float64)
        G, pulls = np.zeros_like(scores), False
        for rows in ranges(self.n_samples, TILE):
            own = respond(rows, scores[rows])
            if own is not None:
                G[rows], pulls = own, True
        if not pulls:
            return np.zeros(weights.shape)
        return np.asarray(place.numpy(self.placed.pull(place.asarray(G, self.placed.dtype))))

    def features(self, rows: slice) -> np.ndarray:
        return np.asarray(self.placed.place.numpy(self.placed.features(rows)))


def placed_block(block: Block, features: DeviceFeatures) -> DeviceBlock:
    place, dtype = features.place, features.dtype
    present = None if block.present is None else place.asarray(np.ascontiguousarray(block.present))
    losses = block.losses.mapped(lambda term: place.asarray(np.ascontiguousarray(term), dtype))
    weight = place.asarray(block.weight, dtype)
    host = None if type(block) is Block else block
    found = DeviceBlock(block.first, features, losses, block.y, weight, present, None, block.views, host)
    return found if block.codes is None else found.with_codes(block.codes)  # held, also where they were on demand


class OnDevice(Engine):
    """Blocks on a device, one after the other: the device itself works on all samples of a block at once."""

    takes_products = False

    def __init__(self, blocks: Sequence[Any], place: Place):
        self.blocks, self.place = list(blocks), place
        narrow = any(isinstance(block, DeviceBlock) and block.features.dtype == "float32" for block in self.blocks)
        self.rounding = ROUNDING if narrow else 0.0

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return fetched_at_once(added(self._results(function, arguments)), self.place)

    def replace(self, function: Callable[..., Any], *arguments: Any, keep: bool = True) -> OnDevice:
        return OnDevice(list(self._results(function, arguments)), self.place)

    def _results(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Iterator[Any]:
        own = getattr(function, "on_device", None)
        for block in self.blocks:
            if own is None and isinstance(block, DeviceBlock):
                yield self._placed(function(block.on_host(), *arguments), block.features)
            else:
                yield (own or function)(block, *arguments)

    def _placed(self, result: Any, features: DeviceFeatures) -> Any:
        if not isinstance(result, Block):
            return result
        if isinstance(result.features, FeaturesFromHost):
            return placed_block(result, result.features.placed)
        found = HeldFeatures.zeros(result.n_samples, result.features.offsets, self.place, features.dtype)
        given = result.features.features(slice(0, result.n_samples))
        for columns, span in zip(found.columns, found.spans, strict=True):
            found.matrix[:, columns] = self.place.asarray(np.ascontiguousarray(given[:, span]), features.dtype)
        return placed_block(result, found)


def fetched_at_once(result: Any, place: Place) -> Any:
    """A result with NumPy arrays for arrays of the device, all fetched in one transfer."""
    arrays: list[Any] = []
    _walk(result, place, arrays.append)
    if not arrays:
        return result
    xp = place.xp
    flat = place.numpy(xp.concat([xp.reshape(xp.astype(each, xp.float64, copy=False), (-1,)) for each in arrays]))
    sizes = [int(np.prod(each.shape)) for each in arrays]
    parts = iter(np.split(flat, np.cumsum(sizes)[:-1]))
    return _walk(result, place, lambda each: next(parts).reshape(tuple(each.shape)))


def _walk(result: Any, place: Place, visit: Callable[[Any], Any]) -> Any:
    if isinstance(result, tuple):
        return tuple(_walk(each, place, visit) for each in result)
    if is_dataclass(result) and not isinstance(result, type):
        names = [field.name for field in fields(result)]
        return type(result)(*(_walk(getattr(result, name), place, visit) for name in names))
    is_own = not place.is_host and hasattr(result, "shape") and not isinstance(result, (np.ndarray, np.generic))
    return visit(result) if is_own else result


# Making blocks

MOST_ROWS = 2**22  # samples of a block
WORK = 24  # further arrays of a pass with one number for each sample of a block and kernel
SHARE = 0.92  # share of the free memory that may be used


@dataclass(frozen=True)
class PlacedMap:
    """A feature map in a place; `source` is None for maps other than of landmarks, which the host computes.

    `centered`: the last raw value is a constant beside the kernel values (`features.nystroem.NystroemMap`).
    """

    map: FeatureMap
    place: Place
    source: Source | None
    dtype: str
    centered: bool = False

    @classmethod
    def of(cls, found: FeatureMap, place: Place, dtype: str) -> PlacedMap:
        """The map with its landmarks moved to the place; `dtype` is that of its features."""
        landmarks, raw = found.landmarks, raw_dtype(found, dtype)
        if landmarks is None:
            return cls(found, place, None, raw.name)
        there = landmarks.at(place)
        there.dtype = raw
        return cls(found, place, source_of(there, 0), raw.name, getattr(found, "centered", False))

    @property
    def is_computed(self) -> bool:
        """Whether raw values can be computed again in every pass; columns are held instead."""
        return isinstance(self.source, PointSource) or isinstance(self.map, ExactMap)

    @property
    def width(self) -> int:
        if isinstance(self.map, ExactMap):
            return self.map.n_raw
        return int(self.source.columns.features.shape[1]) if isinstance(self.source, PointSource) else 0

    def side(self, views: Views, present: np.ndarray) -> Any:
        return self.raw(views, present) if self.source is None else self.source.against(views, present).rows

    def raw(self, views: Views, present: np.ndarray) -> Any:
        place, xp = self.place, self.place.xp
        if self.source is None:
            return place.asarray(self.map.raw(views, present), self.dtype)
        found = self.source.against(views, present).block(None, None)
        found = xp.astype(found, getattr(xp, self.dtype), copy=False)
        return xp.concat([found, place.asarray(present[:, None], self.dtype)], axis=1) if self.centered else found

    def features(self, views: Views, present: np.ndarray, dtype: str) -> Any:
        """phi of samples, whitened in the type of raw values."""
        raw, xp = self.raw(views, present), self.place.xp
        phi = raw if self.map.whitening is None else raw @ self.place.asarray(self.map.whitening, self.dtype)
        return xp.astype(phi, getattr(xp, dtype), copy=False)

    def part(self, sides: list[Any], present: np.ndarray) -> Part:
        if self.source is None:
            return HeldPart(sides[0] if len(sides) == 1 else self.place.xp.concat(sides), self.dtype)
        constant = self.place.asarray(present, self.dtype) if self.centered else None
        return joined_sides(self.source, sides, self.dtype, constant)


def blocks_on_device(
    rows: Any, n_samples: int, preparation: Any, place: Place, storage: str = "auto"
) -> tuple[OnDevice, bool]:
    """An engine over `DeviceBlock`s, and whether features are held.

    `preparation` makes a `Block` of `Rows` on the host, without features. A `KernelMemoryError` says beforehand that
    the device has too little memory.
    """
    place, dtype = place.precisely(), np.dtype(preparation.dtype).name
    maps = [PlacedMap.of(found, place, dtype) for found in preparation.maps]
    sources = {name: each.source for name, each in zip(preparation.stack.names, maps, strict=True) if each.source}
    warn_of_host_kernels(list(sources), list(sources.values()))
    held = is_held(maps, n_samples, place, dtype, storage)
    make_features, prepare = held_features if held else recomputed_features, replace(preparation, maps=[])

    def block(part: Rows) -> DeviceBlock:
        pieces = list(ranges(part.n_samples, PIECE))
        host = joined(in_blas_threads(lambda piece: prepare(part.some(piece)), pieces), part.views)
        present = np.ones((part.n_samples, len(maps)), dtype=bool) if host.present is None else host.present
        return placed_block(host, make_features(maps, part, present, place, dtype))

    return OnDevice([block(part) for part in _in_large_blocks(rows) if part.n_samples], place), held


def is_held(maps: list[PlacedMap], n_samples: int, place: Place, dtype: str, storage: str) -> bool:
    """Whether features are held; a `KernelMemoryError` where neither way fits."""
    size, P = np.dtype(dtype).itemsize, len(maps)
    can_compute = all(each.is_computed for each in maps)
    wide = np.dtype("float64").itemsize // size  # of numbers of maps whose raw values are float64
    widths = sum((each.width + 2 + each.centered) * (wide if each.dtype == "float64" else 1) for each in maps)
    others = size * n_samples * (8 + max((each.width for each in maps), default=0))
    others += size * min(n_samples, MOST_ROWS) * P * WORK
    row = aligned(offsets_of([each.map for each in maps]))[1]
    held, computed = (size * n_samples * numbers + others for numbers in (row, 2 * widths))
    free = place.free_memory()
    if storage == "lazy" and not can_compute:
        raise ValueError(
            'storage="lazy" on a device needs kernels that are computed there (Linear, Polynomial, Gaussian, Laplacian '
            'and ChiSquared kernels of dense columns, with NystroemFeatures and missing="native"); use '
            'storage="dense", or device="cpu"'
        )
    if free is None:
        return storage != "lazy"
    if storage != "lazy" and held <= SHARE * free:
        return True
    if storage != "dense" and can_compute and computed <= SHARE * free:
        return False
    needed = held if storage == "dense" or not can_compute else computed
    way = "held" if needed == held else "computed again in each pass"
    remedy = 'storage="lazy", ' if storage == "dense" and can_compute else ""
    raise KernelMemoryError(
        f"explicit features of {n_samples} samples, {way}, need about {needed / 2**30:.2g} GiB on the device, and "
        f'{free / 2**30:.2g} GiB are free; use {remedy}fewer components, fewer samples or device="cpu"'
    )


def held_features(maps: list[PlacedMap], rows: Rows, present: np.ndarray, place: Place, dtype: str) -> HeldFeatures:
    found = HeldFeatures.zeros(len(present), offsets_of([each.map for each in maps]), place, dtype)

    def fill(piece: slice) -> None:
        views = rows.some(piece).views
        for m, (each, columns) in enumerate(zip(maps, found.columns, strict=True)):
            found.matrix[piece, columns] = each.features(views, present[piece, m], dtype)

    in_blas_threads(fill, list(ranges(rows.n_samples, PIECE)))
    return found


def recomputed_features(
    maps: list[PlacedMap], rows: Rows, present: np.ndarray, place: Place, dtype: str
) -> ComputedFeatures:
    def read(piece: slice) -> list[Any]:
        views = rows.some(piece).views
        return [each.side(views, present[piece, m]) for m, each in enumerate(maps)]

    sides = in_blas_threads(read, list(ranges(rows.n_samples, PIECE)))
    parts: list[Part] = []
    for m, each in enumerate(maps):
        parts.append(each.part([side[m] for side in sides], present[:, m]))
        for side in sides:
            side[m] = None  # frees what was joined
    whitenings = [each.map.whitening for each in maps]
    given = [np.eye(m.map.n_features) if white is None else white for m, white in zip(maps, whitenings, strict=True)]
    return computed_features(parts, [place.asarray(each, "float64") for each in given], rows.n_samples, place, dtype)


def joined(blocks: list[Block], views: Any) -> Block:
    first = blocks[0]
    if len(blocks) == 1:
        return first
    losses = first.losses.followed_by([each.losses for each in blocks[1:]])
    present, P = None, next((each.present.shape[1] for each in blocks if each.present is not None), 0)
    if P:
        whole = [np.ones((len(b.weight), P), dtype=bool) if b.present is None else b.present for b in blocks]
        present = np.concatenate(whole)
    y = None if first.y is None else np.concatenate([each.y for each in blocks])
    weight = np.concatenate([each.weight for each in blocks])
    return replace(first, losses=losses, y=y, weight=weight, present=present, views=views)


def _in_large_blocks(rows: Any) -> Iterator[Rows]:
    """Blocks of samples joined, up to `MOST_ROWS`: devices are fastest with many."""
    small: list[Rows] = []
    for each in rows:
        if small and sum(part.n_samples for part in small) + each.n_samples > MOST_ROWS:
            yield _joined_rows(small)
            small = []
        small.append(each)
    if small:
        yield _joined_rows(small)


def _joined_rows(parts: list[Rows]) -> Rows:
    """Consecutive blocks as one; joined in pairs, so that no sample is copied often."""
    while len(parts) > 1:
        pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
        parts = [pair[0] if len(pair) == 1 else pair[0].followed_by(pair[1]) for pair in pairs]
    return parts[0]


# Prediction

VALUES = 2**25  # raw values of new samples in memory at once
PENDING = 8  # pieces whose values are waited for at once

# The maps of each stack at the last place; no part of its state, so that a copy or a saved model is without them.
_PLACED: WeakKeyDictionary[Any, tuple[Place, list[Any], list[PlacedMap]]] = WeakKeyDictionary()


def maps_at(stack: Any, place: Place) -> list[PlacedMap]:
    """The feature maps of a stack in a place, in float64; the last ones are kept."""
    # A placed map depends on its kernel, which may be replaced by one with further ids, or on the map.
    known = _PLACED.get(stack)
    made_of = [found if found.landmarks is None else found.landmarks.kernels[0] for found in stack.maps]
    if known is None or known[0] != place or any(a is not b for a, b in zip(known[1], made_of, strict=True)):
        known = _PLACED[stack] = place, made_of, [PlacedMap.of(found, place, "float64") for found in stack.maps]
    return known[2]


def values_on_device(
    stack: Any, place: Place, views: Views, amplitudes: np.ndarray, present: np.ndarray, coef: np.ndarray
) -> np.ndarray:
    """sum_m a_m(x) <w_m, phi_m(x)> of new samples, computed in float64, whitening folded into w.

    Amplitudes, of shape (n_new, n_kernels), are 0 for kernels that are not to be computed; `coef` has the shape
    (n_features, n_outputs).
    """
    place = place.precisely()
    maps, offsets = maps_at(stack, place), stack.offsets
    used = [m for m in range(len(maps)) if amplitudes[:, m].any()]
    values = np.zeros((views.n_samples, coef.shape[1]))
    if not used or not views.n_samples:
        return values
    folded = {}
    for m in used:
        white, own = maps[m].map.whitening, coef[offsets[m] : offsets[m + 1]]
        folded[m] = place.asarray(own if white is None else white @ own, "float64")
    n_rows = max(1, VALUES // max(found.shape[0] for found in folded.values()))
    pending: list[tuple[slice, Any]] = []  # the host reads the next piece while a device is at work
    for rows in ranges(views.n_samples, n_rows):
        part = views if n_rows >= views.n_samples else views.rows(rows)
        shares = (
            place.asarray(amplitudes[rows, m], "float64")[:, None] * (maps[m].raw(part, present[rows, m]) @ folded[m])
            for m in used
        )
        pending.append((rows, added(shares)))
        if len(pending) == PENDING or rows.stop == views.n_samples:
            for done, found in pending:
                values[done] = place.numpy(found)
            pending.clear()
    return values
