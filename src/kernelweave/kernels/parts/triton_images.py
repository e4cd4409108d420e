"""Images of kernels on a CUDA device by fused programs, all kernels of a kind and width in one launch.

    images[i, m, r] = sum_j k_m(x_i, x_j) V[j, m, r]

Kernel values live in registers only: a tile of products on the tensor cores (TF32), their exponentials, and the sums
with V, in float32 within a tile and in float64 over tiles. Served are functions of feature vectors in float32
(`PointSource`); sources of other kinds, matrices and features in float64 are multiplied tile by tile (`Source.times`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...arrays import Place
from . import _triton
from .functions import PointFunction
from .packing import KERNEL_KINDS, PRODUCTS, Packed, in_units, pack, packed_width, rounded
from .sources import PointSource, Source

OUTPUTS = 4  # columns of V that one launch serves
CHUNK = 2**16  # columns that are copied side by side at a time
PROGRAMS = 1024  # columns are shared out among programs where there are fewer than so many
TILES = {  # rows, columns, warps, stages and the share of emulated exponentials (1 of so many; 0: none), by width
    16: (128, 128, 8, 3, 0),
    32: (128, 128, 8, 3, 0),
    64: (128, 128, 8, 3, 0),
    0: (128, 128, 8, 3, 0),  # products of several blocks of features
    -1: (64, 64, 4, 1, 0),  # distances
}
BLOCK_TILE = 64  # rows and columns of a tile of `FusedImages.block`


def serves(sources: Sequence[Source], place: Place) -> bool:
    """Whether there are sources for the fused programs, and a device and Triton to run them."""
    return place.is_cuda and find_spec("triton") is not None and any(is_served(source) for source in sources)


def is_served(source: Source) -> bool:
    """Whether a source is a function of feature vectors in float32."""
    return isinstance(source, PointSource) and source.rows.features.dtype == source.place.xp.float32


@dataclass(frozen=True)
class Group:
    """Kernels that one launch serves.

    Attributes
    ----------
    kernels : list of int
    function : PointFunction
        Of the first; kinds and degrees are those of all.
    rows, columns : Packed
    coef0, gain : tensor of shape (n_kernels,)
        In float32 and float64.
    """

    kernels: list[int]
    function: PointFunction
    rows: Packed
    columns: Packed
    coef0: Any
    gain: Any

    @property
    def n_features(self) -> int:
        """Numbers of a packed sample."""
        return self.rows.width

    @property
    def block(self) -> int:
        """Features that are multiplied at a time."""
        width = self.rows.width
        if self.function.kind not in PRODUCTS:
            return 16  # unused
        return width if width <= 64 else 64 if width % 64 == 0 else 32

    @property
    def tile(self) -> tuple[int, int, int, int, int]:
        """The entry of `TILES`."""
        if self.function.kind not in PRODUCTS:
            return TILES[-1]
        return TILES[self.rows.width if self.rows.width <= 64 else 0]


class FusedImages:
    """The fused programs over the sources of a stack.

    Features of the sources that are served move into one array for each group; the sources keep views of it.

    Parameters
    ----------
    sources : sequence of Source
    place : Place
    """

    def __init__(self, sources: Sequence[Source], place: Place):
        self.sources, self.place = sources, place
        kinds: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for m, source in enumerate(sources):
            if isinstance(source, PointSource) and is_served(source):
                function = source.function
                width = packed_width(function.kind, source.rows.features.shape[1])
                kinds[function.kind, function.degree, width].append(m)
        self.groups = [self._group(kernels) for kernels in kinds.values()]
        served = {m for group in self.groups for m in group.kernels}
        self.others = [m for m in range(len(sources)) if m not in served]

    def _group(self, kernels: list[int]) -> Group:
        members = [source for source in (self.sources[m] for m in kernels) if isinstance(source, PointSource)]
        same = all(source.rows is source.columns for source in members)
        functions = [source.function for source in members]
        xp, place = self.place.xp, self.place
        rows = self._packed(members, "rows")
        columns = rows if same else self._packed(members, "columns")
        coef0 = place.asarray(np.array([f.coef0 if f.kind == "polynomial" else 0.0 for f in functions]), "float32")
        gain = place.asarray(np.array([f.gain for f in functions]), "float64")
        for g, source in enumerate(members):
            n_features = source.rows.features.shape[1]
            source.rows = replace(source.rows, features=rows.own(g, n_features))
            source.columns = source.rows if same else replace(source.columns, features=columns.own(g, n_features))
        assert xp is not None
        return Group(kernels, functions[0], rows, columns, coef0, gain)

    def _packed(self, members: list[PointSource], side: str) -> Packed:
        sides = [getattr(source, side) for source in members]
        return pack([s.features for s in sides], [s.factor for s in sides], members[0].function.kind, self.place)

    def images(
        self, rows: np.ndarray | None, columns: np.ndarray | None, V: Any, kernels: Sequence[int] | None = None
    ) -> Any:
        """See `StackInParts.images`."""
        place = self.place
        n_rows = self.sources[0].n_rows if rows is None else len(rows)
        chosen = list(range(len(self.sources))) if kernels is None else list(kernels)
        at_rows = None if rows is None else place.positions(rows)
        at_columns = None if columns is None else place.positions(columns)
        found = place.zeros((len(self.sources), V.shape[2], n_rows))
        if n_rows and V.shape[0]:
            for group in self.groups:
                if any(m in chosen for m in group.kernels):
                    self._add_group(found, group, at_rows, at_columns, V, chosen)
            for m in self.others:
                if m in chosen:
                    found[m] = self.sources[m].times(rows, columns, V[:, m, :]).T
        return found.permute(2, 0, 1)

    def _add_group(self, found: Any, group: Group, rows: Any, columns: Any, V: Any, chosen: list[int]) -> None:
        """Add the images of a group; kernels that are not chosen are left out of it."""
        kept = [g for g, m in enumerate(group.kernels) if m in chosen]
        members = [group.kernels[g] for g in kept]
        n, step = V.shape[0], group.tile[1]
        for first in range(0, n, CHUNK):
            last = min(n, first + CHUNK)
            side = group.columns.columns(columns, first, last, step)
            scaled = self.place.zeros((len(group.kernels), V.shape[2], side.n_samples))
            scaled[:, :, : last - first] = (
                V[first:last].index_select(1, self.place.positions(np.array(group.kernels))).permute(1, 2, 0)
            )
            scaled *= (side.factor * group.gain[:, None])[:, None, :]
            scaled = scaled.float()
            for r in range(0, V.shape[2], OUTPUTS):
                part = self._launch(group, side, rows, scaled[:, r : r + OUTPUTS].contiguous(), kept)
                factor = group.rows.factor if rows is None else group.rows.factor.index_select(1, rows)
                if len(kept) < len(group.kernels):
                    factor = factor[kept]
                part *= factor[:, None, :]
                if len(members) == found.shape[0]:
                    found[:, r : r + OUTPUTS] += part
                else:
                    for g, m in enumerate(members):
                        found[m, r : r + OUTPUTS] += part[g]

    def _launch(self, group: Group, side: Packed, rows: Any, V: Any, kept: list[int]) -> Any:
        """sum_j k_g(x_i, z_j) V[g, r, j] for the kernels `kept` of a group, of shape (n_kept, n_outputs, n_rows)."""
        left, right = group.rows.features, side.features
        n_rows = group.rows.n_samples if rows is None else rows.shape[0]
        BM, BN, warps, stages, emulate = group.tile
        kind = KERNEL_KINDS[group.function.kind]
        tiles, n_kernels = math.ceil(n_rows / BM), len(kept)
        wanted = min(math.ceil(PROGRAMS / (tiles * n_kernels)), side.n_samples // BN)
        per_split = BN * math.ceil(side.n_samples / BN / wanted)
        splits = math.ceil(side.n_samples / per_split)
        members = self.place.positions(np.array(kept))
        out = self.place.xp.empty(
            (splits, n_kernels, V.shape[1], n_rows), dtype=self.place.xp.float64, device=self.place.device
        )
        _triton.image_tiles[(tiles, n_kernels, splits)](
            left, right, V if rows is None else rows, V, out, group.coef0, members, n_rows,
            side.n_samples, per_split, left.shape[1] * left.shape[2], right.shape[1] * right.shape[2], group.n_features, group.rows.n_samples,
            side.n_samples,
            KIND=kind, DEGREE=max(1, group.function.degree if kind == 1 else 1), WIDTH=group.n_features,
            BLOCK=group.block, OUTPUTS=V.shape[1], INDEXED=rows is not None, EMULATE=emulate, BM=BM, BN=BN,
            STAGES=stages, num_warps=warps,
        )  # fmt: skip
        return out[0] if splits == 1 else out.sum(dim=0)

    def block(self, rows: np.ndarray, left: Any, weights: np.ndarray) -> Any:
        """sum_m weights[m] left[i, m] k_m(x_i, x_j) left[j, m] among some samples, a tensor of float64.

        Parameters
        ----------
        rows : ndarray of int
        left : tensor of shape (n_rows, n_kernels), float64
            What these samples are multiplied by in each kernel.
        weights : ndarray of shape (n_kernels,)
        """
        place, n = self.place, len(rows)
        index = place.positions(rows)
        size = BLOCK_TILE * math.ceil(n / BLOCK_TILE)
        total = place.zeros((size, size))
        for group in self.groups:
            side = group.rows.columns(index, 0, n, BLOCK_TILE)
            plain = replace(group.rows, kind="linear" if group.function.kind == "gaussian" else group.function.kind)
            first = plain.columns(index, 0, n, BLOCK_TILE)
            factor = side.factor.clone()
            factor[:, :n] *= left[:, group.kernels].T
            w = place.asarray(np.asarray(weights, dtype=float)[group.kernels]) * group.gain
            tiles = size // BLOCK_TILE
            kind = KERNEL_KINDS[group.function.kind]
            _triton.block_tiles[(tiles, tiles)](
                first.features, side.features, (factor * w[:, None]).float(), factor.float(), total, group.coef0,
                len(group.kernels), size, group.n_features,
                KIND=kind, DEGREE=max(1, group.function.degree if kind == 1 else 1), WIDTH=group.n_features,
                BLOCK=group.block, BM=BLOCK_TILE, BN=BLOCK_TILE, num_warps=4,
            )  # fmt: skip
        found = total[:n, :n]
        for m in self.others:
            if weights[m] != 0.0:
                values = place.xp.astype(self.sources[m].block(rows, rows), place.xp.float64)
                found += weights[m] * left[:, m][:, None] * values * left[:, m]
        return 0.5 * (found + found.T)


def prepared(source: PointSource) -> PointSource:
    """A source with features in units, rounded once to TF32 where products are taken of them."""
    function, factor = in_units(source.function)
    place = source.place

    def side(old: Any) -> Any:
        return replace(old, features=rounded(old.features * factor, function.kind, place))

    rows = side(source.rows)
    return PointSource(function, rows, rows if source.rows is source.columns else side(source.columns), place)
