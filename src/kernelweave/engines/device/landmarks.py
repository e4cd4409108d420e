"""Kernel values to landmarks in every pass: `SourcePart` in any place, `LandmarkFeatures` by programs of a CUDA device.

The programs serve kernels that are functions of products of feature vectors in float32, one output at a time; kernels
of one kind and width in one launch. What they leave out goes tile by tile, see `computed`.
"""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from ...arrays import Place
from ...kernels.tiles.sources import PointSource, Side, Source
from .computed import ComputedFeatures, Part

#: Kinds that the programs serve, in the order of their numbers there.
KINDS = ("gaussian", "polynomial", "linear")
# Rows and columns of a tile, and warps: of samples and landmarks for scores, the other way for pulls. The fastest of a
# few on an H200.
TILE = 128, 64, 4
UNIT = 128  # landmarks are filled up to whole multiples
PROGRAMS = 2048  # samples are shared out among about so many programs


class SourcePart(Part):
    """Normalised values of a kernel between samples and landmarks.

    Parameters
    ----------
    source : Source
        Between some samples and the landmarks.
    features, factor, means
        Of the samples of a block, see `kernels.tiles.sources.Side`.
    dtype : {"float32", "float64"}
        Of the values.
    constant : array of shape (n_samples,), optional
        A raw value beside the kernel values: 1 for samples that have the view and 0 for others, where features are
        centred.
    """

    def __init__(self, source: Source, features: Any, factor: Any, means: Any, dtype: str, constant: Any = None):
        self.source, self.features, self.factor, self.means, self.dtype = source, features, factor, means, dtype
        self.constant = constant

    def raw(self, rows: slice) -> Any:
        """k(x, L), and the constant where there is one."""
        means = None if self.means is None else self.means[rows]
        part, xp = copy(self.source), self.source.place.xp
        part.rows = Side(self.features[rows, ...], self.factor[rows], np.empty(0), means)
        values = xp.astype(part.block(None, None), getattr(xp, self.dtype), copy=False)
        return values if self.constant is None else xp.concat([values, self.constant[rows][:, None]], axis=1)


def joined_sides(source: Source, sides: list[Side], dtype: str, constant: Any = None) -> SourcePart:
    """What was read of some samples after another as one part; `constant` is that of all of them."""
    xp, narrow = source.place.xp, getattr(source.place.xp, dtype)
    features = sides[0].features if len(sides) == 1 else xp.concat([side.features for side in sides])
    factor = xp.astype(xp.concat([side.factor for side in sides]), narrow)
    means = None if sides[0].means is None else xp.concat([side.means for side in sides])
    return SourcePart(source, features, factor, means, dtype, constant)


def is_served(part: Part) -> TypeGuard[SourcePart]:
    """Whether the programs serve a part."""
    if not isinstance(part, SourcePart) or part.means is not None or not isinstance(part.source, PointSource):
        return False
    narrow, source = part.source.place.xp.float32, part.source
    types = part.features.dtype, source.columns.features.dtype
    return source.function.kind in KINDS and all(each == narrow for each in types)


@dataclass(frozen=True)
class Group:
    """Kernels that one launch serves.

    Attributes
    ----------
    kernels : list of int
    options : dict
        What programs are compiled for.
    samples, landmarks : tensor of shape (n_kernels, n, width)
    halves, others : tensor of shape (n_kernels, n)
        Halves of squared norms of samples and landmarks.
    factor : tensor of shape (n_kernels, n_samples)
    by_landmark : tensor of shape (n_kernels, n_landmarks), float64
        What landmarks are multiplied by; 0 for those that fill up to whole tiles.
    constants : tensor of shape (n_kernels,)
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


class LandmarkFeatures(ComputedFeatures):
    """Kernel values to landmarks, by programs where they serve; parameters are those of `ComputedFeatures`."""

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
        """One launch for each group."""
        if weights.shape[1] > 1:
            return super().scores(weights)
        xp, place, folded = self.place.xp, self.place, self.folded(weights)
        found = xp.empty((self.n_kernels, self.n_samples), dtype=xp.float32, device=place.device)
        rows, columns, warps = TILE
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
        """One launch for each group; sums of programs are added in float64."""
        if G.shape[2] > 1:
            return super().pull(G)
        xp, place = self.place.xp, self.place
        found: list[Any] = [None] * self.n_kernels
        columns, rows, warps = TILE
        for group in self.groups:
            size = group.by_landmark.shape[1]
            pulls = group.factor * xp.astype(G[:, :, 0].T[place.positions(np.array(group.kernels))], xp.float32)
            tiles, n_tiles = size // columns, -(-self.n_samples // rows)
            per_split = max(1, -(-n_tiles * tiles * len(group.kernels) // PROGRAMS))
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
    """Numbers of a packed sample: a power of 2."""
    return max(16, 1 << (n_columns - 1).bit_length())


def _halves(features: Any, place: Place) -> Any:
    """||x||^2 / 2 of each row, summed in float64."""
    xp = place.xp
    wide = xp.astype(features, xp.float64)
    return xp.astype(0.5 * xp.sum(wide * wide, axis=1), xp.float32)
