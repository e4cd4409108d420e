"""Making blocks on a device: from samples as given to features that are held there, or computed in every pass.

Samples cross over in pieces; features are made where they are used. What a device has to hold is found out before
anything is made, for n samples, P kernels and numbers of `dtype`:

==========  =====================================================================================
held        n x the numbers of a row (`layout.aligned`)
computed    n x the numbers that each kernel compares, and a factor
both        n x targets and bounds, gating inputs, gates; work on the samples of one block
==========  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import Place
from ...features import FeatureMap
from ...features.base import raw_dtype
from ...features.exact import ExactMap
from ...kernels.resources import KernelMemoryError, in_blas_threads
from ...kernels.tiles.device import warn_of_host_kernels
from ...kernels.tiles.sources import PointSource, Source
from ...kernels.tiles.stack import source_of
from ...views import Views
from ..base import Rows, ranges
from .block import PIECE, DeviceBlock, joined, placed_block
from .computed import ComputedFeatures, HeldPart, Part
from .engine import OnDevice
from .fused import is_fused
from .held import HeldFeatures
from .landmarks import LandmarkFeatures, joined_sides
from .layout import aligned

MOST_ROWS = 2**22  # samples of a block
WORK = 24  # arrays of one number for each sample of a block and kernel, that a pass makes beside
SHARE = 0.92  # of the free memory, that may be used


@dataclass(frozen=True)
class PlacedMap:
    """A feature map in a place.

    Attributes
    ----------
    map : FeatureMap
    source : Source or None
        Of kernel values to landmarks; None for other maps, whose raw values are computed on the host.
    dtype : {"float32", "float64"}
        Of raw values, see `features.base`.
    centered : bool
        Whether the last raw value is a constant beside the kernel values, see `features.nystroem.NystroemMap`.
    """

    map: FeatureMap
    source: Source | None
    dtype: str
    centered: bool = False

    @classmethod
    def of(cls, found: FeatureMap, place: Place, dtype: str) -> PlacedMap:
        """The landmarks of a map move to the place; `dtype` is that of its features."""
        landmarks, raw = found.landmarks, raw_dtype(found, dtype)
        if landmarks is None:
            return cls(found, None, raw.name)
        there = landmarks.at(place)
        there.dtype = raw
        return cls(found, source_of(there, 0), raw.name, getattr(found, "centered", False))

    @property
    def whitening(self) -> np.ndarray:
        """That of the map, the identity where it has none."""
        return np.eye(self.map.n_features) if self.map.whitening is None else self.map.whitening

    @property
    def is_computed(self) -> bool:
        """Whether raw values can be computed in the place again and again, or are columns, which are held."""
        return isinstance(self.source, PointSource) or isinstance(self.map, ExactMap)

    @property
    def width(self) -> int:
        """Numbers of a sample that are compared, or held."""
        if isinstance(self.map, ExactMap):
            return self.map.n_raw
        return int(self.source.columns.features.shape[1]) if isinstance(self.source, PointSource) else 0

    def side(self, views: Views, present: np.ndarray, place: Place) -> Any:
        """What is compared of samples, a `Side`; raw values where these are held."""
        if self.source is None:
            return self.raw(views, present, place)
        return self.source.against(views, present).rows

    def raw(self, views: Views, present: np.ndarray, place: Place) -> Any:
        """Raw values of samples."""
        if self.source is None:
            return place.asarray(self.map.raw(views, present), self.dtype)
        found = self.source.against(views, present).block(None, None)
        found = place.xp.astype(found, getattr(place.xp, self.dtype), copy=False)
        return place.xp.concat([found, place.asarray(present[:, None], self.dtype)], axis=1) if self.centered else found

    def features(self, views: Views, present: np.ndarray, place: Place, dtype: str) -> Any:
        """phi of samples, whitened in the type of raw values."""
        raw = self.raw(views, present, place)
        phi = raw if self.map.whitening is None else raw @ place.asarray(self.map.whitening, self.dtype)
        return place.xp.astype(phi, getattr(place.xp, dtype), copy=False)

    def part(self, sides: list[Any], present: np.ndarray, place: Place) -> Part:
        """What is held of the samples of a block, from what was read of some after another."""
        if self.source is None:
            return HeldPart(sides[0] if len(sides) == 1 else place.xp.concat(sides), self.dtype)
        constant = place.asarray(present, self.dtype) if self.centered else None
        return joined_sides(self.source, sides, self.dtype, constant)


def blocks_on_device(
    rows: Any, n_samples: int, preparation: Any, place: Place, storage: str = "auto"
) -> tuple[OnDevice, bool]:
    """An engine over `DeviceBlock`s, and whether features are held.

    Parameters
    ----------
    rows : iterable of Rows
        All samples, in order.
    n_samples : int
        Of all.
    preparation : estimators.training.Preparation
        What makes a `Block` of `Rows` on the host: targets, losses and presence are its own; features are made here.
    place : Place
    storage : {"auto", "dense", "lazy"}
        Whether features are held, or computed again in each pass; "auto" holds them where they fit.

    Raises
    ------
    KernelMemoryError
        Where the device has too little memory, before anything is made.
    """
    place, dtype = place.precisely(), np.dtype(preparation.dtype).name
    maps = [PlacedMap.of(found, place, dtype) for found in preparation.maps]
    sources = {name: each.source for name, each in zip(preparation.stack.names, maps, strict=True) if each.source}
    warn_of_host_kernels(list(sources), list(sources.values()))
    held = is_held(maps, n_samples, place, dtype, storage)
    making = Making(maps, preparation, place, dtype, held)
    return OnDevice([making.block(part) for part in _of_size(rows) if part.n_samples], place), held


def is_held(maps: list[PlacedMap], n_samples: int, place: Place, dtype: str, storage: str) -> bool:
    """Whether features are held; a `KernelMemoryError` where neither way fits."""
    size, P = np.dtype(dtype).itemsize, len(maps)
    offsets = np.cumsum([0, *(each.map.n_features for each in maps)])
    can_compute = all(each.is_computed for each in maps)
    wide = np.dtype("float64").itemsize // size  # of numbers of maps whose raw values are float64
    widths = sum((each.width + 2 + each.centered) * (wide if each.dtype == "float64" else 1) for each in maps)
    others = size * n_samples * (8 + max((each.width for each in maps), default=0))
    others += size * min(n_samples, MOST_ROWS) * P * WORK
    held, computed = (size * n_samples * numbers + others for numbers in (aligned(offsets)[1], 2 * widths))
    free = place.free_memory()
    if storage == "lazy" and not can_compute:
        raise ValueError(
            'storage="lazy" on a device needs kernels that are computed there (Linear, Polynomial, Gaussian, Laplacian '
            'and ChiSquared kernels of dense columns, with NystroemFeatures); use storage="dense", or device="cpu"'
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


@dataclass(frozen=True)
class Making:
    """What makes the blocks of a device.

    Attributes
    ----------
    maps : list of PlacedMap
    preparation
        See `blocks_on_device`.
    place : Place
    dtype : {"float32", "float64"}
    held : bool
    """

    maps: list[PlacedMap]
    preparation: Any
    place: Place
    dtype: str
    held: bool

    def block(self, rows: Rows) -> DeviceBlock:
        """The block of some samples; pieces are read by several threads."""
        pieces = list(ranges(rows.n_samples, PIECE))
        prepare = replace(self.preparation, maps=[])
        host = joined(in_blas_threads(lambda piece: prepare(_some(rows, piece)), pieces), rows.views)
        present = np.ones((rows.n_samples, len(self.maps)), dtype=bool) if host.present is None else host.present
        return placed_block(host, (self._held if self.held else self._computed)(rows, present, pieces))

    def _held(self, rows: Rows, present: np.ndarray, pieces: list[slice]) -> HeldFeatures:
        offsets = np.cumsum([0, *(each.map.n_features for each in self.maps)])
        matrix = self.place.zeros((rows.n_samples, aligned(offsets)[1]), self.dtype)
        found = HeldFeatures(matrix, offsets, self.place, self.dtype)

        def fill(piece: slice) -> None:
            views = _part(rows.views, piece)
            for m, (each, columns) in enumerate(zip(self.maps, found.columns, strict=True)):
                matrix[piece, columns] = each.features(views, present[piece, m], self.place, self.dtype)

        in_blas_threads(fill, pieces)
        return found

    def _computed(self, rows: Rows, present: np.ndarray, pieces: list[slice]) -> ComputedFeatures:
        def read(piece: slice) -> list[Any]:
            views = _part(rows.views, piece)
            return [each.side(views, present[piece, m], self.place) for m, each in enumerate(self.maps)]

        sides = in_blas_threads(read, pieces)
        parts: list[Part] = []
        for m, each in enumerate(self.maps):
            parts.append(each.part([side[m] for side in sides], present[:, m], self.place))
            for side in sides:
                side[m] = None  # frees what was joined
        whitenings = [self.place.asarray(each.whitening, "float64") for each in self.maps]
        fused = is_fused(self.place) and self.dtype == "float32"
        make = LandmarkFeatures if fused else ComputedFeatures
        return make(parts, whitenings, rows.n_samples, self.place, self.dtype)


def _some(rows: Rows, piece: slice) -> Rows:
    y = None if rows.y is None else rows.y[piece]
    return Rows(rows.first + piece.start, _part(rows.views, piece), y, rows.weight[piece])


def _part(views: Views, piece: slice) -> Views:
    return views if piece == slice(0, views.n_samples) else views.rows(piece)


def _of_size(rows: Any) -> Iterator[Rows]:
    """Blocks of samples joined, up to `MOST_ROWS`: a device is at its best with many."""
    waiting: list[Rows] = []
    for each in rows:
        if waiting and sum(part.n_samples for part in waiting) + each.n_samples > MOST_ROWS:
            yield _joined(waiting)
            waiting = []
        waiting.append(each)
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[Rows]) -> Rows:
    """Consecutive blocks as one; joined in pairs, so that no sample is copied often."""
    while len(parts) > 1:
        pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
        parts = [pair[0] if len(pair) == 1 else _pair(*pair) for pair in pairs]
    return parts[0]


def _pair(first: Rows, second: Rows) -> Rows:
    y = None if first.y is None else np.concatenate([first.y, second.y])
    weight = np.concatenate([first.weight, second.weight])
    return Rows(first.first, first.views.followed_by(second.views), y, weight)
