"""Features of a block in a place: held there, or computed again in every pass from what is held of each sample.

`HeldFeatures` are a matrix with a row for each sample. The columns of a kernel begin at a multiple of 8, so that the
programs of a CUDA device read 16 bytes at a time; the columns between are 0. `held_pass` is a pass of one output in
float32 by one program, which reads them once.

`ComputedFeatures` fold the whitening into the weights, in float64,

    scores    raw_m(x) (whitening_m w_m)            pull    whitening_m' sum_i G_im raw_m(x_i)

so that a pass needs raw values only: kernel values to landmarks (`SourcePart`), or columns (`HeldPart`).
`LandmarkFeatures` compute kernels that are functions of products of feature vectors in float32 by programs of a CUDA
device, one output at a time, kernels of one kind and width in one launch; what these leave out goes tile by tile.

Linear gates are two programs, which replace some thirty operations of torch on small rows. They serve gates of samples
that have all views, with scores <v_m, x> + v_m0 of a few codes x; amplitudes name such gates by `linear_kind`. All
others are computed by the amplitudes themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from ...arrays import Place
from ...kernels.tiles.sources import PointSource, Side, Source
from ...machines.base import TERMS
from ..base import ranges, spans_of
from ..memory import FeatureBlock, Respond

if TYPE_CHECKING:
    from .engine import DeviceBlock


class DeviceFeatures(FeatureBlock):
    """Features of all kernels of a block, in a place; arrays that methods return are of that place."""

    place: Place
    dtype: str

    @property
    def n_kernels(self) -> int:
        return len(self.offsets) - 1

    @property
    def spans(self) -> list[slice]:
        return spans_of(self.offsets)

    @abstractmethod
    def scores(self, weights: np.ndarray) -> Any:
        """s, of shape (n_samples, n_kernels, n_outputs), from weights (n_features, n_outputs)."""

    @abstractmethod
    def pull(self, G: Any) -> Any:
        """sum_i G[i, m, r] phi_m(x_i), of shape (n_features, n_outputs), float64."""

    def sweep(self, weights: np.ndarray, respond: Respond) -> Any:
        G = respond(slice(0, self.n_samples), self.scores(weights))
        return self.place.zeros(weights.shape) if G is None else self.pull(G)


ALIGNED = 8  # numbers
LEAST_WIDTH = 128  # columns of a kernel, filled up, that a program takes


def aligned(offsets: np.ndarray) -> tuple[np.ndarray, int]:
    """Where the columns of each kernel begin in a row, and the numbers of a row.

    >>> aligned(np.array([0, 5, 21]))
    (array([0, 8]), 24)
    """
    places = np.cumsum([0, *(ALIGNED * -(-np.diff(offsets) // ALIGNED))])
    return places[:-1], int(max(places[-1], ALIGNED))


class Layout:
    """The columns of a row as a program takes them.

    `columns` has the column of each weight, `padded` and `width` are powers of 2 from the number of kernels and the
    columns of the widest one on, and `places` says where each weight's column is among `padded` x `width`. `starts` and
    `widths` are those of each kernel's columns, including the columns of zeros that fill them up.
    """

    def __init__(self, offsets: np.ndarray, place: Place):
        widths, (starts, _) = np.diff(offsets), aligned(offsets)
        self.columns = np.concatenate([a + np.arange(width) for a, width in zip(starts, widths, strict=True)])
        self.padded = 1 << (len(widths) - 1).bit_length()
        self.width = max(LEAST_WIDTH, 1 << (int(widths.max(initial=1)) - 1).bit_length())
        places = [m * self.width + np.arange(width) for m, width in enumerate(widths)]
        self.places = place.positions(np.concatenate(places))
        self.starts, self.widths = place.positions(starts), place.positions(ALIGNED * -(-widths // ALIGNED))


PULLED_TOGETHER = 4096  # samples whose pull is summed in the type of the features


class HeldFeatures(DeviceFeatures):
    """Features as a matrix in a place, in the layout of `aligned`."""

    def __init__(self, matrix: Any, offsets: np.ndarray, place: Place, dtype: str):
        self.matrix, self.offsets, self.place, self.dtype = matrix, offsets, place, dtype
        self.n_samples = matrix.shape[0]
        self.starts, self.step = aligned(offsets)

    @classmethod
    def zeros(cls, n_samples: int, offsets: np.ndarray, place: Place, dtype: str) -> HeldFeatures:
        return cls(place.zeros((n_samples, aligned(offsets)[1]), dtype), offsets, place, dtype)

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.offsets, self.place)

    @property
    def columns(self) -> list[slice]:
        widths = np.diff(self.offsets)
        return [slice(int(a), int(a + width)) for a, width in zip(self.starts, widths, strict=True)]

    def scores(self, weights: np.ndarray) -> Any:
        xp, w = self.place.xp, self.place.asarray(weights, self.dtype)
        pairs = zip(self.columns, self.spans, strict=True)
        return xp.stack([self.matrix[:, columns] @ w[span, :] for columns, span in pairs], axis=1)

    def pull(self, G: Any) -> Any:
        xp, found = self.place.xp, []
        n_tiles = self.n_samples // PULLED_TOGETHER
        whole = n_tiles * PULLED_TOGETHER
        for m, columns in enumerate(self.columns):
            rest = self.matrix[whole:, columns]
            total = xp.astype(rest.T @ G[whole:, m, :], xp.float64)
            if n_tiles:
                tiles = xp.reshape(self.matrix[:whole, :], (n_tiles, PULLED_TOGETHER, self.step))[:, :, columns]
                pulls = xp.reshape(G[:whole, m, :], (n_tiles, PULLED_TOGETHER, G.shape[2]))
                parts = xp.matmul(xp.matrix_transpose(tiles), pulls)
                total = total + xp.sum(xp.astype(parts, xp.float64), axis=0)
            found.append(total)
        return xp.concat(found)

    def features(self, rows: slice) -> Any:
        return self.place.xp.concat([self.matrix[rows, columns] for columns in self.columns], axis=1)


TILE_VALUES = 2**25  # raw values in memory at once


class Part(ABC):
    """What is held of the samples of a block for one kernel, and raw values from it."""

    dtype: str

    @abstractmethod
    def raw(self, rows: slice) -> Any:
        """Raw values of some samples, an array of the place of shape (n_rows, n_raw)."""


class HeldPart(Part):
    """Raw values that are held, such as the columns of a linear kernel, of shape (n_samples, n_raw)."""

    def __init__(self, values: Any, dtype: str):
        self.values, self.dtype = values, dtype

    def raw(self, rows: slice) -> Any:
        return self.values[rows, ...]


class ComputedFeatures(DeviceFeatures):
    """Features that are computed in every pass; whitenings, of shape (n_raw, n_features), are float64."""

    def __init__(self, parts: list[Part], whitenings: list[Any], n_samples: int, place: Place, dtype: str):
        self.parts, self.whitenings, self.n_samples = parts, whitenings, n_samples
        self.place, self.dtype = place, dtype
        self.offsets = np.cumsum([0, *(each.shape[1] for each in whitenings)])

    def folded(self, weights: np.ndarray) -> list[Any]:
        w = self.place.asarray(weights, "float64")
        return [white @ w[span, :] for white, span in zip(self.whitenings, self.spans, strict=True)]

    def unfolded(self, pulled: list[Any]) -> Any:
        found = [white.T @ raw for white, raw in zip(self.whitenings, pulled, strict=True)]
        return self.place.xp.concat(found)

    def tiles(self, n_raw: int) -> list[slice]:
        size = max(1, TILE_VALUES // max(1, n_raw))
        return list(ranges(self.n_samples, size))

    def scores(self, weights: np.ndarray) -> Any:
        found = [self.scores_of(m, folded) for m, folded in enumerate(self.folded(weights))]
        return self.place.xp.stack(found, axis=1)

    def scores_of(self, m: int, folded: Any) -> Any:
        part, w = self.parts[m], self._in(self.parts[m].dtype, folded)
        tiles = [self._in(self.dtype, part.raw(rows) @ w) for rows in self.tiles(folded.shape[0])]
        return self.place.xp.concat(tiles)

    def pull(self, G: Any) -> Any:
        return self.unfolded([self.pulled_of(m, G[:, m, :]) for m in range(self.n_kernels)])

    def pulled_of(self, m: int, pulls: Any) -> Any:
        part, n_raw = self.parts[m], self.whitenings[m].shape[0]
        pulls, total = self._in(part.dtype, pulls), self.place.zeros((n_raw, pulls.shape[1]))
        for rows in self.tiles(n_raw):
            total = total + self._in("float64", part.raw(rows).T @ pulls[rows, :])
        return total

    def features(self, rows: slice) -> Any:
        pairs = zip(self.parts, self.whitenings, strict=True)
        found = [self._in(self.dtype, part.raw(rows) @ self._in(part.dtype, white)) for part, white in pairs]
        return self.place.xp.concat(found, axis=1)

    def _in(self, dtype: str, values: Any) -> Any:
        return self.place.xp.astype(values, getattr(self.place.xp, dtype), copy=False)


#: Kinds that the programs serve, in the order of their numbers there.
KINDS = ("gaussian", "polynomial", "linear")
# Rows and columns of a tile, and warps: of samples and landmarks for scores, the other way for pulls. The fastest of a
# few on an H200.
VALUE_TILE = 128, 64, 4
UNIT = 128  # landmarks are filled up to whole multiples
MOST_PROGRAMS = 2048  # samples are shared out among about so many programs


class SourcePart(Part):
    """Normalised values of a kernel between samples and landmarks.

    Where features are centred, `constant` is a raw value beside the kernel values: 1 for samples with the view, else 0.
    """

    def __init__(self, source: Source, features: Any, factor: Any, means: Any, dtype: str, constant: Any = None):
        self.source, self.features, self.factor, self.means, self.dtype = source, features, factor, means, dtype
        self.constant = constant

    def raw(self, rows: slice) -> Any:
        means = None if self.means is None else self.means[rows]
        part, xp = copy(self.source), self.source.place.xp
        part.rows = Side(self.features[rows, ...], self.factor[rows], np.empty(0), means)
        values = xp.astype(part.block(None, None), getattr(xp, self.dtype), copy=False)
        return values if self.constant is None else xp.concat([values, self.constant[rows][:, None]], axis=1)


def joined_sides(source: Source, sides: list[Side], dtype: str, constant: Any = None) -> SourcePart:
    xp, narrow = source.place.xp, getattr(source.place.xp, dtype)
    features = sides[0].features if len(sides) == 1 else xp.concat([side.features for side in sides])
    factor = xp.astype(xp.concat([side.factor for side in sides]), narrow)
    means = None if sides[0].means is None else xp.concat([side.means for side in sides])
    return SourcePart(source, features, factor, means, dtype, constant)


def is_served(part: Part) -> TypeGuard[SourcePart]:
    if not isinstance(part, SourcePart) or part.means is not None or not isinstance(part.source, PointSource):
        return False
    narrow, source = part.source.place.xp.float32, part.source
    types = part.features.dtype, source.columns.features.dtype
    return source.function.kind in KINDS and all(each == narrow for each in types)


@dataclass(frozen=True)
class Group:
    """Kernels that one launch serves.

    `samples` and `landmarks` have the shape (n_kernels, n, width), `halves` and `others` are halves of their squared
    norms. `by_landmark` multiplies landmarks, and is 0 for those that fill up to whole tiles.
    """

    kernels: list[int]
    options: dict[str, int]
    samples: Any
    landmarks: Any
    halves: Any
    others: Any
    factor: Any
    by_landmark: Any
    constants: Any


def computed_features(
    parts: list[Part], whitenings: list[Any], n_samples: int, place: Place, dtype: str
) -> ComputedFeatures:
    fused = has_programs(place) and dtype == "float32"
    return (LandmarkFeatures if fused else ComputedFeatures)(parts, whitenings, n_samples, place, dtype)


class LandmarkFeatures(ComputedFeatures):
    """Kernel values to landmarks, by programs where they serve."""

    def __init__(self, parts: list[Part], whitenings: list[Any], n_samples: int, place: Place, dtype: str):
        from . import _triton  # imports Triton

        super().__init__(parts, whitenings, n_samples, place, dtype)
        self.programs = _triton
        kinds: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for m, part in enumerate(parts):
            if is_served(part):
                source: Any = part.source
                kind, degree = source.function.kind, source.function.degree
                size = UNIT * -(-source.n_columns // UNIT)
                kinds[kind, degree, _width(part.features.shape[1]), size].append(m)
        self.groups = [self._group(kernels, *key) for key, kernels in kinds.items()]
        self.served = {m for group in self.groups for m in group.kernels}
        self.constants = [getattr(part, "constant", None) for part in parts]

    def _group(self, kernels: list[int], kind: str, degree: int, width: int, size: int) -> Group:
        """Pack the samples of some kernels; their parts keep views of the pack."""
        place, n = self.place, self.n_samples
        samples, halves = place.zeros((len(kernels), n, width), "float32"), place.zeros((len(kernels), n), "float32")
        landmarks = place.zeros((len(kernels), size, width), "float32")
        others, by_landmark = place.zeros((len(kernels), size), "float32"), place.zeros((len(kernels), size))
        parts: list[Any] = [self.parts[m] for m in kernels]  # each is a `SourcePart`
        for g, part in enumerate(parts):
            side, d = part.source.columns, part.features.shape[1]
            count = side.features.shape[0]
            samples[g, :, :d] = part.features
            part.features = samples[g, :, :d]
            landmarks[g, :count, :d] = side.features
            by_landmark[g, :count] = side.factor * part.source.function.gain
            if kind == "gaussian":
                halves[g] = _halves(part.features, place)
                others[g, :count] = _halves(side.features, place)
        constants = [part.source.function.coef0 for part in parts]
        return Group(
            kernels,
            {"KIND": 0 if kind == "gaussian" else 1, "DEGREE": degree if kind == "polynomial" else 1, "WIDTH": width},
            samples,
            landmarks,
            halves,
            others,
            place.xp.stack([part.factor for part in parts]),
            by_landmark,
            place.asarray(np.array(constants if kind == "polynomial" else np.zeros(len(kernels))), "float32"),
        )

    def _source(self, m: int) -> Any:
        part: Any = self.parts[m]  # a `SourcePart`
        return part.source

    def scores(self, weights: np.ndarray) -> Any:
        if weights.shape[1] > 1:
            return super().scores(weights)
        xp, place, folded = self.place.xp, self.place, self.folded(weights)
        found = xp.empty((self.n_kernels, self.n_samples), dtype=xp.float32, device=place.device)
        rows, columns, warps = VALUE_TILE
        for group in self.groups:
            size = group.by_landmark.shape[1]
            w = xp.zeros_like(group.others)
            for g, m in enumerate(group.kernels):
                count = self._source(m).n_columns
                w[g, :count] = folded[m][:count, 0] * group.by_landmark[g, :count]
            out = xp.empty((len(group.kernels), self.n_samples), dtype=xp.float32, device=place.device)
            self.programs.score_tiles[(-(-self.n_samples // rows), len(group.kernels))](
                group.samples, group.halves, group.landmarks, group.others, w, out, group.constants, self.n_samples,
                size // columns, **group.options, BM=rows, BN=columns, num_warps=warps,
            )  # fmt: skip
            out *= group.factor
            for g, m in enumerate(group.kernels):
                if self.constants[m] is not None:
                    out[g] += xp.astype(folded[m][-1, 0], xp.float32) * self.constants[m]
            if len(group.kernels) == self.n_kernels:
                return out.T[:, :, None]
            found[place.positions(np.array(group.kernels))] = out
        for m in range(self.n_kernels):
            if m not in self.served:
                found[m] = self.scores_of(m, folded[m])[:, 0]
        return found.T[:, :, None]

    def pull(self, G: Any) -> Any:
        if G.shape[2] > 1:
            return super().pull(G)
        xp, place = self.place.xp, self.place
        found: list[Any] = [None] * self.n_kernels
        columns, rows, warps = VALUE_TILE
        for group in self.groups:
            size = group.by_landmark.shape[1]
            pulls = group.factor * xp.astype(G[:, :, 0].T[place.positions(np.array(group.kernels))], xp.float32)
            tiles, n_tiles = size // columns, -(-self.n_samples // rows)
            per_split = max(1, -(-n_tiles * tiles * len(group.kernels) // MOST_PROGRAMS))
            splits = -(-n_tiles // per_split)
            out = xp.empty((splits, len(group.kernels), size), dtype=xp.float64, device=place.device)
            self.programs.pull_tiles[(tiles, len(group.kernels), splits)](
                group.samples, group.halves, group.landmarks, group.others, pulls.contiguous(), out, group.constants,
                self.n_samples, tiles, per_split, **group.options, BM=columns, BN=rows, num_warps=warps,
            )  # fmt: skip
            total = xp.sum(out, axis=0) * group.by_landmark
            for g, m in enumerate(group.kernels):
                found[m] = total[g, : self._source(m).n_columns, None]
                if self.constants[m] is not None:
                    last = xp.sum(xp.astype(G[:, m, 0], xp.float64) * self.constants[m])
                    found[m] = xp.concat([found[m], last[None, None]])
        for m in range(self.n_kernels):
            if m not in self.served:
                found[m] = self.pulled_of(m, G[:, m, :])
        return self.unfolded(found)


def _width(n_columns: int) -> int:
    return max(16, 1 << (n_columns - 1).bit_length())


def _halves(features: Any, place: Place) -> Any:
    xp = place.xp
    wide = xp.astype(features, xp.float64)
    return xp.astype(0.5 * xp.sum(wide * wide, axis=1), xp.float32)


MOST_NUMBERS = 2**12  # of a row, with those that fill up to powers of 2
# Samples of a tile, warps and stages, by the numbers of a row. Those of rows of 2048 numbers are the fastest of a dozen
# on an H200; those of shorter and longer rows follow them and were not compared with others.
TILES = {1024: (1, 1, 3), 2048: (1, 1, 3), 4096: (1, 2, 3)}
SHARE = 1024  # about so many samples for each program
PROGRAMS = 6  # programs of a multiprocessor at a time, of which there are whole multiples
ON_CPU = 4  # multiprocessors where Triton's interpreter runs programs


@cache
def has_programs(place: Place) -> bool:
    return place.is_cuda and find_spec("triton") is not None


def serves_pass(block: DeviceBlock, n_outputs: int) -> bool:
    features = block.features
    if n_outputs != 1 or features.dtype != "float32" or not isinstance(features, HeldFeatures):
        return False
    return has_programs(features.place) and features.layout.padded * features.layout.width <= MOST_NUMBERS


def held_pass(
    block: DeviceBlock, a: Any, weights: np.ndarray, intercept: np.ndarray, learns: bool
) -> tuple[Any, Any, Any, Any]:
    """Loss, F'c, the sum of c and, where amplitudes are learned, dP/da of each sample.

    Amplitudes have the shape (n_samples, n_kernels); all rows may be the same memory.
    """
    from . import _triton  # imports Triton

    features: Any = block.features
    place, n, xp = features.place, features.n_samples, features.place.xp
    layout = features.layout
    padded, width = layout.padded, layout.width
    rows, warps, stages = TILES[max(1024, padded * width)]
    wave = _multiprocessors(place) * PROGRAMS
    share = rows * -(-n // (rows * wave * max(1, round(n / (wave * SHARE)))))
    programs = -(-n // share)
    narrow = np.zeros(features.step + 2, dtype=np.float32)
    narrow[layout.columns] = weights[:, 0]
    narrow[-2:] = intercept[0], block.losses.insensitivity
    w = place.asarray(narrow)
    if a.stride(1) != 1:
        a = a.contiguous()
    by_amplitude = xp.empty((n, features.n_kernels) if learns else (1,), dtype=xp.float32, device=place.device)
    pulled = xp.empty((programs, padded * width), dtype=xp.float32, device=place.device)
    sums = xp.empty((programs, 2), dtype=xp.float64, device=place.device)
    terms = (getattr(block.losses, name) for name in TERMS)
    _triton.pass_tiles[(programs,)](
        features.matrix, layout.starts, layout.widths, w, a, *terms, w[features.step :], by_amplitude, pulled, sums, n,
        share, features.step, a.stride(0), N_KERNELS=features.n_kernels, PADDED=padded, WIDTH=width, ROWS=rows,
        STAGES=stages, LEARNS=learns, num_warps=warps,
    )  # fmt: skip
    found = xp.sum(pulled, axis=0, dtype=xp.float64)[layout.places]
    both = xp.sum(sums, axis=0)
    return both[:1], found[:, None], both[1:], by_amplitude if learns else None


@cache
def _multiprocessors(place: Place) -> int:
    if not place.is_cuda:
        return ON_CPU
    import torch

    return int(torch.cuda.get_device_properties(place.device).multi_processor_count)


#: Kinds of linear gates, in the order of their numbers in the programs.
GATE_KINDS = ("softmax-unit", "softmax-paper", "sigmoid-unit", "sigmoid-paper")
MOST_CODES, MOST_KERNELS = 128, 32
GATE_ROWS = 64  # samples of a tile
GATE_SHARE = 512  # samples of a program


def gate_kind(block: DeviceBlock, amplitudes: Any) -> int | None:
    kind = getattr(amplitudes, "linear_kind", None)
    if kind not in GATE_KINDS or block.present is not None or block.codes is None or not has_programs(block.place):
        return None
    narrow = block.codes.dtype == block.place.xp.float32 and block.codes.ndim == 2
    small = narrow and block.codes.shape[1] <= MOST_CODES and block.features.n_kernels <= MOST_KERNELS
    return GATE_KINDS.index(kind) if small else None


def gates_of(block: DeviceBlock, kind: int, theta: Any) -> Any:
    from . import _triton  # imports Triton

    xp, n, P = block.place.xp, block.n_samples, block.features.n_kernels
    found = xp.empty((n, P), dtype=xp.float32, device=block.place.device)
    options = _options(block, kind)
    _triton.gate_tiles[(-(-n // GATE_SHARE),)](
        block.codes, theta, found, n, GATE_SHARE, block.codes.shape[1], P, **options
    )
    return found


def gates_pullback(block: DeviceBlock, kind: int, theta: Any, a: Any, slopes: Any) -> Any:
    """dP/dtheta from gates and dP/dgates, a tensor of float64: slopes of all kernels, then biases."""
    from . import _triton

    xp, n, P, n_codes = block.place.xp, block.n_samples, block.features.n_kernels, block.codes.shape[1]
    options, programs = _options(block, kind), -(-n // GATE_SHARE)
    padded, width = options["PADDED"], options["CODES"]
    out = xp.empty((programs, padded * (width + 1)), dtype=xp.float32, device=block.place.device)
    _triton.gate_pull_tiles[(programs,)](block.codes, theta, a, slopes, out, n, GATE_SHARE, n_codes, P, **options)
    total = xp.sum(out, axis=0, dtype=xp.float64)
    by_code = xp.reshape(total[: padded * width], (padded, width))[:P, :n_codes]
    return xp.concat([xp.reshape(by_code, (-1,)), total[padded * width :][:P]])


def _options(block: DeviceBlock, kind: int) -> dict[str, int]:
    n_codes, P = block.codes.shape[1], block.features.n_kernels
    padded, width = (max(16, 1 << (count - 1).bit_length()) for count in (P, n_codes))
    return {"KIND": kind, "PADDED": padded, "CODES": width, "ROWS": GATE_ROWS, "num_warps": 4}
