"""Kernels on a CUDA device by fused programs, all kernels of a kind and width in one launch, and what fits there.

    images[i, m, r] = sum_j k_m(x_i, x_j) V[j, m, r]

Kernel values live in registers only: a tile of products on the tensor cores (TF32), their exponentials, and the sums
with V, in float32 within a tile and in float64 over tiles. The programs compute functions of feature vectors in float32
(`PointSource`); other sources, matrices and features in float64 are multiplied tile by tile (`Source.times`).

Programs read feature vectors in units, rounded once to TF32, side by side. Units are such that exponents are powers
of 2:

============  ======================  =========================================
kind          unit                    k(x, z), in units
============  ======================  =========================================
gaussian      scale / (2 log2 e)^1/2  2^(<x, z> - ||x||^2 / 2 - ||z||^2 / 2)
laplacian     scale / log2 e          2^-||x - z||_1
chi-squared   scale / log2 e          2^-sum_j (x_j - z_j)^2 / (x_j + z_j)
============  ======================  =========================================

For a Gaussian six more columns make the exponent one product of two rows, each norm as a sum of three numbers of TF32:

    row      x, -||x||^2 / 2 (3 columns), 1, 1, 1
    column   z, 1, 1, 1, -||z||^2 / 2 (3 columns)

Memory of a solve in tiles, for n samples and P kernels:

==================  =======================================================================================
features            n x the numbers of a packed sample (`packed_width`), and those before packing
matrices            all entries, of kernels that look values up by id
images              a few arrays of n x P in float64
vectors             a dozen and a half arrays of n in float64: coefficients, bounds, gradient, what is chosen
columns, a block    one chunk of columns (`CHUNK`), and blocks of a working set
==================  =======================================================================================
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._warnings import warn
from ...arrays import Place
from ..resources import KernelMemoryError
from . import functions
from .functions import PRODUCTS, SERVED, PointFunction, to_tf32
from .sources import PointSource, Side, Source, declared

if TYPE_CHECKING:
    from ...views import Views
    from ..base import Kernel
    from ..stack import KernelStack

NORMS = 6  # columns of the norms of a Gaussian
FEW_OUTPUTS, OUTPUTS = 4, 16  # columns of V that one launch serves: up to so many by sums, else by matrix products
CHUNK = 2**16  # columns that are copied side by side at a time
PROGRAMS = 1024  # columns are shared out among programs where there are fewer than so many
# Rows and columns of a tile, warps and stages, by the width of packed samples: 0 for several blocks of features, -1 for
# distances. The fastest of a dozen each on an H200.
TILES = {16: (64, 128, 4, 2), 32: (64, 128, 4, 2), 64: (128, 128, 8, 2), 0: (128, 128, 8, 3), -1: (128, 64, 4, 1)}
MANY_TILE = (
    128,
    64,
    8,
    2,
)  # the same for more than `FEW_OUTPUTS` columns of V, where a sample is one block of features
BLOCK_TILE = 64  # rows and columns of a tile of `DeviceImages.block`
# Arrays of a solve, see the table of the module
IMAGES = 3
VECTORS = 18
BLOCKS = 3 * 2048**2 * 8


def packed_width(kind: str, n_features: int) -> int:
    """Numbers that a packed sample takes: powers of 2 from 16 to 64, then multiples of 32; features for a distance."""
    if kind not in PRODUCTS:
        return n_features
    needed = n_features + (NORMS if kind == "gaussian" else 0)
    return next((width for width in (16, 32, 64) if needed <= width), 32 * math.ceil(needed / 32))


@dataclass(frozen=True)
class Packed:
    """Samples of several kernels of one kind and width, and what rows and columns are multiplied by.

    `features` are float32 of shape (n_kernels, n, width), or (n_kernels, width, n) for distances; `factor` is float64
    of shape (n_kernels, n).
    """

    features: Any
    factor: Any
    kind: str

    @property
    def n_samples(self) -> int:
        return self.factor.shape[1]

    @property
    def width(self) -> int:
        return self.features.shape[2 if self.kind in PRODUCTS else 1]

    def own(self, g: int, n_features: int) -> Any:
        return self.features[g, :, :n_features] if self.kind in PRODUCTS else self.features[g, :n_features].T


def pack(features: list[Any], factors: list[Any], kind: str, place: Place) -> Packed:
    """Pack the features (in units, rounded) of kernels of one kind and width, which leave the list one by one."""
    width = packed_width(kind, features[0].shape[1])
    n, count = features[0].shape[0], len(features)
    found = place.zeros((count, n, width) if kind in PRODUCTS else (count, width, n), "float32")
    for g in range(count):
        values = features.pop(0)
        if kind in PRODUCTS:
            found[g, :, : values.shape[1]] = values
        else:
            found[g, : values.shape[1]] = values.T
        if kind == "gaussian":
            _write_norms(found[g], values, place)
    return Packed(found, place.xp.stack(factors), kind)


def _write_norms(found: Any, values: Any, place: Place) -> None:
    """-||x||^2 / 2 as three numbers of TF32, then three ones, in the last columns of a Gaussian's rows."""
    xp, end = place.xp, found.shape[1]
    step = 2**20  # rows at a time: squares are in float64
    for first in range(0, found.shape[0], step):
        rows = slice(first, first + step)
        rest = -0.5 * xp.sum(xp.astype(values[rows], xp.float64) ** 2, axis=1)
        for column in range(end - NORMS, end - 3):
            part = to_tf32(xp.astype(rest, xp.float32))
            found[rows, column] = part
            rest = rest - xp.astype(part, xp.float64)
    found[:, end - 3 :] = 1.0


def is_served(source: Source) -> bool:
    if not isinstance(source, PointSource) or source.function.kind not in SERVED:
        return False
    narrow = source.place.xp.float32
    return source.rows.features.dtype == narrow and source.columns.features.dtype == narrow


@dataclass(frozen=True)
class Group:
    """Kernels that one launch serves: their positions in the stack and in the group, their sources, and tensors."""

    kernels: list[int]
    members: list[PointSource]
    positions: Any
    order: Any
    rows: Packed
    columns: Packed
    coef0: Any
    gain: Any

    @property
    def function(self) -> PointFunction:
        return self.members[0].function

    @property
    def is_centred(self) -> bool:
        return self.members[0].columns.means is not None

    @property
    def options(self) -> dict[str, int]:
        kind, width = SERVED.index(self.function.kind), self.rows.width
        if self.function.kind not in PRODUCTS:
            return {"KIND": kind, "DEGREE": 1, "WIDTH": 0, "BLOCK": 16}
        block = width if width <= 64 else 64 if width % 64 == 0 else 32
        return {"KIND": kind, "DEGREE": self.function.degree, "WIDTH": width, "BLOCK": block}

    def tile(self, n_outputs: int) -> tuple[int, int, int, int]:
        if self.function.kind not in PRODUCTS:
            return TILES[-1]
        if self.rows.width > 64:
            return TILES[0]
        return TILES[self.rows.width] if n_outputs <= FEW_OUTPUTS else MANY_TILE


class DeviceImages:
    """Products with the sources of a stack in another place than the host, by the fused programs where they serve.

    Features of the sources that are served move into one array for each group; the sources keep views of it.
    """

    def __init__(self, sources: Sequence[Source], place: Place):
        self.sources, self.place, is_fused = sources, place, functions.is_fused(place)
        kinds: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for m, source in enumerate(sources):
            if is_fused and is_served(source) and isinstance(source, PointSource):
                width = packed_width(source.function.kind, source.rows.features.shape[1])
                centred = source.columns.means is not None
                kinds[source.function.kind, source.function.degree, width, centred].append(m)
        self.groups = [self._group(kernels) for kernels in kinds.values()]
        served = {m for kernels in kinds.values() for m in kernels}
        self.others = [m for m in range(len(sources)) if m not in served]

    @cached_property
    def programs(self) -> Any:
        from . import _triton  # imports Triton

        return _triton

    def _group(self, kernels: list[int]) -> Group:
        members = [source for source in (self.sources[m] for m in kernels) if isinstance(source, PointSource)]
        place, kind = self.place, members[0].function.kind
        same = all(source.rows is source.columns for source in members)
        rows, sides = _packed([source.rows for source in members], kind, place)
        columns, others = (rows, sides) if same else _packed([source.columns for source in members], kind, place)
        for source, left, right in zip(members, sides, others, strict=True):
            source.rows, source.columns = left, right
        coef0 = [source.function.coef0 if kind == "polynomial" else 0.0 for source in members]
        return Group(
            kernels,
            members,
            place.positions(np.array(kernels)),
            place.positions(np.arange(len(kernels))),
            rows,
            columns,
            place.asarray(np.array(coef0), "float32"),
            place.asarray(np.array([source.function.gain for source in members]), "float64"),
        )

    def images(self, rows: np.ndarray | None, columns: np.ndarray | None, V: Any, kernels: Sequence[int]) -> Any:
        place, n_kernels, chosen = self.place, len(self.sources), set(kernels)
        n_rows = self.sources[0].n_rows if rows is None else len(rows)
        if not n_rows or not V.shape[0]:
            return place.zeros((n_rows, n_kernels, V.shape[2]))
        if len(self.groups) == 1 and len(chosen) == n_kernels and not self.others:
            return self._images(self.groups[0], self.groups[0].kernels, rows, columns, V).permute(2, 0, 1)
        found = place.zeros((n_kernels, V.shape[2], n_rows))
        for group in self.groups:
            some = [m for m in group.kernels if m in chosen]
            if some:
                found[place.positions(np.array(some))] = self._images(group, some, rows, columns, V)
        for m in self.others:
            if m in chosen:
                found[m, ...] = self.sources[m].times(rows, columns, V[:, m, :]).T
        return place.xp.permute_dims(found, (2, 0, 1))

    def _images(
        self, group: Group, kernels: list[int], rows: np.ndarray | None, columns: np.ndarray | None, V: Any
    ) -> Any:
        left, right = (None if index is None else self.place.positions(index) for index in (rows, columns))
        V = V.contiguous()
        everything = len(kernels) == len(group.kernels)
        order = group.order if everything else self.place.positions(np.array([group.kernels.index(m) for m in kernels]))
        found: list[Any] = []
        for output in range(0, V.shape[2], OUTPUTS):
            n_outputs = min(OUTPUTS, V.shape[2] - output)
            width = n_outputs if n_outputs <= FEW_OUTPUTS else OUTPUTS
            total: Any = None
            for first in range(0, V.shape[0], CHUNK):
                part = self._part(group, order, left, right, V, first, output, width)
                total = part if total is None else total.add_(part)
            found.append(total[:, :n_outputs])
        images = found[0] if len(found) == 1 else self.place.xp.concat(found, axis=1)
        if group.is_centred:
            for image, m in zip(images, kernels, strict=True):
                source = self.sources[m]
                one, other = self._constants(source.rows, left), self._constants(source.columns, right)
                image[...] = source.normalized_products(image.T, one, other, other.factor[:, None] * V[:, m, :]).T
        return images

    def _constants(self, side: Side, index: Any) -> Side:
        take = self.place.take
        return Side(None, take(side.factor, index), np.empty(0), take(side.means, index))

    def _part(
        self, group: Group, order: Any, rows: Any, columns: Any, V: Any, first: int, output: int, n_outputs: int
    ) -> Any:
        xp, device = self.place.xp, self.place.device
        BM, BN, warps, stages = group.tile(n_outputs)
        n_tiles = math.ceil(min(CHUNK, V.shape[0] - first) / BN)
        right, scaled = self._gathered(
            group, group.columns, columns, V, group.gain, n_tiles * BN, first=first, output=output, n_outputs=n_outputs
        )
        peak: Any = None
        if n_outputs > FEW_OUTPUTS:
            largest = xp.clip(xp.max(xp.abs(scaled), axis=2), min=float(np.finfo(np.float32).tiny))
            scaled = scaled / largest[:, :, None]
            peak = xp.astype(self.place.take(largest, order), xp.float64)[:, :, None]
        n_rows = group.rows.n_samples if rows is None else rows.shape[0]
        tiles, n_kernels = math.ceil(n_rows / BM), order.shape[0]
        per_split = math.ceil(n_tiles / min(math.ceil(PROGRAMS / (tiles * n_kernels)), n_tiles))
        splits = math.ceil(n_tiles / per_split)
        out = xp.empty((splits, n_kernels, n_outputs, n_rows), dtype=xp.float64, device=device)
        self.programs.image_tiles[(tiles, n_kernels, splits)](
            group.rows.features, right, order if rows is None else rows, scaled, group.rows.factor, out, group.coef0,
            order, n_rows, group.rows.n_samples, n_tiles, per_split, group.rows.width, **group.options,
            OUTPUTS=n_outputs, INDEXED=rows is not None, SCALED=not group.is_centred, BM=BM, BN=BN, num_warps=warps,
            num_stages=stages,
        )  # fmt: skip
        found = out[0] if splits == 1 else out.sum(dim=0)
        return found if n_outputs <= FEW_OUTPUTS else found.mul_(peak)

    def _gathered(
        self, group: Group, packed: Packed, index: Any, V: Any, gain: Any, size: int, *, first: int = 0,
        output: int = 0, n_outputs: int = 1, swapped: bool = True,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Copies of `size` samples from a first on, and what they are multiplied by; see `_triton.gathered_tiles`."""
        xp, device, count = self.place.xp, self.place.device, len(group.kernels)
        shape = (count, size, packed.width) if packed.kind in PRODUCTS else (count, packed.width, size)
        features = xp.empty(shape, dtype=xp.float32, device=device)
        scaled = xp.empty((count, n_outputs, size), dtype=xp.float32, device=device)
        self.programs.gathered_tiles[(size // BLOCK_TILE, count)](
            packed.features, packed.factor, gain, group.positions, group.order if index is None else index, V, features,
            scaled, packed.n_samples, V.shape[0], first, output, size // BLOCK_TILE, packed.width, V.shape[1],
            V.shape[2], **group.options, OUTPUTS=n_outputs, INDEXED=index is not None,
            SWAPPED=swapped and packed.kind == "gaussian", B=BLOCK_TILE, num_warps=4,
        )  # fmt: skip
        return features, scaled

    def block(self, rows: np.ndarray, left: np.ndarray, weights: np.ndarray, kernels: Sequence[int]) -> np.ndarray:
        place, n, there, chosen = self.place, len(rows), self.place.asarray(left, "float64"), set(kernels)
        total, others = None, list(self.others)
        for group in self.groups:
            if group.is_centred:
                others += group.kernels
                continue
            index, size, V = (
                place.positions(rows),
                BLOCK_TILE * math.ceil(n / BLOCK_TILE),
                there.contiguous()[:, :, None],
            )
            w = place.asarray(np.array([weights[m] if m in chosen else 0.0 for m in group.kernels]))
            gain = group.gain * w
            first, before = self._gathered(group, group.rows, index, V, gain, size, swapped=False)
            second, after = self._gathered(group, group.rows, index, V, place.xp.ones_like(gain), size)
            added = total is not None
            if not added:
                total = place.xp.empty((size, size), dtype=place.xp.float64, device=place.device)
            self.programs.block_tiles[(size // BLOCK_TILE, size // BLOCK_TILE)](
                first, second, before, after, total, group.coef0, len(group.kernels), size, group.rows.width,
                **group.options, ADDED=added, BM=BLOCK_TILE, BN=BLOCK_TILE, num_warps=4,
            )  # fmt: skip
        found = place.zeros((n, n)) if total is None else total[:n, :n]
        for m in others:
            if m in chosen and weights[m] != 0.0:
                values = place.xp.astype(self.sources[m].block(rows, rows), place.xp.float64)
                found += float(weights[m]) * there[:, m][:, None] * values * there[:, m]
        return np.asarray(place.numpy(0.5 * (found + found.T)))


def _packed(sides: list[Side], kind: str, place: Place) -> tuple[Packed, list[Side]]:
    """The sides of several kernels packed, and the same sides with views of the pack; what is packed already stays."""
    known: list[tuple[Packed, int]] = [side.cache["packed"] for side in sides if "packed" in side.cache]
    if len(known) == len(sides):
        packed = known[0][0]
        if [(id(each), g) for each, g in known] == [(id(packed), g) for g in range(len(packed.factor))]:
            return packed, sides
    widths = [side.features.shape[1] for side in sides]
    packed = pack([side.features for side in sides], [side.factor for side in sides], kind, place)
    own = [
        replace(side, features=packed.own(g, width), cache={"packed": (packed, g)})
        for g, (side, width) in enumerate(zip(sides, widths, strict=True))
    ]
    return packed, own


def check_device_memory(stack: KernelStack) -> None:
    free = stack.place.free_memory()
    if free is None:
        return
    n, used = stack.reference.n_samples, np.flatnonzero(stack.active).tolist()
    sizes = [_device_size(stack.kernels[m], stack.reference, n, stack.dtype) for m in used]
    features = sum(size for size, _ in sizes)
    others = 8 * n * (IMAGES * len(used) + VECTORS)
    passing = 4 * CHUNK * sum(width for _, width in sizes) + BLOCKS
    needed = features + others + passing
    if needed > free:
        count = f"{len(used)} kernels" if len(used) > 1 else "a kernel"
        raise KernelMemoryError(
            f"{count} over {n} samples in parts need about {_shown(needed)} on the device (features "
            f"{_shown(features)}, images and vectors {_shown(others)}, columns and blocks {_shown(passing)}), and "
            f'{_shown(free)} are free; use device="cpu", fewer samples or fewer kernels'
        )


def _device_size(kernel: Kernel, views: Views, n: int, dtype: np.dtype) -> tuple[int, int]:
    """Bytes that a kernel keeps on a device, and the numbers of a packed sample."""
    join = declared(kernel, "join_function")
    if join is not None:
        first, second = (_device_size(each, views, n, dtype) for each in (join.first, join.second))
        return first[0] + second[0], first[1] + second[1]
    matrix = declared(kernel, "matrix_function")
    if matrix is not None:
        return matrix.lookup.K.size * dtype.itemsize + 24 * n, 1
    function = declared(kernel, "point_function")
    if function is None:  # computed on the host
        return 16 * n, 0
    plain = getattr(kernel, "transformer", None) is None
    n_features = len(kernel.columns()) if plain else kernel.read(views)[0].shape[1]
    if dtype.itemsize > 4 or function.kind not in SERVED:
        return n * (8 * n_features + 16), n_features
    width = packed_width(function.kind, n_features)
    return n * (4 * (width + n_features) + 16), width


def _shown(size: float) -> str:
    return f"{size / 2**30:.2g} GiB"


def warn_of_host_kernels(names: Sequence[str], sources: Sequence[Source]) -> None:
    staying = [repr(name) for name, source in zip(names, sources, strict=True) if source.on_host]
    if staying:
        what = f"kernel {staying[0]} is" if len(staying) == 1 else f"kernels {', '.join(staying)} are"
        warn(
            f"the {what} computed on the CPU and moved to the device, which takes longer; Linear, Polynomial, "
            "Gaussian, Laplacian and ChiSquared kernels of dense columns, and Precomputed ones, are computed there"
        )
